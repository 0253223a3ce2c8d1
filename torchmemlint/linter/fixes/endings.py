"""Remedies that end something in time: a name, a hook, a context, a callback; or in the right order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...finding import Edit, Location
from .bounds import at_start, call_of, tail
from .remedies import Candidate, Node, remedy
from .text import FunctionNode, Text, insertion

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)


# -- names ----------------------------------------------------------------------------------------


@remedy("delete-after-use")
def _delete(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """`del name` behind the last statement that uses the local `about`."""
    statement, function = text.statement(node), text.function(node)
    if statement is None or function is None or not isinstance(statement, ast.Assign):
        return
    block = text.block(statement)
    users = [each for each in block if _names(each, about)]
    if block is not function.body or _uses_by_name(function) or any(map(_escapes_to_function, block)):
        return
    last = users[-1] if users else None
    if last is None or isinstance(last, (*_LEAVES, ast.FunctionDef, ast.ClassDef)) or not text.stands_alone(last):
        return
    if isinstance(last, (ast.For, ast.While)) and not (isinstance(last, ast.For) and _names(last.iter, about)):
        return  # the work itself uses it to its end, and deleting it then saves nothing
    line = f"{text.margin(statement)}del {about}{text.newline(last.lineno)}"
    yield Candidate(f"Delete `{about}` when it is used up", (text.after(last, line),), True)


def _names(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def _uses_by_name(function: FunctionNode) -> bool:
    return any(isinstance(each, ast.Name) and each.id in ("locals", "eval", "exec") for each in ast.walk(function))


def _escapes_to_function(statement: ast.stmt) -> bool:
    """A closure may use a name later than the text shows."""
    return any(isinstance(each, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)) for each in ast.walk(statement))


@remedy("end-round")
def _end_round(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Let go of names at the end of a loop's body; `about` lists them."""
    loop = next((each for each in text.above(node) if isinstance(each, (ast.While, ast.For))), None)
    names = about.split()
    if loop is None or isinstance(loop.body[-1], _LEAVES) or not text.stands_alone(loop.body[-1]):
        return
    bound: set[str] = set()
    for statement in _in_order(loop.body):
        used = {
            each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
        }
        if used.intersection(names) - bound:
            return  # it may come from the round before, or be made in some rounds only
        for target in statement.targets if isinstance(statement, ast.Assign) else []:
            bound.update(each.id for each in ast.walk(target) if isinstance(each, ast.Name))
    function = text.function(loop)
    end = loop.end_lineno or loop.lineno
    later = (each for each in ast.walk(function or text.tree) if isinstance(each, ast.Name) and each.lineno > end)
    if any(each.id in names for each in later) or not bound.issuperset(names):
        return
    last = loop.body[-1]
    line = f"{text.margin(last)}del {', '.join(names)}{text.newline(last.lineno)}"
    edit = text.after(last, line)
    call = call_of(last) if isinstance(last, ast.Expr) else None
    if call is not None and tail(call.func) == "task_done":
        edit = insertion(Location(last.lineno, 1), line)  # before others hear that the round is over
    yield Candidate("Let go at the end of the round", (edit,), False)


def _in_order(block: list[ast.stmt]) -> Iterator[ast.AST]:
    """What a block runs whatever happens: its statements, and those in a `with`."""
    for statement in block:
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from statement.items
            yield from _in_order(statement.body)
        else:
            yield statement


@remedy("drop-also")
def _drop_also(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Drop `about` where the flagged statement drops what it belongs to."""
    statement = text.statement(node)
    if isinstance(statement, ast.Delete):
        yield Candidate(f"Delete `{about}` as well", (insertion(text.end(statement.targets[-1]), f", {about}"),), False)
    elif isinstance(statement, ast.Assign) and text.stands_alone(statement):
        line = f"{text.margin(statement)}{about.replace(', ', ' = ')} = None{text.newline(statement.lineno)}"
        yield Candidate(f"Drop `{about}` as well", (text.after(statement, line),), False)


@remedy("take-result")
def _take_result(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """`release(model, batch)` -> `model, batch = release(model, batch)`."""
    statement = text.statement(node)
    call = call_of(statement) if isinstance(statement, ast.Expr) else None
    if call is None or call.keywords or not all(isinstance(each, (ast.Name, ast.Attribute)) for each in call.args):
        return
    names = ", ".join(text.of(argument) for argument in call.args)
    yield Candidate(f"Assign the result to `{names}`", (insertion(text.start(call), f"{names} = "),), False)


# -- order ----------------------------------------------------------------------------------------


@remedy("move-last")
def _move_last(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Move the flagged call behind what should come first: `about` is `collect`, or a name that is deleted."""
    statement = text.statement(node)
    if not isinstance(statement, ast.Expr) or not text.stands_alone(statement):
        return
    block = text.block(statement)
    later = block[block.index(statement) + 1 :]
    before = [each for each in later if (_collects(each) if about == "collect" else _drops(each, about))]
    if not before or not text.stands_alone(before[-1]):
        return
    target = before[-1]
    following = later[later.index(target) + 1 :]
    while about != "collect" and following and _collects(following[0]):
        target = following.pop(0)
    moved = "".join(text.lines[statement.lineno - 1 : statement.end_lineno])
    yield Candidate("Empty the cache last", (text.without_lines(statement), text.after(target, moved)), True)


def _collects(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and (tail(statement.value.func) == "collect")
    )


def _drops(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.Delete) and any(ast.unparse(target) == name for target in statement.targets)


@remedy("drop-statement")
def _drop_statement(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Leave the flagged call out."""
    statement = text.statement(node)
    if isinstance(statement, ast.Expr) and text.stands_alone(statement) and len(text.block(statement)) > 1:
        yield Candidate("Leave it out", (text.without_lines(statement),), False)


@remedy("reset-gradients")
def _reset_gradients(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Reset the gradients once more behind the loop, as its rounds do."""
    function = text.function(node)
    loops = [each for each in text.above(node) if isinstance(each, (ast.For, ast.While))]
    loops = [loop for loop in loops if text.function(loop) is function]
    if function is None or not loops or not text.stands_alone(loops[-1]):
        return
    for each in ast.walk(loops[-1]):
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) and tail(each.value.func) == "zero_grad":
            line = f"{text.margin(loops[-1])}{text.of(each)}{text.newline(each.lineno)}"
            yield Candidate("Reset the gradients behind the loop", (text.after(loops[-1], line),), False)
            return


# -- whatever happens -----------------------------------------------------------------------------


@remedy("pop-in-finally")
def _pop(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """`context.push()` ... `context.pop()` -> `try` ... `finally: context.pop()`."""
    statement = text.statement(node)
    if not isinstance(statement, ast.Expr):
        return
    block = text.block(statement)
    later = block[block.index(statement) + 1 :]
    pop = next((each for each in later if text.of(each) == f"{about}.pop()"), None)
    inside = later[: later.index(pop)] if pop is not None else []
    if pop is not None and inside and text.stands_alone(pop):
        edits = _tried(text, statement, inside, text.of(pop), text.without_lines(pop))
        if edits:
            yield Candidate(f"Pop `{about}` in a `finally`", edits, False)


@remedy("free-in-finally")
def _free(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Put what follows an allocation into a `try`, and free it in the `finally` by the function `about`."""
    statement = text.statement(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target, call = statement.targets[0], call_of(statement)
    if call is None or not isinstance(call.func, ast.Attribute):
        return
    block = text.block(statement)
    inside = block[block.index(statement) + 1 :]
    if not isinstance(target, ast.Name) or not inside or _given_away(inside, target.id):
        return
    edits = _tried(text, statement, inside, f"{text.of(call.func.value)}.{about}({target.id})")
    if edits:
        yield Candidate("Free it in a `finally`", edits, False)


def _given_away(statements: list[ast.stmt], name: str) -> bool:
    """Whether a name is returned, yielded or assigned as it is: then somebody else frees it."""
    for statement in statements:
        for each in ast.walk(statement):
            value = getattr(each, "value", None)
            if isinstance(each, (ast.Return, ast.Yield, ast.Assign)) and value is not None:
                parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
                if any(isinstance(part, ast.Name) and part.id == name for part in parts):
                    return True
            if isinstance(each, ast.Call) and tail(each.func) in ("append", "add") and _names(each, name):
                return True
    return False


def _tried(
    text: Text, before: ast.stmt, inside: list[ast.stmt], final: str, gone: Edit | None = None
) -> tuple[Edit, ...]:
    """Edits that put statements into a `try` with a `finally`; none where they share lines with others."""
    if not text.stands_alone(before) or not all(map(text.stands_alone, inside)):
        return ()
    margin, step, newline = text.margin(before), text.indent(before), text.newline(before.lineno)
    last = inside[-1].end_lineno or inside[-1].lineno
    head = text.after(before, f"{margin}try:{newline}")
    tail_edit = text.after(inside[-1], f"{margin}finally:{newline}{margin}{step}{final}{newline}")
    moved = text.indented(before.end_lineno or before.lineno, last, step)
    moved = [edit for edit in moved if edit.start.row > (before.end_lineno or before.lineno)]
    return (head, *moved, tail_edit, *([gone] if gone else []))


@remedy("remove-hook")
def _remove_hook(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Keep a hook's handle for one call of the function that registers it, and remove it in a `finally`.

    Only where the module runs in that call: else the hook is there for later.
    """
    statement, function = text.statement(node), text.function(node)
    call = call_of(statement) if isinstance(statement, ast.Expr) else None
    if statement is None or function is None or call is None or statement not in function.body:
        return
    inside = function.body[function.body.index(statement) + 1 :]
    module = call.func.value if isinstance(call.func, ast.Attribute) else None
    while isinstance(module, (ast.Subscript, ast.Attribute)):
        module = module.value
    if not isinstance(module, ast.Name):
        return
    while inside and not _runs(inside[-1], module.id):
        inside.pop()
    if not inside:
        return
    name = "handle"
    if any(_names(each, name) for each in function.body):
        name = "hook_handle"
    edits = _tried(text, statement, inside, f"{name}.remove()")
    if edits:
        first = insertion(text.start(statement), f"{name} = ")
        yield Candidate("Remove the hook when the call is over", (first, *edits), not _returns_collected(function))


def _runs(statement: ast.stmt, module: str) -> bool:
    """Whether a statement calls a module, or hands it to a call."""
    for each in ast.walk(statement):
        if isinstance(each, ast.Call):
            given = [each.func, *each.args, *(keyword.value for keyword in each.keywords)]
            if any(isinstance(one, ast.Name) and one.id == module for one in given):
                return True
    return False


def _returns_collected(function: FunctionNode) -> bool:
    """Whether a name is returned as it is: a caller might wait for more to come."""
    values = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
    parts = [part for value in values for part in (value.elts if isinstance(value, ast.Tuple) else [value])]
    return any(isinstance(part, ast.Name) for part in parts)


# -- callbacks ------------------------------------------------------------------------------------


@remedy("unregister")
def _unregister(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """`atexit.unregister(self.close)` first thing in `close`, for `atexit.register(self.close)`."""
    call = call_of(node)
    if call is None or not isinstance(call.func, ast.Attribute) or not call.args:
        return
    callback, owner = call.args[0], next((each for each in text.above(node) if isinstance(each, ast.ClassDef)), None)
    if owner is None or not isinstance(callback, ast.Attribute) or text.of(callback.value) != "self":
        return
    for method in owner.body:
        if isinstance(method, ast.FunctionDef) and method.name == callback.attr:
            line = f"{text.of(call.func.value)}.unregister({text.of(callback)})"
            edit = at_start(text, method, [line])
            if edit is not None:
                yield Candidate(f"Unregister it in `{method.name}`", (edit,), False)


@remedy("discard-when-done")
def _discard(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """`futures.append(future)` -> and `future.add_done_callback(futures.remove)`, where nobody reads the futures."""
    statement = text.statement(node)
    call = call_of(statement) if isinstance(statement, ast.Expr) else None
    if statement is None or call is None or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return
    method = {"append": "remove", "add": "discard"}.get(call.func.attr)
    holder, future = text.of(call.func.value), call.args[0]
    if method is None or not isinstance(future, ast.Name) or not text.stands_alone(statement):
        return
    name = holder.rpartition(".")[2]
    for each in ast.walk(text.tree):
        read = isinstance(each, (ast.Name, ast.Attribute)) and tail(each) == name and isinstance(each.ctx, ast.Load)
        if read and not isinstance(text.parents[each], ast.Attribute):
            return
    line = f"{text.margin(statement)}{future.id}.add_done_callback({holder}.{method}){text.newline(statement.lineno)}"
    yield Candidate("Take each out when it is done", (text.after(statement, line),), False)
