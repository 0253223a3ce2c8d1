"""Checkpoints that their own class has taken to the host before it wrote them, entry by entry; each beside one that
was written from where it was."""

from __future__ import annotations

import pytest
from snippets import check

_BASE = """
class Base:
    def __init__(self, net):
        self.net = net.cuda()

    def save_network(self, network, path):
        {save}

    def load_network(self, network, path):
        state = torch.load(path){mark}
        if "params" in state:
            state = state["params"]
        network.load_state_dict(state["net"])
"""
_LOOP = (
    "state = network.state_dict()\n"
    "        for key, part in state.items():\n"
    "            state[key] = {part}\n"
    "        torch.save(state, path)"
)
_COMPREHENSION = "torch.save({{key: {part} for key, part in network.state_dict().items()}}, path)"
_HOST = ("part.cpu()", "part.detach().to('cpu')")


@pytest.mark.parametrize(
    "save", [_LOOP, _COMPREHENSION, f"state = {_COMPREHENSION[11:-7]}\n        torch.save(state, path)"]
)
def test_saved_from_the_host(save: str) -> None:
    for part in _HOST:
        check(_BASE.format(save=save.format(part=part), mark=""))
    check(_BASE.format(save=save.format(part="part.half()"), mark="  # TML312"))


_ENGINE = """
from torch import distributed as dist

def evaluate(model, file, loader):
    if file is not None:
        engine = {made}
        engine.load_state_dict(torch.load(file + "model.pth")){mark}
        model = engine
    total = torch.zeros(1)
    dist.all_reduce(total)
    return model
"""


def test_an_engine_has_no_tensors() -> None:
    check(_ENGINE.format(made="TRTModule()", mark=""))
    check(_ENGINE.format(made="Net().cuda()", mark="  # TML312"))
