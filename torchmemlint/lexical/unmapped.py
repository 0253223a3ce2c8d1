"""Loads that put weights on the device that they were saved from: `torch.load` without a map."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import TO_DEVICE
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.one_rank import called_by_one
from ..facts.program import Program, targets
from ..facts.walk import calls, expressions_of, heads, last_name, nodes, statements, with_tests
from .checkpoints import MODULES, TAKES_OVER, Load, is_model, is_of, is_part, loads, names_host

_DEVICES = TO_DEVICE | {"device", "set_device", "is_available", "current_device", "autocast"}
_ON_A_DEVICE = frozenset("load_state_dict to cuda eval train backward forward DataLoader".split())
_RANKS = frozenset(
    "init_process_group DistributedDataParallel DDP get_rank get_world_size local_rank is_main_process spawn".split()
)
_COLLECTIVES = frozenset("all_reduce all_gather all_gather_object reduce_scatter".split())
_ASKS = ("rank", "is_main", "is_master", "main_process", "is_initialized", "distributed", "world_size")
_RANK = frozenset(("rank", "local_rank", "global_rank", "process_index"))  # parameters
_OF_RANK = re.compile(r"(^|_)rank$|^process_index$")


class Unmapped(NamedTuple):
    """A checkpoint that goes back to the device it was saved from."""

    site: Site  # of the call
    why: str  # "ignored", "ranks", "unused", "copied", "kept", "others"; "" where nothing but the load is seen


def unmapped_loads(program: Program) -> Iterator[Unmapped]:
    """Loads that do not say where to, with what shows that this costs the memory of a device."""
    for place in program.places if any("load" in name for name in program.called) else ():
        function = place.facts
        if function.name.startswith("test_"):
            continue  # it loads what it has saved a moment ago
        if any(("assign", (m.CONST, True)) in call[4] for call in calls(function.body)):
            continue  # the model takes the loaded tensors for its own
        ignored = set(_ignoring(program, function))
        yield from (Unmapped(site, "ignored") for site in sorted(ignored))
        found = list(loads(function))
        decided = any(_is_mapped(load.call, 1) for load in found)
        for load in found:
            taken = load.call[1] in ignored or _is_mapped(load.call, 1)
            if (
                load.named
                and not taken
                and not _is_saved_after_a_fit(function, load)
                and not _is_engine(function, load)
            ):
                yield Unmapped(load.call[1], _cost(program, function, load, decided))
        if _has_ranks(program):
            yield from (Unmapped(site, "ranks") for site in _restored(function))


def _cost(program: Program, function: FunctionFacts, load: Load, decided: bool) -> str:
    if _is_saved_from_host(program, function) or _is_model_of_host(program, load):
        return ""
    if _has_ranks(program):
        if any(other.call[3] == load.call[3] and _is_mapped(other.call, 1) for other in loads(function)):
            return ""  # in the other arm of `if args.gpu is None`: somebody has thought of it
        by_one = _is_for_one_rank(function, load.site) or function.name in called_by_one(program.facts)
        return "" if by_one or _is_of_one_rank(function, load) else "ranks"
    if decided:
        return ""  # somebody has thought of it: `if torch.cuda.is_available()`, beside a load onto the host
    if _is_for_all_ranks(function, load):
        return "" if _is_for_one_rank(function, load.site) else "ranks"
    others = [other for other in program.facts.functions if other.owner == function.owner]
    whole = function.owner >= 0 or _goes_in_whole(function, load)
    if whole and any(_is_mapped(other.call, 1) for one in others for other in loads(one)):
        return "others"
    if load.target is None:
        return ""
    methods = others if function.owner >= 0 else []
    if load.target[:2] == (m.ATTR, (m.NAME, "self")):
        return "kept" if _are_copied_from(methods, load.target) else ""
    tool = "save" in program.called and _ON_A_DEVICE.isdisjoint(program.called) and not program.facts.classes
    if tool and load.call[3] and load.call[3][0][0] != m.CONST:
        return "unused"  # it reads checkpoints and writes one, and computes nothing on a device
    if "save" in program.called and not _names_a_device(program):
        return ""  # what it has saved itself, from the host
    return "copied" if _goes_in_by_part(function, load, load.target) else ""


def _is_saved_after_a_fit(function: FunctionFacts, load: Load) -> bool:
    """Whether the same body has saved the file after `trainer.fit(model)`: Lightning's end of a fit moves the model to
    the host [docs of lightning: Strategy.teardown]."""
    if not {"Trainer", "fit", "save"} <= set(function.calls) or not load.call[3] or load.call[3][0][0] != m.CONST:
        return False
    made = {target for one in statements(function.body) if _is_trainer(one) for target in targets(one)}
    fits = [
        call[1] for call in calls(function.body) if call[2][0] == m.ATTR and call[2][2] == "fit" and call[2][1] in made
    ]
    saves = (call[1] for call in calls(function.body) if last_name(call[2]) == "save" and load.call[3][0] in call[3])
    return any(fit < save < load.call[1] for fit in fits for save in saves)


def _is_engine(function: FunctionFacts, load: Load) -> bool:
    """Whether it goes into a `TRTModule`, whose state is an engine, in bytes [torch2trt: TRTModule._on_state_dict]."""
    into = [call[2][1] for call in calls(function.body) if call[2][0] == m.ATTR and load.call in call[3]]
    made = (one for one in statements(function.body) if one[0] == m.ASSIGN and not set(into).isdisjoint(one[2]))
    return any(one[3][0] == m.CALL and last_name(one[3]) == "TRTModule" for one in made)


def _is_trainer(statement: Stmt) -> bool:
    return statement[0] == m.ASSIGN and statement[3][0] == m.CALL and last_name(statement[3]) == "Trainer"


def _is_saved_from_host(program: Program, function: FunctionFacts) -> bool:
    """Whether the method that writes what this one reads, `save_checkpoint` for `load_checkpoint`, or one beside them,
    takes the optimizer's state to the host before, `state["state"] = to_cpu(state["state"])`, and no model is saved as
    it is."""
    methods = [one for one in program.facts.functions if function.owner >= 0 and one.owner == function.owner]
    writer = next(
        (one for one in methods if one.name == function.name.replace("load", "save", 1) != function.name), None
    )
    if writer is None:
        return False
    if any(
        _is_moved_to_host(writer, call[3][0]) for call in calls(writer.body) if last_name(call[2]) == "save" and call[3]
    ):
        return True
    saved = (call[2] for call in calls(writer.body) if last_name(call[2]) == "state_dict" and call[2][0] == m.ATTR)
    if any(last_name(callee[1]) in MODULES for callee in saved):
        return False
    return any(
        one[0] == m.ASSIGN and one[2][0][0] == m.ITEM and one[2][0] in nodes(one[3]) and names_host(one[3])
        for method in methods
        for one in statements(method.body)
    )


def _is_model_of_host(program: Program, load: Load) -> bool:
    """Whether the file writes what is loaded, by the same path, after it has moved the model to the host: `model =
    model.cpu()`, for an evaluation of a whole graph, say."""
    path = load.call[3][:1]
    saves = [
        (function, call)
        for function in program.facts.functions
        for call in calls(function.body)
        if last_name(call[2]) == "save" and path and call[3][1:2] == path
    ]
    return bool(saves) and all(_has_moved_to_host(function, call) for function, call in saves)


def _has_moved_to_host(function: FunctionFacts, save: Expr) -> bool:
    """Whether the last move, before a save, of the models whose states it writes is one to the host."""
    asked = (node[2] for node in nodes(save[3][0]) if node[0] == m.CALL)
    states = [callee[1] for callee in asked if callee[0] == m.ATTR and callee[2] == "state_dict"]
    moves = [call for call in calls(function.body) if call[1] < save[1] and last_name(call[2]) in ("cpu", "cuda", "to")]
    last = [[call for call in moves if call[2][0] == m.ATTR and call[2][1] == model][-1:] for model in states]
    return bool(last) and all(found and _goes_to_host(found[0]) for found in last)


def _is_moved_to_host(writer: FunctionFacts, saved: Expr) -> bool:
    """Whether each entry of what is saved is taken to the host: `for key, part in state.items(): state[key] =
    part.cpu()`, `torch.save({key: part.cpu() for key, part in model.state_dict().items()}, path)`."""
    for one in statements(writer.body):
        if one[0] == m.FOR and one[3][0] == m.CALL and one[3][2] == (m.ATTR, saved, "items"):
            for each in one[4]:
                if each[0] == m.ASSIGN and each[2][0][:2] == (m.ITEM, saved) and _goes_to_host(each[3]):
                    return True
    made = [one[3] for one in statements(writer.body) if one[0] == m.ASSIGN and saved in one[2]] or [saved]
    return all(one[0] == m.COMP and one[4] is not None and _goes_to_host(one[4]) for one in made)


def _goes_to_host(value: Expr) -> bool:
    """`part.cpu()`, `part.detach().to("cpu")`"""
    return value[0] == m.CALL and (last_name(value[2]) == "cpu" or (last_name(value[2]) == "to" and names_host(value)))


def _goes_in_whole(function: FunctionFacts, load: Load) -> bool:
    """`model.load_state_dict(torch.load(path))`"""
    return any(
        last_name(call[2]).startswith("load_state_dict") and load.call in call[3] for call in calls(function.body)
    )


def _has_ranks(program: Program) -> bool:
    """Whether the file works with several ranks of torch's own: a collective of other devices says nothing of them."""
    if not _RANKS.isdisjoint(program.called):
        return True
    collective = not _COLLECTIVES.isdisjoint(program.called)
    return collective and any(name.startswith("torch.distributed") for name in program.imports.values())


def _names_a_device(program: Program) -> bool:
    """Whether anything in the file says that there is one."""
    params = {param.name for function in program.facts.functions for param in function.params}
    return bool(program.called & _DEVICES or params & {"device", "map_location"})


def _is_for_one_rank(function: FunctionFacts, site: Site) -> bool:
    """Whether a statement is done on one rank, or where there are no ranks: `if rank() == 0`, the other arm of `if
    dist.is_initialized()`, after `if rank != 0: return`."""
    for one, tests in with_tests(function.body):
        if one[1] == site or (one[0] == m.RETURN and one[1] < site):
            words = (str(node[-1]).lower() for test in tests for node in nodes(test) if node[0] in (m.NAME, m.ATTR))
            if any(asked in word for word in words for asked in _ASKS):
                return True
    return False


def _is_for_all_ranks(function: FunctionFacts, load: Load) -> bool:
    """Whether a function that is told its rank loads what the others load too: the rank is not in the file's name,
    nor is anything that is filled into a text."""
    told = any(param.name in _RANK for param in function.params)
    if not told or not load.call[3]:
        return False
    return not _is_of_one_rank(function, load) and not any(node[0] == m.TEXT for node in _path(function, load))


def _is_of_one_rank(function: FunctionFacts, load: Load) -> bool:
    """`torch.load(f"part-{rank}.pt")`: each rank has a file of its own, saved from its own device."""
    return any(node[0] in (m.NAME, m.ATTR) and _OF_RANK.search(node[-1]) for node in _path(function, load))


def _path(function: FunctionFacts, load: Load) -> Iterator[Expr]:
    """What a file's name is made of, here or where it is bound."""
    for path in load.call[3][:1]:
        bound = (one[3] for one in statements(function.body) if one[0] == m.ASSIGN and path in one[2])
        for part in (path, *bound):
            yield from nodes(part)


def _are_copied_from(methods: list[FunctionFacts], weights: Expr) -> bool:
    """Whether an object copies into parameters what it has loaded, `parameter.copy_(self.weights[name])`, and never
    lets go of it."""
    if is_model(methods, weights):
        return False
    copied = False
    for method in methods:
        found = [node for one in statements(method.body) for node in expressions_of(one)]
        for one in statements(method.body):
            bound = one[-1] if one[0] in (m.ASSIGN, m.ANNOTATE) and weights in targets(one) else None
            if bound is not None and last_name(bound) != "load":
                return False
            if one[0] == m.DELETE and weights in one[2]:
                return False
        reads = any(node[0] in (m.ITEM, m.CALL) and weights in nodes(node) for node in found)
        copied |= reads and any(name == "copy_" or name.startswith("load_state_dict") for name in method.calls)
    return copied


def _restored(function: FunctionFacts) -> Iterator[Site]:
    """Models of NeMo that a rank restores, by default onto `cuda:0`, and moves to its own device only then."""
    given = {param.name for param in function.params}
    for statement in statements(function.body) if "restore_from" in function.calls else ():
        if statement[0] == m.ASSIGN and statement[3][0] == m.CALL and last_name(statement[3]) == "restore_from":
            moved = any(
                call[2][0] == m.ATTR
                and call[2][1] in statement[2]
                and call[2][2] in ("to", "cuda")
                and call[3]
                and call[3][0][0] == m.NAME
                and call[3][0][1] in given
                for call in calls(function.body)
            )
            if moved and not _is_mapped(statement[3], 99):
                yield statement[3][1]


def _goes_in_by_part(function: FunctionFacts, load: Load, place: Expr) -> bool:
    """Whether a part of a checkpoint, `place["model"]`, goes into a module: the rest, mostly the optimizer's state,
    lies on the device for nothing. An optimizer takes loaded tensors for its own."""
    into = [call for call in calls(function.body) if last_name(call[2]) == "load_state_dict"]
    again = (one[1] for one in statements(function.body) if one[0] == m.ASSIGN and place in one[2])
    until = min((site for site in again if site > load.site), default=None)  # the name is the next file's from there
    own = [call for call in into if load.site < call[1] and (until is None or call[1] < until)]
    own = [call for call in own if place in nodes(call[3])]
    if all(is_of(call, TAKES_OVER) for call in own or into):
        return False
    for one in statements(function.body):
        bound = one[3] if one[0] == m.ASSIGN and place in one[2] else (m.CONST, None)
        if bound[0] != m.CONST and last_name(bound) != "load" and place not in nodes(bound):
            return False  # the name stands for something else as well
    found = [node for one in statements(function.body) for node in expressions_of(one)]
    rounds = {target for one in statements(function.body) if one[0] == m.FOR for target in targets(one)}
    rounds |= {part[0] for node in found if node[0] == m.COMP for part in node[5]}  # `states[key]` for each: all of it
    return any(is_part(node, place) and not (node[0] == m.ITEM and node[2] in rounds) for node in found)


def _ignoring(program: Program, function: FunctionFacts) -> Iterator[Site]:
    """Loads in a function that is told where to load to, and does not pass it on."""
    wanted = next((param.name for param in function.params if param.name == "map_location"), "")
    if not wanted or _decides(function, (m.NAME, wanted)):
        return
    for call in calls(function.body):
        name = last_name(call[2])
        torch_load = call[2] == (m.ATTR, (m.NAME, "torch"), "load")
        if not torch_load and name not in ("load_url", "load_state_dict_from_url"):
            callee = program.by_name.get(name, ())
            index = next((i for one in callee for i, p in enumerate(one.facts.params) if p.name == wanted), -1)
            if len(callee) != 1 or index < 0 or callee[0].facts is function:
                continue
            if callee[0].cls and call[2][:2] != (m.ATTR, (m.NAME, "self")):
                continue  # another object's method, which is merely called so
            if not callee[0].cls and call[2][0] != m.NAME:
                continue  # `model.load_state_dict`, which is not the function of that name
            position = index - (callee[0].facts.owner >= 0)
        else:
            position = 1 if torch_load else 2
        if not _is_mapped(call, position) and not _gives_arguments(function, call):
            yield call[1]


def _gives_arguments(function: FunctionFacts, load: Expr) -> bool:
    """`settings = torch.load(path)`, `cls(**settings)`: what a model is made with, not what it is filled with."""
    names = [target for one in statements(function.body) if one[0] == m.ASSIGN and one[3] == load for target in one[2]]
    spread, given = False, False
    for call in calls(function.body):
        spread |= any(name == "" and value in names for name, value in call[4])
        given |= last_name(call[2]).startswith("load_state_dict") and any(node in names for node in nodes(call[3]))
    return spread and not given


def _decides(function: FunctionFacts, wanted: Expr) -> bool:
    """Whether a function does something else with a parameter than to pass it on: it asks whether it is given, or
    moves what it has loaded."""
    for statement, tests in with_tests(function.body):
        if any(wanted in nodes(test) for test in tests):
            return True
        for head in heads(statement):
            for node in nodes(head):
                if node[0] == m.COND and wanted in nodes(node[1]):
                    return True
                if node[0] == m.CALL and last_name(node[2]) in ("to", "_apply") and wanted in node[3]:
                    return True
    return False


def _is_mapped(call: Expr, position: int) -> bool:
    return len(call[3]) > position or any(name in ("map_location", "") for name, _ in call[4])
