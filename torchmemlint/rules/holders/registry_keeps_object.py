"""A registry of the process keeps an object with its model until the exit.

## What it does
Reports `atexit.register(self.close)`, `signal.signal(..., partial(f, model))`,
`os.register_at_fork(after_in_child=self.reset)`,
`gc.callbacks.append(self.count)` and `weakref.finalize(self, self.close)` where
the callback, or an argument that it is registered with, keeps an object with
tensors or a model, or a pool of processes or threads, such objects are made
more than once, and nothing unregisters it. So is a hook of the interpreter,
`sys.excepthook = self.tell`, that is not put back. So is the handler of a
signal that knows the model of a function which has returned. So are handlers of
a logger, `logger.addHandler(...)`, that keep such an object and are not
removed.
So are objects with tensors that a `threading.Timer` is given, to expire in a
long time, where they are dropped earlier and nobody cancels the timer.
So are objects with tensors or a model of their own that subscribe one of their
methods, or a function that refers to a part of them, to a list of the process,
an event bus for example, are done with in the same round of a loop, and are not
taken out of it. And objects that put
themselves, or something that refers to them, into a list of their class or of
the module, `Recorder.all.append(self)`, that nothing is ever taken out of; or
into a table there under a key of their own, `TABLES[self.number] = self`.
And callbacks that refer to tensors, in what draws or updates again and again,
whose registry gives an id back that the caller drops, `canvas.connect(show)`.
And callbacks that a slot connects to a signal of its own object each time it is
called, with what it was given: `self.saved.connect(lambda: write(frame))`.
And objects of Qt with tensors of which one is made each time, where a lambda or
partial that refers to the object is connected to a signal of its own or of a
widget that it has, or which are children of one that stays, `Dialog(self)`, and
nothing in the program deletes such objects; or where it is connected to a
signal of something older, deleted or not, and not disconnected.
And models that each round of a loop makes and an `Accelerator` from before it
prepares, which lists them until `free_memory()` is called.
And pyplot's figures, `plt.figure()` or `plt.subplots()`, that a loop, a hook,
or a function that is told which step it is makes again and again, draws into a
file or a picture, and never closes.

## Why it retains
`atexit` keeps each callback and its arguments until the interpreter exits, and
a signal keeps its handler until another takes its place; what is called at a
fork, or as an audit hook, cannot be taken out at all. A
bound method is a reference to its object, so each trainer, engine or worker
that registers itself is kept with all that it owns, also when it was closed and
dropped long ago. `weakref.finalize` with a bound method of the very object that
it watches keeps that object alive, so it never runs before the exit. So does a
method of an object that has what is watched in a table of its own, for the
finalizer to take out: the process keeps the method, that its object, and that
what the finalizer waits for.

## When it is fine
- `atexit.unregister(self.close)` when the object is closed; the signal's
  former handler is put back.
- The callback refers to the object weakly, or to a path or number only.
- There is one such object, made by the program's main part.
- The figure is closed, shown, returned, or asked for by its number.
- The timer is cancelled where its object is dropped, or it alone drops it.
- The finalizer's method belongs to an object that keeps numbers and weak
  references of what is watched; or something else empties its table as well.
- The file holds tests, `test_*.py` with pytest or unittest.

## How to release it
Unregister where the object is closed; or register a function that takes a
`weakref.ref`; or use `weakref.finalize` with a static function.

## References
- Python documentation, `atexit.unregister`; `weakref.finalize`: "It is
  important to ensure that func, args and kwargs do not own any references to
  obj".
- PySide6: 20 frames given to such a slot are 20 frames kept, and 1 where it
  disconnects first; of 5 dialogs with a lambda over `self`, or with a parent
  that stays, 5 are kept, of 5 with bound methods none (measured).
- Qt documentation, "Object Trees & Ownership": the children of an object are
  deleted with it.
- Bytes per object: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.finalizers import holding_finalizers
from ...evidence.memo import made_once
from ...evidence.own_instances import own_instances
from ...evidence.process_hooks import process_hooks
from ...evidence.qt_objects import children, connected, connected_to_another
from ...evidence.timers import left_timers
from ...facts.knowledge import PROCESS_CALLBACKS
from ...facts.model import statement_of
from ...finding import Confidence, Remedy, Retains
from ...interpreter.callbacks import (
    held_by,
    is_restored,
    is_unregistered,
    outlived_by,
    registered_by,
)
from ...interpreter.logs import is_removed
from ...lexical.dropped_ids import dropped_ids
from ...lexical.figures import figures_left_open
from ...lexical.prepared import prepared_each_time
from ...lexical.signals import connected_each_time
from .. import Report
from ..kept import of_code

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Site

code = "TML314"
name = "registry-keeps-object"
retains: Retains | None = Retains.GROWING
of_tests = False
_OF_TENSORS = "TML302"  # which says as much of a list of the class that gets tensors


def check(evidence: Evidence) -> Iterator[Report]:
    yield from _kept_by_the_process(evidence)
    for note in evidence.plain("handler-added"):
        for held in held_by(evidence.machine, note):
            if not held.again or not held.heavy or is_removed(evidence.machine, note):
                continue
            yield Report(
                site=note.site,
                message=(
                    f"the logger keeps this handler, and with it {held.what}, for the rest of the process, for each "
                    "one that is made; remove it, `removeHandler(...)`, when the work is done"
                ),
                confidence=Confidence(held.weight),
                value=held.what,
                holder="the logger's handlers",
                release="`removeHandler(...)` in a `finally` when the work is done",
            )
            break
    for prepared in prepared_each_time(evidence.program):
        models = ", ".join(prepared.models)
        yield Report(
            site=prepared.site,
            message=(
                f"`{prepared.launcher}` lists all that it has prepared, so each `{models}` stays when the next one is "
                f"made; call `{prepared.launcher}.free_memory()` when one is done"
            ),
            confidence=Confidence.MEDIUM,
            value=f"each `{models}`",
            holder=prepared.launcher,
            release=f"`{prepared.launcher}.free_memory()` when one is done",
        )
    grown = {retention.site for retention, _ in of_code(evidence, "TML303")}
    for kept in evidence.listening:
        if kept.site in grown:
            continue
        until = "for the rest of the process" if kept.lasting else "as long as it lives itself"
        yield Report(
            site=kept.site,
            message=(
                f"`{kept.registry}` keeps {kept.what} {until}, each one that is made, and nothing takes it "
                "out; unsubscribe when it is done with, or subscribe a weak reference"
            ),
            confidence=Confidence.MEDIUM,
            value=f"{kept.what}, and all that it refers to",
            holder=kept.registry,
            release="unsubscribe where the object is closed, or keep `weakref.WeakMethod(...)`",
            related=((kept.store, "put there"),) if kept.store != kept.site else (),
        )
    for dropped in dropped_ids(evidence.facts):
        yield Report(
            site=dropped.site,
            message=(
                f"the id of this callback is dropped, and `{dropped.takes_out}` takes nothing but ids: the "
                f"{dropped.registry} keeps `{dropped.kept}` of every call as long as it lives; keep the id, and take "
                "the callback out before the next one"
            ),
            confidence=Confidence.MEDIUM,
            value=f"`{dropped.kept}`, which the callback refers to",
            holder=f"the callbacks of the {dropped.registry}",
            release=f"keep the id and call `{dropped.takes_out}` with it",
        )
    for made in connected_each_time(evidence.facts):
        yield Report(
            site=made.site,
            message=(
                f"`self.{made.signal}` gets a connection more each time, and each keeps its `{made.kept}` as long as "
                "the object lives; connect once, or disconnect the one before"
            ),
            confidence=Confidence.MEDIUM,
            value=f"`{made.kept}`, which the callback refers to",
            holder=f"the connections of `self.{made.signal}`",
            release="connect once, in `__init__`, to a method that reads the latest, or disconnect the one before",
        )
    for own in own_instances(evidence.machine, evidence.program):
        said = (retention.store for retention, _ in of_code(evidence, _OF_TENSORS))
        if any(statement_of(own.site) == statement_of(site) for site in said):
            continue
        by = f"`self.{own.by}`, which refers to the object," if own.by else "the object itself"
        yield Report(
            site=own.site,
            message=(
                f"`{own.registry}` is one for all and gets {by} each time: every {own.cls} stays with all that it "
                "has, since nothing takes it out; keep weak references, or take it out when it is done with"
            ),
            confidence=Confidence.MEDIUM,
            value=f"every {own.cls}, and all that it refers to",
            holder=own.registry,
            release="keep `weakref.ref(self)`, or take the object out when it is done with",
        )
    for left in left_timers(evidence.machine, evidence.program):
        yield Report(
            site=left.site,
            message=(
                f"the timer keeps the {left.what} that it is given until it calls `{left.callback}`, also when it was "
                "dropped long before; cancel it where the object is dropped, or give it a weak reference"
            ),
            confidence=Confidence.MEDIUM,
            value=f"the {left.what} and all that it owns, with a thread",
            holder="the running timer",
            release="`timer.cancel()` where the object is dropped",
            retains=Retains.HELD,
            related=((left.dropped, "dropped here before its time"),),
        )
    for figure in figures_left_open(evidence.program):
        yield Report(
            site=figure.site,
            message=(
                "pyplot keeps every figure that it makes, with all that is drawn in it, until it is closed: nothing "
                "closes this one, so each time one more stays; `plt.close(fig)` when it is drawn"
            ),
            confidence=Confidence.MEDIUM if figure.again else Confidence.LOW,
            value="the figure with its data and canvas",
            holder="pyplot's table of figures",
            release="`plt.close(fig)` when it is drawn, or a `matplotlib.figure.Figure`, which pyplot does not keep",
        )
    for hooked in process_hooks(evidence.machine, evidence.program):
        until = "for each one that is made, since each has the one before" if hooked.chained else "until another is set"
        yield Report(
            site=hooked.site,
            message=(
                f"`{hooked.hook}` keeps this hook, and with it {hooked.what}, {until}; put the former hook back when "
                "the object is done with, or refer to the object weakly"
            ),
            confidence=Confidence(hooked.weight),
            value=hooked.what,
            holder=f"`{hooked.hook}`",
            release="put the former hook back where the object is done with",
            retains=Retains.GROWING if hooked.chained else Retains.HELD,
        )
    yield from _kept_by_qt(evidence)
    yield from _finalizers(evidence)


def _kept_by_the_process(evidence: Evidence) -> Iterator[Report]:
    for note in (*evidence.plain("registered"), *evidence.led_to("registered")):
        name = registered_by(note)
        signal = name == "signal.signal"
        outlived = outlived_by(evidence.machine, note) if signal else ()
        for held in (*held_by(evidence.machine, note), *outlived):
            if not held.again or is_restored(evidence.facts, note) or made_once(note.frame):
                continue
            if is_unregistered(evidence.program, name):
                continue
            ends = "signal.signal" if signal else PROCESS_CALLBACKS[name]
            until = (
                "another takes its place, also when it is done with"
                if signal
                else "it exits, for each one that is made"
            )
            ending = "put the former handler back" if signal else "unregister it"
            yield Report(
                site=note.site,
                message=(
                    f"the interpreter keeps this callback, and with it {held.what}, until {until}"
                    + (f"; {ending} when the object is closed, or " if ends else ", and nothing takes it out; ")
                    + "refer to the object weakly"
                ),
                retains=Retains.HELD if signal else None,
                confidence=Confidence(held.weight),
                value=held.what,
                holder="the interpreter's list of callbacks",
                release=f"`{ends}(...)` where the object is closed, or register a weak reference"
                if ends
                else "register a function that has a `weakref.WeakMethod(...)` of it",
                remedy=Remedy("unregister", sure=False) if ends[:6] in ("atexit", "signal") else None,
            )
            break


def _kept_by_qt(evidence: Evidence) -> Iterator[Report]:
    for child in children(evidence):
        yield Report(
            site=child.site,
            message=(
                f"each {child.cls} is a child of the {child.by} that it is given, which keeps it with all that it has: "
                "`close()` and `hide()` do not take it out; call `deleteLater()` when it is done with"
            ),
            confidence=Confidence.MEDIUM,
            value=f"every {child.cls}, and all that it refers to",
            holder=f"the children of the {child.by}",
            release="`deleteLater()` when it is done with, `setParent(None)`, or the attribute `WA_DeleteOnClose`",
        )
    for made in connected(evidence):
        yield Report(
            site=made.site,
            message=(
                f"what is connected to `{made.by}` refers to the {made.cls}, which has the sender, and Qt keeps it: "
                f"every {made.cls} stays for the rest of the process, since the collector does not look into Qt; "
                "connect a method of the object, `self.on_click`, or call `deleteLater()`"
            ),
            confidence=Confidence.MEDIUM,
            value=f"every {made.cls}, and all that it refers to",
            holder=f"the connections of `{made.by}`",
            release="connect a bound method, which Qt does not keep the object by, or `deleteLater()`",
        )
    for made in connected_to_another(evidence):
        yield Report(
            site=made.site,
            message=(
                f"what is connected to `{made.by}` refers to the {made.cls}: each one that is made stays as long as "
                "the sender, also when it is closed or deleted; connect a method of the object, `self.draw`, or "
                "disconnect it when it is done with"
            ),
            confidence=Confidence.MEDIUM,
            value=f"every {made.cls}, and all that it refers to",
            holder=f"the connections of `{made.by}`",
            release="connect a bound method, which Qt does not keep the object by, or `disconnect(...)` in the end",
        )


def _finalizers(evidence: Evidence) -> Iterator[Report]:
    said: set[Site] = set()
    for note in evidence.plain("finalize"):
        for held in held_by(evidence.machine, note):
            if held.watched:
                said.add(note.site)
                yield Report(
                    site=note.site,
                    message=(
                        f"this finalizer refers to the very object that it watches: {held.what} stays until the "
                        "interpreter exits; pass a static function and what it needs"
                    ),
                    confidence=Confidence.HIGH if held.heavy else Confidence.MEDIUM,
                    value=held.what,
                    holder="the finalizer",
                    release="pass a static function and the few things that it needs, not a bound method",
                )
                break
    for one in holding_finalizers(evidence.machine, evidence.program):
        if one.site in said:
            continue
        said.add(one.site)
        kept = f"{one.owner} that it keeps has {one.what} in `{one.place}`" if one.place else f"it keeps {one.what}"
        yield Report(
            site=one.site,
            message=(
                f"this finalizer waits for the end of what it holds on to: {kept}, so that it never runs and both stay "
                "until the interpreter exits; let it refer to the object weakly, or let that keep a weak reference"
            ),
            confidence=Confidence.MEDIUM,
            value=f"{one.what}, and {one.owner} that has it" if one.place else one.what,
            holder="the finalizer",
            release="pass a static function and a `weakref.ref(self)`, or keep the watched thing weakly",
        )
