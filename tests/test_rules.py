"""The rules against their fixtures, and what every rule owes its reader."""

from __future__ import annotations

import functools
import io
import re
import tokenize
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT

from torchmemlint.cli import cli
from torchmemlint.facts.outline import Outline
from torchmemlint.finding import Confidence, Finding
from torchmemlint.linter.analysis import facts_of, findings
from torchmemlint.linter.engine import most_specific
from torchmemlint.rules import registry
from torchmemlint.source import read

FIXTURES = sorted((ROOT / "fixtures").glob("TML*/*.py"))
RULES = registry()
SHIPPED = [code for code in RULES if code not in ("TML900", "TML901")]
LOW_COUNTS = ("TML111", "TML206")  # what they say depends on the version of torch, or is a matter of taste
HEADINGS = ["What it does", "Why it retains", "When it is fine", "How to release it", "References"]
EXPECTED = re.compile(r"(TML\d{3})(?::(\d+))?")


def relative(path: Path) -> str:
    return path.relative_to(ROOT / "fixtures").as_posix()


@functools.cache
def found(path: Path) -> list[Finding]:
    """What is reported in a fixture: all that is on by default, and the fixture's own rule."""
    own = path.parent.name
    rules = [rule for rule in RULES.values() if not rule.preview or rule.code == own]
    least = Confidence.LOW if own in LOW_COUNTS else Confidence.MEDIUM
    source = read(str(path), 1_000_000)
    spoken = most_specific(findings(source, Outline(facts_of(source)), rules))
    return sorted((f for f in spoken if f.confidence >= least), key=lambda finding: finding.key)


def expected(path: Path) -> list[tuple[int, str, int | None]]:
    """Row, code and, where it is given, column of each trailing `# TML101` or `# TML101:9, TML102`."""
    wanted = []
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        if token.type == tokenize.COMMENT and re.match(r"# TML\d", token.string):
            for code, column in EXPECTED.findall(token.string):
                wanted.append((token.start[0], code, int(column) if column else None))
    return sorted(wanted)


@pytest.mark.parametrize("path", FIXTURES, ids=relative)
def test_fixture(path: Path) -> None:
    wanted = expected(path)
    columns = {(row, code): column for row, code, column in wanted}
    got = []
    for finding in found(path):
        place = (finding.start.row, finding.code)
        got.append((*place, None if columns.get(place) is None else finding.start.column))
    assert sorted(got) == wanted, "\n".join(f"{f.start.row}: {f.code} {f.message}" for f in found(path))
    assert path.stem.startswith(("bad_", "good_"))
    assert ("bad_" in path.stem) == (path.parent.name in {code for _, code, _ in wanted})
    for finding in found(path):
        check_message(finding)
        check_places(finding, path.read_text("utf-8").splitlines())


@pytest.mark.parametrize("code", SHIPPED)
def test_rule_has_fixtures_of_both_kinds(code: str) -> None:
    names = [path.stem for path in FIXTURES if path.parent.name == code]
    assert any(name.startswith("bad") for name in names)
    assert any(name.startswith("good") for name in names)


@pytest.mark.parametrize("code", RULES)
def test_page(code: str) -> None:
    rule = RULES[code]
    assert re.findall(r"^## (.+)$", rule.doc, re.MULTILINE) == HEADINGS
    for heading, body in re.findall(r"^## (.+)\n([^#]+)", rule.doc, re.MULTILINE):
        assert body.strip(), heading
    assert rule.summary.endswith(".")
    assert rule.doc.splitlines()[1] == ""
    assert rule.doc.isascii() or "\t" not in rule.doc
    assert max(map(len, rule.doc.splitlines())) <= 120


def test_names() -> None:
    names = [rule.name for rule in RULES.values()]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z]+(-[a-z]+)+", name)] == []
    assert [code for code in RULES if not re.fullmatch(r"TML\d{3}", code)] == []
    assert [code for code, rule in RULES.items() if rule.code != code] == []


def check_message(finding: Finding) -> None:
    message = finding.message
    assert message == message.strip() and len(message.splitlines()) == 1
    assert message[-1] not in ".,;:!"
    assert "  " not in message and "None" not in message and "``" not in message
    assert message.count("`") % 2 == 0 and message.count("(") == message.count(")")
    if finding.holder and re.fullmatch(r"[\w.]+", finding.holder):  # a name in the source, not a description
        assert finding.holder.rsplit(".", 1)[-1] in message


def check_places(finding: Finding, rows: list[str]) -> None:
    """It says where it stands and what to do."""
    assert finding.release
    assert finding.start < finding.end
    for start in (finding.start, *(note.start for note in finding.related)):
        assert 1 <= start.row <= len(rows)
        assert 1 <= start.column <= len(rows[start.row - 1])
    assert all(note.message and note.start != finding.start for note in finding.related)


def test_readme_shows_the_real_report_and_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    readme = (ROOT / "README.md").read_text("utf-8")
    command, *shown = readme.split("```\n$ torchmemlint ")[1].split("\n```")[0].splitlines()
    text = CliRunner().invoke(cli, ["--isolated", *command.split()], prog_name="torchmemlint").stdout
    assert [row for row in shown if row not in text.splitlines()] == []
    table = [tuple(row.strip("| ").split(" | ")) for row in readme.splitlines() if row.startswith("| TML")]
    assert [(code, name) for code, name, *_ in table] == [(rule.code, rule.name) for rule in RULES.values()]
    for code, _, retains, what in table:
        assert RULES[code].summary + (" *(opt-in)*" if RULES[code].preview else "") == what
        kept = RULES[code].retains
        assert retains == (kept.value if kept else "nothing")
