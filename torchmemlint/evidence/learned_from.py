"""Containers of what is learned from: after each addition a training goes over all of it, again and again.

Active learning, optimisation of black boxes and inference in rounds gather their data so. A memory of rollouts that
nobody empties gains many entries for each training, and a bank of what the trained network gave has it out of date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..interpreter.machine import Machine
    from .retentions import Retention


def is_learned_from(machine: Machine, retention: Retention) -> bool:
    """Whether a loop of training runs in each round that adds something; whether it goes through what is there, the
    demand has to say."""
    if retention.how != "grow" or retention.outdated or not retention.loops:
        return False
    return any(
        all(loop in backward.loops for loop in retention.loops)
        and any(loop.kind == "loop" and loop not in retention.store_event.loops for loop in backward.loops)
        for backward in machine.backwards
    )
