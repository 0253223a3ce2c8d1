"""Process groups of the same ranks that are made again and again: each keeps its connections until it is destroyed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, keyword, targets, text
from ..facts.walk import calls, calls_of, expressions_of, last_name, loops, nodes, statements
from .once import SETUPS, called_as, is_repeated

_MAKES = ("new_group", "new_subgroups", "init_device_mesh")
_FIXED_CALLS = frozenset("list tuple sorted range set get_world_size".split())
_CACHES = ("lru_cache", "cache", "cached_property", "cached")


class GroupEachTime(NamedTuple):
    """A call that makes a process group which is there already."""

    site: Site
    maker: str
    same: bool  # for ranks that are the same every time


def groups_each_time(program: Program) -> Iterator[GroupEachTime]:
    """Groups of ranks that do not change, and those for one call, made in what a loop calls, and never destroyed."""
    if program.called.isdisjoint(_MAKES):
        return
    destroys = _destroys(program)
    makers = _makers(program)
    known = {*_MAKES, *makers}
    for place in program.places:
        if known.isdisjoint(place.facts.calls):
            continue
        own = {call[1] for _, inside in loops(place.facts.body) for one in inside for call in calls_of(one)}
        for call in calls(place.facts.body):
            name = last_name(call[2])
            made = name in _MAKES and program.dotted(call[2]).startswith("torch.")
            if not (made or name in makers) or call[1] in own or _is_made_once(place, call[1]):
                continue
            if name == "init_device_mesh" and _is_of_all_ranks(place, call):
                continue
            ranks = keyword(call, "ranks", 0)
            if destroys and (not _is_for_this_call(program, place, call) or _leads_to_its_end(program, place)):
                continue  # those that others have are destroyed, perhaps; this one is a local of the function
            again = made and (ranks is None or _is_fixed(program, place, ranks))
            if (again or _is_for_this_call(program, place, call)) and is_repeated(program, place, driven=True):
                yield GroupEachTime(call[1], name, again)


def _is_of_all_ranks(place: Place, mesh: Expr) -> bool:
    """Whether a mesh is one row of all ranks, `(dist.get_world_size(),)`: its group is that of the process, which is
    there [measured, torch 2.13: four ranks with gloo]."""
    shape = keyword(mesh, "mesh_shape", 1)
    if shape is None or shape[0] != m.NEW or len(shape[3]) != 1:
        return False
    counted = [shape[3][0]]
    counted += [one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and shape[3][0] in one[2]]
    return any(last_name(one[2] if one[0] == m.CALL else one) in ("get_world_size", "world_size") for one in counted)


def _leads_to_its_end(program: Program, place: Place) -> bool:
    """Whether a function, or one that it calls, destroys a group."""
    called = (one.facts.calls for name in place.facts.calls for one in program.by_name.get(name, ()))
    return any("destroy_process_group" in names for names in (place.facts.calls, *called))


def _makers(program: Program) -> set[str]:
    """The functions that make a new group each time, and return it."""
    found = set[str]()
    for place in program.places if "new_group" in program.called else ():
        if "new_group" in place.facts.calls and len(program.by_name.get(place.facts.name, ())) == 1:
            made = {call[1] for call in calls(place.facts.body) if _makes(program, call)}
            found |= {name for name, site in _returned(place, made) if not _is_made_once(place, site)}
    return found


class GroupLetGo(NamedTuple):
    """A statement that forgets process groups."""

    site: Site
    names: tuple[str, ...]
    made: Site
    repeated: bool


def groups_let_go(program: Program) -> Iterator[GroupLetGo]:
    """Globals, attributes and tables with process groups that a function of its own empties, and no more."""
    if "new_group" not in program.called:
        return
    ended = _destroyed(program)
    made = {whole: site for whole, site in _kept_groups(program) if whole not in ended} if ended is not None else {}
    makers = {place.facts.name for place in program.places if _binds(program, place, set(made))}
    for place in program.places if made else ():
        if place.facts.name in {"<module>", "__init__"} | makers or _ends_all(place):
            continue
        dropped = [
            (one, whole, target)
            for one in statements(place.facts.body)
            for target, in_place in _forgotten(one)
            if (whole := _kept_at(program, place, target, in_place)) in made
        ]
        if dropped:
            names = tuple(dict.fromkeys(_text(target) for _, _, target in dropped))
            first, whole, _ = dropped[0]
            yield GroupLetGo(first[1], names, made[whole], is_repeated(program, place))


def _text(target: Expr) -> str:
    return text(target[1] if target[0] == m.ITEM else target)


def _kept_groups(program: Program) -> Iterator[tuple[Expr, Site]]:
    """The globals, attributes and tables that functions put a group into, with where it is made."""
    made = {call[1] for place in program.places for call in calls(place.facts.body) if _makes(program, call)}
    makers = {name: site for place in program.places for name, site in _returned(place, made)}
    for place in program.places:
        bound = _bound(place, made, makers)
        for target, site in bound.items():
            whole = _kept_at(program, place, target, target[0] == m.ITEM)
            if whole is not None:
                yield whole, site
            if whole is not None and target[0] == m.ITEM:
                yield whole[1], site
        for call in calls(place.facts.body):  # `self.groups.append(group)`
            site = _site_of(call[3][0], made, makers, bound) if last_name(call[2]) == "append" and call[3] else -1
            whole = _kept_at(program, place, call[2][1], True) if site >= 0 and call[2][0] == m.ATTR else None
            if whole is not None:
                yield whole, site


def _kept_at(program: Program, place: Place, target: Expr, in_place: bool) -> Expr | None:
    """What a target stands for in all functions alike: `cls.group` and `Layout.group` are the class's own. None for
    locals; `in_place`: it is changed where it lies, for which a global need not be declared."""
    if target[0] == m.ITEM:
        whole = _kept_at(program, place, target[1], True)
        return None if whole is None else (m.ITEM, whole, target[2])
    if target[0] == m.ATTR and target[1][0] == m.NAME:
        owners = {"self", "cls", *(cls.name for cls in program.facts.classes)}
        return (m.ATTR, (m.NAME, "self"), target[2]) if target[1][1] in owners else None
    if target[0] != m.NAME:
        return None
    declared = target[1] in _declared(place)
    shared = in_place and any(target in targets(one) for one in statements(program.facts.functions[0].body))
    own = any(target in targets(one) for one in statements(place.facts.body) if one[0] == m.ASSIGN)
    return target if declared or (shared and not own) else None


def _bound(place: Place, made: set[Site], makers: dict[str, Site]) -> dict[Expr, Site]:
    """What a function binds to a group, with where that is made."""
    found = dict[Expr, Site]()
    for one in statements(place.facts.body):
        if one[0] == m.ASSIGN:
            site = _site_of(one[3], made, makers, found)
            found.update(dict.fromkeys(one[2], site) if site >= 0 else {})
    return found


def _site_of(value: Expr, made: set[Site], makers: dict[str, Site], bound: dict[Expr, Site]) -> Site:
    if value[0] != m.CALL:
        return bound.get(value, -1)
    return int(value[1]) if value[1] in made else makers.get(last_name(value), -1)


def _makes(program: Program, call: Expr) -> bool:
    return last_name(call[2]) == "new_group" and program.dotted(call[2]).startswith("torch.")


def _returned(place: Place, made: set[Site]) -> Iterator[tuple[str, Site]]:
    """The name of a function that returns a group, with where it is made."""
    bound = _bound(place, made, {})
    for one in statements(place.facts.body):
        site = _site_of(one[2], made, {}, bound) if one[0] == m.RETURN and one[2] is not None else -1
        if site >= 0:
            yield place.facts.name, site


def _binds(program: Program, place: Place, kept: set[Expr]) -> bool:
    """Whether a function gives one of the places a group."""
    return any(
        _kept_at(program, place, target, target[0] == m.ITEM) in kept
        for one in statements(place.facts.body)
        if one[0] == m.ASSIGN and not _is_empty(one[3])
        for target in one[2]
    )


def _is_empty(value: Expr) -> bool:
    """`None`, `{}`, `dict()`."""
    if value[0] == m.CALL:
        return last_name(value) in ("dict", "list") and not value[3] and not value[4]
    return value == (m.CONST, None) or (value[0] == m.NEW and not value[3]) or (value[0] == m.DICT and not value[2])


def _declared(place: Place) -> set[str]:
    return {name for one in statements(place.facts.body) if one[0] == m.GLOBAL for name in one[2]}


def _forgotten(statement: Stmt) -> Iterator[tuple[Expr, bool]]:
    """What a statement empties, and whether it does so in place."""
    if statement[0] == m.DELETE:
        yield from ((target, target[0] == m.ITEM) for target in statement[2])
    elif statement[0] == m.ASSIGN and _is_empty(statement[3]):
        yield from ((target, target[0] == m.ITEM) for target in targets(statement))
    elif statement[0] == m.EXPR and statement[2][0] == m.CALL:
        callee = statement[2][2]
        if callee[0] == m.ATTR and callee[2] == "clear":
            yield callee[1], True


def _is_for_this_call(program: Program, place: Place, made: Expr) -> bool:
    """Whether a group is bound to a local that is given to collectives and to nothing else."""
    names = [one[2][0] for one in statements(place.facts.body) if one[0] == m.ASSIGN and one[3] == made]
    return len(names) == 1 and names[0][0] == m.NAME and _is_for_collectives(program, place, names[0], 1)


def _is_for_collectives(program: Program, place: Place, name: Expr, bound: int) -> bool:
    """Whether all that is done with a local is to give it to collectives, or to a helper that does no more with it.
    `bound`: how often it is bound; a helper's parameter never."""
    uses = sum(part == name for one in statements(place.facts.body) for part in expressions_of(one))
    given = 0
    for call in calls(place.facts.body):
        values = [*((str(at), value) for at, value in enumerate(call[3])), *call[4]]
        keys = [key for key, value in values if value == name and key is not None]
        collective = program.dotted(call[2]).startswith("torch.distributed.")
        if keys and (collective or (bound and _hands_on(program, call, keys))):
            given += len(keys)
    rebound = sum(name in targets(one) for one in statements(place.facts.body) if one[0] == m.ASSIGN)
    return rebound == bound and given > 0 and uses - rebound <= given


def _hands_on(program: Program, call: Expr, keys: list[str]) -> bool:
    """Whether a function or method of the text gives these arguments of a call to collectives alone."""
    helpers = program.by_name.get(last_name(call[2])) or []
    if len(helpers) != 1 or (helpers[0].cls and call[2][0] != m.ATTR):
        return False
    params = [param.name for param in helpers[0].facts.params][bool(helpers[0].cls) :]
    names = [params[int(key)] if key.isdigit() and int(key) < len(params) else key for key in keys]
    return all(_is_for_collectives(program, helpers[0], (m.NAME, name), 0) for name in names)


def _destroys(program: Program) -> bool:
    """Whether the file destroys groups one by one, not all of them in the end."""
    if "destroy_process_group" not in program.called:
        return False
    return any(
        last_name(call[2]) == "destroy_process_group" and (call[3] or call[4])
        for place in program.places
        for call in calls(place.facts.body)
    )


def _destroyed(program: Program) -> set[Expr] | None:
    """The globals and attributes whose groups are destroyed one by one, where all that are can be told."""
    found = set[Expr]()
    for place in program.places if "destroy_process_group" in program.called else ():
        for call in calls(place.facts.body):
            if last_name(call[2]) != "destroy_process_group":
                continue
            group = keyword(call, "group", 0)
            whole = None if group is None else _kept_at(program, place, group, True)
            if group is not None and whole is None:
                return None
            found |= set() if whole is None else {whole}
    return found


def _ends_all(place: Place) -> bool:
    return any(last_name(one[2]) == "destroy_process_group" and not one[3] + one[4] for one in calls(place.facts.body))


def _is_made_once(place: Place, made: Site) -> bool:
    """Whether a function asks first whether the group is there, or keeps what it returns."""
    if any(last_name(decorator) in _CACHES for decorator in place.facts.decorators):
        return True
    for statement in (one for one in statements(place.facts.body) if one[1] < made):
        if statement[0] == m.TRY and any(last_name(kind) == "KeyError" for kind, _, _ in statement[3]):
            return True
        for part in nodes(statement[2]) if statement[0] in (m.IF, m.WHILE) else ():
            if part[0] == m.COMPARE and (part[1] in ("In", "NotIn") or part[3] == (m.CONST, None)):
                return True
            if part[0] == m.NOT or (part[0] == m.CALL and last_name(part[2]) in ("get", "hasattr")):
                return True
    return False


def _is_fixed(program: Program, place: Place, ranks: Expr, depth: int = 3) -> bool:
    """Whether an expression gives the same ranks each time, in all that calls the function."""
    if ranks[0] == m.CONST:
        return True
    if ranks[0] == m.NEW:
        return all(_is_fixed(program, place, one, depth) for one in ranks[3])
    if ranks[0] == m.CALL:
        return last_name(ranks[2]) in _FIXED_CALLS and all(_is_fixed(program, place, one, depth) for one in ranks[3])
    if ranks[0] == m.ATTR and ranks[1] == (m.NAME, "self") and depth:
        return _is_set_up_fixed(program, place, ranks, depth)
    if ranks[0] != m.NAME or not depth:
        return False
    params = [param.name for param in place.facts.params]
    if ranks[1] in params:
        return _is_given_fixed(program, place, ranks[1], params.index(ranks[1]), depth)
    for body in (place.facts.body, program.facts.functions[0].body):
        bound = [one[3] for one in statements(body) if one[0] == m.ASSIGN and ranks in one[2]]
        if bound:
            return len(bound) == 1 and _is_fixed(program, place, bound[0], depth - 1)
    return False


def _is_set_up_fixed(program: Program, place: Place, own: Expr, depth: int) -> bool:
    """Whether only the constructor of a class binds an attribute, `self.ranks = list(range(get_world_size()))`, to the
    same ranks each time, and nothing else is done with it than to read it."""
    bound = list[bool]()
    for other in program.places:
        for one in statements(other.facts.body):
            if one[0] == m.ASSIGN and any(last_name(target) == own[2] for target in targets(one)):
                of_its_own = other.cls == place.cls and other.facts.name in SETUPS and own in one[2]
                bound.append(of_its_own and _is_fixed(program, other, one[3], depth - 1))
            for call in calls_of(one):
                if call[2][0] == m.ATTR and last_name(call[2][1]) == own[2]:
                    return False  # `self.ranks.append(rank)`
    return bool(place.cls) and bound == [True]


def _is_given_fixed(program: Program, place: Place, name: str, index: int, depth: int) -> bool:
    known = called_as(place)
    given = [
        (other, keyword(call, name, index - (place.facts.owner >= 0)))
        for other in program.places
        if known in other.facts.calls and other is not place
        for call in calls(other.facts.body)
        if last_name(call[2]) == known
    ]
    default = place.facts.params[index].default
    return bool(given) and all(
        _is_fixed(program, other, value, depth - 1) if value is not None else default is not None
        for other, value in given
    )
