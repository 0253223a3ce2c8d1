"""Rows for all choices that a loop collects, and what is picked from them when it is over."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

OBJECT = """
class Walk:
    def __init__(self):
        self.scores, self.chosen = [], []

    def step(self, logits):
        scores = logits.log_softmax(-1)
        chosen = scores.argmax(-1)
        {adds}{mark}
        self.chosen.append({chosen})
        return chosen

    def finish(self, marks):
        {ends}


def main(steps):
    net = Net()
    for _ in range(steps):
        with {mode}:
            walk = Walk()
            x = torch.randn(64, 8)
            for _ in range(40):
                x = x + walk.step(net(x)).unsqueeze(-1)
            print(walk.finish(x.argmax(-1, keepdim=True)){also})
"""
OFF = "torch.no_grad()"
ADDS = "self.scores.append(scores)"
ENDS = "return torch.stack(self.scores, 1).gather(-1, torch.stack(self.chosen, 1).unsqueeze(-1)).sum()"


def _object(adds: str, ends: str, mode: str = OFF, *, mark: str = "", chosen: str = "chosen", also: str = "") -> str:
    return OBJECT.format(adds=adds, ends=ends, mode=mode, mark=mark, chosen=chosen, also=also)


@pytest.mark.parametrize(
    "ends",
    [
        ENDS,
        "path = torch.stack(self.chosen, 1); return torch.stack(self.scores, 1).gather(-1, path[..., None]).sum()",
        "rows = torch.stack(self.scores); return rows.gather(2, torch.stack(self.chosen)[..., None]).sum(0)",
        "return torch.gather(torch.stack(self.scores), 2, index=torch.stack(self.chosen)[..., None]).sum()",
        "return torch.take_along_dim(torch.stack(self.scores), torch.stack(self.chosen)[..., None], 2).sum()",
    ],
)
def test_what_was_chosen_in_the_same_round(ends: str) -> None:
    check(_object(ADDS, ends, mark="  # TML310"))


@pytest.mark.parametrize(
    ("adds", "ends", "also"),
    [
        ("self.scores.append(scores.gather(-1, chosen[:, None]))", "return torch.stack(self.scores).sum()", ""),
        (
            ADDS,
            "return torch.stack(self.scores, 1).gather(-1, marks[:, None].expand(-1, 40, 1)).sum()",
            "",
        ),  # told last
        (ADDS, "rows = torch.stack(self.scores); return rows.gather(2, torch.stack(self.chosen)[..., None]), rows", ""),
        (ADDS, f"entropy = -torch.stack(self.scores).exp().mean(); {ENDS}", ""),
        (ADDS, ENDS, ", torch.stack(walk.scores).shape"),
        (ADDS, "return self.scores, self.chosen", ""),
    ],
)
def test_rows_that_are_wanted(adds: str, ends: str, also: str) -> None:
    check_innocent(_object(adds, ends, also=also))


VARIABLES = """
@torch.no_grad()
def sample(net, x, steps):
    rows, picks = [], []
    for _ in range(steps):
        row = net(x).log_softmax(-1)
        pick = row.exp().multinomial(1)
        rows.append({kept}){mark}
        picks.append(pick)
        x = x + pick
    {ends}


def main():
    print(sample(Net(), torch.randn(4, 8), 100))
"""


@pytest.mark.parametrize(
    ("kept", "mark", "ends"),
    [
        ("row", "  # TML310", "return torch.stack(rows, 1).gather(2, torch.stack(picks, 1)).sum()"),
        ("row.gather(1, pick)", "", "return torch.cat(rows, 1).sum(), torch.cat(picks, 1)"),
        ("row", "", "return torch.stack(rows, 1), torch.cat(picks, 1)"),
    ],
)
def test_rows_of_a_function(kept: str, mark: str, ends: str) -> None:
    check(VARIABLES.format(kept=kept, mark=mark, ends=ends))


def test_with_a_graph_the_rows_are_there_anyway() -> None:
    training = OBJECT.replace("print(walk.finish(x.argmax(-1, keepdim=True)){also})", "(-walk.finish(x)).backward()")
    check_innocent(training.format(adds=ADDS, ends=ENDS, mode="torch.enable_grad()", mark="", chosen="chosen"))
