"""Hooks for all modules of the process: those that pile up, and those that are wanted or taken out."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """from functools import partial
from torch import nn
from torch.nn.modules.module import register_module_forward_hook
import torch.utils.checkpoint
"""


@pytest.mark.parametrize(
    "text",
    [
        # a lambda, by keyword, in a loop
        """
        def probe(models, record):
            for model in models:
                register_module_forward_hook(hook=lambda module, args, output: record(model, output))  # TML304
        """,
        # a method, in what a loop calls
        """
        class Probe:
            def watch(self, depth):
                nn.modules.module.register_module_forward_pre_hook(self.note)  # TML304

        def sweep(probes):
            for probe in probes:
                probe.watch(3)
        """,
        # in a hook for saved tensors
        """
        class Offload:
            def __init__(self, table):
                def unpack(key):
                    tensor = table.pop(key)

                    def views(other):
                        return other is tensor

                    torch.utils.checkpoint._register_checkpoint_saved_tensor_hook(views)  # TML304
                    return tensor

                self.unpack = unpack
        """,
        # partial
        """
        def profile(steps, note):
            for step in steps:
                register_module_forward_hook(partial(note, step))  # TML304
        """,
    ],
)
def test_hooks_that_pile_up(text: str) -> None:
    check(IMPORTS + textwrap.dedent(text))


@pytest.mark.parametrize(
    "text",
    [
        # kept, and taken out
        """
        def profile(steps, note):
            for step in steps:
                handle = register_module_forward_hook(partial(note, step))
                step()
                handle.remove()
        """,
        # once
        """
        def install(note):
            register_module_forward_hook(lambda module, args, output: note(output))

        install(print)
        """,
        # it refers to nothing
        """
        def count(module, args, output):
            module.passes += 1

        def profile(steps):
            for step in steps:
                register_module_forward_hook(count)
        """,
        # somebody else's, kept by a list
        """
        def profile(steps, note, handles):
            for step in steps:
                handles.append(register_module_forward_hook(partial(note, step)))
        """,
    ],
)
def test_hooks_that_somebody_sees_to(text: str) -> None:
    check(IMPORTS + textwrap.dedent(text))
