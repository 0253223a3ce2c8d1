"""Whether a value of which nothing is known, and that a data set's method keeps, is an item of the data set."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Block, targets
from ..facts.walk import calls_of, last_name, nodes, statements
from ..interpreter.arguments import argument
from ..interpreter.frames import Frame
from ..interpreter.hints import value_of_hint
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Function, Obj, is_light

_LIGHT_WORDS = frozenset(
    "size sizes length lengths len lens offset offsets count counts index indices idx shape shapes num".split()
)
_FEW_NUMBERS = frozenset(
    "calib calibration calibrations intrinsic intrinsics extrinsic extrinsics pose poses oxts gps imu camera".split()
)  # matrices of three or four rows for each file
_LIGHT_PARTS = ("size", "shape", "dtype", "ndim", "name", "stem", "suffix", "length", "width", "height")


_ADDRESSES = frozenset("path paths filename fname name names key keys url uri".split())  # by which an item is asked for
_YIELDS = (m.YIELD, m.YIELD_FROM)
_DEPTH = 4  # names and calls between an item's number and what it is asked by


def is_item(machine: Machine, facts: FunctionFacts, site: Site, container: str) -> bool:
    """Whether the function that keeps a value hands the same value out, as it does with what it has loaded.

    A size, an offset or a word of a vocabulary is kept, too, and what is handed out is made with its help.
    """
    value = stored_at(facts.body, site, container)
    if value is None or _is_light_part(value) or _is_address(value):
        return False
    if value[0] == m.CALL and "iter" in last_name(value[2]):
        return False  # what goes through a source again, in the place of what has come to its end
    if not _LIGHT_WORDS.isdisjoint(container.lower().split("_")) or _is_whole_number(facts.body, value):
        return False
    if _says_light(machine, facts.returns) or _is_table_of_numbers(machine, container):
        return False
    given = ({value[1]} if value[0] == m.NAME else set[str]()) | _aliases(facts.body, site)
    for _ in range(2):
        for statement in statements(facts.body):
            over = statement[3] if statement[0] in (m.ASSIGN, m.FOR) else None  # `for row in shard: yield row`
            if over is not None and _reads(over, given, container):
                given |= {target[1] for target in targets(statement) if target[0] == m.NAME}
    return any(
        _reads(expr, given, container)
        for statement in statements(facts.body)
        for expr in statement[2:3]
        if expr is not None and (statement[0] == m.RETURN or (statement[0] == m.EXPR and expr[0] in _YIELDS))
    )


def lists_one_for_each(frame: Frame, key: Expr) -> bool:
    """Whether what a data set's method was asked by is the path, or the like, of one item: `path = self.paths[index]`
    in `__getitem__`, of a list that is as long as the data set."""
    current: Frame | None = frame
    for _ in range(_DEPTH):
        if current is None or key[0] != m.NAME:
            break
        bound = [one[3] for one in statements(current.facts.body) if one[0] == m.ASSIGN and key in one[2]]
        if len(bound) == 1:
            key = bound[0]
        elif not bound and (given := argument(current, key[1])) is not None:
            key, current = given, current.caller
        else:
            break
    if current is None or current.facts.name != "__getitem__" or len(current.facts.params) < 2:
        return False
    listed = key[:1] == (m.ITEM,) and key[1][:2] == (m.ATTR, (m.NAME, "self"))
    if not listed or key[2] != (m.NAME, current.facts.params[1].name):
        return False
    cls = getattr(current.receiver, "cls", None)
    lengths = (cls.find("__len__") or ()) if isinstance(cls, Class) else ()
    wanted: Expr = (m.CALL, (m.NAME, "len"), (key[1],))
    return any(
        one[0] == m.RETURN and one[2] is not None and (*one[2][:1], *one[2][2:4]) == wanted
        for function in lengths
        if type(function) is Function
        for one in statements(function.facts.body)
    )


def _aliases(body: Block, site: Site) -> set[str]:
    """The local name of the container that the statement, or the call, at a site adds to."""
    for statement in statements(body):
        if statement[1] <= site < statement[1] + 256:
            places = [target[1] for target in targets(statement) if target[0] == m.ITEM]
            places += [call[2][1] for call in calls_of(statement) if call[1] == site and call[2][0] == m.ATTR]
            return {place[1] for place in places if place[0] == m.NAME}
    return set()


def _is_light_part(value: Expr) -> bool:
    """`image.shape`, also some of it: `image.shape[:2]`."""
    while value[0] == m.ITEM:
        value = value[1]
    return value[0] == m.ATTR and (value[2] in _LIGHT_PARTS or value[2].startswith("st_"))


def _is_address(value: Expr) -> bool:
    """`path`, `file_name`: text, of what could not be read."""
    return value[0] == m.NAME and value[1].lower().rpartition("_")[2] in _ADDRESSES


def stored_at(body: Block, site: Site, container: str = "") -> Expr | None:
    """What the statement, or the call, at a site puts away; into the container of a name, if it has several places."""
    for statement in statements(body):
        if statement[1] == site and statement[0] == m.ASSIGN:
            value: Expr = statement[3]
            places = targets(statement)
            several: tuple[Expr, ...] = value[3] if value[0] == m.NEW and len(places) > 1 else ()
            into = (part for place, part in zip(places, several, strict=False) if last_name(place) == container)
            return next(into, value)
        if statement[1] <= site < statement[1] + 256:
            for expr in statement[2:]:
                for part in nodes(expr) if type(expr) is tuple else ():
                    if part[0] == m.CALL and len(part) == 5 and part[1] == site and part[3]:
                        return part[3][-1]  # type: ignore[no-any-return]
    return None


def are_few_numbers(facts: FunctionFacts, site: Site, container: str) -> bool:
    """Whether what is kept for each file is a camera's matrix, a pose or the like."""
    value = stored_at(facts.body, site, container)
    names = [container, *([] if value is None else [last_name(value), last_name(_read(facts.body, value))])]
    return any(not _FEW_NUMBERS.isdisjoint(name.lower().split("_")) for name in names)


def _read(body: Block, value: Expr) -> Expr:
    """What a name is bound to, if only once: `calib = read_calib_file(path)`; the function that is called."""
    bound = [one[3] for one in statements(body) if one[0] == m.ASSIGN and value in targets(one)]
    value = bound[0] if value[0] == m.NAME and len(bound) == 1 else value
    return value[2] if value[0] == m.CALL and len(value) == 5 else value


def _is_whole_number(body: Block, value: Expr) -> bool:
    """Whether a name is bound to a quotient: `length = 1 + length // stride`."""
    return value[0] == m.NAME and any(
        part[0] == m.ARITH and part[1] == "FloorDivide"
        for statement in statements(body)
        if statement[0] == m.ASSIGN and value in targets(statement)
        for part in nodes(statement[3])
    )


def _says_light(machine: Machine, hint: Expr | None) -> bool:
    return hint is not None and is_light(value_of_hint(machine, machine.module_frame, hint))


def _is_table_of_numbers(machine: Machine, name: str) -> bool:
    """`self.sizes: dict[str, int] = {}`"""
    for function in machine.facts.functions:
        for statement in statements(function.body):
            if statement[0] == m.ANNOTATE and last_name(statement[2]) == name:
                for atom in value_of_hint(machine, machine.module_frame, statement[3], 3):
                    if type(atom) is Obj and is_light(atom.fields.get("*", ())):
                        return True
    return False


def _reads(expr: Expr, names: set[str], container: str) -> bool:
    """Whether one of the names, or the container, goes into a value: not as a key of something, nor counted."""
    if expr[0] == m.NAME:
        return expr[1] in names
    if expr[0] == m.ATTR:
        return expr[2] == container or _reads(expr[1], names, container)
    if expr[0] == m.ITEM:
        return _reads(expr[1], names, container)
    if expr[0] == m.CALL and len(expr) == 5 and expr[2] == (m.NAME, "len"):
        return False
    return any(_reads(part, names, container) for part in _parts(expr))


def _parts(expr: Expr) -> list[Expr]:
    found: list[Expr] = []
    stack = [part for part in expr[1:] if type(part) is tuple]
    while stack:
        part = stack.pop()
        if part and type(part[0]) is int:
            found.append(part)
        else:
            stack.extend(inner for inner in part if type(inner) is tuple)
    return found
