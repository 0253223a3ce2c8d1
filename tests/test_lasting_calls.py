"""Objects that a call makes and that grow while it lasts: by a loop around their methods, or by hooks."""

from __future__ import annotations

import pytest
from snippets import check

RANKS = """
class Gallery:
    def __init__(self, net):
        self.net = net
        self.rows = []

    @torch.no_grad()
    def score(self, loader):
        {first}
        for images in loader:
            self.rows.append(self.net(images)){mark}
        return torch.cat(self.rows).norm(dim=1).mean().item()


def run(net, loader, epochs):
    net = net.eval()
    {made}
    for epoch in range(epochs):
        {anew}
        print(epoch, gallery.score(loader))
"""

PARTS = {"first": "pass", "mark": "", "made": "gallery = Gallery(net)", "anew": "pass"}


def test_a_list_that_each_epoch_adds_to() -> None:
    check(RANKS.format(**{**PARTS, "mark": "  # TML303"}))


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"first": "self.rows = []"}, id="emptied first"),
        pytest.param({"made": "pass", "anew": "gallery = Gallery(net)"}, id="made in each epoch"),
    ],
)
def test_lists_of_one_epoch(parts: dict[str, str]) -> None:
    check(RANKS.format(**{**PARTS, **parts}))


def test_what_one_call_fills() -> None:
    """It is what the call is for, whoever makes the object."""
    once = RANKS.replace("for epoch in range(epochs)", "if epochs").replace("epoch, ", "")
    check(once.format(**PARTS))


WORKS = """
class Reducer:
    def __init__(self, net):
        self.net = net
        self.works = []
        for weight in net.parameters():
            weight.register_hook(self.told)

    def told(self, grad):
        flat = grad.detach().clone()
        self.works.append((torch.distributed.all_reduce(flat, async_op=True), flat)){mark}

    def wait(self):
        for work, flat in self.works:
            work.wait()
        {last}


def train(net, loader, optimizer):
    reducer = Reducer(net)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        reducer.wait()
        optimizer.step()
"""


def test_works_that_hooks_add() -> None:
    check(WORKS.format(mark="  # TML303", last="pass"))
    check(WORKS.format(mark="", last="self.works.clear()"))


SERVICER = """
class Speech:
    def __init__(self, net):
        self.net = net.eval()
        self.open = {{}}

    def Push(self, {given}):
        frames = torch.frombuffer(request.data, dtype=torch.float32)
        self.open[request.stream].append(frames){mark}
        with torch.inference_mode():
            return self.net(frames).argmax(-1).tolist()

    def Open(self, {given}):
        self.open[request.stream] = []

    def Close(self, {given}):
        {last}
        return len(rows)
"""


def test_a_servicer_that_forgets_its_streams() -> None:
    parts = {"given": "request, context", "mark": "  # TML303", "last": "rows = self.open[request.stream]"}
    check(SERVICER.format(**parts))
    check(SERVICER.format(**{**parts, "mark": "", "last": "rows = self.open.pop(request.stream)"}))


STATES = """
class States:
    def __init__(self):
        self.rows = []

    def keep(self, score, net):
        self.rows.append((score, copy.deepcopy(net.state_dict()))){mark}

    def best(self):
        return max(self.rows, key=lambda row: row[0])

def fit(net, loader, epochs):
    states, optimizer = States(), torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            {trains}
        states.keep(loss.item(), net)
    return {given}
"""
TRAINS = "loss.backward(); optimizer.step()"


def test_states_of_a_training() -> None:
    text = "import copy\n" + STATES
    check(text.format(mark="  # TML303", trains=TRAINS, given="states.best()"))
    check(text.format(mark="", trains=TRAINS, given="states"))
