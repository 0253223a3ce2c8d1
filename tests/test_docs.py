"""The documentation: its commands print what it says, its settings are read, and its site has no dead links."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import NO_EFFECT, ROOT, Lint, Run, Write

from torchmemlint.config import KEYS
from torchmemlint.linter.reports.pages import page
from torchmemlint.rules import registry

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.M | re.S)


def blocks(path: Path) -> list[tuple[str, str, str]]:
    """Language, title and text of every code block."""
    return [(m["language"], m["title"] or "", m["text"]) for m in BLOCK.finditer(path.read_text("utf-8"))]


def consoles(path: Path) -> list[str]:
    return [text for language, _, text in blocks(path) if language == "console"]


@pytest.mark.parametrize("path", [path for path in PAGES if consoles(path)], ids=lambda path: path.name)
def test_commands_print_what_the_page_says(path: Path, write: Write, run: Run) -> None:
    """Files with a title are written, then the commands are run one after the other."""
    root = write({title: text for language, title, text in blocks(path) if language == "python" and title})
    for text in consoles(path):
        for part in re.split(r"(?m)^\$ ", text)[1:]:
            command, _, expected = part.partition("\n")
            assert shown(command, run, root) == expected, command


def shown(command: str, run: Run, root: Path) -> str:
    """What a command prints."""
    if command.startswith("torchmemlint "):
        done = run(*shlex.split(command)[1:])
        return done.stdout + done.stderr
    if command.split()[0] not in ("cat", "grep", "ls"):
        pytest.fail(f"who runs {command}?")
    return subprocess.run(command, shell=True, cwd=root, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_settings_shown_are_read(path: Path, write: Write, lint: Lint) -> None:
    for number, (language, _, text) in enumerate(blocks(path)):
        if language == "toml" and "tool.torchmemlint]" in text:
            root = write({f"{number}/pyproject.toml": text, f"{number}/a.py": "x = 1\n"})
            table = tomllib.loads(text)["tool"]["torchmemlint"]
            if "baseline" in table:
                (root / str(number) / table["baseline"]).write_text('{"version": 1, "findings": []}')
            assert lint(str(number)).exit_code == 0


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert [key for key in KEYS if f"`{key}`" not in text] == []


def test_every_option_named_in_the_docs_exists(lint: Lint) -> None:
    known = "".join(lint(name, "--help").stdout for name in ("check", "explain", "rules", "verify", "clean"))
    named = {
        option
        for path in PAGES
        for line in path.read_text("utf-8").splitlines()
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", line)
        if "torchmemlint" in line or line.startswith("| `--")
    }
    foreign = {"--quiet", "--editable", "--constraint", "--entry"}
    assert [option for option in sorted(named - foreign) if option not in known] == []


@pytest.mark.parametrize("code", registry())
def test_explain_fits_a_terminal(code: str) -> None:
    text = page(registry()[code])
    head = text.split("\n## Example")[0]
    assert max(map(len, head.splitlines())) <= 100
    assert text.endswith("\n")


def test_ruff_keeps_our_suppressions(write: Write) -> None:
    """The note for ruff, with the real ruff: without it, RUF102 takes our codes out."""
    ruff = shutil.which("ruff") or pytest.skip("ruff is not installed")
    text = NO_EFFECT.rstrip("\n") + "  # noqa: TML202\n"
    (settings,) = (t for _, _, t in blocks(ROOT / "docs" / "integrations.md") if "external" in t)
    command = [ruff, "check", "--no-cache", "--select", "RUF100,RUF102", "a.py"]
    write({"a.py": text})
    assert subprocess.run(command, capture_output=True).returncode == 1
    write("pyproject.toml", settings)
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert settings.split("\n", 1)[1] in (ROOT / "README.md").read_text("utf-8")


def test_problem_matcher_of_vs_code(write: Write, lint: Lint) -> None:
    (task,) = (t for _, title, t in blocks(ROOT / "docs" / "editors.md") if title == ".vscode/tasks.json")
    pattern = json.loads(task)["tasks"][0]["problemMatcher"]["pattern"]
    write({"a b.py": NO_EFFECT})
    (line,) = lint(".").stdout.splitlines()
    match = re.match(pattern["regexp"], line)
    assert match is not None
    assert [match[pattern[key]] for key in ("file", "line", "column", "code")] == ["a b.py", "3", "1", "TML202"]


class Links(HTMLParser):
    """The targets of links in a page, and the places that links can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key in ("href", "src") and value:
                self.targets.append(value)
            elif key in ("id", "name") and value:
                self.places.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def test_site_has_a_page_for_each_rule(site: Path) -> None:
    for rule in registry().values():
        text = (site / "rules" / rule.name / "index.html").read_text("utf-8")
        assert f"{rule.code} {rule.name}" in text
        assert ("What is reported" in text) == (ROOT / "fixtures" / rule.code).is_dir()


def test_links_of_the_site_lead_somewhere(site: Path) -> None:
    pages = {path: Links(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    dead = []
    for path, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.exists() or (parts.fragment and to in pages and parts.fragment not in pages[to].places):
                dead.append(f"{path.relative_to(site)}: {target}")
    assert dead == []


def test_report_of_the_readme(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    block = next(
        re.finditer(r"^```\n\$ torchmemlint (.*)\n((?s:.*?))^```$", (ROOT / "README.md").read_text("utf-8"), re.M)
    )
    assert run("--isolated", *shlex.split(block[1])).stdout == block[2]


def test_links_of_the_readme_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", (ROOT / "README.md").read_text("utf-8"))
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
