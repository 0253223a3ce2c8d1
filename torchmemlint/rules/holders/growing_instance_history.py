"""A list on an object gains tensors at each call, and nothing ever takes them out.

## What it does
Reports `self.history.append(tensor)` and its relatives, where the list, set or
queue was made with the object, the method is called again and again, and no
method of the class, of its bases in the file or of the file's other code
empties, trims or replaces it. Closures count as objects: a list of an outer
function that an inner function keeps filling. So do models and optimizers that
are made for each round and only collected. So is a list that a hook on a module
or a parameter fills in every step of a training. So is a buffer of the object
that a generator hands out, and empties only after the `yield`. So is a private
list that deep copies go into and that nothing in the file reads. So is a list
of the handles of hooks that are put on for each call and taken out again, while
the handles stay in it. So is an `ExitStack` of an object that one model or
session after the other is entered in, or that is to call something with each of
them at its end. And a metric of torchmetrics that gathers what it is given,
such as `MeanAveragePrecision` or `AUROC`, where the file asks for its value and
never resets it. And a list that gains the handle of a communication at each
call, `dist.isend(...)`, where only the program's end waits for them. And a
table of requests whose entry is put before a check that raises, where only who
has the answer takes it out, or only `__exit__`, after a check in `__enter__`;
or that is told of the end of a request after the last `yield`, or by a `try`
whose `except` clause goes on without it. And a list that lets one entry go
after a loop that has added several, `if len(self.rows) > self.limit:
self.rows.pop(0)`, with `if` and not `while`. And a list that one loop over a
loader fills and a method uses up, `torch.cat(self.features)`, while another
loop goes on with the object, where nothing that it calls, and nothing after it,
reads the list. And a search tree of nodes with tensors whose root becomes a
node below it, `self.root = self.root.children[move]`, where nothing cuts the
link to the one above. And a list of namespaces that `exec(code, names)` has
filled, one for each script, where the loop puts torch's state back after each.

## Why it retains
The object owns the list and the list owns every tensor, until the object goes.
For an object that serves requests, watches a training or tracks a stream that
is the end of the process. Each detached output costs its whole storage.

## When it is fine
- Some method clears, pops, trims or replaces *this* container. Draining another
  one does not help it.
- It is bounded: a `deque` with `maxlen`, or a test of its length that nothing
  else makes up for, as `len(self.best) < k or score > worst` does. (A test that
  only waits until there is enough, `if len(self.frames) < k: return`, is none
  where what follows reads the end, `self.frames[-k:]`.)
- It says itself when it is full: `while not answer.finished: answer.append(x)`.
- Numbers are kept, `value.item()`, not tensors.
- It is filled while the object is made.
- The links of a tree are gone back by, `self.root = self.root.parent`.

## How to release it
Keep a number or a running sum; clear the list where its values are used up, in
a generator before the `yield`; or use `collections.deque(maxlen=...)`. Set
`self.root.parent = None` when the tree begins further down.

## References
- PyTorch documentation, "Frequently Asked Questions": "My model reports 'cuda
  runtime error(2): out of memory'".
- Bytes per call: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from ...lexical.dead_handles import dead_handles
from ...lexical.given_up import given_up
from ...lexical.left_by_clauses import left_by_clauses
from ...lexical.left_by_error import left_by_error
from ...lexical.pending_sends import pending_sends
from ...lexical.refused import refused
from ...lexical.unread_copies import unread_copies
from ...lexical.unreset_metrics import unreset_metrics
from ...lexical.yielded import yielded
from .. import Report
from ..kept import of_code
from ..retained import place
from ..wording import each, left_by_refusals, lifetime, limit, report, what

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML303"
name = "growing-instance-history"
retains: Retains | None = Retains.GROWING
general = True  # a rule that says why it grows comes first


def check(evidence: Evidence) -> Iterator[Report]:
    for retention, confidence in of_code(evidence, code):
        message = (
            f"{place(retention.holder)} gains {what(retention)} {each(retention)} and nothing removes them: "
            f"they stay {lifetime(retention)}; clear it when they are used up, or bound it"
        )
        release = "clear it when its values are used up, bound it (`deque(maxlen=...)`), or keep numbers"
        yield report(retention, confidence, message, release, limit(retention))
    for tree in evidence.rerooted():
        yield Report(
            site=tree.site,
            message=(
                f"`{tree.holder}` (class {tree.cls}) becomes a part of the tree that it was, and the `{tree.back}` "
                f"of that still refers to the rest: no tree goes as long as the {tree.cls} lives; cut that link"
            ),
            confidence=Confidence.MEDIUM,
            value="the nodes that are not below the new root",
            holder=f"{tree.holder}.{tree.back}",
            release=f"cut the link: `{tree.holder}.{tree.back} = None`",
        )
    for copy in unread_copies(evidence.facts):
        yield Report(
            site=copy.site,
            message=(
                f"`self.{copy.attribute}` (class {copy.cls}) gains a deep copy at each call of `{copy.method}` and "
                f"nothing reads it: the copies stay as long as the {copy.cls} lives; do not keep them"
            ),
            confidence=Confidence.MEDIUM,
            value=f"a deep copy at each call of `{copy.method}`",
            holder=f"self.{copy.attribute}",
            release="leave the copy out",
        )
    for metric in unreset_metrics(evidence.program):
        yield Report(
            site=metric.site,
            message=(
                f"`{metric.place}` gathers all that it is given until it is reset, and nothing resets it: "
                f"`compute()` leaves it there, so that each pass over the data adds to the last; call "
                f"`{metric.place}.reset()` when its value was asked for"
            ),
            confidence=Confidence.MEDIUM,
            value=f"every prediction that {metric.metric} was given",
            holder=metric.place,
            release=f"call `{metric.place}.reset()` after `compute()`",
        )
    for sends in pending_sends(evidence.program):
        waits = f"only `{sends.end}()` waits for them, when all is done" if sends.end else "nothing waits for them"
        if sends.end and not sends.late:
            waits = f"`{sends.end}()` waits for each of them and takes none out"
        yield Report(
            site=sends.site,
            message=(
                f"`{sends.holder}` gains the handle of a communication at each call, and the buffer with it, and "
                f"{waits}: wait for the former ones as you go, and drop them"
            ),
            confidence=Confidence.MEDIUM,
            value="handles of communication that has ended, with their buffers",
            holder=sends.holder,
            release="`wait()` for what was started before, and clear the list, before the next is started",
        )
    for handle in dead_handles(evidence.facts):
        each_time = "each time hooks are put on" if handle.gone else "at each pass"
        yield Report(
            site=handle.site,
            message=(
                f"`{handle.place}` gains handles {each_time} and keeps them when the hooks are gone, as long as the "
                f"{handle.cls} lives: whoever removes hooks goes through all of them; clear it when the hooks are out"
            ),
            confidence=Confidence.MEDIUM,
            value="the handles of hooks that are gone",
            holder=handle.place,
            release=f"`{handle.place}.clear()` after the hooks were removed",
            related=((handle.gone, "the hooks are taken out here"),) if handle.gone else (),
        )
    for one in yielded(evidence.facts):
        yield Report(
            site=one.site,
            message=(
                f"`self.{one.buffer}` is emptied only when the next item is asked for: who stops at this one leaves it "
                "full, with its items, for as long as the object lives; empty it before the `yield`"
            ),
            confidence=Confidence.MEDIUM,
            value="the items of an iteration that was given up",
            holder=f"self.{one.buffer}",
            release="hand out a copy, and empty the buffer before the `yield`",
            related=((one.emptied, "not come to when the iteration is given up"),),
        )
    for left in given_up(evidence.program):
        named = ", ".join(f"`self.{table}`" for table in left.tables)
        yield Report(
            site=left.site,
            message=(
                f"{named}: the entry is taken out after a `yield`, and an iteration that is given up there does not "
                "come to that: it stays for as long as the object lives; take it out in a `finally`"
            ),
            confidence=Confidence.MEDIUM,
            value="what belongs to a request that was given up",
            holder=f"self.{left.tables[0]}",
            release="take the entry out in a `finally` around the `yield`",
            related=(
                (left.at, "the iteration may be given up here"),
                (left.taken, "not come to when the iteration is given up"),
            ),
        )
    for begun in left_by_clauses(evidence.program):
        yield Report(
            site=begun.site,
            message=(
                f"`self.{begun.table}` (class {begun.cls}) keeps the entry of a request that ends with an error: the "
                f"`except` clause goes on without `{begun.end}()`; call that in a `finally`"
            ),
            confidence=Confidence.MEDIUM,
            value="what belongs to a request that ended with an error",
            holder=f"self.{begun.table}",
            release=f"call `{begun.end}()` in a `finally`",
            related=((begun.clause, "goes on here"),),
        )
    for queue in left_by_error(evidence.program):
        yield Report(
            site=queue.site,
            message=(
                f"`{queue.listeners}` keeps the queue of a `with` block that ends by an error: what stands after the "
                "`yield` is not come to then, and what is put into the queue stays; take it off in a `finally`"
            ),
            confidence=Confidence.MEDIUM,
            value="what is put into a queue that nobody reads any more",
            holder=queue.listeners,
            release="take the queue off in a `finally` around the `yield`",
            related=((queue.at, "the error is raised here"), (queue.taken, "not come to after an error")),
        )
    for entry in refused(evidence.program, evidence.reaching):
        yield Report(
            site=entry.site,
            message=(
                f"`self.{entry.table}` (class {entry.cls}) keeps the entry of a request that is refused: the check "
                "after it raises before anybody is told of the request, and only the answer takes it out; check first, "
                "or take the entry out when the check fails"
            ),
            confidence=Confidence.MEDIUM,
            value="what belongs to a request that was refused",
            holder=f"self.{entry.table}",
            release="check before the entry is put, or take it out in an `except` clause",
            related=((entry.raised, "it may be refused here"), (entry.taken, "not come to without an answer")),
        )
    yield from left_by_refusals(evidence, "object")
