"""Workflow commands of GitHub Actions: each finding becomes an annotation on the line of the pull request.

Format: GitHub documentation, "Workflow commands for GitHub Actions", setting an error message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...finding import Confidence, Finding
from ..fingerprints import below
from . import text

if TYPE_CHECKING:
    from . import Context

_LEVELS = {Confidence.HIGH: "error", Confidence.MEDIUM: "warning", Confidence.LOW: "notice"}


def render(findings: Sequence[Finding], context: Context) -> str:
    """One workflow command a finding."""
    return "".join(_command(finding, context) + "\n" for finding in findings)


def _command(finding: Finding, context: Context) -> str:
    place = {
        "title": f"torchmemlint ({finding.code})",
        "file": below(finding.filename, context.root),
        "line": finding.start.row,
        "endLine": finding.end.row,
    }
    if finding.end.row == finding.start.row:  # the service takes columns within one line only
        place |= {"col": finding.start.column, "endColumn": finding.end.column}
    if finding.cell is not None:  # rows count within the cell, and the service knows no cells
        place = {key: place[key] for key in ("title", "file")}
    message = text.line(finding)
    if finding.release:
        message += f"\nrelease: {finding.release}"
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in place.items())
    return f"::{_LEVELS[finding.confidence]} {properties}::{_data(message)}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
