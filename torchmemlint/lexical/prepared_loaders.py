"""Loaders with persistent workers that accelerate's launcher prepares one after the other: it lists each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, targets, text
from ..facts.walk import calls_of, in_loops, last_name, nodes, statements
from .once import is_repeated

_FORGETS = frozenset({"free_memory", "clear", "release_memory", "_dataloaders"})
_PACKAGES = ("accelerate", "transformers")
_FOR_EACH_EVALUATION = ("get_eval_dataloader", "get_test_dataloader")  # [transformers, Trainer.evaluate, predict]


class PreparedLoader(NamedTuple):
    site: Site  # where the loader is made
    launcher: str
    prepared: Site
    sure: bool  # a loop is seen that comes here, or nothing else is to be known


def loaders_prepared_each_time(program: Program) -> Iterator[PreparedLoader]:
    """`return self.accelerator.prepare(DataLoader(data, persistent_workers=True))` in what each evaluation calls
    [accelerate, Accelerator.prepare_data_loader: `self._dataloaders.append(...)`; huggingface/transformers#28469]."""
    if "prepare" not in program.called or not any(name.endswith("DataLoader") for name in program.called):
        return
    if not any(dotted.partition(".")[0] in _PACKAGES for dotted in program.imports.values()):
        return
    forgetting = [place for place in program.places if not _FORGETS.isdisjoint(place.facts.calls)]
    for place in program.places:
        if "prepare" not in place.facts.calls or place in forgetting:
            continue
        for statement, looped in in_loops(place.facts.body):
            for call in calls_of(statement):
                for loader, persistent in _loaders(place, call) if _is_launcher(place, call[2]) else ():
                    again = looped or _is_called_again(program, place, statement, call)
                    asked = again or (_is_asked(place) and not _is_kept(place, statement, call))
                    if asked and not any(_forgets_again(program, one) for one in forgetting):
                        yield PreparedLoader(
                            loader[1], text(call[2][1]), call[1], again or persistent == (m.CONST, True)
                        )


def _forgets_again(program: Program, place: Place) -> bool:
    """Whether a function that tells a launcher to forget does so again and again: `train()` does it as it begins."""
    for statement, looped in in_loops(place.facts.body):
        if looped and any(last_name(call[2]) in _FORGETS for call in calls_of(statement)):
            return True
    return is_repeated(program, place)


def _is_launcher(place: Place, callee: Expr) -> bool:
    """`self.accelerator.prepare`, of a launcher that was there before."""
    if callee[0] != m.ATTR or callee[2] != "prepare" or "accelerator" not in last_name(callee[1]).lower():
        return False
    return bool(text(callee[1])) and not any(callee[1] in targets(one) for one in statements(place.facts.body))


def _loaders(place: Place, call: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The loaders that a call is given which the function has made, each with what it is told of its workers."""
    for given in call[3]:
        if given[0] == m.NAME:
            made = [one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and given in targets(one)]
            given = made[0] if len(made) == 1 else given
        if given[0] == m.CALL and last_name(given[2]).endswith("DataLoader"):
            told = _told(place, given)
            if told is not None and told not in ((m.CONST, False), (m.CONST, None)):
                yield given, told


def _told(place: Place, loader: Expr) -> Expr | None:
    """What a loader gets as `persistent_workers`, by itself or in `**params`."""
    for key, value in loader[4]:
        if key == "persistent_workers":
            return value  # type: ignore[no-any-return]
        if key == "" and value[0] == m.NAME:
            bound = (one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and value in targets(one))
            for table in (one for one in bound if one[0] == m.DICT):
                found = [given for name, given in table[2] if name == (m.CONST, "persistent_workers")]
                if found:
                    return found[0]  # type: ignore[no-any-return]
    return None


def _is_called_again(program: Program, place: Place, statement: Stmt, call: Expr) -> bool:
    owner = call[2][1]
    outside = owner[0] == m.NAME or owner[:2] == (m.ATTR, (m.NAME, "self"))
    if place.facts.name == "<module>" or not outside or _is_kept(place, statement, call):
        return False
    return is_repeated(program, place, driven=True)


def _is_asked(place: Place) -> bool:
    """Whether a trainer of transformers calls a method whenever it evaluates."""
    return place.facts.name in _FOR_EACH_EVALUATION and any(base.endswith("Trainer") for base in place.bases)


def _is_kept(place: Place, statement: Stmt, call: Expr) -> bool:
    """Whether a loader, or what the launcher made of it, is kept for the next time: `self.loaders[key] = loader`."""
    names = {one for one in (*call[3], *targets(statement)) if one[0] == m.NAME}
    for one in statements(place.facts.body):
        beyond = one[0] == m.ASSIGN and any(target[0] != m.NAME for target in targets(one))
        if beyond and (one is statement or not names.isdisjoint(nodes(one[3]))):
            return True
    return False
