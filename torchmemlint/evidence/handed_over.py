"""What a parent process keeps of the tensors that it gets from workers or sends to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.program import Program, names_in
from ..facts.walk import calls, last_name, loops
from ..interpreter.events import Loops, Store
from ..interpreter.frames import Frame, Loop
from ..interpreter.keys import KNOWN
from ..interpreter.machine import Machine
from ..interpreter.values import UNKNOWN, Obj, Value
from ..interpreter.weights import heavy
from .collected import growing
from .few_rounds import has_few_rounds
from .lifetimes import Lifetimes
from .one_of_each import gains_one_of_each
from .places import describe, in_test
from .shared_arrays import collected_arrays

_WORKERS = re.compile(r"worker|proc|rank|world_size|n_?jobs|threads", re.IGNORECASE)


_POOL_LOOPS = ("map", "imap", "imap_unordered", "starmap")


class Handed(NamedTuple):
    """A container that gains tensors which share their memory with another process."""

    site: Site  # where it gains one
    holder: str
    other: Site  # where the tensor comes from, or goes to
    sent: bool
    array: bool = False  # what is kept is numpy's, of the same memory


def handed_over(machine: Machine, lifetimes: Lifetimes, *, by_name: bool) -> Iterator[Handed]:
    """What loops collect, as it is, of what they take from a queue of `multiprocessing`, put into one, hand to a
    process or go through in the batches of a loader with workers. `by_name`: the file has tensors shared by file
    names, which keeps no descriptors of a loader's."""
    derivation = machine.derivation
    for at, array in () if by_name else collected_arrays(machine):
        yield Handed(at, array, at, False, array=True)
    queued = [store for store in machine.stores if isinstance(store.owner, Obj) and _shares(machine, store.owner)]
    received = {node: store.owner for store in queued for node in store.nodes}
    got = {id(note.detail): note.site for note in machine.plain if note.kind == "queue-received"}
    sent = list(_sent(machine, queued))
    pooled = dict(_from_pools(machine))
    for store in machine.stores if sent or got or pooled or derivation.loaded else ():
        own = store.how in ("grow", "keyed") and machine.is_home(store.site)
        loop = (growing(machine, store) or _gone_through(store)) if own else None
        if loop is None or store in queued or any(_is_worker(one) for one in store.loops):
            continue
        if isinstance(store.owner, Obj) and store.owner.kind == "queue":
            continue  # on their way to whoever takes them out
        nodes = {node for tensor in store.tensors for node in derivation.names_of(tensor.node)}
        loaded = next((derivation.loaded[node] for node in nodes if node in derivation.loaded), None)
        if loaded is None and _is_of_workers(store.frame, loop):
            continue  # not so if a loader is told how many make its batches, `for x, y in make_loader(data, workers)`
        if lifetimes.emptied_in(store, loop):
            continue
        if store.how == "keyed" and store.key_kind == KNOWN:
            continue  # the entry goes with the next round
        if gains_one_of_each(store) or has_few_rounds(store.frame, loop):
            continue  # no more than sources, or a sample
        place = describe(store.owner, store.key, machine)
        holder = place.text
        if loaded is not None and not by_name and not in_test(store.frame):
            if "$idle" in loaded.fields and place.kind == "local":
                continue  # it has workers only if somebody asks for them, and the list goes with the call
            if _is_made_for_a_batch(store):
                continue
            yield Handed(store.site, holder, loaded.site, False)
            continue
        if _kind_of(loop):
            continue
        pool = next((pooled[node] for node in nodes if node in pooled), None)
        if pool is not None and not by_name:
            yield Handed(store.site, holder, pool, False)
            continue
        queue = next((received[node] for node in nodes if node in received), None)
        if queue is not None and id(queue) in got:
            yield Handed(store.site, holder, got[id(queue)], False)
            continue
        site = next((site for site, around, given in sent if loop in around and not nodes.isdisjoint(given)), None)
        made_anew = isinstance(store.owner, Obj) and loop in store.owner.made  # it goes into the queue as a whole
        if site is not None and not made_anew:
            yield Handed(store.site, holder, site, True)


def _is_made_for_a_batch(store: Store) -> bool:
    """Whether the round of the loader that adds to a container has made it: it has parts of one batch, and is bound
    anew with the next."""
    rounds = [loop for loop in store.loops if loop.name == "loader"]
    return bool(rounds) and all(loop in store.birth for loop in rounds)


def _gone_through(store: Store) -> Loop | None:
    """The comprehension that collects: `[labels for _, labels in loader]`"""
    around = (loop for loop in store.loops if loop not in store.birth and loop.kind == "loop")
    return next((loop for loop in around if _kind_of(loop) == "comp"), None)


def _kind_of(loop: Loop) -> str:
    """What goes round, where that is no statement: "comp" of a comprehension, "worker" of a worker."""
    site: Any = loop.site
    return str(site[0]) if type(site) is tuple else ""


def shares_by_name(program: Program) -> bool:
    """Whether a file has tensors shared by the names of files, `set_sharing_strategy("file_system")`."""
    return "set_sharing_strategy" in program.called and any(
        last_name(call[2]) == "set_sharing_strategy" and (m.CONST, "file_descriptor") not in call[3]
        for place in program.places
        for call in calls(place.facts.body)
    )


def _sent(machine: Machine, queued: list[Store]) -> Iterator[tuple[Site, Loops, set[int]]]:
    """Where tensors go to another process, in which loops, and their nodes there."""
    names_of = machine.derivation.names_of
    for store in queued:
        yield store.site, store.loops, {node for tensor in store.tensors for node in names_of(tensor.node)}
    for note in machine.plain:
        if note.kind == "sent":
            tensors = [one for value in note.detail for one in machine.reach(value) if one.weight > 1]
            yield note.site, note.loops, {node for tensor in tensors for node in names_of(tensor.node)}


def _from_pools(machine: Machine) -> Iterator[tuple[int, Site]]:
    """The nodes of the tensors that the workers of pools give back, and where they come in."""
    for note in machine.plain:
        if note.kind == "pool-results":
            for tensor in machine.reach(note.detail):
                if tensor.weight > 1:
                    yield from ((node, note.site) for node in machine.derivation.names_of(tensor.node))


def _is_worker(loop: Loop) -> bool:
    """Whether what runs is a worker's."""
    return _kind_of(loop) == "worker"


def _is_of_workers(frame: Frame, loop: Loop) -> bool:
    """Whether a loop has one round for each worker: a few."""
    caller: Frame | None = frame
    while caller is not None:
        for one, _ in loops(caller.facts.body):
            if one[1] == loop.site:
                return one[0] == m.FOR and any(_WORKERS.search(name) for name in _names(one[3]))
        caller = caller.caller
    return False


def _names(iterated: Expr) -> Iterator[str]:
    """The names in what a loop goes through; of what a pool is told, `pool.imap(process_one, chunks)`, those of the
    arguments."""
    told = iterated[0] == m.CALL and last_name(iterated) in _POOL_LOOPS and len(iterated[3]) > 1
    for part in iterated[3][1:] if told else (iterated,):
        yield from names_in(part)


def _is_tensor(machine: Machine, value: Value) -> bool:
    what, weight = heavy(machine, value)
    return what == "tensor" and weight > 1


def _shares(machine: Machine, queue: Obj) -> bool:
    """Whether tensors go through a queue between processes."""
    if queue.kind != "queue" or queue.cls != "multiprocessing":
        return False
    return _is_tensor(machine, queue.fields.get("*", UNKNOWN))
