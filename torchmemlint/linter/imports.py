"""What the bytes of a file import, without a parse: more than it does, never less.

A keyword counts where a statement can begin: first in a line, after `;` and after `:`. So lines of strings that look
like imports count as well, which costs a look at a file and changes no finding.
"""

from __future__ import annotations

import re

Import = tuple[str | None, list[str]]  # module, with dots for its level, and names of it; None: the names are modules

_CONTINUED = rb"\\(?:\r\n?|\n)"
_GAP = rb"(?:[ \t\f]|" + _CONTINUED + rb")*"
_WORD = rb"[\w\x80-\xff]+"
# both begin with letters, which `re` finds many times faster than anything else
_FROM = re.compile(rb"from\b(?=((?:[.\w\x80-\xff \t\f]|" + _CONTINUED + rb")+?)\bimport\b)")
_KEYWORD = re.compile(rb"import\b")
_NAMES = re.compile(_GAP + rb"(?:\(((?:[^)#]+|#[^\r\n]*)*)|((?:[^\r\n#;\\]+|" + _CONTINUED + rb"|\\)*))")
_WORDS = re.compile(_WORD)
_NAME = re.compile(_WORD + rb"(?:[\s\\]*\.[\s\\]*" + _WORD + rb")*|\*")
_COMMENT = re.compile(rb"#[^\r\n]*")
_NAMES_OF_ALL = rb"(?:\s|,|#[^\r\n]*|\"[\w\x80-\xff]+\"|'[\w\x80-\xff]+')*"
_ALL = re.compile(rb"^__all__[ \t]*=[ \t]*[\[(](" + _NAMES_OF_ALL + rb")[\])][ \t]*(?:#[^\r\n]*)?\r?$", re.M)
_SPACE = b" \t\f\r\n\\"
_BEFORE_STATEMENT = b"\r\n;:\xbf"  # the last: of a byte order mark


def imports(raw: bytes) -> list[Import]:
    """The imports that the bytes of a file seem to hold."""
    found: list[Import] = []
    modules: dict[int, bytes] = {}  # by where the `import` after it begins
    for match in _FROM.finditer(raw):
        if _begins_statement(raw, match.start()):
            modules[match.end(1)] = match[1].translate(None, _SPACE)
    for match in _KEYWORD.finditer(raw):
        module = modules.get(match.start())
        if module is not None:
            found.append((module.decode("utf-8", "replace"), _names(raw, match.end())))
        if _begins_statement(raw, match.start()):  # also behind a comment that ends with `from a \`
            found.append((None, _names(raw, match.end())))
    return found


def words(raw: bytes) -> set[bytes]:
    """Everything in the bytes of a file that may be a name."""
    return set(_WORDS.findall(raw))


def exported(raw: bytes) -> list[bytes] | None:
    """The names in `__all__`, where the file speaks of it once and gives it a list of names; else None."""
    if raw.count(b"__all__") != 1:
        return None
    match = _ALL.search(raw)
    return (_WORDS.findall(_COMMENT.sub(b"", match[1])) or None) if match is not None else None


def _names(raw: bytes, start: int) -> list[str]:
    match = _NAMES.match(raw, start)
    assert match is not None  # it matches nothing, too
    inner, plain = match.groups()
    listed = plain if inner is None else _COMMENT.sub(b"", inner)
    names = (_NAME.search(part) for part in listed.split(b","))
    return [name[0].translate(None, _SPACE).decode("utf-8", "replace") for name in names if name]


def _begins_statement(raw: bytes, start: int) -> bool:
    while start and raw[start - 1] in b" \t\f":
        start -= 1
    return not start or raw[start - 1] in _BEFORE_STATEMENT
