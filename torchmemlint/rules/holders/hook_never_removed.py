"""A hook stays on a module that lives longer than the object that it belongs to.

## What it does
Reports `register_forward_hook(...)` and its relatives whose handle is thrown
away, or that nothing in the file ever removes, where the hook is a method of an
object and the module is not that object's own: a probe, a saliency map or a
profiler that is made for each image and hooks into the caller's model. The hook
may also be an object that can be called, or a function that refers to the
object. So is one whose handle goes into a list that nobody looks into, and one
that a method puts on the model which it runs, once more each time. So are hooks
that a function leaves behind at each call, with what they collect, and objects
that could take their hooks out, made in a loop by code that never tells them
to: there the line that uses the object is reported. And so is a handle that a
loop over layers binds to the same name each time, where `remove()` later takes
out the last hook only; one that a hook itself puts on the module in each pass,
over the handle of the one before; those that a `forward`, or each round of a
loop, puts on the parameters or the optimizer, once more each time; and `del
self.handles` of handles that nobody has removed, as if that took the hooks out.
So is a function that puts a hook with a record on a module that it was given,
runs the model, and takes the hook out afterwards, but not in a `finally`;
likewise a context manager whose `yield` stands in no `try`, also where its
hooks only use what it was given, and one whose `__exit__` returns before it
removes them, say when the block has raised, or whose `__enter__` raises an
error of its own when they are on. So are the hooks by which a function measures
a model that it is given and runs, where nothing in the file takes one out: the
next call puts on another set. And hooks for all modules of the process,
`register_module_forward_hook(...)`, whose handles code that runs again and
again drops. Without a hook table, a function that is put around a method,
`layer.forward = recording`, in each round, where nothing puts the former one
back.

## Why it retains
The module's hook table refers to the bound method, which refers to the object
and all that it has recorded. Without the handle nobody can take the hook out
again, so the object lives as long as the module. If one is made for each call,
each one stays, keeps its activations, and runs at every later forward pass.
The same happens where a `remove()` is not come to: when the pass raises, of
all times because the device is out of memory.

## When it is fine
- The handle is kept and `handle.remove()` is called, by a `close` that somebody
  calls, an `__exit__` or a `finally`. A `__del__` does not help: the hook keeps
  the object, unless the hook is an object of its own that does not refer to it.
- Nothing goes on after an error: all that call the function, up to `main`, are
  in the file, and none of them catches anything.
- The object built the module itself, so both go together.
- One object for the whole run: its hooks are wanted as long as the model.
- The file holds tests, `test_*.py` with pytest or unittest.

## How to release it
Keep the handles, `self.handles.append(module.register_forward_hook(...))`, and
remove them when the object has done its work; best in `__exit__`, so that
`with` does it.

## References
- PyTorch documentation, "torch.nn.Module": `register_forward_hook` returns "a
  handle that can be used to remove the added hook by calling
  `handle.remove()`".
- That each probe stays, with what it recorded: measured by this rule's
  fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.unreleased import called_by, goes_by_itself, in_charge, is_asked, methods_that, told_by, wholes_of
from ...evidence.wrappers import put_around_again
from ...facts import model as m
from ...facts.program import expressions
from ...facts.walk import calls, last_name
from ...finding import Confidence, Remedy, Retains
from ...interpreter.values import Class, Obj
from ...lexical.early_exit import early_exits
from ...lexical.global_hooks import global_hooks
from ...lexical.lost_handles import dropped_handles, lost_handles
from ...lexical.measuring_hooks import measuring_hooks
from ...lexical.rehooked import hooked_in_each_pass, rehooked
from ...lexical.unguarded_hooks import ON_MODULES, unguarded_hooks
from .. import Report
from ..wording import left_by_refusals

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import FileFacts, FunctionFacts
    from ...interpreter.frames import Frame
    from ...interpreter.hooks import Hooked

code = "TML304"
name = "hook-never-removed"
retains: Retains | None = Retains.GROWING
of_tests = False

_TABLES = frozenset(("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"))


def check(evidence: Evidence) -> Iterator[Report]:
    for note in evidence.plain("hook"):
        name, owner, dropped, repeated = note.detail.name, note.detail.owner, note.detail.dropped, note.detail.repeated
        name = name.strip("<>")  # of a lambda
        if (note.detail.made and not repeated) or (not dropped and _removes(evidence, note.detail, note.frame)):
            continue
        if dropped and not repeated and _empties_tables(evidence.facts):
            continue
        if not repeated and isinstance(owner, Obj) and _is_optimizer(owner):
            continue  # it is there for the module, and for as long
        records = _records(evidence, owner)
        if not repeated and not records:
            continue  # a hook that keeps nothing: installed once, it costs one callback
        kept = f"the {name} and all that it records" if isinstance(owner, Obj) else f"what `{owner.name}` collected"
        on = note.detail.on
        keeps = f"the {on} keeps {kept}"
        if note.detail.made and not isinstance(owner, Obj):
            kept = "the hook of each round and the tensors that it refers to"
            keeps = "each round puts another one on the parameter, which keeps them all with what they refer to"
        handle = "the handle of this hook is dropped" if dropped else "nothing removes this hook"
        yield Report(
            site=note.site,
            message=f"{handle}: {keeps} as long as the {on} lives; keep the handle and call `handle.remove()`",
            confidence=Confidence.HIGH if repeated else Confidence.MEDIUM,
            value=kept,
            holder=f"the {on}'s hook table",
            release="keep the handle, and call `handle.remove()` when the object has done its work",
            remedy=None if isinstance(owner, Obj) or note.detail.made else Remedy("remove-hook"),
        )
    yield from _left_in(evidence)
    for lost in lost_handles(evidence.facts):
        yield Report(
            site=lost.site,
            message=(
                f"each round of the loop binds `{lost.place}` anew, so `remove()` takes out the last hook only; the "
                "other layers keep theirs, and what these record; keep all handles in a list"
            ),
            confidence=Confidence.HIGH,
            value="the hooks of all layers but the last",
            holder="the layers' hook tables",
            release="append the handles to a list, and remove every one of them",
        )
    for lost in dropped_handles(evidence.facts):
        yield Report(
            site=lost.site,
            message=(
                f"this lets go of the handles in `{lost.place}`, and the hooks stay: nothing calls `remove()` of any, "
                "so the modules keep them, with what they record, and run them every time; remove each of them first"
            ),
            confidence=Confidence.MEDIUM,
            value="the hooks and what they record",
            holder="the modules' hook tables",
            release=f"`for handle in {lost.place}: handle.remove()`",
        )
    for again in rehooked(evidence.facts):
        yield Report(
            site=again.site,
            message=(
                f"each pass puts another hook on the module, and `{again.place}` has only the handle of the last: "
                "the others stay there and all of them run; `remove()` the former one first"
            ),
            confidence=Confidence.MEDIUM,
            value="a hook for each pass",
            holder="the module's hook table",
            release="call `remove()` of the handle that is there, and then register the next",
        )
    for site in hooked_in_each_pass(evidence.facts):
        yield Report(
            site=site,
            message=(
                "each pass puts another hook on the same parts of the model, and nothing takes one out: all of them "
                "stay, with what they refer to, and all of them run; register the hooks once, in the constructor"
            ),
            confidence=Confidence.HIGH,
            value="a hook for each pass",
            holder="the tables of hooks of parameters and modules",
            release="register the hooks once, in the constructor",
        )
    for measuring in measuring_hooks(evidence.facts):
        yield Report(
            site=measuring.site,
            message=(
                f"each call of `{measuring.function}` puts another hook on the parts of `{measuring.model}`, and "
                "nothing takes one out: all of them stay as long as the model lives, and each pass runs them; keep the "
                "handles, and call `handle.remove()` when the numbers are there"
            ),
            confidence=Confidence.MEDIUM,
            value="a hook on each part, for each call",
            holder="the modules' hook tables",
            release="keep the handles, and call `handle.remove()` in a `finally`",
        )
    for site in global_hooks(evidence.program):
        yield Report(
            site=site,
            message=(
                "this hook is for the whole process, and its handle is dropped: each one that is registered stays, "
                "with what it refers to, and runs every time; keep the handle and call `handle.remove()`"
            ),
            confidence=Confidence.MEDIUM,
            value="the hook and what it refers to",
            holder="torch's table of hooks for all modules",
            release="keep the handle, and call `handle.remove()` when the work is done",
        )
    yield from _left_at_exit(evidence)
    yield from left_by_refusals(evidence, "hook")
    for wrapped in put_around_again(evidence.machine):
        yield Report(
            site=wrapped.site,
            message=(
                f"`{wrapped.function}` is put around what `{wrapped.place}` was before, in each iteration, and nothing "
                "puts that back: the object keeps every one of them with what it refers to, and runs them all; put the "
                "former back in a `finally`"
            ),
            confidence=Confidence.MEDIUM,
            value=f"each `{wrapped.function}` and what it refers to",
            holder=f"the attribute `{wrapped.place}`",
            release="put what was there before back in a `finally`",
        )
    elsewhere = ON_MODULES if evidence.comes_by("remove") else ()
    for left in evidence.across(unguarded_hooks, *elsewhere, levels=1):
        yield Report(
            site=left.site,
            message=(
                f"an error between here and its `remove()` leaves {left.hook} on the module, with what it keeps, as "
                "long as the module lives; take the hook out in a `finally`"
            ),
            confidence=Confidence.MEDIUM,
            value="the hook and what it keeps",
            holder="the module's hook table",
            release="take the hook out in a `finally`",
            related=((left.removed, "not come to when something raises"),),
        )


def _removes(evidence: Evidence, hooked: Hooked, frame: Frame) -> bool:
    """Whether anything in the file may take out this hook, or a method that the object has of a base in another file,
    or a helper from there that the file calls. A class that hooks into modules itself, and has nothing to do with the
    owner or with who registers it, removes its own."""
    facts = evidence.facts
    objects = [obj for obj in (hooked.owner, hooked.keeper, frame.receiver) if isinstance(obj, Obj)]
    classes = [obj.cls for obj in objects if isinstance(obj.cls, Class)]
    if any(methods_that(cls, "remove") for cls in classes):
        return True
    related = {entry.facts.name for cls in classes for entry in cls.mro}
    strangers = {
        index
        for cls in facts.classes
        if related and cls.name not in related and any(_hooks(facts.functions[i]) for i in cls.methods.values())
        for index in cls.methods.values()
    }
    removing = (i for i, one in enumerate(facts.functions) if any("remove" in called for called in one.calls))
    return any(index not in strangers for index in removing) or _has_a_helper_that_removes(evidence)


def _has_a_helper_that_removes(evidence: Evidence) -> bool:
    """`detach_all(handles)` of another file."""
    elsewhere = evidence.whole.facts.functions[len(evidence.facts.functions) :]
    called = (one for one in elsewhere if one.owner < 0 and one.name in evidence.program.called)
    return any(last_name(call[2]) == "remove" and not call[3] for one in called for call in calls(one.body))


def _empties_tables(facts: FileFacts) -> bool:
    """Whether the file takes hooks out by their tables, without handles: `del layer._forward_hooks[key]`."""
    every = (node for function in facts.functions for node in expressions(function.body))
    return any(node[0] == m.ATTR and node[2] in _TABLES for node in every)


def _hooks(function: FunctionFacts) -> bool:
    return any(called.startswith("register_") and called.endswith("_hook") for called in function.calls)


def _is_optimizer(owner: Obj) -> bool:
    return isinstance(owner.cls, Class) and any(dotted.endswith("Optimizer") for dotted in owner.cls.external)


def _left_at_exit(evidence: Evidence) -> Iterator[Report]:
    for early in early_exits(evidence.program):
        if early.what == "hooks":
            yield Report(
                site=early.site,
                message=(
                    f"`__enter__` puts the hooks of the {early.cls} on whatever this asks, and here `__exit__` returns "
                    "before it removes them: they stay on the modules with what they record; remove them first"
                ),
                confidence=Confidence.MEDIUM,
                value="the hooks and what they record",
                holder="the modules' hook tables",
                release="remove the hooks before anything in `__exit__` returns",
                related=((early.done, "registered here"), (early.undone, "removed here")),
            )


def _left_in(evidence: Evidence) -> Iterator[Report]:
    """Objects that can take their hooks out, made in a loop by somebody who never tells them to."""
    machine = evidence.machine
    said: set[int] = set()
    for note in machine.plain:
        keeper = note.detail.keeper if note.kind == "hook" else None
        if keeper is None or not note.detail.repeated:
            continue
        methods = methods_that(keeper.cls, "remove")
        frame, site = called_by(keeper, note.frame, note.site)
        user, site, methods = in_charge(keeper, frame, site, methods, machine.is_home)
        assert isinstance(user.cls, Class)
        if user is not keeper and not any(loop.kind == "loop" and loop in user.birth for loop in note.detail.made):
            continue  # one of them has all its parts
        if site in said or not machine.is_home(site) or not methods:
            continue
        wholes = wholes_of(machine, user)
        if is_asked(machine, user, methods, wholes):
            continue
        if goes_by_itself(machine, keeper, "remove", note.detail.owner):
            continue
        if not _records(evidence, keeper) and not _records(evidence, note.detail.owner):
            continue  # neither it, nor what it made to be called
        said.add(site)
        user, methods = told_by(user, methods, wholes)
        assert isinstance(user.cls, Class)
        name, method = user.cls.facts.name, min(methods, key=lambda one: (one.startswith("_"), one))
        yield Report(
            site=site,
            message=(
                f"nothing calls `{method}()` of this {name}: the model keeps its hooks, and with them all that it "
                f"records, as long as the model lives; call it when the {name} has done its work"
            ),
            confidence=Confidence.MEDIUM,
            value=f"the {name} and all that it records",
            holder="the model's hook tables",
            release=f"call `{method}()` in a `finally`",
            related=((note.site, "hooked in here"),) if note.site != site else (),
        )


def _records(evidence: Evidence, owner: Obj | Frame) -> bool:
    """Whether a hook puts tensors into a place of this object, or of the call that registered it."""
    for store in evidence.machine.stores:
        if not store.hook or not store.tensors:
            continue
        place: Obj | Frame = store.owner
        for _ in range(5):
            if isinstance(place, Obj) and place.bounded:
                break
            if place is owner:
                return True
            if not isinstance(place, Obj) or place.home is None:
                break
            place = place.home[0]
    return False
