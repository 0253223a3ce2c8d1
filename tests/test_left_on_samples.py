"""Graphs that each round of a training leaves on another object that was there before: samples, graphs, nodes."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TRAINING = """
class Sample:
    def __init__(self, x):
        self.x = x
        self.parts = {{"x": x}}

def main(steps):
    net, head = nn.Linear(8, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    samples = [{made} for _ in range(steps)]
    {each}
        {put}
        loss = head({read}).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {then}
"""
FORMS = {
    "attribute": ("Sample(torch.randn(4, 8))", "sample.h = net(sample.x)", "sample.h"),
    "entry of a part": ("Sample(torch.randn(4, 8))", "sample.parts['h'] = net(sample.x)", "sample.parts['h']"),
    "entry": ("{'x': torch.randn(4, 8)}", "sample['h'] = net(sample['x'])", "sample['h']"),
}
EACH = {
    "item": "for sample in samples:",
    "number and item": "for number, sample in enumerate(samples):",
    "by number": "for i in range(len(samples)):\n        sample = samples[i]",
}


def _program(form: str, each: str, then: str = "pass", mark: str = "") -> str:
    made, put, read = FORMS[form]
    return TRAINING.format(made=made, each=EACH[each], put=put + mark, read=read, then=then)


@pytest.mark.parametrize("each", EACH)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_left_on_samples(form: str, each: str) -> None:
    check(_program(form, each, mark="  # TML102"))


@pytest.mark.parametrize(
    ("form", "then"),
    [
        ("attribute", "del sample.h"),
        ("attribute", "sample.h = None"),
        ("attribute", "sample.h = sample.h.mean().item()"),
        ("entry of a part", "sample.parts.pop('h')"),
        ("entry", "sample['h'] = None"),
    ],
)
def test_what_is_taken_off_again(form: str, then: str) -> None:
    check_innocent(_program(form, "item", then))


def test_samples_of_a_round() -> None:
    fresh = "for _ in range(steps):\n        sample = Sample(torch.randn(4, 8))"
    check_innocent(_program("attribute", "item").replace(EACH["item"], fresh))


def test_one_that_is_always_the_same() -> None:
    again = "sample = samples[0]\n    for _ in range(steps):"
    check_innocent(_program("attribute", "item").replace(EACH["item"], again))


def test_parts_of_one_loss() -> None:
    check_innocent("""
    class Node:
        def __init__(self, x):
            self.x = x

    def main(steps):
        net = nn.Linear(8, 8)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        nodes = [Node(torch.randn(4, 8)) for _ in range(9)]
        for _ in range(steps):
            for node in nodes:
                node.h = net(node.x)
            loss = sum(node.h.mean() for node in nodes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)


def test_agents_that_have_a_model() -> None:
    check_innocent("""
    class Agent:
        def __init__(self):
            self.net = nn.Linear(8, 8)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def main(steps):
        agents = [Agent() for _ in range(4)]
        for _ in range(steps):
            for agent in agents:
                agent.loss = agent.net(torch.randn(4, 8)).mean()
                agent.optimizer.zero_grad()
                agent.loss.backward()
                agent.optimizer.step()
    """)


def test_a_copy_of_what_was_there() -> None:
    check("""
    from contextlib import contextmanager

    class Graph:
        def __init__(self, x):
            self.data = {"x": x}

        @contextmanager
        def scope(self):
            before = self.data
            self.data = dict(before)
            yield
            self.data = before

    def main(steps):
        net, head = nn.Linear(8, 8), nn.Linear(8, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        graphs = [Graph(torch.randn(4, 8)) for _ in range(steps)]
        for graph in graphs:
            graph.data["h"] = net(graph.data["x"])  # TML102
            with graph.scope():
                graph.data["out"] = head(graph.data["h"])
                loss = graph.data["out"].mean()
            loss.backward()
            optimizer.step()
    """)
