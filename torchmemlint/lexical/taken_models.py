"""Models that a name of their own is taken for out of what goes on keeping them: a container, another object."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.emptying import emptyings
from ..facts.knowledge import TAKES_OUT
from ..facts.model import Expr, FileFacts, Site, Stmt
from ..facts.program import Place, Program, targets, text
from ..facts.walk import calls, calls_of, heads, last_name, nodes, once, places_with_values, statements
from .cleanup import MODELS, empties, let_go
from .missing_global import is_global

_CACHES = ("lru_cache", "cache")


def models_of_containers(program: Program, place: Place) -> Iterator[tuple[Site, str, str]]:
    """`model = experts[stage]`, `model = state.get("model")`, `model = trainer.model` or `part = getattr(self, name)`,
    and `del model` while that keeps it."""
    taken: dict[str, tuple[Expr, Expr | None]] = {}
    for statement in statements(place.facts.body):
        for name in let_go(statement):
            if name not in taken or _is_a_mark(program, place, statement, name):
                continue
            if not _is_let_go_of(program, place, name, *taken[name]):
                yield statement[1], name, text(taken[name][0])
        for target, value in _bound(program, place, statement):
            if target[0] == m.NAME:
                taken.pop(target[1], None)
                named = not {*target[1].lower().split("_")}.isdisjoint(MODELS) or _is_on_a_device(program, place, value)
                held = _holder(place, value) if named else _asked_by_name(place, target, value)
                held = held or (_of_module(program, place, target, value) if named else None)
                held = held or (_of_cache(program, place, target, value) if named else None)
                if held is not None and text(held[0]):
                    taken[target[1]] = held


def _is_a_mark(program: Program, place: Place, gone: Stmt, name: str) -> bool:
    """Whether a name is asked for, or bound to something else, before anything is freed: `current = None` says that
    none of the models is in use yet."""
    freeing = (call[1] for call in calls(place.facts.body) if call[1] > gone[1] and empties(program, call))
    first = min(freeing, default=gone[1])
    between = [one for one in statements(place.facts.body) if gone[1] < one[1] < first]
    return any((m.NAME, name) in nodes(head) for one in between if name not in let_go(one) for head in heads(one))


def _bound(program: Program, place: Place, statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """What a statement binds to what: `model, steps = state["model"], 0` binds two names."""
    kept = _kept_under(statement)
    if kept is not None and _is_slot(program, place, kept):
        yield from ((target, kept) for target in targets(statement) if target[0] == m.NAME)
    elif statement[0] == m.ASSIGN and len(statement[2]) == 1:
        for target, value in places_with_values(statement):
            parts = target[3] if target[0] == m.NEW else ()  # `tokenizer, model = load(path)`
            yield from ((part, (m.TEXT,)) for part in parts)
            yield target, value
    else:
        yield from ((target, (m.TEXT,)) for target in targets(statement))


def _kept_under(statement: Stmt) -> Expr | None:
    """`models[stage]` of `model = models[stage] = load(stage)`"""
    several = statement[0] == m.ASSIGN and len(statement[2]) > 1
    return next((target for target in statement[2] if target[0] == m.ITEM), None) if several else None


def _is_slot(program: Program, place: Place, item: Expr) -> bool:
    """Whether an item has one meaning, `experts["high"]`, in a container that is not what the function is to give: one
    that collects under changing keys, or for the caller, keeps what it gets on purpose."""
    given = any(one[0] == m.RETURN and item[1] in nodes(head) for one in statements(place.facts.body)
                for head in heads(one))  # fmt: skip
    return _constant_key(program, place, item[2])[0] == m.CONST and not given


def _is_on_a_device(program: Program, place: Place, value: Expr) -> bool:
    """Whether a value is an attribute that the class has moved there: `self.vision = vision.cuda()`."""
    if value[0] != m.ATTR or value[1] != (m.NAME, "self"):
        return False
    return any(
        one[0] == m.ASSIGN and value in targets(one) and one[3][0] == m.CALL and one[3][2][0] == m.ATTR
        and one[3][2][2] in ("cuda", "to")
        for other in program.places
        if other.cls == place.cls
        for one in statements(other.facts.body)
    )  # fmt: skip


def _holder(place: Place, value: Expr) -> tuple[Expr, Expr | None] | None:
    """What goes on keeping a value when a name for it goes: the container that it is read from, and under which key;
    or the attribute of what the function was given."""
    if value[0] == m.ITEM and value[2][0] != m.SLICE:
        return value[1], value[2]
    if value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] == "get" and value[3]:
        return value[2][1], value[3][0]
    owned = value[0] == m.ATTR and value[1][0] == m.NAME
    return (value, None) if owned and any(param.name == value[1][1] for param in place.facts.params) else None


def _asked_by_name(place: Place, target: Expr, value: Expr) -> tuple[Expr, Expr | None] | None:
    """`getattr(self, name)`: the object goes on having it. Of a function that works with what it asks for, the end of a
    name says no more than that it is done with that."""
    if value[0] != m.CALL or value[2] != (m.NAME, "getattr") or len(value[3]) < 2 or value[3][0][0] != m.NAME:
        return None
    return None if _is_used(place, target) else (value[3][0], value[3][1])


def _of_module(program: Program, place: Place, target: Expr, value: Expr) -> tuple[Expr, Expr | None] | None:
    """`model = _model` of a global one, in a function that has no other use for it."""
    if value[0] != m.NAME or place.facts.name == "<module>" or any(one.name == value[1] for one in place.facts.params):
        return None
    body = list(statements(place.facts.body))
    own = any(value in targets(one) for one in body) and not any(
        one[0] == m.GLOBAL and value[1] in one[2] for one in body
    )
    idle = not own and not _is_used(place, target)
    return (value, None) if idle and is_global(program, value[1]) else None


def _of_cache(program: Program, place: Place, target: Expr, value: Expr) -> tuple[Expr, Expr | None] | None:
    """`model = get_model(name)` of a function under `lru_cache`, in one that has no other use for it."""
    if value[0] != m.CALL or value[2][0] != m.NAME or "cache_clear" in place.facts.calls or _is_used(place, target):
        return None
    makers = [one.facts for one in program.by_name.get(value[2][1], ()) if not one.cls]
    cached = any(last_name(one) in _CACHES for maker in makers for one in maker.decorators)
    return (value[2], None) if cached else None


def _is_used(place: Place, name: Expr) -> bool:
    """Whether a function does more with what has a name than to ask whether it is there, and to let go of it."""
    return any(
        name in nodes(head)
        for one in statements(place.facts.body)
        if one[0] != m.IF and name[1] not in let_go(one) and name not in targets(one)
        for head in heads(one)
    )


def _changes_attributes(program: Program, place: Place, owner: Expr, key: Expr) -> bool:
    """Whether a function binds or deletes the attribute of an object that goes by a name, as far as the names are
    known."""
    if any(call[2][-1] in ("setattr", "delattr") and owner in call[3][:1] for call in calls(place.facts.body)):
        return True
    names = set(_names(program, place, key))
    changed = [target for one in statements(place.facts.body)
               for target in (*targets(one), *(one[2] if one[0] == m.DELETE else ()))]  # fmt: skip
    attributes = {target[2] for target in changed if target[0] == m.ATTR and target[1] == owner}
    return bool(attributes) if not names else not attributes.isdisjoint(names)


def _names(program: Program, place: Place, key: Expr) -> Iterator[str]:
    """The words that a key stands for: itself, or those that a loop goes through, `for name in self.PARTS`."""
    if key[0] == m.CONST:
        yield key[1]
    for loop in statements(place.facts.body):
        if loop[0] != m.FOR or key not in targets(loop):
            continue
        bound = (one[3] for function in program.facts.functions for one in statements(function.body)
                 if one[0] == m.ASSIGN and last_name(loop[3]) in map(last_name, targets(one)))  # fmt: skip
        for table in (loop[3], *bound):
            yield from (item[1] for item in (table[3] if table[0] == m.NEW else ()) if item[0] == m.CONST)


def _is_let_go_of(program: Program, place: Place, name: str, held: Expr, key: Expr | None) -> bool:
    """Whether a function lets go of what keeps a model, or of the object that has it, or calls one that may."""
    body = [one for one in statements(place.facts.body) if not _keeps_there(one, name)]
    if held[0] == m.NAME and key is not None and _changes_attributes(program, place, held, key):
        return True
    owner = held[1] if held[0] == m.ATTR else held
    if any(text(owner) in let_go(one) for one in body):
        return True
    key = key if key is None else _constant_key(program, place, key)
    if key is not None and key[0] == m.NAME:
        changed = _is_taken_under(place, text(held), key)
    elif key is None or key[0] != m.CONST:
        changed = is_changed(place, text(held))
    else:
        out = [one for statement in body for one in _taken_out(statement, text(held))]
        out = [_constant_key(program, place, one) for one in out]
        changed = any(one == key or one[:1] != (m.CONST,) for one in out) or _is_bound_again(place, text(held))
    helpers = [other for call in calls(place.facts.body) for other in program.by_name.get(last_name(call[2]), ())
               if other.facts is not place.facts]  # fmt: skip
    return changed or any(True for other in helpers for one in emptyings(other.facts, last_name(held)))


def _is_taken_under(place: Place, container: str, key: Expr) -> bool:
    """Whether a function takes out of a container what it has under a key, or may: not by what it makes for another
    name, `self.models[name] = load(name)`."""
    added = {
        one[1]
        for one in statements(place.facts.body)
        if one[0] == m.ASSIGN and one[3][0] == m.CALL and len(one[2]) == 1
        if one[2][0][0] == m.ITEM and one[2][0][2][0] == m.NAME and one[2][0][2] != key
    }
    out = [one for statement in statements(place.facts.body) if statement[1] not in added
           for one in _taken_out(statement, container)]  # fmt: skip
    return bool(out) or _is_bound_again(place, container)


def _keeps_there(statement: Stmt, name: str) -> bool:
    """Whether a statement puts into a container what it binds this name to as well."""
    return _kept_under(statement) is not None and (m.NAME, name) in targets(statement)


def _constant_key(program: Program, place: Place, key: Expr) -> Expr:
    """The constant that a key stands for, where a name of the module is bound to one: `LOW = 1`, `models[LOW]`."""
    if key[:1] != (m.NAME,) or any(key in targets(one) for one in statements(place.facts.body)):
        return key
    return _constants(program.facts).get(key[1], key)


@once
def _constants(facts: FileFacts) -> dict[str, Expr]:
    """The names that the body of a module binds once, to constants, alone or several at a time."""
    found: dict[str, Expr] = {}
    twice = set[str]()
    for statement in statements(facts.functions[0].body):
        bound = targets(statement)
        several = statement[0] == m.ASSIGN and statement[3][0] == m.NEW and len(statement[3][3]) == len(bound)
        values = statement[3][3] if several else [statement[3]] if statement[0] == m.ASSIGN else []
        for index, target in enumerate(bound):
            if target[0] == m.NAME:
                twice |= {target[1]} & found.keys()
                value = values[index] if index < len(values) else (m.TEXT,)
                found[target[1]] = value
    return {name: value for name, value in found.items() if name not in twice and value[0] == m.CONST}


def _taken_out(statement: Stmt, container: str) -> set[Expr]:
    """The keys under which a statement takes something out of a container, or puts something else; the empty one for
    whatever is in it."""
    found: set[Expr] = set()
    for target in (*targets(statement), *(statement[2] if statement[0] == m.DELETE else ())):
        if target[0] == m.ITEM and text(target[1]) == container:
            found.add(target[2])
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and text(call[2][1]) == container:
            if call[2][2] == "pop" and call[3]:
                found.add(call[3][0])
            elif call[2][2] in (*TAKES_OUT, "update"):
                found.add(())
    return found


def is_changed(place: Place, container: str) -> bool:
    """Whether a function empties or replaces a container, or lets go of it after it has gone through it."""
    return empties_container(place, container) or _is_bound_again(place, container)


def _is_bound_again(place: Place, container: str) -> bool:
    assigned = [s for s in statements(place.facts.body) if container in map(text, targets(s)) and s[0] != m.FOR]
    deleted = any(s[0] == m.DELETE and container in map(text, s[2]) for s in statements(place.facts.body))
    return deleted or len(assigned) > ("." not in container)


def empties_container(place: Place, param: str) -> bool:
    """Whether a function takes things out of the container that it is given, or moves what is in it elsewhere."""
    return param in _emptied(place.facts.body)


@once
def _emptied(body: tuple[Stmt, ...]) -> set[str]:
    found = set[str]()
    for statement in statements(body):
        places = statement[2] if statement[0] == m.DELETE else targets(statement) if statement[0] == m.ASSIGN else ()
        found.update(text(target[1]) for target in places if target[0] == m.ITEM)
    taken = ("clear", "pop", "popitem", "remove")
    found.update(text(call[2][1]) for call in calls(body) if call[2][0] == m.ATTR and call[2][2] in taken)
    return found
