"""What the text of a function says about its run: which names are tensors, which tests can be taken to hold."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

_OF_TENSORS = frozenset(
    """backward detach item unsqueeze squeeze permute contiguous masked_fill masked_fill_ masked_select index_select
    log_softmax type_as view_as expand_as new_zeros new_ones new_tensor new_full requires_grad_ grad_fn unbind
    repeat_interleave scatter_ scatter_add_ logsumexp clamp clamp_ baddbmm bmm matmul flatten narrow""".split()
)
_WITHOUT_ARGUMENTS = frozenset(("backward", "detach", "item"))  # of others' methods with these names, arguments tell
_OTHERS = frozenset(
    "cat stack concat hstack vstack tensor as_tensor from_numpy save load is_tensor Tensor Size".split()
)
_FUNCTIONS = ("torch", "F", "torch.nn.functional", "nn.functional")
_EXITS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def tensors(function: ast.AST) -> set[str]:
    """Names that are used in a function as only tensors are: `loss.backward()`, `F.relu(x)`."""
    found: set[str] = set()
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner, method = node.func.value, node.func.attr
        first = node.args[0] if node.args else None
        if isinstance(owner, ast.Name) and method in _OF_TENSORS and not (first and method in _WITHOUT_ARGUMENTS):
            found.add(owner.id)
        if isinstance(first, ast.Name) and method not in _OTHERS and ast.unparse(owner) in _FUNCTIONS:
            found.add(first.id)
    return found


def computed(functions: Iterable[ast.AST]) -> set[str]:
    """Names and attributes that functions store something in."""
    return {
        ast.unparse(node)
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store)
    }


def is_setting(test: ast.expr, stored: set[str]) -> bool:
    """Whether a test asks only for what a function was given: for nothing that it computes."""
    parts = [node for node in ast.walk(test) if isinstance(node, (ast.Name, ast.Attribute))]
    return bool(parts) and not any(ast.unparse(part) in stored for part in parts)


def exits(node: ast.If) -> bool:
    """Whether an `if` does nothing but leave."""
    return bool(node.body) and isinstance(node.body[-1], _EXITS) and not node.orelse


def guards(flagged: Sequence[ast.AST]) -> set[int]:
    """The tests before a flagged statement that would leave before it is reached: each an `if` by its id."""
    found: set[int] = set()
    row = getattr(flagged[0], "lineno", 0) if flagged else 0
    for outer in flagged[1:]:
        for name in ("body", "orelse", "finalbody"):
            body = getattr(outer, name, None) or []
            if not any(one.lineno <= row <= (one.end_lineno or one.lineno) for one in body):
                continue
            found |= {id(one) for one in body if isinstance(one, ast.If) and exits(one) and one.lineno < row}
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            break
    return found


def chain(tree: ast.Module, row: int) -> list[ast.AST]:
    """The statements that a row is in, from the innermost out; without the module."""
    found: list[ast.AST] = []
    body: list[Any] = tree.body
    while body:
        inside = None
        for node in body:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            if first <= row <= (node.end_lineno or node.lineno):
                inside = node
        if inside is None:
            break
        found.insert(0, inside)
        body = [
            one
            for name in ("body", "orelse", "finalbody", "handlers", "cases")
            for one in getattr(inside, name, ())
            if hasattr(one, "lineno")
        ]
    return found


def slice_of(flagged: list[ast.AST]) -> set[int]:
    """Lines of the flagged function that bind what the flagged statement depends on, directly or not."""
    statement: Any = flagged[0]
    function = next((node for node in flagged if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if function is None:
        return {statement.lineno}
    wanted = {node.id for node in ast.walk(flagged[0]) if isinstance(node, ast.Name)}
    lines = set() if hasattr(statement, "body") else set(range(statement.lineno, statement.end_lineno + 1))
    bindings = [node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))]
    while True:
        before = len(lines)
        for node in bindings:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [one for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            if any(isinstance(one.ctx, ast.Store) and one.id in wanted for one in names):
                lines.add(node.lineno)
                wanted |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        if len(lines) == before:
            return lines


def bound(statement: ast.stmt) -> set[str]:
    """Names that a statement of a module binds or changes; `*` for those that an import brings along."""
    found: set[str] = set()
    for node in [statement] if isinstance(statement, _SCOPES) else ast.walk(statement):
        if isinstance(node, _SCOPES):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            found |= {inner.id for inner in ast.walk(node.value) if isinstance(inner, ast.Name)}
    return found


def used(statement: ast.stmt) -> set[str]:
    """Names that occur in a statement."""
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
