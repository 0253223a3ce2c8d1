"""What a loop puts on a device because it is wanted there: the inputs of what follows, of which it computes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import targets
from ..facts.walk import call_at, last_name, root_of, statements
from ..interpreter.events import Store
from ..interpreter.frames import Loop

_MOVES = ("to", "cuda")
_CONVERTS = frozenset(  # an array to a tensor, as it is
    """from_numpy as_tensor tensor asarray array stack astype float half long double int bool contiguous pin_memory
    unsqueeze squeeze clone copy detach""".split()
)
_LOADS = frozenset("load loads read reads open fetch parse import prepare collate".split())
_DEVICES = ("device", "dev")
_DEEP = 5  # names of names
_Bound = dict[Expr, list[Expr | None]]  # what a name is bound to; None: to what is not seen


def is_put_there(store: Store, loop: Loop) -> bool:
    """Whether a store is one of a function that puts what it is given on a device, and hands that out; or of a loop
    that loads onto a device, `rows.append(load_scene(path, device))`, and runs no model."""
    body = store.frame.facts.body
    over = next((one for one in statements(body) if one[0] == m.FOR and one[1] == loop.site), None)
    if over is None:
        return False
    given = set(_stored(store.frame.facts, store.site))
    returned = {one[2] for one in statements(body) if one[0] == m.RETURN}
    plain = not loop.runs or all(value[0] == m.CALL for value in given)  # no model has them beside it
    if plain and _is_moved(given, store.frame.facts) and returned & _holders(body, store.site):
        return True
    return not loop.runs and bool(given) and all(_is_loaded(value, over) for value in given)


def _stored(function: FunctionFacts, site: Site) -> Iterator[Expr]:
    """What a statement puts into a container: `rows.append(x)`, `out[key] = x`."""
    call = call_at(function.body, site)
    if call is not None and call[2][0] == m.ATTR and len(call[3]) == 1:
        yield call[3][0]
    for one in statements(function.body):
        if one[0] == m.ASSIGN and one[1] == site:
            yield one[3]


def _holders(body: tuple[Stmt, ...], site: Site) -> set[Expr]:
    """What a statement puts that into."""
    call = call_at(body, site)
    found = {call[2][1]} if call is not None and call[2][0] == m.ATTR else set()
    return found | {root_of(part) for one in statements(body) if one[1] == site for part in targets(one)}


def _is_moved(given: set[Expr], function: FunctionFacts) -> bool:
    """`x.to(device)`, `torch.from_numpy(x).long().cuda()`, of what the loops go over or the function is given; alone,
    by a name, `row = batch["ids"][i][:n].to(device)`, or several in a dictionary."""
    bound: _Bound = {(m.NAME, param.name): [] for param in function.params}
    for one in statements(function.body):
        for target in targets(one):
            bound.setdefault(target, []).append(one[3] if one[0] == m.ASSIGN and target in one[2] else None)
        if one[0] == m.FOR:
            for target in targets(one):
                bound[target].remove(None)  # an item is a part of what the loop goes over
    return bool(given) and all(_is_put(value, bound, _DEEP) for value in given)


def _is_put(value: Expr, bound: _Bound, depth: int) -> bool:
    if value[0] == m.CALL:
        return value[2][0] == m.ATTR and value[2][2] in _MOVES and _is_part(value[2][1], bound, depth)
    parts: list[Expr | None] = []
    if value[0] == m.DICT:
        parts = [part for _, part in value[2]]
    elif value[0] == m.NEW:
        parts = list(value[3])
    elif value[0] == m.COND:
        parts = [value[2], value[3]]
    elif value[0] == m.NAME:
        parts = bound.get(value, [])
    moved = [part for part in parts if part is None or part[0] != m.CONST]
    return bool(moved) and depth > 0 and all(part is not None and _is_put(part, bound, depth - 1) for part in moved)


def _is_part(value: Expr, bound: _Bound, depth: int) -> bool:
    """Whether something is what a loop goes over, or a part of it, as it is: `batch["ids"][i][:n].unsqueeze(0)`."""
    while value[0] in (m.ITEM, m.CALL):
        if value[0] == m.ITEM:
            value = value[1]
            continue
        asked = last_name(value[2]) == "get" and bool(value[3]) and value[3][0][0] == m.CONST
        if not asked and last_name(value[2]) not in _CONVERTS:
            return False
        root = root_of(value[2])
        of_torch = bool(value[3]) and root[0] == m.NAME and root not in bound
        value = value[3][0] if of_torch else value[2][1]
    if value not in bound or not depth:
        return False
    return all(part is not None and _is_part(part, bound, depth - 1) for part in bound[value])


def _is_loaded(value: Expr, over: Stmt) -> bool:
    """Whether what a round stores is what it has loaded onto a device, and nothing but that."""
    made = [value] if value[0] == m.CALL else []
    for one in statements(over[4]):
        if one[0] == m.ASSIGN and value in one[2]:
            made.append(one[3])
    return bool(made) and all(_loads(expr) for expr in made)


def _loads(expr: Expr) -> bool:
    if expr[0] != m.CALL or _LOADS.isdisjoint(last_name(expr[2]).lower().split("_")):
        return False
    given = (*expr[3], *(value for _, value in expr[4]))
    return any(one[0] in (m.NAME, m.ATTR) and one[-1] in _DEVICES for one in given)
