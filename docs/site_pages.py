"""A hook of mkdocs: a page for each rule, from the rule, its fixtures and their receipts, and the navigation."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from torchmemlint.rules import Rule, registry  # noqa: E402 -- its path is set above

PAGES = (
    ("Start", "index.md"),
    ("Settings", "settings.md"),
    ("Fixes", "fixes.md"),
    ("Adopting it", "adopting.md"),
    ("CI and commits", "integrations.md"),
    ("Editors", "editors.md"),
    ("Verifying", "verifying.md"),
    ("Folklore", "folklore.md"),
    ("How it works", "analysis.md"),
    ("Measured", "measured.md"),
    ("Speed", "speed.md"),
    ("Writing a rule", "writing-a-rule.md"),
)
FAMILIES = {
    "1": "Graphs",
    "2": "Grad mode",
    "3": "Holders",
    "4": "Processes and data",
    "5": "Threads and tasks",
    "6": "Cleaning up",
    "7": "Devices and other libraries",
    "8": "Notebooks",
    "9": "About the linter",
}
_ISSUE = re.compile(r"(?<![\w/`])([\w.-]+/[\w.-]+)#(\d+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation: the pages there are, and the rules by family."""
    there = [{title: name} for title, name in PAGES if (ROOT / "docs" / name).exists()]
    families: dict[str, list[Any]] = {}
    for rule in registry().values():
        families.setdefault(FAMILIES[rule.code[3]], []).append({f"{rule.code} {rule.name}": _path(rule)})
    rules = ["rules/index.md", *({family: pages} for family, pages in families.items())]
    config.nav = [*there[:1], {"Rules": rules}, *there[1:]]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what is generated."""
    files.append(File.generated(config, "rules/index.md", content=_index()))
    for rule in registry().values():
        files.append(File.generated(config, _path(rule), content=page(rule)))
    return files


def _path(rule: Rule) -> str:
    return f"rules/{rule.name}.md"


def _index() -> str:
    rows = [
        f"| [{rule.code}]({rule.name}.md) | [{rule.name}]({rule.name}.md) | {_retains(rule)} | {rule.summary} |"
        for rule in registry().values()
    ]
    head = "# Rules\n\n`torchmemlint rules` prints this list, `torchmemlint explain CODE` a rule's page.\n\n"
    return head + "| code | name | retains | what |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def _retains(rule: Rule) -> str:
    return rule.retains.value if rule.retains else "nothing"


def page(rule: Rule) -> str:
    """A rule's page as Markdown."""
    state = "opt-in: select it by its code, or use `--preview`" if rule.preview else "on by default"
    parts = [f"# {rule.code} {rule.name}", f"*Retains: {_retains(rule)}; {state}.*", _markdown(rule.doc.strip())]
    bad = sorted((ROOT / "fixtures" / rule.code).glob("bad*.py"), key=lambda file: (file.stat().st_size, file.name))
    if bad:
        good = bad[0].with_name(bad[0].name.replace("bad", "good", 1))
        parts.append("## Example")
        parts += _receipt(bad[0])
        tabs = [("What is reported", bad[0]), *([("Its good twin", good)] if good.exists() else [])]
        parts += [_tab(title, file) for title, file in tabs]
    return "\n\n".join(parts) + "\n"


def _markdown(doc: str) -> str:
    """The docstring with what Markdown needs besides: an empty line before a list, links for issues."""
    doc = re.sub(r"(?m)^(?!- |  )(\S.*)\n(?=- )", r"\1\n\n", doc)
    return _ISSUE.sub(r"[\1#\2](https://github.com/\1/issues/\2)", doc)


def _tab(title: str, file: Path) -> str:
    text = file.read_text(encoding="utf-8").rstrip()
    block = f'```python title="fixtures/{file.parent.name}/{file.name}"\n{text}\n```'
    return f'=== "{title}"\n\n' + "\n".join(f"    {line}".rstrip() for line in block.splitlines())


def _receipt(bad: Path) -> list[str]:
    """What running the example showed, on each device that it was run on."""
    file = bad.with_name("receipts.json")
    if not file.exists():
        return []
    parts = []
    for device, pairs in sorted(json.loads(file.read_text(encoding="utf-8")).items()):
        receipt = pairs.get(bad.stem)
        if receipt is None:
            continue
        held = " -> ".join(f"`{step}`" for step in receipt["bad"].get("held_by") or ())
        lines = [f'!!! success "Measured: {receipt["bad"]["verdict"]}"', ""]
        lines += [f"    {receipt['said']}", "", f"    torch {receipt['torch']}, {receipt.get('card', device)}."]
        parts.append("\n".join(lines + (["", f"    Held by {held}."] if held else [])))
    return parts
