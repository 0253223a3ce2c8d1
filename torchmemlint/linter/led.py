"""What is to be said of a file for what programs do with it: see interpreter/leading.py."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..evidence.evidence import Evidence
from ..facts.model import CALLS_PER_STATEMENT, FileFacts, Site
from ..facts.outline import Outline
from ..facts.walk import calls_of, last_name, statements
from ..finding import Confidence
from ..interpreter.entries import run, run_led
from ..interpreter.linking import Project
from ..interpreter.machine import Machine
from ..rules import Report, Rule
from .callers import function_at

Spoken = tuple[Rule, Report]
_REGISTRIES = ("TML304", "TML314")  # that keep what others register, and take out again
_REMOVERS = ("remove", "off", "un", "detach", "discard", "disconnect", "clear")


def said_besides(
    outline: Outline, rules: Collection[Rule], spoken: list[Spoken], path: str, project: Project | None
) -> tuple[Machine | None, list[Spoken]]:
    """What the programs that lead to a file bring to light in it, beside what it says of itself, and do not tell where
    they call it; and their run. A guess is left out: others may use the file otherwise."""
    machine = run_led(outline, path, project) if project is not None else None
    if machine is None or project is None or not (machine.noted() or machine.errors):
        return None, []  # its text has been judged
    said = {(rule.code, report.site) for rule, report in spoken}
    elsewhere = {store.site for store in machine.stores if not machine.is_home(store.site)}
    found = [
        (rule, report)
        for rule, report in _reports(machine, rules)
        if (rule.code, report.site) not in said
        if report.said_by is None and elsewhere.isdisjoint(site for site, _ in report.related)
        if not (rule.code in _REGISTRIES and _may_be_taken_out(outline.whole, report.site))
    ]
    told = {one for program in project.leading(path) for one in _told(program, rules, project)} if found else set()
    new = [one for one in found if one[1].message not in told]
    return machine, [one for one in new if told.isdisjoint(_place_and_names(outline.whole, one[1].site))]


def _reports(machine: Machine, rules: Collection[Rule]) -> Iterator[Spoken]:
    evidence = Evidence(machine)
    for rule in rules:
        for report in rule.check(evidence):
            if report.confidence >= Confidence.MEDIUM and machine.is_home(report.site):
                yield rule, report


def _told(path: str, rules: Collection[Rule], project: Project) -> Iterator[Site | str]:
    """The places, also of other files, that what is said of a program shows, the words, and what is called there."""
    outline = project.outline(path)
    machine = run(outline.entire(), path, project) if outline is not None else None
    for _, report in _reports(machine, rules) if machine is not None else ():
        yield report.message
        yield from (report.site, *report.said_along, *(site for site, _ in report.related))
        if report.said_by is not None:
            yield report.said_by
        if machine is not None:
            yield from _called_at(machine.facts, report.site)


def _called_at(facts: FileFacts, site: Site) -> Iterator[str]:
    here = site - site % CALLS_PER_STATEMENT
    for function in facts.functions:
        for statement in statements(function.body):
            if statement[1] == here:
                yield from (last_name(call[2]) for call in calls_of(statement))


def _may_be_taken_out(facts: FileFacts, site: Site) -> bool:
    """Whether the class that registers has a method for the opposite: who registers says in its own file whether it
    calls that."""
    function = function_at(facts, site)
    methods = facts.classes[function.owner].methods if function is not None and function.owner >= 0 else {}
    return any(name.lstrip("_").startswith(_REMOVERS) for name in methods)


def _place_and_names(facts: FileFacts, site: Site) -> set[Site | str]:
    """A place, and the names of the function around it and of its class."""
    function = function_at(facts, site)
    names = set() if function is None else {function.name}
    if function is not None and function.owner >= 0:
        names.add(facts.classes[function.owner].name)
    return {site, *names}
