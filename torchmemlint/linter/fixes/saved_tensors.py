"""`ctx.x = tensor` -> `ctx.save_for_backward(tensor)`, and what reads it, in a `torch.autograd.Function`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...finding import Edit
from .remedies import Candidate, Node, remedy
from .text import Text


@remedy("save-for-backward")
def _save(text: Text, node: Node, about: str) -> Iterator[Candidate]:
    """All tensors that a function keeps on `ctx`, in one call where the last of them was kept; `about` names them."""
    cls = next((each for each in text.above(node) if isinstance(each, ast.ClassDef)), None)
    function = text.function(node)
    if cls is None or function is None or not function.args.args:
        return
    ctx = function.args.args[0].arg
    kept = _kept(text, function, ctx, about.split())
    if not any(store is node for store, _ in kept.values()) or _uses(cls, "save_for_backward", "saved_tensors"):
        return
    last = max((store for store, _ in kept.values()), key=lambda store: store.lineno)
    names = [name for _, values in kept.values() for name in values]
    edits = [Edit(text.start(last), text.end(last), f"{ctx}.save_for_backward({', '.join(names)})")]
    for store, _ in kept.values():
        if store is not last:
            if not text.stands_alone(store):
                return
            edits.append(text.without_lines(store))
    reads = _reads(text, cls, function, kept)
    if reads is not None:
        yield Candidate("Save tensors with `save_for_backward`", (*edits, *reads), False)


_Kept = dict[str, tuple[ast.Assign, list[str]]]


def _kept(text: Text, function: ast.AST, ctx: str, wanted: list[str]) -> _Kept:
    """What is put on `ctx` at the top of a function under the names that are wanted: statement and values."""
    found: _Kept = {}
    for statement in getattr(function, "body", []):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        if not isinstance(target, ast.Attribute) or text.of(target.value) != ctx:
            continue
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        if target.attr in wanted and all(isinstance(part, ast.Name) for part in parts):
            found[target.attr] = (statement, [text.of(part) for part in parts])
    return found


def _reads(text: Text, cls: ast.ClassDef, function: ast.AST, kept: _Kept) -> list[Edit] | None:
    """Edits of what reads the attributes in the other methods; None where one is used in another way."""
    edits: list[Edit] = []
    offsets: dict[str, int] = {}
    for name in kept:
        offsets[name] = sum(len(kept[other][1]) for other in list(kept)[: len(offsets)])
    inside = set(ast.walk(function))
    for node in ast.walk(cls):
        if not isinstance(node, ast.Attribute) or node.attr not in kept or node in inside:
            continue
        method = text.function(node)
        if method is None or not method.args.args or text.of(node.value) != method.args.args[0].arg:
            continue
        if not isinstance(node.ctx, ast.Load):
            return None
        first, store = offsets[node.attr], kept[node.attr][0]
        count = len(kept[node.attr][1])
        items = f"[{first}:{first + count}]" if isinstance(store.value, ast.Tuple) else f"[{first}]"
        edits.append(Edit(text.start(node), text.end(node), f"{text.of(node.value)}.saved_tensors{items}"))
    return edits


def _uses(cls: ast.ClassDef, *names: str) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in names for node in ast.walk(cls))
