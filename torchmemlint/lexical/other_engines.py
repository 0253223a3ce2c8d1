"""Models that another library runs, in memory of its own: neither torch's cache nor its tensors have a part in it."""

from __future__ import annotations

from ..facts import model as m
from ..facts.knowledge import OTHER_ENGINES
from ..facts.model import Expr
from ..facts.program import Place, Program, targets, text
from ..facts.walk import statements


def of_another_engine(program: Program, callee: Expr) -> bool:
    """`WhisperModel` of faster_whisper, `ort.InferenceSession`."""
    return program.dotted(callee).partition(".")[0] in OTHER_ENGINES


def has_another_engine(program: Program, place: Place, name: str) -> bool:
    """Whether a name, or an attribute of the class, is bound to such models only."""
    places = [other for other in program.places if other.cls == place.cls] if name.startswith("self.") else [place]
    made = [
        one[3]
        for other in places
        for one in statements(other.facts.body)
        if one[0] == m.ASSIGN and name in map(text, targets(one)) and one[3] != (m.CONST, None)
    ]
    return bool(made) and all(value[0] == m.CALL and of_another_engine(program, value[2]) for value in made)
