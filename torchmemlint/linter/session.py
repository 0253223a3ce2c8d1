"""What a process needs to lint file after file: the project around them, and what is kept from earlier."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import re
import warnings
import zlib
from collections import OrderedDict
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import finding
from ..facts.outline import Outline
from ..facts.packing import pack, unpack
from ..finding import Finding
from ..source import Source, Unreadable, read
from . import limits
from .cache import Cache, salt
from .imports import imports
from .project import Project
from .watched import Part, Watched

_MOST_STATEMENTS = 60_000  # of facts that are kept at hand: as many as the project has, and mostly the same
_OTHERS = re.compile(
    rb"^(?:import|from)\s+(?:mxnet|tensorflow|paddle|mindspore|chainer|megengine|jittor)\b"
    rb"|^from\s+\w+(?:\.\w+)*\.(?:tf2?|paddle|mindspore)\b",  # a package's own part for another library
    re.MULTILINE,
)
_TORCH = re.compile(r"\w*(?:torch|lightning)")

if TYPE_CHECKING:
    from ..facts.model import FileFacts

Judgement = list[Finding] | Unreadable


class Session:
    """The project, and the cache, as one process sees them. Files must not change while it lives."""

    def __init__(
        self,
        root: Path,
        exclude: tuple[str, ...],
        max_file_size: int,
        cache: Cache | None = None,
        linted: frozenset[str] | None = None,
    ) -> None:
        self.project = Project(root, exclude, self._load, linted)
        self._cache = cache
        self._salt = salt() if cache is not None else b""
        self._max_file_size = max_file_size
        self._digests: dict[str, str] = {}
        self._recent: OrderedDict[bytes, Outline] = OrderedDict()
        self._statements = 0  # of these
        self.changed = 0  # files that are new, or not as they were when they were linted

    # -- facts ------------------------------------------------------------------------------------

    def outline(self, source: Source, *, keep: bool = True) -> Outline:
        """What a file does, from the cache or by a parse; `keep` it. Raises Unreadable, RecursionError."""
        key = self._key(b"facts", source.raw)
        recent = self._recent.get(key)
        if recent is not None:
            self._recent.move_to_end(key)
            return recent
        kept = self._cache.get(key) if self._cache is not None else None
        if kept is not None:
            try:
                return self._remember(key, unpack(kept))
            except (ValueError, EOFError, TypeError, zlib.error):
                pass  # not ours, or damaged: made anew
        from . import analysis  # brings the interpreter, which a warm run does without

        limits.check(source)
        with limits.deep_stack(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CPython's about the linted code: not ours to report
            facts = analysis.facts_of(source)
        if keep and self._cache is not None:
            self._cache.put(key, pack(facts, level=0 if self._cache.temporary else 1))
        return self._remember(key, facts)

    def _remember(self, key: bytes, facts: FileFacts) -> Outline:
        """Has the last files at hand: a file is linted not long before or after others ask for it."""
        outline = self._recent[key] = Outline(facts)
        self._statements += facts.statements
        while self._statements > _MOST_STATEMENTS and len(self._recent) > 1:
            _, dropped = self._recent.popitem(last=False)
            self._statements -= dropped.whole.statements
        return outline

    def has_facts(self, source: Source) -> bool:
        """Whether what a file does is in the cache."""
        return self._cache is not None and self._cache.has(self._key(b"facts", source.raw))

    def _load(self, path: str) -> Outline | None:
        try:
            return self.outline(read(path, self._max_file_size))
        except (Unreadable, RecursionError):
            return None  # a finding of its own where that file is linted

    def is_relevant(self, source: Source) -> bool:
        """Whether rules could say anything of a file: it names torch, its imports lead to a file that does, or a
        program that leads to it does."""
        if _OTHERS.search(source.raw) and not _imports_torch(source.raw):
            return False  # the tensors of another library
        if source.has_trace():
            return True
        raw = source.text.encode("utf-8", "surrogatepass") if source.cells else source.raw
        path = os.path.abspath(source.path)
        return self.project.leads_to_trace(path, raw) or self.project.is_led_by_trace(path)

    # -- judgements -------------------------------------------------------------------------------

    def recall(self, name: str, raw: bytes, *, closely: bool = False) -> Judgement | None:
        """What was found in a file when it and all that it uses were as they are now.

        Only a close look, which may take a parse, tells whether a change in another file changed what was used of it.
        """
        key = self._key(b"found", _place(name))
        data = self._cache.get(key) if self._cache is not None else None
        if data is None:
            self.changed += 1
            return None
        try:
            record = _Findings(io.BytesIO(zlib.decompress(data))).load()
            if record["digest"] != _digest(raw):
                self.changed += 1
                return None
            if not self._holds(record, closely):
                return None
            if closely:
                self._put(key, record)
            if record["unreadable"]:
                return Unreadable(*record["unreadable"])
            return [_renamed(found, record["name"], name) for found in record["findings"]]
        except (pickle.UnpicklingError, zlib.error, ValueError, LookupError, TypeError, AttributeError, EOFError):
            return None

    def keep(self, name: str, raw: bytes, judgement: Judgement) -> None:
        """Keep what was found, with everything that was asked of the project since `project.begin()`."""
        if self._cache is None or self._cache.temporary:
            return  # nobody will ask again
        lost = judgement if isinstance(judgement, Unreadable) else None
        found = [] if isinstance(judgement, Unreadable) else judgement
        read = self.project.scanned | {
            os.path.abspath(other.filename) for finding in found for other in finding.related
        }
        record = {
            "name": name,
            "digest": _digest(raw),
            "asked": self.project.asked,
            "used": {
                path: (self._digest_of(path), *_looked_at(None if path in read else self.project.used[path]))
                for path in self.project.used.keys() | read
            },
            "unreadable": (lost.message, lost.row, lost.column) if lost else None,
            "findings": found,
        }
        self._put(self._key(b"found", _place(name)), record)

    def _put(self, key: bytes, record: dict[str, Any]) -> None:
        assert self._cache is not None
        written = io.BytesIO()
        _Record(written, 4).dump(record)
        self._cache.put(key, zlib.compress(written.getvalue(), 1))

    def _holds(self, record: dict[str, Any], closely: bool) -> bool:
        """Whether everything that a run used is as it was; what was not used may have changed."""
        if any(self.project.answer(asked) != answer for asked, answer in record["asked"].items()):
            return False
        used = record["used"]
        differing = [path for path, (digest, _, _) in used.items() if self._digest_of(path) != digest]
        if differing and not closely:
            return False
        for path in differing:
            _, parts, fingerprint = used[path]
            outline = self.project.known(path) if parts is not None else None
            if outline is None or outline.print_of(parts) != fingerprint:
                return False
            used[path] = (self._digest_of(path), parts, fingerprint)
        return True

    def _digest_of(self, path: str) -> str:
        known = self._digests.get(path)
        if known is None:
            try:
                known = _digest(Path(path).read_bytes()) if not path.endswith(os.sep) else ""
            except OSError:
                known = "unreadable"
            self._digests[path] = known
        return known

    def _key(self, kind: bytes, content: bytes) -> bytes:
        return hashlib.blake2b(kind + self._salt + content, digest_size=16).digest()


def _imports_torch(raw: bytes) -> bool:
    modules = (name for module, names in imports(raw) for name in (names if module is None else [module]))
    return any(map(_TORCH.match, modules))


def _place(name: str) -> bytes:
    """What identifies a file and how others are named beside it."""
    return f"{os.getcwd()}\0{os.path.abspath(name)}".encode("utf-8", "surrogatepass")


def _digest(raw: bytes) -> str:
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def _looked_at(outline: Watched | None) -> tuple[tuple[Part, ...] | None, str]:
    """The parts that were used of a file and their fingerprint; None where that is all of its text."""
    return (None, "") if outline is None else (tuple(outline.seen), outline.print_of(outline.seen))


class _Record(pickle.Pickler):
    """Writes what is kept."""

    def reducer_override(self, obj: Any) -> Any:
        """A member of an enumeration by its value: Python 3.11 before 3.11.4 writes a call of `getattr`."""
        return (type(obj), (obj.value,)) if isinstance(obj, Enum) else NotImplemented


class _Findings(pickle.Unpickler):
    """Reads what was kept. A cache can come from anywhere, so nothing but our own records is ever made of it."""

    def find_class(self, module: str, name: str) -> Any:
        if module == finding.__name__ and name in _KINDS:
            return getattr(finding, name)
        raise pickle.UnpicklingError(f"not a record of findings: {module}.{name}")


_KINDS = {
    name for name, kind in vars(finding).items() if isinstance(kind, type) and kind.__module__ == finding.__name__
}


def _renamed(found: Finding, old: str, new: str) -> Finding:
    """The finding under the name that the user gives the file this time."""
    if old == new:
        return found
    related = tuple(replace(other, filename=new) if other.filename == old else other for other in found.related)
    return replace(found, filename=new, related=related)
