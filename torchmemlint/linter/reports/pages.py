"""Rules for reading: the list of all, and the page of one with its measured example."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from pathlib import Path

import click

from ...rules import Rule
from .json import url

_PACKAGE = Path(__file__).parents[2]
_FIXTURES = (_PACKAGE / "_fixtures", _PACKAGE.parent / "fixtures")  # in a wheel, in a checkout


def listing(rules: Iterable[Rule], output_format: str) -> str:
    """All rules: a line each, or a JSON list."""
    rules = list(rules)
    if output_format == "json":
        return json.dumps([_as_dict(rule) for rule in rules], indent=2) + "\n"
    width = max((len(rule.name) for rule in rules), default=0)
    lines = (f"{rule.code}  {rule.name:<{width}}  {_retains(rule):<8}  {rule.summary}" for rule in rules)
    return "".join(line + "\n" for line in lines)


def page(rule: Rule, *, color: bool = False) -> str:
    """A rule's page: its documentation, and the shortest fixture that it was measured on."""
    head = f"{rule.code} {rule.name}"
    state = "opt-in: select it by its code, or use --preview" if rule.preview else "on by default"
    lines = [head, "=" * len(head), f"retains: {_retains(rule)}; {state}", "", *rule.doc.strip().splitlines()]
    example = _example(rule.code)
    if example is not None:
        lines += ["", f"## Example ({example.parent.name}/{example.name})", ""]
        lines += [f"    {line}".rstrip() for line in example.read_text(encoding="utf-8").strip().splitlines()]
        lines += _receipt(example)
    if color:
        lines = [click.style(line, bold=True) if line.startswith(("## ", head)) else line for line in lines]
    return "\n".join(lines) + "\n"


def _receipt(example: Path) -> list[str]:
    """What running the example showed, on each device that it was run on."""
    file = example.with_name("receipts.json")
    if not file.exists():
        return []
    lines = []
    for device, pairs in sorted(json.loads(file.read_text(encoding="utf-8")).items()):
        receipt = pairs.get(example.stem)
        if receipt is None:
            continue
        where = f"torch {receipt['torch']}, {receipt.get('card', device)}, {receipt['steps']} and twice as many steps"
        lines += [f"    {receipt['bad']['verdict']} ({where})", f"    {receipt['said']}"]
        if receipt["bad"]["held_by"]:
            lines.append(f"    held by {' -> '.join(receipt['bad']['held_by'])}")
    wrapped = [
        row
        for line in lines
        for row in textwrap.wrap(line.strip(), 78, initial_indent="    ", subsequent_indent=" " * 6)
    ]
    return ["", "## Measured", "", *wrapped] if lines else []


def _example(code: str) -> Path | None:
    """The shortest file that is bad by this rule; None where the fixtures are not at hand."""
    bad = [file for folder in _FIXTURES for file in (folder / code).glob("bad*.py")]
    return min(bad, key=lambda file: (file.stat().st_size, file.name), default=None)


def _retains(rule: Rule) -> str:
    return rule.retains.value if rule.retains else "nothing"


def _as_dict(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "retains": rule.retains.value if rule.retains else None,
        "preview": rule.preview,
        "explanation": rule.doc,
        "url": url(rule.name),
    }
