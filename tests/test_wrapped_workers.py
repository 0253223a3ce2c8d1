"""Objects around such as own worker processes, which a function makes of what it has by a name."""

from __future__ import annotations

import pytest
from snippets import check

ENVS = """
import multiprocessing as mp

CONTEXT = mp.get_context("fork")

def serve(remote, there, seed):
    there.close()
    try:
        while True:
            word, action = remote.recv()
            if word == "close":
                break
            remote.send((seed, action))
    except EOFError:
        pass

class Envs:
    def __init__(self, seeds):
        self.remotes, self.works = zip(*[CONTEXT.Pipe() for _ in seeds])
        self.ps = [CONTEXT.Process(target=serve, args=(w, r, s)) for w, r, s in zip(self.works, self.remotes, seeds)]
        for p in self.ps:
            p.start()
        for work in self.works:
            work.close()

    def step(self, actions):
        for remote, action in zip(self.remotes, actions):
            remote.send(("step", action))
        return [remote.recv() for remote in self.remotes]

    def close(self):
        for remote in self.remotes:
            remote.send(("close", None))
        for p in self.ps:
            p.join()

class HereEnvs:
    def __init__(self, seeds):
        self.seeds = seeds

    def step(self, actions):
        return list(zip(self.seeds, actions))

    def close(self):
        pass

class Wrapper:
    def __init__(self, envs):
        self.envs = envs

    def step(self, actions):
        return self.envs.step(actions)

    def close(self):
        self.envs.close()

class ToTensor(Wrapper):
    def step(self, actions):
        return torch.tensor(self.envs.step(actions))

class Plot:
    def __init__(self, envs):
        self.first = envs.step([0, 0])

    def show(self):
        print(self.first)

def make(seeds):
{make}

def evaluate(seeds):
    envs = make(seeds){mark}
    total = envs.{use}
{end}
    return total

def main(epochs):
    for epoch in range(epochs):
        print(evaluate([epoch, epoch + 1]))
"""
MAKERS = {
    "at once": "    return ToTensor(Envs(seeds))",
    "of a name": "    envs = Envs(seeds)\n    return ToTensor(envs)",
    "twice": "    envs = Envs(seeds)\n    envs = Wrapper(envs)\n    envs = ToTensor(envs)\n    return envs",
    "only of several": (
        "    if len(seeds) > 1:\n        envs = Envs(seeds)\n    else:\n        envs = HereEnvs(seeds)\n"
        "    return ToTensor(envs)"
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_made_around_them(name: str) -> None:
    check(_program(MAKERS[name], mark="  # TML408"))
    check(_program(MAKERS[name], end="envs.close()"))


def test_what_is_made_of_others() -> None:
    check(_program("    envs = HereEnvs(seeds)\n    return ToTensor(envs)"))


def test_what_only_looks_at_them() -> None:
    made = "    envs = Envs(seeds)\n    try:\n        return Plot(envs)\n    finally:\n        envs.close()"
    check(_program(made, use="show()"))


def _program(made: str, mark: str = "", end: str = "pass", use: str = "step([1, 0])") -> str:
    filled = ENVS
    for word, text in (("make", made), ("mark", mark), ("use", use), ("end", f"    {end}")):
        filled = filled.replace(f"{{{word}}}", text)
    return filled
