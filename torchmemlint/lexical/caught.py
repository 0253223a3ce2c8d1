"""Which exceptions an `except` clause catches, by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr
from ..facts.program import Program
from ..facts.walk import last_name

_MEMORY = re.compile(r"outofmemory|out_of_memory|memoryerror|(^|_)oom(_?err|_?exc|s?$)")


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
