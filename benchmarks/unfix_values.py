"""Un-fix mutants of kept values: where a loop or hook keeps a released value, the release is taken away.

A place is chosen only if the function itself shows that the value carries a graph there:

* the step back-propagates in the same function: `x.backward()`, `scaler.scale(x).backward()`, `….backward(x)`,
  `….manual_backward(x)`, with grad on, inside the loop (or, for a holder on `self`, anywhere in the function);
* the value is `x`, or a term of the sum, difference, quotient or mean that `x` was computed from, or a factor beside
  a coefficient made outside the step; or the result of calling a model in the step; or of calling a loss function on
  such a value. Nothing is followed through other calls, so targets, masks, `argmax`, `==` and counts stay out;
* it is made within the step, no other statement of the function releases it or computes it with grad off;
* what it is kept in is an accumulator or list that exists before the loop and is not itself back-propagated, nor reset
  on every iteration; on `self`, nothing outside the constructor resets it;
* the kept expression is the released value, alone, in arithmetic, or in a tuple, list or dict; not in another call.

Kinds: `accumulate` (`+=`, `a = a + …`), `collect` (`append`, `extend`), `rebound` (`v = loss.item()`, and `v` is kept
later on: the finding is expected where it is kept), `hook` (a forward hook stores its detached output).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from unfix_tree import Edit, Function, Loop, Mutant, Tree, base, rows, targets, text

RELEASES = frozenset(("item", "detach", "tolist", "numpy"))
HARMLESS = frozenset(("mean", "sum", "cpu", "clone", "float", "double", "squeeze", "abs", "view", "reshape", "to"))
MODEL = re.compile(
    r"(^|[._])(model|net|network|module|encoder|decoder|generator|discriminator|critic|actor|policy)\w?$"
)
LOSS = re.compile(r"(criterion|loss|loss_fn|loss_func|cross_entropy|nll|compute_loss|loss_function)$", re.IGNORECASE)
GROWS = frozenset(("append", "extend", "appendleft"))


class Values:
    """The released values of one function that carried a graph."""

    def __init__(self, tree: Tree, scope: Function | ast.Module) -> None:
        self.tree, self.scope = tree, scope
        self.nodes = list(tree.own(scope))
        self.bound: dict[str, list[ast.AST]] = {}
        for node in self.nodes:
            for target in targets(node):
                self.bound.setdefault(text(target), []).append(node)

    def backwards(self) -> Iterator[tuple[ast.Call, ast.expr]]:
        """The back-propagating calls, with what they back-propagate."""
        for node in self.nodes:
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)) or self.tree.unrecorded(node):
                continue
            if node.func.attr not in ("backward", "manual_backward"):
                continue
            scaled = node.func.value
            if node.args and re.search(r"accelerator|fabric|engine|self|scaler|strategy|trainer", text(scaled)):
                yield node, node.args[0]
            elif (
                isinstance(scaled, ast.Call) and isinstance(scaled.func, ast.Attribute) and scaled.func.attr == "scale"
            ):
                yield node, scaled.args[0]
            elif not isinstance(scaled, ast.Call) or released(self.tree, scaled)[0] is not None:
                yield node, scaled

    def attached(self, region: Loop | None, before: int) -> set[str]:
        """The keys of the values that carry a graph within this loop (or function)."""
        found: set[str] = set()
        for call, value in self.backwards():
            if region is None or region in self.tree.loops(call):
                self.follow(value, region, found)
        if found:
            for key, statements in self.bound.items():
                if any(self.from_model(statement, region, before, found) for statement in statements):
                    found.add(key)
        return found

    def from_model(self, statement: ast.AST, region: Loop | None, before: int, known: set[str]) -> bool:
        call = statement.value if isinstance(statement, ast.Assign) and len(targets(statement)) == 1 else None
        if not isinstance(call, ast.Call) or not self.inside(statement, region) or self.tree.unrecorded(call):
            return False
        name, names = text(call.func), (text(argument) for argument in call.args)
        return bool(MODEL.search(name)) or bool(LOSS.search(name) and any(key in known for key in names))

    def follow(self, value: ast.expr, region: Loop | None, found: set[str]) -> None:
        """`value` carries a graph: so do the terms it was computed from."""
        if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
            key = text(value)
            if key not in found:
                found.add(key)
                for statement in self.bound.get(key, ()):
                    if not isinstance(statement, (ast.Assign, ast.AugAssign)) or len(targets(statement)) != 1:
                        continue
                    if self.inside(statement, region):
                        self.follow(statement.value, region, found)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
            self.follow(value.left, region, found)
            self.follow(value.right, region, found)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
            self.follow(value.left, region, found)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            for side, other in ((value.left, value.right), (value.right, value.left)):
                if self.made(text(side), region) and not self.made(text(other), region):
                    self.follow(side, region, found)
        elif isinstance(value, ast.UnaryOp):
            self.follow(value.operand, region, found)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in HARMLESS:
            self.follow(value.func.value, region, found)

    def inside(self, node: ast.AST, region: Loop | None) -> bool:
        return region is None or region in self.tree.loops(node)

    def made(self, key: str, region: Loop | None) -> bool:
        """A call within the step gives this name its value."""
        return any(
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Call)
            and self.inside(statement, region)
            for statement in self.bound.get(key, ())
        )

    def clean(self, key: str, region: Loop | None, row: int, but: ast.AST | None = None) -> bool:
        """Made within the step before `row`, with grad on, and released by no other statement."""
        statements = [*self.bound.get(key, ()), *(self.bound.get(base(key), ()) if base(key) != key else ())]
        made = [s for s in statements if self.inside(s, region) and getattr(s, "lineno", row) <= row and s is not but]
        return bool(made) and not any(
            self.tree.unrecorded(statement)
            or re.search(r"\.(item|detach|tolist|numpy|detach_)\(|\.data\b|\bfloat\(", text(statement))
            for statement in statements
            if statement is not but and not isinstance(statement, (ast.For, ast.AsyncFor))
        )

    def outlives(self, holder: ast.expr, region: Loop | None) -> bool:
        """The holder exists before the step and is not reset in each one."""
        key = text(holder.value if isinstance(holder, ast.Subscript) else holder)
        if key.startswith("self."):
            return not self.reset_elsewhere(key)
        if region is None or "(" in key or not re.match(r"^[\w.]+$", key):
            return False
        plain = [s for s in self.bound.get(key, ()) if isinstance(s, ast.Assign) and key not in text(s.value)]
        if any(re.search(r"\bmaxlen=[^N]", text(s)) for s in plain):
            return False  # as many graphs as it has room for, and no more
        outside = [s for s in plain if region not in self.tree.loops(s)]
        known = bool(outside) or base(key) in self.parameters()
        return known and all(region not in self.tree.loops(s) or self.conditional(s, region) for s in plain)

    def conditional(self, node: ast.AST, region: Loop) -> bool:
        between = []
        for outer in self.tree.ancestors(node):
            if outer is region:
                break
            between.append(outer)
        return any(isinstance(outer, ast.If) for outer in between)

    def parameters(self) -> set[str]:
        if isinstance(self.scope, ast.Module):
            return set()
        return {argument.arg for argument in (*self.scope.args.args, *self.scope.args.kwonlyargs)}

    def reset_elsewhere(self, key: str) -> bool:
        """Anything but a constructor rebinds, clears or hands out this attribute of the class."""
        owner = next((node for node in self.tree.ancestors(self.scope) if isinstance(node, ast.ClassDef)), None)
        for node in ast.walk(owner) if owner else ():
            if isinstance(node, ast.Assign) and any(text(target) == key for target in targets(node)):
                scope = self.tree.function(node)
                if key not in text(node.value) and getattr(scope, "name", "") not in ("__init__", "__post_init__"):
                    return True
            if isinstance(node, ast.Call) and re.match(re.escape(key) + r"\.(clear|pop|popleft)$", text(node.func)):
                return True
        return owner is None


def released(tree: Tree, value: ast.expr) -> tuple[ast.expr | None, tuple[Edit, ...]]:
    """The value under a chain of releases and harmless calls, and the edits that take the releases away."""
    edits: list[Edit] = []
    while True:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            inner, name = value.func.value, value.func.attr
            if name in RELEASES and not value.args:
                edits.append(Edit(tree.end(inner), tree.end(value), ""))
            elif name not in HARMLESS:
                return None, ()
            value = inner
        elif isinstance(value, ast.Call) and text(value.func) == "float" and len(value.args) == 1:
            edits.append(Edit(tree.start(value), tree.end(value.func), ""))
            value = value.args[0]
        elif isinstance(value, ast.Attribute) and value.attr == "data":
            edits.append(Edit(tree.end(value.value), tree.end(value), ""))
            value = value.value
        elif isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
            return value, tuple(edits)
        else:
            return None, ()


def kept(value: ast.expr) -> Iterator[ast.expr]:
    """The parts of an expression whose graph would be kept with it."""
    if isinstance(value, (ast.Tuple, ast.List)):
        for element in value.elts:
            yield from kept(element)
    elif isinstance(value, ast.Dict):
        for element in value.values:
            yield from kept(element)
    elif isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        yield from kept(value.left)
        if not isinstance(value.op, ast.Div):
            yield from kept(value.right)
    else:
        yield value


def stores(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.stmt, ast.expr, ast.expr]]:
    """(kind, statement, holder, value) of everything that accumulates or collects."""
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            yield "accumulate", node, node.target, node.value
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.BinOp):
            if text(node.targets[0]) in {text(part) for part in ast.walk(node.value)}:
                yield "accumulate", node, node.targets[0], node.value
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and len(node.value.args) == 1:
            call = node.value
            if isinstance(call.func, ast.Attribute) and call.func.attr in GROWS:
                yield "collect", node, call.func.value, call.args[0]


def value_mutants(tree: Tree) -> Iterator[Mutant]:
    """Every mutant of a value kept in a step."""
    for scope in tree.functions():
        values = Values(tree, scope)
        if getattr(scope, "name", "") == "backward" or not any(True for _ in values.backwards()):
            continue
        for kind, statement, holder, value in stores(values.nodes):
            if not tree.unrecorded(statement):
                yield from mutants_of_store(values, kind, statement, holder, value)


def mutants_of_store(
    values: Values, kind: str, statement: ast.stmt, holder: ast.expr, value: ast.expr
) -> Iterator[Mutant]:
    tree = values.tree
    repeats: list[Loop | None] = [*tree.loops(statement)]
    if text(holder).startswith("self.") and not repeats:
        repeats.append(None)
    for region in repeats:
        attached = values.attached(region, statement.lineno)
        if not attached or text(holder) in attached or not values.outlives(holder, region):
            continue
        for part in kept(value):
            mutant = direct(values, kind, statement, part, region, attached) or rebound(
                values, statement, part, region, attached
            )
            if mutant:
                yield mutant
        return


def direct(
    values: Values, kind: str, statement: ast.stmt, part: ast.expr, region: Loop | None, attached: set[str]
) -> Mutant | None:
    receiver, edits = released(values.tree, part)
    if receiver is None or not edits or not values.tree.one_line(edits) or text(receiver) not in attached:
        return None
    if not values.clean(text(receiver), region, statement.lineno):
        return None
    return _mutant(values, kind, statement, edits)


def rebound(
    values: Values, statement: ast.stmt, part: ast.expr, region: Loop | None, attached: set[str]
) -> Mutant | None:
    """`part` is a name whose one releasing assignment within the step comes before this store."""
    if not isinstance(part, ast.Name):
        return None
    sources = [s for s in values.bound.get(part.id, ()) if isinstance(s, ast.Assign) and len(s.targets) == 1]
    edited = [s for s in sources if s.lineno < statement.lineno and released(values.tree, s.value)[1]]
    if len(edited) != 1 or not values.inside(edited[0], region) or values.tree.unrecorded(edited[0]):
        return None
    if not set(_conditions(values.tree, edited[0])) <= set(_conditions(values.tree, statement)):
        return None  # released on some paths only
    receiver, edits = released(values.tree, edited[0].value)
    if receiver is None or not values.tree.one_line(edits) or text(receiver) not in attached:
        return None
    alone = sources == edited and len(values.bound[part.id]) == 1
    if not (text(receiver) == part.id or alone):
        return None
    if not values.clean(text(receiver), region, statement.lineno, edited[0]):
        return None
    return _mutant(values, "rebound", statement, edits)


def _conditions(tree: Tree, node: ast.AST) -> list[ast.AST]:
    return [outer for outer in tree.ancestors(node) if isinstance(outer, (ast.If, ast.Try))]


def _mutant(values: Values, kind: str, statement: ast.stmt, edits: tuple[Edit, ...]) -> Mutant:
    scope = values.scope
    span = (1, len(values.tree.offsets)) if isinstance(scope, ast.Module) else (scope.lineno, scope.end_lineno or 0)
    name = getattr(scope, "name", "<module>")
    return Mutant(kind, name, statement.lineno, frozenset(rows(statement)), span, edits)
