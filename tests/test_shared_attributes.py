"""Objects that share one table of attributes, so that what one of them gains all of them keep."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

BORG = """
import torch

class State:
    _shared = {{}}

    def __init__(self):
        {table}
        {made}

    def add(self, one):
        self.refs.append(one){mark}

    def drop(self, one):
        self.refs.remove(one)

class Trial:
    def __init__(self):
        self.rows = torch.randn(100, 100)
        self.state = State()

    def run(self):
        self.state.add(self)
        total = float(self.rows.sum())
        {after}
        return total

def main(steps):
    for _ in range(steps):
        print(Trial().run())
"""
ONCE = "if 'refs' not in self.__dict__: self.refs = [None]"


@pytest.mark.parametrize("table", ["self._shared", "State._shared", "type(self)._shared"])
def test_a_list_that_all_instances_have(table: str) -> None:
    check(BORG.format(table=f"self.__dict__ = {table}", made=ONCE, after="pass", mark="  # TML303"))


def test_who_takes_itself_out() -> None:
    check_innocent(BORG.format(table="self.__dict__ = self._shared", made=ONCE, after="self.state.drop(self)", mark=""))
