"""Functions of real packages to ask the snippet runner about, and mutants of them that keep what they should not.

A function is sampled if it has a loop that computes a tensor with gradients recorded: what PyTorch computes there
(`torch.cat(...)`, `F.relu(...)`), or a call whose result is used as only a tensor is (`.backward()`, `.unsqueeze(0)`);
not what may be another view of the same memory. One such statement, drawn by chance, is the place that is asked about.
Mutants, by kind:

* planted: the computed value is also put into a list that lives as long as the call,
* item: a value that is stored loses its `.item()` or `.detach()` (see `unfix_values.py`),
* no_grad: an inference loses its `no_grad` (see `unfix_modes.py`),
* clear: a list that the same loop fills loses the statement that empties it.
"""

from __future__ import annotations

import ast
import pathlib
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from corpus import Package, digest, packages, python_files
from unfix_modes import mode_mutants
from unfix_tree import Edit, Function, Tree, text
from unfix_values import GROWS, value_mutants

_FILES = 400  # of a package that are looked at
_ONLY_TENSORS = frozenset(
    """backward detach requires_grad_ unsqueeze contiguous cuda masked_fill masked_fill_ masked_select index_select
    permute expand view_as type_as argmax softmax log_softmax sigmoid chunk gather transpose""".split()
)
_SAME_MEMORY = frozenset(
    """view reshape squeeze unsqueeze transpose permute expand flatten detach contiguous to cpu cuda float half double
    long int type type_as view_as expand_as narrow select unflatten swapaxes movedim get pop""".split()
)
_COMPUTES = frozenset(
    """cat stack matmul bmm einsum softmax log_softmax sigmoid tanh relu exp log sqrt where norm mean sum abs clamp
    gather index_select masked_select outer cumsum logsumexp baddbmm addmm mul add sub div pow sin cos concat
    flatten roll flip""".split()
)
_NUMBERS = frozenset(("item", "tolist", "numpy", "size", "dim", "numel"))
_KINDS = {"accumulate": "item", "collect": "item", "rebound": "item", "with": "no_grad", "decorator": "no_grad"}


@dataclass(frozen=True)
class Mutant:
    """A kind, the text of the file, and the row to ask about there and in the file as it is."""

    kind: str
    text: str
    row: int
    row_before: int


@dataclass(frozen=True)
class Sample:
    """A function, the row to ask about in it, and its mutants."""

    path: pathlib.Path
    package: str
    function: str
    row: int
    mutants: tuple[Mutant, ...]


def sampled(folder: pathlib.Path, count: int, releases: int, seed: int) -> list[Sample]:
    """At least `count` functions where there are so many, one of a file, all packages in turn. Of each package, at most
    `releases` functions with a release that can be taken away come first.
    """
    chance = random.Random(seed)
    seen: set[str] = set()
    pools = [_of_package(package, chance, releases, count, seen) for package in packages(folder)]
    taken: list[Sample] = []
    while len(taken) < count and any(pools):
        taken += [pool.pop(0) for pool in pools if pool]
    return taken


def _of_package(package: Package, chance: random.Random, releases: int, count: int, seen: set[str]) -> list[Sample]:
    files = list(python_files(package.root))
    chance.shuffle(files)
    first: list[Sample] = []
    others: list[Sample] = []
    for path in files[:_FILES]:
        if len(others) >= count:
            break
        source = path.read_bytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = Tree(source)
        except (SyntaxError, ValueError, RecursionError):
            continue
        if b"torch" not in source or source.startswith(b"\xef\xbb\xbf"):
            continue
        found = [sample for sample in _of_file(tree, path, package.name, chance, seen) if sample.mutants]
        released = [sample for sample in found if any(mutant.kind != "planted" for mutant in sample.mutants)]
        if released and len(first) < releases:
            first.append(chance.choice(released))
        elif found:
            others.append(chance.choice(found))
    return first + others


def _of_file(tree: Tree, path: pathlib.Path, package: str, chance: random.Random, seen: set[str]) -> Iterator[Sample]:
    released = list(_released(tree))
    scopes = [tree.module, *(node for node in tree.module.body if isinstance(node, ast.ClassDef))]
    for function in (one for scope in scopes for one in scope.body):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        own = list(tree.own(function))
        if not any(isinstance(node, (ast.For, ast.While)) for node in own):
            continue
        body = digest(text(function))
        if body in seen:  # a copy
            continue
        seen.add(body)
        computing = [node for node in own if isinstance(node, ast.Assign) and _is_tensor(node, own)]
        places = [node for node in computing if tree.loops(node) and not tree.unrecorded(node)]
        mutants = [one for one in released if function.lineno <= one.row_before <= (function.end_lineno or 0)][:1]
        place = chance.choice(places) if places else None
        if place is not None:
            mutants += _planted(tree, function, place)
        row = place.lineno if place is not None else mutants[0].row_before if mutants else 0
        yield Sample(path, package, function.name, row, tuple(mutants))


def _is_tensor(node: ast.Assign, own: list[ast.AST]) -> bool:
    """Whether a statement computes a tensor, by what computes it or by what is done with it."""
    call, target = node.value, node.targets[0]
    if not isinstance(call, ast.Call) or not isinstance(target, ast.Name) or len(node.targets) > 1:
        return False
    if isinstance(call.func, ast.Attribute):
        if call.func.attr in _NUMBERS | _SAME_MEMORY:
            return False
        if text(call.func.value) in ("torch", "F", "torch.nn.functional") and call.func.attr in _COMPUTES:
            return True
    return any(
        isinstance(used, ast.Attribute)
        and used.attr in _ONLY_TENSORS
        and isinstance(used.value, ast.Name)
        and used.value.id == target.id
        for used in own
    )


def _planted(tree: Tree, function: Function, at: ast.Assign) -> Iterator[Mutant]:
    """Every value of the loop is kept in a list."""
    lines = tree.source.decode("utf-8", "replace").splitlines()
    first = function.body[1] if ast.get_docstring(function) and len(function.body) > 1 else function.body[0]
    end = at.end_lineno or at.lineno
    start = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", ()))])
    own_lines = lines[at.lineno - 1][: at.col_offset].isspace() and lines[start - 1][: first.col_offset].isspace()
    if not own_lines or ";" in lines[end - 1]:
        return
    lines.insert(end, f"{' ' * at.col_offset}kept_here.append({text(at.targets[0])})")
    lines.insert(start - 1, f"{' ' * first.col_offset}kept_here = []")
    yield Mutant("planted", "\n".join(lines) + "\n", end + 2, at.lineno)


def _released(tree: Tree) -> Iterator[Mutant]:
    """Releases of the whole file, each taken away."""
    found = []
    if b"backward" in tree.source:
        found += list(value_mutants(tree))
    if b"no_grad" in tree.source or b"inference_mode" in tree.source:
        found += list(mode_mutants(tree))
    for one in found:
        changed = tree.apply(one.edits).decode("utf-8", "replace")
        yield Mutant(_KINDS[one.kind], changed, one.row, one.row)
    for node in ast.walk(tree.module):
        emptied = _emptied(node)
        for filler in _fillers(tree, node, emptied) if emptied else ():
            edit = Edit(tree.start(node), tree.end(node), "pass")  # type: ignore[arg-type]
            yield Mutant("clear", tree.apply([edit]).decode("utf-8", "replace"), filler.lineno, filler.lineno)
            break


def _emptied(node: ast.AST) -> str:
    """What a statement empties: `x.clear()`, `x = []`."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        return text(function.value) if isinstance(function, ast.Attribute) and function.attr == "clear" else ""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) and not node.value.elts:
        return text(node.targets[0])
    return ""


def _fillers(tree: Tree, node: ast.AST, emptied: str) -> Iterator[ast.stmt]:
    """The statements of the same loop that put a tensor into a list which was made before the loop."""
    loops = tree.loops(node)
    own = list(tree.own(tree.function(node))) if loops else []
    assigned = [one for one in own if isinstance(one, ast.Assign)]
    if not any(one.lineno < loops[0].lineno and text(one.targets[0]) == emptied for one in assigned):
        return
    tensors = {text(one.targets[0]) for one in assigned if _is_tensor(one, own)}
    for one in own:
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and isinstance(one.value.func, ast.Attribute):
            function, put = one.value.func, {text(argument) for argument in one.value.args}
            same = function.attr in GROWS and text(function.value) == emptied and tree.loops(one)[:1] == loops[:1]
            if same and put & tensors:
                yield one
