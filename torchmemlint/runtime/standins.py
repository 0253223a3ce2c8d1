"""Stand-ins for what a flagged snippet cannot have: tensors without a shape, and objects of which nothing is known.

Every operation on a `Payload` gives a fresh one of the same size, made by real operations of PyTorch: shapes never
matter, while graphs, saved tensors, grad mode, `backward`, `detach`, in-place changes and storages are real. A `Bag`
is callable, iterable, subscriptable and has every attribute; what is stored in it is really stored. A call of
something unknown gives a tensor if tensors went in, with a graph as a model's output would have, else a bag.
"""

from __future__ import annotations

import itertools
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import doubts, words
from .unknowns import Real, Whole, Word, guess

SIZE = 1024  # floats of a payload: 4096 bytes
NUMBER = 4  # what a bag is where a number is needed
_MOST = 32  # items of a bag; loops that need more go over them again
_ACTIVATIONS = 4  # that an unknown model saves
SCALARS: list[Callable[[torch.Tensor], None]] = []  # told of tensors that turn out to have one element
PARAMETER: list[torch.Tensor] = []  # of all unknown models; made when first needed


def _shape() -> Shape:
    return Shape([Whole(NUMBER)] * 4)


class Shape(tuple):  # type: ignore[type-arg]
    """A shape that has as many dimensions as are asked for."""

    def __getitem__(self, key: Any) -> Any:
        return Shape(tuple.__getitem__(self, key)) if isinstance(key, slice) else Whole(NUMBER)

    def numel(self) -> int:
        return Whole(SIZE)


class Payload(torch.Tensor):
    """A tensor without a shape: every operation is allowed, and gives one of the same size."""

    standin = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__", "__delete__"):
            name = func.__self__.__name__
        with torch._C.DisableTorchFunctionSubclass():
            return _operation(func, name, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _wrapped(_alias(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return unknown(self, args, kwargs)

    def __iter__(self) -> Iterator[Payload]:
        return (_wrapped(_alias(self)) for _ in range(NUMBER))

    def __len__(self) -> int:
        return NUMBER

    def items(self) -> list[tuple[str, Payload]]:
        return [(Word("item"), _wrapped(_alias(self)))]

    def keys(self) -> list[str]:
        return [Word("item")]

    def values(self) -> Any:
        return [_wrapped(_alias(self))]

    def get(self, *_: Any) -> Payload:
        return _wrapped(_alias(self))

    def __bool__(self) -> bool:
        return True

    def __float__(self) -> float:
        return 0.5

    def __int__(self) -> int:
        return 1

    __index__ = __int__

    def __format__(self, _: str) -> str:
        return "0.5"

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return "a stand-in tensor"

    def __contains__(self, _: Any) -> bool:
        return True

    def __deepcopy__(self, _: Any) -> Payload:
        with torch._C.DisableTorchFunctionSubclass():
            return _wrapped(self.detach().clone())

    def __reduce_ex__(self, _: Any) -> Any:
        return payload, ()


def payload() -> Payload:
    """A batch of data: no graph."""
    with torch._C.DisableTorchFunctionSubclass():
        return _wrapped(torch.rand(SIZE))


def batches() -> Iterator[Payload]:
    """Data without an end."""
    while True:
        yield payload()


def _wrapped(tensor: torch.Tensor) -> Payload:
    with torch._C.DisableTorchFunctionSubclass():
        return tensor if type(tensor) is Payload else tensor.as_subclass(Payload)


def _alias(tensor: torch.Tensor) -> torch.Tensor:
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.view_as(tensor)


def _operation(func: Any, name: str, args: Any, kwargs: Any) -> Any:
    first = args[0] if args else None
    if name in words.PLAIN:
        result = func(*args, **kwargs)
        return _wrapped(result) if issubclass(type(result), torch.Tensor) and type(first) is Payload else result
    special = _SPECIAL.get(name)
    if special is not None:
        return special(args, kwargs)
    if name in words.VIEWS and isinstance(first, torch.Tensor):
        return _wrapped(_alias(first))
    if name in words.COPIES and isinstance(first, torch.Tensor):
        return _wrapped(first.clone())
    if (name in words.INPLACE or (name.endswith("_") and not name.endswith("__"))) and isinstance(first, torch.Tensor):
        return _in_place(first, tensors_in([*args[1:], *kwargs.values()]))
    tensors = tensors_in([*args, *kwargs.values()])
    if name in words.WITHOUT_GRAPH:
        tensors = [tensor.detach() for tensor in tensors]
    if name in words.PAIRS or (name in words.PAIRS_BY_DIMENSION and (isinstance(args[-1], int) or "dim" in kwargs)):
        pair = getattr(torch.return_types, name)
        return pair((mixed(tensors), mixed([tensor.detach() for tensor in tensors])))
    result = mixed(tensors)
    if (name in words.LOSSES and len(args) == len(tensors) and not kwargs) or name.endswith("_loss"):
        _is_scalar(result)
    return result


def _is_scalar(tensor: torch.Tensor) -> None:
    """A tensor that is used as one element is counted as one."""
    for tell in SCALARS:
        tell(tensor)


def _item(args: Any, kwargs: Any) -> float:
    _is_scalar(args[0])
    return Real(0.5)


def method(name: str, owner: torch.Tensor, args: Any, kwargs: Any) -> Any:
    """What a method of a tensor gives that cannot be called with these arguments."""
    with torch._C.DisableTorchFunctionSubclass():
        return _operation(None, name if name not in words.PLAIN else "", (owner, *args), kwargs)


def mixed(tensors: list[torch.Tensor]) -> Payload:
    """A result that depends on all of these, and for whose gradients they are kept."""
    with torch._C.DisableTorchFunctionSubclass():
        flat = [_flat(tensor) for tensor in tensors] or [torch.rand(SIZE)]
        result = flat[0].sin() if len(flat) == 1 else flat[0]
        for other in flat[1:6]:
            result = result * other
        return _wrapped(result if result.numel() == SIZE else result.expand(SIZE).clone())


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    if type(tensor) is Payload:
        return tensor
    tensor = tensor if tensor.is_floating_point() else tensor.float()
    return tensor.reshape(-1) if tensor.numel() == SIZE else tensor.mean()


def _in_place(target: torch.Tensor, others: list[torch.Tensor]) -> Any:
    amount: Any = 1.0
    if others:
        other = mixed(others)
        amount = other if target.numel() == SIZE else other.mean()
    leaf = target.is_leaf and target.requires_grad
    with torch.no_grad() if leaf else torch.set_grad_enabled(torch.is_grad_enabled()):
        return target.add_(amount if target.is_floating_point() else 1)


def _backward(args: Any, kwargs: Any) -> None:
    tensor = args[0]
    _is_scalar(tensor)
    if not tensor.requires_grad:
        return
    keep = {key: kwargs[key] for key in ("retain_graph", "create_graph") if isinstance(kwargs.get(key), bool)}
    doubts.prove([tensor])
    with torch.enable_grad():
        total = tensor.sum()
    total.backward(**keep)


def _gradients(args: Any, kwargs: Any) -> Any:
    outputs = tensors_in([args[0] if args else kwargs.get("outputs")])
    inputs = tensors_in([args[1] if len(args) > 1 else kwargs.get("inputs")])
    doubts.prove(outputs)
    result = mixed(outputs + inputs) if kwargs.get("create_graph") else payload()
    return tuple(_wrapped(_alias(result)) for _ in inputs) or (result,)


_SPECIAL: dict[str, Any] = {
    "item": _item,
    "tolist": lambda args, kwargs: [Real(0.5)] * NUMBER,
    "numpy": lambda args, kwargs: args[0].detach().numpy(),
    "__array__": lambda args, kwargs: args[0].detach().numpy(),
    "backward": _backward,
    "numel": lambda args, kwargs: Whole(SIZE),
    "nelement": lambda args, kwargs: Whole(SIZE),
    "dim": lambda args, kwargs: Whole(2),
    "ndim": lambda args, kwargs: Whole(2),
    "ndimension": lambda args, kwargs: Whole(2),
    "shape": lambda args, kwargs: _shape(),
    "size": lambda args, kwargs: Whole(NUMBER) if len(args) > 1 or kwargs else _shape(),
    "equal": lambda args, kwargs: True,
    "allclose": lambda args, kwargs: True,
}


class Bag:
    """Something of which nothing is known. What is stored in it is really stored.

    It is `foreign` where it comes from code that is not followed, or stands for what failed: not handed in.
    """

    standin = True

    def __init__(self, name: str = "", foreign: bool = False) -> None:
        self.__dict__.update(_name=name, _foreign=foreign)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_ipython_display_":
            raise AttributeError(name)
        found = Bag(f"{self.__dict__.get('_name', '')}.{name}", self.__dict__.get("_foreign", False))
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
            items[key] = Bag(f"{self._name}[{key!r}]", self._foreign)
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

    def __iter__(self) -> Iterator[Any]:
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
    if last in ("backward", "manual_backward") and tensors:
        for tensor in tensors:
            _backward((tensor,), {})
        return None
    if last == "detach" and not args and isinstance(callee, Bag):
        return payload()
    if last in words.SILENT or not tensors:
        return Bag(f"{name}()", isinstance(callee, Bag) and callee._foreign)
    if not isinstance(callee, (Bag, Payload)):
        return mixed(tensors)
    return _computed(tensors, name if isinstance(callee, Bag) and callee._foreign else "")


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
        return _wrapped(result)


def _parameter() -> torch.Tensor:
    return torch.rand(SIZE, requires_grad=True)


def tensors_in(values: Any, depth: int = 3) -> list[torch.Tensor]:
    """The tensors among values, and inside lists, tuples and dictionaries."""
    found: list[torch.Tensor] = []
    for value in values:
        if issubclass(type(value), torch.Tensor):
            found.append(value)
        elif depth and isinstance(value, (list, tuple)):
            found += tensors_in(value[:16], depth - 1)
        elif depth and isinstance(value, dict):
            found += tensors_in(list(value.values())[:16], depth - 1)
    return found


def is_standin(value: Any) -> bool:
    return bool(getattr(type(value), "standin", False))


def prepare_torch() -> None:
    """What does not matter here is left out: that large parameters are initialised, and that values are checked."""
    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)
    torch.distributions.Distribution.set_default_validate_args(False)
