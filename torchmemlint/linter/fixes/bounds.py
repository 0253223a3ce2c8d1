"""Remedies that give a call one more argument, or a container another owner or a limit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...finding import Edit, Location
from .remedies import Candidate, Node, followed_by, remedy, stored
from .text import FunctionNode, Text, insertion

_LIMITS = re.compile(r"(?:^|_)(?:capacity|maxlen|max|maximum|limit|window|horizon|keep)(?:$|_)")
_QUEUES = ("Queue", "LifoQueue", "PriorityQueue", "JoinableQueue")
_SOME = 100  # entries, where the text names no limit


def tail(function: ast.expr) -> str:
    """The last name of what is called."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def call_of(node: Node) -> ast.Call | None:
    """The call that a node is, or that a statement makes and assigns."""
    value = node.value if isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign)) else node
    return value if isinstance(value, ast.Call) else None


# -- arguments ------------------------------------------------------------------------------------


@remedy("add-argument")
def _add_argument(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """One more keyword argument for the flagged call; `about` is `name=value`."""
    call = call_of(node)
    if call is None or (about.startswith("maxsize=") and tail(call.func) not in _QUEUES):
        return
    edit = _argument(text, call, about)
    if edit is not None:
        yield Candidate(f"Pass `{about}`", (edit,), False)


def _argument(text: Text, call: ast.Call, argument: str) -> Edit | None:
    """The edit that puts an argument behind the others; None where a bracket or a comment is in the way."""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    end = text.end(call)
    if not values:
        inside = Location(end.row, end.column - 1)
        return insertion(inside, argument) if text.between(text.end(call.func), end) == "()" else None
    last = max(values, key=lambda value: text.end(value))
    rest = "".join(text.between(text.end(last), end).split())
    return insertion(text.end(last), f", {argument}") if rest in (")", ",)") else None


# -- limits ---------------------------------------------------------------------------------------


@remedy("bound")
def _bound(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """A limit for the deque that `about` names, where it is made."""
    scope = _class(text, node) if about.startswith(("self.", "cls.")) else text.tree
    edits, limits = [], []
    for made in ast.walk(scope or text.tree):
        if not isinstance(made, (ast.Assign, ast.AnnAssign)) or not isinstance(made.value, ast.Call):
            continue
        targets = made.targets if isinstance(made, ast.Assign) else [made.target]
        if tail(made.value.func) == "deque" and any(text.of(target) == about for target in targets):
            limits.append(_limit(text.function(made)))
            edits.append(_argument(text, made.value, f"maxlen={limits[-1]}"))
    if edits and all(edits):
        yield Candidate(f"Bound it: `maxlen={limits[0]}`", tuple(edit for edit in edits if edit), False)


def _limit(function: FunctionNode | None) -> str:
    """A parameter that is called a limit; else a number, for whoever looks at the fix to change."""
    arguments = [*function.args.args, *function.args.kwonlyargs] if function else []
    return next((argument.arg for argument in arguments if _LIMITS.search(argument.arg)), str(_SOME))


# -- owners ---------------------------------------------------------------------------------------


@remedy("own-container")
def _own(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """`items = []` in a class body -> `self.items = []` in its `__init__`; `about` is `self.items`."""
    owner, name = _class(text, node), about.rpartition(".")[2]
    if owner is None:
        return
    made = next((each for each in owner.body if _binds(each, name)), None)
    init = next((each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if made is None or init is None or not init.args.args or not text.stands_alone(made):
        return
    shared = [each for each in ast.walk(text.tree) if isinstance(each, ast.Attribute) and each.attr == name]
    own = init.args.args[0].arg
    if any(text.of(each.value) not in (own, "self") for each in shared):
        return  # `Class.items` is read somewhere
    assert isinstance(made, (ast.Assign, ast.AnnAssign)) and made.value is not None
    edit = at_start(text, init, [f"{own}.{name} = {text.of(made.value)}"], after_super=True)
    if edit is not None:
        yield Candidate(f"Make `{own}.{name}` in `__init__`", (text.without_lines(made), edit), False)


def _binds(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.Assign):
        return [getattr(target, "id", "") for target in statement.targets] == [name]
    return (
        isinstance(statement, ast.AnnAssign) and getattr(statement.target, "id", "") == name and bool(statement.value)
    )


def _class(text: Text, node: ast.AST) -> ast.ClassDef | None:
    return next((each for each in text.above(node) if isinstance(each, ast.ClassDef)), None)


@remedy("none-default")
def _none_default(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """`def f(items=[])` -> `items=None`, and the list made in the call."""
    function = text.function(node)
    if function is None or isinstance(function, ast.AsyncFunctionDef) or _yields(function):
        return
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]
    pairs += [(name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    default = next((value for argument, value in pairs if argument.arg == about), None)
    if default is None:
        return
    step = text.indent(function.body[0])
    edit = at_start(text, function, [f"if {about} is None:", f"{step}{about} = {text.of(default)}"])
    if edit is not None:
        none = Edit(text.start(default), text.end(default), "None")
        yield Candidate(f"Make `{about}` in the call", (none, edit), False)


def _yields(function: FunctionNode) -> bool:
    return any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(function))


def at_start(text: Text, function: FunctionNode, lines: list[str], *, after_super: bool = False) -> Edit | None:
    """The edit that puts lines first into a function's body, below its docstring; None if there is no room."""
    body = function.body
    first = 1 if ast.get_docstring(function, clean=False) is not None else 0
    if after_super and first < len(body) and "super().__init__(" in text.of(body[first]):
        first += 1
    anchor = body[min(first, len(body) - 1)]
    if not text.stands_at_line_start(anchor) or not text.stands_alone(body[max(0, first - 1)]):
        return None
    margin, newline = text.margin(anchor), text.newline(function.lineno)
    content = "".join(f"{margin}{line}{newline}" for line in lines)
    if first < len(body):
        row = min([anchor.lineno, *(each.lineno for each in getattr(anchor, "decorator_list", []))])
        return insertion(Location(row, 1), content)
    return text.after(anchor, content)


# -- what is stored, and how it is gone through ----------------------------------------------------


@remedy("restart")
def _restart(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """`itertools.cycle(loader)` -> a generator that starts the loader anew for each pass."""
    call = call_of(node)
    if call is None or tail(call.func) != "cycle" or len(call.args) != 1 or call.keywords:
        return
    loader, edits = text.of(call.args[0]), []
    if isinstance(call.func, ast.Attribute):
        count = f"{text.of(call.func.value)}.count()"
    else:
        names = [
            alias
            for each in text.tree.body
            if isinstance(each, ast.ImportFrom) and each.module == "itertools"
            for alias in each.names
        ]
        cycle = next((alias for alias in names if alias.name == "cycle" and alias.asname is None), None)
        if cycle is None:
            return
        count = "count()"
        if not any(alias.name == "count" for alias in names):
            edits.append(insertion(Location(cycle.lineno, cycle.col_offset + 1), "count, "))
    endless = f"(batch for _ in {count} for batch in {loader})"
    edits.append(Edit(text.start(call), text.end(call), endless))
    yield Candidate("Start the loader anew for each pass", tuple(edits), False)


@remedy("call-on-stored")
def _call_on_stored(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Store what a method of the value returns: `about` is `cpu()`, `with_traceback(None)`."""
    for value in stored(node):
        if isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
            yield Candidate(f"Store `.{about}`", followed_by(text, value, f".{about}"), False)


@remedy("rename")
def _rename(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """Call `about` where the flagged call names an attribute that is not there."""
    call = call_of(node)
    if call is not None and isinstance(call.func, ast.Attribute):
        end = text.end(call.func)
        yield Candidate(
            f"Call `{about}`", (Edit(Location(end.row, end.column - len(call.func.attr)), end, about),), True
        )


@remedy("semicolon")
def _semicolon(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """End the last line of a cell with `;`, which shows nothing."""
    statement = text.statement(node)
    if isinstance(statement, ast.Expr):
        yield Candidate("End the line with `;`", (insertion(text.end(statement), ";"),), False)
