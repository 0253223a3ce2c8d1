"""Whether an expression can be nothing but a tensor, as far as its function shows.

A finding says that a tensor *can* be there. A number that can be there as well has no `detach`, and
a fix that is called safe must not make an error of it.
"""

from __future__ import annotations

import ast

from .text import FunctionNode, Text


def is_tensor(text: Text, value: ast.expr, depth: int = 4) -> bool:
    """Whether every way to the value gives a tensor, given that one of them does."""
    if isinstance(value, ast.UnaryOp):
        return not isinstance(value.op, ast.Not) and is_tensor(text, value.operand, depth)
    if isinstance(value, ast.BinOp):
        return is_tensor(text, value.left, depth) or is_tensor(text, value.right, depth)
    if isinstance(value, ast.IfExp):
        return is_tensor(text, value.body, depth) and is_tensor(text, value.orelse, depth)
    if isinstance(value, ast.Call):
        return _call(text, value)
    if isinstance(value, ast.Name) and depth:
        function = text.function(value)
        return function is not None and _name(text, value.id, function, depth - 1)
    return False


def _call(text: Text, call: ast.Call) -> bool:
    """Calls of functions of this file count if none of their `return`s gives a constant or nothing."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("float", "int", "len", "sum", "max", "min", "getattr", "get", "pop", "item", "tolist"):
        return False
    for function in ast.walk(text.tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.name == name:
            returns = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
            if any(value is None or isinstance(value, (ast.Constant, ast.Tuple, ast.Dict)) for value in returns):
                return False
    return True


def _name(text: Text, name: str, function: FunctionNode, depth: int) -> bool:
    """Whether all that binds a name in its function gives tensors."""
    arguments = function.args
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if parameter.arg == name:
            hint = ast.unparse(parameter.annotation) if parameter.annotation else ""
            return hint.strip("'\"").rsplit(".", 1)[-1] == "Tensor"
    values: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            binding = text.parents[node]
            if isinstance(binding, ast.Assign) and binding.targets == [node]:
                values.append(binding.value)
            elif isinstance(binding, ast.AugAssign):
                continue  # adding to a tensor gives a tensor
            else:
                return False  # unpacked, a loop's variable, a `with`'s, deleted
        elif isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return False
    first = [value for value in values if not _mentions(value, name)]
    return bool(first) and all(is_tensor(text, value, depth) for value in first)


def _mentions(value: ast.expr, name: str) -> bool:
    """`loss = loss / 2`: a tensor if the name was one before."""
    return isinstance(value, ast.BinOp) and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value))
