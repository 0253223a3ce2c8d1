"""Models that the `with` of a class hands out, and that its end deletes: who took one goes on having it."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, Place, Program
from ..facts.walk import blocks, calls, last_name, statements
from .cleanup import Slip, collects, empties, given_up, let_go

_TELLS = frozenset("print info debug warning error log append extend join format write".split())


def deleted_by_exit(program: Program) -> Iterator[Slip]:
    """`def __enter__(self): ...; return self.model`, `def __exit__(self, *exc): del self.model; empty_cache()`, and
    `with Loaded(path) as model:` in a function that goes on to do something else."""
    for cls in program.facts.classes:
        if not {"__enter__", "__exit__"} <= cls.methods.keys():
            continue
        enter, leave = (program.facts.functions[cls.methods[name]] for name in ("__enter__", "__exit__"))
        given = {f"self.{one[2][2]}" for one in statements(enter.body) if one[0] == m.RETURN and _is_own(one[2])}
        for statement in statements(leave.body) if given else ():
            gone = next((one for one in given_up(statement) if one in given), "")
            freed = (call for call in calls(leave.body) if call[1] > statement[1])
            if not gone or not any(empties(program, call) or collects(program, call) for call in freed):
                continue
            taken = next((site for place in program.places for site in _goes_on_with(place, cls.name)), None)
            if taken is not None:
                yield Slip(statement[1], gone, taken, 2, "yielded")
                break


def _is_own(value: Expr | None) -> bool:
    return value is not None and value[:2] == (m.ATTR, (m.NAME, "self"))


def _goes_on_with(place: Place, cls: str) -> Iterator[Site]:
    """The `with` statements of a function that give an object of the class a name, after which more is done, and the
    name is not let go of."""
    if cls in place.facts.calls:
        yield from _in_block(place.facts.body, cls, looped=False)


def _in_block(block: Block, cls: str, *, looped: bool, outer: tuple[Stmt, ...] = ()) -> Iterator[Site]:
    for index, statement in enumerate(block):
        after = (*block[index + 1 :], *outer)
        if statement[0] == m.WITH:
            for made, target in statement[2]:
                named = target is not None and target[0] == m.NAME and made[0] == m.CALL and last_name(made) == cls
                if named and (looped or _does_more(after)) and not any(target[1] in let_go(one) for one in after):
                    yield statement[1]
        again = looped or statement[0] in (m.FOR, m.WHILE)
        for suite in blocks(statement):
            yield from _in_block(suite, cls, looped=again, outer=after)


def _does_more(after: tuple[Stmt, ...]) -> bool:
    """Whether something is computed, by more than to tell what came out."""
    return any(last_name(call[2]) not in _TELLS and call[3] for call in calls(after))
