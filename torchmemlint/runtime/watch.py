"""Flagged statements under observation: what each value, once stored there, weighs at the later hits.

A statement is rewritten when its file is compiled: values that go into it are handed through `value`, and `hit`
is called when it is done. Neither changes anything for the program, and lines and columns stay what they were.
"""

from __future__ import annotations

import ast
import gc
import mmap
import os
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .ledger import Ledger
from .look import graph_size

NAME = "__torchmemlint__"  # what rewritten code calls us by, among the builtins
_EVERY, _MOST = 24, 48  # the first hits are all looked at; then fewer and fewer
_ITEMS, _DEPTH = 2000, 4  # of a container that are looked through


@dataclass(frozen=True)
class Site:
    """A flagged place: rows count from 1, columns from 0 in bytes. With `no_grad`, the expression there (where it
    can stand alone, else the statement) is run without recording gradients.
    """

    id: int
    file: str
    row: int
    end_row: int
    column: int = 0
    end_column: int = 0
    no_grad: bool = False


@dataclass
class Record:
    """What is known of one site. A sample: hit, and the bytes and nodes that are held through the site."""

    hits: int = 0
    stride: int = 1
    samples: list[tuple[int, int, int]] = field(default_factory=list)
    objects: list[tuple[int, int]] = field(default_factory=list)  # hit, and objects that went in and are alive
    values: dict[int, weakref.ref[Any]] = field(default_factory=dict)
    stored: list[weakref.ref[torch.Tensor]] = field(default_factory=list)  # in its targets, when it was last done
    given: int = 0  # values that went in
    plain: int = 0  # ... that were numbers, text or nothing
    tensors: int = 0  # values that were, or held, tensors
    with_graph: int = 0  # ... that required gradients
    opaque: int = 0  # stand-ins of which nothing is known
    into: int = 0  # times that something was put into such a stand-in
    onto: int = 0  # ... that something was set on what a caller handed in

    def count(self) -> int:
        """Objects that went in and are alive, but for tensors and stand-ins."""
        alive = (ref() for ref in self.values.values())
        return sum(
            one is not None and not getattr(type(one), "standin", False) and not issubclass(type(one), torch.Tensor)
            for one in alive
        )


class Recorder:
    """The object that rewritten code calls."""

    def __init__(self, ledger: Ledger, sites: Iterable[Site], *, counts: bool = False, collects: bool = True) -> None:
        self.ledger = ledger
        self._counts, self._collects = counts, collects  # objects; cycles first
        self.records = {site.id: Record() for site in sites}
        self._process = os.getpid()
        self._below = {key: mmap.mmap(-1, 8) for key in self.records}  # hits in processes forked from this one

    def value(self, site: int, value: Any) -> Any:
        """Note what goes into the statement, and hand it on."""
        record = self.records[site]
        record.given += 1
        record.plain += value is None or isinstance(value, (str, bytes, int, float))
        record.opaque += _is_opaque(value)
        return self.argument(site, value)

    def argument(self, site: int, value: Any) -> Any:
        """Note an argument of what computes the value, and hand it on."""
        if os.getpid() != self._process:
            return value
        record = self.records[site]
        for item in _parts(value):
            if issubclass(type(item), torch.Tensor):
                record.tensors += 1
                record.with_graph += item.grad_fn is not None
            try:
                record.values[id(item)] = weakref.ref(item)
            except TypeError:
                continue
        return value

    def put(self, site: int, *targets: Any) -> None:
        """Note that the statement was done, which put something into its targets."""
        self.records[site].into += any(_is_opaque(target) for target in targets)
        self.hit(site, *targets)

    def onto(self, site: int, owner: Any, is_attribute: bool) -> None:
        """Note what the statement sets an attribute or an item of: what may be the caller's, an object or a tensor."""
        lent = vars(owner).get("_lent", False) if _is_opaque(owner) else is_attribute
        self.records[site].onto += bool(getattr(type(owner), "standin", False) and lent)

    def hit(self, site: int, *targets: Any) -> None:
        """Note that the statement was done, and look at what was stored, unless that was done often enough."""
        if os.getpid() != self._process:
            self._below[site][:8] = (self.hits_below(site) + 1).to_bytes(8, "little")
            return
        record = self.records[site]
        record.hits += 1
        if not self.may_look(record):
            return
        stored = [item for item in _parts(list(targets)) if issubclass(type(item), torch.Tensor)]
        record.stored = [weakref.ref(item) for item in stored]
        held, nodes = self.held(site, stored)
        record.samples.append((record.hits, held, nodes))
        if self._counts:
            record.objects.append((record.hits, self._objects(record)))
        if len(record.samples) >= _MOST:
            record.stride = 2 * record.stride + 1  # odd: epochs of 32 are not seen at the same turn each time
            record.samples = record.samples[:8] + record.samples[9::2]

    def may_look(self, record: Record) -> bool:
        """Whether what is stored is looked at, at this hit."""
        return record.hits <= _EVERY or record.hits % record.stride == 0

    def held(self, site: int, stored: Sequence[torch.Tensor] = ()) -> tuple[int, int]:
        """Bytes and autograd nodes that are alive through what went into the site, or is `stored` in its targets."""
        tensors = [*self.alive(site), *stored]
        sizes: dict[int, int] = {}
        for tensor in tensors:
            try:
                storage = tensor.untyped_storage()
            except (NotImplementedError, RuntimeError):
                continue
            sizes[storage._cdata] = self.ledger.size_of(storage)
        return sum(sizes.values()), graph_size(tensors, stacks=False)[0]

    def _objects(self, record: Record) -> int:
        """Objects that went into the site and are alive, but for tensors and stand-ins."""
        count = record.count()
        if self._collects and record.objects and count > record.objects[-1][1]:
            gc.collect()
            count = record.count()
        return count

    def hits_below(self, site: int) -> int:
        """How often it was done in forked processes; not exact where several count at once."""
        return int.from_bytes(self._below[site][:8], "little")

    def stays(self, site: int) -> list[torch.Tensor]:
        """The tensors that went into the site or were stored by it, and are alive."""
        stored = [ref() for ref in self.records[site].stored]
        return list({id(one): one for one in [*self.alive(site), *stored] if one is not None}.values())

    @staticmethod
    def tensor(value: Any) -> Any:
        """A tensor, or nothing."""
        return value if issubclass(type(value), torch.Tensor) else None

    @staticmethod
    def without_gradients(make: Callable[[], Any]) -> Any:
        """What the flagged expression gives when no graph is recorded."""
        with torch.no_grad():
            return make()

    def alive(self, site: int) -> list[torch.Tensor]:
        """The tensors that went into the site, alone or inside something, and are alive."""
        record = self.records[site]
        found: list[torch.Tensor] = []
        for key, ref in list(record.values.items()):
            one = ref()
            if one is None:
                del record.values[key]
            elif issubclass(type(one), torch.Tensor):
                found.append(one)
            else:
                found += [part for part in _parts(one) if issubclass(type(part), torch.Tensor)]
        return found


def _is_opaque(value: Any) -> bool:
    return getattr(type(value), "standin", False) and not issubclass(type(value), torch.Tensor)


def _parts(value: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """A value, and what it is made of: items, attributes, what a function closes over."""
    if value is None or isinstance(value, (str, bytes, int, float, torch.dtype, torch.device, types.ModuleType, type)):
        return
    yield value
    if depth == 0 or issubclass(type(value), torch.Tensor):
        return
    inner: Iterable[Any]
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = value
    elif isinstance(value, types.MethodType):
        inner = (value.__self__,)
    elif isinstance(value, types.FunctionType):
        inner = [cell.cell_contents for cell in value.__closure__ or () if _is_bound(cell)]
    else:
        inner = list(getattr(value, "__dict__", {}).values())
    for number, item in enumerate(list(inner)):
        if number >= _ITEMS:
            return
        yield from _parts(item, depth - 1)


def _is_bound(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


# --- rewriting --------------------------------------------------------------------------------------


def instrumented(tree: ast.Module, sites: Sequence[Site]) -> ast.Module:
    """The module with its flagged statements under observation."""
    for site in sites:
        if site.no_grad and _guard_expression(tree, site):
            continue
        found = _innermost(tree, site)
        if found is not None:
            body, index = found
            body[index : index + 1] = _rewritten(body[index], site)
    return ast.fix_missing_locations(tree)


def _innermost(tree: ast.AST, site: Site) -> tuple[list[ast.stmt], int] | None:
    """The smallest statement on the site's row: the list that it stands in, and where."""
    best: tuple[tuple[int, bool], list[ast.stmt], int] | None = None
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            for index, statement in enumerate(body):
                if not isinstance(statement, ast.stmt):
                    continue
                first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
                last = statement.end_lineno or statement.lineno
                rank = last - first, statement.col_offset != site.column
                if first <= site.row <= last and (best is None or rank < best[0]):
                    best = rank, body, index
    return None if best is None else best[1:]


def _rewritten(statement: ast.stmt, site: Site) -> list[ast.stmt]:
    if isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.If, ast.Try)):
        statement.body.insert(0, _call(site, "hit", statement))
        return [_without_gradients(statement, site)]
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        statement.body.insert(_after_docstring(statement), _call(site, "hit", statement))
        return [statement]
    if isinstance(statement, (ast.ClassDef, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)):
        return [statement]
    if isinstance(statement, ast.Delete):
        before = [_call(site, "value", statement, _loaded(target)) for target in statement.targets if _plain(target)]
        return [*before, statement, _call(site, "hit", statement)]
    targets = _targets(statement)
    _wrap_values(statement, site)
    if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Pass)):
        return [_call(site, "hit", statement), _without_gradients(statement, site)]
    done = "put" if isinstance(statement, (ast.Expr, ast.AugAssign)) else "hit"
    onto = [
        _call(site, "onto", statement, _loaded(target.value), ast.Constant(isinstance(target, ast.Attribute)))
        for target in targets
        if isinstance(statement, ast.Assign) and isinstance(target, (ast.Attribute, ast.Subscript))
    ]
    return [_without_gradients(statement, site), *onto, _call(site, done, statement, *targets)]


def _wrap_values(statement: ast.stmt, site: Site) -> None:
    """Hand the statement's value, and the arguments of calls in it, through `value`."""
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr):
        return
    called = value.value if isinstance(value, ast.Await) else value
    if isinstance(called, ast.Call) and not _is_super(called):
        what = "value" if isinstance(statement, ast.Expr) else "argument"
        called.args = [arg if isinstance(arg, ast.Starred) else _handed(site, arg, what) for arg in called.args]
        for keyword in called.keywords:
            if keyword.arg is not None:
                keyword.value = _handed(site, keyword.value, what)
    if not isinstance(value, (ast.Yield, ast.YieldFrom)):
        statement.value = _handed(site, value)  # type: ignore[attr-defined]
    elif isinstance(value, ast.Yield) and value.value is not None:
        value.value = _handed(site, value.value)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """What a statement stores into, as expressions that can be read once more without doing anything."""
    found: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        found = list(statement.targets)
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)) and statement.value is not None:
        found = [statement.target]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        found = [function.value] if isinstance(function, ast.Attribute) else []
    written = [target.value for target in found if isinstance(target, ast.Subscript) and not _plain(target)]
    return [_loaded(target) for target in found if _plain(target)] + [
        _handed_tensor(_loaded(whole)) for whole in written if _plain(whole)
    ]


def _handed_tensor(value: ast.expr) -> ast.expr:
    """What `losses[index % 8] = loss` writes to, if it is a tensor: its graph is then that of all its elements."""
    function = ast.Attribute(ast.Name(NAME, ast.Load()), "tensor", ast.Load())
    return ast.copy_location(ast.Call(function, [value], []), value)


def _plain(target: ast.expr) -> bool:
    if isinstance(target, ast.Attribute):
        return _plain(target.value)
    if isinstance(target, ast.Subscript):
        return _plain(target.value) and isinstance(target.slice, (ast.Constant, ast.Name))
    return isinstance(target, ast.Name)


def _loaded(target: ast.expr) -> ast.expr:
    copy: ast.expr = ast.parse(ast.unparse(target), mode="eval").body
    for node in ast.walk(copy):
        ast.copy_location(node, target)
    return copy


def _is_super(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "super"


def _handed(site: Site, value: ast.expr, what: str = "value") -> ast.expr:
    function = ast.Attribute(ast.Name(NAME, ast.Load()), what, ast.Load())
    return ast.copy_location(ast.Call(function, [ast.Constant(site.id), value], []), value)


def _call(site: Site, method: str, at: ast.stmt, *arguments: ast.expr) -> ast.stmt:
    function = ast.Attribute(ast.Name(NAME, ast.Load()), method, ast.Load())
    call = ast.Call(function, [ast.Constant(site.id), *arguments], [])
    return ast.copy_location(ast.Expr(ast.copy_location(call, at)), at)


def _without_gradients(statement: ast.stmt, site: Site) -> ast.stmt:
    if not site.no_grad:
        return statement
    guard = ast.parse("__import__('torch').no_grad()", mode="eval").body
    return ast.copy_location(ast.With([ast.withitem(guard)], [statement]), statement)


def _guard_expression(tree: ast.Module, site: Site) -> bool:
    """Run the flagged expression alone without gradients; False where there is none, or it cannot be moved."""
    place = (site.row, site.column, site.end_row, site.end_column)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            for number, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.Call):
                    continue
                if (child.lineno, child.col_offset, child.end_lineno, child.end_col_offset) != place:
                    continue
                if any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)) for n in ast.walk(child)):
                    return False
                nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
                function = ast.Attribute(ast.Name(NAME, ast.Load()), "without_gradients", ast.Load())
                guarded = ast.Call(function, [ast.Lambda(nothing, child)], [])
                ast.copy_location(guarded, child)
                if isinstance(value, list):
                    value[number] = guarded
                else:
                    setattr(parent, name, guarded)
                return True
    return False


def _after_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return int(ast.get_docstring(function, clean=False) is not None)
