"""Whether an expression can be nothing but a tensor, as far as its function shows.

A finding says that a tensor *can* be there. A number that can be there as well has no `detach`, nor has a list, and
a fix that is called safe must not make an error of it. The run says whether it has seen anything else; what it has
not seen, it says nothing of: where a name is bound in several ways, each has to show for itself what it gives.
"""

from __future__ import annotations

import ast

from ...facts.knowledge import VALUES_AND_INDICES
from .text import FunctionNode, Text

_FUNCTIONS = ("torch", "F", "functional")  # whose functions give tensors, but for these
_OTHERS = VALUES_AND_INDICES | frozenset(
    """split chunk unbind tensor_split unique numel is_tensor max min std_mean var_mean meshgrid aminmax histogram
    broadcast_tensors load allclose equal compile device no_grad""".split()
)
_KEEPS = frozenset("mean sum pow abs sqrt exp log clone square neg float half double cpu cuda view reshape".split())


def is_tensor(text: Text, value: ast.expr, told: bool = True, depth: int = 4) -> bool:
    """Whether every way to the value gives a tensor; `told` by the run that those it has seen do."""
    if isinstance(value, ast.UnaryOp):
        return not isinstance(value.op, ast.Not) and is_tensor(text, value.operand, told, depth)
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        if any(is_tensor(text, side, False, depth) for side in sides):
            return True
        steady = all(is_tensor(text, side, True, depth) or _is_number(text, side) for side in sides)
        return told and steady and not all(isinstance(side, ast.Constant) for side in sides)
    if isinstance(value, ast.IfExp):
        return is_tensor(text, value.body, False, depth) and is_tensor(text, value.orelse, False, depth)
    if isinstance(value, ast.Call):
        return _call(text, value) if told else _certain_call(text, value, depth)
    if isinstance(value, ast.Name) and depth:
        function = text.function(value)
        return function is not None and _name(text, value.id, function, told, depth - 1)
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


def _certain_call(text: Text, call: ast.Call, depth: int) -> bool:
    """`F.mse_loss(a, b)`, `torch.stack(parts).mean()`: by what is called alone."""
    if not isinstance(call.func, ast.Attribute):
        return False
    owner, name = call.func.value, call.func.attr
    last = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    if last in _FUNCTIONS:
        return name not in _OTHERS and name[:1].islower()
    return name in _KEEPS and is_tensor(text, owner, False, depth)


def _name(text: Text, name: str, function: FunctionNode, told: bool, depth: int) -> bool:
    """Whether all that binds a name in its function gives tensors."""
    arguments = function.args
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if parameter.arg == name:
            hint = ast.unparse(parameter.annotation) if parameter.annotation else ""
            return hint.strip("'\"").rsplit(".", 1)[-1] == "Tensor"
    first = _bindings(name, function, text)
    return bool(first) and all(is_tensor(text, value, told and len(first) == 1, depth) for value in first)


def _is_number(text: Text, value: ast.expr) -> bool:
    """A number, or the name of a sum that starts with one."""
    if isinstance(value, ast.Constant):
        return True
    function = text.function(value)
    if not isinstance(value, ast.Name) or function is None:
        return False
    first = _bindings(value.id, function, text)
    return bool(first) and all(isinstance(each, ast.Constant) for each in first)


def _bindings(name: str, function: FunctionNode, text: Text) -> list[ast.expr]:
    """What a name is bound to, but for what is made of what it was before; nothing where that cannot be told."""
    values: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            binding = text.parents[node]
            if isinstance(binding, ast.Assign) and binding.targets == [node]:
                values.append(binding.value)
            elif isinstance(binding, ast.AugAssign):
                continue  # adding to a tensor gives a tensor
            else:
                return []  # unpacked, a loop's variable, a `with`'s, deleted
        elif isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return []
    return [value for value in values if not _mentions(value, name)]


def _mentions(value: ast.expr, name: str) -> bool:
    """`loss = loss / 2`: a tensor if the name was one before."""
    return isinstance(value, ast.BinOp) and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value))
