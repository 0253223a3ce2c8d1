"""Expressions of the standard library's tree -> facts. One function a node type, chosen by type."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from . import alike
from . import model as m
from .lowering import LOOKS, Lowering, fraction, integer, negative, text
from .model import Expr, Param

OPERATORS = {
    ast.Add: "Add",
    ast.Sub: "Subtract",
    ast.Mult: "Multiply",
    ast.MatMult: "MatrixMultiply",
    ast.Div: "Divide",
    ast.FloorDiv: "FloorDivide",
    ast.Mod: "Modulo",
    ast.Pow: "Power",
    ast.LShift: "LeftShift",
    ast.RShift: "RightShift",
    ast.BitOr: "BitOr",
    ast.BitXor: "BitXor",
    ast.BitAnd: "BitAnd",
    ast.Eq: "Equal",
    ast.NotEq: "NotEqual",
    ast.Lt: "LessThan",
    ast.LtE: "LessThanEqual",
    ast.Gt: "GreaterThan",
    ast.GtE: "GreaterThanEqual",
    ast.Is: "Is",
    ast.IsNot: "IsNot",
    ast.In: "In",
    ast.NotIn: "NotIn",
}


class AstExpressions(Lowering):
    """What reads the expressions of a tree."""

    def expression(self, node: Any) -> Expr:
        handler = _EXPRESSIONS.get(type(node))
        return handler(self, node) if handler is not None else (m.TEXT,)

    def text_or_value(self, node: Any) -> Expr:
        return self.key(_parts(node)) if type(node) is ast.JoinedStr else self.expression(node)

    def params(self, node: ast.arguments) -> tuple[Param, ...]:
        plain = [*node.posonlyargs, *node.args]
        defaults = [*[None] * (len(plain) - len(node.defaults)), *node.defaults]
        params = [self._param(one, "", False, default) for one, default in zip(plain, defaults, strict=True)]
        if node.vararg is not None:
            params.append(self._param(node.vararg, "*", False, None))
        named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
        params += [self._param(one, "", True, default) for one, default in named]
        if node.kwarg is not None:
            params.append(self._param(node.kwarg, "**", False, None))
        return tuple(params)

    def _param(self, node: ast.arg, kind: str, keyword: bool, default: ast.expr | None) -> Param:
        hint = None if node.annotation is None else self.unevaluated(node.annotation)
        return Param(node.arg, kind, keyword, hint, None if default is None else self.expression(default))

    def does_something(self, node: Any) -> bool:
        pending = [node]
        while pending:
            node = pending.pop()
            kind = type(node)
            if kind is ast.Call:
                method = type(node.func) is ast.Attribute
                if not (method or type(node.func) is ast.Name):
                    return True
                if (node.func.attr if method else node.func.id) not in LOOKS:
                    return True
                pending += [arg.value if type(arg) is ast.Starred else arg for arg in node.args]
                pending += [keyword.value for keyword in node.keywords]
                if method:
                    pending.append(node.func.value)
            elif kind is ast.Attribute or kind is ast.Subscript:
                pending.append(node.value)
            elif kind is ast.BinOp:
                pending += [node.left, node.right]
        return False


def _name(low: AstExpressions, node: ast.Name) -> Expr:
    return (m.NAME, node.id)


def _attribute(low: AstExpressions, node: ast.Attribute) -> Expr:
    return (m.ATTR, low.text_or_value(node.value), node.attr)


def _constant(low: AstExpressions, node: ast.Constant) -> Expr:
    value = node.value
    if value is None or isinstance(value, bool):
        return (m.CONST, value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return fraction(value)
    return integer(value) if isinstance(value, int) else (m.TEXT,)


def _call(low: AstExpressions, node: ast.Call) -> Expr:
    site = low.call_site()
    callee = low.expression(node.func)
    positional: list[Expr] = []
    keywords: list[tuple[str, Expr]] = []
    for given in _as_written(node):
        if isinstance(given, ast.keyword):
            keywords.append(low.named(given.arg or "", given.value))
        else:
            positional.append(low.given(callee, given))
    return low.call(site, callee, positional, keywords)


def _as_written(node: ast.Call) -> list[Any]:
    """The arguments of a call, in their order: `f(a, key=b(), *c())` is rare."""
    arguments: list[Any] = [*node.args, *node.keywords]
    if node.keywords and node.args and type(node.args[-1]) is ast.Starred:
        arguments.sort(key=lambda one: (one.lineno, one.col_offset))
    return arguments


def _subscript(low: AstExpressions, node: ast.Subscript) -> Expr:
    value = low.expression(node.value)
    if not isinstance(node.slice, ast.Tuple):
        return (m.ITEM, value, _index(low, node.slice))
    parts = tuple(_index(low, one) for one in node.slice.elts)
    return (m.ITEM, value, (m.NEW, low.new_id(), "tuple", parts))


def _index(low: AstExpressions, node: ast.expr) -> Expr:
    if not isinstance(node, ast.Slice):
        return low.text_or_value(node)
    bounds = (node.lower, node.upper, node.step)
    return (m.SLICE, *(None if bound is None else low.expression(bound) for bound in bounds))


def _joined(low: AstExpressions, node: ast.JoinedStr) -> Expr:
    return low.formatted(_parts(node))


def _parts(node: ast.JoinedStr) -> Iterator[tuple[Any, bool] | str]:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            yield part.value, part.conversion == -1 and part.format_spec is None
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _arithmetic(low: AstExpressions, node: ast.BinOp) -> Expr:
    # Long chains (`a + b + ...`) lean left: walk down instead of recursing, so depth is no limit.
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    left = low.expression(chain[-1].left)
    for link in reversed(chain):
        left = (m.ARITH, OPERATORS[type(link.op)], left, low.expression(link.right))
    return left


def _comparison(low: AstExpressions, node: ast.Compare) -> Expr:
    left, right, *rest = map(low.expression, (node.left, *node.comparators))
    return (m.COMPARE, OPERATORS[type(node.ops[0])], left, right, tuple(rest))


def _unary(low: AstExpressions, node: ast.UnaryOp) -> Expr:
    operand = low.expression(node.operand)
    if isinstance(node.op, ast.Not):
        return (m.NOT, operand)
    return negative(operand) if isinstance(node.op, ast.USub) else (m.UNARY, operand)


def _boolean(low: AstExpressions, node: ast.BoolOp) -> Expr:
    operands = node.values
    while isinstance(operands[0], ast.BoolOp) and type(operands[0].op) is type(node.op):  # `(a or b) or c`
        operands = [*operands[0].values, *operands[1:]]
    return (m.BOOL, "and" if isinstance(node.op, ast.And) else "or", tuple(map(low.text_or_value, operands)))


def _sequence(kind: str) -> Callable[[AstExpressions, Any], Expr]:
    def handler(low: AstExpressions, node: Any) -> Expr:
        return (m.NEW, low.new_id(), kind, tuple(map(low.expression, node.elts)))

    return handler


def _dict(low: AstExpressions, node: ast.Dict) -> Expr:
    ident = low.new_id()
    pairs = zip(node.keys, node.values, strict=True)
    lowered = [(None if key is None else low.expression(key), low.expression(value)) for key, value in pairs]
    return (m.DICT, ident, tuple(lowered))


def _comprehension(kind: str) -> Callable[[AstExpressions, Any], Expr]:
    def handler(low: AstExpressions, node: Any) -> Expr:
        ident = low.new_id()
        element = low.expression(node.key if kind == "dict" else node.elt)
        value = low.expression(node.value) if kind == "dict" else None
        clauses = tuple(
            (low.expression(one.target), low.expression(one.iter), tuple(map(low.expression, one.ifs)))
            for one in node.generators
        )
        return (m.COMP, ident, kind, element, value, clauses)

    return handler


def _lambda(low: AstExpressions, node: ast.Lambda) -> Expr:
    return low.one_line(low.params(node.args), lambda: low.expression(node.body))


def _await(low: AstExpressions, node: ast.Await) -> Expr:
    return (m.AWAIT, low.expression(node.value))


def _yield(low: AstExpressions, node: ast.Yield) -> Expr:
    low.scope.generator = True
    return (m.YIELD, None if node.value is None else low.expression(node.value))


def _yield_from(low: AstExpressions, node: ast.YieldFrom) -> Expr:
    low.scope.generator = True
    return (m.YIELD_FROM, low.expression(node.value))


def _starred(low: AstExpressions, node: ast.Starred) -> Expr:
    return (m.STAR, low.expression(node.value))


_EXPRESSIONS: dict[type, Callable[[AstExpressions, Any], Expr]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Constant: _constant,
    ast.JoinedStr: _joined,
    ast.BinOp: _arithmetic,
    ast.Compare: _comparison,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.IfExp: alike.conditional,
    ast.List: _sequence("list"),
    ast.Tuple: _sequence("tuple"),
    ast.Set: _sequence("set"),
    ast.Dict: _dict,
    ast.ListComp: _comprehension("list"),
    ast.SetComp: _comprehension("set"),
    ast.GeneratorExp: _comprehension("generator"),
    ast.DictComp: _comprehension("dict"),
    ast.Lambda: _lambda,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.NamedExpr: alike.walrus,
    ast.Starred: _starred,
}
