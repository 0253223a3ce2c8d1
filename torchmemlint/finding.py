"""What is said about a program: a finding, where it stands, and how sure we are."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum


class Confidence(IntEnum):
    """How strong the evidence behind a finding is; the default shows medium and high."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3

    @property
    def label(self) -> str:
        return self.name.lower()


class Retains(str, Enum):
    """How memory is kept, worst first (the words of the rule catalogue)."""

    GROWING = "growing"  # bytes or autograd nodes per iteration, call or item
    HELD = "held"  # a constant amount that nobody needs
    DELAYED = "delayed"  # freed only when the cyclic collector runs
    CACHED = "cached"  # reserved by the allocator, not allocated
    PEAK = "peak"  # a constant cost at the peak of a region that ends


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a file: row and column count from 1, columns in code points."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a finding: the holder, the caller, the origin."""

    filename: str
    start: Location
    end: Location
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text between two places by `content`."""

    start: Location
    end: Location
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that releases what a finding says is kept. `applicability`: safe, unsafe or display."""

    applicability: str
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What running the flagged code showed. Per-step figures compare a run of N steps with one of 2N.

    `status`: a word of `Retains`, or refuted, or inconclusive. `tier`: observed (the user's code on the user's data),
    replayed (on stand-in data) or simulated. `scope`: what is kept is there until the loop ends, or after the call.
    """

    status: str
    tier: str
    reason: str  # in plain words: what was seen, or why nothing can be said
    bytes_per_step: int | None = None  # of tensor storages
    host_bytes_per_step: int | None = None  # of the C heap: an estimate
    nodes_per_step: float | None = None  # of autograd graphs
    held_bytes: int | None = None
    peak_bytes: int | None = None
    steps: int | None = None
    device: str = "cpu"
    torch: str | None = None
    scope: str | None = None
    path: tuple[str, ...] = ()  # from a root to what is held
    child_bytes_per_step: int | None = None  # private to child processes
    fds_per_step: float | None = None
    shm_bytes_per_step: int | None = None
    after_fix: Verdict | None = None
    curve: tuple[tuple[int, int], ...] = ()  # operations so far, live bytes
    hits: tuple[tuple[int, int, int], ...] = ()  # hits of the flagged line: bytes and nodes that are kept through it

    @property
    def confirmed(self) -> bool:
        return self.status in tuple(Retains)


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would mend a finding, in a word that `linter/fixes` knows; it makes edits of it where the text allows.

    `about` is what the word needs to know (a name, a method). `sure` is False where more than the text would
    have to be known to say that nothing else changes. `start` and `end` are the place to change, where that is not
    the finding's own.
    """

    kind: str
    about: str = ""
    sure: bool = True
    start: Location | None = None
    end: Location | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement about retained memory. `filename` is as the user named it."""

    code: str
    name: str
    message: str
    filename: str
    start: Location
    end: Location
    confidence: Confidence = Confidence.HIGH
    retains: Retains | None = None
    value: str | None = None  # what is kept, in words
    holder: str | None = None  # who keeps it, in words
    release: str | None = None  # the shortest way to let it go
    related: tuple[Related, ...] = field(default=())
    fix: Fix | None = None
    remedy: Remedy | None = None
    cell: int | None = None  # notebook cell, from 1
    verdict: Verdict | None = None

    @property
    def said(self) -> str:
        """The message, and what verifying it showed."""
        if self.verdict is None:
            return self.message
        return f"{self.message} [{self.verdict.status}, {self.verdict.tier}: {self.verdict.reason}]"

    @property
    def key(self) -> tuple[str, int, int, int, str, str]:
        """The order of every report: file, place, code."""
        return (self.filename, self.cell or 0, self.start.row, self.start.column, self.code, self.message)
