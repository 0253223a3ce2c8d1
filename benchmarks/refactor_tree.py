"""What all refactorings of `refactor.py` share: which statements are meant, new names, helpers, imports, and scopes.

A refactoring is a `Rewriter`: its docstring says what it does, and it changes either every place of a file that it
fits, or only those marked by a comment (`# TML101`). New statements carry the mark of the one they were made from, so
that each line that computes the value or hands it over counts as the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst
from libcst.metadata import ClassScope, ComprehensionScope, FunctionScope, MetadataWrapper, ScopeProvider

MARK = re.compile(r"# TML\d[^\n]*")
# Rules about what a frame still binds: a refactoring that binds more, or for longer, changes what is kept.
FRAMES = frozenset(("TML307", "TML315", "TML409", "TML501", "TML502", "TML504", "TML601", "TML602", "TML603", "TML604"))
HARD = (cst.Await, cst.Yield, cst.NamedExpr, cst.Lambda)  # moving these elsewhere changes what they do
_EMPTY = cst.Module(body=[])

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement


def code(node: cst.CSTNode) -> str:
    return _EMPTY.code_for_node(node).strip()


def mark(node: cst.CSTNode) -> str | None:
    found = MARK.search(code(node))
    return found[0] if found else None


def parse(text: str, comment: str | None = None) -> list[Statement]:
    """Statements made from text, each marked with the comment."""
    made = cst.parse_module(text).body
    return [marked(statement, comment) for statement in made] if comment else list(made)


def marked(node: Statement, comment: str) -> Statement:
    """The statement, or the statements in it, with the mark."""
    if isinstance(node, cst.SimpleStatementLine):
        if MARK.search(code(node)):
            return node
        space = cst.TrailingWhitespace(cst.SimpleWhitespace("  "), cst.Comment(comment))
        return node.with_changes(trailing_whitespace=space)
    if isinstance(node.body, cst.IndentedBlock):
        inner = [marked(statement, comment) for statement in node.body.body]
        return node.with_changes(body=node.body.with_changes(body=inner))
    return node


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from walk(child)


def has(node: cst.CSTNode, kinds: tuple[type[cst.CSTNode], ...]) -> bool:
    return any(isinstance(part, kinds) for part in walk(node))


def names(node: cst.CSTNode) -> Iterator[cst.Name]:
    """Names that are read or bound in a node: no attributes, no keywords of calls."""
    if isinstance(node, cst.Name):
        yield node
    elif isinstance(node, (cst.Attribute, cst.Arg)):
        yield from names(node.value)
    else:
        for child in node.children:
            yield from names(child)


def binds(node: cst.CSTNode) -> set[str]:
    """Plain names that a target binds."""
    if isinstance(node, cst.Name):
        return {node.value}
    if isinstance(node, cst.Tuple | cst.List):
        return set().union(*(binds(element.value) for element in node.elements))
    return binds(node.value) if isinstance(node, cst.StarredElement) else set()


def indent(text: str) -> str:
    return "\n".join("    " + line if line else line for line in text.splitlines())


def lines(body: cst.BaseSuite | Sequence[cst.BaseStatement]) -> str:
    """The text of a body, at column 0."""
    if isinstance(body, cst.IndentedBlock):
        body = body.body
    if isinstance(body, cst.SimpleStatementSuite):
        return "; ".join(code(part) for part in body.body) + "\n"
    return cst.Module(body=list(body)).code


def replaced(*texts: str | Statement) -> cst.FlattenSentinel[cst.BaseStatement]:
    parts: list[Statement] = []
    for text in texts:
        parts += parse(text) if isinstance(text, str) else [text]
    return cst.FlattenSentinel(parts)


class Rewriter(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (ScopeProvider,)
    binds_more = False  # a value stays bound in a frame for longer than before
    marks = True  # may be limited to marked statements
    shallow = False  # looks at whole lines, not at what is in them
    trigger = ""  # what a file must have in its text

    def __init__(self, everywhere: bool, whole: cst.Module, text: str) -> None:
        super().__init__()
        self.everywhere = everywhere
        self.text = text
        self.around: list[cst.FunctionDef | cst.ClassDef | cst.Lambda] = []
        self.helpers: list[str] = []
        self.imports: set[str] = set()
        self.count = 0

    # --- which places -----------------------------------------------------------------------------

    def chosen(self, node: cst.CSTNode) -> bool:
        return self.everywhere or mark(node) is not None

    @property
    def function(self) -> cst.FunctionDef | None:
        """The function around, if it is the innermost definition."""
        return self.around[-1] if self.around and isinstance(self.around[-1], cst.FunctionDef) else None

    @property
    def method_of(self) -> cst.ClassDef | None:
        """The class of the method around that has a `self`."""
        if len(self.around) < 2 or not isinstance(self.around[-2], cst.ClassDef) or self.function is None:
            return None
        first = self.function.params.params[:1]
        return self.around[-2] if first and first[0].name.value == "self" else None

    def single(self, node: cst.SimpleStatementLine) -> cst.BaseSmallStatement | None:
        """The one statement of a line in a function, if it is chosen."""
        if self.function is None or len(node.body) != 1 or not self.chosen(node):
            return None
        return node.body[0]

    # --- what is needed elsewhere ------------------------------------------------------------------

    def fresh(self, word: str) -> str:
        self.count += 1
        return f"{word}_{self.count}"

    def needs(self, line: str) -> None:
        if not re.search(rf"^{re.escape(line)}$", self.text, re.MULTILINE):
            self.imports.add(line)

    def helper(self, text: str) -> None:
        """A definition at the top of the module, below its imports."""
        self.helpers.append(text)

    # --- scopes ------------------------------------------------------------------------------------

    def locals_of(self, original: cst.CSTNode) -> list[str] | None:
        """Names of functions around that the node uses; None if it cannot be moved out of them."""
        text = code(original)
        if has(original, HARD) or re.search(r"\b(super|locals|__class__|_getframe|exc_info|global|nonlocal)\b", text):
            return None
        if re.search(r"\.__\w*[a-z](?!__)\b(?<!__)", text):
            return None  # the name is mangled in its class
        found: list[str] = []
        for name in names(original):
            scope = self.get_metadata(ScopeProvider, name, None)
            if scope is None:
                return None
            kinds = {type(assignment.scope) for assignment in scope[name.value]}
            if ClassScope in kinds:
                return None
            if kinds & {FunctionScope} and name.value not in found:
                found.append(name.value)
            elif ComprehensionScope in kinds and FunctionScope in kinds:
                return None
        return found

    def bound_here(self) -> set[str]:
        """All names that the functions around bind, and those of the module."""
        whole = self.around[0] if self.around else None
        return {name.value for name in names(whole)} if whole else set()

    # --- the walk ----------------------------------------------------------------------------------

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            if not self.around and not self.everywhere and mark(node) is None:
                self.around.append(node)
                return False
            self.around.append(node)
        return super().on_visit(node) and not (self.shallow and isinstance(node, cst.SimpleStatementLine))

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> object:
        result = super().on_leave(original_node, updated_node)
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            self.around.pop()
        if isinstance(result, cst.Module):
            return self._finished(result)
        return result

    def _finished(self, module: cst.Module) -> cst.Module:
        body = list(module.body)
        first = 0
        while first < len(body) and re.match(r"""["']|from __future__""", code(body[first])):
            first += 1
        last = first
        while last < len(body) and re.match(r"import |from ", code(body[last])):
            last += 1
        head = [statement for line in sorted(self.imports) for statement in parse(line + "\n")]
        helpers = [statement for text in self.helpers for statement in parse("\n\n" + text)]
        return module.with_changes(body=[*body[:first], *head, *body[first:last], *helpers, *body[last:]])


def rewrite(kind: type[Rewriter], wrapper: MetadataWrapper, text: str, everywhere: bool) -> str | None:
    """The text of a file after a refactoring; None if there was nothing to do."""
    if not re.search(kind.trigger, text) or not (everywhere or kind.marks):
        return None
    after = wrapper.visit(kind(everywhere, wrapper.module, text)).code
    return after if after != text else None
