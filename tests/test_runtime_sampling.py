"""Whole steps are tracked, or left out, within a share of the time."""

from __future__ import annotations

import ast
import importlib.util
import textwrap

import pytest

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

import torch
from torch.utils import _python_dispatch

from torchmemlint.runtime import sampling
from torchmemlint.runtime.ledger import Ledger
from torchmemlint.runtime.observe import Observing


def busy(sampler: sampling.Sampling, steps: int, operations: int = 400) -> list[int]:
    """The operations that were seen in each step."""
    tensor, seen = torch.zeros(4), []
    for _ in range(steps):
        before = sampler._ledger.operations
        for _ in range(operations):
            tensor.add(1)
        seen.append(sampler._ledger.operations - before)
        sampler.turn()
    return seen


def test_steps_are_seen_as_a_whole_or_not_at_all() -> None:
    ledger = Ledger()
    sampler = sampling.Sampling(ledger, share=0.1)
    with sampler():
        seen = busy(sampler, 200)
    assert seen[0] == 400 and set(seen) == {0, 400} and ledger.sampled
    assert 2 < seen.count(400) < 120
    assert _python_dispatch._get_current_dispatch_mode() is None


def test_all_is_seen_where_there_is_time() -> None:
    ledger = Ledger()
    sampler = sampling.Sampling(ledger, share=10.0)
    with sampler():
        assert busy(sampler, 20) == [400] * 20
    assert not ledger.sampled


def test_optimizers_tell_steps() -> None:
    ledger = Ledger()
    weight = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with sampling.Sampling(ledger, share=0.0)():
        for _ in range(400):
            for _ in range(50):
                weight.detach().add(1)
            optimizer.step()
    assert ledger.sampled


def test_modes_of_the_program_stay_in_order() -> None:
    sampler = sampling.Sampling(Ledger(), share=0.0)
    with sampler():
        with sampling.Seeing(Ledger()) as own:
            busy(sampler, 50)
            assert _python_dispatch._get_current_dispatch_mode() is own
        busy(sampler, 50)
    assert _python_dispatch._get_current_dispatch_mode() is None


def test_views_make_nothing() -> None:
    ledger = Ledger()
    with sampling.Seeing(ledger):
        made = torch.rand(4, 4)
        kept = [made.t(), made.view(16), made.add_(1), torch.tensor([1.0, 2.0])]
    assert (ledger.count, ledger.total) == (2, 64 + 8), kept


def test_what_was_left_out_counts() -> None:
    """A storage made in a step that is left out has its size, and no line."""
    ledger = Observing()
    ledger.adopt()
    made = torch.rand(16)
    assert ledger.size_of(made.untyped_storage()) == 64 and not ledger.by_line()


def test_loops_that_train_tell_their_turns() -> None:
    source = """
    for batch in loader:
        loss = model(batch)
    for name in names:
        print(name)
    """
    text = ast.unparse(sampling.turns(ast.parse(textwrap.dedent(source)), "watcher"))
    assert text.count("watcher.turn()") == 1 and text.index("watcher.turn()") < text.index("model(batch)")
