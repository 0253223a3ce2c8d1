"""What goes through the store of a process group: entries under one key, and under a new one for each round."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import lint, marked, write
from snippets import PRELUDE, check

IMPORTS = """\
import io
import pickle
import uuid

import torch.distributed as dist


def pack(state):
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


"""
SWAP = """
class Swap:
    def __init__(self, store: dist.Store, rank, world):
        self.store, self.rank, self.world = store, rank, world
        self.turn = 0
        self.last = {{}}
        store.set(f"ready/{{rank}}", "yes")

    def swap(self, state{params}):
        {body}
        return [self.store.get(f"turn/{{self.turn}}/{{peer}}") for peer in range(self.world)]

def main(net, rank, world):
    store = dist.TCPStore("localhost", 29500, world, rank == 0)
    swap = Swap(store, rank, world)
    for step in range(1000):
        print(len(swap.swap(net.state_dict(){given})))
"""


def _swap(body: str, params: str = "", given: str = "") -> str:
    return SWAP.format(body=body.replace("\n", "\n        "), params=params, given=given)


KEPT = {
    "counted up": _swap('self.turn += 1\nself.store.set(f"turn/{self.turn}/{self.rank}", pack(state))  # TML409'),
    "by another name": _swap(
        "turn, self.turn = self.turn, self.turn + 1\n"
        'self.store.set("turn/%d/%d" % (turn, self.rank), pack(state))  # TML409'
    ),
    "a key that is put together": _swap(
        'self.turn = self.turn + 1\nkey = "turn/" + str(self.turn)\n'
        "packed = pack(state)\nself.store.set(key, packed)  # TML409"
    ),
    "the number of the step": _swap(
        'self.store.set("turn/{}".format(step), pickle.dumps(state))  # TML409', ", step", ", step"
    ),
    "a random name": _swap('self.store.set(f"turn/{uuid.uuid4()}", pack(state))  # TML409'),
    "the bytes of arrays": _swap(
        "self.turn += 1\nfor name, tensor in state.items():\n"
        '    self.store.set(f"turn/{self.turn}/{name}", tensor.numpy().tobytes())  # TML409'
    ),
    "in the loop": """
        def main(net, world):
            store = dist.PrefixStore("swap", dist.TCPStore("localhost", 29500, world, True))
            for step in range(1000):
                store.set(f"weights/{step}", pack(net.state_dict()))  # TML409
        """,
}
GONE = {
    "deleted": _swap(
        'self.turn += 1\nself.store.set(f"turn/{self.turn}/{self.rank}", pack(state))\n'
        'self.store.delete_key(f"turn/{self.turn - 1}/{self.rank}")'
    ),
    "one key for each rank": _swap('self.store.set(f"turn/{self.rank}", pack(state))'),
    "a ring of keys": _swap('self.turn += 1\nself.store.set(f"turn/{self.turn % 2}/{self.rank}", pack(state))'),
    "a ring of numbers": _swap(
        'self.turn = (self.turn + 1) % 2\nself.store.set(f"turn/{self.turn}/{self.rank}", pack(state))'
    ),
    "numbers": _swap('self.turn += 1\nself.store.set(f"turn/{self.turn}/{self.rank}", str(len(state)))'),
    "emptied": _swap(
        'self.turn += 1\nself.store.set(f"turn/{self.turn}", pack(state))\nself.store.set(f"turn/{self.turn - 2}", "")'
    ),
    "one for each layer": _swap(
        'for name, tensor in state.items():\n    self.store.set(f"weights/{name}", tensor.numpy().tobytes())'
    ),
    "to each of the ranks": _swap('for peer in range(self.world):\n    self.store.set(f"for/{peer}", pack(state))'),
    "once": """
        def main(net, world, step):
            store = dist.TCPStore("localhost", 29500, world, True)
            store.set(f"weights/{step}", pack(net.state_dict()))
        """,
    "a store for each round": """
        def main(net, world):
            for step in range(1000):
                store = dist.HashStore()
                store.set(f"weights/{step}", pack(net.state_dict()))
        """,
    "settings of another kind": """
        def main(net, settings):
            for step in range(1000):
                settings.set(f"weights/{step}", pack(net.state_dict()))
        """,
}


@pytest.mark.parametrize("case", KEPT)
def test_a_key_for_each_round(case: str) -> None:
    check(KEPT[case], PRELUDE + IMPORTS)


@pytest.mark.parametrize("case", GONE)
def test_keys_that_go_or_come_again(case: str) -> None:
    check(GONE[case], PRELUDE + IMPORTS)


def test_rounds_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _, used = KEPT["counted up"].partition("def main")
    files = {
        "swap.py": PRELUDE + IMPORTS + made,
        "train.py": "import torch.distributed as dist\nfrom swap import Swap\n\ndef main" + used,
    }
    names = write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    assert lint(tmp_path, names) == marked(files)
