"""What a loop puts on a device because it is wanted there: the inputs of what follows, of which it computes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import targets
from ..facts.walk import call_at, last_name, nodes, root_of, statements
from ..interpreter.events import Store
from ..interpreter.frames import Loop

_MOVES = ("to", "cuda")
_CONVERTS = frozenset(  # an array to a tensor, as it is
    """from_numpy as_tensor tensor asarray array stack astype float half long double int bool contiguous pin_memory
    unsqueeze squeeze clone copy detach""".split()
)
_LOADS = frozenset("load loads read reads open fetch parse import prepare collate".split())
_DEVICES = ("device", "dev")


def is_put_there(store: Store, loop: Loop) -> bool:
    """Whether a store is one of a function that puts what it is given on a device, and hands that out; or of a loop
    that loads onto a device, `rows.append(load_scene(path, device))`, and runs no model."""
    body = store.frame.facts.body
    over = next((one for one in statements(body) if one[0] == m.FOR and one[1] == loop.site), None)
    if over is None:
        return False
    given = set(_stored(store.frame.facts, store.site))
    returned = {one[2] for one in statements(body) if one[0] == m.RETURN}
    if _is_moved(given, over) and returned & _holders(body, store.site):
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


def _is_moved(given: set[Expr], over: Stmt) -> bool:
    """`x.to(device)`, `torch.from_numpy(x).long().cuda()`, of what the loop goes over."""
    items = {part for target in targets(over) for part in nodes(target) if part[0] == m.NAME}
    items -= {target for one in statements(over[4]) for target in targets(one)}
    for value in given:
        if value[0] != m.CALL or value[2][0] != m.ATTR or value[2][2] not in _MOVES:
            return False
        moved = value[2][1]
        while moved[0] == m.CALL and last_name(moved[2]) in _CONVERTS:
            of_torch = bool(moved[3]) and root_of(moved[2])[0] == m.NAME and root_of(moved[2]) not in items
            moved = moved[3][0] if of_torch else moved[2][1]
        if moved not in items:
            return False
    return bool(given)


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
