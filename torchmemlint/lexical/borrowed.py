"""Names that a function lets go of for others, who go on binding what they name; results that nobody takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, Place, Program, keyword, targets, text
from ..facts.walk import calls, calls_of, expressions_of, heads, last_name, nodes, statements
from .cleanup import FREES, MODELS, Slip, collects, empties, let_go
from .handed_by_enter import deleted_by_exit
from .missing_global import bound_without_global
from .once import called_as
from .taken_models import empties_container, is_changed, models_of_containers

_SHORTENS = frozenset("evict trim prune drop shrink truncate release free discard purge cleanup expire keep".split())


_OF_ACCELERATORS = ("free_memory", "clear")
_HOST: frozenset[Expr] = frozenset({(m.CONST, "cpu"), (m.CONST, "meta")})


# -- borrowed names -------------------------------------------------------------------------------


def borrowed(program: Program) -> Iterator[Slip]:
    """`del p` of what somebody else still binds, followed by a call that is to free it."""
    if not set(FREES) & program.called and not program.empties:
        return
    yield from deleted_by_exit(program)
    for place in program.places:
        facts = place.facts
        frees = set(FREES) & set(facts.calls) or program.emptying & set(facts.calls)
        if not frees:
            continue
        params = {param.name for param in facts.params if not param.kind} - {"self", "cls"}
        if place.bases and _is_called_on_events(facts.name):
            params = set()  # `del state, logger` says that a callback has no use for them
        yielded = _yielded(place)
        alias = _first_alias(place)
        if alias is not None and _freed_after(program, facts.body, alias[0]):
            yield from islice(_of_those_who_pass(program, place, *alias), 1)
        models = models_of_containers(program, place)
        for site, name, container in (*_items_of_containers(place), *_items_of_displays(place), *models):
            if _freed_after(program, facts.body, site):
                yield Slip(site, name, -1, 3, f"in {container}")
        for site, name in bound_without_global(program, place):
            if _freed_after(program, facts.body, site):
                yield Slip(site, name, -1, 2, "global")
        for statement in statements(facts.body):
            names = let_go(statement)
            for name in names:
                if name in yielded and _freed_after(program, facts.body, statement[1]):
                    yield Slip(statement[1], name, yielded[name], 3, "yielded")
                elif (
                    name in params
                    and not _turns_off(facts.body, statement, name)
                    and _freed_after(program, facts.body, statement[1])
                ):
                    yield from islice(_of_the_callers(program, place, name, statement[1]), 1)


def borrowed_by_helpers(program: Program) -> Iterator[Slip]:
    """`free(model)` of another file's function that deletes a name of its own, where the caller goes on binding one."""
    for function in program.cleaners.values():
        helper = Place(function, "", ())
        alias = _first_alias(helper)
        found = [] if alias is None else [*_of_those_who_pass(program, helper, *alias)]
        params = {param.name for param in function.params if not param.kind}
        for statement in statements(function.body):
            gone = params.intersection(let_go(statement))
            found += [slip for name in sorted(gone) for slip in _of_the_callers(program, helper, name, statement[1])]
        said = set[Site]()
        for slip in found:
            if slip.other >= 0 and slip.other not in said and _freed_after(program, function.body, slip.site):
                said.add(slip.other)
                yield Slip(slip.other, slip.kind, slip.site, slip.weight, function.name)


def _is_called_on_events(name: str) -> bool:
    """`fit_end`, `on_batch_start`, `before_step`: what a framework calls, with arguments of its own choice."""
    return name.startswith(("on_", "before_", "after_")) or name.endswith(("_start", "_end", "_begin"))


def _first_alias(place: Place) -> tuple[Site, str, str] | None:
    """`for item in items: del item` of a parameter, or `del items` of `*items`: where, the name, the parameter."""
    params = {param.name: param.kind for param in place.facts.params if param.name not in ("self", "cls")}
    for statement in statements(place.facts.body):
        if statement[0] == m.FOR:
            over = [part[1] for part in nodes(statement[3]) if part[0] == m.NAME and part[1] in params]
            own = {target[1] for target in targets(statement) if target[0] == m.NAME}
            for inner in statements(statement[4]) if over and not _goes_after(place, statement) else ():
                for name in let_go(inner):
                    if name in own and not _works_with(statement[4], name):
                        return inner[1], name, over[0]
        elif statement[0] == m.DELETE:
            for name in let_go(statement):
                if params.get(name):  # its own tuple, or dictionary
                    return statement[1], name, name
    return None


def _goes_after(place: Place, loop: Stmt) -> bool:
    """`for item in owner.items: del item`, and then `del owner.items`: what held them is gone."""
    return loop[3][0] == m.ATTR and any(
        one[1] > loop[1] and loop[3] in one[2] and (one[0] == m.DELETE or one[3] == (m.CONST, None))
        for one in statements(place.facts.body)
        if one[0] in (m.DELETE, m.ASSIGN)
    )


def _items_of_containers(place: Place) -> Iterator[tuple[Site, str, str]]:
    """`for module in self.parts.values(): del module` of a container that the function leaves as it is."""
    params = {param.name for param in place.facts.params}
    for statement in statements(place.facts.body):
        if statement[0] != m.FOR:
            continue
        over = statement[3]
        while over[0] == m.CALL and over[2][0] == m.ATTR and over[2][2] in ("values", "items"):
            over = over[2][1]
        container = text(over)
        own = {target[1] for target in targets(statement) if target[0] == m.NAME}
        if over[0] not in (m.NAME, m.ATTR) or not container or container in params or is_changed(place, container):
            continue
        for inner in statements(statement[4]):
            for name in let_go(inner):
                if name in own and (not _works_with(statement[4], name) or _is_of_models(place, over, statement, name)):
                    yield inner[1], name, container


def _is_of_models(place: Place, over: Expr, loop: Stmt, name: str) -> bool:
    """`for stage in stages: x = stage(x); del stage` of a list or table that the function has made: each that was run
    stays."""
    made = [one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and over in targets(one)]
    if over[0] != m.NAME or len(made) != 1:
        return False
    value = made[0]
    listed = value[0] == m.DICT or (value[0] == m.NEW and value[2] in ("list", "tuple"))
    if value[0] == m.COMP:
        listed = value[2] in ("list", "dict") and (value[4] or value[3])[0] == m.CALL
    runs = any(call[2] == (m.NAME, name) for call in calls(loop[4]))
    return bool(listed and (runs or not {*name.lower().split("_")}.isdisjoint(MODELS)))


def _items_of_displays(place: Place) -> Iterator[tuple[Site, str, str]]:
    """`for part in (self.encoder, self.decoder): part = None`, of which nothing else in the function lets go."""
    for statement in statements(place.facts.body):
        if statement[0] != m.FOR or statement[3][0] != m.NEW or not statement[3][3]:
            continue
        over = statement[3][3]
        own = {target[1] for target in targets(statement) if target[0] == m.NAME}
        if any(one[0] not in (m.NAME, m.ATTR) or not text(one) for one in over) or _is_rebound(place, over):
            continue
        for inner in statements(statement[4]):
            for name in let_go(inner):
                if name in own and not _works_with(statement[4], name):
                    yield inner[1], name, text(over[0])


def _is_rebound(place: Place, names: Expr) -> bool:
    """Whether a function removes one of these names or attributes, or binds it to None."""
    return any(
        not {*one[2]}.isdisjoint(names)
        for one in statements(place.facts.body)
        if one[0] == m.DELETE or (one[0] == m.ASSIGN and one[3] == (m.CONST, None))
    )


def _works_with(body: Block, name: str) -> bool:
    """Whether a loop does more with an item than to let go of it: `for batch in loader: train(batch); del batch`."""
    return any((m.NAME, name) in nodes(head) for one in statements(body) if not let_go(one) for head in heads(one))


def _of_those_who_pass(program: Program, place: Place, site: Site, name: str, param: str) -> Iterator[Slip]:
    """The calls that hand over what the caller goes on binding, each with the first such name."""
    if empties_container(place, param):
        return
    index = [each.name for each in place.facts.params].index(param) - (1 if place.cls else 0)
    kind = next(each.kind for each in place.facts.params if each.name == param)
    seen, called = False, called_as(place)
    for other in program.places:
        if called not in other.facts.calls:
            continue
        for statement in statements(other.facts.body):
            for call in calls_of(statement):
                if last_name(call[2]) != called:
                    continue
                seen = True
                single = keyword(call, param, index)
                given = call[3][index:] if kind == "*" else () if single is None else (single,)
                if kind == "**":
                    given = tuple(value for _, value in call[4])
                for one in (part for whole in given for part in _parts(whole)):
                    gone = one[0] == m.NAME and _gone_after(other.facts.body, one[1], statement)
                    if one[0] in (m.NAME, m.ATTR) and text(one) and not gone:
                        yield Slip(site, name, call[1], 3, text(one))
                        break
    if not seen:
        yield Slip(site, name, -1, 2, "")


def _parts(given: Expr) -> Iterator[Expr]:
    """What is handed over: the items of `[encoder, *tokenizers]` and `{"encoder": encoder}`, too."""
    if given[0] == m.NEW:
        for item in given[3]:
            yield from _parts(item)
    elif given[0] == m.DICT:
        for _, item in given[2]:
            yield from _parts(item)
    elif given[0] == m.STAR:
        yield from _parts(given[1])
    else:
        yield given


def _yielded(place: Place) -> dict[str, Site]:
    """Names that a context manager hands out: `yield t`."""
    if not place.facts.generator or not any(last_name(one) == "contextmanager" for one in place.facts.decorators):
        return {}
    return {
        node[1][1]: statement[1]
        for statement in statements(place.facts.body)
        for node in expressions_of(statement)
        if node[0] == m.YIELD and node[1] is not None and node[1][0] == m.NAME
    }


def _freed_after(program: Program, body: Block, site: Site) -> bool:
    return any(call[1] > site and (empties(program, call) or collects(program, call)) for call in calls(body))


def _turns_off(body: Block, statement: Stmt, name: str) -> bool:
    """Whether `control = None` says that something is not wanted: what the caller has given is a tuple of settings,
    `kind, strength = control`, or somebody asks for it further down."""
    if statement[0] == m.DELETE:
        return False
    for one in statements(body):
        if one[0] == m.ASSIGN and one[3] == (m.NAME, name) and any(target[0] == m.NEW for target in one[2]):
            return True
        asks = one[0] in (m.IF, m.WHILE) and one[1] > statement[1]
        if asks and (m.NAME, name) in nodes(one[2]):
            return True
    return False


def _of_the_callers(program: Program, place: Place, name: str, site: Site) -> Iterator[Slip]:
    """The calls that pass, for a parameter, a name that the caller goes on binding."""
    facts = place.facts
    body = [one for one in facts.body if one[0] not in (m.IMPORT, m.FROM)]
    rebound = any(
        (m.NAME, name) in targets(one) and one[1] < site for one in statements(facts.body) if one[0] == m.ASSIGN
    )
    if rebound or _is_moved_off(facts.body, name):
        return
    only = len(body) <= 5 and not any(one[0] == m.RETURN and one[2] is not None for one in body)
    index = [param.name for param in facts.params].index(name) - (1 if place.cls else 0)
    seen, called = False, called_as(place)
    for other in program.places:
        if called not in other.facts.calls:
            continue
        for statement in statements(other.facts.body):
            for call in calls_of(statement):
                if last_name(call[2]) != called:
                    continue
                seen = True
                given = keyword(call, name, index)
                if given is None or given[0] not in (m.NAME, m.ATTR) or not text(given):
                    continue
                if given[0] == m.NAME and _gone_after(other.facts.body, given[1], statement):
                    continue
                yield Slip(site, name, call[1], 3 if only else 2, text(given))
    if only and not seen:
        yield Slip(site, name, -1, 2, "")


def _is_moved_off(body: Block, name: str) -> bool:
    """`model.cpu()`, `model.to("cpu")` of a module, which moves it where it is: what is left takes no device memory."""
    moves = (call for call in calls(body) if call[2][0] == m.ATTR and text(call[2][1]) == name)
    return any(call[2][2] == "cpu" or (call[2][2] == "to" and not _HOST.isdisjoint(nodes(call))) for call in moves)


def _gone_after(body: Block, name: str, call: Stmt) -> bool:
    """Whether a caller lets go of its own name too, or returns at once."""
    if (m.NAME, name) in targets(call) or call[0] == m.RETURN:
        return True
    following = [one for one in statements(body) if one[1] > call[1]]
    if any(name in let_go(one) or (m.NAME, name) in targets(one) for one in following):
        return True
    return not following


# -- results --------------------------------------------------------------------------------------


def results_dropped(program: Program) -> Iterator[Slip]:
    """`release_memory(model)` whose `None`s nobody takes."""
    places = [place for place in program.places if _returns_nones(place)]
    helpers = {place.facts.name: place.facts.site for place in places}
    methods = {place.facts.name for place in places if place.cls}
    yield from _shortened(program)
    accelerated = any(dotted.partition(".")[0] == "accelerate" for dotted in program.imports.values())
    wanted = {"release_memory", *helpers, *(_OF_ACCELERATORS if accelerated else ())}
    for place in program.places:
        if wanted.isdisjoint(place.facts.calls):
            continue
        for statement in statements(place.facts.body):
            for head in heads(statement):
                if head[0] != m.CALL:
                    continue
                name = last_name(head[2])
                known = name == "release_memory" and "accelerate" in program.dotted(head[2])
                known = known or (accelerated and _is_of_accelerator(head[2]))
                said = name if head[2][0] == m.NAME or name in helpers else text(head[2]) or name
                if not known and name not in helpers:
                    continue
                if name in methods and head[2][0] == m.ATTR and head[2][1] != (m.NAME, "self"):
                    continue  # of something else, like `torch.autograd.backward`
                given = [text(one) for one in head[3] if one[0] in (m.NAME, m.ATTR) and text(one)]
                if not given:
                    continue
                if statement[0] == m.EXPR:
                    left = given
                elif statement[0] == m.ASSIGN:
                    taken = {text(target) for target in targets(statement)}
                    left = [one for one in given if one not in taken]
                else:
                    continue
                if left and _still_there(place, left[0], statement):
                    yield Slip(head[1], ", ".join(left[:3]), helpers.get(name, -1), 3, said)


def _is_of_accelerator(callee: Expr) -> bool:
    """`accelerator.free_memory(model, optimizer)`, which gives a None for each [docs of accelerate]."""
    named = callee[0] == m.ATTR and callee[2] in _OF_ACCELERATORS
    return named and "accelerator" in last_name(callee[1]).lower()


def _shortened(program: Program) -> Iterator[Slip]:
    """`evict(self.models, keep)` whose shorter list nobody takes: the caller's own stays as long as it was."""
    helpers = {}
    for place in program.places:
        index = _shorter_copy(program, place)
        if index is not None:
            helpers[place.facts.name] = (place, index)
    for place in program.places if helpers else ():
        if helpers.keys().isdisjoint(place.facts.calls):
            continue
        for statement in statements(place.facts.body):
            if statement[0] != m.EXPR or statement[2][0] != m.CALL or last_name(statement[2][2]) not in helpers:
                continue
            helper, index = helpers[last_name(statement[2][2])]
            given = keyword(statement[2], helper.facts.params[index].name, index - (1 if helper.cls else 0))
            if given is not None and text(given):
                yield Slip(statement[2][1], text(given), helper.facts.site, 3, "shorter:" + helper.facts.name)


def _shorter_copy(program: Program, place: Place) -> int | None:
    """The parameter of which a function gives back only a part, as a new list, without touching the one it got.

    Only functions that free memory, or are called so: others may well be called for something else that they do.
    """
    facts = place.facts
    words = set(facts.name.lower().split("_"))
    if not (words & _SHORTENS or set(FREES) & set(facts.calls) or program.emptying & set(facts.calls)):
        return None
    returned = [one[2] for one in statements(facts.body) if one[0] == m.RETURN and one[2] is not None]
    if not returned:
        return None
    for index, param in enumerate(facts.params):
        if param.kind or param.name in ("self", "cls") or empties_container(place, param.name):
            continue
        made = {param.name}
        shorter = set()
        for one in statements(facts.body):
            if one[0] == m.ASSIGN and len(targets(one)) == 1 and targets(one)[0][0] == m.NAME and _part(one[3], made):
                shorter.add(targets(one)[0][1])
        if all(_part(value, made) or (value[0] == m.NAME and value[1] in shorter) for value in returned):
            return index
    return None


def _part(value: Expr, of: set[str]) -> bool:
    """`kept[-n:]`, `[x for x in kept if good(x)]`, `sorted(kept)[:n]`, `list(filter(good, kept))`: some of it."""
    if value[0] == m.ITEM and value[2][0] == m.SLICE:
        return any(part[0] == m.NAME and part[1] in of for part in nodes(value[1]))
    if value[0] == m.COMP:
        return any(clause[2] for clause in value[5]) and any(
            part[0] == m.NAME and part[1] in of for clause in value[5] for part in nodes(clause[1])
        )
    if value[0] == m.CALL and last_name(value[2]) in ("list", "tuple", "filter", "dict", "set", "deque"):
        return any(_part(given, of) for given in value[3]) or (last_name(value[2]) == "filter" and len(value[3]) > 1)
    return False


def _still_there(place: Place, name: str, call: Stmt) -> bool:
    following = [one for one in statements(place.facts.body) if one[1] > call[1]]
    if not following and name.partition(".")[0] not in ("self", "cls") and place.facts.name != "<module>":
        return False  # the function returns, and its names go
    gone = any(name in let_go(one) or name in {text(target) for target in targets(one)} for one in following[:3])
    return not gone


def _is_word(key: Expr) -> bool:
    """`options["name"]`: of a dictionary, not of `*args`."""
    return bool(key[0] == m.CONST and isinstance(key[1], str))


def _returns_nones(place: Place) -> bool:
    """A function that sets the elements of its `*args` to None and returns them."""
    star = [param.name for param in place.facts.params if param.kind == "*"]
    if not star:
        return False
    emptied = returned = False
    for statement in statements(place.facts.body):
        if statement[0] == m.ASSIGN and statement[3] == (m.CONST, None):
            emptied = emptied or any(target[0] == m.ITEM and not _is_word(target[2]) for target in targets(statement))
        if statement[0] == m.RETURN and statement[2] is not None:
            value = statement[2]
            returned = returned or last_name(value) in (*star, "tuple") or value[0] == m.NAME
            emptied = emptied or (value[0] == m.COMP and value[3] == (m.CONST, None))
            nones = value[0] == m.ARITH and any(part == (m.CONST, None) for part in nodes(value))
            nones = nones and not any((m.NAME, name) in value[2:] for name in star)  # `(None,) + args`
            emptied, returned = emptied or nones, returned or nones or value[0] == m.COMP
    return emptied and returned
