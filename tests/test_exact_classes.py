"""Tables that a class below limits, and an object of the class above that has no limit; entries under a number that was
found in the table, or a new one."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

BANKS = """
import itertools
from collections import OrderedDict

class Bank:
    def __init__(self):
        self.rows = OrderedDict()

    def put(self, key, value):
        self.rows[key] = value

class Recent(Bank):
    def put(self, key, value):
        super().put(key, value)
        while len(self.rows) > 8:
            self.rows.popitem(last=False)

class Door:
    def __init__(self, net, bank):
        self.net, self.bank, self.numbers = net.eval(), bank, itertools.count()

    @torch.inference_mode()
    def visit(self, crop):
        row = self.net(crop)[0]
        who = self.nearest(row)
        if who is None:
            who = {new}
        self.bank.put(who, row.clone())
        return who

    def nearest(self, row):
        for key, other in self.bank.rows.items():
            if float(row @ other) > 0.9:
                return key
        return None
{program}
"""
MAIN = """
def main(steps):
    door = Door(Net(), {bank})
    for _ in range(steps):
        print(door.visit(torch.randn(4, 8)))
"""


def test_a_table_of_the_class_above() -> None:
    text = BANKS.format(new="next(self.numbers)", program=MAIN.format(bank="Bank()"))
    check(text.replace("        self.rows[key] = value", "        self.rows[key] = value  # TML311"))


@pytest.mark.parametrize(
    "new, program",
    [
        ("next(self.numbers)", MAIN.format(bank="Recent()")),
        ('"visitor"', MAIN.format(bank="Bank()")),
        ("next(self.numbers)", ""),
    ],
    ids=["the class below", "one for all", "nobody says which class"],
)
def test_a_table_with_a_limit_or_few_keys(new: str, program: str) -> None:
    check_innocent(BANKS.format(new=new, program=program))
