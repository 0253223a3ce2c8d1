"""`torchmemlint verify PATHS`: flagged snippets, run with stand-ins for what is not there."""

from __future__ import annotations

import importlib.util
import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from conftest import Judge, Run, Write

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.finding import Finding, Location, Retains, Verdict
from torchmemlint.runtime import flagged

TRAIN = """
    import torch
    import missing_package
    from missing_package.losses import Criterion
    from tqdm import tqdm

    class Trainer(missing_package.Base):
        def __init__(self, model, optimizer, config):
            super().__init__(config)
            self.model, self.optimizer, self.config = model, optimizer, config
            self.history = []

        def train_epoch(self, loader, epoch):
            criterion = Criterion(self.config.weight)
            total, outputs = 0.0, []
            if not isinstance(self.config.steps, int):
                raise ValueError("steps")
            for step, (inputs, targets) in enumerate(tqdm(loader)):
                self.optimizer.zero_grad()
                prediction = self.model(inputs.cuda(non_blocking=True))
                loss = criterion(prediction.logits, targets)
                loss.backward()
                self.optimizer.step()
                {body}
            return total / len(loader)
"""
GROWS = {
    "history": "self.history.append(loss)",
    "sum": "total += loss",
    "local list": "outputs.append(loss)",
    "dictionary": "self.history.append({'loss': loss, 'step': step})",
    "activation": "outputs.append(prediction)",
    "behind a setting": "if self.config.verbose: outputs.append(loss)",
    "unknown holder": "self.tracker.append(loss)",
    "what a model makes of the unknown": "outputs.append(self.model.ref_decoder(self.config.ids))",
    "a tensor by its use": "reward = self.environment.step(); reward.detach(); self.history.append(reward)",
    "behind a size": "if inputs.shape[0] > 1000: outputs.append(loss)",
    "shapes that do not fit": "count = torch.zeros(3); count += torch.ones(2); outputs.append(loss + count)",
    "after a guard": "if inputs.name not in self.history: continue\n            outputs.append(loss)",
}
LETS_GO = {
    "number": "total += loss.item()",
    "numbers": "self.history.append(loss.item())",
    "detached": "self.history.append(loss.detach())",
    "cleared": "outputs.append(loss); outputs.clear()",
    "the last one": "self.last = loss",
    "set as data": "self.model.weight.data = self.model.weight.data + self.model(loss)",
    "drawn": "total = torch.cat([total, torch.multinomial(loss, 1)])",
    "items of what was handed in": "value = max(self.config.sizes[step], 0); value.detach(); self.last = value",
    "every few steps": "outputs.append(loss)\n            if step % self.config.every == 0: outputs.clear()",
}
OPEN = {
    "nothing known": "outputs.append(self.config.name)",
    "unknown keys": "self.table = getattr(self, 'table', {}); self.table[targets] = loss",
    "not reached": "if step < 0: outputs.append(loss)",
    "reached once": "if step == 0: outputs.append(loss)",
    "under unknown keys": "self.seen[inputs.name] = loss",
    "later under unknown keys": "value = loss * 2\n            outputs = {} if not outputs else outputs\n"
    "            outputs[inputs.name] = value",
    "fails": "x = [*None]; outputs.append(x + loss)",
}


def train(body: str) -> str:
    return textwrap.dedent(TRAIN).replace("{body}", body)


@pytest.mark.parametrize("name", GROWS)
def test_growing(judged: Judge, name: str) -> None:
    line = GROWS[name].splitlines()[-1].strip()
    marker = line.rpartition(": ")[2] if line.startswith("if ") else line.rpartition("; ")[2]
    verdict = judged(train(GROWS[name]), marker=marker)
    assert (verdict.status, verdict.tier) == ("growing", "simulated"), verdict.reason
    assert verdict.nodes_per_step is not None and verdict.nodes_per_step > 4
    assert verdict.path


@pytest.mark.parametrize("name", LETS_GO)
def test_refuted(judged: Judge, name: str) -> None:
    verdict = judged(train(LETS_GO[name]), marker=LETS_GO[name].splitlines()[0])
    assert verdict.status == "refuted", verdict.reason


@pytest.mark.parametrize("name", OPEN)
def test_inconclusive(judged: Judge, name: str) -> None:
    verdict = judged(train(OPEN[name]), marker=OPEN[name].splitlines()[0])
    assert verdict.status == "inconclusive", verdict.reason


OWN = """
import torch
from helpers import {helper}

EXPENSIVE = [number ** 2 for number in range(10 ** 12)]

def search(tree, kept):
    for branch in tree.branches:
        loss = search(branch, kept) + {helper}(branch.inputs)
        kept.append(loss)
    return tree.loss.sum()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4000, 4000) for _ in range(12))

    def forward(self, x: torch.Tensor):
        for number, layer in enumerate(self.layers):
            if number == 7:
                skip = layer(x)
            x = layer(x)
        return x

def epoch(dataset: list, model):
    losses = []
    loader = torch.utils.data.DataLoader([1.0] * 8, num_workers=2, persistent_workers=True)
    for batch in loader:
        loss = {helper}(model(batch.cuda()))
        losses.append(loss)
    return losses
"""


@pytest.mark.parametrize(
    ("marker", "status"),
    [
        ("kept.append(loss)", "growing"),  # calls itself with stand-ins, which have branches without an end
        ("x = layer(x)", "growing"),  # a large model: not initialised
        ("skip = layer(x)", "inconclusive"),  # once in a call
        ("losses.append(loss)", "growing"),  # no processes to wait for
    ],
)
def test_ends_soon(judged: Judge, marker: str, status: str) -> None:
    verdict = judged(OWN.replace("{helper}", "criterion"), marker=marker)
    assert verdict.status == status, verdict.reason
    assert "longer than" not in verdict.reason and "TooLong" not in verdict.reason


BOUNDED = """
import torch

class Pool:
    def __init__(self, size={size}):
        self.size, self.count, self.images = size, 0, []

    @property
    def full(self):
        return len(self.images) >= {size}

    def counted(self, image):
        if self.count < self.size:
            self.count += 1
            self.images.append(image.detach())  # counted

    def asked(self, image):
        if not self.full:
            self.images.append(image.clone())  # asked

    def other(self, image):
        if self.size > {size} - 1:
            self.images.append(image)  # other

def main(steps):
    pool = Pool()
    for _ in range(steps):
        image = torch.randn(4)
        pool.counted(image), pool.asked(image), pool.other(image)
"""


@pytest.mark.parametrize(
    ("marker", "size", "status"),
    [
        ("# counted", 16, "refuted"),  # full before the run is over
        ("# counted", 64, "refuted"),  # full after more steps than are run at first
        ("# counted", 5000, "inconclusive"),  # nobody has seen it full
        ("# asked", 10, "refuted"),
        ("# other", 64, "growing"),  # the numbers that are compared stay as they are
    ],
)
def test_a_bound_is_no_growth(judged: Judge, marker: str, size: int, status: str) -> None:
    verdict = judged(BOUNDED.replace("{size}", str(size)), marker=marker)
    assert verdict.status == status, verdict.reason


@pytest.mark.parametrize(("helper", "tier"), [("real", "replayed"), ("guessing", "simulated")])
def test_tier_counts_what_other_files_guess(judged: Judge, tmp_path: Path, helper: str, tier: str) -> None:
    (tmp_path / "helpers.py").write_text(
        "import missing\ndef real(x):\n    return x * 2\ndef guessing(x):\n    return missing.model(x)\n"
    )
    source = f"""
from helpers import {helper}

def collect(inputs):
    kept = []
    for x in [inputs, inputs]:
        kept.append({helper}(x))
    return kept
"""
    verdict = judged(source, marker="kept.append")
    assert (verdict.status, verdict.tier) == ("growing", tier), verdict.reason


RECURRENT = """
import torch
from missing_package import {imported}

class Runner:
    def __init__(self, model):
        self.model = model

    def run(self, loader, config, model):
        made = {imported}(config)
        total, parts = 0.0, []
        for batch in loader:
            value = {call}
            {then}
            total = total + value
            parts.append(value)
        return total
"""
NOT_FOLLOWED = {
    "a function": ("score", "score(batch)"),
    "what came out of a model": ("score", "score(model(batch))"),
    "a model goes in": ("features_of", "features_of(model, batch)"),
    "a method": ("Explainer", "Explainer(model).attribute(batch)"),
    "nothing goes in": ("score", "score(); value.unsqueeze(0)"),
    "an attribute that is not there": ("score", "(model(batch), 1).contiguous(); value.unsqueeze(0)"),
}
LIKE_MODELS = {
    "handed in": ("score", "model(batch)"),
    "its method": ("score", "model.encode(batch)"),
    "kept": ("score", "self.model(batch)"),
    "made by what is not followed": ("make", "made(batch)"),
    "its forward": ("make", "made.forward(batch)"),
    "its part": ("make", "made.text_encoder(batch)"),
    "a loss": ("focal_loss", "focal_loss(batch)"),
}


def recurrent(imported: str, call: str, then: str = "pass") -> str:
    return RECURRENT.replace("{imported}", imported).replace("{call}", call).replace("{then}", then)


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_graphs_of_what_is_not_followed(judged: Judge, name: str) -> None:
    """What could return anything confirms no graph, unless the code itself goes back along it; tensors it may keep."""
    source = recurrent(*NOT_FOLLOWED[name])
    verdict = judged(source, marker="total = total")
    assert verdict.status == "inconclusive" and "could not be followed" in verdict.reason, verdict.reason
    proved = judged(recurrent(*NOT_FOLLOWED[name], "value.backward(retain_graph=True)"), marker="total = total")
    assert proved.status == "growing", proved.reason
    kept = judged(source, marker="parts.append")
    assert kept.status == "growing" and not kept.nodes_per_step, kept


@pytest.mark.parametrize("name", LIKE_MODELS)
def test_graphs_of_models(judged: Judge, name: str) -> None:
    """What is handed in, and what is called as models and losses are, gives a graph."""
    verdict = judged(recurrent(*LIKE_MODELS[name]), marker="total = total")
    assert verdict.status == "growing", verdict.reason


def test_peak_of_what_is_not_followed(judged: Judge) -> None:
    source = "from missing import score\n\ndef evaluate(loader):\n    for batch in loader:\n        print({call})\n"
    assert (
        judged(source.replace("{call}", "score(batch).sum()"), marker="score(batch)", retains=Retains.PEAK).status
        == "inconclusive"
    )


def test_reasons(judged: Judge) -> None:
    """What stands in the way is said, and so is what was taken for granted, and what little stays."""
    assert "TypeError" in judged(train(OPEN["fails"]), marker=OPEN["fails"]).reason
    size = GROWS["behind a size"]
    assert "to lead here" in judged(train(size), marker=size.rpartition(": ")[2]).reason
    assert "no more than 4 B a hit" in judged(train(LETS_GO["detached"]), marker=LETS_GO["detached"]).reason


def test_unsaved_text(server: Any, tmp_path: Path) -> None:
    """The text can be another than the file's; imports are looked for where the file stands."""
    file = tmp_path / "train.py"
    file.write_text(train("total += loss.item()"))
    row = next(n for n, line in enumerate(train("total += loss").splitlines(), 1) if "total += loss" in line)
    finding = Finding("TML102", "sampled", "", str(file), Location(row, 1), Location(row, 1), retains=Retains.GROWING)
    for source, status in ((None, "refuted"), (train("total += loss"), "growing")):
        case = flagged.Case(finding, flagged.project(str(file)), source=source)
        verdict = flagged.verify(case, server).verdict
        assert verdict is not None and verdict.status == status, verdict


def test_own_code_is_run(judged: Judge) -> None:
    """A model of the file's own, with data that is a stand-in: nothing about the graph is guessed."""
    source = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.layer(x))

def train(inputs, steps=100):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = net(inputs).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss)
"""
    fixed = source.replace("append(loss)", "append(loss.detach())")
    verdict = judged(source, marker="losses.append(loss)", fixed=fixed)
    assert (verdict.status, verdict.tier) == ("growing", "replayed"), verdict.reason
    assert verdict.after_fix is not None and verdict.after_fix.status == "refuted", verdict.after_fix
    assert verdict.path == ("frame of train()", "local 'losses'[*]")


def test_peak(judged: Judge) -> None:
    source = """
import torch

def evaluate(model, loader):
    model.eval()
    for batch in loader:
        prediction = model(batch)
        print(prediction.argmax())
"""
    verdict = judged(source, marker="model(batch)", retains=Retains.PEAK)
    assert verdict.status == "peak", verdict.reason
    assert verdict.after_fix is not None


def test_command_shows_the_fix(write: Write, run: Run) -> None:
    write("train.py", train("total += loss"))
    done = run("verify", "--device", "cpu", "train.py")
    assert done.returncode == 1
    assert "growing (simulated)" in done.stdout and "autograd nodes more at each of 24 hits" in done.stdout
    assert "fixed    refuted" in done.stdout and "let go again" in done.stdout


def test_nothing_flagged(write: Write, run: Run) -> None:
    write("train.py", train("total += loss.item()"))
    done = run("verify", "--device", "cpu", "--output-format", "json", "train.py")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])


@pytest.mark.parametrize("shape", ["text", "full", "json", "sarif", "github", "gitlab", "junit"])
def test_every_report_has_the_verdict(shape: str) -> None:
    from torchmemlint.linter.reports import FORMATS, Context

    place = Location(3, 1)
    verdict = Verdict("growing", "simulated", "7 autograd nodes more", path=("frame of f()", "local 'x'"))
    finding = Finding("TML102", "collected-graph", "kept", "missing.py", place, place, verdict=verdict)
    report = FORMATS[shape]([finding], Context())
    assert "growing" in report and "7 autograd nodes more" in report


def test_check_fails_on_what_is_confirmed(write: Write, run: Run) -> None:
    write("train.py", train("total += loss"))
    confirmed = run("check", "--verify", "--fail-on", "confirmed", "--output-format", "json", "train.py")
    assert confirmed.returncode == 1
    (finding,) = json.loads(confirmed.stdout)
    assert finding["verdict"]["status"] == "growing" and finding["fix"] is not None
    assert run("check", "--fail-on", "confirmed", "train.py").returncode == 2


def test_check_passes_what_is_not_confirmed(write: Write, run: Run) -> None:
    write("train.py", train("if step < 0: total += loss"))
    done = run("check", "--verify", "--fail-on", "confirmed", "train.py")
    assert (done.returncode, "[inconclusive, simulated" in done.stdout) == (0, True)
