"""Tables of lists whose entries are made anew, one after the other, for the next call."""

import pytest
from snippets import check

EXTRACTOR = """
BLOCKS, MAPS = "blocks", "maps"
NAMES = [BLOCKS, MAPS]

class Extractor:
    KEYS = [BLOCKS, MAPS]

    def __init__(self, model):
        self.model, self.handles, self.seen = model, [], {{}}
        for name in {names}:
            self.seen[name] = []

    def begin(self):
        {begin}

    def hook_in(self):
        for block in self.model.blocks:
            self.handles.append(block.register_forward_hook(self.follow()))

    def follow(self):
        def keep(module, inputs, output):
            self.seen["blocks"].append(output){mark}

        return keep

    def features(self, x):
        self.hook_in()
        try:
            self.model(x)
            found = self.seen["blocks"]
        finally:
            for handle in self.handles:
                handle.remove()
            self.handles = []
        self.begin()
        return found
"""
EACH = "for name in {}:\n            self.seen[name] = []"


def _case(begin: str, mark: str = "", names: str = "NAMES") -> None:
    check(EXTRACTOR.format(begin=begin, mark=mark, names=names))


@pytest.mark.parametrize("names", ["NAMES", "self.KEYS", "Extractor.KEYS", "self.seen"])
def test_all_entries_are_made_anew(names: str) -> None:
    _case(EACH.format(names))
    _case(EACH.format("('blocks', 'maps')"), names="('blocks', 'maps')")


def test_one_entry_is_made_anew() -> None:
    _case("self.seen['blocks'] = []", names="('blocks', 'maps')")
    _case("self.seen[BLOCKS] = []", names="('blocks', 'maps')")


def test_nothing_or_another_entry_is_made_anew() -> None:
    _case("pass", mark="  # TML108")
    _case("self.seen['maps'] = []", mark="  # TML108")
    _case(EACH.format("self.model.names"), mark="  # TML108")


STREAMED = """
class Streamed(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.kept = [torch.empty(0) for _ in range(len(blocks))]

    def forward(self, x, more=False):
        for i, block in enumerate(self.blocks):
            whole = torch.cat([self.kept[i], x], dim=1)
            {test}:
                self.kept[i] = whole{mark}
            {other}
            x = block(whole)
        return x
"""


@pytest.mark.parametrize(
    ("test", "other", "guilty"),
    [
        ("if more", "else: self.kept[i] = x", False),
        ("if not more: self.kept[i] = x\n            else", "pass", False),
        ("if more", "pass", True),
        ("if more", "else: self.rest = x", True),
        ("if len(self.kept[i])", "else: self.kept[i] = x", True),
        ("if more", "else: self.kept[i] = torch.cat([self.kept[i], x[:1]], dim=1)", True),
    ],
)
def test_entries_that_a_flag_begins_anew(test: str, other: str, guilty: bool) -> None:
    check(STREAMED.format(test=test, other=other, mark="  # TML303" * guilty))
