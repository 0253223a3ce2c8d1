"""A matrix of loops, clean and leaking: every leak is seen, and nothing is seen in a clean one."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from typing import Any

import pytest

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.runtime import entry, judge

STEPS = 12
HEAD = """
import collections, functools, threading
import torch
from torch import nn

def net(width=16):
    return nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, 1))

def step(model, optimizer, batch=4):
    optimizer.zero_grad()
    loss = model(torch.rand(batch, 8)).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss

class Box:
    pass

KEPT = []
"""
TRAIN = "model = net()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
ADAM = "model = net()\noptimizer = torch.optim.Adam(model.parameters())\n"

EACH = "for _ in range(steps): "
CLEAN = {
    "training": TRAIN + "for _ in range(steps): step(model, optimizer)",
    "lazy optimizer state": ADAM + "for _ in range(steps): step(model, optimizer)",
    "varying shapes": TRAIN + "for n in range(steps): step(model, optimizer, 1 + n * 7 % 5)",
    "numbers kept": TRAIN + "seen = [step(model, optimizer).item() for _ in range(steps)]",
    "ring buffer": TRAIN
    + "ring = collections.deque(maxlen=4)\nfor _ in range(steps): ring.append(step(model, optimizer))",
    "cache that fills": "cache = {}\nfor n in range(steps): cache[n % 5] = torch.rand(1000)",
    "scheduler": TRAIN
    + "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)\n"
    + "for _ in range(steps):\n    step(model, optimizer)\n    schedule.step()",
    "moving average": TRAIN
    + "average = [p.detach().clone() for p in model.parameters()]\n"
    + "for _ in range(steps):\n    step(model, optimizer)\n"
    + "    for a, p in zip(average, model.parameters()): a.lerp_(p.detach(), 0.1)",
    "evaluation": "model = net()\nwith torch.no_grad():\n    " + EACH + "total = model(torch.rand(4, 8)).sum()",
    "cleared each epoch": TRAIN
    + "outputs = []\nfor _ in range(steps):\n"
    + "    for _ in range(3): outputs.append(step(model, optimizer))\n    outputs.clear()",
    "hooks removed": TRAIN
    + "for _ in range(steps):\n    handle = model.register_forward_hook(lambda *a: None)\n"
    + "    step(model, optimizer)\n    handle.remove()",
    "running sum detached": TRAIN + "total = 0\nfor _ in range(steps): total = total + step(model, optimizer).detach()",
    "data whose size is the steps": "data = torch.rand(steps, 100)\nfor row in data: row.sum().item()",
    "threads that end": "for _ in range(steps):\n    t = threading.Thread(target=torch.rand, args=(100,))\n"
    "    t.start()\n    t.join()",
}
LEAKING = {
    "losses kept": TRAIN + "seen = []\nfor _ in range(steps): seen.append(step(model, optimizer))",
    "graph chain without bytes": TRAIN + "total = 0\nfor _ in range(steps): total = total + step(model, optimizer)",
    "evaluation with gradients": "model = net()\nout = []\n" + EACH + "out.append(model(torch.rand(4, 8)).sum())",
    "one in eight": "for n in range(8 * steps):\n    x = torch.rand(1000)\n    if n % 8 == 0: KEPT.append(x)",
    "cache without a bound": "@functools.lru_cache(None)\ndef make(n): return torch.rand(100)\n"
    "for n in range(steps): make(n)",
    "hooks that stay": TRAIN
    + "for _ in range(steps):\n    big = torch.rand(100)\n"
    + "    model.register_forward_hook(lambda *a, big=big: None)\n    step(model, optimizer)",
    "state carried on": "h = torch.zeros(1, 8)\ncell = nn.RNNCell(8, 8)\n" + EACH + "h = cell(torch.rand(1, 8), h)",
    "views of large outputs": "for _ in range(steps): KEPT.append(torch.rand(1000)[:1])",
    "buffer that is extended": "parts = []\nfor _ in range(steps): parts.extend(torch.rand(2, 100).unbind())",
    "exceptions kept": "def fail():\n    big = torch.rand(500)\n    raise ValueError\nfor _ in range(steps):\n"
    "    try: fail()\n    except ValueError as e: KEPT.append(e)",
    "thread that keeps": "def work():\n    for _ in range(steps): KEPT.append(torch.rand(100))\n"
    "t = threading.Thread(target=work)\nt.start()\nt.join()",
    "inside a call only": TRAIN
    + "def epoch():\n    seen = []\n    "
    + EACH
    + "seen.append(step(model, optimizer))\n    return len(seen)\n"
    + "epoch()",
}
DELAYED = {
    "cycles": "for _ in range(steps):\n    box = Box()\n    box.me, box.data = box, torch.rand(100_000)",
}


def statuses(body: str, server: Any, folder: Path) -> list[str]:
    program = folder / "loops.py"
    program.write_text(HEAD + "\ndef main(steps):\n" + textwrap.indent(body, "    ") + "\n")
    found = entry.verify(entry.Entry(str(program), "main"), [], server, STEPS)
    return [one.verdict.status for one in found if one.verdict is not None]


@pytest.mark.parametrize("name", CLEAN)
def test_clean(name: str, server: Any, tmp_path: Path) -> None:
    assert statuses(CLEAN[name], server, tmp_path) == []


@pytest.mark.parametrize("name", LEAKING)
def test_leaking(name: str, server: Any, tmp_path: Path) -> None:
    assert statuses(LEAKING[name], server, tmp_path) == ["growing"]


@pytest.mark.parametrize("name", DELAYED)
def test_delayed(name: str, server: Any, tmp_path: Path) -> None:
    assert statuses(DELAYED[name], server, tmp_path) == ["delayed"]


def test_a_number_of_steps_with_a_default(server: Any, tmp_path: Path) -> None:
    """`main(steps=3)` runs as many steps as are asked for, instead of three again and again."""
    program = tmp_path / "loops.py"
    program.write_text(HEAD + "\ndef main(steps=3):\n" + textwrap.indent(LEAKING["losses kept"], "    ") + "\n")
    found = entry.verify(entry.Entry(str(program), "main"), [], server, STEPS)
    assert [one.verdict.status for one in found if one.verdict is not None] == ["growing"]


def test_growth_from_reset_to_reset() -> None:
    """A function that is called again and again fills its list each time; the later looks are far apart."""
    dense = [(hit, 0, 7 * hit) for hit in range(1, 9)]
    sparse = [(hit, 0, 7 * (hit % 48 + 1)) for hit in range(24, 1152, 32)]
    assert judge.own_growth({"samples": dense + sparse}) == (0.0, 7.0)
    flat = [(hit, 0, 56) for hit in range(1, 9)]
    ring = [(hit, 0, 7 * min(hit, 16)) for hit in (*range(1, 9), *range(12, 140, 4))]
    assert judge.own_growth({"samples": ring}) == (0.0, 0.0)
    assert judge.own_growth({"samples": flat + [(hit, 0, 56) for hit in range(24, 1152, 32)]}) == (0.0, 0.0)
