"""Stand-ins for objects of which nothing is known, in a flagged snippet.

A `Bag` is callable, iterable, subscriptable and has every attribute; what is stored in it is really stored. A call of
something unknown gives a tensor if tensors went in, with a graph as a model's output would have, else a bag. Stand-ins
for tensors are in `payload`.
"""

from __future__ import annotations

import collections
import itertools
import re
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from . import doubts, words
from .payload import NUMBER, SIZE, Payload, backward, batches, mixed, payload, tensors_in, wrapped
from .unknowns import Word, guess

_MOST = 32  # items of a bag; loops that need more go over them again
_ACTIVATIONS = 4  # that an unknown model saves
PARAMETER: list[torch.Tensor] = []  # of all unknown models; made when first needed


class Bag:
    """Something of which nothing is known. What is stored in it is really stored.

    It is `foreign` where it comes from code that is not followed, or stands for what failed: not handed in.
    It is `lent` where whoever calls handed it in, and may keep it.
    """

    standin = True

    def __init__(self, name: str = "", foreign: bool = False, lent: bool = False) -> None:
        self.__dict__.update(_name=name, _foreign=foreign, _lent=lent)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_ipython_display_":
            raise AttributeError(name)
        known = self.__dict__
        found = Bag(f"{known.get('_name', '')}.{name}", known.get("_foreign", False), known.get("_lent", False))
        self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "data" and isinstance(value, torch.Tensor):
            value = value.detach()  # as PyTorch does: what is set as data is kept without its graph
        self.__dict__[name] = value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return unknown(self, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        items = self.__dict__.setdefault("_items", {})
        key = key if isinstance(key, (str, int)) else "*"
        if key not in items:
            items[key] = Bag(f"{self._name}[{key!r}]", self._foreign, self._lent)
        return items[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.__dict__.setdefault("_items", {})[key if isinstance(key, (str, int)) else id(key)] = value

    def __delitem__(self, key: Any) -> None:
        self.__dict__.setdefault("_items", {}).pop(key, None)

    # a list, as far as it is used as one
    def _put(self, *values: Any) -> None:
        self.__dict__.setdefault("_list", []).extend(values)

    def append(self, value: Any) -> None:
        self._put(value)

    def extend(self, values: Any) -> None:
        self._put(values)

    add = put = appendleft = put_nowait = append

    def register_hook(self, hook: Any, *_: Any, **__: Any) -> Any:
        """As a module keeps hooks, until their handle is told to remove them. They are not run."""
        hooks = self.__dict__.setdefault("_hooks", collections.OrderedDict())
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    register_forward_hook = register_forward_pre_hook = register_full_backward_hook = register_hook
    register_full_backward_pre_hook = register_backward_hook = register_hook
    register_step_pre_hook = register_step_post_hook = register_hook

    def clear(self) -> None:
        self.__dict__.pop("_list", None)
        self.__dict__.pop("_items", None)

    def pop(self, *_: Any) -> Any:
        kept = self.__dict__.get("_list")
        return kept.pop() if kept else Bag(f"{self._name}.pop()", self._foreign)

    def items(self) -> Items:
        return Items((Word(f"item{n}"), payload()) for n in range(NUMBER))

    def keys(self) -> Items:
        return Items(Word(f"item{n}") for n in range(NUMBER))

    def values(self) -> Items:
        return Items(payload() for _ in range(NUMBER))

    def modules(self) -> Items:
        """Its parts, the same ones each time."""
        return Items(self[n] for n in range(NUMBER))

    children = modules

    def named_modules(self) -> Items:
        return Items((Word(f"item{n}"), self[n]) for n in range(NUMBER))

    named_children = named_modules

    def __iter__(self) -> Iterator[Any]:
        if _is_model(self._name.rpartition(".")[2]):
            return iter(self.modules())
        return itertools.islice(batches(), _MOST)

    def tensor(self, *, given: bool = False) -> Payload:
        """This, once it is known to be a tensor, with a graph unless it is data or was given. The same one as long as
        the program has it: nothing stays because of the stand-in itself.
        """
        ref = self.__dict__.get("_tensor")
        found: Payload | None = ref() if ref is not None else None
        if found is None:
            origin = self._name.removesuffix("()") if self._foreign else ""
            found = payload() if given or self.is_data() else _computed([], origin)
            self.__dict__["_tensor"] = weakref.ref(found)
        return found

    def is_data(self) -> bool:
        """Whether its name says that it is a tensor of data: `batch.images`, `batch['images']`."""
        return re.split(r"\W+", self._name.rstrip("']\""))[-1].lower() in words.DATA

    def __len__(self) -> int:
        return NUMBER

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return NUMBER

    __index__ = __int__

    def __float__(self) -> float:
        return 0.5

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __contains__(self, _: Any) -> bool:
        return True

    def __format__(self, _: str) -> str:
        return "standin"

    __str__ = __repr__ = lambda self: "standin"

    def __fspath__(self) -> str:
        return "standin"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> Any:
        return Bag("==")

    def __invert__(self) -> Any:
        return Bag("~")

    def __neg__(self) -> Any:
        return -NUMBER


class Items(list):  # type: ignore[type-arg]
    """What is in something unknown: how many there are is not known either."""


def _arithmetic(name: str) -> Any:
    def operate(self: Bag, other: Any) -> Any:
        if issubclass(type(other), torch.Tensor):
            return mixed([other])
        if isinstance(other, (int, float)):
            return guess(getattr(type(other), name)(type(other)(NUMBER), other))
        return Bag(name)

    return operate


for _one in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or"):
    for _name in (f"__{_one}__", f"__r{_one}__"):
        setattr(Bag, _name, _arithmetic(_name))
for _one in ("lt", "le", "gt", "ge", "ne"):
    setattr(Bag, f"__{_one}__", lambda self, other: Bag("compared"))


def unknown(callee: Any, args: Any, kwargs: Any) -> Any:
    """What a call of something unknown gives."""
    name = str(getattr(callee, "_name", "") if isinstance(callee, Bag) else getattr(callee, "__name__", ""))
    last = name.rpartition(".")[2]
    given = [*args, *kwargs.values()]
    tensors = tensors_in(given) or [one.tensor() for one in given if isinstance(one, Bag) and one.is_data()]
    if not tensors and given and _is_model(last) and all(isinstance(one, Bag) for one in given):
        tensors = [one.tensor(given=True) for one in given]
    if last in ("backward", "manual_backward") and tensors:
        for tensor in tensors:
            backward((tensor,), {})
        return None
    if last == "detach" and not args and isinstance(callee, Bag):
        return payload()
    if last in words.SILENT or not tensors:
        return Bag(f"{name}()", isinstance(callee, Bag) and callee._foreign)
    if not isinstance(callee, (Bag, Payload)):
        return mixed(tensors)
    return _computed(tensors, name if isinstance(callee, Bag) and callee._foreign else "")


def _is_model(name: str) -> bool:
    """Whether a name says that a call of this gives tensors, if anything went in: `ref_decoder(ids)`."""
    return name.lower().rpartition("_")[2] in words.MODELS - words.TENSORS


def _called(self: Payload, *args: Any, **kwargs: Any) -> Any:
    return unknown(self, args, kwargs)


Payload.__call__ = _called  # type: ignore[method-assign]  # what was taken for data is a model, or a function


def _computed(tensors: list[torch.Tensor], origin: str = "") -> Payload:
    """The output of an unknown model, or of `origin`: code that is not followed."""
    if origin and doubts.is_doubtful(origin) and torch.is_grad_enabled():
        if not doubts.has_graph(origin):
            return mixed([tensor.detach() for tensor in tensors])
        parameter = doubts.leaf(origin, _parameter)
    else:
        if not PARAMETER:
            PARAMETER.append(_parameter())
        parameter = PARAMETER[0]
    result = mixed([*tensors, parameter])
    with torch._C.DisableTorchFunctionSubclass():
        for _ in range(_ACTIVATIONS):
            result = result.sin()  # type: ignore[assignment]
        return wrapped(result)


def _parameter() -> torch.Tensor:
    return torch.rand(SIZE, requires_grad=True)


def is_standin(value: Any) -> bool:
    return bool(getattr(type(value), "standin", False))


def prepare_torch() -> None:
    """What does not matter here is left out: that large parameters are initialised, and that values are checked."""
    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)
    torch.distributions.Distribution.set_default_validate_args(False)
