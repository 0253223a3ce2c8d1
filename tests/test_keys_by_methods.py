"""Keys that a method gives: a text in another form, the number of a request."""

from __future__ import annotations

import pytest
from snippets import check

TABLE = """
class Encoder:
    def __init__(self):
        self.net = nn.Linear(8, 8)
        self.rows = {{}}

    @torch.no_grad()
    def encode(self, {given}, x):
        key = {key}
        if key not in self.rows:
            self.rows[{key}] = self.net(x){mark}
        return self.rows[{key}]
"""
FRESH = ["prompt.strip().lower()", "prompt.encode()", "path.resolve()", "request.request_id()", "job.get_uuid()"]
FEW = ["name.lower()", "x.size()", "x.device.index()", "layer.title()", "kind.value()"]


@pytest.mark.parametrize("key", FRESH)
def test_a_new_one_each_time(key: str) -> None:
    check(TABLE.format(given=key.split(".")[0], key=key, mark="  # TML311"))


@pytest.mark.parametrize("key", FEW)
def test_one_of_few(key: str) -> None:
    check(TABLE.format(given=key.split(".")[0].replace("x", "y"), key=key, mark=""))
