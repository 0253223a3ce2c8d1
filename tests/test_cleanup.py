"""Clean-up that frees nothing, raw pointers and contexts; `# TML604` says what is due."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

FREES = """\
import gc

def flush():
    gc.collect()
    torch.cuda.empty_cache()

class Part(nn.Module):
    def __init__(self, owner):
        super().__init__()
        self.__dict__["owner"] = owner

"""
ORDERS = """
class Slot:
    def __init__(self):
        self.part = Part(self).cuda().eval()
        self.size = 0

    def swap(self):
        {}
"""
BEFORE = [
    "self.part = None\n        torch.cuda.empty_cache()  # TML601\n        gc.collect()",
    "del self.part\n        torch.cuda.empty_cache()  # TML601\n        gc.collect()",
    "self.__dict__.pop('part')\n        torch.cuda.empty_cache()  # TML601\n        gc.collect()",
    "part = Part(self)\n        del part\n        torch.cuda.empty_cache()  # TML601\n        gc.collect()",
]
AFTER = [
    "self.part = None\n        gc.collect()\n        torch.cuda.empty_cache()",
    "self.size = None\n        torch.cuda.empty_cache()\n        gc.collect()",
]


@pytest.mark.parametrize("body", BEFORE + AFTER)
def test_order_of_emptying_and_collecting(body: str) -> None:
    check(FREES + ORDERS.format(body))


HELPERS = """
{}

def main(x):
    features = Net()(x)
    gram = features.T @ features
    {}
    return Net()(x) + 1
"""
BORROWED = [
    (
        "def free(*things):\n    for thing in things:\n        del thing  # TML602\n    gc.collect()",
        "free(features, gram)",
    ),
    ("def free(*things):\n    del things  # TML602\n    gc.collect()", "free(features)"),
    ("def free(*xs):\n    for x in xs:\n        x = None  # TML602\n    gc.collect()", "free(features)"),
    (
        "def free(things):\n    for thing in things:\n        del thing  # TML602\n    gc.collect()",
        "parts = [features, gram]; free(parts); print(len(parts))",
    ),
    (
        "def free(**things):\n    for name, thing in things.items():\n        del thing  # TML602\n    gc.collect()",
        "free(x=features)",
    ),
]
GIVEN = [
    ("def free(things):\n    while things:\n        things.pop()\n    gc.collect()", "free([features, gram])"),
    (
        "def free(things):\n    for thing in things:\n        del thing\n    things.clear()\n    gc.collect()",
        "free([x])",
    ),
    ("def free(*things):\n    for thing in things:\n        thing.close()\n    gc.collect()", "free(features)"),
    ("def free(*things):\n    for thing in things:\n        del thing\n    gc.collect()", "free(x + 1, gram.mean())"),
    (
        "def judge(loader):\n    for batch in loader:\n        print(batch)\n        del batch\n    gc.collect()",
        "parts = [features, gram]; judge(parts); print(len(parts))",
    ),
]


@pytest.mark.parametrize("parts", BORROWED + GIVEN)
def test_helpers_that_drop_their_own_names(parts: tuple[str, str]) -> None:
    check(FREES + HELPERS.format(*parts))


ROUNDS = [
    "for _ in range(2):\n        torch.cuda.empty_cache()\n        gc.collect()",
    "for _ in range(3):\n        if device.type:\n            torch.cuda.empty_cache()\n        gc.collect()",
    'gc.collect()\n    if device == "cuda":\n        torch.cuda.empty_cache()\n    gc.collect()',
]


@pytest.mark.parametrize("frees", ROUNDS)
def test_emptied_again_or_collected_first(frees: str) -> None:
    check(FREES + f"def swap(path, device):\n    model = Part(path)\n    model.save(path)\n    del model\n    {frees}")


def test_dropped_only_below() -> None:
    above = "torch.cuda.empty_cache()\n    gc.collect()"
    check(FREES + f"def swap(path):\n    {above}\n    model = Part(path)\n    model.save(path)\n    del model")


def test_settings_are_turned_off_and_not_freed() -> None:
    check(
        FREES
        + """
def draw(prompt, control=None):
    if control is not None:
        kind, strength = control
        if strength == 0:
            control = None
    flush()
    return prompt, control


def main():
    control = ("edges", 0.5)
    return draw("a", control), control
"""
    )


SWEEPS = """
{}

class Sweep:
    def __init__(self):
        self.alive = []

    def round(self, candidate):
        self.alive.append(candidate)
        {}
"""
SHORTER = [
    ("def evict(items, keep):\n    items = sorted(items, key=str)[:keep]\n    gc.collect()\n    return items", "3"),
    ("def prune(items, keep):\n    return items[-keep:]", "3"),
    ("def drop_old(items, now):\n    fresh = [one for one in items if one.time > now]\n    return fresh", "3"),
    ("def trim(items, keep):\n    return list(filter(keep, items))", "bool"),
]
IN_PLACE = [
    ("def evict(items, keep):\n    del items[:-keep]\n    gc.collect()\n    return items", "3"),
    ("def trim(items, keep):\n    while len(items) > keep:\n        items.pop(0)\n    return items", "3"),
    ("def drop(items, name):\n    return name in items", "'a'"),
    ("def latest(items, keep):\n    return items[-keep:]", "3"),
]


@pytest.mark.parametrize("parts", SHORTER)
def test_a_shorter_copy_that_nobody_takes(parts: tuple[str, str]) -> None:
    name = parts[0].partition("(")[0].removeprefix("def ")
    check(FREES + SWEEPS.format(parts[0], f"{name}(self.alive, {parts[1]})  # TML603"))
    check(FREES + SWEEPS.format(parts[0], f"self.alive = {name}(self.alive, {parts[1]})"))


@pytest.mark.parametrize("parts", IN_PLACE)
def test_what_shortens_in_place(parts: tuple[str, str]) -> None:
    name = parts[0].partition("(")[0].removeprefix("def ")
    check(FREES + SWEEPS.format(parts[0], f"{name}(self.alive, {parts[1]})"))


STAGES = """
class Stage:
    def setup(self):
        self.model = Net()
        optimizer = torch.optim.AdamW(self.model.parameters())
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)

    def teardown(self):
        {}
        gc.collect()
        torch.cuda.empty_cache()
"""
LEFT = [
    "self.model = None  # TML604",
    "del self.model  # TML604",
    "model = self.__dict__.pop('model')  # TML604\n        del model",
    "delattr(self, 'model')  # TML604",
    "setattr(self, 'model', None)  # TML604",
    "self.model, self.other = None, None  # TML604",
]
GONE = [
    "self.model = self.schedule = None",
    "self.model, self.schedule = None, None",
    "self.__dict__.pop('model'); self.__dict__.pop('schedule')",
    "del self.model\n        delattr(self, 'schedule')",
    "self.__dict__.pop('other')",
]


@pytest.mark.parametrize("body", LEFT + GONE)
def test_schedulers_that_keep_the_parameters(body: str) -> None:
    check(FREES + STAGES.format(body))


PASSED = """
class Session:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW({}.parameters())

    def unload(self):
        self.model = None{}
        gc.collect()
        torch.cuda.empty_cache()
"""


def test_an_optimizer_of_what_was_passed() -> None:
    check(FREES + PASSED.format("model", "  # TML604"))
    check(FREES + PASSED.format("self.other", ""))
    check(FREES + PASSED.format("model", "\n        self.optimizer = None"))


HELD = """
class Session:
    def __init__(self):
        self.net = Net().cuda().eval()

    @torch.inference_mode()
    def run(self, x):
        latents = self.net(x)
        small = latents[:, ::4].clone()
        {}
"""
BOUND = [
    "flush()  # TML604\n        return self.refine(small)",
    "torch.cuda.empty_cache()  # TML604\n        return refine(small, 3)",
    "if torch.cuda.is_available():\n            torch.cuda.empty_cache()  # TML604\n        return refine(small)",
]
FREE = [
    "del latents\n        flush()\n        return self.refine(small)",
    "latents = None\n        flush()\n        return self.refine(small)",
    "flush()\n        return self.refine(small, latents)",
    "flush()\n        return small",
    "flush()\n        print(small.mean().item())",
    "refine = lambda part: part + latents\n        flush()\n        return self.refine(small, refine)",
]


@pytest.mark.parametrize("body", BOUND + FREE)
def test_what_is_bound_while_the_cache_is_emptied(body: str) -> None:
    check(FREES + HELD.format(body))


def test_what_the_next_round_binds_again() -> None:
    check(
        FREES
        + textwrap.dedent(
            """
            @torch.inference_mode()
            def run(xs):
                net, total = Net().cuda(), 0.0
                for x in xs:
                    out = net(x)
                    total += out.mean().item()
                    torch.cuda.empty_cache()
                return finish(total)
            """
        )
    )


ARRAYS = """
import cupy as cp

class Job:
    def __init__(self):
        self.pool = cp.get_default_memory_pool()

    def process(self, x):
        wide = cp.fft.rfft(cp.asarray(x))
        wide *= 2
        host = cp.asnumpy(wide)
        {}
"""


def test_arrays_of_cupy() -> None:
    check(ARRAYS.format("self.pool.free_all_blocks()  # TML604\n        return self.next(host)"))
    check(ARRAYS.format("del wide\n        self.pool.free_all_blocks()\n        return self.next(host)"))
    check(ARRAYS.format("self.pool.free_all_blocks()\n        return host"))


# -- pointers, buffers and contexts -----------------------------------------------------------------

POINTERS = """
from cuda import cudart

class Encoder:
    def encode(self, frame):
        pointer = check(cudart.cudaMalloc(frame.nbytes)){}
        {}
"""
LEAVES = [
    "size = self.launch(pointer)\n        if size == 0:\n            return None\n        cudart.cudaFree(pointer)",
    "if not self.launch(pointer):\n            raise ValueError(frame)\n        cudart.cudaFree(pointer)",
    "for part in frame:\n            if part < 0:\n                return part\n        cudart.cudaFree(pointer)",
]
FREED = [
    "try:\n            return self.launch(pointer)\n        finally:\n            cudart.cudaFree(pointer)",
    "if self.launch(pointer) == 0:\n            cudart.cudaFree(pointer)\n            return None\n"
    "        cudart.cudaFree(pointer)",
    "if pointer is None:\n            return None\n        cudart.cudaFree(pointer)",
    "self.launch(pointer)\n        cudart.cudaFree(pointer)\n        return frame",
    "self.pointers.append(pointer)\n        if frame:\n            return 1\n        cudart.cudaFree(pointer)",
]


@pytest.mark.parametrize("body", LEAVES)
def test_pointers_that_an_early_return_leaves(body: str) -> None:
    check(POINTERS.format("  # TML702", body))


@pytest.mark.parametrize("body", FREED)
def test_pointers_that_are_freed(body: str) -> None:
    check(POINTERS.format("", body))


BUFFERS = """
from numba import cuda

class Frames:
    def __init__(self):
        self.arrays = {{}}

    def upload(self, number, name, frame):
        {}
"""


def test_buffers_by_number() -> None:
    check(BUFFERS.format("self.arrays[number] = cuda.to_device(frame)  # TML702"))
    check(BUFFERS.format("array = cuda.to_device(frame)\n        self.arrays[number] = array  # TML702"))
    check(BUFFERS.format("self.arrays.setdefault(number, cuda.to_device(frame))  # TML702"))
    check(BUFFERS.format("self.arrays[name] = cuda.to_device(frame)"))
    check(BUFFERS.format("self.arrays[number] = frame"))
    check(BUFFERS.format("self.arrays[number] = cuda.to_device(frame)\n        self.arrays.pop(number - 1, None)"))


CONTEXTS = """
import threading
import pycuda.driver as cuda

class Worker(threading.Thread):
    def run(self):
        context = cuda.Device(0).make_context(){}
        {}
"""
SERVES = "while True:\n            self.results.put(self.infer(self.frames.get()))\n        context.pop()"
SAFELY = (
    "try:\n            while True:\n                self.results.put(self.infer(self.frames.get()))\n"
    "        finally:\n            context.pop()"
)


def test_contexts_of_threads_that_serve() -> None:
    check(CONTEXTS.format("  # TML701", SERVES))
    check(CONTEXTS.format("", SAFELY))
    check(CONTEXTS.format("", "self.best = self.infer()\n        context.pop()"))
    check(CONTEXTS.replace("threading.Thread", "object").format("", SERVES))


# -- exceptions -------------------------------------------------------------------------------------

GUARDED = """
import functools
LAST = {{"error": None}}

def guarded(function):
    @functools.wraps(function)
    def wrapper(*args):
        try:
            return function(*args)
        except RuntimeError as error:
            {}
        return None
    return wrapper

@guarded
def attend(q, k):
    return torch.matmul(q, k.mT).softmax(-1).amax()
"""


def test_exceptions_that_a_decorator_keeps() -> None:
    check(GUARDED.format('LAST["error"] = error  # TML307'))
    check(GUARDED.format('LAST["error"] = str(error)'))
    check(GUARDED.replace("torch.matmul(q, k.mT).softmax(-1).amax()", "q").format('LAST["error"] = error'))


WRAPPED = """
import gc
from functools import partial

class Fitter:
    def __init__(self, net, rate):
        self.net, self.rate = net, rate

    def fit(self, x):
        return self.net(x).mean().item()

def stage(x):
    net = Net()
    {holder}
    score = user(x)
    {drop}
    gc.collect()
    torch.cuda.empty_cache()
    {after}

def user(x):
    return float(len(x))
"""
MORE = "return score + Fitter(Net(), 0.1).fit(x)"
HOLDERS = [
    "fitter = Fitter(net, 0.1)",
    "parts = {'student': net, 'rate': 0.1}",
    "first = net",
    "run = partial(user, net)",
]
LET_GO = [
    ("fitter = Fitter(net, 0.1)", "del net, fitter", MORE),
    ("fitter = Fitter(net, 0.1)", "del net", "return score"),
    ("fitter = Fitter(net, 0.1)", "del net", "return score + fitter.fit(x)"),
    ("fitter = Fitter(Net(), 0.1)", "del net", MORE),
    ("fitter = Fitter(net, 0.1)", "del net; fitter = None", MORE),
    ("size = sum(p.numel() for p in net.parameters())", "del net", MORE),
]


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("drop", ["del net", "net = None"])
def test_models_that_something_else_still_holds(holder: str, drop: str) -> None:
    check(WRAPPED.format(holder=holder, drop=f"{drop}  # TML604", after=MORE))


@pytest.mark.parametrize("parts", LET_GO)
def test_models_that_nothing_else_holds(parts: tuple[str, str, str]) -> None:
    holder, drop, after = parts
    check(WRAPPED.format(holder=holder, drop=drop, after=after))


RUNS = """
import gc

class Distiller:
    def __init__(self, width):
        self.width = width
        self.scores = []

    def distil(self, data):
        {begin}
        self.student = Net()
        self.teacher = Net().eval(){mark}
        for x in data:
            self.scores.append(self.compare(x))
        {end}

    def compare(self, x):
        with torch.no_grad():
            goal = self.teacher(x)
        return (self.student(x) - goal).mean().item()

    def finish(self):
        self.student = None
        {also}
        gc.collect()
        torch.cuda.empty_cache()

    {other}
"""
WHOLE = [
    {"also": "self.teacher = None"},
    {"other": "def judge(self, x):\n        return self.teacher(x)"},
    {"other": "def release(self):\n        del self.teacher"},
    {"begin": "self.finish()", "end": "pass"},
]


def runs(**parts: str) -> str:
    return RUNS.format(
        **{"begin": "pass", "end": "self.finish()", "mark": "", "also": "pass", "other": "size = 3", **parts}
    )


def test_a_part_that_the_teardown_forgets() -> None:
    check(runs(mark="  # TML604"))


@pytest.mark.parametrize("parts", WHOLE)
def test_teardowns_that_forget_nothing(parts: dict[str, str]) -> None:
    check(runs(**parts))


ANEW = """
def run(widths, loader):
    for width in widths:
        model = None{mark}
        {early}
        if width > 8:
            model = nn.Linear(64, width)
        else:
            model = nn.Linear(64, 8)
        optimizer = torch.optim.Adam(model.parameters())
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()
        {late}
"""


def test_optimizers_that_are_made_later() -> None:
    """A name that gets its first value before there is a model lets go of nothing; one in a loop does."""
    empty = "torch.cuda.empty_cache()"
    check(ANEW.format(mark="", early="pass", late=empty))
    check(ANEW.format(mark="  # TML604", early=empty, late="pass"))
    once = ANEW.replace("def run(widths", "def run(width").replace("for width in widths", "if width")
    check(once.format(mark="", early=empty, late="pass"))


ACCELERATED = """
from accelerate import Accelerator

def main(x):
    accelerator = Accelerator()
    model = accelerator.prepare(Net())
    with torch.no_grad():
        print(model(x).sum().item())
    {}
    print(Net())
"""


@pytest.mark.parametrize(
    "free",
    [
        "accelerator.free_memory(model)  # TML603",
        "accelerator.clear(model)  # TML603",
        "model = accelerator.free_memory(model)",
        "accelerator.free_memory(model); del model",
        "accelerator.free_memory()",
    ],
)
def test_what_an_accelerator_gives_for_what_it_frees(free: str) -> None:
    check(ACCELERATED.format(free))
