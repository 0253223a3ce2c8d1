"""Numbers and words of which only the kind is known, such as the size of a stand-in.

They work as any other. What is compared with them is not known, and what is computed from them is such a number again.
"""

from __future__ import annotations

from typing import Any


class Whole(int):
    """A whole number."""


class Real(float):
    """A number."""


class Word(str):
    """A text."""


def is_guess(value: Any) -> bool:
    return isinstance(value, (Whole, Real, Word))


def guess(value: Any) -> Any:
    """A number or a text as one that is not known; all else as it is."""
    if type(value) is int:
        return Whole(value)
    if type(value) is float:
        return Real(value)
    return Word(value) if type(value) is str else value
