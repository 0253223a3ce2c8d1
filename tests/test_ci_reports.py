"""Reports that a CI service reads: valid by their schemas, and the same finding keeps its fingerprint."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import NO_EFFECT, ROOT, Lint, Write
from junitparser import Failure, JUnitXml

from torchmemlint.finding import Confidence, Edit, Finding, Fix, Location, Related, Retains
from torchmemlint.linter.fingerprints import fingerprints
from torchmemlint.linter.reports import FORMATS, Context
from torchmemlint.rules import registry

SCHEMAS = ROOT / "tests" / "schemas"
OFFICIAL = os.environ.get("SARIF_SCHEMA")  # the file that OASIS publishes; the CI fetches it
AWKWARD = "a, b: 100%\r\nc\x0c\ud800 損 <&\"'>"
COMMAND = re.compile(r"::(?P<level>\w+) (?P<properties>[^\n]*?)::(?P<message>.*)")


def finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "code": "TML101",
        "name": "accumulated-graph",
        "message": "`total` keeps the graph of every step",
        "filename": "src/train.py",
        "start": Location(6, 9),
        "end": Location(6, 22),
        "retains": Retains.GROWING,
        "holder": "`total`",
        "release": "`loss.item()`",
        "related": (Related("src/train.py", Location(2, 5), Location(2, 14), "`total` lives here"),),
        "fix": Fix("unsafe", "Add a number", (Edit(Location(6, 18), Location(6, 22), "loss.item()"),)),
    }
    return Finding(**{**values, **changes})


AWKWARD_FINDINGS = [
    finding(),
    finding(message=AWKWARD, filename="/elsewhere/a b,c:d.py", related=(), release=None, holder=None, fix=None),
    finding(code="TML900", filename="odd ñ/x.py", start=Location(1, 1), end=Location(1, 1), retains=None),
    finding(code="XYZ001", name="third-party", confidence=Confidence.LOW, cell=3),
]


def conforms(report: str, schema: str | Path) -> Any:
    data = json.loads(report)
    path = SCHEMAS / schema
    jsonschema.validate(data, json.loads(path.read_text("utf-8")), format_checker=jsonschema.FormatChecker())
    return data


def of_fixtures(lint: Lint, output_format: str) -> str:
    return lint("--isolated", "--preview", "--output-format", output_format, str(ROOT / "fixtures")).stdout


@pytest.mark.parametrize("schema", ["sarif.json", *([OFFICIAL] if OFFICIAL else [])])
def test_sarif_conforms(lint: Lint, schema: str) -> None:
    real = conforms(of_fixtures(lint, "sarif"), schema)
    assert len({result["ruleId"] for result in real["runs"][0]["results"]}) > 10
    conforms(FORMATS["sarif"](AWKWARD_FINDINGS, Context()), schema)
    conforms(FORMATS["sarif"]([], Context()), schema)


def test_sarif_says_what_the_finding_says(folder: Path) -> None:
    log = json.loads(FORMATS["sarif"](AWKWARD_FINDINGS, Context()))
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(registry())
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == folder.as_uri() + "/"
    first, second, third, fourth = run["results"]
    assert rules[first["ruleIndex"]]["id"] == first["ruleId"] == "TML101"
    assert rules[first["ruleIndex"]]["help"]["markdown"].startswith("# TML101 accumulated-graph\n")
    assert first["level"] == "error"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/train.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 6, "startColumn": 9, "endLine": 6, "endColumn": 22}
    assert first["relatedLocations"][0]["message"] == {"text": "`total` lives here"}
    (change,) = first["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"] == {"text": "loss.item()"}
    assert second["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "file:///elsewhere/a%20b%2Cc%3Ad.py"
    }
    assert third["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "odd%20%C3%B1/x.py"
    assert (fourth["level"], fourth["properties"]["cell"], "ruleIndex" in fourth) == ("note", 3, False)


def test_gitlab_conforms(lint: Lint, folder: Path) -> None:
    conforms(
        FORMATS["gitlab"]([f for f in AWKWARD_FINDINGS if not f.filename.startswith("/")], Context()), "gitlab.json"
    )
    assert FORMATS["gitlab"]([], Context()) == "[]\n"
    context = Context(root=ROOT)
    data = conforms(FORMATS["gitlab"]([finding(filename=str(ROOT / "fixtures" / "x.py"))], context), "gitlab.json")
    assert (data[0]["location"]["path"], data[0]["severity"]) == ("fixtures/x.py", "major")
    issues = json.loads(of_fixtures(lint, "gitlab"))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) > 10


@pytest.mark.parametrize("findings", [AWKWARD_FINDINGS, []])
def test_junit_is_read_by_a_reader_of_junit(findings: list[Finding]) -> None:
    report = JUnitXml.fromstring(FORMATS["junit"](findings, Context()).encode())
    assert (report.tests, report.failures, report.errors) == (max(len(findings), 1), len(findings), 0)
    cases = [case for suite in report for case in suite]
    assert len(cases) == report.tests
    failures = [result for case in cases for result in case.result]
    assert [type(failure) for failure in failures] == [Failure] * len(findings)
    assert [failure.type for failure in failures] == [finding.code for finding in findings]
    if findings:
        assert cases[0].classname == "src.train"
        assert failures[0].text.endswith("release: `loss.item()`")
        assert failures[1].message == AWKWARD.replace("\x0c", "�").replace("\ud800", "�")


def test_junit_of_the_fixtures(lint: Lint) -> None:
    report = JUnitXml.fromstring(of_fixtures(lint, "junit").encode())
    assert sum(suite.tests for suite in report) == report.tests == report.failures > 10


def decoded(command: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as the runner reads it: properties, then data, each with its own escapes."""
    match = COMMAND.fullmatch(command)
    assert match, command
    pairs = (pair.partition("=") for pair in match["properties"].split(","))
    properties = {key: value.replace("%3A", ":").replace("%2C", ",") for key, _, value in pairs}
    plain = [text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%") for text in properties.values()]
    message = match["message"].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    return match["level"], dict(zip(properties, plain, strict=True)), message


def test_github_annotations(folder: Path) -> None:
    report = FORMATS["github"](AWKWARD_FINDINGS, Context())
    assert report.endswith("\n")
    first, second, third, fourth = (decoded(line) for line in report.splitlines() if line)
    assert first == (
        "error",
        {
            "title": "torchmemlint (TML101)",
            "file": "src/train.py",
            "line": "6",
            "endLine": "6",
            "col": "9",
            "endColumn": "22",
        },
        "src/train.py:6:9: TML101 `total` keeps the graph of every step\nrelease: `loss.item()`",
    )
    assert second[1]["file"] == "/elsewhere/a b,c:d.py"
    assert "100%" in second[2]
    assert third[1]["file"] == "odd ñ/x.py"
    assert (fourth[0], sorted(fourth[1])) == ("notice", ["file", "title"])


def test_github_annotations_of_a_block_have_no_columns() -> None:
    _, properties, _ = decoded(FORMATS["github"]([finding(end=Location(8, 3))], Context()).rstrip("\n"))
    assert sorted(properties) == ["endLine", "file", "line", "title"]


def test_paths_are_those_of_the_checkout(write: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write("sub/project/a.py", NO_EFFECT)
    monkeypatch.chdir(root / "sub")
    assert ",file=sub/project/a.py," in lint("--output-format", "github", "project").stdout
    monkeypatch.setenv("GITHUB_WORKSPACE", str(root / "sub"))
    assert ",file=project/a.py," in lint("--output-format", "github", "project").stdout
    monkeypatch.setenv("GITHUB_WORKSPACE", "/another/checkout")
    assert ",file=sub/project/a.py," in lint("--output-format", "github", "project").stdout


TRAIN = """\
import torch

def train(model, loader):
    total = 0
    for batch in loader:
        loss = torch.nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        total += loss
        total += loss
    return total.item()
"""


def prints(write: Write, lint: Lint, text: str) -> list[str]:
    write("a.py", text)
    log = json.loads(lint("--min-confidence", "low", "--output-format", "sarif", "a.py").stdout)
    return [result["partialFingerprints"]["torchmemlint/v1"] for result in log["runs"][0]["results"]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import torch\n", "import torch\n\n\n# more\nx = 1\n"),
        ("train(", "train_one_epoch("),
        ("    for batch", "    # the loop\n    for batch"),
        ("total += loss\n", "total  +=  loss  # why\n"),
        ("        loss.backward()", "        print('损失'); loss.backward()"),
    ],
)
def test_fingerprints_stay_when_other_code_moves(write: Write, lint: Lint, old: str, new: str) -> None:
    before = prints(write, lint, TRAIN)
    assert len(set(before)) == 2
    assert old in TRAIN
    assert prints(write, lint, TRAIN.replace(old, new)) == before


def test_fingerprints_change_with_the_flagged_code(write: Write, lint: Lint) -> None:
    before = prints(write, lint, TRAIN)
    assert not set(before) & set(prints(write, lint, TRAIN.replace("total", "running")))


def test_fingerprints_of_files_that_cannot_be_read(folder: Path) -> None:
    made = fingerprints([finding(), finding(), finding(filename="b.py")], lambda name, cell: [], folder)
    assert len(set(made)) == 3
