"""Hooks that an error leaves on a network, as the tables of layers in public code put them in: what they note are
shapes; beside those that note the outputs."""

from __future__ import annotations

import pytest
from snippets import check

_SUMMARY = """
def summary(model, batch):
    def put(module):
        def hook(module, given, output):
            rows[len(rows)] = {noted}

        if not isinstance(module, nn.Sequential):
            handles.append(module.register_forward_hook(hook)){mark}

    rows, handles = {{}}, []
    model.apply(put)
    model(batch)
    for handle in handles:
        handle.remove()
    for row in rows.values():
        print(row)
"""


@pytest.mark.parametrize(
    ("noted", "mark"),
    [
        ("[[-1] + list(one.size())[1:] for one in output]", ""),
        ("{number: one.shape for number, one in enumerate(output)}", ""),
        ("[one for one in output]", "  # TML304"),
        ("[one.mean(0) for one in output]", "  # TML304"),
        ("{number: one for number, one in enumerate(output)}", "  # TML304"),
    ],
)
def test_what_a_hook_notes(noted: str, mark: str) -> None:
    check(_SUMMARY.format(noted=noted, mark=mark))
