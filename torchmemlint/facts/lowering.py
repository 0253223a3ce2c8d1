"""A syntax tree -> facts, in one walk, whoever made the tree: numbers, scopes, and what each construct says.

How a tree is taken apart is the reader's: `from_ast.py` has trees of the standard library, `from_libcst.py` those of
libcst. Both say the same of a text that both can parse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from . import model as m
from .device_names import ACCELERATORS
from .differentiated import operands
from .knowledge import GRAD_MODES, GRAD_OFF
from .low_memory import too_little_memory
from .model import ClassFacts, Expr, FileFacts, FunctionFacts, Param, Site, Stmt
from .noted_calls import note_call
from .scopes import SELF, Scope, is_light, is_light_param, is_new, may_bind
from .walk import last_name

Body = Callable[[], tuple[Stmt, ...]]  # lowers a body when its scope has been entered
_LONGEST_TEXT = 58  # characters; longer constants are never keys or device names
_LARGEST_INTEGER = 10**18
_SOME_TEXT = (m.TEXT,)
_MESSAGES = frozenset("print debug info warning warn error exception critical log write echo".split())
# calls of a formatted string that only look at a value
LOOKS = frozenset(
    """abs bool cpu detach dict float format get getattr hex id int isoformat item items join keys len list max mean
    memory_allocated max_memory_allocated min now numel numpy perf_counter repr round set shape size sorted split
    str strftime strip sum time tolist tuple type upper lower values""".split()
)
_DISCARDED = frozenset("detach cpu cuda to float half double numpy clone no_grad inference_mode enable_grad".split())


class Lowering:
    """One walk over one file."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.first = number * m.STATEMENTS_PER_FILE
        self.functions: list[FunctionFacts | None] = []
        self.classes: list[ClassFacts | None] = []
        self.ordinal = self.first - 1
        self.calls = self.calls_in_texts = 0
        self.ids = 0
        self.scope = Scope()
        self.class_uses: dict[str, set[str]] | None = None
        self.owner = -1

    # -- what a reader does -----------------------------------------------------------------------

    def expression(self, node: Any) -> Expr:
        """The facts of an expression."""
        raise NotImplementedError

    def text_or_value(self, node: Any) -> Expr:
        """The facts of an expression that may be a key: of a formatted string with its parts."""
        raise NotImplementedError

    def does_something(self, node: Any) -> bool:
        """Whether an expression calls more than what looks at a value, `loss.item()`, `len(rows)`."""
        raise NotImplementedError

    def suite(self, node: Any) -> tuple[Stmt, ...]:
        """The facts of a compound statement's block."""
        raise NotImplementedError

    def orelse(self, node: Any) -> tuple[Stmt, ...]:
        """The facts of an `else` or `elif`, if there is one."""
        raise NotImplementedError

    # -- numbering --------------------------------------------------------------------------------

    def call_site(self) -> Site:
        self.calls = min(self.calls + 1, m.CALLS_PER_STATEMENT - 1)
        return self.ordinal * m.CALLS_PER_STATEMENT + self.calls

    def new_id(self) -> int:
        self.ids += 1
        return self.ids

    def statement_site(self) -> Site:
        self.ordinal += 1
        self.calls = self.calls_in_texts = 0
        return self.ordinal * m.CALLS_PER_STATEMENT

    # -- scopes -----------------------------------------------------------------------------------

    def file(self, body: Body) -> FileFacts:
        self.functions.append(None)
        lowered = body()
        site = self.first * m.CALLS_PER_STATEMENT
        self.functions[0] = self._finish("<module>", site, (), (), None, lowered, self.scope)
        functions = tuple(function for function in self.functions if function is not None)
        classes = tuple(klass for klass in self.classes if klass is not None)
        return FileFacts(functions, classes, self.ordinal + 1 - self.first, self.number)

    def _finish(
        self,
        name: str,
        site: Site,
        params: tuple[Param, ...],
        decorators: tuple[Expr, ...],
        returns: Expr | None,
        body: tuple[Stmt, ...],
        scope: Scope,
        coroutine: bool = False,
    ) -> FunctionFacts:
        uses = {key: tuple(sorted(names)) for key, names in scope.uses.items()}
        return FunctionFacts(
            name,
            self.owner,
            site,
            params,
            decorators,
            returns,
            body,
            scope.generator,
            scope.all_flags(name, off=any(last_name(one) in GRAD_OFF for one in decorators)),
            tuple(sorted(scope.calls)),
            uses,
            scope.backward,
            tuple(scope.inner),
            coroutine,
        )

    def function(
        self,
        name: str,
        site: Site,
        params: tuple[Param, ...],
        body: Body,
        decorators: tuple[Expr, ...] = (),
        returns: Expr | None = None,
        coroutine: bool = False,
    ) -> int:
        """Lower the body of a function whose signature has been; returns its index."""
        index = len(self.functions)
        self.functions.append(None)
        outer, owner = self.scope, self.owner
        outer.inner.append(index)
        self.scope = scope = Scope()
        for param in params:
            scope.assigned[param.name] = [-1]
            (scope.made if param.kind else scope.taken).add(param.name)
            if is_light_param(param):
                scope.light.add(param.name)
        self.owner = -1  # a function inside a method is not itself a method
        lowered = body()
        self.owner = owner
        self.scope = outer
        self.functions[index] = self._finish(name, site, params, decorators, returns, lowered, scope, coroutine)
        return index

    def one_line(self, params: tuple[Param, ...], value: Callable[[], Expr]) -> Expr:
        """A lambda, which belongs to the class that it is written in."""
        site = self.ordinal * m.CALLS_PER_STATEMENT
        owner = self.owner

        def body() -> tuple[Stmt, ...]:
            self.owner = owner
            return ((m.RETURN, site, value()),)

        return (m.LAMBDA, self.function("<lambda>", site, params, body))

    def klass(
        self,
        name: str,
        site: Site,
        bases: tuple[Expr, ...],
        keywords: Iterable[tuple[str | None, Expr]],
        body: Body,
        decorators: tuple[Expr, ...],
    ) -> Stmt:
        metaclass = next((value for keyword, value in reversed(list(keywords)) if keyword == "metaclass"), None)
        index = len(self.classes)
        self.classes.append(None)
        body_index = len(self.functions)
        self.functions.append(None)
        outer, owner, uses = self.scope, self.owner, self.class_uses
        outer.inner.append(body_index)
        self.scope, self.owner, self.class_uses = Scope(), index, {}
        lowered = body()
        self.functions[body_index] = self._finish(name, site, (), (), None, lowered, self.scope)
        gathered = {key: tuple(sorted(names)) for key, names in self.class_uses.items()}
        self.scope, self.owner, self.class_uses = outer, owner, uses
        methods = {}
        for statement in _definitions(lowered):
            function = self.functions[statement[2]]
            if function is not None:
                methods[function.name] = statement[2]
        self.classes[index] = ClassFacts(name, site, bases, decorators, body_index, gathered, methods, metaclass)
        return (m.CLASS, site, index)

    # -- expressions ------------------------------------------------------------------------------

    def call(self, site: Site, callee: Expr, positional: list[Expr], keywords: list[tuple[str, Expr]]) -> Expr:
        call = (m.CALL, site, callee, tuple(positional), tuple(keywords))
        note_call(self.scope, self.class_uses, call, self.ordinal)
        return call

    def named(self, name: str, node: Any) -> tuple[str, Expr]:
        """What a call is given by name; of `request_id=f"{kind}-{number}"` may become a key."""
        return name, self.text_or_value(node)

    def given(self, callee: Expr, node: Any) -> Expr:
        """What a call is given by position: a name that is put together, `getattr(callback, f"on_{event}")`, says
        which attribute is meant, or a key, `service.load(f"tenant-{i}")`. A message for people is neither."""
        name = callee[0] in (m.NAME, m.ATTR) and not _tells(callee[-1])
        return self.text_or_value(node) if name else self.expression(node)

    def unevaluated(self, node: Any) -> Expr:
        """An annotation. Calls inside one get no site: they are never evaluated."""
        calls = self.calls
        hint = self.expression(node)
        self.calls = calls
        return hint

    def key(self, parts: Iterable[tuple[Any, bool] | str]) -> Expr:
        """A formatted string that may be a key, as texts, and as expressions with whether they are shown as they are.
        Its parts say which key it is, and whether it is a new one each time. Its calls are numbered apart: nobody looks
        for their places (`facts/positions.py`)."""
        before, self.calls = self.calls, max(self.calls_in_texts, m.CALLS_IN_TEXTS)
        lowered: list[Expr] = []
        for part in parts:
            if isinstance(part, str):
                lowered.append((m.CONST, part))
            else:
                node, plain = part
                lowered.append(self.expression(node) if plain else self._shown(node))
        self.calls_in_texts, self.calls = self.calls, before
        return (m.TEXT, tuple(lowered))

    def formatted(self, parts: Iterable[tuple[Any, bool] | str]) -> Expr:
        """Of a formatted string that is no key only those parts are kept that call functions which may do something,
        `print(f"loss {evaluate(model):.3f}")`, or say whose file it is, `f"part-{rank}.pt"`, or that memory ran out;
        and all of one that names a device."""
        parts = list(parts)
        if parts and isinstance(parts[0], str) and parts[0].startswith(ACCELERATORS):
            return self.key(parts)
        shown = [part[0] for part in parts if not isinstance(part, str)]
        if any(map(self.does_something, shown)):
            return self.key([(node, False) for node in shown if self.does_something(node)])
        ranks = [(node, True) for node in shown if _word(node).endswith("rank")]
        return self.key(ranks) if ranks else _message("".join([part for part in parts if isinstance(part, str)]))

    def _shown(self, node: Any) -> Expr:
        """An expression of which the text is shown, `{step:05d}`: of interest for what it calls, and whether it is new
        each time. It is not the text itself."""
        if self.does_something(node):
            return (m.TEXT, (self.expression(node),))
        return (m.TEXT, (_SOME_TEXT, self.expression(node))) if _is_name(node) else _SOME_TEXT

    # -- statements -------------------------------------------------------------------------------

    def target(self, node: Any, site: Site) -> Expr:
        lowered = self.expression(node)
        self._note_target(lowered, site)
        return lowered

    def _note_target(self, target: Expr, site: Site, new: bool = False, light: bool = False) -> None:
        op = target[0]
        if op == m.NAME:
            self.scope.assigned.setdefault(target[1], []).append(site)
            (self.scope.made if new else self.scope.taken).add(target[1])
        elif op in (m.ATTR, m.ITEM):
            self.scope.keep(m.RELEASES if light and op == m.ATTR else m.KEEPS, target)
        elif op == m.NEW:
            self.scope.unpacked.add(site)
            for item in target[3]:
                self._note_target(item, site)
        elif op == m.STAR:
            self._note_target(target[1], site)

    def looped(self, body: Body) -> tuple[Stmt, ...]:
        self.scope.loops += 1
        lowered = body()
        self.scope.loops -= 1
        return lowered

    def value(self, site: Site, value: Expr) -> Stmt:
        """An expression that stands alone."""
        if value[0] == m.CALL:
            callee = value[2]
            if (callee[0] == m.ATTR and callee[2] in _DISCARDED) or (callee[0] == m.NAME and callee[1] in GRAD_MODES):
                self.scope.flags |= m.DISCARDS
        return (m.EXPR, site, value)

    def assign(self, site: Site, targets: tuple[Expr, ...], value: Expr) -> Stmt:
        scope = self.scope
        new, light = is_new(value), is_light(scope, value)
        for target in targets:
            self._note_target(target, site, new, light)
            if target[0] == m.ATTR and target[1] == SELF and may_bind(value):
                scope.flags |= m.BINDS
            if target[0] == m.NAME:
                scope.operands[site] = operands(value)
                if scope.loops and value[0] not in (m.CONST, m.NAME, m.TEXT):
                    scope.flags |= m.LOCAL
            elif target[0] == m.NEW and scope.loops:
                scope.flags |= m.LOCAL
        return (m.ASSIGN, site, targets, value)

    def augment(self, site: Site, target: Expr, operator: str, value: Expr) -> Stmt:
        self._note_target(target, site, new=True)
        self.scope.keep(m.GROWS, target)
        return (m.AUGMENT, site, target, operator, value)

    def import_as(self, dotted: str, alias: str | None) -> tuple[str, str]:
        """A local name and what it stands for: the whole name only where it is renamed."""
        self.scope.flags |= m.IMPORTS
        root = dotted.split(".", 1)[0]
        return (root, root) if alias is None else (alias, dotted)

    def names(self, operation: int, site: Site, names: tuple[str, ...]) -> Stmt:
        self.scope.taken.update(names)
        return (operation, site, names)

    def asserted(self, site: Site, test: Expr) -> Stmt:
        if test[0] == m.NOT and test[1][0] == m.ATTR and test[1][2] == "training":
            self.scope.flags |= m.EVALUATES  # `assert not model.training`: somebody has put it in that mode for this
        return (m.ASSERT, site, test)

    def entered(self, context: Expr) -> Expr:
        """What `with` enters."""
        if context[0] in (m.ATTR, m.NAME) and context[-1] in GRAD_MODES:
            self.scope.flags |= m.MODE
        return context

    def fits(self, site: Site, subject: Expr, classes: tuple[Expr, ...] | None, more: bool) -> Expr:
        """The test of a case: `isinstance(subject, (list, tuple))` of `case list() | tuple():`; `more` if it asks for
        more, without `classes` if it does not ask for that."""
        rest = (m.COMPARE, "Match", subject, (m.TEXT,), ())
        if classes is None:
            return rest
        is_one: Expr = (m.CALL, site, (m.NAME, "isinstance"), (subject, (m.NEW, site, "tuple", classes)), ())
        return (m.BOOL, "and", (is_one, rest)) if more else is_one


def text(value: str) -> Expr:
    """A string, if it is short enough to be a key or the name of a device."""
    return (m.CONST, value) if len(value) <= _LONGEST_TEXT else _message(value)


def _message(words: str) -> Expr:
    """What is kept of a text for people."""
    told = too_little_memory(words)
    return (m.TEXT, ((m.CONST, told),)) if told else _SOME_TEXT


def integer(value: int) -> Expr:
    return (m.CONST, value) if value < _LARGEST_INTEGER else (m.TEXT,)


def fraction(value: float) -> Expr:
    """A number with a point: none of them is asked for but zero, which says that something is off."""
    return (m.TEXT,) if value else (m.CONST, 0)


def negative(operand: Expr) -> Expr:
    if operand[0] == m.CONST and isinstance(operand[1], int):
        return (m.CONST, -operand[1])
    return (m.UNARY, operand)


def matched(site: Site, cases: list[tuple[Expr | None, tuple[Stmt, ...]]]) -> Stmt:
    """`match` as nested alternatives: patterns bind nothing that is known to be heavy. A case without test is `_`."""
    orelse: tuple[Stmt, ...] = ()
    for test, body in reversed(cases):
        orelse = body if test is None else ((m.IF, site, test, body, orelse),)
    return orelse[0] if len(orelse) == 1 else (m.IF, site, (m.CONST, True), orelse, ())


def _definitions(body: tuple[Stmt, ...]) -> list[Stmt]:
    found: list[Stmt] = []
    for statement in body:
        if statement[0] == m.DEF:
            found.append(statement)
        elif statement[0] == m.IF:
            found += _definitions(statement[3]) + _definitions(statement[4])
    return found


def _tells(callee: str) -> bool:
    """Whether what is called has a message for people: a logger, an error."""
    return callee in _MESSAGES or callee.endswith(("Error", "Exception", "Warning"))


def _is_name(node: Any) -> bool:
    """Whether an expression of either parser is a name."""
    return type(node).__name__ == "Name"


def _word(node: Any) -> str:
    """The last part of a name, of either parser: `rank` of `self.rank`."""
    name = getattr(node, "attr", node)
    word = getattr(name, "id", None) or getattr(name, "value", name)
    return word if isinstance(word, str) else ""
