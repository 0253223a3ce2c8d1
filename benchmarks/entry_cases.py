#!/usr/bin/env python3
"""How `verify --entry` does on a folder of cases, each with `bad.py`, `good.py` and `meta.json`.

    entry_cases.py CASES [--show] [NAME ...]

Both programs' `main(steps)` is run as a user would run it, with the case's own number of steps. A bad one counts as
confirmed when a finding of the linter is; growth that was seen but that no rule reports is counted apart, and so are
the good programs in which a finding was confirmed. Cases that say `lint_only` are left out.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import click


def verify(file: pathlib.Path, steps: int) -> list[dict[str, Any]]:
    """The findings with verdicts, as the command prints them."""
    command = [sys.executable, "-m", "torchmemlint", "verify", "--device", "cpu", "--output-format", "json"]
    command += ["--timeout", "120", "--steps", str(steps), "--entry", f"{file}::main"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\n{done.stderr[-800:]}")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def confirmed(findings: list[dict[str, Any]], *, flagged: bool) -> bool:
    words = ("growing", "held", "delayed", "cached", "peak")
    return any(bool(one["code"]) is flagged and one["verdict"]["status"] in words for one in findings)


@click.command()
@click.argument("cases", type=click.Path(exists=True, file_okay=False, path_type=pathlib.Path))
@click.argument("names", nargs=-1)
@click.option("--show", is_flag=True, help="Print every verdict.")
def main(cases: pathlib.Path, names: tuple[str, ...], show: bool) -> None:
    run = proved = seen = wrong = 0
    for case in sorted(path for path in cases.iterdir() if path.is_dir() and (not names or path.name in names)):
        meta = json.loads((case / "meta.json").read_text("utf-8"))
        if meta.get("lint_only"):
            continue
        steps = int(meta.get("N") or meta.get("steps") or 12)
        bad, good = (verify(case / name, steps) for name in ("bad.py", "good.py"))
        run += 1
        proved += confirmed(bad, flagged=True)
        seen += not confirmed(bad, flagged=True) and confirmed(bad, flagged=False)
        wrong += confirmed(good, flagged=True)
        for which, findings in (("bad", bad), ("good", good)) if show else ():
            for one in findings:
                verdict = one["verdict"]
                place = f"{one['code'] or '-'} {one['location']['row']}"
                path = " -> ".join(verdict["path"])
                click.echo(
                    f"{case.name:36.36} {which:4} {place:12} {verdict['status']:12} {verdict['reason']} | {path}"
                )
            if not findings:
                click.echo(f"{case.name:36.36} {which:4} nothing")
    click.echo(f"{run} cases run: bad confirmed {proved}, seen but not flagged {seen}; good ones confirmed {wrong}")


if __name__ == "__main__":
    main()
