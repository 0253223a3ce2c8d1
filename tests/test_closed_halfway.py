"""What is closed on one way only: inner prefetchers, pipes of processes, gathered parameters; and hooks that hold their
own wrapper."""

from __future__ import annotations

import pytest
from snippets import check

NESTED = """
import threading


class Ahead:
    def __init__(self, upstream, size=4):
        self.upstream = upstream
        self.items = queue.Queue(size)
        self.done = threading.Event()
        self.worker = threading.Thread(target=self.fill, daemon=True)
        self.worker.start()

    def fill(self):
        for item in self.upstream:
            while not self.done.is_set():
                try:
                    self.items.put(item, timeout=0.1)
                    break
                except queue.Full:
                    pass

    def __iter__(self):
        return self

    def __next__(self):
        return self.items.get()

    def close(self):
        self.done.set()
        self.worker.join(){more}


class Scaled:
    def __init__(self, rows, factor):
        self.rows = iter(rows)
        self.factor = factor

    def __iter__(self):
        for row in self.rows:
            yield row * self.factor


def validate(model, loader, limit):
{body}
    with torch.no_grad():
        for number, batch in enumerate(batches):
            if number == limit:
                break
            model(batch)
    batches.close(){after}


for _ in range(5):
    validate(Net(), [torch.rand(4, 8)] * 99, 3)
"""
LEFT_INSIDE = {
    "at once": "    batches = Ahead(Ahead(loader))  # TML505",
    "by names": "    raw = Ahead(loader, size=8)  # TML505\n    batches = Ahead(raw)",
    "by keyword": "    batches = Ahead(size=2, upstream=Ahead(loader))  # TML505",
    "through what changes items": (
        "    raw = Ahead(loader)  # TML505\n    scaled = Scaled(raw, 2)\n    batches = Ahead(scaled)"
    ),
}
ENDED_INSIDE = {
    "by the outer one": ("    batches = Ahead(Ahead(loader))", "\n        self.upstream.close()", ""),
    "if it can be": (
        "    batches = Ahead(Ahead(loader))",
        "\n        end = getattr(self.upstream, 'close', None)\n        end and end()",
        "",
    ),
    "by its own name": ("    raw = Ahead(loader)\n    batches = Ahead(raw)", "", "\n    raw.close()"),
    "by somebody else": ("    raw = Ahead(loader)\n    batches = Ahead(raw)", "", "\n    OPEN.append(raw)"),
    "only one": ("    batches = Ahead(Scaled(loader, 2))", "", ""),
}


@pytest.mark.parametrize("name", LEFT_INSIDE)
def test_prefetchers_left_inside(name: str) -> None:
    check(NESTED.format(body=LEFT_INSIDE[name], more="", after=""))


@pytest.mark.parametrize("name", ENDED_INSIDE)
def test_prefetchers_ended_inside(name: str) -> None:
    body, more, after = ENDED_INSIDE[name]
    check(NESTED.format(body=body, more=more, after=after))


REDUCED = """
import weakref

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def mean(state, bucket):
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future()


def noting(inner, owner):
    def hook(state, bucket):
        print(owner.training)
        return inner(state, bucket)

    return hook


class Notes:
    def __init__(self, wrapper):
        self.{kept}


def fit(width):
    net = DistributedDataParallel(nn.Linear(width, width))
{body}
    net(torch.rand(4, width)).sum().backward()


def main():
    {times}
        fit(8)
"""
OWN_HOOKS = {
    "state": "    net.register_comm_hook(net, mean)  # TML315",
    "part of the state": "    net.register_comm_hook((1, net), mean)  # TML315",
    "object": "    notes = Notes(net)\n    net.register_comm_hook(notes, mean)  # TML315",
    "closure": "    net.register_comm_hook(None, noting(mean, net))  # TML315",
    "named": "    hook = noting(mean, owner=net)\n    net.register_comm_hook(state=None, hook=hook)  # TML315",
    "inner function": """\
    def hook(state, bucket):
        if net.training:
            return mean(state, bucket)

    net.register_comm_hook(None, hook)  # TML315""",
    "lambda": (
        "    net.register_comm_hook(None, lambda state, bucket: net.training and mean(state, bucket))  # TML315"
    ),
}
OTHER_HOOKS = {
    "weak": "    net.register_comm_hook(None, noting(mean, weakref.ref(net)))",
    "plain": "    net.register_comm_hook(None, mean)",
    "group": "    net.register_comm_hook(dist.group.WORLD, mean)",
    "its own name": """\
    def hook(state, bucket, net=None):
        return mean(net, bucket)

    net.register_comm_hook(None, hook)""",
}


@pytest.mark.parametrize("name", OWN_HOOKS)
def test_hooks_that_hold_their_wrapper(name: str) -> None:
    check(REDUCED.format(body=OWN_HOOKS[name], kept="wrapper = wrapper", times="for _ in range(9):"))


@pytest.mark.parametrize("name", OTHER_HOOKS)
def test_hooks_that_do_not(name: str) -> None:
    check(REDUCED.format(body=OTHER_HOOKS[name], kept="wrapper = wrapper", times="for _ in range(9):"))


def test_hooks_of_one_wrapper() -> None:
    body = OWN_HOOKS["object"].replace("  # TML315", "")
    check(REDUCED.format(body=body, kept="wrapper = wrapper", times="if True:"))
    check(REDUCED.format(body=body, kept="name = type(wrapper)", times="for _ in range(9):"))


def test_methods_as_hooks() -> None:
    text = REDUCED.partition("def fit")[0].format(kept="wrapper = wrapper") + METHOD
    check(text.format("self.mean)  # TML315"))
    check(text.format("mean)"))


READER = """
import subprocess


class Frames:
    def __init__(self, path):
        self.path = path
        self.process = None

    def open(self):
        command = ["ffmpeg", "-i", self.path, "-f", "rawvideo", "-"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def read(self, size):
        return self.process.stdout.read(size)

    def close(self):
{close}


class Library:
    def __init__(self):
        self.opened = {{}}

    def frames(self, path):
        {keep}
        frames.open()
        data = frames.read(4096)
        frames.close()
        return data
"""
KEEP = "frames = self.opened[path] = Frames(path)"
HALF = {
    "while it runs": """\
        if self.process.poll() is None:  # TML406
            self.process.terminate()
            self.process.stdout.close()
            self.process.stderr.close()""",
    "if there is one": """\
        if self.process and self.process.poll() is None:  # TML406
            self.process.stdout.close()
            self.process.kill()""",
    "by an early return": """\
        if self.process.poll() is not None:  # TML406
            return
        self.process.terminate()
        self.process.stdout.close()""",
}
WHOLE = {
    "whether it runs or not": """\
        if self.process.poll() is None:
            self.process.terminate()
        self.process.stdout.close()
        self.process.stderr.close()""",
    "on both ways": """\
        if self.process.poll() is None:
            self.process.stdout.close()
            self.process.terminate()
        else:
            self.process.stdout.close()""",
    "forgotten": """\
        if self.process.poll() is None:
            self.process.terminate()
            self.process.stdout.close()
        self.process = None""",
    "read out": """\
        if self.process.poll() is None:
            self.process.stdout.close()
            return
        self.process.communicate()""",
    "before it returns": """\
        self.process.stdout.close()
        if self.process.poll() is not None:
            return
        self.process.stderr.close()""",
}


@pytest.mark.parametrize("name", HALF)
def test_pipes_closed_while_the_process_runs(name: str) -> None:
    check(READER.format(close=HALF[name], keep=KEEP))
    silent = HALF[name].replace("  # TML406", "")
    check(READER.format(close=silent, keep="frames = Frames(path)"))
    check(READER.format(close=silent, keep=KEEP + "\n        self.opened.popitem()"))


@pytest.mark.parametrize("name", WHOLE)
def test_pipes_closed(name: str) -> None:
    check(READER.format(close=WHOLE[name], keep=KEEP))


RECORDER = """
class Recorder:
    def __init__(self, model, wanted=True, quiet=False):
        self.model = model
        self.wanted = wanted
        self.quiet = quiet
        self.handles = []
        self.seen = []

    def __enter__(self):
        if self.wanted:
            for layer in self.model.children():
                self.handles.append(layer.register_forward_hook(self.keep))
        return self

    def keep(self, module, inputs, output):
        self.seen.append(output.detach())

    def __exit__(self, kind, error, trace):
        "Takes the hooks out."
        {leave}
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


def record(model, loader):
    for x in loader:
        with Recorder(model) as recorder, torch.no_grad():
            model(x)
        print(len(recorder.seen))
"""
LEFT_AT_EXIT = {
    "an error": "if kind is not None:\n            return False  # TML304",
    "an option": "if self.quiet:\n            return  # TML304",
}
DONE_AT_EXIT = {
    "asked before": "if not self.wanted:\n            return",
    "none": "if not self.handles:\n            return",
    "undone": "if kind is not None:\n            self.undo()\n            return False",
    "no return": "if kind is not None:\n            self.seen = []",
}


@pytest.mark.parametrize("name", LEFT_AT_EXIT)
def test_hooks_left_at_exit(name: str) -> None:
    check(RECORDER.format(leave=LEFT_AT_EXIT[name]))


@pytest.mark.parametrize("name", DONE_AT_EXIT)
def test_hooks_removed_at_exit(name: str) -> None:
    check(RECORDER.format(leave=DONE_AT_EXIT[name]))


WHOLE_PARAMETERS = """
class Whole:
    def __init__(self, params, source=None, enabled=True):
        self.params = params
        self.source = source
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            for param in self.params:
                all_gather(param)

    def __exit__(self, *error):
        {leave}
        for param in self.params:
            broadcast(param, self.source)
            {undo}
"""


def test_parameters_that_stay_whole() -> None:
    early = "if self.source is None:\n            return"
    check(WHOLE_PARAMETERS.format(leave=early + "  # TML410", undo="partition(param)"))
    check(WHOLE_PARAMETERS.format(leave="if error[0]:\n            return  # TML410", undo="param.reshard()"))
    check(WHOLE_PARAMETERS.format(leave=early, undo="notify(param)"))
    check(WHOLE_PARAMETERS.format(leave="if not self.enabled:\n            return", undo="partition(param)"))
    check(WHOLE_PARAMETERS.format(leave="if not self.params:\n            return", undo="partition(param)"))
    kept = "if self.source is None:\n            self.reshard()\n            return"
    check(WHOLE_PARAMETERS.format(leave=kept, undo="partition(param)"))


METHOD = """
class Run:
    def __init__(self, width):
        self.net = DistributedDataParallel(nn.Linear(width, width))
        self.net.register_comm_hook(None, {}

    def mean(self, state, bucket):
        return mean(state, bucket)


def main():
    for _ in range(4):
        Run(8).net(torch.rand(4, 8)).sum().backward()
"""
