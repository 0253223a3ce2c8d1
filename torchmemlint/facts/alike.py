"""Constructs of which both trees have the same parts under the same names -> facts."""

from __future__ import annotations

from typing import Any

from . import model as m
from .lowering import Lowering
from .model import Expr, Site, Stmt


def conditional(low: Lowering, node: Any) -> Expr:
    then = low.text_or_value(node.body)
    test = low.expression(node.test)
    return (m.COND, test, then, low.text_or_value(node.orelse))


def walrus(low: Lowering, node: Any) -> Expr:
    return (m.WALRUS, low.expression(node.target), low.expression(node.value))


def return_(low: Lowering, node: Any, site: Site) -> Stmt:
    return (m.RETURN, site, None if node.value is None else low.text_or_value(node.value))


def raise_(low: Lowering, node: Any, site: Site) -> Stmt:
    return (m.RAISE, site, None if node.exc is None else low.expression(node.exc))


def break_(low: Lowering, node: Any, site: Site) -> Stmt:
    return (m.JUMP, site, True)


def continue_(low: Lowering, node: Any, site: Site) -> Stmt:
    return (m.JUMP, site, False)


def assert_(low: Lowering, node: Any, site: Site) -> Stmt:
    return low.asserted(site, low.expression(node.test))


def for_(low: Lowering, node: Any, site: Site) -> Stmt:
    target = low.target(node.target, site)
    iterable = low.expression(node.iter)
    return (m.FOR, site, target, iterable, low.looped(lambda: low.suite(node.body)), low.orelse(node.orelse))


def while_(low: Lowering, node: Any, site: Site) -> Stmt:
    test = low.expression(node.test)
    return (m.WHILE, site, test, low.looped(lambda: low.suite(node.body)), low.orelse(node.orelse))


def if_(low: Lowering, node: Any, site: Site) -> Stmt:
    test = low.expression(node.test)
    return (m.IF, site, test, low.suite(node.body), low.orelse(node.orelse))
