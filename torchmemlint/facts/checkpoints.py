"""What `torch.load` gives: where it goes, and for how long it stays bound after it was used up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import model as m
from .model import Expr, FunctionFacts, Site
from .walk import calls, heads, last_name, nodes, statements

_WORDS = ("ckpt", "checkpoint", "state", "model", "weight", "resume", "pretrained", "optim", "snapshot")

_SMALL = ("scaler", "rng", "random", "metric", "statistic", "index", "config", "arg")


class Load(NamedTuple):
    """`place = torch.load(path)`."""

    site: Site  # of the statement
    call: Expr
    target: Expr | None
    named: bool  # the path or the place is called a checkpoint, a state or a model


def loads(function: FunctionFacts) -> Iterator[Load]:
    """The calls of `torch.load` in a function."""
    if "load" not in function.calls:
        return
    for statement, _ in statements(function.body):
        for call in calls(statement):
            if call[2] == (m.ATTR, (m.NAME, "torch"), "load"):
                target = None
                if statement[0] == m.ASSIGN and statement[3] == call and len(statement[2]) == 1:
                    target = statement[2][0]
                words = [str(node[-1]).lower() for part in (call[3], target or ()) for node in _names(part)]
                words += [last_name(other[2]).lower() for other in calls(statement) if other is not call]
                named = any(word in text for text in words for word in _WORDS)
                named = named and not any(word in text for text in words for word in _SMALL)
                yield Load(statement[1], call, target, named)


def _names(part: object) -> Iterator[Expr]:
    return (node for node in nodes(part) if node[0] in (m.NAME, m.ATTR, m.CONST))  # type: ignore[arg-type]


def consumed(function: FunctionFacts, place: Expr) -> Site:
    """The last call of `load_state_dict` that takes a part of a place; -1 if there is none."""
    found = -1
    for statement, _ in statements(function.body):
        for call in calls(statement):
            if last_name(call[2]).startswith("load_state_dict") and any(
                node == place for argument in call[3] for node in nodes(argument)
            ):
                found = max(found, statement[1])
    return found


def mentioned_after(function: FunctionFacts, place: Expr, site: Site) -> bool:
    """Whether a place is named, bound again or deleted after a statement."""
    for statement, _ in statements(function.body):
        if statement[1] > site:
            for head in heads(statement):
                if any(node == place for node in nodes(head)):
                    return True
    return False
