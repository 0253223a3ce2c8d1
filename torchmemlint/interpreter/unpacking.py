"""Unpacking: which part of a value each of several targets gets."""

from __future__ import annotations

from typing import Any

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.walk import last_name
from .elements import iterate
from .frames import Frame
from .hints import hints_of, rules_out_tensors, value_of_hint
from .loaders import part_of_batch
from .machine import Machine
from .stores import renew
from .tensors import names_number
from .values import ATTACHED, COUNT, FREE, OFF, UNKNOWN, Obj, Opaque, Tensor, Value

_SIDES = frozenset("n t l s h w len length seq seqlen time frames tokens steps height width".split())
_RECORDS = frozenset("metric metrics stat stats statistics log logs logging info infos scalars summary report".split())
_LENGTHS = ("lens", "length", "lengths", "mask", "masks", "count", "counts", "size", "sizes", "indices")
_ABOUT = ("meta", "metas", "metadata")
_RIGHT = frozenset("acc accs accuracy accuracies correct hits ppl perplexity wer cer bleu".split())
_COUNTED = frozenset("frames tokens samples examples words utterances pixels".split())


def unpack(machine: Machine, frame: Frame, targets: tuple[Expr, ...], value: Value, site: Site) -> None:
    """Bind each target of `a, b = value` to its part, a starred one to the list of what the others leave."""
    star = next((index for index, target in enumerate(targets) if target[0] == m.STAR), len(targets))
    for index, target in enumerate(targets):
        if index == star:
            rest = _rest(machine, frame, value, star, len(targets) - star - 1, (site, target))
            machine.assign(frame, target[1], rest, site)
            continue
        part: Value = UNKNOWN
        for atom in value:
            place = index if index < star else index - len(targets)
            part = machine.join(part, _part(machine, frame, atom, place))
        if COUNT in value and index and not part and _names_a_side(target):
            part = (COUNT,)
        if machine.derivation.loaded and target[0] == m.NAME:
            part = tuple(part_of_batch(machine, one, target[1]) if type(one) is Tensor else one for one in part)
        if not part or type(part[0]) is Opaque or _is_free(part):
            part = _part_differentiated(machine, frame, site, target, part)
        elif any(type(atom) is Tensor and atom.bundle for atom in value) and _names_lengths(target):
            part = UNKNOWN  # next to what a module computed it hands out lengths and masks
        elif _names_record(target) and _is_beside_loss(machine, frame, targets, value, site):
            part = UNKNOWN
        elif target[0] == m.NAME and frame.facts.backward.get(site, target[1]) != target[1]:
            part = tuple(_beside_the_loss(machine, atom) for atom in part)
        if target[0] == m.NAME and part and all(type(atom) is Tensor and atom.weight < 3 for atom in part):
            hint = hints_of(frame.facts.body).get(target[1])
            if hint is not None and rules_out_tensors(machine, frame, hint):
                part = value_of_hint(machine, frame, hint)
        machine.assign(frame, target, part, site)


def _part(machine: Machine, frame: Frame, atom: Any, place: int) -> Value:
    """What stands at a place of something, counted from its end if that is negative."""
    if type(atom) is Obj:
        if f"[{place}]" in atom.fields:
            return atom.fields[f"[{place}]"]
        if place < 0 and -place <= len(row := _row(atom)):
            return row[place]
    return iterate(machine, frame, (atom,))


def _row(atom: Any) -> list[Value]:
    """The elements of a row whose length is known: a tuple, a list as it is written, a round of a `zip`."""
    if type(atom) is not Obj or atom.kind == "dict" or "*" in atom.fields:
        return []
    keys = (f"[{place}]" for place in range(len(atom.fields)))
    return [atom.fields[key] for key in keys if key in atom.fields]


def _rest(machine: Machine, frame: Frame, value: Value, before: int, after: int, ident: Any) -> Value:
    """The list of what the other targets leave for a starred one."""
    rest = renew(machine, machine.allocate(frame, ("rest", *ident), "list"))
    for atom in value:
        row = _row(atom)
        parts = row[before : len(row) - after] if row else [iterate(machine, frame, (atom,))]
        for index, part in enumerate(parts):
            key = f"[{index}]" if row and len(value) == 1 else "*"
            machine.put(rest.fields, key, machine.join(rest.fields.get(key, UNKNOWN), part))
    return (rest,) if any(rest.fields.values()) else UNKNOWN


def _names_a_side(target: Expr) -> bool:
    """`batch, length, width = x.shape`, of a tensor that has another size in each round: a side other than the first,
    which has the number of samples, nor one that the model sets, such as its channels."""
    return target[0] == m.NAME and not _SIDES.isdisjoint(target[1].lower().strip("_").split("_"))


def _names_lengths(target: Expr) -> bool:
    """`hlens`, `mask`, `lengths[i]`, `datapoint_count`, `tot_frames`: numbers and booleans, which have no graph; nor
    has how often something was right, `acc`, or how far from it, `ppl`; or `metadata`, a table of such."""
    name = last_name(target)
    words = name.lower().split("_")
    if words[-1] in _ABOUT or words[-1] in _RIGHT or (words[0] in ("tot", "total") and words[-1] in _COUNTED):
        return True
    return names_number(name) or any(word.endswith(_LENGTHS) for word in words)


def _names_record(target: Expr) -> bool:
    """`metrics`, `loss_stats`, `log_dict`: what is there to be printed, which is numbers as often as not."""
    return target[0] == m.NAME and not _RECORDS.isdisjoint(target[1].lower().split("_"))


def _is_beside_loss(machine: Machine, frame: Frame, targets: tuple[Expr, ...], value: Value, site: Site) -> bool:
    """Whether parts stand beside the loss that something unseen gives: it is back-propagated here, or is called one,
    `return loss, info`."""
    if all(_is_unseen_loss(machine, atom) for atom in value):
        return True
    named = any("loss" in last_name(target).lower().split("_") for target in targets)
    return all(map(_is_of_unseen_pass, value)) and (named or site in frame.facts.backward)


def _is_unseen_loss(machine: Machine, atom: Any) -> bool:
    """What a function gave that is known to compute a loss, by its name, which says nothing of what is beside it."""
    return type(atom) is Tensor and machine.derivation.labels.get(atom.node, ("",))[0] == "loss"


def _is_of_unseen_pass(atom: Any) -> bool:
    """What something gave that is only used like a module."""
    return type(atom) is Tensor and atom.bundle and atom.weight < 3


def _beside_the_loss(machine: Machine, atom: Any) -> Any:
    """What something that is only used like a module gives with the loss: if it is a dictionary, it is one for the
    record as often as not, `return loss, {"loss": loss.item()}`."""
    if not _is_of_unseen_pass(atom) or atom.graph != ATTACHED:
        return atom
    return atom._replace(node=machine.derivation.node((atom.node,), ("beside the loss",)))


def _is_free(part: Value) -> bool:
    """Whether a part has no graph as far as is seen: what `region_loss(ids)` gives, by its name and arguments."""
    return all(type(atom) is Tensor and atom.graph == FREE for atom in part)


def _part_differentiated(machine: Machine, frame: Frame, site: Site, target: Expr, part: Value) -> Value:
    """`loss, logs = unknown()` where `loss` is back-propagated: only that name is known to be attached."""
    if target[0] != m.NAME or machine.grad == OFF or frame.facts.backward.get(site) != target[1]:
        return part
    node = machine.derivation.node(tuple(machine.nodes(part)), ("differentiated", site, ""))
    return (Tensor(ATTACHED, 3, node, "scalar"),)
