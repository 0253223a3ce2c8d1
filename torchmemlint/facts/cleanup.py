"""Clean-up that does not clean: what the text between `del`, `gc.collect()` and `empty_cache()` leaves bound."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from . import model as m
from .model import Expr, Site, Stmt
from .program import EMPTIES, Block, Place, Program, calls, keyword, statements, targets, text
from .walk import blocks, heads, last_name, nodes
from .walk import calls as calls_of

_FREES = (*EMPTIES, "collect", "malloc_trim", "ipc_collect")
_MODELS = ("model", "net", "network", "module", "trainer", "pipe", "pipeline", "teacher", "student", "agent", "engine",
           "generator", "discriminator", "encoder", "decoder", "backbone", "policy", "llm", "unet", "vae")  # fmt: skip
_OPTIMIZERS = ("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Adadelta", "LBFGS", "Lion")


class Slip(NamedTuple):
    """A clean-up that leaves something: where, what name, and a second place."""

    site: Site
    name: str
    other: Site
    weight: int
    kind: str = ""


def _empties(program: Program, call: Expr) -> bool:
    """`torch.cuda.empty_cache()` and its like, or a function of the file that does little else."""
    name = last_name(call[2])
    if name in EMPTIES:
        return True
    return name in program.emptying


def _collects(program: Program, call: Expr) -> bool:
    return program.dotted(call[2]) == "gc.collect"


def _runs(body: Block) -> Iterator[tuple[Stmt, ...]]:
    """Every sequence of statements that follow each other, `if torch.cuda.is_available():` taken as always."""
    flat: list[Stmt] = []
    for statement in body:
        if statement[0] == m.IF and not statement[4] and "is_available" in str(statement[2]):
            flat += statement[3]
        else:
            flat.append(statement)
        for block in blocks(statement):
            yield from _runs(block)
    yield tuple(flat)


def emptied_before_collected(program: Program) -> Iterator[Slip]:
    """`empty_cache()` and then `gc.collect()`, with nothing emptied after it."""
    if not set(EMPTIES) & program.called or "collect" not in program.called:
        return
    for place in program.places:
        if "collect" not in place.facts.calls:
            continue
        dropped = _dropped(place)
        for run in _runs(place.facts.body):
            found = [(call, _collects(program, call)) for one in run for call in _own_calls(one)]
            order = [(call[1], what) for call, what in found if what or _empties(program, call)]
            for (site, _), (later, collects) in itertools.pairwise(order):
                if collects and not any(not what for at, what in order if at > later):
                    first = not any(what for at, what in order if at < site)
                    yield Slip(site, dropped, later, 2 if dropped and first else 1)
                    break


def _own_calls(statement: Stmt) -> list[Expr]:
    if statement[0] in (m.FOR, m.WHILE, m.IF, m.TRY, m.WITH):
        return []
    return sorted(calls_of(statement), key=lambda call: int(call[1]))


def _dropped(place: Place) -> str:
    """A model, trainer or the like that a function drops: such objects sit in reference cycles."""
    for statement in statements(place.facts.body):
        names: list[Expr] = []
        if statement[0] == m.DELETE:
            names = list(statement[2])
        elif statement[0] == m.ASSIGN and statement[3] == (m.CONST, None):
            names = list(targets(statement))
        for name in names:
            if any(word in last_name(name).lower().split("_") for word in _MODELS):
                return text(name) or last_name(name)
    return ""


# -- borrowed names -------------------------------------------------------------------------------


def borrowed(program: Program) -> Iterator[Slip]:
    """`del p` of what somebody else still binds, followed by a call that is to free it."""
    if not set(_FREES) & program.called:
        return
    for place in program.places:
        facts = place.facts
        frees = set(_FREES) & set(facts.calls) or program.emptying & set(facts.calls)
        if not frees:
            continue
        params = {param.name for param in facts.params if not param.kind} - {"self", "cls"}
        yielded = _yielded(place)
        for statement in statements(facts.body):
            names = _let_go(statement)
            for name in names:
                if name in yielded and _freed_after(program, facts.body, statement[1]):
                    yield Slip(statement[1], name, yielded[name], 3, "yielded")
                elif name in params and _freed_after(program, facts.body, statement[1]):
                    slip = _of_the_caller(program, place, name, statement[1])
                    if slip is not None:
                        yield slip


def _let_go(statement: Stmt) -> list[str]:
    if statement[0] == m.DELETE:
        return [target[1] for target in statement[2] if target[0] == m.NAME]
    if statement[0] == m.ASSIGN and statement[3] == (m.CONST, None):
        return [target[1] for target in targets(statement) if target[0] == m.NAME]
    return []


def _yielded(place: Place) -> dict[str, Site]:
    """Names that a context manager hands out: `yield t`."""
    if not place.facts.generator or not any(last_name(one) == "contextmanager" for one in place.facts.decorators):
        return {}
    return {
        node[1][1]: statement[1]
        for statement in statements(place.facts.body)
        for head in heads(statement)
        for node in nodes(head)
        if node[0] == m.YIELD and node[1] is not None and node[1][0] == m.NAME
    }


def _freed_after(program: Program, body: Block, site: Site) -> bool:
    return any(call[1] > site and (_empties(program, call) or _collects(program, call)) for call in calls(body))


def _of_the_caller(program: Program, place: Place, name: str, site: Site) -> Slip | None:
    """What the callers pass for a parameter: a name that they go on binding."""
    facts = place.facts
    body = [one for one in facts.body if one[0] not in (m.IMPORT, m.FROM)]
    rebound = any(
        (m.NAME, name) in targets(one) and one[1] < site for one in statements(facts.body) if one[0] == m.ASSIGN
    )
    if rebound:
        return None
    only = len(body) <= 5 and not any(one[0] == m.RETURN and one[2] is not None for one in body)
    index = [param.name for param in facts.params].index(name) - (1 if place.cls else 0)
    seen = False
    for other in program.places:
        if facts.name not in other.facts.calls:
            continue
        for statement in statements(other.facts.body):
            for call in calls_of(statement):
                if last_name(call[2]) != facts.name:
                    continue
                seen = True
                given = keyword(call, name, index)
                if given is None or given[0] not in (m.NAME, m.ATTR) or not text(given):
                    continue
                if given[0] == m.NAME and _gone_after(other.facts.body, given[1], statement):
                    continue
                return Slip(site, name, call[1], 3 if only else 2, text(given))
    return Slip(site, name, -1, 2, "") if only and not seen else None


def _gone_after(body: Block, name: str, call: Stmt) -> bool:
    """Whether a caller lets go of its own name too, or returns at once."""
    if (m.NAME, name) in targets(call) or call[0] == m.RETURN:
        return True
    following = [one for one in statements(body) if one[1] > call[1]]
    if any(name in _let_go(one) or (m.NAME, name) in targets(one) for one in following):
        return True
    return not following


# -- results --------------------------------------------------------------------------------------


def results_dropped(program: Program) -> Iterator[Slip]:
    """`release_memory(model)` whose `None`s nobody takes."""
    helpers = {place.facts.name: place.facts.site for place in program.places if _returns_nones(place)}
    for place in program.places:
        for statement in statements(place.facts.body):
            for head in heads(statement):
                if head[0] != m.CALL:
                    continue
                name = last_name(head[2])
                known = name == "release_memory" and "accelerate" in program.dotted(head[2])
                if not known and name not in helpers:
                    continue
                given = [text(one) for one in head[3] if one[0] in (m.NAME, m.ATTR) and text(one)]
                if not given:
                    continue
                if statement[0] == m.EXPR:
                    left = given
                elif statement[0] == m.ASSIGN:
                    taken = {text(target) for target in targets(statement)}
                    left = [one for one in given if one not in taken]
                else:
                    continue
                if left and _still_there(place, left[0], statement):
                    yield Slip(head[1], ", ".join(left[:3]), helpers.get(name, -1), 3, name)


def _still_there(place: Place, name: str, call: Stmt) -> bool:
    following = [one for one in statements(place.facts.body) if one[1] > call[1]]
    gone = any(name in _let_go(one) or name in {text(target) for target in targets(one)} for one in following[:3])
    return not gone


def _returns_nones(place: Place) -> bool:
    """A function that sets the elements of its `*args` to None and returns them."""
    star = [param.name for param in place.facts.params if param.kind == "*"]
    if not star:
        return False
    emptied = returned = False
    for statement in statements(place.facts.body):
        if statement[0] == m.ASSIGN and statement[3] == (m.CONST, None):
            emptied = emptied or any(target[0] == m.ITEM for target in targets(statement))
        if statement[0] == m.RETURN and statement[2] is not None:
            value = statement[2]
            returned = returned or last_name(value) in (*star, "tuple") or value[0] == m.NAME
            emptied = emptied or (value[0] == m.COMP and value[3] == (m.CONST, None))
            nones = value[0] == m.ARITH and any(part == (m.CONST, None) for part in nodes(value))
            emptied, returned = emptied or nones, returned or nones or value[0] == m.COMP
    return emptied and returned


# -- emptied while held ---------------------------------------------------------------------------


def emptied_while_held(program: Program) -> Iterator[Slip]:
    """`empty_cache()` while something still refers to what was to be freed."""
    if not set(EMPTIES) & program.called:
        return
    for place in program.places:
        if not any(_empties(program, call) for call in calls(place.facts.body)):
            continue
        yield from _deleted_after(program, place)
        yield from _optimizer_left(program, place)


def _deleted_after(program: Program, place: Place) -> Iterator[Slip]:
    """`empty_cache()` and, as the next step of the clean-up, `del x`, with nothing emptied after that."""
    emptied_at = [call[1] for call in calls(place.facts.body) if _empties(program, call)]
    repeated = _in_loops(place.facts.body)
    for run in _runs(place.facts.body):
        emptied: Site = -1
        for statement in run:
            names = _let_go(statement)
            found = [call for call in _own_calls(statement) if _empties(program, call)]
            if found:
                emptied = found[-1][1]
            elif not names and not any(_collects(program, call) for call in _own_calls(statement)):
                emptied = -1  # the program went on with something else
            if statement[0] == m.DELETE and names and emptied >= 0 and max(emptied_at) < statement[1]:
                yield Slip(emptied, names[0], statement[1], 1 if statement[1] in repeated else 2, "order")
                break


def _in_loops(body: Block) -> set[Site]:
    return {
        inner[1]
        for statement in statements(body)
        if statement[0] in (m.FOR, m.WHILE)
        for block in blocks(statement)
        for inner in statements(block)
    }


def _optimizer_left(program: Program, place: Place) -> Iterator[Slip]:
    """`del model; empty_cache()` while an optimizer made from the model's parameters is bound next to it."""
    for statement in statements(place.facts.body):
        if statement[0] == m.DELETE:
            dropped = [text(target) for target in statement[2] if text(target)]
        elif statement[0] == m.ASSIGN and statement[3] == (m.CONST, None):
            dropped = [text(target) for target in targets(statement) if text(target)]
        else:
            continue
        emptied = next((c[1] for c in calls(place.facts.body) if c[1] > statement[1] and _empties(program, c)), None)
        if emptied is None:
            continue
        for name in dropped:
            owner, _, attribute = name.rpartition(".")
            for holder, made in _optimizers_of(program, place, owner, attribute):
                if not _also_dropped(place, holder, dropped):
                    yield Slip(statement[1], name, made, 3 if not owner else 2, holder)
                    break


def _optimizers_of(program: Program, place: Place, owner: str, attribute: str) -> Iterator[tuple[str, Site]]:
    """Where an optimizer over this model's parameters is kept: a name of the function, or an attribute beside it."""
    model = "self." + attribute if owner else attribute
    places = [place] if not owner else [other for other in program.places if other.cls]
    for other in places:
        for statement in statements(other.facts.body):
            if statement[0] not in (m.ASSIGN, m.ANNOTATE):
                continue
            value = statement[3] if statement[0] == m.ASSIGN else statement[4]
            if value is None or value[0] != m.CALL or last_name(value[2]) not in _OPTIMIZERS:
                continue
            reads = any(
                node[0] == m.CALL and node[2][0] == m.ATTR and "parameters" in node[2][2] and text(node[2][1]) == model
                for node in nodes(value)
            )
            for target in targets(statement):
                if reads and owner and text(target).startswith("self."):
                    yield owner + text(target)[4:], statement[1]
                elif reads and not owner and target[0] == m.NAME and statement[1] < _end(place):
                    yield target[1], statement[1]


def _end(place: Place) -> Site:
    return max((one[1] for one in statements(place.facts.body)), default=0) + 1


def _also_dropped(place: Place, holder: str, dropped: list[str]) -> bool:
    if holder in dropped:
        return True
    for statement in statements(place.facts.body):
        names = (
            {text(target) for target in statement[2]}
            if statement[0] == m.DELETE
            else {text(target) for target in targets(statement)}
            if statement[0] == m.ASSIGN and statement[3] == (m.CONST, None)
            else set()
        )
        if holder in names or (holder.rpartition(".")[0] and holder.rpartition(".")[0] in names):
            return True
    return False


def emptied_in_loop(program: Program) -> Iterator[Slip]:
    """`empty_cache()` or `gc.collect()` in every round of an innermost loop."""
    if not set(_FREES) & program.called:
        return
    for place in program.places:
        for statement in statements(place.facts.body):
            if statement[0] not in (m.FOR, m.WHILE):
                continue
            body = statement[4] if statement[0] == m.FOR else statement[3]
            if any(one[0] in (m.FOR, m.WHILE) for one in statements(body)):
                continue
            for one in body:
                for call in _own_calls(one):
                    if last_name(call[2]) in EMPTIES or _collects(program, call):
                        yield Slip(call[1], last_name(call[2]), statement[1], 2)
