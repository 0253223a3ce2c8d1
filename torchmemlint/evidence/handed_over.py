"""What a parent process keeps of the tensors that it gets from workers or sends to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..facts import model as m
from ..facts.knowledge import TAKES_OUT
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Program, names_in, targets, text
from ..facts.walk import calls_of, loops, nodes, statements
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine
from ..interpreter.values import UNKNOWN, Obj, Value
from ..interpreter.weights import heavy
from .collected import growing
from .places import in_test

_ADDS = ("append", "appendleft", "add")
_WORKERS = re.compile(r"worker|proc|rank|world_size|n_?jobs|threads", re.IGNORECASE)
_TEXTS = frozenset(
    """path paths file files filename filenames fname fnames name names text texts caption captions url urls sentence
    sentences string strings meta metadata id ids uid uids uuid key keys""".split()
)


class Handed(NamedTuple):
    """A container that gains tensors which share their memory with another process."""

    site: Site  # where it gains one
    holder: str
    other: Site  # where the tensor comes from, or goes to
    sent: bool
    names: frozenset[str]  # under which it is handed over


def collected(machine: Machine, program: Program) -> Iterator[Handed]:
    """Loops in which a process stores what it gets from a queue of `multiprocessing`, or has put into one."""
    for note in machine.plain:
        if note.kind == "queue-received" and _shares(machine, note.detail) and machine.is_home(note.site):
            yield from _stored(note.frame.facts.body, note.site, sent=False)
    for store in machine.stores:
        owner = store.owner
        if isinstance(owner, Obj) and _shares(machine, owner) and machine.is_home(store.site):
            yield from _stored(store.frame.facts.body, store.site, sent=True)
    for note in machine.plain:
        if note.kind == "worker" and note.detail[0].kind == "process" and machine.is_home(note.site):
            for kept in _stored(note.frame.facts.body, note.site, sent=True):
                if any(_is_tensor(machine, note.frame.vars.get(name, UNKNOWN)) for name in kept.names):
                    yield kept


def collected_from_loader(machine: Machine, program: Program) -> Iterator[Handed]:
    """Loops over a loader with workers that collect parts of its batches as they come."""
    if "set_sharing_strategy" in program.called:
        return
    for store in machine.stores:
        if store.how not in ("grow", "keyed") or not store.tensors or not machine.is_home(store.site):
            continue
        if growing(machine, store) is None or store.loops[-1].name != "loader" or in_test(store.frame):
            continue
        body = store.frame.facts.body
        for loop, inside in loops(body):
            statement = next((one for one in inside if one[1] == store.site or _calls_at(one, store.site)), None)
            if statement is None:
                continue
            made = _loader(store.frame, loop[3]) if loop[0] == m.FOR else None
            if made is not None and "$shares" in made.fields:
                names = {name for name in _parts_of_batch(loop, inside) if not _says_text(name)}
                holder = _holder(_without_keys(statement), names, None)
                if holder and not _let_go(body, loop, holder):
                    yield Handed(store.site, holder, made.site, False, frozenset(names))
            break


def _calls_at(statement: Stmt, site: Site) -> bool:
    return any(call[1] == site for call in calls_of(statement))


def _loader(frame: Frame, expr: Expr) -> Obj | None:
    """The loader that a `for` goes over: `loader`, `self.loader`, `enumerate(loader)`, what a helper makes."""
    while expr[0] == m.CALL and expr[2][-1] in ("enumerate", "tqdm", "track", "auto") and expr[3]:
        expr = expr[3][0]
    found: Value = UNKNOWN
    if expr[0] == m.NAME:
        current: Frame | None = frame
        while current is not None and not found:
            found, current = current.vars.get(expr[1], UNKNOWN), current.parent
    elif expr[0] == m.ATTR and expr[1] == (m.NAME, "self") and isinstance(frame.receiver, Obj):
        found = frame.receiver.fields.get(expr[2], UNKNOWN)
    elif expr[0] == m.CALL:  # `self.make_loader(dataset)`
        found = next((child.returns for child in frame.children.values() if child.call_site == expr[1]), UNKNOWN)
    return next((atom for atom in found if type(atom) is Obj and atom.kind == "loader"), None)


def _parts_of_batch(loop: Stmt, inside: list[Stmt]) -> set[str]:
    """The names that stand for a batch of the loader or a part of it, and are bound to nothing else."""
    names = {part[1] for part in nodes(loop[2]) if part[0] == m.NAME}
    others = set[str]()
    for statement in inside:
        value = statement[3] if statement[0] == m.ASSIGN else None
        while value is not None and value[0] == m.ITEM and value[2][0] == m.CONST:
            value = value[1]
        bound = {target[1] for target in targets(statement) if target[0] == m.NAME}
        if value is not None and value[0] == m.NAME and value[1] in names:
            names |= bound
        else:
            others |= bound
    return names - others


def _says_text(name: object) -> bool:
    """Whether a part of a batch is a list of texts by its name: the loader makes no tensor of them."""
    return type(name) is str and not _TEXTS.isdisjoint(name.lower().split("_"))


def _without_keys(expr: Any) -> Any:
    """A statement with the batch in the place of its parts: `batch` for `batch["label"]`, not for `batch["path"]`."""
    if type(expr) is not tuple:
        return expr
    if expr[:1] == (m.ITEM,) and type(expr[1]) is tuple and expr[1][0] == m.NAME and expr[2][0] == m.CONST:
        return expr if _says_text(expr[2][1]) else expr[1]
    return tuple(_without_keys(part) for part in expr)


def _is_tensor(machine: Machine, value: Value) -> bool:
    what, weight = heavy(machine, value)
    return what == "tensor" and weight > 1


def _shares(machine: Machine, queue: Obj) -> bool:
    """Whether tensors go through a queue between processes."""
    if queue.kind != "queue" or queue.cls != "multiprocessing":
        return False
    return _is_tensor(machine, queue.fields.get("*", UNKNOWN))


def _stored(body: tuple[Stmt, ...], site: Site, *, sent: bool) -> Iterator[Handed]:
    for loop, inside in loops(body):
        statement = next((each for each in inside if any(call[1] == site for call in calls_of(each))), None)
        if statement is None:
            continue
        if loop[0] == m.FOR and any(_WORKERS.search(name) for name in names_in(loop[3])):
            return  # one for each worker: a few
        call = next(call for call in calls_of(statement) if call[1] == site)
        given = (*call[3], *(value for name, value in call[4] if name in ("args", "kwargs")))
        names = _names(given) if sent else {t[1] for t in targets(statement) if t[0] == m.NAME}
        for each in inside:
            holder = _holder(each, names, None if sent else call)
            if holder and not _let_go(body, loop, holder):
                yield Handed(each[1], holder, site, sent, frozenset(names))
                return
    for statement in statements(body):
        if sent or statement[0] != m.ASSIGN or statement[3][0] != m.COMP:
            continue
        value = statement[3]
        if value[2] in ("list", "set") and value[3][0] == m.CALL and value[3][1] == site:
            holder = text(statement[2][0])
            if holder:
                yield Handed(statement[1], holder, site, sent, frozenset())


def _holder(statement: Stmt, names: set[str], call: Expr | None) -> str:
    """The container that a statement puts one of the names, or the result of the call itself, into."""
    if statement[0] == m.EXPR and statement[2][0] == m.CALL and statement[2][2][0] == m.ATTR:
        adding = statement[2]
        if adding[2][2] in _ADDS and adding is not call and adding[3]:
            given = adding[3][0]
            if given is call or _names((given,)) & names:
                return text(adding[2][1])
    keyed = statement[0] == m.ASSIGN and statement[2][0][0] == m.ITEM
    return text(statement[2][0][1]) if keyed and (statement[3] is call or _names((statement[3],)) & names) else ""


def _names(given: tuple[Expr, ...]) -> set[str]:
    """The names that are handed on as they are, alone, in a tuple or in a dictionary."""
    found: set[str] = set()
    for expr in given:
        if expr[0] == m.NAME:
            found.add(expr[1])
        elif expr[0] == m.NEW:
            found |= _names(expr[3])
        elif expr[0] == m.DICT:
            found |= _names(tuple(value for _, value in expr[2]))
    return found


def _let_go(body: tuple[Stmt, ...], loop: Stmt, holder: str) -> bool:
    """Whether a container is made anew in the loop, or something is taken out of it in the function."""
    remade = any(text(target) == holder for each in statements((loop,)) for target in targets(each))
    for statement in statements(body):
        dropped = statement[0] == m.DELETE and any(holder in map(text, nodes(one)) for one in statement[2])
        methods = (call[2] for call in calls_of(statement) if call[2][0] == m.ATTR)
        if dropped or any(method[2] in TAKES_OUT and text(method[1]) == holder for method in methods):
            return True
    return remade
