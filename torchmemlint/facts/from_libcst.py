"""libcst's tree -> facts, for syntax that the running Python does not know. One function a node type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from . import alike
from . import model as m
from .libcst_expressions import LibcstExpressions, is_formatted
from .lowering import matched
from .model import Expr, FileFacts, Site, Stmt


def parse(text: str) -> cst.Module:
    """Raises SyntaxError, with the row and column from 1."""
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise SyntaxError(error.message, (None, error.raw_line, error.raw_column + 1, None)) from error


class LibcstLowering(LibcstExpressions):
    """One walk over a tree of libcst."""

    def module(self, tree: cst.Module) -> FileFacts:
        return self.file(lambda: self._block(tree.body))

    def suite(self, node: Any) -> tuple[Stmt, ...]:
        """The block of a compound statement, on lines of its own or not."""
        return self._small(node.body) if isinstance(node, cst.SimpleStatementSuite) else self._block(node.body)

    def orelse(self, node: Any) -> tuple[Stmt, ...]:
        if node is None:
            return ()
        if isinstance(node, cst.If):
            return (alike.if_(self, node, self.statement_site()),)
        return self.suite(node.body)

    def _block(self, nodes: Sequence[Any]) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for node in nodes:
            lines = node.body if isinstance(node, cst.SimpleStatementLine) else (node,)
            statements += self._small(lines)
        return tuple(statements)

    def _small(self, nodes: Sequence[Any]) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for node in nodes:
            site = self.statement_site()
            handler = _STATEMENTS.get(type(node))
            statement = None if handler is None else handler(self, node, site)
            if statement is not None:
                statements.append(statement)
        return tuple(statements)


def _value(low: LibcstLowering, node: cst.Expr, site: Site) -> Stmt | None:
    if isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString)) and not is_formatted(node.value):
        return None  # a docstring
    return low.value(site, low.expression(node.value))


def _assign(low: LibcstLowering, node: cst.Assign, site: Site) -> Stmt:
    targets = tuple(low.expression(item.target) for item in node.targets)
    return low.assign(site, targets, low.text_or_value(node.value))


def _augment(low: LibcstLowering, node: cst.AugAssign, site: Site) -> Stmt:
    target = low.expression(node.target)
    operator = type(node.operator).__name__.removesuffix("Assign")
    return low.augment(site, target, operator, low.expression(node.value))


def _annotate(low: LibcstLowering, node: cst.AnnAssign, site: Site) -> Stmt:
    target = low.target(node.target, site)
    hint = low.unevaluated(node.annotation.annotation)
    return (m.ANNOTATE, site, target, hint, None if node.value is None else low.text_or_value(node.value))


def _delete(low: LibcstLowering, node: cst.Del, site: Site) -> Stmt:
    targets: list[Any] = [node.target]
    if isinstance(node.target, (cst.Tuple, cst.List)):
        targets = [element.value for element in node.target.elements]
    return (m.DELETE, site, tuple(map(low.expression, targets)))


def _import(low: LibcstLowering, node: cst.Import, site: Site) -> Stmt:
    return (m.IMPORT, site, tuple(low.import_as(_dotted(alias.name), _alias(alias)) for alias in node.names))


def _from(low: LibcstLowering, node: cst.ImportFrom, site: Site) -> Stmt:
    low.scope.flags |= m.IMPORTS
    module = "" if node.module is None else _dotted(node.module)
    names = [("*", "*")]
    if not isinstance(node.names, cst.ImportStar):
        names = [(_dotted(alias.name), _alias(alias) or _dotted(alias.name)) for alias in node.names]
    return (m.FROM, site, len(node.relative), module, tuple(names))


def _alias(node: cst.ImportAlias) -> str | None:
    return node.asname.name.value if node.asname is not None and isinstance(node.asname.name, cst.Name) else None


def _dotted(node: Any) -> str:
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    parts.append(node.value)
    return ".".join(reversed(parts))


def _scope_names(operation: int) -> Callable[[LibcstLowering, Any, Site], Stmt]:
    def handler(low: LibcstLowering, node: Any, site: Site) -> Stmt:
        return low.names(operation, site, tuple(item.name.value for item in node.names))

    return handler


def _def(low: LibcstLowering, node: cst.FunctionDef, site: Site) -> Stmt:
    decorators = tuple(low.expression(item.decorator) for item in node.decorators)
    params = low.params(node.params)
    returns = None if node.returns is None else low.unevaluated(node.returns.annotation)
    name, later = node.name.value, node.asynchronous is not None
    return (m.DEF, site, low.function(name, site, params, lambda: low.suite(node.body), decorators, returns, later))


def _class(low: LibcstLowering, node: cst.ClassDef, site: Site) -> Stmt:
    decorators = tuple(low.expression(item.decorator) for item in node.decorators)
    bases = tuple(low.expression(arg.value) for arg in node.bases)
    keywords = [
        (None if arg.keyword is None else arg.keyword.value, low.expression(arg.value)) for arg in node.keywords
    ]
    return low.klass(node.name.value, site, bases, keywords, lambda: low.suite(node.body), decorators)


def _with(low: LibcstLowering, node: cst.With, site: Site) -> Stmt:
    items = []
    for item in node.items:
        context = low.entered(low.expression(item.item))
        items.append((context, None if item.asname is None else low.target(item.asname.name, site)))
    return (m.WITH, site, tuple(items), low.suite(node.body))


def _try(low: LibcstLowering, node: cst.Try | cst.TryStar, site: Site) -> Stmt:
    low.scope.flags |= m.TRIES
    body = low.suite(node.body)
    handlers = []
    for handler in node.handlers:
        caught = None if handler.type is None else low.expression(handler.type)
        name = None
        if handler.name is not None and isinstance(handler.name.name, cst.Name):
            name = handler.name.name.value
        handlers.append((caught, name, low.suite(handler.body)))
    orelse = low.orelse(node.orelse)
    final = () if node.finalbody is None else low.suite(node.finalbody.body)
    return (m.TRY, site, body, tuple(handlers), orelse, final)


def _match(low: LibcstLowering, node: cst.Match, site: Site) -> Stmt:
    subject = low.expression(node.subject)
    cases = []
    for case in node.cases:
        any_one = isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None and case.guard is None
        test = None if any_one else _fits(low, subject, case, site)
        cases.append((test, low.suite(case.body)))
    return matched(site, cases)


def _fits(low: LibcstLowering, subject: Expr, case: cst.MatchCase, site: Site) -> Expr:
    pattern = case.pattern
    parts = [part.pattern for part in pattern.patterns] if isinstance(pattern, cst.MatchOr) else [pattern]
    classes = [part for part in parts if isinstance(part, cst.MatchClass)]
    kinds = tuple(low.expression(part.cls) for part in classes) if len(classes) == len(parts) else None
    more = case.guard is not None or any(part.patterns or part.kwds for part in classes)
    return low.fits(site, subject, kinds, more)


_STATEMENTS: dict[type, Callable[[LibcstLowering, Any, Site], Stmt | None]] = {
    cst.Expr: _value,
    cst.Assign: _assign,
    cst.AugAssign: _augment,
    cst.AnnAssign: _annotate,
    cst.Return: alike.return_,
    cst.Raise: alike.raise_,
    cst.Del: _delete,
    cst.Import: _import,
    cst.ImportFrom: _from,
    cst.Global: _scope_names(m.GLOBAL),
    cst.Nonlocal: _scope_names(m.NONLOCAL),
    cst.Break: alike.break_,
    cst.Continue: alike.continue_,
    cst.Assert: alike.assert_,
    cst.FunctionDef: _def,
    cst.ClassDef: _class,
    cst.For: alike.for_,
    cst.While: alike.while_,
    cst.If: alike.if_,
    cst.With: _with,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.Match: _match,
}
