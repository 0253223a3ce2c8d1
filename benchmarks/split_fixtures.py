"""Split the rules' own fixtures over several files, and see whether the same is said of them.

    python benchmarks/split_fixtures.py package --show
    python benchmarks/split_fixtures.py --programs 'some/folder/*/bad.py'

A law: moving definitions into other modules must not change what is found. What goes where:

    main       everything but `main` goes to `parts.py`
    models     the modules, classes all classes, functions all functions but `main`, with the globals they use
    layers     models, other classes, functions and tables each to a file of their own, `main` stays in `train.py`
    package    the same below a package, whose `__init__` brings all names, by relative imports
    alias      the same, and `import utils as ut` with `ut.name` instead of `from utils import name`
    single     each definition in a file of its own: bases and their subclasses, helpers and their helpers
    around     the definition with the finding and `main` stay, with what needs them; all others in files of their own

A fixture counts as caught when all codes that are reported of the whole are reported of the parts, the first one in
`train.py` for "around". Codes that are reported of the parts alone are new. Programs of which nothing is said as they
stand, at medium confidence, count for the latter only.
"""

from __future__ import annotations

import argparse
import ast
import json
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "fixtures"
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)
Texts = dict[str, str]


def _names(node: ast.AST) -> set[str]:
    found = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    quoted = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return found | {text for text in quoted if text.isidentifier()}  # annotations in quotes


def _binds(node: ast.stmt) -> set[str]:
    if isinstance(node, DEFINITIONS):
        return {node.name}
    if isinstance(node, IMPORTS):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _rebinds(node: ast.stmt) -> set[str]:
    """The globals that it assigns to: they have to stay beside it."""
    return {name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names}


def _is_module(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and any("Module" in ast.dump(base) for base in node.bases)


def _is_table(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign)


def _by_kind(node: ast.stmt) -> str:
    if _is_module(node):
        return "model"
    if isinstance(node, ast.ClassDef):
        return "core"
    if isinstance(node, DEFINITIONS):
        return "utils"
    return "registry" if _is_table(node) else "train"


def _own_file(node: ast.stmt) -> str:
    if isinstance(node, DEFINITIONS):
        return f"m_{node.name.lower().strip('_')}"
    return "registry" if _is_table(node) else "train"


def _parts(goes: Callable[[ast.stmt], bool]) -> Callable[[ast.stmt], str]:
    return lambda node: (
        "parts" if isinstance(node, DEFINITIONS) and goes(node) else "registry" if _is_table(node) else "train"
    )


PLANS: dict[str, Callable[[ast.stmt], str]] = {
    "main": _parts(lambda node: True),
    "models": _parts(_is_module),
    "classes": _parts(lambda node: isinstance(node, ast.ClassDef)),
    "functions": _parts(lambda node: not isinstance(node, ast.ClassDef)),
    "layers": _by_kind,
    "package": _by_kind,
    "alias": _by_kind,
    "single": _own_file,
    "around": _own_file,
}


def _layout(body: list[ast.stmt], mode: str, kept: ast.stmt | None) -> dict[str, list[ast.stmt]]:
    """The statements of each file; files that need one another are one, and what rebinds a global is where it is."""
    plan = PLANS[mode]
    where = [("train" if "main" in _binds(node) or node is kept else plan(node)) for node in body]
    while True:
        home = {name: place for node, place in zip(body, where, strict=True) for name in _binds(node)}
        merge = next((pair for node, place in zip(body, where, strict=True) for pair in _tied(node, place, home)), None)
        merge = merge or _cycle(body, where, home)
        if merge is None:
            break
        keep, gone = ("train", merge[0]) if merge[1] == "train" else merge[::-1] if merge[1] < merge[0] else merge
        keep, gone = (gone, keep) if gone == "train" else (keep, gone)
        where = [keep if place == gone else place for place in where]
    files: dict[str, list[ast.stmt]] = defaultdict(list)
    for node, place in zip(body, where, strict=True):
        files[place].append(node)
    if mode in ("main", "models", "classes", "functions"):  # tables go with those who use them
        _spread(files)
    return files


def _tied(node: ast.stmt, place: str, home: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name in _rebinds(node):
        if home.get(name, place) != place:
            yield place, home[name]


def _cycle(body: list[ast.stmt], where: list[str], home: dict[str, str]) -> tuple[str, str] | None:
    needs: dict[str, set[str]] = defaultdict(set)
    for node, place in zip(body, where, strict=True):
        needs[place] |= {home[name] for name in _names(node) if name in home} - {place}
    for start in sorted(needs):
        seen, todo = set(), [start]
        while todo:
            for other in needs[todo.pop()] - seen:
                seen.add(other)
                todo.append(other)
        for other in sorted(seen):
            if other != start and start in needs[other]:
                return start, other
    return None


def _spread(files: dict[str, list[ast.stmt]]) -> None:
    tables = files.pop("registry", [])
    used = set().union(*map(_names, files.get("parts", [])))
    while True:
        more = [node for node in tables if _binds(node) & used]
        if not more:
            break
        files["parts"] = more + files["parts"]
        used |= set().union(*map(_names, more))
        tables = [node for node in tables if node not in more]
    files["train"] = tables + files["train"]


class _Qualify(ast.NodeTransformer):
    def __init__(self, modules: dict[str, str]) -> None:
        self.modules = modules

    def visit_Name(self, node: ast.Name) -> ast.AST:
        module = self.modules.get(node.id)
        return ast.Attribute(ast.Name(module, ast.Load()), node.id, node.ctx) if module else node


def _locals(body: list[ast.stmt]) -> set[str]:
    """Names that are bound inside of functions: they may hide a global."""
    inner = [part for node in body if isinstance(node, DEFINITIONS) for part in ast.walk(node)]
    stored = {part.id for part in inner if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return stored | {part.arg for part in inner if isinstance(part, ast.arg)}


def _holding(body: list[ast.stmt], row: int) -> ast.stmt | None:
    """The definition that a row is in; of none, the longest."""
    defined = [node for node in body if isinstance(node, DEFINITIONS) and "main" not in _binds(node)]
    inside = [node for node in defined if node.lineno <= row <= (node.end_lineno or 0)]
    return max(inside or defined, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)


def split(text: str, mode: str, row: int = 0) -> Texts | None:
    """The text of each file by its path; None where all of it would be in one. `row`: of a finding in it."""
    body = [
        node
        for node in ast.parse(text).body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    future = [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    heads = [node for node in body if isinstance(node, (*IMPORTS, ast.Try)) and node not in future]
    rest = [node for node in body if node not in heads and node not in future]
    files = _layout(rest, mode, _holding(rest, row) if mode == "around" else None)
    if len(files) < 2 or not files.get("train"):
        return None
    home = {name: place for place, nodes in files.items() for node in nodes for name in _binds(node)}
    hidden = _locals(rest)
    texts: Texts = {}
    for place, nodes in files.items():
        used = set().union(*map(_names, nodes))
        links: dict[str, set[str]] = defaultdict(set)
        for name in sorted(used & home.keys()):
            if home[name] != place:
                links[home[name]].add(name)
        lines = [ast.unparse(node) for node in [*future, *_needed(heads, used)]]
        dots, inside = ("." if place != "train" else "lib"), mode == "package"
        if inside and place == "train":
            names = sorted(set().union(*links.values()))
            lines += [f"from lib import {', '.join(names)}"] if names else []
            links = {}
        qualified: dict[str, str] = {}
        for module, names_of in links.items():
            plain = sorted(names_of if mode != "alias" else names_of & hidden)
            if plain:
                lines.append(f"from {dots if inside else ''}{module} import {', '.join(plain)}")
            if mode == "alias" and names_of - hidden:
                lines.append(f"import {module} as {module}_")
                qualified |= dict.fromkeys(names_of - hidden, f"{module}_")
        written = [ast.unparse(ast.fix_missing_locations(_Qualify(qualified).visit(node))) for node in nodes]
        folder = "lib/" if inside and place != "train" else ""
        texts[f"{folder}{place}.py"] = "\n".join(lines) + "\n\n\n" + "\n\n\n".join(written) + "\n"
    if mode == "package":
        own = {place: sorted(n for n, p in home.items() if p == place) for place in files if place != "train"}
        texts["lib/__init__.py"] = "".join(
            f"from .{place} import {', '.join(names)}\n" for place, names in own.items() if names
        )
    return texts


def _needed(heads: list[ast.stmt], used: set[str]) -> list[ast.stmt]:
    return [node for node in heads if _binds(node) & used or isinstance(node, ast.Try) or "*" in _binds(node)]


def reported(linter: list[str], folder: Path, only: str = "") -> dict[str, list[tuple[str, int]]]:
    """The codes that are reported in each program, a folder below `folder`, with their rows; `only`: of these files."""
    command = [*linter, "--isolated", "--no-cache", "--output-format", "json", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for finding in json.loads(done.stdout):
        path = Path(finding["filename"])
        if not only or path.name == only:
            found[path.relative_to(folder).parts[0]].append((finding["code"], finding["location"]["row"]))
    return found


def write(folder: Path, texts: Texts) -> None:
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


Row = tuple[str, set[str], set[str], set[str]]


def compare(mode: str, programs: Texts, linter: list[str], folder: Path) -> Iterator[Row]:
    """Each program that can be split, with the codes that are wanted, found and new."""
    for name, text in programs.items():
        write(folder / "whole" / name, {"train.py": ast.unparse(ast.parse(text)) + "\n"})
    before = reported(linter, folder / "whole")
    split_up = []
    for name in programs:
        text = (folder / "whole" / name / "train.py").read_text("utf-8")
        texts = split(text, mode, before[name][0][1] if before[name] else 0)
        if texts is not None:
            write(folder / "split" / name, texts)
            split_up.append(name)
    after = reported(linter, folder / "split", "train.py" if mode == "around" else "")
    for name in split_up:
        codes = [code for code, _ in before[name]]
        found = {code for code, _ in after[name]}
        yield name, set(codes[:1] if mode == "around" else codes), found, found - set(codes)


def main() -> None:
    parser = argparse.ArgumentParser(description="Which findings survive that a program is split over several files.")
    parser.add_argument("modes", nargs="*", default=list(PLANS))
    parser.add_argument("--linter", default="torchmemlint", help="the command to measure")
    parser.add_argument("--programs", action="append", help="a pattern of files to split instead of the fixtures")
    parser.add_argument("--keep", type=Path, help="leave what was split in this folder")
    parser.add_argument("--show", action="store_true", help="name what is missed")
    options = parser.parse_args()
    paths = sorted(FIXTURES.glob("TML*/*.py"))
    if options.programs:
        paths = sorted(
            path for pattern in options.programs for path in Path("/").glob(str(Path(pattern).absolute())[1:])
        )
    programs = {"-".join(path.with_suffix("").parts[-2:]): path.read_text("utf-8") for path in paths}
    for mode in options.modes:
        with tempfile.TemporaryDirectory() as folder:
            place = options.keep / mode if options.keep else Path(folder)
            rows = list(compare(mode, programs, shlex.split(options.linter), place))
        guilty = [row for row in rows if row[1]]
        lost = [(name, wanted - found) for name, wanted, found, _ in guilty if wanted - found]
        new = [(name, codes) for name, _, _, codes in rows if codes]
        share = 1 - len(lost) / max(len(guilty), 1)
        said = f"{share:6.1%} still reported"
        print(f"{mode:10} {len(guilty):4} guilty  {said}  {len(rows)} split, {len(new)} with something new")
        for word, names in (("lost", lost), ("new", new)):
            for name, codes in names if options.show else ():
                print(f"  {word} {' '.join(sorted(codes))}  {name}")


if __name__ == "__main__":
    main()
