"""Models that accelerate's launcher has prepared: it lists them until it is told to forget them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, targets, text
from ..facts.walk import calls_of, last_name, loops, nodes, statements
from .cleanup import MODELS
from .once import is_repeated

_FORGETS = ("free_memory", "clear", "release_memory", "_models")
_OPTIMIZED = frozenset(MODELS) | {"optimizer", "opt", "optim"}


class Prepared(NamedTuple):
    site: Site
    launcher: str
    models: tuple[str, ...]  # what it is given anew each time


def prepared_each_time(program: Program) -> Iterator[Prepared]:
    """`model, optimizer = accelerator.prepare(model, optimizer)` of what each round, or call, makes anew, with a
    launcher that all of them share, where nothing calls `accelerator.free_memory()` [accelerate, Accelerator.prepare:
    `self._models.append(model)`; huggingface/accelerate#739]."""
    if "prepare" not in program.called or not program.called.isdisjoint(_FORGETS):
        return
    if not any(dotted.partition(".")[0] == "accelerate" for dotted in program.imports.values()):
        return
    for place in program.places:
        if "prepare" not in place.facts.calls:
            continue
        looped = {one[1]: inside for _, inside in loops(place.facts.body)[::-1] for one in inside}
        for statement in statements(place.facts.body):
            call = _prepares(statement)
            if call is None:
                continue
            inside = looped.get(statement[1])
            round_ = inside if inside is not None else list(statements(place.facts.body))
            shared = not _is_made(round_, call[2][1])
            if inside is None:
                own = not _hands_out(place, targets(statement)) and _comes_from_outside(place, call[2][1])
                shared = shared and own and is_repeated(program, place)
            models = tuple(one[1] for one in call[3] if one[0] == m.NAME and _is_new(round_, one, statement))
            if shared and not _OPTIMIZED.isdisjoint(word for one in models for word in one.lower().split("_")):
                yield Prepared(call[1], text(call[2][1]), models)


def _prepares(statement: Stmt) -> Expr | None:
    """The call of a statement that gives names of its own to what a launcher has prepared."""
    for call in calls_of(statement) if statement[0] == m.ASSIGN else ():
        prepares = call[2][0] == m.ATTR and call[2][2] == "prepare" and "accelerator" in last_name(call[2][1]).lower()
        if prepares and text(call[2][1]) and all(target[0] == m.NAME for target in targets(statement)):
            return call
    return None


def _is_made(body: list[Stmt], launcher: Expr) -> bool:
    return any(launcher in targets(one) for one in body)


def _comes_from_outside(place: Place, launcher: Expr) -> bool:
    """Whether a launcher is there before a function is called: given to it, of its object, or of the module."""
    return place.facts.name != "<module>" and (
        launcher[0] == m.NAME or (launcher[0] == m.ATTR and launcher[1] == (m.NAME, "self"))
    )


def _hands_out(place: Place, prepared: tuple[Expr, ...]) -> bool:
    """Whether a function gives back what it has prepared, for its caller to see to."""
    returned = (one[2] for one in statements(place.facts.body) if one[0] == m.RETURN and one[2] is not None)
    return any(not set(nodes(value)).isdisjoint(prepared) for value in returned)


def _is_new(body: list[Stmt], name: Expr, before: Stmt) -> bool:
    """Whether a call made what goes by a name in this round."""
    made = [one[3] for one in body if one[1] < before[1] and one[0] == m.ASSIGN and name in targets(one)]
    return any(part[0] == m.CALL for value in made for part in (value[3] if value[0] == m.NEW else (value,)))
