"""Places that the first round fills and all others add to: `if self.seen == 0: self.mean = x else: self.mean += x`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..facts import model as m
from ..facts.model import Expr, FileFacts, Stmt, statement_of
from ..facts.program import targets
from ..facts.walk import statements
from ..facts.when_missing import absent
from ..interpreter.events import Reset, Store

_SELF = (m.NAME, "self")


def is_first_time(reset: Reset, store: Store, files: Sequence[FileFacts]) -> bool:
    """Whether what is bound anew is bound in the first round alone: in the other arm of a test of a counter or a flag
    on the object, which no function but the constructor puts back."""
    test = parting(reset, store)
    asked = None if test is None else _asked(test)
    return asked is not None and not any(_is_put_back(facts, *asked) for facts in files)


def parting(reset: Reset, store: Store) -> Expr | None:
    """The test in one arm of which a place is let go, and filled in the other one: never both in a round."""
    for statement in statements(store.frame.facts.body) if reset.frame is store.frame else ():
        if statement[0] != m.IF:
            continue
        arms = [{one[1] for one in statements(arm)} for arm in statement[3:5]]
        sites = [next((site for site in arm if site in (reset.site, store.site)), None) for arm in arms]
        if None not in sites and sites[0] != sites[1]:
            test: Expr = statement[2]
            return test
    return None


def begins_with(store: Store, files: Sequence[FileFacts]) -> bool:
    """Whether an attribute is bound beside another one that was found to be missing: `if self.keys is None: self.keys,
    self.values = k, v`. It has held nothing by then, unless the other one alone is put back."""
    number = statement_of(store.site)
    for statement in statements(store.frame.facts.body):
        for holds, arm in ((True, statement[3]), (False, statement[4])) if statement[0] == m.IF else ():
            if all(statement_of(one[1]) != number for one in arm):
                continue
            bound = {target for one in arm for target in targets(one)}
            for place in absent(statement[2], holds):
                if place in bound and place[:2] == (m.ATTR, _SELF):
                    alone = _is_put_back_in(files, place[2]) and not _is_put_back_in(files, store.key)
                    return not alone
    return False


def _asked(test: Expr) -> tuple[str, bool] | None:
    """The attribute that a test asks, and whether it may be a flag: `self.seen == 0`, `not self.started`."""
    if test[0] == m.COMPARE and test[1] in ("Equal", "Is") and test[3][0] == m.CONST and not any(test[4:]):
        return (test[2][2], False) if test[2][:2] == (m.ATTR, _SELF) else None
    flag = test[1] if test[0] == m.NOT else test
    return (flag[2], True) if flag[:2] == (m.ATTR, _SELF) else None


def _is_put_back_in(files: Sequence[FileFacts], name: str) -> bool:
    return any(_is_put_back(facts, name, False) for facts in files)


def _is_put_back(facts: FileFacts, name: str, flag: bool) -> bool:
    """Whether a function binds an attribute of this name to a constant, other than to say that it has begun."""
    for function in facts.functions:
        for place, value in _bindings(function.body) if function.name != "__init__" else ():
            if place[0] == m.ATTR and place[2] == name and value[0] == m.CONST and not (flag and value[1] is True):
                return True
    return False


def _bindings(body: tuple[Stmt, ...]) -> Iterator[tuple[Expr, Expr]]:
    for statement in statements(body):
        if statement[0] == m.ASSIGN:
            yield from ((place, statement[3]) for place in statement[2])
