"""Functions that write into a tensor that they are given."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TRAINED = """
def keep(found, best):
    nearer = found < best
    {write}

def train(model, loader, optimizer):
    best = torch.full((8,), 1e10)
    for x in loader:
        {before}
        found = model(x).sum(1)
        loss = found.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keep({given}, best)
    return best.tolist()
"""


@pytest.mark.parametrize(
    ("write", "given", "before"),
    [
        ("best[nearer] = found[nearer]  # TML101", "found", "pass"),
        ("best[found < best] = found[found < best]  # TML101", "found", "pass"),
        ("best.copy_(torch.minimum(found, best))  # TML101", "found", "pass"),
        ("best[nearer] = found[nearer]", "found.detach()", "pass"),
        ("best[nearer] = found[nearer].detach()", "found", "pass"),
        ("best[nearer] = found[nearer]", "found", "best = torch.full((8,), 1e10)"),
        ("best = torch.minimum(found, best)", "found", "pass"),
        ("best = best.clone(); best[nearer] = found[nearer]", "found", "pass"),
    ],
)
def test_a_callers_variable(write: str, given: str, before: str) -> None:
    check(TRAINED.format(write=write, given=given, before=before))


ATTACK = """
class Search:
    def __init__(self):
        self.predict = Net()

    def attack(self, x, steps):
        best, moved = torch.full((len(x),), 1e10), nn.Parameter(x.clone())
        for _ in range(steps):
            self.predict(moved).sum().backward()
            moved.data.add_(moved.grad, alpha=-0.1)
            far = (self.predict(moved.clamp(0, 1)) - x).pow(2).sum(1)
            self.note(far, best)
        return best

    def note(self, far, best):
        mask = {mask}
        best[mask] = far[mask]{mark}
"""


@pytest.mark.parametrize(
    ("mask", "mark"),
    [("(far < best) & (far > 0)", "  # TML101"), ("best >= far", "  # TML101"), ("far < 8", "")],
)
def test_the_best_of_all_rounds(mask: str, mark: str) -> None:
    check(ATTACK.format(mask=mask, mark=mark))


def test_what_is_filled_for_a_pass() -> None:
    check_innocent(
        """
        def put(rows, place, out):
            out[place] = rows

        class Packed(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

            def forward(self, x):
                out = x.new_zeros(4, 8)
                for place, part in enumerate(self.parts):
                    put(part(x), place, out)
                return out

        def losses(model, x, count):
            out = x.new_zeros(count)
            for place in range(count):
                put(model(x[place]).sum(), place, out)
            return out.mean()
        """
    )
