"""What a snippet is called with: arguments by name and annotation, and objects of classes whose bases are missing."""

from __future__ import annotations

import inspect
import re
from typing import Any

import torch

from . import words
from .payload import NUMBER, payload
from .standins import Bag, unknown
from .turns import FEW
from .unknowns import Real, Whole, Word

_COUNTS = frozenset("epoch batch_idx step i idx index global_step epochs num_epochs".split())


class Anything:
    """A base class that is not there: takes any arguments, and has every attribute."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __init_subclass__(cls, **_: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = Bag(name)
        object.__setattr__(self, name, found)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward = getattr(type(self), "forward", None)
        return forward(self, *args, **kwargs) if forward is not None else unknown(Bag("call"), args, kwargs)


def without_init(owner: type) -> Any:
    try:
        made = owner.__new__(owner)  # type: ignore[call-overload]
    except Exception:
        return None
    if isinstance(made, torch.nn.Module):
        torch.nn.Module.__init__(made)
    return made


def required(function: Any) -> list[inspect.Parameter]:
    """The parameters to fill: those without a default, or whose default says nothing."""
    try:
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [one for one in parameters if one.kind in plain and one.default is one.empty]


def is_lasting(parameter: inspect.Parameter) -> bool:
    """Whether the same one goes in at each call: a model, or what belongs to it; all else is another each time."""
    return parameter.name.lower().rpartition("_")[2] in words.MODELS | words.LASTING


def lent(parameter: inspect.Parameter) -> Any:
    """An argument of one call: whether who calls keeps it, is not known."""
    made = argument(parameter)
    if isinstance(made, Bag):
        made.__dict__["_lent"] = True
    return made


def argument(parameter: inspect.Parameter) -> Any:
    """A stand-in by what a parameter's annotation and name say."""
    said = str(parameter.annotation) if parameter.annotation is not parameter.empty else ""
    kinds = {one.strip().removeprefix("torch.") for one in re.sub(r"^Optional\[(.*)\]$", r"\1", said).split("|")}
    if "Tensor" in kinds or (not said and parameter.name.lower() in words.DATA | words.COMPUTED):
        return payload()
    if any(re.match(r"(list|List|Sequence|Iterable|tuple|Tuple)\[(torch\.)?Tensor\b", kind) for kind in kinds):
        return [payload() for _ in range(FEW)]
    if kinds & {"int", "bool"} or parameter.name in _COUNTS:
        return Whole(NUMBER)
    if kinds & {"float", "str"}:
        return Real(0.5) if "float" in kinds else Word("standin")
    return Bag(parameter.name)
