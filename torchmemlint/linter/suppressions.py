"""Comments that silence findings: `noqa`, `torchmemlint: ignore[...]`, `torchmemlint: skip-file`.

Only comments count, never the same characters in a string. A comment on any physical line of a
simple statement, or of a compound statement's header, is about that statement, as in flake8.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..finding import Edit, Finding, Fix, Location
from ..rules import Rule
from ..source import Source, Unreadable
from . import limits
from .selection import UNREADABLE, UNUSED_SUPPRESSION

_CODE = r"[A-Za-z]+[0-9]+"
_NOQA = re.compile(rf"#\s*noqa\b(?:\s*:\s*(?P<words>{_CODE}(?:[,\s]+{_CODE})*))?", re.I)
_IGNORE = re.compile(r"#\s*torchmemlint\s*:\s*ignore\b(?:\s*\[(?P<words>[^\]]*)\])?", re.I)
_SKIP = re.compile(r"#\s*torchmemlint\s*:\s*skip-file\b", re.I)
_FLAKE8_FILE = re.compile(rf"#\s*flake8[:=]\s*noqa\b(?:\s*:\s*(?P<words>{_CODE}(?:[,\s]+{_CODE})*))?", re.I)

_SEPARATOR = re.compile(r"[,\s]+")


@dataclass(frozen=True, slots=True)
class Directive:
    """One comment that silences: no words mean everything. It acts on the rows `first` to `last`.

    `words_at` are the columns of the words, `until` is where the comment ends, with what is said as a reason.
    """

    ours: bool  # `torchmemlint: ignore`; else a noqa
    words: tuple[str, ...]
    row: int
    column: int
    end_column: int
    first: int
    last: int
    words_at: tuple[int, int]
    until: int

    def covers(self, finding: Finding) -> bool:
        return self.first <= finding.start.row <= self.last


@dataclass(frozen=True, slots=True)
class Directives:
    """What the comments of a file ask for. `file_words` are silenced everywhere in it."""

    lines: tuple[Directive, ...] = ()
    skip: bool = False
    file_words: tuple[str, ...] = ()


def read(source: Source, *, noqa: bool = True) -> Directives:
    """The directives of a source; without `noqa` only torchmemlint's own. Raises nothing."""
    if not _mentions(source.raw, b"noqa", b"torchmemlint"):
        return Directives()
    lines: list[Directive] = []
    file_words: list[str] = []
    for token, first, last in _comments(source):
        text = token.string
        if _SKIP.match(text):
            return Directives(skip=True)
        whole = _FLAKE8_FILE.match(text) if noqa and not token.line[: token.start[1]].strip() else None
        if whole and not whole["words"]:
            return Directives(skip=True)
        if whole:
            file_words += _words(whole)
            continue
        matches = [(True, match) for match in _IGNORE.finditer(text)]
        matches += [(False, match) for match in _NOQA.finditer(text) if noqa]
        for ours, match in matches:
            lines.append(_directive(ours, match, token, first, last))
    return Directives(tuple(lines), file_words=tuple(file_words))


def _directive(ours: bool, match: re.Match[str], token: tokenize.TokenInfo, first: int, last: int) -> Directive:
    column = token.start[1] + 1
    next_comment = token.string.find("#", match.end())
    until = len(token.string) if next_comment < 0 else next_comment
    return Directive(
        ours=ours,
        words=_words(match),
        row=token.start[0],
        column=column + match.start(),
        end_column=column + match.end(),
        first=first,
        last=last,
        words_at=(column + match.start("words"), column + match.end("words")),
        until=column + until,
    )


def skips_file(source: Source, *, noqa: bool = True) -> bool:
    """Whether a comment asks for the file to be passed over."""
    return _mentions(source.raw, b"skip-file", b"flake8") and read(source, noqa=noqa).skip


def may_be_unused(raw: bytes) -> bool:
    """Whether a file without findings may hold a comment that suppresses nothing."""
    return _mentions(raw, b"tml", b"torchmemlint")


def _mentions(raw: bytes, *words: bytes) -> bool:
    """Whether one of these words, in any case, is in the bytes of a file: what is asked of every file must be fast."""
    lower = raw.lower()
    return any(word in lower for word in words)


def apply(
    source: Source, findings: list[Finding], codes: frozenset[str], rules: Mapping[str, Rule], *, noqa: bool = True
) -> list[Finding]:
    """The findings that no comment silences, and one for each comment that silences nothing.

    `codes` are those in force. Comments that flake8 acts on, and unused ones, are left out without `noqa`.
    """
    if not findings and not may_be_unused(source.raw):
        return []
    directives = read(source, noqa=noqa)
    used: set[tuple[Directive, str]] = set()
    kept = [finding for finding in findings if not _is_silenced(finding, directives, used)]
    if noqa and UNUSED_SUPPRESSION in codes:
        unused = (_unused(source, line, used, codes, rules) for line in directives.lines)
        kept += [finding for finding in unused if finding is not None]
    return kept


def _is_silenced(finding: Finding, directives: Directives, used: set[tuple[Directive, str]]) -> bool:
    if finding.code == UNREADABLE:
        return False
    if any(_means(word, finding.code, finding.name) for word in directives.file_words):
        return True
    silenced = False
    for directive in directives.lines:
        if not directive.covers(finding):
            continue
        if not directive.words:
            used.add((directive, ""))
            silenced = True
        for word in directive.words:
            if _means(word, finding.code, finding.name):
                used.add((directive, word))
                silenced = True
    return silenced


def _means(word: str, code: str, name: str) -> bool:
    return code.startswith(word.upper()) or name == word.lower()


def _unused(
    source: Source,
    directive: Directive,
    used: set[tuple[Directive, str]],
    codes: frozenset[str],
    rules: Mapping[str, Rule],
) -> Finding | None:
    """The finding about a directive none of whose words, or some, silenced anything."""
    if any(_means(word, UNUSED_SUPPRESSION, "") and len(word) == 6 for word in directive.words):
        return None
    if not directive.words:
        if not directive.ours or (directive, "") in used:
            return None
        message, idle = "this comment suppresses nothing: remove it", []
    else:
        idle = [word for word in directive.words if (directive, word) not in used]
        idle = [word for word in idle if _is_due(word, directive.ours, codes, rules)]
        if not idle:
            return None
        named = ", ".join(f"`{word}`" for word in idle)
        message = f"nothing here needs {named} suppressed: remove {'it' if len(idle) == 1 else 'them'}"
    rule = rules.get(UNUSED_SUPPRESSION)
    return Finding(
        code=UNUSED_SUPPRESSION,
        name=rule.name if rule else "unused-suppression",
        message=message,
        filename=source.path,
        start=Location(directive.row, directive.column),
        end=Location(directive.row, directive.end_column),
        fix=_removal(source.lines(), directive, idle),
    )


def _removal(lines: Sequence[str], directive: Directive, idle: Collection[str]) -> Fix:
    """The fix that takes idle words out of a comment: all of it, where no word is left."""
    kept = [word for word in directive.words if word not in idle]
    row = directive.row
    if kept:
        start, end = directive.words_at
        content = ", ".join(kept)
        return Fix("safe", "Remove what is not needed", (Edit(Location(row, start), Location(row, end), content),))
    line = lines[row - 1].rstrip("\r\n")
    before, after = line[: directive.column - 1], line[directive.until - 1 :]
    if not before.strip() and not after.strip():  # the comment has the line to itself
        return Fix("safe", "Remove the comment", (Edit(Location(row, 1), Location(row + 1, 1), ""),))
    start = len(before) + 1 if after.strip() else len(before.rstrip()) + 1
    return Fix("safe", "Remove the comment", (Edit(Location(row, start), Location(row, directive.until), ""),))


def _is_due(word: str, ours: bool, codes: frozenset[str], rules: Mapping[str, Rule]) -> bool:
    """Whether an idle word deserves a finding: a rule of ours that is on, or in our own comment no rule."""
    named = [rule.code for rule in rules.values() if _means(word, rule.code, rule.name)]
    if not named:
        return ours
    return any(code in codes and code != UNREADABLE for code in named)


def _words(match: re.Match[str]) -> tuple[str, ...]:
    return tuple(word for word in _SEPARATOR.split(match["words"] or "") if word)


def _comments(source: Source) -> Iterator[tuple[tokenize.TokenInfo, int, int]]:
    """Every comment with the rows of the statement, or header, in which it stands; its own row if none."""
    waiting: list[tokenize.TokenInfo] = []
    first: int | None = None
    for token in tokens(source):
        if token.type == tokenize.COMMENT:
            waiting.append(token)
        elif token.type == tokenize.NEWLINE and first is not None:
            for comment in waiting:
                yield comment, first, token.start[0]
            waiting, first = [], None
        elif token.type in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE):
            if first is None:
                yield from _alone(waiting)
                waiting = []
        elif first is None:
            first = token.start[0]
    yield from _alone(waiting)


def _alone(comments: Iterable[tokenize.TokenInfo]) -> Iterator[tuple[tokenize.TokenInfo, int, int]]:
    for comment in comments:
        yield comment, comment.start[0], comment.start[0]


def tokens(source: Source) -> Iterator[tokenize.TokenInfo]:
    """Tokens until the end, or until Python's tokenizer gives up."""
    try:
        yield from tokenize.generate_tokens(io.StringIO(_readable(source), newline=None).readline)
    except (tokenize.TokenError, SyntaxError, RecursionError):
        return


def _readable(source: Source) -> str:
    """The text of a source as the tokenizer of this Python can read it, where its syntax is of a newer one."""
    try:
        limits.parse_ast(source)
    except SyntaxError:
        return _with_older_syntax(source)
    except Unreadable:
        pass
    return source.text


def _with_older_syntax(source: Source) -> str:
    from libcst import ParserSyntaxError

    from ..facts.newer_syntax import without_formatted

    try:
        limits.check(source)
        with limits.deep_stack():
            return without_formatted(source.text)
    except (Unreadable, ParserSyntaxError, RecursionError):
        return source.text
