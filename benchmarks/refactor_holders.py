"""Refactorings of what holds: other containers and methods of them, attributes elsewhere, state in other objects."""

# ruff: noqa: N802  (names of visitors are those of libcst)
from __future__ import annotations

import re

import libcst as cst
from libcst.metadata import FunctionScope, ScopeProvider
from refactor_tree import Rewriter, code, has, indent, lines, mark, names, parse, replaced, walk

LIST = r"\.?\b{}(?: *: *[^=\n]+)? = (?:\[\]|list\(\)|deque\(\)|collections\.deque\(\)|field\(default_factory=list\))"
DICT = r"\.?\b{}(?: *: *[^=\n]+)? = (?:\{{\}}|dict\(\)|OrderedDict\(\)|field\(default_factory=dict\))"


def last_name(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


class _Appends(Rewriter):
    """`x.append(y)`, where `x` is a list, in other words."""

    shallow = True
    trigger = r"\.append\("

    def instead(self, holder: str, value: str) -> str:
        raise NotImplementedError

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now, call = updated_node.body[0], getattr(updated_node.body[0], "value", None)
        if self.single(original_node) is None or not isinstance(now, cst.Expr) or not isinstance(call, cst.Call):
            return updated_node
        func = call.func
        if not isinstance(func, cst.Attribute) or func.attr.value != "append" or len(call.args) != 1:
            return updated_node
        name = last_name(func.value)
        if not name or not re.search(LIST.format(name), self.text) or call.args[0].star:
            return updated_node
        if isinstance(func.value, cst.Name) and not self.own(original_node, name):
            return updated_node
        return replaced(*parse(self.instead(code(func.value), code(call.args[0].value)) + "\n", mark(original_node)))

    def own(self, node: cst.SimpleStatementLine, name: str) -> bool:
        """Bound in this very function, so that it may be bound again."""
        scope = self.get_metadata(ScopeProvider, next(n for n in names(node) if n.value == name), None)
        return isinstance(scope, FunctionScope) and any(a.scope is scope for a in scope[name])


class AppendPlus(_Appends):
    """`x.append(y)` becomes `x += [y]`."""

    def instead(self, holder: str, value: str) -> str:
        return f"{holder} += [{value}]"


class AppendExtend(_Appends):
    """`x.append(y)` becomes `x.extend([y])`."""

    def instead(self, holder: str, value: str) -> str:
        return f"{holder}.extend([{value}])"


class AppendInsert(_Appends):
    """`x.append(y)` becomes `x.insert(len(x), y)`."""

    def instead(self, holder: str, value: str) -> str:
        return f"{holder}.insert(len({holder}), {value})"


class _Items(Rewriter):
    """`d[k] = v`, where `d` is a dict, in other words."""

    shallow = True
    trigger = r"\] = "

    def instead(self, holder: str, key: str, value: str) -> str:
        raise NotImplementedError

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = updated_node.body[0]
        if self.single(original_node) is None or not isinstance(now, cst.Assign) or len(now.targets) != 1:
            return updated_node
        target = now.targets[0].target
        if not isinstance(target, cst.Subscript) or len(target.slice) != 1:
            return updated_node
        index = target.slice[0].slice
        if not isinstance(index, cst.Index) or not re.search(DICT.format(last_name(target.value) or "-"), self.text):
            return updated_node
        text = self.instead(code(target.value), code(index), f"({code(now.value)})")
        return replaced(*parse(text + "\n", mark(original_node)))


class ItemUpdate(_Items):
    """`d[k] = v` becomes `d.update({k: v})`."""

    def instead(self, holder: str, key: str, value: str) -> str:
        return f"{holder}.update({{{key}: {value}}})"


class ItemMethod(_Items):
    """`d[k] = v` becomes `d.__setitem__(k, v)`."""

    def instead(self, holder: str, key: str, value: str) -> str:
        return f"{holder}.__setitem__({key}, {value})"


class ItemMerge(_Items):
    """`d[k] = v` becomes `d |= {k: v}`, for attributes."""

    def instead(self, holder: str, key: str, value: str) -> str:
        return f"{holder} |= {{{key}: {value}}}" if "." in holder else f"{holder}[{key}] = {value}"


class _Made(Rewriter):
    """Empty containers are made in other words."""

    shallow = True
    marks = False
    trigger = r"= (\[\]|\{\})"

    empty = "[]"
    made = "list()"
    imported = ""

    def fits(self, name: str) -> bool:
        return True

    def leave_SimpleStatementLine(self, original_node, updated_node):
        now = updated_node.body[0]
        if not self.everywhere or not isinstance(now, cst.Assign | cst.AnnAssign) or now.value is None:
            return updated_node
        target = now.targets[0].target if isinstance(now, cst.Assign) else now.target
        if code(now.value) != self.empty or not last_name(target) or not self.fits(last_name(target)):
            return updated_node
        if self.imported:
            self.needs(self.imported)
        return updated_node.with_deep_changes(now, value=cst.parse_expression(self.made))


class MadeList(_Made):
    """`[]` becomes `list()`."""


class MadeDict(_Made):
    """`{}` becomes `dict()`."""

    empty, made = "{}", "dict()"


class MadeDeque(_Made):
    """`[]` becomes `deque()`, where only what both can do is asked for."""

    made, imported = "collections.deque()", "import collections"

    def fits(self, name: str) -> bool:
        uses = re.findall(rf"\b{name}\b(\.\w+|\[[^\]]*|:| [+]=? \[)?", self.text)
        methods = {use for use in uses if use}
        return methods <= {".append", ".extend", ".clear", ".remove", ".index", ".count", ":"}


class MadeOrdered(_Made):
    """`{}` becomes `OrderedDict()`."""

    empty, made, imported = "{}", "collections.OrderedDict()", "import collections"


class GlobalState(Rewriter):
    """Containers and names of the module become attributes of a class."""

    marks = False

    owner = "State"

    def __init__(self, everywhere: bool, whole: cst.Module, text: str) -> None:
        super().__init__(everywhere, whole, text)
        self.moved: dict[str, str] = {}
        for statement in whole.body if everywhere else ():
            found = re.fullmatch(r"(\w+)(?: *: *[^=\n]+)? = (\[\]|\{\}|None|0\.0|set\(\))", code(statement))
            if found and not re.search(rf"[\"']{found[1]}[\"']|import .*\b{found[1]}\b", self.text):
                self.moved[found[1]] = found[2]
        for node in walk(whole):
            if isinstance(node, cst.Param) or (isinstance(node, cst.Arg) and node.keyword):
                word = node.name.value if isinstance(node, cst.Param) else node.keyword.value
                self.moved.pop(word, None)

    def is_global(self, node: cst.Name) -> bool:
        scope = self.get_metadata(ScopeProvider, node, None)
        return scope is not None and all(a.scope is scope.globals for a in scope[node.value])

    def leave_Name(self, original_node, updated_node):
        if original_node.value not in self.moved or not self.is_global(original_node):
            return updated_node
        return cst.parse_expression(f"{self.owner}.{original_node.value}")

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        return None

    def leave_Attribute(self, original_node, updated_node):
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node, updated_node):
        return updated_node.with_changes(keyword=original_node.keyword)

    def visit_Global(self, node: cst.Global) -> bool:
        return False

    def leave_Global(self, original_node, updated_node):
        left = [item for item in original_node.names if item.name.value not in self.moved]
        if not left:
            return cst.Pass()
        return updated_node.with_changes(names=[*left[:-1], left[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)])

    def leave_Module(self, original_node, updated_node):
        if not self.moved:
            return updated_node
        start = tuple(f"{self.owner}.{name}" for name in self.moved)
        kept = [
            s for s in updated_node.body if not re.fullmatch(r"({})(:[^=]*)? = \S+".format("|".join(start)), code(s))
        ]
        self.helper(self.holder())
        return updated_node.with_changes(body=kept)

    def holder(self) -> str:
        return f"class {self.owner}:\n" + "".join(f"    {name} = {value}\n" for name, value in self.moved.items())


class GlobalInstance(GlobalState):
    """Containers and names of the module become attributes of an object of it."""

    owner = "STATE"

    def holder(self) -> str:
        body = "".join(f"        self.{name} = {value}\n" for name, value in self.moved.items())
        return f"class Settings:\n    def __init__(self):\n{body}\n\nSTATE = Settings()\n"


class _Locals(Rewriter):
    """Containers and sums of a function become parts of one object."""

    shallow = True
    marks = False

    made = ""

    def part(self, name: str) -> str:
        raise NotImplementedError

    def leave_FunctionDef(self, original_node, updated_node):
        if not self.everywhere or len(self.around) > 1 + isinstance(self.around[0], cst.ClassDef):
            return updated_node
        found = re.findall(r"^ +(\w+) = (?:\[\]|\{\}|0\.0|None)$", code(updated_node), re.MULTILINE)
        inner = [n for n in walk(original_node.body) if isinstance(n, cst.FunctionDef | cst.Lambda | cst.CompFor)]
        fixed = {p.value for n in [original_node.params, *inner] for p in walk(n) if isinstance(p, cst.Name)}
        fixed |= {
            p.value
            for n in walk(original_node)
            if isinstance(n, cst.Global | cst.Nonlocal | cst.Del)
            for p in walk(n)
            if isinstance(p, cst.Name)
        }
        fixed |= {n.keyword.value for n in walk(original_node) if isinstance(n, cst.Arg) and n.keyword}
        strings = [code(n) for n in walk(original_node) if isinstance(n, cst.FormattedString)]
        chosen = sorted(word for word in set(found) - fixed if not any(word in text for text in strings))
        if not chosen or has(updated_node, (cst.NamedExpr,)):
            return updated_node
        name = self.fresh("state")
        body = updated_node.body.visit(_Parts({word: cst.parse_expression(name + self.part(word)) for word in chosen}))
        statements = list(body.body)
        at = 1 if code(statements[0]).startswith(('"', "'")) else 0
        statements[at:at] = parse(f"{name} = {self.made}\n")
        return updated_node.with_changes(body=body.with_changes(body=statements))


class _Parts(cst.CSTTransformer):
    def __init__(self, new: dict[str, cst.BaseExpression]) -> None:
        super().__init__()
        self.new = new

    def leave_Attribute(self, original_node, updated_node):
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Name(self, original_node, updated_node):
        return self.new.get(original_node.value, updated_node)


class LocalDict(_Locals):
    """Lists, dicts and sums of a function become entries of a dict."""

    made = "{}"

    def part(self, name: str) -> str:
        return f"['{name}']"


class LocalSpace(_Locals):
    """Lists, dicts and sums of a function become attributes of a namespace."""

    made = "types.SimpleNamespace()"

    def part(self, name: str) -> str:
        self.needs("import types")
        return f".{name}"


class Property(Rewriter):
    """An attribute that is set in `__init__` alone gets an underscore, and a property in front of it."""

    shallow = True
    marks = False
    trigger = r"(?m)^class "

    def leave_ClassDef(self, original_node, updated_node):
        text = code(updated_node)
        if not self.everywhere or "__slots__" in text or "@dataclass" in text:
            return updated_node
        made: list[str] = []
        for name in re.findall(r"self\.(\w+)(?: *: *[^=\n]+)? = (?:\[\]|\{\}|deque|OrderedDict|list\(|dict\()", text):
            sets = re.findall(
                rf"\.{name}\b(?: *: *[^=\n]+)? *[-+|*]?=[^=]|, self\.{name}\b.*=|del \w+\.{name}\b(?!\[)", self.text
            )
            if len(sets) == 1 and name not in made and not re.search(rf"[\"']{name}[\"']|def {name}\b", self.text):
                made.append(name)
        if not made:
            return updated_node
        for name in made:
            text = re.sub(rf"self\.{name}((?: *: *[^=\n]+)? = )", rf"self._{name}\1", text)
            text += f"\n\n    @property\n    def {name}(self):\n        return self._{name}\n"
        return parse(text + "\n")[0].with_changes(leading_lines=updated_node.leading_lines)


class BaseClass(Rewriter):
    """A method that is marked moves to a new base class (everywhere: every method that may)."""

    shallow = True
    trigger = r"class "

    def leave_ClassDef(self, original_node, updated_node):
        if len(self.around) > 1 or not isinstance(updated_node.body, cst.IndentedBlock) or updated_node.keywords:
            return updated_node
        away = [node for node in updated_node.body.body if self.moves(node)]
        if not away or updated_node.decorators:
            return updated_node
        name = f"{updated_node.name.value}Part"
        self.helper(f"class {name}:\n{indent(lines(away)).lstrip(chr(10))}\n")
        kept = [node for node in updated_node.body.body if node not in away] or parse("pass\n")
        bases = [cst.Arg(cst.Name(name)), *updated_node.bases]
        return updated_node.with_changes(
            bases=bases, body=updated_node.body.with_changes(body=kept), lpar=cst.LeftParen(), rpar=cst.RightParen()
        )

    def moves(self, node: cst.BaseStatement) -> bool:
        if not isinstance(node, cst.FunctionDef) or not self.chosen(node) or node.name.value.startswith("__"):
            return False
        text = code(node)
        defaults = any(parameter.default for parameter in node.params.params)
        annotated = any(parameter.annotation for parameter in node.params.params) or node.returns
        first = node.params.params[:1]
        plain = not (
            node.decorators or defaults or (annotated and "from __future__ import annotations" not in self.text)
        )
        return (
            plain and bool(first) and first[0].name.value == "self" and not re.search(r"super\(|\.__\w+\b(?<!__)", text)
        )


class DataClass(Rewriter):
    """A class whose `__init__` only sets attributes becomes a dataclass."""

    shallow = True
    marks = False
    trigger = r"__init__"

    def leave_ClassDef(self, original_node, updated_node):
        if not self.everywhere or updated_node.bases or updated_node.decorators or len(self.around) > 1:
            return updated_node
        if (
            re.search(rf"\({original_node.name.value}[,)]", self.text)
            and f"class {original_node.name.value}" in self.text
        ) and re.search(rf"class \w+\(.*\b{original_node.name.value}\b", self.text):
            return updated_node
        inits = [n for n in updated_node.body.body if isinstance(n, cst.FunctionDef) and n.name.value == "__init__"]
        fields = self.fields(inits[0]) if inits else None
        if not fields:
            return updated_node
        self.needs("import dataclasses")
        body = list(updated_node.body.body)
        at = body.index(inits[0])
        body[at : at + 1] = parse("".join(fields))
        decorator = cst.Decorator(cst.parse_expression("dataclasses.dataclass(eq=False)"))
        return updated_node.with_changes(decorators=[decorator], body=updated_node.body.with_changes(body=body))

    def fields(self, init: cst.FunctionDef) -> list[str] | None:
        params = init.params
        if init.decorators or params.kwonly_params or params.star_kwarg or isinstance(params.star_arg, cst.Param):
            return None
        defaults = {p.name.value: code(p.default) if p.default else None for p in params.params[1:]}
        given: dict[str, str] = {}
        made: list[str] = []
        for statement in init.body.body:
            found = re.fullmatch(
                r"self\.(\w+)(?: *: *([^=\n]+))? = (\w+|\[\]|\{\}|0\.0|set\(\)|deque\(\))(  # TML.*)?", code(statement)
            )
            if not found:
                return None
            name, value = found[1], found[3]
            if value in defaults:
                if value != name:
                    return None
                end = f" = {defaults[name]}" if defaults[name] is not None else ""
                given[name] = f"{name}: object{end}\n"
            elif value.isdigit() or value in ("None", "True", "False", "0.0"):
                made.append(f"{name}: object = dataclasses.field(default={value}, init=False)\n")
            elif value in ("[]", "{}", "set()", "deque()"):
                factory = {"[]": "list", "{}": "dict", "set()": "set"}.get(value, "deque")
                made.append(f"{name}: object = dataclasses.field(default_factory={factory}, init=False)\n")
            else:
                return None
        if list(defaults) != [name for name in defaults if name in given] or not made:
            return None
        return [given[name] for name in defaults] + made


HOLDERS: dict[str, type[Rewriter]] = {
    "append-plus": AppendPlus,
    "append-extend": AppendExtend,
    "append-insert": AppendInsert,
    "item-update": ItemUpdate,
    "item-method": ItemMethod,
    "item-merge": ItemMerge,
    "made-list": MadeList,
    "made-dict": MadeDict,
    "made-deque": MadeDeque,
    "made-ordered": MadeOrdered,
    "global-class": GlobalState,
    "global-instance": GlobalInstance,
    "local-dict": LocalDict,
    "local-space": LocalSpace,
    "property": Property,
    "base-class": BaseClass,
    "dataclass": DataClass,
}
