"""The vocabulary of the facts: what a file's text does, without saying what torch means by it.

Facts are *lexical*. A function body is a tree of plain tuples whose first element is one of the
operation numbers below; strings, numbers and `None` are the only leaves, so the whole of a file's
facts goes through `marshal` unchanged and can be cached or sent between processes.

A *site* is a place in the source: `ordinal * 256 + n`, where `ordinal` counts statements in the
order they are written and `n` counts the calls inside one (0 is the statement itself). Ordinals of a
file start at its number (made from its content) times 2 ** 20, so that sites of different files differ.
`positions.py` turns sites into rows and columns for the few files that need them.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

Expr = tuple[Any, ...]
Stmt = tuple[Any, ...]
Site = int
CALLS_PER_STATEMENT: Final = 256
SHAPED: Final = "shaped"  # the value itself, which is no number: what a loss is computed from
ALL: Final = "all"  # every part of a value together: what `sum(parts)` is made of
CALLS_IN_TEXTS: Final = 192  # where the numbers of calls in formatted strings begin: a statement has hardly more others
DECORATORS: Final = 255  # added to the site of a definition: from its first decorator on
STATEMENTS_PER_FILE: Final = 1 << 20
_SITES_PER_FILE: Final = CALLS_PER_STATEMENT * STATEMENTS_PER_FILE


def statement_of(site: Site) -> int:
    """The number of the statement that a site is in: all its calls have the same."""
    return site // CALLS_PER_STATEMENT


def file_of(site: Site) -> int:
    """The number of the file that a site is in."""
    return site // _SITES_PER_FILE


# Expressions: (operation, operands...)
CONST: Final = 0  # value
NAME: Final = 1  # name
ATTR: Final = 2  # object, name
ITEM: Final = 3  # object, index
SLICE: Final = 4  # lower | None, upper | None, step | None
CALL: Final = 5  # site, callee, positional, ((keyword | "", value), ...)
ARITH: Final = 6  # operator, left, right
COMPARE: Final = 7  # operator, left, right, further comparators
NOT: Final = 8  # operand
BOOL: Final = 9  # operands
COND: Final = 10  # test, then, otherwise
NEW: Final = 11  # id, "list" | "tuple" | "set", elements
DICT: Final = 12  # id, ((key | None, value), ...)
COMP: Final = 13  # id, kind, element, value | None, ((target, iterable, tests), ...)
LAMBDA: Final = 14  # index of the function
AWAIT: Final = 15  # operand
YIELD: Final = 16  # operand | None
YIELD_FROM: Final = 17  # operand
WALRUS: Final = 18  # target, value
STAR: Final = 19  # operand
UNARY: Final = 20  # operand
TEXT: Final = 21  # a formatted string: always light; but for messages also (parts)
EXPRESSIONS: Final = 22

# Statements: (operation, site, operands...)
EXPR: Final = 0  # value
ASSIGN: Final = 1  # targets, value
AUGMENT: Final = 2  # target, operator, value
ANNOTATE: Final = 3  # target, hint, value | None
RETURN: Final = 4  # value | None
DELETE: Final = 5  # targets
FOR: Final = 6  # target, iterable, body, orelse
WHILE: Final = 7  # test, body, orelse
IF: Final = 8  # test, body, orelse
WITH: Final = 9  # ((context, target | None), ...), body
TRY: Final = 10  # body, ((type | None, name | None, body), ...), orelse, final
RAISE: Final = 11  # value | None
DEF: Final = 12  # index of the function
CLASS: Final = 13  # index of the class
IMPORT: Final = 14  # ((local name, dotted), ...)
FROM: Final = 15  # level, module, ((name, local), ...)
GLOBAL: Final = 16  # names
NONLOCAL: Final = 17  # names
JUMP: Final = 18  # whether it is a break
ASSERT: Final = 19  # test
STATEMENTS: Final = 20


class Param(NamedTuple):
    """One parameter. `kind` is "", "*" or "**"; keyword-only parameters have `keyword` set."""

    name: str
    kind: str
    keyword: bool
    hint: Expr | None
    default: Expr | None


class FunctionFacts(NamedTuple):
    """A function, method, lambda, or the body of a module (index 0) or class."""

    name: str
    owner: int  # index of the class, or -1
    site: Site
    params: tuple[Param, ...]
    decorators: tuple[Expr, ...]
    returns: Expr | None
    body: tuple[Stmt, ...]
    generator: bool
    flags: int  # the sinks below
    calls: tuple[str, ...]  # last names of what it calls, for deciding what is worth evaluating
    uses: dict[str, tuple[str, ...]]  # name -> methods called on it: the evidence of use
    backward: dict[Site, str]  # assignment whose value is back-propagated later, or call that does it -> which part
    inner: tuple[int, ...]  # functions defined inside
    coroutine: bool = False  # `async def`: a call makes something that runs later

    @property
    def place(self) -> tuple[Site, str]:
        """What tells it apart from the other functions of the files in a run."""
        return self.site, self.name


class ClassFacts(NamedTuple):
    name: str
    site: Site
    bases: tuple[Expr, ...]
    decorators: tuple[Expr, ...]
    body: int  # index of the function that is the class body
    uses: dict[str, tuple[str, ...]]  # attribute of self -> methods called on it
    methods: dict[str, int]
    metaclass: Expr | None = None


class FileFacts(NamedTuple):
    """Everything the analysis keeps of one file."""

    functions: tuple[FunctionFacts, ...]
    classes: tuple[ClassFacts, ...]
    statements: int
    number: int  # of the file; sites in different files differ


NAMESPACE: Final = FileFacts((FunctionFacts("<module>", -1, 0, (), (), None, (), False, 0, (), {}, {}, ()),), (), 0, 0)
"""A folder without an `__init__.py`: a package with nothing in it but its modules."""

LEAVES: Final = (RETURN, RAISE, JUMP)  # what a block ends with that is not gone on from

# What a function may do that a rule could speak about; a function without any, whose callees have
# none either, is never evaluated for its own sake.
GROWS: Final = 1  # adds to a container or augments a place
KEEPS: Final = 2  # stores to an attribute or an element
MODE: Final = 4  # mentions a grad mode
EVALUATES: Final = 8  # puts a module in eval mode, or insists on it
BACKWARD: Final = 16
HOOKS: Final = 32
DISCARDS: Final = 64  # a bare statement whose call has no effect of its own
LOCAL: Final = 128  # adds to something of its own, or rebinds a name in a loop
THREADS: Final = 256
RELEASES: Final = 1024  # empties something of its object
HOLDS: Final = 2048  # hands something to a place that keeps it, or takes it out again
BINDS: Final = 4096  # keeps one of its object's methods, or a lambda, on the object
TRIES: Final = 8192  # has a `try`
IMPORTS: Final = 16384
RECORDS: Final = 512  # anomaly mode, profiler, memory history
