"""Run the fixtures and measure what they keep.

Every fixture has a `main(steps)`. It is run with N and with 2N steps in a child process, under a ledger
of tensor storages, and looked at when `main` is about to return, its locals still alive: live bytes,
autograd nodes reachable from live tensors, formatted stacks on those nodes, before and after
`gc.collect()`. Differences between the two runs are growth per step; what both show is held.

    python benchmarks/measure_fixtures.py              print the table
    python benchmarks/measure_fixtures.py --write      and update the `Measured` line of each header
    python benchmarks/measure_fixtures.py --check      and fail where a header or a verdict is wrong

A fixture's docstring may say how it is to be looked at:

    Probe: train_epoch        look when this function returns (its last call), not when `main` does
    Shows: held               what the pair shows, where it differs from the rule's own word

The words: growing (bytes or nodes per step), held (bytes, nodes or stacks that the twin does not keep),
delayed (growing until the cyclic collector runs), peak (highest number of live bytes), heap (bytes of
the C heap per step), nothing (the rule is about code without effect; the program asserts it itself).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import gc
import importlib
import json
import re
import subprocess
import sys
import tempfile
import textwrap
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
STEPS = 6
TIMEOUT = 120.0  # seconds for one fixture

COLLECTIONS = 20  # at most, for one look
SMALL = 64  # bytes per step that a good program may keep on purpose: a number or two
HEAP_NOISE = 4096  # bytes of heap per step that say nothing
PEAK_FACTOR = 1.25
NOTHING = "nothing"
ELSEWHERE = (
    "workers copies processes threads descriptors segments storages idle uncollected device absent".split()
)  # measure_workers

FIRST = """
import torch

def main(steps):
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.rand(2, 2)).sum().backward()
    optimizer.step()
"""


# --- what is measured -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    """What was alive at one moment, beyond what was alive before the program began."""

    bytes: int
    nodes: int
    text: int  # characters of stacks that anomaly mode left on nodes
    heap: int


@dataclass(frozen=True)
class Run:
    """One run of `main`."""

    steps: int
    before: Look
    after: Look  # the same moment, after gc.collect()
    peak: int
    left_on: tuple[str, ...]  # modes that are still changed when `main` is over


@dataclass(frozen=True)
class Figures:
    """A fixture measured: two runs, or the error that ended one."""

    path: str
    torch: str
    short: Run | None = None
    long: Run | None = None
    error: str | None = None

    @staticmethod
    def of(data: dict[str, Any]) -> Figures:
        def run(entry: dict[str, Any] | None) -> Run | None:
            if entry is None:
                return None
            looks = {key: Look(**entry.pop(key)) for key in ("before", "after")}
            return Run(**{**entry, **looks, "left_on": tuple(entry["left_on"])})

        return Figures(**{**data, "short": run(data["short"]), "long": run(data["long"])})

    def per_step(self, what: str, when: str = "after") -> int:
        """Growth of a quantity, from the difference of the two runs."""
        if self.short is None or self.long is None:
            return 0
        grown: int = getattr(getattr(self.long, when), what) - getattr(getattr(self.short, when), what)
        return round(grown / (self.long.steps - self.short.steps))


# --- the child: runs programs under the ledger ------------------------------------------------------


class Ledger:
    """Live tensor storages by weak reference, their bytes, and the highest sum they reached."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.live: dict[int, tuple[Any, int]] = {}
        self.total = 0
        self.peak = 0

    def see(self, tensor: Any, old: bool = False) -> None:
        """Enter a tensor's storage; one that was there before the program counts for nothing."""
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):  # sparse and the like
            return
        key = storage._cdata
        size = 0 if old or tensor.device.type == "meta" else storage.nbytes()
        with self.lock:
            known = self.live.get(key)
            if known is not None:
                if known[0]() is not None:
                    return
                self.gone(key, known[0])  # the address is in use again
            self.live[key] = (weakref.ref(storage, functools.partial(self.gone, key)), size)
            self.total += size
            self.peak = max(self.peak, self.total)

    def gone(self, key: int, ref: Any) -> None:
        with self.lock:
            entry = self.live.get(key)
            if entry is not None and entry[0] is ref:
                del self.live[key]
                self.total -= entry[1]


def live_tensors() -> list[Any]:
    import torch

    return [one for one in gc.get_objects() if issubclass(type(one), torch.Tensor)]


def graph_size() -> tuple[int, int]:
    """Autograd nodes reachable from live tensors, and the characters of stacks kept on them."""
    seen: dict[int, Any] = {}
    queue: list[Any] = []
    for tensor in live_tensors():
        queue.append(tensor.grad_fn)
        if tensor.is_leaf and tensor.grad is not None:
            queue.append(tensor.grad.grad_fn)
    text = 0
    while queue:
        node = queue.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node
        text += sum(len(line) for line in node.metadata.get("traceback_", ()))
        queue.extend(following for following, _ in node.next_functions)
    return len(seen), text


def heap() -> int:
    """Bytes handed out by the C allocator; 0 where psutil cannot tell."""
    try:
        info = importlib.import_module("psutil").heap_info()
    except (ImportError, AttributeError):
        return 0
    return int(info.heap_used + info.mmap_used)


def modes() -> dict[str, bool]:
    import torch

    return {
        "gradients": torch.is_grad_enabled(),
        "anomaly detection": torch.is_anomaly_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "profiler": torch.autograd._profiler_enabled(),  # type: ignore[attr-defined]
    }


def reset_modes() -> None:
    import torch

    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)
    if torch.autograd._profiler_enabled():  # type: ignore[attr-defined]
        torch.autograd._disable_profiler()  # type: ignore[attr-defined]


@dataclass
class Watch:
    """Looks at the moment when one of the watched code objects returns."""

    codes: frozenset[Any]
    ledger: Ledger
    nodes: int = 0
    heap: int = 0
    before: Look | None = None
    after: Look | None = None

    def __call__(self, frame: Any, event: str, value: object) -> None:
        if event == "return" and frame.f_code in self.codes:
            self.before = self.look()
            self.after = self.look_after_collecting()

    def look_after_collecting(self) -> Look:
        """Collect until nothing changes: a chain of cycles through C++ comes apart one link at a time."""
        looks: list[Look] = []
        while len(looks) < 2 or (looks[-1].bytes != looks[-2].bytes and len(looks) < COLLECTIONS):
            gc.collect()
            looks.append(self.look())
        return looks[-1]

    def look(self) -> Look:
        bytes_now, heap_now = self.ledger.total, heap()
        nodes, text = graph_size()
        return Look(bytes_now, nodes - self.nodes, text, heap_now - self.heap)


def run_once(path: Path, steps: int, probe: str) -> Run:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    name = f"fixture_{path.parent.name}_{path.stem}"
    module = type(sys)(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    code = compile(path.read_text("utf-8"), str(path), "exec")
    ledger = Ledger()
    gc.collect()
    for tensor in live_tensors():
        ledger.see(tensor, old=True)

    class Tracking(TorchDispatchMode):  # type: ignore[no-untyped-call,unused-ignore]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            for leaf in tree_leaves(result):
                if isinstance(leaf, torch.Tensor):
                    ledger.see(leaf)
            return result

    tracking: Callable[[], Any] = Tracking
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def tracked(thread: threading.Thread) -> None:
        with tracking():  # dispatch modes are thread-local
            bootstrap(thread)

    torch.manual_seed(0)
    kept = modes()
    threading.Thread._bootstrap_inner = tracked  # type: ignore[attr-defined]
    try:
        with tracking():
            exec(code, module.__dict__)
            watched = {f.__code__ for f in functions(module) if f.__code__.co_name == probe}
            if not watched:
                raise LookupError(f"no function {probe}")
            watch = Watch(frozenset(watched), ledger, graph_size()[0], heap())
            sys.setprofile(watch)
            try:
                module.main(steps)
            finally:
                sys.setprofile(None)
        changed = tuple(name for name, value in modes().items() if value != kept[name])
    finally:
        threading.Thread._bootstrap_inner = bootstrap  # type: ignore[attr-defined]
        reset_modes()
        del sys.modules[name]
        module.__dict__.clear()
    if watch.before is None or watch.after is None:
        raise LookupError(f"{probe} was not called")
    return Run(steps, watch.before, watch.after, ledger.peak, changed)


def functions(module: Any) -> Iterator[Any]:
    """The functions of a module and the methods of its classes."""
    for value in list(vars(module).values()):
        members = vars(value).values() if isinstance(value, type) and value.__module__ == module.__name__ else [value]
        for member in members:
            function = getattr(member, "__func__", member)  # staticmethod, classmethod
            while hasattr(function, "__wrapped__"):
                function = function.__wrapped__
            if hasattr(function, "__code__"):
                yield function


def serve() -> None:
    """Read a path a line, write figures a line. Programs' own output goes to stderr."""
    out, sys.stdout = sys.stdout, sys.stderr
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:  # what the first run imports and starts is nobody's fault
        first = Path(folder) / "first.py"
        first.write_text(FIRST, "utf-8")
        run_once(first, 1, "main")
    gc.collect()
    gc.freeze()  # torch itself: not looked through again at every look
    for line in sys.stdin:
        path = Path(line.rstrip("\n"))
        figures = Figures(str(path), torch.__version__)
        try:
            probe = Header.read(path).probe
            run_once(path, 2, probe)  # what a first run leaves in caches is nobody's fault
            figures = Figures(
                str(path), torch.__version__, run_once(path, STEPS, probe), run_once(path, 2 * STEPS, probe)
            )
        except Exception as error:
            figures = Figures(str(path), torch.__version__, error=f"{type(error).__name__}: {error}")
        gc.collect()
        print(json.dumps(asdict(figures)), file=out, flush=True)


class Child:
    """A child process that measures one fixture after the other."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def measure(self, path: Path) -> Figures:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "ignore", __file__, "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{path}\n")
        process.stdin.flush()
        alarm = threading.Timer(TIMEOUT, process.kill)
        alarm.start()
        try:
            line = process.stdout.readline()
        finally:
            alarm.cancel()
        if not line:
            return Figures(str(path), "?", error="the child process died or took too long")
        return Figures.of(json.loads(line))

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


# --- what a fixture says of itself ------------------------------------------------------------------


@dataclass(frozen=True)
class Header:
    """The module docstring of a fixture."""

    doc: str
    probe: str = "main"
    shows: str | None = None
    measured: str | None = None

    @staticmethod
    def read(path: Path) -> Header:
        doc = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        entry = dict(re.findall(r"^(Probe|Shows): *(\w+)$", doc, re.MULTILINE))
        measured = re.search(r"^Measured \(.*?\): .*?(?=\n\n|\n[A-Z]\w+: |\Z)", doc, re.MULTILINE | re.DOTALL)
        return Header(
            doc, entry.get("Probe", "main"), entry.get("Shows"), " ".join(measured[0].split()) if measured else None
        )


@dataclass(frozen=True)
class Pair:
    """A bad fixture and the good one beside it, which differs in the release."""

    code: str
    bad: Path
    good: Path
    shows: str

    @property
    def name(self) -> str:
        return f"{self.code}/{self.bad.stem}"

    def paths(self) -> tuple[Path, Path]:
        return self.bad, self.good


def pairs(codes: Iterable[str] = ()) -> list[Pair]:
    """All pairs; `bad_x.py` goes with `good_x.py`, or with `good.py`."""
    sys.path.insert(0, str(ROOT))
    from torchmemlint.rules import registry

    wanted = tuple(codes)
    found = []
    for bad in sorted(FIXTURES.glob("TML*/bad*.py")):
        code = bad.parent.name
        if wanted and code not in wanted:
            continue
        good = bad.with_name(bad.name.replace("bad", "good", 1))
        if not good.exists():
            good = bad.with_name("good.py")
        retains = registry()[code].retains
        shows = Header.read(bad).shows or (retains.value if retains else NOTHING)
        if shows not in ELSEWHERE:
            found.append(Pair(code, bad, good, shows))
    return found


@dataclass(frozen=True)
class Outcome:
    """A pair measured and judged. `problems` is empty where it shows what it says."""

    pair: Pair
    bad: Figures
    good: Figures
    bad_line: str
    good_line: str
    problems: tuple[str, ...] = field(default=())


def amount(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 or unit == "B" else f"{number} {unit}s"


def judge(pair: Pair, bad: Figures, good: Figures) -> Outcome:
    """Does the bad program retain, in the way the pair says, and the good one not?"""
    for figures in (bad, good):
        if figures.error is not None or figures.long is None:
            return Outcome(pair, bad, good, "", "", (f"{Path(figures.path).name}: {figures.error}",))
    assert bad.long is not None and good.long is not None and bad.short is not None
    node = "autograd node"
    problems: list[str] = []

    def kept(figures: Figures, when: str = "after") -> str:
        nodes = amount(figures.per_step("nodes", when), node)
        return f"{figures.per_step('bytes', when)} B and {nodes} per step"

    def modest(figures: Figures, limit: int) -> bool:
        return figures.per_step("nodes") <= 0 and figures.per_step("bytes") <= max(SMALL, limit)

    if not modest(good, bad.per_step("bytes") // 10):
        problems.append(f"the good program grows: {kept(good)}")
    if good.long.left_on:
        problems.append(f"the good program leaves changed: {', '.join(good.long.left_on)}")

    if pair.shows == "growing":
        said = kept(bad) + " kept", kept(good)
        if bad.per_step("bytes") <= SMALL and bad.per_step("nodes") < 1:
            problems.append(f"the bad program does not grow: {kept(bad)}")
    elif pair.shows == "delayed":
        said = kept(bad, "before") + f" until the collector runs, then {kept(bad)}", kept(good, "before")
        if bad.per_step("bytes", "before") <= SMALL:
            problems.append("the bad program does not grow before the collector runs")
        if not modest(bad, 0):
            problems.append("what the bad program keeps is not collected")
        if good.per_step("bytes", "before") > SMALL:
            problems.append("the good program grows before the collector runs")
    elif pair.shows == "held":

        def held(run: Run) -> str:
            text = f" with {run.after.text} B of stacks" if run.after.text else ""
            return f"{run.after.bytes} B and {amount(run.after.nodes, node)}{text}"

        said = held(bad.long) + " alive", held(good.long)
        one, two = bad.long.after, good.long.after
        if one.bytes - two.bytes <= SMALL and one.nodes <= two.nodes and one.text <= two.text:
            problems.append(f"the bad program holds no more than the good one: {said}")
        if bad.per_step("bytes") > SMALL or bad.per_step("nodes") > 0:
            problems.append(f"the bad program grows: {kept(bad)}")
    elif pair.shows == "peak":
        said = f"peak {bad.long.peak} B", f"{good.long.peak} B"
        if bad.long.peak < PEAK_FACTOR * good.long.peak:
            problems.append(f"the peaks hardly differ: {bad.long.peak} and {good.long.peak}")
    elif pair.shows == "heap":
        # the C heap is the one figure that is not exact: rounded, and never compared to the digit
        grown, other = (round(one.per_step("heap"), -3) for one in (bad, good))
        said = f"about {grown} B of host memory per step kept", f"about {other} B"
        if grown <= HEAP_NOISE or other > HEAP_NOISE:
            problems.append(f"heap per step: {grown} and {other}")
    else:
        left = ", ".join(bad.long.left_on)
        said = f"nothing is kept ({kept(bad)})" + (f"; still changed: {left}" if left else ""), kept(good)
    if bad.long.left_on and pair.shows in ("held", "heap"):
        said = said[0] + f"; left on: {', '.join(bad.long.left_on)}", said[1]
    where = f"Measured (torch {bad.torch.split('+')[0]}, cpu): "
    good_line = said[1] if pair.shows == "peak" else f"{said[1]} kept"
    if pair.shows == "held":
        good_line = f"{said[1]} alive"
    elif pair.shows == "peak":
        good_line = f"peak {said[1]}"
    elif pair.shows == NOTHING:
        good_line = f"nothing is kept ({said[1]})"
    return Outcome(pair, bad, good, f"{where}{said[0]}; good twin {said[1]}.", f"{where}{good_line}.", tuple(problems))


def measure(pair: Pair, child: Child, known: dict[Path, Figures]) -> Outcome:
    for path in (pair.bad, pair.good):
        if path not in known:
            known[path] = child.measure(path)
    return judge(pair, known[pair.bad], known[pair.good])


def write_header(path: Path, line: str) -> None:
    """Put the measured line into the docstring, after its first paragraph or in place of the old one."""
    source = path.read_text("utf-8")
    end = source.index('"""', 3)
    doc = re.sub(r"\n+Measured \(.*?\): .*?(?=\n\n|\n[A-Z]\w+: |\Z)", "", source[3:end].rstrip(), flags=re.DOTALL)
    head, _, rest = doc.partition("\n\n")
    wrapped = textwrap.fill(line, 100, break_long_words=False)
    parts = [head, wrapped] + ([rest.strip("\n")] if rest.strip() else [])
    new = '"""' + "\n\n".join(parts) + "\n" + source[end:]
    if new != source:
        path.write_text(new, "utf-8")


def exact(line: str | None) -> str:
    """A measured line without the figure that is not exact."""
    return re.sub(r"about -?\d+ B", "about … B", line or "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("codes", nargs="*", help="rules to measure; all by default")
    parser.add_argument("--write", action="store_true", help="update the headers")
    parser.add_argument("--check", action="store_true", help="compare with the headers")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    wrong = 0
    known: dict[Path, Figures] = {}
    with contextlib.closing(Child()) as child:
        for pair in pairs(options.codes):
            outcome = measure(pair, child, known)
            print(f"{pair.name:32} {pair.shows:8} {outcome.bad_line.partition(': ')[2] or '-'}")
            problems = list(outcome.problems)
            for path, line in ((pair.bad, outcome.bad_line), (pair.good, outcome.good_line)):
                if options.write and line and not problems:
                    write_header(path, line)
                if options.check and exact(Header.read(path).measured) != exact(line):
                    problems.append(f"the header of {path.name} says otherwise: {line}")
            for problem in problems:
                print(f"{'':32} WRONG: {problem}")
            wrong += bool(problems)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
