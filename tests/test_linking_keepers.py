"""What another file offers to keep: the handlers of a bus, results of a decorated function, rows of a recorder."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

PROJECTS = {
    "features that a runner has from a module of this file": {
        "runner.py": """
class Runner:
    def __init__(self, encoder):
        self.encoder = encoder
        self.features = {}

    def encode(self, key, image):
        if key not in self.features:
            self.features[key] = self.encoder(image)
        return self.features[key]

    def generate(self, request_id, image, tokens):
        return [int(self.encode(request_id, image).argmax()) for _ in range(tokens)]
""",
        "rollout.py": """
import torch
from torch import nn
from runner import Runner

class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Linear(48, 64)

    def forward(self, image):
        return self.patch(image.view(-1, 48))

@torch.inference_mode()
def main(steps):
    runner = Runner(Vision().eval())
    for step in range(steps):
        for i in range(4):
            answer = runner.generate((step, i), torch.rand(3, 64, 64), 4)  # TML311
            print(answer)
""",
    },
    "sessions that another file makes, asked for at two places": {
        "state.py": """
class Memory:
    def __init__(self):
        self.results = {}

class State:
    def __init__(self):
        self.sessions = {}

    def memory_for(self, session):
        if session not in self.sessions:
            self.sessions[session] = Memory()
        return self.sessions[session]
""",
        "chat.py": """
import uuid
import torch
from state import State

state = State()

def ask(session, words):
    memory = state.memory_for(session)  # TML311
    memory.results["vectors"] = torch.rand(words, 64)
    return words

def more(session):
    memory = state.memory_for(session)
    return float(memory.results["vectors"].sum())

def main(steps):
    for _ in range(steps):
        session = str(uuid.uuid4())
        ask(session, 60)
        more(session)

if __name__ == "__main__":
    main(5)
""",
    },
    "methods that a script gives to a hub": {
        "hub.py": """
from collections import defaultdict

_listeners = defaultdict(list)

def listen(topic, callback):
    _listeners[topic].append(callback)

def unlisten(topic, callback):
    _listeners[topic].remove(callback)

def publish(topic, payload):
    for callback in list(_listeners[topic]):
        callback(payload)
""",
        "forgets.py": """
import torch
import hub

class Recorder:
    def __init__(self):
        self.last = None

    def on_frame(self, frame):
        self.last = frame

def session():
    recorder = Recorder()
    hub.listen("frame", recorder.on_frame)  # TML314
    hub.publish("frame", torch.rand(3, 240, 320))
    return recorder.last.mean().item()

def main(steps):
    for _ in range(steps):
        print(session())
""",
        "takes_back.py": """
import torch
import hub

class Recorder:
    def __init__(self):
        self.last = None

    def on_frame(self, frame):
        self.last = frame

def session():
    recorder = Recorder()
    hub.listen("frame", recorder.on_frame)
    try:
        hub.publish("frame", torch.rand(3, 240, 320))
        return recorder.last.mean().item()
    finally:
        hub.unlisten("frame", recorder.on_frame)

def main(steps):
    for _ in range(steps):
        print(session())
""",
    },
    "objects that put themselves into another file's table": {
        "registry.py": """
import itertools

_images = {}
_serial = itertools.count()

def new_id():
    return "img-%d" % next(_serial)

def remember(image):
    _images[image.uid] = image
    return image.uid
""",
        "images.py": """
from dataclasses import dataclass, field
import torch
import registry

@dataclass(eq=False)
class Shot:
    pixels: torch.Tensor
    uid: str = field(default_factory=registry.new_id)

    def __post_init__(self):
        registry.remember(self)  # TML301

def brightness(count):
    found = []
    for _ in range(count):
        shot = Shot(torch.rand(3, 8, 8))
        found.append(shot.pixels.mean().item())
    return found
""",
    },
    "callbacks that another file registers": {
        "lifecycle.py": """
import atexit

def on_exit(callback):
    atexit.register(callback)
    return callback
""",
        "documents.py": """
import torch
from lifecycle import on_exit

class Document:
    def __init__(self, seed):
        self.pages = [torch.rand(8, 8) for _ in range(seed)]
        self.labels = []
        on_exit(self.close)  # TML314

    def close(self):
        self.pages = []

class Base:
    def __init__(self, env):
        self.env = env
        self.seen = []
        on_exit(self.close)

    def close(self):
        self.env.close()

def convert(model, seeds):
    found = {}
    for seed in seeds:
        document = Document(seed)
        document.labels = [model(page).argmax().item() for page in document.pages]
        found[seed] = document.labels
    return found
""",
        "trainers.py": """
import torch
from documents import Base

class Trainer(Base):
    def __init__(self, env, model: torch.nn.Module):
        super().__init__(env)  # what the base class does with its own methods is said there
        self.model = model.to("cuda")
        self.agents = [torch.nn.Linear(8, 8) for _ in range(3)]

def run(envs, model):
    for env in envs:
        Trainer(env, model)
""",
    },
    "functions given to a bus that keeps them": {
        "bus.py": """
_handlers = {}

def on(event, handler):
    _handlers.setdefault(event, []).append(handler)

def off(event, handler):
    _handlers[event].remove(handler)

class Dispatcher:
    def __init__(self):
        self.callbacks = []

    def connect(self, function):
        self.callbacks.append(function)

dispatcher = Dispatcher()
""",
        "sessions.py": """
import functools
import torch
from bus import dispatcher, on

class Session:
    def __init__(self):
        self.model = torch.nn.Linear(64, 64)
        on("reload", self.reload)  # TML314

    def reload(self, state):
        self.model.load_state_dict(state)

    @torch.no_grad()
    def run(self, x):
        return self.model(x).mean().item()

def evaluate(x):
    model = torch.nn.Linear(64, 64)
    dispatcher.connect(lambda: model.zero_grad())  # TML314
    with torch.no_grad():
        return model(x).sum().item()

def calibrate(x):
    reference = x * 2
    on("report", functools.partial(torch.dist, reference))  # TML314
    return reference.mean().item()

def profile(x):
    total = x.sum().item()
    dispatcher.connect(lambda: print(total))
    return total

def main(n):
    for i in range(n):
        Session().run(torch.randn(8, 64))
        evaluate(torch.randn(8, 64))
        calibrate(torch.randn(8, 64))
        profile(torch.randn(8, 64))
""",
        "once.py": """
import torch
from bus import dispatcher, off, on

class App:
    def __init__(self):
        self.model = torch.nn.Linear(64, 64)
        on("reload", self.reload)

    def reload(self, state):
        self.model.load_state_dict(state)

class Job:
    def __init__(self):
        self.model = torch.nn.Linear(64, 64)
        on("tick", self.tick)

    def tick(self):
        self.model.zero_grad()

    def close(self):
        off("tick", self.tick)

app = App()

def main(n):
    model = torch.nn.Linear(64, 64)
    dispatcher.connect(lambda: model.zero_grad())
    for i in range(n):
        job = Job()
        job.close()
""",
    },
    "a decorator that remembers for ever": {
        "caching.py": """
import functools

def remember(fn):
    results: dict = {}

    @functools.wraps(fn)
    def inner(*args):
        if args not in results:
            results[args] = fn(*args)
        return results[args]

    return inner

def recent(limit):
    def decorate(fn):
        results = {}

        def inner(*args):
            if args not in results:
                results[args] = fn(*args)
            while len(results) > limit:
                results.pop(next(iter(results)))
            return results[args]

        return inner

    return decorate
""",
        "voices.py": """
import torch
from caching import recent, remember

@remember  # TML305
def voice(clip: str) -> torch.Tensor:
    return torch.load(clip, map_location="cpu")

@recent(4)
def speaker(clip: str) -> torch.Tensor:
    return torch.load(clip, map_location="cpu")

@remember
def window(n_fft: int) -> torch.Tensor:
    return torch.hann_window(n_fft)
""",
    },
    "a recorder that its user leaves on the model": {
        "recorder.py": """
class Recorder:
    def __init__(self, names):
        self.names, self.rows, self.handles = names, [], []

    def attach(self, model):
        for name in self.names:
            self.handles.append(model.get_submodule(name).register_forward_hook(self.keep))
        return self

    def keep(self, module, inputs, output):
        self.rows.append(output.detach())

    def detach(self):
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.detach()
""",
        "left.py": """
import torch
from torch import nn
from recorder import Recorder

def validate(loader):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    for x in loader:
        recorder = Recorder(["0"]).attach(model)  # TML304
        with torch.no_grad():
            model(x)
        print(len(recorder.rows))
""",
        "used.py": """
import torch
from torch import nn
from recorder import Recorder

def validate(loader):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    for x in loader:
        with Recorder(["0"]).attach(model), torch.no_grad():
            model(x)
""",
    },
    "handlers that each round gives to an engine of another file": {
        "engine.py": """
from collections import defaultdict

class Engine:
    def __init__(self, update):
        self.update = update
        self.handlers = defaultdict(list)

    def attach(self, event, handler, *args):
        self.handlers[event].append((handler, args))

    def run(self, batches):
        for batch in batches:
            self.update(self, batch)
            for handler, args in self.handlers["step"]:
                handler(self, *args)
""",
        "setup.py": """
import copy
import torch

class Average:
    def __init__(self, model):
        self.model, self.copy = model, copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def __call__(self, engine):
        for mean, weight in zip(self.copy.parameters(), self.model.parameters()):
            mean.lerp_(weight, 0.1)

def common(engine, model):
    engine.attach("step", Average(model))
""",
        "search.py": """
import torch
from engine import Engine
from setup import Average, common

def step(engine, batch):
    pass

def main(rounds, batches):
    engine = Engine(step)
    for width in rounds:
        model = torch.nn.Linear(width, 8)
        common(engine, model)  # TML303
        engine.attach("step", Average(torch.nn.Linear(width, 8)))  # TML303
        engine.run(batches)

def one_model(rounds, batches, model):
    for width in rounds:
        engine = Engine(step)
        common(engine, model)
        engine.run(batches)
""",
    },
    "handlers that are taken out of an engine of another file": {
        "engine.py": """
from collections import defaultdict

class Engine:
    def __init__(self, update):
        self.update = update
        self.handlers = defaultdict(list)

    def attach(self, event, handler, *args):
        self.handlers[event].append((handler, args))

    def run(self, batches):
        for batch in batches:
            self.update(self, batch)
            for handler, args in self.handlers["step"]:
                handler(self, *args)
""",
        "setup.py": """
import copy
import torch

class Average:
    def __init__(self, model):
        self.model, self.copy = model, copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def __call__(self, engine):
        for mean, weight in zip(self.copy.parameters(), self.model.parameters()):
            mean.lerp_(weight, 0.1)

def common(engine, model):
    engine.attach("step", Average(model))
""",
        "search.py": """
import torch
from engine import Engine
from setup import common

def step(engine, batch):
    pass

def main(rounds, batches):
    engine = Engine(step)
    for width in rounds:
        common(engine, torch.nn.Linear(width, 8))
        engine.run(batches)
        engine.handlers.clear()
""",
    },
    "records that a base class asks its subclass for, on a loop that gives itself to them": {
        "base.py": """
class Recording:
    def __init__(self):
        self.records = []

    def on_epoch_end(self, loop):
        self.records.append(self.record(loop))
""",
        "loop.py": """
import torch
from base import Recording

class Mean(Recording):
    def record(self, loop):
        return loop.seen.mean().item()

class Embeddings(Recording):
    def record(self, loop):
        return loop.seen * 2  # TML303

class Loop:
    def __init__(self, callbacks):
        self.callbacks = callbacks
        self.seen = torch.zeros(8)

    def each(self, hook):
        for callback in self.callbacks:
            getattr(callback, hook)(self)

    def fit(self, epochs):
        for _ in range(epochs):
            self.seen = torch.rand(64, 64)
            self.each("on_epoch_end")

def main(epochs):
    loop = Loop([Mean(), Embeddings()])
    loop.fit(epochs)
    print([callback.records[-1] for callback in loop.callbacks])
""",
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
