"""Files that hold Python objects as they were, pickles and the like. What is in them only shows where it is read: an
element that is asked for a part by name, `self.infos[index]["token"]`, is a dict."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts
from ..facts.program import Block, Program, targets
from ..facts.walk import calls_of, expressions_of, last_name, statements

_UNPICKLES = frozenset(
    """pickle.load pickle.loads cPickle.load pickle5.load dill.load cloudpickle.load joblib.load mmcv.load
    mmengine.load mmengine.fileio.load""".split()
)
_WORDS = frozenset(name.rpartition(".")[2] for name in _UNPICKLES)
_SAME = ("list", "sorted", "tuple")  # give the same objects
_COPIES = ("deepcopy", "copy", "dict")
_ADDS = ("extend", "update")
_ASKS = ("get", "pop")
_OF_ARRAYS = frozenset(
    "shape ndim dtype astype mean std size numel transpose permute reshape view to float long copy T".split()
)
_MAKES_TENSOR = ("from_numpy",)
_STEPS = 5  # from what is kept to the file


def is_unpickled(program: Program, value: Expr, body: Block) -> bool:
    """Whether a value is what a pickle held, a part of it, or some of its elements, `[one for one in infos if one]`;
    also a list that was filled so, `rows = []`, `rows.extend(pickle.load(file))`."""
    for _ in range(_STEPS):
        if value[0] == m.ITEM:
            value = value[1]
        elif value[0] == m.COMP and len(value[5]) == 1 and value[5][0][0] == value[3]:
            value = value[5][0][1]
        elif value[0] == m.CALL and value[2][0] == m.NAME and value[2][1] in _SAME and value[3]:
            value = value[3][0]
        elif value[0] == m.NAME:
            given = list(_given(value, body))
            if len(given) != 1:
                return False
            value = given[0]
        else:
            break
    return value[0] == m.CALL and program.dotted(value[2]) in _UNPICKLES


def _given(name: Expr, body: Block) -> Iterator[Expr]:
    """What a name is bound to, or what the list that it is bound to is filled with."""
    for one in statements(body):
        if one[0] == m.ASSIGN and name in one[2] and not _is_empty(one[3]):
            yield one[3]
        elif one[0] == m.AUGMENT and one[2] == name:
            yield one[4]
        elif one[0] == m.EXPR:
            for call in calls_of(one):
                if call[2][0] == m.ATTR and call[2][1] == name and call[2][2] in _ADDS and len(call[3]) == 1:
                    yield call[3][0]


def _is_empty(value: Expr) -> bool:
    if value[0] == m.CALL:
        return last_name(value) in ("list", "dict") and not value[3] and not value[4]
    return (value[0] == m.NEW and not value[3]) or (value[0] == m.DICT and not value[2])


def gives_unpickled(program: Program, function: FunctionFacts) -> bool:
    """Whether a function returns what a pickle held."""
    if _WORDS.isdisjoint(function.calls):
        return False
    returned = (one[2] for one in statements(function.body) if one[0] == m.RETURN and one[2] is not None)
    return any(is_unpickled(program, value, function.body) for value in returned)


def are_dicts(methods: Iterator[FunctionFacts], place: Expr) -> bool:
    """Whether the elements of a place are asked for parts by name, and none of these is an array, whose data has no
    reference counts."""
    parts, arrays = set[str](), False
    for method in methods:
        body = method.body
        elements = {target for one in statements(body) for target in _elements(one, place)}
        read = [expr for one in statements(body) for expr in expressions_of(one)]
        of_element = _of_element(place, elements)
        parts |= {_part(expr) for expr in read if _part(expr) and of_element(_asked(expr))}
        arrays = arrays or any(_uses_array(expr, of_element) for expr in read)
    return bool(parts) and not arrays


def _elements(one: m.Stmt, place: Expr) -> Iterator[Expr]:
    """The names that a statement binds to an element: `info = self.infos[index]`, also to a copy of one, and
    `for info in self.infos:`."""
    if one[0] == m.ASSIGN and _is_element(one[3], place):
        yield from targets(one)
    elif one[0] == m.FOR and one[3] == place:
        yield one[2]


def _is_element(value: Expr, place: Expr) -> bool:
    if value[0] == m.CALL and last_name(value) in _COPIES:
        value = value[3][0] if value[3] else value[2][1] if value[2][0] == m.ATTR else value
    return value[0] == m.ITEM and value[1] == place and value[2][0] not in (m.CONST, m.SLICE)


def _of_element(place: Expr, names: set[Expr]) -> Callable[[Expr], bool]:
    return lambda value: value in names or _is_element(value, place)


def _part(expr: Expr) -> str:
    """`token` of `info["token"]` and `info.get("token")`."""
    key: Expr | None = expr[2] if expr[0] == m.ITEM else None
    if expr[0] == m.CALL and len(expr) == 5 and expr[2][0] == m.ATTR and expr[2][2] in _ASKS and expr[3]:
        key = expr[3][0]
    return key[1] if key is not None and key[0] == m.CONST and type(key[1]) is str else ""


def _asked(expr: Expr) -> Expr:
    """`info` of these."""
    found: Expr = expr[1] if expr[0] == m.ITEM else expr[2][1]
    return found


def _uses_array(expr: Expr, of_element: Callable[[Expr], bool]) -> bool:
    """`info["points"].shape`, `torch.from_numpy(info["points"])`."""
    if expr[0] == m.ATTR and expr[2] in _OF_ARRAYS:
        used = expr[1]
    elif expr[0] == m.CALL and len(expr) == 5 and last_name(expr) in _MAKES_TENSOR and expr[3]:
        used = expr[3][0]
    else:
        return False
    return bool(_part(used)) and of_element(_asked(used))
