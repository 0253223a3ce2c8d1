"""JUnit's XML, as Jenkins, Azure Pipelines, Bamboo and others read it: a suite a file, a failure a finding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ...finding import Finding
from ..fingerprints import below
from . import text

if TYPE_CHECKING:
    from . import Context

# What XML 1.0 has no way to say: control characters and halves of surrogate pairs.
_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(findings: Sequence[Finding], context: Context) -> str:
    """One document; without findings a single test that has passed, since empty reports count as broken."""
    suites = ElementTree.Element("testsuites", name="torchmemlint", tests=str(max(len(findings), 1)))
    suites.set("failures", str(len(findings)))
    suites.set("errors", "0")
    for filename, group in groupby(findings, key=lambda finding: finding.filename):
        _suite(suites, _plain(below(filename, context.root)), list(group))
    if not findings:
        suite = _element(suites, "testsuite", name="torchmemlint", tests="1", failures="0", errors="0", time="0")
        _element(suite, "testcase", name="no findings", classname="torchmemlint", time="0")
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _suite(suites: ElementTree.Element, path: str, findings: Sequence[Finding]) -> None:
    count = str(len(findings))
    suite = _element(suites, "testsuite", name=path, tests=count, failures=count, errors="0", time="0")
    for finding in findings:
        cell = f"cell {finding.cell}:" if finding.cell is not None else ""
        name = f"{finding.code} at {cell}{finding.start.row}:{finding.start.column}"
        case = _element(suite, "testcase", name=name, classname=path.removesuffix(".py").replace("/", "."), time="0")
        case.set("file", path)
        case.set("line", str(finding.start.row))
        failure = _element(case, "failure", message=_plain(finding.said), type=finding.code)
        release = f"\nrelease: {finding.release}" if finding.release else ""
        failure.text = _plain(text.line(finding) + release)


def _element(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, attributes)


def _plain(value: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", value)
