"""What the calls of a function say about their receivers, and which sinks they are."""

from __future__ import annotations

from . import model as m
from .differentiated import goes_back, with_graph
from .knowledge import GRAD_MODES, MIXES_IN, OF_LOGGERS, PROCESS_CALLBACKS, TAKES_OUT
from .model import Expr
from .scopes import SELF, Scope

_GROWERS = frozenset(
    "append appendleft add extend extendleft insert put put_nowait setdefault update push register_buffer".split()
)
_PUSHERS = frozenset("heappush insort insort_left insort_right".split())
_HOLDERS = frozenset(("cycle", "finalize", "Finalize", *OF_LOGGERS, *OF_LOGGERS.values()))
_UPDATES = frozenset("step scaler optimize minimize train update".split())  # words of what takes a loss to the weights
_REGISTRIES = frozenset((*(tuple(name.split(".")[-2:]) for name in PROCESS_CALLBACKS), ("signal", "signal")))
_RECORDERS = frozenset("set_detect_anomaly detect_anomaly _record_memory_history record_memory_history profile".split())
_THREADS = frozenset(
    """Thread submit run_in_executor to_thread map Timer start_new_thread apply_async imap imap_unordered starmap
    map_async starmap_async Pool Process ProcessPoolExecutor DataLoader delayed spawn start_processes
    moveToThread call_soon_threadsafe call_soon call_later""".split()
)


def note_call(scope: Scope, class_uses: dict[str, set[str]] | None, call: Expr, ordinal: int) -> None:
    """Record what a call says about its receiver, and which sinks it is."""
    callee = call[2]
    if callee[0] == m.ATTR:
        method = callee[2]
        receiver = callee[1]
        if receiver[0] == m.NAME:
            scope.uses.setdefault(receiver[1], set()).add(method)
        elif receiver[0] == m.ATTR and receiver[1] == SELF and class_uses is not None:
            class_uses.setdefault(receiver[2], set()).add(method)
            if method in TAKES_OUT:
                scope.flags |= m.RELEASES
        elif receiver[0] == m.ITEM:
            whole = receiver[1]
            if whole[0] == m.NAME:
                scope.uses.setdefault(whole[1] + "[]", set()).add(method)
            elif whole[0] == m.ATTR and whole[1] == SELF and class_uses is not None:
                class_uses.setdefault(whole[2] + "[]", set()).add(method)
        if method in _GROWERS and not (method == "update" and _is_key_value_cache(scope, call)):
            scope.keep(m.GROWS, receiver)
        elif method in MIXES_IN and call[3]:
            _note_mixed_in(scope, receiver)
        elif method == "eval":
            scope.flags |= m.EVALUATES
        elif "backward" in method and goes_back(method):
            scope.flags |= m.BACKWARD
            for root, part in _differentiated(call):
                scope.differentiate(root, part, ordinal)
        if method.startswith("register_") and method.endswith("hook"):
            scope.flags |= m.HOOKS
    elif callee[0] == m.NAME:
        method = callee[1]
    else:
        return
    if method in GRAD_MODES or method.lstrip("_") == "set_grad_enabled":
        scope.flags |= m.MODE
    elif method in _RECORDERS:
        scope.flags |= m.RECORDS
    elif method in _THREADS:
        scope.flags |= m.THREADS
    elif method in _PUSHERS and call[3]:
        scope.keep(m.GROWS, call[3][0])
    elif method in _HOLDERS or (callee[0] == m.ATTR and (callee[1][-1], method) in _REGISTRIES):
        scope.flags |= m.HOLDS
    elif method == "grad":
        scope.flags |= m.BACKWARD
    elif call[3] and _takes_a_loss(method, call):
        scope.flags |= m.BACKWARD
        scope.backward[call[1]] = ""
        scope.differentiate(call[3][0][1], "", ordinal)
    scope.calls.add(method)


def _is_key_value_cache(scope: Scope, call: Expr) -> bool:
    """`past_key_values.update(keys, values, self.layer_idx)` of what an attention is given: whoever made that knows how
    long it stays; where its class is in sight, it is by that class that the attention matters."""
    place = call[2][1]
    given = place[0] == m.NAME and scope.assigned.get(place[1], ())[:1] == [-1]
    return given and len(call[3]) > 1 and ("past_key" in place[1] or "cache" in place[1])


def _takes_a_loss(method: str, call: Expr) -> bool:
    """Whether a call is given a loss, and the optimizer that is to use its gradients: `scaler(loss, optimizer)`."""
    first = call[3][0]
    if first[0] != m.NAME or "loss" not in first[1] or _UPDATES.isdisjoint(method.strip("_").split("_")):
        return False
    given = (*call[3][1:], *(value for _, value in call[4]))
    return any(value[0] in (m.NAME, m.ATTR) and "optim" in value[-1] for value in given)


def _note_mixed_in(scope: Scope, place: Expr) -> None:
    """`self.mean.mul_(0.9).add_(x)` writes to the place at the root of its chain; a `.data` has no graph to add to."""
    while place[0] == m.CALL and place[2][0] == m.ATTR and place[2][2][-1] == "_":
        place = place[2][1]
    if place[0] in (m.NAME, m.CALL) or (place[0] in (m.ATTR, m.ITEM) and place[-1] not in ("data", "grad")):
        scope.mixed_into.append(place)


def _differentiated(call: Expr) -> list[tuple[str, str]]:
    """Names (and the part of them: `out["loss"]`) that `x.backward()` or `engine.backward(x)` differentiates."""
    found: list[tuple[str, str]] = []

    def visit(expr: Expr, part: str) -> None:
        op = expr[0]
        if op == m.NAME:
            found.append((expr[1], part))
        elif op == m.ATTR:
            visit(expr[1], part or expr[2])
        elif op == m.ITEM:
            key = expr[2]
            visit(expr[1], part or (f"[{key[1]}]" if key[0] == m.CONST else "*"))
        elif op == m.ARITH:
            for side in with_graph(expr):
                visit(side, part)
        elif op in (m.UNARY, m.STAR):
            visit(expr[1], part)
        elif op == m.CALL:
            arguments = expr[3]
            if not arguments and expr[2][0] == m.ATTR:
                visit(expr[2][1], part)
            for argument in arguments:
                visit(argument, part)

    if call[3]:
        for argument in call[3]:
            visit(argument, "")
    else:
        visit(call[2][1], "")
    return [(name, part) for name, part in found if name != "self"]
