"""Stand-ins for tensors without a shape, whose graphs, gradients and storages are real.

Every operation on a `Payload` gives a fresh one of the same size, made by real operations of PyTorch: shapes never
matter, while graphs, saved tensors, grad mode, `backward`, `detach`, in-place changes and storages are real.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import doubts, words
from .unknowns import Real, Whole, Word

SIZE = 1024  # floats of a payload: 4096 bytes
NUMBER = 4  # rows of one, and what a bag is where a number is needed
_LONGEST = 4096  # stand-ins that one is joined of, at most: 16 MiB
SCALARS: list[Callable[[torch.Tensor], None]] = []  # told of tensors that turn out to have one element
MOVED: list[Callable[[torch.Tensor], None]] = []  # told of tensors that are moved to the host


def _shape(rows: int = NUMBER) -> Shape:
    return Shape([Whole(rows), *[Whole(NUMBER)] * 3])


class Shape(tuple):  # type: ignore[type-arg]
    """A shape that has as many dimensions as are asked for."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return Shape(tuple.__getitem__(self, key))
        return self.rows() if key == 0 else Whole(NUMBER)

    def rows(self) -> int:
        found: int = next(super().__iter__(), Whole(NUMBER))
        return found

    def numel(self) -> int:
        return Whole(SIZE // NUMBER * self.rows())


class Payload(torch.Tensor):
    """A tensor without a shape: every operation is allowed, and gives one of the same size.

    But for one: what is joined of several is as long as all of them (`joined`), as long as it is only handed on.
    """

    standin = True
    joined = 1  # how many others it is made of; an index that was drawn makes nothing longer that matters

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
        return wrapped(_alias(self))

    def __iter__(self) -> Iterator[Payload]:
        return (wrapped(_alias(self)) for _ in range(NUMBER))

    def __len__(self) -> int:
        return NUMBER * max(self.joined, 1)

    def items(self) -> list[tuple[str, Payload]]:
        return [(Word("item"), wrapped(_alias(self)))]

    def keys(self) -> list[str]:
        return [Word("item")]

    def values(self) -> Any:
        return [wrapped(_alias(self))]

    def get(self, *_: Any) -> Payload:
        return wrapped(_alias(self))

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
            return wrapped(self.detach().clone())

    def __reduce_ex__(self, _: Any) -> Any:
        return payload, ()


def payload() -> Payload:
    """A batch of data: no graph."""
    with torch._C.DisableTorchFunctionSubclass():
        return wrapped(torch.rand(SIZE))


def batches() -> Iterator[Payload]:
    """Data without an end."""
    while True:
        yield payload()


def wrapped(tensor: torch.Tensor) -> Payload:
    with torch._C.DisableTorchFunctionSubclass():
        return tensor if type(tensor) is Payload else tensor.as_subclass(Payload)


def _alias(tensor: torch.Tensor) -> torch.Tensor:
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.view_as(tensor)


def _operation(func: Any, name: str, args: Any, kwargs: Any) -> Any:
    first = args[0] if args else None
    if name in words.PLAIN:
        result = func(*args, **kwargs)
        if not issubclass(type(result), torch.Tensor) or type(first) is not Payload:
            return result
        return _as_long(wrapped(result), _joined(first) if name in ("detach", "data") else 1)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(args, kwargs)
    if name in words.VIEWS and isinstance(first, torch.Tensor):
        return _as_long(wrapped(_alias(first)), _left(first, args) if name == "__getitem__" else _joined(first))
    if name in words.COPIES and isinstance(first, torch.Tensor):
        copy = _join([first]) if _joined(first) > 1 else wrapped(first.clone())
        for tell in MOVED if name == "cpu" or "cpu" in map(str, [*args[1:], *kwargs.values()]) else ():
            tell(copy)
        return copy
    if name in words.JOINS and tensors_in(args[:1]):
        return _join(tensors_in(args[:1]))
    if (name in words.INPLACE or (name.endswith("_") and not name.endswith("__"))) and isinstance(first, torch.Tensor):
        return _in_place(first, tensors_in([*args[1:], *kwargs.values()]))
    tensors = tensors_in([*args, *kwargs.values()])
    if name in words.WITHOUT_GRAPH:
        tensors = [tensor.detach() for tensor in tensors]
    if name in words.PAIRS or (name in words.PAIRS_BY_DIMENSION and (isinstance(args[-1], int) or "dim" in kwargs)):
        pair = getattr(torch.return_types, name)
        return pair((mixed(tensors), mixed([tensor.detach() for tensor in tensors])))
    result = _as_long(mixed(tensors), int(name not in words.INDICES))
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


def _size(tensor: torch.Tensor, dim: Any) -> Any:
    shape = _shape(_rows(tensor))
    return shape if dim is None else shape[dim]


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
        return wrapped(result if result.numel() == SIZE else result.expand(SIZE).clone())


def _join(tensors: list[torch.Tensor]) -> Payload:
    """What is put together of these: its storage is as large as all of theirs, and nothing is kept for gradients."""
    total = min(sum(map(_joined, tensors)), _LONGEST)
    with torch._C.DisableTorchFunctionSubclass():
        flat = [one if one.numel() == SIZE else one.expand(SIZE) for one in map(_flat, tensors)]
        longer = max(total - len(flat), 0)
        return _as_long(wrapped(torch.cat([*flat, flat[0].new_empty(longer * SIZE)])[:SIZE]), total)


def _joined(tensor: Any) -> int:
    return tensor.joined if type(tensor) is Payload else 1


def _rows(tensor: Any) -> int:
    return NUMBER * max(_joined(tensor), 1)


def _left(tensor: Any, args: Any) -> int:
    """How much a slice leaves: `queue[-256:]` no more than that many rows, any other index but one."""
    key = args[1] if len(args) > 1 else None
    if not isinstance(key, slice) or key.step is not None:
        return 1
    ends = [abs(end) for end in (key.start, key.stop) if isinstance(end, int) and end]
    return min([_joined(tensor), *(-(-end // NUMBER) for end in ends)])


def _as_long(tensor: Payload, joined: int) -> Payload:
    if joined != 1:
        tensor.joined = joined
    return tensor


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


def backward(args: Any, kwargs: Any) -> None:
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
    return tuple(wrapped(_alias(result)) for _ in inputs) or (result,)


_SPECIAL: dict[str, Any] = {
    "item": _item,
    "tolist": lambda args, kwargs: [Real(0.5)] * NUMBER,
    "numpy": lambda args, kwargs: args[0].detach().numpy(),
    "__array__": lambda args, kwargs: args[0].detach().numpy(),
    "backward": backward,
    "numel": lambda args, kwargs: _shape(_rows(args[0])).numel(),
    "nelement": lambda args, kwargs: _shape(_rows(args[0])).numel(),
    "dim": lambda args, kwargs: Whole(2),
    "ndim": lambda args, kwargs: Whole(2),
    "ndimension": lambda args, kwargs: Whole(2),
    "shape": lambda args, kwargs: _shape(_rows(args[0])),
    "size": lambda args, kwargs: _size(args[0], args[1] if len(args) > 1 else kwargs.get("dim")),
    "equal": lambda args, kwargs: True,
    "allclose": lambda args, kwargs: True,
}


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
