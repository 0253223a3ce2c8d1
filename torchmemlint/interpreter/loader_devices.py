"""What workers of loaders do on a device, and whether a loader has any unless somebody asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.device_names import ACCELERATORS, names_an_accelerator
from ..facts.model_names import names_model
from ..facts.program import targets
from ..facts.walk import call_at, calls, last_name, statements
from .arguments import argument
from .values import Obj, constant

if TYPE_CHECKING:
    from ..facts.model import Expr, Site
    from .frames import Frame
    from .machine import Machine
    from .values import Value

_SETTINGS = tuple((m.NAME, name) for name in "self args cfg config conf opt opts hparams params settings".split())
_DEEPEST = 4  # names that a device is followed through


def note_call(machine: Machine, frame: Frame, call: Expr, receiver: Value) -> None:
    """Note calls that mean something in a worker: a tensor that goes to a device, and what makes a context there."""
    if machine.context.kind == "loader":
        name = call[2][2]
        if name == "cuda" and not call[3] and call[2][1][0] != m.CALL and any(type(atom) is Obj for atom in receiver):
            return  # a module of the data set: whoever made it
        if name == "cuda" or _to_device(machine, frame, call) or _makes_a_context(call):
            machine.note("loader-device", call[1], frame, machine.context)


def _makes_a_context(call: Expr) -> bool:
    """`torch.cuda.set_device(rank)` [ai2cm/ace#1396: some 500 MiB of the device for each worker]"""
    return bool(call[2][2] == "set_device" and call[2][1][0] == m.ATTR and call[2][1][2] in ACCELERATORS)


def _to_device(machine: Machine, frame: Frame, call: Expr) -> bool:
    given = [value for key, value in call[4] if key == "device"]
    if call[2][2] == "to":
        given += call[3][:1]
    for expr in given:
        if expr[0] == m.CALL and expr[3] and expr[2][-1] == "device":
            expr = expr[3][0]  # torch.device("cuda")
        if names_an_accelerator(expr):
            return True
        known = expr[1] if expr[0] == m.CONST else constant(machine.eval(frame, expr))
        if isinstance(known, str):
            return known.startswith(ACCELERATORS)
        if expr[0] == m.ATTR and expr[2] == "device" and expr[1] not in _SETTINGS:
            continue  # that of another tensor
        if expr[0] in (m.NAME, m.ATTR) and "device" in str(expr[-1]).lower():
            return not (_is_that_of_a_tensor(frame, expr) or _is_where_its_tensors_are(frame, expr))
    return False


def _is_that_of_a_tensor(frame: Frame, device: Expr) -> bool:
    """Whether a name stands for where another tensor is, `device = wave.device`, or the caller gives that for it:
    `mel_of(wave, device=wave.device)`."""
    current: Frame | None = frame
    for _ in range(_DEEPEST):
        if device[0] == m.ATTR and device[2] == "device" and device[1] not in _SETTINGS:
            return not _is_of_a_model(device[1])
        if device[0] != m.NAME or current is None:
            return False
        bound = [one[3] for one in statements(current.facts.body) if one[0] == m.ASSIGN and device in targets(one)]
        given = argument(current, device[1]) if not bound else bound[0] if len(bound) == 1 else None
        if given is None:
            return False
        device, current = given, current if bound else current.caller
    return False


def _is_where_its_tensors_are(frame: Frame, device: Expr) -> bool:
    """Whether an object's device is the host or where the tensors are that it is made of, whatever the method that says
    so: `self.device = torch.device("cpu")`, `self.device = points[0].device`."""
    owner = frame.function.owner if frame.function is not None else None
    if owner is None or device[0] != m.ATTR or device[1] != (m.NAME, "self"):
        return False
    functions = (frame.unit.facts.functions[index] for index in owner.facts.methods.values())
    bound = [
        one[3]
        for function in functions
        for one in statements(function.body)
        if one[0] == m.ASSIGN and device in targets(one)
    ]
    return bool(bound) and all(_is_the_host(one) or _is_that_of_a_tensor(frame, one) for one in bound)


def _is_the_host(device: Expr) -> bool:
    if device[0] == m.CALL and last_name(device[2]) == "device" and device[3]:
        device = device[3][0]
    return bool(device == (m.CONST, "cpu"))


def _is_of_a_model(owner: Expr) -> bool:
    """`self.model`, `tokenizer`: what somebody may have put on a device; a tensor of the item is on the CPU."""
    if owner[0] not in (m.NAME, m.ATTR, m.ITEM):
        return True
    name = last_name(owner).lower()
    return names_model(name) or name.endswith(("tokenizer", "encoder", "extractor", "processor", "accelerator"))


def none_by_default(frame: Frame, site: Site) -> bool:
    """Whether a loader has as many workers as a parameter says, or a flag of the command line, by default none, and
    nobody is seen to ask for more."""
    call = call_at(frame.facts.body, site)
    given = [value for key, value in call[4] if key == "num_workers"] if call is not None else []
    if any((m.NAME, param.name) in given and param.default == (m.CONST, 0) for param in frame.facts.params):
        return True
    return any(value[0] == m.ATTR and _is_flag_of_none(frame, value[2]) for value in given)


def _is_flag_of_none(frame: Frame, name: str) -> bool:
    """`parser.add_argument("--num-workers", type=int, default=0)`"""
    flags = [
        call
        for function in frame.unit.facts.functions
        if "add_argument" in function.calls
        for call in calls(function.body)
        if last_name(call[2]) == "add_argument" and any(_flag(one) == name for one in call[3])
    ]
    return bool(flags) and all(("default", (m.CONST, 0)) in call[4] for call in flags)


def _flag(given: Expr) -> str:
    """`num_workers` of `"--num-workers"`."""
    return given[1].lstrip("-").replace("-", "_") if given[0] == m.CONST and isinstance(given[1], str) else ""
