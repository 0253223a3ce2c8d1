"""A flag that is written for a call and handed on among others, `notify(..., training=True)`, decides a test."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

PROGRAM = """
class Scoring:
    def __init__(self):
        self.preds = []

    def on_batch_end(self, net, y_pred=None, training=False, **kwargs):
        if not training:
            self.preds.append(y_pred){note}

    def on_epoch_end(self, net, **kwargs):
        self.preds = []

class Trainer:
    def __init__(self, callbacks):
        self.callbacks, self.model = callbacks, nn.Linear(4, 4)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def notify(self, name, **kwargs):
        for callback in self.callbacks:
            getattr(callback, name)(self, **kwargs)

    def tell(self, name, **kwargs):
        self.notify(name, **kwargs)

    def fit(self, epochs, batches, mode):
        for _ in range(epochs):
            for _ in range(batches):
                out = self.model(torch.randn(3, 4))
                self.opt.zero_grad()
                out.sum().backward()
                self.opt.step()
                step = {{"y_pred": out}}
                {call}
            self.notify("on_epoch_end")

def main(steps):
    Trainer([Scoring()]).fit(steps, steps, steps > 3)
"""
INNOCENT = {
    "beside entries": 'self.notify("on_batch_end", training=True, **step)',
    "beside others": 'self.notify("on_batch_end", training=True, y_pred=out)',
    "twice": 'self.tell("on_batch_end", y_pred=out, training=True)',
}
GUILTY = {
    "not": 'self.notify("on_batch_end", training=False, **step)',
    "left to the default": 'self.notify("on_batch_end", y_pred=out)',
    "of a value that nobody wrote down": 'self.notify("on_batch_end", y_pred=out, training=mode)',
}


@pytest.mark.parametrize("call", INNOCENT.values(), ids=INNOCENT)
def test_what_is_told_not_to_keep(call: str) -> None:
    check_innocent(PROGRAM.format(note="", call=call))


@pytest.mark.parametrize("call", GUILTY.values(), ids=GUILTY)
def test_what_may_keep(call: str) -> None:
    check(PROGRAM.format(note="  # TML107", call=call))
