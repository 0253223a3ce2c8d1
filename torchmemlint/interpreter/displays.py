"""Displays and comprehensions: what makes a list, a dictionary or a generator on the spot."""

from __future__ import annotations

import functools
from typing import Any

from ..facts import model as m
from ..facts.model import Expr
from ..facts.swapped import swapped
from .branching import begin_round, branch, goes_with, is_building, loop_at, note_rounds, round_of_its_own
from .elements import is_field, iterate, named_entries
from .frames import Frame
from .loops import loop_kind, take_steps
from .machine import Machine, evaluates
from .narrowing import truth
from .stores import renew, settle, store, take_in
from .values import OFF, UNKNOWN, Const, Obj, Value, constant


@evaluates(m.NEW)
def _new(machine: Machine, frame: Frame, expr: Expr) -> Value:
    _, ident, kind, items = expr
    obj = renew(
        machine, _one_of_two(machine, frame, ident, kind) if not items else machine.allocate(frame, ident, kind)
    )
    starred = False
    for index, item in enumerate(items):
        value = machine.eval(frame, item)
        starred = starred or item[0] == m.STAR
        key = "*" if starred or index >= 8 or kind == "set" else f"[{index}]"
        if key == "*":
            value = machine.join(obj.fields.get("*", UNKNOWN), value)
        settle(obj, key, value)
        machine.put(obj.fields, key, value)
    return (obj,)


@evaluates(m.DICT)
def _dict(machine: Machine, frame: Frame, expr: Expr) -> Value:
    _, ident, pairs = expr
    made = machine.allocate(frame, ident, "dict") if pairs else _one_of_two(machine, frame, ident, "dict")
    obj = renew(machine, made)
    for key, item in pairs:
        value = machine.eval(frame, item)
        if key is None:
            for atom in value:
                if type(atom) is Obj:
                    for field, part in atom.fields.items():
                        machine.put(obj.fields, field, machine.join(obj.fields.get(field, UNKNOWN), part))
            continue
        name = constant(machine.eval(frame, key))
        field = "*" if name is ... else f"[{name}]"
        settle(obj, field, value)
        machine.put(obj.fields, field, machine.join(obj.fields.get(field, UNKNOWN), value))
    return (obj,)


def _one_of_two(machine: Machine, frame: Frame, ident: Any, kind: str) -> Obj:
    """What an empty display makes. Where a name has what the place had that gets it, `rows, self.rows = self.rows, []`,
    it is not the object of the round before, which that name has now, but one that takes turns with it."""
    obj = machine.allocate(frame, ident, kind)
    if machine.statement not in swapped(frame.facts):
        return obj
    turn = ("turn", ident)
    if frame.allocs.get(turn) is obj:
        obj = machine.allocate(frame, ("other", ident), kind)
    frame.allocs[turn] = obj
    return obj


def _entries(machine: Machine, frame: Frame, expr: Expr) -> list[dict[str, Value]] | None:
    """What each round binds, where a dictionary is made by going through the keys, or `items()`, of one whose keys are
    all known, or through names that are spelled out."""
    _, _, kind, _, value, clauses = expr
    target, iterable, _ = clauses[0]
    if kind != "dict" or value is None or len(clauses) > 1:
        return None
    method = iterable[2][2] if iterable[0] == m.CALL and iterable[2][0] == m.ATTR and not iterable[3] else ""
    over = machine.eval(frame, iterable[2][1] if method in ("items", "keys") else iterable)
    if target[0] == m.NAME and not method:
        names = _spelled_out(over)
        if names:
            return [{target[1]: name} for name in names]
    entries = named_entries(over)
    if entries is None:
        return None
    if method == "items":
        pair: tuple[Expr, ...] = target[3] if target[0] == m.NEW else ()
        if len(pair) != 2 or any(name[0] != m.NAME for name in pair):
            return None
        return [{pair[0][1]: (Const(key),), pair[1][1]: part} for key, part in entries.items()] or None
    if target[0] != m.NAME or any(type(atom) is Obj and atom.unknown for atom in over):
        return None
    return [{target[1]: (Const(key),)} for key in entries] or None


def _spelled_out(over: Value) -> list[Value]:
    """The names in tuples, also of one class or another, `for key in metric.wants`: as many as there may be. Those of
    the fields of a data class stand on its fields."""
    found: dict[str, Value] = {}
    for atom in over:
        parts = atom.fields if type(atom) is Obj and atom.kind in ("tuple", "list") else {"*": UNKNOWN}
        for key, part in parts.items():
            name = constant(part[0].fields["name"] if is_field(part) else part)
            if key == "*" or type(name) is not str:
                return []
            found[name] = part if is_field(part) else (Const(name),)
    return list(found.values())


def _comp_of_entries(machine: Machine, frame: Frame, expr: Expr, entries: list[dict[str, Value]]) -> Value:
    """A dictionary made of another one, entry by entry: `{k: v if k == "n" else v.detach() for k, v in it.items()}`,
    `{k: torch.stack([item[k] for item in items]) for k in items[0]}`."""
    _, ident, kind, element, value_expr, ((_, _, tests),) = expr
    saved = dict(frame.vars)
    journal, since = machine.journal, len(machine.journal or ())
    made: dict[str, Value] = {}
    for number, entry in enumerate(entries):
        frame.vars.update(entry)
        if any(truth(machine, frame, test)[0] is False for test in tests):
            continue
        with round_of_its_own(frame, ident, number):  # an object for each
            value = machine.eval(frame, value_expr)
        key = constant(machine.eval(frame, element))
        field = "*" if key is ... else f"[{key}]"
        made[field] = machine.join(made.get(field, UNKNOWN), value)
    machine.forget_locals(frame, journal, since)  # its variables are its own
    frame.vars.clear()
    frame.vars.update(saved)
    obj = renew(machine, machine.allocate(frame, ident, kind))  # not before: it may be what is added to
    for field, value in made.items():
        settle(obj, field, value)
        machine.put(obj.fields, field, value)
    return (obj,)


@evaluates(m.COMP)
def _comp(machine: Machine, frame: Frame, expr: Expr) -> Value:
    if expr[2] != "generator":
        return _collect(machine, frame, expr)
    if machine.grad == OFF:
        return (machine.generate_later(frame, expr[1], functools.partial(_generate, machine, frame, expr)),)
    return _generate(machine, frame, expr)


def _generate(machine: Machine, frame: Frame, expr: Expr) -> Value:
    outer, machine.generating = machine.generating, len(machine.loops)
    made = _collect(machine, frame, expr)
    machine.generating = outer
    return made


def _go_round(machine: Machine, frame: Frame, element: Expr) -> Value:
    """The elements of a comprehension: of a second round, too, if the first has changed what was there before, as
    `trainer.step(batch) for batch in batches` does."""
    loop, made = machine.loops[-1], UNKNOWN

    def once() -> None:
        nonlocal made
        value = machine.eval(frame, element)
        made = machine.join(made, value) if made else value

    if loop.kind != "loop" or element[0] != m.CALL or machine.again:
        once()
        return made
    changed = branch(machine, frame, [once], conditional=False)
    if changed and not machine.exhausted and not is_building(frame):
        machine.again += 1
        begin_round(machine, loop)
        once()
        machine.again -= 1
    return made


def _collect(machine: Machine, frame: Frame, expr: Expr) -> Value:
    _, ident, kind, element, value_expr, clauses = expr
    entries = _entries(machine, frame, expr)
    if entries is not None:
        return _comp_of_entries(machine, frame, expr, entries)
    first = machine.eval(frame, clauses[0][1])
    item = iterate(machine, frame, first)  # before `obj` is emptied: it may be in what is gone through
    obj = renew(machine, machine.allocate(frame, ident, kind))
    saved = dict(frame.vars)
    journal, since = machine.journal, len(machine.journal or ())
    loops = machine.loops
    for number, (target, iterable, tests) in enumerate(clauses):
        over = machine.eval(frame, iterable) if number else first
        loop = loop_at(machine, frame, ("comp", ident), loop_kind(machine, frame, iterable, over))
        goes_with(loop, over)
        machine.loops = (*loops, loop)
        begin_round(machine, loop)
        machine.assign(frame, target, iterate(machine, frame, over) if number else item, machine.site)
        for test in tests:
            _, positive, _ = truth(machine, frame, test)
            frame.vars.update({name: value for name, value in positive.items() if value})
    value = _go_round(machine, frame, element if value_expr is None else value_expr)
    take_steps(machine, machine.loops[-1], over)
    key = constant(machine.eval(frame, element)) if value_expr is not None else ...
    field = "*" if key is ... else f"[{key}]"
    if kind != "generator":
        value = store(machine, frame, obj, field, value, "grow", machine.site)
    else:
        note_rounds(obj, machine.loops[len(loops) :])
    machine.loops = loops
    machine.forget_locals(frame, journal, since)  # its variables are its own
    frame.vars.clear()
    frame.vars.update(saved)
    settle(obj, field, value)
    take_in(frame, obj, field, value)
    machine.put(obj.fields, field, value)
    if field == "*" and value_expr is not None and value_expr[0] == m.NEW and not value_expr[3]:
        obj.fields["$each"] = value  # `{event: [] for event in Events}`: a list for each
    return (obj,)
