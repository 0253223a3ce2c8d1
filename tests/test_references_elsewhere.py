"""References to results in other processes, of torch's RPC: each keeps its result there."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CLIENT = """
import itertools
import torch.distributed.rpc as rpc

class Rows:
    def __init__(self, count):
        self.weight = torch.randn(count, 64)

    def of(self, ids):
        return self.weight[ids]

def call(rows, ids):
    return rows.local_value().of(ids)

def make(count):
    return Rows(count)

class Client:
    def __init__(self, owners):
        self.owners, self.parts, self.asked, self.numbers = owners, [], {box}, itertools.count()
        self.rows = rpc.remote(owners[0], Rows, args=(100,))

    def spread(self):
        {spread}

    def ask(self, ids):
        answer = {asks}
        {keeps}
        return {gives}

    def wait(self):
        {waits}

def main():
    rpc.init_rpc("first", rank=0, world_size=1)
    client, net = Client(["first"]), nn.Linear(64, 2)
    client.spread()
    for _ in range(100):
        with torch.no_grad():
            print(net(client.ask(torch.randint(0, 100, (8,)))).sum().item())
        client.wait()
    rpc.shutdown()

main()
"""
ASKS = "rpc.remote(self.owners[0], call, args=(self.rows, ids))"
PLAIN = {"box": "[]", "spread": "pass", "asks": ASKS, "keeps": "self.asked.append(answer)",
         "gives": "answer.to_here()", "waits": "pass"}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"box": "set()", "keeps": "self.asked.add(answer)"},
        {"box": "{}", "keeps": "self.asked[next(self.numbers)] = answer"},
        {"asks": "rpc.remote(to=self.owners[0], func=call, args=(self.rows, ids))"},
        {"asks": "self.rows.remote().of(ids)"},
        {"asks": ASKS.replace("remote(", "rpc_async("), "gives": "answer.wait()"},
        {"asks": "self.rows.rpc_async().of(ids)", "gives": "answer.wait()"},
    ],
)
def test_all_kept(change: dict[str, str]) -> None:
    change = PLAIN | change
    check(CLIENT.format(**change | {"keeps": change["keeps"] + "  # TML503"}))


@pytest.mark.parametrize(
    "change",
    [
        {"keeps": "pass"},
        {"keeps": "self.last = answer"},
        {"gives": "self.asked.pop().to_here()"},
        {"waits": "self.asked.clear()"},
        {"waits": "self.asked = [one for one in self.asked if not one.confirmed_by_owner()]"},
        {"box": "deque(maxlen=4)"},
        {"keeps": "self.asked.append(answer)\n        if len(self.asked) > 4: self.asked.pop(0)"},
        {"keeps": "pass", "spread": "self.parts = [rpc.remote(owner, make, args=(9,)) for owner in self.owners]"},
        {"keeps": "pass", "spread": "for owner in self.owners: self.parts.append(rpc.remote(owner, Rows, args=(9,)))"},
    ],
)
def test_gone_or_there_for_good(change: dict[str, str]) -> None:
    check_innocent(CLIENT.format(**PLAIN | change))
