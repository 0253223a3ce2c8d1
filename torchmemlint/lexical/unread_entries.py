"""Entries of step outputs that the hook at the end of the epoch, for which they are gathered, never reads.

A framework gathers what `training_step` returned in each step only if there is a `training_epoch_end` to give it to.
Whatever else is in the dictionaries, logits or dense targets, is then kept for all steps of the epoch at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import expressions, targets, text
from ..facts.walk import calls, heads, last_name, root_of, statements
from .asked_by_methods import attributes_asked_by
from .step_values import given_to_models, is_figure, is_light, keeps_step_values, made_from

_PAIRS = (
    ("training_step", "training_epoch_end"),
    ("validation_step", "validation_epoch_end"),
    ("test_step", "test_epoch_end"),
)
_SELF = (m.NAME, "self")
_READ_BY_FRAMEWORKS = frozenset("loss log progress_bar hiddens checkpoint_on early_stop_on minimize extra".split())
_OF_DICTIONARIES = ("values", "items", "copy", "pop", "popitem", "update", "setdefault", "get")
_SERIES = ((m.NAME, "list"), (m.NAME, "tuple"), (m.NAME, "reversed"), (m.NAME, "iter"))
_OF_EQUAL_SHAPE = frozenset(  # losses of two tensors of one shape [docs]
    """binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss smooth_l1_loss huber_loss
    poisson_nll_loss""".split()
)


class UnreadEntry(NamedTuple):
    site: Site  # the `return` of the step
    key: str
    step: str
    end: str
    defined: Site  # of the hook


def unread_entries(facts: FileFacts) -> Iterator[UnreadEntry]:
    """Those of the classes of a file that have both hooks."""
    for cls in facts.classes:
        for step, end in _PAIRS:
            if step not in cls.methods or end not in cls.methods:
                continue
            step_facts, end_facts = facts.functions[cls.methods[step]], facts.functions[cls.methods[end]]
            read = _keys_read(end_facts)
            if read is None:
                continue
            step, step_facts = _gathered(facts, cls, step, step_facts)
            for function, site, key, value in _returned(facts, cls, step_facts):
                name = _name(key)
                unread = key not in read and name.lower() not in _READ_BY_FRAMEWORKS and not is_figure(name)
                if unread and _is_wide(function, value) and not _is_asked_for(facts, key):
                    yield UnreadEntry(site, name, step, end, end_facts.site)
                    break


def _gathered(facts: FileFacts, cls: ClassFacts, step: str, of_step: FunctionFacts) -> tuple[str, FunctionFacts]:
    """The hook whose result is gathered: `training_step_end` is given what the step returns, and returns in its place
    what it makes of that [docs of lightning, until 2.0]."""
    last = step + "_end"
    if last not in cls.methods:
        return step, of_step
    hook = facts.functions[cls.methods[last]]
    given = (m.NAME, hook.params[1].name) if len(hook.params) > 1 else None
    handed_on = any(one[0] == m.RETURN and one[2] == given for one in statements(hook.body))
    return (step, of_step) if handed_on else (last, hook)


def _returned(
    facts: FileFacts, cls: ClassFacts, step: FunctionFacts, depth: int = 0
) -> Iterator[tuple[FunctionFacts, Site, Expr, Expr]]:
    """The entries of the dictionaries that a step returns: `return {"loss": loss, "x": x}`, also by a name, which may
    get more of them, and from another method of the class: `return self.shared_step(batch)`."""
    body = list(statements(step.body))
    for statement in body:
        value = statement[2] if statement[0] == m.RETURN else None
        found = [] if value is None else [value]
        if value is not None and value[0] == m.NAME:
            found = [one[3] for one in body if one[0] == m.ASSIGN and value in one[2]]
            added = (m.ATTR, value, "update")
            found = (
                []
                if len(found) != 1
                else found + [call[3][0] for call in calls(step.body) if call[2:3] == (added,) and call[3]]
            )
        for one in found:
            helper = cls.methods.get(last_name(one[2])) if one[0] == m.CALL and root_of(one[2]) == _SELF else None
            if helper is not None and depth < 2:
                yield from _returned(facts, cls, facts.functions[helper], depth + 1)
            for key, entry in one[2] if one[0] == m.DICT else ():
                if key is not None and _name(key):
                    yield step, statement[1], key, entry


def _name(key: Expr) -> str:
    """`image` of `"image"`, `IMAGE` of `Key.IMAGE`; "" if another expression is the key."""
    if key[0] == m.CONST:
        return key[1] if isinstance(key[1], str) else ""
    return key[2] if key[0] == m.ATTR and key[2].isupper() and text(key) else ""


def _is_wide(step: FunctionFacts, value: Expr) -> bool:
    """Whether an entry is what the model gave or was given, or is compared with what it gave element by element."""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in ("detach", "clone"):
        value = value[2][1]
    if keeps_step_values(step, value) or value in given_to_models(step):
        return True
    compared = (call for call in calls(step.body) if last_name(call[2]) in _OF_EQUAL_SHAPE)
    return any(value in call[3] for call in compared) and not is_light(made_from(step, value))


def _is_asked_for(facts: FileFacts, key: Expr) -> bool:
    """Whether anything in the file takes such an entry out of something: `output["x"]`."""
    return any(
        (node[0] == m.ITEM and node[2] == key) or (node[0] == m.CALL and len(node) == 5 and key in node[3])
        for function in facts.functions
        for node in expressions(function.body)
    )


# -- what the end of the epoch reads --------------------------------------------------------------


class Reader:
    """Goes through a function that has all outputs, and notes which entries of each it reads; of objects, which
    `attributes`, and of tuples, which `places`."""

    def __init__(
        self, outputs: Expr, facts: FileFacts | None = None, *, attributes: bool = False, places: bool = False
    ) -> None:
        self.outputs = outputs
        self.facts = facts  # where the lambdas are that choose among them, `min(outputs, key=lambda one: one.score)`
        self.chosen_by: set[int] = set()  # those of them that were gone through
        self.attributes, self.places = attributes, places
        self.all = {outputs}  # with names for several of them
        self.each: set[Expr] = set()
        self.keys: set[Expr] = set()
        self.escapes = False  # what is done with an output as a whole is not seen

    @property
    def names(self) -> set[str]:
        return {_name(key) for key in self.keys}

    def body(self, body: Iterable[Stmt]) -> None:
        """The statements of a function. They may go round: what a name stands for comes before what is done with it."""
        found = list(body)
        for statement in found:
            self._names(statement)
        for statement in found:
            self.statement(statement)

    def statement(self, statement: Stmt) -> None:
        if self._names(statement):
            return
        for head in heads(statement):
            if statement[0] == m.FOR and head is statement[3] and self._goes_over(statement[2], head):
                continue
            if not (statement[0] in (m.IF, m.FOR) and (head in self.all or head in self.each)):
                self.expression(head)

    def _names(self, statement: Stmt) -> bool:
        """`recent = outputs[-100:]`, `last = outputs[-1]`"""
        if statement[0] != m.ASSIGN or any(target[0] != m.NAME for target in statement[2]):
            return False
        if statement[3] not in self.all and self._are_several(statement[3]):
            self.all.update(statement[2])
        elif self._is_one(statement[3]):
            self.each.update(statement[2])
        else:
            return False
        return True

    def expression(self, expr: Expr) -> None:
        if expr[0] == m.CALL and self._chosen(expr) and last_name(expr[2]) == "sort":
            return
        if self._are_several(expr) or self._is_one(expr):
            self.escapes = True
        elif expr[0] == m.ITEM and self._is_one(expr[1]):
            self._read(expr[2])
        elif self.attributes and expr[0] == m.ATTR and self._is_one(expr[1]) and expr[2] not in _OF_DICTIONARIES:
            self._ask(expr[2])
        elif expr[0] == m.CALL and expr[2][0] == m.ATTR and expr[2][2] == "get" and self._is_one(expr[2][1]):
            self._read(expr[3][0] if expr[3] else None)
        elif expr[0] == m.COMPARE and expr[1] in ("In", "NotIn") and self._is_one(expr[3]):
            self._read(expr[2])
        elif expr[0] == m.COMP:
            for target, iterable, _ in expr[5]:
                if not self._goes_over(target, iterable):
                    self.expression(iterable)
            self._parts((expr[3:5], *(tests for _, _, tests in expr[5])))
        elif not (expr[0] == m.NOT and expr[1] in self.all) and not self._is_length(expr):
            self._parts(expr[1:])

    def _parts(self, operands: Iterable[object]) -> None:
        """The expressions in operands, each a tuple that begins with its operation, or a tuple of such."""
        for operand in operands:
            if isinstance(operand, tuple) and operand:
                if type(operand[0]) is int:
                    self.expression(operand)
                else:
                    self._parts(operand)

    def _goes_over(self, target: Expr, iterable: Expr) -> bool:
        """`for output in outputs`, `for i, output in enumerate(outputs)`."""
        if iterable[0] == m.CALL and last_name(iterable[2]) == "enumerate" and iterable[3] and target[0] == m.NEW:
            target, iterable = target[3][-1], iterable[3][0]
        if not self._are_several(iterable):
            return False
        if self.places and target[0] == m.NEW and all(part[0] == m.NAME for part in target[3]):
            read = (place for place, part in enumerate(target[3]) if part[1][:1] != "_")
            self.keys.update((m.CONST, str(place)) for place in read)
            return True
        if target[0] == m.NAME:
            self.each.add(target)
        return bool(target[0] == m.NAME)

    def _are_several(self, expr: Expr) -> bool:
        """`outputs`, `outputs[-100:]`, `reversed(outputs)`"""
        if expr[0] == m.ITEM and expr[2][0] == m.SLICE:
            return self._are_several(expr[1])
        if expr[0] == m.CALL and expr[2] in _SERIES and len(expr[3]) == 1 and not expr[4]:
            return self._are_several(expr[3][0])
        return expr in self.all

    def _is_one(self, expr: Expr) -> bool:
        """`output` of a loop over them, `outputs[0]`, `max(outputs, key=...)`."""
        if expr[0] == m.CALL and last_name(expr[2]) in ("max", "min") and self._chosen(expr):
            return True
        if expr[0] == m.ITEM and expr[2][0] != m.SLICE:
            ordered = expr[1][0] == m.CALL and last_name(expr[1][2]) == "sorted"
            return self._are_several(expr[1]) or (ordered and self._chosen(expr[1]))
        return expr in self.each

    def _chosen(self, call: Expr) -> bool:
        """`sorted(outputs, key=lambda one: one.score)`, `max(...)`, `outputs.sort(...)`: reads what the lambda does."""
        orders = call[2][:1] == (m.NAME,) and call[2][1] in ("max", "min", "sorted") and call[3] == (self.outputs,)
        key = dict(call[4]).get("key") if orders or call[2] == (m.ATTR, self.outputs, "sort") else None
        if self.facts is None or key is None or key[0] != m.LAMBDA:
            return False
        function = self.facts.functions[key[1]]
        if key[1] not in self.chosen_by:
            self.chosen_by.add(key[1])
            one = (m.NAME, function.params[0].name) if function.params else ()
            reader = Reader(self.outputs, self.facts, attributes=self.attributes, places=self.places)
            reader.each.add(one)
            reader.body(statements(function.body))
            self.keys |= reader.keys
            self.escapes |= reader.escapes
        return True

    def _is_length(self, expr: Expr) -> bool:
        return bool(expr[0] == m.CALL and expr[2] == (m.NAME, "len") and any(map(self._are_several, expr[3])))

    def _ask(self, name: str) -> None:
        """`run.score` of an object; `run.row()` reads what the method does, if one class of the file has it."""
        of_method = None if self.facts is None else attributes_asked_by(self.facts, name)
        if of_method is None:
            self._read((m.CONST, name))
        else:
            self.keys |= {(m.CONST, one) for one in of_method if one}
            self.escapes |= "" in of_method

    def _read(self, key: Expr | None) -> None:
        if key is not None and self.places and key[0] == m.CONST and type(key[1]) is int:
            key = (m.CONST, str(key[1]))
        if key is not None and _name(key):
            self.keys.add(key)
        else:
            self.escapes = True


def _keys_read(end: FunctionFacts) -> set[Expr] | None:
    """The entries that the end reads of each step's output; None if it may read all, or reads none."""
    if len(end.params) < 2 or end.inner:
        return None
    outputs = (m.NAME, end.params[1].name)
    reader = Reader(outputs)
    if any(outputs in targets(statement) for statement in statements(end.body)):
        return None
    reader.body(statements(end.body))
    return None if reader.escapes or not reader.keys else reader.keys
