"""Tables of a `defaultdict` whose entries are cut to a length, while their keys stay."""

from __future__ import annotations

import pytest
from snippets import check

TRACKS = """
class Tracks:
    def __init__(self, most=4):
        self.most, self.seen = most, {{}}
        self.history = {table}

    def keep(self, track_id, row):
        {keep}

    def sweep(self, gone):
        {sweep}

def main(frames, detect):
    net, tracks = Net().eval(), Tracks()
    for frame in frames:
        with torch.no_grad():
            rows = net(frame)
        boxes = detect(frame)
        for row, box in zip(rows, boxes):
            tracks.keep({key}, row)
        tracks.sweep([box.track_id for box in boxes])
"""
ADDS = "self.history[track_id].append(row){mark}\n        "
NAMED = "line = self.history[track_id]\n        line.append(row){mark}\n        "
SHORT = "if len(self.history[track_id]) > self.most: self.history[track_id].pop(0)"
LEAKS = {
    "by a name": {"keep": NAMED + "if len(line) > self.most: line.pop(0)"},
    "in place": {"keep": ADDS + SHORT},
    "with a slice": {"keep": ADDS + "self.history[track_id] = self.history[track_id][-4:]"},
    "from the front": {"keep": ADDS + "if len(self.history[track_id]) > 4: del self.history[track_id][0]"},
    "of bounded entries": {"table": "defaultdict(lambda: deque(maxlen=4))", "keep": ADDS},
    "that others ask for": {"keep": ADDS + SHORT + "\n        self.seen[track_id] = track_id in self.history"},
}
SOUND = {
    "gone with the track": {"sweep": "for one in gone: self.history.pop(one, None)"},
    "deleted": {"sweep": "for one in gone: del self.history[one]"},
    "made anew": {"sweep": "self.history = defaultdict(list)"},
    "counted": {"keep": ADDS + SHORT + "\n        while len(self.history) > 99: self.history.popitem()"},
    "under few keys": {"key": "'best'"},
    "of numbers": {"keep": ADDS.replace("(row)", "(row.argmax().item())") + SHORT},
    "handed out": {"keep": ADDS + "return self.history[track_id].pop(0)"},
}


def program(parts: dict[str, str], mark: str) -> str:
    default = {"table": "defaultdict(list)", "keep": ADDS + SHORT, "sweep": "pass", "key": "box.track_id"}
    text = TRACKS.format(**(default | parts))
    return text.replace("{mark}", mark)


@pytest.mark.parametrize("case", LEAKS)
def test_keys_that_stay(case: str) -> None:
    check(program(LEAKS[case], "  # TML311"))


@pytest.mark.parametrize("case", SOUND)
def test_keys_that_go(case: str) -> None:
    check(program(SOUND[case], ""))


SAMPLES = """
class Bank:
    def __init__(self):
        self.crops = defaultdict(lambda: deque(maxlen=16))

    def __call__(self, sample):
        crop = sample["image"] * sample["mask"]
        self.crops[sample["{field}"]].append(crop){mark}
        return crop

def main(samples):
    bank = Bank()
    for sample in samples:
        bank({{"image": torch.rand(3, 8, 8), "mask": torch.rand(3, 8, 8), "{field}": sample}})
"""


@pytest.mark.parametrize(("field", "mark"), [("path", "  # TML311"), ("label", "")])
def test_a_field_of_a_sample_says_more_than_the_sample(field: str, mark: str) -> None:
    check(SAMPLES.format(field=field, mark=mark))
