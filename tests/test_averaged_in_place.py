"""Averages of weights that are kept by writing in place: in a frozen copy, or in tensors that lie in a list."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TRAINED = """
        def main(loader):
            model = nn.Linear(8, 8)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            average = Average(model)
            for batch in loader:
                loss = model(batch).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                average.update(model)
"""

GUILTY = {
    "a frozen copy": """
        class Average:
            def __init__(self, model):
                self.copy = copy.deepcopy(model).requires_grad_(False)

            def update(self, model):
                for own, p in zip(self.copy.parameters(), model.parameters()):
                    own.mul_(0.99)
                    own.add_(0.01 * p)  # TML205
        """,
    "a copy whose parameters are frozen one by one, by a helper": """
        def soft_update(target, source, tau):
            for own, p in zip(target, source):
                own.lerp_(p, tau)  # TML205

        class Average:
            def __init__(self, model):
                self.copy = copy.deepcopy(model)
                for p in self.copy.parameters():
                    p.requires_grad_(False)

            def update(self, model):
                soft_update(self.copy.parameters(), model.parameters(), 0.01)
        """,
    "by the name of the parameter": """
        class Average:
            def __init__(self, model):
                self.copy = copy.deepcopy(model).requires_grad_(False)

            def update(self, model):
                trained = dict(model.named_parameters())
                for name, own in self.copy.named_parameters():
                    own.copy_(0.99 * own + 0.01 * trained[name])  # TML205
        """,
    "by operators that write in place": """
        class Average:
            def __init__(self, model):
                self.copy = copy.deepcopy(model)
                for p in self.copy.parameters():
                    p.requires_grad = False

            def update(self, model):
                for own, p in zip(self.copy.parameters(), model.parameters()):
                    own *= 0.99
                    own += 0.01 * p  # TML205
        """,
    "slot by slot": """
        class Average:
            def __init__(self, model):
                self.shadow = [p.detach().clone() for p in model.parameters()]

            def update(self, model):
                for i, p in enumerate(model.parameters()):
                    self.shadow[i] = 0.99 * self.shadow[i] + 0.01 * p  # TML205
        """,
    "a list of clones": """
        class Average:
            def __init__(self, model):
                self.shadow = [p.detach().clone() for p in model.parameters()]

            def update(self, model):
                for own, p in zip(self.shadow, model.parameters()):
                    own.mul_(0.99).add_(p, alpha=0.01)  # TML205
        """,
    "clones that the first update makes": """
        class Average:
            def __init__(self, model):
                self.shadow, self.n = None, 0

            def update(self, model):
                if self.shadow is None:
                    self.shadow = [p.detach().clone() for p in model.parameters()]
                self.n += 1
                for own, p in zip(self.shadow, model.parameters()):
                    own += (p - own) / self.n  # TML101
        """,
    "a table of clones": """
        class Average:
            def __init__(self, model):
                self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

            def update(self, model):
                for name, p in model.named_parameters():
                    self.shadow[name].lerp_(p, 0.01)  # TML205
        """,
}

INNOCENT = {
    "without gradients": """
        class Average:
            def __init__(self, model):
                self.copy = copy.deepcopy(model).requires_grad_(False)
                self.shadow = [p.detach().clone() for p in model.parameters()]

            @torch.no_grad()
            def update(self, model):
                for own, kept, p in zip(self.copy.parameters(), self.shadow, model.parameters()):
                    own.lerp_(p, 0.01)
                    kept.lerp_(p, 0.01)
        """,
    "from data, or to it": """
        class Average:
            def __init__(self, model):
                self.copy = copy.deepcopy(model).requires_grad_(False)
                self.shadow = [p.detach().clone() for p in model.parameters()]

            def update(self, model):
                for own, kept, p in zip(self.copy.parameters(), self.shadow, model.parameters()):
                    own.lerp_(p.data, 0.01)
                    own.data.lerp_(p, 0.01)
                    kept.add_(p.detach(), alpha=0.01)
        """,
    "by operators, without gradients or from data": """
        class Average:
            def __init__(self, model):
                self.copy = copy.deepcopy(model).requires_grad_(False)

            def update(self, model):
                with torch.no_grad():
                    for own, p in zip(self.copy.parameters(), model.parameters()):
                        own *= 0.99
                        own += 0.01 * p
                for own, p in zip(self.copy.parameters(), model.parameters()):
                    own *= 0.99
                    own += 0.01 * p.detach()
        """,
    "slots that are filled one from the other": """
        class Average:
            def __init__(self, model):
                self.rows = [torch.zeros(8)] * 3

            def update(self, model):
                self.rows[0] = model.weight.sum(0)
                for i in range(1, 3):
                    self.rows[i] = self.rows[i - 1] * 0.5
        """,
    "from a copy that is frozen itself": """
        class Average:
            def __init__(self, model):
                self.slow = copy.deepcopy(model).requires_grad_(False)
                self.slower = copy.deepcopy(model).requires_grad_(False)

            def update(self, model):
                for slow, slower in zip(self.slow.parameters(), self.slower.parameters()):
                    slower.mul_(0.9).add_(slow, alpha=0.1)
        """,
    "clones that the first update makes, from data": """
        class Average:
            def __init__(self, model):
                self.shadow, self.n = None, 0

            def update(self, model):
                if self.shadow is None:
                    self.shadow = [p.detach().clone() for p in model.parameters()]
                self.n += 1
                for own, p in zip(self.shadow, model.parameters()):
                    own += (p.detach() - own) / self.n
        """,
    "another list in each round": """
        class Average:
            def __init__(self, model):
                self.norm = 0.0

            def update(self, model):
                self.moved = [torch.zeros_like(p) for p in model.parameters()]
                for own, p in zip(self.moved, model.parameters()):
                    own.add_(p)
                self.norm = sum(float(own.norm()) for own in self.moved)
                self.moved = None
        """,
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check("        import copy\n" + GUILTY[name] + TRAINED)


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check_innocent("        import copy\n" + INNOCENT[name] + TRAINED)
