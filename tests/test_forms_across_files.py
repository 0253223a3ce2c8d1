"""Forms in which one file makes a graph and another one keeps it, and of series that carry it from one to the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

GATHER = """
def collect(net, loader):
    rows = []
    net.eval()
    for x in loader:
        rows.append({row})
    return rows
"""


@pytest.mark.parametrize(("row", "mark"), [("net(x)", True), ("x", False)])
def test_a_file_that_never_names_torch(row: str, mark: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GATHER.format(row=row)
    text = text.replace(".append(net(x))", ".append(net(x))  # TML102") if mark else text
    check_project({"gather.py": text}, tmp_path, monkeypatch)


RECOGNISER = """
import torch
from torch import nn

class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 64))
        self.head = nn.Linear(64, 30)

    {guard}
    def spell(self, frames):
        best = self.head(self.body(frames)).argmax(-1)
        return [row[row > 0].tolist() for row in best]
"""
DESK = """
import torch
from recogniser import Recogniser

class Desk:
    def __init__(self):
        self.model = Recogniser()
        {mode}

    def answer(self, frames):
        return self.model.spell(frames)[0]{mark}

def main():
    desk = Desk()
    for _ in range(10):
        print(desk.answer(torch.randn(2, 9, 40)))
"""


@pytest.mark.parametrize(
    ("guard", "mode", "mark"),
    [
        ("", "self.model.eval()", "  # TML201"),
        ("@torch.no_grad()", "self.model.eval()", ""),
        ("", "self.model.requires_grad_(False).eval()", ""),
        ("", "pass", ""),
    ],
)
def test_a_method_that_runs_parts_of_its_model(
    guard: str, mode: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"recogniser.py": RECOGNISER.format(guard=guard), "desk.py": DESK.format(mode=mode, mark=mark)}
    check_project(files, tmp_path, monkeypatch)


EMBEDDER = """
import torch
from torch import nn

class Embedder:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 8)).eval()

    def embed(self, rows):
        return self.model(torch.tensor(rows)).mean(1)
"""
SERVER = """
import torch
from fastapi import FastAPI
from embedder import Embedder

app = FastAPI()
embedder = Embedder()

{route}
{guard}
def embed(payload: dict):
    return embedder.embed(payload["rows"]).tolist(){mark}
"""


@pytest.mark.parametrize(
    ("route", "guard", "mark"),
    [
        ('@app.post("/embed")', "", "  # TML201"),
        ('@app.post("/embed")', "@torch.no_grad()", ""),
        ("", "", ""),  # who calls it may have turned gradients off
    ],
)
def test_what_answers_requests_records(
    route: str, guard: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"embedder.py": EMBEDDER, "server.py": SERVER.format(route=route, guard=guard, mark=mark)}
    check_project(files, tmp_path, monkeypatch)


BLOCKS = """
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, gates=None):
        gate = self.gate(x).sigmoid()
        if gates is not None:
            gates.append({kept}){mark}
        return x + gate * self.out(x)

class Stack(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.gates = []

    def forward(self, x):
        {first}
        for block in self.blocks:
            x = block(x, self.gates)
        return x
"""


@pytest.mark.parametrize(
    ("kept", "first", "mark"),
    [
        ("gate", "pass", "  # TML102"),
        ("gate.detach().mean().item()", "pass", ""),
        ("gate", "self.gates.clear()", ""),
    ],
)
def test_a_list_that_blocks_are_given(
    kept: str, first: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_project({"blocks.py": BLOCKS.format(kept=kept, first=first, mark=mark)}, tmp_path, monkeypatch)


TASKS = """
import lightning
import torch

class Task(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.rows = []

    def note(self, **values):
        self.rows.append(values)

    def on_train_epoch_end(self):
        self.log("mean", torch.cat([row["out"] for row in self.rows]).mean())
        {end}
"""
SEGMENT = """
import torch.nn.functional as F
from tasks import Task
from torch import nn

class Segment(Task):
    def __init__(self):
        super().__init__()
        self.net = nn.Conv2d(3, 2, 3, padding=1)

    def training_step(self, batch, index):
        x, y = batch
        out = self.net(x)
        self.note(out={out}){mark}
        return F.cross_entropy(out, y)
"""


@pytest.mark.parametrize(
    ("out", "end", "mark"),
    [
        ("out", "pass", "  # TML107"),
        ("out.detach()", "self.rows.clear()", ""),
        ("out.argmax(1).float().mean().item()", "pass", ""),
    ],
)
def test_an_inherited_collector(out: str, end: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"tasks.py": TASKS.format(end=end), "segment.py": SEGMENT.format(out=out, mark=mark)}
    check_project(files, tmp_path, monkeypatch)


METERS = """
from collections import defaultdict

class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value):
        self.total += value
        self.count += 1

class Meters:
    def __init__(self):
        self.meters = defaultdict(Meter)

    def update(self, **values):
        for name, value in values.items():
            self.meters[name].update(value)
"""
ENGINE = """
from meters import Meters

def fit(model, criterion, optimizer, loader):
    model.train()
    meters = Meters()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meters.update(loss=loss)  # TML101
    return meters
"""
START = """
import torch
from engine import fit
from torch import nn

class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x).relu())

model = Detector()
optimizer = torch.optim.Adam(model.parameters())
loader = [(torch.randn(4, 8), torch.randint(0, 2, (4,))) for _ in range(9)]
fit(model, nn.CrossEntropyLoss(), optimizer, loader)
"""


def test_a_pass_is_not_blamed_for_what_the_engine_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"meters.py": METERS, "engine.py": ENGINE, "start.py": START}, tmp_path, monkeypatch)


RETRIEVAL = """
import torch

def embed_all(model, loader):
    found = []
    for x, _ in loader:
        found.append(model(x))
    return torch.cat(found)
"""
FITTING = """
import torch
from retrieval import embed_all

class Fitting:
    def __init__(self, model, criterion, optimizer):
        self.model, self.criterion, self.optimizer = model, criterion, optimizer

    def fit(self, loader, held_out, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in loader:
                loss = self.criterion(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.model.eval()
            {first}
            print(epoch, embed_all(self.model, held_out).std().item()){mark}
"""


@pytest.mark.parametrize(("first", "mark"), [("pass", "  # TML201"), ("torch.set_grad_enabled(False)", "")])
def test_a_helper_where_gradients_must_be_on(
    first: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"retrieval.py": RETRIEVAL, "fitting.py": FITTING.format(first=first, mark=mark)}
    check_project(files, tmp_path, monkeypatch)


ROWS = """
    import random
    from collections import namedtuple

    Step = namedtuple("Step", "state value reward")

    class Critic:
        def __init__(self, width):
            self.net = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 1))
            self.opt = torch.optim.Adam(self.net.parameters())
            self.steps = []

        def note(self, state, reward):
            value = self.net(state)
            self.steps.append(Step(state, {value}, reward)){mark}
            return value.item()

        def learn(self, count):
            {taken}
            loss = (self.net(torch.stack(states)).squeeze(1) - torch.tensor(rewards)).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
"""


@pytest.mark.parametrize(
    "taken",
    [
        "states, values, rewards = zip(*random.sample(self.steps, count))",
        "states, rewards = (b := Step(*zip(*random.sample(self.steps, count)))).state, b.reward",
        "states, values, rewards = list(zip(*self.steps[-count:]))",
    ],
)
@pytest.mark.parametrize(("value", "mark"), [("value", "  # TML102"), ("value.item()", "")])
def test_columns_of_rows_are_told_apart(taken: str, value: str, mark: str) -> None:
    text = ROWS.format(taken=taken, value=value, mark=mark)
    if mark:
        check(text)
    else:
        assert "TML102" not in text
        check(text.replace("# TML", "#"))


def test_a_column_that_is_differentiated() -> None:
    check_innocent("""
        def learn(net, head, opt, loader):
            for x in loader:
                rows = [(part, head(net(part))) for part in x]
                parts, values = zip(*rows)
                loss = torch.stack(values).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        """)


STEPS = """
        def steps(model, opt, loader):
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                yield {given}

        def fit(loader, epochs):
            model = nn.Linear(8, 2)
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(epochs):
                {taken}
                print(sum(float(one) for one in losses) / len(losses))
"""


@pytest.mark.parametrize(
    "taken",
    [
        "losses = list(steps(model, opt, loader))",
        "losses = tuple(steps(model, opt, loader))",
        "losses = []; losses.extend(steps(model, opt, loader))",
        "losses = list(2 * loss for loss in steps(model, opt, loader))",
        "losses = []; losses.extend(2 * loss for loss in steps(model, opt, loader))",
    ],
)
def test_what_a_generator_of_steps_gives(taken: str) -> None:
    check(STEPS.format(given="loss", taken=taken + "  # TML102"))
    check_innocent(STEPS.format(given="loss.item()", taken=taken))
    check_innocent(STEPS.format(given="loss.detach().clone()", taken=taken))


def test_generators_that_are_no_record() -> None:
    check_innocent("""
        class Heads(nn.Module):
            def __init__(self, width, count):
                super().__init__()
                self.heads = nn.ModuleList(nn.Linear(width, width) for _ in range(count))

            def each(self, x):
                for head in self.heads:
                    yield head(x)

            def forward(self, x):
                return torch.stack(list(self.each(x)))

        def terms(model, batch):
            for x in batch:
                yield model(x).pow(2).mean()

        def fit(loader):
            model = Heads(8, 3)
            opt = torch.optim.SGD(list(p for p in model.parameters()), lr=0.1)
            for batch in loader:
                found = list(terms(model, batch))
                opt.zero_grad()
                torch.stack(found).sum().backward()
                opt.step()
        """)


@pytest.mark.parametrize(
    ("kept", "mark"),
    [('{"out": out, "scale": scale}', "  # TML106"), ('{"scale": scale}', ""), ('{"shape": out.shape}', "")],
)
def test_a_table_on_a_context(kept: str, mark: str) -> None:
    check(f"""
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, given, scale: float):
                out = (given * scale).exp()
                ctx.kept = {kept}{mark}
                return out

            @staticmethod
            def backward(ctx, grad):
                return grad * 2.0, None
        """)


def test_a_dictionary_that_is_spread_over_a_loss_stays() -> None:
    check("""
        class Depth(nn.Module):
            def __init__(self, net: Net, loss):
                super().__init__()
                self.net, self.loss = net, loss
                self.kept = {}

            def forward(self, x):
                depth = self.net(x)
                self.kept["depth"] = depth  # TML108
                return depth.softmax(1)

            def get_loss(self):
                return self.loss(**self.kept)
        """)


ROOM = """
import torch

KEPT = []
Sizes = dict[str, int]

def make_room(most: int) -> Sizes:
    {room}
    return {{"before": most, "after": 0}}
"""
FILL = """
import torch
import room

def main(loader):
    model = torch.nn.Linear(4, 4)
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        room.KEPT.append(loss){mark}
        sizes = room.make_room(8)
        print(sizes["after"])

main(torch.utils.data.DataLoader([torch.zeros(8)]))
"""


@pytest.mark.parametrize(("room", "mark"), [("print(most)", "  # TML102"), ("KEPT.clear()", ""), ("del KEPT[:]", "")])
def test_a_helper_that_answers_in_numbers_may_let_go_all_the_same(
    room: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_project({"room.py": ROOM.format(room=room), "fill.py": FILL.format(mark=mark)}, tmp_path, monkeypatch)


AVAILABLE = """
import importlib

def is_there(name: str) -> bool:
    {does}
    return importlib.util.find_spec(name) is not None
"""
EVALUATE = """
import torch
from available import is_there

is_there("apex")

def main(loader):
    model = torch.nn.Linear(8, 8)
    for x in loader:
        model(x)
        loss = model(x).sum()
        print(loss)
        losses.append(loss){mark}

losses = []
main(torch.utils.data.DataLoader([torch.zeros(8)]))
"""


@pytest.mark.parametrize(("does", "mark"), [("pass", "  # TML102"), ("torch.set_grad_enabled(False)", "")])
def test_a_helper_that_answers_yes_or_no_may_set_the_grad_mode_all_the_same(
    does: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = AVAILABLE.format(does=does).replace("import importlib", "import importlib\nimport torch")
    check_project({"available.py": text, "evaluate.py": EVALUATE.format(mark=mark)}, tmp_path, monkeypatch)
