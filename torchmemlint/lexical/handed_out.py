"""Predictions that a loop over a loader collects on the device, and that the function hands out as they are.

Whether the caller moves them or not, all of them lie on the device when the last batch has run. What tells them from
results that are needed there: the function's name says that they are predictions, and it computes nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.batches import THROUGH, is_loader
from ..facts.knowledge import TO_DEVICE
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.program import Program, targets
from ..facts.walk import calls_of, heads, last_name, loops, nodes, root_of, statements
from .moved_late import SMALL, TO_HOST, MovedLate, is_result, turns_off

_PREDICTS = frozenset("predict prediction predictions inference infer transcribe".split())
_ONE_BATCH = frozenset("step batch one single sample".split())
_TO_CPU = {(m.CONST, "cpu")}
_SHAPES = frozenset("squeeze unsqueeze view reshape flatten float detach contiguous permute transpose".split())
_ASKS = frozenset("len range enumerate zip isinstance print append".split())
_REDUCES = TO_HOST | SMALL | frozenset("generate decode topk gather metric metrics".split())
_JOINING = ("cat", "stack", "collate")


def handed_out(program: Program) -> Iterator[MovedLate]:
    """The lists of a function for prediction that puts its batches on a device, where gradients are off."""
    if program.called.isdisjoint(TO_DEVICE):
        return
    for place in program.places:
        function = place.facts
        words = set(function.name.lower().split("_"))
        if words & _PREDICTS and not words & _ONE_BATCH and not TO_DEVICE.isdisjoint(function.calls):
            yield from _of_function(function)


def _of_function(function: FunctionFacts) -> Iterator[MovedLate]:
    covered = [function.body] if any(map(turns_off, function.decorators)) else list(_without_gradients(function.body))
    made = _assigned(statement for statement in statements(function.body))
    within = [one for block in covered for one in loops(block)]
    for loop, inside in within:
        if loop[0] != m.FOR or not (is_loader(loop[3]) or _names_loader(loop[3], made)):
            continue
        ends = max(one[1] for one in inside)
        rest = [one for one in statements(function.body) if one[1] > ends]
        local = _assigned(inside)
        for statement, name, value in _added(inside):
            born = any(_is_empty_list(one) for one in made.get(name, ()))
            if not born or name in local or not _is_prediction(value, local):
                continue
            if not any(map(_moves_in_place, inside)) and _only_returned(name, rest):
                yield MovedLate(statement[1], name)


def _without_gradients(block: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    for statement in statements(block):
        if statement[0] == m.WITH and any(turns_off(context) for context, _ in statement[2]):
            yield statement[3]


def _assigned(block: Iterator[Stmt] | list[Stmt]) -> dict[str, list[Expr]]:
    """What names are given, and what is put in them: `rows, labels = [], []`, `out["logits"] = out["logits"].cpu()`."""
    found: dict[str, list[Expr]] = {}
    for statement in block:
        if statement[0] != m.ASSIGN:
            continue
        bound, value = targets(statement), statement[3]
        several = value[0] == m.NEW and len(value[3]) == len(bound) > 1
        for number, target in enumerate(map(root_of, bound)):
            if target[0] == m.NAME:
                found.setdefault(target[1], []).append(value[3][number] if several else value)
    return found


def _names_loader(over: Expr, made: dict[str, list[Expr]]) -> bool:
    """`DataLoader(...)` itself, or a name for one."""
    while over[0] == m.CALL and last_name(over[2]) in THROUGH and over[3]:
        over = over[3][0]
    values = made.get(over[1], []) if over[0] == m.NAME else [over]
    return any(value[0] == m.CALL and "loader" in last_name(value[2]).lower() for value in values)


def _added(inside: list[Stmt]) -> Iterator[tuple[Stmt, str, Expr]]:
    """`kept.append(x)` and `kept += [x]`."""
    for statement in inside:
        if statement[0] == m.AUGMENT and statement[2][0] == m.NAME and statement[4][0] == m.NEW:
            yield from ((statement, statement[2][1], one) for one in statement[4][3])
        for call in calls_of(statement):
            if call[2][0] == m.ATTR and call[2][2] == "append" and call[2][1][0] == m.NAME and len(call[3]) == 1:
                yield statement, call[2][1][1], call[3][0]


def _is_empty_list(value: Expr) -> bool:
    return (value[0] == m.NEW and not value[3]) or (value[0] == m.CALL and last_name(value[2]) == "list")


def _is_prediction(value: Expr, local: dict[str, list[Expr]]) -> bool:
    """What a model gives, followed through the names of the round, and nothing on the way moves or reduces it."""
    given = {name for name, values in local.items() if any(map(_runs_model, values))}
    while more := {n for n, values in local.items() if n not in given and any(_mentions(one, given) for one in values)}:
        given |= more
    pending, seen = [value], set[str]()
    while pending:
        expr = pending.pop()
        if any(map(_reduces, nodes(expr))):
            return False
        for name in {node[1] for node in nodes(expr) if node[0] == m.NAME and node[1] in given} - seen:
            seen.add(name)
            pending.extend(one for one in local[name] if _runs_model(one) or _mentions(one, given))
    return bool(seen) or _runs_model(value)


def _runs_model(value: Expr) -> bool:
    """`self(x)`, `self.model(x)`, `torch.softmax(net(x), 1)`"""
    return is_result(value) or any(node[0] == m.CALL and node[2] == (m.NAME, "self") for node in nodes(value))


def _reduces(node: Expr) -> bool:
    if node[0] == m.CALL and len(node) == 5 and _TO_CPU & {*node[3], *(value for _, value in node[4])}:
        return True  # `out.to("cpu")`, `move_to_device(out, device="cpu")`
    name = last_name(node[2]) if node[0] == m.CALL and len(node) == 5 else ""
    return name in _REDUCES or any(part in name for part in ("loss", "numpy", "cpu", "label", "host"))


def _moves_in_place(statement: Stmt) -> bool:
    """`move_to_cpu(out)`: whatever a statement of its own moves; not `rows.append(out.cpu())`."""
    value = statement[2] if statement[0] == m.EXPR else None
    return value is not None and value[0] == m.CALL and last_name(value[2]) != "append" and _reduces(value)


def _only_returned(name: str, rest: list[Stmt]) -> bool:
    """Whether what was collected is at most joined and brought into shape before it is returned."""
    held, returned = {name}, False
    for statement in rest:
        if statement[0] == m.AUGMENT and _mentions(statement[2], held):
            return False
        for head in heads(statement):
            if any(_computes(node, held) for node in nodes(head)):
                return False
        if statement[0] == m.ASSIGN and _mentions(statement[3], held):
            held |= {target[1] for target in targets(statement) if target[0] == m.NAME}
        elif statement[0] == m.RETURN and statement[2] is not None:
            returned = returned or _mentions(statement[2], held)
    return returned


def _computes(node: Expr, held: set[str]) -> bool:
    if node[0] == m.ARITH:
        return _mentions(node, held)
    if node[0] != m.CALL or len(node) != 5:
        return False
    name = last_name(node[2])
    passes = name in _SHAPES | _ASKS | TO_HOST or name[:1].isupper() or any(part in name.lower() for part in _JOINING)
    return not passes and _mentions(node, held)


def _mentions(expr: Expr, held: set[str]) -> bool:
    return any(node[0] == m.NAME and node[1] in held for node in nodes(expr))
