"""Hooks that are put on a module while it is run, by a hook of the pass."""

from __future__ import annotations

import pytest
from snippets import check

STACK = """
class Stack:
    def __init__(self):
        self.path, self.after, self.last = [], {{}}, None

    def before_hook(self, module, args):
        self.path.append(type(module).__name__)
        {body}

    def leave(self, module, args, output):
        self.path.pop()

    def leaver(self, bound):
        def leave(module, args, output):
            self.path.append(output.max().item() - bound)

        return leave

    def leaver_once(self, bound):
        def leave(module, args, output):
            self.after.pop(module).remove()

        return leave

    def leave_once(self, module, args, output):
        self.path.pop()
        self.after.pop(module).remove()

    def close(self):
        for handle in self.after.values():
            handle.remove()
        self.after.clear()
"""
LEFT = {
    "over that of the last pass": "self.after[module] = module.register_forward_hook(self.leave)  # TML304",
    "in an attribute": "self.last = module.register_full_backward_hook(self.leave)  # TML304",
    "made for each pass": "self.after[module] = module.register_forward_hook(self.leaver(4.0))  # TML304",
}
INNOCENT = {
    "the former one is taken out": """
        if module in self.after:
            self.after[module].remove()
        self.after[module] = module.register_forward_hook(self.leave)
    """,
    "once for each module": """
        if module not in self.after:
            self.after[module] = module.register_forward_hook(self.leave)
    """,
    "it takes itself out": "self.after[module] = module.register_forward_hook(self.leave_once)",
    "one that is made for each pass takes itself out": (
        "self.after[module] = module.register_forward_hook(self.leaver_once(4.0))"
    ),
    "all are taken out first": """
        self.close()
        self.after[module] = module.register_forward_hook(self.leave)
    """,
    "on a tensor": "self.after[module] = args[0].register_hook(self.leave)",
}


@pytest.mark.parametrize("body", [*LEFT.values(), *INNOCENT.values()], ids=[*LEFT, *INNOCENT])
def test_put_on_in_each_pass(body: str) -> None:
    check(STACK.format(body=body.strip()))


def test_a_function_that_registers_one() -> None:
    check(
        """
    class Probe:
        def __init__(self):
            self.handle = None

        def attach_hook(self, module, name):
            self.handle = module.register_forward_hook(self.leave)

        def leave(self, module, args, output):
            return None
    """.replace("x)", "name)")
    )


AVERAGED = """
import torch.distributed as dist

class Averaged(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module, self.hooked, self.handles = module, False, []
        {made}

    def hook_up(self):
        {early}
        def reduce(param):
            dist.all_reduce(param.grad)
        for name, param in self.module.named_parameters():
            if param.requires_grad:
                {keep}param.register_post_accumulate_grad_hook(reduce){close}

    def forward(self, x):
        {each}
        return self.module(x)
"""


@pytest.mark.parametrize(
    ("made", "early", "keep", "close", "each"),
    [
        ("pass", "pass", "", "  # TML304", "self.hook_up()"),
        ("pass", "pass", "", "  # TML304", "if self.training: self.hook_up()"),
        ("self.hook_up()", "pass", "", "", "pass"),
        ("pass", "pass", "", "", "if not self.hooked: self.hook_up(); self.hooked = True"),
        ("pass", "if self.hooked: return", "", "", "self.hook_up()"),
        ("pass", "while self.handles: self.handles.pop().remove()", "self.handles.append(", ")", "self.hook_up()"),
    ],
)
def test_put_on_parameters_by_forward(made: str, early: str, keep: str, close: str, each: str) -> None:
    check(AVERAGED.format(made=made, early=early, keep=keep, close=close, each=each))
