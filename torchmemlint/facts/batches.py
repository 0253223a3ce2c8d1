"""Loops over what a loader gives, by the names that are usual for one."""

from __future__ import annotations

from . import model as m
from .model import Expr, Stmt
from .walk import last_name, loops

THROUGH = ("enumerate", "tqdm", "track", "iter", "zip", "islice")
_OBJECTS = tuple(  # which may move in place
    (m.NAME, name) for name in "data batch graph g bg inputs encoding enc sample samples".split()
)


def is_loader(over: Expr) -> bool:
    """`loader`, `enumerate(self.train_dl)`, `tqdm(batches)`."""
    while over[0] == m.CALL and last_name(over[2]) in THROUGH and over[3]:
        over = over[3][0]
    name = last_name(over).lower()
    return "loader" in name or name.endswith("dl") or name in ("batches", "minibatches")


def is_part_of_a_batch(block: tuple[Stmt, ...], name: Expr) -> bool:
    """Whether a name has one of several parts of what a loader gives, `for images, labels in loader`."""
    for loop, _ in loops(block):
        if loop[0] != m.FOR:
            continue
        pattern = loop[2]
        if loop[3][0] == m.CALL and last_name(loop[3]) == "enumerate" and pattern[0] == m.NEW:
            pattern = pattern[3][-1]
        if pattern[0] == m.NEW and name in pattern[3] and is_loader(loop[3]):
            return name not in _OBJECTS
    return False
