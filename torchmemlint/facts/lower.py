"""libcst tree -> facts, in one walk: files, functions and blocks, and the numbers of their statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from . import model as m
from .lower_expressions import lower as expression
from .lower_statements import COMPOUND, SMALL
from .model import ClassFacts, Expr, FileFacts, FunctionFacts, Param, Site, Stmt
from .parsing import by_type, parse
from .scopes import Scope, is_light_param


class Lowering:
    """One walk over one file."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.first = number * m.STATEMENTS_PER_FILE
        self.functions: list[FunctionFacts | None] = []
        self.classes: list[ClassFacts | None] = []
        self.ordinal = self.first - 1
        self.calls = self.calls_in_texts = 0
        self.ids = 0
        self.scope = Scope()
        self.class_uses: dict[str, set[str]] | None = None
        self.owner = -1

    # -- numbering --------------------------------------------------------------------------------

    def call_site(self) -> Site:
        self.calls = min(self.calls + 1, m.CALLS_PER_STATEMENT - 1)
        return self.ordinal * m.CALLS_PER_STATEMENT + self.calls

    def new_id(self) -> int:
        self.ids += 1
        return self.ids

    def _statement_site(self) -> Site:
        self.ordinal += 1
        self.calls = self.calls_in_texts = 0
        return self.ordinal * m.CALLS_PER_STATEMENT

    # -- scopes -----------------------------------------------------------------------------------

    def file(self, module: cst.Module) -> FileFacts:
        self.functions.append(None)
        body = self._block(module.body)
        site = self.first * m.CALLS_PER_STATEMENT
        self.functions[0] = self.finish("<module>", site, (), (), None, body, self.scope)
        functions = tuple(function for function in self.functions if function is not None)
        classes = tuple(klass for klass in self.classes if klass is not None)
        return FileFacts(functions, classes, self.ordinal + 1 - self.first, self.number)

    def finish(
        self,
        name: str,
        site: Site,
        params: tuple[Param, ...],
        decorators: tuple[Expr, ...],
        returns: Expr | None,
        body: tuple[Stmt, ...],
        scope: Scope,
    ) -> FunctionFacts:
        uses = {key: tuple(sorted(names)) for key, names in scope.uses.items()}
        return FunctionFacts(
            name,
            self.owner,
            site,
            params,
            decorators,
            returns,
            body,
            scope.generator,
            scope.all_flags(name),
            tuple(sorted(scope.calls)),
            uses,
            scope.backward,
            tuple(scope.inner),
        )

    def function(self, node: cst.FunctionDef | cst.Lambda, name: str, site: Site | None = None) -> int:
        """Lower a function or lambda; returns its index."""
        decorators: tuple[Expr, ...] = ()
        if isinstance(node, cst.FunctionDef):
            decorators = tuple(expression(self, item.decorator) for item in node.decorators)
        params = self._params(node.params)
        returns = None
        if isinstance(node, cst.FunctionDef) and node.returns is not None:
            returns = self.hint(node.returns)
        index = len(self.functions)
        self.functions.append(None)
        outer, owner = self.scope, self.owner
        outer.inner.append(index)
        self.scope = scope = Scope()
        for param in params:
            scope.assigned[param.name] = [-1]
            (scope.made if param.kind else scope.taken).add(param.name)
            if is_light_param(param):
                scope.light.add(param.name)
        if isinstance(node, cst.Lambda):
            here = self.ordinal * m.CALLS_PER_STATEMENT if site is None else site
            body: tuple[Stmt, ...] = ((m.RETURN, here, expression(self, node.body)),)
        else:
            here = self.ordinal * m.CALLS_PER_STATEMENT if site is None else site
            self.owner = -1  # a function inside a method is not itself a method
            body = self.suite(node.body)
            self.owner = owner
        self.scope = outer
        self.functions[index] = self.finish(name, here, params, decorators, returns, body, scope)
        return index

    def _params(self, node: cst.Parameters) -> tuple[Param, ...]:
        params: list[Param] = []
        for group, keyword in ((node.posonly_params, False), (node.params, False)):
            params += [self._param(item, "", keyword) for item in group]
        if isinstance(node.star_arg, cst.Param):
            params.append(self._param(node.star_arg, "*", False))
        params += [self._param(item, "", True) for item in node.kwonly_params]
        if node.star_kwarg is not None:
            params.append(self._param(node.star_kwarg, "**", False))
        return tuple(params)

    def _param(self, node: cst.Param, kind: str, keyword: bool) -> Param:
        hint = None if node.annotation is None else self.hint(node.annotation)
        default = None if node.default is None else expression(self, node.default)
        return Param(node.name.value, kind, keyword, hint, default)

    def hint(self, node: cst.Annotation) -> Expr:
        """An annotation. Calls inside one get no site: they are never evaluated."""
        calls = self.calls
        hint = expression(self, node.annotation)
        self.calls = calls
        return hint

    # -- statements -------------------------------------------------------------------------------

    def suite(self, node: Any) -> tuple[Stmt, ...]:
        if isinstance(node, cst.SimpleStatementSuite):
            return self._small(node.body)
        return self._block(node.body)

    def _block(self, nodes: Sequence[Any]) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for node in nodes:
            kind = type(node)
            if kind in _LINES:
                statements += self._small(node.body)
            else:
                handler = COMPOUND.get(kind)
                site = self._statement_site()
                if handler is not None:
                    statements.append(handler(self, node, site))
        return tuple(statements)

    def _small(self, nodes: Sequence[Any]) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for node in nodes:
            site = self._statement_site()
            handler = SMALL.get(type(node))
            if handler is not None:
                statement = handler(self, node, site)
                if statement is not None:
                    statements.append(statement)
        return tuple(statements)

    def target(self, node: Any, site: Site) -> Expr:
        lowered = expression(self, node)
        self.note_target(lowered, site)
        return lowered

    def note_target(self, target: Expr, site: Site, new: bool = False, light: bool = False) -> None:
        op = target[0]
        if op == m.NAME:
            self.scope.assigned.setdefault(target[1], []).append(site)
            (self.scope.made if new else self.scope.taken).add(target[1])
        elif op in (m.ATTR, m.ITEM):
            self.scope.keep(m.RELEASES if light and op == m.ATTR else m.KEEPS, target)
        elif op == m.NEW:
            self.scope.unpacked.add(site)
            for item in target[3]:
                self.note_target(item, site)
        elif op == m.STAR:
            self.note_target(target[1], site)

    def loop_body(self, node: Any) -> tuple[Stmt, ...]:
        self.scope.loops += 1
        body = self.suite(node)
        self.scope.loops -= 1
        return body

    def orelse(self, node: Any) -> tuple[Stmt, ...]:
        if node is None:
            return ()
        if isinstance(node, cst.If):
            return (COMPOUND[cst.If](self, node, self._statement_site()),)
        return self.suite(node.body)


_LINES = by_type({cst.SimpleStatementLine: True})


def lower(text: str, number: int = 0) -> FileFacts:
    """The facts of the file with this number. Raises `libcst.ParserSyntaxError` where libcst cannot parse it."""
    return Lowering(number).file(parse(text))
