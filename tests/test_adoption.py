"""A code base with findings: accept them in a baseline, or silence them by comments."""

from __future__ import annotations

import json

import pytest
from conftest import NO_EFFECT, Lint, Write, codes

LOOP = """\
import torch


def train(model, loader):
    total = 0
    for batch in loader:
        loss = torch.nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        total += loss
    return total.item()
"""
LEGACY = {"a.py": LOOP, "sub/b.py": NO_EFFECT + "torch.no_grad()\n"}


@pytest.fixture
def legacy(write: Write, lint: Lint) -> Write:
    """A project whose findings are all accepted."""
    write(LEGACY)
    result = lint("--baseline", "known.json", "--write-baseline", ".")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "Wrote 3 findings to known.json.\n"
    return write


def check(lint: Lint, *args: str) -> list[str]:
    return codes(lint("--baseline", "known.json", *(args or (".",))))


def test_accepted_findings_are_not_reported(legacy: Write, lint: Lint) -> None:
    result = lint("--baseline", "known.json", ".")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert check(lint, "sub") == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import torch\n", "import os\nimport torch\n\nX = 1\n"),
        ("def train(", "def train_epoch("),
        ("        total += loss", "        total  +=  loss  # a comment"),
        ("    for batch in loader:\n", "    for batch in loader:\n        print(batch)\n"),
    ],
)
def test_code_around_may_change(legacy: Write, lint: Lint, old: str, new: str) -> None:
    legacy("a.py", LOOP.replace(old, new))
    assert check(lint) == []


def test_one_more_of_the_same_is_new(legacy: Write, lint: Lint) -> None:
    legacy("sub/b.py", NO_EFFECT + "torch.no_grad()\n" * 2)
    assert check(lint) == ["sub/b.py:5:1 TML202"]


def test_renamed_file_keeps_its_entries(legacy: Write, lint: Lint) -> None:
    (legacy({}) / "a.py").rename("moved.py")
    assert check(lint) == []
    legacy("a.py", LOOP)
    assert check(lint) == ["moved.py:9:9 TML101"]


def test_entries_that_are_gone_are_told(legacy: Write, lint: Lint) -> None:
    legacy("sub/b.py", NO_EFFECT)
    told = "1 finding of the baseline is gone: `--write-baseline` takes them out.\n"
    assert lint("--baseline", "known.json", ".").stderr == told
    assert lint("--baseline", "known.json", "a.py").stderr == "", "b.py was not looked at"
    (legacy({}) / "a.py").unlink()
    assert lint("--baseline", "known.json", ".").stderr.startswith("2 findings of the baseline are gone")
    assert lint("--quiet", "--baseline", "known.json", ".").stderr == ""


def test_writing_again_keeps_what_was_not_linted(legacy: Write, lint: Lint) -> None:
    legacy("a.py", "x = 1\n")
    assert "Wrote 2 findings" in lint("--baseline", "known.json", "--write-baseline", "a.py").stderr
    assert check(lint) == []


def test_paths_are_relative_to_the_baseline(legacy: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.loads((legacy({}) / "known.json").read_text())
    assert [entry["path"] for entry in data["findings"]] == ["a.py", "sub/b.py"]
    assert [entry["count"] for entry in data["findings"]] == [1, 2]
    monkeypatch.chdir(legacy({}) / "sub")
    assert codes(lint("--baseline", "../known.json", "b.py")) == []


def test_setting(legacy: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    legacy("torchmemlint.toml", 'baseline = "known.json"\n')
    monkeypatch.chdir(legacy({}) / "sub")
    assert lint("b.py").stdout == ""
    assert lint("--isolated", "b.py").exit_code == 1


def test_fixes_leave_accepted_findings_alone(legacy: Write, lint: Lint) -> None:
    result = lint("--baseline", "known.json", "--fix", ".")
    assert result.exit_code == 0
    assert (legacy({}) / "a.py").read_text() == LOOP


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file; `--write-baseline` makes it"),
        ("{", "not valid JSON"),
        ("[]", "not a baseline of torchmemlint"),
        ('{"version": 9, "findings": []}', "not a baseline of torchmemlint, version 1"),
        ('{"version": 1, "findings": [{"code": "TML101"}]}', "entry 1 needs code, path, source, count"),
        (b"\xff", "not valid JSON"),
    ],
)
def test_broken_baselines_are_named(write: Write, lint: Lint, content: str | bytes | None, message: str) -> None:
    write("a.py", "x = 1\n")
    if content is not None:
        write("known.json", content)
    result = lint("--baseline", "known.json", "a.py")
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--write-baseline",), "needs --baseline FILE"),
        (("--baseline", "no/such/folder/x", "--write-baseline"), "cannot be written"),
        (("--baseline", "x", "--write-baseline", "--fix"), "--write-baseline cannot be combined with --fix"),
        (("--add-noqa", "--diff"), "--add-noqa cannot be combined with --diff"),
        (("--reason", "x"), "--reason: needs --add-noqa"),
    ],
)
def test_contradictions(write: Write, lint: Lint, options: tuple[str, ...], message: str) -> None:
    write("a.py", NO_EFFECT)
    result = lint(*options, "a.py")
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.no_grad()\n", "torch.no_grad()  # noqa: TML202\n"),
        ("torch.no_grad()   \r\n", "torch.no_grad()  # noqa: TML202\r\n"),
        ("torch.no_grad()", "torch.no_grad()  # noqa: TML202"),
        ("torch.no_grad()  # why\n", "torch.no_grad()  # why  # noqa: TML202\n"),
        ("torch.no_grad()  # noqa: E501\n", "torch.no_grad()  # noqa: E501, TML202\n"),
        ("torch.no_grad(\n)  # end\n", "torch.no_grad(\n)  # end  # noqa: TML202\n"),
        ("with torch.no_grad, \\\n        open('x'):\n    pass\n",
         "with torch.no_grad, \\\n        open('x'):  # noqa: TML202\n    pass\n"),
        ("x = '''a\nb'''; torch.no_grad()\n", "x = '''a\nb'''; torch.no_grad()  # noqa: TML202\n"),
    ],
)  # fmt: skip
def test_add_noqa(write: Write, lint: Lint, before: str, after: str) -> None:
    root = write("a.py", b"import torch\n" + before.encode())
    result = lint("--add-noqa", "a.py")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "Added 1 suppression.\n")
    assert (root / "a.py").read_bytes() == b"import torch\n" + after.encode()
    assert lint("a.py").stdout == ""
    assert lint("--add-noqa", "a.py").stderr == "Added 0 suppressions.\n"


def test_add_noqa_with_a_reason(write: Write, lint: Lint) -> None:
    root = write({"a.py": NO_EFFECT, "b.py": LOOP})
    lint("--add-noqa", "--reason", "legacy, see the tracker", ".")
    comment = "  # torchmemlint: ignore[TML202] -- legacy, see the tracker\n"
    assert (root / "a.py").read_text() == NO_EFFECT.rstrip("\n") + comment
    assert lint(".").stdout == ""


def test_add_noqa_to_what_cannot_be_silenced(write: Write, lint: Lint) -> None:
    write({"a.py": "def f(:\n", "b.py": "x = 1  # noqa: TML202\n"})
    assert lint("--add-noqa", ".").stderr == "Added 0 suppressions.\n"
    assert len(lint(".").stdout.splitlines()) == 2
