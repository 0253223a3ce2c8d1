"""Texts that name an accelerator: `"cuda"`, `f"cuda:{rank}"`, `"cuda:%d" % rank`, `torch.device("cuda", rank)`."""

from __future__ import annotations

from typing import Final

from . import model as m
from .model import Expr

ACCELERATORS: Final = ("cuda", "mps", "xpu", "npu")


def names_an_accelerator(expr: Expr) -> bool:
    """Whether an expression is such a text, or a device that is made of one."""
    op = expr[0]
    if op == m.CONST:
        return isinstance(expr[1], str) and expr[1].startswith(ACCELERATORS)
    if op == m.TEXT:
        return len(expr) > 1 and names_an_accelerator(expr[1][0])
    if op == m.ARITH:
        return expr[1] in ("Add", "Modulo") and names_an_accelerator(expr[2])
    if op == m.CALL and expr[2][-1] == "device":
        return bool(expr[3]) and names_an_accelerator(expr[3][0])
    if op == m.CALL and expr[2][0] == m.ATTR and expr[2][2] == "format":
        return names_an_accelerator(expr[2][1])
    return False
