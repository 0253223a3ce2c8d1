"""What public code does that looks like a leak and is none: places that start anew with each batch, values without a
graph, containers that are let go of; each beside what it is taken for."""

from __future__ import annotations

import pytest
from snippets import check

_REPEATS = """
def train(generator, critic, optimizer, loader, repeats):
    {outer}
        total = 0.0
        {inner}
            optimizer.zero_grad()
            loss = critic(batch).mean() - critic(generator(batch).detach()).mean()
            loss.backward()
            optimizer.step()
            total += loss{mark}
        print(total / repeats)
"""
_CLASSES = """
def train(model, optimizer, loader, classes, epochs):
    {before}
    for batch, labels in loader:
        {each}
        outputs, loss = model(batch), 0.0
        for i in range(classes):
            part = F.nll_loss(outputs[i], labels)
            loss += part
            distance += 2 * (1 - part){mark}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(distance.item())
"""
_RANKING = """
class Ranking:
    def __init__(self, model):
        self.model, self.seen, self.kept = model, 0, []

    def forward(self, x):
        {anew}
        for name, module in self.model.features._modules.items():
            x = module(x)
            if isinstance(module, nn.Conv2d):
                x.register_hook(self.rank)
                self.kept.append(x){mark}
        return self.model.head(x.flatten(1))

    def rank(self, gradient):
        self.seen += 1
        self.score = (self.kept[-self.seen] * gradient).sum().item()

def rank(model, loader):
    ranking = Ranking(model)
    for x, y in loader:
        F.cross_entropy(ranking.forward(x), y).backward()
"""
_ONCE = """
class Watch:
    def __init__(self, model):
        self.model = model

    def forward(self, x):
        self.out = self.model(x)
        self.out.register_hook(self.look){mark}
        return self.out

    def look(self, gradient):
        self.largest = (self.out * gradient).max().item()

def main(loader):
    model = Net()
    for rate, width in {settings}:
        watch = Watch(model)
        for x, y in loader:
            F.cross_entropy(watch.forward(x), y).backward()
        del watch
"""
_BEAMS = """
class Beams:
    def __init__(self, most):
        self.most, self.beams, self.done, self.worst = most, [], [], 1e9

    def __len__(self):
        return len(self.{counted})

    def add(self, found: "torch.LongTensor", score: float):
        if len(self) < self.most or score > self.worst:
            self.beams.append((score, found)){mark}
            if len(self) > self.most:
                order = sorted((score, index) for index, (score, _) in enumerate(self.beams))
                del self.beams[order[0][1]]
                self.worst = order[1][0]

class Search:
    def __init__(self, model, most):
        self.model, self.best = model.eval(), Beams(most)

    @torch.no_grad()
    def search(self, loader):
        for batch in loader:
            found = self.model(batch)
            self.best.add(found.clone(), found.max().item())
"""
_SETS = """
class Sets(torch.utils.data.Dataset):
    def __init__(self, folders):
        self.folders, self.sets = folders, [None for _ in folders]

    def __len__(self):
        return len(self.folders)

    def __getitem__(self, index):
        if self.sets[index] is not None:
            return self.sets[index]
        frames = torch.load(self.folders[index])
        filled = 0
        for one in self.{counted}:
            if one is not None:
                filled += 1
        if filled < 5:
            self.sets[index] = frames{mark}
        return frames

def load(folders):
    return torch.utils.data.DataLoader(Sets(folders), batch_size=2, num_workers=4)
"""
_TABLE = """
RESULTS = []

def evaluate(model, loader, device):
    total, correct = 0, 0
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            out = model.eval()(data)
            total += F.cross_entropy(out, target{how}).data
            correct += out.argmax(1).eq(target).cpu().sum()
    RESULTS.append([total / len(loader), correct * 100.0 / len(loader.dataset)]){mark}

def main(loader):
    model = Net().cuda()
    for _ in range(100):
        evaluate(model, loader, "cuda")
"""
_STATE = """
import torch.distributed as dist

def gather(state, rank, world):
    gathered = {{}}
    for name, moment in state.items():
        if {test}:
            parts = [torch.empty_like(moment) for _ in range(world)]
            dist.all_gather(parts, moment){mark}
            if rank == 0:
                gathered[name] = [part.cpu() for part in parts]
    return gathered
"""
_LAZY = """
class Lazy(nn.Module):
    def __init__(self, layer_class, head):
        super().__init__()
        self.layer, self.layer_class, self.head = None, layer_class, head

    def forward(self, x):
        if self.layer is None:
            self.layer = self.layer_class(x.size(-1)){mark}
        return {gives}
"""
_CONVERTER = """
class {base}(nn.Module):
    def forward(self, inputs):
        raise NotImplementedError

class Converter:
    def __init__(self, {part}s: list[{base}]):
        self.{part}s: list[{base}] = {part}s

    def __call__(self, molecules):
        batch = []
        for one in molecules:
            inputs = {{"charges": torch.from_numpy(one.charges), "places": torch.from_numpy(one.places)}}
            for {part} in self.{part}s:
                inputs = {part}(inputs){mark}
            batch.append(inputs)
        return {{name: torch.stack([one[name] for one in batch]).detach().cpu() for name in batch[0]}}
"""
_CODEBOOK = """
class Codebook(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(size, 8))
        self.optimizer = torch.optim.SGD([self.codes], lr=0.1)

    def look_up(self, x):
        return self.codes[torch.cdist(x, self.codes).argmin(-1)]

    def forward(self, x):
        found = self.look_up(x)
        if self.training:
            F.mse_loss(found, x.detach()).backward()
            self.optimizer.step()
            found = self.look_up(x)
        return found, F.mse_loss(found, x)

class Levels({base}):
    def __init__(self, scales):
        super().__init__()
        self.scales, self.codebook = scales, Codebook(64)

    def {method}(self, x):
        out, losses = torch.zeros_like(x), []
        for scale in self.scales:
            found, loss = self.codebook(x - out.detach())
            out = out + found.detach()
            losses.append(loss){mark}
        return out, torch.stack(losses).mean()
"""
_STACK = """
class Stack:
    def __init__(self, cell):
        self.cell, self.items = cell, [torch.zeros(1, 8)]

    def push(self, x):
        self.items.append(self.cell(x, self.items[-1])){mark}

class Parser(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
        self.embed, self.stack = nn.Embedding(4, 8), Stack(self.cell)

    def forward(self, actions):
        stack, taken = {stack}, []
        while len(taken) < 50:
            self.advance(stack, actions[len(taken)])
            taken.append(0)
        return taken

    def advance(self, stack: Stack, action):
        stack.push(self.embed(action))
"""
_CAM = """
class Cam:
    def __init__(self, model, names):
        self.model, self.outputs = model, [None] * len(names)
        layers = dict(model.named_modules())
        self.handles = [
            layers[name].register_forward_hook(functools.partial(self.keep, index=index))
            for index, name in enumerate(names)
        ]

    def keep(self, module, inputs, output, index=0):
        self.outputs[index] = output{mark}

    def weigh(self, score):
        return {weights}

    def close(self):
        for handle in self.handles:
            handle.remove()
"""
_WRITTEN = """
def update(optimizer):
    optimizer.step()
    {then}

def slow(model, old, optimizer):
    for _ in range(6):
        for now, before in zip(model.parameters(), old):
            now.grad = -(now - before){mark}
            with torch.no_grad():
                now.copy_(before)
        update(optimizer)
"""
_ROWS = """
class Calibration:
    def __init__(self, model):
        self.model, self.rows, self.handles = model, {{}}, []

    def hook_for(self, name):
        def hook(module, inputs, outputs):
            batch = inputs
            if isinstance(inputs, tuple):
                batch = inputs[0]
            if name in self.rows:
                self.rows[name].extend(list(torch.split(batch, 1, dim=0)))
            else:
                self.rows[name] = {kept}{mark}

        return hook

    def run(self, loader):
        for name, module in self.model.named_modules():
            self.handles.append(module.register_forward_hook(self.hook_for(name)))
        try:
            with torch.no_grad():
                for batch in loader:
                    self.model(batch)
        finally:
            for handle in self.handles:
                handle.remove()
            self.handles.clear()
"""
_DRIVER = """
import torch.distributed as dist

def to_cpu(state):
    return {{name: value.to("cpu") if torch.is_tensor(value) else to_cpu(value) for name, value in state.items()}}

class Driver:
    def __init__(self, model, optimizer):
        dist.init_process_group("nccl")
        self.model, self.optimizer = nn.parallel.DistributedDataParallel(model), optimizer

    def save_checkpoint(self, path, states):
        state = self.optimizer.state_dict()
        state["state"] = {moved}
        states["optimizer"] = state
        torch.save(states, path)

    def load_checkpoint(self, path):
        states = torch.load(path){mark}
        self.optimizer.load_state_dict(states.pop("optimizer"))
        return states
"""
_LABELS = """
def features(model, dataset, device):
    loader = torch.utils.data.DataLoader(dataset, batch_size=8)
    labels, found = [], []
    for batch, label in loader:
        {first}
        labels.append(label){mark}
        with torch.no_grad():
            found.append(model(batch.to(device)).cpu())
    return torch.cat(found), torch.cat(labels).cpu()
"""
_TEACHER = """
import sys

OUTPUTS = []

def record(module, inputs, output):
    OUTPUTS.append(output.detach())

student, loader, optimizer = build(sys.argv[1]), load(sys.argv[1]), adam(sys.argv[1])
for round in {rounds}:
    for name, module in student.named_modules():
        if isinstance(module, nn.MaxPool2d):
            module.register_forward_hook(record){mark}
    for x, y in loader:
        OUTPUTS.clear()
        loss = F.cross_entropy(student(x), y)
        loss.backward()
        optimizer.step()
"""
_SIGNS = """
def with_mode(function):
    def run(self, *args):
        before = torch.is_grad_enabled()
        try:
            {sets}
            result = function(self, *args)
        finally:
            torch.set_grad_enabled(before)
        return result

    return run

class Signs(torch.optim.Optimizer):
    def __init__(self, params, rate, differentiable=False):
        super().__init__(params, dict(rate=rate, differentiable=differentiable))

    @with_mode
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                average = self.state[p].get("average")
                if average is None:
                    average = torch.zeros_like(p)
                self.state[p]["average"] = 0.9 * average + 0.1 * p{mark}
"""
_WRAPPER = """
class Wrapper(nn.Module):
    def __init__(self, layer, kind):
        super().__init__()
        self.layer = layer
        self.register_buffer("scale", torch.ones(1024))
        if kind == "linear":
            self.first = self.linear  # TML315
        else:
            self.{other} = self.convolve{mark}

    def linear(self, x):
        return self.layer(x) * self.scale

    def convolve(self, x):
        return self.layer(x.t()) * self.scale

def tune(kinds, x):
    for kind in kinds:
        wrapper = Wrapper(nn.Linear(8, 8), kind)
        wrapper.linear(x).sum().backward()
"""

SNIPPETS = {
    "the repeats of one batch": _REPEATS.format(
        outer="for batch in loader:", inner="for _ in range(repeats):", mark=""
    ),
    "the batches of one epoch": _REPEATS.format(
        outer="for _ in range(repeats):", inner="for batch in loader:", mark="  # TML101"
    ),
    "what is added up over the classes of a batch": _CLASSES.format(before="pass", each="distance = 0.0", mark=""),
    "what is added up over all batches": _CLASSES.format(before="distance = 0.0", each="pass", mark="  # TML101"),
    "the activations of the layers that a hook asks for": _RANKING.format(anew="self.kept, self.seen = [], 0", mark=""),
    "the activations of all passes": _RANKING.format(anew="self.seen = 0", mark="  # TML102"),
    "an object of the only round": _ONCE.format(settings="zip([2.0], [32])", mark=""),
    "an object of each round": _ONCE.format(settings="zip([2.0, 3.0, 4.0, 5.0], [32, 33, 34, 35])", mark="  # TML315"),
    "a list whose length its object has": _BEAMS.format(counted="beams", mark=""),
    "a list whose object has the length of another": _BEAMS.format(counted="done", mark="  # TML303"),
    "sets that are counted before one is kept": _SETS.format(counted="sets", mark=""),
    "something else that is counted": _SETS.format(counted="folders", mark="  # TML404"),
    "a loss and a count for each epoch": _TABLE.format(how="", mark=""),
    "the losses of all samples for each epoch": _TABLE.format(how=', reduction="none"', mark="  # TML301"),
    "one number of each rank": _STATE.format(test="is_singleton_tensor(moment)", mark=""),
    "one number of each rank, by its size": _STATE.format(test="moment.dim() == 0", mark=""),
    "whole tensors of each rank": _STATE.format(test="moment.dim() == 1", mark="  # TML410"),
    "a layer that is made when it is needed": _LAZY.format(gives="self.layer(x)", mark=""),
    "what a layer gives": _LAZY.format(gives="self.head(self.layer)", mark="  # TML108"),
    "transforms of which only the base class is told": _CONVERTER.format(base="Step", part="transform", mark=""),
    "encoders of which only the base class is told": _CONVERTER.format(
        base="Encoder", part="encoder", mark="  # TML201"
    ),
    "a pass whose part has a backward pass of its own": _CODEBOOK.format(base="nn.Module", method="forward", mark=""),
    "a function whose model has one": _CODEBOOK.format(base="object", method="run", mark="  # TML102"),
    "the stack of one pass": _STACK.format(stack="Stack(self.cell)", mark=""),
    "the stack of all passes": _STACK.format(stack="self.stack", mark="  # TML102"),
    "slots that are differentiated with respect to": _CAM.format(
        weights="torch.autograd.grad(score, self.outputs)", mark=""
    ),
    "slots that are only looked at": _CAM.format(
        weights="[score * one.mean() for one in self.outputs]", mark="  # TML108"
    ),
    "gradients that stay": _WRITTEN.format(then="print(optimizer)", mark="  # TML104"),
    "all rows of a batch": _ROWS.format(kept="list(torch.split(batch, 1, dim=0))", mark=""),
    "the first column of a batch": _ROWS.format(kept="[batch[:, 0]]", mark="  # TML309"),
    "a checkpoint that its writer took to the host": _DRIVER.format(moved='to_cpu(state["state"])', mark=""),
    "a checkpoint as it was": _DRIVER.format(moved='dict(state["state"])', mark="  # TML312"),
    "labels as the loader gives them": _LABELS.format(first="pass", mark=""),
    "labels that go to the device": _LABELS.format(first="label = label.to(device)", mark="  # TML310"),
    "hooks that a script puts on the layers of its model": _TEACHER.format(rounds="[0]", mark=""),
    "hooks that it puts on them again and again": _TEACHER.format(rounds="range(100)", mark="  # TML304"),
    "a step whose decorator sets the mode": _SIGNS.format(
        sets='torch.set_grad_enabled(self.defaults["differentiable"])', mark=""
    ),
    "a step whose decorator sets something else": _SIGNS.format(sets="torch.set_num_threads(2)", mark="  # TML205"),
    "one attribute on either way": _WRAPPER.format(other="first", mark=""),
    "two attributes": _WRAPPER.format(other="second", mark="  # TML315"),
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name])
