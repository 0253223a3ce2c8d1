"""Futures in a local list that a loop goes through one by one: each keeps its result until the list is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import call_at, calls_of, expressions_of, last_name, nodes, statements
from ..interpreter.events import Plain
from ..interpreter.machine import Machine
from ..interpreter.values import Obj, Value
from ..interpreter.weights import heavy
from ..lexical.loaded_tables import gives_what_a_file_held
from ..lexical.lost_tickets import RESULTS, SUBMITS

_QUESTIONS = ("ready", "done", "running", "successful", "cancelled", "wait")  # leave the result where it is
_THROUGH = frozenset("as_completed enumerate tqdm track list iter sorted reversed zip items keys values".split())
_ADDS = frozenset("append add extend insert appendleft update put setdefault".split())
_WHOLE = -1


class KeptResults(NamedTuple):
    """A list of futures whose results are used one after another."""

    site: Site
    name: str
    what: str
    read: Site  # the loop that uses them


def results_in_lists(machine: Machine, program: Program) -> Iterator[KeptResults]:
    """Local lists of futures with heavy results, that a loop uses and nobody collects."""
    submitted: dict[Site, tuple[str, frozenset[int]]] = {}
    for note in machine.plain:
        if note.kind == "submitted" and machine.is_home(note.site):
            what, parts = _heavy_parts(machine, note.detail.made)
            if not what and not note.detail.made and _loads(program, note):
                what, parts = "array", frozenset((_WHOLE,))
            if what:
                submitted[note.site] = what, parts
    for place in program.places if submitted else ():
        if not set(SUBMITS).isdisjoint(place.facts.calls) and not set(RESULTS).isdisjoint(place.facts.calls):
            yield from _in_place(program, place, submitted)


def _loads(program: Program, note: Plain) -> bool:
    """`executor.submit(read, path)` of a function of the file that gives back what a file held."""
    call = call_at(note.frame.facts.body, note.site)
    name = last_name(call[3][0]) if call is not None and call[3] and call[3][0][0] == m.NAME else ""
    found = [place.facts for place in program.by_name.get(name, ()) if not place.cls]
    return len(found) == 1 and gives_what_a_file_held(program, found[0])


def _heavy_parts(machine: Machine, made: Value) -> tuple[str, frozenset[int]]:
    """What is heavy in a result, and where in it, if it is a tuple."""
    found = set[int]()
    word = ""
    for atom in made:
        parts = atom.fields if type(atom) is Obj and atom.kind == "tuple" else {}
        for index in range(len(parts) or 1):
            what, weight = heavy(machine, parts.get(f"[{index}]", ()) if parts else (atom,))
            if what in ("tensor", "array") and weight > 1:
                word = word or what
                found.add(index if parts else _WHOLE)
    return word, frozenset(found)


def _in_place(
    program: Program, place: Place, submitted: dict[Site, tuple[str, frozenset[int]]]
) -> Iterator[KeptResults]:
    for filled in statements(place.facts.body):
        name = _filled(filled)
        sites = [call[1] for call in calls_of(filled) if call[1] in submitted]
        if name is None or not sites:
            continue
        what, parts = submitted[sites[0]]
        read = _read_one_by_one(place, filled, name)
        if read is None or _is_collected(program, place, read, parts):
            continue
        submitted_calls = (call for call in calls_of(filled) if call[1] in submitted)
        if not (_is_only_awaited(read) and all(_keeps_it_itself(program, call) for call in submitted_calls)):
            yield KeptResults(filled[1], name[1], what, read[1])


def _filled(statement: Stmt) -> Expr | None:
    """The local that a statement fills with futures: by a comprehension, or one in each round."""
    if statement[0] == m.ASSIGN and statement[2][0][0] == m.NAME and statement[3][0] == m.COMP:
        return None if _are_few(statement[3]) else statement[2][0]
    if statement[0] == m.ASSIGN and statement[2][0][0] == m.ITEM and statement[2][0][1][0] == m.NAME:
        return statement[2][0][1]  # type: ignore[no-any-return]
    if statement[0] == m.EXPR and statement[2][0] == m.CALL and last_name(statement[2]) in ("append", "add"):
        callee = statement[2][2]
        return callee[1] if callee[0] == m.ATTR and callee[1][0] == m.NAME else None
    return None


def _are_few(comprehension: Expr) -> bool:
    """`for _ in range(4)`, `for rank in range(workers)`: one for each worker."""
    for _, iterated, _ in comprehension[5]:
        if iterated[0] == m.CALL and last_name(iterated) == "range" and iterated[3]:
            bound = iterated[3][-1]
            if bound[0] == m.CONST or any(w in last_name(bound) for w in ("worker", "proc", "thread", "world", "jobs")):
                return True
        elif iterated[0] == m.NEW:
            return True
    return False


def _read_one_by_one(place: Place, filled: Stmt, name: Expr) -> Stmt | None:
    """The loop that goes through the list, if it is all that does so and takes nothing out."""
    found: Stmt | None = None
    for statement in statements(place.facts.body):
        if statement is filled or (statement[0] == m.ASSIGN and statement[2] == (name,) and _is_empty(statement[3])):
            continue
        if statement[0] == m.FOR and _goes_through(statement[3], name) and found is None:
            if any(_mentions(inner, name, statement[2]) for inner in statements(statement[4])):
                return None
            found = statement
        elif _mentions(statement, name, None if found is None else found[2]):
            return None
    return found


def _is_empty(value: Expr) -> bool:
    return not value[-1] if value[0] in (m.NEW, m.DICT) else value[0] == m.CALL and not value[3]


def _mentions(statement: Stmt, name: Expr, future: Expr | None = None) -> bool:
    """Whether a statement does more with the list than to ask how long it is, what a table says of the future whose
    turn it is, `path = futures[future]`, or which of them are ready."""
    counted = {call[3][0] for call in calls_of(statement) if call[2] == (m.NAME, "len") and call[3]}
    parts = list(expressions_of(statement))
    asked = (m.ITEM, name, future)
    asks = 0 if statement[0] == m.DELETE or asked in targets(statement) else parts.count(asked)
    return name not in counted and parts.count(name) > asks + sum(_asks_about(part, name) for part in parts)


def _asks_about(expr: Expr, name: Expr) -> bool:
    """`jobs[0].wait()`, `sum(job.ready() for job in jobs)`"""
    if expr[0] == m.CALL:
        return _is_question(expr) and expr[2][1][:2] == (m.ITEM, name)
    if expr[0] != m.COMP:
        return False
    [(target, iterated, _), *more] = expr[5]
    inside = [part for part in nodes(expr) if part[0] != m.COMP]
    asked = sum(_is_question(part) and part[2][1] == target for part in inside)
    return iterated == name and not more and asked > 0 and inside.count(target) <= asked + 1


def _is_question(expr: Expr) -> bool:
    return expr[0] == m.CALL and expr[2][0] == m.ATTR and expr[2][2] in _QUESTIONS


def _goes_through(iterated: Expr, name: Expr) -> bool:
    if iterated[0] != m.CALL:
        return bool(iterated == name)
    if last_name(iterated[2]) not in _THROUGH:
        return False
    given = iterated[3] or ((iterated[2][1],) if iterated[2][0] == m.ATTR else ())
    return any(_goes_through(one, name) for one in given)


def _is_collected(program: Program, place: Place, loop: Stmt, parts: frozenset[int]) -> bool:
    """Whether the loop keeps the results anyway, or hands them to something that may."""
    futures = {part for part in nodes(loop[2]) if part[0] == m.NAME}
    held = set[Expr]()
    used = False
    for statement in statements(loop[4]):
        read = [call for call in calls_of(statement) if _gives_result(call, futures)]
        used = used or bool(read)
        if statement[0] == m.ASSIGN and statement[3] in read:
            held |= {name for target in statement[2] for name in _heavy_names(target, parts)}
        if not _sums_up(program, place, statement) and any(
            _may_keep(program, statement, value) for value in (*held, *read)
        ):
            return True
    return not used


def _sums_up(program: Program, place: Place, statement: Stmt) -> bool:
    """`total += part` of what has begun as a tensor or a number: a list would keep what is added to it."""
    if statement[0] != m.AUGMENT:
        return False
    begun = [one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and statement[2] in targets(one)]
    return bool(begun) and all(
        (value[0] == m.CONST and isinstance(value[1], (int, float)))
        or (value[0] == m.CALL and program.dotted(value[2]).startswith("torch."))
        for value in begun
    )


def _is_only_awaited(loop: Stmt) -> bool:
    """`for future in futures: future.result()`, which lets errors through and uses nothing."""
    futures = {part for part in nodes(loop[2]) if part[0] == m.NAME}
    read = [(one, call) for one in statements(loop[4]) for call in calls_of(one) if _gives_result(call, futures)]
    return bool(read) and all(one[0] == m.EXPR and one[2] == call for one, call in read)


def _keeps_it_itself(program: Program, submit: Expr) -> bool:
    """Whether what is submitted puts what it returns where others find it, `shards[rank] = state; return state`: that
    keeps it, and what is taken out of it there is gone from the future as well."""
    name = last_name(submit[3][0]) if submit[3] and submit[3][0][0] == m.NAME else ""
    found = [place.facts for place in program.by_name.get(name, ())]
    if len(found) != 1:
        return False
    returned = {one[2] for one in statements(found[0].body) if one[0] == m.RETURN and one[2] is not None}
    put = {
        one[3]
        for one in statements(found[0].body)
        if one[0] == m.ASSIGN and any(target[0] == m.ITEM for target in one[2])
    }
    return bool(returned) and all(value[0] == m.NAME and value in put for value in returned)


def _gives_result(call: Expr, futures: set[Expr]) -> bool:
    return call[2][0] == m.ATTR and call[2][2] in RESULTS and call[2][1] in futures


def _heavy_names(target: Expr, parts: frozenset[int]) -> Iterator[Expr]:
    if target[0] == m.NAME:
        yield target
    elif target[0] == m.NEW:
        yield from (one for index, one in enumerate(target[3]) if _WHOLE in parts or index in parts)


def _may_keep(program: Program, statement: Stmt, value: Expr) -> bool:
    """Whether a statement puts a value where it stays: into a container, on an object, or into what is not seen."""
    if statement[0] == m.ASSIGN:
        stays = any(target[0] == m.ITEM or _is_of_an_entry(target) for target in statement[2])
        if stays and value in _whole(statement[3]):
            return True
        if any(target[0] == m.NAME for target in statement[2]) and value == statement[3] and value[0] == m.NAME:
            return True  # by another name
    if statement[0] == m.AUGMENT and value in _whole(statement[4]):
        return True
    for call in calls_of(statement):
        given = [*call[3], *(one for _, one in call[4])]
        if not any(value in _whole(one) for one in given):
            continue
        if last_name(call[2]) in _ADDS and call[2][0] == m.ATTR and not _is_seen(program, call):
            return True
        if _is_kept_inside(program, call, value):
            return True
    return False


def _is_of_an_entry(target: Expr) -> bool:
    """`buffers[index].data`: another object's in each round."""
    return target[0] == m.ATTR and any(part[0] == m.ITEM for part in nodes(target[1]))


def _whole(expr: Expr) -> Iterator[Expr]:
    """A value and what it is a display of."""
    yield expr
    if expr[0] == m.NEW:
        yield from (inner for one in expr[3] for inner in _whole(one))
    elif expr[0] == m.DICT:
        yield from (inner for _, one in expr[2] for inner in _whole(one))
    elif expr[0] == m.STAR:
        yield from _whole(expr[1])


def _is_seen(program: Program, call: Expr) -> bool:
    return len(program.by_name.get(last_name(call[2]), ())) == 1


def _is_kept_inside(program: Program, call: Expr, value: Expr) -> bool:
    """Whether a function of the file puts what it is given into a container."""
    if not _is_seen(program, call):
        return False
    function = program.by_name[last_name(call[2])][0].facts
    bound = function.owner >= 0 and call[2][0] == m.ATTR
    for index, param in enumerate(function.params):
        given = keyword(call, param.name, index - bound)
        if given is None or value not in _whole(given):
            continue
        inside = (m.NAME, param.name)
        for statement in statements(function.body):
            item = statement[0] == m.ASSIGN and any(target[0] == m.ITEM for target in statement[2])
            if (item and inside in _whole(statement[3])) or any(
                last_name(one[2]) in _ADDS and any(inside in _whole(part) for part in one[3])
                for one in calls_of(statement)
            ):
                return True
    return False
