"""Objects that are made in each round and put their methods on the parameters of a model that was there before."""

from __future__ import annotations

import pytest
from snippets import check

WATCHED = """
import functools

class Watch:
    def __init__(self, model):
        self.seen, self.handles = {{}}, []
        {puts}

    def keep(self, grad):
        self.seen["all"] = grad.abs().mean().item()

    def log(self, name, grad):
        self.seen[name] = grad.abs().mean().item()

    def close(self):
        for handle in self.handles:
            handle.remove()

def train(model, loader, watch):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return dict(watch.seen)

def main(loader):
    {first}
    for run in range(20):
        {each}
        print(train(model, loader, watch))
        {last}
"""
EACH = {"first": "model = Net()", "each": "watch = Watch(model)", "last": "pass"}
PUT = "model.layer.weight.register_hook(self.keep)"


@pytest.mark.parametrize(
    "puts",
    [
        PUT + "  # TML304",
        "for p in model.parameters(): p.register_hook(self.keep)  # TML304",
        "for n, p in model.named_parameters(): p.register_hook(functools.partial(self.log, n))  # TML304",
        "for n, p in model.named_parameters(): p.register_hook(lambda grad, n=n: self.log(n, grad))  # TML304",
        "for p in model.parameters(): p.register_post_accumulate_grad_hook(self.keep)  # TML304",
    ],
)
def test_one_more_watch_in_each_round(puts: str) -> None:
    check(WATCHED.format(puts=puts, **EACH))


@pytest.mark.parametrize(
    ("first", "each", "last", "puts"),
    [
        ("model = Net(); watch = Watch(model)", "pass", "pass", PUT),
        ("pass", "model = Net(); watch = Watch(model)", "pass", PUT),
        ("model = Net()", "watch = Watch(model)", "watch.close()", "self.handles.append(" + PUT + ")"),
        ("model = Net()", "watch = Watch(model)", "pass", "pass"),
    ],
)
def test_watches_that_go_or_are_put_on_once(first: str, each: str, last: str, puts: str) -> None:
    check(WATCHED.format(puts=puts, first=first, each=each, last=last))


GATHERED = """
def gradients(model, x):
    grads, handles = [], []
    for p in model.parameters():
        {put}
    model(x).sum().backward()
    model.zero_grad()
    {end}
    return len(grads)

def main(loader):
    {first}
    for x in loader:
        {each}
        print(gradients(model, x))
"""


@pytest.mark.parametrize(
    ("put", "end", "first", "each"),
    [
        ("p.register_hook(lambda grad: grads.append(grad.clone()))  # TML304", "pass", "model = Net()", "pass"),
        ("p.register_hook(grads.append)", "pass", "pass", "model = Net()"),
        ("p.register_hook(lambda grad: grads.append(grad.clone()))", "pass", "pass", "model = Net()"),
        (
            "handles.append(p.register_hook(lambda grad: grads.append(grad.clone())))",
            "for handle in handles: handle.remove()",
            "model = Net()",
            "pass",
        ),
        ("p.register_hook(lambda grad: grad.clamp(-1, 1))", "pass", "model = Net()", "pass"),
    ],
)
def test_lists_of_a_call_that_hooks_fill(put: str, end: str, first: str, each: str) -> None:
    check(GATHERED.format(put=put, end=end, first=first, each=each))
