"""Hooks that an inner function puts on each layer, taken out if nothing raises, and those that are there for a run."""

import pytest
from snippets import check

SUMMARY = """
def summary(model, x):
    rows, handles = [], []

    def register(layer):
        def keep(module, args, output):
            rows.append(output)

        handles.append(layer.register_forward_hook(keep))%s

    model.apply(register)
    %s
    return rows
"""
REMOVE = "for handle in handles:\n        handle.remove()"


@pytest.mark.parametrize(
    ("mark", "body"),
    [
        ("  # TML304", f"with torch.no_grad():\n        model(x)\n    {REMOVE}"),
        ("", "try:\n        model(x)\n    finally:\n        for handle in handles:\n            handle.remove()"),
    ],
)
def test_an_inner_function(mark: str, body: str) -> None:
    check(SUMMARY % (mark, body))


FIT = """
def fit(model, loader, optimizer, probe):
    seen = {}

    def keep(module, args, output):
        seen[module] = output.detach()

    handle = probe.register_forward_hook(keep)%s
    %s
    handle.remove()
    return seen
"""


@pytest.mark.parametrize(
    ("mark", "body"),
    [
        ("  # TML304", "model(next(iter(loader)))"),
        ("  # TML304", "model.train()\n    model(next(iter(loader)))"),
        ("", "train_epochs(model, loader, optimizer)"),
        ("", "optimizer.trainer.train()"),
        (
            "",
            "for x in loader:\n        loss = model(x).mean()\n        optimizer.zero_grad()\n"
            "        loss.backward()\n        optimizer.step()",
        ),
    ],
)
def test_a_hook_for_the_whole_run(mark: str, body: str) -> None:
    check(FIT % (mark, body))


HELPED = """
class Point(nn.Module):
    def forward(self, x):
        return x

    def add_hook(self, hook):
        {register}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.point, self.handles = nn.Linear(8, 8), Point(), []

    def forward(self, x):
        return self.point(self.layer(x))

    def run_with_cache(self, x):
        cache = {{}}

        def save(module, args, output):
            cache["point"] = {kept}

        handle = self.point.add_hook(save)
        self(x)
        {after}
        return cache

def main(loader):
    model = Model()
    for x in loader:
        print(model.run_with_cache(x)["point"])
"""
DROPPED, GIVEN = "self.register_forward_hook(hook)", "return self.register_forward_hook(hook)"


@pytest.mark.parametrize(
    ("register", "kept", "after"),
    [
        (DROPPED + "  # TML304", "output.detach()", "pass"),
        (DROPPED, "output.mean().item()", "pass"),
        (GIVEN, "output.detach()", "handle.remove()"),
    ],
)
def test_a_hook_that_a_helper_puts_on_for_it(register: str, kept: str, after: str) -> None:
    check(HELPED.format(register=register, kept=kept, after=after))


def test_a_helper_that_puts_it_on_once() -> None:
    once = HELPED.format(register=DROPPED, kept="output.detach()", after="pass").partition("def main")[0]
    check(once + "model = Model()\nfirst = model.run_with_cache(torch.rand(4, 8))\nprint(first)\n")


MANAGED = """
import contextlib

@contextlib.contextmanager
def capture(model, found):
    handles = []
    for name, layer in model.named_modules():
        handles.append(layer.register_forward_hook(lambda m, i, out, n=name: {keeps})){mark}
    yield found
    {end}

def widths(model, loader):
    for x in loader:
        with capture(model, {{}}) as found, torch.no_grad():
            model(x)
        print({{name: out.std().item() for name, out in found.items()}})
"""


def test_hooks_that_a_context_manager_leaves() -> None:
    keeps = "found.update({n: out.detach()})"
    check(MANAGED.format(keeps=keeps, mark="  # TML304", end="pass"))
    guarded = MANAGED.replace("yield found", "try: yield found")
    check(guarded.format(keeps=keeps, mark="", end="finally: [handle.remove() for handle in handles]"))
    check(MANAGED.format(keeps="found.update({n: tuple(out.shape)})", mark="", end="pass"))
    check(MANAGED.format(keeps=keeps, mark="", end="undo(handles)"))
