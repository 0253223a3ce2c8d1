"""Writers of event files that an object makes, uses until its end, and never closes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Site
from ..facts.program import Program, statements, targets
from ..facts.walk import calls, last_name

_ENDS = frozenset(
    """close finalize finish end stop done shutdown teardown terminate __exit__ __del__ on_train_end on_fit_end
    on_close on_end on_run_end after_run after_train""".split()
)


class Unclosed(NamedTuple):
    """`self.writer = SummaryWriter(...)`"""

    site: Site
    attribute: str
    end: str  # the method that uses it last


def unclosed_writers(program: Program) -> Iterator[Unclosed]:
    """Writers that the end of their owner's work still uses, and that nothing in the file closes."""
    if "SummaryWriter" not in program.called:
        return
    for cls in program.facts.classes:
        for site, attribute in _made(program, cls):
            names = _names_of(program, attribute)
            end = next((name for name in cls.methods if name in _ENDS and _uses(program, cls, name, names)), "")
            closed = (call for place in program.places for call in calls(place.facts.body) if call[2][0] == m.ATTR)
            if end and not any(call[2][2] == "close" and last_name(call[2][1]) in names for call in closed):
                yield Unclosed(site, attribute, end)
                break


def _made(program: Program, cls: ClassFacts) -> Iterator[tuple[Site, str]]:
    for index in cls.methods.values():
        for one in statements(program.facts.functions[index].body):
            if one[0] == m.ASSIGN and one[3][0] == m.CALL and last_name(one[3]) == "SummaryWriter":
                own = (place for place in one[2] if place[0] == m.ATTR and place[1] == (m.NAME, "self"))
                yield from ((one[3][1], place[2]) for place in own)


def _names_of(program: Program, attribute: str) -> set[str]:
    """What else stands for an attribute: a property that returns it, a local name."""
    names = {attribute}
    for place in program.places:
        for one in statements(place.facts.body):
            if one[0] == m.RETURN and one[2] is not None and one[2][0] == m.ATTR and one[2][2] == attribute:
                names.add(place.facts.name)
            if one[0] in (m.ASSIGN, m.FOR) and last_name(one[3]) == attribute:
                names |= {last_name(target) for target in targets(one)}
    return names


def _uses(program: Program, cls: ClassFacts, method: str, names: set[str]) -> bool:
    function = program.facts.functions[cls.methods[method]]
    return any(call[2][0] == m.ATTR and last_name(call[2][1]) in names for call in calls(function.body))
