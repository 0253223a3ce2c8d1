"""Un-fix mutants of grad mode and of hooks: the `no_grad` around an inference, the `detach` in a forward hook.

`no_grad` places (kinds `with` and `decorator`): a `with torch.no_grad():` / `inference_mode()` block, or a function
under such a decorator, is chosen only if

* it calls a model: something that this function puts into `.eval()` mode, or whose name says so (`model`, `net`,
  `unet`, `encoder`, `generator` …), and the function evaluates: it calls `.eval()`, or its name says so (evaluate,
  validate, test, predict, infer, generate, sample, embed, extract, encode, score, denoise, `__call__` of a pipeline)
  and it loops around that call;
* the block would not fail with a graph: of no result is `numpy()` asked without `detach()`, which torch refuses;
* a result of the call is kept or returned, beyond a comparison or an index (`argmax`): there is a graph to hold;
* nothing else turns grad off: no second decorator or `with`, no `requires_grad_(False)` in the file, no framework hook
  (`validation_step` …), no call of this function under `no_grad` in the file, and nothing back-propagates in it;
* it is no `forward`, whose mode is its caller's business.

The finding is expected on a call of the model in the block, or on a statement that keeps or returns its result.
Decorators become comments and `with torch.no_grad():` becomes `if True:`, so that lines keep their numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from unfix_tree import OFF, Edit, Function, Mutant, Tree, rows, targets, text
from unfix_values import GROWS, released

MODEL = re.compile(
    r"(^|[._])(model|net|network|(text_|image_|audio_|speech_)?encoder|decoder|unet|vae|transformer|generator|gen|netg|"
    r"discriminator|classifier|backbone|teacher|student|policy|actor|critic|predictor|vocoder|detector|lm)\d?$",
    re.IGNORECASE,
)
VERB = re.compile(
    r"_?(add|build|check|compile|convert|create|export|fit|freeze|from|get|init|is|load|log|make|merge|move|plot|prepare|"
    r"print|push|quantize|register|replace|reset|run|save|set|setup|to|train|unwrap|update|validate|wrap|forward)_"
)
EVALUATES = re.compile(
    r"eval|valid|(^|_)test|predict|infer|generate|sampl|embed|extract|encode|score|denoise|collect|__call__|"
    r"interpolat|translat"
)
FRAMEWORK = re.compile(
    r"^(on_)?(validation|test|predict|val)_(step|epoch\w*|batch\w*)$|^(forward|backward|step|__init__|train\w*)$"
)
FROZEN = re.compile(rb"requires_grad_?\(\s*(requires_grad=)?False|requires_grad = False")
ONLY = re.compile(r"^(torch\.)?(no_grad|inference_mode)(\(\)|\(True\))?$")


def mode_mutants(tree: Tree) -> Iterator[Mutant]:
    """Every evaluation whose grad mode can be given back."""
    guarded: set[str] | None = None
    for scope in tree.functions():
        if isinstance(scope, ast.Module) or FRAMEWORK.match(scope.name):
            continue
        nodes = list(tree.own(scope))
        found = [_mutant(tree, scope, nodes, *region) for region in _regions(tree, scope, nodes)]
        if not any(found):
            continue
        guarded = _called_unrecorded(tree) if guarded is None else guarded
        if not (scope.name in guarded or _differentiates(nodes) or _frozen(tree, scope)):
            yield from (mutant for mutant in found if mutant)


def _differentiates(nodes: Sequence[ast.AST]) -> bool:
    called = {text(node.func).split(".")[-1] for node in nodes if isinstance(node, ast.Call)}
    return bool(called & {"backward", "manual_backward", "step_backward", "grad"})


def _called_unrecorded(tree: Tree) -> set[str]:
    """Names of functions that this file calls with grad off."""
    return {
        re.split(r"\W", text(node.func))[-1]
        for node in ast.walk(tree.module)
        if isinstance(node, ast.Call) and tree.unrecorded(node)
    }


def _frozen(tree: Tree, scope: Function) -> bool:
    """The parameters may be frozen: then there is no graph to keep, whatever the mode."""
    owner: ast.AST = next((node for node in tree.ancestors(scope) if isinstance(node, ast.ClassDef)), scope)
    return bool(FROZEN.search(tree.source) or re.search(r"_freeze|freeze\(", text(owner)))


def _regions(
    tree: Tree, scope: Function, nodes: Sequence[ast.AST]
) -> Iterator[tuple[str, Sequence[ast.stmt], tuple[Edit, ...]]]:
    """The parts of a function that run with grad off for one reason only, and how to take that reason away."""
    off = [decorator for decorator in scope.decorator_list if OFF.search(text(decorator))]
    if any(tree.unrecorded(outer) for outer in tree.ancestors(scope) if isinstance(outer, ast.stmt)):
        return
    blocks = [node for node in nodes if isinstance(node, ast.With) and _off_items(node)]
    if off:
        if len(off) == 1 and ONLY.match(text(off[0])) and not blocks and off[0].lineno == off[0].end_lineno:
            start = tree.start(off[0]) - 1
            yield "decorator", scope.body, (Edit(start, tree.end(off[0]), "# (taken away)"),)
        return
    for block in blocks:
        others = any(isinstance(outer, ast.With) and _off_items(outer) for outer in tree.ancestors(block))
        nested = any(inner is not block and inner in blocks for inner in ast.walk(block))
        if not others and not nested:
            edits = _unwrap(tree, block)
            if edits:
                yield "with", block.body, edits


def _off_items(block: ast.With) -> list[ast.withitem]:
    return [item for item in block.items if OFF.search(text(item.context_expr))]


def _unwrap(tree: Tree, block: ast.With) -> tuple[Edit, ...]:
    """Edits that leave the other context managers of a `with`, or turn it into `if True:`."""
    off = _off_items(block)
    if len(off) != 1 or not ONLY.match(text(off[0].context_expr)) or off[0].optional_vars:
        return ()
    if len(block.items) == 1:
        edit = Edit(tree.start(block), tree.end(off[0].context_expr), "if True")
        header = tree.source[edit.start : tree.start(block.body[0])]
        return (edit,) if b"with (" not in header and tree.one_line([edit]) else ()
    place = block.items.index(off[0])
    after = tree.start(block.items[place + 1].context_expr) if place + 1 < len(block.items) else None
    start, end = tree.start(off[0].context_expr), tree.end(off[0].context_expr)
    before = tree.end(block.items[place - 1].context_expr) if place else start
    edit = Edit(start, after, "") if after is not None else Edit(before, end, "")
    plain = all(item.optional_vars is None for item in block.items)
    return (edit,) if plain and tree.one_line([edit]) else ()


def _mutant(
    tree: Tree,
    scope: Function,
    nodes: Sequence[ast.AST],
    kind: str,
    region: Sequence[ast.stmt],
    edits: tuple[Edit, ...],
) -> Mutant | None:
    first, last = tree.start(region[0]), tree.end(region[-1])
    inside = [
        n for n in nodes if isinstance(n, (ast.stmt, ast.expr)) and first <= tree.start(n) and tree.end(n) <= last
    ]
    evaluated = {
        text(node.func.value)
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "eval"
    }
    calls = [node for node in inside if isinstance(node, ast.Call) and _is_model(node, evaluated)]
    calls = [call for call in calls if evaluated or (EVALUATES.search(scope.name) and tree.loops(call))]
    expected: set[int] = set()
    for call in calls:
        if _fails(tree, inside, call):
            return None
        expected |= _kept_rows(tree, inside, call)
    if not expected:
        return None
    span = (scope.lineno, scope.end_lineno or scope.lineno)
    return Mutant(kind, scope.name, min(expected), frozenset(expected), span, edits)


def _is_model(call: ast.Call, evaluated: set[str]) -> bool:
    name = text(call.func)
    last = name.split(".")[-1]
    named = name in evaluated or bool(MODEL.search(name) and not VERB.match(last) and not last[:1].isupper())
    return named and bool(call.args or call.keywords)


def _kept_rows(tree: Tree, inside: Sequence[ast.AST], call: ast.Call) -> set[int]:
    """Rows of a model's call and of what keeps its result; empty when only numbers or indices leave the block."""
    statement = tree.statement(call)
    names = {text(target) for target in targets(statement)}
    if isinstance(statement, ast.Expr) and statement.value is call:
        return set()  # the result is dropped at once
    if names and _reduced(call, statement):
        return set()  # only indices or numbers get out
    if isinstance(statement, (ast.Return, ast.Expr)) or not names:
        direct = isinstance(statement, (ast.Return, ast.Expr)) and not _reduced(call, statement)
        return set(rows(call)) | set(rows(statement)) if direct else set()
    kept: set[int] = set()
    for node in inside:
        if isinstance(node, (ast.Return, ast.AugAssign)) or _grows(node):
            value = node.value if isinstance(node, (ast.Return, ast.AugAssign)) else node
            used = (
                [part for part in ast.walk(value) if isinstance(part, ast.Name) and part.id in names] if value else []
            )
            if used and isinstance(node, ast.stmt) and not all(_reduced(part, node) for part in used):
                kept |= set(rows(node))
    later = {
        text(part) for part in inside if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load)
    }
    return set(rows(statement)) | kept if kept or names & later else set()


def _fails(tree: Tree, inside: Sequence[ast.AST], call: ast.Call) -> bool:
    """Whether something computed from a call's result is asked for `numpy()` as it is."""
    made = {text(target) for target in targets(tree.statement(call))}
    for node in sorted((node for node in inside if isinstance(node, ast.stmt)), key=lambda node: node.lineno):
        used = {text(part) for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute))}
        if isinstance(node, ast.Assign) and used & made and not _reduced(call, node) and ".detach(" not in text(node):
            made |= {text(target) for target in targets(node)}
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "numpy"
        and ".detach(" not in text(node)
        and (call in ast.walk(node) or made & {text(part) for part in ast.walk(node.func.value)})
        for node in inside
    )


def _grows(node: ast.AST) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in GROWS


def _reduced(part: ast.expr, statement: ast.AST) -> bool:
    """Between the value and its keeper there is an index, a comparison or a number."""
    whole = text(statement)
    return bool(re.search(r"argmax|\.item\(|\.tolist\(|\.max\(|\.topk\(|==|\blen\(|\.shape|\.size\(|\.numpy\(", whole))


def hook_mutants(tree: Tree) -> Iterator[Mutant]:
    """Forward hooks that are registered in this file and keep their detached output or input."""
    registered = set(re.findall(rb"register_forward_(?:pre_)?hook\(\s*(?:self\.|partial\(\s*)?(\w+)", tree.source))
    for scope in tree.functions():
        if isinstance(scope, ast.Module) or scope.name.encode() not in registered or tree.unrecorded(scope):
            continue
        values = {argument.arg for argument in scope.args.args if argument.arg not in ("self", "module", "model", "m")}
        for node in tree.own(scope):
            value: ast.expr | None = None
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
                value = node.value
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _grows(node):
                value = node.value.args[0]
            if value is None or tree.unrecorded(node) or not isinstance(node, ast.stmt):
                continue
            receiver, edits = released(tree, value)
            if receiver is not None and edits and tree.one_line(edits) and text(receiver).split("[")[0] in values:
                span = (scope.lineno, scope.end_lineno or scope.lineno)
                yield Mutant("hook", scope.name, node.lineno, frozenset(rows(node)), span, edits)
