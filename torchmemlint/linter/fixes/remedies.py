"""From a remedy's name to edits. A remedy yields candidates, the one to prefer first."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...facts.knowledge import GRAD_MODES
from ...finding import Edit, Location
from .certainty import is_tensor
from .text import FunctionNode, Text, insertion

Node = ast.stmt | ast.expr


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change that may mend a finding. `sure`: the text shows that it does nothing else."""

    message: str
    edits: tuple[Edit, ...]
    sure: bool


Remedy = Callable[[Text, Node, str], Iterator[Candidate]]
REMEDIES: dict[str, Remedy] = {}
_GROWERS = {
    "append": 0,
    "extend": 0,
    "add": 0,
    "appendleft": 0,
    "put": 0,
    "put_nowait": 0,
    "insert": 1,
    "setdefault": 1,
}
_TIGHT = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)  # what a method call may follow without brackets
_MAY_BE_TENSORS = (*_TIGHT, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.BoolOp)


def remedy(name: str) -> Callable[[Remedy], Remedy]:
    def register(function: Remedy) -> Remedy:
        REMEDIES[name] = function
        return function

    return register


# -- values ---------------------------------------------------------------------------------------


@remedy("detach")
def _detach(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Let go of the graph where a value is stored; `about` is the method: `detach()` or `detach().clone()`."""
    call = about or "detach()"
    for value in stored(node):
        parts = _parts(value)
        for part in parts:
            yield Candidate(f"Store `.{call}`", followed_by(text, part, f".{call}"), is_tensor(text, part))
        if len(parts) > 1:
            every = tuple(edit for part in parts for edit in followed_by(text, part, f".{call}"))
            yield Candidate(f"Store `.{call}`", every, False)


def stored(node: Node) -> Iterator[ast.expr]:
    """The values that a statement or call puts somewhere."""
    if isinstance(node, ast.Expr):
        node = node.value
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
        if node.value is not None:
            yield node.value
    elif isinstance(node, ast.Assign):
        if not any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
            yield node.value
    elif isinstance(node, ast.Call):
        yield from _given(node)


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call that it keeps."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    arguments = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
    if len(arguments) != len(call.args):
        return
    if method in _GROWERS:
        yield from arguments[_GROWERS[method] : _GROWERS[method] + 1]
    elif method.endswith("_") and not method.endswith("__"):
        yield from arguments[:1]  # `buffer.mul_(m).add_(x)`: what is added
    elif len(arguments) == 1 and not call.keywords:
        yield arguments[0]


def _parts(value: ast.expr) -> list[ast.expr]:
    """The elements of a tuple, list or dictionary that may be tensors; of anything else itself."""
    if isinstance(value, ast.Dict):
        elements = list(value.values)
    elif isinstance(value, (ast.Tuple, ast.List, ast.Set)):
        elements = list(value.elts)
    elif isinstance(value, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        elements = [value.elt]
    else:
        return [value] if isinstance(value, _MAY_BE_TENSORS) else []
    return [part for element in elements for part in _parts(element)]


def followed_by(text: Text, value: ast.expr, suffix: str) -> tuple[Edit, ...]:
    """Edits that put `.method()` behind an expression, in brackets where they are needed."""
    if isinstance(value, _TIGHT):
        return (insertion(text.end(value), suffix),)
    return (insertion(text.start(value), "("), insertion(text.end(value), ")" + suffix))


@remedy("detach-carried")
def _detach_carried(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Cut a state from the steps before it, where the next step takes it in; `about` is the state."""
    if not isinstance(node, (ast.Assign, ast.AugAssign)) or "lstm" in text.of(node).lower():
        return  # the state of an LSTM is a pair
    reads = [
        each for each in ast.walk(node.value) if isinstance(each, (ast.Name, ast.Attribute)) and text.of(each) == about
    ]
    reads = [each for each in reads if not isinstance(text.parents.get(each), (ast.Attribute, ast.Subscript))]
    if not reads:
        if all(isinstance(target, ast.Attribute) for target in _targets(node)):
            yield from _detach(text, node, "")
        return
    unset = any(
        isinstance(each, (ast.Assign, ast.AnnAssign))
        and isinstance(each.value, ast.Constant)
        and any(text.of(target) == about for target in _targets(each))
        for each in ast.walk(text.tree)
    )
    edits = [insertion(text.end(read), ".detach()") for read in reads]
    if unset:
        edits += [insertion(text.start(read), f"None if {about} is None else ") for read in reads]
        if any(not isinstance(text.parents.get(read), (ast.Call, ast.keyword)) for read in reads):
            return
    yield Candidate(f"Detach `{about}` from the steps before", tuple(edits), False)


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


@remedy("assign-result")
def _assign_result(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """`x.cpu()` -> `x = x.cpu()`."""
    statement = text.statement(node)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        receiver = call.func.value
        while isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Attribute):
            receiver = receiver.func.value  # `x.detach().cpu()`
        if isinstance(receiver, (ast.Name, ast.Attribute)) and receiver.lineno == receiver.end_lineno:
            target = text.of(receiver)
            yield Candidate(f"Assign the result to `{target}`", (insertion(text.start(call), f"{target} = "),), False)


@remedy("drop-argument")
def _drop_argument(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Leave out the keyword argument `about` of the flagged call."""
    call = node.value if isinstance(node, ast.Expr) else node
    if not isinstance(call, ast.Call):
        return
    arguments: list[tuple[Location, Location, str | None]] = [
        (text.start(argument), text.end(argument), None) for argument in call.args
    ]
    for keyword in call.keywords:
        place = text._location(keyword.lineno, keyword.col_offset)
        arguments.append((place, text.end(keyword.value), keyword.arg))
    if [name for _, _, name in arguments] == [about]:
        start, end = text.end(call.func), text.end(call)
        if _is_plain_code(text, start, end):
            yield Candidate(f"Leave out `{about}`", (Edit(start, end, "()"),), True)
        return
    arguments.sort()
    for index, (start, end, name) in enumerate(arguments):
        if name != about:
            continue
        if index:
            start = arguments[index - 1][1]
        else:
            end = arguments[1][0]
        if _is_plain_code(text, start, end):
            yield Candidate(f"Leave out `{about}`", (Edit(start, end, ""),), True)


def _is_plain_code(text: Text, start: Location, end: Location) -> bool:
    """Whether a span holds no comment that would go with it, and no bracket that would be left alone."""
    span = text.between(start, end)
    return "#" not in span and span.count("(") == span.count(")")


# -- grad mode ------------------------------------------------------------------------------------


@remedy("no-grad")
def _no_grad(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Turn gradients off in the function that the flagged call runs in."""
    function, torch = text.function(node), torch_name(text)
    if function is None or torch is None or isinstance(function, ast.AsyncFunctionDef):
        return  # a decorated coroutine function runs its body after the mode has ended
    if function.name in ("forward", "__call__") or not text.stands_at_line_start(function) or _trains(function):
        return
    margin, row = text.margin(function), function.lineno
    line = f"{margin}@{torch}.no_grad(){text.newline(row)}"
    yield Candidate(f"Decorate `{function.name}` with `@{torch}.no_grad()`", (insertion(Location(row, 1), line),), True)


def _trains(function: FunctionNode) -> bool:
    """Whether something in a function may need gradients."""
    named = {each.attr for each in ast.walk(function) if isinstance(each, ast.Attribute)}
    return bool(named & {"backward", "grad", "requires_grad_", "enable_grad", "set_grad_enabled"})


def torch_name(text: Text) -> str | None:
    """What a module calls torch; None where it does not import it at its top."""
    for statement in text.tree.body:
        if isinstance(statement, ast.Import):
            for name in statement.names:
                if name.name == "torch" or (name.name.startswith("torch.") and name.asname is None):
                    return name.asname or "torch"
    return None


@remedy("constant")
def _constant(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Run the flagged call with gradients off: its statement, where that does nothing else, else its result."""
    statement = text.statement(node)
    if isinstance(statement, ast.Assign) and _is_chain(text, node, statement.value):
        yield from _under_no_grad(text, statement)
    if isinstance(node, ast.expr):
        yield Candidate("Detach the result", followed_by(text, node, ".detach()"), False)


def _is_chain(text: Text, node: ast.AST, value: ast.expr) -> bool:
    """Whether a value is a call with nothing but attributes, items and method calls behind it."""
    while node is not value:
        parent = text.parents[node]
        follows = isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is node
        if not follows and not (isinstance(parent, ast.Call) and parent.func is node):
            return False
        node = parent
    return True


@remedy("under-no-grad")
def _wrap(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Run the flagged statement with gradients off."""
    statement, function = text.statement(node), text.function(node)
    if statement is not None and function is not None and not _trains(function):
        yield from _under_no_grad(text, statement)  # a parameter that is made under it could not be trained
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        values = _filled(statement.value, function)
        edits = tuple(edit for value in values for edit in followed_by(text, value, ".detach().requires_grad_()"))
        yield Candidate("Make the updated value a leaf", edits, False)


def _filled(value: ast.expr, function: ast.AST | None) -> list[ast.expr]:
    """The values that an assigned one is put together of, where it is a dictionary that the function fills."""
    if isinstance(value, ast.DictComp):
        return [value.value]
    if not isinstance(value, ast.Name) or function is None:
        return [value]
    assigned = [each for each in ast.walk(function) if isinstance(each, ast.Assign)]
    items = [
        each.value
        for each in assigned
        for target in each.targets
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == value.id
    ]
    return items or [value]


def _under_no_grad(text: Text, statement: ast.stmt) -> Iterator[Candidate]:
    torch = torch_name(text)
    if torch is None or not text.stands_alone(statement) or hasattr(statement, "body"):
        return
    row = statement.lineno
    head = f"{text.margin(statement)}with {torch}.no_grad():{text.newline(row)}"
    moved = text.indented(row, statement.end_lineno or row, text.indent(statement))
    first = Edit(moved[0].start, moved[0].end, head + moved[0].content)
    yield Candidate("Run this under `no_grad`", (first, *moved[1:]), False)


@remedy("enter-mode")
def _enter_mode(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Call the class that a `with` enters; or put what follows a mode that stands alone under it."""
    if isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            tail = item.context_expr.attr if isinstance(item.context_expr, ast.Attribute) else ""
            tail = item.context_expr.id if isinstance(item.context_expr, ast.Name) else tail
            if tail in GRAD_MODES:
                yield Candidate(f"Call `{tail}`", (insertion(text.end(item.context_expr), "()"),), True)
    statement = text.statement(node)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield from _under_it(text, statement)


def _under_it(text: Text, statement: ast.Expr) -> Iterator[Candidate]:
    parent = text.parents[statement]
    block = next((b for _, b in ast.iter_fields(parent) if isinstance(b, list) and statement in b), [])
    rest = block[block.index(statement) + 1 :] if statement in block else []
    if not rest or not text.stands_alone(statement) or not all(text.stands_at_line_start(each) for each in rest):
        return
    mode = statement.value
    if isinstance(mode, ast.Call) and isinstance(mode.func, ast.Attribute) and mode.func.attr == "__enter__":
        mode = mode.func.value
    colon = Edit(text.end(mode), text.end(statement), ":")
    head = (insertion(text.start(statement), "with "), colon)
    moved = text.indented(statement.lineno + 1, rest[-1].end_lineno or rest[-1].lineno, text.indent(statement))
    yield Candidate("Put what follows under it", (*head, *moved), False)


@remedy("inference-mode")
def _inference_mode(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """`@torch.no_grad()` -> `@torch.inference_mode()`."""
    if not isinstance(node, ast.FunctionDef):
        return
    for decorator in node.decorator_list:
        for each in ast.walk(decorator):
            if isinstance(each, ast.Attribute) and each.attr == "no_grad":
                end = text.end(each)
                start = Location(end.row, end.column - len("no_grad"))
                yield Candidate("Use `inference_mode`", (Edit(start, end, "inference_mode"),), False)
