"""Tables of the module or of a class that get what was loaded, or an array, for each path or text that is asked for.

`SOUNDS[path] = librosa.load(path)[0]` in a function that is given the path: each one that was ever asked for stays.
So does each checkpoint of a table that is sorted by use, and from which nothing is ever taken.
What loading gives is an array or whatever lies in the file, of which the abstract run knows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, calls_of, last_name, nodes, statements
from ..interpreter.keys import FRESH, UNSURE, VAGUE, kind_of_key

if TYPE_CHECKING:
    from ..facts.releases import Releases

_LOADERS = frozenset(
    """torch.load torch.jit.load safetensors.torch.load_file numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromfile
    cv2.imread cv2.imdecode imageio.imread imageio.v2.imread imageio.v3.imread skimage.io.imread PIL.Image.open
    librosa.load librosa.core.load torchaudio.load soundfile.read scipy.io.wavfile.read torchvision.io.read_image
    torchvision.io.read_video torchvision.io.read_file pandas.read_csv pandas.read_parquet pandas.read_pickle""".split()
)
_OF_ARRAYS = frozenset(
    """numpy.zeros numpy.ones numpy.stack numpy.concatenate numpy.vstack numpy.hstack numpy.pad numpy.frombuffer
    torch.from_numpy""".split()
)
_WRAPPERS = frozenset(
    "array asarray ascontiguousarray from_numpy tensor as_tensor FloatTensor float32 deepcopy".split()
)
_KEEPING = frozenset(
    """to cuda cpu float double half astype convert copy clone numpy squeeze unsqueeze permute transpose reshape
    contiguous pin_memory""".split()
)  # methods whose result weighs as much
_PARTS = ("get", "pop")  # of a file's dictionary: `torch.load(path).get("state_dict")`
LOADS = frozenset(name.rpartition(".")[2] for name in (*_LOADERS, *_OF_ARRAYS)) | {"astype"}
_FEW = frozenset("model models ckpt checkpoint checkpoints weight weights config cfg vocab tokenizer lib font".split())
_ONCE = frozenset("__init__ __post_init__ setup build main prepare_data".split())
_DEPTH = 6


class LoadedTable(NamedTuple):
    """`TABLE[key] = loaded`. `cls`: the class that has the table, or ""."""

    site: Site
    table: str
    cls: str
    key: str


def loaded_tables(
    program: Program, releases: Releases, imported: Callable[[], set[str]] = set
) -> Iterator[LoadedTable]:
    """Each table once, also one of another file, where nothing takes an entry out or asks how many there are."""
    if program.called.isdisjoint(LOADS):
        return
    of_module = set(_made_empty(program.facts.functions[0])) | imported()
    of_classes = {
        (cls.name, name) for cls in program.facts.classes for name in _made_empty(program.facts.functions[cls.body])
    }
    if not of_module and not of_classes:
        return
    seen: set[tuple[str, str]] = set()
    for place in program.places:
        if place.facts.name in _ONCE or not place.facts.params:
            continue
        for site, table, key, value in _stored(place.facts):
            cls, name = _table_of(place, table, of_module, of_classes)
            if not name or (cls, name) in seen or not (_is_ranked(program, name) or _is_asked_for(program, place, key)):
                continue
            limits = releases.of(name, cls) | releases.measuring(name, cls)
            if not limits and holds_loaded(program, place.facts, value):
                seen.add((cls, name))
                yield LoadedTable(site, f"{cls}.{name}" if cls else name, cls, last_name(key) or "key")


def _is_ranked(program: Program, name: str) -> bool:
    """Whether a table keeps what was used last at its end, `table.move_to_end(key)`: it is there to let go of the
    others, however few its keys may seem."""
    return "move_to_end" in program.called and any(
        call[2][0] == m.ATTR and call[2][2] == "move_to_end" and last_name(call[2][1]) == name
        for place in program.places
        if "move_to_end" in place.facts.calls
        for call in calls(place.facts.body)
    )


def gives_loaded(program: Program, function: FunctionFacts, key: str) -> bool:
    """Whether a function gives back what a file held, for each path or text that is asked for, and no model."""
    if not gives_what_a_file_held(program, function):
        return False
    place = next(place for place in program.places if place.facts is function)
    return _is_asked_for(program, place, (m.NAME, key))


def gives_what_a_file_held(program: Program, function: FunctionFacts) -> bool:
    """Whether a function gives back what a file held, and no model."""
    if LOADS.isdisjoint(function.calls) or not _FEW.isdisjoint(function.name.lower().split("_")):
        return False
    given = [one[2] for one in statements(function.body) if one[0] == m.RETURN and one[2] is not None]
    return any(holds_loaded(program, function, value) for value in given)


def _made_empty(body: FunctionFacts) -> Iterator[str]:
    """The names that a module or class binds to an empty dictionary, once."""
    bound = [target[1] for one in statements(body.body) for target in targets(one) if target[0] == m.NAME]
    for one in statements(body.body):
        if one[0] not in (m.ASSIGN, m.ANNOTATE):
            continue
        value = one[3] if one[0] == m.ASSIGN else one[4]
        made = value is not None and value[0] == m.CALL and last_name(value) in ("dict", "OrderedDict")
        if value is not None and ((made and not value[3]) or (value[0] == m.DICT and not value[2])):
            yield from (t[1] for t in targets(one) if t[0] == m.NAME and bound.count(t[1]) == 1)


def _stored(facts: FunctionFacts) -> Iterator[tuple[Site, Expr, Expr, Expr]]:
    """Site, table, key and value of `table[key] = value` and `table.setdefault(key, value)`."""
    for one in statements(facts.body):
        for target in one[2] if one[0] == m.ASSIGN else ():
            if target[0] == m.ITEM:
                yield one[1], target[1], target[2], one[3]
        for call in calls_of(one) if "setdefault" in facts.calls else ():
            if call[2][0] == m.ATTR and call[2][2] == "setdefault" and len(call[3]) == 2:
                yield call[1], call[2][1], *call[3]


def _table_of(place: Place, table: Expr, of_module: set[str], of_classes: set[tuple[str, str]]) -> tuple[str, str]:
    """The class, or "", and the name of a table that outlives the call; two empty names for others."""
    if table[0] == m.NAME and table[1] in of_module:
        said = any(one[0] == m.GLOBAL and table[1] in one[2] for one in statements(place.facts.body))
        own = table in (target for one in statements(place.facts.body) for target in targets(one))
        return "", "" if (own and not said) or _is_given(place.facts, table[1]) else table[1]
    if table[0] == m.ATTR and table[1][0] == m.NAME:
        cls = place.cls if table[1][1] in ("self", "cls") else table[1][1]
        if (cls, table[2]) in of_classes:
            return cls, table[2]
    return "", ""


def _is_given(facts: FunctionFacts, name: str) -> bool:
    return any(param.name == name for param in facts.params)


def _is_asked_for(program: Program, place: Place, key: Expr) -> bool:
    """Whether a key is, or is made of, a path or a text that the function is given, and not one of a few."""
    facts = place.facts
    for _ in range(_DEPTH):
        bound = _bound(facts, key)
        if len(bound) != 1 or _is_given(facts, key[-1]):
            break
        key = bound[0]
    names = [node for node in nodes(key) if node[0] in (m.NAME, m.ATTR)]
    if not any(node[0] == m.NAME and node[1] not in ("self", "cls") and _is_given(facts, node[1]) for node in names):
        return False
    if any(not _FEW.isdisjoint(str(node[-1]).lower().split("_")) for node in names):
        return False
    kinds = {kind_of_key((), key), *(kind_of_key((), node) for node in names if kind_of_key((), key) == UNSURE)}
    return FRESH in kinds or any(_is_given_fresh(program, place, node[1]) for node in names if node[0] == m.NAME)


def _is_given_fresh(program: Program, place: Place, name: str) -> bool:
    """Whether a caller knows what is asked for by a name that says more: `picture(str(path))` of `picture(name)`."""
    params = [param.name for param in place.facts.params if not (place.cls and param.name in ("self", "cls"))]
    if name not in params or not VAGUE.issuperset(name.lower().split("_")):
        return False
    given = (
        keyword(call, name, params.index(name))
        for one in program.places
        if place.facts.name in one.facts.calls
        for call in calls(one.facts.body)
        if last_name(call[2]) == place.facts.name
    )
    return any(one is not None and kind_of_key((), one) == FRESH for one in given)


def _bound(facts: FunctionFacts, name: Expr) -> list[Expr]:
    """What a function binds a name to, in the order of the text."""
    if name[0] != m.NAME:
        return []
    return [one[3] for one in statements(facts.body) if one[0] == m.ASSIGN and name in targets(one)]


def holds_loaded(program: Program, facts: FunctionFacts, value: Expr, depth: int = _DEPTH) -> bool:
    """Whether a value is what a file held, or an array made of it."""
    op = value[0]
    if not depth:
        return False
    if op == m.NAME:
        return any(holds_loaded(program, facts, bound, depth - 1) for bound in _bound(facts, value))
    if op == m.ITEM:
        return holds_loaded(program, facts, value[1], depth)
    if op == m.NEW:
        return any(holds_loaded(program, facts, part, depth - 1) for part in value[3])
    if op == m.ARITH:
        return any(holds_loaded(program, facts, side, depth - 1) for side in value[2:4])
    if op in (m.COND, m.BOOL):
        either = value[2:4] if op == m.COND else value[2]
        return any(holds_loaded(program, facts, one, depth) for one in either)
    if op != m.CALL:
        return False
    for helper in program.by_name.get(last_name(value[2]), ())[:2]:
        if (value[2][0] == m.NAME and not helper.cls) or (value[2][:2] == (m.ATTR, (m.NAME, "self")) and helper.cls):
            given = (one[2] for one in statements(helper.facts.body) if one[0] == m.RETURN and one[2] is not None)
            return any(holds_loaded(program, helper.facts, one, depth - 1) for one in given)
    dotted = program.dotted(value[2])
    if dotted in _LOADERS or dotted in _OF_ARRAYS:
        return True
    if value[2][0] == m.ATTR and value[2][2] == "astype":
        return True
    if (
        value[2][0] == m.ATTR
        and value[2][2] in (*_PARTS, *_KEEPING)
        and holds_loaded(program, facts, value[2][1], depth)
    ):
        return True
    return last_name(value[2]) in _WRAPPERS and any(holds_loaded(program, facts, part, depth - 1) for part in value[3])
