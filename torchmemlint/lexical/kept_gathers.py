"""What a helper gathers of all ranks, each rank keeps, and one of them reads: `rows = comm.all_gather(scores)`, or on
an object, `self.predictions.append(comm.all_gather(scores))`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.one_rank import by_rank
from ..facts.program import Place, Program
from ..facts.walk import calls, last_name
from .rank_reads import AS_IT_IS, put_away, reads_of
from .ranks import Gathered, attributes_of, gathers, is_small, read_as_attribute, read_by_one


def kept_by_all(program: Program, reaching: Program) -> Iterator[Gathered]:
    """Where what a helper gathers, of this file or of another, gets a name, or is put on an object, for one rank to
    read."""
    if not _may_gather(program):
        return
    for place in program.places:
        if not any("gather" in name for name in place.facts.calls):
            continue
        for site, name, call in _bound(place, reaching):
            read, attribute = read_by_one(program, place, name, site)
            if read and not attribute:
                yield Gathered(site, call, name, read[0])
        for site, attribute, call in _kept(place, reaching) if place.cls else ():
            read = read_as_attribute(program, attribute.rpartition(".")[2], place, site)
            if read:
                yield Gathered(site, call, attribute, read[0])


def modules_that_gather(program: Program) -> set[str]:
    """The names before calls like `comm.all_gather(rows)`."""
    if not _may_gather(program):
        return set()
    callees = [call[2] for place in program.places for call in calls(place.facts.body)]
    owners = (one[1] for one in callees if one[0] == m.ATTR and "gather" in one[2])
    return {owner[1] for owner in owners if owner[0] == m.NAME}


def _may_gather(program: Program) -> bool:
    return "gather" in " ".join(program.called)


def _bound(place: Place, reaching: Program) -> Iterator[tuple[Site, str, str]]:
    """The statements that bind a name to what a helper gives, on all ranks, and how the helper gathers."""
    for statement, alone in by_rank(place.facts.body):
        if not alone and statement[0] == m.ASSIGN and len(statement[2]) == 1 and statement[2][0][0] == m.NAME:
            call = _gathered_by(place, statement[3], reaching)
            if call:
                yield statement[1], statement[2][0][1], call


def _kept(place: Place, reaching: Program) -> Iterator[tuple[Site, str, str]]:
    """The statements of a method that put away what a helper gives, the attributes, and how the helper gathers."""
    for statement, alone in by_rank(place.facts.body):
        if alone:
            continue
        given = put_away(statement)
        call = None if given is None else _gathered_by(place, given[1], reaching)
        if given is not None and call:
            yield statement[1], f"self.{given[0][2]}", call
    for bound, name, call in _bound(place, reaching):
        yield from ((site, attribute, call) for site, attribute in attributes_of(reaching, place, name, bound).items())


def _gathered_by(place: Place, value: Expr, reaching: Program) -> str | None:
    """The collective of the helper that a value is from, if that returns what it gathers, and no few numbers."""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in AS_IT_IS:
        value = value[2][1]
    if value[0] != m.CALL or "gather" not in last_name(value[2]) or len(value) < 5:
        return None
    if any(is_small(place.facts.body, given) for given in value[3]):
        return None
    for helper in reaching.by_name.get(last_name(value[2]), ()):
        for site, call, name in gathers(reaching, helper):
            reads = list(reads_of(reaching, helper.facts.body, name, site))
            if reads and all(returned for _, _, returned in reads):
                return call
    return None
