"""States, attacks and hooks: programs like those that the linter met unprepared, each with its lookalike."""

from __future__ import annotations

import pytest
from snippets import check

GIBBS = """
class Machine(nn.Module):
    def __init__(self, visible, hidden):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(hidden, visible))
        self.chain = None

    def sweep(self, v):
        h = torch.sigmoid(F.linear(v, self.weights)).bernoulli()
        return torch.bernoulli(torch.sigmoid(F.linear(h, self.weights.t())))

    def negative(self, batch):
        if self.chain is None:
            self.chain = torch.bernoulli(torch.full_like(batch, 0.5))
        self.chain = self.sweep(self.chain)%s
        return self.chain.detach()

def fit(batches):
    model = Machine(64, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        loss = F.linear(batch, model.weights).mean() - F.linear(model.negative(batch), model.weights).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize("cut", ["  # TML205", ".detach()"])
def test_what_is_drawn_from_probabilities_has_their_graph(cut: str) -> None:
    check(GIBBS % cut)


CLOSURE = """
class Inversion:
    def __init__(self, model, rounds):
        self.model, self.rounds = model, rounds
        self.log = []

    def closure(self, optimizer, guess, received):
        def run():
            optimizer.zero_grad()
            distance = (self.model(guess) - received).pow(2).sum()
            distance.backward()
            return distance

        return run

    def attack(self, received):
        guess = torch.randn(1, 3, 8, 8, requires_grad=True)
        optimizer = torch.optim.LBFGS([guess])
        for _ in range(self.rounds):
            distance = optimizer.step(self.closure(optimizer, guess, received))
            self.log.append(distance%s
"""


@pytest.mark.parametrize("kept", [")  # TML102", ".item())"])
def test_a_step_gives_what_its_closure_gave(kept: str) -> None:
    check(CLOSURE % kept)


PARTS = """
class Guided:
    def __init__(self, model):
        self.seen = None
        self.handles = []
        for name, part in model.body._modules.items():
            if isinstance(part, nn.ReLU):
                %s

    def record(self, module, inputs, output):
        self.seen = output.detach()

    def close(self):
        while self.handles:
            self.handles.pop().remove()

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        return self.body(x)

def explain(images):
    model, found = Small(), 0.0
    for image in images:
        guided = Guided(model)
        with torch.no_grad():
            model(image)
        found += guided.seen.sum().item()
        guided.close()
    return found
"""


@pytest.mark.parametrize(
    "hook",
    [
        "part.register_forward_hook(self.record)  # TML304",
        "self.handles.append(part.register_forward_hook(self.record))",
    ],
)
def test_hooks_on_the_parts_in_a_modules_own_table(hook: str) -> None:
    check(PARTS % hook)


POPPED = """
class Guided:
    def __init__(self, model):
        self.model, self.outputs = model, []
        self.handles = [
            model.register_forward_hook(self.forward_hook),
            model.register_full_backward_hook(self.backward_hook),
        ]

    def forward_hook(self, module, inputs, output):
        self.outputs.append(output.detach())%s

    def backward_hook(self, module, grad_in, grad_out):
        return (grad_in[0] * (self.outputs.pop() > 0),)

    def close(self):
        for handle in self.handles:
            handle.remove()
        self.outputs.clear()

def explain(model, images, image):
    guided = Guided(model)
    %s
    guided.close()
    return image.grad
"""


@pytest.mark.parametrize(
    ("mark", "passes"), [("", "model(image).sum().backward()"), ("  # TML108", "for one in images: model(one)")]
)
def test_what_only_backward_takes_is_cleared_with_an_object_of_one_pass(mark: str, passes: str) -> None:
    check(POPPED % (mark, passes))


BAG = """
class Mean:
    def __init__(self):
        self.total = 0.0

    def update(self, value):
        self.total = self.total + value%s

class Bag:
    def __init__(self):
        %s
        self.register("loss", Mean())

    def __getattr__(self, name):
        try:
            return %s[name]
        except KeyError:
            raise AttributeError(name) from None

    def register(self, name, metric):
        self._metrics[name] = metric

    def update(self, loss):
        self.loss.update(%s)

def run(model, batches, optimizer):
    bag = Bag()
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        bag.update(loss)
    return float(bag.loss.total)
"""


@pytest.mark.parametrize(("mark", "value"), [("  # TML101", "loss"), ("", "loss.detach().clone()")])
@pytest.mark.parametrize(
    ("made", "table"),
    [
        ('super().__setattr__("_metrics", {})', 'self.__dict__["_metrics"]'),
        ('object.__setattr__(self, "_metrics", {})', "self._metrics"),
        ('self.__dict__["_metrics"] = {}', "self._metrics"),
    ],
)
def test_a_class_that_answers_by_name(mark: str, value: str, made: str, table: str) -> None:
    check(BAG % (mark, made, table, value))


ASKED = """
ASKED = []

class Record(%s):
    def __getattr__(self, name):
        ASKED.append(torch.zeros(64, 64))%s
        return ASKED[-1]

def run(batches):
    record = Record()
    for batch in batches:
        %s
"""


@pytest.mark.parametrize(
    ("base", "mark", "use"),
    [
        ("dict", "", "print(record.keys(), record.get('x'))"),
        ("list", "", "record.extend(batch)"),
        ("dict", "  # TML301", "print(record.mean)"),
        ("object", "  # TML301", "print(record.keys)"),
    ],
)
def test_a_class_that_answers_by_name_what_its_base_does_not(base: str, mark: str, use: str) -> None:
    check(ASKED % (base, mark, use))


WRAPPED = """
class Wrapped(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 2)
        self.losses = []

    def add(self, loss):
        self.losses.append(%s

    def forward(self, x):
        return self.fc(x)

def run(batches):
    model = Wrapped(Head())
    for x, y in batches:
        loss = F.cross_entropy(model.module(x), y)
        loss.backward()
        model.add(loss)
"""


@pytest.mark.parametrize("kept", ["loss)  # TML102", "loss.item())"])
def test_a_wrapper_that_hands_names_on(kept: str) -> None:
    check(WRAPPED % kept)


OBSERVED = """
from types import SimpleNamespace

class Solver:
    def __init__(self, net):
        self.net = net
        self.seen = SimpleNamespace()
        for name in ("energy", "variance"):
            setattr(self.seen, name, [])

    def store(self, x):
        for name in self.seen.__dict__:
            value = self.net(x).%s
            self.seen.__dict__[name].append(value)%s

def run(batches):
    solver = Solver(Net())
    for x in batches:
        solver.store(x)
    return [len(rows) for rows in vars(solver.seen).values()]
"""


@pytest.mark.parametrize(("value", "mark"), [("mean()", "  # TML102"), ("mean().item()", "")])
def test_lists_of_a_namespace_by_names_that_are_not_seen(value: str, mark: str) -> None:
    check(OBSERVED % (value, mark))


REMADE = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Progress:
    total: torch.Tensor
    steps: int

def train(batches, optimizer):
    net = Net()
    progress = Progress(torch.zeros(()), 0)
    for x, y in batches:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        progress = Progress(progress.total + loss%s, progress.steps + 1)%s
    return float(progress.total) / progress.steps
"""


@pytest.mark.parametrize(("cut", "mark"), [("", "  # TML101"), (".detach().clone()", "")])
def test_a_state_object_made_of_the_one_before(cut: str, mark: str) -> None:
    check(REMADE % (cut, mark))


FRESH = """
class Result:
    def __init__(self, loss, logits):
        self.loss, self.logits = loss, logits

def train(batches, optimizer):
    net, result = Net(), None
    for x, y in batches:
        logits = net(x)
        result = Result(F.cross_entropy(logits, y), logits)
        result.loss.backward()
        optimizer.step()
    return result.loss.item()
"""


def test_a_result_object_of_each_round() -> None:
    check(FRESH)


REPLACED = """
import dataclasses
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

@dataclass(frozen=True)
class Progress:
    total: torch.Tensor
    steps: int

class Seen(NamedTuple):
    total: torch.Tensor
    steps: int

Pair = namedtuple("Pair", "total steps")

def train(batches, optimizer):
    net = Net()
    progress = %s(torch.zeros(()), 0)
    for x, y in batches:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        progress = %s%s
    return float(progress.total) / progress.steps
"""


@pytest.mark.parametrize(
    ("made", "again"),
    [
        ("Progress", "dataclasses.replace(progress, total=progress.total + loss%s)"),
        ("Seen", "progress._replace(total=progress.total + loss%s, steps=progress.steps + 1)"),
        ("Pair", "progress._replace(total=progress.total + loss%s)"),
    ],
)
@pytest.mark.parametrize(("cut", "mark"), [("", "  # TML101"), (".detach()", "")])
def test_a_state_with_a_part_replaced(made: str, again: str, cut: str, mark: str) -> None:
    check(REPLACED % (made, again % cut, mark))


NAMED_AS_A_COUNT = """
def train(batches, optimizer):
    net, acc = Net(), 0.0
    for x, y in batches:
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        acc += %s
    return acc
"""


@pytest.mark.parametrize("value", ["loss  # TML101", "(logits.argmax(1) == y).float().mean()"])
def test_what_was_differentiated_is_no_count_whatever_its_name(value: str) -> None:
    check(NAMED_AS_A_COUNT % value)
