"""Lengths that are asked for only to wait until there is enough: what is filled goes on growing behind the test."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

PROGRAM = """
    import random

    class Smoother:
        def __init__(self, net, window=4):
            self.net = net.eval()
            self.window = window
            self.full = False
            self.frames = []

        @torch.no_grad()
        def step(self, frame):
            out = self.net(frame)
            self.frames.append(out){mark}
            {body}

    def main(steps):
        smoother = Smoother(Net())
        for _ in range(steps):
            smoother.step(torch.rand(64, 8))
    """

WAITS = {
    "too few, then the end": """if len(self.frames) < self.window:
                return out
            return torch.stack(self.frames[-self.window :]).mean(0)""",
    "too few, the other way round": """if self.window > len(self.frames):
                return None
            return self.frames[-1] - self.frames[-self.window]""",
    "enough, then the end": """if len(self.frames) >= self.window:
                return torch.stack(self.frames[-4:]).mean(0)
            return out""",
    "enough, then one before": """if len(self.frames) > 2:
                out = out + self.frames[-3]
            return out""",
    "too few, then a few drawn": """if len(self.frames) < self.window:
                return out
            return torch.stack(random.sample(self.frames, self.window)).mean(0)""",
}
BOUNDED = {
    "all of it is read": """if len(self.frames) < self.window:
                return None
            return torch.stack(self.frames)""",
    "the oldest goes": """if len(self.frames) < self.window:
                return out
            self.frames.pop(0)
            return torch.stack(self.frames[-self.window :]).mean(0)""",
    "the end is all that stays": """if len(self.frames) > self.window:
                self.frames = self.frames[-self.window :]
            return out""",
    "who asks is told that it is full": """if len(self.frames) >= self.window:
                self.full = True
                return torch.stack(self.frames[-self.window :]).mean(0)
            return out""",
    "it is an error": """if len(self.frames) > self.window:
                raise RuntimeError(f"too many after {self.frames[-1].shape}")
            return out""",
}


@pytest.mark.parametrize("form", WAITS)
def test_a_test_for_enough_is_no_bound(form: str) -> None:
    check(PROGRAM.format(body=WAITS[form], mark="  # TML303"))


@pytest.mark.parametrize("form", BOUNDED)
def test_a_test_that_may_be_a_bound(form: str) -> None:
    check_innocent(PROGRAM.format(body=BOUNDED[form], mark=""))


PUT_WHEN_SHORT = """
    class Smoother:
        def __init__(self, net):
            self.net = net.eval()
            self.frames = []

        @torch.no_grad()
        def step(self, frame):
            out = self.net(frame)
            {body}

    def main(steps):
        smoother = Smoother(Net())
        for _ in range(steps):
            smoother.step(torch.rand(64, 8))
    """


@pytest.mark.parametrize(
    "body",
    [
        """if len(self.frames) < 4:
                self.frames.append(out)
                return out
            return out - self.frames[-1]""",
        """if len(self.frames) >= 4:
                return out - self.frames[-1]
            self.frames.append(out)
            return out""",
    ],
)
def test_what_is_put_in_only_while_there_are_few(body: str) -> None:
    check_innocent(PUT_WHEN_SHORT.format(body=body))


STREAM = """
    from torch.utils.data import DataLoader, IterableDataset

    class Pairs(IterableDataset):
        def __init__(self, count, gap=4):
            self.count = count
            self.gap = gap
            self.history = []

        def __iter__(self):
            for _ in range(self.count):
                frame = torch.rand(3, 64, 64)
                self.history.append(frame){mark}
                if len(self.history) <= self.gap:
                    continue
                {body}

    def main(steps):
        for batch in DataLoader(Pairs(steps), batch_size=4, num_workers=2):
            print(batch[0].mean().item())
    """


def test_a_window_of_a_stream() -> None:
    check(STREAM.format(body="yield frame, self.history[-self.gap - 1]", mark="  # TML404"))


@pytest.mark.parametrize(
    "body",
    [
        "yield frame, self.history.pop(0)",
        """yield frame, self.history[-self.gap - 1]
                break""",
        """yield frame, self.history[-self.gap - 1]
                return""",
    ],
)
def test_a_window_that_goes_on_or_ends(body: str) -> None:
    check_innocent(STREAM.format(body=body, mark=""))
