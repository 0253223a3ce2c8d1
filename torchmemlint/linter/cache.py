"""What is kept between runs: facts by content, findings by everything that they depend on.

One SQLite file in `.torchmemlint_cache`: safe under parallel runs and killed processes by what SQLite promises.
Where there can be none (a read-only or full disk, also one that fills) runs go on without, and say so once.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import __version__
from ..plugins import entry_points

_FILE = "torchmemlint.sqlite"  # a name that nobody else would use: it is deleted when it is damaged
_OURS = {_FILE, f"{_FILE}-wal", f"{_FILE}-shm", ".gitignore", "CACHEDIR.TAG"}
_KEPT_DAYS = 30
_TAG = """Signature: 8a477f597d28d172789f06886806bc55
# This folder is a cache of torchmemlint. It can be deleted at any time.
# For information about cache folder tags see https://bford.info/cachedir/
"""
_TABLE = "kept (key BLOB PRIMARY KEY, value BLOB NOT NULL, day INTEGER NOT NULL)"


class Cache:
    """Bytes by key, in a file that several processes may use.

    A damaged file is made anew, and `damage` says what was wrong. Where there can be none at all, nothing is kept and
    `trouble` says why.
    """

    def __init__(self, file: Path, *, temporary: bool = False) -> None:
        self.file = file
        self.temporary = temporary
        self.trouble: str | None = None
        self.damage: str | None = None
        self.instead_of: Cache | None = None  # the cache that was asked for, if it cannot be used
        self._connection: sqlite3.Connection | None = None
        self._owner = 0
        self._today = int(time.time() // 86400)

    def get(self, key: bytes) -> bytes | None:
        """What is kept under a key."""
        found = self._do(
            lambda connection: connection.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchone()
        )
        return None if found is None else bytes(found[0])

    def has(self, key: bytes) -> bool:
        """Whether something is kept under a key."""
        ask = "SELECT 1 FROM kept WHERE key = ?"
        return self._do(lambda connection: connection.execute(ask, (key,)).fetchone()) is not None

    def put(self, key: bytes, value: bytes) -> None:
        """Keep a value under a key."""
        row = (key, value, self._today)
        self._do(lambda connection: connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", row))

    @property
    def notices(self) -> list[str]:
        """What the user should know about the cache that was asked for."""
        if self.instead_of is not None:
            return self.instead_of.notices
        folder, said = self.file.parent, []
        if self.damage is not None and not self.temporary:
            said.append(f"results of earlier runs are lost, and kept anew: {folder}: {self.damage}")
        if self.trouble is not None and not self.temporary:
            said.append(f"results are not kept for the next run: {folder}: {self.trouble}")
        return said

    def hear(self, damage: str | None, trouble: str | None) -> None:
        """Take note of what happened to the file in a worker."""
        self.damage = self.damage or damage
        self.trouble = self.trouble or trouble

    def close(self) -> None:
        """Drop what was made more than a month ago; a temporary cache goes altogether."""
        if self.temporary:
            shutil.rmtree(self.file.parent, ignore_errors=True)
        elif self._connection is not None:
            self._do(
                lambda connection: connection.execute("DELETE FROM kept WHERE day < ?", (self._today - _KEPT_DAYS,))
            )
        if self._connection is not None and self._owner == os.getpid():
            self._connection.close()
        self._connection = None

    def _do(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """Work on the file, a second time if it was damaged; None where that fails too."""
        if self.trouble is not None:
            return None
        try:
            try:
                return work(self._open())
            except sqlite3.OperationalError:  # locked for long, read-only, full: not damaged
                raise
            except sqlite3.DatabaseError as error:
                self._connection = None
                self.damage = str(error)
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{self.file}{suffix}").unlink(missing_ok=True)
                return work(self._open())
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            self.trouble = reason or str(error) or type(error).__name__
            return None

    def _open(self) -> sqlite3.Connection:
        """The connection of this process: one made before a fork must not be used after it."""
        if self._connection is None or self._owner != os.getpid():
            _prepare(self.file.parent)
            self._connection, self._owner = _tables(self.file), os.getpid()
        return self._connection


def _tables(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=10, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")  # a killed writer leaves the file whole
        connection.execute("PRAGMA synchronous = OFF")  # what a power cut loses is made again
        connection.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE}")
        found = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'kept'").fetchone()
        if found != (f"CREATE TABLE {_TABLE}",):
            raise sqlite3.DatabaseError("its table has another shape")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _prepare(folder: Path) -> None:
    """Makes the folder, and marks it as a cache unless others have files there, too."""
    folder.mkdir(parents=True, exist_ok=True)
    there = set(os.listdir(folder))
    if not there <= _OURS:
        return
    for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
        if name not in there:
            (folder / name).write_text(text, encoding="utf-8")


def open_cache(folder: Path | None) -> Cache:
    """The cache kept in a folder; without one, or where the folder cannot be used, one that goes with the run,
    through which workers exchange what they found."""
    if folder is not None:
        cache = Cache(folder / _FILE)
        cache.get(b"")
        if cache.trouble is None:
            return cache
    try:
        made = tempfile.mkdtemp(prefix="torchmemlint-")
    except OSError as error:  # then each worker is on its own
        other = Cache(Path(os.devnull), temporary=True)
        other.trouble = str(error)
    else:
        from multiprocessing.util import Finalize  # at the end of a worker too, where `atexit` is not heard

        other = Cache(Path(made) / _FILE, temporary=True)
        Finalize(None, shutil.rmtree, (made, True), exitpriority=0)  # where nobody closes it, as under flake8
    other.instead_of = cache if folder is not None else None
    return other


def salt() -> bytes:
    """What all entries depend on: versions of torchmemlint, Python and libcst, our own sources, rules from others."""
    digest = hashlib.blake2b(f"{__version__} {sys.version} {_parser()}".encode(), digest_size=16)
    package = Path(__file__).parent.parent
    for path in sorted(package.rglob("*.py")):
        status = path.stat()
        digest.update(f"{path.relative_to(package)} {status.st_size} {status.st_mtime_ns}\n".encode())
    for point in sorted(entry_points(), key=lambda point: point.name):
        digest.update(f"{point.value} {point.dist.version if point.dist else ''}\n".encode())
    return digest.digest()


def _parser() -> str:
    """Which libcst is installed, without a word to libcst: its folder, and the names of those that describe it."""
    spec = importlib.util.find_spec("libcst")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    versions = sorted(path.name for path in folder.parent.glob("libcst-*.*-info"))
    return f"{folder} {versions} {folder.stat().st_mtime_ns}"


def remove(folder: Path) -> Path | None:
    """Delete a cache folder, or what is ours in a folder of others; what was deleted. Raises OSError."""
    if os.path.isfile(folder / "CACHEDIR.TAG"):
        shutil.rmtree(folder)
        return folder
    file = folder / _FILE
    if not os.path.isfile(file):
        return None
    for suffix in ("", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    return file
