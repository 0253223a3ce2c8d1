"""A statement that puts its value into one of several containers, as the moment says."""

from __future__ import annotations

from snippets import check

TRACKER = """
class Tracker:
    def __init__(self, model):
        self.model = model
        self.frames = {{"keys": {{}}, "others": {{}}}}
        self.number = 0

    def add(self, frame, prompt=None):
        kind = "keys" if prompt is not None else "others"
        with torch.no_grad():
            mask = self.model(frame)
        self.frames[kind][self.number] = mask{mark}
        {after}
        self.number += 1
        return mask.mean().item()

    def prune(self, number):
        for old in [one for one in self.frames["others"] if one < number]:
            del self.frames["others"][old]

def main(stream):
    tracker = Tracker(Net())
    for i, frame in enumerate(stream):
        tracker.add(frame, prompt=torch.ones(2) if i == 0 else None)

main(torch.rand(4, 8) for _ in range(100))
"""


def test_nothing_is_taken_out_of_either() -> None:
    text = TRACKER.format(mark="  # TML311", after="pass")
    check(text[: text.index("    def prune")] + text[text.index("def main") :])


def test_one_of_them_is_pruned() -> None:
    check(TRACKER.format(mark="", after="self.prune(self.number - 8)"))
