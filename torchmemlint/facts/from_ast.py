"""The standard library's tree -> facts. One function a node type, chosen by type."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from . import model as m
from .lowering import LOOKS, Lowering, integer, matched, negative, text
from .model import Expr, FileFacts, Param, Site, Stmt

_OPERATORS = {
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


def parse(text: str) -> ast.Module:
    """Raises SyntaxError, and ValueError, RecursionError or MemoryError where CPython gives up."""
    return ast.parse(text)


class AstLowering(Lowering):
    """One walk over a tree of the standard library."""

    def module(self, tree: ast.Module) -> FileFacts:
        return self.file(lambda: self.block(tree.body))

    def expression(self, node: Any) -> Expr:
        handler = _EXPRESSIONS.get(type(node))
        return handler(self, node) if handler is not None else (m.TEXT,)

    def block(self, nodes: list[ast.stmt]) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for node in nodes:
            site = self.statement_site()
            handler = _STATEMENTS.get(type(node))
            statement = None if handler is None else handler(self, node, site)
            if statement is not None:
                statements.append(statement)
        return tuple(statements)

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


# -- expressions ----------------------------------------------------------------------------------


def _name(low: AstLowering, node: ast.Name) -> Expr:
    return (m.NAME, node.id)


def _attribute(low: AstLowering, node: ast.Attribute) -> Expr:
    return (m.ATTR, low.expression(node.value), node.attr)


def _constant(low: AstLowering, node: ast.Constant) -> Expr:
    value = node.value
    if value is None or isinstance(value, bool):
        return (m.CONST, value)
    if isinstance(value, str):
        return text(value)
    return integer(value) if isinstance(value, int) else (m.TEXT,)


def _call(low: AstLowering, node: ast.Call) -> Expr:
    site = low.call_site()
    callee = low.expression(node.func)
    positional: list[Expr] = []
    keywords: list[tuple[str, Expr]] = []
    for given in _as_written(node):
        if isinstance(given, ast.keyword):
            keywords.append(low.named(given.arg or "", given.value))
        else:
            positional.append(low.expression(given))
    return low.call(site, callee, positional, keywords)


def _as_written(node: ast.Call) -> list[Any]:
    """The arguments of a call, in their order: `f(a, key=b(), *c())` is rare."""
    arguments: list[Any] = [*node.args, *node.keywords]
    if node.keywords and node.args and type(node.args[-1]) is ast.Starred:
        arguments.sort(key=lambda one: (one.lineno, one.col_offset))
    return arguments


def _subscript(low: AstLowering, node: ast.Subscript) -> Expr:
    value = low.expression(node.value)
    if not isinstance(node.slice, ast.Tuple):
        return (m.ITEM, value, _index(low, node.slice))
    parts = tuple(_index(low, one) for one in node.slice.elts)
    return (m.ITEM, value, (m.NEW, low.new_id(), "tuple", parts))


def _index(low: AstLowering, node: ast.expr) -> Expr:
    if not isinstance(node, ast.Slice):
        return low.text_or_value(node)
    bounds = (node.lower, node.upper, node.step)
    return (m.SLICE, *(None if bound is None else low.expression(bound) for bound in bounds))


def _joined(low: AstLowering, node: ast.JoinedStr) -> Expr:
    return low.formatted(_parts(node))


def _parts(node: ast.JoinedStr) -> Iterator[tuple[Any, bool] | str]:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            yield part.value, part.conversion == -1 and part.format_spec is None
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _arithmetic(low: AstLowering, node: ast.BinOp) -> Expr:
    # Long chains (`a + b + ...`) lean left: walk down instead of recursing, so depth is no limit.
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    left = low.expression(chain[-1].left)
    for link in reversed(chain):
        left = (m.ARITH, _OPERATORS[type(link.op)], left, low.expression(link.right))
    return left


def _comparison(low: AstLowering, node: ast.Compare) -> Expr:
    left, right, *rest = map(low.expression, (node.left, *node.comparators))
    return (m.COMPARE, _OPERATORS[type(node.ops[0])], left, right, tuple(rest))


def _unary(low: AstLowering, node: ast.UnaryOp) -> Expr:
    operand = low.expression(node.operand)
    if isinstance(node.op, ast.Not):
        return (m.NOT, operand)
    return negative(operand) if isinstance(node.op, ast.USub) else (m.UNARY, operand)


def _boolean(low: AstLowering, node: ast.BoolOp) -> Expr:
    operands = node.values
    while isinstance(operands[0], ast.BoolOp) and type(operands[0].op) is type(node.op):  # `(a or b) or c`
        operands = [*operands[0].values, *operands[1:]]
    return (m.BOOL, "and" if isinstance(node.op, ast.And) else "or", tuple(map(low.expression, operands)))


def _conditional(low: AstLowering, node: ast.IfExp) -> Expr:
    then = low.expression(node.body)
    test = low.expression(node.test)
    return (m.COND, test, then, low.expression(node.orelse))


def _sequence(kind: str) -> Callable[[AstLowering, Any], Expr]:
    def handler(low: AstLowering, node: Any) -> Expr:
        return (m.NEW, low.new_id(), kind, tuple(map(low.expression, node.elts)))

    return handler


def _dict(low: AstLowering, node: ast.Dict) -> Expr:
    ident = low.new_id()
    pairs = zip(node.keys, node.values, strict=True)
    lowered = [(None if key is None else low.expression(key), low.expression(value)) for key, value in pairs]
    return (m.DICT, ident, tuple(lowered))


def _comprehension(kind: str) -> Callable[[AstLowering, Any], Expr]:
    def handler(low: AstLowering, node: Any) -> Expr:
        ident = low.new_id()
        element = low.expression(node.key if kind == "dict" else node.elt)
        value = low.expression(node.value) if kind == "dict" else None
        clauses = tuple(
            (low.expression(one.target), low.expression(one.iter), tuple(map(low.expression, one.ifs)))
            for one in node.generators
        )
        return (m.COMP, ident, kind, element, value, clauses)

    return handler


def _lambda(low: AstLowering, node: ast.Lambda) -> Expr:
    return low.one_line(low.params(node.args), lambda: low.expression(node.body))


def _await(low: AstLowering, node: ast.Await) -> Expr:
    return (m.AWAIT, low.expression(node.value))


def _yield(low: AstLowering, node: ast.Yield) -> Expr:
    low.scope.generator = True
    return (m.YIELD, None if node.value is None else low.expression(node.value))


def _yield_from(low: AstLowering, node: ast.YieldFrom) -> Expr:
    low.scope.generator = True
    return (m.YIELD_FROM, low.expression(node.value))


def _walrus(low: AstLowering, node: ast.NamedExpr) -> Expr:
    return (m.WALRUS, low.expression(node.target), low.expression(node.value))


def _starred(low: AstLowering, node: ast.Starred) -> Expr:
    return (m.STAR, low.expression(node.value))


# -- statements -----------------------------------------------------------------------------------


def _value(low: AstLowering, node: ast.Expr, site: Site) -> Stmt | None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, (str, bytes)):
        return None  # a docstring
    return low.value(site, low.expression(node.value))


def _assign(low: AstLowering, node: ast.Assign, site: Site) -> Stmt:
    targets = tuple(map(low.expression, node.targets))
    return low.assign(site, targets, low.text_or_value(node.value))


def _augment(low: AstLowering, node: ast.AugAssign, site: Site) -> Stmt:
    target = low.expression(node.target)
    return low.augment(site, target, _OPERATORS[type(node.op)], low.expression(node.value))


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


_EXPRESSIONS: dict[type, Callable[[AstLowering, Any], Expr]] = {
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
    ast.IfExp: _conditional,
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
    ast.NamedExpr: _walrus,
    ast.Starred: _starred,
}
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
