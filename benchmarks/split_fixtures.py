"""Split the rules' own fixtures over two files, and see which findings survive that.

    python benchmarks/split_fixtures.py main --show

What goes into the second file: everything but `main` ("main"), the modules ("models"), all classes ("classes") or all
functions but `main` ("functions"), each with the globals that it uses. A fixture counts as caught when its rule reports
anything in either file. Fixtures that are not reported as they stand, at medium confidence, are left out.
"""

from __future__ import annotations

import argparse
import ast
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "fixtures"
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _binds(node: ast.stmt) -> set[str]:
    if isinstance(node, Definition):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return set().union(*map(_names, targets))


def _goes(node: ast.stmt, mode: str) -> bool:
    if not isinstance(node, Definition) or node.name == "main":
        return False
    is_class = isinstance(node, ast.ClassDef)
    if mode == "models":
        return isinstance(node, ast.ClassDef) and any("Module" in ast.dump(base) for base in node.bases)
    return mode == "main" or is_class == (mode == "classes")


def split(text: str, mode: str) -> tuple[str, str] | None:
    """The text of `parts.py` and of `main.py`; None where one of them would have nothing in it."""
    body = ast.parse(text).body
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    away = [node for node in body if _goes(node, mode)]
    rest = [node for node in body[1:] if node not in imports and node not in away]
    while True:
        used = set().union(*map(_names, away))
        more = [node for node in rest if _binds(node) & used and "main" not in _binds(node)]
        if not more:
            break
        away += more
        rest = [node for node in rest if node not in more]
    if not away or not any(isinstance(node, Definition) for node in rest):
        return None
    names = set().union(*map(_binds, away)) & set().union(*map(_names, rest))
    head = "\n".join(map(ast.unparse, imports))
    away.sort(key=lambda node: node.lineno)
    link = f"from parts import {', '.join(sorted(names))}" if names else ""
    parts, main = ("\n\n\n".join(map(ast.unparse, nodes)) for nodes in (away, rest))
    return f"{head}\n\n\n{parts}\n", f"{head}\n{link}\n\n\n{main}\n"


def reported(linter: list[str], code: str, folder: Path) -> bool:
    command = [*linter, "--isolated", "--no-cache", "--preview", "--output-format", "json", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return any(finding["code"] == code for finding in json.loads(done.stdout))


def pairs(mode: str, linter: list[str], folder: Path) -> Iterator[tuple[str, bool]]:
    """Each fixture that is reported as it stands, and whether it still is."""
    for fixture in sorted(FIXTURES.glob("TML*/bad_*.py")):
        code, place = fixture.parent.name, folder / fixture.parent.name / fixture.stem
        texts = split(fixture.read_text("utf-8"), mode)
        if texts is None:
            continue
        whole = place / "whole"
        whole.mkdir(parents=True)
        (whole / "main.py").write_text(fixture.read_text("utf-8"), "utf-8")
        if not reported(linter, code, whole):
            continue
        two = place / "two"
        two.mkdir()
        for name, text in zip(("parts.py", "main.py"), texts, strict=True):
            (two / name).write_text(text, "utf-8")
        yield f"{code}/{fixture.name}", reported(linter, code, two)


def main() -> None:
    parser = argparse.ArgumentParser(description="Which findings survive that a fixture is split over two files.")
    parser.add_argument("modes", nargs="*", default=["main", "models", "classes", "functions"])
    parser.add_argument("--linter", default="torchmemlint", help="the command to measure")
    parser.add_argument("--show", action="store_true", help="name what is missed")
    options = parser.parse_args()
    for mode in options.modes:
        with tempfile.TemporaryDirectory() as folder:
            found = list(pairs(mode, shlex.split(options.linter), Path(folder)))
        missed = [name for name, caught in found if not caught]
        share = 1 - len(missed) / max(len(found), 1)
        print(f"{mode:10} {len(found):4} fixtures  {share:6.1%} still reported")
        for name in missed if options.show else ():
            print(f"  missed {name}")


if __name__ == "__main__":
    main()
