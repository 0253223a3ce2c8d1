"""Lists of a function that gain a score for every candidate, and of which it asks for the best few of each row.

`scores.append(model(x))` in a loop over batches, and `torch.cat(scores).topk(10, dim=1)` when that is over: to take the
ten in the loop would do. Where no dimension is said it may be one number for each sample, of which the best of all are
wanted. Then what was added, or what is done with what was found, says that there are rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import keyword, targets
from ..facts.walk import call_at, expressions_of, is_count, last_name, places_with_values, statements
from ..interpreter.values import ANY, ATTACHED, Obj
from ..lexical.list_uses import adds_or_asks
from .collected import takes_slices
from .only_counted import is_own_list
from .places import describe

if TYPE_CHECKING:
    from ..interpreter.events import Store
    from ..interpreter.machine import Machine

_JOINS = frozenset("cat concat concatenate vstack stack".split())
_AS_IT_IS = frozenset("cpu to cuda float double half contiguous detach".split())
_BY_ROWS = ("softmax", "log_softmax")
_PARTS = ("values", "indices")
_ASKS = ("size", "dim", "numel")
_COLUMNS = ("unsqueeze", "expand", "expand_as")
_ALONG_ROWS = ((m.CONST, 1), (m.CONST, -1))
_MULTIPLIES = ("matmul", "mm")
_TURNED = ("T", "mT", "t", "transpose")
_DEPTH = 2  # functions that a tensor is given to


def best_of_rows(machine: Machine, stores: Iterable[Store]) -> Iterator[tuple[Site, str]]:
    """Local lists that gain tensors without a graph for each batch, where nothing else is done with what they have than
    to look for the best of each row: where they gain them, and their names."""
    for store in stores:
        if store.how != "grow" or not isinstance(store.owner, Obj) or not machine.is_home(store.site):
            continue
        if any(one.graph == ATTACHED or one.weight < 2 or one.size != ANY for one in store.tensors):
            continue
        holder = describe(store.owner, store.key, machine)
        if holder.kind != "local" or not store.tensors or not _is_over_batches(store):
            continue
        if is_own_list(store.frame, store.owner, holder.text):
            asked = _Asked(store.frame.unit.facts.functions, store.frame.facts)
            asked.in_rows = _multiplies_rows(store)
            if asked.only_for_the_best_of_list((m.NAME, holder.text)) and asked.in_rows:
                yield store.site, holder.text


def _is_over_batches(store: Store) -> bool:
    """Whether a `for` adds to it that does not count: the steps of one answer are as many as it takes. One that counts
    may do so to cut its input into pieces."""
    loop = store.loops[-1] if store.loops else None
    if loop is None or loop in store.birth or (loop.kind != "loop" and loop.name != "loader"):
        return False
    over = [one for one in statements(store.frame.facts.body) if one[1] == loop.site]
    return bool(over) and over[0][0] == m.FOR and (not is_count(over[0][3]) or takes_slices(over[0]))


def _multiplies_rows(store: Store) -> bool:
    """`scores.append(queries @ items.T)`: for each query a row."""
    body = store.frame.facts.body
    call = call_at(body, store.site)
    value = call[3][0] if call is not None and len(call[3]) == 1 else None
    bound = [one[3] for one in statements(body) if one[0] == m.ASSIGN and one[2] == (value,) and one[1] < store.site]
    value = bound[-1] if bound else value
    if value is None or value[0] not in (m.ARITH, m.CALL):
        return False
    if value[0] == m.CALL:
        given = (*value[3], *(() if value[2][0] != m.ATTR else (value[2][1],)))
        return last_name(value[2]) in _MULTIPLIES and any(map(_is_turned, given))
    return bool(value[1] == "MatrixMultiply") and _is_turned(value[3])


def _is_turned(factor: Expr) -> bool:
    """`items.T`, `items.weight.t()`"""
    factor = factor[2] if factor[0] == m.CALL else factor
    return bool(factor[0] == m.ATTR and factor[2] in _TURNED)


class _Asked:
    """What a function asks of the rows that it has."""

    def __init__(self, functions: tuple[FunctionFacts, ...], function: FunctionFacts, depth: int = _DEPTH) -> None:
        self.functions = functions
        self.function = function
        self.depth = depth
        self.in_rows = False  # something says that there are rows, and not one number for each sample
        self.found = False

    def only_for_the_best_of_list(self, place: Expr) -> bool:
        joined: list[tuple[Stmt, Expr]] = []
        for statement in statements(self.function.body):
            parts, bound = expressions_of(statement), place in targets(statement)
            joins = [part for part in parts if _joins(part, place)]
            known = bound + len(joins) + sum(adds_or_asks(part, place) for part in parts)
            if sum(part == place for part in parts) != known:
                return False
            joined += [(statement, part) for part in joins]
            if bound and joins:
                break  # `scores = torch.cat(scores)`
        return bool(joined) and all(self._only_for_the_best(*one) for one in joined) and self.found

    def only_for_the_best_of(self, place: Expr, since: int) -> bool:
        """Of what a name has from a statement on, until it is bound to something else."""
        for statement in statements(self.function.body):
            if statement[1] <= since:
                continue
            if not self._only_for_the_best(statement, place):
                return False
            if place in targets(statement):
                break
        return True

    def _only_for_the_best(self, statement: Stmt, tensor: Expr) -> bool:
        """Whether a statement does with a tensor, each time that it stands there, what is done with rows of which the
        best few are wanted."""
        parts = expressions_of(statement)
        every = sum(part == tensor for part in parts) - (tensor in targets(statement))
        known = sum(self._is_asked(statement, part, tensor) for part in parts) if every > 0 else 0
        for place, value in places_with_values(statement) if statement[0] == m.ASSIGN and every > known else ():
            if value == tensor and place[0] == m.NAME:
                known += self.only_for_the_best_of(place, statement[1])
        return every <= known

    def _is_asked(self, statement: Stmt, part: Expr, tensor: Expr) -> bool:
        if part[0] == m.ATTR:
            return bool(part[1] == tensor and part[2] in ("shape", "device", "dtype"))
        if part[0] != m.CALL or len(part) != 5:
            return False
        own = part[2][0] == m.ATTR and part[2][1] == tensor
        if not own and tensor not in part[3]:
            return False
        name = last_name(part[2])
        if name == "len" or (own and name in _ASKS):
            return True
        if (own and name in _AS_IT_IS) or (name in _BY_ROWS and keyword(part, "dim", 1 - own) in _ALONG_ROWS):
            self.in_rows |= name in _BY_ROWS
            return self._only_for_the_best(statement, part)
        if own or part[3][0] == tensor:
            if name == "topk":
                return self._finds(statement, part, keyword(part, "dim", 2 - own))
            if name == "argsort" and any(_is_cut(one, part) for one in expressions_of(statement)):
                self.found = self.in_rows = True
                return True
        return not own and self._is_asked_by_helper(part, tensor)

    def _finds(self, statement: Stmt, best: Expr, dim: Expr | None) -> bool:
        if dim is not None and dim not in _ALONG_ROWS:
            return False
        self.found = True
        self.in_rows |= dim is not None or _are_rows(self.functions, self.function, best, statement[1])
        return True

    def _is_asked_by_helper(self, call: Expr, tensor: Expr) -> bool:
        helper = _helper(self.functions, call, tensor) if self.depth else None
        if helper is None:
            return False
        asked = _Asked(self.functions, helper[0], self.depth - 1)
        only = asked.only_for_the_best_of(helper[1], -1)
        self.found |= asked.found
        self.in_rows |= asked.in_rows
        return only


def _joins(part: Expr, place: Expr) -> bool:
    """`torch.cat(scores)`, one row after the other."""
    if part[0] != m.CALL or len(part) != 5 or last_name(part[2]) not in _JOINS or part[3][:1] != (place,):
        return False
    return keyword(part, "dim", 1) in (None, (m.CONST, 0)) and not any(key in ("axis", "out") for key, _ in part[4])


def _is_cut(part: Expr, order: Expr) -> bool:
    """`order[:, :k]`"""
    if part[0] != m.ITEM or part[1] != order or part[2][0] != m.NEW or len(part[2][3]) != 2:
        return False
    rows, few = part[2][3]
    return rows == (m.SLICE, None, None, None) and few[0] == m.SLICE and few[2] is not None


def _helper(functions: tuple[FunctionFacts, ...], call: Expr, given: Expr) -> tuple[FunctionFacts, Expr] | None:
    """The function of the file that a call means, and its name for what it is given."""
    named = [one for one in functions if call[2] == (m.NAME, one.name)]
    index = call[3].index(given) if given in call[3] else -1
    if len(named) != 1 or index < 0 or index >= len(named[0].params) or named[0].params[index].kind:
        return None
    return named[0], (m.NAME, named[0].params[index].name)


def _are_rows(
    functions: tuple[FunctionFacts, ...], function: FunctionFacts, best: Expr, since: int, depth: int = 1
) -> bool:
    """Whether what is done with the best that were found says that they are several for each sample: `best[:, :5]`,
    `best == labels[:, None]`, `best.t()`."""
    whole = {best}

    def is_of(expr: Expr) -> bool:
        taken = (expr[0] == m.ATTR and expr[2] in _PARTS) or (expr[0] == m.ITEM and expr[2][0] == m.CONST)
        return expr in whole or (taken and expr[1] in whole)

    for statement in statements(function.body):
        if statement[1] < since:
            continue
        for part in expressions_of(statement):
            if _shows_rows(part, is_of):
                return True
            for given in part[3] if depth and part[0] == m.CALL and len(part) == 5 and part[2][0] == m.NAME else ():
                helper = _helper(functions, part, given) if is_of(given) else None
                if helper is not None and _are_rows(functions, *helper, -1, depth - 1):
                    return True
        for place, value in places_with_values(statement) if statement[0] == m.ASSIGN else ():
            if is_of(value):
                whole.update(place[3] if place[0] == m.NEW else (place,))
    return False


def _shows_rows(part: Expr, is_best: Callable[[Expr], bool]) -> bool:
    if part[0] == m.ITEM:
        return is_best(part[1]) and part[2][0] == m.NEW and len(part[2][3]) > 1
    if part[0] == m.COMPARE:
        return (is_best(part[2]) and _is_column(part[3])) or (is_best(part[3]) and _is_column(part[2]))
    if part[0] != m.CALL or len(part) != 5 or part[2][0] != m.ATTR:
        return False
    name, given = part[2][2], part[3]
    if name == "gather":
        return len(given) == 2 and given[0] in _ALONG_ROWS and is_best(given[1])
    return is_best(part[2][1]) and (name == "t" or (name == "eq" and len(given) == 1 and _is_column(given[0])))


def _is_column(expr: Expr) -> bool:
    """`labels[:, None]`, `labels.unsqueeze(1)`, `labels.view(-1, 1)`"""
    if expr[0] == m.ITEM:
        return bool(expr[2][0] == m.NEW) and (m.CONST, None) in expr[2][3]
    if expr[0] != m.CALL or expr[2][0] != m.ATTR:
        return False
    name = expr[2][2]
    return name in _COLUMNS or (name in ("view", "reshape") and (m.CONST, 1) in expr[3])
