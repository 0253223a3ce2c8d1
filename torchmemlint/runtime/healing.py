"""What rewritten code calls: everything is tried, and what fails gives a stand-in."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import operator
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from .standins import Bag, Payload, batches, is_standin, method, mixed, payload, tensors_in, unknown

if TYPE_CHECKING:
    from .snippet import Project

_WASTED = frozenset(
    ("sleep", "input", "breakpoint", "exit", "quit", "_exit", "abort", "system", "set_trace", "compile")
)
_FEW, _AROUND, _OTHER = 3, 2, 3  # turns of comprehensions, of loops around the flagged one, of others
_SAME = frozenset(("cuda", "to", "cpu", "half", "float", "eval", "train", "bfloat16", "double", "share_memory"))
_TENSORS = frozenset(
    """x y z input inputs batch image images img imgs data target targets label labels logits hidden loss losses output
    outputs pred preds prediction predictions features feature embeddings embedding mask masks input_ids attention_mask
    hidden_states query key value tokens audio video frames frame sample samples points tensor tensors latents latent
    noise obs observation observations reward rewards action actions state states""".split()
)
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "MatMult": operator.matmul, "Div": operator.truediv,
    "Mod": operator.mod, "Pow": operator.pow, "LShift": operator.lshift, "RShift": operator.rshift,
    "BitOr": operator.or_, "BitXor": operator.xor, "BitAnd": operator.and_, "FloorDiv": operator.floordiv,
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt,
    "GtE": operator.ge, "Is": operator.is_, "IsNot": operator.is_not,
    "In": lambda one, other: one in other, "NotIn": lambda one, other: one not in other,
}  # fmt: skip


@dataclass
class Account:
    """What the run rests on besides the code itself."""

    row: int = 0  # of the flagged statement

    healed: list[int] = field(default_factory=list)  # lines of the flagged file that failed
    passed: list[int] = field(default_factory=list)  # `raise` and `assert` that were passed over
    assumed: list[int] = field(default_factory=list)  # tests that were taken to lead to the flagged line
    guessed: int = 0  # calls of unknown things that were taken to give tensors
    keyed: bool = False  # the flagged statement stores under a key of which nothing is known
    slice: list[int] = field(default_factory=list)  # lines that the flagged statement depends on


class TooLong(BaseException):
    """The time for something is over: not to be healed."""


class Healer:
    """What rewritten code calls. `file` is the module's: only its own lines are accounted for."""

    def __init__(self, project: Project, file: str, account: Account | None) -> None:
        self._project, self._file, self._account = project, file, account
        self._turns: dict[str, int] = {}

    # -- expressions ------------------------------------------------------------------------------

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        if time.thread_time() > self._project.deadline:
            raise TooLong
        name = getattr(function, "__name__", "")
        if function is isinstance and len(args) == 2 and is_standin(args[0]):
            return _is_instance(*args)
        if is_standin(function):
            self._callbacks(args, kwargs)
            return self._unknown(function, args, kwargs)
        if name in _WASTED and getattr(function, "__module__", "") in (
            "time",
            "builtins",
            "posix",
            "os",
            "sys",
            "pdb",
            "torch",
        ):
            return args[0] if name == "compile" and args else None
        if str(getattr(function, "__module__", "") or "").startswith("torch.distributed"):
            return self._unknown(function, args, kwargs)
        if function in (list, tuple, set, sorted, sum, max, min, any, all, frozenset) and args and is_standin(args[0]):
            if isinstance(args[0], Payload) and function in (max, min, sum, any, all):
                return mixed([args[0]])
            args = (list(itertools.islice(args[0], _FEW)), *args[1:])
        try:
            return function(*args, **kwargs)
        except (Exception, SystemExit):
            pass
        owner = getattr(function, "__self__", None)
        if name in _SAME and isinstance(owner, torch.nn.Module):
            return owner
        if isinstance(owner, torch.Tensor):
            return method(name, owner, args, kwargs)
        if "device" in kwargs:
            try:
                return function(*args, **{key: value for key, value in kwargs.items() if key != "device"})
            except (Exception, SystemExit):
                pass
        if isinstance(function, type):
            made = without_init(function)
            return Bag(name) if made is None else made
        if (getattr(function, "__module__", None) or "").startswith("numpy"):
            return 0.5
        return self._unknown(function, args, kwargs)

    def _unknown(self, function: Any, args: Any, kwargs: Any) -> Any:
        result = unknown(function, args, kwargs)
        if self._account is not None and isinstance(result, Payload):
            self._account.guessed += 1
        return result

    def _callbacks(self, args: Iterable[Any], kwargs: Mapping[str, Any]) -> None:
        """Functions of the snippet that are handed to something unknown: it would call them."""
        for value in (*args, *kwargs.values()):
            if isinstance(value, types.FunctionType) and value.__code__.co_filename == self._file:
                self.call(value, *(argument(p) for p in required(value)))

    def attribute(self, owner: Any, name: str) -> Any:
        try:
            return getattr(owner, name)
        except Exception:
            pass
        found = Bag(name)
        with contextlib.suppress(Exception):
            setattr(owner, name, found)
        return found

    def item(self, owner: Any, key: Any) -> Any:
        try:
            return owner[key]
        except Exception:
            tensors = tensors_in([owner])
            return mixed(tensors) if tensors else Bag("item")

    def binary(self, name: str, left: Any, right: Any) -> Any:
        try:
            return _OPERATORS[name](left, right)
        except Exception:
            tensors = tensors_in([left, right])
            return mixed(tensors) if tensors else Bag(name)

    def compare(self, name: str, left: Any, right: Any) -> Any:
        if name in ("In", "NotIn") and is_standin(right):
            return Bag(name)
        return self.binary(name, left, right)

    def negated(self, value: Any) -> Any:
        return Bag("not") if is_standin(value) else not value

    def awaited(self, value: Any) -> Any:
        return value

    def few(self, iterable: Any, shape: Any) -> Iterator[Any]:
        turns = itertools.islice(_iterated(iterable), _FEW) if _is_endless(iterable) else _iterated(iterable)
        return (_unpacked(value, shape) for value in itertools.islice(turns, 64))

    def unpacked(self, value: Any, shape: Any) -> Any:
        return _unpacked(value, shape)

    def key(self, key: Any, line: int) -> Any:
        if self._account is not None and line == self._account.row and any(map(is_standin, _keys(key))):
            self._account.keyed = True
        return key

    # -- statements -------------------------------------------------------------------------------

    def loop(self, iterable: Any, shape: Any, turns: str) -> Iterator[Any]:
        """The flagged loop goes round as often as there are steps; others seldom."""
        wanted = {"steps": self._project.steps, "around": _AROUND, "other": _OTHER}[turns]
        if not _is_endless(iterable) and turns == "other":
            wanted = 64
        seen: list[Any] = []  # what a loop that ends too early goes over again
        done = 0
        for value in _safely(_iterated(iterable)):
            if done >= wanted:
                return
            done += 1
            if len(seen) < _FEW:
                seen.append(value)
            yield _unpacked(value, shape)
        if turns == "steps":
            for value in itertools.islice(itertools.cycle(seen) if seen else batches(), wanted - done):
                yield _unpacked(value, shape)

    def more(self, place: str, test: Any, turns: str) -> bool:
        self._turns[place] = self._turns.get(place, 0) + 1
        wanted = {"steps": self._project.steps, "around": _AROUND, "other": _OTHER}[turns]
        if self._turns[place] > wanted or (not is_standin(test) and not test and turns != "steps"):
            self._turns[place] = 0
            return False
        return True

    def test(self, value: Any, wanted: bool | None, sure: bool, exits: bool, line: int) -> bool:
        """Which way an `if` goes: to the flagged line where nothing but a setting or a stand-in says otherwise."""
        if wanted is not None and (sure or is_standin(value)):
            if self._account is not None and (is_standin(value) or bool(value) is not wanted):
                self._account.assumed.append(line)
            return wanted
        if is_standin(value):
            return not exits
        try:
            return bool(value)
        except Exception:
            return not exits

    def context(self, value: Any) -> Any:
        return value if hasattr(value, "__enter__") else Bag("context")

    def passed(self, line: int) -> None:
        if self._account is not None and line not in self._account.passed:
            self._account.passed.append(line)

    def healed(self, line: int, name: str = "") -> Any:
        if self._account is not None and line not in self._account.healed:
            self._account.healed.append(line)
        return Bag(name)

    def decorator(self, value: Any) -> Callable[[Any], Any]:
        module = str(getattr(value, "__module__", "") or "")

        def decorate(function: Any) -> Any:
            if is_standin(value) or module.startswith(("torch.jit", "torch._dynamo", "torch.compiler")):
                return function
            try:
                return value(function)
            except Exception:
                return function

        return decorate

    def bases(self, values: Iterable[Any]) -> tuple[type, ...]:
        """What a class can derive from; where nothing is left, something that has every attribute."""
        kept = [value for value in values if isinstance(value, type) and not is_standin(value)]
        stands = any(not isinstance(value, type) for value in values)
        if stands and not any(issubclass(one, (Anything, torch.nn.Module)) for one in kept):
            kept.append(Anything)
        return tuple(dict.fromkeys(kept))

    # -- imports ----------------------------------------------------------------------------------

    def module(self, name: str, whole: bool) -> Any:
        found = self._project.module(name, self._file)
        return found if whole or "." not in name else self._project.module(name.partition(".")[0], self._file)

    def imported(self, origin: str, name: str) -> Any:
        module = self._project.module(origin, self._file)
        try:
            return getattr(module, name)
        except Exception:
            found = self._project.module(origin + ("" if origin.endswith(".") else ".") + name, self._file)
            return found if isinstance(found, types.ModuleType) else Bag(name)

    def star(self, origin: str, namespace: dict[str, Any]) -> None:
        module = self._project.module(origin, self._file)
        if isinstance(module, types.ModuleType):
            public = [name for name in vars(module) if not name.startswith("_")]
            namespace.update(
                {name: getattr(module, name) for name in getattr(module, "__all__", public) if hasattr(module, name)}
            )


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


def argument(parameter: inspect.Parameter) -> Any:
    """A stand-in by what a parameter's annotation and name say."""
    said = str(parameter.annotation) if parameter.annotation is not parameter.empty else ""
    if said in ("int", "bool"):
        return 4
    if said in ("float", "str"):
        return 0.5 if said == "float" else "standin"
    if said.endswith("Tensor") or (not said and parameter.name.lower() in _TENSORS):
        return payload()
    if parameter.name in ("epoch", "batch_idx", "step", "i", "idx", "index", "global_step", "epochs", "num_epochs"):
        return 4
    return Bag(parameter.name)


def _keys(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _is_instance(value: Any, kinds: Any) -> Any:
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, Payload):
        return any(kind is torch.Tensor for kind in kinds) or Bag("isinstance")
    return Bag("isinstance")


def _is_endless(iterable: Any) -> bool:
    """Whether an iterable is a stand-in, or something made of one."""
    if is_standin(iterable):
        return True
    if isinstance(iterable, (enumerate, zip, map, filter, reversed)) or inspect.isgenerator(iterable):
        return True
    return isinstance(iterable, range) and len(iterable) > 64


def _iterated(iterable: Any) -> Iterator[Any]:
    try:
        return iter(iterable)
    except Exception:
        return batches()


def _safely(values: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from values
    except Exception:
        return


def _unpacked(value: Any, shape: Any) -> Any:
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
            parts = [Bag("part") for _ in shape]
    return tuple(_unpacked(part, inner) for part, inner in zip(parts, shape, strict=True))
