"""The standard library's tree -> facts. One function a node type, chosen by type."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import alike
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
        return self.file(lambda: self.suite(tree.body))

    def suite(self, node: Any) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for one in node:
            site = self.statement_site()
            handler = _STATEMENTS.get(type(one))
            statement = None if handler is None else handler(self, one, site)
            if statement is not None:
                statements.append(statement)
        return tuple(statements)

    orelse = suite


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


def _def(low: AstLowering, node: ast.FunctionDef | ast.AsyncFunctionDef, site: Site) -> Stmt:
    decorators = tuple(map(low.expression, node.decorator_list))
    params = low.params(node.args)
    returns = None if node.returns is None else low.unevaluated(node.returns)
    name, later = node.name, isinstance(node, ast.AsyncFunctionDef)
    return (m.DEF, site, low.function(name, site, params, lambda: low.suite(node.body), decorators, returns, later))


def _class(low: AstLowering, node: ast.ClassDef, site: Site) -> Stmt:
    decorators = tuple(map(low.expression, node.decorator_list))
    bases = tuple(low.expression(base.value if isinstance(base, ast.Starred) else base) for base in node.bases)
    keywords = [(keyword.arg, low.expression(keyword.value)) for keyword in node.keywords]
    return low.klass(node.name, site, bases, keywords, lambda: low.suite(node.body), decorators)


def _with(low: AstLowering, node: ast.With, site: Site) -> Stmt:
    items = []
    for item in node.items:
        context = low.entered(low.expression(item.context_expr))
        items.append((context, None if item.optional_vars is None else low.target(item.optional_vars, site)))
    return (m.WITH, site, tuple(items), low.suite(node.body))


def _try(low: AstLowering, node: ast.Try, site: Site) -> Stmt:
    low.scope.flags |= m.TRIES
    body = low.suite(node.body)
    handlers = []
    for handler in node.handlers:
        caught = None if handler.type is None else low.expression(handler.type)
        handlers.append((caught, handler.name, low.suite(handler.body)))
    return (m.TRY, site, body, tuple(handlers), low.suite(node.orelse), low.suite(node.finalbody))


def _match(low: AstLowering, node: ast.Match, site: Site) -> Stmt:
    subject = low.expression(node.subject)
    cases = []
    for case in node.cases:
        any_one = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
        test = None if any_one else _fits(low, subject, case, site)
        cases.append((test, low.suite(case.body)))
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
    ast.Return: alike.return_,
    ast.Raise: alike.raise_,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _from,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Break: alike.break_,
    ast.Continue: alike.continue_,
    ast.Assert: alike.assert_,
    ast.FunctionDef: _def,
    ast.AsyncFunctionDef: _def,
    ast.ClassDef: _class,
    ast.For: alike.for_,
    ast.AsyncFor: alike.for_,
    ast.While: alike.while_,
    ast.If: alike.if_,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    getattr(ast, "TryStar", ast.Try): _try,  # 3.11
    ast.Match: _match,
}
