"""Hooks that a constructor puts on a layer which it is given: `# TML304` where each round makes another object for the
same model."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

_PROBE = """
import torch

class Probe:
    def __init__(self, layer):
        self.seen = None
        layer.register_forward_hook(self.save){mark}

    def save(self, module, args, output):
        self.seen = output.detach()

def look(net, build, images):
    found = []
{body}
    return found
"""


@pytest.mark.parametrize("given", ["net.layer4", "net.blocks[-1]", "net.backbone.stem"])
def test_another_one_for_each_image(given: str) -> None:
    body = f"""\
    for image in images:
        probe = Probe({given})
        net(image)
        found.append(probe.seen.mean().item())"""
    check(_PROBE.format(mark="  # TML304", body=body))


@pytest.mark.parametrize(
    "body",
    [
        """\
    for image in images:
        model = build()
        probe = Probe(model.layer4)
        model(image)
        found.append(probe.seen.mean().item())""",
        """\
    for layer in net.children():
        found.append(Probe(layer))
    net(images[0])""",
        """\
    probe = Probe(net.layer4)
    for image in images:
        net(image)
        found.append(probe.seen.mean().item())""",
    ],
    ids=["another model", "one for each layer", "once"],
)
def test_one_for_each_layer(body: str) -> None:
    check_innocent(_PROBE.format(mark="", body=body))
