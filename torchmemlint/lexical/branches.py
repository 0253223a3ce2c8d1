"""`itertools.tee`: a branch that is looked at once and kept makes the other one's items pile up in between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, targets, text
from ..facts.walk import calls, calls_of, expressions_of, heads, in_loops, last_name, nodes, root_of, statements

_HEAVY = re.compile(r"(?i)batch|loader|dataset|sample|stream|frame|image|example|clip|chunk|tensor|activation")
_LOOKS = ("next", "anext", "islice")
_TENSORS = ("Tensor", "FloatTensor", "LongTensor", "ndarray")
_MAKERS = frozenset(
    """tensor as_tensor from_numpy manual_seed seed device load empty zeros ones full arange rand randn randint
    is_tensor""".split()
)
_NUMBERS = ("shape", "dtype", "device", "ndim")
_TO_DEVICE = ("cuda", "pin_memory")


class Behind(NamedTuple):
    """A branch that stays behind."""

    site: Site
    branch: str
    other: str
    again: bool = False  # the branch is what the next round splits


def left_behind(program: Program) -> Iterator[Behind]:
    """Branches of `tee` over batches that stay bound, hardly advanced, while the other one is gone through; and those
    that are split anew in each round."""
    if "tee" not in program.called:
        return
    for place in program.places:
        if "tee" not in place.facts.calls:
            continue
        for made in statements(place.facts.body):
            pair = _branches(program, made)
            if not pair or not _are_heavy(program, place, made, pair):
                continue
            if _splits_again(place, made, pair):
                yield Behind(made[3][1], text(made[3][3][0]), text(_other(pair, made[3][3][0])), again=True)
                continue
            for branch, other in (pair, pair[::-1]):
                if _stays(program, place, made, branch) and _goes_on(program, place, made, other):
                    yield Behind(made[3][1], text(branch) or _item(branch), text(other) or _item(other))
                    break


def _branches(program: Program, made: Stmt) -> tuple[Expr, Expr] | tuple[()]:
    """What the two branches are bound to: `a, b = tee(...)`, or the items of `both = tee(...)`."""
    if made[0] != m.ASSIGN or made[3][0] != m.CALL or program.dotted(made[3][2]) not in ("itertools.tee", "tee"):
        return ()
    target = made[2][0]
    if not made[3][3] or made[3][3][1:2] not in ((), ((m.CONST, 2),)):
        return ()
    if target[0] == m.NEW:
        return tuple(target[3]) if len(target[3]) == 2 else ()
    return ((m.ITEM, target, (m.CONST, 0)), (m.ITEM, target, (m.CONST, 1))) if text(target) else ()


def _item(branch: Expr) -> str:
    return f"{text(branch[1])}[{branch[2][1]}]"


def _are_heavy(program: Program, place: Place, made: Stmt, pair: tuple[Expr, ...]) -> bool:
    """Whether what is split has tensors, as far as names, hints, what is done to it or where it comes from say."""
    given = made[3][3][0]
    return (
        _of_batches(place, made[3])
        or _is_given_batches(program, place, given)
        or _is_of_records(program, place, given)
        or _are_computed_with(program, place, pair)
    )


def _is_of_records(program: Program, place: Place, given: Expr) -> bool:
    """`records: Iterable[Record]`, and the class of the file has a field for a tensor."""
    hints = [param.hint for param in place.facts.params if given == (m.NAME, param.name) and param.hint]
    named = {part[1] for hint in hints for part in nodes(hint) if part[0] == m.NAME}
    return any(
        last_name(part) in _TENSORS
        for cls in program.facts.classes
        if cls.name in named
        for one in program.facts.functions[cls.body].body
        if one[0] == m.ANNOTATE
        for part in nodes(one[3])
    )


def _are_computed_with(program: Program, place: Place, pair: tuple[Expr, ...]) -> bool:
    """Whether the function gives an item, or a part of one, to torch, `torch.stack(row.frames)`, or moves it."""
    items: set[Expr] = set()
    for one in statements(place.facts.body):
        over: Expr | None = one[3] if one[0] in (m.FOR, m.ASSIGN) else None
        call = over if over is not None and over[0] == m.CALL and over[3] else None
        if one[0] == m.ASSIGN:
            over = call[3][0] if call is not None and last_name(call[2]) in _LOOKS else None
        elif call is not None:  # `enumerate(rows)`
            over = call[3][0]
        if over in pair:
            items |= {root_of(target) for target in targets(one)}
    every = (call for one in statements(place.facts.body) for call in calls_of(one)) if items else ()
    return any(_takes_tensor(program, call, items) for call in every)


def _takes_tensor(program: Program, call: Expr, items: set[Expr]) -> bool:
    name = last_name(call[2])
    if call[2][0] == m.ATTR and name in _TO_DEVICE and root_of(call[2]) in items:
        return True
    if not program.dotted(call[2]).startswith("torch.") or name in _MAKERS or name[:1].isupper():
        return False
    given = [part for value in call[3] for part in _operands(value)]
    return any(root_of(part) in items and last_name(part) not in _NUMBERS for part in given)


def _operands(value: Expr) -> Iterator[Expr]:
    """`row.vectors` and `centre` of `row.vectors[a:b] - centre`."""
    if value[0] == m.ARITH:
        yield from _operands(value[2])
        yield from _operands(value[3])
    elif value[0] == m.NEW:
        for item in value[3]:
            yield from _operands(item)
    elif value[0] == m.ITEM:
        yield value[1]
    elif value[0] in (m.NAME, m.ATTR):
        yield value


def _of_batches(place: Place, call: Expr) -> bool:
    """Whether what is split sounds like batches or frames, here or where it is made."""
    given = call[3][0]
    made = [one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and given in one[2]]
    hints = [param.hint for param in place.facts.params if given == (m.NAME, param.name) and param.hint]
    names = (str(part[-1]) for one in (given, *made, *hints) for part in nodes(one) if part[0] in (m.NAME, m.ATTR))
    return any(_HEAVY.search(name) for name in names)


def _is_given_batches(program: Program, place: Place, given: Expr) -> bool:
    """Whether a caller in the file gives a function what sounds like batches: `endless(self.batch_iter())`."""
    names = [param.name for param in place.facts.params]
    if given[0] != m.NAME or given[1] not in names or not place.facts.name:
        return False
    position = names.index(given[1]) - (names[0] == "self")
    return any(
        call[3][position:] and _sounds_heavy(call[3][position])
        for other in program.places
        if place.facts.name in other.facts.calls
        for call in calls(other.facts.body)
        if last_name(call[2]) == place.facts.name
    )


def _sounds_heavy(value: Expr) -> bool:
    return any(_HEAVY.search(str(part[-1])) for part in nodes(value) if part[0] in (m.NAME, m.ATTR))


def _splits_again(place: Place, made: Stmt, pair: tuple[Expr, ...]) -> bool:
    """`rows, current = tee(rows)`, `yield from current`, round after round: what stays behind is the next round's
    source, and so has all that there was from the first item on."""
    source = made[3][3][0]
    if source not in pair or all(not looped for one, looped in in_loops(place.facts.body) if one is made):
        return False
    other = _other(pair, source)
    return any(
        looped and (one[0] == m.FOR or any(part[0] == m.YIELD_FROM for part in nodes(head)))
        for one, looped, head in _uses(place, other)
        if one is not made
    )


def _other(pair: tuple[Expr, ...], branch: Expr) -> Expr:
    return pair[1] if pair[0] == branch else pair[0]


def _is_own(branch: Expr) -> bool:
    return text(branch if branch[0] == m.ATTR else branch[1] if branch[0] == m.ITEM else branch).startswith("self.")


def _uses(place: Place, branch: Expr) -> Iterator[tuple[Stmt, bool, Expr]]:
    """The statements that read a branch, whether round after round, and the expression that does."""
    for statement, looped in in_loops(place.facts.body):
        for head in heads(statement):
            if branch in nodes(head):
                yield statement, looped, head


def _stays(program: Program, place: Place, made: Stmt, branch: Expr) -> bool:
    """Whether a branch is only looked at, a few items of it, and is bound all the time that follows."""
    for other in _of_class(program, place) if _is_own(branch) else (place,):
        setup = other.facts is place.facts
        for statement, looped, head in _uses(other, branch):
            if statement is made:
                continue
            if statement[0] in (m.DELETE, m.FOR) or looped or not setup or not _only_looks(head, branch):
                return False
            if statement[0] == m.ASSIGN and branch in statement[2]:
                return False
    if _is_own(branch):
        return not _deleted(program, branch) and not _read_from_outside(program, place, branch)
    return not any(_reads(program, index, branch) for index in place.facts.inner)


def _deleted(program: Program, branch: Expr) -> bool:
    whole = branch[1] if branch[0] == m.ITEM else branch
    return any(
        one[0] == m.DELETE and whole in one[2] for place in program.places for one in statements(place.facts.body)
    )


def _read_from_outside(program: Program, place: Place, branch: Expr) -> bool:
    """Whether anything but the class reads the attribute, of whatever object."""
    name = (branch[1] if branch[0] == m.ITEM else branch)[2]
    outside = (other.facts for other in program.places if other.cls != place.cls)
    return any(
        part[0] == m.ATTR and part[2] == name and part[1] != (m.NAME, "self")
        for facts in outside
        for one in statements(facts.body)
        for part in expressions_of(one)
    )


def _of_class(program: Program, place: Place) -> list[Place]:
    return [other for other in program.places if other.cls == place.cls]


def _reads(program: Program, index: int, branch: Expr) -> bool:
    body = program.facts.functions[index].body
    return any(branch in nodes(head) for one in statements(body) for head in heads(one))


def _only_looks(head: Expr, branch: Expr) -> bool:
    """`next(head)`, `islice(head, 3)`."""
    calls = [part for part in nodes(head) if part[0] == m.CALL and len(part) == 5]
    looks = [call for call in calls if last_name(call[2]) in _LOOKS and call[3] and _over(call[3][0]) == branch]
    return bool(looks) and sum(part == branch for part in nodes(head)) == len(looks)


def _over(iterated: Expr) -> Expr:
    """`head` of `iter(head)`."""
    return iterated[3][0] if iterated[0] == m.CALL and last_name(iterated[2]) == "iter" and iterated[3] else iterated


def _goes_on(program: Program, place: Place, made: Stmt, other: Expr) -> bool:
    """Whether the other branch is gone through: in a loop that follows, in what it is handed to, by other methods."""
    if _is_own(other):
        return any(
            looped or each.facts is not place.facts
            for each in _of_class(program, place)
            for _, looped, _ in _uses(each, other)
        )
    for statement, looped, head in _uses(place, other):
        if statement is made or statement[0] == m.RETURN:
            continue
        given = any(
            last_name(call[2]) not in _LOOKS and any(other in nodes(value) for value in (*call[3], *call[4]))
            for call in calls_of(statement)
        )
        if looped or given or statement[0] == m.FOR or any(part[0] == m.YIELD_FROM for part in nodes(head)):
            return True
    return False
