"""`torchmemlint verify PATHS`: flagged snippets, run with stand-ins for what is not there."""

from __future__ import annotations

import importlib.util
import json
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Run, Write

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.finding import Finding, Location, Retains, Verdict
from torchmemlint.runtime import flagged
from torchmemlint.runtime.client import Server

TRAIN = """
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
}
LETS_GO = {
    "number": "total += loss.item()",
    "numbers": "self.history.append(loss.item())",
    "detached": "self.history.append(loss.detach())",
    "cleared": "outputs.append(loss); outputs.clear()",
    "the last one": "self.last = loss",
    "every few steps": "outputs.append(loss)\n            if step % self.config.every == 0: outputs.clear()",
}
OPEN = {
    "nothing known": "outputs.append(self.config.name)",
    "unknown keys": "self.table = getattr(self, 'table', {}); self.table[targets] = loss",
    "not reached": "if step < 0: outputs.append(loss)",
    "fails": "loss = criterion.no_such[1:2].thing @ (lambda: 1 / 0)(); x = [][3]; outputs.append(x + loss)",
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(device="cpu", jobs=2) as one:
        yield one


@pytest.fixture
def judged(server: Server, tmp_path: Path) -> Callable[..., Verdict]:
    def judged(source: str, marker: str, retains: Retains = Retains.GROWING, fixed: str | None = None) -> Verdict:
        file = tmp_path / "train.py"
        file.write_text(source)
        row, line = next((n, line) for n, line in enumerate(source.splitlines(), 1) if marker in line)
        place = Location(row, line.index(marker) + 1)
        finding = Finding("TML102", "sampled", "", str(file), place, place, retains=retains)
        verdict = flagged.verify(flagged.Case(finding, str(tmp_path), fixed), server).verdict
        assert verdict is not None
        return verdict

    return judged


def train(body: str) -> str:
    return textwrap.dedent(TRAIN).replace("{body}", body)


@pytest.mark.parametrize("name", GROWS)
def test_growing(judged: Callable[..., Verdict], name: str) -> None:
    verdict = judged(train(GROWS[name]), GROWS[name].rpartition(": ")[2] if name == "behind a setting" else GROWS[name])
    assert (verdict.status, verdict.tier) == ("growing", "simulated"), verdict.reason
    assert verdict.nodes_per_step is not None and verdict.nodes_per_step > 4
    assert verdict.path


@pytest.mark.parametrize("name", LETS_GO)
def test_refuted(judged: Callable[..., Verdict], name: str) -> None:
    verdict = judged(train(LETS_GO[name]), LETS_GO[name].splitlines()[0])
    assert verdict.status == "refuted", verdict.reason


@pytest.mark.parametrize("name", OPEN)
def test_inconclusive(judged: Callable[..., Verdict], name: str) -> None:
    verdict = judged(train(OPEN[name]), OPEN[name])
    assert verdict.status == "inconclusive", verdict.reason


def test_own_code_is_run(judged: Callable[..., Verdict]) -> None:
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
    verdict = judged(source, "losses.append(loss)", fixed=source.replace("append(loss)", "append(loss.detach())"))
    assert (verdict.status, verdict.tier) == ("growing", "replayed"), verdict.reason
    assert verdict.after_fix is not None and verdict.after_fix.status == "refuted", verdict.after_fix
    assert verdict.path == ("frame of train()", "local 'losses'[*]")


def test_peak(judged: Callable[..., Verdict]) -> None:
    source = """
import torch

def evaluate(model, loader):
    model.eval()
    for batch in loader:
        prediction = model(batch)
        print(prediction.argmax())
"""
    verdict = judged(source, "model(batch)", Retains.PEAK)
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
