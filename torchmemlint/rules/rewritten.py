"""What the function that fills a place does with it besides, as its text has it: convert it, cut it, call it."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.program import targets
from ..facts.walk import calls, calls_of, nodes, statements
from ..interpreter.events import Store
from ..interpreter.frames import Frame

_CONVERSIONS = ("float", "half", "double", "bfloat16", "to", "type", "type_as", "cpu", "cuda", "contiguous")


def is_conversion(store: Store) -> bool:
    """Whether a place gets what it has, in another type or elsewhere, `bn.weight = bn.weight.float()`: there is
    nothing to be converted the next time."""
    for statement in statements(store.frame.facts.body):
        if statement[0] == m.ASSIGN and statement[1] == store.site:
            value = statement[3]
            while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _CONVERSIONS:
                value = value[2][1]
            return value in statement[2] or (value[0] == m.NAME and _is_swept(store.frame, statement, value))
    return False


def _is_swept(frame: Frame, statement: Stmt, value: Expr) -> bool:
    """`for name, value in self.rows.items(): self.rows[name] = value.cuda()`"""
    for loop in statements(frame.facts.body):
        over = loop[3] if loop[0] == m.FOR else None
        if over is not None and over[0] == m.CALL and over[2][0] == m.ATTR and over[2][2] == "items":
            pair = targets(loop)
            if len(pair) == 2 and pair[1] == value and (m.ITEM, over[2][1], pair[0]) in statement[2]:
                return True
    return False


def lists_what_is_given(store: Store) -> bool:
    """Whether a function puts the entries of a table that it was given into a list of its own, as they are, `for name
    in sorted(losses): values.append(losses[name])`, or rows of a tensor, `[hidden[i, mask[i]][:n] for i in range(b)]`:
    whoever gave the table has them anyway, and the tensor's graph."""
    facts = store.frame.facts
    tables = {(m.NAME, param.name) for param in facts.params}
    tables -= {target for one in statements(facts.body) for target in targets(one)}
    put = [
        value
        for one in statements(facts.body)
        if m.statement_of(one[1]) == m.statement_of(store.site)
        for value in ((one[3],) if one[0] == m.ASSIGN else [given for call in calls_of(one) for given in call[3]])
    ]
    entries: set[Expr] = set()
    for loop in (one for one in statements(facts.body) if one[0] == m.FOR):
        named = list(targets(loop))
        over = {part for part in nodes(loop[3]) if part in tables}
        entries |= {(m.ITEM, table, named[0]) for table in over}
        if over and len(named) == 2 and loop[3][0] == m.CALL and loop[3][2] in [(m.ATTR, t, "items") for t in over]:
            entries.add(named[1])
    tables.discard((m.NAME, "self"))  # whose `__getitem__` may compute
    return bool(put) and all(value in entries or _lists_rows(value, tables) for value in put)


def _lists_rows(value: Expr, tables: set[Expr]) -> bool:
    """`[hidden[i] for i in range(n)]`"""
    if value[0] != m.COMP or value[4] is not None:
        return False
    row = whole = value[3]
    while whole[0] == m.ITEM:
        whole = whole[1]
    return whole in tables and whole is not row


def is_cut_in_the_end(store: Store) -> bool:
    """Whether the function that fills a tensor of its object gives that up for a detached one afterwards:
    `self.table = self.table.detach()`."""
    facts = store.frame.facts
    if "detach" not in facts.calls:
        return False
    bound = [one for one in statements(facts.body) if one[0] == m.ASSIGN]
    filled = {target[1] for one in bound if one[1] == store.site for target in one[2] if target[0] == m.ITEM}
    return any(
        one[1] > store.site
        and any(target in filled and (m.ATTR, target, "detach") in nodes(one[3]) for target in one[2])
        for one in bound
    )


def is_called(store: Store) -> bool:
    """Whether the function that sets an attribute of its object calls it as well, which no tensor lets one do."""
    if store.frame.receiver is not store.owner:
        return False
    place = (m.ATTR, (m.NAME, "self"), store.key)
    return any(call[2] == place for call in calls(store.frame.facts.body))


def asks_for_its_gradient(store: Store) -> bool:
    """`self.output = output`, `self.output.retain_grad()`: it is there to have its gradient read after the backward
    pass, which a detached one would never get."""
    facts = store.frame.facts
    if "retain_grad" not in facts.calls:
        return False
    asked = {call[2][1] for call in calls(facts.body) if call[2][0] == m.ATTR and call[2][2] == "retain_grad"}
    return any(
        one[0] == m.ASSIGN and one[1] == store.site and not asked.isdisjoint((*one[2], one[3]))
        for one in statements(facts.body)
    )
