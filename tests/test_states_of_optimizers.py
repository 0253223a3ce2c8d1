"""Files that only optimizers read: what is loaded becomes their own state. Each beside one that a model reads."""

from __future__ import annotations

import pytest
from snippets import check

_RESUME = """
class Trainer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Net(), Net()
        self.first_opt = torch.optim.Adam(self.first.parameters())
        self.second_opt = torch.optim.Adam(self.second.parameters())
        self.cuda()

    def resume(self, folder):
        state = torch.load(newest(folder, "nets")){first}
        self.first.load_state_dict(state["first"])
        self.second.load_state_dict(state["second"])
        state = torch.load(folder / "optimizer.pt"){second}
        {taken}

    def save(self, folder):
        torch.save({{"first": self.first_opt.state_dict()}}, folder / "optimizer.pt")
"""

TAKEN = {
    "by optimizers": ('self.first_opt.load_state_dict(state["first"])', ""),
    "by two of them": (
        'self.first_opt.load_state_dict(state["first"])\n        self.second_opt.load_state_dict(state["second"])',
        "",
    ),
    "by an optimizer and a model": (
        'self.first_opt.load_state_dict(state["first"])\n        self.second.load_state_dict(state["second"])',
        "  # TML312",
    ),
    "by what is only called alike": ('self.optical_flow.load_state_dict(state["first"])', "  # TML312"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_second_file_is_taken(name: str) -> None:
    taken, mark = TAKEN[name]
    check(_RESUME.format(first="  # TML312", second=mark, taken=taken))
