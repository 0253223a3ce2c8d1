"""libcst statements -> facts. One function a node type, chosen by type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from . import model as m
from .differentiated import operands
from .knowledge import GRAD_MODES
from .lower_expressions import SELF, lower_text
from .lower_expressions import lower as expression
from .model import ClassFacts, Expr, Site, Stmt
from .parsing import by_type
from .scopes import Scope, is_light, is_new, may_bind

if TYPE_CHECKING:
    from .lower import Lowering

_DISCARDED = frozenset("detach cpu cuda to float half double numpy clone no_grad inference_mode enable_grad".split())


def _expr(low: Lowering, node: cst.Expr, site: Site) -> Stmt | None:
    if isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString)):
        return None  # a docstring
    value = expression(low, node.value)
    if (value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _DISCARDED) or (
        value[0] == m.CALL and value[2][0] == m.NAME and value[2][1] in GRAD_MODES
    ):
        low.scope.flags |= m.DISCARDS
    return (m.EXPR, site, value)


def _assign(low: Lowering, node: cst.Assign, site: Site) -> Stmt:
    targets = tuple(expression(low, item.target) for item in node.targets)
    value = lower_text(low, node.value)
    new, light = is_new(value), is_light(low.scope, value)
    for target in targets:
        low.note_target(target, site, new, light)
        if target[0] == m.ATTR and target[1] == SELF and may_bind(value):
            low.scope.flags |= m.BINDS
        if target[0] == m.NAME:
            low.scope.operands[site] = operands(value)
            if low.scope.loops and value[0] not in (m.CONST, m.NAME, m.TEXT):
                low.scope.flags |= m.LOCAL
        elif target[0] == m.NEW and low.scope.loops:
            low.scope.flags |= m.LOCAL
    return (m.ASSIGN, site, targets, value)


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
    hint = low.hint(node.annotation)
    value = None if node.value is None else lower_text(low, node.value)
    return (m.ANNOTATE, site, target, hint, value)


def _return(low: Lowering, node: cst.Return, site: Site) -> Stmt:
    return (m.RETURN, site, None if node.value is None else lower_text(low, node.value))


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
    test = expression(low, node.test)
    if test[0] == m.NOT and test[1][0] == m.ATTR and test[1][2] == "training":
        low.scope.flags |= m.EVALUATES  # `assert not model.training`: somebody has put it in that mode for this
    return (m.ASSERT, site, test)


def _def(low: Lowering, node: cst.FunctionDef, site: Site) -> Stmt:
    return (m.DEF, site, low.function(node, node.name.value, site))


def _class(low: Lowering, node: cst.ClassDef, site: Site) -> Stmt:
    decorators = tuple(expression(low, item.decorator) for item in node.decorators)
    bases = tuple(expression(low, arg.value) for arg in node.bases)
    metaclass = None
    for arg in node.keywords:
        value = expression(low, arg.value)  # each, which keeps the numbering of calls in step with the text
        if arg.keyword is not None and arg.keyword.value == "metaclass":
            metaclass = value
    index = len(low.classes)
    low.classes.append(None)
    body_index = len(low.functions)
    low.functions.append(None)
    outer, owner, uses = low.scope, low.owner, low.class_uses
    outer.inner.append(body_index)
    low.scope, low.owner, low.class_uses = Scope(), index, {}
    body = low.suite(node.body)
    low.functions[body_index] = low.finish(node.name.value, site, (), (), None, body, low.scope)
    gathered = {key: tuple(sorted(names)) for key, names in low.class_uses.items()}
    low.scope, low.owner, low.class_uses = outer, owner, uses
    methods = {}
    for statement in _definitions(body):
        function = low.functions[statement[2]]
        if function is not None:
            methods[function.name] = statement[2]
    low.classes[index] = ClassFacts(node.name.value, site, bases, decorators, body_index, gathered, methods, metaclass)
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
    body = low.suite(node.body)
    return (m.IF, site, test, body, low.orelse(node.orelse))


def _with(low: Lowering, node: cst.With, site: Site) -> Stmt:
    items = []
    for item in node.items:
        context = expression(low, item.item)
        if context[0] in (m.ATTR, m.NAME) and context[-1] in GRAD_MODES:
            low.scope.flags |= m.MODE
        target = None if item.asname is None else low.target(item.asname.name, site)
        items.append((context, target))
    return (m.WITH, site, tuple(items), low.suite(node.body))


def _try(low: Lowering, node: cst.Try | cst.TryStar, site: Site) -> Stmt:
    low.scope.flags |= m.TRIES
    body = low.suite(node.body)
    handlers = []
    for handler in node.handlers:
        caught = None if handler.type is None else expression(low, handler.type)
        name = None
        if handler.name is not None and isinstance(handler.name.name, cst.Name):
            name = handler.name.name.value
        handlers.append((caught, name, low.suite(handler.body)))
    orelse = low.orelse(node.orelse)
    final = () if node.finalbody is None else low.suite(node.finalbody.body)
    return (m.TRY, site, body, tuple(handlers), orelse, final)


def _match(low: Lowering, node: cst.Match, site: Site) -> Stmt:
    """`match` as nested alternatives: patterns bind nothing that is known to be heavy."""
    subject = expression(low, node.subject)
    orelse: tuple[Stmt, ...] = ()
    cases = [(case, low.suite(case.body)) for case in node.cases]
    for case, body in reversed(cases):
        pattern = case.pattern
        if isinstance(pattern, cst.MatchAs) and pattern.pattern is None and case.guard is None:
            orelse = body  # `case _:`
            continue
        orelse = ((m.IF, site, _fits(low, subject, case, site), body, orelse),)
    return orelse[0] if len(orelse) == 1 else (m.IF, site, (m.CONST, True), orelse, ())


def _fits(low: Lowering, subject: Expr, case: cst.MatchCase, site: Site) -> Expr:
    """The test of a case: `isinstance(subject, (list, tuple))` of `case list() | tuple():`, and more if it asks for
    more."""
    more = (m.COMPARE, "Match", subject, (m.TEXT,), ())
    pattern = case.pattern
    parts = [part.pattern for part in pattern.patterns] if isinstance(pattern, cst.MatchOr) else [pattern]
    classes = [part for part in parts if isinstance(part, cst.MatchClass)]
    if len(classes) < len(parts):
        return more
    kinds = tuple(expression(low, part.cls) for part in classes)
    is_one: Expr = (m.CALL, site, (m.NAME, "isinstance"), (subject, (m.NEW, site, "tuple", kinds)), ())
    if case.guard is None and not any(part.patterns or part.kwds for part in classes):
        return is_one
    return (m.BOOL, "and", (is_one, more))


COMPOUND: dict[type, Callable[[Lowering, Any, Site], Stmt]] = by_type(
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
SMALL: dict[type, Callable[[Lowering, Any, Site], Stmt | None]] = by_type(
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
