"""A JSON list of findings with ruff's keys and our own: the shape that other programs read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...finding import Finding, Fix, Location, Related, Verdict

if TYPE_CHECKING:
    from . import Context

DOCUMENTATION: str | None = None  # where the rules' pages are published; none are, yet


def render(findings: Sequence[Finding], context: Context) -> str:
    """All findings as one JSON list."""
    return json.dumps([as_dict(finding) for finding in findings], indent=2) + "\n"


def as_dict(finding: Finding) -> dict[str, Any]:
    """The finding as plain data, in the keys that users may rely on."""
    data: dict[str, Any] = {
        "code": finding.code or None,  # none for growth that no rule reports
        "name": finding.name,
        "message": finding.message,
        "filename": os.path.abspath(finding.filename),
        "location": _location(finding.start),
        "end_location": _location(finding.end),
        "url": url(finding.name),
        "fix": None if finding.fix is None else _fix(finding.fix),
        "confidence": finding.confidence.label,
        "retains": None if finding.retains is None else finding.retains.value,
        "value": finding.value,
        "holder": finding.holder,
        "related": [_related(related) for related in finding.related],
    }
    if finding.cell is not None:
        data["cell"] = finding.cell
    if finding.verdict is not None:
        data["verdict"] = verdict(finding.verdict)
    return data


def verdict(of: Verdict) -> dict[str, Any]:
    """A verdict as plain data, without its curves."""
    data = {name: value for name, value in asdict(of).items() if name not in ("curve", "hits", "path", "after_fix")}
    data["path"] = list(of.path)
    data["after_fix"] = None if of.after_fix is None else verdict(of.after_fix)
    return data


def url(name: str) -> str | None:
    """The page of the rule called `name`, if there is one."""
    return None if DOCUMENTATION is None else f"{DOCUMENTATION}/{name}"


def _location(location: Location) -> dict[str, int]:
    return {"row": location.row, "column": location.column}


def _related(related: Related) -> dict[str, Any]:
    return {
        "filename": os.path.abspath(related.filename),
        "location": _location(related.start),
        "end_location": _location(related.end),
        "message": related.message,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [
        {"content": edit.content, "location": _location(edit.start), "end_location": _location(edit.end)}
        for edit in fix.edits
    ]
    return {"applicability": fix.applicability, "message": fix.message, "edits": edits}
