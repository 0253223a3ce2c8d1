"""SARIF 2.1.0, for GitHub code scanning and other viewers of static analysis.

Format: OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0"; what GitHub
reads of it: GitHub documentation, "SARIF support for code scanning".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...finding import Confidence, Edit, Finding, Fix, Location
from ...rules import Rule, registry
from ..fingerprints import fingerprints
from . import places
from .json import url, verdict

if TYPE_CHECKING:
    from . import Context

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Confidence.HIGH: "error", Confidence.MEDIUM: "warning", Confidence.LOW: "note"}
_PRECISIONS = {Confidence.HIGH: "high", Confidence.MEDIUM: "medium", Confidence.LOW: "low"}
_ROOT = "SRCROOT"


def render(findings: Sequence[Finding], context: Context) -> str:
    """One log with one run."""
    rules = [*registry().values()]
    indices = {rule.code: index for index, rule in enumerate(rules)}
    prints = fingerprints(findings, context.lines, context.root)
    run = {
        "tool": {"driver": _driver(rules)},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": context.root.as_uri().rstrip("/") + "/"}},
        "results": [_result(f, print, indices, context) for f, print in zip(findings, prints, strict=True)],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _driver(rules: Sequence[Rule]) -> dict[str, Any]:
    return {
        "name": "torchmemlint",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in rules],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    page = url(rule.name)
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": _section(rule.doc, "What it does") or rule.summary},
        "help": {"text": rule.doc.strip(), "markdown": f"# {rule.code} {rule.name}\n\n{rule.doc.strip()}\n"},
        **({"helpUri": page} if page else {}),
        "defaultConfiguration": {"enabled": not rule.preview, "level": "warning"},
        "properties": {"tags": ["memory", "pytorch", *([rule.retains.value] if rule.retains else [])]},
    }


def _section(doc: str, heading: str) -> str:
    """The first paragraph under a heading, on one line."""
    found = re.search(rf"^## {heading}\n(.+?)(?:\n\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def _result(finding: Finding, fingerprint: str, indices: Mapping[str, int], context: Context) -> dict[str, Any]:
    known = {"ruleIndex": indices[finding.code]} if finding.code in indices else {}
    detail = {"value": finding.value, "holder": finding.holder, "release": finding.release}
    result = {
        "ruleId": finding.code,
        **known,
        "level": _LEVELS[finding.confidence],
        "message": {"text": finding.said},
        "locations": [{"physicalLocation": _place(finding.filename, finding.start, finding.end, context)}],
        "partialFingerprints": {"torchmemlint/v1": fingerprint},
        "properties": {
            "precision": _PRECISIONS[finding.confidence],
            **({"retains": finding.retains.value} if finding.retains else {}),
            **({"cell": finding.cell} if finding.cell is not None else {}),
            **{key: value for key, value in detail.items() if value},
            **({"verdict": verdict(finding.verdict)} if finding.verdict else {}),
        },
    }
    if finding.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": _place(related.filename, related.start, related.end, context),
                "message": {"text": related.message},
            }
            for number, related in enumerate(finding.related, 1)
        ]
    if finding.fix is not None and finding.cell is None:
        result["fixes"] = [_fix(finding.filename, finding.fix, context)]
    return result


def _fix(filename: str, fix: Fix, context: Context) -> dict[str, Any]:
    return {
        "description": {"text": fix.message},
        "artifactChanges": [
            {"artifactLocation": _artifact(filename, context), "replacements": [_replacement(e) for e in fix.edits]}
        ],
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    return {"deletedRegion": _region(edit.start, edit.end), "insertedContent": {"text": edit.content}}


def _place(filename: str, start: Location, end: Location, context: Context) -> dict[str, Any]:
    return {"artifactLocation": _artifact(filename, context), "region": _region(start, end)}


def _artifact(filename: str, context: Context) -> dict[str, str]:
    uri, relative = places.uri(filename, context.root)
    return {"uri": uri, "uriBaseId": _ROOT} if relative else {"uri": uri}


def _region(start: Location, end: Location) -> dict[str, int]:
    return {
        "startLine": start.row,
        "startColumn": start.column,
        "endLine": max(end.row, start.row),
        "endColumn": end.column,
    }
