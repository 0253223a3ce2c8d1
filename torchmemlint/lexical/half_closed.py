"""Readers of a child process whose `close()` closes the pipes only while the process still runs.

A decoder that was read to its end has exited by then: its pipes stay open as long as somebody keeps the reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import drained
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Program, expressions, targets
from ..facts.walk import calls, calls_of, last_name, nodes, statements

_SELF = (m.NAME, "self")
_PIPES = ("stdin", "stdout", "stderr")
_ENDS = frozenset("close stop shutdown terminate end release cleanup __exit__ __del__ kill quit".split())
_READS = frozenset("wait poll terminate kill send_signal pid returncode stdin stdout stderr".split())
_NONE = (m.CONST, None)


class HalfClosed(NamedTuple):
    """A method that closes pipes on one way only."""

    site: Site  # of the test
    end: str
    cls: str
    process: str  # the attribute
    started: Site
    holder: str  # what keeps the readers


def half_closed(program: Program) -> Iterator[HalfClosed]:
    """Of classes whose objects a container keeps."""
    if "Popen" not in program.called or "poll" not in program.called or "close" not in program.called:
        return
    for cls in program.facts.classes:
        methods = [program.facts.functions[index] for index in cls.methods.values()]
        for process, started in dict(_processes(program, methods)).items():
            own = (m.ATTR, _SELF, process)
            if any(_lets_go(method, own) for method in methods) or _is_base(program, cls):
                continue
            found = _guarded(methods, own)
            holder = _holder(program, cls.name) if found is not None else ""
            if found is not None and holder:
                yield HalfClosed(found[0], found[1], cls.name, process, started, holder)


def _is_base(program: Program, cls: ClassFacts) -> bool:
    return any(last_name(base) == cls.name for one in program.facts.classes for base in one.bases)


def _processes(program: Program, methods: list[FunctionFacts]) -> Iterator[tuple[str, Site]]:
    """`self.process = subprocess.Popen(command, stdout=subprocess.PIPE)`."""
    for method in methods:
        for statement in statements(method.body) if "Popen" in method.calls else ():
            made = statement[3] if statement[0] == m.ASSIGN else None
            if made is None or made[0] != m.CALL or program.dotted(made[2]) != "subprocess.Popen":
                continue
            piped = any(key in _PIPES and last_name(value) == "PIPE" for key, value in made[4])
            for target in statement[2] if piped else ():
                if target[0] == m.ATTR and target[1] == _SELF:
                    yield target[2], statement[1]


def _lets_go(method: FunctionFacts, own: Expr) -> bool:
    """Whether a method forgets the process, or lets something else close its pipes: `communicate()`, `with`."""
    for statement in statements(method.body):
        if statement[0] == m.DELETE and own in statement[2]:
            return True
        if own in targets(statement) and last_name(statement[-1]) != "Popen" and method.name != "__init__":
            return True
        if statement[0] == m.WITH and any(own in nodes(context) for context, _ in statement[2]):
            return True
        if statement[0] in (m.ASSIGN, m.RETURN) and statement[-1] == own:
            return True
    for part in expressions(method.body):
        if part[0] == m.ATTR and part[1] == own and part[2] not in _READS:
            return True
        if part[0] == m.CALL and len(part) == 5 and own in (*part[3], *(value for _, value in part[4])):
            return True
        if part[0] == m.NEW and own in part[3]:
            return True
    return False


def _guarded(methods: list[FunctionFacts], own: Expr) -> tuple[Site, str] | None:
    """The test under which alone the pipes are closed, and the method that it stands in."""
    closing = [method for method in methods if any(_closes(call, own) for call in calls(method.body))]
    if len(closing) != 1 or closing[0].name not in _ENDS or _hands_on(methods, own):
        return None
    body = closing[0].body
    every = sum(_closes(call, own) for call in calls(body))
    for statement in statements(body):
        if statement[0] != m.IF:
            continue
        asked = _asks(statement[2], own)
        if asked == "Is" and sum(_closes(call, own) for call in calls(statement[3])) == every:
            return statement[1], closing[0].name
        if asked == "IsNot" and statement[3][-1][0] == m.RETURN and not _closes_in(_until(body, statement), own):
            return statement[1], closing[0].name
    return None


def _asks(test: Expr, own: Expr) -> str:
    """`Is` for `self.process.poll() is None`, also with `and`; `IsNot` for its contrary, also with `or`."""
    joined = test[0] == m.BOOL
    for part in test[2] if joined else (test,):
        if part[0] == m.COMPARE and part[2][0] == m.CALL and part[2][2] == (m.ATTR, own, "poll") and part[3] == _NONE:
            fits = not joined or test[1] == {"Is": "and", "IsNot": "or"}.get(part[1])
            return str(part[1]) if fits else ""
    return ""


def _until(body: Block, last: Stmt) -> Block:
    """What runs before a test, and what runs if it holds."""
    return (*(one for one in statements(body) if one[1] < last[1]), *last[3])


def _closes_in(block: Block, own: Expr) -> bool:
    return any(_closes(call, own) for statement in block for call in calls_of(statement))


def _closes(call: Expr, own: Expr) -> bool:
    """`self.process.stdout.close()`."""
    if call[2][0] != m.ATTR or call[2][2] != "close" or call[2][1][0] != m.ATTR:
        return False
    return call[2][1][1] == own and call[2][1][2] in _PIPES


def _hands_on(methods: list[FunctionFacts], own: Expr) -> bool:
    """Whether a pipe goes by another name, or to a function that may close it."""
    pipes = [(m.ATTR, own, name) for name in _PIPES]
    for method in methods:
        for statement in statements(method.body):
            if statement[0] in (m.ASSIGN, m.RETURN, m.WITH, m.FOR) and any(
                pipe in (statement[-1], *(statement[2:4])) or _listed(statement, pipe) for pipe in pipes
            ):
                return True
            for call in calls_of(statement):
                if any(pipe in (*call[3], *(value for _, value in call[4])) for pipe in pipes):
                    return True
    return False


def _listed(statement: Stmt, pipe: Expr) -> bool:
    """`for pipe in (self.process.stdout, self.process.stderr)`, `with self.process.stdout:`."""
    if statement[0] == m.FOR:
        return statement[3][0] == m.NEW and pipe in statement[3][3]
    return statement[0] == m.WITH and any(pipe in nodes(context) for context, _ in statement[2])


def _holder(program: Program, name: str) -> str:
    """The table or list that keeps each object of a class, if nothing takes one out of it."""
    for place in program.places:
        for statement in statements(place.facts.body) if name in place.facts.calls else ():
            for value, container in _kept(statement):
                if value[0] == m.CALL and last_name(value) == name and value[2][0] == m.NAME:
                    lasting = container[0] == m.ATTR or _is_global(program, container)
                    if lasting and not drained(program, last_name(container)):
                        return last_name(container)
    return ""


def _is_global(program: Program, name: Expr) -> bool:
    return any(name in targets(one) for one in program.facts.functions[0].body)


def _kept(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """What a statement puts into which container."""
    if statement[0] == m.ASSIGN:
        yield from ((statement[3], target[1]) for target in statement[2] if target[0] == m.ITEM)
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in ("append", "add", "setdefault") and call[3]:
            yield call[3][-1], call[2][1]
