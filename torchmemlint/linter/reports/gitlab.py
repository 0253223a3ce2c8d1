"""GitLab's code quality report: a subset of Code Climate's issues, shown on the merge request.

Format: GitLab documentation, "Code Quality", "Code Quality report format".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...finding import Confidence, Finding
from ..fingerprints import below, fingerprints
from .json import url

if TYPE_CHECKING:
    from . import Context

_SEVERITIES = {Confidence.HIGH: "major", Confidence.MEDIUM: "minor", Confidence.LOW: "info"}


def render(findings: Sequence[Finding], context: Context) -> str:
    """A JSON list with one issue a finding."""
    prints = fingerprints(findings, context.lines, context.root)
    issues = [_issue(finding, print, context) for finding, print in zip(findings, prints, strict=True)]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Finding, fingerprint: str, context: Context) -> dict[str, object]:
    page = url(finding.name)
    body = [part for part in (finding.release and f"Release: {finding.release}.", page and f"See {page}") if part]
    return {
        "type": "issue",
        "categories": ["Performance"],
        "check_name": finding.code,
        "description": f"{finding.code} {finding.said}",
        **({"content": {"body": " ".join(body)}} if body else {}),
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.confidence],
        "location": {
            "path": below(finding.filename, context.root),
            "positions": {
                "begin": {"line": finding.start.row, "column": finding.start.column},
                "end": {"line": finding.end.row, "column": finding.end.column},
            },
            "lines": {"begin": finding.start.row, "end": finding.end.row},
        },
    }
