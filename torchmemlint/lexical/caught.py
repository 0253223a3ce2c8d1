"""`try` statements: which exceptions a clause catches, by their names, and whether it takes their frames off."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.program import Program, targets
from ..facts.walk import calls, last_name, statements

LETS_GO = frozenset(("with_traceback", "clear_frames"))

_MEMORY = re.compile(r"outofmemory|out_of_memory|memoryerror|(^|_)oom(_?err|_?exc|s?$)")


def tries(function: FunctionFacts) -> list[Stmt]:
    """The `try` statements of a function."""
    if not function.flags & m.TRIES:
        return []
    return [statement for statement in statements(function.body) if statement[0] == m.TRY]


def lets_go(body: tuple[Stmt, ...]) -> bool:
    """Whether a clause takes the frames off: `error.__traceback__ = None`, `traceback.clear_frames(...)`."""
    if any(last_name(call[2]) in LETS_GO for call in calls(body)):
        return True
    bound = (target for one in statements(body) for target in targets(one))
    return any(target[0] == m.ATTR and target[2] == "__traceback__" for target in bound)


def type_names(program: Program, caught: Expr | None) -> list[str]:
    """The last names of the types that a clause catches: of a name that the module gives them, what it stands for."""
    if caught is None:
        return [""]
    listed = caught[3] if caught[0] == m.NEW else (caught,)
    return [name for one in listed for name in (last_name(one), *_stands_for(program, one))]


def _stands_for(program: Program, one: Expr) -> Iterator[str]:
    """`torch.OutOfMemoryError` of `OUT_OF_ROOM = torch.OutOfMemoryError`, and each of `RECOVERABLE = (A, B)`."""
    for statement in program.facts.functions[0].body if one[0] == m.NAME else ():
        if statement[0] == m.ASSIGN and one in statement[2] and statement[3] != one:
            given = statement[3]
            yield from (last_name(item) for item in (given[3] if given[0] == m.NEW else (given,)))


def says_memory(name: str) -> bool:
    """Whether an exception is about memory, by its name: `OutOfMemoryError`, `MemoryError`, `OOM_EXCEPTION`."""
    return bool(_MEMORY.search(name.lower()))
