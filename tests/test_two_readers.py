"""The standard library's parser and libcst's say the same of what both can read."""

from __future__ import annotations

import ast
import sys

import libcst as cst
import pytest

from torchmemlint.facts.from_ast import AstLowering
from torchmemlint.facts.from_libcst import LibcstLowering
from torchmemlint.facts.lower import lower
from torchmemlint.facts.model import FileFacts

# that the facts of each fixture are the same is tested in test_facts.py
ODD = r'''
f"a{x!r}b{{c}}\n{y:>{w}}" "tail" 'more'
h(cache_key=f"{a}-{b}", key=f"{c}", x=f"{d}")
k[f"a{x}\t{{}}" "b"] = f'{x=}'
z = x[1,]; q = x[(1, 2)]; r = x[()]; s = x[a, 1:2, ...]
t = +1, -1, ~1, -1.5, 1j, 10**20, 123456789012345678901, 0xFF, b"x", "a" "b", b"a" b"b", u"v", r"\d", """a
b"""
f(a, k=b(), *c(), **d(), e=1)
g(*a, k=b())
class A(B, *C, metaclass=M, x=f(), **kw): "doc"
async def h(a: int = 1, /, b: "f()" = f(2), *args: int, c=3, d, **kw) -> g(3):
    async with a as b, c() as (d, e): pass
    async for x in y: yield x
    else: z = await q
    return *a, b
lambda *a, b=1, **k: (yield)
del (a, b); del c, d; del e,; del [f]
import a.b.c as d, e.f, g
from . import x as y, z
from ...a.b import (c)
from q import *
try: a
except (A, B) as e: b
except C: c
else: d
finally: f
if a: b
elif c: d
elif e: f
else: g
for i in range(3): continue
else: break
while (n := f()): x -= 1; y @= 2; z **= 3; w //= 4; v <<= 1; u >>= 2; t |= 1; s &= 2; r ^= 3; q %= 4
match a:
    case int() | str(): b
    case Point(x=0) if c: d
    case [1, 2]: e
    case {"a": b, **r}: c
    case -1: g
    case x: f
x: int; y: "List[int]" = f"{a}"
assert not model.training, f"{evaluate(model)}"
global gg
a = b = c[0] = d.e = (f)
a or b or c; (a or b) or c; a or (b or c); a and b or c; a < b <= c != d is not e not in f
[x async for x in y if z if w]; {a: b for a, b in c for d in e}; {*a, b}; {**a, "b": c}; (x for x in f())
print(f"{f'{g(x)}'}")
k[f'it\'s "{x}" \"{y}\\']
'''
NEWER = {
    (3, 11): "x[*a, 1]\ntry: f()\nexcept* A as b: g()\n",
    (3, 12): 'type X = int\ndef f[T](a: T): g(f"{a["k"]}")\n',
}


def by_ast(text: str) -> FileFacts:
    return AstLowering(3).module(ast.parse(text))


def by_libcst(text: str) -> FileFacts:
    return LibcstLowering(3).module(cst.parse_module(text))


@pytest.mark.parametrize("line", range(len(ODD.splitlines())))
def test_lines(line: int) -> None:
    """Each beginning that is a whole, so that a failure shows where."""
    text = "\n".join(ODD.splitlines()[: line + 1])
    try:
        ast.parse(text)
    except SyntaxError:
        assert text != ODD.removesuffix("\n")
        return
    assert by_ast(text) == by_libcst(text)


@pytest.mark.parametrize("version", NEWER)
def test_newer_syntax(version: tuple[int, int]) -> None:
    text = NEWER[version]
    assert lower(text, 3) == by_libcst(text)
    if sys.version_info >= version:
        assert by_ast(text) == by_libcst(text)


@pytest.mark.parametrize("size", [57, 58, 59, 60])
@pytest.mark.parametrize("written", ["x['{}']", "x['a' '{}']", "x[f'{}']", "x['''{}''']", "{}: int = 1"])
def test_long_names(written: str, size: int) -> None:
    text = written.format("k" * size)
    assert by_ast(text) == by_libcst(text)


def test_what_no_parser_can_read() -> None:
    with pytest.raises(SyntaxError, match="was never closed"):
        lower("x = (")
    with pytest.raises(SyntaxError, match=r"null byte|(parser|tokenizer) error"):
        lower("x = \0")
