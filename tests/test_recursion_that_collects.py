"""Inner functions that call themselves and put what they find into a list of the function around them."""

from __future__ import annotations

import pytest
from snippets import check

NORMS = """
def norms(tree):
    rows = []

    def visit(node):{mark}
        if isinstance(node, dict):
            for part in node.values():
                visit(part)
        else:
            rows.append({found})

    visit(tree)
    total = sum(torch.as_tensor(row).float().norm().item() for row in rows)
    {after}
    return total

def main(states):
    for _ in states:
        print(norms({{"a": torch.randn(64, 64), "b": {{"c": torch.randn(64, 64)}}}}))
"""
FORMS = {
    "tensors": ("node * 2", "print(len(rows))", "  # TML315"),
    "numbers": ("node.sum().item()", "print(len(rows))", ""),
    "indices": ("torch.LongTensor([n for n, row in enumerate(node)])", "print(len(rows))", ""),
    "which are let go of": ("node * 2", "rows.clear()", ""),
}


@pytest.mark.parametrize(("found", "after", "mark"), FORMS.values(), ids=FORMS)
def test_what_a_recursive_function_collects(found: str, after: str, mark: str) -> None:
    check(NORMS.format(found=found, after=after, mark=mark))


def test_parameters_that_the_module_has_anyway() -> None:
    check(
        """
        def biases(model):
            found = []

            def visit(module):
                for part in module.children():
                    visit(part)
                if isinstance(module, nn.Linear):
                    found.append(module.bias)

            visit(model)
            return sum(bias.norm().item() for bias in found)

        def main(steps):
            model = nn.Sequential(nn.Linear(8, 8))
            for _ in steps:
                print(biases(model))
        """
    )
