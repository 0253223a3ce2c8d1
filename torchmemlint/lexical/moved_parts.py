"""Parts of a model that a loop moves to a device one after the other, and whose names it deletes instead of moving
them back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import DTYPES
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Program, text
from ..facts.walk import calls_of, heads, last_name, loops, nodes
from .cleanup import FREES, let_go

_MOVES = ("to", "cuda", "xpu", "npu")
_PARTS = ("layer", "block", "module", "stage", "expert", "decoder", "encoder")
_GETS = ("get_module", "get_submodule", "getattr", "fetch_module", "find_module")


class MovedPart(NamedTuple):
    """`del block` of a part of a model that the loop has moved to a device. `whole`: what has it, in words."""

    site: Site
    name: str
    whole: str
    moved: Site


def moved_parts(program: Program) -> Iterator[MovedPart]:
    """A module is moved as it is, and belongs to its model: `to` makes no copy of it, as it does of a tensor."""
    if not set(FREES) & program.called:
        return
    for place in program.places:
        if not set(FREES) & set(place.facts.calls) or not set(_MOVES) & set(place.facts.calls):
            continue
        for loop, inside in loops(place.facts.body):
            for statement in inside:
                for name in let_go(statement):
                    whole = _whole(loop, inside, name)
                    moved = _moved(inside, name)
                    if whole and moved is not None and not _is_put_back(inside, name):
                        yield MovedPart(statement[1], name, whole, moved)


def _whole(loop: Stmt, inside: list[Stmt], name: str) -> str:
    """What the loop takes a part from: `model` of `block = get_module(model, key)`, `layers` of `for x in layers`."""
    sources = [one[3] for one in inside if one[0] == m.ASSIGN and (m.NAME, name) in one[2]]
    if loop[0] == m.FOR and any((m.NAME, name) in nodes(target) for target in loop[2]):
        sources.append(loop[3])
    for source in sources:
        if source[0] == m.CALL and last_name(source) in _GETS and source[3]:
            given = source[3][0] if source[2][0] == m.NAME else source[2][1]
            return text(given)
        while source[0] == m.CALL and last_name(source) in ("enumerate", "tqdm", "zip") and source[3]:
            source = source[3][0]
        container = text(source[1]) if source[0] == m.ITEM else text(source)
        if any(word in container.rpartition(".")[2].lower() for word in _PARTS):
            return container
    return ""


def _moved(inside: list[Stmt], name: str) -> Site | None:
    """Where the part goes to a device: `block = block.to(device)`, `block.cuda()`."""
    for one in inside:
        value = one[3] if one[0] == m.ASSIGN and (m.NAME, name) in one[2] else one[2] if one[0] == m.EXPR else None
        if value is not None and value[0] == m.CALL and _is_move(value[2], name) and not _is_host(value):
            return int(value[1])
    return None


def _is_move(callee: Expr, name: str) -> bool:
    return callee[0] == m.ATTR and callee[1] == (m.NAME, name) and callee[2] in _MOVES


def _is_host(call: Expr) -> bool:
    """Whether a call of `to` names the host, or a type of numbers."""
    named = [node for given in call[3] for node in nodes(given)]
    return any(node == (m.CONST, "cpu") or last_name(node) in DTYPES for node in named)


def _is_put_back(inside: list[Stmt], name: str) -> bool:
    """Whether the loop moves it again, or puts something else in its place."""
    own = (m.NAME, name)
    moves = 0
    for call in (call for one in inside for call in calls_of(one)):
        if call[2][0] == m.ATTR and call[2][1] == own:
            if call[2][2] in ("cpu", "to_empty", "state_dict") or (call[2][2] == "to" and _is_host(call)):
                return True
            moves += call[2][2] in _MOVES
    stored = any(
        own in nodes(one[3]) and any(target[0] in (m.ITEM, m.ATTR) for target in one[2])
        for one in inside
        if one[0] == m.ASSIGN
    )
    dispatched = any(
        last_name(head) in ("setattr", "set_module", "cpu_offload") for one in inside for head in heads(one)
    )
    return moves > 1 or stored or dispatched
