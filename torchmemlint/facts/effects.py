"""What a class leaves to other files: the calls that its methods make only for what these do."""

from __future__ import annotations

from . import knowledge
from . import model as m
from .model import ClassFacts, Expr, FileFacts
from .walk import root_of, statements


def calls_for_effect(facts: FileFacts) -> dict[int, tuple[Expr, ...]]:
    """By the class: what its methods, or those of a part that it makes, call of another file only for what that does,
    `losses.save(aux)`. Whether it keeps anything is for that file to say."""
    imported: set[str] = set()
    for statement in statements(facts.functions[0].body):
        if statement[0] == m.FROM:
            imported.update(local for _, local in statement[4])
        elif statement[0] == m.IMPORT:
            imported.update(local for local, _ in statement[2])
    imported -= knowledge.LIGHT_ROOTS
    own = {index: _effects(facts, klass, imported) for index, klass in enumerate(facts.classes)}
    if not any(own.values()):
        return {}
    names = {klass.name: index for index, klass in enumerate(facts.classes)}
    parts = {
        index: {names[name] for name in facts.functions[klass.methods["__init__"]].calls if name in names}
        for index, klass in enumerate(facts.classes)
        if "__init__" in klass.methods
    }
    found: dict[int, tuple[Expr, ...]] = {}
    for index in own:
        reached = [index]
        for one in reached:
            reached += [part for part in parts.get(one, ()) if part not in reached]
        found[index] = tuple(callee for one in reached for callee in own[one])
    return found


def _effects(facts: FileFacts, klass: ClassFacts, imported: set[str]) -> list[Expr]:
    return [
        statement[2][2]
        for name, index in klass.methods.items()
        if name != "__init__"
        for statement in statements(facts.functions[index].body)
        if statement[0] == m.EXPR and statement[2][0] == m.CALL and (statement[2][3] or statement[2][4])
        if root_of(statement[2][2])[0] == m.NAME and root_of(statement[2][2])[1] in imported
    ]
