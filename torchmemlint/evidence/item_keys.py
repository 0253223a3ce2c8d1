"""What a function is called with for each item of a data set: its number, or something that it has of its own."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Stmt
from ..facts.walk import calls, last_name, statements
from ..interpreter.keys import FRESH, kind_of_key

_FINDS = ("bisect", "bisect_left", "bisect_right", "searchsorted")
_DEPTH = 3  # calls from `__getitem__`


def asked_for_items(facts: FileFacts, name: str, params: tuple[str, ...], blocks: bool = False) -> list[str]:
    """The parameters that a data set's `__getitem__`, or a helper that it calls for the purpose, gives the number of
    the item, or something that each item has of its own. `blocks`: or the number of the block that the item is in."""
    found: list[str] = []
    readers = {(index, one.params[1].name) for index, one in enumerate(facts.functions) if _reads_items(one)}
    seen = set(readers)
    for _ in range(_DEPTH):
        further: set[tuple[int, str]] = set()
        for index, param in sorted(readers):
            reader, item = facts.functions[index], (m.NAME, param)
            for call in calls(reader.body):
                given = [*enumerate(call[3]), *call[4]]
                of_item = [key for key, value in given if _is_of_item(value, item, reader, blocks)]
                if last_name(call[2]) == name:
                    found += [params[key] if type(key) is int else key for key in of_item if _fits(key, params)]
                elif of_item:
                    further |= _given_on(facts, reader, call, of_item)
        readers = further - seen
        seen |= further
    return found


def gives_item(facts: FileFacts, name: str) -> bool:
    """Whether what a function returns is the whole item that a data set's `__getitem__` hands out."""
    for reader in (one for one in facts.functions if _reads_items(one)):
        body = list(statements(reader.body))
        for value in (one[2] for one in body if one[0] == m.RETURN and one[2] is not None):
            bound = (
                [one[3] for one in body if one[0] == m.ASSIGN and value in one[2]] if value[0] == m.NAME else [value]
            )
            if any(one[0] == m.CALL and last_name(one) == name for one in bound):
                return True
    return False


def _reads_items(function: FunctionFacts) -> bool:
    return function.name == "__getitem__" and len(function.params) == 2


def _fits(key: int | str, params: tuple[str, ...]) -> bool:
    return key in params if type(key) is str else type(key) is int and key < len(params)


def _given_on(facts: FileFacts, reader: FunctionFacts, call: Expr, keys: list[int | str]) -> set[tuple[int, str]]:
    """The functions of the file that a call may mean, with the parameters that it gives what is of the item."""
    callee = call[2]
    own = facts.classes[reader.owner].methods if callee[0] == m.ATTR and reader.owner >= 0 else {}
    if callee[0] == m.ATTR and callee[1] == (m.NAME, "self") and callee[2] in own:
        meant = [own[callee[2]]]
    else:
        name = last_name(callee)
        meant = [i for i, one in enumerate(facts.functions) if one.name == name and name[:2] != "__"]
    if len(meant) != 1:
        return set()
    function = facts.functions[meant[0]]
    params = tuple(param.name for param in function.params[function.owner >= 0 and callee[0] == m.ATTR :])
    return {(meant[0], params[key] if type(key) is int else str(key)) for key in keys if _fits(key, params)}


def _is_of_item(value: Expr, index: Expr, reader: FunctionFacts, blocks: bool, depth: int = 2) -> bool:
    """`index`, `index - 1`, `max(index - 1, 0)`, `self.paths[index]`; `index // 100` is of a block; not
    `self.labels[index]`."""
    op = value[0]
    if value == index:
        return True
    if op == m.ARITH:
        plain = value[1] in ("Add", "Subtract", "Multiply") or (blocks and value[1] == "FloorDivide")
        return plain and any(_is_of_item(side, index, reader, blocks, depth) for side in value[2:4])
    if op == m.CALL:
        plain = last_name(value[2]) in ("int", "str", "min", "max") or (blocks and last_name(value[2]) in _FINDS)
        return plain and any(_is_of_item(part, index, reader, blocks, depth) for part in value[3])
    if op == m.ITEM:
        fresh = kind_of_key((), (m.NAME, _singular(value[1]))) == FRESH
        return fresh and _is_of_item(value[2], index, reader, blocks, depth)
    if op == m.NAME and depth:
        bound = [one for s in statements(reader.body) for one in _bound(s, value, blocks)]
        return any(_is_of_item(one, index, reader, blocks, depth - 1) for one in bound)
    return False


def _bound(statement: Stmt, name: Expr, blocks: bool) -> tuple[Expr, ...]:
    """What a statement binds a name to: also the first number of `block, inside = divmod(index, size)`."""
    if statement[0] != m.ASSIGN:
        return ()
    target, value = statement[2][0], statement[3]
    if blocks and target[0] == m.NEW and target[3][:1] == (name,) and last_name(value) == "divmod":
        return value[3][:1]  # type: ignore[no-any-return]
    return (value,) if statement[2] == (name,) else ()


def _singular(place: Expr) -> str:
    """`image_path` of `self.image_paths`."""
    return last_name(place).removesuffix("s")
