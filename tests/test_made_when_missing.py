"""Holders that the first round makes because they are not there yet: they live as long as what has them."""

from __future__ import annotations

import pytest
from snippets import check

SERIES = """
class Series:
    def __init__(self, name):
        self.name = name
        self.values = []

    def add(self, value):
        self.values.append(value){mark}

_BOARD = None

class Board:
    def __init__(self):
        self.series = {{}}
        self.last = None

{body}

def main(batches):
    board, model = Board(), Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        board.log("loss", loss)
    print(board)
"""
KEPT = {
    "asked for first": """
    def log(self, name, value):
        if name not in self.series:
            self.series[name] = Series(name)
        self.series[name].add(value)
""",
    "there already": """
    def of(self, name):
        if name in self.series:
            return self.series[name]
        self.series[name] = Series(name)
        return self.series[name]

    def log(self, name, value):
        self.of(name).add(value)
""",
    "or what is there": """
    def log(self, name, value):
        self.last = self.last or Series(name)
        self.last.add(value)
""",
    "an error": """
    def log(self, name, value):
        try:
            series = self.series[name]
        except KeyError:
            series = self.series[name] = Series(name)
        series.add(value)
""",
    "a default": """
    def log(self, name, value):
        self.series.setdefault(name, Series(name)).add(value)
""",
    "an attribute": """
    def log(self, name, value):
        if self.last is None:
            self.last = Series(name)
        self.last.add(value)
""",
    "one of the module": """
    def log(self, name, value):
        global _BOARD
        if not _BOARD:
            _BOARD = Series(name)
        _BOARD.add(value)
""",
    "one of the class": """
    one = None

    @classmethod
    def of(cls, name):
        if cls.one is None:
            cls.one = Series(name)
        return cls.one

    def log(self, name, value):
        self.of(name).add(value)
""",
    "a variable on the way": """
    def log(self, name, value):
        series = self.series.get(name)
        if series is None:
            series = Series(name)
            self.series[name] = series
        series.add(value)
""",
}
RENEWED = {
    "or what another one had": """
    def log(self, name, value):
        self.last = self.series.get(name) or Series(name)
        self.last.add(value)
""",
    "each time another": """
    def log(self, name, value):
        self.series[name] = Series(name)
        self.series[name].add(value)
""",
    "each time another, for an attribute": """
    def log(self, name, value):
        self.last = Series(name)
        self.last.add(value)
""",
    "dropped at the head": """
    def log(self, name, value):
        self.last = None
        if self.last is None:
            self.last = Series(name)
        self.last.add(value)
""",
    "numbers": """
    def log(self, name, value):
        if name not in self.series:
            self.series[name] = Series(name)
        self.series[name].add(value.item())
""",
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_made_in_the_first_round(body: str) -> None:
    check(SERIES.format(body=body, mark="  # TML102"))


@pytest.mark.parametrize("body", RENEWED.values(), ids=RENEWED)
def test_made_in_each_round(body: str) -> None:
    check(SERIES.format(body=body, mark=""))


def test_a_plain_list_for_each_name() -> None:
    check("""
    class Board:
        def __init__(self):
            self.rows = {}

        def log(self, name, rows: torch.Tensor):
            if name not in self.rows:
                self.rows[name] = []
            self.rows[name].append(rows)  # TML303

    def main():
        board = Board()
        for number in range(1000):
            board.log("rows", torch.randn(64, 64))
        print(board.rows)
    """)


REQUESTS = """
class Request:
    def __init__(self, hidden):
        self.hidden = hidden

class Scorer:
    def __init__(self):
        self.requests = {{}}

    def step(self, key, rows, last):
        if key not in self.requests:
            request = Request(rows)
            self.requests[key] = request
        else:
            request = self.requests[key]
            request.hidden = torch.cat([request.hidden, rows])
        if last:
            print(request.hidden.mean().item())
            {end}

def main():
    scorer = Scorer()
    for number in range(1000):
        scorer.step(f"request {{number}}", torch.randn(64, 64), False)
        scorer.step(f"request {{number}}", torch.randn(64, 64), True)
"""


def test_made_under_a_name_of_its_own_before_the_table_gets_it() -> None:
    check(REQUESTS.format(end="del self.requests[key]"))
