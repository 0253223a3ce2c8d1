"""One statement in a training loop, in its many spellings: what keeps graphs, what does not, what a step costs."""

from __future__ import annotations

import re

import pytest
from snippets import PLAN, PRELUDE, check, known

from torchmemlint.linter.engine import lint_source
from torchmemlint.source import decode

TRAIN = """
def train(loader):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {before}
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {statement}
    {after}
"""


def training(before: str, statement: str, after: str) -> str:
    return TRAIN.format(before=before, statement=statement, after=after)


SUMMED = """
total = 0.0 | total += loss
total = 0.0 | total -= loss
total = 0 | total = total + loss
total = 0 | total = loss + total
total = None | total = loss if total is None else total + loss
total = torch.zeros(()) | total += loss
total = torch.zeros(()) | total.add_(loss)
total = torch.zeros(()) | total.mul_(0.9).add_(loss, alpha=0.1)
total = torch.zeros(()) | total = torch.add(total, loss)
total = 0.0 | total += loss * len(x)
total = 0.0 | total += loss / 4
total = 0.0 | total += loss.mean()
total = 0.0 | total += loss.clone()
total = 0.0 | total += loss.cpu()
total = 0.0 | total += torch.sqrt(loss)
total = 0.0 | total += [loss, y][0]
total = 0.0 | total = 0.9 * total + 0.1 * loss
total = 0.0 | total += (loss - total) / 10
total = {"loss": 0.0} | total["loss"] += loss
total = {"loss": 0.0} | total["loss"] = total["loss"] + loss
total = {} | total["loss"] = total.get("loss", 0.0) + loss
total = defaultdict(float) | total[len(y)] += loss
total = [0.0, 0] | total[0] += loss
total = torch.zeros(0) | total = torch.cat([total, loss[None]])
total = torch.zeros(0) | total = torch.hstack((total, loss))
total, count = 0.0, 0 | total, count = total + loss, count + 1
total = 0.0 | total = sum([total, loss])
"""
COLLECTED = """
kept = [] | kept.append(loss)
kept = [] | kept += [loss]
kept = [] | kept.extend([loss])
kept = [] | kept.extend((loss, loss * 2))
kept = [] | kept = kept + [loss]
kept = [] | kept = [*kept, loss]
kept = [] | kept.insert(0, loss)
kept = list() | kept.append(loss.clone())
kept = [] | kept.append(loss / 2)
kept = [] | kept.append((len(kept), loss))
kept = [] | kept.append({"loss": loss})
kept = [] | kept.append([loss])
kept = [] | kept.append(model(x))
kept = [] | kept.extend(part for part in (loss,))
kept = [] | kept.extend([part * 2 for part in [loss]])
kept = {} | kept[len(kept)] = loss
kept = {} | kept.update({len(kept): loss})
kept = {} | kept.setdefault("loss", []).append(loss)
kept = {"loss": []} | kept["loss"].append(loss)
kept = {"loss": []} | kept["loss"] += [loss]
kept = defaultdict(list) | kept["loss"].append(loss)
kept = deque() | kept.append(loss)
kept = deque() | kept.appendleft(loss)
kept = set() | kept.add(loss)
kept = queue.Queue() | kept.put(loss)
"""
RELEASED = """
total = 0.0 | total += loss.item()
total = 0.0 | total += float(loss)
total = 0.0 | total += loss.detach()
total = 0.0 | total += loss.data
total = 0.0 | total += loss.detach().cpu().numpy()
total = 0.0 | total = total + loss.item() * len(x)
total = 0.0 | total += y.size(0)
total = 0.0 | total += (loss > 1).sum()
total = 0 | total += (model(x).argmax(dim=1) == y).sum()
total = 0.0 | total = loss
total = 0.0 | total = max(total, loss.item())
total = 0.0 | total = 0.9 * total + 0.1 * loss.item()
total = [] | total.append(loss.item())
total = [] | total.append(loss.tolist())
total = [] | total.append(loss.detach())
total = [] | total.append(float(loss))
total = [] | total.append(f"{loss:.3f}")
total = [] | total.append(str(loss))
total = [] | total.append(len(x))
total = [] | total.append(x)
total = [] | total.append(x.shape)
total = [] | total = [loss]
total = [] | total.append(loss); total.clear()
total = [] | total.append(loss); total = []
total = [] | total.append(loss); total.pop()
total = [] | total += [loss.item()]
total = {} | total["loss"] = loss
total = {} | total = {"loss": loss}
total = {} | total.setdefault("loss", []).append(loss.item())
total = deque(maxlen=10) | total.append(loss)
total = torch.zeros(100) | total[len(y)] = loss.item()
total = torch.zeros(()) | total.add_(loss.detach())
total = "" | total += str(loss)
total = 0.0 | print(loss, total)
"""
SUMMED_BUGS: dict[str, str] = {}
COLLECTED_BUGS: dict[str, str] = {}


def table(text: str) -> list[str]:
    return text.strip().splitlines()


def in_training(line: str, comment: str, after: str) -> str:
    before, _, statement = line.partition(" | ")
    name = re.split(r"\W", before, maxsplit=1)[0]
    return training(before, statement + comment, after.format(name=name))


@pytest.mark.parametrize("after", ["print('done')", "print({name})", "return {name}"])
@pytest.mark.parametrize("line", known(SUMMED_BUGS, table(SUMMED)))
def test_sum_that_keeps_graphs(line: str, after: str) -> None:
    check(in_training(line, "  # TML101", after))


@pytest.mark.parametrize("after", ["print('done')", "print({name})", "return {name}"])
@pytest.mark.parametrize("line", known(COLLECTED_BUGS, table(COLLECTED)))
def test_collection_that_keeps_graphs(line: str, after: str) -> None:
    check(in_training(line, "  # TML102", after))


@pytest.mark.parametrize("after", ["print('done')", "print({name})", "return {name}"])
@pytest.mark.parametrize("line", known({}, table(RELEASED)))
def test_statement_that_keeps_nothing(line: str, after: str) -> None:
    check(in_training(line, "", after))


NODES, ACTIVATIONS = "autograd nodes", "saved activations"
COSTS = {
    "kept = [] | kept.append(loss)": NODES,
    "kept = 0.0 | kept += loss": NODES,
    "kept = 0.0 | kept = kept + loss": NODES,
    "kept = [] | kept.append(loss * 2)": NODES,
    "kept = [] | kept.append(model(x))": ACTIVATIONS,
    "kept = 0.0 | kept += model(x).norm()": ACTIVATIONS,
}
COST_BUGS: dict[str, str] = {}


@pytest.mark.parametrize("line", known(COST_BUGS, list(COSTS)))
def test_message_says_what_a_step_costs(line: str) -> None:
    """After `backward` the saved activations of what it went through are gone, and only nodes stay."""
    text = PRELUDE + in_training(line, "", "print('done')")
    (finding,) = lint_source(decode("snippet.py", text.encode()), PLAN)
    assert COSTS[line] in finding.message


def test_names_alone_are_never_enough() -> None:
    text = "import torch\n\n\ndef train(loader):\n    losses = []\n    for x in loader:\n"
    text += "        loss = compute_loss(model(x), x)\n        losses.append(loss)\n    print(losses)\n"
    assert lint_source(decode("snippet.py", text.encode()), PLAN) == []
