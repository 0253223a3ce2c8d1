"""Bytes to text, and what is refused before the parser sees it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from deep import LONG, TOO_DEEP
from hypothesis import given
from hypothesis import strategies as st

from torchmemlint.linter import limits
from torchmemlint.source import Source, Unreadable, decode, read


def refused(raw: bytes) -> tuple[int, int, str]:
    with pytest.raises(Unreadable) as info:
        decode("a.py", raw)
    return info.value.row, info.value.column, info.value.message


def test_utf8_is_the_default_and_the_byte_order_mark_is_dropped() -> None:
    assert decode("a.py", "x = 'é'\n".encode()).text == "x = 'é'\n"
    assert decode("a.py", b"\xef\xbb\xbfx = 1\n").text == "x = 1\n"
    assert decode("a.py", b"").text == ""


@pytest.mark.parametrize(
    "line", [b"# coding: latin-1", b"# -*- coding: latin-1 -*-", b"#!/bin/python\n# vim: set fileencoding=latin-1 :"]
)
def test_coding_line(line: bytes) -> None:
    assert decode("a.py", line + b"\nx = '\xe9'\n").text.endswith("x = 'é'\n")


def test_byte_that_is_not_utf8_is_named_with_its_place() -> None:
    assert refused(b"x = 1\ny = '\xc3\xa9\xe9'\n") == (2, 7, "is not valid UTF-8: byte 0xe9")
    assert refused(b"\xef\xbb\xbfab\xff") == (1, 3, "is not valid UTF-8: byte 0xff")


def test_byte_that_does_not_fit_its_coding_line() -> None:
    assert refused(b"# coding: ascii\n\nx = '\xe9'\n") == (3, 6, "is not valid ascii: byte 0xe9")


@pytest.mark.parametrize("name", [b"no-such-thing", b"hex", b"rot13", b"base64"])
def test_coding_line_that_names_no_text_encoding(name: bytes) -> None:
    row, _, message = refused(b"#!/bin/sh\n# coding: " + name + b"\nx = 1\n")
    assert row in (1, 2)
    assert name.decode() in message


@pytest.mark.parametrize("name", [b"future_fstrings", b"future-fstrings", b"future_annotations"])
def test_coding_line_of_a_package_that_lends_newer_syntax(name: bytes) -> None:
    raw = b"# -*- coding: " + name + b" -*-\nname = 'caf\xc3\xa9'\n"
    assert decode("snippet.py", raw).text.endswith("name = 'caf\xe9'\n")


def test_coding_line_that_contradicts_the_byte_order_mark() -> None:
    said = "declares the encoding 'latin-1', but begins with UTF-8's byte order mark"
    assert refused(b"\xef\xbb\xbf# coding: latin-1\n")[2] == said


def test_null_byte_is_named_with_its_place() -> None:
    assert refused(b"x = 1\ny = \x00\n")[:2] == (2, 5)


def test_lines_are_split_where_python_splits_them() -> None:
    source = decode("a.py", b"a\r\nb\rc\x0cd\x1ce\nf")
    assert source.lines() == ["a\r\n", "b\r", "c\x0cd\x1ce\n", "f"]


def test_stub_and_trace() -> None:
    assert Source("a.pyi", "", b"").is_stub
    assert not Source("a.py", "", b"").is_stub
    assert Source("a.py", "", b"import PyTorch_Lightning").has_trace()
    assert not Source("a.py", "", b"import json").has_trace()


def test_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\n" * 100)
    assert len(read(str(tmp_path / "a.py"), 600).raw) == 600
    with pytest.raises(Unreadable, match=r"max-file-size \(599 bytes\)"):
        read(str(tmp_path / "a.py"), 599)


@pytest.mark.parametrize("name", ["missing.py", "folder.py", "dangling.py"])
def test_what_cannot_be_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    with pytest.raises(Unreadable, match="cannot be read: "):
        read(str(tmp_path / name), 100)


def check(text: str) -> None:
    limits.check(Source("a.py", text, text.encode()))


@pytest.mark.parametrize("depth", [1_500, 20_000])
@pytest.mark.parametrize("kind", TOO_DEEP)
def test_deep_nesting_is_refused(kind: str, depth: int) -> None:
    with pytest.raises(Unreadable, match="nested"):
        check("import torch\n" + TOO_DEEP[kind](depth))


@pytest.mark.parametrize("kind", TOO_DEEP)
def test_ordinary_nesting_is_not_refused(kind: str) -> None:
    check(TOO_DEEP[kind](60))


@pytest.mark.parametrize("kind", LONG)
def test_length_is_not_depth(kind: str) -> None:
    check(LONG[kind](5_000))


def test_place_of_deep_nesting() -> None:
    with pytest.raises(Unreadable) as info:
        check("import torch\n\n\nx = a" + " + b" * 1_500 + "\n")
    assert info.value.row == 4


@given(st.text(alphabet="()[]{}'\"\\#\n\t fr.,+:a1"))
def test_scan_says_nothing_but_unreadable(text: str) -> None:
    with contextlib.suppress(Unreadable):
        check(text)
