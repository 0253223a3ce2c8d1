"""The mode that the pass of a whole module has asked for: `train()` and `eval()` put its parts in the same."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import CALLS_PER_STATEMENT, Expr, FunctionFacts, Site, Stmt
from ..facts.walk import blocks, calls_of, statements
from .frames import Frame
from .machine import Machine
from .values import Obj, Opaque

Block = tuple[Stmt, ...]


def asked_before(machine: Machine, frame: Frame, place: Expr) -> bool | None:
    """Whether a module trains, where those that run it have asked for that: with `if self.training: return
    self.fit(x)` before it, what follows runs the parts in eval mode. None if nobody has."""
    modules = [atom for atom in machine.eval(frame, place) if type(atom) is not Opaque]
    if not all(type(atom) is Obj and atom.kind == "module" for atom in modules):
        return None
    told = {_told(frame, atom) for atom in modules if type(atom) is Obj}
    return told.pop() if len(told) == 1 else None


def _told(frame: Frame, module: Obj) -> bool | None:
    """What the nearest caller has asked that is a method of the module, or of what it is a part of."""
    while frame.caller is not None:
        site, frame = frame.call_site, frame.caller
        if type(frame.receiver) is Obj and frame.receiver in module.holders and frame.facts.params:
            said = _outcome(frame.facts, site)
            if said is not None:
                return said
    return None


def _outcome(function: FunctionFacts, site: Site) -> bool | None:
    own = (m.NAME, function.params[0].name)
    return _in_block(function.body, site - site % CALLS_PER_STATEMENT, own, None)


def _in_block(body: Block, site: Site, own: Expr, known: bool | None) -> bool | None:
    """What `own.training` is where a statement stands, as the text has it; `known` where the block begins."""
    for statement in body:
        if statement[1] == site:
            return known
        inner = next((block for block in blocks(statement) if any(one[1] == site for one in statements(block))), None)
        outcome = _asks(statement, own)
        if inner is not None:
            known = known if outcome is None else outcome is (inner == statement[3])
            return _in_block(inner, site, own, known)
        if outcome is not None and statement[3][-1][0] in (m.RETURN, m.RAISE):
            known = not outcome
        elif _sets(statement, own):
            known = None
    return None


def _asks(statement: Stmt, own: Expr) -> bool | None:
    """What the body of an `if` says of `own.training`."""
    asked = (m.ATTR, own, "training")
    if statement[0] != m.IF or statement[2] not in (asked, (m.NOT, asked)):
        return None
    return bool(statement[2] == asked)


def _sets(statement: Stmt, own: Expr) -> bool:
    every = (statement, *(one for block in blocks(statement) for one in statements(block)))
    return any(call[2] in ((m.ATTR, own, "eval"), (m.ATTR, own, "train")) for one in every for call in calls_of(one))
