"""What kind of key a value is stored under: one of few, one that is known, or another one each time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..facts import model as m
from ..facts.knowledge import DRAWS_AN_ID
from ..facts.program import targets
from ..facts.walk import calls, is_count, last_name, nodes, statements
from .arguments import argument
from .spread_keys import given_for_all, is_drawn, sent_as, turns_away, unwrapped
from .values import CONTAINERS, COUNT, IDENT, NAMED, Const, Obj, Tensor, Value

if TYPE_CHECKING:
    from ..facts.model import Expr, Stmt
    from .frames import Frame

IDENTITY = "identity"  # a tensor, a module or `id(x)`: it never hits again
FRESH = "fresh"  # a step, a request, a path: each one is new
FIXED = "fixed"  # names of layers, shapes, dtypes, devices: few
KNOWN = "known"  # one of a few that are all seen, or a layer's
UNSURE = "unsure"
THREAD = "thread"  # the name of a thread, or the thread: as many as threads are ever started

_ANEW = DRAWS_AN_ID | {"id", "perf_counter", "time", "data_ptr"}
_FRESH_WORDS = frozenset(
    """step steps iteration iter request req rid uuid uid path filename file url index idx frame epoch
    timestamp time now session user prompt text sentence hash digest token tokens tid track seq sequence job task sample
    image img tile page document doc query utterance utt clip video sid cid pid ids offset offsets position pos
    turn conversation chat client customer name_or_path smiles molecule caption question
    sha sha1 sha256 md5 checksum fingerprint etag
    engine peer remote connection conn case patient subject scan scene study payload""".split()
)
_ITEMS = frozenset(
    """batch batches inputs texts prompts queries requests samples sentences documents docs images frames utterances
    urls paths files filenames questions captions records examples sequences""".split()
)
_LAYER_WORDS = frozenset("layer layers module block head stage level param dtype device".split())
_FIXED_WORDS = frozenset(
    """name names shape size sizes dim dims kind mode scale key metric
    label split phase tag type cls class rank world h w hw wh width height length len field attr prefix group
    branch task_name resolution degree order bucket n num rate sr freq frequency fft expert adapter gpu classes lang
    language""".split()
)

_NUMBERED = frozenset(  # of which there are ever more, where each has an id
    """episode trial message msg event upload game run uniq unique recording meeting audio wav voice tenant visitor
    account sess item record entry order ticket call execution invocation generation completion response
    prediction""".split()
)

_OF_TEXTS = frozenset("strip lstrip rstrip lower upper casefold title encode decode as_posix resolve absolute".split())

VAGUE = frozenset("name key label tag".split())  # of whatever the caller has

_LETTERS = re.compile("[a-z]+")
_RATES = frozenset("rate freq frequency".split())
_SIZES = frozenset("shape size sizes dim dims h w hw wh height width length len".split())


def kind_of_key(value: Value, expr: Expr, frame: Frame | None = None) -> str:
    """What sort of key `container[key] = x` stores under, by its value and, more weakly, by its name.

    `frame` is where it stands: `key = (length, offset)` says more than the name `key`, and so does what a caller
    gives for it.
    """
    while frame is not None and frame.caller is not None and _says_nothing(expr):
        given = argument(frame, expr[1])
        if given is None:
            break
        expr, frame = given, frame.caller
    body = () if frame is None else frame.facts.body
    thread = _of_thread(expr, frame) if frame is not None else _named_thread(expr)
    if thread:
        return thread
    expr = _assigned(expr, body)
    if _is_of_many_lengths(expr):
        return FRESH
    expr = unwrapped(expr)
    given = given_for_all(expr, frame) if frame is not None and expr[0] == m.NAME else None
    if given is not None and frame is not None:
        if _kind_of_value(value) == IDENTITY and not turns_away(expr, body):
            return IDENTITY
        return _freshest({kind_of_key((), one, frame.caller) for one in given} or {KNOWN})
    if expr[0] == m.ARITH and expr[1] == "Modulo":
        if expr[2][0] != m.CONST or not isinstance(expr[2][1], str):
            return FIXED  # a ring
        return KNOWN if _counts_parts(expr, body) else _kind_of_text(value, _as_text(expr), frame)
    if expr[0] == m.NEW and expr[3]:
        return _kind_of_parts(value, expr, frame)
    if expr[0] == m.TEXT and len(expr) > 1 and not _kind_of_value(value):
        return _kind_of_text(value, expr, frame)
    if expr[0] == m.NAME and (_is_layer(expr, body) or (frame is not None and _is_given_layers(expr[1], frame))):
        return KNOWN
    known = _kind_of_value(value)
    if known == IDENTITY and _SIZES.intersection(_words(expr)):
        return FIXED  # `x, height, width = layer(x)`: a tensor only as far as one knows of the layer
    if known:
        return known
    if _is_content(expr):
        return FRESH
    if expr[0] == m.CALL:
        name = expr[2][-1] if expr[2][0] in (m.NAME, m.ATTR) else ""
        if name in _ANEW:
            return IDENTITY
    if _is_address(expr):
        return IDENTITY
    if expr[0] == m.ATTR and expr[2] == "index" and str(expr[1][-1]).endswith("device"):
        return KNOWN
    if expr[0] == m.ATTR and expr[2] in ("id", "uid", "uuid"):
        return FRESH  # of an object: `request.id`
    if expr[0] == m.CALL and len(expr[3]) > 1 and "key" in last_name(expr[2]).lower():  # `make_key(path, rank)`
        return _freshest({kind_of_key((), part, frame) for part in expr[3]})
    words = set(_words(expr))
    if words & _LAYER_WORDS:
        return KNOWN
    if words & _FIXED_WORDS:
        if frame is not None and words <= VAGUE and _is_given_fresh(expr, frame):
            return FRESH
        sent = sent_as(expr, frame) if frame is not None and words & _FIXED_WORDS <= VAGUE else ""
        if sent and (_FIXED_WORDS - VAGUE).isdisjoint(sent.lower().split("_")):
            return FRESH  # whoever asks may say another one
        return KNOWN if frame is not None and _is_its_own(expr, frame) else FIXED
    if words & _FRESH_WORDS or ("id" in words and words & _NUMBERED):
        return FRESH
    if frame is not None and expr[0] == m.ATTR and sent_as(expr, frame):
        return FRESH
    if value and all(type(atom) is Const for atom in value):
        return FIXED
    if expr[0] != m.NAME:
        return UNSURE
    if _is_of_a_batch(expr, body) or is_drawn(expr, frame):
        return FRESH
    digested = _digested(expr, frame) if frame is not None else None
    if digested is not None:
        return _freshest({kind_of_key((), part, frame) for part in digested} or {FRESH})
    kind = _kind_of_unpacked(expr, body)
    given = argument(frame, expr[1]) if kind == UNSURE and frame is not None else None
    if given is None or frame is None or any(expr in targets(one) for one in statements(body)):
        return kind
    return kind_of_key((), given, frame.caller)  # `speak(text, source)`, of which the caller says what it is


def _digested(name: Expr, frame: Frame) -> tuple[Expr, ...] | None:
    """What a function of the file is given that makes a digest of it, `mark = digest_of(ids)`; nothing if the digest is
    made here, `mark = sha256(data).hexdigest()`, and None if the name is bound to something else."""
    bound = [one[3] for one in statements(frame.facts.body) if name in targets(one) and one[0] == m.ASSIGN]
    if len(bound) != 1 or bound[0][0] != m.CALL:
        return None
    if _is_content(bound[0]):
        return ()
    called = last_name(bound[0][2])
    makers = [one for one in frame.unit.facts.functions if one.name == called]
    returned = [one[2] for maker in makers for one in statements(maker.body) if one[0] == m.RETURN and one[2]]
    makes = len(makers) == 1 and any(map(_is_content, returned))
    return tuple(bound[0][3]) if makes else None


def _kind_of_unpacked(name: Expr, body: tuple[Stmt, ...]) -> str:
    """A name may say less than those of its parts: `clip, number = stamp`."""
    parts = (s[2][0][3] for s in statements(body) if s[0] == m.ASSIGN and s[3] == name and s[2][0][0] == m.NEW)
    return _freshest({kind_of_key((), part) for unpacked in parts for part in unpacked})


def _is_given_fresh(expr: Expr, frame: Frame) -> bool:
    """Whether the caller knows the key by a name that says more: `store.save(turn.session, state)`."""
    given = argument(frame, expr[1]) if expr[0] == m.NAME else None
    return given is not None and kind_of_key((), given, frame.caller) in (FRESH, IDENTITY)


def _is_its_own(expr: Expr, frame: Frame) -> bool:
    """Whether a function has the key from where it was made, `def store_as(name): def hook(module, given, result)`:
    however often it is called, it has one, which is no new one for whoever makes it."""
    if expr[0] != m.NAME or frame.function is None or argument(frame, expr[1]) is not None:
        return False
    maker = frame.function.frame
    given = argument(maker, expr[1]) if maker.caller is not None else None
    if given is None or any(expr in targets(one) for one in statements(frame.facts.body)):
        return False
    return kind_of_key((), given, maker.caller) not in (FRESH, IDENTITY)


def _counts_parts(text: Expr, body: tuple[Stmt, ...]) -> bool:
    """`"conv%d" % (i + 1)` for `i in range(self.num_layers)`: each call has the same names again."""
    if text[2][0] != m.CONST or not isinstance(text[2][1], str):
        return False
    counters = {
        statement[2]
        for statement in statements(body)
        if statement[0] == m.FOR
        and is_count(statement[3])
        and all(one[0] in (m.CONST, m.ATTR) for one in statement[3][3])
    }
    names = {node for node in nodes(text[3]) if node[0] == m.NAME}
    return bool(names) and names <= counters


_PARTS_OF_MODELS = frozenset("modules layers params parameters blocks children".split())


def _is_layer(name: Expr, body: tuple[Stmt, ...]) -> bool:
    """Whether a loop binds a name to one layer or parameter after the other: `for i, m in enumerate(self.modules)`."""
    for statement in statements(body):
        if statement[0] == m.FOR and name in (statement[2], *(statement[2][3] if statement[2][0] == m.NEW else ())):
            over = statement[3]
            while over[0] == m.CALL and over[3] and over[2][-1] in ("enumerate", "zip", "list", "reversed", "sorted"):
                over = over[3][0]
            return not _PARTS_OF_MODELS.isdisjoint(_words(over))
    return False


_PARTS = frozenset(("Module", "Parameter"))


def _is_given_layers(name: str, frame: Frame) -> bool:
    """Whether a parameter is one layer or parameter after the other: it says so, or the file's own loops over them
    call the function."""
    places = [index for index, param in enumerate(frame.facts.params) if param.name == name != "self"]
    if not places:
        return False
    hint = frame.facts.params[places[0]].hint
    if hint is not None and not _PARTS.isdisjoint(node[-1] for node in nodes(hint) if node[0] in (m.NAME, m.ATTR)):
        return True
    place = places[0] - (frame.facts.params[0].name == "self")
    given = [
        (call[3][place], other.body)
        for other in frame.unit.facts.functions
        if frame.facts.name in other.calls
        for call in calls(other.body)
        if call[2][-1] == frame.facts.name and place < len(call[3])
    ]
    return bool(given) and all(value[0] == m.NAME and _is_layer(value, body) for value, body in given)


def _is_of_a_batch(name: Expr, body: tuple[Stmt, ...]) -> bool:
    """Whether a loop binds a name to one after the other of what a call was given: `for smiles in smiles_batch`."""
    for statement in statements(body):
        if statement[0] == m.FOR and name in (statement[2], *(statement[2][3] if statement[2][0] == m.NEW else ())):
            over = statement[3]
            calls = over[0] == m.CALL and over[2][-1] not in ("zip", "enumerate", "tqdm", "set")
            return not calls and not _ITEMS.isdisjoint(_words(over))
    return False


_HANDED = 6
_THREADS = ("current_thread", "currentThread", "get_ident", "get_native_id")


def _of_thread(expr: Expr, frame: Frame) -> str:
    """What sort of key a thread's name or number is, where it was asked for: here, by the caller that hands it over, or
    in a function of the file; "" for other keys."""
    current: Frame | None = frame
    for _ in range(_HANDED):
        if current is None or expr[0] != m.NAME:
            break
        found = [s[3] for s in statements(current.facts.body) if s[0] == m.ASSIGN and expr in s[2]]
        given = argument(current, expr[1]) if not found else None
        if len(found) == 1:
            expr = found[0]
        elif given is not None:
            expr, current = given, current.caller
        else:
            break
    if expr[0] == m.CALL and not expr[3] and not expr[4]:
        asked = [one for one in frame.unit.facts.functions if one.name == last_name(expr[2]) and len(one.body) == 1]
        back = [one.body[0][2] for one in asked if one.body[0][0] == m.RETURN and one.body[0][2] is not None]
        expr = back[0] if len(back) == 1 else expr
    return _named_thread(expr)


def _named_thread(expr: Expr) -> str:
    """`current_thread()`, `current_thread().name`; `get_ident()` is given out again."""
    attribute = expr[2] if expr[0] == m.ATTR else ""
    call = expr[1] if expr[0] == m.ATTR else expr
    name = call[2][-1] if call[0] == m.CALL and call[2][0] in (m.NAME, m.ATTR) else ""
    if name not in _THREADS:
        return ""
    return FIXED if name == "get_ident" or attribute == "ident" else THREAD


def _assigned(expr: Expr, body: tuple[Stmt, ...]) -> Expr:
    """What a name, or attribute, that says nothing of itself was bound to in the function."""
    if not _says_nothing(expr) and not (expr[0] == m.ATTR and "key" in expr[2].lower()):
        return expr
    found = [s[3] for s in statements(body) if s[0] == m.ASSIGN and s[2] == (expr,)]
    return found[0] if len(found) == 1 else expr


def _is_address(expr: Expr) -> bool:
    """Where an array of another library lies: `array.ctypes.data`, `array.data.ptr`,
    `array.__cuda_array_interface__["data"][0]` [docs of NumPy, CuPy, Numba]."""
    while expr[0] == m.ITEM:
        expr = expr[1]
    if expr[0] != m.ATTR:
        return False
    named = (last_name(expr[1]), expr[2])
    return named in (("ctypes", "data"), ("data", "ptr")) or expr[2] in _ADDRESSES


_ADDRESSES = ("__array_interface__", "__cuda_array_interface__")


def _is_of_many_lengths(expr: Expr) -> bool:
    """Whether a key is made of how long each of the samples is that share a row, `tuple(lengths)`: there are few
    lengths, and hardly ever the same ones together."""
    if expr[0] != m.CALL or len(expr[3]) != 1 or last_name(expr[2]) not in ("tuple", "str", "repr", "frozenset"):
        return False
    return last_name(expr[3][0]).lower().rpartition("_")[2] in ("lengths", "lens", "seqlens")


def _is_content(expr: Expr) -> bool:
    """Whether a key is made of all that is in a value: `tuple(ids.tolist())`, `sha256(data).hexdigest()`."""
    return any(node[0] == m.ATTR and node[2] in ("tolist", "tobytes", "hexdigest", "digest") for node in nodes(expr))


def _says_nothing(expr: Expr) -> bool:
    return bool(expr[0] == m.NAME and (expr[1] == "k" or "key" in expr[1].lower()))


def _kind_of_parts(value: Value, expr: Expr, frame: Frame | None) -> str:
    """A tuple is as fresh as its freshest part."""
    tuples = [atom for atom in value if type(atom) is Obj and atom.kind in CONTAINERS]
    kinds = set()
    for index, item in enumerate(expr[3]):
        part = tuple(atom for obj in tuples for atom in obj.fields.get(f"[{index}]", ()))
        kinds.add(kind_of_key(part, item, frame))
    return _freshest(kinds)


def _freshest(kinds: set[str]) -> str:
    return next((kind for kind in (IDENTITY, FRESH, UNSURE, FIXED, KNOWN) if kind in kinds), UNSURE)


def _as_text(formatted: Expr) -> Expr:
    """`"%s/%d" % (name, step)` as `f"{name}/{step}"` is."""
    given = formatted[3][3] if formatted[3][0] == m.NEW and formatted[3][2] == "tuple" else (formatted[3],)
    return (m.TEXT, (formatted[2], *given))


def _kind_of_text(value: Value, expr: Expr, frame: Frame | None) -> str:
    """A formatted string is as fresh as its freshest part, unless it says that it is one layer's: `f"block{i}"`."""
    if value and all(type(atom) is Const for atom in value):
        return FIXED
    fixed = {word for part in expr[1] if part[0] == m.CONST for word in _LETTERS.findall(str(part[1]).lower())}
    if fixed & _LAYER_WORDS:
        return KNOWN
    kinds = {kind_of_key((), part, frame) for part in expr[1] if part[0] not in (m.CONST, m.TEXT)}
    return _freshest(kinds)


def _kind_of_value(value: Value, depth: int = 4) -> str:
    """What a key's value says of it: "" if nothing."""
    made_once = False  # `KEYS.loss`, an object that is there before any loop begins
    for atom in value:
        if type(atom) is Obj and atom.kind in ("module", "instance"):
            if atom.unknown or atom.birth:
                return IDENTITY
            made_once = True
        if type(atom) is Tensor:
            return IDENTITY
        if type(atom) is Obj and atom.kind == "tuple" and depth:  # one that is built from itself has no end
            parts = {_kind_of_value(part, depth - 1) for key, part in atom.fields.items() if key[0] != "$"}
            if parts & {IDENTITY, FRESH}:
                return IDENTITY if IDENTITY in parts else FRESH
    if made_once or (NAMED in value and all(atom == NAMED or type(atom) is Const for atom in value)):
        return KNOWN
    return FRESH if COUNT in value or IDENT in value else ""


def says_few(part: Expr) -> bool:
    """Whether a key says in its own words that there are few of its kind: a size, a setting; not the `name` of whatever
    it is, nor that of a file."""
    if part[0] == m.ARITH:
        return bool(part[1] == "Modulo" and part[2][0] not in (m.CONST, m.TEXT))  # no text that is filled in
    words = set(_words(part)) - {"n"} if part[0] in (m.NAME, m.ATTR) else set()  # the n-th, or how many
    if words & _RATES:
        words.discard("sample")  # `sample_rate`
    return not words.isdisjoint(_FIXED_WORDS | _LAYER_WORDS) and words.isdisjoint(VAGUE | _FRESH_WORDS)


def _words_of_key(key: Expr) -> list[str]:
    """`sample["label"]` is one of a few, whatever is said of samples; `sample["name"]` is the sample's own."""
    return key[1].lower().split("_") if key[0] == m.CONST and isinstance(key[1], str) else []


def _words(expr: Any) -> list[str]:
    """The words of the names in an expression."""
    op = expr[0]
    if op in (m.NAME, m.ATTR):
        return str(expr[-1]).lower().strip("_").split("_")
    if op == m.NEW:
        return [word for item in expr[3] for word in _words(item)]
    if op == m.CALL and not expr[3] and expr[2][0] == m.ATTR:  # `prompt.strip().lower()`, `request.request_id()`
        return _words(expr[2][1] if expr[2][2] in _OF_TEXTS else expr[2])
    if op == m.CALL:
        return [word for item in expr[3] for word in _words(item)]
    if op == m.ITEM:
        named = _words_of_key(expr[2])
        return named if named and _FIXED_WORDS - VAGUE | {"label"} >= {*named} else _words(expr[1])
    if op == m.ARITH:
        return [*_words(expr[2]), *_words(expr[3])]
    if op in (m.UNARY, m.STAR, m.AWAIT):
        return _words(expr[1])
    return []
