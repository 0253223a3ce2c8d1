"""Un-fix mutants of grad mode and of hooks: the `no_grad` around an inference, the `detach` in a forward hook.

`no_grad` places (kinds `with` and `decorator`): a `with torch.no_grad():` / `inference_mode()` block, or a function
under such a decorator, is chosen only if

* it calls a model: something that this function puts into `.eval()` mode, or whose name says so (`model`, `net`,
  `unet`, `encoder`, `generator` …), and the function evaluates: it calls `.eval()`, or its name says so (evaluate,
  validate, test, predict, infer, generate, sample, embed, extract, encode, score, denoise, `__call__` of a pipeline);
* a loop or comprehension of the function repeats that call, over batches, steps or samples: a single forward pass
  retains nothing by itself, and who calls it in a loop, and in which mode, another function decides;
* the function would not fail with a graph: of no result is `numpy()` asked without `detach()`, which torch refuses;
* a result of the call is kept or returned, beyond a comparison, an index (`argmax`) or a sample that is drawn from a
  distribution: there is a graph to hold;
* nothing else turns grad off: no second decorator or `with`, no `requires_grad_(False)` in the file, no framework hook
  (`validation_step` …), no call of this function under `no_grad` in the file, and nothing back-propagates in it;
* it is no `forward`, whose mode is its caller's business.

The finding is expected on a call of a model in the block, or on a statement of the function that keeps or returns its
result or what is computed from it: the first call that records, and each place that then holds a graph, are right to
speak of.
Decorators become comments and `with torch.no_grad():` becomes `if True:`, so that lines keep their numbers.

Hooks (kind `hook`): a forward hook that is registered in the file, itself or by the function that makes it, and
stores its output, detached, where it outlives the forward pass: on an object, or in a container of the module. (What
goes into a module may be the batch, which has no graph.) Left out is what one call of the function that registers the
hook makes or is given (the container goes with the call), and what the file deletes or empties once a pass has used
it: without the `detach()` nothing stays either.
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
DRAWN = re.compile(r"\bdistr?(ibution)?\.sample\(")  # which torch does under `no_grad` [docs: torch.distributions]
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
    models = [node for node in inside if isinstance(node, ast.Call) and _is_model(node, evaluated)]
    calls = [call for call in models if _repeats(tree, call) and (evaluated or EVALUATES.search(scope.name))]
    expected: set[int] = set()
    for call in calls:
        if _fails(tree, nodes, call):
            return None
        made = _made_from(tree, nodes, call)
        keeping = _keeping_rows(nodes, made)
        if (used := _used_rows(tree, inside, call)) and (keeping or not _only_samples(nodes, made)):
            expected |= used | keeping
    if not expected:
        return None
    expected.update(row for call in models for row in rows(call))
    span = (scope.lineno, scope.end_lineno or scope.lineno)
    return Mutant(kind, scope.name, min(expected), frozenset(expected), span, edits)


def _repeats(tree: Tree, call: ast.Call) -> bool:
    """Whether the function runs the call more than once."""
    if tree.loops(call):
        return True
    inner: ast.AST = call
    for outer in tree.ancestors(call):
        if isinstance(outer, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return inner is not outer.generators[0]  # whose first iterable is computed once
        if isinstance(outer, ast.stmt):
            return False
        inner = outer
    return False


def _is_model(call: ast.Call, evaluated: set[str]) -> bool:
    name = text(call.func)
    last = name.split(".")[-1]
    named = name in evaluated or bool(MODEL.search(name) and not VERB.match(last) and not last[:1].isupper())
    return named and bool(call.args or call.keywords)


def _used_rows(tree: Tree, inside: Sequence[ast.AST], call: ast.Call) -> set[int]:
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
    kept = _keeping_rows(inside, names)
    later = {
        text(part) for part in inside if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load)
    }
    return set(rows(statement)) | kept if kept or names & later else set()


def _keeping_rows(inside: Sequence[ast.AST], names: set[str]) -> set[int]:
    """The statements that return one of these values, add it up or collect it."""
    kept: set[int] = set()
    for node in inside:
        if isinstance(node, (ast.Return, ast.AugAssign)) or _grows(node) or _sets_item(node):
            value = node.value if isinstance(node, (ast.Return, ast.AugAssign, ast.Assign)) else node
            parts = ast.walk(value) if value else ()
            used = [part for part in parts if isinstance(part, ast.Name) and part.id in names]
            if used and isinstance(node, ast.stmt) and not all(_reduced(part, node) for part in used):
                kept |= set(rows(node))
    return kept


def _made_from(tree: Tree, inside: Sequence[ast.AST], call: ast.Call) -> set[str]:
    """The names of what is computed or collected from a call's result, beyond comparisons, indices and numbers."""
    made = {text(target) for target in targets(tree.statement(call))}
    for node in sorted((node for node in inside if isinstance(node, ast.stmt)), key=lambda node: node.lineno):
        source = node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else getattr(node, "value", None)
        if not isinstance(source, ast.expr):
            continue
        used = {text(part) for part in ast.walk(source) if isinstance(part, (ast.Name, ast.Attribute))}
        found = used & made or call in ast.walk(source)
        if found and not _reduced(call, source) and ".detach(" not in text(source):
            made |= {text(target.value if isinstance(target, ast.Subscript) else target) for target in targets(node)}
            if _grows(node) and isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute):
                made.add(text(source.func.value))
    return made


def _only_samples(nodes: Sequence[ast.AST], made: set[str]) -> bool:
    """Whether what leaves is drawn from a distribution that a call's result is the parameter of."""
    return any(
        isinstance(node, ast.Assign)
        and DRAWN.search(text(node.value))
        and made & {text(part) for part in ast.walk(node.value) if isinstance(part, ast.Name)}
        for node in nodes
    )


def _fails(tree: Tree, nodes: Sequence[ast.AST], call: ast.Call) -> bool:
    """Whether something computed from a call's result is asked for `numpy()` as it is."""
    made = _made_from(tree, nodes, call)
    for node in nodes:
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            for clause in node.generators:
                used = {text(part) for part in ast.walk(clause.iter) if isinstance(part, (ast.Name, ast.Attribute))}
                if used & made and ".detach(" not in text(clause.iter):
                    made |= {part.id for part in ast.walk(clause.target) if isinstance(part, ast.Name)}
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "numpy"
        and ".detach(" not in text(node)
        and (
            call in ast.walk(node)
            or made & {text(part) for part in ast.walk(node.func.value) if isinstance(part, ast.expr)}
        )
        for node in nodes
    )


def _sets_item(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(target, ast.Subscript) for target in node.targets)


def _grows(node: ast.AST) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in GROWS


def _reduced(part: ast.expr, statement: ast.AST) -> bool:
    """Between the value and its keeper there is an index, a comparison or a number."""
    whole = text(statement)
    numbers = r"argmax|\.item\(|\.tolist\(|\.max\(|\.topk\(|==|\blen\(|\.shape|\.size\(|\.numpy\("
    return bool(re.search(numbers, whole) or DRAWN.search(whole))


def hook_mutants(tree: Tree) -> Iterator[Mutant]:
    """Forward hooks that are registered in this file and keep their detached output."""
    registered = set(re.findall(rb"register_forward_hook\(\s*(?:self\.|partial\(\s*)?(\w+)", tree.source))
    for scope in tree.functions():
        if isinstance(scope, ast.Module) or tree.unrecorded(scope):
            continue
        maker = tree.function(scope)  # `register_forward_hook(hook_for(name))` registers what `hook_for` defines
        if registered.isdisjoint(getattr(function, "name", "").encode() for function in (scope, maker)):
            continue
        given = {argument.arg for argument in scope.args.args[-1:]}
        for node in tree.own(scope):
            value: ast.expr | None = None
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
                value, holder = node.value, node.targets[0]
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _grows(node):
                assert isinstance(node.value.func, ast.Attribute)
                value, holder = node.value.args[0], node.value.func.value
            elif isinstance(node, ast.Assign) and text(node.value).split("[")[0] in given:
                given |= {text(target) for target in node.targets}  # another name for what it was given
            if value is None or tree.unrecorded(node) or not isinstance(node, ast.stmt):
                continue
            receiver, edits = released(tree, value)
            if receiver is None or not edits or not tree.one_line(edits):
                continue
            if text(receiver).split("[")[0] in given and _outlives_pass(tree, scope, holder):
                span = (scope.lineno, scope.end_lineno or scope.lineno)
                yield Mutant("hook", scope.name, node.lineno, frozenset(rows(node)), span, edits)


def _outlives_pass(tree: Tree, hook: Function, holder: ast.expr) -> bool:
    """Whether what a hook keeps is still there when the pass is over and has been used."""
    root = holder
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    outer = tree.function(hook)
    if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and isinstance(root, ast.Name):
        arguments = {argument.arg for argument in (*outer.args.args, *outer.args.kwonlyargs)} - {"self"}
        bound = {text(target) for node in tree.own(outer) for target in targets(node)}
        if root.id in arguments | bound:
            return False
    place = next((part for part in ast.walk(holder) if isinstance(part, ast.Attribute)), None)
    if place is None:
        return True
    gone = rf"\bdel [^\n]*\.{place.attr}\b|\.{place.attr}\.(clear|pop)\(|delattr\([^\n]*{place.attr}"
    return re.search(gone.encode(), tree.source) is None
