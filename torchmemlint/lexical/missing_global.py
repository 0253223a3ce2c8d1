"""`def unload(): model = None` of a global, without `global model`: a name of the function alone is bound."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Site, Stmt
from ..facts.program import Place, Program, targets
from ..facts.walk import expressions_of, names_of, statements
from .cleanup import MODELS


def bound_without_global(program: Program, place: Place) -> Iterator[tuple[Site, str]]:
    """The statements of a function that bind a name to None, and nothing else, which is that of a global model: others
    of the file say `global model` and bind it, or the module does."""
    nones: dict[str, Site] = {}
    for statement in statements(place.facts.body):
        for name in _set_to_none(statement):
            nones.setdefault(name, statement[1])
    nones = {name: site for name, site in nones.items() if _is_model(name)}
    if not nones or place.facts.name == "<module>" or _is_inner(program, place):
        return
    used = {param.name for param in place.facts.params}
    used |= {name for index in place.facts.inner for name in names_of(program.facts.functions[index].body)}
    for statement in statements(place.facts.body):
        used.update(statement[2] if statement[0] in (m.GLOBAL, m.NONLOCAL) else ())
        used.update(part[1] for part in expressions_of(statement) if part[0] == m.NAME and not _set_to_none(statement))
    for name, site in nones.items():
        if name not in used and is_global(program, name):
            yield site, name


def _set_to_none(statement: Stmt) -> list[str]:
    """The names of `model = None` and `model = tokenizer = None`."""
    none = statement[0] == m.ASSIGN and statement[3] == (m.CONST, None)
    return [target[1] for target in targets(statement) if target[0] == m.NAME] if none else []


def _is_inner(program: Program, place: Place) -> bool:
    """Whether a function stands in another one, whose variable it may mean."""
    bodies = {0, *(cls.body for cls in program.facts.classes)}
    functions = enumerate(program.facts.functions)
    around = (one for index, one in functions if index not in bodies)
    return any(program.facts.functions[index] is place.facts for one in around for index in one.inner)


def _is_model(name: str) -> bool:
    return not {*name.lower().split("_")}.isdisjoint(MODELS)


def is_global(program: Program, name: str) -> bool:
    """Whether the module has a name, and it gets more than None there, or in a function that says it is global."""
    told = False
    for place in program.places:
        body = [*statements(place.facts.body)]
        wide = place.facts.name == "<module>" or any(one[0] == m.GLOBAL and name in one[2] for one in body)
        told = told or (wide and any((m.NAME, name) in targets(one) and one[0] == m.ASSIGN
                                     and one[3][0] == m.CALL for one in body))  # fmt: skip
    return told
