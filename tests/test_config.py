"""Settings files, the options over them, and which rules they turn on."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import NO_EFFECT, Lint, Write, codes

from torchmemlint.config import ConfigError, Settings, load
from torchmemlint.linter.selection import resolve, select
from torchmemlint.rules import registry


def selected(folder: Path, text: str = "", **overrides: object) -> set[str]:
    (folder / "torchmemlint.toml").write_text(text)
    settings = load(folder, {key.replace("_", "-"): value for key, value in overrides.items()})
    return set(select(settings, registry()).codes) - {"TML900"}


def family(prefix: str, *, preview: bool = False) -> set[str]:
    return {
        code
        for code, rule in registry().items()
        if code.startswith(prefix) and (preview or not rule.preview) and code != "TML900"
    }


def test_default_is_every_rule_that_is_not_opt_in(folder: Path) -> None:
    assert selected(folder) == family("TML")
    assert selected(folder, preview=True) == family("TML", preview=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('select = ["TML2"]', family("TML2")),
        ('select = ["ALL"]', family("TML")),
        ('select = ["tml101"]', {"TML101"}),
        ('select = ["accumulated-graph"]', {"TML101"}),
        ('select = ["TML2"]\nignore = ["TML202"]', family("TML2") - {"TML202"}),
        ('select = ["TML202"]\nignore = ["TML2"]', {"TML202"}),
        ('select = ["TML202"]\nignore = ["TML202"]', set()),
        ('select = ["TML101"]\nextend-select = ["TML202"]', {"TML101", "TML202"}),
        (
            'select = ["ALL"]\nignore = ["TML2"]\nextend-select = ["TML203"]',
            family("TML") - family("TML2") | {"TML203"},
        ),
        ('extend-ignore = ["TML1"]', family("TML") - family("TML1")),
        ('extend-select = ["TML206"]', family("TML") | {"TML206"}),
        ('select = ["TML206"]', {"TML206"}),
        ('select = ["prefer-inference-mode"]', {"TML206"}),
        ('preview = true\nselect = ["TML2"]', family("TML2", preview=True)),
        ("select = []", set()),
    ],
)
def test_selectors(folder: Path, text: str, expected: set[str]) -> None:
    assert selected(folder, text) == expected


def test_select_on_the_command_line_starts_afresh(folder: Path) -> None:
    text = 'select = ["TML1"]\nignore = ["TML202"]'
    assert selected(folder, text, select=["TML2"]) == family("TML2")
    assert selected(folder, text, extend_select=["TML202"]) == family("TML1") | {"TML202"}
    assert selected(folder, text, ignore=["TML101"]) == family("TML1") - {"TML101"}


def test_unreadable_files_are_reported_until_ignored(write: Write, lint: Lint) -> None:
    write("a.py", "def broken(:\n")
    assert codes(lint("--select", "TML101", "a.py")) == ["a.py:1:12 TML900"]
    assert lint("--ignore", "TML900", "a.py").exit_code == 0
    assert lint("--ignore", "TML", "a.py").exit_code == 0
    assert lint("--per-file-ignores", "a.py:TML900", "a.py").exit_code == 0


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("TML1O1", "did you mean `TML101`?"),
        ("acumulated-graph", "did you mean `accumulated-graph`?"),
        ("TML0", ""),
        ("", ""),
    ],
)
def test_selector_that_names_no_rule(word: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"here: no rule is called `{word}`") as info:
        resolve(word, registry(), "here")
    assert hint in str(info.value)


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select", "--extend-ignore"])
def test_unknown_rule_is_misuse_and_says_where(write: Write, lint: Lint, option: str) -> None:
    write("a.py", NO_EFFECT)
    result = lint(option, "TML1O1", "a.py")
    assert result.exit_code == 2
    assert "the command line: no rule is called `TML1O1`" in result.stderr
    write("pyproject.toml", f'[tool.torchmemlint]\n{option[2:]} = ["TML1O1"]\n')
    result = lint("a.py")
    assert result.exit_code == 2
    assert "pyproject.toml: no rule is called `TML1O1`; did you mean `TML101`?" in result.stderr


def test_nearest_file_wins_and_a_foreign_pyproject_is_passed_by(write: Write) -> None:
    root = write(
        {
            "pyproject.toml": '[tool.torchmemlint]\njobs = 3\n[tool.other]\nx = "y"\n',
            "inner/torchmemlint.toml": "jobs = 4\n",
            "inner/pyproject.toml": "[tool.torchmemlint]\njobs = 5\n",
            "plain/pyproject.toml": "[project]\nname = 'x'\n",
            "plain/deep/a.py": "",
        }
    )
    assert (load(root, {}).jobs, load(root, {}).root) == (3, root)
    assert (load(root / "inner", {}).jobs, load(root / "inner", {}).root) == (4, root / "inner")
    assert load(root / "plain" / "deep", {}).config_file == root / "pyproject.toml"
    assert load(root / "plain", {}, isolated=True) == load(root / "plain", {"jobs": None}, isolated=True)
    assert load(root / "plain", {}, isolated=True).jobs is None


def test_root_without_settings(tmp_path: Path) -> None:
    deep = tmp_path / "project" / "src" / "package"
    deep.mkdir(parents=True)
    (tmp_path / "project" / "src" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "project" / ".git").mkdir()
    assert load(deep, {}).root == tmp_path / "project" / "src"
    (tmp_path / "project" / "src" / "pyproject.toml").unlink()
    assert load(deep, {}).root == tmp_path / "project"
    assert load(deep, {}, isolated=True).root == deep


def test_all_keys(folder: Path) -> None:
    (folder / "torchmemlint.toml").write_text(
        """
        preview = true
        min-confidence = "low"
        exclude = ["a"]
        extend-exclude = ["b"]
        force-exclude = true
        respect-gitignore = false
        jobs = 2
        max-file-size = 100
        output-format = "json"
        [per-file-ignores]
        "tests/*" = ["TML1"]
        [extend-per-file-ignores]
        "docs/*" = ["TML2"]
        """
    )
    settings = load(folder, {"extend-exclude": ["c"], "jobs": 7})
    assert settings.min_confidence.label == "low"
    assert settings.exclude == ("a", "b", "c")
    assert settings.per_file_ignores == (("tests/*", ("TML1",)), ("docs/*", ("TML2",)))
    assert (settings.preview, settings.force_exclude, settings.respect_gitignore) == (True, True, False)
    assert (settings.jobs, settings.max_file_size, settings.output_format) == (7, 100, "json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "unknown setting `selct`; did you mean `select`?"),
        ("per_file_ignores = {}", "did you mean `per-file-ignores`?"),
        ("zzz = 1", "unknown setting `zzz`"),
        ('select = "TML1"', "`select` must be a list of strings"),
        ("ignore = [1]", "`ignore` must be a list of strings"),
        ("preview = 1", "`preview` must be true or false"),
        ("jobs = true", "`jobs` must be a number above zero"),
        ("jobs = 0", "`jobs` must be a number above zero"),
        ('min-confidence = "sure"', '`min-confidence` must be one of "low", "medium", "high"'),
        ('output-format = "xml"', '`output-format` must be one of "text", "full", "json"'),
        ('per-file-ignores = ["TML1"]', "`per-file-ignores` must be a table of file patterns"),
        ("select = [", "not valid TOML"),
        ('per-file-ignores = { "a.py" = ["TML1O1"] }', "per-file-ignores: no rule is called `TML1O1`"),
    ],
)
def test_mistakes_are_named(write: Write, lint: Lint, text: str, message: str) -> None:
    write({"torchmemlint.toml": text, "a.py": NO_EFFECT})
    result = lint("a.py")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "torchmemlint.toml" in result.stderr or "per-file-ignores:" in result.stderr
    assert result.stdout == ""


def test_settings_that_are_no_table_or_no_text(write: Write, lint: Lint) -> None:
    write({"pyproject.toml": "tool.torchmemlint = 1\n", "a.py": ""})
    assert "`tool.torchmemlint` must be a table" in lint("a.py").stderr
    write("pyproject.toml", b"\xff")
    assert "cannot be read: not valid UTF-8" in lint("a.py").stderr


def test_config_option(write: Write, lint: Lint) -> None:
    write({"a.py": NO_EFFECT, "torchmemlint.toml": 'ignore = ["TML202"]', "other.toml": "preview = false"})
    assert lint("a.py").exit_code == 0
    assert lint("--config", "other.toml", "a.py").exit_code == 1
    assert lint("--isolated", "a.py").exit_code == 1
    result = lint("--config", "missing.toml", "a.py")
    assert (result.exit_code, "missing.toml: cannot be read" in result.stderr) == (2, True)


def test_min_confidence(folder: Path) -> None:
    assert Settings(folder).min_confidence.label == "medium"


@pytest.mark.parametrize(
    ("pattern", "path", "ignored"),
    [
        ("a.py", "deep/er/a.py", True),
        ("deep/*", "deep/er/a.py", True),
        ("deep", "deep/a.py", False),
        ("**/er/*.py", "deep/er/a.py", True),
        ("**/er/*.py", "er/a.py", True),
        ("./er/a.py", "er/a.py", True),
        ("er/a.py", "deep/er/a.py", False),
        ("?.py", "b.py", True),
        ("[!a].py", "a.py", False),
        ("{a,b}.py", "b.py", True),
        ("!er/*", "a.py", True),
        ("!er/*", "er/a.py", False),
    ],
)
def test_per_file_ignores(write: Write, lint: Lint, pattern: str, path: str, ignored: bool) -> None:
    write({path: NO_EFFECT, "pyproject.toml": f'[tool.torchmemlint.per-file-ignores]\n"{pattern}" = ["TML2"]\n'})
    assert (lint(".").exit_code == 0) is ignored
    assert (lint(path).exit_code == 0) is ignored


@pytest.mark.parametrize("isolated", [True, False])
def test_root_without_a_project_is_the_whole_package(isolated: bool, tmp_path: Path) -> None:
    """Whichever of its files are named: they import each other."""
    inner = tmp_path / "package" / "models" / "heads"
    inner.mkdir(parents=True)
    for folder in (tmp_path / "package", tmp_path / "package" / "models", inner):
        (folder / "__init__.py").touch()
    assert load(inner, {}, isolated=isolated).root == tmp_path / "package"
    assert load(tmp_path, {}, isolated=isolated).root == tmp_path
