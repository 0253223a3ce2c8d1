"""A dictionary on an object gains a tensor for each new key and no key leaves.

## What it does
Reports `self.cache[key] = tensor` in a method that runs again and again, where
the key is one that keeps changing (a step, a request, a path, an `id()`, a
tensor, the name of a thread where each request has one of its own) and nothing
in the file deletes, pops, trims or replaces it. So is a key that is a new
object with tensors, `self.started[request] = time.time()`; a table of what is
under way, whose entry is popped in a `try` after the wait for it, and by no
`except` clause; one whose only release waits first, `await done.wait()`, and is
never come to when that wait is cancelled; one that takes out only what has not
ended, `if not session.closed: del self.sessions[key]`; one that drops what has
expired only when its key is asked for again; one of answers, which whoever gave
up waiting never fetches; one that takes out only what fails, in an `except`
clause that raises; one that raises the error which an entry was given before it
takes that out, `if job.error: raise Failed(job.error)`, where the caller goes
on; one of generators, each with its variables, that takes out only those which
have come to their end; and one whose entries are taken out only to be
differentiated, `x, y = self.parts.pop(i); y.backward(grad)`, and put there with
gradients off as well. So is a state that a method makes
for its caller, `state = self.init_state()`, and another one of the class fills.
So is a table with an entry for each frame of a video, `state.flows[t] = flow`,
of which the file asks for the frame before or a few more, `flows.get(t - 1)`.
So is a list, of a function or a script, that a loop adds tensors to and only
draws from, `random.sample(memory, 32)`, `history[-8:]`, itself or by functions
that it gives the list, or a table, to; and a list of records of which only the
numbers are read, `results.append({"model": model, "score": score})`.

## Why it retains
Each key keeps its value. With keys that come back, the dictionary is as large
as the number of keys; with keys that do not, it grows with every call: a table
of requests, a replay buffer, a memo of inputs. A tensor as key comes back only
as the same object, since tensors hash by identity: a new one never does.

## When it is fine
- Entries leave: `pop`, `del`, `clear`, an eviction when it is full (not when
  another container is).
- The keys are few by their nature: names of layers, shapes, dtypes, devices,
  the threads of a pool. `threading.get_ident()` is given out again when its
  thread has ended; a thread's name is not.

## How to release it
`pop` the entry where it is used up, or evict the oldest one when the dictionary
is full.

## References
- PyTorch documentation, `torch.Tensor`: tensors compare element by element and
  hash by `id`.
- Bytes per key: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.caches import cached_functions
from ...evidence.drawn import drawn_from
from ...evidence.unread_parts import unread_records
from ...facts.model import CALL, CALLS_PER_STATEMENT, DECORATORS
from ...facts.walk import last_name
from ...finding import Confidence, Retains
from ...interpreter.keys import THREAD
from .. import Report
from ..kept import of_code
from ..retained import place
from ..wording import each, left_pending, lifetime, report, what

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Site

code = "TML311"
name = "unbounded-buffer"
retains: Retains | None = Retains.GROWING
general = True  # a rule that says why it grows comes first


def check(evidence: Evidence) -> Iterator[Report]:
    for retention, confidence in of_code(evidence, code):
        message = (
            f"{place(retention.holder)} gains a key with {what(retention)} {each(retention)} and no key ever leaves: "
            f"they stay {lifetime(retention)}; "
        )
        release = "`pop` the entry where it is used up, or evict the oldest when it is full"
        if retention.store_event.key_kind == THREAD:
            release = "keep what belongs to a thread in a `threading.local()`, which goes with it"
            message += "what a thread has for itself belongs into a `threading.local()`"
        else:
            message += "`pop` what is used up, or evict when it is full"
        if retention.site % CALLS_PER_STATEMENT == DECORATORS and _is_cached(evidence, retention.site):
            continue  # TML305 speaks of it, where the decorator stands
        if _is_of_a_memo(evidence, retention.holder.owner):
            continue  # likewise
        yield report(retention, confidence, message, release)
    yield from left_pending(evidence, everywhere=False)
    said = {retention.store for retention in evidence.retentions if retention.graph}
    for drawn in drawn_from(evidence.machine, evidence.program) if not evidence.in_tests else ():
        if drawn.site in said:
            continue
        how = "take the oldest out" if drawn.table else "`deque(maxlen=...)`"
        yield Report(
            site=drawn.site,
            message=(
                f"`{drawn.name}` gains a tensor in each iteration, and a few entries are read at a time: all that ever "
                f"went in stay; bound it, {how}"
            ),
            confidence=Confidence.MEDIUM,
            value="a tensor in each iteration",
            holder=drawn.name,
            release="`collections.deque(maxlen=...)`, or take the oldest out",
        )
    yield from _unread(evidence) if not evidence.in_tests else ()


def _unread(evidence: Evidence) -> Iterator[Report]:
    for records in unread_records(evidence.machine, evidence.program, evidence.retentions):
        parts = ", ".join(f"place {part}" if part.isdigit() else f"`{part}`" for part in records.read)
        yield Report(
            site=records.site,
            message=(
                f"`{records.name}` gains a record in each iteration of which only {parts} is read: what weighs stays "
                "with it until the function returns; keep what is read, and let go of the rest"
            ),
            confidence=Confidence.MEDIUM,
            value="a record with a model or tensors in each iteration",
            holder=records.name,
            release=f"keep {parts} only",
        )


def _is_cached(evidence: Evidence, site: Site) -> bool:
    return any(cached.site == site for cached in cached_functions(evidence.machine))


def _is_of_a_memo(evidence: Evidence, cls: str) -> bool:
    """Whether a table is one of the objects of a class that a cached function is decorated with."""
    decorated = [
        function.site + DECORATORS
        for function in evidence.facts.functions
        if any(last_name(one[2] if one[0] == CALL else one) == cls for one in function.decorators)
    ]
    return any(_is_cached(evidence, site) for site in decorated)
