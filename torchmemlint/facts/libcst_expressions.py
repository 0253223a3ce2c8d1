"""Expressions of libcst's tree -> facts. One function a node type, chosen by type."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst

from . import alike
from . import model as m
from .lowering import LOOKS, Lowering, fraction, integer, negative, text
from .model import Expr, Param


class LibcstExpressions(Lowering):
    """What reads the expressions of a tree."""

    def expression(self, node: Any) -> Expr:
        handler = _EXPRESSIONS.get(type(node))
        return handler(self, node) if handler is not None else (m.TEXT,)

    def text_or_value(self, node: Any) -> Expr:
        return self.key(_parts(node)) if is_formatted(node) else self.expression(node)

    def params(self, node: cst.Parameters) -> tuple[Param, ...]:
        params = [self._param(item, "", False) for item in (*node.posonly_params, *node.params)]
        if isinstance(node.star_arg, cst.Param):
            params.append(self._param(node.star_arg, "*", False))
        params += [self._param(item, "", True) for item in node.kwonly_params]
        if node.star_kwarg is not None:
            params.append(self._param(node.star_kwarg, "**", False))
        return tuple(params)

    def _param(self, node: cst.Param, kind: str, keyword: bool) -> Param:
        hint = None if node.annotation is None else self.unevaluated(node.annotation.annotation)
        default = None if node.default is None else self.expression(node.default)
        return Param(node.name.value, kind, keyword, hint, default)

    def does_something(self, node: Any) -> bool:
        pending: list[Any] = [node]
        while pending:
            node = pending.pop()
            if isinstance(node, cst.Call):
                callee: Any = node.func
                method = isinstance(callee, cst.Attribute)
                if not (method or isinstance(callee, cst.Name)):
                    return True
                if (callee.attr.value if method else callee.value) not in LOOKS:
                    return True
                pending += [arg.value for arg in node.args]
                if method:
                    pending.append(callee.value)
            elif isinstance(node, (cst.Attribute, cst.Subscript)):
                pending.append(node.value)
            elif isinstance(node, cst.BinaryOperation):
                pending += [node.left, node.right]
        return False


def _name(low: LibcstExpressions, node: cst.Name) -> Expr:
    return _NAMED.get(node.value) or (m.NAME, node.value)


def _attribute(low: LibcstExpressions, node: cst.Attribute) -> Expr:
    return (m.ATTR, low.text_or_value(node.value), node.attr.value)


def _call(low: LibcstExpressions, node: cst.Call) -> Expr:
    site = low.call_site()
    callee = low.expression(node.func)
    positional: list[Expr] = []
    keywords: list[tuple[str, Expr]] = []
    for arg in node.args:
        if arg.keyword is not None or arg.star == "**":
            keywords.append(low.named("" if arg.keyword is None else arg.keyword.value, arg.value))
        else:
            value = low.given(callee, arg.value)
            positional.append((m.STAR, value) if arg.star else value)
    return low.call(site, callee, positional, keywords)


def _subscript(low: LibcstExpressions, node: cst.Subscript) -> Expr:
    value = low.expression(node.value)
    elements: list[Any] = [element.slice for element in node.slice]
    several = len(elements) > 1 or isinstance(node.slice[0].comma, cst.Comma)  # `x[1,]`
    if not several and isinstance(elements[0], cst.Index) and isinstance(elements[0].value, cst.Tuple):
        elements = list(elements[0].value.elements)  # `x[(1, 2)]` is `x[1, 2]`
        several = True
    parts = tuple(_index(low, element) for element in elements)
    return (m.ITEM, value, (m.NEW, low.new_id(), "tuple", parts) if several else parts[0])


def _index(low: LibcstExpressions, node: Any) -> Expr:
    if isinstance(node, cst.Slice):
        bounds = (node.lower, node.upper, node.step)
        return (m.SLICE, *(None if bound is None else low.expression(bound) for bound in bounds))
    starred = isinstance(node, cst.StarredElement) or getattr(node, "star", None) is not None
    value = low.text_or_value(node.value)
    return (m.STAR, value) if starred else value


def _string(low: LibcstExpressions, node: cst.SimpleString | cst.ConcatenatedString | cst.FormattedString) -> Expr:
    if is_formatted(node):
        return low.formatted(_parts(node))
    value = node.evaluated_value if isinstance(node, cst.ConcatenatedString) else _evaluated(node)
    return text(value) if isinstance(value, str) else (m.TEXT,)


def is_formatted(node: Any) -> bool:
    if isinstance(node, cst.ConcatenatedString):
        return is_formatted(node.left) or is_formatted(node.right)
    return isinstance(node, cst.FormattedString)


def _parts(node: Any) -> list[tuple[Any, bool] | str]:
    """What a string is put together from: texts, and expressions with whether they are shown as they are."""
    found: list[tuple[Any, bool] | str] = []
    for part in _pieces(node):
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return found


def _pieces(node: Any) -> Iterator[tuple[Any, bool] | str]:
    if isinstance(node, cst.ConcatenatedString):
        yield from _pieces(node.left)
        yield from _pieces(node.right)
    elif isinstance(node, cst.SimpleString):
        yield _evaluated(node) or ""
    else:
        for part in node.parts:
            if isinstance(part, cst.FormattedStringText):
                yield _unescaped(part.value, "r" in node.prefix.lower())
            else:
                if part.equal is not None:  # `f"{x=}"` shows its words first, and a representation
                    yield cst.Module(()).code_for_node(part.expression) + cst.Module(()).code_for_node(part.equal)
                yield part.expression, part.conversion is None and part.format_spec is None and part.equal is None


def _evaluated(node: Any) -> str | None:
    try:
        value = node.evaluated_value
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None


def _unescaped(written: str, raw: bool) -> str:
    """The text between the braces of a formatted string."""
    written = written.replace("{{", "{").replace("}}", "}")
    if raw or "\\" not in written:
        return written
    try:
        return str(ast.literal_eval(f'"""{_QUOTE.sub(_escaped, written)}"""'))
    except (ValueError, SyntaxError):
        return written


def _escaped(match: re.Match[str]) -> str:
    """A quote with a backslash before it."""
    return match[0] if match[0][0] == "\\" else "\\" + match[0]


def _integer(low: LibcstExpressions, node: cst.Integer) -> Expr:
    return integer(node.evaluated_value) if len(node.value) < 100 else (m.TEXT,)


def _fraction(low: LibcstExpressions, node: cst.Float) -> Expr:
    return fraction(node.evaluated_value)


def _arithmetic(low: LibcstExpressions, node: cst.BinaryOperation) -> Expr:
    # Long chains (`a + b + ...`) lean left: walk down instead of recursing, so depth is no limit.
    chain = [node]
    while isinstance(chain[-1].left, cst.BinaryOperation):
        chain.append(chain[-1].left)
    left = low.expression(chain[-1].left)
    for link in reversed(chain):
        left = (m.ARITH, type(link.operator).__name__, left, low.expression(link.right))
    return left


def _comparison(low: LibcstExpressions, node: cst.Comparison) -> Expr:
    left = low.expression(node.left)
    first = node.comparisons[0]
    right = low.expression(first.comparator)
    rest = tuple(low.expression(target.comparator) for target in node.comparisons[1:])
    return (m.COMPARE, type(first.operator).__name__, left, right, rest)


def _unary(low: LibcstExpressions, node: cst.UnaryOperation) -> Expr:
    operand = low.expression(node.expression)
    if isinstance(node.operator, cst.Not):
        return (m.NOT, operand)
    return negative(operand) if isinstance(node.operator, cst.Minus) else (m.UNARY, operand)


def _boolean(low: LibcstExpressions, node: cst.BooleanOperation) -> Expr:
    operands: list[Any] = []
    current: Any = node
    while isinstance(current, cst.BooleanOperation) and type(current.operator) is type(node.operator):
        operands.append(current.right)
        current = current.left
    operands.append(current)
    kind = "and" if isinstance(node.operator, cst.And) else "or"
    return (m.BOOL, kind, tuple(low.text_or_value(operand) for operand in reversed(operands)))


def _sequence(kind: str) -> Callable[[LibcstExpressions, Any], Expr]:
    def handler(low: LibcstExpressions, node: Any) -> Expr:
        return (m.NEW, low.new_id(), kind, tuple(_element(low, element) for element in node.elements))

    return handler


def _element(low: LibcstExpressions, element: Any) -> Expr:
    value = low.expression(element.value)
    return (m.STAR, value) if isinstance(element, cst.StarredElement) else value


def _dict(low: LibcstExpressions, node: cst.Dict) -> Expr:
    ident = low.new_id()
    pairs = []
    for element in node.elements:
        key = low.expression(element.key) if isinstance(element, cst.DictElement) else None
        pairs.append((key, low.expression(element.value)))
    return (m.DICT, ident, tuple(pairs))


def _comprehension(kind: str) -> Callable[[LibcstExpressions, Any], Expr]:
    def handler(low: LibcstExpressions, node: Any) -> Expr:
        ident = low.new_id()
        element = low.expression(node.key if kind == "dict" else node.elt)
        value = low.expression(node.value) if kind == "dict" else None
        clauses = []
        clause = node.for_in
        while clause is not None:
            target, iterable = low.expression(clause.target), low.expression(clause.iter)
            clauses.append((target, iterable, tuple(low.expression(test.test) for test in clause.ifs)))
            clause = clause.inner_for_in
        return (m.COMP, ident, kind, element, value, tuple(clauses))

    return handler


def _lambda(low: LibcstExpressions, node: cst.Lambda) -> Expr:
    return low.one_line(low.params(node.params), lambda: low.expression(node.body))


def _await(low: LibcstExpressions, node: cst.Await) -> Expr:
    return (m.AWAIT, low.expression(node.expression))


def _yield(low: LibcstExpressions, node: cst.Yield) -> Expr:
    low.scope.generator = True
    if isinstance(node.value, cst.From):
        return (m.YIELD_FROM, low.expression(node.value.item))
    return (m.YIELD, None if node.value is None else low.expression(node.value))


_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_NAMED: dict[str, Expr] = {"None": (m.CONST, None), "True": (m.CONST, True), "False": (m.CONST, False)}
_EXPRESSIONS: dict[type, Callable[[LibcstExpressions, Any], Expr]] = {
    cst.Name: _name,
    cst.Attribute: _attribute,
    cst.Call: _call,
    cst.Subscript: _subscript,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _string,
    cst.Integer: _integer,
    cst.Float: _fraction,
    cst.FormattedString: _string,
    cst.BinaryOperation: _arithmetic,
    cst.Comparison: _comparison,
    cst.UnaryOperation: _unary,
    cst.BooleanOperation: _boolean,
    cst.IfExp: alike.conditional,
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
    cst.NamedExpr: alike.walrus,
}
