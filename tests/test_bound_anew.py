"""What a round of a loop binds anew: an inner function that calls itself, and the parts of one batch.

Of the inner functions that a loop defines, each goes when the next is bound, and only the last one is in a cycle:
measured with `gc.disable()` and a weak reference to what each refers to.
"""

from __future__ import annotations

import pytest
from snippets import PRELUDE, check, messages

_IMPORTS = PRELUDE + "from torch.utils.data import DataLoader\n"
SNIPPETS = {
    "an inner function that each round defines": """
        def main(args, pipe):
            for step in range(args.steps):
                image = torch.rand(512, 512)

                def process(batch, first=False):
                    if not first:
                        process(batch, True)
                    return pipe(batch, image)

                process(args.batch)
        """,
    "an inner function of what is called in each round": """
        def render(scene):
            image = torch.rand(512, 512)

            def visit(node):  # TML315
                for child in node.children:
                    visit(child)
                image.add_(node.color)

            visit(scene.root)
            return image.sum().item()

        def run(scenes):
            for scene in scenes:
                render(scene)
        """,
    "a name of its own in a pattern": """
        def render(scene):
            image = torch.rand(512, 512)
            total = image.sum().item()

            def visit(node):
                (name, (color, image, *rest)) = node.parts
                for child in rest:
                    visit(child)
                image.add_(color)

            visit(scene.root)
            return total

        def run(scenes):
            for scene in scenes:
                render(scene)
        """,
    "the parts of one batch, in a method": """
        class Trainer:
            def process(self, batch, encoder, size):
                chunks = [batch["x"][i : i + size] for i in range(0, len(batch["x"]), size)]
                with torch.no_grad():
                    return torch.cat([encoder.encode(chunk) for chunk in chunks])

            def train(self, data, encoder, trainer):
                loader = DataLoader(data, num_workers=8)
                rest = trainer.skip(loader, 3) if trainer.started else None
                for step, batch in enumerate(rest or loader):
                    self.process(batch, encoder, 4)
        """,
    "the parts of all batches": """
        class Trainer:
            def train(self, data, trainer):
                loader, rows = DataLoader(data, num_workers=8), []
                rest = trainer.skip(loader, 3) if trainer.started else None
                for step, batch in enumerate(rest or loader):
                    rows.append(batch["x"][:4])  # TML409
                return rows
        """,
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name], _IMPORTS)


def test_a_list_of_each_round_is_not_said_to_stay_until_the_function_returns() -> None:
    program = """
        def train(model: nn.Module, loader, optimizer):
            {before}
            for batch in loader:
                {inside}
                for part in batch:
                    loss = model(part).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    losses.append(loss)
                print(len(losses))
    """
    (anew,) = messages(program.format(before="pass", inside="losses = []"))
    assert "stay until the next round binds `losses` anew" in anew
    (whole,) = messages(program.format(before="losses = []", inside="pass"))
    assert "stay until `train` returns" in whole
