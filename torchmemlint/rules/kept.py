"""What the rules about long-lived holders share: which of them a growing place belongs to, and how sure we are that
nothing empties it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..evidence.endless_workers import has_an_endless_thread
from ..evidence.indexes import is_an_index, is_read_whole
from ..evidence.kept import kept_in_containers
from ..evidence.later_work import works_on
from ..evidence.learned_from import is_learned_from
from ..evidence.let_go import emptied, gives_up_its_models, made_at, only_moves_its_own
from ..evidence.memo import keys_asked, looks_up
from ..evidence.metric_states import is_state_of_a_metric
from ..evidence.newest_only import asks_for_a_few_before, asks_for_the_newest
from ..evidence.occasions import (
    ONCE,
    entered,
    hooked_in_training,
    in_first_phase,
    is_behind_its_flag,
    is_called_back,
    only_begins,
    periodic,
    while_made,
    works_off,
)
from ..evidence.pairs import asks_for_its_entry, is_of_one_sequence
from ..evidence.places import is_mapping, last_part
from ..evidence.results import is_handed_back
from ..evidence.short_entries import speaks_of_entries
from ..evidence.switched_off import is_switched_off
from ..evidence.thread_locals import is_thread_local, one_for_each
from ..evidence.unread_parts import is_unread
from ..evidence.unreleased import is_asked, kept_in_sight, may_be_asked, may_be_asked_from_afar, methods_of
from ..evidence.within_bounds import begins_anew, ends_by_itself
from ..facts import model as m
from ..facts.file_releases import variable_of
from ..facts.filled_together import goes_from_another, is_listed_in_turn, is_taken_from_another
from ..facts.walk import calls_of, expressions_of, is_count, last_name, places_with_values, statements
from ..finding import Confidence
from ..interpreter.executed import filled_by_code
from ..interpreter.frames import Frame, kept_since
from ..interpreter.keys import FIXED, FRESH, IDENTITY, KNOWN, THREAD, UNSURE
from ..interpreter.values import Class, Obj
from ..lexical.unread_copies import nobody_reads
from . import retained

if TYPE_CHECKING:
    from ..evidence.evidence import Evidence
    from ..evidence.retentions import Retention
    from ..facts.model import Expr, FunctionFacts
    from ..interpreter.events import Store


def of_code(evidence: Evidence, code: str) -> Iterator[tuple[Retention, Confidence]]:
    """The growing places that a rule speaks about: each belongs to one rule."""
    for retention in evidence.retentions:
        if retention.graph or not retention.growing or _code(retention) != code:
            continue
        weight = _weight(evidence, retention)
        if weight == 0 or _is_said_of_its_parts(evidence, retention, weight):
            continue
        if not _is_said_of_its_whole(evidence, retention, weight):
            yield retention, Confidence(min(weight, 3))


def is_sure(evidence: Evidence, retention: Retention) -> bool:
    """Whether one of the rules about growing places says for certain that this one grows."""
    return not retention.graph and retention.growing and bool(_code(retention)) and _weight(evidence, retention) >= 3


def _is_said_of_its_parts(evidence: Evidence, retention: Retention, weight: int) -> bool:
    """Whether what a table got when it was empty grows by itself, `self.frames.setdefault(key, []).append(frame)`, and
    that is reported, with no more doubt than `weight` leaves: it is one growth. A session under a number of its own is
    kept however little it holds."""
    store = retention.store_event
    made = store.instances
    if store.key_kind == FRESH and any(isinstance(one.cls, Class) for one in made):
        return False
    return bool(made) and any(
        other is not retention
        and other.growing
        and isinstance(other.store_event.owner, Obj)
        and any(part is one for part in other.store_event.owner.holders for one in made)
        and (other.graph or (_code(other) is not None and _weight(evidence, other) >= min(weight, 2)))
        for other in evidence.retentions
    )


def _is_said_of_its_whole(evidence: Evidence, retention: Retention, weight: int) -> bool:
    """Whether an object only moves what it was given when it was made, and comes and goes itself; or where it stays is
    reported."""
    whole = only_moves_its_own(evidence.machine, retention.store_event)
    kept = [
        one
        for one in (evidence.machine.stores if whole is not None else ())
        if one.how in ("grow", "keyed") and isinstance(one.owner, Obj)
        if any(part is whole for value in one.owner.fields.values() for part in value)
    ]
    staying = {one.site for one in kept if not emptied(evidence.machine, one.owner, one.key)}
    return bool(kept) and staying <= {
        other.store
        for other in evidence.retentions
        if other.store in staying and other.growing and _code(other) and _weight(evidence, other) >= min(weight, 2)
    }


def _code(retention: Retention) -> str | None:
    kind = retention.holder.kind
    if kind == "class":
        return "TML302"
    if kind == "default":
        return "TML306"
    if kind == "global":
        return "TML301"
    if kind in ("attribute", "closure"):
        return "TML311" if retention.how == "keyed" else "TML303"
    return None


def _weight(evidence: Evidence, retention: Retention) -> int:
    store = retention.store_event
    if retention.small or retention.wide:
        return 0
    left_over = store.hook and _is_forgotten(evidence, retention)
    if store.hook and not (left_over or hooked_in_training(evidence.machine, store)):
        return 0
    if retained.speaks_of(retention) or _emptied(evidence, retention):
        return 0
    namespace = filled_by_code(evidence.machine, store.tensors)
    if namespace is not None:  # no results of anybody: whatever the code has made
        few = store.key_kind in (FIXED, KNOWN) or not any(loop.kind == "loop" for loop in retention.loops)
        return 0 if few or emptied(evidence.machine, namespace, "*") else min(retention.weight, 2)
    if while_made(retention, {note.site for note in evidence.plain("thread")}):
        return 0
    comes_and_goes = left_over or retention.passed is not None  # which results do not
    if in_first_phase(store) or is_behind_its_flag(evidence.program, retention):
        return 0
    if is_handed_back(retention) and not comes_and_goes:
        return 0
    if ends_by_itself(store, list(retention.loops)) or begins_anew(store):
        return 0
    if is_thread_local(store.owner) and any(note.site == store.site for note in evidence.plain("thread-store")):
        return 0  # TML502 speaks of what a thread has for itself
    if any(one.store == retention.store and one.site != retention.site for one in evidence.listening):
        return 0  # TML314 speaks of it, where it subscribes
    if _of_futures(evidence, retention):
        return 0  # TML503 speaks of futures
    if _in_weak_mapping(store.owner):
        return 0  # entries go with their keys; TML316 speaks of those that do not
    if isinstance(store.owner, Obj) and store.key == "*" and (store.owner.unknown or store.owner.kind == "module"):
        return 0  # somebody else's container, or the parts of a model
    if is_state_of_a_metric(store):
        return 0  # the base class has `reset()`, which puts back what it began with
    if store.objects and gives_up_its_models(evidence.machine, store):
        return 0  # what stays is light
    parted = bool(store.objects) and not store.fresh and _let_go_elsewhere(evidence, store)
    if (store.objects and not (store.fresh or parted)) or _are_parameters(evidence, store):
        return 0  # who made them keeps them anyway
    remade = retention.holder.kind == "attribute" and retention.remade and not _grows_within_its_round(retention)
    if remade and not has_an_endless_thread(evidence.machine, store.owner):
        return 0  # its object is made anew in each round, and goes with the round
    if retained.replaces(store) or _is_of_attention(store.frame):
        return 0
    passing = _is_passing(retention) or _goes_either_way(evidence, store)
    owner = store.owner
    passing = passing or (isinstance(owner, Obj) and owner.kind == "queue" and owner.cls == "multiprocessing")
    weight = min(retention.weight, 1) if passing or is_switched_off(store) else retention.weight
    method = entered(retention)
    outside = [loop for loop in retention.loops if loop in method.loops or loop.name in ("while", "loader", "timer")]
    outside = [loop for loop in outside if not works_off(method, loop, last_part(retention.holder.text))]
    few_asked = False
    if not any(loop.name != "loader" for loop in outside):
        few_asked = _is_asked_for_a_few(evidence, retention)
        meant_to_go = evidence.releases.replaced(last_part(retention.holder.text), retention.holder.owner)
        trained = [loop for loop in retention.loops if loop.backward]
        if retention.holder.kind not in ("attribute", "closure") or meant_to_go:
            weight -= 1
        elif trained and not is_read_whole(store, last_part(retention.holder.text)):
            weight, outside = min(weight, 2), trained  # what a training of its own leaves round by round
        elif few_asked:
            weight, outside = min(weight, 2), list(retention.loops)
        elif retention.passed is None:  # one call fills it: its results
            left = works_on(retention) or is_unread(evidence.machine, evidence.program, retention)
            return min(weight, 2) if left else 0
    updated = isinstance(store.owner, Obj) and store.owner.kind == "dict" and retention.how == "grow"
    if updated and not _lengthens_an_entry(store):
        weight = min(weight, 1)  # `d.update(...)`: mostly the same keys again
    if retention.how == "grow" and is_of_one_sequence(store, outside):
        weight = min(weight, 1)
    if retention.how == "keyed":
        name = last_part(retention.holder.text)
        parted_beside = store.key_kind in (FIXED, KNOWN, UNSURE) and goes_from_another(
            store.frame.unit.facts, store.frame.facts, store.site
        )
        parted_beside |= store.key_kind == UNSURE and is_taken_from_another(store.frame.facts, store.site)
        parted_beside |= is_listed_in_turn(store.frame.unit.facts, store.frame.facts, store.site)
        few = (
            store.key_kind in (FIXED, KNOWN)
            and not retention.left
            and not evidence.releases.misjudging(name)
            and not parted_beside
        )
        if store.key_kind == FRESH and not evidence.releases.of(name) and is_an_index(store, name):
            return 0
        if few or not is_mapping(store.owner):
            return 0  # few keys, or the places of a list, which are there already
        if store.key_kind == THREAD and not one_for_each(evidence.program):
            return 0  # a pool has few
        parted_somehow = retention.left is not None or retention.passed is not None or parted or parted_beside
        kinds = (FRESH, FIXED, KNOWN, THREAD, *((UNSURE,) if parted_somehow or few_asked else ()))
        weight = min(weight, 3 if store.key_kind == IDENTITY else 2 if store.key_kind in kinds else 1)
        if _by_place(store, last_part(retention.holder.text)):
            weight = min(weight, 1)
    if all(loop.kind == "call" for loop in outside):
        each_thread = retention.how == "keyed" and store.key_kind == THREAD
        once = _is_done_once(store, method, retention.function)
        table = last_part(retention.holder.text)
        known = looks_up(store.frame.facts, table)
        asked = known and retention.how == "keyed" and store.key_kind in (FRESH, IDENTITY) and not store.objects
        asked = asked and (retention.holder.kind != "attribute" or weight > 1)  # whose object may come and go
        asked = asked or nobody_reads(store.frame.unit.facts, table)
        often = not once and (asked or periodic(retention.function) or periodic(method.name))
        # an object for each that asks: a session, which gets what is heavy later
        fresh = bool(store.instances) and retention.how == "keyed" and store.key_kind == FRESH and not known
        often = often or store.hook or retention.holder.kind == "default" or retention.left is not None
        often = often or (weight > 1 and not once and (fresh or is_called_back(evidence.program, method.name)))
        weight = min(weight, 2 if each_thread or often else 1)
    if weight > 1 and is_learned_from(evidence.machine, retention) and evidence.wanted(retention):
        return 1  # it is meant to have all that there is
    return weight


def _is_done_once(store: Store, method: Frame, function: str) -> bool:
    """Whether what fills a place by its name sets something up. What an object that puts itself there does is done for
    each that is made."""
    if (
        store.frame.name == "__init__"
        and store.frame.caller
        and any(o is store.frame.receiver for o in store.instances)
    ):
        return store.frame.caller.name in ONCE
    return method.name in ONCE or function.lstrip("_").startswith(("setup_", "init_"))


def _lengthens_an_entry(store: Store) -> bool:
    """`self.past[stream] = torch.cat([self.past[stream], x])`: what is there already grows, whatever the keys are."""
    return any(
        one[0] == m.ASSIGN and one[1] == store.site and any(target[0] == m.ITEM for target in one[2])
        for one in statements(store.frame.facts.body)
    )


def _grows_within_its_round(retention: Retention) -> bool:
    """Whether an object that each call of a function makes anew grows for as long as a training lasts: in a loop around
    one of its methods that trains, or that goes through a whole loader each time, or in hooks of what is trained."""
    made = kept_since(retention.store_event.owner, retention.store_event.birth)
    if any(loop.kind == "loop" for loop in made):
        return False
    if retention.store_event.hook:
        return True
    around = [one for one in entered(retention).loops if one.kind == "loop" and one not in made]
    passes = any(loop.name == "loader" and loop not in around for loop in retention.loops)
    return any((passes or loop.backward or loop.steps) and loop in retention.loops for loop in around)


def _is_forgotten(evidence: Evidence, retention: Retention) -> bool:
    """Whether a method of the object empties another list that its hooks fill, and none this one; or takes out of
    another table what its hooks put there under the same keys, and uses what is here; or whether of a list nobody asks
    for more than the newest entry."""
    releases, owner, store = evidence.releases, retention.holder.owner, retention.store_event
    if retention.holder.kind == "attribute" and retention.how == "keyed":
        return goes_from_another(store.frame.unit.facts, store.frame.facts, store.site, used=True)
    home = store.owner.home if isinstance(store.owner, Obj) else None
    if retention.how == "grow" and asks_for_the_newest(store.frame.unit.facts, last_part(retention.holder.text)):
        return True
    if retention.holder.kind != "attribute" or retention.how != "grow" or home is None:
        return False
    whole, name = home
    beside = {
        other.owner.home[1]
        for other in evidence.machine.stores
        if other.hook and other.how == "grow" and isinstance(other.owner, Obj)
        if other.owner.home is not None and other.owner.home[0] is whole
    }
    return any(releases.of(other, owner) - ONCE for other in beside - {name})


def _is_asked_for_a_few(evidence: Evidence, retention: Retention) -> bool:
    """Whether a loop adds to a list, or puts entries into a table under a number of each round, and those of the last
    few rounds are all that anybody asks for."""
    store, name = retention.store_event, last_part(retention.holder.text)
    if retention.holder.kind != "attribute" or not kept_in_sight(evidence.machine, store.owner):
        return False
    if retention.how == "grow":
        return asks_for_the_newest(store.frame.unit.facts, name, (m.ATTR,))
    numbered = retention.how == "keyed" and store.key_kind in (FRESH, UNSURE)
    return numbered and asks_for_a_few_before(store.frame.unit.facts, name)


_OF_A_ROUND = frozenset("batch minibatch rollout trajectory episode transition sample".split())
_OF_AN_INPUT = frozenset("index gallery catalog catalogue database".split())
_ENTERS = frozenset("add insert index enroll upsert".split())


def _is_passing(retention: Retention) -> bool:
    """Whether a class says that it is one of many, `Batch`, whose objects come and go, and none is kept for long; or
    an index, which has an entry for each thing that is indexed."""
    last = (re.findall("[A-Z]?[a-z]+", retention.holder.owner) or [""])[-1].lower()
    if retention.holder.kind != "attribute" or last not in _OF_A_ROUND | _OF_AN_INPUT:
        return False
    place = owner = retention.store_event.owner
    for owner in place.holders if isinstance(place, Obj) else ():
        if not isinstance(owner, Obj) or owner.kind in ("instance", "module"):
            break
    if last in _OF_AN_INPUT:
        enters = retention.store_event.frame.name.strip("_").partition("_")[0] in _ENTERS
        return retention.how == "keyed" or (retention.how == "grow" and enters)
    if (
        not isinstance(owner, Obj)
        or not isinstance(owner.cls, Class)
        or {"clear", "reset"} & set(methods_of(owner.cls))
    ):
        return False  # one that is used again
    return owner.home is None or isinstance(owner.home[0], Frame)


def _is_of_attention(frame: Frame) -> bool:
    """`cache.update(key_states, value_states, layer_idx)`: made for one sequence, to grow with it [docs of
    transformers: Cache]."""
    params = {param.name for param in frame.facts.params}
    return frame.facts.name == "update" and ("layer_idx" in params or {"key_states", "value_states"} <= params)


def _by_place(store: Store, table: str) -> bool:
    """`if batch.index not in self.outputs: self.outputs[batch.index] = ...`: worked out once for each item of the data,
    by its place there; the next pass through the data finds it. Who only asks for others, `index - 1`, does not."""
    asked = set(keys_asked(store.frame.facts, table))
    if not asked or asked <= _of_other_rounds(store.frame.facts, asked):
        return False
    for statement in statements(store.frame.facts.body):
        if statement[0] == m.ASSIGN and statement[1] == store.site:
            keys = [target[2] for target in statement[2] if target[0] == m.ITEM]
        else:
            keys = [call[3][0] for call in calls_of(statement) if call[1] == store.site and call[3]]
        if any(last_name(key) in ("index", "idx") for key in keys):
            return True
    return False


def _of_other_rounds(function: FunctionFacts, keys: set[Expr]) -> set[Expr]:
    """Keys that are counted back from another one, `index - 1`, also by a name for it, or by a loop: `for at in
    range(index - 4, index)`."""
    counted: set[Expr] = set()
    for statement in statements(function.body):
        if statement[0] == m.FOR and is_count(statement[3]):
            counted.add(statement[2])
        for expr in expressions_of(statement):
            counted.update(target for target, over, _ in (expr[5] if expr[0] == m.COMP else ()) if is_count(over))
        if statement[0] == m.ASSIGN:
            counted.update(place for place, value in places_with_values(statement) if _is_difference(value))
    return {key for key in keys if key in counted or _is_difference(key)}


def _is_difference(key: Expr) -> bool:
    return bool(key[0] == m.ARITH and key[1] == "Subtract")


def _of_futures(evidence: Evidence, retention: Retention) -> bool:
    """Whether what is kept are the results of futures in a container that is reported for them."""
    owner = retention.store_event.owner
    noted = (note.detail for note in evidence.machine.plain if note.kind == "worker-kept")
    if not any(container is owner and item.kind == "future" for container, item in noted):
        return False
    kept = kept_in_containers(evidence.machine, evidence.program)
    return any(one.item.kind == "future" and one.holder.text == retention.holder.text for one in kept)


def _goes_either_way(evidence: Evidence, store: Store) -> bool:
    """Whether a statement puts its value into one of several containers, as the moment says, and one of them is
    emptied: the others are for what is to stay, `kept if is_key_frame else recent`."""
    return any(
        other.site == store.site
        and other.owner is not store.owner
        and not _one_after_the_other(other.owner, store.owner)
        and (other.trail, other.loops, other.how) == (store.trail, store.loops, store.how)
        and emptied(evidence.machine, other.owner, other.key)
        for other in evidence.machine.stores
    )


def _one_after_the_other(one: Obj | Frame, other: Obj | Frame) -> bool:
    """Whether two containers are in the same place in turn: `self.rows = self.rows[-8:]`."""
    return isinstance(one, Obj) and isinstance(other, Obj) and one.home is not None and one.home == other.home


def _are_parameters(evidence: Evidence, store: Store) -> bool:
    """Whether all that is kept are a module's own parameters, as in `kept.append(model.state_dict())`."""
    labels = evidence.machine.derivation.labels
    kept = [labels.get(tensor.node) for tensor in store.tensors]
    return bool(kept) and all(label is not None and label[0] == "parameters" for label in kept)


def _let_go_elsewhere(evidence: Evidence, store: Store) -> bool:
    """Whether what a round made went into another container first, which lets go of it: this one is what keeps it."""
    made = [obj for obj in store.objects if store.loops and store.loops[-1] in obj.made and not obj.unknown]
    others = [
        other
        for other in evidence.machine.stores
        if other.owner is not store.owner and other.how in ("grow", "keyed") and any(o in made for o in other.objects)
    ]
    return bool(others) and all(emptied(evidence.machine, other.owner, other.key) for other in others)


def _in_weak_mapping(owner: Obj | Frame) -> bool:
    holders = owner.holders if isinstance(owner, Obj) else ()
    return any(isinstance(holder, Obj) and "$weak" in holder.fields for holder in holders)


def _emptied(evidence: Evidence, retention: Retention) -> bool:
    """Whether anything may empty the place, or its size is asked for where it is filled."""
    if retention.left is not None:
        return False
    store = retention.store_event
    name = last_part(retention.holder.text)
    releases = evidence.releases
    owner = retention.holder.owner if retention.holder.kind == "attribute" else ""
    made = made_at(store.owner)
    if retention.holder.kind == "closure" and retention.holder.owner:
        owner = variable_of(retention.holder.owner)
    exact = retention.holder.kind == "attribute" and made is not None
    letting_go = evidence.released_in(store) | releases.of(name, owner, exact=exact) - ONCE
    if retention.how == "grow":
        letting_go |= releases.parted(name)
    if retention.holder.kind == "attribute":
        letting_go |= releases.wholesale(owner) - ONCE
    letting_go = {one for one in letting_go if not releases.is_debugging(one)} - releases.misjudging(name, owner, made)
    letting_go -= evidence.takes_others(store)
    if retention.passed is not None:
        letting_go -= {retention.passed.function, *releases.passing_by(name)}
    if store.hook or any(loop.kind == "loop" for loop in retention.loops):  # who could let go in time is in sight
        letting_go = {one for one in letting_go if _may_be_called(evidence, retention, one)}
    if retention.holder.kind == "global":
        letting_go = {one for one in letting_go if not only_begins(evidence.machine, one)}
    if store.by_default and speaks_of_entries(store.frame.facts, name):
        return bool(letting_go - {retention.function})
    if letting_go:
        return True
    if retention.how == "grow" and asks_for_its_entry(store, name):
        return False
    measuring = releases.measuring(name, owner, exact=exact)
    return retention.function in measuring - releases.switched_off(name, owner, made=made)


def _may_be_called(evidence: Evidence, retention: Retention, name: str) -> bool:
    if name.startswith(("__", "on_")) or (name == "run" and evidence.releases.mentions("start")):
        return True  # `run` is what the `start()` of a thread calls
    store, machine = retention.store_event, evidence.machine
    if not evidence.releases.comes_up(name):
        return not name.startswith("_") and may_be_asked_from_afar(machine, store.owner, name)
    themselves = [obj for obj in store.instances if isinstance(obj.cls, Class) and name in methods_of(obj.cls)]
    if themselves:  # what is kept takes itself out
        return any(is_asked(machine, obj, frozenset((name,))) for obj in themselves)
    return may_be_asked(machine, store.owner, name)
