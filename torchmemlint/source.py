"""The text of one file: bytes in, a `Source` out, or `Unreadable` with the place where it went wrong."""

from __future__ import annotations

import io
import re
import stat
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from . import notebook
from .notebook import Cell

# A file whose bytes name none of these cannot hold memory that the rules know about. The match is
# on lower-cased bytes, so that `PyTorch` in a comment counts: a needless parse costs time only.
TRACES = (
    b"torch", b"lightning", b"cupy", b"pycuda", b"numba", b"transformers", b"accelerate", b"pyplot",
    b"no_grad", b".backward(", b".eval()", b".zero_grad(", b"from_pretrained", b"named_modules(",
    b"named_parameters(", b"register_forward", b"_backward_hook",
    b"cudart", b"cudamalloc", b"cudahost", b"cumem", b"hipmalloc", b"onnxruntime", b"tensorrt",
)  # fmt: skip

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
# Encodings of packages that lend an old Python newer syntax: the bytes are UTF-8, and Python reads them as they stand.
_BACKPORTS = frozenset(("future_fstrings", "future_annotations"))
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.M)
BOM = b"\xef\xbb\xbf"


class Unreadable(Exception):
    """A file that cannot be linted, and where in it the reason stands."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


@dataclass(frozen=True, slots=True)
class Source:
    """A decoded file. `path` is as the user named it, `text` has no byte order mark."""

    path: str
    text: str
    raw: bytes
    cells: tuple[Cell, ...] = ()  # of a notebook: its text is that of the code cells

    def cell_at(self, row: int) -> Cell | None:
        """The cell of a notebook that a row of the text is in."""
        return next((cell for cell in self.cells if cell.holds(row)), None)

    @property
    def is_stub(self) -> bool:
        return self.path.endswith(".pyi")

    def lines(self) -> list[str]:
        """The physical lines with their ends, split where Python splits them (not at form feeds)."""
        return _LINE.findall(self.text)

    def has_trace(self) -> bool:
        """Whether the bytes name torch or a library whose memory the rules know."""
        return has_trace(self.raw)


def has_trace(raw: bytes) -> bool:
    """Whether a file's bytes name torch or a library whose memory the rules know."""
    lowered = raw.lower()
    return any(trace in lowered for trace in TRACES)


def read(path: str, max_size: int) -> Source:
    """The source of the file at `path`. Raises Unreadable, also for more than `max_size` bytes."""
    try:
        with Path(path).open("rb") as file:
            raw = _read_up_to(file, max_size)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from error
    return decode(path, raw)


def read_stdin(path: str, max_size: int) -> Source:
    """The source on standard input, under the name `path`. Raises Unreadable as `read` does."""
    if sys.stdin is None:
        raise Unreadable("cannot be read: standard input is closed")
    try:
        raw = _read_up_to(sys.stdin.buffer, max_size)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from error
    return decode(path, raw)


def is_lintable_kind(path: str) -> bool:
    """Whether a path found by walking is worth opening: a pipe or a socket would block."""
    try:
        return stat.S_ISREG(Path(path).stat().st_mode)
    except OSError:
        return True  # a dangling link or the like: opening it says what is wrong


def _read_up_to(file: BinaryIO, max_size: int) -> bytes:
    raw = file.read(max_size + 1)
    if len(raw) > max_size:
        raise Unreadable(too_large(max_size))
    return raw


def too_large(max_size: int) -> str:
    """What is said of a file that has more bytes than are read."""
    return f"is larger than max-file-size ({max_size:,} bytes)"


def decode(path: str, raw: bytes) -> Source:
    """The source made of `raw`: PEP 263 coding line, else UTF-8. Raises Unreadable."""
    if path.endswith(".ipynb"):
        try:
            text, cells = notebook.program(raw)
        except ValueError as error:
            raise Unreadable(str(error)) from error
        return Source(path, text, raw, cells)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    except SyntaxError as error:
        encoding = _fallback_encoding(raw, error)
    body = raw.removeprefix(BOM)
    try:
        text = body.decode("utf-8" if encoding == "utf-8-sig" else encoding)
    except UnicodeDecodeError as error:
        row, column = _place(body, error.start, encoding)
        byte = body[error.start]
        raise Unreadable(f"is not valid {_spoken(encoding)}: byte 0x{byte:02x}", row, column) from error
    except (LookupError, ValueError) as error:
        raise Unreadable(f"has a coding line that is no text encoding: {encoding}") from error
    if "\0" in text:
        index = text.index("\0")
        row = text.count("\n", 0, index) + 1
        raise Unreadable("contains a null byte: is it really Python source?", row, index - text.rfind("\n", 0, index))
    return Source(path, text, raw)


def _fallback_encoding(raw: bytes, error: SyntaxError) -> str:
    """UTF-8 where only the first lines' bytes were at fault: decoding then names the byte."""
    message = str(error)
    if "unknown encoding" in message or "encoding problem" in message:
        named = message.rpartition(":")[2].strip()
        if named.lower().replace("-", "_") in _BACKPORTS:
            return "utf-8"
        row = 1 if b"coding" in raw.split(b"\n", 1)[0] else 2
        declared = _CODING.search(raw.removeprefix(BOM))
        if raw.startswith(BOM) and declared:  # then Python names what it would have liked to see
            named = declared[1].decode("ascii")
            said = f"declares the encoding {named!r}, but begins with UTF-8's byte order mark"
            raise Unreadable(said, row) from error
        raise Unreadable(f"declares the encoding {named!r}, which cannot be used here", row) from error
    return "utf-8"


def _place(raw: bytes, index: int, encoding: str) -> tuple[int, int]:
    before = raw[:index].decode(encoding, "replace")
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _spoken(encoding: str) -> str:
    return "UTF-8" if encoding in ("utf-8", "utf-8-sig") else encoding
