"""Comments that silence findings, and those that silence nothing."""

from __future__ import annotations

import pytest
from conftest import Lint, Write, codes

HEAD = "import torch\n"


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA",
        "# noqa: TML202",
        "# noqa:TML202",
        "# noqa : TML202",
        "# NoQA: F401,TML202",
        "# noqa: F401 TML202",
        "# noqa: tml202",
        "# noqa: TML2",
        "# type: ignore  # noqa: TML202",
        "# noqa: because I say so",
        "# torchmemlint: ignore[TML202]",
        "# torchmemlint:ignore[TML202] -- the mode is set for its side effect",
        "# torchmemlint: ignore[TML101, TML202]",
        "# torchmemlint: ignore[grad-mode-call-without-effect]",
        "# torchmemlint: ignore",
    ],
)
def test_comment_silences(write: Write, lint: Lint, comment: str) -> None:
    write("a.py", f"{HEAD}torch.no_grad()  {comment}\n")
    assert lint("--select", "TML2", "a.py").stdout == ""


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: TML101",
        "# noqa: F401",
        "# noqatest",
        "# torchmemlint: ignore[TML101]",
        "# torchmemlint: ignored",
        "# qa",
    ],
)
def test_comment_does_not_silence(write: Write, lint: Lint, comment: str) -> None:
    write("a.py", f"{HEAD}torch.no_grad()  {comment}\n")
    assert codes(lint("--select", "TML2", "a.py")) == ["a.py:2:1 TML202"]


def test_characters_in_a_string_silence_nothing(write: Write, lint: Lint) -> None:
    write("a.py", HEAD + "torch.no_grad(); x = \"# noqa: TML202\"\n'''\n# torchmemlint: skip-file\n'''\n")
    assert codes(lint("a.py")) == ["a.py:2:1 TML202"]


@pytest.mark.parametrize("row", range(2, 5))
def test_any_line_of_a_simple_statement(write: Write, lint: Lint, row: int) -> None:
    rows = ["import torch", "torch.no_grad(", "    # a comment of its own", ")"]
    rows[row - 1] += "  # noqa: TML202"
    write("a.py", "\n".join(rows) + "\n")
    assert lint("a.py").stdout == ""


@pytest.mark.parametrize(("row", "silenced"), [(2, False), (3, True), (4, True), (5, True), (6, False)])
def test_any_line_of_a_header_and_none_of_the_body(write: Write, lint: Lint, row: int, silenced: bool) -> None:
    rows = ["import torch", "x = 1", "with torch.no_grad, open(", "    'file'", ") as file:", "    pass"]
    rows[row - 1] += "  # noqa: TML202"
    write("a.py", "\n".join(rows) + "\n")
    assert ("TML202" not in lint("--ignore", "TML901", "a.py").stdout) is silenced


def test_comment_on_its_own_line_is_about_no_statement(write: Write, lint: Lint) -> None:
    write("a.py", HEAD + "# noqa: TML202\ntorch.no_grad()\n# noqa: TML202\n")
    assert codes(lint("a.py")) == ["a.py:2:1 TML901", "a.py:3:1 TML202", "a.py:4:1 TML901"]


def test_line_ends_and_form_feeds(write: Write, lint: Lint) -> None:
    write("a.py", b"import torch\r\n\x0c\r\nx = 1\r\ntorch.no_grad()  # noqa: TML202\r\ntorch.no_grad()\r\n")
    assert codes(lint("a.py")) == ["a.py:5:1 TML202"]


@pytest.mark.parametrize(
    "comment", ["# torchmemlint: skip-file", "#torchmemlint:skip-file -- generated", "# flake8: noqa", "# FLAKE8: NOQA"]
)
@pytest.mark.parametrize("body", ["torch.no_grad()\n", "def broken(:\n", "x = " + "(" * 5_000 + "\n"])
def test_whole_file(write: Write, lint: Lint, comment: str, body: str) -> None:
    write("a.py", f"{comment}\n{HEAD}{body}")
    result = lint("a.py")
    assert (result.exit_code, result.stdout) == (0, "")


def test_whole_file_for_some_rules(write: Write, lint: Lint) -> None:
    write("a.py", f"# flake8: noqa: TML202, E501\n{HEAD}torch.no_grad()\n")
    assert lint("a.py").stdout == ""
    write("a.py", f"# flake8: noqa: TML101\n{HEAD}torch.no_grad()\n")
    assert codes(lint("a.py")) == ["a.py:3:1 TML202"]
    write("a.py", f"x = 1  # flake8: noqa\n{HEAD}torch.no_grad()\n")
    assert codes(lint("a.py")) == ["a.py:3:1 TML202"]


def test_parse_errors_are_not_silenced_line_by_line(write: Write, lint: Lint) -> None:
    write("a.py", HEAD + "def broken(:  # noqa\n")
    assert codes(lint("a.py")) == ["a.py:2:12 TML900"]


@pytest.mark.parametrize(
    ("comment", "column"),
    [
        ("# noqa: TML202", 8),
        ("# noqa: TML2", 8),
        ("# noqa: F401, TML202", 8),
        ("# type: ignore # noqa: TML101", 23),
        ("# torchmemlint: ignore[TML202]", 8),
        ("# torchmemlint: ignore[accumulated-graph]", 8),
        ("# torchmemlint: ignore", 8),
        ("# torchmemlint: ignore[TML999]", 8),
    ],
)
def test_unused_suppression(write: Write, lint: Lint, comment: str, column: int) -> None:
    write("a.py", f"import torch\nx = 1  {comment}\n")
    assert codes(lint("a.py")) == [f"a.py:2:{column} TML901"]


@pytest.mark.parametrize(
    "comment", ["# noqa", "# noqa: F401", "# noqa: TML206", "# noqa: TML999", "# noqa: TML202, TML901", "# nothing"]
)
def test_suppression_that_is_nobodys_business(write: Write, lint: Lint, comment: str) -> None:
    write("a.py", f"import torch\nx = 1  {comment}\n")
    assert lint("a.py").stdout == ""


def test_unused_suppression_names_the_idle_codes_only(write: Write, lint: Lint) -> None:
    write("a.py", HEAD + "torch.no_grad()  # noqa: TML202, TML101, E501\n")
    (line,) = lint("a.py").stdout.splitlines()
    assert "TML901" in line
    assert "`TML101`" in line
    assert "TML202" not in line
    assert "E501" not in line


def test_rule_that_is_off_makes_no_suppression_unused(write: Write, lint: Lint) -> None:
    write("a.py", "import torch\nx = 1  # noqa: TML202\n")
    assert lint("--ignore", "TML202", "a.py").stdout == ""
    assert lint("--select", "TML101,TML901", "a.py").stdout == ""
    assert codes(lint("--select", "TML202,TML901", "a.py")) == ["a.py:2:8 TML901"]


def test_unused_suppression_in_a_file_without_torch(write: Write, lint: Lint) -> None:
    write("a.py", "x = 1  # noqa: TML202\n")
    assert codes(lint("a.py")) == ["a.py:1:8 TML901"]
