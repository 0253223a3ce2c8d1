"""Dictionaries whose entries go with what their keys refer to weakly."""

from __future__ import annotations

import pytest
from snippets import check

TABLE = """
import weakref

class ByIdentity(weakref.ref):
    def __init__(self, tensor, callback=None):
        super().__init__(tensor, callback)
        self.number = id(tensor)

    def __hash__(self):
        return self.number

class Table:
    def __init__(self):
        self.entries = {{}}

    def drop(self, ref):
        self.entries.pop(ref, None)

    def look(self, ref):
        print(ref)

    def __setitem__(self, tensor, value):
        entries = self.entries
        {store}

    def __getitem__(self, tensor):
        return self.entries[ByIdentity(tensor)]

class Scaler:
    def __init__(self, device):
        self.device = device
        self.table = Table()

    def scale(self, tensor):
        {made}

def main(batches, device):
    scaler = Scaler(device)
    for batch in batches:
        scaler.scale(torch.randn(64, 64))
"""
DOUBLED = "self.table[tensor] = tensor * 2"
WEAK = {
    "a lambda": "self.entries[ByIdentity(tensor, lambda ref: entries.pop(ref, None))] = value",
    "a method": "self.entries[weakref.ref(tensor, self.drop)] = value",
    "by name": "key = ByIdentity(tensor, callback=self.drop)\n        self.entries[key] = value",
}
STRONG = {
    "no callback": "self.entries[ByIdentity(tensor)] = value  # TML311",
    "one that takes nothing out": "self.entries[ByIdentity(tensor, self.look)] = value  # TML311",
    "the identity": "self.entries[id(tensor)] = value  # TML311",
}


@pytest.mark.parametrize("store", WEAK.values(), ids=WEAK)
def test_entries_go_with_their_keys(store: str) -> None:
    check(TABLE.format(store=store, made=DOUBLED))


@pytest.mark.parametrize("store", STRONG.values(), ids=STRONG)
def test_entries_stay(store: str) -> None:
    released = TABLE.replace("self.entries.pop(ref, None)", "print(ref)")
    check(released.format(store=store, made=DOUBLED))


MAYBE_ITSELF = {
    "moved": "self.table[tensor] = tensor.to(self.device)  # TML316",
    "by name": "moved = tensor.to(device=self.device)\n        self.table[tensor] = moved  # TML316",
    "in one piece": "self.table[tensor] = tensor.contiguous()  # TML316",
}
ANOTHER = {
    "asked": "moved = tensor.to(self.device)\n        if moved is not tensor:\n            self.table[tensor] = moved",
    "copied": "self.table[tensor] = tensor.to(self.device, copy=True)",
    "of something else": "self.table[tensor] = (tensor + 1).to(self.device)",
    "to a device of its own": 'self.table[tensor] = tensor.to("cpu")',
}


@pytest.mark.parametrize("made", MAYBE_ITSELF.values(), ids=MAYBE_ITSELF)
def test_values_that_may_be_their_keys(made: str) -> None:
    check(TABLE.format(store=WEAK["a lambda"], made=made))
    own = TABLE.replace("self.table = Table()", "self.table = weakref.WeakKeyDictionary()")
    check(own.format(store="pass", made=made))


@pytest.mark.parametrize("made", ANOTHER.values(), ids=ANOTHER)
def test_values_of_their_own(made: str) -> None:
    check(TABLE.format(store=WEAK["a lambda"], made=made))


INSIDE = """
import weakref

TABLE = weakref.WeakKeyDictionary()

class Wrapped:
    def __init__(self, base):
        self.base = {}

def wrapped(model, name):
    {}

def main(steps):
    for step in range(steps):
        model = nn.Linear(64, 64)
        wrapped(model, str(step))
"""
STORES = {
    "a table": "TABLE.setdefault(model, {})[name] = Wrapped(model)",
    "a list": "TABLE.setdefault(model, []).append(Wrapped(model))",
    "by a name": "rows = TABLE.setdefault(model, {})\n    rows['it'] = Wrapped(model)",
    "what is put in first": "TABLE[model] = rows = {}\n    rows[name] = Wrapped(model)",
}


@pytest.mark.parametrize("stored", STORES.values(), ids=STORES)
def test_what_containers_of_weak_keys_keep(stored: str) -> None:
    check(INSIDE.format("base", stored + "  # TML316"))
    check(INSIDE.format("weakref.ref(base)", stored))
    check(INSIDE.format("sum(p.numel() for p in base.parameters())", stored))


BY_IDENTITY = """
from torch.utils.weak import WeakTensorKeyDictionary

class Store:
    copies = WeakTensorKeyDictionary()

    @classmethod
    def offload(cls, value, device):
        if value not in cls.copies:
            moved = value.to(device){}
        return cls.copies[value]

def main(steps, device):
    for step in range(steps):
        Store.offload(torch.randn(64, 64), device)
"""


def test_tables_by_identity() -> None:
    check(BY_IDENTITY.format("\n            cls.copies[value] = moved  # TML316"))
    check(
        BY_IDENTITY.format(
            "\n            if moved is value:\n                return value\n            cls.copies[value] = moved"
        )
    )
