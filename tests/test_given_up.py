"""Generators that are closed before they have taken out their entries: `# TML303` says what is due."""

from __future__ import annotations

import pytest
from snippets import check

STREAM = """
import uuid

class Speech:
    def __init__(self, net):
        self.net, self.tokens, self.begun = net, {{}}, {{}}

    def stream(self, x, {given}):
        {key}
        self.tokens[key], self.begun[key] = [], True{mark}
        {loop}

    {other}

def listen(net, xs):
    for x in xs:
        for wav in Speech(net).stream(x, 3):
            {heard}

with torch.no_grad():
    listen(Net(), torch.rand(4, 8))
"""
PLAIN = """for step in range(9):
            self.tokens[key].append(step)
            yield self.net(x).sum()
        self.tokens.pop(key)
        del self.begun[key]"""
GUARDED = """try:
            for step in range(9):
                yield self.net(x).sum()
        finally:
            {last}"""
NEW = "key = str(uuid.uuid4())"
LEFT = {
    "a key of its own": {},
    "the key of a request": {"given": "request_id", "key": "pass"},
    "an entry that a helper takes out": {"loop": GUARDED.format(last="self.forget(key)"), "mark": ""},
    "an entry that goes in the end": {"loop": GUARDED.format(last="self.tokens.pop(key)"), "mark": ""},
    "a listener who hears it all": {"heard": "print(wav)", "mark": ""},
    "a key that comes again": {"key": "key = n", "mark": ""},
    "a table that others empty": {"other": "def sweep(self): self.tokens.clear()", "mark": ""},
}


@pytest.mark.parametrize("case", LEFT)
def test_entries_of_an_iteration_that_is_given_up(case: str) -> None:
    parts = {"given": "n", "key": NEW, "loop": PLAIN, "other": "pass", "heard": "break", "mark": "  # TML303"}
    parts |= LEFT[case]
    text = STREAM.format(**parts)
    if parts["key"] == "pass":
        text = text.replace("[key]", "[request_id]").replace("(key)", "(request_id)")
    check(text)


ROUNDS = """
import asyncio

class State:
    def __init__(self, obj):
        self.obj, self.event, self.outputs, self.finished = obj, asyncio.Event(), [], False

class Manager:
    def __init__(self):
        self.states = {{}}

    async def generate(self, {given}):
        state = State(obj)
        {key}
        self.states[rid] = state{mark}
        while True:
            await state.event.wait()
            {rounds}

    async def answer(self, obj):
        async for out in self.generate(obj):
            yield str(out)

    def abort(self, rid):
        {abort}

async def serve(manager, obj):
    {client}
"""
LAST = """if state.finished:
                del self.states[rid]
                yield state.outputs[-1]
                break
            yield state.outputs[-1]"""
EITHER = """if state.finished:
                yield state.outputs[-1]
                del self.states[rid]
                return
            else:
                yield state.outputs[-1]"""
ONCE = """self.states.pop(rid, None)
            yield state.outputs[-1]"""
ENDED = """if state.finished:
                del self.states[rid]
                break
        yield state.outputs[-1]"""
BREAKS = "async for out in manager.generate(obj):\n        if out is None: break"
HEARS = BREAKS.replace("break", "print(out)")
ROUNDS_LEFT = {
    "the last round": {},
    "a key of what is asked for": {"key": "pass"},
    "the key of a request": {"given": "request, obj", "key": "rid = request.id"},
    "one branch or the other": {"rounds": EITHER},
    "a client who may hang up": {"client": "return StreamingResponse(manager.generate(obj), media_type='text')"},
    "one who has it from another": {"client": "return StreamingResponse(content=manager.answer(obj))"},
    "a client who hears it all": {"client": HEARS, "mark": ""},
    "a response that tells": {"client": "return StreamingResponse(manager.answer(obj), background=t)", "mark": ""},
    "taken out in each round": {"rounds": ONCE, "mark": ""},
    "nothing before the end": {"rounds": ENDED, "mark": ""},
    "a key that comes again": {"key": "rid = obj.user", "mark": ""},
    "who breaks off takes it out": {"abort": "self.states.pop(rid, None)", "mark": ""},
}


@pytest.mark.parametrize("case", ROUNDS_LEFT)
def test_entries_that_the_last_round_takes_out(case: str) -> None:
    default = {"given": "obj", "key": "rid = obj.rid", "rounds": LAST, "abort": "pass", "client": BREAKS}
    parts = default | {"mark": "  # TML303"} | ROUNDS_LEFT[case]
    text = ROUNDS.format(**parts)
    check(text.replace("[rid]", "[obj.rid]") if parts["key"] == "pass" else text)
