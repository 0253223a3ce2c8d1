"""What a module makes when it is imported: every spawned worker makes it again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import LOADS_A_MODEL
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, Program, keyword, targets
from ..facts.walk import calls_of, last_name, nodes, statements
from ..interpreter.linking import Unit, module_name
from ..interpreter.machine import Machine
from ..interpreter.values import Value, constant, functions_behind, functions_in
from ..interpreter.weights import heavy
from ..lexical.loaded_tables import holds_loaded
from .record_parts import makes_array

_FEW_WEIGHTS = 100_000
_SETTINGS = ("config", "cfg", "settings", "options", "args")  # ends of the names of classes whose objects are small


class MadeAtImport(NamedTuple):
    """A heavy value that a module makes when it is imported."""

    site: Site
    name: str
    what: str
    worker: Site
    weight: int
    module: str = ""  # another file of the project that makes it: the one that the workers' function is in


def made_at_import(machine: Machine, program: Program) -> Iterator[MadeAtImport]:
    """What every spawned worker makes again: of this module, and of those that the workers' functions are in."""
    method = start_method(program)
    started = [note for note in machine.plain if note.kind == "worker"]
    started = [n for n in started if (n.detail[0].method or method) in ("spawn", "forkserver")]
    theirs = {one.frame.unit.path: (n, one.frame.unit) for n in reversed(started) for one in functions_in(n.detail[1])}
    home = machine.home
    if not _is_main_script(machine):  # which workers import, wherever their function is [docs of multiprocessing]
        started = [n for n in started if _of_this_file(machine, n.detail[1])]
    if started and not home.path.endswith(".ipynb"):  # whose cells no worker runs: they have no file to import
        yield from _made_by(machine, home, started[0].site)
    for note, unit in theirs.values():
        if unit is not home and machine.is_home(note.site):
            for made in _made_by(machine, unit, note.site):
                yield made._replace(module=unit.name)


def _made_by(machine: Machine, unit: Unit, worker: Site) -> Iterator[MadeAtImport]:
    """What the body of a module makes."""
    body = unit.outline.whole.functions[0]
    for statement in _import_time(body.body):
        for target in targets(statement):
            if target[0] != m.NAME:
                continue
            expr = statement[3] if statement[0] == m.ASSIGN else statement[4]
            if expr is None or expr[0] != m.CALL or any(key == "mmap_mode" for key, _ in expr[4]):
                continue  # what is mapped into memory is one file for all
            what, weight = heavy(machine, module_name(machine, unit.frame, target[1]) or ())
            if not what and holds_loaded(unit.outline.program, body, expr):
                what, weight = "table", 2
            if last_name(expr[2]).lower().endswith(_SETTINGS):
                continue
            if not what and unit.outline.program.dotted(expr[2]) in LOADS_A_MODEL:
                what, weight = "model", 2
            small = _is_small_model(unit, expr) if what == "module" else _small(unit, expr)
            if (
                what in ("tensor", "array", "module", "model", "table")
                and weight > 1
                and (what == "model" or not small)
            ):
                yield MadeAtImport(statement[1], target[1], what, worker, weight)
                if what == "model":
                    break  # `model, preprocess = clip.load("ViT-B/32")`


def start_method(program: Program) -> str:
    """The start method that the file sets for all."""
    for place in program.places:
        if not {"set_start_method", "get_context"} & set(place.facts.calls):
            continue
        for statement in statements(place.facts.body):
            for call in calls_of(statement):
                if last_name(call[2]) == "set_start_method":
                    given = keyword(call, "method", 0)
                    if given is not None and given[0] == m.CONST:
                        return str(given[1])
    return ""


def _is_main_script(machine: Machine) -> bool:
    """Whether a file is one that is run: it has something under `if __name__ == "__main__":`."""
    tests = (one[2] for one in machine.facts.functions[0].body if one[0] == m.IF)
    return any(test[0] == m.COMPARE and test[2] == (m.NAME, "__name__") for test in tests)


def _of_this_file(machine: Machine, target: Value) -> bool:
    own = {id(facts) for facts in machine.facts.functions}
    return any(id(function) in own for function in functions_behind(target))


def _import_time(body: Block) -> Iterator[Stmt]:
    """The assignments that run on import: those under the main guard do not."""
    for statement in body:
        if statement[0] == m.IF:
            test = statement[2]
            if test[0] == m.COMPARE and test[2] == (m.NAME, "__name__"):
                continue
            yield from _import_time(statement[3])
            yield from _import_time(statement[4])
        elif statement[0] in (m.WITH, m.TRY):
            yield from _import_time(statement[3] if statement[0] == m.WITH else statement[2])
        elif statement[0] in (m.ASSIGN, m.ANNOTATE):
            yield statement


def _small(unit: Unit, call: Expr) -> bool:
    """Whether all sizes in a call are written out and come to little; those that a function of the file adds count."""
    sizes = _sizes(unit, call)
    helpers = [one for one in unit.outline.whole.functions if one.name == last_name(call[2])]
    for helper in helpers if call[2][0] == m.NAME else ():
        inside = [part for one in statements(helper.body) for part in calls_of(one) if makes_array(part)]
        sizes += [size for part in inside for size in _sizes(unit, part)]
    if any(size is None for size in sizes):
        return False
    literal = bool(sizes) or any(part[0] == m.NEW for part in nodes(call))
    return literal and math.prod(max(size, 1) for size in sizes if size is not None) < _FEW_WEIGHTS


def _is_small_model(unit: Unit, call: Expr) -> bool:
    """Whether the widest layer that a call asks for is narrow: `Net(64)` has some 64 * 64 weights."""
    sizes = _sizes(unit, call)
    return bool(sizes) and all(size is not None and size * size < _FEW_WEIGHTS for size in sizes)


def _sizes(unit: Unit, call: Expr) -> list[int | None]:
    """The whole numbers in a call, also those that a constant of the module stands for, or that it is long; None for
    one unknown."""
    found: list[int | None] = []
    measured = {part[3][0] for part in nodes(call) if part[0] == m.CALL and part[2] == (m.NAME, "len") and part[3]}
    for part in nodes(call):
        if part[0] == m.CONST and isinstance(part[1], int) and not isinstance(part[1], bool):
            found.append(part[1])
        elif part in measured:
            found.append(_length(unit, part))
        elif part[0] == m.NAME and part[1].isupper():
            value = constant(unit.frame.vars.get(part[1], ()))
            found.append(value if isinstance(value, int) else None)
    return found


def _length(unit: Unit, name: Expr) -> int | None:
    """How many entries a container has that the module writes out: `TAGS = ("O", "PER")`."""
    for statement in unit.outline.whole.functions[0].body:
        value = statement[3] if statement[0] == m.ASSIGN and name in statement[2] else None
        if value is not None and value[0] in (m.NEW, m.DICT):
            parts = value[3] if value[0] == m.NEW else value[2]
            return None if any(part[0] == m.STAR for part in parts) else len(parts)
    return None
