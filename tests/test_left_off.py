"""Places that only a call under a switch empties, which is off by default and which nobody turns on."""

from __future__ import annotations

import pytest
from snippets import check

TRACER = """
class Tracer:
    def __init__(self, net):
        self.net, self.seen, self.step = net, {{}}, 0

    @torch.no_grad()
    def predict(self, x):
        x = self.net(x)
        {put}
        self.step += 1
        return x

    def relevance(self):
        return {{step: float(x.mean()) for step, x in self.seen.items()}}

    def clear(self):
        self.seen.clear()

class Runner:
    def __init__(self, tracer, tokens=4, trace={default}):
        self.tracer, self.tokens, self.trace = tracer, tokens, trace

    def generate(self, x, told={default}):
        for _ in range(self.tokens):
            x = self.tracer.predict(x)
            {then}
        return x

{more}

def main(steps):
    runner = Runner(Tracer(Net().eval()){given})
    {set}
    for _ in range(steps):
        runner.generate(torch.rand(4, 8){asked})

main(8)
"""
PUT = "self.seen[self.step] = x"
OWN = """if self.trace:
                print(self.tracer.relevance())
                self.tracer.clear()"""
TOLD = OWN.replace("self.trace:", "told:")
LEAKS = {
    "a switch of the object": {},
    "one that is off in words, too": {"given": ", trace=False"},
    "a limit": {"default": "None", "then": OWN.replace("self.trace:", "self.trace is not None:")},
    "a parameter": {"then": TOLD},
    "one that is given as it is": {"then": TOLD, "asked": ", told=False"},
}
SOUND = {
    "no switch": {"then": "self.tracer.clear()"},
    "one that is on by default": {"default": "True"},
    "one that is on": {"given": ", 4, True"},
    "one that is turned on by name": {"given": ", trace=True"},
    "one that is turned on later": {"set": "runner.trace = True"},
    "another call": {"more": "def reset(runner): runner.tracer.clear()"},
    "a call by somebody else": {"more": "def later(tracer): atexit.register(tracer.clear)"},
    "a parameter that is given": {"then": TOLD, "asked": ", True"},
    "one that is given by name": {"then": TOLD, "asked": ", told=True"},
    "one that is not known": {"then": TOLD, "asked": ", **options"},
    "where it is off": {"then": OWN.replace("self.trace:", "not self.trace:")},
    "a switch for what is kept, too": {
        "then": "if self.trace: self.tracer.seen[self.tracer.step] = x\n            " + OWN,
        "put": "pass",
    },
}


def program(parts: dict[str, str], mark: str) -> str:
    default = {"put": PUT, "default": "False", "then": OWN, "more": "", "given": "", "set": "pass", "asked": ""}
    filled = default | parts
    filled["put"] += mark
    return TRACER.format(**filled)


@pytest.mark.parametrize("case", LEAKS)
def test_a_switch_that_nobody_turns_on(case: str) -> None:
    check(program(LEAKS[case], "  # TML311"))


@pytest.mark.parametrize("case", SOUND)
def test_a_release_that_comes(case: str) -> None:
    check(program(SOUND[case], ""))
