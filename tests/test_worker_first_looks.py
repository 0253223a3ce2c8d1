"""Workers, threads and loaders: programs like those that the linter met unprepared, each with its lookalike."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """
import threading
import time
import multiprocessing as mp
from torch.utils.data import DataLoader, Dataset
"""


def _check(text: str) -> None:
    check(textwrap.dedent(IMPORTS) + textwrap.dedent(text))


LOADING = """
class Loading(threading.Thread):
    def __init__(self, path):
        super().__init__()
        self.path, self.shard, self.error = path, None, None

    def run(self):
        self.shard = torch.load(self.path)

class Schedule:
    def __init__(self, paths):
        self.paths = paths
        self.jobs = {}

    def prefetch(self, index):
        if index < len(self.paths) and index not in self.jobs:
            job = Loading(self.paths[index])
            self.jobs[index] = job%s
            job.start()

    def get(self, index):
        self.prefetch(index + 1)
        job = self.jobs%s
        job.join()
        return job.shard

def go(paths):
    schedule = Schedule(paths)
    return [schedule.get(i)["x"].mean().item() for i in range(len(paths))]
"""


@pytest.mark.parametrize(("mark", "taken"), [("  # TML501", "[index]"), ("", ".pop(index)")])
def test_finished_loading_threads_under_counted_numbers(mark: str, taken: str) -> None:
    _check(LOADING % (mark, taken))


POOLS = """
class Inverter:
    def __init__(self):
        self.pools = {}

    def pool_for(self, key, patch):
        if key not in self.pools:
            self.pools[key] = mp.Pool(2, initargs=(patch,))%s
        return self.pools[key]

def go(patches):
    inverter = Inverter()
    for k in range(patches):
        inverter.pool_for(%s, torch.zeros(k))
"""


@pytest.mark.parametrize(("mark", "key"), [("  # TML408", 'f"patch{k}"'), ("", '"patch"'), ("", "k % 4")])
def test_pools_under_names_with_a_number_in_them(mark: str, key: str) -> None:
    _check(POOLS % (mark, key))


CACHE = """
class Cache:
    def __init__(self):
        self.table = {}
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self.tidy, daemon=True)
        self.thread.start()

    def tidy(self):
        while not self.closed.wait(1.0):
            self.table.clear()

    def close(self):
        self.closed.set()

def look_up(cache, name, net):
    if name not in cache.table:
        cache.table[name] = torch.zeros(8)
    %s
    return cache.table[name]

def session(names, net):
    cache = Cache()%s
    return sum(look_up(cache, name, net).sum().item() for name in names)

def serve(requests, net):
    for names in requests:
        session(names, net)
"""


@pytest.mark.parametrize(
    ("mark", "does"),
    [
        ("  # TML505", "print(len(cache.table))"),
        ("", "cache.close()"),
        ("", "net.caches.append(cache)"),
        ("", "finish = lambda: cache.close()"),
    ],
)
def test_an_object_with_a_thread_that_is_only_lent(mark: str, does: str) -> None:
    _check(CACHE % (does, mark))


GRABBER = """
class Grabber:
    def __init__(self, most):
        self.frames, self.most, self.going, self.waits = deque(), most, True, 0

    def __call__(self):
        while self.going:
            if len(self.frames) > self.most:
                self.waits += 1
                time.sleep(0.001)
                %s
            self.frames.append(torch.rand(3, 64, 64))%s

def go(steps):
    grabber = Grabber(2)
    threading.Thread(target=grabber).start()
    for _ in range(steps):
        if grabber.frames:
            print(grabber.frames.popleft().mean().item())
"""


@pytest.mark.parametrize(("does", "mark"), [("pass", "  # TML504"), ("continue", ""), ("self.frames.clear()", "")])
def test_a_limit_that_is_asked_and_keeps_nothing_out(does: str, mark: str) -> None:
    _check(GRABBER % (does, mark))


OPENED = """
class Decoders:
    def __init__(self):
        self.table = {}

    def get(self, path):
        if path not in self.table:
            self.table[path] = %s
        return self.table[path]

class Clips(Dataset):
    def __init__(self, paths):
        self.paths, self.decoders = paths, Decoders()

    def __getitem__(self, i):
        return self.decoders.get(self.paths[i]).read(64)
"""


@pytest.mark.parametrize("made", ['open(path, "rb")  # TML406', "h5py.File(path)"])
def test_files_that_are_items_and_files_of_many_items(made: str) -> None:
    _check("import h5py\n" + OPENED % made)


CHILDREN = """
import subprocess

class Child:
    def __init__(self, number, size):
        self.process = subprocess.Popen(["decode", str(number), str(size)], stdout=subprocess.PIPE)

class Clips(Dataset):
    def __init__(self, count):
        self.count, self.children = count, {}

    def child(self, %(key)s):
        self.children[%(key)s] = Child(%(key)s, 64)%(mark)s
        return self.children[%(key)s]

    def __getitem__(self, i):
        return self.child(%(given)s).process.stdout.read(64)
"""


def test_children_by_the_number_of_an_item() -> None:
    _check(CHILDREN % {"key": "index", "given": "i", "mark": "  # TML406"})
    _check(CHILDREN % {"key": "shard", "given": "i // 1000", "mark": ""})


MANIFEST = """
import collections
import json

class Entry(collections.namedtuple("Entry", "path start end text")):
    pass

{made}

class Data(Dataset):
    def __init__(self, lines):
        {kept}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return torch.zeros(int(row[2]))

def train(lines):
    return DataLoader(Data(lines), num_workers=4)
"""
RECORDS = {
    "one parsed per line": ("", "self.rows = [json.loads(line) for line in lines]  # TML405"),
    "by a method": (
        "class Reads:\n"
        "    def read(self, lines):\n"
        "        rows = []\n"
        "        for line in lines:\n"
        "            row = Entry(*line.split())\n"
        "            rows.append(row)\n"
        "        return rows",
        "self.rows = Reads.read(self, lines)",
    ),
    "the first of two": (
        "def read(lines):\n"
        "    rows, names = {}, {}\n"
        "    for line in lines:\n"
        "        rows.setdefault(line[0], []).append(Entry(*line.split()))\n"
        "        names[line[0]] = line[1]\n"
        "    return rows, names",
        "self.rows, self.names = read(lines)  # TML405",
    ),
    "the second of two": (
        "def read(lines):\n"
        "    rows, names = {}, {}\n"
        "    for line in lines:\n"
        "        rows.setdefault(line[0], []).append(Entry(*line.split()))\n"
        "        names[line[0]] = line[1]\n"
        "    return rows, names",
        "self.other, self.rows = read(lines)",
    ),
    "handed out one by one": (
        "def entries(lines):\n    for line in lines:\n        yield Entry(*line.split())",
        "self.rows = list(entries(lines))  # TML405",
    ),
    "a list of its own kind": (
        "class Entries(collections.UserList):\n"
        "    def __init__(self, lines):\n"
        "        rows = []\n"
        "        for line in lines:\n"
        "            rows.append(Entry(*line.split()))  # TML405\n"
        "        super().__init__(rows)",
        "self.rows = Entries(lines)",
    ),
}


@pytest.mark.parametrize("case", RECORDS)
def test_records_that_workers_copy(case: str) -> None:
    made, kept = RECORDS[case]
    _check(MANIFEST.format(made=made, kept=kept))


def test_records_that_a_method_of_the_data_set_reads() -> None:
    made, _ = RECORDS["by a method"]
    text = MANIFEST.format(made=made, kept="self.rows = self.read(lines)  # TML405")
    _check(text.replace("class Data(Dataset)", "class Data(Reads, Dataset)"))


LANES = """
class Lane:
    def __init__(self, net):
        self.net, self.inbox, self.outbox = net, queue.Queue(2), queue.Queue(2)
        threading.Thread(target=self.serve, daemon=True).start()

    def next_call(self):
        return self.inbox.get()

    def serve(self):
        while True:
            name, batch = self.next_call(){mark}
            if name is None:
                break
            self.outbox.put(float(self.net(batch).mean()))
            {after}

def go(net):
    lane = Lane(net)
    lane.inbox.put(("run", torch.rand(64, 1024)))
    return lane.outbox.get()
"""


@pytest.mark.parametrize(("mark", "after"), [("  # TML502", "name = ''"), ("", "del name, batch")])
def test_a_thread_that_waits_in_a_method_of_its_own(mark: str, after: str) -> None:
    _check("def nothing(): ...\n" + LANES.format(mark=mark, after=after))


FETCHED = """
import io

_SHARDS = {{}}

def shard_of(name, read):
    if name not in _SHARDS:
        _SHARDS[name] = {made}
    return _SHARDS[name]

def drop_shards():
    _SHARDS.clear()

def train(conn, net):
    while True:
        name = conn.recv()
        if name is None:
            break
        conn.send(net(shard_of(name, conn.recv)).sum().item())
        {after}

def go(net):
    ours, theirs = mp.Pipe()
    mp.Process(target=train, args=(theirs, net)).start()
    return ours
"""


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("torch.load(io.BytesIO(read(name)))  # TML401", "pass"),
        ("torch.load(io.BytesIO(read(name)))", "drop_shards()"),
        ("read(name)", "pass"),
        ("name.strip()", "pass"),
    ],
)
def test_what_a_process_loads_for_itself(made: str, after: str) -> None:
    _check(FETCHED.format(made=made, after=after))


STREAMS = """
class Stream:
    def __init__(self, net):
        self.net, self.done = net, threading.Event()
        self.frames = queue.Queue(8)
        self.masks = queue.Queue(8)
        self.thread = None

    def start(self):
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def stop(self):
        self.done.set()

    @torch.no_grad()
    def work(self):
        while not self.done.is_set():
            frame = self.frames.get()
            if frame is None:
                {told}
            self.masks.put(float(self.net(frame).mean()))
            del frame

def session(net, frames):
    stream = Stream(net){mark}
    stream.start()
    {ends}
    for frame in frames:
        stream.frames.put(frame)
        print(stream.masks.get())

def serve(requests, net):
    for frames in requests:
        session(net, frames)
"""


@pytest.mark.parametrize(
    ("mark", "told", "ends"),
    [
        ("  # TML505", "continue", "pass"),
        ("", "self.done.set()", "pass"),
        ("", "break", "pass"),
        ("", "continue", "net.on_unload(stream.stop)"),
        ("", "continue", "net.events.append(stream.done)"),
    ],
)
def test_a_thread_whose_owner_is_fed_and_dropped(mark: str, told: str, ends: str) -> None:
    _check(STREAMS.format(mark=mark, told=told, ends=ends))


OPEN_FILES = """
class Handles:
    def __init__(self):
        self.table = {{}}

    def get(self, path):
        if path not in self.table:
            self.table[path] = open(path, "rb"){mark}
        return self.table[path]

    def drop_all(self):
        for handle in self.table.values():
            handle.close()
        self.table.clear()

HANDLES = Handles()

class Clips(Dataset):
    def __init__(self, paths):
        self.paths, self.handles = paths, HANDLES

    def __getitem__(self, i):
        {first}
        return torch.frombuffer(bytearray(HANDLES.get(self.paths[i]).read(64)), dtype=torch.uint8)

def epoch(paths):
    for clips in DataLoader(Clips(paths), num_workers=2):
        print(clips.float().mean().item())
    {after}
"""


@pytest.mark.parametrize(
    ("mark", "first", "after"),
    [
        ("  # TML406", "pass", "pass"),
        ("", "if i % 100 == 0: HANDLES.drop_all()", "pass"),
        ("", "pass", "HANDLES.drop_all()"),
    ],
)
def test_a_release_that_workers_never_call(mark: str, first: str, after: str) -> None:
    _check(OPEN_FILES.format(mark=mark, first=first, after=after))


SESSIONS = """
class Session:
    def __init__(self, net):
        self.net, self.over, self.frames = net, threading.Event(), torch.rand(64, 8)

    def play(self):
        threading.Thread(target=self.go_on, daemon=True).start()

    def go_on(self):
        while not self.over.is_set():
            time.sleep(0.1)
            print(float(self.net(self.frames).mean()))

    def finish(self):
        self.over.set()

class Sessions:
    def __init__(self, net):
        self.net, self.table = net, {{}}

    def create(self, name):
        self.table[name] = Session(self.net)
        self.table[name].play()

    def remove(self, name):
        if name in self.table:
            {gone}

def serve(net, names):
    sessions = Sessions(net)
    for name in names:
        sessions.create(name)
        sessions.remove(name)
"""


@pytest.mark.parametrize(
    "gone",
    [
        "self.table.pop(name)  # TML505",
        "del self.table[name]  # TML505",
        "self.table.pop(name).finish()",
        "self.table[name].finish(); del self.table[name]",
        "gone = self.table.pop(name); self.net.drop(gone)",
        "self.net.drop(self.table); self.table.clear()",
        "self.names.pop(name)",
    ],
)
def test_sessions_that_leave_the_table_and_go_on(gone: str) -> None:
    _check(SESSIONS.format(gone=gone))
