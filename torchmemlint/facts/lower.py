"""libcst tree -> facts, in one walk over the statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from . import model as m
from .differentiated import operands
from .lower_expressions import SELF
from .lower_expressions import lower as expression
from .model import ClassFacts, Expr, FileFacts, FunctionFacts, Param, Site, Stmt
from .parsing import by_type, parse

_DISCARDED = frozenset("detach cpu cuda to float half double numpy clone no_grad inference_mode enable_grad".split())
_LIGHT_CALLS = frozenset("int float str bool len round isinstance hasattr type id range".split())
_LIGHT_HINTS = frozenset("int float str bool bytes".split())
_CONTAINERS = frozenset("list dict set tuple deque defaultdict OrderedDict Counter".split())
_LOOK_UPS = frozenset("get setdefault pop popleft popitem".split())
_MODES = frozenset(("no_grad", "inference_mode", "enable_grad"))


class _Scope:
    """What is gathered while one function is walked."""

    def __init__(self) -> None:
        self.generator = False
        self.flags = 0
        self.calls: set[str] = set()
        self.uses: dict[str, set[str]] = {}
        self.assigned: dict[str, list[Site]] = {}
        self.backward: dict[Site, str] = {}
        self.unpacked: set[Site] = set()  # assignments to several names
        self.operands: dict[Site, dict[str, str]] = {}  # what an assigned value is computed from -> the part of it
        self.inner: list[int] = []
        self.loops = 0
        self.made: set[str] = set()  # names bound to something new
        self.taken: set[str] = set()  # names bound to what may be somebody else's
        self.light: set[str] = set()  # parameters that are numbers, strings, flags
        self.added_to: set[tuple[int, str]] = set()  # (flag, name at the root of the place)

    def keep(self, flag: int, place: Expr) -> None:
        """Something is added to a place: whether that place is the function's own shows at its end."""
        while place[0] in (m.ATTR, m.ITEM):
            place = place[1]
        if place[0] == m.NAME:
            self.added_to.add((flag, place[1]))
        else:
            self.flags |= flag

    def all_flags(self, name: str) -> int:
        own = self.made - self.taken
        if name == "__init__":
            own.add("self")  # what a constructor gives its object is new
        flags = self.flags
        for flag, name in self.added_to:
            flags |= m.LOCAL if name in own else flag
        return flags

    def differentiate(self, name: str, part: str, ordinal: int) -> None:
        """`name` is back-propagated here: mark the assignment that gave it its value."""
        before = [site for site in self.assigned.get(name, ()) if site < ordinal * m.CALLS_PER_STATEMENT]
        if not before:
            return
        last = before[-1]
        self.backward[last] = name if last in self.unpacked and part in ("", m.SHAPED) else part
        operands = self.operands.pop(last, {})
        for operand, of_it in operands.items():
            # the only operand must be attached; of several, those that are called a loss
            if len(operands) == 1 or "loss" in operand:
                self.differentiate(operand, of_it, last // m.CALLS_PER_STATEMENT)


class Lowering:
    """One walk over one file."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.first = number * m.STATEMENTS_PER_FILE
        self.functions: list[FunctionFacts | None] = []
        self.classes: list[ClassFacts | None] = []
        self.ordinal = self.first - 1
        self.calls = 0
        self.ids = 0
        self.scope = _Scope()
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
        self.calls = 0
        return self.ordinal * m.CALLS_PER_STATEMENT

    # -- scopes -----------------------------------------------------------------------------------

    def file(self, module: cst.Module) -> FileFacts:
        self.functions.append(None)
        body = self._block(module.body)
        site = self.first * m.CALLS_PER_STATEMENT
        self.functions[0] = self._finish("<module>", site, (), (), None, body, self.scope)
        functions = tuple(function for function in self.functions if function is not None)
        classes = tuple(klass for klass in self.classes if klass is not None)
        return FileFacts(functions, classes, self.ordinal + 1 - self.first, self.number)

    def _finish(
        self,
        name: str,
        site: Site,
        params: tuple[Param, ...],
        decorators: tuple[Expr, ...],
        returns: Expr | None,
        body: tuple[Stmt, ...],
        scope: _Scope,
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
            returns = self._hint(node.returns)
        index = len(self.functions)
        self.functions.append(None)
        outer, owner = self.scope, self.owner
        outer.inner.append(index)
        self.scope = scope = _Scope()
        for param in params:
            scope.assigned[param.name] = [-1]
            (scope.made if param.kind else scope.taken).add(param.name)
            if _is_light_param(param):
                scope.light.add(param.name)
        if isinstance(node, cst.Lambda):
            here = self.ordinal * m.CALLS_PER_STATEMENT if site is None else site
            body: tuple[Stmt, ...] = ((m.RETURN, here, expression(self, node.body)),)
        else:
            here = self.ordinal * m.CALLS_PER_STATEMENT if site is None else site
            self.owner = -1  # a function inside a method is not itself a method
            body = self._suite(node.body)
            self.owner = owner
        self.scope = outer
        self.functions[index] = self._finish(name, here, params, decorators, returns, body, scope)
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
        hint = None if node.annotation is None else self._hint(node.annotation)
        default = None if node.default is None else expression(self, node.default)
        return Param(node.name.value, kind, keyword, hint, default)

    def _hint(self, node: cst.Annotation) -> Expr:
        """An annotation. Calls inside one get no site: they are never evaluated."""
        calls = self.calls
        hint = expression(self, node.annotation)
        self.calls = calls
        return hint

    # -- statements -------------------------------------------------------------------------------

    def _suite(self, node: Any) -> tuple[Stmt, ...]:
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
                handler = _COMPOUND.get(kind)
                site = self._statement_site()
                if handler is not None:
                    statements.append(handler(self, node, site))
        return tuple(statements)

    def _small(self, nodes: Sequence[Any]) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for node in nodes:
            site = self._statement_site()
            handler = _SMALL.get(type(node))
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
        body = self._suite(node)
        self.scope.loops -= 1
        return body

    def orelse(self, node: Any) -> tuple[Stmt, ...]:
        if node is None:
            return ()
        if isinstance(node, cst.If):
            return (_if(self, node, self._statement_site()),)
        return self._suite(node.body)


def _expr(low: Lowering, node: cst.Expr, site: Site) -> Stmt | None:
    if isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString)):
        return None  # a docstring
    value = expression(low, node.value)
    if (value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _DISCARDED) or (
        value[0] == m.CALL and value[2][0] == m.NAME and value[2][1] in _MODES
    ):
        low.scope.flags |= m.DISCARDS
    return (m.EXPR, site, value)


def _assign(low: Lowering, node: cst.Assign, site: Site) -> Stmt:
    targets = tuple(expression(low, item.target) for item in node.targets)
    value = expression(low, node.value)
    new, light = _is_new(value), _is_light(low.scope, value)
    for target in targets:
        low.note_target(target, site, new, light)
        if target[0] == m.ATTR and target[1] == SELF and _may_bind(value):
            low.scope.flags |= m.BINDS
        if target[0] == m.NAME:
            low.scope.operands[site] = operands(value)
            if low.scope.loops and value[0] not in (m.CONST, m.NAME, m.TEXT):
                low.scope.flags |= m.LOCAL
        elif target[0] == m.NEW and low.scope.loops:
            low.scope.flags |= m.LOCAL
    return (m.ASSIGN, site, targets, value)


def _may_bind(value: Expr) -> bool:
    """Whether a value may be a method of the object, a lambda that refers to it, or something that keeps one."""
    if value[0] == m.CALL:
        given = (*value[3], *(item for _, item in value[4]))
        return any(one[0] == m.LAMBDA or one[:2] == (m.ATTR, SELF) for one in given)
    return value[0] == m.LAMBDA or value[:2] == (m.ATTR, SELF)


def _is_light(scope: _Scope, value: Expr) -> bool:
    """Whether an expression keeps nothing that was not kept before: what is set to it is at most let go."""
    op = value[0]
    if op in (m.CONST, m.TEXT, m.COMPARE, m.NOT):
        return True
    if op == m.NAME:
        return value[1] in scope.light
    if op == m.UNARY:
        return _is_light(scope, value[1])
    if op == m.ARITH:
        return _is_light(scope, value[2]) and _is_light(scope, value[3])
    if op == m.COND:
        return _is_light(scope, value[2]) and _is_light(scope, value[3])
    if op == m.NEW:
        return all(_is_light(scope, item) for item in value[3])
    if op == m.DICT:
        return all(_is_light(scope, item) for _, item in value[2])
    if op in (m.ATTR, m.ITEM):
        while value[0] in (m.ATTR, m.ITEM):
            value = value[1]
        return value == (m.NAME, "self")
    if op == m.CALL:
        callee = value[2]
        if callee[0] == m.ATTR and callee[1] == (m.NAME, "nn"):
            return bool(callee[2][0].isupper() and callee[2] != "Parameter")
        return callee[0] == m.NAME and (callee[1] in _LIGHT_CALLS or (callee[1] in _CONTAINERS and not value[3]))
    return False


def _is_light_param(param: Param) -> bool:
    hint, default = param.hint, param.default
    if hint is not None and hint[0] == m.NAME and hint[1] in _LIGHT_HINTS:
        return True
    return default is not None and default[0] == m.CONST and default[1] is not None


def _is_new(value: Expr) -> bool:
    """Whether an expression makes something, as opposed to naming what others may hold."""
    if value[0] != m.CALL:
        return value[0] in (m.NEW, m.DICT, m.COMP, m.CONST, m.TEXT, m.ARITH)
    callee = value[2]
    if callee[0] == m.NAME:
        return callee[1] not in ("getattr", "next", "vars")
    if callee[0] != m.ATTR or callee[2] in _LOOK_UPS:
        return False
    return bool(callee[1][0] != m.CALL and callee[1] != (m.NAME, "self"))


def _augment(low: Lowering, node: cst.AugAssign, site: Site) -> Stmt:
    target = expression(low, node.target)
    value = expression(low, node.value)
    low.note_target(target, site, new=True)
    low.scope.keep(m.GROWS, target)
    operator = type(node.operator).__name__.removesuffix("Assign")
    return (m.AUGMENT, site, target, operator, value)


def _annotate(low: Lowering, node: cst.AnnAssign, site: Site) -> Stmt:
    target = expression(low, node.target)
    low.note_target(target, site)
    hint = low._hint(node.annotation)
    value = None if node.value is None else expression(low, node.value)
    return (m.ANNOTATE, site, target, hint, value)


def _return(low: Lowering, node: cst.Return, site: Site) -> Stmt:
    return (m.RETURN, site, None if node.value is None else expression(low, node.value))


def _raise(low: Lowering, node: cst.Raise, site: Site) -> Stmt:
    return (m.RAISE, site, None if node.exc is None else expression(low, node.exc))


def _delete(low: Lowering, node: cst.Del, site: Site) -> Stmt:
    target = expression(low, node.target)
    return (m.DELETE, site, target[3] if target[0] == m.NEW else (target,))


def _import(low: Lowering, node: cst.Import, site: Site) -> Stmt:
    low.scope.flags |= m.IMPORTS
    names = []
    for alias in node.names:
        dotted = _dotted(alias.name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            names.append((alias.asname.name.value, dotted))
        else:
            root = dotted.split(".", 1)[0]
            names.append((root, root))
    return (m.IMPORT, site, tuple(names))


def _from(low: Lowering, node: cst.ImportFrom, site: Site) -> Stmt:
    low.scope.flags |= m.IMPORTS
    module = "" if node.module is None else _dotted(node.module)
    names: list[tuple[str, str]] = []
    if isinstance(node.names, cst.ImportStar):
        names.append(("*", "*"))
    else:
        for alias in node.names:
            name = _dotted(alias.name)
            local = name
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                local = alias.asname.name.value
            names.append((name, local))
    return (m.FROM, site, len(node.relative), module, tuple(names))


def _dotted(node: Any) -> str:
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    parts.append(node.value)
    return ".".join(reversed(parts))


def _scope_names(operation: int) -> Callable[[Lowering, Any, Site], Stmt]:
    def handler(low: Lowering, node: Any, site: Site) -> Stmt:
        names = tuple(item.name.value for item in node.names)
        low.scope.taken.update(names)
        return (operation, site, names)

    return handler


def _jump(low: Lowering, node: Any, site: Site) -> Stmt:
    return (m.JUMP, site, isinstance(node, cst.Break))


def _assert(low: Lowering, node: cst.Assert, site: Site) -> Stmt:
    return (m.ASSERT, site, expression(low, node.test))


def _def(low: Lowering, node: cst.FunctionDef, site: Site) -> Stmt:
    return (m.DEF, site, low.function(node, node.name.value, site))


def _class(low: Lowering, node: cst.ClassDef, site: Site) -> Stmt:
    decorators = tuple(expression(low, item.decorator) for item in node.decorators)
    bases = tuple(expression(low, arg.value) for arg in node.bases)
    for arg in node.keywords:
        expression(low, arg.value)  # keeps the numbering of calls in step with the text
    index = len(low.classes)
    low.classes.append(None)
    body_index = len(low.functions)
    low.functions.append(None)
    outer, owner, uses = low.scope, low.owner, low.class_uses
    outer.inner.append(body_index)
    low.scope, low.owner, low.class_uses = _Scope(), index, {}
    body = low._suite(node.body)
    low.functions[body_index] = low._finish(node.name.value, site, (), (), None, body, low.scope)
    gathered = {key: tuple(sorted(names)) for key, names in low.class_uses.items()}
    low.scope, low.owner, low.class_uses = outer, owner, uses
    methods = {}
    for statement in _definitions(body):
        function = low.functions[statement[2]]
        if function is not None:
            methods[function.name] = statement[2]
    low.classes[index] = ClassFacts(node.name.value, site, bases, decorators, body_index, gathered, methods)
    return (m.CLASS, site, index)


def _definitions(body: tuple[Stmt, ...]) -> list[Stmt]:
    found: list[Stmt] = []
    for statement in body:
        if statement[0] == m.DEF:
            found.append(statement)
        elif statement[0] == m.IF:
            found += _definitions(statement[3]) + _definitions(statement[4])
    return found


def _for(low: Lowering, node: cst.For, site: Site) -> Stmt:
    target = low.target(node.target, site)
    iterable = expression(low, node.iter)
    body = low.loop_body(node.body)
    return (m.FOR, site, target, iterable, body, low.orelse(node.orelse))


def _while(low: Lowering, node: cst.While, site: Site) -> Stmt:
    test = expression(low, node.test)
    body = low.loop_body(node.body)
    return (m.WHILE, site, test, body, low.orelse(node.orelse))


def _if(low: Lowering, node: cst.If, site: Site) -> Stmt:
    test = expression(low, node.test)
    body = low._suite(node.body)
    return (m.IF, site, test, body, low.orelse(node.orelse))


def _with(low: Lowering, node: cst.With, site: Site) -> Stmt:
    items = []
    for item in node.items:
        context = expression(low, item.item)
        if context[0] in (m.ATTR, m.NAME) and context[-1] in _MODES:
            low.scope.flags |= m.MODE
        target = None if item.asname is None else low.target(item.asname.name, site)
        items.append((context, target))
    return (m.WITH, site, tuple(items), low._suite(node.body))


def _try(low: Lowering, node: cst.Try | cst.TryStar, site: Site) -> Stmt:
    low.scope.flags |= m.TRIES
    body = low._suite(node.body)
    handlers = []
    for handler in node.handlers:
        caught = None if handler.type is None else expression(low, handler.type)
        name = None
        if handler.name is not None and isinstance(handler.name.name, cst.Name):
            name = handler.name.name.value
        handlers.append((caught, name, low._suite(handler.body)))
    orelse = low.orelse(node.orelse)
    final = () if node.finalbody is None else low._suite(node.finalbody.body)
    return (m.TRY, site, body, tuple(handlers), orelse, final)


def _match(low: Lowering, node: cst.Match, site: Site) -> Stmt:
    """`match` as nested alternatives: patterns bind nothing that is known to be heavy."""
    subject = expression(low, node.subject)
    orelse: tuple[Stmt, ...] = ()
    bodies = [low._suite(case.body) for case in node.cases]
    for body in reversed(bodies):
        orelse = ((m.IF, site, (m.COMPARE, "Match", subject, (m.TEXT,), ()), body, orelse),)
    return orelse[0] if orelse else (m.EXPR, site, subject)


_LINES = by_type({cst.SimpleStatementLine: True})
_COMPOUND: dict[type, Callable[[Lowering, Any, Site], Stmt]] = by_type(
    {
        cst.FunctionDef: _def,
        cst.ClassDef: _class,
        cst.For: _for,
        cst.While: _while,
        cst.If: _if,
        cst.With: _with,
        cst.Try: _try,
        cst.TryStar: _try,
        cst.Match: _match,
    }
)
_SMALL: dict[type, Callable[[Lowering, Any, Site], Stmt | None]] = by_type(
    {
        cst.Expr: _expr,
        cst.Assign: _assign,
        cst.AugAssign: _augment,
        cst.AnnAssign: _annotate,
        cst.Return: _return,
        cst.Raise: _raise,
        cst.Del: _delete,
        cst.Import: _import,
        cst.ImportFrom: _from,
        cst.Global: _scope_names(m.GLOBAL),
        cst.Nonlocal: _scope_names(m.NONLOCAL),
        cst.Break: _jump,
        cst.Continue: _jump,
        cst.Assert: _assert,
    }
)


def lower(text: str, number: int = 0) -> FileFacts:
    """The facts of the file with this number. Raises `libcst.ParserSyntaxError` where libcst cannot parse it."""
    return Lowering(number).file(parse(text))
