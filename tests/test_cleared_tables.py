"""Tables of models that are cleared for the memory, and the objects around one of them that an attribute still has."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

STUDIO = """
import gc

def free():
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

class Style:
    def __init__(self, net, strength):
        self.net, self.strength = net, strength

    def __call__(self, x):
        return self.strength * self.net(x)

class Studio:
    def __init__(self, most=4):
        self.nets, self.most = {{}}, most
        self.style, self.seen = None, 0

    def net(self, name):
        if name not in self.nets:
            if len(self.nets) >= self.most:
                self.nets.pop(next(iter(self.nets)))
            self.nets[name] = nn.Linear(512, 512).eval()
        return self.nets[name]

    def use(self, name, strength):
{uses}

    def paint(self, x):
        self.seen += 1
        return self.style(x)

    def {clear}(self):
{clears}

@torch.inference_mode()
def main(steps):
    studio = Studio()
    for step in range(steps):
        studio.use(("ink", "oil", "chalk")[step % 3], 0.5)
        print(studio.paint(torch.rand(8, 512)).mean())
    studio.{clear}()
    print(torch.rand(8, 512).mean(), studio.seen)

main(5)
"""
AROUND = "self.style = Style(self.net(name), strength)"
CLEARS = {
    "clear": "self.nets.clear()  # TML604\ngc.collect()\ntorch.cuda.empty_cache()",
    "by a helper": "self.nets.clear()  # TML604\nfree()",
    "another table": "self.nets = {}  # TML604\ngc.collect()\nfree()",
    "only collected": "self.nets.clear()  # TML604\ngc.collect()",
}
USES = {
    "an object around it": AROUND,
    "by a name": "net = self.net(name)\nself.style = Style(net, strength=strength)",
    "a part of a part": "self.style = Style(Style(self.net(name), 1.0), strength)",
}
LETS_GO = {
    "first": "self.style = None\nself.nets.clear()\ngc.collect()\ntorch.cuda.empty_cache()",
    "afterwards": "self.nets.clear()\nself.style = None\ngc.collect()\ntorch.cuda.empty_cache()",
    "of a part": "self.nets.clear()\nself.style.net = None\ngc.collect()\ntorch.cuda.empty_cache()",
    "not for the memory": "self.nets.clear()\nself.seen = 0",
    "tells it": "self.nets.clear()\nself.style.release()\ngc.collect()",
}


def studio(uses: str = AROUND, clears: str = CLEARS["clear"], clear: str = "clear") -> str:
    return STUDIO.format(uses=textwrap.indent(uses, 8 * " "), clears=textwrap.indent(clears, 8 * " "), clear=clear)


@pytest.mark.parametrize("clears", CLEARS.values(), ids=CLEARS)
@pytest.mark.parametrize("uses", USES.values(), ids=USES)
def test_what_is_around_one_of_them(uses: str, clears: str) -> None:
    check(studio(uses, clears))


@pytest.mark.parametrize("clears", LETS_GO.values(), ids=LETS_GO)
def test_what_goes_with_them(clears: str) -> None:
    check_innocent(studio(clears=clears))


QUIET = CLEARS["clear"].replace("  # TML604", "")


@pytest.mark.parametrize(
    "uses",
    [
        "self.style = self.net(name)",
        "self.style = Style(nn.Linear(512, 512), self.net(name)(torch.rand(1, 512)).mean().item())",
        "if self.style is None:\n    self.style = Style(nn.Linear(512, 512), strength)\nself.net(name)",
    ],
    ids=["the one in use", "another net", "one for all"],
)
def test_what_is_not_around_one_of_them(uses: str) -> None:
    check_innocent(studio(uses, QUIET))


def test_clean_ups_that_leave_some() -> None:
    check_innocent(studio(clears=QUIET, clear="evict_others"))


def test_what_is_in_use() -> None:
    after = "\n    print(torch.rand(8, 512).mean(), studio.seen)"
    assert after in studio(clears=QUIET)
    check_innocent(studio(clears=QUIET).replace(after, "\n    print(studio.paint(torch.rand(8, 512)).mean())"))
    check(studio().replace(after, "\n    studio.use('ink', 1.0)\n    print(studio.paint(torch.rand(8, 512)).mean())"))
