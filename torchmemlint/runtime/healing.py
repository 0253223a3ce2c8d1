"""What rewritten code calls: everything is tried, and what fails gives a stand-in."""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._contextlib import _DecoratorContextManager as ContextDecorator

from . import tasks
from . import turns as looping
from .making import Anything, argument, required, without_init
from .payload import Payload, method, mixed, tensors_in
from .standins import Bag, is_standin, unknown
from .tasks import TooLong
from .unknowns import guess, is_guess

if TYPE_CHECKING:
    from .loading import Project

_WASTED = frozenset(
    ("sleep", "input", "breakpoint", "exit", "quit", "_exit", "abort", "system", "set_trace", "compile")
)
_DEEP = 3  # calls of a function inside itself
_WASTING = frozenset(("time", "builtins", "posix", "os", "sys", "pdb", "torch"))
_REDUCING = (sum, max, min, any, all)
_TAKING = (list, tuple, set, sorted, frozenset, *_REDUCING)
_NUMBERS = (int, float, abs, round, len, str, *_REDUCING)
_PLAIN = (types.ModuleType, types.FunctionType, list, tuple, dict, set, str, int, float, type(None))
_SAID = 120  # characters of an error that are kept
_SAME = frozenset(("cuda", "to", "cpu", "half", "float", "eval", "train", "bfloat16", "double", "share_memory"))
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "MatMult": operator.matmul, "Div": operator.truediv,
    "Mod": operator.mod, "Pow": operator.pow, "LShift": operator.lshift, "RShift": operator.rshift,
    "BitOr": operator.or_, "BitXor": operator.xor, "BitAnd": operator.and_, "FloorDiv": operator.floordiv,
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt,
    "GtE": operator.ge, "Is": operator.is_, "IsNot": operator.is_not,
    "In": lambda one, other: one in other, "NotIn": lambda one, other: one not in other,
}  # fmt: skip
_ORDERS = ("Lt", "LtE", "Gt", "GtE")
_CHANGES: Mapping[str, str] = {
    "Add": "iadd", "Sub": "isub", "Mult": "imul", "MatMult": "imatmul", "Div": "itruediv", "Mod": "imod", "Pow": "ipow",
    "LShift": "ilshift", "RShift": "irshift", "BitOr": "ior", "BitXor": "ixor", "BitAnd": "iand",
    "FloorDiv": "ifloordiv",
}  # fmt: skip


@dataclass
class Account:
    """What the run rests on besides the code itself."""

    row: int = 0  # of the flagged statement

    healed: dict[int, str] = field(default_factory=dict)  # lines of the flagged file that failed, and how
    passed: set[int] = field(default_factory=set)  # `raise` and `assert` that were passed over
    assumed: set[int] = field(default_factory=set)  # tests that were taken to lead to the flagged line
    counts: dict[int, list[int]] = field(default_factory=dict)  # tests of a number: its first and last value, the other
    guessed: int = 0  # what was unknown and taken to be a tensor, or failed and was passed over, in all files
    keyed: bool = False  # the flagged statement stores under a key of which nothing is known
    late: bool = False  # its time was over before it was done
    again: bool = False  # its loop had too few items, and went over them once more
    cut: bool = False  # a loop was ended that may have read what a thread gives
    threads: int = 0  # that it left running
    processes: int = 0  # ... for which threads stood in
    slice: list[int] = field(default_factory=list)  # lines that the flagged statement depends on
    doubtful: list[str] = field(default_factory=list)  # calls that were not followed, and whose graphs nothing proves

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "passed": sorted(self.passed), "assumed": sorted(self.assumed)}


class Healer:
    """What rewritten code calls. `file` is the module's: only its own lines are accounted for."""

    def __init__(self, project: Project, file: str, account: Account | None) -> None:
        self._project, self._file, self._account = project, file, account
        self._turns: dict[tuple[int, str], int] = {}  # by thread
        self._active: dict[tuple[int, types.CodeType], int] = {}
        self._counted: tuple[int, int] | None = None  # the numbers that were last compared
        self._open: set[int] = set()  # tests that have led to the flagged line by themselves
        self.left: Callable[[types.FrameType], None] | None = None  # told when the flagged function is about to return

    # -- expressions ------------------------------------------------------------------------------

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        self._in_time()
        if function is isinstance and len(args) == 2 and is_standin(args[0]):
            return _is_instance(*args)
        if is_standin(function):
            self._callbacks(args, kwargs)
            return self._unknown(function, args, kwargs)
        name, module = getattr(function, "__name__", ""), str(getattr(function, "__module__", "") or "")
        if name in _WASTED and module in _WASTING:
            return args[0] if name == "compile" and args else None
        if module.startswith("torch.distributed"):
            return self._unknown(function, args, kwargs)
        if function in _TAKING and args and is_standin(args[0]):
            if isinstance(args[0], Payload) and function in _REDUCING:
                return mixed([args[0]])
            args = (list(itertools.islice(args[0], looping.FEW)), *args[1:])
        if function is open and args and is_standin(args[0]):
            args = os.devnull, *args[1:]  # which would be taken for the number of a descriptor
        if "num_workers" in kwargs and module.startswith("torch.utils.data"):
            kwargs = {**kwargs, "num_workers": 0, "persistent_workers": False, "prefetch_factor": None}
        try:
            result = self._called(function, args, kwargs)
        except (Exception, SystemExit):
            return self._instead(function, args, kwargs)
        return guess(result) if function in _NUMBERS and any(map(_is_unknown, args)) else result

    def _called(self, function: Any, args: Any, kwargs: Any) -> Any:
        """The call; where a function of the snippet's calls itself again and again, what something unknown gives."""
        code = getattr(function, "__code__", None)
        if tasks.waits(function):
            return self._project.tasks.wait(function, args, kwargs)
        if code is None:
            return function(*args, **kwargs)
        place = threading.get_ident(), code
        depth = self._active.get(place, 0)
        if depth >= _DEEP:
            return self._unknown(function, args, kwargs)
        self._active[place] = depth + 1
        try:
            return function(*args, **kwargs)
        finally:
            self._active[place] = depth

    def _instead(self, function: Any, args: Any, kwargs: Any) -> Any:
        """What a call gives that fails."""
        name, module = getattr(function, "__name__", ""), str(getattr(function, "__module__", "") or "")
        owner = getattr(function, "__self__", None)
        if name in _SAME and isinstance(owner, torch.nn.Module):
            return owner
        if isinstance(owner, torch.Tensor):
            return method(name, owner, args, kwargs)
        if "device" in kwargs:
            with contextlib.suppress(Exception, SystemExit):
                return function(*args, **{key: value for key, value in kwargs.items() if key != "device"})
        if function is open and args:
            with contextlib.suppress(Exception):
                return open(os.devnull, *args[1:], **kwargs)  # an open file, all the same
        if isinstance(function, type):
            made = without_init(function)
            return Bag(name) if made is None else made
        return 0.5 if module.startswith("numpy") else self._unknown(function, args, kwargs)

    def _in_time(self) -> None:
        if time.thread_time() > self._project.deadline or tasks.must_end():
            raise TooLong

    def _unknown(self, function: Any, args: Any, kwargs: Any) -> Any:
        result = unknown(function, args, kwargs)
        if isinstance(result, Payload):
            self._guessed()
        return result

    def _guessed(self) -> None:
        self._project.account.guessed += 1

    def _callbacks(self, args: Iterable[Any], kwargs: Mapping[str, Any]) -> None:
        """Functions of the snippet that are handed to something unknown: it would call them."""
        for value in (*args, *kwargs.values()):
            if isinstance(value, types.FunctionType) and value.__code__.co_filename == self._file:
                self.call(value, *(argument(p) for p in required(value)))

    def attribute(self, owner: Any, name: str) -> Any:
        try:
            return tasks.instead(getattr(owner, name))
        except Exception:
            pass
        found = Bag(name, foreign=isinstance(owner, _PLAIN))
        with contextlib.suppress(Exception):
            setattr(owner, name, found)
        return found

    def item(self, owner: Any, key: Any) -> Any:
        try:
            return owner[key]
        except Exception:
            self._guessed()
            tensors = tensors_in([owner])
            return mixed(tensors) if tensors else Bag("item", foreign=True)

    def binary(self, name: str, left: Any, right: Any) -> Any:
        try:
            result = _OPERATORS[name](left, right)
        except Exception:
            self._guessed()
            tensors = tensors_in([left, right])
            return mixed(tensors) if tensors else Bag(name, foreign=True)
        return guess(result) if is_guess(left) or is_guess(right) else result

    def augmented(self, name: str, left: Any, right: Any) -> Any:
        """Like `binary`, but changes in place what can be changed."""
        change = getattr(operator, _CHANGES[name])
        try:
            result = change(left, right)
        except Exception:
            return self.binary(name, left, right)
        return guess(result) if is_guess(left) or is_guess(right) else result

    def compare(self, name: str, left: Any, right: Any) -> Any:
        if name in ("In", "NotIn") and (_is_unknown(left) or _is_unknown(right)):
            return Bag(name)
        if name not in ("Is", "IsNot") and (is_guess(left) or is_guess(right)) and not tensors_in([left, right]):
            return Bag(name)
        if name in _ORDERS and type(left) is int and type(right) is int:
            self._counted = min(left, right), max(left, right)
        return self.binary(name, left, right)

    def negated(self, value: Any) -> Any:
        return Bag("not") if _is_unknown(value) else not value

    def awaited(self, value: Any) -> Any:
        return value

    def few(self, iterable: Any, shape: Any) -> Iterator[Any]:
        return looping.few(iterable, shape, self._project.account)

    def unpacked(self, value: Any, shape: Any) -> Any:
        return looping.unpacked(value, shape)

    def tensor(self, value: Any, given: bool = False) -> Any:
        """A value, or an argument that was `given`, that is used as only a tensor is."""
        if not isinstance(value, Bag):
            return value
        self._guessed()
        return value.tensor(given=given)

    def key(self, key: Any, line: int) -> Any:
        if self._account is not None and line == self._account.row and any(map(_is_unknown, _keys(key))):
            self._account.keyed = True
        return key

    # -- statements -------------------------------------------------------------------------------

    def loop(self, iterable: Any, shape: Any, turns: str) -> Iterator[Any]:
        for value in looping.loop(iterable, shape, turns, self._project.steps, self._project.account):
            self._in_time()
            yield value

    def more(self, place: str, test: Any, turns: str) -> bool:
        """Whether a `while` goes round once more."""
        self._in_time()
        here = threading.get_ident(), place
        turn = self._turns[here] = self._turns.get(here, 0) + 1
        over = not _is_unknown(test) and not test and turns != "steps"
        if not over and turn <= looping.wanted(turns, self._project.steps):
            return True
        if not over and turns != "steps" and not _is_unknown(test):
            if self._project.tasks.goes_on():
                return True
            self._project.account.cut = True
        self._turns[here] = 0
        return False

    def test(self, value: Any, wanted: bool | None, sure: bool, exits: bool, line: int) -> bool:
        """Which way an `if` goes: to the flagged line where nothing but a setting or a stand-in says otherwise. What
        has led there before and now leads elsewhere is no setting: a container that is full, say."""
        counted, self._counted = self._counted, None
        if wanted is not None and not _is_unknown(value):
            self._note(line, counted)
            with contextlib.suppress(Exception):
                if bool(value) is wanted:
                    self._open.add(line)
        if wanted is not None and ((sure and line not in self._open) or _is_unknown(value)):
            if self._account is not None and (_is_unknown(value) or bool(value) is not wanted):
                self._account.assumed.add(line)
            return wanted
        if _is_unknown(value):
            return not exits
        try:
            return bool(value)
        except Exception:
            return not exits

    def _note(self, line: int, counted: tuple[int, int] | None) -> None:
        """What a number is that a test compares with another, `len(self.rows) < self.size`, at first and at last."""
        if counted is not None and self._account is not None:
            first, _, _ = self._account.counts.setdefault(line, [counted[0], *counted])
            self._account.counts[line] = [first, *counted]

    def context(self, value: Any) -> Any:
        return value if hasattr(value, "__enter__") else Bag("context")

    def leaving(self) -> None:
        """The flagged function is about to return."""
        if self.left is not None:
            self.left(sys._getframe(1))

    def passed(self, line: int) -> None:
        if self._account is not None:
            self._account.passed.add(line)

    def healed(self, line: int, name: str = "") -> Any:
        self._guessed()
        if self._account is not None and line not in self._account.healed:
            error = sys.exc_info()[1]
            self._account.healed[line] = f"{type(error).__name__}: {error}".splitlines()[0][:_SAID]
        return Bag(name, foreign=True)

    def decorator(self, value: Any, coroutine: bool = False) -> Callable[[Any], Any]:
        """What decorates as this does. A grad mode acts while a `coroutine` is made, not while it runs."""
        module = str(getattr(value, "__module__", "") or "")

        def decorate(function: Any) -> Any:
            if is_standin(value) or module.startswith(("torch.jit", "torch._dynamo", "torch.compiler")):
                return function
            if coroutine and isinstance(value, ContextDecorator):
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
            return tasks.instead(getattr(module, name))
        except Exception:
            found = self._project.module(origin + ("" if origin.endswith(".") else ".") + name, self._file)
            return found if isinstance(found, types.ModuleType) else Bag(name, foreign=True)

    def star(self, origin: str, namespace: dict[str, Any]) -> None:
        module = self._project.module(origin, self._file)
        if not isinstance(module, types.ModuleType):
            return
        public = getattr(type(module), "public", None)  # of a file of the project
        plain = [name for name in vars(module) if not name.startswith("_")]
        names = public(module) if public is not None else getattr(module, "__all__", plain)
        namespace.update({name: getattr(module, name) for name in names if hasattr(module, name)})


def _is_unknown(value: Any) -> bool:
    return is_standin(value) or is_guess(value)


def _keys(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _is_instance(value: Any, kinds: Any) -> Any:
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, Payload):
        return any(kind is torch.Tensor for kind in kinds) or Bag("isinstance")
    return Bag("isinstance")
