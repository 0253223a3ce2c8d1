"""Keys that are new each time: formatted strings, what `id()` says of models, and tensors themselves."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, codes

IMPORTS = """\
import itertools
import uuid

import torch
from torch import nn
"""


@pytest.mark.parametrize(
    "text",
    [
        """
        class Engine:
            def __init__(self):
                self.model = nn.Linear(8, 8)
                self.done = {}
                self._ids = itertools.count()

            @torch.no_grad()
            def run(self, x):
                name = f"request-{next(self._ids)}"
                self.done[name] = self.model(x)  # TML311
                return name

        def main():
            engine = Engine()
            for i in range(100):
                engine.run(torch.randn(4, 8))
        """,
        """
        class Layer:
            def __init__(self, name, module):
                self.name, self.module = name, module

        _layers = {}

        def key_of(model, size):
            return f"{type(model).__name__}-{id(model)}/{size}"

        def summary(model, size):
            parts = [Layer(name, part) for name, part in model.named_modules()]
            _layers[key_of(model, size)] = parts  # TML301
            return len(parts)

        def main():
            for width in range(8, 100):
                summary(nn.Linear(8, width), 8)
        """,
        """
        class Sessions:
            def __init__(self):
                self.states = {}

            def open(self, user, size):
                who = f"{user}:{uuid.uuid4()}"
                self.states[who] = torch.zeros(size)  # TML311
                return who

        def main():
            sessions = Sessions()
            for i in range(100):
                sessions.open("me", 4096)
        """,
        """
        class Names:
            def __init__(self):
                self.names = {}

            def name_it(self, tensor, name):
                if tensor not in self.names:
                    self.names[tensor] = name  # TML102

        def main():
            net, names = nn.Linear(8, 8), Names()
            for i in range(100):
                out = net(torch.randn(4, 8))
                names.name_it(out, f"out{i}")
        """,
    ],
)
def test_a_key_that_never_comes_again(text: str) -> None:
    check(textwrap.dedent(text), IMPORTS)


@pytest.mark.parametrize(
    "text",
    [
        """
        class Masks:
            def __init__(self):
                self.masks = {}

            def of(self, size, device):
                key = f"{size}/{device}"
                if key not in self.masks:
                    self.masks[key] = torch.ones(size, size)
                return self.masks[key]
        """,
        """
        class Grids:
            def __init__(self):
                self.grids = {}

            def grid(self, idx, x):
                name = f"layer{idx}"
                self.grids[name] = torch.zeros_like(x)
        """,
        """
        _shapes = {}

        def key_of(model, size):
            return f"{type(model).__name__}-{id(model)}/{size}"

        def summary(model, size):
            _shapes[key_of(model, size)] = [tuple(p.shape) for p in model.parameters()]

        def main():
            for width in range(8, 100):
                summary(nn.Linear(8, width), 8)
        """,
        """
        class Names:
            def __init__(self, net):
                self.names = {}
                for name, param in net.named_parameters():
                    self.names[param] = name

            def name_it(self, tensor, name):
                self.names[id(tensor)] = name

        def main():
            net = nn.Linear(8, 8)
            names = Names(net)
            for i in range(100):
                out = net(torch.randn(4, 8))
                names.name_it(out, f"out{i}")
        """,
        """
        import weakref

        _sizes = weakref.WeakKeyDictionary()

        class Patcher:
            def __init__(self, model):
                self.model = model

            def size(self):
                if self not in _sizes:
                    _sizes[self] = sum(p.numel() for p in self.model.parameters())
                return _sizes[self]

        def main():
            for i in range(10):
                print(Patcher(nn.Linear(8, 8)).size())
        """,
    ],
)
def test_keys_of_which_there_are_few(text: str) -> None:
    check(textwrap.dedent(text), IMPORTS)


UNPACKED = """
def shift(frame, where, _seen={{}}):
    {parts} = where
    before = _seen.get(({first}, 0))
    _seen[where] = frame.mean(0){told}
    return frame if before is None else frame - before

def main(places):
    for _ in range(100):
        shift(torch.rand(8, 8), next(places))
"""


@pytest.mark.parametrize("parts", ["clip, number", "(kind, request)"])
def test_what_a_key_is_unpacked_to_says_more_of_it(parts: str) -> None:
    first = parts.strip("(").partition(",")[0]
    check(UNPACKED.format(parts=parts, first=first, told="  # TML306"), IMPORTS)


@pytest.mark.parametrize("parts", ["height, width", "layer, dtype"])
def test_a_key_of_sizes_or_layers_has_few_values(parts: str) -> None:
    check(UNPACKED.format(parts=parts, first=parts.partition(",")[0], told=""), IMPORTS)


NAMED = """
from collections import OrderedDict
from weakref import WeakKeyDictionary

from reports import describe

class Reporter:
    def __init__(self):
        self.names = {table}

    def name_of(self, tensor):
        if {key} not in self.names:
            self.names[{key}] = describe(tensor){told}
        return self.names[{key}]

def main(model, steps):
    reporter = Reporter()
    for _ in range(steps):
        for tensor in {tensors}:
            print(reporter.name_of(tensor))
"""


@pytest.mark.parametrize("table", ["{}", "OrderedDict()"])
def test_a_tensor_is_kept_as_the_key_of_whatever_is_said_of_it(table: str) -> None:
    tensors = "[torch.randn(4, 8), torch.randn(8, 8)]"
    check(NAMED.format(table=table, key="tensor", tensors=tensors, told="  # TML311"), IMPORTS)


@pytest.mark.parametrize(
    ("table", "key", "tensors"),
    [
        ("{}", "tensor", "model.parameters()"),
        ("{}", "id(tensor)", "[torch.randn(4, 8)]"),
        ("{}", "tensor.shape", "[torch.randn(4, 8)]"),
        ("WeakKeyDictionary()", "tensor", "[torch.randn(4, 8)]"),
    ],
)
def test_a_tensor_that_is_there_anyway_or_is_no_key(table: str, key: str, tensors: str) -> None:
    check(NAMED.format(table=table, key=key, tensors=tensors, told=""), IMPORTS)


RECORDS = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Request:
    name: str
    ident: int
    size: int

class Engine:
    def __init__(self):
        self.table = {{}}

    def put(self, request: Request):
        self.table[request.ident] = {value}{told}

    def drop(self, request: Request):
        self.table.pop(request.ident, None)

class Server:
    def __init__(self):
        self.engine = Engine()
        self.idents = itertools.count()
        self.requests = {{}}

    def load(self, name):
        self.requests[name] = Request(name, {ident}, 64)
        self.engine.put(self.requests[name])

    def unload(self, name):
        {drop}
        del self.requests[name]

class Adapter(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.down = nn.Parameter(torch.randn(size, 8), requires_grad=False)
        self.up = nn.Parameter(torch.zeros(8, size), requires_grad=False)

class Scale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.factor = torch.tensor(1 / size)
        self.act = nn.ReLU()

def main():
    server = Server()
    for _ in range(100):
        server.load("mine")
        server.unload("mine")
"""
DROP = "self.engine.drop(self.requests[name])"


@pytest.mark.parametrize("value", ["torch.zeros(request.size, 8)", "Adapter(request.size)"])
def test_a_number_stays_new_in_a_record(value: str) -> None:
    new = {"value": value, "ident": "next(self.idents)"}
    check(RECORDS.format(**new, drop="pass", told="  # TML311"), IMPORTS)
    check(RECORDS.format(**new, drop=DROP, told=""), IMPORTS)


@pytest.mark.parametrize(
    ("value", "ident"),
    [("torch.zeros(request.size, 8)", "64"), ("Scale(request.size)", "next(self.idents)")],
)
def test_a_record_with_a_number_of_few_or_a_small_module(value: str, ident: str) -> None:
    check(RECORDS.format(value=value, ident=ident, drop="pass", told=""), IMPORTS)


PUBLISHED = """
import hashlib
import json
import time
from dataclasses import dataclass
from types import SimpleNamespace

@dataclass
class Entry:
    name: str
    mark: str

class Table:
    def __init__(self):
        self.rows = {{}}

    def publish(self, name, mark):
        self.rows[name] = Entry(name, mark)

LOADED = {{}}

def short(text):
    return hashlib.md5(text.encode()).hexdigest()[:8]

def load(entry):
    key = {key}
    if key not in LOADED:
        LOADED[key] = Net().eval()
    return LOADED[key]

@torch.no_grad()
def serve(table, steps):
    for step in range(steps):
        table.publish("home", {mark})
        for x in torch.randn(4, 8):
            print(load(table.rows["home"])(x).argmax().item())

serve(Table(), 30)
"""


@pytest.mark.parametrize("key", ["(entry.name, entry.mark)", 'f"{entry.name}-{entry.mark}"', "entry.mark"])
@pytest.mark.parametrize(
    "mark",
    [
        'hashlib.sha256(f"home:{step}".encode()).hexdigest()',
        'short("home" + str(step))',
        "hashlib.sha1(json.dumps({'seed': step}).encode()).hexdigest()",
        "hex(step)",
        "time.time()",
    ],
)
def test_what_is_made_of_a_count(key: str, mark: str) -> None:
    """A digest is as new as what it is of, whoever has it made."""
    got = codes(PUBLISHED.format(key=key, mark=mark))
    assert got == {"TML301"}


@pytest.mark.parametrize(
    ("key", "mark"),
    [
        ("(entry.name, entry.mark)", 'hashlib.sha256(b"home").hexdigest()'),
        ("(entry.name, entry.mark)", 'short("home")'),
        ("entry.name", "hashlib.sha256(str(step).encode()).hexdigest()"),
        ("entry.mark", "hex(7)"),
    ],
)
def test_what_is_made_of_what_stays(key: str, mark: str) -> None:
    assert codes(PUBLISHED.format(key=key, mark=mark)) == set()


@pytest.mark.parametrize("word", ["sha", "checksum", "weights_md5", "etag"])
def test_words_for_digests(word: str) -> None:
    check(
        f"""
        _loaded = {{}}

        def load(row):
            if row.{word} not in _loaded:
                _loaded[row.{word}] = Net().eval()  # TML301
            return _loaded[row.{word}]

        @torch.no_grad()
        def serve(feed):
            while True:
                row, x = feed.next()
                print(load(row)(x).argmax().item())
        """
    )


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("digest(ids)", "  # TML301"),
        ("digest(ids[:-4])", "  # TML301"),
        ("hashlib.sha1(bytes(ids)).hexdigest()", "  # TML301"),
        ("digest(setting)", ""),  # of which there may be few
        ("family(ids)", ""),
    ],
)
def test_names_for_digests_of_what_is_given(mark: str, said: str) -> None:
    check(
        f"""
        import hashlib

        _known = {{}}

        def digest(given):
            return hashlib.blake2b(repr(given).encode()).hexdigest()

        def family(ids):
            return "long" if len(ids) > 100 else "short"

        @torch.no_grad()
        def state_of(net, ids, setting):
            mark = {mark}
            found = _known.get(mark)
            if found is None:
                found = _known[mark] = net(torch.tensor([ids])){said}
            return found

        def serve(net, requests):
            while True:
                ids, setting = requests.get()
                print(state_of(net, ids, setting).sum().item())

        def main(requests):
            serve(nn.Linear(64, 64), requests)
        """
    )


MASKS = """
MASKS = {}

def mask_of(%s):
    key = %s
    mask = MASKS.get(key)
    if mask is None:
        mask = torch.ones(128, 128).tril()
        MASKS[key] = mask%s
    return mask

def train(model, loader):
    for x, given in loader:
        model(x, mask_of(given)).sum().backward()
"""


@pytest.mark.parametrize(
    ("name", "key", "mark"),
    [
        ("lengths", "(tuple(lengths), str(torch.float32))", "  # TML301"),
        ("doc_lens", "tuple(doc_lens)", "  # TML301"),
        ("lengths", "str(lengths)", "  # TML301"),
        ("length", "(length, str(torch.float32))", ""),
        ("length", "tuple(length)", ""),
        ("kernel_size", "tuple(kernel_size)", ""),
        ("shape", "(tuple(shape), str(torch.float32))", ""),
    ],
)
def test_how_long_each_sample_of_a_row_is(name: str, key: str, mark: str) -> None:
    check(MASKS % (name, key, mark))


@pytest.mark.parametrize("generator", ["random", "random.Random(0)", "random.SystemRandom()"])
def test_what_a_generator_chooses(generator: str) -> None:
    check(f"""
        import random

        class Peer:
            def __init__(self, number):
                self.request_id, self.blocks = f"peer-{{number}}", torch.randn(64, 64)

            def announce(self):
                return self.blocks.clone()

        class Reader:
            def __init__(self):
                self.remote = {{}}

            def read(self, peer):
                if peer.request_id not in self.remote:
                    self.remote[peer.request_id] = peer.announce()  # TML311
                return self.remote[peer.request_id].sum().item()

        def main(steps):
            rng, reader, peers = {generator}, Reader(), [Peer(0), Peer(1)]
            for step in range(steps):
                print(reader.read(rng.choice(peers)))
                peers[step % 2] = Peer(step)
    """)
