"""Objects that start worker processes, and whose owner drops them without telling the workers to end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import PROCESSES
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, calls_of, heads, in_loops, last_name, nodes, statements
from .factories import with_factories
from .forked import forks, pipes_first
from .lent import ENDS, dropped_from, goes_over, is_given, is_seen_to, listed, may_be_told, may_end, may_end_itself
from .once import SETUPS, is_repeated, runs_once
from .owned_parts import with_parts
from .serving import serves, supplies
from .starters import Owner, construction, setup_of
from .thread_owners import owners_of_threads
from .words_in_queues import given_items

_LOOKS = ("len", "zip", "enumerate", "iter", "print", "range", "sorted", "reversed")


class LeftRunning(NamedTuple):
    """An object whose processes go on when it is dropped."""

    site: Site
    cls: str
    end: str  # the method that would end them
    started: Site
    attribute: str = ""  # that is bound to the next one; "" for a local
    listed: bool = False  # the attribute is a container, which gains one more
    several: bool = False  # it is bound to a new container of them
    taken: bool = False  # it goes out of the container
    whole: bool = True  # the worker keeps the object, and not only what it was given

    @property
    def fate(self) -> str:
        """What becomes of it, to go on after "until it is told to stop, and"."""
        if self.taken:
            return f"this one is taken out of `self.{self.attribute}` without"
        if self.listed:
            return f"`self.{self.attribute}` gains one more each time, and none is ever told"
        if self.several:
            return f"those before in `self.{self.attribute}` are dropped without"
        return f"{f'the one before in `self.{self.attribute}`' if self.attribute else 'this one'} is dropped without"

    @property
    def when(self) -> str:
        """When it should be ended."""
        return "first" if self.attribute and not self.listed else "in a `finally`"


def left_running(program: Program) -> Iterator[LeftRunning]:
    """Objects that own processes which serve a queue until they are told to stop, made again and again."""
    if not any(name.endswith(PROCESSES) for name in program.called | _bases(program)):
        return
    owners = with_parts(program, dict(_owners(program)))
    yield from dropped(program, owners)
    yield from _taken_out(program, owners)


def left_threads(program: Program) -> Iterator[LeftRunning]:
    """Objects that own a thread which goes round until they tell it to stop, made again and again."""
    if "Thread" in program.called | _bases(program):
        owners = with_parts(program, _with_heirs(program, dict(owners_of_threads(program))))
        for left in itertools.chain(dropped(program, owners), _taken_out(program, owners)):
            owner = owners[left.cls]
            yield left._replace(whole=owner.whole, cls=owner.part or left.cls)


def _with_heirs(program: Program, owners: dict[str, Owner]) -> dict[str, Owner]:
    """With the classes that inherit from one of them, and from that the function which its thread runs."""
    for cls in program.facts.classes if owners else ():
        bases = {last_name(base) for base in cls.bases} & owners.keys()
        if bases and cls.name not in owners and "run" not in cls.methods:
            owners[cls.name] = owners[min(bases)]
    return owners


def dropped(program: Program, owners: dict[str, Owner]) -> Iterator[LeftRunning]:
    """Objects of these classes that are made again and again, and dropped without being told to end."""
    makers = with_factories(program, owners)
    for place in program.places if makers else ():
        if makers.keys().isdisjoint(place.facts.calls):
            continue
        for statement, looped in in_loops(place.facts.body):
            for attribute, call in listed(statement, makers):
                cls = makers[last_name(call)]
                again = looped or place.facts.name == "__iter__" or is_repeated(program, place)
                if again and place.facts.name not in SETUPS and not may_be_told(program, attribute, owners[cls].end):
                    yield LeftRunning(call[1], cls, *owners[cls][:2], attribute, True)
            for call in _given_on(program, statement, makers):
                cls = makers[last_name(call)]
                again = looped or is_repeated(program, place)
                if again and place.facts.name not in SETUPS and not may_be_told(program, "", owners[cls].end):
                    yield LeftRunning(call[1], cls, *owners[cls][:2])
            made = _element(statement[3]) if statement[0] == m.ASSIGN else None
            if made is None or made[0] != m.CALL or last_name(made) not in makers:
                continue
            name, cls = _where_it_goes(place, statement), makers[last_name(made)]
            several = statement[3][0] in (m.NEW, m.COMP)
            looped = looped or place.facts.name == "__iter__"  # each pass over the object makes one
            local = name[0] == m.NAME and not several and (looped or is_repeated(program, place))
            if local and not _is_seen_to(program, place, statement, name, owners[cls]):
                yield LeftRunning(statement[1], cls, *owners[cls][:2])
            own = name[0] == m.ATTR and name[1] == (m.NAME, "self") and place.facts.name not in SETUPS
            if own and (looped or is_repeated(program, place, of_object=several)):
                end = owners[cls].end
                ended = (
                    _are_ended(program, name[2], place, cls, end)
                    if several
                    else is_ended(program, name[2], place, end, gone_over=owners[cls].gone_over)
                )
                if not ended:
                    yield LeftRunning(statement[1], cls, *owners[cls][:2], name[2], several=several)


def _where_it_goes(place: Place, made: Stmt) -> Expr:
    """What an object is bound to: of a name that the method then puts into an attribute, the attribute. Not where what
    was in that gets a name in the same statement, `old, self.feed = self.feed, feed`."""
    name: Expr = made[2][0]
    if name[0] != m.NAME:
        return name
    later = [one for one in statements(place.facts.body) if one[0] == m.ASSIGN and one[1] > made[1]]
    own = [one[2][0] for one in later if one[3] == name and one[2][0][:2] == (m.ATTR, (m.NAME, "self"))]
    return own[0] if len(own) == 1 and _is_only_started(place, name) else name


def _is_only_started(place: Place, name: Expr) -> bool:
    """Whether a function does no more with what a name stands for than to start it, or to ask it something."""
    return not any(name in (*call[3], *(one for _, one in call[4])) for call in calls(place.facts.body))


def _given_on(program: Program, statement: Stmt, makers: dict[str, str]) -> Iterator[Expr]:
    """What makes an object right where a class or function of the file is given it: `Trainer(plugins=[Saver()])`."""
    for call in calls_of(statement):
        if call[2][0] == m.NAME and call[2][1] in program.by_name.keys() | _classes(program):
            for given in (*call[3], *(value for _, value in call[4])):
                parts = given[3] if given[0] == m.NEW and given[2] in ("list", "tuple") else (given,)
                yield from (one for one in parts if one[0] == m.CALL and last_name(one) in makers)


def _classes(program: Program) -> set[str]:
    return {cls.name for cls in program.facts.classes}


def _taken_out(program: Program, owners: dict[str, Owner]) -> Iterator[LeftRunning]:
    """Objects of these classes that go out of a table, `self.sessions.pop(name)`, where nothing ever ends one."""
    makers = with_factories(program, owners)
    tables = {
        target[1]: makers[last_name(statement[3])]
        for place in program.places
        if not makers.keys().isdisjoint(place.facts.calls)
        for statement in statements(place.facts.body)
        if statement[0] == m.ASSIGN and statement[3][0] == m.CALL and last_name(statement[3]) in makers
        for target in statement[2]
        if target[0] == m.ITEM and target[1][0] == m.ATTR and target[1][1] == (m.NAME, "self")
    }
    for place in program.places if tables else ():
        for statement in statements(place.facts.body):
            table, cls = next(((one, tables[one]) for one in dropped_from(statement) if one in tables), (None, ""))
            if table is not None and not may_end(program, table[2], owners[cls].end):
                yield LeftRunning(statement[1], cls, *owners[cls][:2], table[2], taken=True)


def _is_seen_to(program: Program, place: Place, made: Stmt, name: Expr, owner: Owner) -> bool:
    """Whether the object is ended or handed to somebody who may; by which method is known to its class alone, if that
    has a name of its own: `stop_and_flush`."""
    if owner.end.lstrip("_") in ENDS:
        return is_seen_to(place, made, name, program, fed=owner.fed, gone_over=owner.gone_over)
    told = any(call[2] == (m.ATTR, name, owner.end) for call in calls(place.facts.body))
    return told or bool(place.facts.inner) or is_seen_to(place, made, name)


def _element(value: Expr) -> Expr:
    """What makes an object, or each of a list of them: `[Worker(rank) for rank in ranks]`."""
    if value[0] == m.COMP and value[4] is None:
        value = value[3]
    elif value[0] == m.NEW and value[2] == "list" and value[3]:
        value = value[3][0]
    return construction(value)


def _bases(program: Program) -> set[str]:
    return {last_name(base) for cls in program.facts.classes for base in cls.bases}


def _owners(program: Program) -> Iterator[tuple[str, Owner]]:
    """The classes whose constructor starts processes that serve, with the method that ends them."""
    serving = {place.facts.name for place in program.places if serves(place) or supplies(program, place)}
    processes = _processes(program, serving)
    piped = {place.facts.name for place in program.places if serves(place, to_the_end=True)} - serving
    for cls in program.facts.classes:
        setup, end = setup_of(program, cls)
        if not end or not any("start" in function.calls for function in setup):
            continue
        for maker, call in ((function, call) for function in setup for call in calls(function.body)):
            name = last_name(call[2])
            given = keyword(call, "target", 1) if name in PROCESSES else None
            target = "" if given is None else last_name(given)
            shared = target in piped and forks(program, maker, call) and any(map(pipes_first, setup))
            if name in processes or target in serving or shared:
                yield cls.name, Owner(end, call[1], gone_over=may_end_itself(program, cls))


def _processes(program: Program, serving: set[str]) -> set[str]:
    """The classes of the file that are processes whose `run` serves."""
    return {
        cls.name
        for cls in program.facts.classes
        if "run" in cls.methods and "run" in serving and any(last_name(base) in PROCESSES for base in cls.bases)
        if serves(Place(program.facts.functions[cls.methods["run"]], cls.name, ()))
    }


def is_ended(program: Program, attribute: str, replacing: Place, end: str, *, gone_over: bool = True) -> bool:
    """Whether anything ends what an attribute holds before the next one comes, or may: it is handed to somebody, or
    goes by another name. What is known to run once, after the loop, ends the last one. `gone_over`: whether it may
    end when it has been gone over."""
    for place in program.places:
        for statement, looped in in_loops(place.facts.body):
            bound = targets(statement) if statement[0] == m.ASSIGN else ()
            for head in heads(statement):
                for own in {part for part in nodes(head) if part[0] == m.ATTR and part[2] == attribute}:
                    fed = given_items(program, place, head, own)
                    given = is_given(head, own, fed=fed) or (m.ATTR, own, end) in nodes(head)
                    if own in bound or not given or (statement[0] == m.IF and head == own):
                        continue
                    if not gone_over and goes_over(statement, own):
                        continue
                    if place is replacing or looped or not runs_once(program, place) or not _only_ends(head, own):
                        return True
    return False


def _are_ended(program: Program, attribute: str, replacing: Place, cls: str, end: str) -> bool:
    """Whether anything ends the objects in a container before the next ones come, or may: it gets the container."""
    for place in program.places:
        if place.cls == cls:
            continue
        last = place is not replacing and runs_once(program, place)
        for statement in statements(place.facts.body):
            if not last and any(call[2][0] == m.ATTR and call[2][2] == end for call in calls_of(statement)):
                return True
            given = [one for call in calls_of(statement) if last_name(call[2]) not in _LOOKS for one in call[3]]
            given += [statement[-1]] if statement[0] in (m.ASSIGN, m.RETURN) and statement[-1] is not None else []
            if not last and any(one[0] == m.ATTR and one[2] == attribute for one in given):
                return True
    return False


def _only_ends(head: Expr, own: Expr) -> bool:
    """`if trainer.feed is not None:`, `trainer.feed.close()`"""
    if head[0] == m.COMPARE:
        return bool(own == head[2] and head[3] == (m.CONST, None))
    return bool(head[0] == m.CALL and head[2][0] == m.ATTR and head[2][1] == own)
