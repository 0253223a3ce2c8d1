"""libcst's tree -> facts, for syntax that the running Python does not know. One function a node type."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import libcst as cst

from . import model as m
from .lowering import LOOKS, Lowering, integer, matched, negative, text
from .model import Expr, FileFacts, Param, Site, Stmt


def parse(text: str) -> cst.Module:
    """Raises SyntaxError, with the row and column from 1."""
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise SyntaxError(error.message, (None, error.raw_line, error.raw_column + 1, None)) from error


class LibcstLowering(Lowering):
    """One walk over a tree of libcst."""

    def module(self, tree: cst.Module) -> FileFacts:
        return self.file(lambda: self._block(tree.body))

    def expression(self, node: Any) -> Expr:
        handler = _EXPRESSIONS.get(type(node))
        return handler(self, node) if handler is not None else (m.TEXT,)

    def suite(self, node: Any) -> tuple[Stmt, ...]:
        """The block of a compound statement, on lines of its own or not."""
        return self._small(node.body) if isinstance(node, cst.SimpleStatementSuite) else self._block(node.body)

    def orelse(self, node: Any) -> tuple[Stmt, ...]:
        if node is None:
            return ()
        if isinstance(node, cst.If):
            return (_if(self, node, self.statement_site()),)
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

    def text_or_value(self, node: Any) -> Expr:
        return self.key(_parts(node)) if _is_formatted(node) else self.expression(node)

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


# -- expressions ----------------------------------------------------------------------------------


def _name(low: LibcstLowering, node: cst.Name) -> Expr:
    return _NAMED.get(node.value) or (m.NAME, node.value)


def _attribute(low: LibcstLowering, node: cst.Attribute) -> Expr:
    return (m.ATTR, low.expression(node.value), node.attr.value)


def _call(low: LibcstLowering, node: cst.Call) -> Expr:
    site = low.call_site()
    callee = low.expression(node.func)
    positional: list[Expr] = []
    keywords: list[tuple[str, Expr]] = []
    for arg in node.args:
        if arg.keyword is not None or arg.star == "**":
            keywords.append(low.named("" if arg.keyword is None else arg.keyword.value, arg.value))
        else:
            value = low.expression(arg.value)
            positional.append((m.STAR, value) if arg.star else value)
    return low.call(site, callee, positional, keywords)


def _subscript(low: LibcstLowering, node: cst.Subscript) -> Expr:
    value = low.expression(node.value)
    elements: list[Any] = [element.slice for element in node.slice]
    several = len(elements) > 1 or isinstance(node.slice[0].comma, cst.Comma)  # `x[1,]`
    if not several and isinstance(elements[0], cst.Index) and isinstance(elements[0].value, cst.Tuple):
        elements = list(elements[0].value.elements)  # `x[(1, 2)]` is `x[1, 2]`
        several = True
    parts = tuple(_index(low, element) for element in elements)
    return (m.ITEM, value, (m.NEW, low.new_id(), "tuple", parts) if several else parts[0])


def _index(low: LibcstLowering, node: Any) -> Expr:
    if isinstance(node, cst.Slice):
        bounds = (node.lower, node.upper, node.step)
        return (m.SLICE, *(None if bound is None else low.expression(bound) for bound in bounds))
    starred = isinstance(node, cst.StarredElement) or getattr(node, "star", None) is not None
    value = low.text_or_value(node.value)
    return (m.STAR, value) if starred else value


def _string(low: LibcstLowering, node: cst.SimpleString | cst.ConcatenatedString | cst.FormattedString) -> Expr:
    if _is_formatted(node):
        return low.formatted(_parts(node))
    value = node.evaluated_value if isinstance(node, cst.ConcatenatedString) else _evaluated(node)
    return text(value) if isinstance(value, str) else (m.TEXT,)


def _is_formatted(node: Any) -> bool:
    if isinstance(node, cst.ConcatenatedString):
        return _is_formatted(node.left) or _is_formatted(node.right)
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


def _integer(low: LibcstLowering, node: cst.Integer) -> Expr:
    return integer(node.evaluated_value) if len(node.value) < 100 else (m.TEXT,)


def _arithmetic(low: LibcstLowering, node: cst.BinaryOperation) -> Expr:
    # Long chains (`a + b + ...`) lean left: walk down instead of recursing, so depth is no limit.
    chain = [node]
    while isinstance(chain[-1].left, cst.BinaryOperation):
        chain.append(chain[-1].left)
    left = low.expression(chain[-1].left)
    for link in reversed(chain):
        left = (m.ARITH, type(link.operator).__name__, left, low.expression(link.right))
    return left


def _comparison(low: LibcstLowering, node: cst.Comparison) -> Expr:
    left = low.expression(node.left)
    first = node.comparisons[0]
    right = low.expression(first.comparator)
    rest = tuple(low.expression(target.comparator) for target in node.comparisons[1:])
    return (m.COMPARE, type(first.operator).__name__, left, right, rest)


def _unary(low: LibcstLowering, node: cst.UnaryOperation) -> Expr:
    operand = low.expression(node.expression)
    if isinstance(node.operator, cst.Not):
        return (m.NOT, operand)
    return negative(operand) if isinstance(node.operator, cst.Minus) else (m.UNARY, operand)


def _boolean(low: LibcstLowering, node: cst.BooleanOperation) -> Expr:
    operands: list[Any] = []
    current: Any = node
    while isinstance(current, cst.BooleanOperation) and type(current.operator) is type(node.operator):
        operands.append(current.right)
        current = current.left
    operands.append(current)
    kind = "and" if isinstance(node.operator, cst.And) else "or"
    return (m.BOOL, kind, tuple(low.expression(operand) for operand in reversed(operands)))


def _conditional(low: LibcstLowering, node: cst.IfExp) -> Expr:
    then = low.expression(node.body)
    test = low.expression(node.test)
    return (m.COND, test, then, low.expression(node.orelse))


def _sequence(kind: str) -> Callable[[LibcstLowering, Any], Expr]:
    def handler(low: LibcstLowering, node: Any) -> Expr:
        return (m.NEW, low.new_id(), kind, tuple(_element(low, element) for element in node.elements))

    return handler


def _element(low: LibcstLowering, element: Any) -> Expr:
    value = low.expression(element.value)
    return (m.STAR, value) if isinstance(element, cst.StarredElement) else value


def _dict(low: LibcstLowering, node: cst.Dict) -> Expr:
    ident = low.new_id()
    pairs = []
    for element in node.elements:
        key = low.expression(element.key) if isinstance(element, cst.DictElement) else None
        pairs.append((key, low.expression(element.value)))
    return (m.DICT, ident, tuple(pairs))


def _comprehension(kind: str) -> Callable[[LibcstLowering, Any], Expr]:
    def handler(low: LibcstLowering, node: Any) -> Expr:
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


def _lambda(low: LibcstLowering, node: cst.Lambda) -> Expr:
    return low.one_line(low.params(node.params), lambda: low.expression(node.body))


def _await(low: LibcstLowering, node: cst.Await) -> Expr:
    return (m.AWAIT, low.expression(node.expression))


def _yield(low: LibcstLowering, node: cst.Yield) -> Expr:
    low.scope.generator = True
    if isinstance(node.value, cst.From):
        return (m.YIELD_FROM, low.expression(node.value.item))
    return (m.YIELD, None if node.value is None else low.expression(node.value))


def _walrus(low: LibcstLowering, node: cst.NamedExpr) -> Expr:
    return (m.WALRUS, low.expression(node.target), low.expression(node.value))


# -- statements -----------------------------------------------------------------------------------


def _value(low: LibcstLowering, node: cst.Expr, site: Site) -> Stmt | None:
    if isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString)) and not _is_formatted(node.value):
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


def _return(low: LibcstLowering, node: cst.Return, site: Site) -> Stmt:
    return (m.RETURN, site, None if node.value is None else low.text_or_value(node.value))


def _raise(low: LibcstLowering, node: cst.Raise, site: Site) -> Stmt:
    return (m.RAISE, site, None if node.exc is None else low.expression(node.exc))


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


def _jump(low: LibcstLowering, node: Any, site: Site) -> Stmt:
    return (m.JUMP, site, isinstance(node, cst.Break))


def _assert(low: LibcstLowering, node: cst.Assert, site: Site) -> Stmt:
    return low.asserted(site, low.expression(node.test))


def _def(low: LibcstLowering, node: cst.FunctionDef, site: Site) -> Stmt:
    decorators = tuple(low.expression(item.decorator) for item in node.decorators)
    params = low.params(node.params)
    returns = None if node.returns is None else low.unevaluated(node.returns.annotation)
    name = node.name.value
    return (m.DEF, site, low.function(name, site, params, lambda: low.suite(node.body), decorators, returns))


def _class(low: LibcstLowering, node: cst.ClassDef, site: Site) -> Stmt:
    decorators = tuple(low.expression(item.decorator) for item in node.decorators)
    bases = tuple(low.expression(arg.value) for arg in node.bases)
    keywords = [
        (None if arg.keyword is None else arg.keyword.value, low.expression(arg.value)) for arg in node.keywords
    ]
    return low.klass(node.name.value, site, bases, keywords, lambda: low.suite(node.body), decorators)


def _for(low: LibcstLowering, node: cst.For, site: Site) -> Stmt:
    target = low.target(node.target, site)
    iterable = low.expression(node.iter)
    return (m.FOR, site, target, iterable, low.looped(lambda: low.suite(node.body)), low.orelse(node.orelse))


def _while(low: LibcstLowering, node: cst.While, site: Site) -> Stmt:
    test = low.expression(node.test)
    return (m.WHILE, site, test, low.looped(lambda: low.suite(node.body)), low.orelse(node.orelse))


def _if(low: LibcstLowering, node: cst.If, site: Site) -> Stmt:
    test = low.expression(node.test)
    return (m.IF, site, test, low.suite(node.body), low.orelse(node.orelse))


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


_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_NAMED: dict[str, Expr] = {"None": (m.CONST, None), "True": (m.CONST, True), "False": (m.CONST, False)}
_EXPRESSIONS: dict[type, Callable[[LibcstLowering, Any], Expr]] = {
    cst.Name: _name,
    cst.Attribute: _attribute,
    cst.Call: _call,
    cst.Subscript: _subscript,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _string,
    cst.Integer: _integer,
    cst.FormattedString: _string,
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
_STATEMENTS: dict[type, Callable[[LibcstLowering, Any, Site], Stmt | None]] = {
    cst.Expr: _value,
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
