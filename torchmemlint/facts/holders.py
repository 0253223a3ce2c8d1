"""What heavy objects a value keeps, and what kind of key it is stored under."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import knowledge
from . import model as m
from .values import Const, Obj, Tensor, Value

if TYPE_CHECKING:
    from .events import Loops
    from .model import Expr

_CONTAINERS = ("list", "tuple", "set", "dict", "deque", "queue")
_DEPTH = 4


def heavy_objects(value: Value) -> tuple[Obj, ...]:
    """The modules and optimizers that a value keeps alive: itself, in containers, or as parts of instances."""
    found: list[Obj] = []
    _gather(value, _DEPTH, found, set())
    return tuple(found)


def _gather(value: Value, depth: int, found: list[Obj], seen: set[int]) -> None:
    for atom in value:
        if type(atom) is not Obj or id(atom) in seen:
            continue
        seen.add(id(atom))
        if atom.kind == "optimizer" or (atom.kind == "module" and has_parameters(atom)):
            found.append(atom)
        elif depth and (atom.kind in _CONTAINERS or atom.kind == "instance"):
            for key, part in atom.fields.items():
                if part and key[0] != "$":
                    _gather(part, depth - 1, found, seen)


def has_parameters(module: Obj) -> bool:
    """Whether a module is more than an activation or a loss function."""
    if not isinstance(module.cls, str):
        return True
    tail = module.cls.rsplit(".", 1)[-1]
    return not (tail in knowledge.PARAMETERLESS or tail.endswith("Loss"))


def made_in(obj: Obj, loops: Loops) -> bool:
    """Whether an object was made in the innermost round of these loops, and is not somebody else's."""
    return bool(loops) and loops[-1] in obj.birth and not obj.unknown


# -- keys -----------------------------------------------------------------------------------------

IDENTITY = "identity"  # a tensor, a module or `id(x)`: it never hits again
FRESH = "fresh"  # a step, a request, a path: each one is new
FIXED = "fixed"  # names of layers, shapes, dtypes, devices: few
UNSURE = "unsure"

_FRESH_WORDS = frozenset(
    """step steps iteration iter request req rid uuid uid path filename file url index idx frame epoch
    timestamp time now session user prompt text sentence hash digest token tid track seq sequence job task sample
    image img tile page document doc query utterance utt clip video""".split()
)
_FIXED_WORDS = frozenset(
    """name names layer layers module dtype device shape size sizes dim dims kind mode level stage scale key metric
    label split phase tag type cls class head rank world h w width height length len field attr prefix group
    branch task_name resolution degree order n num""".split()
)


def kind_of_key(value: Value, expr: Expr) -> str:
    """What sort of key `container[key] = x` stores under, by its value and, more weakly, by its name."""
    if any(type(atom) is Tensor or (type(atom) is Obj and atom.kind in ("module", "instance")) for atom in value):
        return IDENTITY
    if expr[0] == m.CALL:
        name = expr[2][-1] if expr[2][0] in (m.NAME, m.ATTR) else ""
        if name in ("id", "uuid4", "uuid1", "token_hex", "perf_counter", "time", "data_ptr"):
            return IDENTITY
    if value and all(type(atom) is Const for atom in value):
        return FIXED
    words = set(_words(expr))
    if words & _FIXED_WORDS:
        return FIXED
    if words & _FRESH_WORDS:
        return FRESH
    return UNSURE


def _words(expr: Any) -> list[str]:
    """The words of the names in an expression."""
    op = expr[0]
    if op in (m.NAME, m.ATTR):
        return str(expr[-1]).lower().strip("_").split("_")
    if op == m.NEW:
        return [word for item in expr[3] for word in _words(item)]
    if op == m.CALL:
        return [word for item in expr[3] for word in _words(item)]
    if op == m.ITEM:
        return _words(expr[1])
    if op == m.ARITH:
        return [*_words(expr[2]), *_words(expr[3])]
    if op in (m.UNARY, m.STAR, m.AWAIT):
        return _words(expr[1])
    return []
