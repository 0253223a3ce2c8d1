"""Networks that get their weights from another one, again and again, and those that an optimizer trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .values import UNKNOWN, Class, Obj

if TYPE_CHECKING:
    from .machine import Machine
    from .values import Kwargs, Value

_MOST = 24  # nodes that are gone back to: `(1 - tau) * p.data + tau * q.data`


def owners(machine: Machine, value: Value) -> set[Obj]:
    """The modules whose parameters are in a value, or were used to compute it."""
    derivation = machine.derivation
    found: set[Obj] = set()
    queue = [tensor.node for tensor in machine.reach(value, 2)]
    for node in queue:
        label = derivation.labels.get(node)
        if label is not None and label[0] == "parameters" and type(label[1]) is Obj:
            found.add(label[1])
        if len(queue) < _MOST:  # of `p.data` and `p.detach()`, too
            queue += [one for one in (*derivation.parents[node], *derivation.shared.get(node, ())) if one not in queue]
    return found


def note_trained(machine: Machine, obj: Obj, args: list[Value], kwargs: Kwargs) -> None:
    """`super().__init__(params, defaults)` of an optimizer of the project: its groups have the parameters of these."""
    bases = obj.cls.external if isinstance(obj.cls, Class) else ()
    if any(base.startswith("torch.optim.") and "lr_scheduler" not in base for base in bases):
        obj.fields["$of"] = tuple(owners(machine, args[0] if args else kwargs.get("params", UNKNOWN)))


def note_following(machine: Machine, written: set[Obj], given: Value) -> None:
    """Weights of one module become what another one's are, `target.load_state_dict(net.state_dict())`, or a mean of
    both, `p.data.copy_(tau * q.data + (1 - tau) * p.data)`. Where its object is made it only starts from them."""
    if len(written) != 1 or any(frame.name == "__init__" for frame in machine.stack) or not machine.loops:
        return
    (module,) = written
    sources = owners(machine, given) - written
    if len(sources) == 1:
        machine.followed.setdefault(module, set()).update(sources)


def follows_trained(machine: Machine, module: Obj) -> bool:
    """Whether an optimizer trains the module that this one gets its weights from, and none this one."""
    sources = machine.followed.get(module, ())
    return not is_trained(machine, module) and any(is_trained(machine, source) for source in sources)


def is_trained(machine: Machine, module: Obj) -> bool:
    """Whether an optimizer takes steps with a module, what it is a part of, or a part of it, by itself or with others:
    `SGD([{"params": net.backbone.parameters()}, {"params": net.head.parameters()}])`."""
    trained = machine.trained
    return any(holder in trained for holder in module.holders) or any(module in part.holders for part in trained)
