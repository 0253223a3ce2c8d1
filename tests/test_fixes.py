"""Fixes against all fixtures: what is mended is gone, the rest is as it was, and again there is nothing to do."""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import NO_EFFECT, NOWHERE, ROOT, Lint, Run, Write, codes
from hypothesis import given, settings
from hypothesis import strategies as st

from torchmemlint.config import Settings
from torchmemlint.finding import Confidence, Edit, Finding, Location
from torchmemlint.linter import engine
from torchmemlint.linter.fixes.apply import Fixed, fix
from torchmemlint.linter.fixes.run import Wanted, fix_source
from torchmemlint.linter.fixes.text import Text, apply_edits
from torchmemlint.linter.session import Session
from torchmemlint.source import Source, decode, read

FIXTURES = sorted((ROOT / "fixtures").glob("TML*/*.py"))
UNFIXED = {
    # where a rule names a remedy that the text does not allow
    "TML104/bad_tuned_rate": "the reset is the optimizer's own method, under a name of its own",
    "TML107/bad_epoch_outputs": "without graphs the list grows all the same: it must be emptied",
    "TML201/bad_drawn_samples": "the call is an argument of another, in the middle of a training step",
    "TML202/bad_bare_statement": "what was meant to run under a mode that is only given a name is not in the text",
    "TML503/bad_moves_of_a_game": "a loop goes through the tasks when the game is over",
    "TML503/bad_reply_table": "an entry of a table goes by its key",
    "TML604/bad_optimizer_of_a_helper": "the optimizer is one of several names that the results of a helper get",
}


def plan_for(path: Path) -> engine.Plan:
    """All rules that are on by default, and the fixture's own."""
    code = path.parent.name
    opt_in = code in ("TML206", "TML606")
    plan = engine.plan(Settings(root=NOWHERE, preview=opt_in), fixes=True)
    return replace(plan, min_confidence=Confidence.LOW) if opt_in or code == "TML111" else plan


@functools.cache
def fixed(path: Path, *, unsafe: bool = True) -> Fixed:
    return fix_source(read(str(path), 1_000_000), Wanted(plan_for(path), unsafe=unsafe))


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def rows_changed(findings: list[Finding]) -> set[int]:
    edits = [edit for finding in findings if finding.fix for edit in finding.fix.edits]
    return {row for edit in edits for row in range(edit.start.row, edit.end.row + 1)}


def comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


@pytest.mark.parametrize("path", FIXTURES, ids=name)
def test_fixing_a_fixture(path: Path) -> None:
    before = read(str(path), 1_000_000)
    findings = engine.lint_source(before, plan_for(path))
    if any(finding.fix for finding in findings):
        check_fixed(path, before, findings)
        check_safely_fixed(path)
    left = fixed(path).left if any(finding.fix for finding in findings) else findings
    own = [finding for finding in left if finding.code == path.parent.name and finding.remedy]
    assert bool(own) == (name(path) in UNFIXED), "a remedy leads to a fix, or there is a reason"


def check_fixed(path: Path, before: Source, findings: list[Finding]) -> None:
    result = fixed(path)
    text = result.source.text
    ast.parse(text)
    assert len(result.left) == len(findings) - len(result.mended)
    assert not [finding for finding in result.left if finding.fix]
    again = fix_source(result.source, Wanted(plan_for(path), unsafe=True))
    assert (again.source.text, again.mended) == (text, ())
    gone = {"# TML106": 1, "# TML606": 2}  # a line that was joined with another, calls that are left out
    assert comments(before.text) - comments(text) <= Counter(gone)
    touched = rows_changed(findings)
    kept = [line for row, line in enumerate(before.lines(), 1) if row not in touched]
    rest = iter(result.source.lines())
    assert all(line in rest for line in kept), "lines that no fix names are there, in their order"


def check_safely_fixed(path: Path) -> None:
    """Safe fixes alone leave nothing safe to fix."""
    result = fixed(path, unsafe=False)
    assert all(finding.fix is None or finding.fix.applicability == "unsafe" for finding in result.left)
    assert all(finding.fix and finding.fix.applicability == "safe" for finding in result.mended)


def mend(text: str, unsafe: bool = True) -> str:
    plan = engine.plan(Settings(root=NOWHERE), fixes=True)
    return fix_source(decode("a.py", text.encode()), Wanted(plan, unsafe=unsafe)).source.text


HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n"
LOOP = HEAD + (
    "def train(loader, optimizer):\n"
    "    model = nn.Linear(8, 2)\n"
    "    total = 0\n"
    "    losses = []\n"
    "    for x, y in loader:\n"
    "        loss = F.cross_entropy(model(x), y)\n"
    "        loss.backward()\n"
    "        optimizer.step()\n"
    "        {statement}\n"
    "    print(total, losses)\n"
)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("total += loss", "total += loss.detach()"),
        ("total = total + loss", "total = (total + loss).detach()"),
        ("total += loss * 2  # twice", "total += (loss * 2).detach()  # twice"),
        ("total += (loss *  # why\n            2)", "total += ((loss *  # why\n            2).detach())"),
        ("losses.append(loss)", "losses.append(loss.detach())"),
        ("losses += [loss]", "losses += [loss.detach()]"),
        ("losses.extend([loss * w for w in (1, 2)])", "losses.extend([(loss * w).detach() for w in (1, 2)])"),
        ("losses.append((1, loss))", "losses.append((1, loss.detach()))"),
        ("losses.append({'a': loss, 'b': loss})", "losses.append({'a': loss.detach(), 'b': loss.detach()})"),
        (
            "losses.append(\n            loss,  # one\n        )",
            "losses.append(\n            loss.detach(),  # one\n        )",
        ),
        ("print('é𝄞', total); losses.append(loss)", "print('é𝄞', total); losses.append(loss.detach())"),
    ],
)
def test_detach(statement: str, expected: str) -> None:
    assert mend(LOOP.format(statement=statement)) == LOOP.format(statement=expected)


@pytest.mark.parametrize(
    ("assignment", "safe"),
    [
        ("value = loss * 2", True),
        ("value = loss * 2 if y else 0.0", False),
        ("value = 0.0\n        if len(y): value = loss", False),
        ("value: torch.Tensor = loss", False),
    ],
)
def test_detach_is_safe_where_the_value_is_a_tensor_for_certain(assignment: str, safe: bool) -> None:
    text = LOOP.format(statement=f"{assignment}\n        losses.append(value)")
    assert mend(text).count("value.detach()") == 1
    assert mend(text, unsafe=False).count("value.detach()") == safe


KEPT = HEAD + (
    "def halve(value):\n"
    "    return value / 2\n\n\n"
    "def parts_of(value):\n"
    "    parts = [value, value / 2]\n"
    "    return parts\n\n\n"
    "def train(loader, optimizer, unseen):\n"
    "    model = nn.Linear(8, 2)\n"
    "    kept = []\n"
    "    for x, y in loader:\n"
    "        loss = F.cross_entropy(model(x), y)\n"
    "        loss.backward()\n"
    "        optimizer.step()\n"
    "        {statements}\n"
    "    print(kept)\n"
)


@pytest.mark.parametrize(
    ("statements", "safe"),
    [
        ("kept.append(halve(loss))", 1),
        ("kept.append((halve(loss), len(x)))", 1),
        ("kept.append([halve(one) for one in (loss, loss)])", 1),
        ("kept += [halve(loss)]", 1),
        ("kept.append(list(parts_of(loss)))", 0),
        ("parts = parts_of(loss)\n        kept.append(parts)", 0),
        ("parts = {'loss': loss}\n        kept.append(parts)", 0),
        ("kept.append((len(x), dict(loss=loss)))", 0),
        ("kept.extend(parts_of(loss))", 0),
        ("parts = parts_of(loss)\n        kept += parts", 0),
        ("value = loss\n        if len(x): value = unseen.rate()\n        kept.append(value)", 0),
        ("value = loss\n        if len(x): value = torch.sum(loss)\n        kept.append(value)", 1),
        ("out = unseen(x)\n        out.loss.backward()\n        kept.append(out)", 0),
    ],
)
def test_detach_is_safe_only_of_what_is_no_container(statements: str, safe: int) -> None:
    assert mend(KEPT.format(statements=statements), unsafe=False).count("detach()") == safe


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("loss.backward(retain_graph=True)", "loss.backward()"),
        ("loss.backward(None, retain_graph=True)", "loss.backward(None)"),
        ("loss.backward(retain_graph=True, inputs=None)", "loss.backward(inputs=None)"),
        ("loss.backward(\n            retain_graph=True,\n        )", "loss.backward()"),
        ("loss.backward(  # why\n            retain_graph=True\n        )", None),
    ],
)
def test_drop_argument(call: str, expected: str | None) -> None:
    text = LOOP.replace("loss.backward()", "{call}").replace("{statement}", "pass")
    assert mend(text.format(call=call)) == text.format(call=expected or call)


PASSES = HEAD + (
    "def train(loader, state, unseen):\n"
    "    model, kept = nn.Linear(8, 2), []\n"
    "    for x, y in loader:\n"
    "        out = model({given})\n"
    "        loss = F.cross_entropy(out, y)\n"
    "        loss.backward(retain_graph=True)\n"
    "        {statement}\n"
    "        kept.append(loss.item())\n"
    "    return kept\n"
)


@pytest.mark.parametrize(
    ("given", "statement", "safe"),
    [
        ("x", "print(loss.item())", True),
        ("state", "print(loss.item())", False),
        ("x", "unseen.keep(out)", False),
        ("x", "yield out", False),
    ],
)
def test_a_graph_is_let_go_safely_where_all_is_seen_that_has_to_do_with_it(
    given: str, statement: str, safe: bool
) -> None:
    text = PASSES.format(given=given, statement=statement)
    assert "loss.backward()" in mend(text)
    assert ("loss.backward()" in mend(text, unsafe=False)) == safe


def test_under_a_mode_that_stood_alone() -> None:
    text = HEAD + (
        "def export(model, loader):\n"
        "\tprint('head')\n"
        "\ttorch.no_grad()  # off\n"
        "\tfor x in loader:\n"
        '\t\tprint("""a\n'
        '\tb""", model(x))\n'
        "\n"
        "\t# the end\n"
        "\treturn None\n"
    )
    assert mend(text) == HEAD + (
        "def export(model, loader):\n"
        "\tprint('head')\n"
        "\twith torch.no_grad():  # off\n"
        "\t\tfor x in loader:\n"
        '\t\t\tprint("""a\n'
        '\tb""", model(x))\n'
        "\n"
        "\t\t# the end\n"
        "\t\treturn None\n"
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks_stay(write: Write, lint: Lint, newline: str, mark: bytes) -> None:
    text = LOOP.format(statement="total += loss").replace("\n", newline)
    root = write("a.py", mark + text.encode())
    assert lint("--fix", "a.py").exit_code == 0
    assert (root / "a.py").read_bytes() == mark + text.replace("+= loss", "+= loss.detach()").encode()


def test_encoding_stays(write: Write, lint: Lint) -> None:
    text = "# -*- coding: latin-1 -*-\n" + LOOP.format(statement="print('é'); total += loss")
    root = write("a.py", text.encode("latin-1"))
    lint("--fix", "a.py")
    assert (root / "a.py").read_bytes() == text.replace("+= loss", "+= loss.detach()").encode("latin-1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # noqa: TML202\n", "x = 1\n"),
        ("x = 1  # noqa: TML202 because\n", "x = 1\n"),
        ("x = 1  # type: ignore  # noqa: TML202\n", "x = 1  # type: ignore\n"),
        ("x = 1  # noqa: TML202  # type: ignore\n", "x = 1  # type: ignore\n"),
        ("x = 1  # noqa: E501, TML202,TML101\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # torchmemlint: ignore[TML202] -- why\n", "x = 1\n"),
        ("x = 1\n    # noqa: TML202\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1  # torchmemlint: ignore", "x = 1"),
    ],
)
def test_unused_suppression(write: Write, lint: Lint, before: str, after: str) -> None:
    root = write("a.py", before.encode())
    result = lint("--fix", "a.py")
    assert (result.exit_code, result.stdout, (root / "a.py").read_text()) == (0, "", after)


def test_many_findings_take_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import torch\n\n\ndef f(x):\n" + "    with torch.no_grad:\n        pass\n" * 300
    looks: list[str] = []
    real = engine._findings

    def counted(source: Source, session: Session, *, keep: bool = True) -> list[Finding]:
        looks.append(source.text)
        return real(source, session, keep=keep)

    monkeypatch.setattr(engine, "_findings", counted)
    assert mend(text) == text.replace("no_grad:", "no_grad():")
    assert len(looks) < 10


def test_two_fixes_of_one_place_are_made_once() -> None:
    text = HEAD + (
        "def evaluate(model, loader):\n    model.eval()\n    for x in loader:\n        print(model(x).sum().item())\n"
        "        print(model(x).mean().item())\n"
    )
    assert mend(text).count("@torch.no_grad()") == 1


def test_decorator_goes_below_the_others_and_uses_the_modules_name_for_torch() -> None:
    text = (
        "import torch as th\nfrom torch import nn\n\nclass A:\n    def __init__(self):\n"
        "        self.model = nn.Linear(2, 2).eval()\n\n    @property\n    def value(self):\n"
        "        return self.model(th.ones(2)).sum().item()\n"
    )
    expected = text.replace("    def value", "    @th.no_grad()\n    def value")
    assert mend(text) in (text, expected)  # the property may not be reported at all


def test_a_fix_that_helps_nothing_is_not_made() -> None:
    source = decode("a.py", NO_EFFECT.encode())

    def lint(_: object) -> list[Finding]:
        edit = Edit(Location(3, 1), Location(3, 1), "x = ")
        place = Location(3, 1)
        from torchmemlint.finding import Fix

        return [Finding("TML202", "x", "always", "a.py", place, place, fix=Fix("safe", "", (edit,)))]

    result = fix(source, lint, unsafe=False)
    assert (result.source.text, result.mended, len(result.left)) == (NO_EFFECT, (), 1)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab\n\r \té𝄞", max_size=5), max_size=6), st.data())
def test_edits_change_their_places_only(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    lines = Text("")
    lines.lines = apply_lines(text)
    places = [Location(row, column) for row, line in enumerate(lines.lines, 1) for column in range(1, len(line) + 1)]
    chosen = sorted(data.draw(st.lists(st.sampled_from(places), max_size=4, unique=True))) if places else []
    edits = [Edit(place, place, "<>") for place in chosen]
    assert apply_edits(text, edits).count("<>") == len(chosen)
    assert apply_edits(text, edits).replace("<>", "") == text


def apply_lines(text: str) -> list[str]:
    return decode("a.py", text.encode()).lines()


def test_diff_and_exit_codes(write: Write, lint: Lint, run: Run) -> None:
    text = LOOP.format(statement="total += loss")
    root = write({"a.py": text, "clean.py": "x = 1\n"})
    result = lint("--diff", "a.py")
    assert (result.exit_code, result.stderr) == (1, "Would fix 1 finding in 1 file.\n")
    assert "-        total += loss\n+        total += loss.detach()\n" in result.stdout
    assert (root / "a.py").read_text() == text
    assert (lint("--diff", "clean.py").exit_code, lint("--diff", "clean.py").stdout) == (0, "")
    result = lint("--fix", "a.py")
    assert (result.exit_code, result.stderr) == (0, "Fixed 1 finding, nothing is left.\n")
    assert run("--fix", "a.py").returncode == 0


def test_diff_is_read_by_patch(write: Write, lint: Lint) -> None:
    import shutil
    import subprocess

    if shutil.which("patch") is None:
        pytest.skip("patch is not installed")
    text = LOOP.format(statement="total += loss").rstrip("\n")
    root = write({"sub/a.py": text})
    (root / "fixes.diff").write_text(lint("--diff", ".").stdout)
    subprocess.run(["patch", "-p0", "-i", "fixes.diff"], check=True, capture_output=True)
    assert (root / "sub/a.py").read_text() == text.replace("+= loss", "+= loss.detach()")


def test_unsafe_fixes_need_their_option(write: Write, lint: Lint) -> None:
    text = HEAD + "def f(model, x):\n    x = torch.ones(3).sum()\n    x.cpu()\n    return x\n"
    root = write("a.py", text)
    assert codes(lint("--fix", "a.py")) == ["a.py:7:5 TML605"]
    assert (root / "a.py").read_text() == text
    assert lint("--fix", "--unsafe-fixes", "a.py").exit_code == 0
    assert "x = x.cpu()" in (root / "a.py").read_text()


def test_fix_only_reports_nothing(write: Write, lint: Lint) -> None:
    root = write("a.py", LOOP.format(statement="total += loss") + "\nguard = torch.no_grad()\n\ntorch.no_grad()\n")
    result = lint("--fix-only", "a.py")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "loss.detach()" in (root / "a.py").read_text()


def test_standard_input_goes_to_standard_output(write: Write, lint: Lint) -> None:
    text = LOOP.format(statement="total += loss")
    result = lint("--fix", "-", input=text)
    assert (result.exit_code, result.stdout) == (0, text.replace("+= loss", "+= loss.detach()"))
    result = lint("--fix", "-", input=NO_EFFECT)
    assert (result.exit_code, result.stdout) == (1, NO_EFFECT)
    assert "TML202" in result.stderr
    assert lint("--diff", "-", input=text).stdout.startswith("--- -\n+++ -\n")


def test_settings_can_ask_for_fixes(write: Write, lint: Lint) -> None:
    root = write({"a.py": LOOP.format(statement="total += loss"), "torchmemlint.toml": "fix = true\n"})
    assert lint("a.py").exit_code == 0
    assert "loss.detach()" in (root / "a.py").read_text()


def test_mode_and_links_stay(write: Write, lint: Lint) -> None:
    root = write("real/a.py", LOOP.format(statement="total += loss"))
    (root / "real/a.py").chmod(0o751)
    (root / "link.py").symlink_to("real/a.py")
    lint("--fix", "link.py")
    assert (root / "link.py").is_symlink()
    assert "loss.detach()" in (root / "real/a.py").read_text()
    assert (root / "real/a.py").stat().st_mode & 0o777 == 0o751
    assert [path.name for path in (root / "real").iterdir()] == ["a.py"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_full_disk_loses_nothing(write: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    text = LOOP.format(statement="total += loss")
    root = write({"a.py": text, "b.py": NO_EFFECT})

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"os.{step}", fail)
    result = lint("--fix", "a.py", "b.py")
    assert result.exit_code == 2
    assert "error: a.py: not changed: No space left on device" in result.stderr
    assert codes(result) == ["a.py:13:9 TML101", "b.py:3:1 TML202"]
    assert (root / "a.py").read_text() == text
    assert sorted(path.name for path in root.iterdir() if path.suffix) == ["a.py", "b.py"]


def test_file_that_changes_in_the_meantime_is_left_alone(
    write: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    root = write("a.py", LOOP.format(statement="total += loss"))
    real = os.fsync
    monkeypatch.setattr("os.fsync", lambda handle: (real(handle), (root / "a.py").write_text("x = 1\n")))
    result = lint("--fix", "a.py")
    assert (result.exit_code, "it has changed in the meantime" in result.stderr) == (2, True)
    assert (root / "a.py").read_text() == "x = 1\n"
