"""One file through the analysis: text -> facts -> abstract run -> evidence -> rules -> findings."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

from ..evidence.evidence import Evidence
from ..facts import model as m
from ..facts.lower import lower
from ..facts.model import CALLS_PER_STATEMENT, FileFacts, Site, Stmt, file_of
from ..facts.outline import Outline
from ..facts.positions import displays, positions
from ..finding import Confidence, Finding, Location, Related, Remedy
from ..interpreter.entries import run
from ..interpreter.linking import Project
from ..interpreter.machine import Machine
from ..notebook import percent_cells
from ..rules import Report, Rule
from ..source import Source, Unreadable, read
from .callers import without_gradients, without_workers
from .emptied_elsewhere import is_emptied_by_others
from .led import said_besides
from .limits import unreadable
from .makers import goes_at_once

_OF_GRAPHS = frozenset("TML101 TML102 TML105 TML107 TML108 TML201 TML204 TML205".split())
Spoken = tuple[Rule, Report]
Place = tuple[str, Location, Location]  # path as the user would name it, start, end


def facts_of(source: Source) -> FileFacts:
    """The facts of one file. Raises Unreadable where no parser can read the text."""
    try:
        return lower(source.text, zlib.crc32(source.raw) + 1)
    except SyntaxError as error:
        raise unreadable(error) from error


def findings(
    source: Source, outline: Outline, rules: Collection[Rule], path: str = "", project: Project | None = None
) -> list[Finding]:
    """All findings of one file, unsorted and with suppressions not applied yet.

    `path` is the file's absolute path: what it imports is looked up in the project, if there is one.
    """
    machine = run(outline, path, project)
    evidence = Evidence(machine)
    cells = source.cells or percent_cells(source.text)
    if cells:
        evidence.displays = displays(source.text, cells, machine.facts.number)
    speaking = [rule for rule in rules if rule.of_tests or not evidence.in_tests]
    spoken = [(rule, report) for rule in speaking for report in rule.check(evidence) if machine.is_home(report.site)]
    spoken = _in_plain_words(evidence, speaking, spoken)
    told: dict[int, frozenset[int]] = {}
    spoken = [one for one in spoken if not _says_itself(machine, one[1], rules, project, told)]
    led, more = said_besides(outline, speaking, spoken, path, project)
    spoken += more
    spoken = [one for one in spoken if not _others_tell_better(one, outline.whole, source.text, path, project)]
    if not spoken:
        return []
    units = {**machine.units, **(led.units if led is not None else {})}
    files = {unit.facts.number: unit.path for unit in units.values() if unit.path != machine.home.path}
    places = _places(source, machine, files, [report for _, report in spoken])
    made = {}
    for rule, report in reversed(spoken):
        place = places[report.site][1] if report.site in places else report.site
        made[rule.code, place] = _finding(source, rule, report, places)
    return list(made.values())


def _in_plain_words(evidence: Evidence, rules: Collection[Rule], spoken: list[Spoken]) -> list[Spoken]:
    """With what rules say of the text in plain words, but for what is said of one of these statements as it is
    written; and without what they say only of the words."""
    other = evidence.in_plain_words()
    if other is None:
        return spoken
    said = {place for _, report in spoken for place in _statements(report)}
    words = {report.message for _, report in spoken}
    found: list[Spoken] = []
    plainly: set[tuple[str, int]] = set()  # the statements that a rule speaks of in plain words
    for rule in rules:
        for report in rule.check(other):
            places = _statements(report, other.words.led)
            plainly.update((rule.code, place) for place in places)
            if evidence.machine.is_home(report.site) and said.isdisjoint(places) and report.message not in words:
                found.append((rule, _where_it_stands(report, other.words.stands)))
    doubtful = [one for one in spoken if plainly.isdisjoint((one[0].code, place) for place in _statements(one[1]))]
    taken_back = _of_words(evidence, doubtful) if doubtful else []
    return [one for one in spoken if one not in taken_back] + found


def _of_words(evidence: Evidence, spoken: list[Spoken]) -> list[Spoken]:
    """What the text shows only until short names are said in full: that nothing stops a thread, where `stop =
    thread.join; stop()`."""
    other = evidence.in_plain_words(names_only=True)
    if other is None:
        return []
    text = evidence.as_written()
    found: list[Spoken] = []
    for rule in {rule.code: rule for rule, _ in spoken}.values():
        shown = {report.site for report in rule.check(text)}
        plainly = {place for report in rule.check(other) for place in _statements(report, other.words.led)}
        own = [one for one in spoken if one[0] is rule and one[1].site in shown]
        found += [one for one in own if plainly.isdisjoint(_statements(one[1]))]
    return found


def _where_it_stands(report: Report, stands: Mapping[Site, Stmt]) -> Report:
    """What is said of a call of a helper of one line, said of that line: it is what keeps, whoever calls it."""
    statement = report.site - report.site % CALLS_PER_STATEMENT
    line = stands.get(statement)
    if line is None:
        return report
    call = line[0] == m.EXPR and line[2][0] == m.CALL and report.site != statement
    related = (*report.related, (report.site, "called from here"))
    return replace(report, site=line[2][1] if call else line[1], related=related)


def _statements(report: Report, led: Mapping[int, set[int]] = MappingProxyType({})) -> set[int]:
    """The statements that a report shows, with those whose words are in them."""
    sites = {site - site % CALLS_PER_STATEMENT for site in (report.site, *(note[0] for note in report.related))}
    return sites.union(*(led.get(site, ()) for site in sites))


def _says_itself(
    machine: Machine, report: Report, rules: Collection[Rule], project: Project | None, told: dict[int, frozenset[int]]
) -> bool:
    """Whether what a loop of this file makes grow in another one is that one's to say, whoever else uses it. `told` is
    what other files were found to say."""
    if report.said_by is None:
        return False
    if report.confidence == Confidence.LOW:
        return True  # a guess is left to the file that stores
    along = (site for site in report.said_along if not machine.is_home(site))
    return any(site in _told_by(machine, file_of(site), rules, project, told) for site in (report.said_by, *along))


def _told_by(
    machine: Machine, number: int, rules: Collection[Rule], project: Project | None, told: dict[int, frozenset[int]]
) -> frozenset[int]:
    """What the file of this number says of places of its own, and does not leave to a third one."""
    if number not in told:
        told[number] = frozenset()  # while that is being found out
        unit = next(unit for unit in machine.units.values() if unit.facts.number == number)
        if project is not None and not project.is_judged(unit.path):
            return told[number]
        evidence = Evidence(run(unit.outline.entire(), unit.path, project))
        said = [other for rule in rules for other in rule.check(evidence) if other.confidence >= Confidence.MEDIUM]
        told[number] = frozenset(
            other.site for other in said if not _says_itself(evidence.machine, other, rules, project, told)
        )
    return told[number]


def _others_tell_better(one: Spoken, facts: FileFacts, text: str, path: str, project: Project | None) -> bool:
    """Whether the text of other files, of all of them, takes back what is said. For a guess that is too dear: files
    have many, and next to nobody asks to see them."""
    if one[1].confidence == Confidence.LOW:
        return False
    return (
        _is_without_gradients(one, facts, path, project)
        or _is_without_workers(one, facts, text, path, project)
        or _goes_at_once(one, facts, path, project)
        or is_emptied_by_others(one[1], facts, path, project)
    )


def _is_without_gradients(one: Spoken, facts: FileFacts, path: str, project: Project | None) -> bool:
    """Whether something is so only where gradients are recorded, and whoever calls the function turns them off."""
    rule, report = one
    kept_anyway = rule.code == "TML107" and "graph" not in (report.value or "")  # the outputs of steps themselves
    return rule.code in _OF_GRAPHS and not kept_anyway and without_gradients(facts, report.site, path, project)


def _is_without_workers(one: Spoken, facts: FileFacts, text: str, path: str, project: Project | None) -> bool:
    """Whether something is so only in the workers of a loader, and whoever loads has none."""
    return one[0].code == "TML404" and without_workers(facts, one[1].site, text, path, project)


def _goes_at_once(one: Spoken, facts: FileFacts, path: str, project: Project | None) -> bool:
    """Whether something stays as long as an object that nobody keeps."""
    return one[0].code in ("TML303", "TML311") and goes_at_once(facts, one[1].site, path, project)


def _places(
    source: Source, machine: Machine, files: Mapping[int, str], reports: Collection[Report]
) -> dict[int, Place]:
    """Where the sites of the reports are, in this file and others."""
    sites = {site for report in reports for site in (report.site, *(note[0] for note in report.related))}
    sites |= {report.remedy_site for report in reports if report.remedy_site is not None}
    found: dict[int, Place] = {}
    for number in {file_of(site) for site in sites}:
        try:
            home = number == machine.facts.number
            other = source if home else _read_again(files[number])
            spans = positions(other.text, {site for site in sites if file_of(site) == number})
        except (ValueError, RecursionError, MemoryError, Unreadable, OSError):
            continue  # rows are lost, findings are not
        found.update({site: (other.path, *span) for site, span in spans.items()})
    return found


def _read_again(path: str) -> Source:
    """Another file of the project, under the name that the user would give it. Raises Unreadable, OSError."""
    return read(path.removeprefix(os.getcwd() + os.sep), os.stat(path).st_size)


def _finding(source: Source, rule: Rule, report: Report, places: dict[int, Place]) -> Finding:
    _, start, end = places.get(report.site, (source.path, Location(1, 1), Location(1, 1)))
    related = tuple(Related(*places[site], message) for site, message in report.related if site in places)
    return Finding(
        code=rule.code,
        name=rule.name,
        message=report.message,
        filename=source.path,
        start=start,
        end=end,
        confidence=report.confidence,
        retains=report.retains or rule.retains,
        value=report.value,
        holder=report.holder,
        release=report.release,
        related=related,
        remedy=_remedy(report, source, places),
    )


def _remedy(report: Report, source: Source, places: dict[int, Place]) -> Remedy | None:
    """The remedy with its place; none where it would change another file."""
    if report.remedy is None or report.remedy_site is None:
        return report.remedy
    path, start, end = places.get(report.remedy_site, ("", None, None))
    return replace(report.remedy, start=start, end=end) if path == source.path else None
