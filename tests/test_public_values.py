"""More of what public code does that looks like a leak and is none, each beside what it is taken for."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

SNIPPETS = {
    "a list of free buffers that is emptied by a name for it": """
        FREE: dict[tuple, list] = {}

        def take(shape: tuple, dtype: torch.dtype) -> torch.Tensor:
            rows = FREE.get((shape, dtype))
            if rows:
                return rows.pop()
            return torch.empty(shape, dtype=dtype)

        def give(row: torch.Tensor):
            key = (tuple(row.shape), row.dtype)
            if key not in FREE:
                FREE[key] = []
            FREE[key].append(row)

        def gather(loader):
            return [take(x.shape, x.dtype).copy_(x) for x in loader]

        def scatter(loader):
            for x in loader:
                give(torch.ones(3, 4) * x)
        """,
    "a list of buffers that is only looked at by a name for it": """
        USED: dict[tuple, list] = {}

        def last(shape: tuple, dtype: torch.dtype) -> torch.Tensor:
            rows = USED.get((shape, dtype))
            return rows[-1] if rows else torch.empty(shape, dtype=dtype)

        def give(row: torch.Tensor):
            key = (tuple(row.shape), row.dtype)
            if key not in USED:
                USED[key] = []
            USED[key].append(row)  # TML301

        def run(steps):
            for _ in range(steps):
                row = last((8, 8), torch.float32)
                give(row.mul(2))
        """,
    "a table of sessions whose rows are taken out, and whose keys stay": """
        SESSIONS = {}

        def run(loader):
            for request in loader:
                out = torch.ones(3)
                SESSIONS[request.id] = [out]  # TML301
                SESSIONS[request.id].append(out)
                rows = SESSIONS[request.id]
                rows.pop()
        """,
    "a file of each rank's own": """
        import os
        import torch.distributed as dist

        class Checkpoints:
            def save(self, folder):
                torch.save(self.model.state_dict(), folder / f"model_{self.local_rank}.pt")

            def load(self, folder):
                self.model.load_state_dict(torch.load(folder / f"model_{self.local_rank}.pt"))

            def load_state(self, folder):
                rank = dist.get_rank()
                state = torch.load(os.path.join(folder, f"state_{rank}.pt"))
                self.optimizer.load_state_dict(state)

            def load_named(self, folder):
                path = os.path.join(folder, f"model_{self.name}.pt")
                self.model.load_state_dict(torch.load(path))  # TML312
        """,
    "what a trainer has moved to the host when it was saved": """
        import torch.distributed as dist

        model = Net()
        trainer = lightning.Trainer(max_epochs=1, devices=2)
        trainer.fit(model)
        print(dist.get_rank())
        torch.save({"net": model.state_dict()}, "model.pth")
        checkpoint = torch.load("model.pth")
        Net().load_state_dict(checkpoint["net"])
        """,
    "what was saved from where a loop had trained it": """
        import torch.distributed as dist

        def fit(model, loader, optimizer):
            model = model.to(dist.get_rank())
            for x in loader:
                optimizer.zero_grad()
                model(x).mean().backward()
                optimizer.step()
            torch.save({"net": model.state_dict()}, "model.pth")
            checkpoint = torch.load("model.pth")  # TML312
            Net().load_state_dict(checkpoint["net"])
        """,
    "the state of an algorithm that works with it on the device": """
        def interfaces(cores, sets, device):
            right = [None] * (len(cores) - 1)
            for core in cores:
                row = torch.ones(core.rank, 1).to(device)
                for j in range(len(cores)):
                    row = torch.einsum("iaj,ja->ia", [core.values[j][:, sets[j]].to(device), row])
                    right[j] = row
            return right

        def sweep(cores, sets, device, rounds):
            right = interfaces(cores, sets, device)
            for _ in range(rounds):
                for j in range(len(cores) - 1):
                    block = torch.einsum("iaj,ja->ia", cores[j].values.to(device), right[j])
                    block = block.abs().pow(0.5).flatten(1)
                    q, _ = torch.linalg.qr(block.t())
                    q = torch.relu(q - q.mean()).exp()
                    rows = pick(q.detach().cpu().numpy())
                    right[j] = torch.einsum("ia,ja->ij", right[j], block[rows])
        """,
    "predictions that are joined before they leave the device, and their rewards": """
        def predict(loader, device):
            model = nn.Linear(3, 4).to(device)
            model.eval()
            rows, rewards = [], []
            with torch.no_grad():
                for x, y in loader:
                    out = model(x.to(device))
                    rows.append(out)  # TML310
                    rewards.append(out.max(dim=1).values)
            best = torch.softmax(torch.cat(rows), dim=1)
            return best.cpu(), torch.cat(rewards).cpu()
        """,
    "a loader without workers unless somebody asks for them": """
        from torch.utils.data import DataLoader

        @torch.inference_mode()
        def predict(data, num_workers: int = 0):
            model, boxes, scores = Net().eval(), [], []
            loader = DataLoader(data, num_workers=num_workers)
            for crops, where in loader:
                boxes.append(where)
            return torch.cat(boxes), scores

        class Statistics:
            @torch.inference_mode()
            def __init__(self, data, num_workers: int = 0):
                loader = DataLoader(data, num_workers=num_workers)
                model, self.boxes, self.scores = Net().eval(), [], []
                for crops, where in loader:
                    self.boxes.append(where)  # TML409

        @torch.inference_mode()
        def predict_fast(data, num_workers: int = 2):
            model, boxes, scores = Net().eval(), [], []
            loader = DataLoader(data, num_workers=num_workers)
            for crops, where in loader:
                boxes.append(where)  # TML409
            return torch.cat(boxes), scores
        """,
    "a loader that somebody asks for workers": """
        from torch.utils.data import DataLoader

        @torch.inference_mode()
        def predict(data, num_workers: int = 0):
            model, boxes, scores = Net().eval(), [], []
            loader = DataLoader(data, num_workers=num_workers)
            for crops, where in loader:
                boxes.append(where)  # TML409
            return torch.cat(boxes), scores

        def main(data):
            print(predict(data, num_workers=4))
        """,
    "the results of an operator that gives several": """
        class Factors:
            def __init__(self, factors):
                self.factors = list(factors)

            def orthogonalize(self, whole: torch.Tensor):
                for mu, factor in enumerate(self.factors):
                    q, r = torch.linalg.qr(torch.einsum("ij,jk->ik", whole, factor))
                    if r.sum() > 0:
                        self.factors[mu] = q

        @torch.no_grad()
        def take(batches):
            first, model = [], Net().eval()
            for x in batches:
                first.append(model(x)[:, 0])  # TML309
            return first
        """,
    "failed assertions that a test collects for its report": """
        from torch.testing import assert_close

        def compare(model, loader, world):
            failed = []
            for x in loader:
                found = model(x)
                found.mean().backward()
                others = [torch.empty_like(found) for _ in range(world)]
                torch.distributed.gather(found, others, dst=0)
                for other in others:
                    try:
                        assert_close(found, other)
                    except Exception as error:
                        failed.append(error)
            return failed

        def run(model, loader):
            failed = []
            for x in loader:
                try:
                    model(x).mean().backward()
                except Exception as error:
                    failed.append(error)  # TML307
            return failed
        """,
    "records with an error that a list is thinned out of": """
        from collections import deque
        from dataclasses import dataclass

        @dataclass
        class Pending:
            request: int
            local_error: Exception | None = None
            safe: bool = False

        class Engine:
            def __init__(self, model):
                self.model = model
                self._pending = deque()
                self._quarantined: list[Pending] = []

            def submit(self, request, x: torch.Tensor):
                pending = Pending(request)
                self._pending.append(pending)
                try:
                    self.model(x)
                except Exception as error:
                    pending.local_error = error

            def finish(self):
                while self._pending:
                    pending = self._pending.popleft()
                    if not pending.safe:
                        self._quarantined.append(pending)

            def reset(self):
                still = []
                for pending in self._quarantined:
                    if not pending.safe:
                        still.append(pending)
                self._quarantined = still

        class Retries:
            def __init__(self, model):
                self.model = model
                self.waiting = deque()
                self.failed: list[Pending] = []

            def submit(self, request, x: torch.Tensor):
                pending = Pending(request)
                self.waiting.append(pending)
                try:
                    self.model(x)
                except Exception as error:
                    pending.local_error = error  # TML307

            def reset(self):
                for pending in self.waiting:
                    if not pending.safe:
                        self.failed.append(pending)
        """,
    "what is put into a tensor of whole numbers": """
        def search(policy: nn.Module, given, rounds, optimizer):
            best, kept = torch.zeros(3, 9, dtype=int), torch.zeros(3, 9)
            for _ in range(rounds):
                out = policy(given)
                row = out["actions"][out["reward"].argmax()]
                best[0, : row.shape[0]] = row
                kept[0, : row.shape[0]] = row  # TML101
                loss = -out["likelihood"].mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return best, kept
        """,
    "a number that is annotated as a tensor": """
        class Sampled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, value: torch.Tensor, step: torch.Tensor, offsets: torch.Tensor):
                ctx.step = step
                ctx.offsets = offsets  # TML106
                return value * 2

        class Sampler(nn.Module):
            def __init__(self, step: int = 64):
                super().__init__()
                self.step = step

            def forward(self, value, offsets):
                return Sampled.apply(value, self.step, offsets)
        """,
}
_REGISTRY = """
from torch import nn

SHARDS = []

class Shard(nn.Parameter):
    pass

def attach(shard: nn.Parameter):
    SHARDS.append(shard)  # TML301

def wrap(module: nn.Module):
    for name in module.names:
        attach(Shard(getattr(module, name).data))

def make_linear(width) -> nn.Module:
    layer = nn.Linear(width, width)
    layer.names = ["weight", "bias"]
    wrap(layer)
    return layer
"""
_WORKER = """
import torch
from registry import make_linear

def work(rank):
    layer = make_linear(64)
    assert layer(torch.ones(2, 64)).shape == (2, 64)
"""
_FREEZING = """
from torch import nn

def freeze(model: nn.Module):
    for param in model.parameters():
        param.requires_grad = False

def average(model: nn.Module, teacher: nn.Module, momentum: float):
    for ours, theirs in zip(model.parameters(), teacher.parameters()):
        theirs.data = theirs.data * momentum + ours.data * (1.0 - momentum)
"""
_DISTILLED = """
import copy

from mylib.models import utils
from torch import nn

class Distilled(nn.Module):
    def __init__(self):
        super().__init__()
        self.student = nn.Linear(3, 4)
        self.teacher = copy.deepcopy(self.student)
        utils.freeze(self.teacher)

    def forward(self, x):
        return self.teacher(x)

    def step(self):
        utils.average(self.student, self.teacher, 0.9)

class Thawed(nn.Module):
    def __init__(self):
        super().__init__()
        self.student = nn.Linear(3, 4)
        self.teacher = copy.deepcopy(self.student)

    def forward(self, x):
        return self.teacher(x)  # TML204

    def step(self):
        utils.average(self.student, self.teacher, 0.9)
"""
_SPEAKERS = """
import torch
from pyannote.audio import Pipeline

class Speakers:
    def __init__(self, name, device="cpu"):
        self.model = Pipeline.from_pretrained(name).to(device)

    def __call__(self, samples, most):
        found = self.model({"waveform": torch.from_numpy(samples)}, max_speakers=most)
        return found.logits.argmax(-1).tolist()
"""
_TALKS = """
from speakers import Speakers

def main(talks):
    speakers, labels = Speakers("a"), []
    for talk in talks:
        labels.append(len(speakers(talk, 3)))
    return labels

if __name__ == "__main__":
    main([])
"""
PROJECTS: dict[str, dict[str, str]] = {
    "a pipeline that runs its models with gradients off": {
        "speakers.py": _SPEAKERS,
        "main.py": _TALKS,
    },
    "what another file adds in a loop of its own, and says": {"registry.py": _REGISTRY, "worker.py": _WORKER},
    "a copy that is frozen by a helper, which a package takes from itself": {
        "distilled.py": _DISTILLED,
        "mylib/__init__.py": "",
        "mylib/models/__init__.py": "from mylib.models import utils",
        "mylib/models/utils.py": _FREEZING,
    },
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name])


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
