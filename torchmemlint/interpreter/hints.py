"""What an annotation says a value is."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.plain_hints import PLAIN, PLAIN_GENERICS
from ..facts.walk import once, statements
from .frames import Frame
from .machine import Machine
from .values import LIGHT, MAYBE, UNKNOWN, Class, External, Tensor, Value

_TENSORS = ("Tensor", "FloatTensor", "LongTensor", "BoolTensor", "Float", "Parameter")
_SEQUENCES = ("List", "list", "Sequence", "Iterable", "Iterator", "Set", "set", "Deque", "deque", "Collection")
_MAPPINGS = ("Dict", "dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict")
_LIGHT = (*PLAIN, "Path", "ndarray")
_OF_SHAPES = ("Float", "Int", "Bool", "UInt", "Integer", "Inexact", "Num", "Shaped", "Complex", "Real")
_SHAPES = (".Protocol", ".TypedDict", ".NamedTuple")
_MODULES = ("Module", "LightningModule", "PreTrainedModel")
_OF_TORCH = (*_TENSORS, *_MODULES, "DataLoader", "Optimizer")


def is_tensor_hint(hint: Expr) -> bool:
    """`torch.Tensor`, and nothing else."""
    return hint[0] in (m.NAME, m.ATTR) and hint[-1] == "Tensor"


def is_module_hint(hint: Expr) -> bool:
    """`nn.Module`, and nothing else."""
    return bool(hint[0] == m.ATTR and hint[1][-1] == "nn" and hint[2] == "Module")


def rules_out_tensors(machine: Machine, frame: Frame, hint: Expr) -> bool:
    """Whether an annotation promises objects of a class of the project, or text, and no tensor: `List[Document]`."""
    if hint[0] == m.ITEM and hint[1][-1] in (*_SEQUENCES, *_MAPPINGS, *PLAIN_GENERICS):
        parts = hint[2][3] if hint[2][0] == m.NEW else (hint[2],)
        return all(rules_out_tensors(machine, frame, part) for part in parts)
    if hint[0] not in (m.NAME, m.ATTR):
        return False
    if hint[-1] in PLAIN:
        return True
    found = machine.eval(frame, hint)
    return bool(found) and all(type(atom) is Class and not atom.external for atom in found)


def declared(block: tuple[Stmt, ...]) -> dict[str, Expr]:
    """What the annotations of a function's body say of its variables."""
    return {one[2][1]: one[3] for one in statements(block) if one[0] == m.ANNOTATE and one[2][0] == m.NAME}


hints_of = once(declared)


def may_be_none(hint: Expr) -> bool:
    """Whether an annotation says that there may be nothing: `Optional[Tensor]`, `Tensor | None`."""
    op = hint[0]
    if op == m.CONST:
        return hint[1] is None or (isinstance(hint[1], str) and ("None" in hint[1] or "Optional" in hint[1]))
    if op == m.ARITH:
        return may_be_none(hint[2]) or may_be_none(hint[3])
    if op == m.ITEM and hint[1][-1] == "Union":
        return any(map(may_be_none, hint[2][3] if hint[2][0] == m.NEW else ()))
    return bool(op == m.ITEM and hint[1][-1] == "Optional")


def value_of_hint(machine: Machine, frame: Frame, hint: Expr | None, depth: int = 2, ident: object = "") -> Value:
    """The value that an annotation promises; nothing if it is not understood."""
    if hint is None or not depth:
        return UNKNOWN
    op = hint[0]
    if op == m.CONST and isinstance(hint[1], str):
        return _text(machine, frame, hint[1], depth, ident)
    if op == m.ARITH:
        left = value_of_hint(machine, frame, hint[2], depth, ident)
        return machine.join(left, value_of_hint(machine, frame, hint[3], depth, ident))
    if op == m.ITEM:
        return _generic(machine, frame, hint, depth, ident)
    if op in (m.NAME, m.ATTR):
        return _plain(machine, frame, hint, ident)
    return UNKNOWN


def _text(machine: Machine, frame: Frame, text: str, depth: int, ident: object) -> Value:
    result: Value = UNKNOWN
    for part in text.split("|"):
        part = part.strip()
        if part.replace(".", "").isidentifier():
            expr: Expr = (m.NAME, part.split(".")[0])
            for name in part.split(".")[1:]:
                expr = (m.ATTR, expr, name)
            result = machine.join(result, _plain(machine, frame, expr, ident))
    return result


def _plain(machine: Machine, frame: Frame, hint: Expr, ident: object) -> Value:
    name = hint[-1]
    of_torch = not _is_its_own(machine, frame, hint)
    if of_torch and name in _TENSORS:
        return (Tensor(MAYBE, 2, machine.derivation.node(), ""),)
    if name in _LIGHT:
        return LIGHT
    if of_torch and name in _MODULES:
        obj = machine.allocate(frame, ("hint", ident, name), "module", "?", 2)
        obj.unknown = True
        return (obj,)
    if of_torch and name == "DataLoader":
        return (machine.allocate(frame, ("hint", ident, name), "loader"),)
    if of_torch and name == "Optimizer":
        return (machine.allocate(frame, ("hint", ident, name), "optimizer"),)
    for atom in machine.eval(frame, hint):
        if type(atom) is Class:
            if any(dotted.endswith(_SHAPES) for dotted in atom.external):
                return UNKNOWN  # what has that shape may be another object in each call
            return machine.instance_of(frame, atom, ident)
        if type(atom) is External and atom.dotted.startswith("torch.nn.") and atom.dotted.count(".") <= 3:
            obj = machine.allocate(frame, ("hint", ident, name), "module", atom.dotted, 2)
            return (obj,)
    return UNKNOWN


def _is_its_own(machine: Machine, frame: Frame, hint: Expr) -> bool:
    """Whether a class of the project has that name, and nothing of torch in it: a compiler's `Tensor`."""
    if hint[-1] not in _OF_TORCH:
        return False
    classes = [atom for atom in machine.eval(frame, hint) if type(atom) is Class]
    return bool(classes) and not any("torch" in base or "lightning" in base for cls in classes for base in cls.external)


def _generic(machine: Machine, frame: Frame, hint: Expr, depth: int, ident: object) -> Value:
    head = hint[1][-1]
    inner = hint[2]
    parts = inner[3] if inner[0] == m.NEW else (inner,)
    if head in ("Optional", "Annotated", "Final", "ClassVar", "Type"):
        return value_of_hint(machine, frame, parts[0], depth, ident) if head != "Type" else UNKNOWN
    if head == "Union":
        result: Value = UNKNOWN
        for part in parts:
            result = machine.join(result, value_of_hint(machine, frame, part, depth, ident))
        return result
    if head in _SEQUENCES or head in _MAPPINGS:
        kind = "dict" if head in _MAPPINGS else "list"
        obj = machine.allocate(frame, ("hint", ident, head), kind)
        obj.unknown = True
        obj.fields["*"] = value_of_hint(machine, frame, parts[-1], depth - 1, (ident, "*"))
        return (obj,)
    if head in ("Tuple", "tuple"):
        obj = machine.allocate(frame, ("hint", ident, head), "tuple")
        obj.unknown = True
        for index, part in enumerate(parts):
            obj.fields[f"[{index}]"] = value_of_hint(machine, frame, part, depth - 1, (ident, index))
        return (obj,)
    if head == "DataLoader":
        return (machine.allocate(frame, ("hint", ident, head), "loader"),)
    if head in _OF_SHAPES and parts[1:] and parts[-1][0] == m.CONST and type(parts[-1][1]) is str:
        return value_of_hint(machine, frame, parts[0], depth, ident)  # jaxtyping: `Float[Tensor, "rows columns"]`
    return UNKNOWN
