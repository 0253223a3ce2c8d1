"""Who reads what every rank of a distributed program has, by the text: all of them, or one alone."""

from __future__ import annotations

from collections.abc import Container, Iterator

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.one_rank import by_rank
from ..facts.program import Block, Place, Program, targets
from ..facts.walk import heads, last_name, nodes

AS_IT_IS = frozenset("cpu detach numpy float half cuda to contiguous".split())  # methods whose result is as large
SELF: Expr = (m.NAME, "self")
_MEASURES = ("shape", "dtype", "device", "nbytes", "numel", "size", "ndim", "dim", "untyped_storage", "element_size")
_ADDS = ("append", "extend", "update")


def reads_of(
    program: Program, body: Block, name: str, after: Site, depth: int = 1
) -> Iterator[tuple[Site, bool, bool]]:
    """Where a name, or what is made of it, is read later on: site, by one rank only, by a `return`. What a helper gets
    that sends the other ranks away is read by one."""
    names = {name}
    for statement, alone in by_rank(body):
        if statement[1] <= after or statement[0] == m.DELETE:
            continue
        read = [head for head in values_in(statement) if _reads(head, names)]
        if not read:
            continue
        if elements(statement, names):
            names |= elements(statement, names)
            continue
        if not alone and joined(statement, names):
            names |= joined(statement, names)
            continue
        bound = targets(statement)
        if statement[0] == m.ASSIGN and not alone and len(bound) == 1 and bound[0][0] == m.NAME and as_large(read[0]):
            names.add(bound[0][1])  # the same under another name, or joined
        else:
            inside = _reads_by_helper(program, statement, names, depth) if depth and not alone else None
            if inside == []:
                continue  # it only asks how much there is
            alone = alone or (inside is not None and all(inside))
            yield statement[1], alone, statement[0] == m.RETURN and as_large(statement[2])


def _reads(expr: Expr, names: set[str]) -> bool:
    """Whether an expression reads more of what has one of these names than how much that is, or whether it is there."""
    if expr[0] == m.NAME:
        return expr[1] in names
    if expr[0] == m.ATTR and expr[2] in _MEASURES and expr[1][0] == m.NAME:
        return False
    if expr[0] == m.COMPARE and expr[2][0] == m.NAME and expr[3] == (m.CONST, None):
        return False
    return any(_reads(part, names) for part in parts_of(expr))


def parts_of(expr: Expr) -> Iterator[Expr]:
    """The expressions right inside one."""
    stack: list[object] = [part for part in expr if type(part) is tuple]
    while stack:
        part = stack.pop()
        if type(part) is tuple and part:
            if type(part[0]) is int:
                yield part
            else:
                stack.extend(part)


def _reads_by_helper(program: Program, statement: Stmt, names: set[str], depth: int) -> list[bool] | None:
    """`save_on_master(rows)`: for each read by a function that a statement only calls with it, whether one rank alone
    does so; None if that is not seen."""
    call = statement[2] if statement[0] == m.EXPR else statement
    if call[0] != m.CALL or (call[2][0] != m.NAME and call[2][:2] != (m.ATTR, SELF)):
        return None
    helpers = program.by_name.get(last_name(call[2]), ())
    if len(helpers) != 1 or bool(helpers[0].cls) != (call[2][0] == m.ATTR):
        return None
    given = (*enumerate(call[3], bool(helpers[0].cls)), *call[4])
    passed = [key for key, value in given if any(part[0] == m.NAME and part[1] in names for part in nodes(value))]
    param = _parameter(helpers[0], passed[0]) if len(passed) == 1 else ""
    if not param:
        return None
    return [alone for _, alone, _ in reads_of(program, helpers[0].facts.body, param, -1, depth - 1)]


def _parameter(helper: Place, key: int | str) -> str:
    """The parameter that an argument is, by its position or its name."""
    plain = [param.name for param in helper.facts.params if not param.kind]
    if isinstance(key, str):
        return key if key in plain else ""
    starred = next((param.name for param in helper.facts.params if param.kind == "*"), "")
    return plain[key] if key < len(plain) else starred


def as_large(value: Expr) -> bool:
    """Whether a value made of what was gathered keeps it, or as much: joined, flattened, sorted, put in order, or cut
    to length, `rows[:total]`."""
    while value[0] == m.ITEM and value[2][0] not in (m.CONST, m.NEW):
        value = value[1]
    if value[0] in (m.NAME, m.COMP, m.NEW):
        return True
    return value[0] == m.CALL and value[2][-1] in (
        "cat", "concat", "concatenate", "stack", "vstack", "list", "sorted", "chain", "from_iterable", "dict",
    )  # fmt: skip


def values_in(statement: Stmt) -> Iterator[Expr]:
    """What a statement reads: not the names that it binds."""
    bound = targets(statement)
    for head in heads(statement):
        if head not in bound:
            yield head


def elements(statement: Stmt, names: set[str]) -> set[str]:
    """The names that a `for` over one of these names, or over its `items()`, binds: parts of the same."""
    if statement[0] != m.FOR:
        return set()
    over = statement[3]
    if over[0] == m.CALL and over[2][0] == m.ATTR and over[2][2] in ("items", "values") and not over[3]:
        over = over[2][1]
    if over[0] != m.NAME or over[1] not in names:
        return set()
    return {target[1] for target in targets(statement) if target[0] == m.NAME}


def joined(statement: Stmt, names: set[str]) -> set[str]:
    """The local container that one of these names goes into: `merged.update(part)`, `merged += part`, also by
    `merged[key].extend(part)`, and joined: `rows.append(torch.cat(parts).cpu())`."""
    if statement[0] == m.AUGMENT:
        place, given = statement[2], statement[4]
    elif statement[0] == m.ASSIGN and statement[2][0][0] == m.ITEM:
        place, given = statement[2][0], statement[3]
    elif statement[0] == m.EXPR and statement[2][0] == m.CALL and statement[2][2][0] == m.ATTR and statement[2][3]:
        place, given = statement[2][2][1], statement[2][3][0]
        if statement[2][2][2] not in _ADDS:
            return set()
    else:
        return set()
    while place[0] == m.ITEM:
        place = place[1]
    while given[0] == m.CALL and given[2][0] == m.ATTR and given[2][2] in AS_IT_IS and not as_large(given):
        given = given[2][1]
    named = any(part[0] == m.NAME and part[1] in names for part in nodes(given)) and as_large(given)
    return {place[1]} if place[0] == m.NAME and named else set()


def put_away(statement: Stmt, owners: Container[str] = ("self",)) -> tuple[Expr, Expr] | None:
    """The attribute of an object by one of these names that a statement sets or appends to, or a part of it, and what
    it puts there."""
    if statement[0] == m.ASSIGN:
        place, value = targets(statement)[0], statement[3]
    elif statement[0] == m.EXPR and statement[2][0] == m.CALL and statement[2][2][0] == m.ATTR and statement[2][3]:
        if statement[2][2][2] not in _ADDS:
            return None
        place, value = statement[2][2][1], statement[2][3][0]
    else:
        return None
    while place[0] == m.ITEM:  # `self.rows[kind] = rows`
        place = place[1]
    owned = place[0] == m.ATTR and place[1][0] == m.NAME and place[1][1] in owners
    return (place, value) if owned else None
