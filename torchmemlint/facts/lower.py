"""The text of a file -> its facts, by whichever parser can read it.

The standard library's parser is ten times as fast as libcst's, but knows only the syntax of the Python that runs, and
the environment of a hook may be older than the code. libcst knows the syntax of every Python. What both can read they
read alike (`tests/test_two_readers.py`).
"""

from __future__ import annotations

from .from_ast import AstLowering, parse
from .model import FileFacts


def lower(text: str, number: int = 0) -> FileFacts:
    """The facts of the file with this number. Raises SyntaxError where no parser can read it."""
    try:
        tree = parse(text)
    except SyntaxError as error:
        try:
            return _lower_newer(text, number)
        except SyntaxError:
            raise error from None  # CPython's account is the clearer one
    except (ValueError, RecursionError, MemoryError):
        return _lower_newer(text, number)
    return AstLowering(number).module(tree)


def _lower_newer(text: str, number: int) -> FileFacts:
    from . import from_libcst  # brings libcst, which most files can do without

    return from_libcst.LibcstLowering(number).module(from_libcst.parse(text))
