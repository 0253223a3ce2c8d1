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
    refused: Exception
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        refused = error
    else:
        return AstLowering(number).module(tree)
    try:
        return _lower_newer(text, number)
    except SyntaxError as error:
        # CPython's account of it is the clearer one
        raise (refused if isinstance(refused, SyntaxError) else error) from None


def _lower_newer(text: str, number: int) -> FileFacts:
    from . import from_libcst  # brings libcst, which most files can do without

    return from_libcst.LibcstLowering(number).module(from_libcst.parse(text))
