"""What the reports look like, to the letter."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from conftest import NO_EFFECT, Lint, Write

from torchmemlint.finding import Confidence, Edit, Finding, Fix, Location, Related, Retains
from torchmemlint.linter.reports import FORMATS, Context, statistics
from torchmemlint.source import decode

SOURCE = """\
def train(loader):
    total = 0
    for batch in loader:
        loss = model(batch)
        loss.backward()
        total += loss
    print(total)
"""


def finding(**changes: object) -> Finding:
    values: dict[str, object] = {
        "code": "TML101",
        "name": "accumulated-graph",
        "message": "`total` keeps the graph of every step",
        "filename": "train.py",
        "start": Location(6, 9),
        "end": Location(6, 22),
        "retains": Retains.GROWING,
        "value": "the autograd graph",
        "holder": "`total`",
        "release": "`loss.item()`",
        "related": (Related("train.py", Location(2, 5), Location(2, 14), "`total` lives here"),),
    }
    return Finding(**{**values, **changes})  # type: ignore[arg-type]


def full(*findings: Finding, color: bool = False, **sources: str) -> str:
    texts = sources or {"train": SOURCE}
    given = {f"{name}.py": decode(f"{name}.py", text.encode()) for name, text in texts.items()}
    return FORMATS["full"](findings, Context(color=color, given=given))


def test_text_is_flake8s_shape() -> None:
    report = FORMATS["text"]([finding(), finding(message="two\n  lines", cell=3)], Context())
    assert report.splitlines() == [
        "train.py:6:9: TML101 `total` keeps the graph of every step",
        "train.py:cell 3:6:9: TML101 two lines",
    ]


def test_text_with_colour_says_the_same() -> None:
    colored = FORMATS["text"]([finding()], Context(color=True))
    assert colored != click.unstyle(colored)
    assert click.unstyle(colored) == FORMATS["text"]([finding()], Context())


def test_full() -> None:
    assert full(finding()) == (
        """\
TML101 accumulated-graph: `total` keeps the graph of every step
 --> train.py:6:9
  |
2 |     total = 0
  |     --------- `total` lives here
...
5 |         loss.backward()
6 |         total += loss
  |         ^^^^^^^^^^^^^ growing, high confidence
  |
  = keeps: the autograd graph, kept by `total`
  = release: `loss.item()`
"""
    )


def test_full_with_colour_says_the_same() -> None:
    assert click.unstyle(full(finding(), color=True)) == full(finding())


def test_full_shows_a_holder_in_another_file() -> None:
    related = (Related("meter.py", Location(11, 1), Location(11, 8), "the holder"),)
    report = full(
        finding(related=related, value=None, holder=None, release=None), train=SOURCE, meter="\n" * 10 + "x = [1]"
    )
    assert report == (
        """\
TML101 accumulated-graph: `total` keeps the graph of every step
  --> train.py:6:9
   |
 5 |         loss.backward()
 6 |         total += loss
   |         ^^^^^^^^^^^^^ growing, high confidence
  ::: meter.py:11:1
   |
11 | x = [1]
   | ------- the holder
"""
    )


def test_full_joins_what_is_near_and_underlines_two_labels_of_a_line() -> None:
    near = Related("train.py", Location(4, 9), Location(4, 13), "made here")
    same = Related("train.py", Location(6, 18), Location(6, 22), "the graph")
    assert full(finding(related=(near, same), value=None, holder=None, release=None)).splitlines()[2:] == [
        "  |",
        "4 |         loss = model(batch)",
        "  |         ---- made here",
        "5 |         loss.backward()",
        "6 |         total += loss",
        "  |         ^^^^^^^^^^^^^ growing, high confidence",
        "  |                  ---- the graph",
    ]


def test_full_of_a_statement_over_several_lines() -> None:
    text = "total += f(\n    loss,\n)\n"
    assert full(finding(start=Location(1, 1), end=Location(3, 2), related=()), train=text).splitlines()[2:8] == [
        "  |",
        "1 | total += f(",
        "  | ^^^^^^^^^^^",
        "2 |     loss,",
        "  |     ^^^^^",
        "3 | )",
    ]


def test_full_of_a_long_block_marks_its_head_only() -> None:
    report = full(finding(start=Location(1, 1), end=Location(7, 17), related=()))
    assert report.count("^^^") == report.splitlines()[4].count("^^^") == len("def train(loader):") // 3


def test_full_keeps_carets_under_wide_characters_tabs_and_controls() -> None:
    text = "\ttotal['损失'] += loss\x0c\n"
    row, mark = full(finding(start=Location(1, 17), end=Location(1, 21), related=()), train=text).splitlines()[3:5]
    assert row == "1 |     total['损失'] += loss?"
    assert mark == "  |                      ^^^^ growing, high confidence"


def test_full_crops_endless_lines() -> None:
    text = "x = '" + "a" * 5_000 + "'; total += loss\n"
    lines = full(finding(start=Location(1, 5_009), end=Location(1, 5_022), related=()), train=text).splitlines()
    assert all(len(line) < 200 for line in lines)
    assert lines[3][lines[4].index("^") :] == "total += loss"


@pytest.mark.parametrize("start", [Location(1, 1), Location(99, 7), Location(7, 400)])
def test_full_survives_places_that_do_not_exist(start: Location) -> None:
    assert full(finding(start=start, end=start)).startswith("TML101")
    assert full(finding(start=start, end=start, filename="missing.py")).startswith("TML101")


def test_json() -> None:
    edit = Edit(Location(6, 18), Location(6, 22), "loss.item()")
    plain = finding(retains=None, value=None, holder=None, related=(), confidence=Confidence.LOW)
    fixed = finding(fix=Fix("unsafe", "Add a number", (edit,)), cell=2)
    first, second = json.loads(FORMATS["json"]([plain, fixed], Context()))
    here = str(Path("train.py").absolute())
    assert first == {
        "code": "TML101",
        "name": "accumulated-graph",
        "message": "`total` keeps the graph of every step",
        "filename": here,
        "location": {"row": 6, "column": 9},
        "end_location": {"row": 6, "column": 22},
        "url": None,
        "fix": None,
        "confidence": "low",
        "retains": None,
        "value": None,
        "holder": None,
        "related": [],
    }
    assert (second["retains"], second["value"], second["holder"], second["cell"]) == (
        "growing",
        "the autograd graph",
        "`total`",
        2,
    )
    assert second["related"] == [
        {
            "filename": here,
            "location": {"row": 2, "column": 5},
            "end_location": {"row": 2, "column": 14},
            "message": "`total` lives here",
        }
    ]
    assert second["fix"] == {
        "applicability": "unsafe",
        "message": "Add a number",
        "edits": [
            {"content": "loss.item()", "location": {"row": 6, "column": 18}, "end_location": {"row": 6, "column": 22}}
        ],
    }
    assert FORMATS["json"]([], Context()) == "[]\n"


def test_columns_count_code_points(write: Write, lint: Lint) -> None:
    write("a.py", "import torch\n'损失é𝄞'; torch.no_grad()\n")
    (found,) = json.loads(lint("--output-format", "json", "a.py").stdout)
    assert found["location"] == {"row": 2, "column": 9}
    assert found["end_location"] == {"row": 2, "column": 24}


def test_statistics(write: Write, lint: Lint) -> None:
    findings = [finding()] * 11 + [finding(code="TML202", name="b")] * 2 + [finding(code="TML201", name="c")] * 2
    assert statistics.render(findings, "text").splitlines() == [
        "11  TML101  accumulated-graph",
        " 2  TML201  c",
        " 2  TML202  b",
    ]
    assert json.loads(statistics.render(findings, "json"))[0] == {
        "code": "TML101",
        "name": "accumulated-graph",
        "count": 11,
    }
    assert statistics.render([], "text") == ""
    write("a.py", NO_EFFECT)
    result = lint("--statistics", "a.py")
    assert (result.exit_code, result.stdout) == (1, "1  TML202  grad-mode-call-without-effect\n")
