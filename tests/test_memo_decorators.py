"""Decorators of a project that keep what a method has returned, written in several ways."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

DATA = """
import functools, weakref
from torch.utils.data import DataLoader, Dataset

class Volumes(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    @known{mark}
    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.rand(1, 64, 64, generator=generator)

    @known{of_all}
    def shares(self):
        return torch.bincount(torch.arange(len(self.paths)) % 4) / len(self.paths)

def train(paths, model):
    for scans in DataLoader(Volumes(paths), batch_size=2, num_workers=0):
        print(model(scans).mean().item())
"""
DUE = "  # TML305"
WRAPPED = """
def known(method):
    slot = "_known_" + method.__name__
{outside}
    @functools.wraps(method)
    def wrapper(self, *args):
{table}
        if args not in table:
            table[args] = method(self, *args)
        return table[args]
    return wrapper
"""
OTHERS = {
    "filled in one line": """
def known(method):
    def wrapper(self, index=None):
        return self.__dict__.setdefault("_known", {}).setdefault(index, method(self, index))
    return wrapper
""",
}
TABLES = {
    "an entry of the object": ("", "table = self.__dict__.setdefault(slot, {})"),
    "one of its variables": ("", "table = vars(self).setdefault(slot, dict())"),
    "an attribute, by a short name": (
        "",
        """
        if not hasattr(self, "_known"):
            self._known = {}
        table = self._known
        """,
    ),
    "set if there is none": (
        "",
        """
        table = getattr(self, slot, None)
        if table is None:
            table = {}
            setattr(self, slot, table)
        """,
    ),
    "put into its dictionary": (
        "",
        """
        table = self.__dict__.get(slot)
        if table is None:
            table = self.__dict__[slot] = {}
        """,
    ),
    "with weak keys": ("tables = weakref.WeakKeyDictionary()", "table = tables.setdefault(self, {})"),
    "of the decorator": ("tables = defaultdict(dict)", "table = tables[self]"),
}
FEW = {
    "emptied when it is full": """
        table = self.__dict__.setdefault(slot, {})
        if len(table) > 16:
            table.clear()
        """,
    "the oldest goes": """
        table = self.__dict__.setdefault(slot, {})
        while len(table) > 16:
            table.pop(next(iter(table)))
        """,
    "the last one": """
        table = self.__dict__.setdefault(slot, {})
        if args not in table:
            table.clear()
        """,
    "of this call": "table = {}",
}


def wrapped(outside: str, table: str) -> str:
    table = textwrap.indent(textwrap.dedent(table).strip("\n"), 8 * " ")
    return WRAPPED.format(outside=textwrap.indent(outside, "    "), table=table)


@pytest.mark.parametrize("form", [*TABLES, *OTHERS])
def test_tables_without_a_limit(form: str) -> None:
    decorator = OTHERS[form] if form in OTHERS else wrapped(*TABLES[form])
    keeps_objects = form == "of the decorator"
    check(decorator + DATA.format(mark=DUE, of_all=DUE if keeps_objects else ""))


@pytest.mark.parametrize("form", FEW)
def test_tables_that_stay_small(form: str) -> None:
    check_innocent(wrapped("", FEW[form]) + DATA.format(mark="", of_all=""))


def test_numbers() -> None:
    text = wrapped(*TABLES["an entry of the object"]) + DATA.format(mark="", of_all="")
    check_innocent(text.replace("torch.rand(1, 64, 64, generator=generator)", "generator.initial_seed() % 7"))
