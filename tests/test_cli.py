"""The command line: exit codes, settings, standard input, and the pages of the rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import CLEAN, NO_EFFECT, ROOT, Lint, Write, codes, lines

from torchmemlint import __version__
from torchmemlint.rules import registry


def test_exit_codes(write: Write, lint: Lint) -> None:
    write({"bad.py": NO_EFFECT, "good.py": CLEAN})
    assert lint("good.py").exit_code == 0
    assert lint("bad.py").exit_code == 1
    assert lint("good.py", "missing.py").exit_code == 2
    assert lint("--no-such-option").exit_code == 2
    assert lint("--exit-zero", "bad.py").exit_code == 0


def test_check_is_the_default_command_and_here_the_default_path(write: Write, lint: Lint) -> None:
    write({"src/bad.py": NO_EFFECT})
    expected = [f"{os.path.join('src', 'bad.py')}:3:1 TML202"]
    for args in ([], ["."], ["src"], ["check"], ["check", "src"], ["--isolated", "src"], ["--", "src"]):
        assert codes(lint(*args)) == expected, args


def test_a_folder_called_like_a_command_can_be_named(write: Write, lint: Lint) -> None:
    write({"rules/bad.py": NO_EFFECT})
    assert len(codes(lint("./rules"))) == len(codes(lint("check", "rules"))) == 1


def test_missing_path_is_named_with_a_hint_at_the_command(lint: Lint) -> None:
    result = lint("explian", "TML101")
    assert result.exit_code == 2
    assert "no such file or directory: explian; did you mean `explain`?" in result.stderr
    assert "did you mean" not in lint("zzz.py").stderr


def test_nothing_found_says_nothing(write: Write, lint: Lint) -> None:
    write("good.py", CLEAN)
    result = lint("good.py")
    assert (result.stdout, result.stderr) == ("", "")
    assert lint("--output-format", "json", "good.py").stdout == "[]\n"


def test_folder_without_python(lint: Lint) -> None:
    result = lint("--output-format", "json")
    assert (result.exit_code, result.stdout) == (0, "[]\n")
    assert "no Python files found" in result.stderr
    assert lint("--quiet").stderr == ""


def test_order_does_not_depend_on_the_order_of_arguments_or_on_jobs(write: Write, lint: Lint) -> None:
    write({f"{name}.py": NO_EFFECT * repeat for name, repeat in [("b", 3), ("a", 1), ("c", 20)]})
    expected = lint(".").stdout
    assert len(expected.splitlines()) == 24
    assert lint("c.py", "a.py", "b.py").stdout == expected
    assert lint("--jobs", "3", ".").stdout == expected
    assert lint("--jobs", "1", ".").stdout == expected


def test_show_files(write: Write, lint: Lint) -> None:
    root = write({"a.py": NO_EFFECT, "sub/b.pyi": "", "venv/c.py": ""})
    result = lint("--show-files")
    assert (result.exit_code, lines(result)) == (0, [str(root / "a.py"), str(root / "sub" / "b.pyi")])


def test_show_settings(write: Write, lint: Lint) -> None:
    root = write({"pyproject.toml": '[tool.torchmemlint]\nselect = ["TML1"]\nmin-confidence = "low"\n', "src/a.py": ""})
    result = lint("--show-settings", "--jobs", "2", "src")
    assert result.exit_code == 0
    assert f"# project root: {root}" in result.stdout
    assert f"# settings file: {root / 'pyproject.toml'}" in result.stdout
    assert 'min-confidence = "low"\n' in result.stdout
    assert "jobs = 2\n" in result.stdout
    assert '"TML101"' in result.stdout
    assert '"TML202"' not in result.stdout


OTHER = """
select = ["TML1", "TML206"]
ignore = ["TML900"]
min-confidence = "high"
per-file-ignores = { "té\U0001f600st/*" = ["ALL"] }
extend-exclude = ["a b"]
jobs = 3
baseline = "known.json"
"""


@pytest.mark.parametrize("text", ["", OTHER])
def test_shown_settings_are_a_settings_file(write: Write, lint: Lint, text: str) -> None:
    write({"torchmemlint.toml": text, "a.py": ""})
    shown = lint("--show-settings").stdout
    write("elsewhere.toml", shown)
    again = lint("--config", "elsewhere.toml", "--show-settings").stdout
    assert again.partition("select = ")[2] == shown.partition("select = ")[2] != ""


def test_shown_settings_say_which_file_counts_and_why(write: Write, lint: Lint) -> None:
    root = write({"torchmemlint.toml": "", "sub/torchmemlint.toml": "", "sub/a.py": "", "b.py": ""})
    for paths, start in ((["sub"], root / "sub"), (["sub/a.py"], root / "sub"), (["."], root), (["sub", "b.py"], root)):
        said = lint("--show-settings", *paths).stdout
        assert f"# settings file: {start / 'torchmemlint.toml'}\n" in said
        assert f"the nearest in or above {start}, which holds all that is linted\n" in said
    assert "# settings file: none, as `--isolated` says\n" in lint("--isolated", "--show-settings").stdout
    assert "as `--config` says\n" in lint("--config", "sub/torchmemlint.toml", "--show-settings").stdout


def test_output_file(write: Write, lint: Lint) -> None:
    root = write("a.py", NO_EFFECT)
    result = lint("--output-file", "report.txt", "a.py")
    assert (result.exit_code, result.stdout) == (1, "")
    assert (root / "report.txt").read_text().startswith("a.py:3:1: TML202 ")
    result = lint("-o", "missing/report.txt", "a.py")
    assert (result.exit_code, "no such folder: missing" in result.stderr) == (2, True)
    result = lint("-o", ".", "a.py")
    assert (result.exit_code, "cannot write ." in result.stderr) == (2, True)


@pytest.mark.parametrize("output_format", ["xml", "SARIF"])
def test_format_that_is_not_there(lint: Lint, output_format: str) -> None:
    result = lint("--output-format", output_format)
    assert result.exit_code == 2
    assert f"'{output_format}' is not one of 'text', 'full', 'json'" in result.stderr


def test_colour(write: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", NO_EFFECT)
    assert "\x1b[" not in lint("a.py").stdout
    assert "\x1b[" in lint("--color", "always", "a.py").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in lint("a.py").stdout
    assert "\x1b[" not in lint("--color", "never", "a.py").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in lint("a.py").stdout


def test_min_confidence_and_per_file_ignores(write: Write, lint: Lint) -> None:
    write({"a.py": NO_EFFECT, "tests/b.py": NO_EFFECT, "docs/c.py": NO_EFFECT})
    left = lint("--per-file-ignores", "tests/*:TML2,docs/*:grad-mode-call-without-effect", ".")
    assert codes(left) == ["a.py:3:1 TML202"]
    result = lint("--per-file-ignores", "tests", ".")
    assert (result.exit_code, "'tests' is not of the form PATTERN:RULE" in result.stderr) == (2, True)
    assert lint("--min-confidence", "sure").exit_code == 2


def test_several_selectors_in_one_option(write: Write, lint: Lint) -> None:
    write("a.py", NO_EFFECT)
    assert lint("--select", "TML101, TML202", "a.py").exit_code == 1
    assert lint("--select", "TML101", "--select", "TML2", "a.py").exit_code == 1
    assert lint("--select", "TML101", "a.py").exit_code == 0
    assert lint("--select", "TML101,", "a.py").exit_code == 0


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select"])
@pytest.mark.parametrize("value", ["", ",", " "])
def test_no_selector_at_all_is_misuse(write: Write, lint: Lint, option: str, value: str) -> None:
    write("a.py", NO_EFFECT)
    result = lint(option, value, "a.py")
    assert (result.exit_code, "no rule is named" in result.stderr) == (2, True)


@pytest.mark.parametrize("format_", ["text", "full", "json"])
def test_standard_input(write: Write, lint: Lint, format_: str) -> None:
    root = write({"pyproject.toml": '[tool.torchmemlint.per-file-ignores]\n"x.py" = ["ALL"]\n', "sub/a.py": CLEAN})
    result = lint("--output-format", format_, "--stdin-filename", "sub/a.py", "-", input=NO_EFFECT)
    assert result.exit_code == 1
    if format_ == "json":
        assert json.loads(result.stdout)[0]["filename"] == str(root / "sub" / "a.py")
    else:
        assert "sub/a.py:3:1" in result.stdout
    if format_ == "full":
        assert "3 | torch.no_grad()\n" in result.stdout
    assert lint("--stdin-filename", "x.py", "-", input=NO_EFFECT).exit_code == 0


def test_standard_input_in_special_cases(write: Write, lint: Lint) -> None:
    assert codes(lint("-", input=NO_EFFECT)) == ["-:3:1 TML202"]
    assert codes(lint("-", input=b"\xff")) == ["-:1:1 TML900"]
    assert lint("-", input="").exit_code == 0
    assert lint("-", "a.py", input="").exit_code == 2
    excluded = ["--exclude", "gen", "--stdin-filename", "gen/a.py", "-"]
    assert lint(*excluded, input=NO_EFFECT).exit_code == 1
    assert lint("--force-exclude", *excluded, input=NO_EFFECT).exit_code == 0


def test_a_name_for_standard_input_means_standard_input(write: Write, lint: Lint) -> None:
    root = write("a.py", CLEAN)
    assert codes(lint("--stdin-filename", "a.py", input=NO_EFFECT)) == ["a.py:3:1 TML202"]
    assert lint("--stdin-filename", "a.py", "a.py", input=NO_EFFECT).exit_code == 2
    assert lines(lint("--show-files", "--stdin-filename", "b.py", "-", input=NO_EFFECT)) == [str(root / "b.py")]
    assert lines(lint("--show-files", "-", input=NO_EFFECT)) == ["-"]


def test_a_settings_file_and_none_is_misuse(write: Write, lint: Lint) -> None:
    write({"a.py": CLEAN, "other.toml": ""})
    result = lint("--isolated", "--config", "other.toml", "a.py")
    assert (result.exit_code, "--config cannot be combined with --isolated" in result.stderr) == (2, True)


def test_version_and_help(lint: Lint) -> None:
    assert __version__ in lint("--version").stdout
    assert "explain" in lint("--help").stdout
    assert "--select" in lint("check", "-h").stdout


def test_rules(lint: Lint) -> None:
    rows = lines(lint("rules"))
    assert [row.split()[0] for row in rows] == list(registry())
    data = json.loads(lint("rules", "--output-format", "json").stdout)
    assert [rule["code"] for rule in data] == list(registry())
    assert {"name", "summary", "retains", "preview", "explanation", "url"} < set(data[0])


def test_explain(lint: Lint) -> None:
    for word in ("TML101", "tml101", "accumulated-graph"):
        page = lint("explain", word).stdout
        assert page.startswith("TML101 accumulated-graph\n========================\nretains: growing; on by default\n")
        assert "## What it does" in page
        assert "## Example (TML101/bad" in page
        assert "Measured (torch" in page
    assert "opt-in" in lint("explain", "TML206").stdout


@pytest.mark.parametrize("code", registry())
def test_pages_fit_a_terminal(lint: Lint, code: str) -> None:
    page, _, example = lint("explain", code).stdout.partition("\n## Example")
    assert max(map(len, page.splitlines())) <= 80
    assert example or not (ROOT / "fixtures" / code).is_dir()


def test_explain_of_no_rule(lint: Lint) -> None:
    result = lint("explain", "acumulated-graph")
    assert (result.exit_code, "did you mean `accumulated-graph`?" in result.stderr) == (2, True)


def test_linting_imports_neither_torch_nor_libcst(write: Write) -> None:
    write("a.py", NO_EFFECT)
    run = "import sys\nfrom torchmemlint.cli import cli\ncli.main(['a.py'], standalone_mode=False)\n"
    program = run + "assert not {'libcst', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
