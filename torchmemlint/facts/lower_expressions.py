"""libcst expressions -> facts. One function a node type, chosen by type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from . import model as m
from .knowledge import GRAD_MODES, MIXES_IN, TAKES_OUT
from .model import Expr
from .parsing import by_type
from .texts import does_something

if TYPE_CHECKING:
    from .lower import Lowering

_LONGEST_TEXT = 60  # longer constants are never keys or device names
_GROWERS = frozenset(
    "append appendleft add extend extendleft insert put put_nowait setdefault update push register_buffer".split()
)
_PUSHERS = frozenset("heappush insort insort_left insort_right".split())
_HOLDERS = frozenset(("cycle", "finalize", "addHandler", "addFilter"))
_REGISTRIES = frozenset((("atexit", "register"), ("signal", "signal")))
_RECORDERS = frozenset("set_detect_anomaly detect_anomaly _record_memory_history record_memory_history profile".split())
_THREADS = frozenset(
    """Thread submit run_in_executor to_thread map Timer start_new_thread apply_async imap imap_unordered starmap
    map_async starmap_async Pool Process ProcessPoolExecutor DataLoader delayed spawn start_processes
    moveToThread""".split()
)


def lower(low: Lowering, node: Any) -> Expr:
    handler = _HANDLERS.get(type(node))
    return handler(low, node) if handler is not None else (m.TEXT,)


def _name(low: Lowering, node: cst.Name) -> Expr:
    value = node.value
    if value in _NAMED:
        return _NAMED[value]
    return (m.NAME, value)


def _attribute(low: Lowering, node: cst.Attribute) -> Expr:
    return (m.ATTR, lower(low, node.value), node.attr.value)


def _call(low: Lowering, node: cst.Call) -> Expr:
    site = low.call_site()
    callee = lower(low, node.func)
    positional: list[Expr] = []
    keywords: list[tuple[str, Expr]] = []
    for arg in node.args:
        if arg.keyword is not None:
            name = arg.keyword.value
            keywords.append((name, lower_text(low, arg.value) if name.endswith("key") else lower(low, arg.value)))
            continue
        value = lower(low, arg.value)
        if arg.star == "**":
            keywords.append(("", value))
        else:
            positional.append((m.STAR, value) if arg.star else value)
    call = (m.CALL, site, callee, tuple(positional), tuple(keywords))
    _note_call(low, call)
    return call


def _note_call(low: Lowering, call: Expr) -> None:
    """Record what a call says about its receiver, and which sinks it is."""
    callee = call[2]
    scope = low.scope
    if callee[0] == m.ATTR:
        method = callee[2]
        receiver = callee[1]
        if receiver[0] == m.NAME:
            scope.uses.setdefault(receiver[1], set()).add(method)
        elif receiver[0] == m.ATTR and receiver[1] == SELF and low.class_uses is not None:
            low.class_uses.setdefault(receiver[2], set()).add(method)
            if method in TAKES_OUT:
                scope.flags |= m.RELEASES
        elif receiver[0] == m.ITEM:
            whole = receiver[1]
            if whole[0] == m.NAME:
                scope.uses.setdefault(whole[1] + "[]", set()).add(method)
            elif whole[0] == m.ATTR and whole[1] == SELF and low.class_uses is not None:
                low.class_uses.setdefault(whole[2] + "[]", set()).add(method)
        if method in _GROWERS:
            scope.keep(m.GROWS, receiver)
        elif method in MIXES_IN and call[3]:
            _note_mixed_in(low, receiver)
        elif method == "eval":
            scope.flags |= m.EVALUATES
        elif "backward" in method:
            scope.flags |= m.BACKWARD
            for root, part in _differentiated(call):
                scope.differentiate(root, part, low.ordinal)
        if method.startswith("register_") and method.endswith("hook"):
            scope.flags |= m.HOOKS
    elif callee[0] == m.NAME:
        method = callee[1]
    else:
        return
    if method in GRAD_MODES or method.lstrip("_") == "set_grad_enabled":
        scope.flags |= m.MODE
    elif method in _RECORDERS:
        scope.flags |= m.RECORDS
    elif method in _THREADS:
        scope.flags |= m.THREADS
    elif method in _PUSHERS and call[3]:
        scope.keep(m.GROWS, call[3][0])
    elif method in _HOLDERS or (callee[0] == m.ATTR and (callee[1][-1], method) in _REGISTRIES):
        scope.flags |= m.HOLDS
    elif method == "grad":
        scope.flags |= m.BACKWARD
    scope.calls.add(method)


def _note_mixed_in(low: Lowering, place: Expr) -> None:
    """`self.mean.mul_(0.9).add_(x)` writes to the place at the root of its chain; a `.data` has no graph to add to."""
    while place[0] == m.CALL and place[2][0] == m.ATTR and place[2][2][-1] == "_":
        place = place[2][1]
    if place[0] in (m.NAME, m.CALL) or (place[0] in (m.ATTR, m.ITEM) and place[-1] not in ("data", "grad")):
        low.scope.keep(m.GROWS, place)


def _differentiated(call: Expr) -> list[tuple[str, str]]:
    """Names (and the part of them: `out["loss"]`) that `x.backward()` or `engine.backward(x)` differentiates."""
    found: list[tuple[str, str]] = []

    def visit(expr: Expr, part: str) -> None:
        op = expr[0]
        if op == m.NAME:
            found.append((expr[1], part))
        elif op == m.ATTR:
            visit(expr[1], part or expr[2])
        elif op == m.ITEM:
            key = expr[2]
            visit(expr[1], part or (f"[{key[1]}]" if key[0] == m.CONST else "*"))
        elif op == m.ARITH:
            visit(expr[2], part)
            visit(expr[3], part)
        elif op in (m.UNARY, m.STAR):
            visit(expr[1], part)
        elif op == m.CALL:
            arguments = expr[3]
            if not arguments and expr[2][0] == m.ATTR:
                visit(expr[2][1], part)
            for argument in arguments:
                visit(argument, part)

    if call[3]:
        for argument in call[3]:
            visit(argument, "")
    else:
        visit(call[2][1], "")
    return [(name, part) for name, part in found if name != "self"]


def _subscript(low: Lowering, node: cst.Subscript) -> Expr:
    value = lower(low, node.value)
    parts = [_slice(low, element.slice) for element in node.slice]
    if len(parts) == 1:
        return (m.ITEM, value, parts[0])
    return (m.ITEM, value, (m.NEW, low.new_id(), "tuple", tuple(parts)))


def _slice(low: Lowering, node: Any) -> Expr:
    if type(node) in _INDEX:
        return lower_text(low, node.value)
    bounds = (node.lower, node.upper, node.step)
    return (m.SLICE, *(None if bound is None else lower(low, bound) for bound in bounds))


def lower_text(low: Lowering, node: Any) -> Expr:
    """An expression that may be a key. Of a formatted string the parts are kept: they say which key it is, and whether
    it is a new one each time. Its calls are numbered apart: nobody looks for their places (`facts/positions.py`)."""
    if type(node) not in _FORMATTED:
        return lower(low, node)
    before, low.calls = low.calls, max(low.calls_in_texts, m.CALLS_IN_TEXTS)
    parts: list[Expr] = []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            parts.append((m.CONST, part.value))
        elif isinstance(part, cst.FormattedStringExpression):
            plain = part.conversion is None and part.format_spec is None
            parts.append(lower(low, part.expression) if plain else _shown(low, part.expression))
    low.calls_in_texts, low.calls = low.calls, before
    return (m.TEXT, tuple(parts))


def _formatted(low: Lowering, node: Any) -> Expr:
    """Of a formatted string that is no key only those parts are kept that call functions which may do something:
    `print(f"loss {evaluate(model):.3f}")`."""
    if any(isinstance(part, cst.FormattedStringExpression) and does_something(part.expression) for part in node.parts):
        before, low.calls = low.calls, max(low.calls_in_texts, m.CALLS_IN_TEXTS)
        shown = [_shown(low, part.expression) for part in node.parts if isinstance(part, cst.FormattedStringExpression)]
        low.calls_in_texts, low.calls = low.calls, before
        return (m.TEXT, tuple(shown))
    return (m.TEXT,)


def _shown(low: Lowering, node: Any) -> Expr:
    """An expression whose text is shown: of interest only for what it calls."""
    return (m.TEXT, (lower(low, node),)) if does_something(node) else (m.TEXT,)


def _string(low: Lowering, node: cst.SimpleString) -> Expr:
    raw = node.value
    if len(raw) > _LONGEST_TEXT:
        return (m.TEXT,)
    if raw[0] in "\"'" and "\\" not in raw and raw[:3] not in ('"""', "'''"):
        return (m.CONST, raw[1:-1])
    try:
        value = node.evaluated_value
    except (ValueError, SyntaxError):
        return (m.TEXT,)
    return (m.CONST, value) if isinstance(value, str) else (m.TEXT,)


def _integer(low: Lowering, node: cst.Integer) -> Expr:
    text = node.value
    if len(text) > 18:
        return (m.TEXT,)
    return (m.CONST, int(text.replace("_", ""), 0) if text.strip("0_") else 0)


def _text(low: Lowering, node: Any) -> Expr:
    return (m.TEXT,)


def _arithmetic(low: Lowering, node: cst.BinaryOperation) -> Expr:
    # Long chains (`a + b + ...`) lean left: walk down instead of recursing, so depth is no limit.
    chain = [node]
    while isinstance(chain[-1].left, cst.BinaryOperation):
        chain.append(chain[-1].left)
    left = lower(low, chain[-1].left)
    for link in reversed(chain):
        left = (m.ARITH, type(link.operator).__name__, left, lower(low, link.right))
    return left


def _comparison(low: Lowering, node: cst.Comparison) -> Expr:
    left = lower(low, node.left)
    first = node.comparisons[0]
    right = lower(low, first.comparator)
    rest = tuple(lower(low, target.comparator) for target in node.comparisons[1:])
    return (m.COMPARE, type(first.operator).__name__, left, right, rest)


def _unary(low: Lowering, node: cst.UnaryOperation) -> Expr:
    operand = lower(low, node.expression)
    if isinstance(node.operator, cst.Not):
        return (m.NOT, operand)
    if operand[0] == m.CONST and isinstance(operand[1], int):
        return (m.CONST, -operand[1])
    return (m.UNARY, operand)


def _boolean(low: Lowering, node: cst.BooleanOperation) -> Expr:
    operands: list[Any] = []
    current: Any = node
    while isinstance(current, cst.BooleanOperation):
        operands.append(current.right)
        current = current.left
    operands.append(current)
    kind = "and" if isinstance(node.operator, cst.And) else "or"
    return (m.BOOL, kind, tuple(lower(low, operand) for operand in reversed(operands)))


def _conditional(low: Lowering, node: cst.IfExp) -> Expr:
    then = lower(low, node.body)
    test = lower(low, node.test)
    return (m.COND, test, then, lower(low, node.orelse))


def _sequence(kind: str) -> Callable[[Lowering, Any], Expr]:
    def handler(low: Lowering, node: Any) -> Expr:
        ident = low.new_id()
        return (m.NEW, ident, kind, tuple(_element(low, element) for element in node.elements))

    return handler


def _element(low: Lowering, element: Any) -> Expr:
    value = lower(low, element.value)
    return (m.STAR, value) if type(element) in _STARRED else value


def _dict(low: Lowering, node: cst.Dict) -> Expr:
    ident = low.new_id()
    pairs = []
    for element in node.elements:
        key = lower(low, element.key) if isinstance(element, cst.DictElement) else None
        pairs.append((key, lower(low, element.value)))
    return (m.DICT, ident, tuple(pairs))


def _comprehension(kind: str) -> Callable[[Lowering, Any], Expr]:
    def handler(low: Lowering, node: Any) -> Expr:
        ident = low.new_id()
        value = None
        if kind == "dict":
            element = lower(low, node.key)
            value = lower(low, node.value)
        else:
            element = lower(low, node.elt)
        clauses = []
        clause = node.for_in
        while clause is not None:
            target = lower(low, clause.target)
            iterable = lower(low, clause.iter)
            clauses.append((target, iterable, tuple(lower(low, test.test) for test in clause.ifs)))
            clause = clause.inner_for_in
        return (m.COMP, ident, kind, element, value, tuple(clauses))

    return handler


def _lambda(low: Lowering, node: cst.Lambda) -> Expr:
    return (m.LAMBDA, low.function(node, "<lambda>"))


def _await(low: Lowering, node: cst.Await) -> Expr:
    return (m.AWAIT, lower(low, node.expression))


def _yield(low: Lowering, node: cst.Yield) -> Expr:
    low.scope.generator = True
    if isinstance(node.value, cst.From):
        return (m.YIELD_FROM, lower(low, node.value.item))
    return (m.YIELD, None if node.value is None else lower(low, node.value))


def _walrus(low: Lowering, node: cst.NamedExpr) -> Expr:
    return (m.WALRUS, lower(low, node.target), lower(low, node.value))


SELF: Expr = (m.NAME, "self")
# libcst's classes are abstract ones, for which `isinstance` is slow: these are asked for at every element
_STARRED, _INDEX, _FORMATTED = (by_type({kind: True}) for kind in (cst.StarredElement, cst.Index, cst.FormattedString))
_NAMED: dict[str, Expr] = {"None": (m.CONST, None), "True": (m.CONST, True), "False": (m.CONST, False)}
_HANDLERS: dict[type, Callable[[Lowering, Any], Expr]] = by_type(
    {
        cst.Name: _name,
        cst.Attribute: _attribute,
        cst.Call: _call,
        cst.Subscript: _subscript,
        cst.SimpleString: _string,
        cst.Integer: _integer,
        cst.Float: _text,
        cst.FormattedString: _formatted,
        cst.BinaryOperation: _arithmetic,
        cst.Comparison: _comparison,
        cst.UnaryOperation: _unary,
        cst.BooleanOperation: _boolean,
        cst.IfExp: _conditional,
        cst.List: _sequence("list"),
        cst.Tuple: _sequence("tuple"),
        cst.Set: _sequence("set"),
        cst.Dict: _dict,
        cst.ListComp: _comprehension("list"),
        cst.SetComp: _comprehension("set"),
        cst.GeneratorExp: _comprehension("generator"),
        cst.DictComp: _comprehension("dict"),
        cst.Lambda: _lambda,
        cst.Await: _await,
        cst.Yield: _yield,
        cst.NamedExpr: _walrus,
    }
)
