"""Modules that get a function which refers to them: a forward put in the place of their own."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

PATCHED = """
import types
import weakref

def fast(self, x):
    return F.linear(x, self.weight)

def patch(layer):
{patch}
    return layer

def main(widths):
    for width in widths:
        layer = patch(nn.Linear(width, width))
        with torch.no_grad():
            print(layer(torch.randn(1, width)).sum().item())
"""
GUILTY = {
    "a method": "layer.forward = types.MethodType(fast, layer)  # TML315",
    "a method, as attributes make it": "layer.forward = fast.__get__(layer)  # TML315",
    "its own": "layer._old_forward = layer.forward  # TML315\nlayer.forward = functools.partial(fast, None)",
    "a closure": """
        original = layer.forward

        def forward(x):
            return original(x) * 2

        layer.forward = forward  # TML315
        """,
    "a lambda": "layer.fast = lambda x: F.linear(x, layer.weight)  # TML315",
}
INNOCENT = {
    "by its parts": "weight = layer.weight\nlayer.fast = lambda x: F.linear(x, weight)",
    "weakly": "known = weakref.ref(layer)\nlayer.fast = lambda x: fast(known(), x)",
    "without it": "layer.forward = functools.partial(F.relu, inplace=False)",
    "of another": "other = nn.Linear(8, 8)\nlayer.fast = types.MethodType(fast, other)",
}


@pytest.mark.parametrize("patch", GUILTY.values(), ids=GUILTY)
def test_what_refers_to_its_module(patch: str) -> None:
    check(PATCHED.format(patch=textwrap.indent(textwrap.dedent(patch), "    ")))


@pytest.mark.parametrize("patch", INNOCENT.values(), ids=INNOCENT)
def test_what_does_not(patch: str) -> None:
    check(PATCHED.format(patch=textwrap.indent(patch, "    ")))


def test_one_module_for_the_whole_program() -> None:
    check(
        PATCHED.format(patch="    layer.forward = fast.__get__(layer)").replace("for width in widths", "if width := 8")
    )


def test_a_module_runs_the_method_that_it_was_given() -> None:
    check(
        """
        import types

        def record(self, x):
            self.seen.append(x)  # TML102
            return F.linear(x, self.weight)

        layer = nn.Linear(8, 8)
        layer.seen = []
        layer.forward = types.MethodType(record, layer)
        for x in torch.utils.data.DataLoader(torch.zeros(64, 8)):
            layer(layer(x)).sum().backward()
        """
    )
