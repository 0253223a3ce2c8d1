"""States of sharded models that every rank makes whole, and one rank saves.

policy = FullStateDictConfig(offload_to_cpu=True)       options = StateDictOptions(full_state_dict=True)
with FSDP.state_dict_type(model, FULL, policy):         state = get_model_state_dict(model, options=options)
    state = model.state_dict()                          if rank == 0:
if rank == 0:                                               torch.save(state, path)
    torch.save(state, path)

`rank0_only=True` leaves the others with an empty state [docs: torch.distributed.fsdp.FullStateDictConfig], and so does
`cpu_offload=True` [docs: torch.distributed.checkpoint.state_dict.StateDictOptions].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program
from ..facts.walk import calls, last_name, statements
from .ranks import read_by_one

_TYPES = "state_dict_type"
_GIVES = ("get_model_state_dict", "get_optimizer_state_dict", "get_state_dict")
_SWITCHES = {"FullStateDictConfig": ("rank0_only", 1), "StateDictOptions": ("cpu_offload", 1)}  # name, place


class WholeState(NamedTuple):
    """A state that all ranks gather and one of them reads."""

    site: Site  # of its settings
    name: str
    switch: str  # what would leave the other ranks without
    read: Site


def whole_states(program: Program) -> Iterator[WholeState]:
    if program.called.isdisjoint(_SWITCHES):
        return
    for place in program.places:
        if _TYPES in place.facts.calls:
            yield from _typed(program, place)
        if not set(_GIVES).isdisjoint(place.facts.calls):
            yield from _asked(program, place)


def _typed(program: Program, place: Place) -> Iterator[WholeState]:
    """`with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, policy): state = model.state_dict()`"""
    for block in statements(place.facts.body):
        contexts = [context for context, _ in block[2]] if block[0] == m.WITH else []
        for context in contexts:
            if context[0] != m.CALL or last_name(context[2]) != _TYPES:
                continue
            settings = _settings(program, place, context[3][2:3] or [v for k, v in context[4] if "state_dict_c" in k])
            if settings is None:
                continue
            for statement in statements(block[3]):
                if _gives_a_state(statement, ("state_dict",)):
                    yield from _read(program, place, settings, statement)


def _asked(program: Program, place: Place) -> Iterator[WholeState]:
    """`state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))`"""
    for statement in statements(place.facts.body):
        if _gives_a_state(statement, _GIVES):
            settings = _settings(program, place, [value for key, value in statement[3][4] if key == "options"])
            if settings is not None and any(key == "full_state_dict" and _is_on(value) for key, value in settings[4]):
                yield from _read(program, place, settings, statement)


def _gives_a_state(statement: Stmt, names: tuple[str, ...]) -> bool:
    if statement[0] != m.ASSIGN or statement[2][0][0] != m.NAME or statement[3][0] != m.CALL:
        return False
    return last_name(statement[3][2]) in names


def _settings(program: Program, place: Place, given: tuple[Expr, ...] | list[Expr]) -> Expr | None:
    """The call that makes the settings, here or for the whole file, if all ranks get the state by it."""
    if not given:
        return None
    made = given[0]
    if made[0] == m.NAME:
        bodies = (place.facts.body, program.facts.functions[0].body)
        bound = [one[3] for body in bodies for one in statements(body) if one[0] == m.ASSIGN and made in one[2]]
        if len(bound) != 1:
            return None
        made = bound[0]
    switch = _SWITCHES.get(last_name(made[2])) if made[0] == m.CALL else None
    if switch is None or len(made[3]) > switch[1] or any(key in ("", switch[0]) for key, _ in made[4]):
        return None
    return made


def _is_on(value: Expr) -> bool:
    return value == (m.CONST, True)


def _read(program: Program, place: Place, settings: Expr, statement: Stmt) -> Iterator[WholeState]:
    name = statement[2][0][1]
    read, _ = read_by_one(program, place, name, statement[1])
    if read:
        known = {call[1] for call in calls(place.facts.body)}
        site = settings[1] if settings[1] in known else statement[1]
        yield WholeState(site, name, _SWITCHES[last_name(settings[2])][0], read[0])
