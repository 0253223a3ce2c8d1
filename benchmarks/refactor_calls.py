"""Refactorings of single statements: taken out into helpers, their parts bound first, their calls made otherwise."""

# ruff: noqa: N802  (names of visitors are those of libcst)
from __future__ import annotations

import libcst as cst
from refactor_tree import HARD, Rewriter, Statement, code, has, indent, mark, names, parse, replaced


def movable(statement: cst.BaseSmallStatement) -> bool:
    """Neither binds a name nor leaves the function."""
    if isinstance(statement, cst.Expr):
        return isinstance(statement.value, cst.Call)
    if isinstance(statement, cst.AugAssign):
        return not isinstance(statement.target, cst.Name)
    return isinstance(statement, cst.Assign) and all(
        isinstance(target.target, cst.Attribute | cst.Subscript) for target in statement.targets
    )


def value_of(statement: cst.BaseSmallStatement) -> cst.BaseExpression | None:
    """The expression that a statement keeps or hands over, if it computes something."""
    value: cst.BaseExpression | None = None
    if isinstance(statement, cst.Assign | cst.AugAssign | cst.Return):
        value = statement.value
    elif isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call) and len(statement.value.args) == 1:
        value = statement.value.args[0].value if not statement.value.args[0].star else None
    computes = cst.Call | cst.BinaryOperation | cst.Tuple | cst.Dict | cst.Attribute | cst.Subscript
    return value if isinstance(value, computes) and not has(value, (cst.Await, cst.Yield, cst.NamedExpr)) else None


class ExtractFunction(Rewriter):
    """A statement becomes a function of the module."""

    shallow = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        statement = self.single(original_node)
        used = self.locals_of(original_node) if statement and movable(statement) else None
        if used is None:
            return updated_node
        name = self.fresh("helper")
        self.helper(f"def {name}({', '.join(used)}):\n{indent(code(updated_node))}\n")
        return replaced(*parse(f"{name}({', '.join(used)})\n", mark(original_node)))


class ExtractMethod(Rewriter):
    """A statement of a method becomes a method."""

    shallow = True

    def __init__(self, everywhere: bool, whole: cst.Module, text: str) -> None:
        super().__init__(everywhere, whole, text)
        self.methods: dict[cst.ClassDef, list[Statement]] = {}

    def leave_SimpleStatementLine(self, original_node, updated_node):
        statement, owner = self.single(original_node), self.method_of
        used = self.locals_of(original_node) if statement and owner and movable(statement) else None
        if used is None or "self" not in used or owner is None:
            return updated_node
        name, given = self.fresh("part"), ", ".join(word for word in used if word != "self")
        parameters = f"self, {given}" if given else "self"
        self.methods.setdefault(owner, []).extend(parse(f"\ndef {name}({parameters}):\n{indent(code(updated_node))}\n"))
        return replaced(*parse(f"self.{name}({given})\n", mark(original_node)))

    def leave_ClassDef(self, original_node, updated_node):
        more = self.methods.get(original_node)
        if not more:
            return updated_node
        return updated_node.with_deep_changes(updated_node.body, body=[*updated_node.body.body, *more])


class ExtractNested(Rewriter):
    """A statement becomes a function inside of the one around it, which sees its variables."""

    shallow = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        statement = self.single(original_node)
        if not statement or not movable(statement) or self.locals_of(original_node) is None:
            return updated_node
        name = self.fresh("inner")
        text = f"def {name}():\n{indent(code(updated_node))}\n{name}()\n"
        return replaced(*parse(text, mark(original_node)))


class ExtractValue(Rewriter):
    """What a statement keeps is computed and returned by a function."""

    shallow = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        statement = self.single(original_node)
        value = value_of(statement) if statement else None
        used = self.locals_of(value) if value is not None else None
        if used is None or value is None:
            return updated_node
        name, now = self.fresh("computed"), value_of(updated_node.body[0])
        assert now is not None
        comment = mark(original_node)
        space = f"  {comment}" if comment and not mark(now) else ""
        self.helper(f"def {name}({', '.join(used)}):\n    return ({code(now)}){space}\n")
        return updated_node.deep_replace(now, cst.parse_expression(f"{name}({', '.join(used)})"))


class BindValue(Rewriter):
    """What a statement keeps gets a name first."""

    shallow = True
    binds_more = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = value_of(updated_node.body[0]) if self.single(original_node) else None
        if now is None:
            return updated_node
        name = self.fresh("value")
        return replaced(
            *parse(f"{name} = ({code(now)})\n", mark(original_node)), updated_node.deep_replace(now, cst.Name(name))
        )


class BindWalrus(Rewriter):
    """What a statement keeps gets a name on the way."""

    shallow = True
    binds_more = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = value_of(updated_node.body[0]) if self.single(original_node) else None
        if now is None:
            return updated_node
        return updated_node.deep_replace(now, cst.parse_expression(f"({self.fresh('value')} := ({code(now)}))"))


class BindHolder(Rewriter):
    """The holder gets a name first: `h = self.history; h.append(x)`."""

    shallow = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        statement = self.single(original_node)
        now = updated_node.body[0]
        holder: cst.BaseExpression | None = None
        if isinstance(now, cst.Expr) and isinstance(now.value, cst.Call) and isinstance(now.value.func, cst.Attribute):
            holder = now.value.func.value
        elif isinstance(now, cst.Assign | cst.AugAssign):
            target = now.targets[0].target if isinstance(now, cst.Assign) else now.target
            holder = target.value if isinstance(target, cst.Attribute | cst.Subscript) else None
        if statement is None or not isinstance(holder, cst.Attribute) or "super" in code(holder):
            return updated_node
        if self.is_module(holder):
            return updated_node
        name = self.fresh("holder")
        return replaced(f"{name} = {code(holder)}\n", updated_node.deep_replace(holder, cst.Name(name)))

    def is_module(self, node: cst.BaseExpression) -> bool:
        root = next(iter(names(node)), None)
        return root is not None and f"import {root.value}" in self.text


class BindMethod(Rewriter):
    """The method that keeps gets a name first: `put = self.history.append; put(x)`."""

    shallow = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = updated_node.body[0]
        if self.single(original_node) is None or not isinstance(now, cst.Expr) or not isinstance(now.value, cst.Call):
            return updated_node
        func = now.value.func
        if not isinstance(func, cst.Attribute) or not isinstance(func.value, cst.Attribute | cst.Name):
            return updated_node
        name = self.fresh("call")
        return replaced(f"{name} = {code(func)}\n", updated_node.deep_replace(func, cst.Name(name)))


class _Wrapped(Rewriter):
    shallow = True

    def wrapped(self, call: cst.Call) -> str:
        raise NotImplementedError

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = updated_node.body[0]
        if self.single(original_node) is None or not isinstance(now, cst.Expr) or not isinstance(now.value, cst.Call):
            return updated_node
        if has(now, (*HARD, cst.GeneratorExp)) or "super" in code(now):
            return updated_node
        return updated_node.deep_replace(now.value, cst.parse_expression(self.wrapped(now.value)))


class CallLambda(_Wrapped):
    """A call is made by a lambda."""

    def wrapped(self, call: cst.Call) -> str:
        return f"(lambda: {code(call)})()"


class CallPartial(_Wrapped):
    """A call is made by a partial."""

    def wrapped(self, call: cst.Call) -> str:
        self.needs("import functools")
        given = ", ".join(
            [code(call.func), *(code(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for arg in call.args)]
        )
        return f"functools.partial({given})()"


class ReturnName(Rewriter):
    """What is returned gets a name first."""

    shallow = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = updated_node.body[0]
        if self.single(original_node) is None or not isinstance(now, cst.Return) or now.value is None:
            return updated_node
        name = self.fresh("result")
        return replaced(*parse(f"{name} = ({code(now.value)})\nreturn {name}\n", mark(original_node)))


class TupleAssign(Rewriter):
    """An assignment becomes one of two values at once."""

    shallow = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = updated_node.body[0]
        if self.single(original_node) is None or not isinstance(now, cst.Assign) or len(now.targets) != 1:
            return updated_node
        target = now.targets[0].target
        if not isinstance(target, cst.Name | cst.Attribute) or has(now.value, (cst.Yield,)):
            return updated_node
        text = f"{code(target)}, {self.fresh('nothing')} = ({code(now.value)}), None\n"
        return replaced(*parse(text, mark(original_node)))


class Plain(Rewriter):
    """`x += y` becomes `x = x + y`."""

    shallow = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = updated_node.body[0]
        if self.single(original_node) is None or not isinstance(now, cst.AugAssign):
            return updated_node
        if not isinstance(now.operator, cst.AddAssign) or has(now.value, (cst.List, cst.ListComp)):
            return updated_node
        target = code(now.target)
        return replaced(*parse(f"{target} = {target} + ({code(now.value)})\n", mark(original_node)))


class Keywords(Rewriter):
    """Arguments of the file's own functions are given by keyword."""

    def __init__(self, everywhere: bool, whole: cst.Module, text: str) -> None:
        super().__init__(everywhere, whole, text)
        self.parameters: dict[str, list[str] | None] = {}
        for node, owner in self.definitions(whole):
            plain = not (node.params.star_kwarg or node.params.posonly_params or node.decorators)
            plain = plain and not isinstance(node.params.star_arg, cst.Param)
            named = [parameter.name.value for parameter in node.params.params]
            name = owner or node.name.value
            self.parameters[name] = (named[1:] if named[:1] == ["self"] else named) if plain else None
            if name in self.seen:
                self.parameters[name] = None
            self.seen.add(name)

    def definitions(self, whole: cst.Module):
        self.seen: set[str] = set()
        for statement in whole.body:
            if isinstance(statement, cst.FunctionDef):
                yield statement, ""
            elif isinstance(statement, cst.ClassDef):
                for inner in statement.body.body:
                    if isinstance(inner, cst.FunctionDef):
                        own = statement.name.value if inner.name.value == "__init__" else ""
                        yield inner, own

    def leave_Call(self, original_node, updated_node):
        func = updated_node.func
        name = func.value if isinstance(func, cst.Name) else ""
        if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name) and func.value.value == "self":
            name = func.attr.value
        parameters = self.parameters.get(name)
        if not parameters or any(arg.star for arg in updated_node.args) or len(updated_node.args) > len(parameters):
            return updated_node
        args = [
            arg
            if arg.keyword
            else arg.with_changes(
                keyword=cst.Name(word), equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
            )
            for arg, word in zip(updated_node.args, parameters, strict=False)
        ]
        return updated_node.with_changes(args=args)


class Inline(Rewriter):
    """A function of the module that is called once becomes a part of its caller."""

    shallow = True
    binds_more = True

    def __init__(self, everywhere: bool, whole: cst.Module, text: str) -> None:
        super().__init__(everywhere, whole, text)
        uses: dict[str, int] = {}
        for name in names(whole):
            uses[name.value] = uses.get(name.value, 0) + 1
        self.once = {
            node.name.value: node
            for node in whole.body
            if isinstance(node, cst.FunctionDef) and uses.get(node.name.value) == 2 and self.plain(node)
        }
        self.gone: set[str] = set()

    def plain(self, node: cst.FunctionDef) -> bool:
        params = node.params
        odd = node.decorators or node.asynchronous or params.star_kwarg or params.kwonly_params or params.posonly_params
        odd = odd or isinstance(params.star_arg, cst.Param) or any(parameter.default for parameter in params.params)
        inner = [part for statement in node.body.body for part in walk_own(statement)]
        hard = (cst.Yield, cst.Await, cst.Global, cst.Nonlocal, cst.FunctionDef, cst.ClassDef, cst.Del, *HARD)
        early = sum(isinstance(part, cst.Return) for part in inner)
        last = node.body.body[-1]
        ends = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return)
        return not odd and not any(isinstance(part, hard) for part in inner) and early == int(ends)

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = updated_node.body[0]
        call = now.value if isinstance(now, cst.Expr | cst.Assign | cst.Return) else None
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name) or self.function is None:
            return updated_node
        node = self.once.get(call.func.value)
        if node is None or any(arg.keyword or arg.star for arg in call.args) or has(node, (cst.Lambda,)):
            return updated_node
        if len(call.args) != len(node.params.params) or self.function.name.value == node.name.value:
            return updated_node
        if not (self.everywhere or mark(node) or mark(original_node)):
            return updated_node
        own = {part for name in names(node.body) for part in [name.value]} & self.bindings(node)
        new = {name: self.fresh(name) for name in sorted(own)}
        body = node.body.visit(_Renamed(new))
        given = zip(node.params.params, call.args, strict=True)
        texts: list[str | Statement] = [f"{new.get(p.name.value, p.name.value)} = {code(a.value)}\n" for p, a in given]
        statements = [s for s in body.body if not is_docstring(s)]
        last = statements[-1] if statements else None
        result = "None"
        if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return):
            result = code(last.body[-1].value) if last.body[-1].value else "None"
            statements = statements[:-1]
        texts += statements
        comment = mark(node.body.body[-1]) or mark(original_node)
        if not isinstance(now, cst.Expr):
            texts += parse(code(updated_node.deep_replace(call, cst.parse_expression(f"({result})"))) + "\n", comment)
        self.gone.add(node.name.value)
        return replaced(*texts) if texts else updated_node

    @staticmethod
    def bindings(node: cst.FunctionDef) -> set[str]:
        found = {parameter.name.value for parameter in node.params.params}
        for part in walk_own(node.body):
            if isinstance(part, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.For | cst.CompFor):
                found |= (
                    {name.value for name in names(part.target)}
                    if not isinstance(part.target, cst.Attribute | cst.Subscript)
                    else set()
                )
            elif isinstance(part, cst.AsName):
                found |= {name.value for name in names(part.name)}
        return found

    def leave_Module(self, original_node, updated_node):
        kept = [s for s in updated_node.body if not (isinstance(s, cst.FunctionDef) and s.name.value in self.gone)]
        return updated_node.with_changes(body=kept)


def walk_own(node: cst.CSTNode):
    yield node
    for child in node.children:
        yield from walk_own(child)


def is_docstring(node: cst.BaseStatement) -> bool:
    return code(node).startswith(('"', "'"))


class _Renamed(cst.CSTTransformer):
    def __init__(self, new: dict[str, str]) -> None:
        super().__init__()
        self.new = new

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        return None

    def leave_Attribute(self, original_node, updated_node):
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node, updated_node):
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node, updated_node):
        return updated_node.with_changes(value=self.new.get(updated_node.value, updated_node.value))


CALLS: dict[str, type[Rewriter]] = {
    "extract-function": ExtractFunction,
    "extract-method": ExtractMethod,
    "extract-nested": ExtractNested,
    "extract-value": ExtractValue,
    "bind-value": BindValue,
    "bind-walrus": BindWalrus,
    "bind-holder": BindHolder,
    "bind-method": BindMethod,
    "call-lambda": CallLambda,
    "call-partial": CallPartial,
    "return-name": ReturnName,
    "tuple-assign": TupleAssign,
    "plain-assign": Plain,
    "keywords": Keywords,
    "inline": Inline,
}
