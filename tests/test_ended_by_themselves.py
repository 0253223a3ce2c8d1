"""Objects that collect for one question and say when they are done, and such that go on as long as they are told."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from projects import check_project

BEAMS = """
    import torch

    class Beams:
        def __init__(self, longest, rows=4):
            self.longest = longest
            self.tokens = torch.zeros(rows, 1, dtype=torch.long)
            self.ended = [[] for _ in range(rows)]
            self.done = False

        def advance(self, scores):
            best = scores.argmax(-1, keepdim=True)
            self.tokens = torch.cat([self.tokens, best], -1)
            self.stops = best.eq(2).tolist()

        def update(self):
            for row in [i for i, stops in enumerate(self.stops) if stops[0]]:
                self.ended[row].append((row, self.tokens[row, 1:]))  # CODE
            self.done = self.tokens.shape[1] > self.longest
    """
READER = """
    import torch
    from beams import Beams

    class Reader:
        def __init__(self, model, longest):
            self.model = model
            self.longest = longest
            self.last = None

        def read_all(self, batches):
            return [self.read(batch) for batch in batches]

        def read(self, batch):
            BODY

        def decode(self, batch, beams):
            for _ in range(beams.longest):
                beams.advance(self.model(batch, beams.tokens))
                beams.update()
                if beams.done:
                    break
            return {"ended": beams.ended}

        def decode_and_keep(self, batch, beams):
            while not beams.done:
                beams.advance(self.model(batch, beams.tokens))
                beams.update()
            self.last = beams
            return beams.ended
    """
INNOCENT = {
    "rounds that it ends": """
        with torch.no_grad():
            beams = Beams(self.longest)
            while not beams.done:
                beams.advance(self.model(batch, beams.tokens))
                beams.update()
            return beams.ended
        """,
    "a helper that asks it": """
        with torch.no_grad():
            beams = Beams(longest=self.longest)
            return self.decode(batch, beams)
        """,
    "by its name": """
        with torch.no_grad():
            beams = Beams(self.longest)
            return self.decode(beams=beams, batch=batch)
        """,
    "one of two": """
        with torch.inference_mode():
            if self.longest > 9:
                beams = Beams(9)
            else:
                beams = Beams(self.longest)
            return self.decode(batch, beams)
        """,
    "for each row of a batch": """
        found = []
        with torch.no_grad():
            for row in batch:
                beams = Beams(self.longest)
                while True:
                    beams.advance(self.model(row, beams.tokens))
                    beams.update()
                    if beams.done:
                        break
                found.append(len(beams.ended))
                for number, tokens in beams.ended:
                    print(number, tokens.tolist())
        return found
        """,
}
GUILTY = {
    "kept by the object that made it": """
        with torch.no_grad():
            self.beams = Beams(self.longest)
            return self.decode(batch, self.beams)
        """,
    "as many rounds as there are batches": """
        with torch.no_grad():
            beams = Beams(self.longest)
            for part in batch:
                beams.advance(self.model(part, beams.tokens))
                beams.update()
            return beams.ended
        """,
    "kept by a helper": """
        with torch.no_grad():
            beams = Beams(self.longest)
            return self.decode_and_keep(batch, beams)
        """,
    "handed out": """
        with torch.no_grad():
            beams = Beams(self.longest)
            while not beams.done:
                beams.advance(self.model(batch, beams.tokens))
                beams.update()
            return beams
        """,
    "given to who knows whom": """
        with torch.no_grad():
            beams = Beams(self.longest)
            self.model.watch(beams)
            while not beams.done:
                beams.advance(self.model(batch, beams.tokens))
                beams.update()
            return beams.ended
        """,
    "filled before it is asked": """
        with torch.no_grad():
            beams = Beams(self.longest)
            for part in batch:
                beams.advance(self.model(part, beams.tokens))
                beams.update()
            return self.decode(batch, beams)
        """,
}


def _project(body: str, code: str, *, together: bool = False) -> dict[str, str]:
    lines = textwrap.indent(textwrap.dedent(body).strip(), " " * 8).lstrip()
    beams = textwrap.dedent(BEAMS).replace("CODE", code)
    reader = textwrap.dedent(READER).replace("BODY", lines)
    if together:
        return {"reader.py": beams + reader.replace("from beams import Beams", "")}
    return {"beams.py": beams, "reader.py": reader}


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("name", INNOCENT)
def test_done_and_gone(name: str, together: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(_project(INNOCENT[name], "innocent", together=together), tmp_path, monkeypatch)


@pytest.mark.parametrize("name", GUILTY)
def test_goes_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(_project(GUILTY[name], "TML303"), tmp_path, monkeypatch)


def test_bases_go_with_what_is_made_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heirs = """
    class Wide(Beams):
        def __init__(self, longest):
            super(Wide, self).__init__(longest)

    class Narrow(Wide):
        pass
    """
    files = _project(INNOCENT["a helper that asks it"].replace("Beams(", "Wide("), "innocent")
    files["beams.py"] += textwrap.dedent(heirs)
    files["reader.py"] = files["reader.py"].replace("import Beams", "import Wide")
    check_project(files, tmp_path, monkeypatch)
