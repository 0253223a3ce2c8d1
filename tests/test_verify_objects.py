"""Flagged lines that keep objects rather than tensors, run with stand-ins: hooks, handlers, cycles."""

from __future__ import annotations

import importlib.util

import pytest
from conftest import Judge

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.finding import Edit, Fix, Location, Retains

HOOKS = {
    "of a model that is handed in": "model[1].register_forward_hook(keep)  # here",
    "of each layer": "for layer in model: handle = layer.register_forward_hook(lambda *a: keep(*a))  # here",
    "of what is named": "for _, part in model.named_modules(): part.register_forward_hook(lambda *a: keep(*a))  # here",
    "before a step": "optimizer.register_step_pre_hook(keep)  # here",
}
PROBE = """
def features(model, optimizer, x):
    seen = []

    def keep(module, inputs, output):
        seen.append(output.detach())

    {body}
    model(x)
    return seen
"""


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_stay(judged: Judge, name: str) -> None:
    text = HOOKS[name].replace(": ", ":\n        ", 1) if "for " in HOOKS[name] else HOOKS[name]
    verdict = judged(PROBE.replace("{body}", text), "TML304")
    assert verdict.status == "growing" and "object" in verdict.reason, verdict.reason


@pytest.mark.parametrize("after", ["handle.remove()", "handle = None; model._hooks.clear()"])
def test_hooks_that_are_removed(judged: Judge, after: str) -> None:
    body = f"handle = model.register_forward_hook(keep)  # here\n    model(x)\n    {after}"
    verdict = judged(PROBE.replace("{body}", body), "TML304")
    assert not verdict.confirmed, verdict.reason


@pytest.mark.parametrize(("after", "grows"), [("pass", True), ("handle.remove()", False)])
def test_a_context_manager_is_entered(judged: Judge, after: str, grows: bool) -> None:
    verdict = judged(
        "from contextlib import contextmanager\n\n@contextmanager\ndef capture(model, found):\n"
        "    handle = model.register_forward_hook(lambda *a: found.append(a))  # here\n"
        f"    yield found\n    {after}\n",
        "TML304",
    )
    assert verdict.confirmed is grows, verdict.reason


def test_what_is_given_each_time_is_another(judged: Judge) -> None:
    """A hook of what lives no longer than itself goes with it."""
    text = PROBE.replace("{body}", "x.register_forward_hook(keep)  # here").replace(", x)", ", request)")
    assert not judged(text.replace("x.reg", "request.reg"), "TML304").confirmed


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("record.states = self.model(x)", "inconclusive"),
        ("record['states'] = self.model(x)", "inconclusive"),
        ("self.states = self.model(x)", "refuted"),
        ("self.owner.states = self.model(x)", "refuted"),
    ],
)
def test_what_callers_keep_is_theirs(judged: Judge, body: str, status: str) -> None:
    text = f"class Tagger:\n    def encode(self, record, x):\n        {body}  # here\n"
    verdict = judged(text, "TML102")
    assert verdict.status == status, verdict.reason


def test_items_that_come_again(judged: Judge) -> None:
    """Each keeps its own: where there are only four of them, that is no bound."""
    text = (
        "import torch\n\nclass Item:\n    pass\n\ndef main(steps: int):\n"
        "    net = torch.nn.Linear(4, 4)\n    for item in [Item() for _ in range(steps)]:\n"
        "        item.states = net(torch.rand(2, 4))  # here\n"
    )
    assert "came again" in judged(text, "TML102").reason
    assert judged(text.replace("item.states", "net.states"), "TML102").status == "refuted"


def test_modes_that_decorate_a_coroutine(judged: Judge) -> None:
    text = (
        "import torch\n@torch.no_grad()\n{}def score(model, rows):\n    for x in rows:\n        y = model(x)  # here\n"
    )
    assert judged(text.replace("{}", "async "), "TML201", Retains.PEAK).status == "peak"
    assert judged(text.replace("{}", ""), "TML201", Retains.PEAK).status == "refuted"


SERVICE = """
import atexit
import weakref

HANDLERS, LIVE = [], weakref.WeakSet()

class Service:
    def __init__(self, config):
        self.config, self.handlers = config, []
        {body}  # here

    def close(self):
        self.config = None
"""
REGISTERED = {
    "at the end of the program": ("atexit.register(self.close)", True),
    "in a list of the module": ("HANDLERS.append(self)", True),
    "by a weak reference": ("LIVE.add(self)", False),
    "in a list of its own": ("self.handlers.append(self.close)", False),
}


@pytest.mark.parametrize("name", REGISTERED)
def test_each_call_of_init_makes_another_object(judged: Judge, name: str) -> None:
    body, grows = REGISTERED[name]
    verdict = judged(SERVICE.replace("{body}", body), "TML314")
    assert verdict.confirmed is grows, verdict.reason


def test_what_another_function_takes_back(judged: Judge) -> None:
    """It is not called: that the fix does nothing here says nothing against it."""
    text = SERVICE.replace("{body}", "atexit.register(self.close)")
    close = "atexit.unregister(self.close); "
    last = Location(text.count("\n"), 9)
    fix = Fix("unsafe", "", (Edit(last, last, close),))
    verdict = judged(text, "TML314", fix=fix, fixed=text.replace("self.config = None", f"{close}self.config = None"))
    assert verdict.confirmed and verdict.after_fix is None and verdict.scope == "call", verdict


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("self.handlers.append(self.close)", "delayed"),
        ("self.config.owner = self", "delayed"),
        ("HANDLERS.append(self)", "inconclusive"),  # a collection does not free it
        ("LIVE.add(self)", "inconclusive"),  # it needs none
    ],
)
def test_cycles(judged: Judge, body: str, status: str) -> None:
    verdict = judged(SERVICE.replace("{body}", body), "TML315", Retains.DELAYED)
    assert verdict.status == status, verdict.reason
