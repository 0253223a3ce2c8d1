"""What is kept between runs: it changes no finding, it goes stale when it must, and it never gets in the way."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from projects import NORM

from torchmemlint.config import CACHE_FOLDER, load
from torchmemlint.finding import Finding
from torchmemlint.linter import cache, engine, pool
from torchmemlint.linter.session import Session

METER = "class Meter:\n    total = 0.0\n    def update(self, value):\n        self.total = self.total + {value}\n"
TRAIN = """
import torch
from meters import Meter

def train(model: torch.nn.Module, loader):
    meter = Meter()
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        meter.update(loss)
"""
Lint = Callable[..., list[tuple[str, int, str]]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "meters.py").write_text(METER.format(value="value"))
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(
    *names: str, jobs: int = 1, said: list[str] | None = None, settings: dict[str, object] | None = None
) -> list[tuple[str, int, str]]:
    plan = engine.plan(load(Path.cwd(), settings or {}))
    warn = said.append if said is not None else None
    found = pool.lint_files(names or ("meters.py", "train.py"), plan, jobs, warn=warn)
    return [(finding.filename, finding.start.row, finding.code) for finding in found]


FOUND = [("train.py", 10, "TML101")]


@pytest.mark.parametrize("jobs", [1, 2])
def test_kept_results_are_those_of_a_fresh_run(project: Path, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lint(jobs=jobs) == FOUND
    assert (project / CACHE_FOLDER / ".gitignore").read_text() == "*\n"
    monkeypatch.setattr(pool, "_lint", lambda paths, *rest: [[]] if not paths else pytest.fail(f"not kept: {paths}"))
    assert lint(jobs=jobs) == FOUND


def test_a_change_in_another_file_counts(project: Path) -> None:
    assert lint() == FOUND
    (project / "meters.py").write_text(METER.format(value="float(value)"))
    assert lint() == []
    (project / "meters.py").write_text(METER.format(value="value"))
    assert lint() == FOUND


def test_a_file_that_comes_to_be_counts(project: Path) -> None:
    (project / "meters.py").unlink()
    assert lint("train.py") == []
    (project / "meters.py").write_text(METER.format(value="value"))
    assert lint("train.py") == FOUND
    (project / "meters").mkdir()
    (project / "meters" / "__init__.py").write_text(METER.format(value="float(value)"))
    assert lint("train.py") == []


CHECKS = """
import torch

def validate(model, loader):
    model.eval()
    return sum((model(x) - y).abs().mean().item() for x, y in loader)
"""
CALLER = """
import torch
from checks import validate

def report(model, loader):
    with torch.{mode}():
        return validate(model, loader)
"""


@pytest.mark.parametrize("names", [("checks.py",), ("report.py", "checks.py")])
def test_a_change_in_who_calls_counts(project: Path, names: tuple[str, ...]) -> None:
    (project / "checks.py").write_text(CHECKS)
    found = [("checks.py", 6, "TML201")]
    assert lint(*names[-1:]) == found
    for mode, wanted in (("no_grad", []), ("profiler.profile", found), ("inference_mode", [])):
        (project / "report.py").write_text(CALLER.format(mode=mode))
        assert lint(*names) == wanted
    (project / "report.py").unlink()
    assert lint("checks.py") == found


BELOW = "\ndef unused(value):\n    return [[value], {1: value}, lambda: value]\n"
LOCAL = METER.format(value="value").replace("self.total = self.total + value", "total = self.total + value")


@pytest.mark.parametrize("text", [METER.format(value="value") + BELOW, METER.format(value="value  # as it comes")])
def test_a_change_beside_what_is_used_is_no_news(project: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "train.py").write_text(TRAIN.replace("update(loss)", "update(loss.item())"))
    assert lint() == []
    (project / "meters.py").write_text(text)
    judged: list[str] = []

    def judge(paths: list[str], *rest: object) -> list[list[Finding]]:
        judged.extend(paths)
        return []

    monkeypatch.setattr(pool, "_lint", judge)
    assert lint() == []
    assert judged == ["meters.py"]


TEXTS = {
    "as it was": METER.format(value="value"),
    "below": METER.format(value="value") + BELOW,
    "above": BELOW + METER.format(value="value"),
    "rows above": "\n\n# a comment\n" + METER.format(value="value"),
    "a number": METER.format(value="float(value)"),
    "a local": LOCAL,
    "a base": "class Base:\n    def update(self, value): ...\n"
    + METER.format(value="value").replace("Meter", "Meter(Base)"),
    "no more": "import torch\nMeter = None\n",
    "from elsewhere": "from inner import Meter\n",
    "by star": "from inner import *\n",
    "own, then a star": LOCAL + "from inner import *\n",
    "a star, then own": "from inner import *\n" + LOCAL,
    "not taken along": "__all__ = ['other']\n" + METER.format(value="value"),
    "taken along": "__all__ = ['Meter']\n" + METER.format(value="value"),
    "broken": METER.format(value="value")[:-2],
    "twice": METER.format(value="value") + LOCAL,
    "lets go": METER.format(value="value") + "    def reset(self):\n        self.total = 0.0\n",
    "torch here": "import torch\n" + METER.format(value="value"),
}


def test_kept_is_fresh_whatever_changes_elsewhere(project: Path) -> None:
    (project / "inner.py").write_text(METER.format(value="value"))
    (project / "plain.py").write_text("from meters import Meter\nclass Mine(Meter):\n    last = Meter()\n")
    (project / "stars.py").write_text(TRAIN.replace("import Meter", "import *"))

    def found(text: str, **settings: object) -> list[Finding]:
        (project / "meters.py").write_text(TEXTS[text])
        names = ["inner.py", "meters.py", "plain.py", "stars.py", "train.py"]
        return pool.lint_files(names, engine.plan(load(project, {"min-confidence": "low", **settings})), 1)

    fresh = {text: found(text, **{"no-cache": True}) for text in TEXTS}
    texts = list(TEXTS)
    around = [texts[number * step % len(texts)] for step in (1, 3, 5) for number in range(len(texts))]
    for text in (*around, *(name for other in texts for name in (other, "as it was"))):
        assert found(text) == fresh[text], text


def test_torch_that_comes_into_an_import_counts(project: Path) -> None:
    train = TRAIN.replace("import torch\n", "from heavy import nn\n").replace("torch.nn", "nn")
    (project / "plain.py").write_text(train.replace("backward(", "backward ("))  # else that word would tell
    (project / "heavy.py").write_text("nn = None\n")
    names = ("plain.py", "heavy.py")
    assert lint(*names) == []
    (project / "heavy.py").write_text("from torch import nn\n")
    assert lint(*names) == lint(*names, settings={"no-cache": True}) != []


def test_selection_and_comments_are_not_kept(project: Path) -> None:
    assert lint() == FOUND
    assert lint(settings={"ignore": ["TML101"]}) == []
    assert lint(settings={"min-confidence": "high"}) == FOUND
    text = (project / "train.py").read_text()
    (project / "train.py").write_text(text.replace("update(loss)", "update(loss)  # noqa: TML101"))
    assert lint() == []
    assert lint(settings={"ignore": ["TML101"]}) == []


def test_what_cannot_be_read_is_kept_too(project: Path) -> None:
    (project / "broken.py").write_text("import torch\ndef f(:\n")
    assert lint("broken.py") == lint("broken.py") == [("broken.py", 2, "TML900")]


@pytest.mark.parametrize(
    "damage",
    [b"", b"not a database", b"SQLite format 3\0" + bytes(4000)],
    ids=["empty", "other", "half"],
)
def test_a_damaged_file_is_made_anew(project: Path, damage: bytes) -> None:
    assert lint() == FOUND
    file = project / CACHE_FOLDER / "torchmemlint.sqlite"
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    file.write_bytes(damage)
    said: list[str] = []
    assert lint(said=said) == FOUND
    assert ["are lost, and kept anew" in one for one in said] == ([True] if damage else [])
    said.clear()
    assert lint(said=said) == FOUND and said == []
    assert sqlite3.connect(file).execute("SELECT count(*) FROM kept").fetchone()[0] > 0


def test_a_table_of_another_shape_is_made_anew(project: Path) -> None:
    (project / CACHE_FOLDER).mkdir()
    with sqlite3.connect(project / CACHE_FOLDER / "torchmemlint.sqlite") as connection:
        connection.execute("CREATE TABLE kept (key TEXT, worth TEXT)")
    said: list[str] = []
    for _ in range(2):
        assert lint(said=said, jobs=2) == FOUND
    assert len(said) == 1 and said[0].endswith("its table has another shape")


@pytest.mark.skipif(sys.platform != "linux", reason="a patched function reaches forked workers only")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_disk_that_fills_is_said_once(project: Path, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Path) -> sqlite3.Connection:
        connection = made(file)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    made = cache._tables
    monkeypatch.setattr(cache, "_tables", full)
    (project / "more.py").write_text("import torch\n" + "".join(f"def f{n}(a): return {n * n}\n" for n in range(3_000)))
    said: list[str] = []
    assert lint("meters.py", "more.py", "train.py", said=said, jobs=jobs) == FOUND
    assert len(said) == 1 and "results are not kept for the next run" in said[0] and said[0].endswith("is full")


@pytest.mark.parametrize("value", [b"", b"x", zlib.compress(b"x"), zlib.compress(pickle.dumps({"digest": ""}))])
def test_damaged_values_are_ignored(project: Path, value: bytes) -> None:
    assert lint() == FOUND
    with sqlite3.connect(project / CACHE_FOLDER / "torchmemlint.sqlite") as connection:
        connection.execute("UPDATE kept SET value = ?", (value,))
    assert lint() == FOUND


def test_a_record_can_hold_nothing_but_findings(project: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, ("touch owned",)

    assert lint() == FOUND
    with sqlite3.connect(project / CACHE_FOLDER / "torchmemlint.sqlite") as connection:
        connection.execute("UPDATE kept SET value = ?", (zlib.compress(pickle.dumps(Evil())),))
    assert lint() == FOUND
    assert not (project / "owned").exists()


def test_where_no_cache_can_be(project: Path) -> None:
    (project / CACHE_FOLDER).write_text("in the way")
    said: list[str] = []
    assert lint(said=said, jobs=2) == FOUND
    assert len(said) == 1 and "results are not kept" in said[0]


def test_no_cache_leaves_nothing(project: Path) -> None:
    assert lint(jobs=2, settings={"no-cache": True}) == FOUND
    assert not (project / CACHE_FOLDER).exists()


def test_a_folder_of_the_users_choice(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.torchmemlint]\ncache-dir = "kept/here"\n')
    assert lint() == FOUND
    assert (project / "kept" / "here" / "CACHEDIR.TAG").is_file()
    assert not (project / CACHE_FOLDER).exists()


def test_clean(project: Path) -> None:
    assert lint() == FOUND
    done = subprocess.run([sys.executable, "-m", "torchmemlint", "clean"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.startswith("deleted ")
    assert not (project / CACHE_FOLDER).exists()
    other = project / "mine"
    other.mkdir()
    assert cache.remove(other) is None and other.is_dir()


def test_a_folder_that_is_there_becomes_a_cache(project: Path) -> None:
    (project / CACHE_FOLDER).mkdir()
    assert lint() == FOUND
    assert (project / CACHE_FOLDER / ".gitignore").read_text() == "*\n"
    assert cache.remove(project / CACHE_FOLDER) == project / CACHE_FOLDER
    assert not (project / CACHE_FOLDER).exists()


def test_in_a_folder_of_others_only_what_is_ours_goes(project: Path) -> None:
    before = {path.name for path in project.iterdir()}
    assert lint(settings={"cache-dir": "."}) == FOUND
    assert not (project / ".gitignore").exists()
    assert cache.remove(project) == project / "torchmemlint.sqlite"
    assert {path.name for path in project.iterdir()} == before


def test_no_run_brings_libcst_or_torch(project: Path) -> None:
    script = "import sys; sys.argv = ['torchmemlint', '.']\nfrom torchmemlint.cli import main\n" + (
        "try:\n    main()\nexcept SystemExit:\n    print(sorted({'libcst', 'torch'} & set(sys.modules)))"
    )
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout for _ in range(2)]
    assert [run.splitlines()[-1] for run in runs] == ["[]", "[]"]


def test_runs_at_the_same_time(project: Path) -> None:
    command = [sys.executable, "-m", "torchmemlint", "--output-format", "json", "."]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    outputs = {process.communicate() for process in running}
    assert len(outputs) == 1 and next(iter(outputs))[1] == b""


def test_the_key_depends_on_the_version(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> bytes:
        with closing(cache.open_cache(None)) as store:
            return Session(project, (), 10_000, store)._key(b"facts", b"")

    before = keys()
    assert keys() == before
    monkeypatch.setattr(cache, "__version__", "99")
    assert keys() != before


def test_texts_that_a_fix_tries_are_not_kept(project: Path) -> None:
    plan = engine.plan(load(project, {}), fixes=True)
    with closing(cache.open_cache(project / "kept")) as store:
        found = engine.lint_file("train.py", plan, engine.session(plan, store))
        assert [finding.fix is not None for finding in found] == [True]
    rows = sqlite3.connect(project / "kept" / "torchmemlint.sqlite").execute("SELECT count(*) FROM kept").fetchone()
    assert rows == (3,)  # the facts of two files, and what was found in one


DEMO = """
def demo(loader):
    model = Net(8)
    fit(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
"""
LED = """
import torch
from norm import Net, fit

def main(steps):
    model = Net(8)
    fit(model, [torch.randn(4, 8) for _ in range(steps)], torch.optim.SGD(model.parameters(), lr=0.1))

if __name__ == "__main__":
    main(10)
"""


def test_what_another_file_says_by_itself_is_asked_again(project: Path) -> None:
    """A caller is named where the other file does not say it: also when that changes."""
    (project / "led.py").write_text(LED)

    def found(text: str, **settings: object) -> list[tuple[str, int, str]]:
        (project / "norm.py").write_text(text)
        return lint("norm.py", "led.py", settings=settings)

    texts = {"caller": NORM, "itself": NORM + DEMO, "guarded": NORM + "if __name__ == '__main__':\n    Net(8)\n"}
    fresh = {name: found(text, **{"no-cache": True}) for name, text in texts.items()}
    assert fresh["caller"] == [("led.py", 7, "TML101")]
    assert [one[0] for one in fresh["itself"]] == ["norm.py"]
    for name in (*texts, *reversed(texts), "guarded", "caller"):
        assert found(texts[name]) == fresh[name], name
