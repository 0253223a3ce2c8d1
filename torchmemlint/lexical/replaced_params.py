"""Parameters that an optimizer's groups are given in the place of others, while its state keeps the others as keys.

`group["params"] = [new]` and `optimizer.state[new] = moved` take nothing out: `optimizer.state` is an ordinary
dictionary, so the old parameter stays in it, with its gradient and its moments, until `del optimizer.state[old]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, targets, text
from ..facts.walk import heads, last_name, loops, nodes, statements

_PARAMS = (m.CONST, "params")
_UNSEEN = (m.NAME, "")
_WAYS_OUT = frozenset(("pop", "popitem", "clear"))
_STARTS = ("__init__", "__post_init__", "__setstate__", "load_state_dict")


class Replaced(NamedTuple):
    """Where the state of a parameter that is replaced is read, and left where it is."""

    site: Site
    optimizer: str
    moved: Site  # where its successor gets it


def replaced_parameters(program: Program) -> Iterator[Replaced]:
    """Of optimizers that outlive the replacement."""
    for place in program.places:
        function = place.facts
        if not function.flags & (m.KEEPS | m.LOCAL) or function.name in _STARTS:
            continue
        body = list(statements(function.body))
        if not any(_PARAMS in nodes(target) for one in body for target in targets(one)):
            continue
        found = _left_behind(function, body)
        if found is not None and not _takes_out(program, function):
            yield found


def _left_behind(function: FunctionFacts, body: list[Stmt]) -> Replaced | None:
    """The first state in a function that is given to a new parameter and left with the old one."""
    names = _aliases(body)
    replaced = {owner for one in body for owner in _regrouped(one, names)}
    if not replaced or any(_is_way_out(one, names) for one in body):
        return None
    asked = [(one[1], *state) for one in body for state in _states_read(one, names)]
    given = [(one[1], *_state_of(target, names)) for one in body if one[0] == m.ASSIGN for target in targets(one)]
    for moved, owner, new in given:
        if replaced.isdisjoint((owner, _UNSEEN)) or "opt" not in last_name(owner).lower():
            continue
        if not _outlives(function, body, owner, moved) or _is_kept_pair(body, new):
            continue
        writes = [site for site, *state in given if state == [owner, new]]
        for site, whose, old in asked:
            again = any(later > writes[0] and later not in writes and it == old != new for later, _, it in asked)
            if whose != owner or site > moved or again:
                continue
            between = (one for one in body if site < one[1] < moved and one[0] == m.ASSIGN)
            if old != new or any(new in targets(one) for one in between):
                return Replaced(site, _called(owner, names), moved)
    return None


def _aliases(body: list[Stmt]) -> dict[str, Expr]:
    """What names stand for that are bound once, to a part of something or to a group of a loop over groups."""
    bound: dict[str, list[Expr]] = {}
    for one in body:
        if one[0] == m.ASSIGN and len(one[2]) == 1 and one[2][0][0] == m.NAME:
            bound.setdefault(one[2][0][1], []).append(one[3])
        elif one[0] == m.FOR:
            given = [part for part in nodes(one[3]) if part[0] == m.ATTR and part[2] == "param_groups"]
            for target in targets(one):  # of `enumerate(...)` too: the number is never asked for its parts
                if target[0] == m.NAME and len(given) == 1:
                    bound.setdefault(target[1], []).append((m.ITEM, given[0], (m.CONST, 0)))
    parts = (m.ATTR, m.ITEM, m.NAME)
    return {name: values[0] for name, values in bound.items() if len(values) == 1 and values[0][0] in parts}


def _written_out(place: Expr, names: dict[str, Expr], depth: int = 4) -> Expr:
    """`self.optimizer.state` of `state`, where that is what `state` stands for."""
    if place[0] == m.NAME:
        return _written_out(names[place[1]], names, depth - 1) if depth and place[1] in names else place
    if place[0] in (m.ATTR, m.ITEM):
        return (place[0], _written_out(place[1], names, depth), *place[2:])
    return place


def _called(place: Expr, names: dict[str, Expr]) -> str:
    """What a function calls something: `self.optimizer`; `optimizer` for `optimizers[kind]`."""
    return text(place) or next((name for name, stands in names.items() if stands == place), last_name(place))


def _regrouped(statement: Stmt, names: dict[str, Expr]) -> Iterator[Expr]:
    """Whose groups a statement gives other parameters, in the place of those that they had."""
    if statement[0] != m.ASSIGN:
        return
    for target in statement[2]:
        group = target
        while group[0] == m.ITEM and group[2] != _PARAMS:
            group = group[1]
        if group[0] != m.ITEM or _adds_to(statement[3], group):
            continue
        owner = _written_out(group[1], names)
        if owner[0] == m.ITEM and owner[1][0] == m.ATTR and owner[1][2] == "param_groups":
            yield owner[1][1]
        elif "group" in last_name(group[1]):
            yield _UNSEEN  # a group that the function is given: of which optimizer, its state says


def _adds_to(value: Expr, params: Expr) -> bool:
    """`group["params"] + [new]`, `[*group["params"], new]`, `list(group["params"])`: the old ones stay in use."""
    if value[0] == m.ARITH:
        return _adds_to(value[2], params) or _adds_to(value[3], params)
    if value[0] in (m.NEW, m.CALL):
        return any(part == params or part == (m.STAR, params) for part in value[3])
    return value == params


def _state_of(place: Expr, names: dict[str, Expr]) -> tuple[Expr, Expr]:
    """The optimizer and the parameter of `optimizer.state[parameter]`, or of a part of it."""
    while place[0] == m.ITEM:
        state = _written_out(place[1], names)
        if state[0] == m.ATTR and state[2] == "state":
            return state[1], place[2]
        place = place[1]
    return _UNSEEN, ()


def _states_read(statement: Stmt, names: dict[str, Expr]) -> Iterator[tuple[Expr, Expr]]:
    """The same for every state that a statement asks for, by index or by `get`."""
    written = [target for target in targets(statement) if target[0] == m.ITEM]
    for head in heads(statement):
        for node in nodes(head):
            if node[0] == m.ITEM and node not in written:
                owner, key = _state_of(node, names)
            elif node[0] == m.CALL and node[2][0] == m.ATTR and node[2][2] == "get" and node[3]:
                owner, key = _state_of((m.ITEM, node[2][1], node[3][0]), names)
            else:
                continue
            if key:
                yield owner, key


def _is_way_out(statement: Stmt, names: dict[str, Expr]) -> bool:
    """Whether a statement takes something out of the state of an optimizer, or gives it another one."""
    if statement[0] == m.DELETE:
        return any(_state_of(target, names)[1] for target in statement[2])
    if any(target[0] == m.ATTR and target[2] == "state" for target in targets(statement)):
        return True
    for head in heads(statement):
        for node in nodes(head):
            if node[0] == m.ATTR and node[2] in _WAYS_OUT:
                state = _written_out(node[1], names)
                if _state_of(state, names)[1] or (state[0] == m.ATTR and state[2] == "state"):
                    return True
            if node[0] == m.ATTR and node[2] in ("load_state_dict", "__setstate__"):
                return True
    return False


def _takes_out(program: Program, function: FunctionFacts) -> bool:
    """Whether a function that this one calls, or that calls it, takes old states out."""
    near = [
        place.facts
        for place in program.places
        if place.facts is not function and (place.facts.name in function.calls or function.name in place.facts.calls)
    ]
    return any(_is_way_out(one, _aliases(body)) for other in near for body in [list(statements(other.body))]
               for one in body)  # fmt: skip


def _outlives(function: FunctionFacts, body: list[Stmt], optimizer: Expr, site: Site) -> bool:
    """Whether the optimizer was there before the replacement: one that the function makes has to make steps in the
    loop that the replacement is in."""
    made = [one[1] for one in body if one[0] != m.FOR and optimizer in targets(one)]
    if not made:
        return True
    return any(
        site in {one[1] for one in inside}
        and not any(one[1] in made for one in inside)
        and any((m.ATTR, optimizer, "step") in nodes(head) for one in inside for head in heads(one))
        for _, inside in loops(function.body)
    )


def _is_kept_pair(body: list[Stmt], key: Expr) -> bool:
    """Whether a parameter comes from a list of the object's: the same few take turns, `zip(self.half, self.full)`."""
    for one in body:
        if one[0] == m.FOR and key in targets(one):
            return any(part[0] == m.ATTR and part[1] == (m.NAME, "self") for part in nodes(one[3]))
    return False
