"""Parts of modules whose constructors or other methods are not run: what their text says that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..facts import model as m
from ..facts.knowledge import BUILTINS, LIGHT_ROOTS
from ..facts.model import Expr, Stmt
from ..facts.program import targets
from ..facts.walk import calls, last_name, once, root_of, statements
from .module_classes import is_dull
from .values import UNKNOWN, Class, External, Obj, Value

if TYPE_CHECKING:
    from .machine import Machine

PLAIN_BASES = ("torch.nn.Module", "torch.nn.modules.module.Module", "builtins.", "abc.", "typing.")
_ADDS = frozenset("append extend insert add update setdefault".split())
_MAKE_NO_PARTS = BUILTINS | LIGHT_ROOTS | {"torch", "super"}


def written_part(machine: Machine, obj: Obj, name: str) -> Value:
    """`model.gru`, by `self.gru = nn.GRU(...)` in a class of another file whose constructor is not run, since it does
    nothing that a rule could speak about: see `module_classes.is_dull` and `not_entered.is_beside_the_point`."""
    return _part(machine, obj, name, later=False)


def part_set_later(machine: Machine, obj: Obj, name: str) -> Value:
    """`model.head`, by `self.head = nn.Linear(8, 2)` in `build` of a class of another file, where the constructor has
    left it `None`: who made the object, and called `build`, is not seen."""
    return _part(machine, obj, name, later=True)


def _part(machine: Machine, obj: Obj, name: str, *, later: bool) -> Value:
    if obj.kind != "module" or not isinstance(obj.cls, Class) or obj.cls.frame.unit is machine.home:
        return UNKNOWN
    for cls in obj.cls.mro:
        unit = cls.frame.unit
        for method, index in cls.facts.methods.items():
            made = _made(unit.facts.functions[index].body) if (method != "__init__") is later else {}
            for call in made.get(name, ()):
                if call[0] != m.CALL:
                    if not _ADDS.isdisjoint(cls.facts.uses.get(name, ())):
                        return UNKNOWN  # its own methods fill it, perhaps the constructor, with what is not known then
                    return _written(machine, obj, name, "list" if call[0] == m.NEW else "dict", None)
                for atom in machine.eval(unit.frame, call[2]):
                    kind = atom.dotted if _is_layer(atom) else atom
                    if kind is not atom or (type(atom) is Class and is_dull(machine, atom)):
                        return _written(machine, obj, name, "module", kind)
    return UNKNOWN


def _written(machine: Machine, obj: Obj, name: str, kind: str, cls: Any) -> Value:
    part = machine.allocate(machine.module_frame, ("written", obj.serial, name), kind, cls)
    part.birth, part.home = obj.birth, part.home or (obj, name)
    machine.put(obj.fields, name, (part,))
    return (part,)


@once
def _made(body: tuple[Stmt, ...]) -> dict[str, list[Expr]]:
    """The calls of a method, and its empty lists and dictionaries, by the attributes that get what they give."""
    found: dict[str, list[Expr]] = {}
    for one in statements(body):
        if one[0] == m.ASSIGN:
            value, places = one[3], one[2]
        elif one[0] == m.ANNOTATE and one[4] is not None:
            value, places = one[4], (one[2],)
        else:
            continue
        if value[0] == m.CALL or _is_empty_container(value):
            for target in places:
                if target[:2] == (m.ATTR, (m.NAME, "self")):
                    found.setdefault(target[2], []).append(value)
    return found


def _is_empty_container(value: Expr) -> bool:
    return (value[0] == m.NEW and value[2] == "list" and not value[3]) or (value[0] == m.DICT and not value[2])


def _is_layer(atom: object) -> bool:
    return type(atom) is External and atom.dotted.startswith("torch.nn.") and atom.dotted.count(".") <= 3


def makes_parts(obj: Obj, *, missing: bool = False) -> bool:
    """Whether the constructors of a module make anything that could be trained, as they are written; if `missing`, as
    a part that it has not got, since they were not run."""
    classes = obj.cls.mro if isinstance(obj.cls, Class) else []
    if not classes or not all(base.startswith(PLAIN_BASES) for base in classes[0].external):
        return not missing
    for cls in classes:
        index = cls.facts.methods.get("__init__")
        body = cls.frame.unit.facts.functions[index].body if index is not None else ()
        for statement in statements(body):
            if _makes_part(statement) and not (missing and _is_there(obj, statement)):
                return True
    return False


def only_notes(obj: Obj) -> bool:
    """Whether the constructors of a module call nothing but one another: they note what they are given."""
    return isinstance(obj.cls, Class) and all(
        last_name(one[2]) in ("__init__", "super")
        for cls in obj.cls.mro
        if "__init__" in cls.facts.methods
        for one in calls(cls.frame.unit.facts.functions[cls.facts.methods["__init__"]].body)
    )


def makes_weights(obj: Obj) -> bool:
    """Whether the constructors of a module make a parameter, as they are written: one that is frozen weighs as much."""
    classes = obj.cls.mro if isinstance(obj.cls, Class) else []
    return any(
        one[0] == m.ASSIGN and one[3][0] == m.CALL and last_name(one[3][2]) == "Parameter"
        for cls in classes
        if "__init__" in cls.facts.methods
        for one in statements(cls.frame.unit.facts.functions[cls.facts.methods["__init__"]].body)
    )


def _makes_part(statement: Stmt) -> bool:
    """`self.head = nn.Linear(8, 2)`, `self._build()`; not `self.shift = torch.tensor(0.5)`."""
    where = {m.EXPR: 2, m.ASSIGN: 3, m.ANNOTATE: 4}.get(statement[0])
    call = statement[where] if where is not None else None
    if call is None or call[0] != m.CALL:
        return False
    root = root_of(call[2])
    if statement[0] == m.EXPR:
        return root == (m.NAME, "self") and call[2][-1] != "register_buffer"
    return not (root[0] == m.NAME and root[1] in _MAKE_NO_PARTS) or "nn" in call[2][1]


def _is_there(obj: Obj, statement: Stmt) -> bool:
    """Whether an object has what a statement of its constructor binds to it, or the statement binds nothing to it."""
    names = [target[2] for target in targets(statement) if target[:2] == (m.ATTR, (m.NAME, "self"))]
    return all(name in obj.fields for name in names)
