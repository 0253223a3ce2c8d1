"""Parts of an object that nothing will read again, though the object goes on being used.

`cache = EmbeddingCache(encoder); cache.fill(prompts); del encoder; empty_cache()`: from here on only `cache[prompt]` is
asked for, which reads the table of the cache. `cache.encoder` holds what was to be freed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, targets, text
from ..facts.walk import expressions_of, last_name, statements
from ..interpreter.frames import Frame
from ..interpreter.values import Class, Obj, Value
from ..lexical.cleanup import given_up
from .unreleased import methods_of

_DEPTH = 3  # of functions that hand the object on
_SELF = "self"
_OVER = ("__iter__", "__getitem__", "__len__", "__next__")
_ASKED_BY = {  # what reads an object that it is given, and how
    "len": ("__len__",), "iter": _OVER, "list": _OVER, "enumerate": _OVER, "zip": _OVER, "next": _OVER, "tqdm": _OVER,
    "DataLoader": ("__getitem__", "__getitems__", "__len__", "__iter__"),
}  # fmt: skip


def held_by_unneeded_parts(
    program: Program,
    place: Place,
    frame: Frame,
    rest: Sequence[Stmt],
    in_use: dict[str, Site],
    has_it: Callable[[Value], bool],
) -> Iterator[tuple[str, Site]]:
    """The parts that hold something, of names that the rest of a function uses for other things; nothing where anybody
    else has it, who may need it."""
    outside = [frame.vars.get(one.name, ()) for one in place.facts.params]
    outside += [(frame.receiver,)] if type(frame.receiver) is Obj else []
    outside += frame.unit.frame.vars.values() if frame is not frame.unit.frame else []
    if not in_use or any(map(has_it, outside)):
        return
    found = {
        name: _unneeded_part(program, place.facts.body, rest, name, frame.vars.get(name, ()), has_it) for name in in_use
    }
    if all(found.values()):
        yield from ((f"{name}.{part}", in_use[name]) for name, part in found.items())


def _unneeded_part(
    program: Program,
    body: tuple[Stmt, ...],
    rest: Sequence[Stmt],
    name: str,
    value: Value,
    has_it: Callable[[Value], bool],
) -> str:
    """The attribute of what goes by a name that holds something and that the rest of a function does not read; "" if
    there are several, or it may be read, or is let go of."""
    objects = [atom for atom in value if type(atom) is Obj and atom.kind == "instance"]
    if len(objects) != 1 or len(value) != 1 or not isinstance(objects[0].cls, Class) or objects[0].is_put_off:
        return ""
    parts = [key for key, part in objects[0].fields.items() if key[:1] not in "$[*" and has_it(part)]
    if len(parts) != 1:
        return ""
    methods = methods_of(objects[0].cls)
    bound = (one for statement in statements(body) for one in (*given_up(statement), *map(text, targets(statement))))
    if f"{name}.{parts[0]}" in bound or any(_lets_go(facts, parts[0]) for facts in methods.values()):
        return ""
    user = _User(program, methods, parts[0])
    return parts[0] if user.leaves_alone(rest, name, _DEPTH) else ""


def _lets_go(method: FunctionFacts, part: str) -> bool:
    """Whether a method is there to let go of the part, or to bind another one."""
    if method.name == "__init__":
        return False
    found = (one for each in statements(method.body) for one in (*given_up(each), *map(text, targets(each))))
    return f"{_SELF}.{part}" in found


class _User:
    """Who uses an object with these methods, and whether that reads the part."""

    def __init__(self, program: Program, methods: dict[str, FunctionFacts], part: str) -> None:
        self.program = program
        self.methods = methods
        self.part = part

    def leaves_alone(self, block: Sequence[Stmt], name: str, depth: int) -> bool:
        """Whether all that a block does with what goes by a name is seen, and does without the part."""
        for statement in statements(tuple(block)):
            if statement[0] in (m.DEF, m.CLASS, m.GLOBAL, m.NONLOCAL):
                return False
            mentioned = explained = 0
            for expr in expressions_of(statement):
                if expr == (m.NAME, name):
                    mentioned += 1
                elif expr[0] == m.LAMBDA:
                    return False
                else:
                    explained += self._explained(expr, name, depth)
            if statement[0] == m.FOR and statement[3] == (m.NAME, name):
                explained += self._does_without(*_OVER)
            if explained < mentioned:
                return False
        return True

    def _explained(self, expr: Expr, name: str, depth: int) -> int:
        """How many mentions of a name an expression accounts for, by a use that does without the part."""
        it = (m.NAME, name)
        if expr[0] == m.ATTR and expr[1] == it:
            return self._does_without(expr[2]) if expr[2] in self.methods else expr[2] != self.part
        if expr[0] == m.ITEM and expr[1] == it:
            return self._does_without("__getitem__", "__setitem__")
        if expr[0] == m.COMPARE and expr[1] in ("In", "NotIn") and expr[3] == it:
            return self._does_without("__contains__", *_OVER)
        if expr[0] == m.COMP:
            return sum(clause[1] == it and self._does_without(*_OVER) for clause in expr[5])
        if expr[0] == m.CALL:
            keys = [key for key, given in (*enumerate(expr[3]), *expr[4]) if given == it]
            found = sum(self._is_spared(expr, key, depth) for key in keys)
            return found + (expr[2] == it and self._does_without("__call__"))
        return 0

    def _is_spared(self, call: Expr, key: int | str, depth: int) -> bool:
        """Whether a function that is given the object does without the part."""
        called = last_name(call[2])
        if called in _ASKED_BY:
            return self._does_without(*_ASKED_BY[called])
        found = self.program.by_name.get(called, ()) if call[2][0] == m.NAME and depth else ()
        if len(found) != 1 or found[0].cls:
            return False
        params = [one for one in found[0].facts.params if not one.kind]
        given = params[key].name if type(key) is int and key < len(params) else key
        known = any(one.name == given for one in params) and not found[0].facts.inner
        return known and self.leaves_alone(found[0].facts.body, str(given), depth - 1)

    def _does_without(self, *names: str) -> bool:
        """Whether none of these methods, nor any that they call, reads the part, or hands on the object as a whole."""
        todo, seen = [one for one in names if one in self.methods], set[str]()
        while todo:
            method = self.methods[todo.pop()]
            if method.name in seen:
                continue
            seen.add(method.name)
            read = {part[2] for one in statements(method.body) for part in _own(one)}
            if method.inner or self.part in read or _is_handed_on(method):
                return False
            todo += [one for one in read if one in self.methods]
        return True


def _own(statement: Stmt) -> list[Expr]:
    """The attributes of the object itself that a statement of a method mentions."""
    return [part for part in expressions_of(statement) if part[:2] == (m.ATTR, (m.NAME, _SELF))]


def _is_handed_on(method: FunctionFacts) -> bool:
    """Whether a method uses the object in another way than by its attributes: `helper(self)`, `self[i]`."""
    mentioned = sum(part == (m.NAME, _SELF) for one in statements(method.body) for part in expressions_of(one))
    return mentioned > sum(len(_own(one)) for one in statements(method.body))
