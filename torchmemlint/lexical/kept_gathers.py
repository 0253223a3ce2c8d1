"""What a helper gathers of all ranks, each rank keeps, and one of them reads: `rows = comm.all_gather(scores)`, or on
an object, `self.predictions.append(comm.all_gather(scores))`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.one_rank import by_rank
from ..facts.program import Place, Program
from ..facts.walk import calls, last_name, statements
from .rank_reads import AS_IT_IS, SELF, as_large, put_away, reads_of
from .ranks import Gathered, attributes_of, gathers, is_small, large_parts, read_as_attribute, read_by_one


def kept_by_all(program: Program, reaching: Program) -> Iterator[Gathered]:
    """Where what a helper gathers, of this file or of another, gets a name, or is put on an object, for one rank to
    read."""
    if not _may_gather(program):
        return
    gathering = _gathering(program)
    for place in program.places:
        if gathering.isdisjoint(place.facts.calls) and not any("gather" in name for name in place.facts.calls):
            continue
        for site, name, call in _bound(place, reaching, gathering):
            read, attribute = read_by_one(program, place, name, site)
            if read and not attribute:
                yield Gathered(site, call, name, read[0])
        for site, attribute, call in _kept(place, reaching, gathering) if place.cls else ():
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


def _gathering(program: Program) -> set[str]:
    """The helpers of the file that go by another name and call one that gathers: `merge(rows)`."""
    helpers = (place.facts for place in program.places if any("gather" in name for name in place.facts.calls))
    return {helper.name for helper in helpers if any(one[0] == m.RETURN for one in statements(helper.body))}


def _bound(place: Place, reaching: Program, gathering: set[str]) -> Iterator[tuple[Site, str, str]]:
    """The statements that bind a name to what a helper gives, on all ranks, and how the helper gathers."""
    for site, target, call in _all_bound(place, reaching, gathering):
        if target[0] == m.NAME:
            yield site, target[1], call


def _kept(place: Place, reaching: Program, gathering: set[str]) -> Iterator[tuple[Site, str, str]]:
    """The statements of a method that put away what a helper gives, the attributes, and how the helper gathers."""
    for site, target, call in _all_bound(place, reaching, gathering):
        while target[0] == m.ITEM:
            target = target[1]
        if target[:2] == (m.ATTR, SELF):
            yield site, f"self.{target[2]}", call
    for statement, alone in by_rank(place.facts.body):
        given = None if alone or statement[0] == m.ASSIGN else put_away(statement)
        found = None if given is None else _gathered_by(place, given[1], reaching, gathering)
        if given is not None and found is not None:
            yield statement[1], f"self.{given[0][2]}", found[0]
    for bound, name, call in _bound(place, reaching, gathering):
        yield from ((site, attribute, call) for site, attribute in attributes_of(reaching, place, name, bound).items())


def _all_bound(place: Place, reaching: Program, gathering: set[str]) -> Iterator[tuple[Site, Expr, str]]:
    for statement, alone in by_rank(place.facts.body):
        if alone or statement[0] != m.ASSIGN or len(statement[2]) != 1:
            continue
        found = _gathered_by(place, statement[3], reaching, gathering)
        if found is not None:
            call, helper = found
            yield from ((statement[1], target, call) for target in large_parts(helper, statement[2][0]))


def _gathered_by(
    place: Place, value: Expr, reaching: Program, gathering: set[str], depth: int = 2
) -> tuple[str, Place] | None:
    """The collective of the helper that a value is from, if that returns what it gathers, and no few numbers."""
    call = _helper_called(value, gathering)
    if call is None or any(is_small(place.facts.body, given) for given in call[3]):
        return None
    name = last_name(call[2])
    for helper in reaching.by_name.get(name, ()):
        for site, collective, bound in gathers(reaching, helper):
            if _gives(reaching, helper, bound, site):
                return collective, helper
        inside = (one for one in statements(helper.facts.body) if one[0] == m.ASSIGN and one[2][0][0] == m.NAME)
        for one in inside if depth and name in gathering else ():
            found = _gathered_by(helper, one[3], reaching, gathering - {name}, depth - 1)
            if found is not None and _gives(reaching, helper, one[2][0][1], one[1]):
                return found[0], helper
    return None


def _helper_called(value: Expr, gathering: set[str]) -> Expr | None:
    """The call of a helper in `all_gather(rows).cpu()` and `torch.cat(all_gather(rows))`."""
    while value[0] == m.CALL and len(value) == 5:
        name = last_name(value[2])
        if name in gathering or "gather" in name:
            return value
        if value[2][0] == m.ATTR and name in AS_IT_IS:
            value = value[2][1]
        elif as_large(value) and value[3]:
            value = value[3][0]
        else:
            break
    return None


def _gives(reaching: Program, helper: Place, name: str, after: Site) -> bool:
    """Whether all that a helper does with what it has gathered is to return it."""
    reads = list(reads_of(reaching, helper.facts.body, name, after))
    return bool(reads) and all(returned for _, _, returned in reads)
