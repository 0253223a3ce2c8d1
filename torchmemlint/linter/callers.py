"""Who calls a function: whether all that do, in its file and in others, have turned gradients off. And who loads the
items of a data set: whether any of them has workers do it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.guarded import mentions
from ..facts.model import CALLS_PER_STATEMENT, Expr, FileFacts, FunctionFacts, Site
from ..facts.walk import expressions_of, nodes, statements
from .imports import imports

if TYPE_CHECKING:
    from ..interpreter.linking import Project as Callers
    from .project import Project

OPEN, GUARDED = "open", "guarded"
ALONE = "alone"
_MOST_FOLDERS = 4000
_TESTS = re.compile(r"(?:^|[/_])tests?(?:[/_.]|$)")
# what is called by other names, by a framework or by the user
_BY_ITSELF = re.compile(r"__\w+__|forward|compute_loss|\w+_step|on_\w+|main|<.*>")
_DEEPEST = 3
_HANDED_ON = re.compile(rb"DataLoader\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\*\*")


def without_gradients(facts: FileFacts, site: Site, path: str, project: Callers | None) -> bool:
    """Whether what stands here runs for callers only that have turned gradients off, as the text has it."""
    function = function_at(facts, site)
    return function is not None and project is not None and _guarded(facts, function, path, project.called)


def function_at(facts: FileFacts, site: Site) -> FunctionFacts | None:
    here = site - site % CALLS_PER_STATEMENT
    return next((one for one in facts.functions[1:] if any(each[1] == here for each in statements(one.body))), None)


def _guarded(
    facts: FileFacts,
    function: FunctionFacts,
    path: str,
    others_call: Callable[[str, str], str | None],
    far: bool = False,  # the file is not the one that is judged
    depth: int = _DEEPEST,
) -> bool:
    name = function.name
    several = sum(one.name == name for one in facts.functions) > 1
    if not depth or function.generator or several or _BY_ITSELF.fullmatch(name):  # a generator runs where it is asked
        return False
    own = [(caller, off) for caller, off in mentions(facts, name) if caller is not function]
    if not all(off or _guarded(facts, caller, path, others_call, far, depth - 1) for caller, off in own):
        return False
    others = others_call(path, name)
    led = any(far or not off for _, off in own)  # what the file itself does under a mode, its run has shown
    led = led or (bool(own) and _is_program(facts))  # or not, of a model that comes wrapped; nobody else calls it there
    return others == GUARDED or (led and others is None)


def _is_program(facts: FileFacts) -> bool:
    """Whether a file is there to be run: `if __name__ == "__main__":`."""
    return any(one[0] == m.IF and (m.NAME, "__name__") in nodes(one[2]) for one in facts.functions[0].body)


def others_who_call(project: Project, path: str, name: str, first: bool = True) -> str | None:
    """Whether the calls in other files are made with gradients off; None if there are none. Tests say nothing: they try
    what is there for others. Where several files define the name, those count that import it from this one. Of a
    function there that does not turn them off, those that call it are asked, once."""
    word = name.encode()
    defines = re.compile(rb"\bdef %s\b" % re.escape(word))
    texts = [(other, raw) for other, raw in project.texts() if word in raw and other != path]
    several = any(defines.search(raw) for _, raw in texts)
    home = project.known(path)
    own = [] if home is None else [one for one in home.whole.functions if one.name == name]
    found = None
    for other, raw in texts:
        if defines.search(raw) or (several and not _means(project, other, raw, path, name)):
            continue
        outline = project.known(other)
        if outline is None or _calls_others(outline.whole, name, own):
            continue
        for caller, off in mentions(outline.whole, name):
            if not (off or (first and _guarded(outline.whole, caller, other, project.called_in_turn, far=True))):
                return OPEN
            found = GUARDED
    return found


def _calls_others(facts: FileFacts, name: str, own: list[FunctionFacts]) -> bool:
    """Whether all that a file does with a name is to call it in a way that none of these functions takes:
    `model.generate(input=path)` is no call of `def generate(self, request)`."""
    every = [one for function in facts.functions for one in statements(function.body)]
    named = [node for one in every for node in expressions_of(one) if node[0] in (m.NAME, m.ATTR, m.CALL)]
    told = [node for node in named if node[0] == m.CALL and node[2][0] in (m.NAME, m.ATTR) and node[2][-1] == name]
    handed_on = sum(node[0] != m.CALL and node[-1] == name for node in named) > len(told)
    return bool(own and told) and not handed_on and not any(_takes_call(one, call) for one in own for call in told)


def _takes_call(function: FunctionFacts, call: Expr) -> bool:
    """Whether a function takes as many arguments as a call gives, and those names."""
    if any(param.kind for param in function.params) or any(one[0] == m.STAR for one in call[3]):
        return True
    names = {param.name for param in function.params}
    return len(call[3]) <= len(names) and all(word in names for word, _ in call[4] if word)


def without_workers(facts: FileFacts, site: Site, text: str, path: str, project: Callers | None) -> bool:
    """Whether the data set whose method stands here is loaded by others of the project, and never with workers."""
    method = function_at(facts, site)
    if project is None or method is None or method.owner < 0 or "num_workers" in text:
        return False
    return project.loaded(path, facts.classes[method.owner].name) == ALONE


def loaded_by_others(project: Project, path: str, name: str) -> str | None:
    """Whether the files that name a data set have loaders, and none that says how many workers it has, or gets what is
    handed on to it. A file with a class of that name means its own."""
    word = re.compile(rb"\b%s\b" % re.escape(name.encode()))
    own = re.compile(rb"\bclass %s\b" % re.escape(name.encode()))
    texts = [raw for other, raw in project.texts() if other != path and word.search(raw) and not own.search(raw)]
    loads = any(b"DataLoader(" in raw for raw in texts)
    return ALONE if loads and not any(b"num_workers" in raw or _HANDED_ON.search(raw) for raw in texts) else None


def _means(project: Project, importer: str, raw: bytes, path: str, name: str) -> bool:
    """Whether a file means what this one calls by a name that others have as well: it imports that from it, or the
    class whose method it is."""
    outline = project.known(path)
    functions, classes = ((), ()) if outline is None else (outline.whole.functions, outline.whole.classes)
    owners = {classes[one.owner].name for one in functions if one.name == name and one.owner >= 0}
    return any(_takes(project, importer, raw, path, one) for one in (name, *sorted(owners)))


def _takes(project: Project, importer: str, raw: bytes, path: str, name: str) -> bool:
    """Whether a file imports a name from a file, or all that it has."""
    asked = (module for module, names in imports(raw) if module is not None and (name in names or names == ["*"]))
    levels = ((module, len(module) - len(module.lstrip("."))) for module in asked)
    return any(project.answer((importer, level, module[level:])) == path for module, level in levels)


def files_below(root: str, belongs: Callable[[str], bool]) -> list[str]:
    """The Python files of a project that are no tests; none where it has too many folders to be one project."""
    found: list[str] = []
    for number, (folder, inner, files) in enumerate(os.walk(root)):
        if number > _MOST_FOLDERS:
            return []
        inner[:] = sorted(name for name in inner if belongs(os.path.join(folder, name)))
        found += (os.path.join(folder, name) for name in sorted(files) if name.endswith(".py"))
    return [path for path in found if belongs(path) and not _TESTS.search(path[len(root) :].replace(os.sep, "/"))]
