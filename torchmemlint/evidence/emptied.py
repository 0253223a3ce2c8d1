"""What a function still has bound when it empties a device cache, though it does not use it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..facts import model as m
from ..facts.knowledge import MODEL_NAMES
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, Place, Program, targets, text
from ..facts.walk import (
    blocks,
    calls,
    calls_of,
    expressions_of,
    heads,
    in_loops,
    last_name,
    names_of,
    nodes,
    statements,
    with_tests,
)
from ..interpreter.frames import Frame
from ..interpreter.holders import has_parameters
from ..interpreter.machine import Machine
from ..interpreter.values import ATTACHED, UNKNOWN, Obj, Tensor, Value
from ..lexical.at_work import reaches_work
from ..lexical.cleanup import MODELS, Slip, collects, empties, given_up, is_built, let_go, own_calls, runs

Vars = dict[str, Value]
_STEPS = 2  # of a clean-up before it empties the cache: `del encoder`, `gc.collect()`
_OPTIMIZERS = ("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Adadelta", "LBFGS", "Lion")
_TO_HOST = frozenset("cpu numpy tolist item asnumpy get float int len str bool getsize memory_allocated".split())
_LOADS = frozenset("from_pretrained from_single_file create_model load_model generate".split())  # another model
_TELLS = frozenset("print info debug warning log synchronize ipc_collect".split())
_SAYS = ("log", "print", "set_", "is_", "_log")
_LIGHT = frozenset(
    """print len range str int float list dict info debug warning error log append extend add pop get items keys values
    format join item tolist numpy cpu synchronize collect empty_cache free_all_blocks memory_allocated memory_reserved
    max_memory_allocated reset_peak_memory_stats mem_get_info used_bytes total_bytes time perf_counter sleep update
    set_postfix set_description close write save dump mean std sum min max round isinstance hasattr is_available barrier
    eval train zero_grad step exit mkdir exists ipc_collect malloc_trim CDLL result join start""".split()
)


def emptied_while_held(program: Program) -> Iterator[Slip]:
    """`empty_cache()` while something still refers to what was to be freed."""
    if not program.empties:
        return
    for place in program.places:
        if not any(empties(program, call) for call in calls(place.facts.body)):
            continue
        yield from _deleted_after(program, place)
        yield from _optimizer_left(program, place)
        yield from _parts_left(place, program)


def _parts_left(place: Place, program: Program) -> Iterator[Slip]:
    """`encoders = [one, two]`, and later `del encoders; empty_cache()` while the names `one` and `two` stay bound, for
    work that is done in other cases only."""
    body = list(with_tests(place.facts.body))
    made: dict[str, Stmt] = {}
    for run in runs(place.facts.body):
        for index, statement in enumerate(run):
            if statement[0] != m.DELETE or not any(
                empties(program, call) for c in run[index:] for call in own_calls(c)
            ):
                continue
            made = made or _literals(place)
            dropped = {name for one in run[: index + 6] for name in let_go(one)}
            for name in (name for name in let_go(statement) if name in made and made[name][1] < statement[1]):
                parts = [part for part in _parts_of(made[name]) if part not in dropped]
                models = [part for part in parts if any(word in MODELS for word in part.lower().split("_"))]
                if models and not any(_is_needed(body, part, statement) for part in models):
                    yield Slip(statement[1], name, made[name][1], 2, "parts:" + ", ".join(models[:3]))


def _literals(place: Place) -> dict[str, Stmt]:
    """The names of a function that are bound once, to a list, tuple or dictionary of other names."""
    found: dict[str, Stmt] = {}
    twice = set[str]()
    for statement in statements(place.facts.body):
        for target in targets(statement):
            if target[0] == m.NAME:
                twice |= {target[1]} & found.keys()
                if statement[0] == m.ASSIGN and statement[3][0] in (m.NEW, m.DICT):
                    found[target[1]] = statement
    return {name: statement for name, statement in found.items() if name not in twice}


def _parts_of(statement: Stmt) -> list[str]:
    value = statement[3]
    parts = value[3] if value[0] == m.NEW else [part for _, part in value[2]]
    return [part[1] for part in parts if part[0] == m.NAME]


def _is_needed(body: list[tuple[Stmt, tuple[Expr, ...]]], name: str, deleted: Stmt) -> bool:
    """Whether a name is read after a statement, wherever that is come to, or bound for nobody but itself."""
    here = next((tests for one, tests in body if one is deleted), ())
    return any(
        one[1] > deleted[1] and set(tests) <= set(here) and any((m.NAME, name) in nodes(head) for head in heads(one))
        for one, tests in body
    )


def _deleted_after(program: Program, place: Place) -> Iterator[Slip]:
    """`empty_cache()` and, as the next step of the clean-up, `del x` or, as its last, `self.model = None`, with nothing
    emptied after that."""
    emptied_at = [call[1] for call in calls(place.facts.body) if empties(program, call)]
    repeated = {statement[1] for statement, repeats in in_loops(place.facts.body) if repeats}
    for run in runs(place.facts.body):
        emptied: Site = -1
        for index, statement in enumerate(run):
            names = let_go(statement)
            found = [call for call in _clean_up_calls(program, statement) if empties(program, call)]
            models = [name for name in _let_go_of_model(statement) if emptied >= 0 and _is_model(program, place, name)]
            if found:
                emptied = found[-1][1]
            elif not (names or models or _clean_up_calls(program, statement) or _tells(statement)):
                emptied = -1  # the program went on with something else
            if emptied < 0 or max(emptied_at) > statement[1]:
                continue
            if statement[0] == m.DELETE and names:
                yield Slip(emptied, names[0], statement[1], 1 if statement[1] in repeated else 2, "order")
                break
            last = all(_says_so(one) for one in statements(tuple(run[index + 1 :])))
            if models and last and statement[1] not in repeated and not _is_cleaned_after(program, place):
                yield Slip(emptied, models[0], statement[1], 2, "order")
                break


def _clean_up_calls(program: Program, statement: Stmt) -> list[Expr]:
    """What a statement does to free memory: by itself, or as all that an `if`, a `with` or a `try` does."""
    if statement[0] == m.IF:
        inside = [*statement[3], *statement[4]]
    elif statement[0] in (m.WITH, m.TRY):
        inside = [*next(blocks(statement))]
    else:
        return [call for call in own_calls(statement) if empties(program, call) or collects(program, call)]
    found = [_clean_up_calls(program, one) for one in inside]
    return [call for one in found for call in one] if all(found) else []


def _tells(statement: Stmt) -> bool:
    """`logger.info("unloaded")`, `torch.cuda.synchronize()`"""
    return statement[0] == m.EXPR and all(last_name(call[2]) in _TELLS for call in calls_of(statement))


def _let_go_of_model(statement: Stmt) -> list[str]:
    """What a statement lets go of: a name, an attribute, what lies in a container."""
    removed = [text(target[1]) for target in (statement[2] if statement[0] == m.DELETE else ()) if target[0] == m.ITEM]
    call: Expr = statement[2] if statement[0] == m.EXPR else (m.TEXT,)
    if call[0] == m.CALL and call[2][0] == m.ATTR and call[2][2] in ("clear", "pop", "popitem"):
        removed.append(text(call[2][1]))
    return [name for name in (*given_up(statement), *removed) if name]


def _is_model(program: Program, place: Place, name: str) -> bool:
    words = name.rpartition(".")[2].lower().split("_")
    return any(word in MODELS or word.removesuffix("s") in MODELS for word in words) or is_built(program, place, name)


def _says_so(statement: Stmt) -> bool:
    """Whether a statement only forgets more, or tells that all is done."""
    if given_up(statement) or (statement[0] == m.RETURN and not list(calls_of(statement))):
        return True
    if statement[0] == m.ASSIGN:
        return bool(statement[3][0] in (m.CONST, m.NEW, m.DICT))
    return statement[0] == m.EXPR and all(
        last_name(call[2]) in _LIGHT or last_name(call[2]).startswith(_SAYS) for call in calls_of(statement)
    )


def _is_cleaned_after(program: Program, place: Place) -> bool:
    """Whether a caller empties the cache when this function has returned."""
    for other in program.places:
        if place.facts.name in other.facts.calls and other.facts is not place.facts:
            found = [*calls(other.facts.body)]
            at = [call[1] for call in found if last_name(call[2]) == place.facts.name]
            if any(call[1] > at[0] for call in found if empties(program, call) or collects(program, call)):
                return True
    return False


def _optimizer_left(program: Program, place: Place) -> Iterator[Slip]:
    """`del model; empty_cache()` while an optimizer made from the model's parameters is bound next to it. A local one
    that is made further down is there only if the cache is emptied before that, in a loop: it is the last round's."""
    repeated = {statement[1] for statement, repeats in in_loops(place.facts.body) if repeats}
    for statement in statements(place.facts.body):
        dropped = given_up(statement)
        if not dropped:
            continue
        emptied = next((c[1] for c in calls(place.facts.body) if c[1] > statement[1] and empties(program, c)), None)
        if emptied is None:
            continue
        for name in dropped:
            owner, _, attribute = name.rpartition(".")
            for holder, made in optimizers_of(program, place, owner, attribute):
                if not owner and made > statement[1] and not (statement[1] in repeated and emptied < made):
                    continue
                if not _also_dropped(place, holder, dropped):
                    yield Slip(statement[1], name, made, 3 if not owner else 2, holder)
                    break


def optimizers_of(program: Program, place: Place, owner: str, attribute: str) -> Iterator[tuple[str, Site]]:
    """Where an optimizer over this model's parameters is kept: a name of the function, or an attribute beside it."""
    yield from _made_of(program, place, owner, attribute)
    if not owner:
        yield from _handed_back(program, place, attribute)


def _made_of(program: Program, place: Place, owner: str, attribute: str) -> Iterator[tuple[str, Site]]:
    model = "self." + attribute if owner else attribute
    places = [place] if not owner else [other for other in program.places if other.cls]
    for other in places:
        names = {model, *_same_object(other, model)}
        for statement in statements(other.facts.body):
            if statement[0] not in (m.ASSIGN, m.ANNOTATE):
                continue
            value = statement[3] if statement[0] == m.ASSIGN else statement[4]
            if value is None or value[0] != m.CALL or last_name(value[2]) not in _OPTIMIZERS:
                continue
            reads = any(
                node[0] == m.CALL and node[2][0] == m.ATTR and "parameters" in node[2][2] and text(node[2][1]) in names
                for node in nodes(value)
            )
            for target in targets(statement):
                if not reads:
                    continue
                for name, site in ((text(target), statement[1]), *_wrappers(other, target)):
                    if owner and name.startswith("self."):
                        yield owner + name[4:], site
                    elif not owner and "." not in name and name and site < _end(place):
                        yield name, site


def _handed_back(program: Program, place: Place, model: str) -> Iterator[tuple[str, Site]]:
    """What a helper gives with or for a model: `net, optimizer = build()`, `optimizer, scheduler = build(net)`."""
    for statement in statements(place.facts.body):
        found = program.by_name.get(last_name(statement[3][2]), []) if _unpacks(statement) else []
        if len(found) != 1 or found[0].cls or found[0].facts is place.facts:
            continue
        helper = found[0].facts
        given = [one for one in statements(helper.body) if one[0] == m.RETURN]
        if len(given) != 1 or given[0][2] is None:
            continue
        parts = given[0][2][3] if given[0][2][0] == m.NEW else (given[0][2],)
        names = [text(target) for target in targets(statement)]
        if len(parts) != len(names) or any(part[0] not in (m.NAME, m.CONST) for part in parts):
            continue
        inside = {
            param.name for param, one in zip(helper.params, statement[3][3], strict=False) if one == (m.NAME, model)
        }
        inside |= {param.name for param in helper.params if (param.name, (m.NAME, model)) in statement[3][4]}
        inside |= {text(part) for part, name in zip(parts, names, strict=True) if name == model}
        kept = {name for one in inside if one for name, _ in _made_of(program, found[0], "", one)}
        for part, name in zip(parts, names, strict=True):
            if text(part) in kept and name[:1] not in ("", "_") and name != model and "." not in name:
                yield name, statement[1]
                yield from ((other, site) for other, site in _wrappers(place, (m.NAME, name)) if "." not in other)


def _unpacks(statement: Stmt) -> bool:
    """`net, optimizer = build(settings)`"""
    if statement[0] != m.ASSIGN or len(statement[2]) != 1 or statement[3][0] != m.CALL:
        return False
    return bool(statement[3][2][0] == m.NAME)


def _same_object(place: Place, attribute: str) -> set[str]:
    """The names under which a function has what it sets an attribute to: `self.model = model`."""
    return {
        statement[3][1]
        for statement in statements(place.facts.body)
        if statement[0] == m.ASSIGN and statement[3][0] == m.NAME and attribute in map(text, targets(statement))
        if "." in attribute
    }


def _wrappers(place: Place, optimizer: Expr) -> Iterator[tuple[str, Site]]:
    """What is made around an optimizer in the same function and keeps it, like a scheduler."""
    for statement in statements(place.facts.body):
        if statement[0] != m.ASSIGN or statement[3][0] != m.CALL or not last_name(statement[3][2])[:1].isupper():
            continue
        given = (*statement[3][3], *(value for _, value in statement[3][4]))
        if optimizer in given and statement[3][2] != optimizer:
            yield from ((text(target), statement[1]) for target in targets(statement) if text(target))


def _end(place: Place) -> Site:
    return max((one[1] for one in statements(place.facts.body)), default=0) + 1


def _also_dropped(place: Place, holder: str, dropped: list[str]) -> bool:
    if holder in dropped:
        return True
    for statement in statements(place.facts.body):
        names = given_up(statement)
        if holder in names or (holder.rpartition(".")[0] and holder.rpartition(".")[0] in names):
            return True
    return False


# -- bound and not used again ---------------------------------------------------------------------


def bound_while_emptied(machine: Machine, program: Program) -> Iterator[Slip]:
    """Locals with device memory that nothing reads any more, while the cache is emptied and more work follows."""
    if not program.empties:
        return
    frames = frames_that_empty(machine)
    for place in program.places:
        if place.facts.name == "<module>":
            continue  # what is there stays for whoever looks at it
        frame = frames.get(place.facts.place)
        models = {} if frame is None else {**frame.vars, **_dropped(machine, frame)}
        for block, around in _bodies(place.facts.body):
            for index, statement in enumerate(block):
                site = emptied_in(program, statement)
                if site is None or not _works(program, block[index + 1 :], around):
                    continue
                names = list(_idle(program, place, frame, models, statement, block if around else place.facts.body))
                if names:
                    meant = _frees_more(block[:index]) and not any(_has_graph(frame, name) for name in names)
                    weight = 1 if meant else 2
                    yield Slip(site, ", ".join(names[:3]), _made(place, names[0], statement), weight, "bound")
                    break
            else:
                continue
            break


def _frees_more(before: Sequence[Stmt]) -> bool:
    """Whether the clean-up lets go of a name, `del encoder`, right before the cache is emptied: it gives that back."""
    return any(let_go(one) for one in before[-_STEPS:])


def _has_graph(frame: Frame | None, name: str) -> bool:
    """Whether a variable has a graph, which keeps the parameters of what has computed it and all activations."""
    value = UNKNOWN if frame is None else frame.vars.get(name, UNKNOWN)
    return any(type(atom) is Tensor and atom.graph == ATTACHED for atom in value)


def _made(place: Place, name: str, before: Stmt) -> Site:
    """Where a name is bound, at last."""
    found = -1
    for statement in statements(place.facts.body):
        if statement[1] < before[1] and (m.NAME, name) in targets(statement):
            found = statement[1]
    return found


def frames_that_empty(machine: Machine) -> dict[tuple[Site, str], Frame]:
    """The activations in which a cache is emptied, and those that called them, by their functions."""
    found: dict[tuple[Site, str], Frame] = {}
    for note in machine.plain:
        if note.kind == "emptied":
            frame: Frame | None = note.frame
            while frame is not None:
                found.setdefault(frame.facts.place, frame)
                frame = frame.caller
    return found


def _dropped(machine: Machine, frame: Frame) -> Vars:
    """The models that variables of an activation have let go of: what they computed may still be there."""
    return dict(note.detail for note in machine.plain if note.kind == "dropped" and note.frame is frame)


def _bodies(block: Block, looped: bool = False) -> Iterator[tuple[Block, bool]]:
    """Every suite of a function, with whether it belongs to a loop."""
    yield block, looped
    for statement in block:
        for inner in blocks(statement):
            yield from _bodies(inner, looped or statement[0] in (m.FOR, m.WHILE))


def emptied_in(program: Program, statement: Stmt) -> Site | None:
    """Where a statement empties a cache: by a call of its own, or under `if torch.cuda.is_available():`."""
    if statement[0] == m.IF and not statement[4] and "is_available" in str(statement[2]):
        return next((site for one in statement[3] if (site := emptied_in(program, one)) is not None), None)
    if statement[0] != m.EXPR:
        return None
    return next((call[1] for call in calls_of(statement) if empties(program, call)), None)


def _works(program: Program, following: Sequence[Stmt], looped: bool) -> bool:
    """Whether more is computed afterwards: a model is run, or a function of the file that does as much."""
    return any(is_work(program, call) for one in statements(tuple(following)) for call in calls_of(one))


def is_work(program: Program, call: Expr) -> bool:
    name = last_name(call[2])
    own = call[2][0] == m.NAME or (call[2][0] == m.ATTR and call[2][1] == (m.NAME, "self"))
    if not name or name in program.emptying or name.startswith(_SAYS):
        return False
    if name in _LIGHT:  # `self.time(rounds)`, which is the file's own
        return own and name in program.by_name and reaches_work(program, {name})
    if name in program.by_name or name in program.modules or name in _LOADS:
        return True
    return (own or name in MODEL_NAMES) and bool(call[3]) and not name[:1].isupper()


def _idle(
    program: Program, place: Place, frame: Frame | None, models: Vars, emptied: Stmt, around: Block
) -> Iterator[str]:
    """The names with device memory that are bound before, and neither read nor let go of after."""
    facts = place.facts
    params = {param.name for param in facts.params}
    inside = {name for index in facts.inner for name in names_of(program.facts.functions[index].body)}
    bound: dict[str, Stmt] = {}
    for statement in statements(around):
        if statement[1] >= emptied[1]:
            break
        for target in targets(statement):
            if target[0] == m.NAME and statement[0] == m.ASSIGN:
                bound[target[1]] = statement
            elif target[0] == m.NAME and statement[0] != m.AUGMENT:
                bound.pop(target[1], None)
    for name, statement in bound.items():
        if name in params or name in inside or name.startswith("_") or _used(facts.body, name, statement, emptied):
            continue
        if statement[1] in facts.backward:
            continue  # a loss that a pass has gone back through: a number, without what it was computed from
        if any(_used(facts.body, part, at, emptied) for part, at in _parts_taken(facts.body, name, emptied)):
            continue  # which has the same memory
        if _on_device(program, frame, models, statement[3]):
            yield name


def _parts_taken(body: Block, name: str, before: Stmt) -> Iterator[tuple[str, Stmt]]:
    """The names of parts, `ours, theirs = logits[:n], logits[n:]`."""
    for statement in statements(body):
        if statement[0] == m.ASSIGN and statement[1] < before[1]:
            values = statement[3][3] if statement[3][0] == m.NEW else (statement[3],)
            if any(value[0] == m.ITEM and value[1] == (m.NAME, name) for value in values):
                yield from ((target[1], statement) for target in targets(statement) if target[0] == m.NAME)


def _used(body: Block, name: str, bound: Stmt, emptied: Stmt) -> bool:
    """Whether a name is read, deleted or bound again after the cache is emptied, or in a round before it is bound."""
    for statement in statements(body):
        mentions = any(part == (m.NAME, name) for part in expressions_of(statement))
        if mentions and statement is not bound and not bound[1] < statement[1] < emptied[1]:
            return True
        if mentions and statement[0] in (m.DELETE, m.GLOBAL, m.NONLOCAL):
            return True
        if mentions and statement[0] == m.RETURN:
            return True
    return False


def _on_device(program: Program, frame: Frame | None, models: Vars, value: Expr) -> bool:
    """Whether a value is device memory as far as one can see: what a model computed, an array of CuPy."""
    if value[0] != m.CALL:
        return False
    called = last_name(value[2])
    if called in _TO_HOST or (called == "to" and (m.CONST, "cpu") in value[3]):
        return False
    if is_array_of_cupy(program, value):
        return True
    inner = value
    while inner[2][0] == m.ATTR and inner[2][1][0] == m.CALL:
        inner = inner[2][1]  # `model(x).softmax(-1)`
    return frame is not None and any(
        type(atom) is Obj and atom.kind == "module" and atom.weight > 1 and has_parameters(atom)
        for atom in _callee(frame, models, inner[2])
    )


def is_array_of_cupy(program: Program, value: Expr) -> bool:
    """`cupy.asarray(volume)`: no array of the host, nor a pool, a stream or a setting."""
    dotted = program.dotted(value[2]) if value[0] == m.CALL else ""
    called = dotted.rpartition(".")[2]
    if not dotted.startswith("cupy.") or dotted.startswith("cupy.cuda."):
        return False
    return called not in _TO_HOST and "pool" not in called.lower()


def _callee(frame: Frame, models: Vars, expr: Expr) -> Value:
    if expr[0] == m.NAME:
        return models.get(expr[1], UNKNOWN)
    if expr[0] == m.ATTR and expr[1] == (m.NAME, "self") and type(frame.receiver) is Obj:
        return frame.receiver.fields.get(expr[2], UNKNOWN)
    return UNKNOWN
