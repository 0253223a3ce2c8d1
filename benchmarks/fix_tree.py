"""Make every fix, of every confidence, in the files of some folders, and see that no file is harmed.

Nothing is written. For each file with fixes: it parses afterwards, the findings are fewer, the same again changes
nothing, and the lines that no fix names are all there, in their order.

    python benchmarks/fix_tree.py FOLDER...
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from torchmemlint.config import Settings  # noqa: E402 -- its path is set above
from torchmemlint.finding import Confidence, Finding  # noqa: E402
from torchmemlint.linter import engine, files  # noqa: E402
from torchmemlint.linter.fixes.apply import edits_of, fix  # noqa: E402
from torchmemlint.source import Source, Unreadable, read  # noqa: E402


def harm(before: Source, plan: engine.Plan) -> Iterator[str]:
    """What is wrong with a file after all fixes have been made, one round after the other."""
    named: set[str] = set()  # lines that some fix of some round names
    session = engine.session(plan)

    def lint(source: Source) -> list[Finding]:
        found = engine.lint_source(source, plan, session)
        edits = [edit for finding in found for edit in edits_of(finding, source)]
        rows = {row for edit in edits for row in range(edit.start.row, edit.end.row + 1)}
        named.update(line for row, line in enumerate(source.lines(), 1) if row in rows)
        return found

    result = fix(before, lint, unsafe=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(result.source.text)
        except SyntaxError as error:
            yield f"does not parse: {error}"
            return
    if fix(result.source, lint, unsafe=True).mended:
        yield "could be fixed once more"
    lost = Counter(before.lines()) - Counter(result.source.lines())
    for line in lost.keys() - named:
        yield f"lost a line that no fix names: {line.rstrip()}"


def main(folders: list[str]) -> int:
    counts: Counter[tuple[str, str]] = Counter()
    number = harmed = 0
    for folder in folders:
        settings = Settings(root=Path(folder).absolute(), respect_gitignore=False)
        plan = replace(engine.plan(settings), min_confidence=Confidence.LOW)
        session = engine.session(plan)
        for path in files.find([folder], settings):
            found = engine.lint_file(path, plan, session)
            if not any(finding.remedy or finding.fix for finding in found):
                continue
            try:
                source = read(path, settings.max_file_size)
            except Unreadable:
                continue
            found = engine.with_fixes(source, found, session)
            counts.update((f.code, f.fix.applicability if f.fix else "none") for f in found)
            if any(finding.fix for finding in found):
                number += 1
                for problem in harm(source, replace(plan, fixes=True)):
                    harmed += 1
                    print(f"{path}: {problem}", flush=True)
    for (code, applicability), count in sorted(counts.items()):
        print(f"{code}  {applicability:<7} {count:>5}")
    print(f"{number} files fixed, {harmed} harmed")
    return 1 if harmed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
