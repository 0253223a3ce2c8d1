"""Constructors of objects that nobody is seen to make: what one of them has run, the next long one leaves out."""

from __future__ import annotations

from snippets import check

from torchmemlint.facts.lower import lower
from torchmemlint.facts.outline import Outline
from torchmemlint.interpreter.entries import run

STEPS = "\n".join(f"    row = row.replace('{letter}', '')" for letter in "abcdefghijklmnopqrstuvwxyz" * 16)
CORPUS = f"""
def read(path, seen):
    row = open(path).read()
{STEPS}
    seen.append(row)
    return row

class Corpus:
    def __init__(self, path, seen):
        self.rows = []
        self.setup()
        read(path + "train", seen)
        read(path + "dev", seen)
        read(path + "test", seen)

    def setup(self):
        self.losses = []
"""
OF_A_LANGUAGE = """
class Corpus{number}(Corpus):
    def __init__(self, path, seen):
        super().__init__(path, seen)
        seen.append({number})

    def learn(self, model: torch.nn.Module, optimizer, batches):
        for x in batches:
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            self.losses.append(loss)  # TML102
"""


def written(corpora: int) -> str:
    return CORPUS + "".join(OF_A_LANGUAGE.format(number=number) for number in range(corpora))


def test_a_helper_of_many_constructors_is_not_run_for_each() -> None:
    few, many = (run(Outline(lower(written(corpora)))).steps for corpora in (5, 25))
    assert many - few < 20 * 500  # statements: each reads once, not three times


def test_what_an_object_keeps_is_known_all_the_same() -> None:
    check(written(12))
