"""Tables of items that the first `__getitem__` of a worker makes, because they are not there yet."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

DATA = """
import functools
from torch.utils.data import DataLoader, Dataset

def remembered(read):
    @functools.wraps(read)
    def look_up(self, *wanted):
        try:
            table = self._read
        except AttributeError:
            table = self._read = {{}}
        if wanted not in table:
            table[wanted] = read(self, *wanted){wrapped}
        return table[wanted]
    return look_up

class Scans(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    {decorator}
    def __getitem__(self, index):
        {lines}

def loader(paths):
    return DataLoader(Scans(paths), batch_size=4, num_workers={workers})
"""
HAS = """
if not hasattr(self, "scans"):
    self.scans = {{}}
if index not in self.scans:
    self.scans[index] = torch.load(self.paths[index]){mark}
return self.scans[index]
"""
TRIED = HAS.replace('if not hasattr(self, "scans"):', "try:\n    self.scans\nexcept AttributeError:")
ANEW = HAS.replace('if not hasattr(self, "scans"):', "if index % 100 == 0:")
LAST = HAS.replace("if index not in", "if len(self.scans) > 8:\n    self.scans.popitem()\nif index not in")


def _check(lines: str, *, mark: str = "", wrapped: str = "", decorator: str = "", workers: int = 2) -> None:
    inside = textwrap.indent(lines.strip().format(mark=mark), 8 * " ").strip()
    check(DATA.format(lines=inside, wrapped=wrapped, decorator=decorator, workers=workers))


@pytest.mark.parametrize("lines", [HAS, TRIED], ids=["asked for", "tried"])
def test_tables_that_the_first_item_makes(lines: str) -> None:
    _check(lines, mark="  # TML404")
    _check(lines, workers=0)


def test_tables_that_a_decorator_makes() -> None:
    _check("return torch.load(self.paths[index])", wrapped="  # TML404", decorator="@remembered")


@pytest.mark.parametrize("lines", [ANEW, LAST], ids=["made anew", "bounded"])
def test_tables_that_do_not_grow_for_ever(lines: str) -> None:
    _check(lines)
