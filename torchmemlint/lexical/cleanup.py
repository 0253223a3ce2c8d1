"""Clean-up that does not clean: what the text between `del`, `gc.collect()` and `empty_cache()` leaves bound."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import EMPTIES, Block, Place, Program, targets, text
from ..facts.walk import blocks, calls, calls_of, last_name, statements
from .other_engines import has_another_engine

FREES = (*EMPTIES, "collect", "malloc_trim", "ipc_collect")
MODELS = ("model", "net", "network", "module", "trainer", "pipe", "pipeline", "teacher", "student", "agent", "engine",
           "generator", "discriminator", "encoder", "decoder", "backbone", "policy", "llm", "unet", "vae")  # fmt: skip


class Slip(NamedTuple):
    """A clean-up that leaves something: where, what name, and a second place."""

    site: Site
    name: str
    other: Site
    weight: int
    kind: str = ""


def empties(program: Program, call: Expr) -> bool:
    """`torch.cuda.empty_cache()` and its like, or a function of the file that does little else."""
    name = last_name(call[2])
    if name in EMPTIES:
        return True
    return name in program.emptying


def collects(program: Program, call: Expr) -> bool:
    return program.dotted(call[2]) == "gc.collect"


def may_clean_up(program: Program, function: FunctionFacts) -> bool:
    """Whether a function calls something of a name that collects garbage or empties a cache: quickly told."""
    return "collect" in function.calls or not program.emptying.union(EMPTIES).isdisjoint(function.calls)


def runs(body: Block) -> Iterator[tuple[Stmt, ...]]:
    """Every sequence of statements that follow each other, `if device == "cuda":` taken as always, and with
    what a `with`, or a `try` that goes on whatever happens, has in it."""
    flat: list[Stmt] = []
    for statement in body:
        if statement[0] == m.IF and not statement[4] and _asks_for_a_device(statement[2]):
            flat += statement[3]
        elif statement[0] == m.WITH:
            flat += [statement, *statement[3]]
        elif statement[0] == m.TRY and all(not _ends(clause) for _, _, clause in statement[3]):
            flat += [statement, *statement[2], *statement[4], *statement[5]]
        else:
            flat.append(statement)
        for block in blocks(statement):
            yield from runs(block)
    yield tuple(flat)


def _asks_for_a_device(test: Expr) -> bool:
    """`torch.cuda.is_available()`, `device.type == "cuda"`"""
    return "is_available" in str(test) or (test[0] == m.COMPARE and test[1] == "Equal" and "cuda" in str(test[3]))


def _ends(clause: Block) -> bool:
    return any(one[0] in m.LEAVES for one in clause)


def emptied_before_collected(program: Program) -> Iterator[Slip]:
    """`empty_cache()` and then `gc.collect()`, with nothing emptied after it."""
    if not set(EMPTIES) & program.called or "collect" not in program.called:
        return
    for place in program.places:
        if "collect" not in place.facts.calls:
            continue
        drops = list(_dropped(program, place))
        by_callers = "" if drops else _dropped_by_callers(program, place)
        again = set(_in_rounds(program, place))
        for run in runs(place.facts.body):
            found = [(call, collects(program, call)) for one in run for call in own_calls(one)]
            order = [(call[1], what) for call, what in found if what or empties(program, call)]
            for (site, collected), (later, freed) in itertools.pairwise(order):
                if collected or m.statement_of(site) in again:
                    continue
                if freed and not any(not what for at, what in order if at > later):
                    dropped = next((name for name, at in drops if at < later), by_callers)
                    first = not any(what for at, what in order if at < site)
                    yield Slip(site, dropped, later, 2 if dropped and first else 1)
                    break


def _in_rounds(program: Program, place: Place) -> Iterator[int]:
    """The statements of `for _ in range(3): empty_cache(); gc.collect()`: the next round gives back what this one's
    collection has freed."""
    for loop in statements(place.facts.body):
        inside = list(calls(loop[4])) if loop[0] == m.FOR else []
        if inside and all(empties(program, call) or collects(program, call) or _asks(call) for call in inside):
            yield from (m.statement_of(call[1]) for call in inside)


def _asks(call: Expr) -> bool:
    return last_name(call[2]) in ("is_available", "synchronize", "ipc_collect")


def own_calls(statement: Stmt) -> list[Expr]:
    if statement[0] in (m.FOR, m.WHILE, m.IF, m.TRY, m.WITH):
        return []
    return sorted(calls_of(statement), key=lambda call: int(call[1]))


def _dropped(program: Program, place: Place) -> Iterator[tuple[str, Site]]:
    """The models, trainers and the like that a function drops, and where: such objects sit in reference cycles."""
    for statement in statements(place.facts.body):
        for name in given_up(statement):
            words = name.rsplit(".", 1)[-1].lower().split("_")
            named = any(word in MODELS for word in words) and not has_another_engine(program, place, name)
            if named or is_built(program, place, name):
                yield name, statement[1]


def _dropped_by_callers(program: Program, helper: Place) -> str:
    """What a caller drops before it calls a function that is there to free memory: `del model`, `clear_memory()`."""
    name = helper.facts.name
    for place in program.places if not helper.cls and not helper.facts.params else ():
        if name not in place.facts.calls or place.facts is helper.facts:
            continue
        for run in runs(place.facts.body):
            for before, statement in itertools.pairwise(run):
                told = statement[0] == m.EXPR and statement[2][0] == m.CALL and last_name(statement[2]) == name
                for dropped in given_up(before) if told else ():
                    words = dropped.rsplit(".", 1)[-1].lower().split("_")
                    if any(word in MODELS for word in words) or is_built(program, place, dropped):
                        return dropped
    return ""


def is_built(program: Program, place: Place, name: str) -> bool:
    """Whether a name, or an attribute of the class, is bound to an instance of a class of the file that is a module."""
    modules = {cls.name for cls in program.facts.classes if any(last_name(base) == "Module" for base in cls.bases)}
    places = [other for other in program.places if other.cls == place.cls] if name.startswith("self.") else [place]
    return bool(modules) and any(
        statement[0] == m.ASSIGN and _root_class(statement[3]) in modules and name in map(text, targets(statement))
        for other in places
        for statement in statements(other.facts.body)
    )


def _root_class(expr: Expr) -> str:
    """`Adapter` of `Adapter(4).to(device).eval()`."""
    while expr[0] == m.CALL and expr[2][0] == m.ATTR and expr[2][1][0] == m.CALL:
        expr = expr[2][1]
    return last_name(expr[2]) if expr[0] == m.CALL else ""


def given_up(statement: Stmt) -> list[str]:
    """The names and attributes that a statement lets go of, in whatever way it is written."""
    op = statement[0]
    if op == m.DELETE:
        return [name for target in statement[2] if (name := text(target) or _in_table(target))]
    if op == m.ASSIGN and _is_none(statement[3]):
        return [name for target in targets(statement) if (name := text(target) or _in_table(target))]
    found = []
    for call in calls_of(statement):
        name, given = last_name(call[2]), call[3]
        if name == "pop" and call[2][0] == m.ATTR and given:
            found.append(_in_table((m.ITEM, call[2][1], given[0])))
        elif call[2] in ((m.NAME, "delattr"), (m.NAME, "setattr")) and len(given) > 1 and given[1][0] == m.CONST:
            gone = call[2][1] == "delattr" or given[2:] == ((m.CONST, None),)
            found.append(f"{text(given[0])}.{given[1][1]}" if gone and text(given[0]) else "")
    return [name for name in found if name]


def _is_none(value: Expr) -> bool:
    """`None`, and `None, None` for several."""
    return value == (m.CONST, None) or (value[0] == m.NEW and set(value[3]) == {(m.CONST, None)})


def _in_table(place: Expr) -> str:
    """`self.model` of `self.__dict__["model"]` and `vars(self)["model"]`."""
    if place[0] != m.ITEM or place[2][0] != m.CONST or not isinstance(place[2][1], str):
        return ""
    table = place[1]
    if table[0] == m.ATTR and table[2] == "__dict__":
        owner = table[1]
    elif table[0] == m.CALL and table[2] == (m.NAME, "vars") and table[3]:
        owner = table[3][0]
    else:
        return ""
    return f"{text(owner)}.{place[2][1]}" if text(owner) else ""


def let_go(statement: Stmt) -> list[str]:
    if statement[0] == m.DELETE:
        return [target[1] for target in statement[2] if target[0] == m.NAME]
    if statement[0] == m.ASSIGN and statement[3] == (m.CONST, None):
        return [target[1] for target in targets(statement) if target[0] == m.NAME]
    return []


def emptied_in_loop(program: Program) -> Iterator[Slip]:
    """`empty_cache()` or `gc.collect()` in every round of an innermost loop."""
    if not set(FREES) & program.called:
        return
    for place in program.places:
        for statement in statements(place.facts.body):
            if statement[0] not in (m.FOR, m.WHILE):
                continue
            body = statement[4] if statement[0] == m.FOR else statement[3]
            if any(one[0] in (m.FOR, m.WHILE) for one in statements(body)):
                continue
            for one in body:
                for call in own_calls(one):
                    if last_name(call[2]) in EMPTIES or collects(program, call):
                        yield Slip(call[1], last_name(call[2]), statement[1], 2)
