"""References to results in other processes, which stay there until the last reference goes; `# TML503` says what is
due."""

from __future__ import annotations

import pytest
from snippets import check

POOL = """
import ray

class Pool:
    def __init__(self, workers):
        self.workers = workers
        self.refs = {container}

    def run(self, step, x):
        {body}

def main(steps, workers):
    pool = Pool(workers)
    for step in range(steps):
        pool.run(step, torch.zeros(8))
"""
KEPT = {
    "of an actor": ("[]", "self.refs.append(self.workers[0].run.remote(x))  # TML503"),
    "of several": ("[]", "refs = [w.run.remote(x) for w in self.workers]\n        self.refs.extend(refs)  # TML503"),
    "of what was put": ("[]", "ref = ray.put(x)\n        self.refs.append(ref)  # TML503"),
    "by the step": ("{}", "self.refs[step] = self.workers[0].run.remote(x)  # TML503"),
}
FINE = {
    "new actors": ("[]", "self.refs.append(Worker.remote())"),
    "new actors with options": ("[]", "self.refs.append(Worker.options(num_cpus=2).remote())"),
    "one for each worker": ("{}", "for i, w in enumerate(self.workers):\n            self.refs[i] = w.run.remote(x)"),
    "in the place of the last": ("[0, 0]", "self.refs[step % 2] = self.workers[0].run.remote(x)"),
    "taken out": ("{}", "self.refs[step] = self.workers[0].run.remote(x)\n        print(ray.get(self.refs.pop(step)))"),
    "waited for": (
        "[]",
        "self.refs.append(self.workers[0].run.remote(x))\n        done, self.refs = ray.wait(self.refs)",
    ),
    "results": ("[]", "self.refs = ray.get([w.run.remote(x) for w in self.workers])"),
}


@pytest.mark.parametrize(("container", "body"), [*KEPT.values(), *FINE.values()], ids=[*KEPT, *FINE])
def test_references(container: str, body: str) -> None:
    check(POOL.format(container=container, body=body))


def test_a_variable_that_has_the_name_of_the_container() -> None:
    body = "refs = [w.run.remote(x) for w in self.workers]\n        {}"
    check(POOL.format(container="[]", body=body.format("self.refs.extend(refs)  # TML503")))
    check(POOL.format(container="[]", body=body.format("self.refs.extend(refs)\n        self.refs = self.refs[-4:]")))
