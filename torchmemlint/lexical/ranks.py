"""What every rank of a distributed program gathers, and who reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt, statement_of
from ..facts.one_rank import by_rank, called_by_one
from ..facts.program import Block, Place, Program, targets
from ..facts.walk import calls_of, expressions_of, heads, last_name, loops, nodes, statements
from .rank_reads import SELF, as_large, elements, joined, parts_of, put_away, reads_of, values_in

_GATHERS = ("all_gather_object", "all_gather")
_FIGURES = frozenset(
    """stat stats count counts num time times len length lengths size sizes rank ranks rid rids summary info host
    hostname hostnames handle handles name
    names loss losses value val state status flag error errors duration memory bytes port ip
    pid avg average mean percentile percentiles conf confusion ratio speed""".split()
)
_TEXTS = ("str", "repr", "basename", "relpath", "hexdigest")
_COUNTS = ("counts", "times", "lens", "lengths", "sizes", "ranks", "names", "hosts", "bytes")  # one of each rank
_NO_DATA = ("range", "items", "values", "parameters", "named_parameters", "buffers", "named_buffers", "state_dict")
_ONE = (("numel", (m.CONST, 1)), ("dim", (m.CONST, 0)), ("ndim", (m.CONST, 0)))


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
            if read and not (call == "all_gather" and _goes_with_its_batch(place.facts.body, name, site, read)):
                yield Gathered(site, call, attribute or name, read[0])


def _goes_with_its_batch(body: Block, name: str, site: Site, read: list[Site]) -> bool:
    """Whether the tensors of all ranks are those of one batch, and the one rank takes what it needs of them before the
    next: the others keep no more than that batch."""
    for loop, inside in loops(body):
        if statement_of(site) not in {statement_of(one[1]) for one in inside}:
            continue
        anew = any((m.NAME, name) in targets(one) for one in inside)
        of_data = loop[0] == m.FOR and last_name(loop[3]) not in _NO_DATA
        return anew and of_data and {one[1] for one in inside}.issuperset(read)
    return False


def read_by_one(program: Program, place: Place, name: str, after: Site, depth: int = 2) -> tuple[list[Site], str]:
    """Where one rank reads what a function binds to a name, and the attribute that it goes to; none if others do."""
    reads = list(reads_of(program, place.facts.body, name, after))
    attributes = attributes_of(program, place, name, after)
    if attributes and all(alone or at in attributes for at, alone, _ in reads):
        inside = [read_as_attribute(program, one.rpartition(".")[2], place, after) for one in attributes.values()]
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
                small = small or call[3][0][1].lower().rpartition("_")[2] in _COUNTS
                if given is not None and ours and not small and not _is_one(place.facts.body, call[1], given):
                    yield call[1], call[2][-1], call[3][0][1]


def is_small(body: Block, given: Expr) -> bool:
    """Whether what each rank sends is a handful of numbers or names: by what it is called, or by what it is."""
    bound = [one[3] for one, _ in by_rank(body) if one[0] == m.ASSIGN and given in one[2]]
    if any(value[0] == m.CALL and last_name(value[2]) == "state_dict" for value in bound):
        return False  # `state = model.state_dict()`
    if not _FIGURES.isdisjoint(str(given[-1]).lower().split("_") if given[0] in (m.NAME, m.ATTR) else ()):
        return True
    return any(_is_of_numbers(value) for value in (given, *bound)) or _holds_texts(body, given, bound)


def _holds_texts(body: Block, given: Expr, bound: list[Expr]) -> bool:
    """Whether all that is put into a table or list of one's own are texts and numbers: `files[key] = str(path.name)`"""
    if not any((value[0] == m.NEW and not value[3]) or (value[0] == m.DICT and not value[2]) for value in bound):
        return False
    put = [one[3] for one, _ in by_rank(body) if one[0] == m.ASSIGN
           for target in targets(one) if target[0] == m.ITEM and target[1] == given]  # fmt: skip
    asked = [call for one, _ in by_rank(body) for call in calls_of(one) if call[2][0] == m.ATTR and call[2][1] == given]
    put += [value for call in asked if call[2][2] in ("append", "add") for value in call[3]]
    more = any(call[2][2] in ("update", "extend", "setdefault", "insert") for call in asked)
    return bool(put) and not more and all(_is_text(value) or _is_of_numbers(value) for value in put)


def _is_text(value: Expr) -> bool:
    return value[0] == m.TEXT or (value[0] == m.CALL and last_name(value[2]) in _TEXTS)


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
    if value[0] in (m.ARITH, m.COND):  # `bank.nbytes / 2**20 if bank is not None else 0.0`
        return any(one[0] == m.CONST and one[1] is not None for one in value[2:])
    if value[0] == m.COMP:  # `[np.percentile(times, k) for k in [1, 5, 95]]`
        return all(clause[1][0] == m.NEW for clause in value[5])
    return value[0] in (m.CONST, m.TEXT)


def attributes_of(program: Program, place: Place, name: str, after: Site) -> dict[Site, str]:
    """The attributes that what was gathered is put on, by all ranks, with where: of the object, or of those that the
    function is given, or goes over, where their class is in the file."""
    found: dict[Site, str] = {}
    names = {name}
    given = {"self"}.union(param.name for param in place.facts.params)
    for statement, alone in by_rank(place.facts.body):
        names |= elements(statement, names) | joined(statement, names)
        if statement[0] == m.FOR:
            given.update(target[1] for target in targets(statement) if target[0] == m.NAME)
        value = put_away(statement, given - names)
        if alone or statement[1] <= after or value is None or not as_large(value[1]):
            continue
        own = value[0][1] == SELF or _is_of_a_class(program, value[0][2])
        if own and any(part[0] == m.NAME and part[1] in names for part in nodes(value[1])):
            found[statement[1]] = f"{value[0][1][1]}.{value[0][2]}"
    return found


def _is_of_a_class(program: Program, attribute: str) -> bool:
    """Whether a class of the file sets an attribute in its constructor, or says that there is one."""
    bodies = {cls.body for cls in program.facts.classes}
    for place in program.places:
        if place.facts.name == "__init__" and (m.ATTR, SELF, attribute) in (
            target for one in statements(place.facts.body) for target in targets(one)
        ):
            return True
    bound = (target for index in bodies for one in program.facts.functions[index].body for target in targets(one))
    return (m.NAME, attribute) in bound


def read_as_attribute(program: Program, attribute: str, gathering: Place, gathered: Site) -> list[Site]:
    """Where one rank reads an attribute; none if another does, or if it is emptied for all. What the rank has of its
    own there is read where it is sent."""
    found: list[Site] = []
    by_one = called_by_one(program.facts)
    for place in program.places:
        for statement, alone in by_rank(place.facts.body) if place.facts.name != "__init__" else ():
            if statement[0] == m.DELETE or (statement[0] == m.ASSIGN and _is_emptied(statement, attribute)):
                named = any(part[0] == m.ATTR and part[2] == attribute for part in expressions_of(statement))
                if named and not _begins(program, place, attribute):
                    return []
                continue
            asks = statement[0] == m.IF and statement[2][0] in (m.NOT, m.ATTR)  # whether it is there
            adds = put_away(statement)
            if place is gathering and statement_of(statement[1]) <= statement_of(gathered):
                continue
            if adds is not None and adds[0][2] == attribute and not _reads_attribute(adds[1], attribute):
                continue
            for head in () if asks else values_in(statement):
                if _reads_attribute(head, attribute):
                    used = [statement[1]] if alone or place.facts.name in by_one else _result_used(program, place)
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
        for head in values_in(statement)
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
    return any(_reads_attribute(part, attribute) for part in parts_of(expr))


def _in_callers(program: Program, helper: Place, depth: int = 1) -> list[Site]:
    """Where one rank reads what a helper returns; none if another rank does, or if nobody is seen to call it."""
    found: list[Site] = []
    for place in program.places if depth else ():
        if helper.facts.name not in place.facts.calls:
            continue
        for statement, _ in by_rank(place.facts.body):
            if statement[0] == m.ASSIGN and _calls(statement[3], helper.facts.name):
                reads = [
                    read_by_one(program, place, target[1], statement[1], depth - 1)[0]
                    for target in large_parts(helper, statement[2][0])
                    if target[0] == m.NAME
                ]
                if not reads or not all(reads):
                    return []
                found.append(reads[0][0])
            elif any(_calls(head, helper.facts.name) for head in heads(statement)):
                return []
    return found


def large_parts(helper: Place, bound: Expr) -> list[Expr]:
    """What a call's result is bound to; of several, `bank, mean = extract(loader)`, those for what the helper returns
    as it was gathered, `return torch.cat(rows), total / count`."""
    if bound[0] != m.NEW:
        return [bound]
    given = [one[2] for one in statements(helper.facts.body) if one[0] == m.RETURN and one[2] is not None]
    tuples = [one[3] for one in given if one[0] == m.NEW and len(one[3]) == len(bound[3])]
    return [target for index, target in enumerate(bound[3]) if any(as_large(one[index]) for one in tuples)]


def _calls(expr: Expr, name: str) -> bool:
    return any(node[0] == m.CALL and len(node) == 5 and node[2][-1] == name for node in nodes(expr))
