"""The standard library's tree -> facts. One function a node type, chosen by type."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import model as m
from .ast_expressions import OPERATORS, AstExpressions
from .lowering import matched
from .model import Expr, FileFacts, Site, Stmt


def parse(text: str) -> ast.Module:
    """Raises SyntaxError, and ValueError, RecursionError or MemoryError where CPython gives up."""
    return ast.parse(text)


class AstLowering(AstExpressions):
    """One walk over a tree of the standard library."""

    def module(self, tree: ast.Module) -> FileFacts:
        return self.file(lambda: self.block(tree.body))

    def block(self, nodes: list[ast.stmt]) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for node in nodes:
            site = self.statement_site()
            handler = _STATEMENTS.get(type(node))
            statement = None if handler is None else handler(self, node, site)
            if statement is not None:
                statements.append(statement)
        return tuple(statements)


def _value(low: AstLowering, node: ast.Expr, site: Site) -> Stmt | None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, (str, bytes)):
        return None  # a docstring
    return low.value(site, low.expression(node.value))


def _assign(low: AstLowering, node: ast.Assign, site: Site) -> Stmt:
    targets = tuple(map(low.expression, node.targets))
    return low.assign(site, targets, low.text_or_value(node.value))


def _augment(low: AstLowering, node: ast.AugAssign, site: Site) -> Stmt:
    target = low.expression(node.target)
    return low.augment(site, target, OPERATORS[type(node.op)], low.expression(node.value))


def _annotate(low: AstLowering, node: ast.AnnAssign, site: Site) -> Stmt:
    target = low.target(node.target, site)
    hint = low.unevaluated(node.annotation)
    return (m.ANNOTATE, site, target, hint, None if node.value is None else low.text_or_value(node.value))


def _return(low: AstLowering, node: ast.Return, site: Site) -> Stmt:
    return (m.RETURN, site, None if node.value is None else low.text_or_value(node.value))


def _raise(low: AstLowering, node: ast.Raise, site: Site) -> Stmt:
    return (m.RAISE, site, None if node.exc is None else low.expression(node.exc))


def _delete(low: AstLowering, node: ast.Delete, site: Site) -> Stmt:
    targets = node.targets
    if len(targets) == 1 and isinstance(targets[0], (ast.Tuple, ast.List)):
        targets = targets[0].elts
    return (m.DELETE, site, tuple(map(low.expression, targets)))


def _import(low: AstLowering, node: ast.Import, site: Site) -> Stmt:
    return (m.IMPORT, site, tuple(low.import_as(alias.name, alias.asname) for alias in node.names))


def _from(low: AstLowering, node: ast.ImportFrom, site: Site) -> Stmt:
    low.scope.flags |= m.IMPORTS
    names = tuple((alias.name, alias.asname or alias.name) for alias in node.names)
    return (m.FROM, site, node.level, node.module or "", names)


def _global(low: AstLowering, node: ast.Global, site: Site) -> Stmt:
    return low.names(m.GLOBAL, site, tuple(node.names))


def _nonlocal(low: AstLowering, node: ast.Nonlocal, site: Site) -> Stmt:
    return low.names(m.NONLOCAL, site, tuple(node.names))


def _jump(low: AstLowering, node: ast.stmt, site: Site) -> Stmt:
    return (m.JUMP, site, isinstance(node, ast.Break))


def _assert(low: AstLowering, node: ast.Assert, site: Site) -> Stmt:
    return low.asserted(site, low.expression(node.test))


def _def(low: AstLowering, node: ast.FunctionDef, site: Site) -> Stmt:
    decorators = tuple(map(low.expression, node.decorator_list))
    params = low.params(node.args)
    returns = None if node.returns is None else low.unevaluated(node.returns)
    return (m.DEF, site, low.function(node.name, site, params, lambda: low.block(node.body), decorators, returns))


def _class(low: AstLowering, node: ast.ClassDef, site: Site) -> Stmt:
    decorators = tuple(map(low.expression, node.decorator_list))
    bases = tuple(low.expression(base.value if isinstance(base, ast.Starred) else base) for base in node.bases)
    keywords = [(keyword.arg, low.expression(keyword.value)) for keyword in node.keywords]
    return low.klass(node.name, site, bases, keywords, lambda: low.block(node.body), decorators)


def _for(low: AstLowering, node: ast.For, site: Site) -> Stmt:
    target = low.target(node.target, site)
    iterable = low.expression(node.iter)
    return (m.FOR, site, target, iterable, low.looped(lambda: low.block(node.body)), low.block(node.orelse))


def _while(low: AstLowering, node: ast.While, site: Site) -> Stmt:
    test = low.expression(node.test)
    return (m.WHILE, site, test, low.looped(lambda: low.block(node.body)), low.block(node.orelse))


def _if(low: AstLowering, node: ast.If, site: Site) -> Stmt:
    test = low.expression(node.test)
    return (m.IF, site, test, low.block(node.body), low.block(node.orelse))


def _with(low: AstLowering, node: ast.With, site: Site) -> Stmt:
    items = []
    for item in node.items:
        context = low.entered(low.expression(item.context_expr))
        items.append((context, None if item.optional_vars is None else low.target(item.optional_vars, site)))
    return (m.WITH, site, tuple(items), low.block(node.body))


def _try(low: AstLowering, node: ast.Try, site: Site) -> Stmt:
    low.scope.flags |= m.TRIES
    body = low.block(node.body)
    handlers = []
    for handler in node.handlers:
        caught = None if handler.type is None else low.expression(handler.type)
        handlers.append((caught, handler.name, low.block(handler.body)))
    return (m.TRY, site, body, tuple(handlers), low.block(node.orelse), low.block(node.finalbody))


def _match(low: AstLowering, node: ast.Match, site: Site) -> Stmt:
    subject = low.expression(node.subject)
    cases = []
    for case in node.cases:
        any_one = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
        test = None if any_one else _fits(low, subject, case, site)
        cases.append((test, low.block(case.body)))
    return matched(site, cases)


def _fits(low: AstLowering, subject: Expr, case: ast.match_case, site: Site) -> Expr:
    pattern = case.pattern
    parts = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    classes = [part for part in parts if isinstance(part, ast.MatchClass)]
    kinds = tuple(low.expression(part.cls) for part in classes) if len(classes) == len(parts) else None
    more = case.guard is not None or any(part.patterns or part.kwd_patterns for part in classes)
    return low.fits(site, subject, kinds, more)


_STATEMENTS: dict[type, Callable[[AstLowering, Any, Site], Stmt | None]] = {
    ast.Expr: _value,
    ast.Assign: _assign,
    ast.AugAssign: _augment,
    ast.AnnAssign: _annotate,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _from,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Break: _jump,
    ast.Continue: _jump,
    ast.Assert: _assert,
    ast.FunctionDef: _def,
    ast.AsyncFunctionDef: _def,
    ast.ClassDef: _class,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.If: _if,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    getattr(ast, "TryStar", ast.Try): _try,  # 3.11
    ast.Match: _match,
}
