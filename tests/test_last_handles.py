"""A loop that binds one name to the handle of each layer leaves the last of them: whoever keeps that keeps one."""

from __future__ import annotations

import pytest
from snippets import check

SCALER = """
class Scaler(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model, self.gate, self.taken = model, nn.Linear(8, 4), []

    def scaled(self, x):
        weights = self.gate(x).softmax(-1)
        def scale(module, args, output):
            return output * weights.mean()
        handles = []
        for part in self.model.modules():
            if isinstance(part, nn.Linear):
                {each}{mark}
        {after}
        return self.finish(x, handles)

    def finish(self, x, handles):
        try:
            return self.model(x)
        finally:
            for handle in [*handles, *self.taken]:
                handle.remove()
"""
LAST = "handle = part.register_forward_hook(scale)"
ALL = "handles.append(part.register_forward_hook(scale))"
MARK = "  # TML304"


@pytest.mark.parametrize(
    ("each", "after", "mark"),
    [
        (LAST, "handles.append(handle)", MARK),
        (LAST, "self.taken = [handle]; self.last = handle", MARK),
        (ALL, "pass", ""),
        (LAST + "; handles.append(handle)", "print(handle)", ""),
        (LAST + "; break", "handles.append(handle)", ""),
    ],
)
def test_what_is_put_away_after_the_loop_is_the_last(each: str, after: str, mark: str) -> None:
    check(SCALER.format(each=each, after=after, mark=mark))
