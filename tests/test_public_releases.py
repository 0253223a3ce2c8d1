"""More of what public code does that looks like a leak and is none, each beside what it is taken for."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

_POOL = """
        import names

        class Pool(lightning.LightningModule):
            def __init__(self, tune):
                super().__init__()
                self.tune, self.head = tune, Net()
                self.loss_fn = nn.CrossEntropyLoss()

            def forward(self, bag):
                self.head.eval()
                parts = []
                for part in bag.split(8):
                    parts.append(self.head(part))
                maps = torch.cat(parts)
                return self.head(bag * maps), maps

            def logits_and_maps(self, batch):
                logits, maps = [], []
                for bag in batch["image"]:
                    logit, attention = self(bag)
                    logits.append(logit.view(-1)){mark}
                    maps.append(attention){mark}
                return torch.stack(logits), maps

            def shared_step(self, batch):
                logits, maps = self.logits_and_maps(batch)
                loss = self.loss_fn(logits, batch["label"])
                results = dict()
                results.update({{names.LOSS: loss.view(-1, 1), names.MAPS: maps}})
                return results

            def {step}(self, batch, index):
                results = self.shared_step(batch)
                return {{names.LOSS: results[names.LOSS]}}
        """
SNIPPETS = {
    "a decorator that chooses how it turns gradients off": """
        OLD = False

        def without_gradients(function):
            return torch.no_grad()(function) if OLD else torch.inference_mode()(function)

        @without_gradients
        def evaluate(model, loader):
            model.eval()
            return [model(x).argmax(1).cpu().numpy() for x in loader]
        """,
    "a decorator that chooses whether it does": """
        OLD = False

        def without_gradients(function):
            return torch.enable_grad()(function) if OLD else torch.inference_mode()(function)

        @without_gradients
        def evaluate(model, loader):
            return [model(x).argmax(1).cpu().numpy() for x in loader]

        def validate(model, loader):
            model.eval()
            return [model(x).argmax(1).cpu().numpy() for x in loader]  # TML201
        """,
    "texts that a model gives": """
        class Talk:
            def __init__(self):
                self.module, self.said = Net(), []

            def answer(self, text):
                label = self.module(text)
                print("it says: " + label)
                self.said.append(label)

        class Reader:
            def __init__(self):
                self.module, self.said = Net(), []

            def read(self, text):
                label = self.module(text)
                print("it says:", label)
                self.said.append(label)  # TML102
        """,
    "how often something may go back": """
        def walk(model, env, rounds):
            seen, chances = [], []
            graph = env.new()
            for _ in range(rounds):
                seen.append(graph)
                graph = env.step(graph)
                chances.append(1 / env.count_backward_transitions(graph))
            return len(seen), chances

        def train(model, env, rounds):
            seen = []
            for _ in range(rounds):
                loss = env.score()
                env.backward(loss)
                seen.append(loss)  # TML102
            print(len(seen))
        """,
    "documents that a model finds": """
        class Document:
            def __init__(self, title: str, text: str):
                self.title = title
                self.text = text

        class Agent:
            def __init__(self, model: nn.Module):
                self.model, self.found = model, []

            def record(self, batch):
                docs: list[list[Document]] = []
                scores, docs = self.model(batch)
                self.found.append([one for row in docs for one in row])
                return scores.argmax().item()

        class Rows:
            def __init__(self, model: nn.Module):
                self.model, self.found = model, []

            def add(self, batch):
                scores, vectors = self.model(batch)
                self.found.append(vectors)  # TML102
                return scores.argmax().item()
        """,
    "a list on a ctx that is empty again when the function returns": """
        class Tile(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, tile):
                ctx.scratch = [x]
                y = tile.run(x, ctx)
                ctx.save_for_backward(*ctx.scratch)
                ctx.scratch = []
                return y

            @staticmethod
            def backward(ctx, slope):
                return slope * ctx.saved_tensors[0], None

        class Kept(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, tile):
                ctx.scratch = [x]  # TML106
                y = tile.run(x, ctx)
                ctx.save_for_backward(y)
                ctx.shapes = []
                return y

            @staticmethod
            def backward(ctx, slope):
                return slope * ctx.saved_tensors[0], None
        """,
    "a container that goes after its items have lost a name": """
        import gc

        def free(info):
            if info.scores is not None:
                for tensor in info.scores:
                    del tensor
                del info.scores
            gc.collect()
            torch.cuda.empty_cache()

        def free_only(info):
            if info.scores is not None:
                for tensor in info.scores:
                    del tensor  # TML602
            del info.masks
            gc.collect()
            torch.cuda.empty_cache()
        """,
    "tables of empty lists, one for each stage": """
        class Features(lightning.Callback):
            def __init__(self):
                self.seen = {stage: self.empty() for stage in ["train", "val"]}

            def empty(self):
                return {name: [] for name in ("features", "names")}

            def update_seen(self, outputs, stage):
                self.seen[stage]["features"].extend(torch.cat(outputs["features"]))

            def end(self, stage):
                print(len(self.seen[stage]["features"]))
                self.seen[stage] = self.empty()

            def on_train_batch_end(self, trainer, module, outputs, batch, index):
                self.update_seen(outputs, "train")

            def on_validation_batch_end(self, trainer, module, outputs, batch, index):
                self.update_seen(outputs, "val")

            def on_train_epoch_end(self, trainer, module):
                self.end("train")

            def on_validation_epoch_end(self, trainer, module):
                self.end("val")
        """,
    "tables of lists that are not made anew": """
        class Features(lightning.Callback):
            def __init__(self):
                self.seen = {stage: self.empty() for stage in ["train", "val"]}

            def empty(self):
                return {name: [] for name in ("features", "names")}

            def update_seen(self, outputs, stage):
                self.seen[stage]["features"].extend(torch.cat(outputs["features"]))  # TML107

            def on_train_batch_end(self, trainer, module, outputs, batch, index):
                self.update_seen(outputs, "train")

            def on_validation_batch_end(self, trainer, module, outputs, batch, index):
                self.update_seen(outputs, "val")

            def on_train_epoch_end(self, trainer, module):
                print(len(self.seen["train"]["features"]))
                self.seen["train"]["names"] = []
        """,
    "what a training step returns under a name of another file": _POOL.format(step="training_step", mark=""),
    "the same of a step that no framework knows": _POOL.format(step="explain_step", mark="  # TML102"),
    "attention maps that nobody has kept": """
        class Layer(nn.Module):
            def __init__(self, width, keep_maps=False):
                super().__init__()
                self.mix = nn.Linear(width, width)
                self.keep_maps = keep_maps

            def forward(self, x):
                maps = torch.softmax(self.mix(x), -1)
                if self.keep_maps:
                    self.maps = maps
                return x * maps

        class Encoder(nn.Module):
            def __init__(self, width, depth, keep_maps=True):
                super().__init__()
                self.layers = nn.ModuleList([Layer(width, keep_maps=keep_maps) for _ in range(depth)])

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        class Forecast(nn.Module):
            def __init__(self, width):
                super().__init__()
                keep_maps = False
                self.encoder = Encoder(width, 4, keep_maps=keep_maps)

            def forward(self, x):
                return self.encoder(x)
        """,
    "attention maps that one encoder has kept": """
        class Layer(nn.Module):
            def __init__(self, width, keep_maps=False):
                super().__init__()
                self.mix = nn.Linear(width, width)
                self.keep_maps = keep_maps

            def forward(self, x):
                maps = torch.softmax(self.mix(x), -1)
                if self.keep_maps:
                    self.maps = maps  # TML108
                return x * maps

        class Encoder(nn.Module):
            def __init__(self, width, depth, keep_maps=True):
                super().__init__()
                self.layers = nn.ModuleList([Layer(width, keep_maps=keep_maps) for _ in range(depth)])

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        class Forecast(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.encoder = Encoder(width, 4)

            def forward(self, x):
                return self.encoder(x)
        """,
    "what a tracer keeps, detached if one likes": """
        def copied(x, clone=None, detach=None):
            if not clone and not detach:
                return x
            if isinstance(x, torch.Tensor):
                x = x.detach() if detach else x
                return x.clone() if clone else x
            return type(x)([copied(part, clone, detach) for part in x])

        class Trace:
            def __init__(self, module, keep_input=False, clone=False, detach=False):
                tracer = self

                def hook(module, given, named, output):
                    if keep_input and "hidden_states" in named:
                        tracer.input = copied(named["hidden_states"], clone=clone, detach=detach)

                self.handle = module.register_forward_hook(hook, with_kwargs=True)

            def __enter__(self):
                return self

            def __exit__(self, *error):
                self.close()

            def close(self):
                self.handle.remove()
        """,
    "what a tracer keeps as it is": """
        class Trace:
            def __init__(self, module, keep_input=False):
                tracer = self

                def hook(module, given, named, output):
                    if keep_input and "hidden_states" in named:
                        tracer.input = named["hidden_states"]  # TML108

                self.handle = module.register_forward_hook(hook, with_kwargs=True)

            def __enter__(self):
                return self

            def __exit__(self, *error):
                self.close()

            def close(self):
                self.handle.remove()
        """,
    "edges that the first pass keeps, beside what tells that it did": """
        class Graphs(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.mix = nn.Linear(width, width)
                self.weights = None
                self.edges = None

            def forward(self, x, edges):
                if self.weights is None:
                    loops = torch.arange(0, x.shape[0]).repeat(2, 1)
                    edges = torch.cat([edges, loops], dim=1)
                    weights = torch.ones(edges.shape[1])
                    self.weights = weights
                    self.edges = edges
                else:
                    edges = self.edges
                    weights = self.weights
                return self.mix(x)[edges[0]] * weights

        class Growing(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.mix = nn.Linear(width, width)
                self.edges = torch.zeros(2, 0)

            def forward(self, x):
                known = self.edges
                loops = torch.arange(0, x.shape[0]).repeat(2, 1)
                known = torch.cat([known, loops], dim=1)
                self.edges = known  # TML303
                return self.mix(x)[known[0]]
        """,
    "a cache of what a teacher says, in one process or in many": """
        from torch.utils.data import DataLoader, Dataset

        class Pairs(Dataset):
            def __init__(self, teacher_model, rows):
                self.teacher_model, self.rows = teacher_model, rows
                self.cache = {}

            def __getitem__(self, index):
                text = self.rows[index]
                if text not in self.cache:
                    self.cache[text] = self.teacher_model.encode(text)
                return self.cache[text]

        class Images(Dataset):
            def __init__(self, paths):
                self.paths = paths
                self.cache = {}

            def __getitem__(self, index):
                path = self.paths[index]
                if path not in self.cache:
                    self.cache[path] = torch.load(path)  # TML404
                return self.cache[path]
        """,
}
_LOSSES = """
from typing import Callable

from torch import nn

class Base:
    def prepare_loss(self, loss: Callable[[nn.Module], nn.Module] | nn.Module, model: nn.Module) -> nn.Module:
        if isinstance(loss, nn.Module):
            return loss.to(model.device)
        return loss(model).to(model.device)

    def compute_loss(self, loss, model):
        return loss(model).to(model.device)
"""
_PREPARED = """
from losses import Base
from torch import nn

class Trainer(Base):
    def __init__(self, model: nn.Module, loss):
        self.loss = {name: self.prepare_loss(loss_fn, model) for name, loss_fn in loss.items()}
"""
_ASKED = """
import server

def ask(session, texts):
    last = None
    for attempt in range(3):
        try:
            return server.prompt.generate(session, texts)
        except Exception as error:
            last = error
            print(attempt, error)
    raise last
"""
_GENERATED = """
import torch

def ask(model, tokens):
    last = None
    for attempt in range(3):
        try:
            return model.generate(torch.tensor(tokens))
        except Exception as error:
            last = error  # TML307
            print(attempt, error)
    raise last
"""
_ATTRIBUTION = """
import torch

class Neurons:
    def __init__(self, model):
        self.model = model

    def baseline(self, x):
        return self.model(x).argmax(1)

    def slopes(self, x, steps=20):
        target = self.baseline(x)
        total = 0
        for step in range(steps):
            inputs = (x * step / steps).requires_grad_()
            score = self.model(inputs)[:, target].sum()
            total = total + torch.autograd.grad(score, inputs)[0]
        return total / steps
"""
_ATTRIBUTED = """
import sys

import torch
from torch import nn
from neurons import Neurons

def main(paths):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    model.eval()
    neurons = Neurons(model)
    found = {path: neurons.slopes(torch.load(path)) for path in paths}
    torch.save(found, "found.pt")

def guess(paths):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    model.eval()
    neurons = Neurons(model)
    for path in paths:
        print(neurons.baseline(torch.load(path)).item())  # TML201

if __name__ == "__main__":
    main(sys.argv[1:])
    guess(sys.argv[1:])
"""
_SHIFTS = """
import torch.nn.functional as F
from torch import nn

class Shift(nn.Module):
    def __init__(self, stride):
        super().__init__()
        self.stride = stride

    def forward(self, features, box):
        return F.grid_sample(features, box.view(-1, 1, 1, 2) / self.stride)

class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Conv2d(width, width, 1)

    def forward(self, features):
        return F.relu(self.mix(features))
"""
_TRACKER = """
import torch
from shifts import Mix, Shift

class Tracker:
    def features(self, image):
        with torch.no_grad():
            return self.net.extract(image)

    def track(self, image, box):
        scores = self.predict_response(self.features(image), box)
        return scores.max().item()

    def predict_response(self, features, box):
        moved = Shift(stride=16)(features.clone(), box)
        return torch.sigmoid(moved).detach().cpu()

    def predict_mixture(self, frames):
        return [torch.sigmoid(Mix(8)(frame)).detach().cpu().numpy() for frame in frames]  # TML201
"""
_ROWS = """
import torch
from torch.utils.data import Dataset

class {name}(Dataset):
    def __init__(self, matrix):
        self.matrix = matrix
        self.cache = {{}}

    def __len__(self):
        return len(self.matrix)

    def __getitem__(self, items):
        key = str(items)
        if key not in self.cache:
            self.cache[key] = torch.from_numpy(self.matrix[items]).float(){mark}
        return self.cache[key]
"""
_LOADED = """
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler
from {module} import {name}

def loader(matrix):
    rows = {name}(matrix)
    sampler = BatchSampler(SequentialSampler(rows), 8, drop_last=False)
    return DataLoader(rows, sampler=sampler, batch_size=None{more}){mark}
"""
PROJECTS = {
    "a cache of rows that no worker loads": {
        "rows.py": _ROWS.format(name="Rows", mark=""),
        "loaded.py": _LOADED.format(module="rows", name="Rows", more="", mark=""),
        "wide.py": _ROWS.format(name="Wide", mark="  # TML404"),
        "workers.py": _LOADED.format(module="wide", name="Wide", more=", num_workers=4", mark="  # TML404"),
        "deep.py": _ROWS.format(name="Deep", mark="  # TML404"),
        "options.py": _LOADED.format(module="deep", name="Deep", more=", **OPTIONS", mark=""),
    },
    "losses that are made ready": {"losses.py": _LOSSES, "prepared.py": _PREPARED},
    "a server that is asked again": {"asked.py": _ASKED, "generated.py": _GENERATED},
    "a module that only moves what it is given": {"shifts.py": _SHIFTS, "tracker.py": _TRACKER},
    "a helper that differentiates what it runs": {"neurons.py": _ATTRIBUTION, "attribute.py": _ATTRIBUTED},
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name])


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
