"""Weights that are cut to a part of what they were: the part is a view, and keeps the storage of the whole.

`layer.weight = nn.Parameter(layer.weight[:rows])` and `nn.Parameter(layer.weight.data.split(n)[rank])` are to make a
layer smaller, and free nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import DTYPES
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import targets, text
from ..facts.walk import calls_of, last_name, nodes, statements

_SPLITS = ("split", "chunk", "tensor_split", "narrow")
_SAME = ("to", "detach", "view", "t", "transpose", "permute", "cuda", "requires_grad_", "squeeze", "unsqueeze")
_RANKS = ("rank", "index", "idx", "shard")
_STEPS = 10
_CALLERS = 4  # levels of functions that lead to the one that cuts
_MOVES = ("to", "cuda", "to_device")


class CutWeight(NamedTuple):
    """A parameter that is a part of a weight which nobody needs any more."""

    site: Site
    whole: str  # `layer.weight`


class _Cut(NamedTuple):
    whole: Expr  # the attribute that is cut
    part: Expr  # which one


def cut_weights(facts: FileFacts) -> Iterator[CutWeight]:
    for function in facts.functions:
        if "Parameter" not in function.calls and not (
            function.flags & m.KEEPS and any(_data(s) for s in statements(function.body))
        ):
            continue
        made = [(site, place, cut) for site, place, value in _made(function) if (cut := _cut(function, value, site))]
        if made and _is_moved_afterwards(facts, function):
            continue
        parts: dict[Expr, set[Expr]] = {}
        for _, _, cut in made:
            parts.setdefault(cut.whole, set()).add(cut.part)
        for site, place, cut in made:
            replaced = place == cut.whole
            if replaced or (len(parts[cut.whole]) == 1 and _is_given_up(function, cut)):
                yield CutWeight(site, text(cut.whole))


def _made(function: FunctionFacts) -> Iterator[tuple[Site, Expr, Expr]]:
    """What becomes a parameter: where, the place that it goes to, and the value."""
    for statement in statements(function.body):
        place = next(iter(targets(statement)), ())
        if _data(statement):
            yield statement[1], place[1], statement[3]
        for call in calls_of(statement):
            if last_name(call[2]) == "Parameter" and call[3]:
                yield statement[1], place, call[3][0]


def _data(statement: Stmt) -> bool:
    """`weight.data = ...`"""
    place = next(iter(targets(statement)), ()) if statement[0] == m.ASSIGN else ()
    return bool(place) and place[0] == m.ATTR and place[2] == "data"


def _cut(function: FunctionFacts, value: Expr, site: Site) -> _Cut | None:
    """Which part of which attribute a value is, if it is a view of it; names stand for what they were last bound to."""
    index: Expr = ()
    for _ in range(_STEPS):
        if value[0] == m.CALL and last_name(value[2]) in _SPLITS:
            index = index or value[3]
            method = value[2][0] == m.ATTR and value[2][1] != (m.NAME, "torch")
            value = value[2][1] if method else next(iter(value[3]), ())
        elif value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _SAME:
            value = value[2][1]
        elif value[0] == m.ATTR and value[2] == "data":
            value = value[1]
        elif value[0] == m.ITEM:
            index, value = index or value[2], value[1]
        elif value[0] == m.NAME:
            value, site = _last_bound(function, value, site)
        else:
            break
        if not value:
            return None
    heavy = value[0] == m.ATTR and (value[2] == "weight" or value[2].endswith("_weight"))
    return _Cut(value, index) if heavy and _selects(function, index, site) else None


def _last_bound(function: FunctionFacts, name: Expr, site: Site) -> tuple[Expr, Site]:
    found: tuple[Expr, Site] = (), site
    for statement in statements(function.body):
        if statement[1] < site and statement[0] == m.ASSIGN and name in statement[2]:
            found = statement[3], statement[1]
    return found


def _selects(function: FunctionFacts, index: Expr, site: Site) -> bool:
    """Whether an index takes a part: no mask or list of rows, which copies."""
    if not index:
        return False
    if type(index[0]) is not int:
        return True  # what `split` is given
    slices = [index, *(index[3] if index[0] == m.NEW else ())]
    bounded = any(one[0] == m.SLICE and (one[1] or one[2]) for one in slices)
    if bounded or index[0] not in (m.NAME, m.ATTR):
        return bounded
    bound, _ = _last_bound(function, index, site)  # `rows = slice(0, n)`, `weight[rank]`
    return last_name(bound) == "slice" if bound else _says_which(index)


def _says_which(index: Expr) -> bool:
    return any(word in last_name(index) for word in _RANKS)


def _is_moved_afterwards(facts: FileFacts, function: FunctionFacts) -> bool:
    """Whether a function that has the weights cut then moves the model to a device, `shard(model); model.cuda()`: the
    parts are copied there, and the wholes go."""
    names = {function.name}
    for _ in range(_CALLERS):
        callers = [one for one in facts.functions if not names.isdisjoint(one.calls)]
        if any(_moves_after(one, names) for one in callers):
            return True
        names = {one.name for one in callers}
    return False


def _moves_after(caller: FunctionFacts, names: set[str]) -> bool:
    cut: set[Expr] = set()  # what was given to be cut, or came back
    for statement in statements(caller.body):
        moved: set[Expr] = set()
        for call in calls_of(statement):
            if last_name(call[2]) in _MOVES and not _is_a_type(call):
                moved |= {*call[3], call[2][1]} if call[2][0] == m.ATTR else set(call[3])
        if not cut.isdisjoint(moved):
            return True
        for call in calls_of(statement):
            if last_name(call[2]) in names:
                cut |= {*call[3], *(value for _, value in call[4]), *targets(statement)}
    return False


def _is_a_type(call: Expr) -> bool:
    """`model.to(torch.bfloat16)`, `model.to(dtype=kind)`: where it is."""
    given = [*call[3], *(value for _, value in call[4])]
    return len(given) == 1 and (last_name(given[0]) in DTYPES or last_name(given[0]).endswith("dtype"))


def _is_given_up(function: FunctionFacts, cut: _Cut) -> bool:
    """Whether the whole belongs to a layer that the function was given, to be taken apart: this rank's part of it."""
    root = cut.whole
    while root[0] == m.ATTR:
        root = root[1]
    given = {param.name for param in function.params} - {"self", "cls"}
    ranked = any(_says_which(node) for node in nodes(cut.part) if node[0] in (m.NAME, m.ATTR))
    return root[0] == m.NAME and root[1] in given and ranked
