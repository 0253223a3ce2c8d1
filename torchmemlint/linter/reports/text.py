"""flake8's shape, `path:row:col: CODE message`: for editors, `grep` and eyes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ...finding import Finding

if TYPE_CHECKING:
    from . import Context


def render(findings: Sequence[Finding], context: Context) -> str:
    """One line a finding."""
    return "".join(line(finding, color=context.color) + "\n" for finding in findings)


def line(finding: Finding, *, color: bool = False) -> str:
    """The line for one finding; without colour, exactly flake8's."""
    parts = [finding.filename]
    if finding.cell is not None:
        parts.append(f"cell {finding.cell}")
    parts += [str(finding.start.row), str(finding.start.column)]
    message = " ".join(finding.said.split())
    if not color:
        return f"{':'.join(parts)}: {finding.code} {message}"
    colon = click.style(":", fg="cyan")
    parts[0] = click.style(parts[0], bold=True)
    return f"{colon.join(parts)}{colon} {click.style(finding.code, fg='red', bold=True)} {message}"
