"""Context managers that put something where it stays, and then refuse to be entered.

`__enter__` does `OPEN.append(self)`, then a check raises. Of a `with` that was not entered `__exit__` is not called
[Python: The with statement], so what it would have taken out stays, with the tensors that it has. The same is true of
what a generator under `contextmanager` does before its `try`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import DELETED
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Place, Program, keyword, targets, text
from ..facts.walk import blocks, calls, calls_of, expressions_of, last_name, nodes, root_of, statements
from .at_work import is_tensor_hint, is_tensor_or_model, makes_tensors
from .gone_on import goes_on_after_failing, suppresses
from .refused import is_refusal, may_refuse
from .unguarded_hooks import ON_MODULES, records

_SELF: Expr = (m.NAME, "self")
_ENTERS = {"__enter__": "__exit__", "__aenter__": "__aexit__"}
_MANAGERS = ("contextmanager", "asynccontextmanager")
_ADDS = frozenset("append add appendleft insert push setdefault register set".split())
_TAKES = frozenset("remove pop popleft discard clear unregister deregister reset".split()) | {DELETED}


class RefusedEntry(NamedTuple):
    """A statement that puts something where it stays if the `with` is refused afterwards."""

    site: Site
    holder: str  # "" if it is the hooks of a module
    kept: str  # "each Scope"
    kind: str  # "global", "class" or "object": whose the container is; "hook"
    raised: Site


class _Put(NamedTuple):
    site: Site
    place: Expr
    value: Expr
    kind: str


def refused_at_entry(program: Program, reaching: Program) -> Iterator[RefusedEntry]:
    """What `__enter__` puts into a container that is not its object's own, and that `__exit__` takes out; `reaching`
    knows the functions that the file imports, too."""
    for place in program.places:
        leaving = _leaving(program, place)
        if leaving is None:
            continue
        for put, raised in _left(program, reaching, place, place.facts.body, ()):
            name = place.cls if place.facts.name in _ENTERS else place.facts.name
            if _is_taken_out(leaving, put) and goes_on_after_failing(program.facts, name):
                kept = _recording(program, put.value) if put.kind == "hook" else _heavy(program, place, put.value)
                if kept:
                    yield RefusedEntry(put.site, text(put.place) if put.kind != "hook" else "", kept, put.kind, raised)


def _leaving(program: Program, place: Place) -> Block | None:
    """What is done at the end of the `with` that a function begins, if it does."""
    if place.facts.generator:
        managing = any(last_name(one) in _MANAGERS for one in place.facts.decorators)
        return place.facts.body if managing else None
    end = _ENTERS.get(place.facts.name)
    leave = (
        next((one.facts.body for one in program.by_name.get(end, ()) if one.cls == place.cls), None) if end else None
    )
    if not place.cls or leave is None:
        return None
    return (*leave, *(one for other in _own(program, place, leave) for one in other.facts.body))


def _left(program: Program, reaching: Program, place: Place, block: Block, after: Block) -> Iterator[tuple[_Put, Site]]:
    """What is put, with where an error is raised after it. A `try` may see to an error in it."""
    for number, one in enumerate(block):
        rest = (*block[number + 1 :], *after)
        if one[0] == m.TRY and (one[3] or one[5]):
            return
        for put in _puts(program, place, one):
            raised = _raised(reaching, place, rest, put)
            if raised is not None:
                yield put, raised
        for suite in blocks(one):
            yield from _left(program, reaching, place, suite, rest)
        if any(part[0] == m.YIELD for inner in statements((one,)) for part in expressions_of(inner)):
            return


def _puts(program: Program, place: Place, statement: Stmt) -> Iterator[_Put]:
    """What a statement puts where it stays, itself or by a method of the same object."""
    yield from _put_by(program, place.facts, statement)
    if statement[0] in (m.EXPR, m.ASSIGN):
        for helper in _own(program, place, (statement,)):
            for one in helper.facts.body:
                yield from _put_by(program, helper.facts, one)


def _own(program: Program, place: Place, block: Block) -> list[Place]:
    """The methods of its own object that a block calls."""
    called = {call[2][2] for call in calls(block) if call[2][:2] == (m.ATTR, _SELF)}
    return [one for name in called for one in program.by_name.get(name, ()) if one.cls == place.cls]


def _put_by(program: Program, function: FunctionFacts, statement: Stmt) -> Iterator[_Put]:
    for target in targets(statement) if statement[0] == m.ASSIGN else ():
        container = target[1] if target[0] == m.ITEM else target
        kind = _whose(program, function, container, target[0] == m.ITEM)
        if kind and statement[3][0] != m.CONST:
            yield _Put(statement[1], container, statement[3], kind)
    for call in calls_of(statement):
        if call[2][0] != m.ATTR or not call[3]:
            continue
        if call[2][2] in ON_MODULES and not _is_own_part(program, function, call[2][1]):
            yield _Put(call[1], call[2][1], call[3][0], "hook")
        elif call[2][2] in _ADDS:
            kind = _whose(program, function, call[2][1], True)
            if kind:
                yield _Put(statement[1], call[2][1], call[3][-1], kind)


def _whose(program: Program, function: FunctionFacts, container: Expr, added: bool) -> str:
    """Whose a container is, or a place that is bound: "" if it goes with the object or the call."""
    root = root_of(container)
    if root[0] != m.NAME or container[0] not in (m.NAME, m.ATTR):
        return ""
    declared = {name for one in statements(function.body) if one[0] == m.GLOBAL for name in one[2]}
    of_module = {target for one in statements(program.facts.functions[0].body) for target in targets(one)}
    classes = {cls.name: cls for cls in program.facts.classes}
    if root[1] in program.imports:
        return "global" if added else ""
    if root == _SELF or root[1] == "cls":
        own = classes[program.facts.classes[function.owner].name] if function.owner >= 0 else None
        if own is not None and container[1:2] == (root,) and (root != _SELF or added):
            return "class" if _is_of_class(program, own, container[2]) else ""
        return "object" if container[0] == m.ATTR and container[1][:2] == (m.ATTR, _SELF) else ""
    if root[1] in classes:
        return "class" if container[0] == m.ATTR else ""
    bound = {target for one in statements(function.body) for target in targets(one)}
    if container == root and not added:
        return "global" if root[1] in declared else ""
    return "global" if root in of_module and (root not in bound or root[1] in declared) else ""


def _is_of_class(program: Program, cls: ClassFacts, name: str) -> bool:
    """Whether a class has an attribute, and its objects none of their own."""
    body = program.facts.functions[cls.body].body if cls.body else ()
    has = any((m.NAME, name) in targets(one) for one in body)
    own = (m.ATTR, _SELF, name)
    methods = (program.facts.functions[index] for index in cls.methods.values())
    return has and not any(own in targets(one) for method in methods for one in statements(method.body))


def _is_own_part(program: Program, function: FunctionFacts, module: Expr) -> bool:
    """Whether an object has made the module itself, so that hooks on it go with the object."""
    cls = program.facts.classes[function.owner] if function.owner >= 0 else None
    made = [program.facts.functions[index] for index in cls.methods.values()] if cls is not None else []
    return any(
        one[3][0] == m.CALL and makes_tensors(program, one[3]) and any(part in targets(one) for part in nodes(module))
        for method in made
        for one in statements(method.body)
        if one[0] == m.ASSIGN
    )


def _raised(program: Program, place: Place, rest: Block, put: _Put) -> Site | None:
    """Where an error is raised of its own accord, before anything else happens to what was put."""
    for one in rest:
        if one[0] in (m.TRY, m.RETURN) or _takes(one, put) or any(p[0] == m.YIELD for p in expressions_of(one)):
            return None
        if suppresses(one):
            continue
        if one[0] == m.RAISE:
            return int(one[1]) if is_refusal(one) else None
        found = next((int(call[1]) for call in calls_of(one) if may_refuse(program, place, call)), None)
        for suite in blocks(one) if found is None else ():
            found = _raised(program, place, suite, put) if found is None else found
        if found is not None:
            return found
    return None


def _takes(statement: Stmt, put: _Put) -> bool:
    """Whether a statement takes something out of where it was put, or does so in a block."""
    return _is_taken_out((statement,), put) or any(
        last_name(call[2]) in _ENTERS.values() for one in statements((statement,)) for call in calls_of(one)
    )


def _is_taken_out(block: Block, put: _Put) -> bool:
    """Whether a block takes something out of the container, or binds the place anew; or removes a hook."""
    for one in statements(block):
        if put.kind == "hook":
            if any(call[2][0] == m.ATTR and call[2][2] == "remove" and not call[3] for call in calls_of(one)):
                return True
            continue
        if one[1] == put.site:
            continue
        if one[0] == m.DELETE and any(put.place in nodes(target) for target in one[2]):
            return True
        if one[0] == m.ASSIGN and put.place in targets(one):
            return True
        if any(call[2][0] == m.ATTR and call[2][2] in _TAKES and call[2][1] == put.place for call in calls_of(one)):
            return True
    return False


# -- what has tensors --------------------------------------------------------------------------------


def _heavy(program: Program, place: Place, value: Expr) -> str:
    """What of it has tensors, in words; "" if nothing is seen to."""
    parts = list(nodes(value))
    for part in parts:
        if part[0] == m.ATTR and part[1] == _SELF and place.cls:
            if part[2] in _attributes(program, place.cls):
                return f"`self.{part[2]}`"
        elif part == _SELF and place.cls and not _is_read(parts) and _attributes(program, place.cls):
            return f"each {place.cls}"
        elif part[0] == m.NAME and is_tensor_or_model(program, place.facts, part):
            return f"`{part[1]}`"
    return ""


def _recording(program: Program, hook: Expr) -> str:
    """A hook that puts what it is given where that stays, in words."""
    named = [one for one in program.facts.functions if one.name == last_name(hook)]
    named += [program.facts.functions[hook[1]]] if hook[0] == m.LAMBDA else []
    return "what the hook records" if any(records(one, False) for one in named) else ""


def _is_read(parts: list[Expr]) -> bool:
    return any(part[0] == m.ATTR and part[1] == _SELF for part in parts)


def _attributes(program: Program, cls: str) -> set[str]:
    """The attributes of a class that are seen to have tensors or a model: by annotations, names, what they are made of
    and what the objects are made with."""
    found = set[str]()
    for place in program.places:
        if place.cls != cls:
            continue
        for one in statements(place.facts.body):
            for target in targets(one) if one[0] == m.ASSIGN else ():
                if target[0] == m.ATTR and target[1] == _SELF and _is_heavy(program, place, one[3]):
                    found.add(target[2])
    for known in (one for one in program.facts.classes if one.name == cls and one.body):
        for one in program.facts.functions[known.body].body:
            if one[0] == m.ANNOTATE and one[2][0] == m.NAME and is_tensor_hint(one[3]):
                found.add(one[2][1])
    return found


def _is_heavy(program: Program, place: Place, value: Expr) -> bool:
    if value[0] != m.NAME:
        return makes_tensors(program, value)
    if is_tensor_or_model(program, place.facts, value):
        return True
    index = next((i for i, param in enumerate(place.facts.params) if param.name == value[1]), 0)
    if place.facts.name != "__init__" or not index:
        return False
    for other in program.places if place.cls in program.called else ():
        for call in calls(other.facts.body) if place.cls in other.facts.calls else ():
            given = keyword(call, value[1], index - 1) if last_name(call[2]) == place.cls else None
            if given is not None and given[0] == m.NAME and is_tensor_or_model(program, other.facts, given):
                return True
    return False
