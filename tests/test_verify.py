"""`torchmemlint verify` from the outside: a function of the user's, run and judged."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest
from conftest import Run, Write

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

TRAIN = """\
import torch

def main(steps):
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.rand(4, 8)).pow(2).mean()
        loss.backward()
        optimizer.step()
        history.append(loss{item})
    return history
"""
EVALUATE = """\
import torch

def evaluate(model, batches):
    model.eval()
    total = 0.0
    for batch in batches:
        output = model(batch)
        total += output.sum().item()
    return total

def main(steps):
    layers = [torch.nn.Linear(64, 64) for _ in range(6)]
    evaluate(torch.nn.Sequential(*layers), torch.rand(steps, 32, 64))
"""

TWO_HOLDERS = """\
import torch

class Total:
    def __init__(self):
        self.value = 0

def main(steps):
    model = torch.nn.Linear(8, 1)
    total, outputs = Total(), []
    for _ in range(steps):
        loss = model(torch.rand(4, 8)).pow(2).mean()
        loss.backward()
        total.value += loss
        outputs.append(model(torch.rand(2, 8)))
    return total, outputs
"""
POOL = """\
import multiprocessing, time
import torch

PAGES = {}

def read(n):
    PAGES[n] = torch.rand(100_000)
    time.sleep(0.05)
    return n

def main(steps):
    with multiprocessing.get_context("fork").Pool(1) as pool:
        for n in pool.imap(read, range(steps)):
            pass
"""


def verify(run: Run, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    done = run("verify", "--device", "cpu", "--output-format", "json", *arguments)
    return done.returncode, json.loads(done.stdout)


def test_leak_is_confirmed(write: Write, run: Run) -> None:
    write("train.py", TRAIN.format(item=""))
    code, (finding,) = verify(run, "--entry", "train.py::main")
    verdict = finding["verdict"]
    assert (code, finding["code"], finding["location"]["row"]) == (1, "TML102", 12)
    assert (verdict["status"], verdict["tier"], verdict["scope"]) == ("growing", "observed", "call")
    assert verdict["nodes_per_step"] >= 4
    assert verdict["path"] == ["frame of main()", "local 'history'[*]"]


def test_each_finding_has_its_own_holder(write: Write, run: Run) -> None:
    write("train.py", TWO_HOLDERS)
    _, findings = verify(run, "--entry", "train.py::main")
    paths = {one["location"]["row"]: one["verdict"]["path"][-1] for one in findings}
    assert paths == {13: "local 'total'.value", 14: "local 'outputs'[*]"}


BEGUN_EMPTY = """\
import torch

class Streams:
    def __init__(self):
        self.kept = {}

    def open(self, name):
        self.kept[name] = torch.zeros(1, 0)

    def read(self, name, rows):
        self.kept[name] = torch.cat([self.kept[name], rows], 1)

def main(steps):
    streams = Streams()
    for step in range(steps):
        streams.open(f"stream {step}")
        streams.read(f"stream {step}", torch.rand(1, 500))
"""


def test_an_empty_tensor_says_nothing_of_what_replaces_it(write: Write, run: Run) -> None:
    write("streams.py", BEGUN_EMPTY)
    code, findings = verify(run, "--entry", "streams.py::main")
    said = {finding["location"]["row"]: finding["verdict"] for finding in findings if finding["code"] != "runtime"}
    assert code == 1 and "growing" in {verdict["status"] for verdict in said.values()}, said
    assert "refuted" not in {verdict["status"] for verdict in said.values()}, said


LEFT_RUNNING = """\
import threading
import time
import torch

class Reader:
    def __init__(self):
        self.seen = torch.ones(1)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        {head}
            time.sleep(0.01)

def main(steps):
    for step in range(steps):
        Reader()
"""


def test_threads_that_go_on(write: Write, run: Run) -> None:
    write("reader.py", LEFT_RUNNING.replace("{head}", "while True:"))
    code, (finding,) = verify(run, "--entry", "reader.py::main")
    assert (code, finding["code"], finding["verdict"]["status"]) == (1, "TML505", "growing")
    assert finding["verdict"]["reason"] == "1 thread more per step"
    write("reader.py", LEFT_RUNNING.replace("{head}", "while self.seen:"))
    code, (finding,) = verify(run, "--entry", "reader.py::main")
    assert (finding["name"], finding["verdict"]["status"]) == ("unflagged-growth", "growing")
    assert "1 thread more per step, seen at the entry; no rule reports it" in finding["verdict"]["reason"]
    write("reader.py", LEFT_RUNNING.replace("{head}", "for _ in range(0):"))
    assert verify(run, "--entry", "reader.py::main") == (0, [])


def test_line_that_runs_in_workers(write: Write, run: Run) -> None:
    write("pages.py", POOL)
    for _ in range(3):  # pages of a child are counted by the system, on a busy machine also those of others
        code, (finding,) = verify(run, "--entry", "pages.py::main")
        if finding["verdict"]["status"] == "growing":
            break
    assert (code, finding["code"], finding["verdict"]["status"]) == (1, "TML401", "growing")
    assert finding["verdict"]["child_bytes_per_step"] > 300_000
    assert "in a child process" in finding["verdict"]["reason"]


def test_fixed_program_has_nothing(write: Write, run: Run) -> None:
    write("train.py", TRAIN.format(item=".item()"))
    assert verify(run, "--entry", "train.py::main") == (0, [])


def test_peak_is_compared_with_no_grad(write: Write, run: Run) -> None:
    write("evaluate.py", EVALUATE)
    code, findings = verify(run, "--entry", "evaluate.py::main")
    (finding,) = [one for one in findings if one["code"] == "TML201"]
    assert (code, finding["verdict"]["status"]) == (1, "peak")
    assert finding["verdict"]["peak_bytes"] > 1.1 * finding["verdict"]["after_fix"]["peak_bytes"]


def test_program_that_fails_is_inconclusive(write: Write, run: Run) -> None:
    write("train.py", TRAIN.format(item="") + "\nimport_error = undefined_name\n")
    code, (finding,) = verify(run, "--entry", "train.py::main")
    assert (code, finding["verdict"]["status"]) == (0, "inconclusive")
    assert "undefined_name" in finding["verdict"]["reason"]


def test_programs_without_findings(write: Write, run: Run) -> None:
    write(
        {"plain.py": "def main(steps):\n    return [0] * steps\n", "broken.py": "def main(steps):\n    raise OSError\n"}
    )
    done = run("verify", "--entry", "plain.py::main")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("Nothing flagged was run, and nothing grew.\n")
    code, (lost,) = verify(run, "--entry", "broken.py::main")
    assert (code, lost["code"], lost["verdict"]["status"]) == (0, None, "inconclusive")
    assert "OSError" in lost["verdict"]["reason"]


def test_page(write: Write, run: Run) -> None:
    folder = write("train.py", TRAIN.format(item=""))
    done = run("verify", "--device", "cpu", "--entry", "train.py::main", "--html", "page.html")
    assert done.returncode == 1
    assert "growing" in done.stdout and "held by  frame of main() -> local 'history'[*]" in done.stdout
    page = (folder / "page.html").read_text()
    assert "<polyline" in page and "history.append(loss)" in page and "http" not in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say what to run"),
        (("--entry", "train.py"), "not of the form FILE.py::FUNCTION"),
        (("--entry", "missing.py::main"), "no such file: missing.py"),
        (("--rules", "TML999"), "TML999"),
        (("--rules", "--memory-limit", "much"), "is not a size"),
    ],
)
def test_misuse(write: Write, run: Run, arguments: tuple[str, ...], said: str) -> None:
    write("train.py", TRAIN.format(item=""))
    done = run("verify", *arguments)
    assert done.returncode == 2
    assert said in done.stderr and "Traceback" not in done.stderr


def test_fixtures_of_a_rule(run: Run) -> None:
    code, outcomes = verify(run, "--rules", "TML605")
    assert code == 0
    assert all(one["as_expected"] for one in outcomes)


PATHS = {
    "gone when the entry returns": (
        """\
import torch

def evaluate(model, steps):
    outputs = []
    for _ in range(steps):
        outputs.append(model(torch.rand(32, 64)))
    return torch.cat(outputs).mean().item()

def main(steps):
    evaluate(torch.nn.Linear(64, 64), max(steps, 12))
""",
        "frame of evaluate() -> local 'outputs'[*]",
    ),
    "open files": (
        """\
import torch

class Shards(torch.utils.data.Dataset):
    def __init__(self):
        self.files = {}

    def __getitem__(self, index):
        self.files[index] = open(__file__)
        return torch.ones(1)

def main(steps):
    shards = Shards()
    for index in range(steps):
        shards[index].sum()
""",
        "frame of main() -> local 'shards'.files[*]",
    ),
    "in one of two threads": (
        """\
import queue
import threading
import time
import torch

def produce(steps, found):
    cell, state = torch.nn.GRUCell(16, 16), torch.zeros(2, 16)
    for _ in range(steps):
        state = cell(torch.ones(2, 16), state)
        found.put(state.detach())
    found.put(None)

def step(value):
    time.sleep(0.01)  # or the thread is done before anybody has looked
    return value.sum().item()

def main(steps):
    found = queue.Queue(maxsize=4)
    threading.Thread(target=produce, args=(steps, found)).start()
    while (value := found.get()) is not None:
        step(value)
""",
        "frame of produce() -> local 'state'",
    ),
}


@pytest.mark.parametrize("name", PATHS)
def test_path_of_what_is_not_there_at_the_end(write: Write, run: Run, name: str) -> None:
    program, path = PATHS[name]
    write("program.py", program)
    command = ("verify", "--device", "cpu", "--output-format", "json", "--steps", "32", "--entry", "program.py::main")
    for _ in range(4):  # on a busy machine a step, or all of them, may end before anybody has looked
        done = run(*command)
        verdicts = [one["verdict"] for one in json.loads(done.stdout)]
        if verdicts and verdicts[0]["path"]:
            break
    assert [one["status"] for one in verdicts] == ["growing"]
    assert " -> ".join(verdicts[0]["path"]).startswith(path)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_terminals(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Nothing is broken inside a word, nothing is wider than the terminal, and a file gets whole lines."""
    import io
    import os
    import shutil

    from torchmemlint import verifying

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: os.terminal_size((width, 24)))
    text = "train.py:12:9: TML102 \x1b[31m\x1b[1mgrowing\x1b[0m (observed): " + "what goes in at this line stays " * 4
    text += "\n    held by  frame of main() -> local 'history'[*] -> " + "another label -> " * 5 + "x" * 70
    fitted = verifying._fitted(text, Terminal())
    assert fitted.split() == text.split()
    words = [line for line in fitted.splitlines() if "xxx" not in line]
    assert all(
        len(line.replace("\x1b[31m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")) <= width for line in words
    )
    assert verifying._fitted(text, io.StringIO()) == text


def test_page_shows_what_becomes_more_and_the_fix(write: Write, run: Run) -> None:
    folder = write("train.py", TRAIN.format(item=""))
    run("verify", "--device", "cpu", "--html", "page.html", "train.py")
    page = (folder / "page.html").read_text()
    assert page.count("<polyline") == 2 and "Autograd nodes that are kept" in page
    assert "With the fix (Store `.detach()`)" in page and "history.append(loss)</b>" in page
