"""Refactorings of control flow: loops, comprehensions, `with`, decorators, early ends, and what runs `main`."""

# ruff: noqa: N802  (names of visitors are those of libcst)
from __future__ import annotations

import re

import libcst as cst
from refactor_tree import HARD, Rewriter, binds, code, has, indent, lines, mark, names, parse, replaced

MODES = re.compile(r"(torch\.)?(no_grad|inference_mode|enable_grad)\(\)$")


def docstring(body: cst.BaseSuite) -> tuple[str, str]:
    """The docstring of a function, if it has one, and the rest of its text."""
    statements = list(body.body)
    first = 1 if statements and re.match(r"[rR]?[\"']", code(statements[0])) else 0
    return lines(statements[:first]), lines(statements[first:])


class _Loops(Rewriter):
    shallow = True
    trigger = r"\bfor "

    def fits(self, original: cst.For) -> bool:
        inside = self.function is not None and self.chosen(original) and not original.asynchronous
        return inside and original.orelse is None and isinstance(original.body, cst.IndentedBlock)


class WhileNext(_Loops):
    """A `for` becomes a `while` with an iterator."""

    def leave_For(self, original_node, updated_node):
        if not self.fits(original_node):
            return updated_node
        name = self.fresh("iterator")
        return replaced(
            f"{name} = iter({code(updated_node.iter)})\n"
            f"while True:\n    try:\n        {code(updated_node.target)} = next({name})\n"
            f"    except StopIteration:\n        break\n{indent(lines(updated_node.body))}\n"
        )


class WhileIndex(_Loops):
    """A `for` over a range becomes a `while` that counts."""

    def leave_For(self, original_node, updated_node):
        end = re.fullmatch(r"range\((\w+)\)", code(updated_node.iter))
        if not self.fits(original_node) or end is None or not isinstance(updated_node.target, cst.Name):
            return updated_node
        name = self.fresh("index")
        return replaced(
            f"{name} = 0\nwhile {name} < {end[1]}:\n    {code(updated_node.target)} = {name}\n    {name} += 1\n"
            f"{indent(lines(updated_node.body))}\n"
        )


class Enumerate(_Loops):
    """A `for` counts its rounds."""

    def leave_For(self, original_node, updated_node):
        if not self.fits(original_node):
            return updated_node
        target = code(updated_node.target)
        target = f"({target})" if isinstance(updated_node.target, cst.Tuple) else target
        head = f"for {self.fresh('index')}, {target} in enumerate({code(updated_node.iter)}):\n"
        return replaced(head + indent(lines(updated_node.body)) + "\n")


class ThroughGenerator(_Loops):
    """A `for` goes over what a generator passes on."""

    def leave_For(self, original_node, updated_node):
        if not self.fits(original_node):
            return updated_node
        if not self.helpers:
            self.helper("def each(items):\n    yield from items\n")
        return updated_node.with_changes(iter=cst.parse_expression(f"each(({code(updated_node.iter)}))"))


class WhileTrue(Rewriter):
    """`while c:` becomes `while True:` with a `break`."""

    shallow = True
    trigger = r"\bwhile "

    def leave_While(self, original_node, updated_node):
        if not self.chosen(original_node) or updated_node.orelse or code(updated_node.test) in ("True", "1"):
            return updated_node
        stop = f"if not ({code(updated_node.test)}):\n        break"
        return replaced(f"while True:\n    {stop}\n{indent(lines(updated_node.body))}\n")


class Unfold(Rewriter):
    """A list comprehension becomes a loop."""

    shallow = True
    trigger = r"\[[^\]]* for "
    binds_more = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        statement, now = self.single(original_node), updated_node.body[0]
        if statement is None or not isinstance(now, cst.Assign | cst.Return):
            return updated_node
        made = now.value
        if not isinstance(made, cst.ListComp) or made.for_in.inner_for_in or made.for_in.asynchronous:
            return updated_node
        if has(made.for_in.iter, HARD):
            return updated_node
        name, target = self.fresh("items"), code(made.for_in.target)
        new = {word: self.fresh(word) for word in sorted(binds(made.for_in.target))}
        body = f"{name}.append({code(made.elt)})"
        for condition in reversed(made.for_in.ifs):
            body = f"if {code(condition.test)}:\n{indent(body)}"
        for word, fresh in new.items():
            body, target = (re.sub(rf"(?<![\w.]){word}\b(?!=)", fresh, text) for text in (body, target))
        loop = f"{name} = []\nfor {target} in {code(made.for_in.iter)}:\n{indent(body)}\n"
        comment = mark(original_node)
        return replaced(*parse(loop, comment), updated_node.deep_replace(made, cst.Name(name)))


class Fold(Rewriter):
    """A loop that only appends becomes a comprehension."""

    shallow = True
    trigger = r"\.append\("

    def leave_For(self, original_node, updated_node):
        body = updated_node.body.body
        if self.function is None or not self.chosen(original_node) or len(body) != 1 or updated_node.orelse:
            return updated_node
        found = re.fullmatch(r"([\w.]+)\.append\((.*)\)\s*(# TML.*)?", code(body[0]), re.DOTALL)
        if not found or has(body[0], HARD) or updated_node.asynchronous:
            return updated_node
        made = f"[{found[2]} for {code(updated_node.target)} in {code(updated_node.iter)}]"
        return replaced(*parse(f"{found[1]}.extend({made})\n", mark(body[0])))


class Guard(Rewriter):
    """An `if` at the end of a loop or function becomes an early `continue` or `return`."""

    shallow = True

    def turned(self, body, word):
        if not isinstance(body, cst.IndentedBlock) or not body.body:
            return body
        last = body.body[-1]
        if not isinstance(last, cst.If) or last.orelse or not isinstance(last.body, cst.IndentedBlock):
            return body
        text = f"if not ({code(last.test)}):\n    {word}\n{lines(last.body)}\n"
        return body.with_changes(body=[*body.body[:-1], *parse(text)])

    def leave_For(self, original_node, updated_node):
        if not self.chosen(original_node):
            return updated_node
        return updated_node.with_changes(body=self.turned(updated_node.body, "continue"))

    def leave_While(self, original_node, updated_node):
        return self.leave_For(original_node, updated_node)

    def leave_FunctionDef(self, original_node, updated_node):
        if not self.chosen(original_node):
            return updated_node
        return updated_node.with_changes(body=self.turned(updated_node.body, "return"))


class SwapArms(Rewriter):
    """`if c: A else: B` becomes `if not c: B else: A`."""

    shallow = True
    trigger = r"\belse:"

    def leave_If(self, original_node, updated_node):
        other = updated_node.orelse
        if not self.chosen(original_node) or not isinstance(other, cst.Else):
            return updated_node
        text = f"if not ({code(updated_node.test)}):\n{indent(lines(other.body))}\nelse:\n"
        made = parse(f"{text}{indent(lines(updated_node.body))}\n")[0]
        return made.with_changes(leading_lines=updated_node.leading_lines)

    def visit_If(self, node: cst.If) -> bool:
        return not isinstance(node.orelse, cst.If)


class _Around(Rewriter):
    """A statement gets a block around it."""

    shallow = True

    def around_it(self, text: str) -> str:
        raise NotImplementedError

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = self.single(original_node)
        if now is None or not isinstance(now, cst.Expr | cst.Assign | cst.AugAssign):
            return updated_node
        if not isinstance(now, cst.Expr) or isinstance(now.value, cst.Call):
            return replaced(self.around_it(indent(code(updated_node))))
        return updated_node


class TryFinally(_Around):
    """A statement is in a `try` with a `finally` that does nothing."""

    def around_it(self, text: str) -> str:
        return f"try:\n{text}\nfinally:\n    pass\n"


class NullContext(_Around):
    """A statement is in a `with` that does nothing."""

    def around_it(self, text: str) -> str:
        self.needs("import contextlib")
        return f"with contextlib.nullcontext():\n{text}\n"


class _Withs(Rewriter):
    shallow = True
    marks = False
    trigger = r"\bwith "

    def fits(self, node: cst.With) -> bool:
        return self.function is not None and self.everywhere and not node.asynchronous and len(node.items) == 1


class Stack(_Withs):
    """What a `with` enters is entered into an ExitStack."""

    def leave_With(self, original_node, updated_node):
        if not self.fits(original_node) or (
            "_grad" in code(updated_node.items[0]) and "()" not in code(updated_node.items[0])
        ):
            return updated_node
        self.needs("import contextlib")
        item, name = updated_node.items[0], self.fresh("stack")
        bound = f"{code(item.asname.name)} = " if item.asname else ""
        entered = f"{bound}{name}.enter_context({code(item.item)})"
        comment = mark(updated_node.body.header) or ""
        head = f"with contextlib.ExitStack() as {name}:\n    {entered}  {comment}".rstrip()
        return replaced(f"{head}\n{indent(lines(updated_node.body))}\n")


class EnterExit(_Withs):
    """A `with` becomes a `try` between calls of `__enter__` and `__exit__`."""

    def leave_With(self, original_node, updated_node):
        if not self.fits(original_node) or "()" not in code(updated_node.items[0]):
            return updated_node
        item, name = updated_node.items[0], self.fresh("context")
        bound = f"{code(item.asname.name)} = " if item.asname else ""
        head = f"{name} = {code(item.item)}\n{bound}{name}.__enter__()\n"
        end = f"finally:\n    {name}.__exit__(None, None, None)\n"
        return replaced(
            *parse(head, mark(updated_node.body.header)), f"try:\n{indent(lines(updated_node.body))}\n{end}"
        )


class ModeBlock(Rewriter):
    """`@torch.no_grad()` becomes a `with` around the body."""

    shallow = True
    marks = False
    trigger = r"_grad\(|inference_mode"

    def leave_FunctionDef(self, original_node, updated_node):
        off = [d for d in updated_node.decorators if MODES.match(code(d.decorator))]
        if not self.everywhere or len(off) != 1 or has(updated_node.body, (cst.Yield, cst.Await)):
            return updated_node
        said, rest = docstring(updated_node.body)
        body = parse(f"{said}with {code(off[0].decorator)}:\n{indent(rest)}\n")
        return updated_node.with_changes(
            decorators=[d for d in updated_node.decorators if d is not off[0]],
            body=updated_node.body.with_changes(body=body),
        )


class ModeDecorator(Rewriter):
    """A function that is one `with torch.no_grad():` gets the decorator."""

    shallow = True
    marks = False
    trigger = r"with .*(_grad\(|inference_mode)"

    def leave_FunctionDef(self, original_node, updated_node):
        block = updated_node.body.body[-1]
        said, _ = docstring(updated_node.body)
        if not self.everywhere or not isinstance(block, cst.With) or len(updated_node.body.body) != 1 + bool(said):
            return updated_node
        if len(block.items) != 1 or not MODES.match(code(block.items[0].item)) or has(block, (cst.Yield, cst.Await)):
            return updated_node
        decorator = cst.Decorator(cst.parse_expression(code(block.items[0].item)))
        body = parse(said) + list(block.body.body)
        return updated_node.with_changes(
            decorators=[*updated_node.decorators, decorator], body=updated_node.body.with_changes(body=body)
        )


class _Main(Rewriter):
    """What `main` does is done by something that it calls."""

    shallow = True
    marks = False

    def instead(self, body: str, parameters: str, given: str) -> str:
        raise NotImplementedError

    def leave_FunctionDef(self, original_node, updated_node):
        if updated_node.name.value != "main" or len(self.around) != 1 or not self.everywhere:
            return updated_node
        if has(updated_node.body, (cst.Yield, cst.Await, cst.Nonlocal)):
            return updated_node
        said, rest = docstring(updated_node.body)
        params = updated_node.params.params
        text = self.instead(rest, lines_of(params), ", ".join(parameter.name.value for parameter in params))
        return updated_node.with_changes(body=updated_node.body.with_changes(body=parse(said + text)))


def lines_of(params) -> str:
    return ", ".join(code(parameter.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for parameter in params)


class MainClass(_Main):
    """The body of `main` becomes the method `go` of a class."""

    def instead(self, body: str, parameters: str, given: str) -> str:
        self.helper(f"class Command:\n    def go(self, {parameters}):\n{indent(indent(body))}\n")
        return f"return Command().go({given})\n"


class MainNested(_Main):
    """The body of `main` becomes a function in it."""

    def instead(self, body: str, parameters: str, given: str) -> str:
        return f"def go():\n{indent(body)}\nreturn go()\n"


class MainAsync(_Main):
    """The body of `main` becomes a coroutine."""

    def instead(self, body: str, parameters: str, given: str) -> str:
        if "asyncio" in self.text:
            return body
        self.needs("import asyncio")
        self.helper(f"async def go({parameters}):\n{indent(body)}\n")
        return f"return asyncio.run(go({given}))\n"


class MainGuarded(Rewriter):
    """The loops of `main` run only if there are steps."""

    shallow = True
    marks = False

    def leave_For(self, original_node, updated_node):
        if self.function is None or self.function.name.value != "main" or "steps" not in code(original_node.iter):
            return updated_node
        if len(self.around) != 1 or not self.everywhere:
            return updated_node
        return replaced(f"if steps > 0:\n{indent(lines([updated_node]))}\n")


def used_names(node: cst.CSTNode) -> set[str]:
    return {name.value for name in names(node)}


FLOW: dict[str, type[Rewriter]] = {
    "while-next": WhileNext,
    "while-index": WhileIndex,
    "enumerate": Enumerate,
    "generator": ThroughGenerator,
    "while-true": WhileTrue,
    "unfold": Unfold,
    "fold": Fold,
    "guard": Guard,
    "swap-arms": SwapArms,
    "try-finally": TryFinally,
    "null-context": NullContext,
    "exit-stack": Stack,
    "enter-exit": EnterExit,
    "mode-block": ModeBlock,
    "mode-decorator": ModeDecorator,
    "main-class": MainClass,
    "main-nested": MainNested,
    "main-async": MainAsync,
    "main-guarded": MainGuarded,
}
