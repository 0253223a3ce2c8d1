"""`except` clauses that put the exception away, and with it every frame of the failed call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Site, Stmt, file_of
from ..facts.program import Program, expressions, keyword, targets
from ..facts.walk import calls, last_name, loops, root_of, statements
from .at_work import started
from .caught import lets_go, says_memory, tries, type_names
from .chained_errors import as_with_frames, raised_in_a_clause
from .keepers import ADDS, RESULT, Keeping, filed_in, is_exception, is_one_of_many, place_of, with_names
from .kept_places import kept_place

POST_MORTEM = ("sys.last_value", "sys.last_traceback", "sys.last_exc")  # what `pdb.pm()` looks at
_CONTAINERS = ("list", "dict", "set", "deque", "defaultdict")


class Kept(NamedTuple):
    """A caught exception that is put away."""

    site: Site
    holder: str
    root: str  # the name at the root of the holder
    grows: bool
    function: FunctionFacts
    names: frozenset[str]  # what is called in the `try`
    process_wide: bool = False  # a global: it keeps the frames of whoever called as well
    certain: bool = False  # the clause is about memory, in so many words
    rounds: bool = False  # a local of the function that gains one in each round of a loop
    stored: Site = -1  # where a helper that is given it puts it away
    by_parts: bool = False  # what is kept comes from `sys.exc_info()`: it has no methods of an exception
    record: Site = -1  # where a helper returned it as a part of something
    put_by: str = ""  # the function that then puts it away
    part: str = ""  # the attribute that it is in, of one of many objects that the holder keeps
    shown: bool = False  # by a shell, which keeps what it shows
    behind: Site = -1  # where it was raised while another one was handled, which it keeps without its own traceback


def kept(program: Program, function: FunctionFacts, tried_in: Sequence[Stmt], keeping: Keeping) -> Iterator[Kept]:
    """Exceptions that a clause puts into an attribute, a global or a container, or hands to a helper that does."""
    for statement in tried_in:
        if only_asserts(statement[2]):
            continue
        called = started(statement[2]) | _lent_to(program, function, statement)
        for caught, name, body in statement[3]:
            chain = functools.partial(raised_in_a_clause, program, function, statement[2], caught)
            behind = chain() if lets_go(body) else -1
            if lets_go(body) and behind < 0:
                continue
            body = as_with_frames(body)
            names = set() if name is None else {name}
            certain = any(map(says_memory, type_names(program, caught)))
            put = [*_put_away(function, body, names, called, keeping)]
            put += _handed_over(program, function, body, names, called, keeping, chain)
            put += _returned(program, function, body, names, called, keeping)
            for one in put:
                yield one._replace(certain=certain, behind=max(one.behind, behind))


def only_asserts(tried: tuple[Stmt, ...]) -> bool:
    """Whether all that is tried are assertions of a test, `assert_close(found, wanted)`: what they raise is collected
    for its report, and mostly there is none."""
    return bool(tried) and all(
        one[0] == m.EXPR and one[2][0] == m.CALL and last_name(one[2]).startswith("assert") for one in tried
    )


def _lent_to(program: Program, function: FunctionFacts, tried: Stmt) -> set[str]:
    """What is called in the `with` blocks that a context manager yields to in a `try`."""
    if not function.generator or not any(last_name(one).endswith("contextmanager") for one in function.decorators):
        return set()
    if not any(part[0] == m.YIELD for part in expressions(tried[2])):
        return set()
    return {
        last_name(call[2])
        for place in program.places
        if function.name in place.facts.calls
        for one in statements(place.facts.body)
        if one[0] == m.WITH and any(last_name(context) == function.name for context, _ in one[2])
        for call in calls(one[3])
    }


def kept_on_exit(facts: FileFacts, cls: ClassFacts, keeping: Keeping) -> Iterator[Kept]:
    """Exceptions that the `__exit__` of a class puts where they stay when the block is left: on the class, in a
    global, or on an object that is entered again and again."""
    for name in ("__exit__", "__aexit__"):
        if name not in cls.methods:
            continue
        function = facts.functions[cls.methods[name]]
        given = {param.name for param in function.params[2:4] if not param.kind}
        own = {t[1] for one in facts.functions[cls.body].body for t in targets(one) if t[0] == m.NAME}
        called, anew = _entered(facts, cls.name)
        for one in _put_away(function, function.body, given, called, keeping):
            of_instance = one.root == "self" and one.holder.split(".")[1] not in own
            if called and not (of_instance and anew):
                yield one


def lingering(function: FunctionFacts, keeping: Keeping) -> Iterator[Kept]:
    """Exceptions that a local keeps while the next round of the loop tries again."""
    for loop, inside in loops(function.body):
        cleared = {
            target[1]
            for one in inside
            if one[0] == m.ASSIGN and one[3] == (m.CONST, None)
            for target in one[2]
            if target[0] == m.NAME
        }
        for statement in _straight(loop[-2]):
            if statement[0] != m.TRY:
                continue
            called = started(statement[2])
            for _, name, body in statement[3]:
                if name is None or not body or body[-1][0] in (m.RETURN, m.RAISE):
                    continue
                if body[-1][0] == m.JUMP and body[-1][2]:
                    continue
                for inner in _straight(body):
                    if inner[0] != m.ASSIGN or not is_exception(inner[3], {name}, keeping):
                        continue
                    for target in inner[2]:
                        if target[0] == m.NAME and target[1] not in cleared:
                            yield Kept(inner[1], target[1], target[1], False, function, called)


def _straight(block: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """The statements that are always come to: those in a `with`, and what is tried, too."""
    for one in block:
        yield one
        if one[0] in (m.WITH, m.TRY):
            yield from _straight(one[3] if one[0] == m.WITH else one[2])


def _put_away(
    function: FunctionFacts, body: tuple[Stmt, ...], names: set[str], called: frozenset[str], keeping: Keeping
) -> Iterator[Kept]:
    names = set(names)
    declared = {name for one in statements(function.body) if one[0] == m.GLOBAL for name in one[2]}
    of_module = function.name == "<module>" and not any(one[0] == m.RAISE for one in body[-1:])
    by_parts = any(last_name(call[2]) == "exc_info" for call in calls(body))
    by_parts = by_parts or any(part[0] == m.ATTR and part[2] == "__traceback__" for part in expressions(body))
    for inner in statements(body):
        if inner[0] == m.ASSIGN and is_exception(inner[3], names, keeping):
            bound = {part[1] for target in inner[2] for part in _parts(target, inner[3]) if part[0] == m.NAME}
            names |= bound
            for name in sorted(bound if of_module else bound & declared):
                yield Kept(inner[1], name, name, False, function, called, True, by_parts=by_parts)
        place = place_of(inner, names, keeping)
        if place is None:
            continue
        holder, grows = place
        if root_of(holder)[0] == m.NAME and root_of(holder)[1] not in ("self", "cls"):
            filed = filed_in(function, root_of(holder))  # `row["error"] = error`, and the row goes into a table
            if filed is None and _is_handed_out(function, root_of(holder), keeping):
                continue
            holder, grows = (holder, grows) if filed is None else (filed, True)
        rounds = grows and _in_rounds(function, root_of(holder), inner)
        root, text = last_name(root_of(holder)), text_of(holder)
        wide = text.startswith(POST_MORTEM)
        yield Kept(inner[1], text, root, grows, function, called, wide, rounds=rounds, by_parts=by_parts)


def _is_handed_out(function: FunctionFacts, local: Expr, keeping: Keeping) -> bool:
    """Whether a local is a record that the function makes and returns: who calls keeps it or does not."""
    body = list(statements(function.body))
    made = [value for one in body for value in _made(one, local)]
    if not made or any(one[0] != m.CALL or last_name(one) not in keeping for one in made):
        return False
    elsewhere = any(one[0] == m.ASSIGN and one[3] == local for one in body)
    return not elsewhere and any(one[0] == m.RETURN and one[2] == local for one in body)


def _parts(target: Expr, value: Expr) -> tuple[Expr, ...]:
    """What refers to the exception in `kind, error, trace = sys.exc_info()`: all but the type."""
    if target[0] != m.NEW:
        return (target,)
    return tuple(target[3][1:]) if value[0] == m.CALL else ()


def _in_rounds(function: FunctionFacts, local: Expr, put: Stmt) -> bool:
    """Whether a container that was made before a loop gains one in each of many rounds."""
    made = [value for one in statements(function.body) for value in _made(one, local)]
    if not made or any(one[0] not in (m.NEW, m.DICT) and last_name(one) not in _CONTAINERS for one in made):
        return False
    for loop, inside in loops(function.body):
        if any(one[1] == put[1] for one in inside) and not any(local in one[2] for one in inside if one[0] == m.ASSIGN):
            return not (loop[0] == m.FOR and _is_short(loop[3]))
    return False


def _made(statement: Stmt, local: Expr) -> Iterator[Expr]:
    """What a statement binds a local to: `failed = {}`, `failed: list[Exception] = []`, `passed, failed = {}, {}`."""
    if statement[0] == m.ANNOTATE and statement[2] == local and statement[4] is not None:
        yield statement[4]
    for target in statement[2] if statement[0] == m.ASSIGN else ():
        value = statement[3]
        if target == local:
            yield value
        elif target[0] == m.NEW and local in target[3]:
            paired = value[0] == m.NEW and len(value[3]) == len(target[3])
            yield value[3][target[3].index(local)] if paired else value


def _says_attempts(number: Expr) -> bool:
    return any(word in last_name(number) for word in ("tries", "attempts", "retry"))


def _is_short(iterated: Expr) -> bool:
    """`range(3)`, `("cuda", "cpu")`: a few attempts at one thing."""
    if iterated[0] == m.CALL and last_name(iterated) == "range":
        return all(argument[0] == m.CONST for argument in iterated[3]) or _says_attempts(iterated[3][-1])
    return iterated[0] in (m.NEW, m.DICT)


def _handed_over(
    program: Program,
    function: FunctionFacts,
    body: tuple[Stmt, ...],
    names: set[str],
    called: frozenset[str],
    keeping: Keeping,
    chain: Callable[[], Site],
) -> Iterator[Kept]:
    """Exceptions that are given to a function of the file which puts its parameter away, `report.failed(error)`, or
    which it looks for itself, by `sys.exc_info()`."""
    for call in calls(body):
        name = last_name(call[2])
        handed = any(is_exception(value, names, keeping) for value in (*call[3], *(value for _, value in call[4])))
        if not handed and not _looks_itself(program, call):
            continue  # before others' files are read for it
        helpers = program.by_name.get(name, ())
        if len(helpers) != 1 or name == function.name or (name in ADDS and len(call[3]) < 2):
            continue
        helper = helpers[0].facts
        bound = helper.owner >= 0 and call[2][0] == m.ATTR
        given = ((param.name, keyword(call, param.name, i - bound)) for i, param in enumerate(helper.params))
        taken = {param for param, value in given if value is not None and is_exception(value, names, keeping)}
        looks = not handed and "exc_info" in helper.calls
        behind = chain() if (taken or looks) and lets_go(helper.body) else -1
        if not (taken or looks) or (lets_go(helper.body) and behind < 0):
            continue
        own = call[2][0] == m.ATTR and call[2][1] == (m.NAME, "self") and helper.owner == function.owner
        # what others have replaces the one before; what the object itself puts away stays as if it were put there
        put_by = helper.name if own or is_one_of_many(program, helpers[0].cls) else ""
        for put in _put_away(helper, as_with_frames(helper.body), taken, called, keeping):
            put = put._replace(behind=behind)
            if put.root == "self" or put.process_wide or put.root not in own_names(helper):
                yield put._replace(
                    site=put.site if looks else call[1],
                    stored=-1 if looks else put.site,
                    function=function,
                    put_by=helper.name if put.process_wide or put.grows else put_by,
                )
                break
            root, _, part = put.holder.partition(".")
            place = kept_place(program, helper, (m.ATTR, (m.NAME, root), part)) if root == put.root else None
            if place is not None and place.grows:  # `task.error = error` of a task that a table has
                kept = put._replace(grows=True, function=function, put_by=helper.name)
                own = file_of(put.site) == file_of(call[1])
                yield kept if own else kept._replace(site=call[1], stored=put.site)
                break


def _looks_itself(program: Program, call: Expr) -> bool:
    """Whether a call is of a helper of this file that asks for the exception by itself: `self.showtraceback()`."""
    name = last_name(call[2])
    return any(one.name == name and "exc_info" in one.calls for one in program.facts.functions)


def _returned(
    program: Program,
    function: FunctionFacts,
    body: tuple[Stmt, ...],
    names: set[str],
    called: frozenset[str],
    keeping: Keeping,
) -> Iterator[Kept]:
    """Exceptions that a clause returns as a part of what the calling function adds to a container, round by round:
    `return Outcome(error=error)`, and `self.outcomes.append(self.run_one(number))` there."""
    back = [s for s in statements(body) if s[0] == m.RETURN and s[2] is not None]
    back = [s for s in back if s[2][0] != m.NAME and is_exception(s[2], names, keeping)]
    if not back or len(program.by_name.get(function.name, ())) != 1:
        return
    for place in program.places:
        if function.name not in place.facts.calls:
            continue
        results = {call for call in calls(place.facts.body) if last_name(call[2]) == function.name}
        given = [(s[2], s[3]) for s in statements(place.facts.body) if s[0] == m.ASSIGN]
        bound = {t[1] for targets, value in given if value in results for t in targets if t[0] == m.NAME}
        for statement in statements(place.facts.body):
            added = place_of(with_names(statement, results), bound | {RESULT[1]}, {})
            if added is not None and added[1]:
                holder, root = added[0], root_of(added[0])
                rounds = _in_rounds(place.facts, root, statement)
                yield Kept(
                    back[0][1],
                    text_of(holder),
                    last_name(root),
                    True,
                    function,
                    called,
                    False,
                    False,
                    rounds,
                    statement[1],
                )
                return


def own_names(function: FunctionFacts) -> set[str]:
    """The parameters and variables of a function."""
    bound = {t[1] for s in statements(function.body) if s[0] == m.ASSIGN for t in s[2] if t[0] == m.NAME}
    return (bound | {param.name for param in function.params}) - {"cls"}


def _entered(facts: FileFacts, cls: str) -> tuple[frozenset[str], bool]:
    """What is called in the `with` blocks of a class, and whether each makes an object of its own."""
    called, anew = set[str](), True
    using = [function for function in facts.functions if cls in function.calls]
    own = {target for function in using for target in _made_of(function, cls) if target[0] == m.ATTR}
    for function in facts.functions if own else using:
        made = own | _made_of(function, cls)
        for statement in statements(function.body):
            for context, _ in statement[2] if statement[0] == m.WITH else ():
                fresh = context[0] == m.CALL and last_name(context) == cls
                if fresh or context in made:
                    anew = anew and fresh
                    called |= {last_name(call[2]) for call in calls(statement[3])}
    return frozenset(called), anew


def _made_of(function: FunctionFacts, cls: str) -> set[Expr]:
    """The names and attributes that a function binds to an object of a class."""
    return {
        target
        for statement in statements(function.body)
        if statement[0] == m.ASSIGN and statement[3][0] == m.CALL and last_name(statement[3]) == cls
        for target in statement[2]
    }


def called_in_clauses(facts: FileFacts) -> set[str]:
    """The names that `except` clauses call."""
    clauses = (clause for function in facts.functions for one in tries(function) for _, _, clause in one[3])
    return {call[2][1] for clause in clauses for call in calls(clause) if call[2][0] == m.NAME}


def modules_given_errors(facts: FileFacts) -> set[str]:
    """The names before calls that get what a clause has caught: `records.add(error)`."""
    clauses = (clause for function in facts.functions for one in tries(function) for clause in one[3] if clause[1])
    return {
        call[2][1][1]
        for _, name, body in clauses
        for call in calls(body)
        if call[2][0] == m.ATTR and call[2][1][0] == m.NAME and (m.NAME, name) in call[3]
    }


def raised_again(program: Program, kept: Kept) -> bool:
    """Whether the function that puts an exception away, or one that calls it, raises it again the next time: each time
    it adds the frames on its way to those that the exception has already."""
    own = kept.function
    for place in program.places:
        if place.facts is not own and own.name not in place.facts.calls:
            continue
        stands_for: dict[Expr, Expr] = {
            target: one[3]
            for one in statements(place.facts.body)
            if one[0] == m.ASSIGN and one[3][0] in (m.ATTR, m.ITEM, m.CALL)
            for target in one[2]
        }
        for one in statements(place.facts.body):
            raised: Expr = one[2] if one[0] == m.RAISE and one[2] is not None else (m.TEXT,)
            if _stored_in(stands_for.get(raised, raised)) == kept.holder:
                return True
    return False


def _stored_in(value: Expr) -> str:
    """`self.errors` of `self.errors[key]` and `self.errors.get(key)`."""
    looked_up = value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] == "get"
    place = value[2][1] if looked_up else value
    return text_of(place) if place[0] in (m.ATTR, m.ITEM, m.NAME) else ""


def text_of(place: Expr) -> str:
    if place[0] == m.ATTR:
        return f"{text_of(place[1])}.{place[2]}"
    if place[0] == m.ITEM:
        return text_of(place[1])
    return str(place[-1]) if place[0] == m.NAME else "..."
