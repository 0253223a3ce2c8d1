"""Entries that are put under one key of a request, and taken out under another."""

from __future__ import annotations

import pytest
from snippets import check

RECEIVER = """
class Receiver:
    def __init__(self):
        self.staged, self.done = {{}}, []

    def handle(self, meta):
        {names}
        try:
            self.fetch({put}, torch.rand(64))
            self.done.append({gone})
        finally:
            {take}

    def fetch(self, rid, block):
        {store}{mark}

    {more}

def main(queue):
    receiver = Receiver()
    while True:
        receiver.handle(queue.get())
"""
ONE_BY_ONE = "rid = meta['request_id']; remote = meta['remote_request_id']"
TESTED = "if {} in self.staged: del self.staged[{}]"
LEFT = {
    "keys of a message": {},
    "as they are": {"names": "pass", "put": "meta['remote_id']", "gone": "meta['request_id']"},
    "attributes": {"names": "pass", "put": "meta.uid", "gone": "meta.request_id"},
    "popped": {"take": "self.staged.pop({}, None)"},
    "of entries": {"store": "self.staged.setdefault(rid, []).append(block)"},
}
TAKEN = {
    "the same key": {"gone": "remote"},
    "an entry that moves": {"names": "remote = meta['new_id']; rid = meta['old_id']"},
    "somebody else's": {"gone": "self.done[0]"},
    "a key that is worked out": {"gone": "str(meta)"},
    "another release": {"more": "def sweep(self): self.staged.clear()"},
}


@pytest.mark.parametrize("case", [*LEFT, *TAKEN])
def test_a_key_and_another(case: str) -> None:
    default = {"names": ONE_BY_ONE, "put": "remote", "gone": "rid", "take": TESTED, "more": "pass"}
    parts = default | {"store": "self.staged[rid] = block"} | LEFT.get(case, {}) | TAKEN.get(case, {})
    parts["take"] = parts["take"].format(parts["gone"], parts["gone"])
    code = "TML303" if "append" in parts["store"] else "TML311"
    check(RECEIVER.format(**parts, mark=f"  # {code}" if case in LEFT else ""))
