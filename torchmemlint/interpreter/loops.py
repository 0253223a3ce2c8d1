"""Loops: what goes round, how often, and whether its rounds are steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.walk import calls, expressions_of, is_count, last_name, nodes, statements
from .assignment import assign
from .branching import branch, go_round, goes_with, loop_at, round_of_its_own
from .drawn_items import note_drawn
from .elements import is_field, iterate, named_entries
from .frames import JUMPED, Frame, Loop
from .machine import Machine, executes
from .narrowing import truth
from .sweeps import sweep
from .values import (
    ATTACHED,
    CONTAINERS,
    COUNT,
    FREE,
    LEAF,
    LIGHT,
    UNKNOWN,
    Const,
    Light,
    Obj,
    Opaque,
    Tensor,
    Value,
    constant,
)
from .waiting import end_of_round

_MOST_ITEMS, _MOST_NAMES = 3, 8  # that are gone through one by one
_LITTLE = 2  # statements
_CHUNKS = frozenset("split chunk tensor_split unfold".split())
_NEAR = 40  # nodes that are looked at for where a tensor comes from
_ROUNDS = frozenset("steps iterations iters rounds requests episodes calls sessions runs trials jobs".split())
_LOADER = re.compile(r"loader|(?:^|_)dl$|^(?:train|val|valid|test|eval|dev)_iter(?:ator)?$")
_HELD_OUT = re.compile(
    r"(?:\w*_)?(?:val|valid|validation|test|eval|dev|holdout)_?(?:(?:data_?)?loader|dl|iter(?:ator)?)$"
)
_LAYERS = re.compile("layer|block|head|level|stage|module|param|resnet", re.I)


@executes(m.FOR)
def _for(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, site, target, iterable, body, orelse = statement
    if sweep(machine, frame, statement):
        return
    value = machine.eval(frame, iterable)
    kind = loop_kind(machine, frame, iterable, value)
    if kind == "loop" and _runs_by_number(machine, frame, statement):
        kind = "layers"
    loop = loop_at(machine, frame, site, kind)
    goes_with(loop, value)
    loop.part_of = _whose_rows(machine, frame, iterable, value)
    named = _named(iterable)
    if any(type(atom) is Obj and atom.kind == "loader" for atom in value) or _LOADER.search(named):
        loop.name = "loader"
        loop.held_out = _HELD_OUT.match(named) is not None
    elif "accum" in named:
        loop.name = "accumulation"
    rounds = _entries(machine, frame, statement)
    unrolled = _unroll(value, len(body), iterable) if rounds is None else None
    if unrolled is not None:
        rounds = [[(target, item)] for item in unrolled]
    elif rounds is None and _goes_once(iterable):
        rounds = [[(target, iterate(machine, frame, value))]]

    of_keys = target[0] == m.NAME and _is_key(statement, value)
    numbered = _numbers_rounds(frame, statement)

    def once() -> None:
        machine.site = site  # where a generator goes on, in each round
        item = (COUNT,) if numbered else LIGHT if of_keys else iterate(machine, frame, value)
        note_drawn(loop, item)
        assign(machine, frame, target, item, site)
        machine.block(frame, body)
        if machine.context is not None or frame.facts.coroutine:
            end_of_round(machine, frame, statement)

    if rounds is not None:
        for number, bound in enumerate(rounds):
            for place, item in bound:
                assign(machine, frame, place, item, site)
            with round_of_its_own(frame, site, number):
                branch(machine, frame, [lambda: machine.block(frame, body)], conditional=False)
            if frame.dead == JUMPED:
                frame.dead = 0
            if frame.dead:
                return
        return
    passes_over = loop.kind == "layers" and any(one[0] == m.JUMP for one in statements(body))
    go_round(machine, frame, loop, once, whole=not (passes_over and _of_parameters(machine, value)))
    take_steps(machine, loop, value)
    if orelse and not frame.dead:
        machine.block(frame, orelse)


def _whose_rows(machine: Machine, frame: Frame, iterable: Expr, value: Value) -> Loop | None:
    """The loop around whose round has made the tensor that a loop goes over, or counts the rows of,
    `range(clip.shape[0])`: its rounds are what one round of the other is about. A stream that is cut into chunks may
    be as long as it likes."""
    around = next((loop for loop in reversed(machine.loops) if loop.kind == "loop"), None)
    if around is None or (iterable[0] == m.CALL and last_name(iterable) in _CHUNKS):
        return None
    if is_count(iterable):
        names = {part for part in nodes(iterable) if part[0] == m.NAME and part != iterable[2]}
        value = tuple(atom for name in names for atom in machine.eval(frame, name))
    parts = [part for atom in value for part in _rows_of(atom)]
    if not parts or not all(type(part) is Tensor for part in parts):
        return None
    made = {node for part in parts for node in machine.derivation.ancestors(part.node, _NEAR)}
    given = around.generated and not made.isdisjoint(machine.derivation.afresh)  # before the round began, for it
    return around if given or min(made) >= around.first_node else None


def _rows_of(atom: Any) -> Iterator[Any]:
    """What `zip` and `enumerate` go through."""
    if type(atom) is Obj and atom.kind == "zipped":
        for part in atom.fields.values():
            yield from (one for inner in part for one in _rows_of(inner) if type(one) is not Light)
    else:
        yield atom


def _numbers_rounds(frame: Frame, statement: Stmt) -> bool:
    """`for i in range(steps)` in a function that nobody calls but the script itself: what is named by the number of the
    round, `f"job-{i}"`, is new in each. A method, which is called again, has the same numbers again."""
    target, iterable = statement[2:4]
    if target[0] != m.NAME or not is_count(iterable) or frame.function is None or frame.receiver is not None:
        return False
    if frame.caller is not None and frame.caller.function is not None:
        return False
    last = iterable[3][:2][-1:]
    return any(part[-1].lower().split("_")[-1] in _ROUNDS for part in last if part[0] in (m.NAME, m.ATTR))


def _unroll(value: Value, statements: int, iterable: Expr) -> list[Value] | None:
    """The items of a short literal sequence: going through them is no repetition. Of names, which may be those of
    attributes, there may be some more, if little is done with each."""
    if len(value) != 1 or type(value[0]) is not Obj:
        return None
    if value[0].kind != "tuple" and not (value[0].kind == "list" and iterable[0] == m.NEW):
        return None
    fields = value[0].fields
    items = [fields[f"[{index}]"] for index in range(len(fields)) if f"[{index}]" in fields]
    if not 0 < len(items) == len(fields) - ("*" in fields):
        return None
    names = statements <= _LITTLE and all(isinstance(constant(item), str) or is_field(item) for item in items)
    return items if len(items) <= (_MOST_NAMES if names else _MOST_ITEMS) else None


def _goes_once(iterable: Expr) -> bool:
    """`zip([2.0], [32])`: what is written down has one item, and its round is no repetition."""
    if iterable[0] == m.CALL and iterable[2] in ((m.NAME, "zip"), (m.NAME, "enumerate"), (m.NAME, "tqdm")):
        return any(map(_goes_once, iterable[3][: None if iterable[2][1] == "zip" else 1]))
    return iterable[0] == m.NEW and len(iterable[3]) == 1 and iterable[3][0][0] != m.STAR


def _entries(machine: Machine, frame: Frame, statement: Stmt) -> list[list[tuple[Expr, Value]]] | None:
    """What each round of `for name, value in values.items(): self.kept[name].append(value)` binds, if all the names are
    known: what is kept under one of them says nothing of the others."""
    target, iterable, body, orelse = statement[2:6]
    method = iterable[0] == m.CALL and iterable[2][:1] == (m.ATTR,) and iterable[2][2] == "items" and not iterable[3]
    if not method or iterable[2][1][0] not in (m.NAME, m.ATTR):  # a call is not to be run once more
        return None
    if target[0] != m.NEW or len(target[3]) != 2 or len(body) > _LITTLE or orelse:
        return None
    key, item = target[3]
    if not any(node[0] == m.ITEM and node[2] == key for one in body for node in expressions_of(one)):
        return None
    over = machine.eval(frame, iterable[2][1])
    entries = named_entries(over)
    if entries is None or not 1 < len(entries) <= _MOST_NAMES or any(type(one) is Obj and one.unknown for one in over):
        return None
    return [[(key, (Const(name),)), (item, part)] for name, part in entries.items()]


def _is_key(statement: Stmt, value: Value) -> bool:
    """`for key in outputs: show(outputs[key])`: what is taken for a tensor, or for several, is a mapping of them."""
    target, iterable, body = statement[2:5]
    if not value or type(value[0]) not in (Tensor, Opaque):
        return False
    taken = (m.ITEM, iterable, target)
    return any(node == taken for one in statements(body) for node in expressions_of(one))


def loop_kind(machine: Machine, frame: Frame, iterable: Expr, value: Value) -> str:
    """ "layers": over modules or parameters; "items": over things that are all there already; else "loop"."""
    for atom in value:
        if type(atom) is Obj:
            if atom.kind == "loader":
                return "loop"  # whatever it is called: `for batch in data_layer`
            if atom.kind == "module":
                return "layers"
            if atom.kind == "zipped":
                kinds = {loop_kind(machine, frame, iterable, part) for part in atom.fields.values()}
                if "layers" in kinds:
                    return "layers"
                if "items" in kinds:
                    return "items"
            for part in atom.fields.values():
                if any(type(item) is Obj and item.kind == "module" for item in part):
                    return "layers"
            if atom.kind == "list" and _of_parameters(machine, (atom,)):
                return "layers"
            if atom.kind in CONTAINERS and (machine.reach((atom,)) or _spells_names(frame, iterable, atom)):
                return "items"
        elif type(atom) is Tensor and atom.graph == LEAF:
            return "layers"
        elif (
            type(atom) is Tensor
            and atom.graph == ATTACHED
            and (atom.bundle or atom.node in machine.derivation.apart or _takes_apart(iterable))
        ):
            return "items"  # what one pass of a module has given
    return "layers" if _names_layers(iterable) else "loop"


def _runs_by_number(machine: Machine, frame: Frame, statement: Stmt) -> bool:
    """`for i in range(depth): x = net.layers[i](x)`: each round runs another part of a module."""
    target, iterable, body = statement[2:5]
    if not is_count(iterable) or target[0] != m.NAME:
        return False
    run = [call[2][1] for call in calls(body) if call[2][0] == m.ITEM and call[2][2] == target]
    parts = (machine.eval(frame, one) for one in run if one[0] in (m.NAME, m.ATTR))
    return any(type(atom) is Obj and atom.kind == "module" for value in parts for atom in value)


def _spells_names(frame: Frame, iterable: Expr, series: Obj) -> bool:
    """`for name in ["real", "fake", "mixed", "both"]`: a few names, as the function writes them."""
    fields = series.fields
    if iterable[0] != m.NEW and not (iterable[0] == m.NAME and iterable[1] in frame.vars):
        return False
    return 0 < len(fields) <= _MOST_NAMES and all(
        key[:1] == "[" and isinstance(constant(part), str) for key, part in fields.items()
    )


def _of_parameters(machine: Machine, value: Value) -> bool:
    """Whether what a loop goes over are a module's parameters, with their names or without."""
    for atom in value:
        if type(atom) is Obj and atom.kind == "zipped":
            if any(_of_parameters(machine, part) for part in atom.fields.values()):
                return True
        elif type(atom) is Obj and atom.kind == "list":
            for item in atom.fields.get("*", UNKNOWN):
                pair = item.fields.get("[1]", UNKNOWN) if type(item) is Obj and item.kind == "tuple" else (item,)
                if any(_is_parameter(machine, one) for one in pair):
                    return True
        elif _is_parameter(machine, atom):
            return True
    return False


def _is_parameter(machine: Machine, atom: Any) -> bool:
    return type(atom) is Tensor and machine.derivation.labels.get(atom.node, ("",))[0] == "parameters"


def _takes_apart(expr: Expr) -> bool:
    """`logits.split(sizes)`, `torch.unbind(scores)`"""
    return expr[0] == m.CALL and last_name(expr[2]) in knowledge.TAKES_APART


def take_steps(machine: Machine, loop: Loop, value: Value) -> None:
    """Batches that lie ready: a loop that trains on them, or runs a model on each, goes through steps. Where they carry
    a graph they are parts of one pass."""
    if loop.kind != "items":
        return
    trains = loop.backward and loop.steps
    if trains or (loop.runs and all(tensor.graph == FREE for tensor in machine.reach(value))):
        loop.kind = "loop"


def _named(expr: Expr) -> str:
    """The name of what a loop goes over: `loader` of `enumerate(tqdm(loader))` and of `rest or loader`, `val_loader` of
    `loaders["val"]`."""
    while (expr[0] == m.CALL and expr[3]) or expr[0] in (m.BOOL, m.COND):
        expr = expr[3][0] if expr[0] == m.CALL else expr[2][-1] if expr[0] == m.BOOL else expr[2]
    if expr[0] == m.ITEM and expr[2][0] == m.CONST and isinstance(expr[2][1], str):
        return f"{expr[2][1]}_{_named(expr[1]).removesuffix('s')}".lower()
    return str(expr[-1]).lower() if expr[0] in (m.NAME, m.ATTR) else ""


def _names_layers(expr: Expr) -> bool:
    """`range(self.num_layers)`, `self.blocks`: named so where nothing else is known."""
    op = expr[0]
    if op in (m.NAME, m.ATTR):
        return _LAYERS.search(expr[-1]) is not None
    if op == m.CALL:
        if expr[2][0] == m.ATTR and expr[2][2] in ("items", "values") and not expr[3]:
            return _names_layers(expr[2][1])  # `features._modules.items()`
        return any(_names_layers(argument) for argument in expr[3])
    if op in (m.ITEM, m.STAR, m.UNARY):
        return _names_layers(expr[1])
    return False


@executes(m.WHILE)
def _while(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, site, test, body, orelse = statement
    loop = loop_at(machine, frame, site)
    loop.name = "while"

    def once() -> None:
        _known, _positive, _ = truth(machine, frame, test)
        machine.block(frame, body)
        if machine.context is not None or frame.facts.coroutine:
            end_of_round(machine, frame, statement)

    go_round(machine, frame, loop, once)
    if orelse and not frame.dead:
        machine.block(frame, orelse)
