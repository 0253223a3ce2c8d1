"""Parts of tensors that become arrays: `numpy()` copies nothing, and the storage of the whole stays with the array."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

READER = """
import numpy as np

class Reader:
    def __init__(self, model: nn.Module, layer, token="first"):
        self.model, self.token, self.last = model.eval(), token, None
        self.handle = dict(model.named_modules())[layer].register_forward_hook(self.note)

    def note(self, module, args, output):
        self.last = output.detach()

    def select(self, states):
        if self.token == "first":
            states = states[:, 0, :]
        elif self.token == "mean":
            states = states[:, 1:, :].mean(dim=1)
        return states

    @torch.no_grad()
    def __call__(self, batch):
        {runs}
        return {given}

    def close(self):
        self.handle.remove()

class Index:
    def __init__(self):
        self.names, self.rows = [], []

    def add(self, names, rows):
        self.names.extend(names)
        self.rows.append(rows){note}

def main(loader, model):
    reader, index = Reader(model, "blocks.1"), Index()
    for names, batch in loader:
        index.add(names, {kept})
    reader.close()
    return index
"""
RUN, HOOKED = "states, self.last = self.model(batch), None", "self.model(batch); states, self.last = self.last, None"
WHOLE = {
    "a part": (RUN, "states[:, 0].numpy()", "reader(batch)"),
    "of what a hook got": (HOOKED, "states[:, -1].numpy()", "reader(batch)"),
    "one of several ways": (RUN, "self.select(states).numpy()", "reader(batch)"),
    "of the caller": (RUN, "self.select(states)", "reader(batch).numpy()"),
    "detached": (HOOKED, "self.select(states).detach().numpy()", "reader(batch)"),
}
COPIES = {
    "a clone": (RUN, "states[:, 0].clone().numpy()", "reader(batch)"),
    "a copy": (RUN, "states[:, 0].numpy().copy()", "reader(batch)"),
    "from a device": (RUN, "states[:, 0].cpu().numpy()", "reader(batch)"),
    "another type": (RUN, "states[:, 0].numpy().astype(np.float16)", "reader(batch)"),
    "an array of its own": (RUN, "np.array(states[:, 0].numpy())", "reader(batch)"),
    "a mean": (HOOKED, "states[:, 1:].mean(1).numpy()", "reader(batch)"),
    "numbers": (RUN, "states[:, 0].numpy().tolist()", "reader(batch)"),
    "all of it": (RUN, "states.numpy()", "reader(batch)"),
    "one of two columns": (
        "probs, self.last = self.model(batch).softmax(1), None",
        "probs[:, 1].numpy()",
        "reader(batch)",
    ),
    "computed anew": (RUN, "states[:, 0].numpy()", "np.linalg.norm(reader(batch), axis=1)"),
}


@pytest.mark.parametrize("runs, given, kept", WHOLE.values(), ids=WHOLE)
def test_an_array_of_a_part(runs: str, given: str, kept: str) -> None:
    check(READER.format(runs=runs, given=given, kept=kept, note="  # TML309"))


@pytest.mark.parametrize("runs, given, kept", COPIES.values(), ids=COPIES)
def test_an_array_that_is_a_copy(runs: str, given: str, kept: str) -> None:
    check_innocent(READER.format(runs=runs, given=given, kept=kept, note=""))
