"""What every rank of a distributed program gathers, and who reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import CALLS_PER_STATEMENT, Expr, Site, Stmt
from ..facts.one_rank import by_rank
from ..facts.program import Block, Place, Program, targets
from ..facts.walk import calls_of, expressions_of, heads, last_name, nodes, statements

_GATHERS = ("all_gather_object", "all_gather")
_FIGURES = frozenset(
    """stat stats count counts num time times len length lengths size sizes rank ranks rid rids summary info host
    hostname hostnames handle handles name
    names loss losses value val state status flag error errors duration memory bytes port ip
    pid avg average mean percentile percentiles conf confusion ratio speed""".split()
)
_ONE = (("numel", (m.CONST, 1)), ("dim", (m.CONST, 0)), ("ndim", (m.CONST, 0)))
AS_IT_IS = frozenset("cpu detach numpy float half cuda to contiguous".split())  # methods whose result is as large
_ADDS = ("append", "extend", "update")


class Gathered(NamedTuple):
    """Something that all ranks gather and one of them reads."""

    site: Site
    call: str  # all_gather_object
    name: str
    read: Site


def needed_by_one(program: Program) -> Iterator[Gathered]:
    """Gathers whose result is read on one rank only, here or where a helper of the file gives it to."""
    if program.called.isdisjoint(_GATHERS):
        return
    for place in program.places:
        for site, call, name in gathers(program, place):
            read, attribute = read_by_one(program, place, name, site)
            if read:
                yield Gathered(site, call, f"self.{attribute}" if attribute else name, read[0])


def read_by_one(program: Program, place: Place, name: str, after: Site, depth: int = 2) -> tuple[list[Site], str]:
    """Where one rank reads what a function binds to a name, and the attribute that it goes to; none if others do."""
    reads = list(reads_of(place.facts.body, name, after))
    attributes = attributes_of(place.facts.body, name, after)
    if attributes and all(alone or at in attributes for at, alone, _ in reads):
        inside = [read_as_attribute(program, attribute, place, after) for attribute in attributes.values()]
        return (inside[0] if all(inside) else []), next(iter(attributes.values()))
    if not reads or not all(alone or gives for _, alone, gives in reads):
        return [], ""
    if any(gives and not alone for _, alone, gives in reads):
        return _in_callers(program, place, depth), ""
    return [at for at, alone, _ in reads if alone], ""


def gathers(program: Program, place: Place) -> Iterator[tuple[Site, str, str]]:
    for statement, _ in by_rank(place.facts.body):
        for head in heads(statement):
            for call in nodes(head):
                if call[0] != m.CALL or call[2][-1] not in _GATHERS or not call[3] or call[3][0][0] != m.NAME:
                    continue
                dotted = program.dotted(call[2])
                given = call[3][1] if len(call[3]) > 1 else None
                ours = "dist" in dotted or dotted.startswith("torch.")
                small = given is not None and is_small(place.facts.body, given)
                if given is not None and ours and not small and not _is_one(place.facts.body, call[1], given):
                    yield call[1], call[2][-1], call[3][0][1]


def is_small(body: Block, given: Expr) -> bool:
    """Whether what each rank sends is a handful of numbers or names: by what it is called, or by what it is."""
    if not _FIGURES.isdisjoint(str(given[-1]).lower().split("_") if given[0] in (m.NAME, m.ATTR) else ()):
        return True
    bound = [one[3] for one, _ in by_rank(body) if one[0] == m.ASSIGN and given in one[2]]
    return any(_is_of_numbers(value) for value in (given, *bound))


def _is_one(body: Block, site: Site, given: Expr) -> bool:
    """Whether a test holds, where something is sent, that asks whether it is one number: `if is_singleton(t):`,
    `if t.numel() == 1:`"""
    return any(
        one[0] == m.IF
        and any(_asks_whether_one(test, given) for test in nodes(one[2]))
        and any(site in (call[1] for call in calls_of(inner)) for inner in statements(one[3]))
        for one in statements(body)
    )


def _asks_whether_one(test: Expr, given: Expr) -> bool:
    if test[0] == m.CALL and len(test) == 5:
        return given in test[3] and any(word in last_name(test[2]) for word in ("singleton", "scalar"))
    if test[0] != m.COMPARE or test[1] != "Equal":
        return False
    asked = test[2][2] if test[2][0] == m.CALL else test[2]
    return bool(asked[0] == m.ATTR and asked[1] == given and (asked[2], test[3]) in _ONE)


def _is_of_numbers(value: Expr) -> bool:
    """`torch.tensor([loss, count])`, `torch.tensor(hits / total).to(device)`, `value.item()`, `len(rows)`"""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in ("to", "cuda", "unsqueeze"):
        value = value[2][1]
    if value[0] == m.CALL:
        if value[2][-1] in ("tensor", "as_tensor") and value[3]:
            return value[3][0][0] in (m.NEW, m.CONST, m.ARITH)
        return value[2][-1] in ("item", "len", "float", "int", "gethostname", "time", "get_rank")
    if value[0] == m.COMP:  # `[np.percentile(times, k) for k in [1, 5, 95]]`
        return all(clause[1][0] == m.NEW for clause in value[5])
    return value[0] in (m.CONST, m.TEXT)


def attributes_of(body: Block, name: str, after: Site) -> dict[Site, str]:
    """The attributes that what was gathered is put on, by all ranks, with where."""
    found: dict[Site, str] = {}
    names = {name}
    for statement, alone in by_rank(body):
        names |= _elements(statement, names) | _joined(statement, names)
        value = put_away(statement)
        if alone or statement[1] <= after or value is None or not _as_large(value[1]):
            continue
        if any(part[0] == m.NAME and part[1] in names for part in nodes(value[1])):
            found[statement[1]] = value[0]
    return found


def _elements(statement: Stmt, names: set[str]) -> set[str]:
    """The names that a `for` over one of these names, or over its `items()`, binds: parts of the same."""
    if statement[0] != m.FOR:
        return set()
    over = statement[3]
    if over[0] == m.CALL and over[2][0] == m.ATTR and over[2][2] in ("items", "values") and not over[3]:
        over = over[2][1]
    if over[0] != m.NAME or over[1] not in names:
        return set()
    return {target[1] for target in targets(statement) if target[0] == m.NAME}


def _joined(statement: Stmt, names: set[str]) -> set[str]:
    """The local container that one of these names goes into: `merged.update(part)`, `merged += part`, also by
    `merged[key].extend(part)`, and joined: `rows.append(torch.cat(parts).cpu())`."""
    if statement[0] == m.AUGMENT:
        place, given = statement[2], statement[4]
    elif statement[0] == m.ASSIGN and statement[2][0][0] == m.ITEM:
        place, given = statement[2][0], statement[3]
    elif statement[0] == m.EXPR and statement[2][0] == m.CALL and statement[2][2][0] == m.ATTR and statement[2][3]:
        place, given = statement[2][2][1], statement[2][3][0]
        if statement[2][2][2] not in _ADDS:
            return set()
    else:
        return set()
    while place[0] == m.ITEM:
        place = place[1]
    while given[0] == m.CALL and given[2][0] == m.ATTR and given[2][2] in AS_IT_IS and not _as_large(given):
        given = given[2][1]
    named = any(part[0] == m.NAME and part[1] in names for part in nodes(given)) and _as_large(given)
    return {place[1]} if place[0] == m.NAME and named else set()


def put_away(statement: Stmt) -> tuple[str, Expr] | None:
    """The attribute of `self` that a statement sets or appends to, and what it puts there."""
    if statement[0] == m.ASSIGN:
        place, value = targets(statement)[0], statement[3]
    elif statement[0] == m.EXPR and statement[2][0] == m.CALL and statement[2][2][0] == m.ATTR and statement[2][3]:
        if statement[2][2][2] not in _ADDS:
            return None
        place, value = statement[2][2][1], statement[2][3][0]
    else:
        return None
    return (place[2], value) if place[0] == m.ATTR and place[1] == (m.NAME, "self") else None


def read_as_attribute(program: Program, attribute: str, gathering: Place, gathered: Site) -> list[Site]:
    """Where one rank reads an attribute; none if another does, or if it is emptied for all. What the rank has of its
    own there is read where it is sent."""
    found: list[Site] = []
    for place in program.places:
        for statement, alone in by_rank(place.facts.body) if place.facts.name != "__init__" else ():
            if statement[0] == m.DELETE or (statement[0] == m.ASSIGN and _is_emptied(statement, attribute)):
                named = any(part[0] == m.ATTR and part[2] == attribute for part in expressions_of(statement))
                if named and not _begins(program, place, attribute):
                    return []
                continue
            asks = statement[0] == m.IF and statement[2][0] in (m.NOT, m.ATTR)  # whether it is there
            adds = put_away(statement)
            if place is gathering and statement[1] // CALLS_PER_STATEMENT <= gathered // CALLS_PER_STATEMENT:
                continue
            if adds is not None and adds[0] == attribute and not _reads_attribute(adds[1], attribute):
                continue
            for head in () if asks else _values(statement):
                if _reads_attribute(head, attribute):
                    used = [statement[1]] if alone else _result_used(program, place)
                    if not used:
                        return []
                    found += used
    return found


def _begins(program: Program, place: Place, attribute: str) -> bool:
    """Whether a method that empties an attribute is for the beginning of the next pass, `def reset(self):`: neither it
    nor a method that calls it reads what is there."""
    return not any(
        _reads_attribute(head, attribute)
        for other in program.places
        if other is place or place.facts.name in other.facts.calls
        for statement, _ in by_rank(other.facts.body)
        if statement[0] != m.DELETE and put_away(statement) is None
        for head in _values(statement)
    )


def _result_used(program: Program, place: Place) -> list[Site]:
    """Where one rank reads what a method computes and returns; none if it does more than that."""
    lasting = any(target[0] != m.NAME for statement, _ in by_rank(place.facts.body) for target in targets(statement))
    return [] if lasting else _in_callers(program, place)


def _is_emptied(statement: Stmt, attribute: str) -> bool:
    value = statement[3]
    empty = value == (m.CONST, None) or (value[0] in (m.NEW, m.DICT) and not value[-1])
    return empty and any(target[0] == m.ATTR and target[2] == attribute for target in targets(statement))


def _reads_attribute(expr: Expr, attribute: str) -> bool:
    """Whether an expression reads more of an attribute than its length, or whether it is there."""
    if expr[0] == m.ATTR and expr[2] == attribute:
        return True
    if expr[0] == m.CALL and len(expr) == 5 and expr[2] in ((m.NAME, "len"), (m.NAME, "bool")):
        return False
    if expr[0] == m.COMPARE and expr[3] == (m.CONST, None):
        return False
    return any(_reads_attribute(part, attribute) for part in _inside(expr))


def _inside(expr: Expr) -> Iterator[Expr]:
    """The expressions right inside one."""
    stack: list[object] = [part for part in expr if type(part) is tuple]
    while stack:
        part = stack.pop()
        if type(part) is tuple and part:
            if type(part[0]) is int:
                yield part
            else:
                stack.extend(part)


def _in_callers(program: Program, helper: Place, depth: int = 1) -> list[Site]:
    """Where one rank reads what a helper returns; none if another rank does, or if nobody is seen to call it."""
    found: list[Site] = []
    for place in program.places if depth else ():
        if helper.facts.name not in place.facts.calls:
            continue
        for statement, _ in by_rank(place.facts.body):
            if statement[0] == m.ASSIGN and _calls(statement[3], helper.facts.name):
                bound = [target[1] for target in statement[2] if target[0] == m.NAME]
                reads = read_by_one(program, place, bound[0], statement[1], depth - 1)[0] if bound else []
                if not reads:
                    return []
                found.append(reads[0])
            elif any(_calls(head, helper.facts.name) for head in heads(statement)):
                return []
    return found


def _calls(expr: Expr, name: str) -> bool:
    return any(node[0] == m.CALL and len(node) == 5 and node[2][-1] == name for node in nodes(expr))


def reads_of(body: Block, name: str, after: Site) -> Iterator[tuple[Site, bool, bool]]:
    """Where a name, or what is made of it, is read later on: site, by one rank only, by a `return`."""
    names = {name}
    for statement, alone in by_rank(body):
        if statement[1] <= after or statement[0] == m.DELETE:
            continue
        read = [head for head in _values(statement) if any(n[0] == m.NAME and n[1] in names for n in nodes(head))]
        if not read:
            continue
        if _elements(statement, names):
            names |= _elements(statement, names)
            continue
        if not alone and _joined(statement, names):
            names |= _joined(statement, names)
            continue
        bound = targets(statement)
        if statement[0] == m.ASSIGN and not alone and len(bound) == 1 and bound[0][0] == m.NAME and _as_large(read[0]):
            names.add(bound[0][1])  # the same under another name, or joined
        else:
            yield statement[1], alone, statement[0] == m.RETURN and _as_large(statement[2])


def _as_large(value: Expr) -> bool:
    """Whether a value made of what was gathered keeps it, or as much: joined, flattened, sorted."""
    if value[0] in (m.NAME, m.COMP, m.NEW):
        return True
    return value[0] == m.CALL and value[2][-1] in (
        "cat", "concat", "concatenate", "stack", "vstack", "list", "sorted", "chain", "from_iterable", "dict",
    )  # fmt: skip


def _values(statement: Stmt) -> Iterator[Expr]:
    """What a statement reads: not the names that it binds."""
    bound = targets(statement)
    for head in heads(statement):
        if head not in bound:
            yield head
