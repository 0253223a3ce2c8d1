"""What must not change a result: workers, order, hash seeds, line ends, and what is skipped to be fast."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import NOWHERE, ROOT, Lint, Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchmemlint import source
from torchmemlint.config import load
from torchmemlint.facts.outline import Outline
from torchmemlint.finding import Finding
from torchmemlint.linter import engine, pool
from torchmemlint.linter.analysis import facts_of, findings
from torchmemlint.rules import registry

FIXTURES = sorted((ROOT / "fixtures").glob("TML*/*.py"))
NAMES = [str(path) for path in FIXTURES]
PLAN = engine.plan(load(NOWHERE, {"preview": True, "min-confidence": "low", "no-cache": True}, isolated=True))
SOURCES = [path.read_bytes() for path in FIXTURES]


def lint(data: bytes, path: str = "a.py") -> list[Finding]:
    return engine.lint_source(source.decode(path, data), PLAN)


def places(found: list[Finding]) -> list[tuple[object, ...]]:
    return [
        (f.start, f.end, f.code, f.message, [(note.start, note.end, note.message) for note in f.related]) for f in found
    ]


def test_workers_change_nothing() -> None:
    alone = pool.lint_files(NAMES, PLAN, 1)
    assert len(alone) >= 50
    assert pool.lint_files(NAMES, PLAN, 2) == alone
    shuffled = random.Random(1).sample(NAMES, len(NAMES))
    assert pool.lint_files(shuffled, PLAN, 2) == alone


def test_jobs_change_nothing_in_a_report(lint: Lint) -> None:
    common = ["--isolated", "--preview", "--min-confidence", "low", "--output-format", "json"]
    alone = lint(*common, "--jobs", "1", str(ROOT / "fixtures"))
    both = lint(*common, "--jobs", "2", *reversed([str(folder) for folder in (ROOT / "fixtures").glob("TML*")]))
    assert (alone.exit_code, both.exit_code) == (1, 1)
    assert json.loads(both.stdout) == json.loads(alone.stdout) != []


def test_files_linted_before_change_nothing() -> None:
    alone = [lint(data) for data in SOURCES[::4]]
    assert [lint(data) for data in reversed(SOURCES[::4])] == alone[::-1]


def test_hash_seed_changes_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = set()
    for seed in ("0", "7", "123"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        done = run("--isolated", "--preview", "--min-confidence", "low", "--jobs", "1", str(ROOT / "fixtures"))
        assert done.returncode == 1
        texts.add(done.stdout)
    assert len(texts) == 1


@pytest.mark.parametrize("end", [b"\r\n", b"\r"], ids=["crlf", "cr"])
def test_line_ends_change_nothing(end: bytes) -> None:
    for data in SOURCES[::3]:
        assert places(lint(data.replace(b"\n", end))) == places(lint(data))


def test_byte_order_mark_changes_nothing() -> None:
    for data in SOURCES[::9]:
        assert places(lint(b"\xef\xbb\xbf" + data)) == places(lint(data))


def test_missing_last_line_end_changes_nothing() -> None:
    for data in SOURCES[::3]:
        assert places(lint(data.rstrip(b"\n"))) == places(lint(data))


def test_lines_above_shift_everything_by_as_much() -> None:
    for data in SOURCES[::3]:
        above = b"# one\n\nx_ = f'{1}'  # two\n" if b"from __future__" not in data else b"# one\n\n\n"
        moved = lint(above + data)
        assert [(f.start.row - 3, f.start.column, f.code) for f in moved] == [
            (f.start.row, f.start.column, f.code) for f in lint(data)
        ]


def test_comments_and_spacing_shift_nothing_else() -> None:
    for data in SOURCES[::5]:
        rows = data.decode().splitlines()
        texts = [f.message for f in lint(data)]
        spaced = "\n".join(row + "  # said" if row.endswith(":") and '"' not in row else row for row in rows) + "\n"
        assert [f.message for f in lint(spaced.encode())] == texts


def without_trace() -> Iterator[Path]:
    """Files that are passed over by their bytes alone: of the standard library and of this package."""
    for folder, most in ((Path(json.__file__).parent.parent, 60), (ROOT / "torchmemlint", 60)):
        paths = sorted(folder.glob("*.py")) + sorted(folder.glob("*/*.py"))
        plain = [path for path in paths if path.stat().st_size < 40_000]
        yield from [path for path in plain[::3] if not source.read(str(path), 1_000_000).has_trace()][:most]


@pytest.mark.parametrize("path", list(without_trace()), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_is_skipped_holds_nothing(path: Path) -> None:
    try:
        text = source.read(str(path), 1_000_000)
    except source.Unreadable:
        return
    assert findings(text, Outline(facts_of(text)), list(registry().values())) == []
    assert [f for f in lint(text.raw) if f.code not in ("TML900", "TML901")] == []


WORDS = st.sampled_from(
    "loss total losses model self x y log step 0.0 [] {} None model(x) F.cross_entropy(model(x),y) loss.item() "
    "loss.detach() loss.backward() torch.no_grad() total+loss losses[-1] losses.append(loss) losses.append(log) "
    "self.x self.total torch.cat([x,y]) lambda:loss [loss,x] (loss,y) {step:loss} nn.Linear(1,1) x.view(-1) "
    "train(loss) helper(losses,loss) helper(helper,x) self.method(loss) loss.backward(retain_graph=True)".split()
)
TARGETS = st.sampled_from("loss total x y losses self.total self.x losses[0] log['a'] losses[step] x,y".split())
SIMPLE = st.one_of(
    st.builds("{} = {}".format, TARGETS, WORDS),
    st.builds("{} += {}".format, TARGETS.filter(lambda target: "," not in target), WORDS),
    WORDS,
    st.builds("del {}".format, TARGETS),
    st.builds("return {}".format, WORDS),
    st.builds("assert isinstance({}, torch.Tensor)".format, WORDS),
)
BLOCKS = st.sampled_from(
    ["for x, y in loader:", "while x:", "if loss is None:", "if isinstance(x, torch.Tensor):", "with torch.no_grad():",
     "for step in range(3):", "def inner(x, y=loss):", "try:", "for layer in model.layers:"]
)  # fmt: skip


def block(header: str, body: list[list[str]]) -> list[str]:
    rows = [header, *("    " + row for part in body for row in part)]
    return [*rows, "except Exception as e:", "    x = e"] if header == "try:" else rows


STATEMENTS = st.recursive(
    SIMPLE.map(lambda row: [row]),
    lambda inner: st.builds(block, BLOCKS, st.lists(inner, min_size=1, max_size=4)),
    max_leaves=25,
)
HEAD = """\
import torch, torch.nn.functional as F
from torch import nn
def helper(log, value):
    log.append(value)
    return value
class C(nn.Module):
    def method(self, value):
        self.total = self.total + value
        return self.method(value)
    def train(self, model: nn.Module, loader, loss=None):
        total, losses, log, step = 0.0, [], {}, 0
"""


@settings(deadline=None, max_examples=150, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STATEMENTS, min_size=1, max_size=6))
def test_any_program_gets_an_answer_twice_the_same(body: list[list[str]]) -> None:
    text = HEAD + "".join(f"        {row}\n" for part in body for row in part)
    compile(text, "generated", "exec")
    first = lint(text.encode())
    assert "TML900" not in {finding.code for finding in first}
    assert lint(text.encode()) == first
    rows = text.splitlines()
    for finding in first:
        assert 1 <= finding.start.row <= len(rows)
        assert "\n" not in finding.message


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.integers(0, len(FIXTURES) - 1), st.integers(0, 10_000), st.integers(1, 400))
def test_any_part_of_a_file_gets_an_answer(index: int, start: int, length: int) -> None:
    data = SOURCES[index]
    start %= len(data)
    for finding in lint(data[:start] + data[start + length :]):
        assert "internal error" not in finding.message
