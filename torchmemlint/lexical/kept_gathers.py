"""What a helper gathers of all ranks, each rank keeps on an object, and one of them reads:
`self.predictions.append(comm.all_gather(scores))`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.one_rank import by_rank
from ..facts.program import Place, Program
from ..facts.walk import last_name
from .ranks import Gathered, attributes_of, gathers, is_small, put_away, read_as_attribute, reads_of

_AS_LARGE = frozenset("cpu detach numpy float half cuda to contiguous".split())  # methods whose result is


def kept_by_all(program: Program, reaching: Program) -> Iterator[Gathered]:
    """Where a method puts what a helper gathers, of this file or of another, on its object for one rank to read."""
    if not any("gather" in name for name in program.called):
        return
    for place in program.places if program.facts.classes else ():
        if not place.cls or not any("gather" in name for name in place.facts.calls):
            continue
        for site, attribute, call in _kept(place, reaching):
            read = read_as_attribute(program, attribute, place, site)
            if read:
                yield Gathered(site, call, f"self.{attribute}", read[0])


def _kept(place: Place, reaching: Program) -> Iterator[tuple[Site, str, str]]:
    """The statements of a method that put away what a helper gives, the attributes, and how the helper gathers."""
    for statement, alone in by_rank(place.facts.body):
        if alone:
            continue
        given = put_away(statement)
        call = None if given is None else _gathered_by(place, given[1], reaching)
        if given is not None and call:
            yield statement[1], given[0], call
        elif statement[0] == m.ASSIGN and len(statement[2]) == 1 and statement[2][0][0] == m.NAME:
            call = _gathered_by(place, statement[3], reaching)
            found = attributes_of(place.facts.body, statement[2][0][1], statement[1]) if call else {}
            yield from ((site, attribute, call) for site, attribute in found.items() if call)


def _gathered_by(place: Place, value: Expr, reaching: Program) -> str | None:
    """The collective of the helper that a value is from, if that returns what it gathers, and no few numbers."""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _AS_LARGE:
        value = value[2][1]
    if value[0] != m.CALL or "gather" not in last_name(value[2]) or len(value) < 5:
        return None
    if any(is_small(place.facts.body, given) for given in value[3]):
        return None
    for helper in reaching.by_name.get(last_name(value[2]), ()):
        for site, call, name in gathers(reaching, helper):
            reads = list(reads_of(helper.facts.body, name, site))
            if reads and all(returned for _, _, returned in reads):
                return call
    return None
