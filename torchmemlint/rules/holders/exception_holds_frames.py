"""A caught exception keeps the frames of the failed call with their locals.

## What it does
Reports three things. First, a clause that does the failed work again while its
exception is alive: it catches an out-of-memory error and calls what the `try`
called, its own function, or another one that runs a model, inside the `except`;
or whatever it catches, it runs the model again on half of it, `size // 2`.
Second, a clause that puts the
exception away in an attribute, a list or a dictionary which nothing empties,
itself or by a helper that it is given to: when the `try` ran a model, or made
tensors one attempt after another, or a function that it was given to call did.
An exception in a global, or in `sys.last_value`, where a debugger looks for it,
is reported as well where a method of a module, or a
function with tensors at hand, leads to the clause, and one that a script or a
cell binds to a name where its `try` ran a model, or that it has IPython show,
`get_ipython().showtraceback()`; and one that is raised again each time somebody
asks, since it gets the frames of all who asked. It may travel first: a helper
returns `{"error": error}` or a tuple, and who called it
puts that part into its table of tasks; or another file's object, or a function
that was handed in, adds it to what it keeps, which is said of the line of this
file that hands it over. Third, an exception that is made once, as a constant of
a module or a class, in a table or as a default argument, and that is raised as
it is from where tensors are at hand; or one that a function makes, puts away,
by itself or bound by `functools.partial`, and that is raised. So is a handler
of a logger that keeps the records, `exc_info` and all, or the last hundreds of
them. Fourth, a list that gains frames of running functions, as of
`inspect.stack()[1]`, of which some have tensors.

## Why it retains
An exception refers to its traceback, the traceback to every frame between the
`raise` and the `except`, and each frame to its locals: inputs, activations,
losses. The frame of the clause refers to those of its callers, too, which keep
their locals after they have returned. Until the clause ends they all live, so a
retry inside it allocates on top of the failed attempt, and each further
recursion adds one more. A stored exception keeps its frames for as long as it
is stored.

## When it is fine
- The clause only notes that it failed; the retry stands after it.
- The traceback is let go first: `error.with_traceback(None)`,
  `traceback.clear_frames(error.__traceback__)`. An error that a clause has
  raised, `raise StepError(text) from None`, still has the first one in its
  `__context__`, which has to be let go as well.
- The second attempt runs on the CPU, or is a tensor's own method: no Python
  frame of the failed attempt is there.
- The message is kept, `str(error)`, and not the exception.
- What tells where a frame is, `frame.f_lineno`, `traceback.extract_stack()`.
- The class is a constant, and each `raise` makes an object of it.
- The record with the exception is sent, pickled or logged, and not kept.

## How to release it
Set a flag in the clause and retry below it. Store
`traceback.format_exc()` or `error.with_traceback(None)`.

## References
- PyTorch documentation, "Frequently Asked Questions": "My out of memory
  exception handler can't allocate memory".
- Python documentation, `traceback.clear_frames`; "The raise statement":
  a raise adds to the traceback that the object has; `inspect`, "The Interpreter
  Stack": what it does to keep references to frame objects.
- Bytes per failed attempt: measured by this rule's fixtures.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.kept_errors import goes_with_its_object
from ...evidence.kept_frames import KeptFrames
from ...evidence.places import last_part
from ...facts import knowledge
from ...facts.model import ASSIGN, ATTR, NAME, TRIES, FileFacts, Site, file_of, statement_of
from ...facts.program import Program
from ...facts.walk import statements
from ...finding import Confidence, Remedy, Retains
from ...interpreter.values import Class
from ...lexical import caught, handlers, keepers, retries
from ...lexical.at_work import (
    bound_by_name,
    decorated,
    dispatched,
    handed_in,
    has_tensors,
    is_called_at_work,
    reaches_work,
)
from ...lexical.error_records import Travels
from ...lexical.kept_places import kept_place
from ...lexical.log_records import KeptRecords, kept_records
from ...lexical.made_errors import KeptError, made_kept_and_raised
from ...lexical.shared_errors import SharedError, raised_again_and_again
from ...lexical.shown_errors import shown
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...interpreter.linking import Unit

code = "TML307"
name = "exception-holds-frames"
_PUTS, _GETS = ("put", "put_nowait"), ("get", "get_nowait")
_NATIVE = knowledge.GRAPH_FREE | knowledge.VIEWS | knowledge.REDUCTIONS | knowledge.FACTORIES
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    shared = raised_again_and_again(evidence.program, evidence.made_elsewhere, lambda: evidence.whole)
    yield from map(_raised_as_it_is, shared)
    yield from (_kept_and_raised(one) for one in made_kept_and_raised(evidence.program) if not _let_go(evidence, one))
    yield from map(_kept_by_a_handler, kept_records(evidence.program))
    yield from map(_frames_as_such, evidence.kept_frames())
    facts = evidence.facts
    leaves = any("__exit__" in cls.methods or "__aexit__" in cls.methods for cls in facts.classes)
    tried = any(function.flags & TRIES for function in facts.functions) or evidence.brings_errors
    if not leaves and not tried and not evidence.machine.errors:
        return
    keeping = _keeping_classes(evidence)
    stored: list[handlers.Kept] = []
    for function in facts.functions:
        tries = caught.tries(function)
        for clause in retries.retries(evidence.reaching, function, tries):
            retry = next((one for one in clause if one.otherwise or _may_work(evidence, one)), None)
            if retry is None:
                continue
            yield Report(
                site=retry.site,
                message=(
                    f"`{retry.callee}` is {'run' if retry.otherwise else 'tried again'} inside `except`: the traceback "
                    "still keeps every frame of the failed attempt with its tensors; retry after the clause"
                ),
                confidence=Confidence.HIGH if retry.certain else Confidence.MEDIUM,
                value="the frames of the failed attempt",
                holder="the exception's traceback",
                release="note in the clause that it failed, and retry below it",
            )
        if tries:
            stored += handlers.kept(evidence.reaching, function, tries, keeping)
            stored += shown(evidence.reaching, function, tries)
            for kept in handlers.lingering(function, keeping):
                tried_again = set(kept.names) | decorated(facts, function)
                tried_again |= handed_in(evidence.program, function, kept.names)
                if not (_uses_torch(evidence) or _uses_torch(evidence, "transformers")):
                    tried_again -= {"generate"}  # which may ask a server
                if reaches_work(evidence.program, tried_again, making=True):
                    yield _while_tried_again(kept)
    for cls in facts.classes:
        stored += handlers.kept_on_exit(facts, cls, keeping)
    known = {kept.site for kept in stored}
    program = evidence.whole if evidence.brings_errors else evidence.program
    travelled = (kept for kept in Travels(program, keeping).kept() if evidence.machine.is_home(kept.site))
    stored += [kept for kept in travelled if known.isdisjoint((kept.site, kept.record))]
    stored = [one if one.grows or not _is_of_table(evidence, one) else one._replace(grows=True) for one in stored]
    lasting = list({kept.site: kept for kept in stored if _lasts(evidence, kept)}.values())
    lasting += _as_it_runs(evidence, stored, lasting)
    for kept in lasting:
        again = handlers.raised_again(evidence.program, kept)
        does = "print it, `traceback.print_exc()`," if kept.shown else "keep `str(error)`"
        keeps = "its traceback every frame of the failed call with its tensors"
        if kept.behind >= 0:
            keeps = "its `__context__` the one it was raised for, with the frames of the failed call and their tensors"
            does = "keep `str(error)`"
        yield Report(
            site=kept.site,
            message=f"`{kept.holder}` keeps the exception, and {keeps}; {does} instead",
            confidence=Confidence.MEDIUM,
            value="an exception with its frames",
            holder=kept.holder,
            release="raise a new error each time, from what `str(error)` said"
            if again
            else "keep `str(error)` or `traceback.format_exc()` instead of the exception",
            retains=Retains.GROWING if kept.grows or again else Retains.HELD,
            related=_on_its_way(kept),
            remedy=None if again else _remedy(kept),  # what is raised again gets new frames
        )


def _as_it_runs(evidence: Evidence, stored: list[handlers.Kept], said: list[handlers.Kept]) -> list[handlers.Kept]:
    """What the run shows of functions whose text shows nothing; or no more than that an object gets the error, which
    then goes into a container, `self.calls`; or where it is put, and not that there are tensors."""
    judged, functions = {id(kept.function) for kept in stored}, {id(kept.function) for kept in said}
    places = {statement_of(kept.site) for kept in stored}

    def seen(kept: handlers.Kept) -> bool:
        return evidence.machine.is_home(kept.stored) or statement_of(kept.site) in places

    sites = {kept.site for kept in said}
    gone = {(id(kept.function), last_part(kept.holder)) for kept in stored if _emptied(evidence, kept)}
    return [
        kept
        for kept, tensors in evidence.kept_errors()
        if id(kept.function) not in (functions if seen(kept) else judged)
        and (id(kept.function), last_part(kept.holder)) not in gone
        and sites.isdisjoint(one[1] for one in statements(kept.function.body))
        and _lasts(evidence, kept, at_hand=tensors)
    ]


def _lasts(evidence: Evidence, kept: handlers.Kept, *, at_hand: bool = False) -> bool:
    """Whether what is put away has frames with tensors, and nothing takes it out again."""
    works = at_hand or _runs_model(evidence, kept)
    works = works or (handlers.raised_again(evidence.program, kept) and _uses_torch(evidence))
    if kept.function.name != "<module>":  # which is at work when the file is imported: `except ImportError as error:`
        works = works or (_is_global(evidence, kept) and is_called_at_work(evidence.program, kept.function))
    return works and not _emptied(evidence, kept) and not goes_with_its_object(evidence.machine, kept)


def _keeping_classes(evidence: Evidence) -> keepers.Keeping:
    """The classes of the file, and those that it imports, which keep what they are made with."""
    found = keepers.keeping_classes(evidence.facts)
    machine = evidence.machine
    for name in handlers.called_in_clauses(evidence.facts) & evidence.program.imports.keys():
        for atom in machine.look_up(machine.module_frame, name) or ():
            if isinstance(atom, Class):
                found[name] = keepers.kept_parts(atom.frame.unit.facts, atom.facts)
    return found


def _raised_as_it_is(shared: SharedError) -> Report:
    return Report(
        site=shared.site,
        message=(
            f"`{shared.name}` is made once and raised each time: its traceback gets longer with every raise and keeps "
            "the frames of all of them, with their tensors; raise a new exception"
        ),
        confidence=Confidence.MEDIUM,
        value="the frames of every raise",
        holder=f"the traceback of {shared.name}",
        release=f"make the exception where it is raised, or raise `{shared.name}.with_traceback(None)`",
        retains=Retains.GROWING,
        related=((shared.made, "made here"),),
    )


def _kept_and_raised(kept: KeptError) -> Report:
    each = "each time it is asked for" if kept.again else "as well"
    return Report(
        site=kept.site,
        message=(
            f"`{kept.holder}` keeps an exception that is raised {each}: its traceback gets the frames of whoever "
            "called, with their tensors; raise a new exception"
        ),
        confidence=Confidence.MEDIUM,
        value="an exception with its frames",
        holder=kept.holder,
        release="keep what the exception is made from, and make it where it is raised",
        retains=Retains.GROWING if kept.again else Retains.HELD,
        related=((kept.raised, "raised here"),),
    )


def _frames_as_such(kept: KeptFrames) -> Report:
    return Report(
        site=kept.site,
        message=(
            f"`{kept.holder}` keeps the frames of its callers, and each the locals of a call that is over, with their "
            "tensors; keep `traceback.extract_stack()` instead"
        ),
        confidence=Confidence.MEDIUM,
        value="the frames of running functions",
        holder=kept.holder,
        release="keep the file, the line and the name: `traceback.extract_stack(limit=3)`",
        retains=Retains.GROWING,
        related=() if kept.asked == kept.site else ((kept.asked, "asked for here"),),
    )


def _kept_by_a_handler(kept: KeptRecords) -> Report:
    which = f"the last {kept.limit} records" if kept.limit else "every record"
    return Report(
        site=kept.site,
        message=(
            f"`{kept.holder}` keeps {which}, and the `exc_info` of an error's record the traceback with every "
            "frame of the failed call and its tensors; keep `self.format(record)` instead"
        ),
        confidence=Confidence.MEDIUM,
        value="the frames of every error that is logged",
        holder=kept.holder,
        release="keep `self.format(record)`, and no more than the last few",
        retains=Retains.HELD if kept.limit else Retains.GROWING,
        related=((kept.logged, "logged with its traceback here"),),
    )


def _let_go(evidence: Evidence, kept: KeptError) -> bool:
    own = {"__init__", kept.function.name}
    return not kept.bound and bool(evidence.releases.of(kept.holder.rsplit(".", 1)[-1]) - own)


def _remedy(kept: handlers.Kept) -> Remedy | None:
    if kept.stored >= 0 or kept.behind >= 0 or kept.by_parts:
        return None
    return Remedy("call-on-stored", "with_traceback(None)", sure=False)


def _on_its_way(kept: handlers.Kept) -> tuple[tuple[Site, str], ...]:
    chained = () if kept.behind < 0 else ((kept.behind, "raised here while another one is handled"),)
    if kept.record >= 0:
        return (*chained, (kept.record, "returned here"))
    return chained if kept.stored < 0 else (*chained, (kept.stored, "put away here"))


def _while_tried_again(kept: handlers.Kept) -> Report:
    return Report(
        site=kept.site,
        message=(
            f"`{kept.holder}` keeps the exception while the next attempt runs, and its traceback every frame of the "
            "failed one with its tensors; keep `error.with_traceback(None)`"
        ),
        confidence=Confidence.MEDIUM,
        value="the frames of the failed attempt",
        holder=kept.holder,
        release="keep `error.with_traceback(None)`, or what the message says",
        retains=Retains.HELD,
        remedy=Remedy("call-on-stored", "with_traceback(None)", sure=False),
    )


def _may_work(evidence: Evidence, retry: retries.Retry) -> bool:
    """Whether what is tried again does what needs memory: it is not seen, it starts itself over, or it runs a model.

    A helper of this file that only computes a new size is called in both places, too; and what is native, as
    `torch.cat` and `logits.argmax`, or of the standard library, has no frames that tensors stay in.
    """
    root = evidence.program.dotted(retry.called).partition(".")[0]
    if root == "torch" or root in sys.stdlib_module_names:
        return False
    callee = retry.callee.rsplit(".", 1)[-1]
    if callee in _NATIVE and retry.called[0] == ATTR:
        return False
    seen = any(function.name == callee for function in evidence.facts.functions)
    return not seen or callee == retry.function or reaches_work(evidence.reaching, {callee})


def _runs_model(evidence: Evidence, kept: handlers.Kept) -> bool:
    """Whether what the `try` does runs a model, here or in what it calls by a name of this file; or, where one is kept
    after another, makes tensors."""
    if kept.certain:
        return True
    program = _program_of(evidence, kept)
    names = set(kept.names) | decorated(program.facts, kept.function)
    names |= handed_in(program, kept.function, kept.names)
    if not kept.names.isdisjoint({"getattr", *bound_by_name(kept.function)}):
        names |= dispatched(program, kept.function)
    for name in kept.names:  # `self._measure(config)`, which calls what the object was made with
        for place in program.by_name.get(name, ()):
            if place.facts.owner == kept.function.owner >= 0:
                names |= handed_in(program, place.facts, set(place.facts.calls))
    if reaches_work(evidence.reaching, names, making=kept.grows):
        return True
    # Each call has a frame of its own, which the traceback begins with.
    return kept.grows and not kept.rounds and has_tensors(evidence.reaching, kept.function)


def _program_of(evidence: Evidence, kept: handlers.Kept) -> Program:
    """The program that the function of an error belongs to: its owner is the number of a class there."""
    others = [unit.outline.program for unit in evidence.machine.units.values()]
    for program in (evidence.reaching, evidence.whole, *others):
        if any(function is kept.function for function in program.facts.functions):
            return program
    return evidence.reaching


def _is_of_table(evidence: Evidence, kept: handlers.Kept) -> bool:
    """Whether it goes on one of many objects that a table has: `for job in self.jobs.values(): job.error = error`."""
    root, _, attribute = kept.holder.rpartition(".")
    if root != kept.root or root == "self":
        return False
    place = kept_place(evidence.program, kept.function, (ATTR, (NAME, root), attribute))
    return place is not None and place.grows


def _is_global(evidence: Evidence, kept: handlers.Kept) -> bool:
    """Whether the process keeps it, in a name of the module or in a table under one."""
    is_own = kept.root in handlers.own_names(kept.function)
    return kept.process_wide or (_is_of_module(evidence, kept) and not is_own)


def _is_of_module(evidence: Evidence, kept: handlers.Kept) -> bool:
    """Whether what keeps it is a name of this module, or of the one whose function is given the exception."""
    units = (evidence.machine.home, *_storing(evidence, kept))
    return any(kept.root in unit.frame.vars or kept.root in unit.pending for unit in units)


def _storing(evidence: Evidence, kept: handlers.Kept) -> list[Unit]:
    """The file that puts it away, if the exception is given to a function of another one."""
    number = file_of(kept.stored) if kept.stored >= 0 else -1
    return [unit for unit in evidence.machine.units.values() if unit.facts.number == number]


def _uses_torch(evidence: Evidence, package: str = "torch") -> bool:
    return any(dotted.partition(".")[0] == package for dotted in evidence.program.imports.values())


def _is_taken_out(facts: FileFacts, name: str) -> bool:
    """Whether it is a queue, which somebody takes from what is put into it."""
    uses = [*(cls.uses.get(name, ()) for cls in facts.classes), *(one.uses.get(name, ()) for one in facts.functions)]
    methods = {method for found in uses for method in found}
    return not methods.isdisjoint(_PUTS) and not methods.isdisjoint(_GETS)


def _is_bound_again(kept: handlers.Kept) -> bool:
    """Whether a local list is another one by the end, so that the frames in it do not know it: `found = [found]`."""
    if file_of(kept.function.site) != file_of(kept.site):
        return False
    later = (one for one in kept.function.body if one[0] == ASSIGN and one[1] > kept.site)
    return any((NAME, kept.holder) in one[2] for one in later)


def _emptied(evidence: Evidence, kept: handlers.Kept) -> bool:
    name = last_part(kept.holder)
    if "." not in kept.holder and not _is_of_module(evidence, kept):
        return not kept.rounds or _is_bound_again(kept)  # a local: it goes when the function returns
    if _is_taken_out(evidence.facts, name) or keepers.goes_to_others(evidence.facts, kept.function, kept.site):
        return True
    releasing = evidence.releases.of(name) | (evidence.releases.of(kept.part) if kept.part else set[str]())
    for unit in _storing(evidence, kept):  # which may have come to the run only now
        releasing |= unit.outline.releases().released.get(name, {}).keys()
    releasing -= {"__init__", kept.function.name, kept.put_by}
    return bool(releasing) and bool(releasing - evidence.releases.starting_over(name, kept.function.name))
