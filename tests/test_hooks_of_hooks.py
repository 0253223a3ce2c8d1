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
