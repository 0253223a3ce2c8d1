"""Parts of tensors: views that keep the whole storage of what they were taken from, however little they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..facts import model as m
from ..facts.indices import is_box
from ..facts.program import targets
from ..facts.walk import last_name, statements
from .values import ATTACHED, FREE, LEAF, Obj, Tensor, constant

if TYPE_CHECKING:
    from ..facts.model import Expr
    from .frames import Frame, Loop
    from .machine import Machine
    from .values import Value

FEW = "few"  # one of many along some dimension, or the first or last few: `x[:, 0]`, `x[..., -1:]`
SOME = "some"  # as many as it may be, perhaps a copy
MIDDLE = "middle"  # one, or the few around it, half way through: `x[len(x) // 2]`, unless that is a list
ROW = "row"  # one of those that the tensor is made of: `x[i]`, `for row in x`, `torch.split(x, sizes)`
INDICES = ("indices",)  # the label of what `nonzero()` and `argmax()` give
ARRAYS = ("array",)  # and of what `numpy()` gives of a part
_PICKS = frozenset("mask masks keep kept valid idx idxs inds indices selected order perm".split())  # mostly a copy
_ONE_WIDE = frozenset(("gather", "take_along_dim", "unsqueeze"))  # as most are called
_LAST = (m.CONST, -1)
_TWO = (m.CONST, 2)
_OF_STEPS = frozenset("hidden hiddens state states logits".split())  # of each sequence, of each step, a vector
_PRODUCTS = ("matmul", "mm", "bmm", "einsum")
_JOINS = ("cat", "concat", "concatenate", "stack", "hstack", "column_stack")
_ONES = ("ones", "ones_like", "new_ones")
_FEW = 8
_SPARSE = 4
_NEAR = 12


class Part(NamedTuple):
    """What a node of the derivation is a part of."""

    kind: str
    base: int  # the node of the whole tensor
    name: str  # of the whole tensor, in the words of the source
    loops: tuple[Loop, ...]  # those whose current round has made the whole tensor
    made_here: bool  # the function that takes the part has run a module to make the whole tensor


def take(machine: Machine, frame: Frame, tensor: Tensor, base: Expr | None, kind: str) -> Tensor:
    """A part of a tensor, taken by the function that `frame` is of. One with a graph keeps more than its base; that
    hooks get one is assumed."""
    if not kind or tensor.graph == LEAF or (tensor.bundle and kind != FEW):
        return tensor
    if kind == MIDDLE:
        if tensor.weight < 2:
            return tensor
        kind = FEW
    derivation = machine.derivation
    root = _root(machine, tensor.node)
    label = derivation.labels.get(root)
    if label == INDICES:
        return tensor._replace(node=derivation.node((tensor.node,), INDICES))
    fresh = label is not None and label[0] == "hook"  # each pass gives a hook another tensor
    if tensor.graph == ATTACHED and not fresh:
        return tensor
    given = root in derivation.afresh
    loops = tuple(loop for loop in machine.loops if fresh or loop.first_node <= root or (given and loop.generated))
    node = derivation.node((tensor.node,))
    made = kind == FEW and (fresh or _ran(machine, frame, root))
    derivation.parts[node] = Part(kind, tensor.node, _name(base), loops, made)
    return tensor._replace(node=node, bundle=False)


def note_items(machine: Machine, loops: tuple[Loop, ...], value: Value) -> None:
    """Note what a generator gives that it has made in this round of its loop: who goes through it gets another one in
    each round, though it was made before."""
    if loops:
        parts = (part for atom in value if type(atom) is Obj and atom.kind == "tuple" for part in atom.fields.values())
        roots = (_root(machine, atom.node) for one in (value, *parts) for atom in one if type(atom) is Tensor)
        machine.derivation.afresh.update(root for root in roots if root >= loops[-1].first_node)


def _ran(machine: Machine, frame: Frame, root: int) -> bool:
    """Whether a tensor is what the current call has computed by a module: no table, no small statistics."""
    labels = machine.derivation.labels
    nodes = machine.derivation.ancestors(root, _NEAR) if root >= frame.first_node else ()
    return any(labels[node][0] in ("ran", "module") for node in nodes if node >= frame.first_node and node in labels)


def kind_of(machine: Machine, frame: Frame, item: Expr, value: Value) -> str:
    """Which part an index takes; "" for most, for copies and for what cannot be told."""
    index = item[2]
    if index[0] == m.NEW:
        if index[1] is not None and _is_middle_of_all(frame, index[3]):
            return MIDDLE
        few = index[1] is not None and index[3] and _takes_few(machine, frame, index[3])
        few = few or (index[1] is not None and (_is_last_state(item[1], index[3]) or is_box(index[3])))
        few = few and not _is_homogeneous(frame, item[1])
        return FEW if few and not _is_one_wide(frame, item[1]) else SOME
    if index[0] == m.SLICE:
        around = _is_middle(frame, index[1]) and _is_middle(frame, index[2])
        return MIDDLE if around else FEW if _is_sparse(machine, frame, index) and not index[2] else ""
    if _is_middle(frame, index):
        return MIDDLE
    if index[0] == m.COMPARE or (value and type(value[0]) in (Tensor, Obj)):
        return SOME  # of `features[labels == i]`, too, whatever the labels are
    if index[0] != m.NAME:
        return ""
    if any(word in _PICKS for word in index[1].lower().split("_")):
        return SOME
    return ROW if is_number(frame, index) else ""


def kind_of_call(args: list[Any]) -> str:
    """Which part `select(dim, index)` and `narrow(dim, start, length)` take."""
    few = args[2:] == [] or (type(args[2]) is int and args[2] <= _FEW)
    return FEW if few and args[:1] not in ([], [0]) and type(args[0]) is int else SOME


def _takes_few(machine: Machine, frame: Frame, index: tuple[Expr, ...]) -> bool:
    """Whether an index takes few of many along some dimension, and all along others: `[:, 0]`, `[..., -1, :]`.
    Where numbers come first, `[0, 0, :]`, they mostly take dimensions away that have one element."""
    *numbers, each, last = index if len(index) > 1 else (*index, *index)
    if each[0] == m.NAME and _is_last_of(last) and is_number(frame, each) and all(map(_is_a_number, numbers)):
        return True  # `states[i, lengths[i] - 1]`, `layers[-1, i, length - 1]`: of each row one
    if index[0][0] not in (m.SLICE, m.TEXT):
        return False
    few = whole = 0
    for each in index:
        if _is_a_number(each):
            few += 1
        elif each[0] == m.TEXT or (each[0] == m.SLICE and not any(each[1:])):  # of texts there is only the ellipsis
            whole += 1
        elif each[0] == m.SLICE:
            few += _is_sparse(machine, frame, each) if each[3] else _is_short(machine, frame, each)
        else:
            return False
    return few > 0 and whole > 0


def _is_middle_of_all(frame: Frame, index: tuple[Expr, ...]) -> bool:
    """`[:, :, depth // 2]`, `[middle, :, :]`: whatever else there is along the other dimensions."""
    others = [each for each in index if not _is_middle(frame, each)]
    whole = (each[0] == m.TEXT or (each[0] == m.SLICE and not any(each[1:])) for each in others)
    return len(others) < len(index) and all(whole)


def _is_middle(frame: Frame, index: Expr | None, depth: int = 3) -> bool:
    """`depth // 2`, `int(depth / 2)`, and the next to it, also by a name: one of so many that there is a middle. A
    name may be bound to what follows from itself, `i = i + 1`."""
    if index is None or not depth:
        return False
    if index[0] == m.NAME:
        bound = [one[3] for one in statements(frame.facts.body) if index in targets(one) and one[0] == m.ASSIGN]
        return len(bound) == 1 and bound[0][0] != m.NAME and _is_middle(frame, bound[0], depth - 1)
    if index[0] == m.CALL and index[2] == (m.NAME, "int") and len(index[3]) == 1:
        half = index[3][0]
        return bool(half[0] == m.ARITH and half[1] == "Divide" and half[3] == _TWO)
    if index[0] != m.ARITH:
        return False
    if index[1] in ("Add", "Subtract") and index[3][0] == m.CONST:
        return _is_middle(frame, index[2], depth)
    return bool(index[1] == "FloorDivide" and index[3] == _TWO)


def _is_last_state(base: Expr, index: tuple[Expr, ...]) -> bool:
    """`hidden[0, -1]`, `outputs.logits[0, -1, :]`: of one sequence the last of many steps."""
    if len(index) < 2 or index[0] != (m.CONST, 0) or index[1] != _LAST:
        return False
    rest = all(each[0] == m.TEXT or (each[0] == m.SLICE and not any(each[1:])) for each in index[2:])
    return rest and (len(index) > 2 or not _OF_STEPS.isdisjoint(_name(base).lower().split("_")))


def _is_homogeneous(frame: Frame, base: Expr) -> bool:
    """Whether a tensor has the coordinates of points and a one for each, or is a product with such: `[..., :3]` is
    most of `torch.cat([points, ones], -1) @ pose.T`."""

    def made(expr: Expr) -> Expr:
        bound = [one[3] for one in statements(frame.facts.body) if one[0] == m.ASSIGN and expr in one[2]]
        return bound[0] if expr[0] == m.NAME and len(bound) == 1 else expr

    whole = made(base)
    factors = [whole]
    if whole[0] == m.ARITH and whole[1] == "MatrixMultiply":
        factors = [*whole[2:4]]
    elif whole[0] == m.CALL and last_name(whole) in _PRODUCTS:
        factors = [*whole[3], *(whole[2][1:2] if whole[2][0] == m.ATTR else ())]
    return any(_has_ones(made(factor), made) for factor in factors)


def _has_ones(points: Expr, made: Callable[[Expr], Expr]) -> bool:
    """`torch.cat([points, torch.ones_like(points[:, :1])], -1)`, `F.pad(points, (0, 1), value=1.0)`"""
    if points[0] != m.CALL:
        return False
    if last_name(points) == "pad":
        return any(key == "value" and value != (m.CONST, 0) for key, value in points[4])  # facts know no fractions
    joined = last_name(points) in _JOINS and points[3] and points[3][0][0] == m.NEW
    return bool(joined) and any(last_name(made(part)) in _ONES for part in points[3][0][3])


def _is_a_number(index: Expr) -> bool:
    value = index[1] if index[0] == m.UNARY else index
    return bool(value[0] == m.CONST and type(value[1]) is int)


def _is_last_of(index: Expr) -> bool:
    """`length - 1`, `token.end - 1`"""
    return bool(index[0] == m.ARITH and index[1] == "Subtract" and index[3] == (m.CONST, 1) and index[2][0] != m.CONST)


def _is_short(machine: Machine, frame: Frame, index: Expr) -> bool:
    """`:2`, `-1:`, `:self.heads` where that is one."""
    lower, upper = index[1:3]
    if lower is None and upper is not None:
        number = _number(machine, frame, upper)
        return number is not None and 0 < number <= _FEW
    if upper is None and lower is not None:
        number = _number(machine, frame, lower)
        return number is not None and -_FEW <= number < 0
    return False


def _is_sparse(machine: Machine, frame: Frame, index: Expr) -> bool:
    """`::10`: one of several, however many there are."""
    step = _number(machine, frame, index[3]) if index[3] else None
    return step is not None and abs(step) >= _SPARSE


def _is_one_wide(frame: Frame, base: Expr) -> bool:
    """Whether a tensor is made with a dimension of one element, which an index then takes away: `q.gather(1, action)`,
    `x.max(1, keepdim=True)[0]`."""
    if base[0] == m.NAME:
        made = [one[3] for one in statements(frame.facts.body) if one[0] == m.ASSIGN and base in one[2]]
        base = made[0] if len(made) == 1 else base
    if base[0] == m.ITEM:
        base = base[1]
    if base[0] != m.CALL:
        return False
    return last_name(base) in _ONE_WIDE or ("keepdim", (m.CONST, True)) in base[4]


def _number(machine: Machine, frame: Frame, expr: Expr) -> int | None:
    if expr[0] == m.UNARY:
        inner = _number(machine, frame, expr[1])
        return None if inner is None else -inner
    value = constant(machine.eval(frame, expr)) if expr[0] in (m.CONST, m.NAME, m.ATTR) else ...
    return value if type(value) is int else None


def is_number(frame: Frame, index: Expr) -> bool:
    """Whether a name is bound to one number after the other: by `range`, by `enumerate`; or to one that was looked
    for, `best = int(scores.argmax())`."""
    for statement in statements(frame.facts.body):
        if statement[0] == m.ASSIGN and statement[2] == (index,) and is_looked_for(statement[3]):
            return True
        if statement[0] == m.FOR and statement[3][0] == m.CALL:
            counts = last_name(statement[3])
            if (counts == "range" and statement[2] == index) or (
                counts == "enumerate" and statement[2][0] == m.NEW and statement[2][3][0] == index
            ):
                return True
    return False


def is_looked_for(index: Expr) -> bool:
    """`int(scores.argmax())`, `scores.argmax().item()`"""
    if index[0] != m.CALL:
        return False
    return bool(index[2] == (m.NAME, "int") or (index[2][0] == m.ATTR and index[2][2] == "item"))


def _name(base: Expr | None) -> str:
    if base is None:
        return ""
    if base[0] == m.CALL and base[2][0] == m.ATTR and base[2][2] == "detach":
        return _name(base[2][1])  # the same storage
    if base[0] == m.CALL:
        return f"{last_name(base)}(...)"
    return str(base[-1]) if base[0] in (m.NAME, m.ATTR) else last_name(base)


def _root(machine: Machine, node: int) -> int:
    """The node that a tensor was made with, under whatever name it goes by now; of several the oldest."""
    queue = [node]
    for one in queue:
        if len(queue) <= _NEAR:
            queue += [other for other in same(machine, one) if other not in queue]
    return min(queue)


def parts_of(machine: Machine, node: int) -> list[Part]:
    """What a tensor, as it was stored or handed on, may be a part of."""
    queue, found = [node], []
    for one in queue:
        made = machine.derivation.parts.get(one)
        if made is not None:
            found.append(made)
        elif len(queue) <= _NEAR:
            queue += [other for other in same(machine, one) if other not in queue]
    return found


def is_few(machine: Machine, tensor: Tensor) -> bool:
    """Whether a tensor is a small part of a larger one, and no copy on any way."""
    kinds = {part.kind for part in parts_of(machine, tensor.node)} if machine.derivation.parts else set()
    return kinds == {FEW}


def as_array(machine: Machine, tensor: Tensor) -> Tensor:
    """The array that `part.numpy()` gives of the storage: it keeps the whole as the tensor does."""
    derivation = machine.derivation
    node = derivation.node((tensor.node,), ARRAYS)
    derivation.shared[node] = (tensor.node,)
    return tensor._replace(graph=FREE, node=node)


def same(machine: Machine, node: int) -> tuple[int, ...]:
    """The nodes of the tensors, one or several, that share their storage with this one and were there before."""
    derivation = machine.derivation
    return derivation.written.get(node, ()) or derivation.shared.get(node, ())
