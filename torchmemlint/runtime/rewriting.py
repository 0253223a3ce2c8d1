"""Code rewritten so that it runs with stand-ins: whatever fails gives a stand-in, and loops end.

Calls, attributes, items and operators go through the object called `NAME` (see `healing.Healer`), which tries them and
answers with a stand-in where they fail. Statements that fail all the same are passed over, and their line is noted.
Tests that lead to the flagged statement and depend on nothing that the program computes are taken to hold.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

from . import evidence, watch

NAME = "__standins__"
_Statement = TypeVar("_Statement", bound=ast.stmt)
_LEFT_ALONE = frozenset(
    ("super", "locals", "globals", "vars", "dir", "exec", "eval", "property", "staticmethod", "type")
)
_COMPOUND = (
    ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Import, ast.ImportFrom,
    ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue,
)  # fmt: skip


class Unrunnable(Exception):
    """Code that cannot be run with stand-ins, and why."""


def rewritten(tree: ast.Module, flagged: Sequence[ast.AST]) -> ast.Module:
    """The module with everything guarded; `flagged` are the nodes from a flagged statement up to the module."""
    tree = _Guard(flagged).visit(tree)
    return ast.fix_missing_locations(tree)


def _method(name: str, *arguments: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(NAME, ast.Load()), name, ast.Load())
    return ast.Call(function, list(arguments), [])


def _constant(value: Any) -> ast.Constant:
    return ast.Constant(value)


def _shape(target: ast.expr) -> Any:
    """How deep and how wide a target unpacks: None for one value, a tuple for several; a star takes what is left."""
    if isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(one, ast.Starred) for one in target.elts):
        return tuple(_shape(one) for one in target.elts)
    return None


class _Guard(ast.NodeTransformer):
    def __init__(self, flagged: Sequence[ast.AST]) -> None:
        self._flagged = list(map(id, flagged))
        loops = [node for node in flagged if isinstance(node, (ast.For, ast.AsyncFor, ast.While))]
        self._innermost = id(loops[0]) if loops else 0
        self._around = set(map(id, loops[1:]))
        self._names = 0
        functions = [node for node in flagged if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        self._coroutines: set[int] = set()  # functions that were `async`
        self._outermost = id(functions[-1]) if functions else 0
        self._computed = evidence.computed(functions)
        self._guards = evidence.guards(flagged)
        self._tensors: set[str] = set()  # of the function that is rewritten

    # -- expressions ------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called = node.func
        if _is_watched(node):
            node.args = [self.visit(arg) for arg in node.args]
            return node
        if isinstance(called, ast.Name) and called.id in _LEFT_ALONE:
            self.generic_visit(node)
            return node
        self.generic_visit(node)
        node.args.insert(0, node.func)
        node.func = ast.Attribute(ast.Name(NAME, ast.Load()), "call", ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_method("attribute", node.value, _constant(node.attr)), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        key = node.slice
        if isinstance(node.ctx, ast.Store) and not any(isinstance(part, ast.Slice) for part in ast.walk(key)):
            node.slice = _method("key", key, _constant(node.lineno))
        if not isinstance(node.ctx, ast.Load):
            return node
        if any(isinstance(part, (ast.Slice, ast.Starred)) for part in [key, *getattr(key, "elts", ())]):
            key = _as_slice(key)
        return ast.copy_location(_method("item", node.value, key), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(_method("binary", _constant(type(node.op).__name__), node.left, node.right), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) > 1:
            return node
        name = _constant(type(node.ops[0]).__name__)
        return ast.copy_location(_method("compare", name, node.left, node.comparators[0]), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(_method("negated", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Await(self, node: ast.Await) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(_method("awaited", node.value), node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter, node.is_async = _method("few", node.iter, _constant(_shape(node.target))), 0
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.generic_visit(node)
        return node

    # -- statements -------------------------------------------------------------------------------

    def visit_Module(self, node: ast.Module) -> ast.Module:
        first = [one for one in node.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
        body = self._body([one for one in node.body if one not in first])
        node.body = first + (_leaving(body) if self._flagged and not self._outermost else body)
        return node

    def _body(self, body: list[ast.stmt], *, in_class: bool = False) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.AnnAssign):
                if in_class:
                    statement.annotation = _constant(ast.unparse(statement.annotation))
                elif statement.value is None:
                    continue
                else:
                    plain = ast.Assign([statement.target], statement.value)
                    statement = ast.copy_location(plain, statement)
            if isinstance(statement, (ast.Assert, ast.Raise)):
                done.append(_at(statement, ast.Expr(_method("passed", _constant(statement.lineno)))))
                continue
            result = self.visit(statement)
            for one in result if isinstance(result, list) else [result]:
                done.append(one if isinstance(one, _COMPOUND) else self._healing(one))
        return done or [ast.Pass()]

    def _healing(self, statement: ast.stmt) -> ast.stmt:
        """The statement, passed over where it fails; names that it would bind are bound to stand-ins."""
        line = _constant(statement.lineno)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        names = sorted({n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and _stores(n)})
        bound: list[ast.stmt] = [
            ast.Assign([ast.Name(name, ast.Store())], _method("healed", line, _constant(name))) for name in names
        ]
        handler = ast.ExceptHandler(
            ast.Name("Exception", ast.Load()), None, bound or [ast.Expr(_method("healed", line))]
        )
        return _at(statement, ast.Try([statement], [handler], [], []))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        outer, self._tensors = self._tensors, evidence.tensors(node)
        coroutine = _constant(id(node) in self._coroutines)
        node.decorator_list = [_method("decorator", self.visit(one), coroutine) for one in node.decorator_list]
        node.returns = None
        arguments = node.args
        for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if one is not None and one.annotation is not None:
                one.annotation = _constant(ast.unparse(one.annotation))
        arguments.defaults = [self.visit(one) for one in arguments.defaults]
        arguments.kw_defaults = [one and self.visit(one) for one in arguments.kw_defaults]
        given = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        known: list[ast.stmt] = [
            _at(
                node,
                ast.Assign(
                    [ast.Name(name, ast.Store())], _method("tensor", ast.Name(name, ast.Load()), _constant(True))
                ),
            )
            for name in given
            if name in self._tensors
        ]
        body = known + self._body(node.body)
        node.body = _leaving(body) if id(node) == self._outermost else body
        self._tensors = outer
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        plain = ast.FunctionDef(
            **{name: getattr(node, name) for name in ast.FunctionDef._fields if hasattr(node, name)}
        )
        if id(node) == self._outermost:
            self._outermost = id(plain)
        self._coroutines.add(id(plain))
        return self.visit_FunctionDef(ast.copy_location(plain, node))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        node.bases = [
            ast.Starred(_method("bases", ast.Tuple([self.visit(b) for b in node.bases], ast.Load())), ast.Load())
        ]
        node.keywords = []
        node.decorator_list = [_method("decorator", self.visit(one)) for one in node.decorator_list]
        node.body = self._body(node.body, in_class=True)
        return node

    def visit_Import(self, node: ast.Import) -> Any:
        return [
            _at(node, ast.Assign(
                [ast.Name(one.asname or one.name.partition(".")[0], ast.Store())],
                _method("module", _constant(one.name), _constant(one.asname is not None)),
            ))
            for one in node.names
        ]  # fmt: skip

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.module == "__future__":
            return []
        origin = _constant("." * node.level + (node.module or ""))
        return [
            _at(node, ast.Expr(_method("star", origin, ast.Call(ast.Name("globals", ast.Load()), [], []))))
            if one.name == "*"
            else _at(node, ast.Assign(
                [ast.Name(one.asname or one.name, ast.Store())], _method("imported", origin, _constant(one.name))
            ))
            for one in node.names
        ]  # fmt: skip

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        shapes = [shape for shape in map(_shape, node.targets) if shape]
        known = any(isinstance(target, ast.Name) and target.id in self._tensors for target in node.targets)
        self.generic_visit(node)
        if shapes:
            node.value = _method("unpacked", node.value, _constant(shapes[0]))
        elif known and _is_watched(node.value):  # known before it is looked at
            node.value.args[-1] = _method("tensor", node.value.args[-1])  # type: ignore[attr-defined]
        elif known:
            node.value = _method("tensor", node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """`x += y` as `x = augmented(x, y)`, which changes in place what can be; into items as it stands."""
        loaded = ast.parse(ast.unparse(node.target), mode="eval").body
        self.generic_visit(node)
        if isinstance(node.target, ast.Subscript):
            return node
        value = _method("augmented", _constant(type(node.op).__name__), self.visit(loaded), node.value)
        return _at(node, ast.Assign([node.target], value))

    def visit_For(self, node: ast.For) -> ast.stmt:
        steps = _constant(self._turns(node))
        shape = _shape(node.target)
        node.iter = _method("loop", self.visit(node.iter), _constant(shape), steps)
        node.target = self.visit(node.target)
        node.body, node.orelse = self._body(node.body), self._body(node.orelse) if node.orelse else []
        return node

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.stmt:
        plain = ast.For(node.target, node.iter, node.body, node.orelse)
        for known in (self._around, self._flagged):
            if id(node) in known:
                known.add(id(plain)) if isinstance(known, set) else known.append(id(plain))
        if id(node) == self._innermost:
            self._innermost = id(plain)
        return self.visit_For(ast.copy_location(plain, node))

    def visit_While(self, node: ast.While) -> ast.stmt:
        self._names += 1
        test = _method(
            "more", _constant(f"{node.lineno}:{self._names}"), self.visit(node.test), _constant(self._turns(node))
        )
        node.body = self._body(node.body)
        return _at(node, ast.While(test, node.body, []))

    def _turns(self, node: ast.AST) -> str:
        """How often a loop goes round: the flagged statement's own one N times, those around it and others a little."""
        return "steps" if id(node) == self._innermost else "around" if id(node) in self._around else "other"

    def visit_If(self, node: ast.If) -> ast.stmt:
        wanted = False if id(node) in self._guards else None
        if any(id(one) in self._flagged for one in node.body):
            wanted = True
        elif any(id(one) in self._flagged for one in node.orelse):
            wanted = False
        exits = wanted is None and evidence.exits(node)
        sure = evidence.is_setting(node.test, self._computed)
        test = self.visit(node.test)
        node.test = _method("test", test, _constant(wanted), _constant(sure), _constant(exits), _constant(node.lineno))
        node.body, node.orelse = self._body(node.body), self._body(node.orelse) if node.orelse else []
        return node

    def visit_With(self, node: ast.With) -> ast.stmt:
        for item in node.items:
            item.context_expr = _method("context", self.visit(item.context_expr))
            if item.optional_vars is not None:
                item.optional_vars = self.visit(item.optional_vars)
        node.body = self._body(node.body)
        return node

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.stmt:
        return self.visit_With(ast.copy_location(ast.With(node.items, node.body), node))

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        node.body = self._body(node.body)
        for handler in node.handlers:
            handler.type = ast.Name("Exception", ast.Load())
            handler.body = self._body(handler.body)
        node.handlers = node.handlers[:1]
        node.orelse = self._body(node.orelse) if node.orelse else []
        node.finalbody = self._body(node.finalbody) if node.finalbody else []
        return node

    def visit_Match(self, node: Any) -> ast.stmt:
        return _at(node, ast.Expr(_method("healed", _constant(node.lineno))))


def _leaving(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of what is run, and what is told at its end."""
    return [ast.Try(body, [], [], [ast.Expr(_method("leaving"))])]


def _is_watched(node: ast.expr) -> bool:
    """A call of the recorder's, made by `watch`."""
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == watch.NAME


def _stores(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _as_slice(key: ast.expr) -> ast.expr:
    """A key with colons as an expression of its own."""
    if isinstance(key, ast.Slice):
        parts = [part or ast.Constant(None) for part in (key.lower, key.upper, key.step)]
        return ast.Call(ast.Name("slice", ast.Load()), parts, [])
    if isinstance(key, ast.Tuple):
        return ast.Tuple([_as_slice(part) for part in key.elts], ast.Load())
    return key


def _at(place: ast.stmt, new: _Statement) -> _Statement:
    return ast.copy_location(new, place)
