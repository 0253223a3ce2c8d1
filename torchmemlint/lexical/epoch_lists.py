"""Lists of step outputs that the end of an evaluation uses up, and that are emptied only when the next one begins.

`setup` makes the list anew, each batch adds what the model gave, and `epoch_end` goes over all of it: between the two,
for a whole epoch of training, the outputs of the whole evaluation set stay where they were computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import targets
from ..facts.releases import Releases
from ..facts.walk import calls, calls_of, heads, in_loops, last_name, nodes, statements
from .step_values import keeps_step_values

_SELF = (m.NAME, "self")
_ADDS = ("append", "extend")
_LOOKS = frozenset("len print bool isinstance any info debug".split())
_FIRST = frozenset(("__init__", "__post_init__"))
_EVALUATION = frozenset("val valid validation validate eval evaluation evaluate evaluator validator dev".split())
_GENERAL = ("setup", "start", "begin", "reset")
_OTHERWISE = frozenset("train training fit test testing predict prediction batch step iter iteration".split())

Methods = dict[str, FunctionFacts]


class EpochList(NamedTuple):
    """A list that stays full between two evaluations."""

    site: Site  # where it is filled; where it is used up, if others fill it
    attribute: str
    cls: str
    begin: str  # the method that empties it
    end: str  # the one that uses it up
    used: Site


def epoch_lists(facts: FileFacts, releases: Callable[[], Releases]) -> Iterator[EpochList]:
    """Those of the classes of a file. Who lets go of what is only asked where there are any: that takes a look at all
    of the text."""
    for cls in facts.classes:
        methods = {name: facts.functions[index] for name, index in cls.methods.items()}
        if not any(_ends(name) for name in methods):
            continue
        begins = _beginnings(methods)
        for attribute in sorted(_emptied_first(methods, begins)):
            found = _judge(facts, cls, methods, begins, attribute, releases())
            if found is not None:
                yield found


def _beginnings(methods: Methods) -> set[str]:
    """The methods that come before the first batch: by their names, or, `reset`, by where the class calls them."""
    found = {name for name in methods if _begins(name)}
    for name in methods:
        if name.strip("_") == "reset":  # of a metric, whoever uses it calls it at once
            callers = {other for other, one in methods.items() if name in one.calls and other not in _FIRST}
            if callers and callers <= found | {"run"}:
                found.add(name)
    return found


def _begins(name: str) -> bool:
    """`setup`, `on_validation_epoch_start`, `before_val_epoch`: comes before the first batch."""
    name = name.strip("_")
    if name in _GENERAL and name != "reset":
        return True
    return name.endswith(("_start", "_begin")) or name.startswith(("before_", "begin_", "start_", "setup_"))


def _ends(name: str) -> bool:
    """`epoch_end`, `on_validation_end`, `after_val_epoch`: comes after the last batch, and training may go on."""
    name = name.strip("_")
    last = name.endswith(("_end", "_finish")) or name.startswith(("after_", "end_", "finish_")) or name == "end"
    return last and _OTHERWISE.isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    """`evaluation`, `loop` of `EvaluationLoop`; `on`, `val`, `end` of `on_val_end`."""
    return [word.lower() for word in re.findall("[A-Z]?[a-z]+", name)]


def _of_evaluation(cls: str, begin: str, end: str, hook: str) -> bool:
    """Whether training goes on between the end and the next beginning: they are an evaluation's. What the next epoch
    of training empties stays for no longer than it takes to begin."""
    if begin.strip("_") in _GENERAL:  # which says nothing of when
        return not _EVALUATION.isdisjoint((*_words(cls), *_words(end), *_words(hook)))
    return "train" not in _words(begin) and not _EVALUATION.isdisjoint((*_words(cls), *_words(begin)))


def _emptied_first(methods: Methods, begins: set[str]) -> set[str]:
    """The attributes that a method which comes first makes an empty list, or clears."""
    found = set[str]()
    for statement in (one for name in sorted(begins) for one in statements(methods[name].body)):
        value = statement[3] if statement[0] == m.ASSIGN else statement[4] if statement[0] == m.ANNOTATE else None
        if value is not None and _is_empty(value):
            found |= {target[2] for target in targets(statement) if target[:2] == (m.ATTR, _SELF)}
        for call in calls_of(statement):
            if call[2][:1] == (m.ATTR,) and call[2][2] == "clear" and call[2][1][:2] == (m.ATTR, _SELF):
                found.add(call[2][1][2])
    return found


def _is_empty(value: Expr) -> bool:
    """`[]`, `[[] for _ in loaders]`, `defaultdict(list)`."""
    if value[0] == m.COMP:
        return value[2] == "list" and _is_empty(value[3])
    if value[0] == m.CALL:
        return last_name(value[2]) == "defaultdict" and value[3] == ((m.NAME, "list"),)
    return bool(value[0] == m.NEW and value[2] == "list" and not value[3])


def _judge(
    facts: FileFacts, cls: ClassFacts, methods: Methods, first: set[str], attribute: str, releases: Releases
) -> EpochList | None:
    """What becomes of a list that one method empties at the beginning."""
    begins = releases.of(attribute, cls.name) - _FIRST
    ends = [name for name in methods if _ends(name) and reads(methods[name], attribute)]
    if not begins or not begins <= first or len(ends) != 1:
        return None
    end, begin = methods[ends[0]], min(begins)
    others = methods.keys() - begins - _FIRST - {end.name}
    if any(reads(methods[name], attribute) for name in others) or _is_read_outside(facts, cls, attribute):
        return None
    hook, used = _handed_to_hook(end, attribute)
    used = used or _gone_over(end, attribute)
    if not used or not all(_of_evaluation(cls.name, name, end.name, hook) for name in begins):
        return None
    if _begins_afterwards(facts, begins, end) or _goes_with_a_call(facts, cls, end):
        return None
    filled = [(function, *fill) for function in methods.values() for fill in _fills(function, attribute)]
    for function, site, value in filled:
        if hook or keeps_step_values(function, value):
            return EpochList(site, attribute, cls.name, begin, end.name, used)
    return EpochList(used, attribute, cls.name, begin, end.name, used) if hook and not filled else None


# -- who fills the list, and who reads it ---------------------------------------------------------


def _fills(function: FunctionFacts, attribute: str) -> Iterator[tuple[Site, Expr]]:
    """`self.outputs.append(output)`, `self.outputs += [output]`: where, and what."""
    place = (m.ATTR, _SELF, attribute)
    for statement in statements(function.body):
        if statement[0] == m.AUGMENT and statement[2] == place:
            yield statement[1], statement[4]
        for call in calls_of(statement):
            adds = call[2][0] == m.ATTR and call[2][2] in _ADDS and len(call[3]) == 1
            if adds and _container(call[2][1]) == place:
                yield call[1], call[3][0]


def reads(function: FunctionFacts, attribute: str) -> bool:
    """Whether a method reads an attribute of its object, for more than to fill it, to empty it or to count."""
    return any(any(_read_in(head, (m.ATTR, _SELF, attribute))) for _, head in _read_heads(function))


def _read_heads(function: FunctionFacts) -> Iterator[tuple[Stmt, Expr]]:
    """The expressions of a function that are read: not what its statements bind."""
    for statement in statements(function.body):
        bound = statement[2] if statement[0] in (m.ASSIGN, m.DELETE) else statement[2:3]
        binds = statement[0] in (m.ASSIGN, m.DELETE, m.ANNOTATE, m.AUGMENT, m.FOR)
        for head in heads(statement):
            if not (binds and any(head is one for one in bound)):
                yield statement, head


def _read_in(expr: Expr, place: Expr) -> Iterator[bool]:
    """For each time that a place stands in an expression, other than to be filled, emptied or counted."""
    if expr == place:
        yield True
    elif expr[0] == m.CALL and len(expr) == 5:
        fills = expr[2][0] == m.ATTR and expr[2][2] in (*_ADDS, "clear") and _container(expr[2][1]) == place
        if fills or last_name(expr[2]) not in _LOOKS:
            parts = expr[3:] if fills else expr[2:]
            yield from (True for part in _parts(parts) for node in nodes(part) if node == place)
    elif expr[0] not in (m.NOT, m.COMPARE):
        for part in _parts(expr[1:]):
            yield from _read_in(part, place)


def _container(place: Expr) -> Expr:
    """`self.outputs` of `self.outputs[loader]`."""
    while place[0] == m.ITEM:
        place = place[1]
    return place


def _parts(operands: Iterable[object]) -> Iterator[Expr]:
    """The expressions in operands, each a tuple that begins with its operation, or a tuple of such."""
    for operand in operands:
        if isinstance(operand, tuple) and operand:
            if type(operand[0]) is int:
                yield operand
            else:
                yield from _parts(operand)


def _is_read_outside(facts: FileFacts, cls: ClassFacts, attribute: str) -> bool:
    """Whether code outside of the class reads such an attribute of an object: `evaluator.predictions`."""
    own = {id(facts.functions[index]) for index in cls.methods.values()}
    for function in facts.functions:
        for _, head in _read_heads(function) if id(function) not in own else ():
            places = {node for node in nodes(head) if node[0] == m.ATTR and node[2] == attribute and node[1] != _SELF}
            if any(any(_read_in(head, place)) for place in places):
                return True
    return False


def _begins_afterwards(facts: FileFacts, begins: set[str], end: FunctionFacts) -> bool:
    """Whether the method that empties the list is called in the end, or by whoever calls the end, behind it."""
    for function in facts.functions:
        called = [(last_name(call[2]), call[1]) for call in calls(function.body)]
        ended = [site for name, site in called if name == end.name]
        if any(name in begins and (function is end or any(site > one for one in ended)) for name, site in called):
            return True
    return False


def _goes_with_a_call(facts: FileFacts, cls: ClassFacts, end: FunctionFacts) -> bool:
    """Whether a function makes such an object for one evaluation: the list goes when it returns."""
    for function in facts.functions[1:]:
        made: dict[Expr, bool] = {}
        for statement, looped in in_loops(function.body):
            value = statement[3] if statement[0] == m.ASSIGN else ()
            if value and value[0] == m.CALL and last_name(value[2]) == cls.name:
                made |= {target: looped for target in targets(statement) if target[0] == m.NAME}
            for call in calls_of(statement):
                ended = call[2][0] == m.ATTR and call[2][2] == end.name and call[2][1] in made
                if ended and made[call[2][1]] == looped:
                    return True
    return False


# -- how the end uses it --------------------------------------------------------------------------


def _aliases(end: FunctionFacts, attribute: str) -> set[Expr]:
    """The attribute, and the names for it or for an element of it."""
    found: set[Expr] = {(m.ATTR, _SELF, attribute)}
    for statement in statements(end.body):
        if statement[0] == m.ASSIGN:
            value = statement[3]
            while value[0] == m.ITEM:
                value = value[1]
            if value in found:
                found |= {target for target in targets(statement) if target[0] == m.NAME}
    return found


def _handed_to_hook(end: FunctionFacts, attribute: str) -> tuple[str, Site]:
    """`model.validation_epoch_end(self.outputs)`: the hook that is given the whole list, and where it was read."""
    aliases = _aliases(end, attribute)
    for call in calls(end.body):
        name = last_name(call[2])
        hook = call[2][0] == m.ATTR and call[2][1] != _SELF and name.endswith("epoch_end")
        if hook and any(given in aliases for given in (*call[3], *(value for _, value in call[4]))):
            return name, _first_read(end, attribute)
    return "", 0


def _gone_over(end: FunctionFacts, attribute: str) -> Site:
    """`torch.cat(self.outputs)`, `for output in self.outputs`: where the end uses the list, 0 if it also hands it out
    or keeps it by another name."""
    aliases = _aliases(end, attribute)
    used = False
    for statement in statements(end.body):
        if statement[0] == m.RETURN and statement[2] in aliases:
            return 0
        if statement[0] == m.ASSIGN and statement[3] in aliases and any(t[0] != m.NAME for t in targets(statement)):
            return 0
        used = used or (statement[0] == m.FOR and statement[3] in aliases)
        for head in heads(statement):
            for node in nodes(head):
                if node[0] == m.CALL and len(node) == 5 and last_name(node[2]) not in _LOOKS:
                    used = used or any(given in aliases for given in node[3])
                elif node[0] == m.COMP:
                    used = used or any(clause[1] in aliases for clause in node[5])
    return _first_read(end, attribute) if used else 0


def _first_read(end: FunctionFacts, attribute: str) -> Site:
    place = (m.ATTR, _SELF, attribute)
    return next((one[1] for one, head in _read_heads(end) if any(_read_in(head, place))), 0)
