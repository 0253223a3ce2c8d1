"""Context managers whose `__exit__` returns before it has undone what `__enter__` did.

`if self.src_rank is None: return`, and the parameters that were gathered just to be read stay whole; or
`if kind is not None: return False`, and the hooks stay when the block raises, of all times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Program, targets
from ..facts.walk import blocks, calls, calls_of, heads, last_name, nodes, statements

_SELF = (m.NAME, "self")
_GATHERS = frozenset("gather allgather unshard materialize ungroup".split())
_SHARDS = frozenset("partition repartition reshard shard release free scatter".split())
_SHARDED = frozenset("param params parameter parameters weight weights shard shards".split())
_HOOKS = tuple(
    f"register_{kind}_hook" for kind in ("forward", "forward_pre", "full_backward", "backward", "full_backward_pre")
)


class EarlyExit(NamedTuple):
    """A `return` of an `__exit__` that something stays behind at."""

    site: Site
    cls: str
    what: str  # "hooks", "parameters"
    done: Site  # in `__enter__`
    undone: Site  # further down in `__exit__`


def early_exits(program: Program) -> Iterator[EarlyExit]:
    """Of context managers that put hooks on modules, or gather sharded parameters."""
    for cls in program.facts.classes:
        if "__enter__" not in cls.methods or "__exit__" not in cls.methods:
            continue
        enter, leave = (program.facts.functions[cls.methods[name]] for name in ("__enter__", "__exit__"))
        entering = [enter, *_own(program, cls, enter)]
        for what in ("hooks", "parameters"):
            done = _done(entering, what)
            undoing = [s for s, around in _with_loops(leave.body) if any(_undoes(c, around, what) for c in calls_of(s))]
            found = returned_before(entering, leave, undoing) if done is not None else None
            if done is not None and found is not None:
                yield EarlyExit(found[0], cls.name, what, done, found[1])


def _own(program: Program, cls: ClassFacts, function: FunctionFacts) -> list[FunctionFacts]:
    """The methods of its own that a method calls."""
    called = {call[2][2] for call in calls(function.body) if call[2][0] == m.ATTR and call[2][1] == _SELF}
    return [program.facts.functions[index] for name, index in cls.methods.items() if name in called]


def _done(entering: list[FunctionFacts], what: str) -> Site | None:
    """Where `__enter__` does it, itself or by a method of its own."""
    for function in entering:
        for statement, around in _with_loops(function.body):
            for call in calls_of(statement):
                if _does(call, around, what):
                    return int(call[1])
    return None


def _with_loops(block: Block, around: tuple[Stmt, ...] = ()) -> Iterator[tuple[Stmt, tuple[Stmt, ...]]]:
    """Every statement of a block with the loops that it stands in."""
    for statement in block:
        yield statement, around
        inner = (*around, statement) if statement[0] == m.FOR else around
        for suite in blocks(statement):
            yield from _with_loops(suite, inner)


def _does(call: Expr, around: tuple[Stmt, ...], what: str) -> bool:
    if what == "hooks":
        return call[2][0] == m.ATTR and call[2][2] in _HOOKS
    return not _GATHERS.isdisjoint(_words(last_name(call[2]))) and _is_of_shards(call, around)


def _undoes(call: Expr, around: tuple[Stmt, ...], what: str) -> bool:
    if what == "hooks":
        return call[2][0] == m.ATTR and call[2][2] == "remove" and not call[3]
    return not _SHARDS.isdisjoint(_words(last_name(call[2]))) and _is_of_shards(call, around)


def _is_of_shards(call: Expr, around: tuple[Stmt, ...]) -> bool:
    """Whether a call is about parameters of the object, all at once or one after another."""
    over = [loop[3] for loop in around if any(target in nodes(call) for target in targets(loop))]
    own = (part for one in (call, *over) for part in nodes(one) if part[0] == m.ATTR and part[1] == _SELF)
    return any(not _SHARDED.isdisjoint(_words(part[2])) for part in own)


def _words(name: str) -> set[str]:
    return set(name.lower().split("_"))


def returned_before(
    entering: list[FunctionFacts], leave: FunctionFacts, undoing: list[Stmt]
) -> tuple[Site, Site] | None:
    """The `return` of an `__exit__` that comes before anything is undone, under a test that `__enter__` does not make;
    and where it is undone."""
    if not undoing:
        return None
    first = min(one[1] for one in undoing)
    known = {part for function in entering for part in (*_conditions(function), *_bound(function))}
    for statement in leave.body:
        if statement[1] >= first or any(calls((statement,))):
            return None  # what is called may undo it
        if statement[0] == m.IF and not statement[4] and statement[3][-1][0] == m.RETURN:
            read = _reads(statement[2])
            later = {part for one in leave.body if one[1] > statement[1] for part in _used(one)}
            if read and read.isdisjoint(known | later):
                return statement[3][-1][1], first
    return None


def _reads(test: Expr) -> set[Expr]:
    """What a test asks for: attributes of the object, and names."""
    return {part for part in nodes(test) if part[0] in (m.ATTR, m.NAME) and part != _SELF}


def _conditions(function: FunctionFacts) -> set[Expr]:
    return {
        part
        for one in statements(function.body)
        for head in heads(one)
        if one[0] in (m.IF, m.WHILE) or any(node[0] in (m.COND, m.BOOL) for node in nodes(head))
        for part in _reads(head)
    }


def _bound(function: FunctionFacts) -> set[Expr]:
    """What a function sets, or adds to."""
    set_here = {target for one in statements(function.body) for target in targets(one)}
    return set_here | {call[2][1] for call in calls(function.body) if call[2][0] == m.ATTR}


def _used(statement: Stmt) -> set[Expr]:
    """What is gone over, or called upon, further down."""
    over = set(nodes(statement[3])) if statement[0] == m.FOR else set()
    return over | {part for call in calls((statement,)) for part in nodes(call[2]) if part[0] == m.ATTR}
