"""Figures that pyplot keeps: made again and again, drawn into a file or picture, and never closed.

`pyplot` has a table of all figures that it made, and only `close` takes one out [docs of matplotlib: pyplot.figure].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.answering import answers_requests
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, expressions, keyword, targets
from ..facts.walk import calls, calls_of, expressions_of, heads, in_loops, last_name, nodes, statements, with_tests
from .once import ONCE, called_as, is_repeated

_MAKES = ("figure", "subplots", "subplot_mosaic")
_PYPLOT = ("matplotlib.pyplot.", "matplotlib.pylab.", "pylab.")
_ENDS = frozenset("close show pause clf clear gcf ion switch_backend".split())  # or empties, or somebody looks at it
_LOOKS = frozenset("print isinstance id str type".split())
_ONLY_DRAWS = frozenset(("Image", "log_figure", "FigureCanvas", "FigureCanvasAgg")) | _LOOKS
_HOOK_STARTS = ("on_", "log_", "draw_", "visualize", "after_", "before_")
_HOOK_ENDS = ("_step", "_epoch_end", "_batch_end", "_epoch", "_iter")
_ROUNDS = frozenset("step iter epoch iteration global_step n_iter batch_idx iter_ step_ current_epoch".split())


class LeftOpen(NamedTuple):
    """A call that makes a figure which pyplot keeps."""

    site: Site
    again: bool  # whether the file says that it is made more than once


def figures_left_open(program: Program) -> Iterator[LeftOpen]:
    if program.called.isdisjoint(_MAKES) or not any(one.startswith(_PYPLOT) for one in _modules(program)):
        return
    makers = {place.facts.name for place in program.places if _gives_one(program, place)}
    seen_to = _seen_to(program)
    for place in program.places:
        if makers.union(_MAKES).isdisjoint(place.facts.calls) or called_as(place) in seen_to:
            continue
        for made, looped in in_loops(place.facts.body):
            call = _made_by(program, made, makers)
            if call is None or _stands_in_a_test(place, made) or (looped and _goes_over_few(place, made)):
                continue
            called_back = _is_hook(place) or answers_requests(place.facts) or _is_told_the_round(place)
            again = looped or called_back or is_repeated(program, place, driven=True)
            if again and not (looped or called_back) and _is_called_for_few(program, place):
                continue
            method = bool(place.cls) and place.facts.name not in ONCE
            if (again or method) and _is_left(program, place, targets(made)):
                yield LeftOpen(call[1], again)


def _modules(program: Program) -> Iterator[str]:
    return (f"{one}." for one in program.imports.values())


def _made_by(program: Program, statement: Stmt, makers: set[str]) -> Expr | None:
    """The call of a statement that makes a figure, unless it asks for one by its number or name."""
    value: Expr | None = statement[-1] if statement[0] in (m.EXPR, m.ASSIGN) else None
    if value is None or value[0] != m.CALL:
        return None
    name = last_name(value[2])
    if name in makers:
        return value if statement[0] == m.ASSIGN else None
    if name not in _MAKES or not program.dotted(value[2]).startswith(_PYPLOT):
        return None
    number = keyword(value, "num", 0 if name == "figure" else -1)
    return value if number in (None, (m.CONST, None)) and keyword(value, "") is None else None


def _gives_one(program: Program, place: Place) -> bool:
    """Whether a function returns a figure that it has made."""
    if set(_MAKES).isdisjoint(place.facts.calls):
        return False
    made = [one for one in statements(place.facts.body) if _made_by(program, one, set()) is not None]
    names = {target for one in made for target in targets(one)}
    returned = [one[2] for one in statements(place.facts.body) if one[0] == m.RETURN and one[2] is not None]
    return any(_holds(value, names) or _made_by(program, (m.EXPR, 0, value), set()) for value in returned)


def _seen_to(program: Program) -> set[str]:
    """The functions that close figures or have them shown, with those that call these, and what all of them call: a
    caller closes what it had drawn."""
    ending = {called_as(place) for place in program.places if any(_ends(program, one) for one in _calls_of(place))}
    found = {called_as(place) for place in program.places if not ending.isdisjoint(place.facts.calls)} | ending
    for _ in range(3):
        found |= {name for place in program.places if called_as(place) in found for name in place.facts.calls}
    return found


def _calls_of(place: Place) -> Iterator[Expr]:
    return iter(()) if _ENDS.isdisjoint(place.facts.calls) else calls(place.facts.body)


def _ends(program: Program, call: Expr) -> bool:
    return last_name(call[2]) in _ENDS and program.dotted(call[2]).startswith(_PYPLOT)


def _is_hook(place: Place) -> bool:
    """Whether a method is called again and again by its name."""
    name = place.facts.name.lstrip("_")
    return bool(place.cls) and (name.startswith(_HOOK_STARTS) or name.endswith(_HOOK_ENDS))


def _is_told_the_round(place: Place) -> bool:
    """Whether a function is given the number of the step or epoch that it draws: that differs from call to call."""
    return any(param.name in _ROUNDS for param in place.facts.params)


def _stands_in_a_test(place: Place, made: Stmt) -> bool:
    """Whether a figure is made where there is none: `if self.fig is None`, `if ax is None`."""
    tests = next(tests for one, tests in with_tests(place.facts.body) if one is made)
    names = {last_name(target) for target in targets(made)} | {"ax", "axes", "fig", "figure"}
    parts = (part for test in tests for part in nodes(test))
    return any(part[0] in (m.NAME, m.ATTR, m.CONST) and part[-1] in names for part in parts)


def _goes_over_few(place: Place, made: Stmt) -> bool:
    """Whether the loops around go over a few things that are written there."""
    around = [
        one
        for one in statements(place.facts.body)
        if one[0] in (m.FOR, m.WHILE) and any(inner is made for inner, _ in in_loops((one,)))
    ]
    return all(one[0] == m.FOR and _are_few(place, one[3]) for one in around)


def _are_few(place: Place, over: Expr) -> bool:
    """`("train", "test")`, and a name that the function binds to nothing else than such."""
    if over[0] != m.NAME:
        return over[0] in (m.NEW, m.DICT, m.CONST)
    bound = [one for one in statements(place.facts.body) if over in targets(one)]
    written = (one[0] == m.ASSIGN and _is_written_out(one[3]) for one in bound)
    return bool(bound) and all(written) and not any(call[2][1:2] == (over,) for call in calls(place.facts.body))


def _is_written_out(value: Expr) -> bool:
    """`["train", "test"]`, `["train", "test"] if both else ["test"]`; a list that is empty is filled later."""
    if value[0] == m.COND:
        return all(map(_is_written_out, value[2:4]))
    return bool(value[0] == m.NEW and value[3] and all(item[0] != m.STAR for item in value[3]))


def _is_called_for_few(program: Program, place: Place) -> bool:
    """Whether a script calls a function by itself and for a few things that are written there, `for mode in modes`."""
    name = called_as(place)
    asked = [
        (other, one)
        for other in program.places
        if name in other.facts.calls
        for one in statements(other.facts.body)
        if any(last_name(call[2]) == name for call in calls_of(one))
    ]
    return bool(asked) and all(
        _goes_over_few(other, one) and not is_repeated(program, other, driven=True) for other, one in asked
    )


def _is_left(program: Program, place: Place, names: tuple[Expr, ...], depth: int = 2) -> bool:
    """Whether a function draws the figure, is done with it, and gives neither it nor its axes to anybody else."""
    if place.facts.inner or (names and any(name[0] not in (m.NAME, m.ATTR) for name in names)):
        return False
    held, figure = set(names), set(names[:1])
    if not names:  # `ax = plt.gca()` of a figure without a name
        bound = [one for one in statements(place.facts.body) if one[0] == m.ASSIGN]
        held = {target for one in bound for target in targets(one) if _is_of_pyplot(program, one[3])}
    for statement in statements(place.facts.body):
        parts = expressions_of(statement)
        if statement[0] == m.RETURN and any(_holds(expr, held) for expr in heads(statement)):
            return False
        if statement[0] == m.RETURN and not names and any(_is_of_pyplot(program, part) for part in parts):
            return False  # `return plt.gcf()`
        if any(part[0] == m.YIELD for part in parts) or (statement[0] == m.ASSIGN and _holds(statement[3], held)):
            return False
    drawn = any(_draws(expr, figure) for expr in expressions(place.facts.body))
    for call in calls(place.facts.body):
        if call[2][0] == m.ATTR and call[2][1] in figure and call[2][2] in _ENDS:
            return False
        given = [*enumerate(call[3]), *((-1, value) for _, value in call[4])]
        for index in (index for index, value in given if _holds(value, figure)):
            if last_name(call[2]) not in _ONLY_DRAWS and not _is_left_by(program, call, index, depth):
                return False
            drawn = drawn or last_name(call[2]) not in _LOOKS
    return drawn


def _is_of_pyplot(program: Program, expr: Expr) -> bool:
    return expr[0] == m.CALL and program.dotted(expr[2]).startswith(_PYPLOT)


def _draws(expr: Expr, figure: set[Expr]) -> bool:
    """`fig.savefig(...)`, `plt.savefig(...)`, `fig.canvas...`"""
    if expr[0] != m.ATTR:
        return False
    return (expr[2] == "savefig" and (expr[1][0] == m.NAME or expr[1] in figure)) or (
        expr[2] == "canvas" and expr[1] in figure
    )


def _is_left_by(program: Program, call: Expr, index: int, depth: int) -> bool:
    """Whether a helper of the file that is given a figure draws it and leaves it open as well."""
    helpers = program.by_name.get(last_name(call[2]), [])
    if len(helpers) != 1 or not depth:
        return False
    params = helpers[0].facts.params[(1 if helpers[0].cls and call[2][0] == m.ATTR else 0) :]
    if not 0 <= index < len(params):
        return False
    return _is_left(program, helpers[0], ((m.NAME, params[index].name),), depth - 1)


def _holds(expr: Expr, names: set[Expr]) -> bool:
    if expr in names:
        return True
    if expr[0] == m.NEW:
        return any(_holds(one, names) for one in expr[3])
    if expr[0] == m.DICT:
        return any(_holds(one, names) for _, one in expr[2])
    return expr[0] == m.STAR and _holds(expr[1], names)
