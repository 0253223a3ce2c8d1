"""How often loops go round, and over what: loops over stand-ins end, and the flagged one goes on."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from .payload import batches, payload
from .standins import Bag, Items, is_standin

if TYPE_CHECKING:
    from .healing import Account

FEW = 3  # turns of comprehensions over stand-ins
_TURNS = {"around": 2, "other": 3}  # of loops around the flagged one, and of others over stand-ins
_MOST = 64  # turns of others over what is really there


def wanted(turns: str, steps: int) -> int:
    """How often a loop goes round: the flagged one as often as there are steps."""
    return steps if turns == "steps" else _TURNS[turns]


def loop(iterable: Any, shape: Any, turns: str, steps: int, account: Account) -> Iterator[Any]:
    """What a `for` goes over. The flagged loop starts again with what is like its first items if it ends too early."""
    most = _MOST if turns == "other" and not is_endless(iterable) else wanted(turns, steps)
    seen: list[Any] = []
    done = 0
    for value in itertools.islice(_safely(iterated(iterable)), most):
        done += 1
        if len(seen) < FEW:
            seen.append(value)
        yield unpacked(value, shape)
    account.cut = account.cut or (turns != "steps" and done == most and _reads(iterable))
    if turns == "steps":
        account.again = account.again or 0 < done < most
        again: Iterator[Any] = map(_like, itertools.cycle(seen)) if seen else batches()
        if isinstance(iterable, enumerate) and seen:
            again = ((number, item[1]) for number, item in enumerate(again, seen[0][0] + done))
        for value in itertools.islice(again, most - done):
            yield unpacked(value, shape)


def few(iterable: Any, shape: Any, account: Account) -> Iterator[Any]:
    """What a comprehension goes over."""
    most = FEW if is_endless(iterable) else _MOST
    done = 0
    for value in itertools.islice(iterated(iterable), most):
        done += 1
        yield unpacked(value, shape)
    account.cut = account.cut or (done == most and _reads(iterable))


def _reads(iterable: Any) -> bool:
    """Whether the program's own code gives the items: it may take them from a thread."""
    if is_standin(iterable) or isinstance(iterable, Items):
        return False
    own = getattr(type(iterable), "__iter__", None)
    return inspect.isgenerator(iterable) or hasattr(type(iterable), "__next__") or hasattr(own, "__code__")


def is_endless(iterable: Any) -> bool:
    """Whether an iterable is a stand-in, or something made of one."""
    if is_standin(iterable) or isinstance(iterable, Items):
        return True
    if isinstance(iterable, (enumerate, zip, map, filter, reversed)) or inspect.isgenerator(iterable):
        return True
    return isinstance(iterable, range) and len(iterable) > _MOST


def iterated(iterable: Any) -> Iterator[Any]:
    try:
        return iter(iterable)
    except Exception:
        return batches()


def _safely(values: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from values
    except Exception:
        return


def _like(value: Any) -> Any:
    """Another item like one that was there: not the same tensor once more."""
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        return value.clone()
    return tuple(map(_like, value)) if type(value) is tuple else value


def unpacked(value: Any, shape: Any) -> Any:
    """As many values as a target takes, where a stand-in has to be taken apart."""
    if not shape:
        return value
    if is_standin(value):
        parts = [payload() if isinstance(value, Bag) else value[n] for n in range(len(shape))]
    else:
        try:
            parts = list(value)
        except Exception:
            parts = []
        if len(parts) != len(shape):
            parts = [Bag("part", foreign=True) for _ in shape]
    return tuple(unpacked(part, inner) for part, inner in zip(parts, shape, strict=True))
