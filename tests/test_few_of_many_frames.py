"""Lists and tables of an object that one loop fills frame by frame, and that are only asked for the last few."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CODE = """
class Track:
    def __init__(self):
        self.seen = {made}


class Tracker:
    def __init__(self, net):
        self.net = net

    @torch.no_grad()
    def follow(self, track, video, window):
        for t, frame in enumerate(video):
            found = self.net(frame)
            {read}
            {put}{mark}
            {then}
            yield found.mean().item()


def main(video):
    track = Track()
    for score in Tracker(Net()).follow(track, video, 4):
        print(score)
    {end}
"""
PUT = "track.seen[t] = found"
ADD = "track.seen.append(found)"


@pytest.mark.parametrize(
    ("made", "read", "put", "code"),
    [
        ("{}", "before = track.seen.get(t - 1)", PUT, "TML311"),
        ("{}", "before = t - 2; last = track.seen[before] if before in track.seen else None", PUT, "TML311"),
        ("{}", "few = [track.seen[t - back] for back in range(1, window) if back <= t]", PUT, "TML311"),
        ("{}", "few = [track.seen[i] for i in range(max(0, t - window), t)]", PUT, "TML311"),
        ("{}", "first = track.seen.get(0); last = track.seen.get(t - 1)", PUT, "TML311"),
        ("[]", "if track.seen: found = found + track.seen[-1]", ADD, "TML303"),
        ("[]", "few = track.seen[-window:]; print(len(track.seen))", ADD, "TML303"),
    ],
)
def test_only_the_last_few_are_asked_for(made: str, read: str, put: str, code: str) -> None:
    check(CODE.format(made=made, read=read, put=put, mark=f"  # {code}", then="", end=""))


@pytest.mark.parametrize(
    ("made", "read", "put", "then", "end"),
    [
        ("{}", "all = [track.seen[t - back] for back in range(1, t + 1)]", PUT, "", ""),
        ("{}", "all = [track.seen[i] for i in range(t)]", PUT, "", ""),
        ("{}", "last = track.seen.get(t - 1)", PUT, "", "print(torch.cat(list(track.seen.values())).shape)"),
        ("{}", "last = track.seen.get(t - 1)", PUT, "", "print(track.seen)"),
        ("{}", "last = track.seen.get(t - 1)", PUT, "track.seen.pop(t - window, None)", ""),
        ("{}", "last = track.seen.get(t - 1)", "track.seen = {t: found}", "", ""),
        ("{}", "last = track.seen.get(t - 1)", "track.seen[t] = found.mean().item()", "", ""),
        ("[]", "all = sum(track.seen, found)", ADD, "", ""),
        ("[]", "few = track.seen[-window:]", ADD, "", "torch.save(track.seen, 'seen.pt')"),
        ("[]", "few = track.seen[-window:]", ADD, "del track.seen[:-window]", ""),
        ("[]", "few = track.seen[:window]", ADD, "", ""),
        ("deque(maxlen=4)", "if track.seen: found = found + track.seen[-1]", ADD, "", ""),
    ],
)
def test_all_are_asked_for_or_few_are_kept(made: str, read: str, put: str, then: str, end: str) -> None:
    check_innocent(CODE.format(made=made, read=read, put=put, mark="", then=then, end=end))


INDEXED = """
class Smoother:
    def __init__(self, net):
        self.net = net
        self.flows = {{}}

    @torch.no_grad()
    def smooth(self, video):
        for index, frame in enumerate(video):
            flow, {name} = self.net(frame), {key}
            if {name} in self.flows:
                flow = flow + self.flows[{name}]
            self.flows[index] = flow{mark}
            yield flow.mean().item()


def main(video):
    for value in Smoother(Net()).smooth(video):
        print(value)
"""


@pytest.mark.parametrize(("name", "key", "mark"), [("last", "index - 1", "  # TML311"), ("same", "index % 8", "")])
def test_a_name_for_the_key_of_the_round_before(name: str, key: str, mark: str) -> None:
    check(INDEXED.format(name=name, key=key, mark=mark))
