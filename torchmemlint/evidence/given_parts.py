"""Models that a clean-up lets go of, and that an object beside was given when it was made; by the text alone, for most
models come from where nothing here looks: `self.model = load_model(name)`, `self.pipe = Pipe(self.model)`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, expressions, targets, text
from ..facts.walk import calls, statements
from ..lexical.cleanup import MODELS, empties, given_up, may_clean_up
from ..lexical.library_pipelines import binds_pipeline, binds_trainer
from .still_held import StillHeld, goes_on, moved_off, moves_off, read_after, rest_of

_SELF: Expr = (m.NAME, "self")
_BEGIN = ("__init__", "__post_init__", "<module>")


def held_by_parts(program: Program) -> Iterator[StillHeld]:
    """Attributes of an object, or globals, that are models by their names and go before the cache is emptied, while
    what was made of them stays under another name that nothing ever lets go of."""
    if not program.empties:
        return
    for owner in sorted({place.cls for place in program.places}):
        places = [place for place in program.places if place.cls == owner]
        cleaning = [place for place in places if may_clean_up(program, place.facts)]
        given = list(_given(program, places)) if cleaning else []
        for place in cleaning if given else ():
            yield from _held(program, place, given)


def held_by_locals(program: Program) -> Iterator[StillHeld]:
    """`del model`, the cache is emptied and more is done, while `pipe = Pipe(model)` is bound and not used again."""
    for place in program.places if program.empties else ():
        if not may_clean_up(program, place.facts):
            continue
        made = [
            (part[1], one[2][0][1], one[1])
            for one in statements(place.facts.body)
            if one[0] == m.ASSIGN and len(one[2]) == 1 and one[2][0][0] == m.NAME
            for part in _kept(program, one)
            if part[0] == m.NAME and _is_a_model(part[1])
        ]
        params = {param.name for param in place.facts.params}
        for statement in statements(place.facts.body) if made else ():
            for name in given_up(statement):
                held = [(whole, at) for part, whole, at in made if part == name and at < statement[1]]
                if held and name not in params and not moved_off(place.facts.body, name, statement[1]):
                    yield from _not_used_again(program, place, statement, name, held)


def _not_used_again(
    program: Program, place: Place, statement: Stmt, name: str, held: list[tuple[str, Site]]
) -> Iterator[StillHeld]:
    rest = rest_of(place.facts.body, statement[1])
    if rest is None or not goes_on(program, rest):
        return
    used = read_after(program, place, rest).union(*map(given_up, statements(place.facts.body)))
    left = [(whole, at) for whole, at in held if whole not in used and not (rest.loop and at <= rest.loop[1])]
    if left:
        yield StillHeld(statement[1], name, tuple(dict.fromkeys(whole for whole, _ in left)), left[0][1])


def _held(program: Program, place: Place, given: list[tuple[str, str, Site]]) -> Iterator[StillHeld]:
    read = {text(part) for part in expressions(place.facts.body)}
    shared = _globals(place.facts)
    for statement in statements(place.facts.body):
        for name in given_up(statement):
            if not (name in shared or (place.cls and name.startswith("self."))) or not _is_a_model(name):
                continue
            held = [(whole, at) for part, whole, at in given if part == name]
            held = [one for one in held if one[0] not in read and not _is_let_go(program, one[0])]
            after = [call for call in calls(place.facts.body) if call[1] > statement[1]]
            if held and any(empties(program, call) for call in after) and not moves_off(place.facts.body, name):
                yield StillHeld(statement[1], name, tuple(dict.fromkeys(whole for whole, _ in held)), held[0][1])


def _is_let_go(program: Program, name: str) -> bool:
    """Whether a function lets go of what goes by a name: not the constructor, nor a module, where it begins as None."""
    last = name.rpartition(".")[2]
    return any(
        gone.rpartition(".")[2] == last
        for place in program.places
        if place.facts.name not in _BEGIN
        for one in statements(place.facts.body)
        for gone in given_up(one)
    )


def _is_a_model(name: str) -> bool:
    return any(word in MODELS for word in name.rpartition(".")[2].lower().split("_"))


def _globals(function: FunctionFacts) -> set[str]:
    return {name for one in statements(function.body) if one[0] == m.GLOBAL for name in one[2]}


def _given(program: Program, places: list[Place]) -> Iterator[tuple[str, str, Site]]:
    """What is bound to an object that keeps another one, under which name that is known, and where: `self.model`,
    `self.pipe` of `self.pipe = Pipe(self.model)`, also where both are a local first."""
    for place in places:
        known = _globals(place.facts)
        body = [one for one in statements(place.facts.body) if one[0] == m.ASSIGN]
        also = {
            one[3]: text(target)
            for one in body
            if one[3][0] == m.NAME
            for target in one[2]
            if target[:2] == (m.ATTR, _SELF) or text(target) in known
        }
        for one in body:
            wholes = [text(target) for target in one[2] if target[:2] == (m.ATTR, _SELF) or text(target) in known]
            for part in _kept(program, one) if wholes else ():
                name = also.get(part, text(part))
                if name and name not in wholes:
                    yield name, wholes[0], one[1]


def _kept(program: Program, statement: Stmt) -> Iterator[Expr]:
    """What the object that an assignment makes keeps: a pipeline its arguments, or what its class puts on it."""
    made: Expr = statement[3]
    if made[0] != m.CALL:
        return
    if binds_pipeline(program, statement) or binds_trainer(program, statement):
        yield from (*made[3], *(value for _, value in made[4]))
    init = next((one for one in program.by_name.get("__init__", ()) if made[2] == (m.NAME, one.cls)), None)
    if init is None:
        return
    params = [param.name for param in init.facts.params if not param.kind][1:]
    named = [*zip(params, made[3], strict=False), *made[4]]
    yield from (value for name, value in named if _puts_away(init.facts, name))


def _puts_away(init: FunctionFacts, param: str) -> bool:
    """`self.model = model`, `self.model, self.device = model, device`"""
    for one in statements(init.body):
        if one[0] == m.ASSIGN:
            values = one[3][3] if one[3][0] == m.NEW else (one[3],)
            if (m.NAME, param) in values and all(target[0] == m.ATTR for target in targets(one)):
                return True
    return False
