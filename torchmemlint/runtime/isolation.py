"""What a child process may do, and what is seen of its descendants.

This guards against accidents, not against attackers: audit hooks are no sandbox (docs.python.org/3/library/sys.html
#sys.addaudithook says so), and a program that means harm should not be run.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

PROCESSES = 64  # that a program may have at one time
_FORKS = 400  # in all
_FILE_SIZE = 1 << 30
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # system calls, the same on all machines
_LANDLOCK_WRITING = 1 << 1 | sum(1 << bit for bit in range(4, 13))  # to files; to remove and to make anything
_LANDLOCK_REFER, _LANDLOCK_TRUNCATE = 1 << 13, 1 << 14
_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATH_EVENTS = {
    "os.remove": 1, "os.rename": 2, "os.rmdir": 1, "os.mkdir": 1, "os.truncate": 1, "os.chmod": 1, "os.chown": 1,
    "os.link": 2, "os.symlink": 2, "shutil.rmtree": 1, "shutil.move": 2,
}  # fmt: skip
_COMMANDS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.startfile")
_LOCAL = ("127.0.0.1", "::1", "localhost")
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.bind")


@dataclass(frozen=True)
class Limits:
    """What a run may take. `timeout` in seconds, `memory` in bytes of address space beyond what torch has."""

    timeout: float = 60.0
    memory: int = 4 << 30
    output: int = 64 << 20
    network: bool = False
    write: tuple[str, ...] = ()  # folders that may be written to, besides the temporary one


def become_subreaper() -> None:
    """Processes that lose their parent become ours, so that none can be left behind (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def confine(folder: str, limits: Limits, *, cuda: bool) -> None:
    """Make this process, just forked, one that can be stopped and that leaves nothing behind."""
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.chdir(folder)
    os.environ.update(HOME=folder, TMPDIR=folder, TEMP=folder, TMP=folder)
    tempfile.tempdir = None
    sys.dont_write_bytecode = True
    private = _unshare(network=not limits.network)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_SIZE, _FILE_SIZE))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error of the write instead
    if not cuda:  # CUDA reserves address space far beyond what it uses
        room = _address_space() + limits.memory
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    _write_only_below((folder, *limits.write, "/dev", "/proc"))
    sys.addaudithook(_guard(folder, limits, network=limits.network or private))


def _guard(folder: str, limits: Limits, *, network: bool) -> Any:
    allowed = (*(os.path.realpath(path) + os.sep for path in (folder, *limits.write)), "/dev/", "/proc/self/")
    forks = mmap.mmap(-1, 8)  # shared by all descendants
    server = os.getppid()

    def check(path: Any, event: str) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        real = os.path.realpath(os.fsdecode(path))
        if not (real + os.sep).startswith(allowed):
            raise PermissionError(f"not allowed while being verified: {event} of {real}")

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            if (flags or 0) & _WRITING or (isinstance(mode, str) and any(c in mode for c in "wax+")):
                check(path, "writing")
        elif event in _PATH_EVENTS:
            for path in args[: _PATH_EVENTS[event]]:
                check(path, event)
        elif event == "os.fork":
            count = int.from_bytes(forks[:8], "little") + 1
            forks[:8] = count.to_bytes(8, "little")
            if count > _FORKS:
                raise PermissionError(f"not allowed while being verified: more than {_FORKS} forks")
        elif event in _COMMANDS and not _is_ours(args):
            raise PermissionError(f"not allowed while being verified: running {args[0]}")
        elif event == "os.kill" and args[0] in (-1, 1, server):
            raise PermissionError("not allowed while being verified: ending processes of others")
        elif event in _NETWORK and not network and not _is_local(args):
            raise PermissionError("not allowed while being verified: use of the network (see --allow-network)")

    return hook


def _is_ours(args: tuple[Any, ...]) -> bool:
    return bool(args) and args[0] == sys.executable  # workers that are started afresh


def _is_local(args: tuple[Any, ...]) -> bool:
    """Sockets between processes of one machine: loaders and queues need them."""
    first = args[0] if args else None
    if isinstance(first, socket.socket):
        family = getattr(socket, "AF_UNIX", None)
        return first.family == family or (isinstance(args[1], tuple) and args[1][0] in _LOCAL)
    return first in _LOCAL or first is None


def _write_only_below(folders: Iterable[str]) -> bool:
    """Let the kernel refuse to write elsewhere, which holds for code without Python's audit events as well, such as
    what writes checkpoints (Landlock: docs.kernel.org/userspace-api/landlock.html). False where it has none.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not sys.platform.startswith("linux") or not hasattr(libc, "syscall"):
        return False
    version = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return False
    rights = _LANDLOCK_WRITING | (_LANDLOCK_REFER if version >= 2 else 0) | (_LANDLOCK_TRUNCATE if version >= 3 else 0)
    attributes = ctypes.create_string_buffer(struct.pack("=Q", rights), 8)
    rules = libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(8), ctypes.c_uint(0))
    if rules < 0:
        return False
    for path in folders:
        with contextlib.suppress(OSError):
            below = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, below), 12)
            libc.syscall(_LANDLOCK_ADD, ctypes.c_int(rules), ctypes.c_int(1), rule, ctypes.c_uint(0))
            os.close(below)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    done = libc.syscall(_LANDLOCK_RESTRICT, ctypes.c_int(rules), ctypes.c_uint(0))
    os.close(rules)
    return bool(done == 0)


def _unshare(*, network: bool) -> bool:
    """A network of its own, without a way out, and shared memory of its own. False where the system forbids it."""
    flags = _CLONE_NEWNS | (_CLONE_NEWNET if network else 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare"):
        return False
    user = os.getuid() != 0
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(ctypes.c_int(flags | (_CLONE_NEWUSER if user else 0))) != 0:
        return False
    if network:
        _loopback_up()
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            try:
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
            except OSError:
                return network
    _private_segments(libc)
    return network


def _loopback_up() -> None:
    """Processes of one program may talk to each other."""
    request, up_and_running = 0x8914, 0x41  # SIOCSIFFLAGS; IFF_UP | IFF_RUNNING
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control.fileno(), request, struct.pack("16sh14x", b"lo", up_and_running))


def _private_segments(libc: Any) -> None:
    """An empty /dev/shm, so that segments are this program's alone, and go with it."""
    ms_rec_private = (1 << 14) | (1 << 18)
    if libc.mount(b"none", b"/", None, ctypes.c_ulong(ms_rec_private), None) == 0:
        libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", ctypes.c_ulong(0), b"mode=1777")


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _address_space() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * mmap.PAGESIZE
    except OSError:
        return 4 << 30


# --- descendants, seen from outside -----------------------------------------------------------------


def children(pid: int) -> Iterator[int]:
    """The processes below one, nearest first; not those that have ended.

    By the parent that each process names: what the kernel lists under `children` leaves some out while others end
    [docs: proc_pid_task(5), reliable only if all of them are stopped].
    """
    below: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        try:
            with open(f"/proc/{name}/stat") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state not in "ZX":
            below.setdefault(int(parent), []).append(int(name))
    queue = below.get(pid, [])
    for child in queue:
        yield child
        queue += below.get(child, ())


def private_bytes(pid: int) -> int:
    """Bytes of memory that only this process has (its unique set size, also swapped out); 0 for one that is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith(("Private_", "SwapPss:")))
    except (OSError, ValueError):
        return 0
