"""Bytes that are made of tensors, for a file, another process or another machine."""

from __future__ import annotations

import re

from ..facts import model as m
from ..facts.model import Expr
from ..facts.program import Place, Program
from ..facts.walk import calls, last_name, nodes, statements

_HEAVY = re.compile(r"state|weight|param|grad|tensor|model|delta|logit|batch|feature|embed", re.IGNORECASE)
_BUFFERS = ("getvalue", "getbuffer")
_SAVES = frozenset("torch.save numpy.save numpy.savez numpy.savez_compressed".split())
_PICKLES = frozenset("pickle cloudpickle dill joblib _pickle".split())
_LEVELS = 3


def is_serialized(program: Program, place: Place, value: Expr, *, arrays: bool = False, depth: int = _LEVELS) -> bool:
    """Whether a value is what `torch.save` has written into a buffer, a pickle of something with the name of tensors,
    or what a function of the file gives that makes it so; `arrays`: the bytes of one, too."""
    if value[0] == m.NAME:
        if any(value in call[3] and program.dotted(call[2]) in _SAVES for call in calls(place.facts.body)):
            return True  # the buffer itself
        bound = [one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and value in one[2]]
        return depth > 0 and any(is_serialized(program, place, one, arrays=arrays, depth=depth - 1) for one in bound)
    for call in (part for part in nodes(value) if part[0] == m.CALL and len(part) == 5):
        name = last_name(call[2])
        if name in _BUFFERS:
            return any(program.dotted(one[2]) in _SAVES for one in calls(place.facts.body))
        if name == "tobytes" and arrays:
            return True
        if name == "dumps" and program.dotted(call[2]).partition(".")[0] in _PICKLES:
            return any(_HEAVY.search(last_name(part)) for one in call[3] for part in nodes(one))
        for other in program.by_name.get(name, ()) if depth else ():
            given = [one[2] for one in statements(other.facts.body) if one[0] == m.RETURN and one[2] is not None]
            if any(is_serialized(program, other, one, arrays=arrays, depth=depth - 1) for one in given):
                return True
    return False
