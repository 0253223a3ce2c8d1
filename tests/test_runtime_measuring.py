"""The ledger, the paths and the watched statements, in this process' child."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from typing import Any

import pytest

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.runtime.client import Server


@pytest.fixture
def run(server: Server, tmp_path: Path) -> Any:
    def run(body: str, steps: int = 4, sites: list[int] | None = None, **more: Any) -> dict[str, Any]:
        program = tmp_path / "program.py"
        program.write_text("import torch\n" + textwrap.dedent(body))
        watched = [{"id": row, "file": str(program), "row": row, "end_row": row} for row in sites or ()]
        answer = server.run("run", {"file": str(program), "steps": steps, "sites": watched, **more})
        assert answer.reason is None and answer.result["error"] is None, (answer.reason, answer.result)
        result: dict[str, Any] = answer.result
        return result

    return run


def test_bytes_are_those_of_storages(run: Any) -> None:
    """Views add nothing, a view keeps the whole storage, and an in-place operation makes none."""
    found = run("""
        def main(steps):
            base = torch.zeros(1000)
            views = [base[:1], base.view(10, 100), base.t()]
            base.add_(1)
            corner = torch.ones(500)[:1]
    """)
    assert found["after"]["bytes"] == 4 * 1500


def test_saved_activations_and_optimizer_state(run: Any) -> None:
    found = run("""
        def main(steps):
            weight = torch.nn.Parameter(torch.zeros(100))
            optimizer = torch.optim.Adam([weight])
            for _ in range(steps):
                optimizer.zero_grad()
                (weight * weight).sum().backward()
                optimizer.step()
            pending = (weight * torch.ones(100)).sum()
    """)
    # weight, its gradient, two moments, the step count, the saved factor and the sum
    assert found["after"]["bytes"] == 4 * (4 * 100 + 1 + 100 + 1)
    assert found["after"]["nodes"] == 3


def test_threads_are_seen(run: Any) -> None:
    found = run("""
        import threading

        kept = []

        def main(steps):
            thread = threading.Thread(target=lambda: kept.append(torch.zeros(250)))
            thread.start()
            thread.join()
    """)
    assert found["left"]["bytes"] == 1000
    assert found["held"][0]["labels"] == ["module program", "global 'kept'[*]"]


def test_cycles_go_when_collected(run: Any) -> None:
    found = run("""
        class Node:
            pass

        def main(steps):
            for _ in range(steps):
                node = Node()
                node.me, node.data = node, torch.zeros(100)
            del node
    """)
    assert (found["before"]["bytes"], found["after"]["bytes"]) == (1600, 0)


PATHS = {
    "closure": ("def hold(t):\n    return lambda: t\nKEPT = hold(torch.zeros(9))", "closure variable 't'"),
    "bound method": (
        "class A:\n    def f(self): pass\na = A(); a.t = torch.zeros(9)\nKEPT = a.f\ndel a",
        "method f of A.t",
    ),
    "class attribute": ("class A:\n    t = torch.zeros(9)", "class attribute 't'"),
    "traceback": (
        "def bad():\n    inner = torch.zeros(9)\n    raise ValueError\ntry: bad()\nexcept ValueError as e: KEPT = e",
        "local 'inner'",
    ),
    "cache": (
        "import functools\n@functools.lru_cache\ndef make(n): return torch.zeros(n)\nmake(9)",
        "_lru_cache_wrapper",
    ),
    "queue": ("import queue\nKEPT = queue.Queue()\nKEPT.put(torch.zeros(9))", "global 'KEPT'.queue[*]"),
    "future": (
        "from concurrent.futures import ThreadPoolExecutor as P\nKEPT = P(1).submit(torch.zeros, 9)\nKEPT.result()",
        "global 'KEPT'._result",
    ),
    "generator": ("def g():\n    t = torch.zeros(9)\n    yield\nKEPT = g()\nnext(KEPT)", "local 't'"),
    "hook": (
        "m = torch.nn.Identity()\ndef put(t):\n    m.register_forward_hook(lambda *a: t)\nput(torch.zeros(9))",
        "_forward_hooks",
    ),
    "default": ("def f(t=torch.zeros(9)): pass", "default"),
}


@pytest.mark.parametrize("name", PATHS)
def test_path_names_the_holder(run: Any, name: str) -> None:
    source, expected = PATHS[name]
    found = run(f"def main(steps):\n    pass\n\n{source}\n")
    assert found["held"], "no path found"
    path = " -> ".join(found["held"][0]["labels"])
    assert path.startswith("module program") and expected in path


def test_same_paths_are_one(run: Any) -> None:
    found = run("""
        def main(steps):
            weight = torch.zeros(10, requires_grad=True)
            history = {"loss": []}
            for _ in range(steps):
                history["loss"].append((weight * 2).exp().sum())
    """)
    (held,) = [one for one in found["held"] if one["nodes"]]
    assert held["labels"] == ["frame of main()", "local 'history'['loss'][*]"]
    assert (held["tensors"], held["bytes"]) == (4, 16)
    assert held["saved_bytes"] == 4 * 40  # the results of exp
    assert held["nodes"] == 3 * 4 + 1


def test_watched_statement(run: Any) -> None:
    body = """
        def main(steps):
            weight = torch.zeros(10, requires_grad=True)
            kept, last = [], None
            for _ in range(steps):
                loss = (weight * 2).sum()
                kept.append(loss)
                last = loss.detach()
    """
    found = run(body, sites=[8, 9])
    assert [sample[2] for sample in found["sites"]["8"]["samples"]] == [3, 5, 7, 9]
    assert [sample[2] for sample in found["sites"]["9"]["samples"]] == [0, 0, 0, 0]
    assert found["sites"]["8"]["with_graph"] == 4


def test_watching_changes_nothing(run: Any) -> None:
    """Values, order of evaluation and line numbers are what they were."""
    run(
        """
        import traceback

        class Log(list):
            def __iadd__(self, other):
                self.append(other)
                return self

        def main(steps):
            seen = []
            log = Log()
            log += seen.append(1) or 5
            first, *rest = [torch.zeros(1), 2, 3]
            value = (lambda *a, k: (a, k))(*[1, 2], k=3)
            def gen():
                got = yield 1
                yield got
            g = gen(); next(g)
            assert g.send(7) == 7
            assert (log, rest, value) == ([5], [2, 3], ((1, 2), 3))
            try:
                value.missing(1)
            except AttributeError as error:
                assert traceback.extract_tb(error.__traceback__)[-1].lineno == 23
        """,
        sites=[13, 14, 15, 17, 20, 23],
    )
