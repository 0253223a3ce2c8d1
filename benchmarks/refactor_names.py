"""Refactorings of names: of variables, functions, attributes and imports, and what annotations say."""

# ruff: noqa: N802  (names of visitors are those of libcst)
from __future__ import annotations

import builtins
import collections
import re
import threading
from functools import cache

import libcst as cst
from refactor_tree import Rewriter, code, names, replaced, walk


@cache
def taken() -> frozenset[str]:
    """Attributes that other things than the classes of a file may have."""
    import torch

    owners = (torch, torch.Tensor, torch.nn, torch.nn.Module, torch.optim.Optimizer, torch.optim, torch.nn.functional)
    plain = (list, dict, set, str, collections.deque, threading.Thread, threading.Event, BaseException, builtins)
    return frozenset(name for owner in (*owners, *plain) for name in dir(owner))


class _Renames(Rewriter):
    marks = False

    def __init__(self, everywhere: bool, whole: cst.Module, text: str) -> None:
        super().__init__(everywhere, whole, text)
        self.new: dict[str, str] = {}
        if everywhere:
            words = sorted(self.words(whole) - self.fixed(whole))
            self.new = {word: f"{self.prefix}{number}" for number, word in enumerate(words)}

    prefix = "v"

    def words(self, whole: cst.Module) -> set[str]:
        raise NotImplementedError

    def fixed(self, whole: cst.Module) -> set[str]:
        """What is spelled where a renaming would not follow it."""
        found = {"self", "cls", "main", "steps", "args", "kwargs"} | set(dir(builtins))
        for node in walk(whole):
            if isinstance(node, cst.Arg) and node.keyword:
                found.add(node.keyword.value)
            elif isinstance(node, cst.ImportAlias):
                found |= {part.value for part in walk(node) if isinstance(part, cst.Name)}
            elif isinstance(node, cst.SimpleString):
                found |= set(re.findall(r"\w+", node.value))
            elif isinstance(node, cst.ClassDef):
                for part in node.body.body:
                    if isinstance(part, cst.SimpleStatementLine):
                        found |= {name.value for name in names(part)}
        return found


class RenameVariables(_Renames):
    """Variables and parameters get names that say nothing."""

    def words(self, whole: cst.Module) -> set[str]:
        found: set[str] = set()
        for node in walk(whole):
            if isinstance(node, cst.Param):
                found.add(node.name.value)
            elif isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.For | cst.CompFor):
                found |= {name.value for name in names(node.target)}
            elif isinstance(node, cst.AsName):
                found |= {name.value for name in names(node.name)}
        defined = {node.name.value for node in walk(whole) if isinstance(node, cst.FunctionDef | cst.ClassDef)}
        return found - defined

    def leave_Attribute(self, original_node, updated_node):
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node, updated_node):
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node, updated_node):
        return updated_node.with_changes(value=self.new.get(updated_node.value, updated_node.value))


class RenameFunctions(RenameVariables):
    """Functions and classes of the module get names that say nothing."""

    prefix = "f"

    def words(self, whole: cst.Module) -> set[str]:
        return {node.name.value for node in whole.body if isinstance(node, cst.FunctionDef | cst.ClassDef)}

    def leave_ClassDef(self, original_node, updated_node):
        name = original_node.name.value
        return (
            updated_node.with_changes(name=cst.Name(self.new.get(name, name)))
            if len(self.around) == 1
            else updated_node
        )


class RenameAttributes(_Renames):
    """Attributes and methods of the file's own classes get names that say nothing."""

    prefix = "a"

    def words(self, whole: cst.Module) -> set[str]:
        own = {node.name.value: node for node in whole.body if isinstance(node, cst.ClassDef)}
        found: set[str] = set()
        for node in own.values():
            closed = all(code(base.value) in own for base in node.bases) and not node.decorators
            for part in walk(node):
                if (
                    isinstance(part, cst.Attribute)
                    and code(part.value) == "self"
                    and re.search(rf"self\.{part.attr.value} *(:.*)?=[^=]", code(node))
                ):
                    found.add(part.attr.value)
                if closed and isinstance(part, cst.FunctionDef) and not part.name.value.startswith("__"):
                    found.add(part.name.value)
        plain = {node.name.value for node in whole.body if isinstance(node, cst.FunctionDef)}
        return {word for word in found if word not in taken() and word not in plain and not word.startswith("__")}

    def leave_Attribute(self, original_node, updated_node):
        new = self.new.get(original_node.attr.value)
        root = next(iter(names(original_node)), None)
        if new is None or (
            root is not None and re.search(rf"^(import|from) .*\b{root.value}\b", self.text, re.MULTILINE)
        ):
            return updated_node
        return updated_node.with_changes(attr=cst.Name(new))

    def leave_FunctionDef(self, original_node, updated_node):
        if len(self.around) == 2 and isinstance(self.around[0], cst.ClassDef):
            name = original_node.name.value
            return updated_node.with_changes(name=cst.Name(self.new.get(name, name)))
        return updated_node


class AliasImports(Rewriter):
    """`import torch` becomes `import torch as t_1`, `from torch import nn` becomes `... as n_1`."""

    marks = False

    def __init__(self, everywhere: bool, whole: cst.Module, text: str) -> None:
        super().__init__(everywhere, whole, text)
        self.new: dict[str, str] = {}
        for statement in whole.body if everywhere else ():
            for node in walk(statement) if re.match(r"import |from (?!__future__)", code(statement)) else ():
                if isinstance(node, cst.ImportAlias) and node.asname is None and isinstance(node.name, cst.Name):
                    self.new[node.name.value] = self.fresh("m")
        bound = [node.name.value for node in walk(whole) if isinstance(node, cst.Param)]
        strings = " ".join(node.value for node in walk(whole) if isinstance(node, cst.SimpleString))
        self.new = {w: n for w, n in self.new.items() if w not in bound and not re.search(rf"\b{w}\b[.\]]", strings)}

    def visit_ImportAlias(self, node: cst.ImportAlias) -> bool:
        return False

    def visit_ImportFrom_module(self, node: cst.ImportFrom) -> None:
        return None

    def leave_ImportFrom(self, original_node, updated_node):
        return updated_node.with_changes(module=original_node.module)

    def leave_ImportAlias(self, original_node, updated_node):
        new = self.new.get(code(original_node.name))
        if new is None or original_node.asname or len(self.around):
            return updated_node
        return updated_node.with_changes(
            asname=cst.AsName(cst.Name(new), cst.SimpleWhitespace(" "), cst.SimpleWhitespace(" "))
        )

    def leave_Attribute(self, original_node, updated_node):
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node, updated_node):
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node, updated_node):
        return updated_node.with_changes(value=self.new.get(updated_node.value, updated_node.value))


class ImportNames(Rewriter):
    """`torch.no_grad()` becomes `no_grad()`, with its own import."""

    marks = False

    def leave_ImportFrom(self, original_node, updated_node):
        return original_node

    def leave_Import(self, original_node, updated_node):
        return original_node

    def leave_Attribute(self, original_node, updated_node):
        if not self.everywhere or not re.search(r"^import torch$", self.text, re.MULTILINE):
            return updated_node
        name = original_node.attr.value
        if code(original_node.value) != "torch" or re.search(rf"(?<![.\w]){name}\b(?!\()", self.text):
            return updated_node
        if re.search(rf"(def|class) {name}\b", self.text) or name in dir(builtins):
            return updated_node
        self.imports.add(f"from torch import {name}")
        return cst.Name(name)


class DropAnnotations(Rewriter):
    """Parameters and results lose their annotations."""

    marks = False

    def leave_Param(self, original_node, updated_node):
        return updated_node.with_changes(annotation=None) if self.everywhere else updated_node

    def leave_FunctionDef(self, original_node, updated_node):
        return updated_node.with_changes(returns=None) if self.everywhere else updated_node

    def leave_AnnAssign(self, original_node, updated_node):
        if self.function is None or updated_node.value is None or not self.everywhere:
            return updated_node
        return cst.Assign([cst.AssignTarget(updated_node.target)], updated_node.value)


class ShortHelpers(Rewriter):
    """A called function of the module gets another name first: `step = train_step`."""

    shallow = True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = updated_node.body[0]
        call = now.value if isinstance(now, cst.Expr | cst.Assign) and self.single(original_node) else None
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name) or call.func.value == "super":
            return updated_node
        name = self.fresh("function")
        changed = updated_node.deep_replace(call.func, cst.Name(name))
        return replaced(f"{name} = {call.func.value}\n", changed)


NAMES: dict[str, type[Rewriter]] = {
    "rename-variables": RenameVariables,
    "rename-functions": RenameFunctions,
    "rename-attributes": RenameAttributes,
    "alias-imports": AliasImports,
    "import-names": ImportNames,
    "no-annotations": DropAnnotations,
    "bind-function": ShortHelpers,
}
