"""Facts as bytes, for the cache and for other processes."""

from __future__ import annotations

import marshal
import zlib
from typing import Any

from .model import ClassFacts, FileFacts, FunctionFacts, Param


def pack(facts: FileFacts, level: int = 1) -> bytes:
    """The facts of a file as bytes, of the same version of Python and of torchmemlint only, zlib's `level` packed."""
    functions = [tuple(function._replace(params=_plain(function.params))) for function in facts.functions]
    classes = [tuple(klass) for klass in facts.classes]
    return zlib.compress(marshal.dumps((functions, classes, facts.statements, facts.number)), level)


def _plain(params: tuple[Param, ...]) -> Any:
    return tuple(tuple(param) for param in params)


def unpack(data: bytes) -> FileFacts:
    """The facts that were packed. Raises ValueError, EOFError, TypeError or zlib.error for anything else."""
    functions, classes, statements, number = marshal.loads(zlib.decompress(data))
    made = []
    for fields in functions:
        function = FunctionFacts._make(fields)
        made.append(function._replace(params=tuple(Param(*param) for param in function.params)))
    return FileFacts(tuple(made), tuple(ClassFacts(*fields) for fields in classes), statements, number)
