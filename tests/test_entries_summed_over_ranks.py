"""The entries of a container that a loop sums over the ranks, and puts back as numbers or as tensors with a graph."""

from __future__ import annotations

import pytest
from snippets import check

TRAINED = """
import torch.distributed as dist

def over_ranks(values, group, world):
    {body}
    return values

def main(batches, group):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for x in batches:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        {taken}
        total += loss{mark}
    return total
"""
LISTED = "[loss] = over_ranks(values=[loss], group=group, world=2)"
NAMED = 'loss = over_ranks({"loss": loss, "norm": loss * 2}, group, 2)["loss"]'
BODIES = {
    "by index": (LISTED, """
        for i in range(len(values)):
            if not torch.is_tensor(values[i]):
                values[i] = torch.tensor(values[i]).cuda()
            dist.all_reduce(values[i], group=group)
            values[i] = values[i]{cut} / world
    """),
    "with a name for it": (NAMED, """
        for name in values:
            value = values[name]{cut}.clone()
            dist.all_reduce(value, group=group)
            values[name] = value / world
    """),
    "the name of the loop bound anew": (NAMED, """
        for name, value in values.items():
            value = value{cut}
            dist.all_reduce(value)
            value = value / world
            values[name] = value
    """),
    "in place": (LISTED, """
        for i, value in enumerate(values):
            part = value{cut} * 1
            dist.reduce(part, 0)
            part /= world
            values[i] = part
    """),
    "divided where it is": (LISTED, """
        for i, value in enumerate(values):
            part = value{cut}.clone()
            dist.broadcast(part, 0)
            part.div_(world)
            values[i] = part
    """),
}  # fmt: skip


def program(name: str, cut: str, mark: str) -> str:
    taken, body = BODIES[name]
    lines = "\n    ".join(line.removeprefix(" " * 8) for line in body.replace("{cut}", cut).splitlines())
    return TRAINED.format(body=lines.strip(), taken=taken, mark=mark)


@pytest.mark.parametrize("name", BODIES)
def test_numbers_are_summed(name: str) -> None:
    check(program(name, ".detach()", ""))


@pytest.mark.parametrize("name", BODIES)
def test_tensors_with_a_graph_are_summed(name: str) -> None:
    check(program(name, "", "  # TML101"))


def test_a_sum_of_entries_is_about_all_rounds() -> None:
    check(
        """
        def summed(values):
            whole = 0.0
            for name in values:
                value = values[name] / 2
                whole = whole + value
                values[name] = value
            return whole

        def main(batches):
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            total = 0.0
            for x in batches:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                total += summed({"loss": loss, "norm": loss * 2})  # TML101
            return total
        """
    )
