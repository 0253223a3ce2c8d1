"""Facts: plain data, the same for the same text, and pointing at the right places."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from conftest import ROOT

from torchmemlint.facts import model as m
from torchmemlint.facts.from_libcst import LibcstLowering
from torchmemlint.facts.lower import lower
from torchmemlint.facts.model import FileFacts
from torchmemlint.facts.packing import pack, unpack
from torchmemlint.facts.positions import positions
from torchmemlint.finding import Location

OWN = sorted((ROOT / "torchmemlint").rglob("*.py"))
FIXTURES = sorted((ROOT / "fixtures").glob("TML*/*.py"))
SYNTAX = '''\
"""Most of the syntax that there is, with a call in every corner."""
import a.b as c, d
from . import e
from .f import (g as h, i,)
@deco(1)
@deco.more
class K(base(), metaclass=meta()):
    x: typ = default(); y: list[typ] = [one(), two()]
    @prop
    async def method(self, a, /, b: hint(1)=first(), *args: t, c=second(), **kw) -> hint(2):
        async with enter() as (p, q), other(): await go()
        async for w in stream(): yield w
        return
    def plain(self):
        nonlocal_ = lambda u=dflt(), *v: inner(u)(v)
        yield from gen(lambda: late())
def outer(f=lambda: 1):
    global z
    z = [el(i) for i in it() if cond(i) for j in more(i)]
    d = {k(): v() for k, v in pairs()}; s = {e() for e in es()}
    g = sum(n() for n in ns())
    def nested(): nonlocal f; f = None
    if (w := wal()) and not x() or -y() < z2() < z3(): pass
    elif alt(): del a[idx()], b.c, (d, e)
    else: raise Err(why()) from cause()
    while test(): break
    else: never()
    for i, *rest in seq(): continue
    else: done()
    try: risky(); again()
    except (Err, mod.Fam) as err: handle(err)
    except Other: pass
    else: fine()
    finally: last()
    assert ok(), message()
    f"{formatted(1)} {x!r:>{width()}}"
    call(*star(), **double(), key=value())(second())[third()](fourth())
    x[lo():hi():step()] = y if why2() else z4()
    x @= mat(); x.y += inc(); x[0] -= dec()
    match subj():
        case Pat(a=1) | [2, *_] if guard(): found()
        case _: nothing()
    return a().b().c()
'''


def nodes(part: Any) -> Iterator[tuple[Any, ...]]:
    """Every tuple in the facts that is an operation."""
    stack = [part]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            if item and type(item) is tuple and isinstance(item[0], int):
                yield item
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())


def calls(facts: FileFacts) -> dict[int, tuple[Any, ...]]:
    """The calls by site. The operation's number is also that of a statement: a callee tells them apart."""
    return {
        node[1]: node[2]
        for node in nodes(facts)
        if node[0] == m.CALL and len(node) == 5 and isinstance(node[2], tuple) and isinstance(node[4], tuple)
        and 0 < node[1] % m.CALLS_PER_STATEMENT < m.CALLS_IN_TEXTS and node[2] and isinstance(node[2][0], int)
        and callee_name(node[2]) != "hint"  # annotations are never evaluated: their calls have no number
    }  # fmt: skip


def callee_name(callee: tuple[Any, ...]) -> str:
    if callee[0] == m.NAME:
        return str(callee[1])
    return str(callee[2]) if callee[0] == m.ATTR else ""


def ast_calls(text: str) -> dict[tuple[int, int, int, int], str]:
    """The name that each call in the text calls, by where it begins and ends in code points."""
    lines = text.splitlines()

    def column(row: int, offset: int) -> int:
        return len(lines[row - 1].encode()[:offset].decode()) + 1

    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and node.end_lineno is not None and node.end_col_offset is not None:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            end = column(node.end_lineno, node.end_col_offset)
            found[node.lineno, column(node.lineno, node.col_offset), node.end_lineno, end] = name
    return found


@pytest.mark.parametrize("path", [*OWN[::2], *FIXTURES[::3]], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_facts_of_a_file(path: Path) -> None:
    text = path.read_text("utf-8")
    facts = lower(text)
    assert unpack(pack(facts)) == facts
    assert lower(text) == facts
    assert LibcstLowering().module(cst.parse_module(text)) == facts
    check_positions(text, facts)


def test_facts_of_most_syntax() -> None:
    facts = lower(SYNTAX)
    assert unpack(pack(facts)) == facts
    check_positions(SYNTAX, facts)


@pytest.mark.xfail(strict=True, reason="calls in an except clause are numbered with the statement before it")
def test_calls_in_an_except_clause() -> None:
    text = "try:\n    f()\nexcept g():\n    pass\n"
    check_positions(text, lower(text))


def check_positions(text: str, facts: FileFacts) -> None:
    called = calls(facts)
    spans = positions(text, called)
    known = ast_calls(text)
    assert spans.keys() == called.keys()
    for site, (start, end) in spans.items():
        place = (start.row, start.column, end.row, end.column)
        assert place in known, (callee_name(called[site]), place)
        assert known[place] == callee_name(called[site]), place


def test_every_call_has_a_site_of_its_own() -> None:
    sites = [node[1] for node in nodes(lower("f(g(h(1)), h(2)); f(3)\nx = [f(i) for i in g()]\n")) if len(node) == 5]
    assert len(set(sites)) == len(sites) == 7


def test_calls_in_formatted_strings_do_not_count_as_calls_beside_them() -> None:
    text = 'cache[f"{key()}/{size()}"] = make()\nname = f"{one()}" if two() else three()\n'
    check_positions(text, lower(text))


def test_statements_are_numbered_as_they_are_written() -> None:
    text = "a = 1\nif a:\n    b = 2\nelif b:\n    c = 3\nelse:\n    d = 4; e = 5\ndef f(): return 6\nclass C: g = 7\n"
    spans = positions(text, range(0, 100 * m.CALLS_PER_STATEMENT, m.CALLS_PER_STATEMENT))
    starts = [spans[site][0] for site in sorted(spans)]
    assert starts == sorted(starts)
    assert [start.row for start in starts] == [1, 2, 3, 4, 5, 7, 7, 8, 8, 9, 9]


def test_columns_count_code_points() -> None:
    text = 'x = "äöü😀"; y = f("ß", g(1))\nπ = h("日本", k)  # ü\n'
    facts = lower(text)
    spans = positions(text, calls(facts))
    starts = {callee_name(callee): spans[site][0] for site, callee in calls(facts).items()}
    assert starts == {"f": Location(1, 17), "g": Location(1, 24), "h": Location(2, 5)}
    assert {callee_name(callee): spans[site][1].column for site, callee in calls(facts).items()}["h"] == 15


def test_form_feeds_and_line_ends() -> None:
    text = "a()\n\x0c\nb()\r\nc()\rd()\n'''\x0b\x1c\u2028'''; e()\n"
    facts = lower(text)
    spans = positions(text, calls(facts))
    rows = {callee_name(callee): spans[site][0].row for site, callee in calls(facts).items()}
    assert rows == {"a": 1, "b": 3, "c": 4, "d": 5, "e": 6}


def test_more_calls_in_a_statement_than_there_are_numbers() -> None:
    text = f"x = [{'f(), ' * 400}]\ng()\n"
    facts = lower(text)
    spans = positions(text, calls(facts))
    assert all(start.row == (2 if callee_name(calls(facts)[site]) == "g" else 1) for site, (start, _) in spans.items())


def test_facts_do_not_depend_on_the_hash_seed() -> None:
    script = (
        "import hashlib, marshal, sys\nfrom pathlib import Path\nfrom torchmemlint.facts.lower import lower\n"
        "print(hashlib.sha256(repr([lower(Path(p).read_text('utf-8')) for p in sys.argv[1:]]).encode()).hexdigest())"
    )
    paths = [str(path) for path in FIXTURES[::6]]
    digests = {
        subprocess.run(
            [sys.executable, "-c", script, *paths], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "42")
    }
    assert len(digests) == 1
