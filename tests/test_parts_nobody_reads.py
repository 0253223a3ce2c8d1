"""An encoder whose name goes, for the memory, while an object that goes on being used has it too."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

PROGRAM = """
import gc
from torch.utils.data import DataLoader, Dataset


class Embeddings(Dataset):
    def __init__(self, encoder, prompts):
        self.encoder = encoder
        self.prompts = prompts
        self.rows = dict()

    def fill(self):
        with torch.no_grad():
            for prompt in self.prompts:
                self.rows[prompt] = self.encode(prompt)

    def encode(self, prompt):
        return self.encoder(torch.full((1, 512), float(len(prompt))))

    def __len__(self):
        return len(self.prompts)

    def __getitem__(self, index):
        return self.rows[self.prompts[index]]

    def find(self, prompt):
        return self.rows[prompt] if prompt in self.rows else self.encode(prompt)


def train(net, source, steps):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(steps):
        loss = net({row}).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(steps):
    encoder = nn.Linear(512, 8)
    data = Embeddings(encoder, ["fox", "harbour"])
    data.fill()
    {first}
    del encoder{mark}
    gc.collect()
    torch.cuda.empty_cache()
    net = nn.Linear(8, 8)
    train(net, {handed}, steps)
    print(len(data))
"""
MARK = "  # TML604"
CASES = {
    "the table is read": ("source[step % 2]", "pass", MARK, "data"),
    "a loader reads it": ("next(iter(source))", "pass", MARK, "DataLoader(data, batch_size=2)"),
    "all rows are gone over": ("[one for one in source][0]", "pass", MARK, "data"),
    "the part goes first": ("source[step % 2]", "data.encoder = None", "", "data"),
    "what is missing is encoded": ("source.find('cat')", "pass", "", "data"),
    "somebody else has it": ("source[step % 2]", "probe = [encoder]", "; print(probe[0].weight.sum().item())", "data"),
    "unknown code gets it": ("source[step % 2]", "pass", "", "torch.jit.script(data)"),
    "on the host": ("source[step % 2]", "encoder.cpu()", "", "data"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_an_object_keeps_that_is_used_for_other_things(case: str) -> None:
    row, first, mark, handed = CASES[case]
    check(textwrap.dedent(PROGRAM).format(row=row, first=first, mark=mark, handed=handed))
