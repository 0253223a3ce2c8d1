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


_WHOLE = """
def fit(net, optimizer, loader, path, device):
    best = 0.0
    for x, y in loader:
        net.train()
        loss = F.mse_loss(net(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {there}
        score = measure(net)
        if score > best:
            best = score
            torch.save({{"net": net.state_dict(){more}, "score": score}}, path)
        {back}

def main(path, device):
    net = Net().to(device)
    fit(net, torch.optim.Adam(net.parameters()), torch.utils.data.DataLoader(DATA), path, device)
    checkpoint = torch.load(path){mark}
    net.load_state_dict(checkpoint["net"])
"""


@pytest.mark.parametrize(
    ("there", "more", "back", "mark"),
    [
        ("net = net.cpu()", "", "net = net.to(device)", ""),
        ('net.to("cpu")', "", "net.cuda()", ""),
        ("pass", "", "net = net.cpu()", "  # TML312"),
        ("net.cpu(); net.cuda()", "", "pass", "  # TML312"),
        ("net = net.cpu()", ', "optimizer": optimizer.state_dict()', "net = net.to(device)", "  # TML312"),
    ],
)
def test_saved_where_a_model_was_measured(there: str, more: str, back: str, mark: str) -> None:
    check(_WHOLE.format(there=there, more=more, back=back, mark=mark))
