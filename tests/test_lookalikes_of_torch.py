"""What PyTorch's own sources do, which looks guilty and is not; each beside what is."""

from __future__ import annotations

import pytest
from snippets import check

INNOCENT = {
    "hooks on nodes of a graph that is not seen": """
        def watch(outputs, hook):
            outputs = tuple(outputs)
            outputs.grad_fn.register_hook(hook)
        """,
    "handles of hooks on parameters": """
        class Reducer:
            def __init__(self, module: nn.Module):
                self.module = module
                self.handles = []

            def register(self, hook):
                for param in self.module.parameters():
                    self.handles.append(param.register_post_accumulate_grad_hook(hook))
        """,
    "a count beside what has names of numbers": """
        class Parts:
            def __init__(self, values):
                self.size = 0
                for value in values:
                    self.append(nn.functional.softmax(value.requires_grad_(), -1))

            def append(self, value):
                setattr(self, str(self.size), value)
                self.size += 1
        """,
    "what was given, with something before it": """
        def cast(graph, *args):
            if not args[0].floating:
                args = tuple(graph.op("Cast", arg) for arg in args)
            else:
                return (None,) + args
            return (args[0].kind,) + args

        def compare(graph, left, right):
            _, left, right = cast(graph, left, right)
            return graph.op("Less", left, right)
        """,
    "a weight without the rows that a mask leaves out": """
        def prune(linear: nn.Linear, mask):
            with torch.no_grad():
                linear.weight = nn.Parameter(linear.weight[mask])
        """,
    "errors in a list that the function leaves": """
        def failures(model, batches):
            found = []
            for batch in batches:
                try:
                    model(batch)
                except RuntimeError as error:
                    found.append(error)
            found = [found]
            return found.pop()
        """,
    "places along a dimension, which have no derivative": """
        def count(model: nn.Module, loader, optimizer):
            seen = 0
            for x, y in loader:
                out = model(x)
                loss = nn.functional.cross_entropy(out, y)
                loss.backward()
                optimizer.step()
                _, best = torch.max(out, dim=1)
                seen += (best == y).sum()
            return seen
        """,
    "what the backward pass takes out": """
        class Inverted(torch.autograd.Function):
            @staticmethod
            def forward(ctx, fn, x):
                with torch.no_grad():
                    y = fn(x.detach()).detach_()
                ctx.inputs = [x]
                ctx.outputs = [y]
                return y

            @staticmethod
            def backward(ctx, grad):
                x, y = ctx.inputs.pop(), ctx.outputs.pop()
                return None, grad * x * y
        """,
}
GUILTY = {
    "handles and gradients": """
        class Reducer:
            def __init__(self, module: nn.Module):
                self.module = module
                self.sums = []

            def add(self, x):
                self.sums.append(self.module(x).sum())  # TML102
        """,
    "a sum by an operator of one's own": """
        class Meter:
            def __init__(self):
                self.seen = []

            def __iadd__(self, value):
                self.seen.append(value)  # TML102
                return self

        def train(model: nn.Module, loader, optimizer):
            meter = Meter()
            for x, y in loader:
                loss = nn.functional.mse_loss(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                meter += loss
            return meter
        """,
    "nothing of what was given": """
        def free(*args):
            return (None,) * len(args)

        def use(model, batch):
            free(model, batch)  # TML603
            return torch.zeros(9), model
        """,
    "a weight without its last rows": """
        def prune(linear: nn.Linear, count):
            rows = slice(0, count)
            linear.weight = nn.Parameter(linear.weight[rows])  # TML309
        """,
    "errors in a list that is handed on": """
        def failures(model, batches):
            found = []
            for batch in batches:
                try:
                    model(batch)
                except RuntimeError as error:
                    found.append(error)  # TML307
            return found
        """,
}


@pytest.mark.parametrize("case", INNOCENT)
def test_innocent(case: str) -> None:
    check(INNOCENT[case])


@pytest.mark.parametrize("case", GUILTY)
def test_guilty(case: str) -> None:
    check(GUILTY[case])


_SHARDED = """
    def shard(linear, rank, world):
        linear.weight.data = torch.tensor_split(linear.weight, world, dim=0)[rank]{mark}

    def shard_all(model, rank, world):
        for block in model.blocks:
            shard(block.query, rank, world)
            shard(block.key, rank, world)
        return model

    def main(fabric, model, path):
        model.load_state_dict(torch.load(path, map_location="cpu"), assign=True)
        {before}
        model = shard_all(model, fabric.rank, fabric.world)
        {after}
        return model
    """


@pytest.mark.parametrize(
    "after", ["model = fabric.to_device(model)", "model.cuda()", "model = model.to(fabric.device)"]
)
def test_parts_of_weights_that_are_moved_to_a_device(after: str) -> None:
    check(_SHARDED.format(before="pass", after=after, mark=""))
    check(_SHARDED.format(before=after, after="pass", mark="  # TML309"))


def test_parts_of_weights_in_another_type() -> None:
    check(_SHARDED.format(before="pass", after="model.to(torch.bfloat16)", mark="  # TML309"))
