"""What public code of language and speech does that looks like a leak and is none, beside what it is taken for."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from conftest import Lint, Write, lines
from projects import check_project
from snippets import check

_BY_MODE = """
        def run_pass(model: nn.Module, batch):
            if model.training:
                out = model(batch.ids)
            else:
                with torch.no_grad():
                    out = model(batch.ids)
            loss = (out - batch.target).pow(2).mean()
            return loss, (out > 0).sum().item()

        class Trainer:
            def __init__(self, model: nn.Module, loader, optimizer):
                self.model, self.loader, self.optimizer = model, loader, optimizer

            def validate(self):
                self.model.eval()
                total = 0.0
                for batch in self.loader:
                    loss, right = run_pass(self.model, batch)
                    total += loss.item()
                return total

            def train(self):
                self.model.train()
                total = 0.0
                for batch in self.loader:
                    loss, right = run_pass(self.model, batch)
                    loss.backward()
                    self.optimizer.step()
                    total += {}
"""

SNIPPETS = {
    "an activation whose gradient is asked for": """
        class Attention(nn.Module):
            def __init__(self, keep=False):
                super().__init__()
                self.project = nn.Linear(8, 8)

            def forward(self, x):
                heads = torch.softmax(self.project(x), -1)
                self.heads = heads
                self.heads.retain_grad()
                return heads.sum(-1)
        """,
    "an activation beside one whose gradient is asked for": """
        class Attention(nn.Module):
            def __init__(self, keep=False):
                super().__init__()
                self.project = nn.Linear(8, 8)

            def forward(self, x):
                scores = self.project(x)
                scores.retain_grad()
                heads = torch.softmax(scores, -1)
                self.heads = heads  # TML108
                return heads.sum(-1)
        """,
    "a state that an optimizer and a scheduler take over": """
        class Trainer:
            def __init__(self, model, optimizer, schedulers):
                self.model, self.optimizer, self.schedulers = model.cuda(), optimizer, schedulers

            def load_trainer_state(self, path):
                state_dict = torch.load(path / "trainer_state.pt")
                self.optimizer.load_state_dict(state_dict["optimizer"])
                for name, state in state_dict["schedulers"].items():
                    self.schedulers[name].load_state_dict(state)
                self.scores = state_dict["scores"]
        """,
    "a checkpoint of which a model takes a part": """
        class Trainer:
            def __init__(self, model, optimizer, schedulers):
                self.model, self.optimizer, self.schedulers = model.cuda(), optimizer, schedulers

            def load_trainer_state(self, path):
                state_dict = torch.load(path / "trainer_state.pt")  # TML312
                self.optimizer.load_state_dict(state_dict["optimizer"])
                self.upscaler.load_state_dict(state_dict["upscaler"])
        """,
    "the state of a scheduler beside that of an optimizer": """
        def train(folder, loader, model, optimizer, scheduler):
            optimizer_state = torch.load(folder / "optimizer.pt", map_location="cpu")  # TML313
            scheduler_state = torch.load(folder / "scheduler.pt", map_location="cpu")
            optimizer.load_state_dict(optimizer_state)
            scheduler.load_state_dict(scheduler_state)
            for x, y in loader:
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
        """,
    "a checkpoint of a model and a scheduler": """
        def train(path, loader, model, optimizer, scheduler):
            checkpoint = torch.load(path, map_location="cpu")  # TML313
            model.load_state_dict(checkpoint["model"])
            scheduler.load_state_dict(checkpoint["scheduler"])
            for x, y in loader:
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
        """,
    "a table that is cut from its graph when it is full": """
        class Voices(nn.Module):
            def __init__(self, count):
                super().__init__()
                self.embed = nn.Embedding(count, 8)
                self.table = torch.zeros(count, 1, 8)

            def mix(self, voices):
                for place, voice in enumerate(voices):
                    self.table[place] = self.embed(voice)
                self.table = self.table.detach()

            def load(self, count):
                self.mix([torch.tensor([place]) for place in range(count)])
        """,
    "a table that keeps its graph when it is full": """
        class Voices(nn.Module):
            def __init__(self, count):
                super().__init__()
                self.embed = nn.Embedding(count, 8)
                self.table = torch.zeros(count, 1, 8)

            def mix(self, voices):
                for place, voice in enumerate(voices):
                    self.table[place] = self.embed(voice)  # TML101
                self.table = self.table.contiguous()

            def load(self, count):
                self.mix([torch.tensor([place]) for place in range(count)])
        """,
    "a pipeline that whoever calls still binds, in whatever order": """
        import gc

        def log_validation(pipeline, prompts):
            with torch.no_grad():
                found = [pipeline(prompt) for prompt in prompts]
            del pipeline  # TML602
            torch.cuda.empty_cache()
            gc.collect()
            return found

        def train(prompts):
            pipeline = Net().cuda()
            log_validation(pipeline, prompts)
            return pipeline
        """,
    "a pipeline of one's own beside one that others bind": """
        import gc

        def log_validation(pipeline, prompts):
            with torch.no_grad():
                found = [pipeline(prompt) for prompt in prompts]
            del pipeline  # TML602
            torch.cuda.empty_cache()
            return found

        def train(prompts):
            pipeline = Net().cuda()
            log_validation(pipeline, prompts)
            return pipeline

        def sample(prompts):
            pipeline = Net().cuda().requires_grad_(False)
            found = [pipeline(prompt) for prompt in prompts]
            del pipeline
            torch.cuda.empty_cache()  # TML601
            gc.collect()
            return found
        """,
    "an average in a table that is moved and updated": """
        class Average:
            def __init__(self, model: Net):
                self.model, self.shadow = model, {}
                for name, param in self.model.named_parameters():
                    self.shadow[name] = param.clone()

            def cuda(self):
                for name, value in self.shadow.items():
                    self.shadow[name] = value.cuda()

            def update(self):
                for name, param in self.model.named_parameters():
                    self.shadow[name] = 0.1 * param + 0.9 * self.shadow[name]  # TML205
        """,
    "the same, detached": """
        class Average:
            def __init__(self, model: Net):
                self.model, self.shadow = model, {}
                for name, param in self.model.named_parameters():
                    self.shadow[name] = param.detach().clone()

            def cuda(self):
                for name, value in self.shadow.items():
                    self.shadow[name] = value.cuda()

            def update(self):
                for name, param in self.model.named_parameters():
                    self.shadow[name] = 0.1 * param.detach() + 0.9 * self.shadow[name]
        """,
    "a conversion that only the first rank does": """
        import torch.distributed as dist

        def convert(folder, target):
            states = {}
            for name in ("a", "b"):
                states[name] = torch.load(f"{folder}/checkpoint-{name}")
            states["a"]["step"] = 0
            torch.save(states, target)

        def main(model, folder, target):
            dist.init_process_group("nccl")
            dist.barrier()
            if dist.get_rank() == 0:
                convert(folder, target)
            dist.barrier()
        """,
    "a conversion that every rank does in the end": """
        import torch.distributed as dist

        def convert(folder, target):
            states = {}
            for name in ("a", "b"):
                states[name] = torch.load(f"{folder}/checkpoint-{name}")  # TML312
            states["a"]["step"] = 0
            torch.save(states, target)

        def main(model, folder, target):
            dist.init_process_group("nccl")
            dist.barrier()
            if dist.get_rank() == 0:
                convert(folder, target)
            dist.barrier()
            convert(folder, target)
        """,
    "a pass that the mode of the model keeps without gradients": _BY_MODE.format("loss.item()"),
    "the same pass in training": _BY_MODE.format("loss  # TML101"),
    "an evaluation of a model that is left in training mode": """
        def run_pass(model: nn.Module, batch):
            if model.training:
                out = model(batch.ids)
            else:
                with torch.no_grad():
                    out = model(batch.ids)
            loss = (out - batch.target).pow(2).mean()
            return loss, (out > 0).sum().item()

        class Trainer:
            def __init__(self, model: nn.Module, loader, optimizer):
                self.model, self.loader, self.optimizer = model, loader, optimizer

            def validate(self):
                self.model.train()
                total = 0.0
                for batch in self.loader:
                    loss, right = run_pass(self.model, batch)  # TML201
                    total += loss.item()
                return total

            def train(self):
                self.model.train()
                total = 0.0
                for batch in self.loader:
                    loss, right = run_pass(self.model, batch)
                    loss.backward()
                    self.optimizer.step()
                    total += loss.item()
        """,
    "parts of one result, which all have its graph": """
        def evaluate(model: nn.Module, loader):
            model.eval()
            for x in loader:
                cache = model(x)  # TML201
                rows = torch.split(cache, 2, dim=1)
                rows = [row.transpose(0, 1) for row in rows]
                print(torch.cat(rows).tolist())
        """,
    "parts of the results of all rounds": """
        def evaluate(model: nn.Module, loader):
            model.eval()
            rows = []
            for x in loader:
                first, second = torch.split(model(x), 2, dim=1)
                rows.append(first)  # TML102
            print(torch.cat(rows).tolist())
        """,
    "a loss of what a callback gives without gradients, beside one of what it gives with them": """
        from engine import Engine, batches

        def evaluate_perplexity(loader, model, get_logits):
            nlls = []
            for batch in loader:
                with torch.no_grad():
                    logits = get_logits(model, batch)
                logits = logits[:, :-1].contiguous().float()
                loss = nn.CrossEntropyLoss()(logits.view(-1, 8), batch[:, 1:].view(-1))
                nlls.append(loss.float() * 4)
            return torch.stack(nlls).mean().item()

        def evaluate_logits(loader, model, get_logits):
            nlls = []
            for batch in loader:
                logits = get_logits(model, batch)
                logits = logits[:, :-1].contiguous().float()
                loss = nn.CrossEntropyLoss()(logits.view(-1, 8), batch[:, 1:].view(-1))
                nlls.append(loss.float() * 4)  # TML102
            return torch.stack(nlls).mean().item()

        def get_logits(model, batch):
            return model.run(batch)

        def main(path):
            model = Engine(path)
            loader = batches(path)
            print(evaluate_perplexity(loader, model, get_logits))
            print(evaluate_logits(loader, model, get_logits))
        """,
    "results in a queue that the parent reads by another name": """
        import multiprocessing as mp

        def work(model, tasks, results):
            while True:
                number, x = tasks.get()
                with torch.no_grad():
                    out = model(x).cpu()
                results.put([number, out])

        def start(model: nn.Module):
            tasks = mp.Queue()
            found = mp.Queue()
            process = mp.Process(target=work, args=(model, tasks, found), daemon=True)
            process.start()
            return {"input": tasks, "output": found, "process": process}

        def gather(pool, count):
            return [pool["output"].get() for _ in range(count)]
        """,
    "results in a list of the worker beside the queue": """
        import multiprocessing as mp

        def work(model, tasks, results):
            done = []
            while True:
                number, x = tasks.get()
                with torch.no_grad():
                    out = model(x).cpu()
                done.append(out)  # TML502
                results.put(number)

        def start(model: nn.Module):
            tasks = mp.Queue()
            found = mp.Queue()
            process = mp.Process(target=work, args=(model, tasks, found), daemon=True)
            process.start()
            return {"input": tasks, "output": found, "process": process}

        def gather(pool, count):
            return [pool["output"].get() for _ in range(count)]
        """,
    "an encoder of keys that is trained as the other one": """
        class Retriever(nn.Module):
            def __init__(self, query_encoder: nn.Module, key_encoder: nn.Module):
                super().__init__()
                self.query_encoder, self.key_encoder = query_encoder, key_encoder

            def encode(self, inputs, field="key"):
                encoder = self.key_encoder if field == "key" else self.query_encoder
                return F.normalize(encoder(inputs), dim=-1)

            def forward(self, queries, keys):
                keys = self.encode(keys)
                queries = self.encode(queries, field="query")
                loss = F.cross_entropy(queries @ keys.T, torch.arange(len(queries)))
                return {"loss": loss}
        """,
    "an encoder of keys that follows the other one": """
        class Retriever(nn.Module):
            def __init__(self, query_encoder: nn.Module, key_encoder: nn.Module):
                super().__init__()
                self.query_encoder, self.key_encoder = query_encoder, key_encoder

            @torch.no_grad()
            def follow(self):
                for mine, other in zip(self.key_encoder.parameters(), self.query_encoder.parameters()):
                    mine.data = mine.data * 0.9 + other.data * 0.1

            def encode(self, inputs, field="key"):
                encoder = self.key_encoder if field == "key" else self.query_encoder
                return F.normalize(encoder(inputs), dim=-1)  # TML204

            def forward(self, queries, keys):
                keys = self.encode(keys)
                queries = self.encode(queries, field="query")
                loss = F.cross_entropy(queries @ keys.T, torch.arange(len(queries)))
                return {"loss": loss}
        """,
    "a pass that each part of a model is put around its own": """
        class Plan:
            def __init__(self):
                self.places = {}

            def place(self, rows):
                return tuple(row.to(self.places.get(0, "cpu")) for row in rows)

        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)

            def forward(self, x):
                return self.layer(x)

            def spread(self, plan: Plan):
                queue = list(self.children())
                while queue:
                    child = queue.pop()
                    if isinstance(child, Part):
                        child.spread(plan)
                    else:
                        queue.extend(child.children())

                before = self.forward

                def placed(*args):
                    return before(*plan.place(args))

                self.forward = placed

        def prepare(model: Part):
            model.spread(Plan())
        """,
    "a pass that is put around itself for each batch": """
        class Plan:
            def __init__(self):
                self.places = {}

            def place(self, rows):
                return tuple(row.to(self.places.get(0, "cpu")) for row in rows)

        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)

            def forward(self, x):
                return self.layer(x)

            def spread(self, plan: Plan):
                before = self.forward

                def placed(*args):
                    return before(*plan.place(args))

                self.forward = placed  # TML304

        def train(model: Part, loader):
            for x in loader:
                model.spread(Plan())
                model(x)
        """,
    "what a callback gives without gradients, kept for what its parameter says it is": """
        from engine import Engine, batches

        class Rows:
            def __init__(self):
                self.rows = []

            def add(self, row: torch.Tensor):
                self.rows.append(row)  # TML303

        def run(get_row, model, loader):
            rows = Rows()
            with torch.no_grad():
                for _ in range(10):
                    for batch in loader:
                        row = get_row(model, batch)
                        rows.add(row)
                        print(len(rows.rows))

        def get_row(model, batch):
            return model.run(batch)

        def main(path):
            run(get_row, Engine(path), batches(path))
        """,
    "a cache with a file for a setting": """
        @functools.lru_cache(maxsize=None)
        def mel_filters(device, bands: int, filters_path: str = None) -> torch.Tensor:
            assert bands in (80, 128)
            return torch.load(filters_path or "mel_filters.pt", map_location=device)[bands]

        def spectrogram(audio, bands=80):
            return mel_filters(audio.device, bands) @ audio
        """,
    "a cache with a file for each call": """
        @functools.lru_cache(maxsize=None)  # TML305
        def mel_filters(device, bands: int, filters_path: str) -> torch.Tensor:
            assert bands in (80, 128)
            return torch.load(filters_path or "mel_filters.pt", map_location=device)[bands]

        def spectrogram(audio, bands=80):
            return mel_filters(audio.device, bands, audio.path) @ audio
        """,
    "lists of numbers that workers hand over as they are": """
        from torch.utils.data import DataLoader, Dataset

        class Answers(Dataset):
            def __init__(self, found, answers):
                self.found, self.answers = found, answers

            def __len__(self):
                return len(self.found)

            def __getitem__(self, index):
                hits = []
                for place in self.found[index]:
                    hits.append(place in self.answers and place >= 0)
                return hits

        def score(found, answers, workers=16):
            loader = DataLoader(Answers(found, answers), batch_size=16, num_workers=workers, collate_fn=lambda x: x)
            scores = []
            for hits in loader:
                scores.extend(hits)
            return scores
        """,
    "lists of tensors that workers hand over as they are": """
        from torch.utils.data import DataLoader, Dataset

        class Answers(Dataset):
            def __init__(self, found, answers):
                self.found, self.answers = found, answers

            def __len__(self):
                return len(self.found)

            def __getitem__(self, index):
                hits = []
                for place in self.found[index]:
                    hits.append(torch.tensor(place))
                return hits

        def score(found, answers, workers=16):
            loader = DataLoader(Answers(found, answers), batch_size=16, num_workers=workers, collate_fn=lambda x: x)
            scores = []
            for hits in loader:
                scores.extend(hits)  # TML409
            return scores
        """,
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_innocent_beside_guilty(name: str) -> None:
    check(SNIPPETS[name])


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("torch.allclose(x, x + 1)", 0),
        ("same = torch.equal(x, y)\nsame", 0),
        ("x.equal(y)", 0),
        ("torch.isclose(x, y)", 1),
        ("x == y", 1),
    ],
)
def test_whether_two_tensors_are_alike_is_no_tensor(write: Write, lint: Lint, shown: str, found: int) -> None:
    cells = ["import torch\nx, y = torch.rand(3, 3), torch.rand(3, 3)", shown]
    made = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    write({"a.ipynb": json.dumps({"cells": made, "metadata": {}, "nbformat": 4})})
    assert len(lines(lint("--isolated", "a.ipynb"))) == found


_TAGGER = """
    import torch
    from torch import nn

    class Tagger:
        def __init__(self, width):
            self.network = nn.Linear(width, 4).cuda()

        def predict(self, batches):
            self.network.eval()
            found = []
            for batch in batches:
                predict = self.network(batch)  # CODE
                found.extend(predict.argmax(1).tolist())
            return found
    """
_SCORING = """
    def eval_model(model, loaders):
        found = []
        for batches in loaders:
            predict = model.predict(batches)
            found.extend(predict)
        return found
    """
_GUARDED = """
    import torch
    from scoring import eval_model
    from tagger import Tagger

    def main(batches):
        model = Tagger(8)
        with torch.no_grad():
            found = eval_model(model, batches)
        return found
    """
_TERM = """
    import torch
    from torch import nn

    class Term:
        def __init__(self, conditions):
            self.mixer = nn.Linear(8, 8)
            self.conditions = conditions
            self.mix_conditions()

        def mix_conditions(self):
            self.conditions = self.mixer(self.conditions)  # CODE
    """
_CALIBRATION = """
    from dataclasses import dataclass, field

    import torch

    @dataclass
    class Calibration:
        probs: list[torch.Tensor] = field(default_factory=list)

        def update(self, probs: torch.Tensor) -> "Calibration":
            self.probs.append(probs.detach().flatten())  # CODE
            return self

        def compute(self) -> float:
            return torch.cat(self.probs).mean().item()
    """
PROJECTS = {
    "an object that is made for one question": {
        "calibration.py": _CALIBRATION,
        "scores.py": """
            from calibration import Calibration

            def score(truth, probs):
                calibration = Calibration().update(probs.flatten())
                return truth.mean().item(), calibration.compute()
            """,
    },
    "an object that somebody keeps": {
        "calibration.py": _CALIBRATION.replace("CODE", "TML303"),
        "scores.py": """
            from calibration import Calibration

            class Scores:
                def __init__(self):
                    self.calibration = Calibration()

                def score(self, truth, probs):
                    self.calibration.update(probs.flatten())
                    return truth.mean().item(), self.calibration.compute()
            """,
    },
    "an object that each round adds to": {
        "calibration.py": _CALIBRATION.replace("CODE", "TML303"),
        "scores.py": """
            from calibration import Calibration

            def score(rounds):
                calibration = Calibration()
                for probs in rounds:
                    calibration.update(probs.flatten())
                return calibration.compute()
            """,
    },
    "what only the constructor does": {
        "term.py": _TERM,
        "sampling.py": """
            from term import Term

            def sample(rows):
                return [Term(row).conditions.tolist() for row in rows]
            """,
    },
    "what others do again and again": {
        "term.py": _TERM.replace("CODE", "TML105"),
        "sampling.py": """
            from term import Term

            def sample(row, steps):
                term = Term(row)
                for _ in range(steps):
                    term.mix_conditions()
                return term
            """,
    },
    "a method that one file calls for another, which keeps gradients off": {
        "tagger.py": _TAGGER,
        "scoring.py": _SCORING,
        "main.py": _GUARDED,
    },
    "the same beside a script that keeps them on": {
        "tagger.py": _TAGGER.replace("CODE", "TML201"),
        "scoring.py": _SCORING,
        "main.py": _GUARDED,
        "demo.py": _GUARDED.replace("with torch.no_grad()", "if True"),
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_innocent_beside_guilty_across_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {path: textwrap.dedent(text) for path, text in PROJECTS[name].items()}
    check_project(files, tmp_path, monkeypatch)
