"""Entries that are taken out of a place and put back into it: it is as full as before."""

from __future__ import annotations

import pytest
from snippets import check

HEAD = """
class Shelf:
    def __init__(self):
        self.rows, self.table, self.most = [], {}, 8

    def keep(self, job_id, row):
        if job_id in self.table:
            %s
        self.%s

def main():
    shelf = Shelf()
    for step in range(1000):
        shelf.keep(step, torch.randn(64, 64))
    print(len(shelf.rows), len(shelf.table))
"""
PUTS = "table[job_id] = row"
MOVES = {
    "in one statement": "self.table[job_id] = self.table.pop(job_id)",
    "by a name": "known = self.table.pop(job_id)\n            self.table[job_id] = known\n            return known",
    "with a default": "row = self.table.pop(job_id, None)\n            if row is None:\n"
    "                row = torch.randn(64, 64)\n            self.table[job_id] = row\n            return row",
    "to the front of a list": "self.rows.insert(0, self.rows.pop(3))",
    "to its end, by a name": "last = self.rows.pop(3)\n            self.rows.append(last)",
    "what is there already": "self.rows.remove(row)\n            self.rows.append(row)",
}
LETS_GO = {
    "to another place": "self.old = self.table.pop(job_id)",
    "one of them": "known = self.table.pop(job_id)\n            if known.sum() > 3:\n                return\n"
    "            self.table[job_id] = known",
    "the first when it is full": "self.table[job_id] = self.table.pop(job_id)\n"
    "        while len(self.table) >= self.most:\n            self.table.pop(next(iter(self.table)))",
    "another value": "self.table.pop(job_id)\n            row = torch.randn(64, 64)",
}


@pytest.mark.parametrize("name", ["in one statement", "by a name"])
def test_a_table_that_only_moves_its_entries(name: str) -> None:
    check(HEAD % (MOVES[name], PUTS + "  # TML311"))


def test_a_table_that_makes_what_it_has_not_got() -> None:
    moves = MOVES["with a default"].replace("table[job_id] = row", "table[job_id] = row  # TML311")
    check(HEAD % (moves, PUTS + "  # TML311"))


@pytest.mark.parametrize("name", ["to the front of a list", "to its end, by a name"])
def test_a_list_that_only_moves_its_entries(name: str) -> None:
    check(HEAD % (MOVES[name], "rows.append(row)  # TML303"))


def test_a_list_that_moves_what_it_is_given() -> None:
    moves = MOVES["what is there already"].replace("append(row)", "append(row)  # TML303")
    check(HEAD % (moves, "rows.append(row)  # TML303"))


@pytest.mark.parametrize("name", LETS_GO)
def test_tables_that_let_go(name: str) -> None:
    check(HEAD % (LETS_GO[name], PUTS))


USED_LAST = """
LOADED = []

class Part:
    def __init__(self, layer):
        self.layer = layer

def use(part):
    if part in LOADED:
        LOADED.insert(0, LOADED.pop(LOADED.index(part)))
    else:
        %s

def main():
    for width in range(1000):
        use(Part(nn.Linear(64, 64)))
"""


def test_a_list_of_what_was_used_last() -> None:
    check(USED_LAST % "LOADED.insert(0, part)  # TML301")
    check(USED_LAST % "del LOADED[8:]\n        LOADED.insert(0, part)")
