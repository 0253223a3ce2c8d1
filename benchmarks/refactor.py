#!/usr/bin/env python3
"""The law of refactoring: what a program does has not changed, so what is found in it must not.

    python benchmarks/refactor.py [NAME...] [--rule TML101...] [--show] [--run N] [--keep DIR]

Each of the rules' own fixtures, guilty and innocent, is rewritten by one refactoring at a time: once wherever it fits,
and the guilty ones once more at their marked statements alone. A guilty variant is *kept* when a finding stands on a
statement that carries the mark, or was made from one that did; *moved* when the fixture's rule speaks elsewhere;
*lost* otherwise. Whatever else is found, in guilty or in innocent variants, is *loud*. `--run N` runs N pairs of each
refactoring and says whether they still retain what they should: a refactoring that changes the program proves nothing.
"""

from __future__ import annotations

import argparse
import difflib
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper
from refactor_calls import CALLS
from refactor_flow import FLOW
from refactor_holders import HOLDERS
from refactor_names import NAMES
from refactor_tree import FRAMES, MARK, Rewriter, rewrite

from torchmemlint.facts.outline import Outline
from torchmemlint.finding import Confidence, Finding
from torchmemlint.linter.analysis import facts_of, findings
from torchmemlint.linter.engine import most_specific
from torchmemlint.rules import registry
from torchmemlint.runtime import fixtures
from torchmemlint.runtime.client import Server
from torchmemlint.source import decode

FIXTURES = Path(__file__).parent.parent / "fixtures"
REFACTORINGS: dict[str, type[Rewriter]] = {**CALLS, **FLOW, **HOLDERS, **NAMES}
LONGEST = 40  # lines of a diff that is shown
LOW_COUNTS = ("TML111", "TML206")  # held back by choice, whatever the program looks like


@dataclass(frozen=True)
class Variant:
    """A fixture as one refactoring leaves it."""

    name: str
    path: Path
    everywhere: bool
    text: str

    @property
    def title(self) -> str:
        return f"{self.name}{'' if self.everywhere else ' (marked)'} {self.path.parent.name}/{self.path.name}"


@dataclass
class Judged:
    """What is found in a variant: how many of its marks are kept, moved and lost, and what else is said."""

    variant: Variant
    kept: int = 0
    moved: int = 0
    lost: int = 0
    beside: list[str] = field(default_factory=list)  # findings on statements without a mark

    @property
    def loud(self) -> bool:
        return bool(self.beside) and not self.moved


def numbered(text: str) -> str:
    """The text with its marks told apart."""
    count = iter(range(1000))
    return MARK.sub(lambda found: f"{found[0].split(' @')[0]} @{next(count)}", text)


def variants(path: Path, text: str, chosen: list[str]) -> Iterator[Variant]:
    """All variants of a fixture that differ from it and can be compiled."""
    text = numbered(text)
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    own = path.parent.name
    for name in chosen:
        kind = REFACTORINGS[name]
        if kind.binds_more and own in FRAMES:
            continue
        seen: set[str] = set()
        for everywhere in (True, False) if MARK.search(text) else (True,):
            try:
                made = rewrite(kind, wrapper, text, everywhere)
                compile(made or "", f"{name} of {path}", "exec")
            except (cst.ParserSyntaxError, SyntaxError) as error:
                print(f"{name} does not fit {own}/{path.name}: {error}"[:200].replace("\n", " "), file=sys.stderr)
                continue
            if made is not None and made not in seen:
                seen.add(made)
                yield Variant(name, path, everywhere, made)


def found_in(variant: Variant) -> list[Finding]:
    """What is reported by default, and by the fixture's own rule."""
    own = variant.path.parent.name
    rules = [rule for rule in registry().values() if not rule.preview or rule.code == own]
    least = Confidence.LOW if own in LOW_COUNTS else Confidence.MEDIUM
    source = decode(str(variant.path), variant.text.encode())
    spoken = most_specific(findings(source, Outline(facts_of(source)), rules))
    return [finding for finding in spoken if finding.confidence >= least and finding.code not in ("TML900", "TML901")]


def judge(variant: Variant) -> Judged:
    marks: dict[str, set[int]] = defaultdict(set)
    for row, line in enumerate(variant.text.splitlines(), 1):
        for found in MARK.findall(line):
            marks[found].add(row)
    spoken = found_in(variant)
    spans = [range(f.start.row, min(f.end.row, f.start.row + 3) + 1) for f in spoken]
    result = Judged(variant)
    wanted = set().union(*marks.values()) if marks else set()
    beside = [f for f, rows in zip(spoken, spans, strict=True) if not wanted & set(rows)]
    for rows in marks.values():
        if any(rows & set(span) for span in spans):
            result.kept += 1
        elif beside:
            result.moved += 1
        else:
            result.lost += 1
    result.beside = [f"{f.start.row}: {f.code} {f.message}" for f in beside]
    return result


def judged(job: tuple[Path, list[str]]) -> list[Judged]:
    path, chosen = job
    return [judge(variant) for variant in variants(path, path.read_text("utf-8"), chosen)]


def chosen_fixtures(rules: list[str], sample: int | None, seed: int) -> list[Path]:
    """Fixtures of these rules (of all, by default), at most `sample` guilty and innocent ones of each."""
    chance = random.Random(seed)
    found: list[Path] = []
    for folder in sorted(FIXTURES.glob("TML*")):
        for kind in ("bad_*.py", "good_*.py"):
            paths = sorted(folder.glob(kind)) if not rules or folder.name in rules else []
            found += paths if sample is None or sample >= len(paths) else sorted(chance.sample(paths, sample))
    return found


def table(results: list[Judged], key: Callable[[Judged], str]) -> None:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        guilty = result.variant.path.name.startswith("bad")
        for name in (key(result), "all"):
            row = rows[name]
            row.update(kept=result.kept, moved=result.moved, lost=result.lost, loud=guilty and result.loud)
            row.update(guilty=guilty, innocent=not guilty, false=not guilty and result.loud)
    print(f"{'':20}{'guilty':>8}{'marks':>7}{'kept':>8}{'moved':>7}{'lost':>6}{'loud':>6}{'innocent':>10}{'loud':>6}")
    for name in sorted(rows, key=lambda name: (name == "all", name)):
        row = rows[name]
        marks = row["kept"] + row["moved"] + row["lost"]
        share = f"{row['kept'] / marks:8.1%}" if marks else f"{'-':>8}"
        print(
            f"{name:20}{row['guilty']:8}{marks:7}{share}{row['moved']:7}{row['lost']:6}{row['loud']:6}"
            f"{row['innocent']:10}{row['false']:6}"
        )


def show(result: Judged) -> None:
    """What became of a variant, and how it differs from its fixture."""
    word = "LOST" if result.lost else "MOVED" if result.moved else "LOUD"
    print(f"\n{word} {result.variant.title}")
    for finding in result.beside:
        print(f"    said: {finding}")
    before = numbered(result.variant.path.read_text("utf-8"))
    after = result.variant.text.splitlines()
    diff = list(difflib.unified_diff(before.splitlines(), after, lineterm="", n=1))[2:]
    for line in diff[:LONGEST]:
        print(f"    {line}")
    if len(diff) > LONGEST:
        print(f"    ... and {len(diff) - LONGEST} lines more")


def run(results: list[Judged], most: int, seed: int) -> int:
    """Run pairs of each refactoring, and count those that no longer show what the fixtures do."""
    by_name: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for result in results:
        if result.variant.everywhere:
            path = result.variant.path
            by_name[result.variant.name][path.parent.name, path.name] = result.variant.text
    retains = {code: rule.retains.value if rule.retains else None for code, rule in registry().items()}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, Server(jobs=2) as server:
        for name, texts in sorted(by_name.items()):
            paired = sorted(key for key in texts if key[1].startswith("bad"))
            for code, bad in random.Random(seed).sample(paired, min(most, len(paired))):
                place = Path(folder) / name / code
                place.mkdir(parents=True, exist_ok=True)
                for file in (bad, bad.replace("bad", "good", 1)):
                    before = FIXTURES / code / file
                    if before.exists():
                        (place / file).write_text(texts.get((code, file)) or before.read_text("utf-8"), "utf-8")
            for pair in fixtures.pairs(retains, folder=Path(folder) / name):
                problems = fixtures.measure(pair, server).problems
                wrong += bool(problems)
                for problem in problems:
                    print(f"RUN {name} {pair.name}: {problem}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"refactorings, of {', '.join(REFACTORINGS)}", metavar="NAME")
    parser.add_argument("--rule", action="append", default=[], help="only the fixtures of this rule")
    parser.add_argument("--sample", type=int, help="at most so many guilty and innocent fixtures of a rule")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--by-rule", action="store_true", help="a table of rules as well")
    parser.add_argument("--show", action="store_true", help="print what is lost or loud, with its diff")
    parser.add_argument("--run", type=int, metavar="N", help="run N pairs of each refactoring")
    options = parser.parse_args()
    unknown = set(options.names) - set(REFACTORINGS)
    if unknown:
        parser.error(f"no such refactoring: {', '.join(sorted(unknown))}")
    paths = chosen_fixtures(options.rule, options.sample, options.seed)
    jobs = [(path, options.names or list(REFACTORINGS)) for path in paths]
    with ProcessPoolExecutor(options.jobs) as pool:
        results: list[Judged] = []
        for found in pool.map(judged, jobs, chunksize=2):
            results += found
            for result in found if options.show else ():
                if result.lost or result.moved or result.beside:
                    show(result)
    table(results, lambda result: result.variant.name)
    if options.by_rule:
        table(results, lambda result: result.variant.path.parent.name)
    return 1 if options.run and run(results, options.run, options.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
