"""Writers of event files, each with a thread, that an object or a function makes and never closes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, Site, Stmt
from ..facts.program import Place, Program, expressions, targets
from ..facts.walk import calls, last_name, nodes, statements
from .once import ONCE, is_repeated
from .segments import called_on, flow

_ENDS = frozenset(
    """close finalize finish end stop done shutdown teardown terminate __exit__ __del__ on_train_end on_fit_end
    on_close on_end on_run_end after_run after_train""".split()
)


_WRITERS = frozenset(("SummaryWriter", "FileWriter", "EventFileWriter"))
_PER_PROCESS = ("train", "run", "main", "loop", "setup", "set_up", "init", "launch", "worker", "start", "fit")
_SCRIPTS = frozenset("parse_args ArgumentParser Fire main_fun run_app".split())


class Unclosed(NamedTuple):
    """`self.writer = SummaryWriter(...)`, or a local name of a function that is called again and again."""

    site: Site
    name: str
    end: str  # the method that uses it last; of a local: the function
    local: bool = False


def unclosed_writers(program: Program) -> Iterator[Unclosed]:
    """Writers that the end of their owner's work, or of their function, leaves open, and that nothing closes."""
    makers = _makers(program)
    if program.called.isdisjoint(makers):
        return
    for cls in program.facts.classes:
        for site, attribute in _made(program, cls):
            names = _names_of(program, attribute)
            ends = (name for name in cls.methods if name in _ENDS)
            end = next((name for name in ends if _uses(program, cls, name, names)), "")
            if end and not _is_closed(program, names):
                yield Unclosed(site, f"self.{attribute}", end)
                break
    script = _is_script(program)
    for place in program.places:
        if makers.isdisjoint(place.facts.calls) or place.facts.name in ONCE or place.facts.generator:
            continue
        once = script or (not place.cls and any(word in place.facts.name for word in _PER_PROCESS))
        for statement in statements(place.facts.body) if not once or _again(program, place) else ():
            made = _made_here(program, statement)
            if made is not None and _stays_open(program, place, statement, made):
                name = last_name(next(iter(targets(statement)), None))
                yield Unclosed(made[1], name or last_name(made[2]), place.facts.name, True)


def _again(program: Program, place: Place) -> bool:
    """Whether a loop calls a function: by a name that no model has for a method."""
    return place.facts.name not in ("train", "eval") and is_repeated(program, place)


def _is_script(program: Program) -> bool:
    """Whether a file is run, so that what it defines runs once if no loop calls it."""
    runs = (call for one in program.facts.functions[0].body if one[0] == m.EXPR for call in calls((one,)))
    if any(call[2][0] == m.NAME and call[2][1] in program.by_name for call in runs):
        return True
    guards = (one[2] for one in program.facts.functions[0].body if one[0] == m.IF)
    return bool(program.called & _SCRIPTS) or any((m.NAME, "__name__") in nodes(test) for test in guards)


def _made_here(program: Program, statement: Stmt) -> Expr | None:
    """The writer that a statement binds to a local name, or uses at once."""
    if statement[0] in (m.ASSIGN, m.ANNOTATE):
        bound = all(target[0] == m.NAME for target in targets(statement))
        return _writer_in(program, statement[-1]) if bound else None
    if statement[0] == m.EXPR and statement[2][0] == m.CALL and statement[2][2][0] == m.ATTR:
        return _writer_in(program, statement[2][2][1])
    return None


def _stays_open(program: Program, place: Place, statement: Stmt, made: Expr) -> bool:
    """Whether nobody closes a local writer: nor any that it is given to, under whatever name."""
    names = {last_name(target) for target in targets(statement)}
    if any(one[0] in (m.GLOBAL, m.NONLOCAL) and names & set(one[2]) for one in statements(place.facts.body)):
        return False
    value = statement[-1] if statement[0] != m.EXPR and statement[-1][0] == m.COMP else made
    keys, escapes = flow(program, place, statement, value)
    if statement[0] == m.EXPR:
        return last_name(statement[2][2]) != "close"
    if escapes or any(scope == "" for scope, _ in keys):
        return False  # `self.writer`: its end is its owner's
    return not _is_closed(program, {name for _, name in keys})


def _is_closed(program: Program, names: set[str]) -> bool:
    """Whether anything that goes by one of these names is closed, or its `close` is given away."""
    if names & {name for _, name in called_on(program, "close")}:
        return True
    for place in program.places:
        called = {id(call[2]) for call in calls(place.facts.body)}
        for part in expressions(place.facts.body):
            if part[0] == m.ATTR and part[2] == "close" and last_name(part[1]) in names and id(part) not in called:
                return True
    return False


def _made(program: Program, cls: ClassFacts) -> Iterator[tuple[Site, str]]:
    for index in cls.methods.values():
        function = program.facts.functions[index]
        local: dict[Expr, Site] = {}
        for one in statements(function.body) if not _makers(program).isdisjoint(function.calls) else ():
            if one[0] != m.ASSIGN:
                continue
            made = _writer_in(program, one[3])
            site = made[1] if made is not None else local.get(one[3])
            if site is not None:
                local.update((place, site) for place in one[2])
                own = (place for place in one[2] if place[0] == m.ATTR and place[1] == (m.NAME, "self"))
                yield from ((site, place[2]) for place in own)


def _writer_in(program: Program, value: Expr | None) -> Expr | None:
    """The call that makes the writer which a value is, or each writer of a list."""
    if value is None:
        return None
    value = value[3 if value[0] == m.COMP else 2] if value[0] in (m.COND, m.COMP) else value
    made = value is not None and value[0] == m.CALL and last_name(value[2]) in _makers(program)
    return value if made else None


def _makers(program: Program) -> set[str]:
    """What a writer's class is called in this file."""
    return {name for name, full in program.imports.items() if full.rpartition(".")[2] in _WRITERS} | _WRITERS


def _names_of(program: Program, attribute: str) -> set[str]:
    """What else stands for an attribute: a property that returns it, a local name."""
    names = {attribute}
    for place in program.places:
        for one in statements(place.facts.body):
            if one[0] == m.RETURN and one[2] is not None and one[2][0] == m.ATTR and one[2][2] == attribute:
                names.add(place.facts.name)
            if one[0] in (m.ASSIGN, m.FOR) and last_name(one[3]) == attribute:
                names |= {last_name(target) for target in targets(one)}
    return names


def _uses(program: Program, cls: ClassFacts, method: str, names: set[str]) -> bool:
    function = program.facts.functions[cls.methods[method]]
    return any(call[2][0] == m.ATTR and last_name(call[2][1]) in names for call in calls(function.body))
