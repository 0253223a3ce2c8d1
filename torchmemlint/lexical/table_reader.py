"""What a function reads of each record in a table, `self.runs[name]`, as `unread_entries.Reader` tells it of a list."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr
from .unread_entries import Reader


class TableReader(Reader):
    """Goes through a function that has a dictionary of records. Its keys are no records."""

    def expression(self, expr: Expr) -> None:
        """`name in runs` and `runs.keys()` look at keys, `runs.get(name)` at one record, or at a default."""
        if expr[0] == m.COMPARE and expr[1] in ("In", "NotIn") and expr[3] in self.all:
            self.expression(expr[2])
        elif expr[0] != m.CALL or not self._is_method(expr, "keys"):
            super().expression(expr)

    def _goes_over(self, target: Expr, iterable: Expr) -> bool:
        """`for name, run in runs.items()`, `for run in runs.values()`, and `for name in runs`, which gives keys."""
        if self._is_method(iterable, "items") and target[0] == m.NEW and len(target[3]) == 2:
            self.each.add(target[3][1])
            return bool(target[3][1][0] == m.NAME)
        if self._is_method(iterable, "values"):
            self.each.add(target)
            return bool(target[0] == m.NAME)
        return iterable in self.all or self._is_method(iterable, "keys")

    def _are_several(self, expr: Expr) -> bool:
        return bool(expr in self.all)

    def _is_one(self, expr: Expr) -> bool:
        if expr[0] == m.ITEM and expr[2][0] != m.SLICE and expr[1] in self.all:
            return True
        return bool(expr in self.each) or (expr[0] == m.CALL and self._is_method(expr, "get"))

    def _is_method(self, expr: Expr, name: str) -> bool:
        return bool(expr[0] == m.CALL and expr[2][0] == m.ATTR and expr[2][2] == name and expr[2][1] in self.all)
