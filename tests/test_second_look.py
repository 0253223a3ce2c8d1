"""Queues, threads, retries and releases that look alike: what runs ahead and what cannot, what frees and what not."""

import pytest
from snippets import check

AHEAD = """
import queue
import threading


class Decoder:
    def __init__(self, model):
        self.model = model

    @torch.no_grad()
    def write(self, steps, out):
        state = torch.zeros(1, 64)
        %s:
            state = %s
            out.put(state)%s
        out.put(None)

    def say(self, steps):
        latents = queue.Queue()
        threading.Thread(target=self.write, args=(steps, latents), daemon=True).start()
        while True:
            latent = latents.get()
            if latent is None:
                return
            print(latent.shape)


decoder = Decoder(Net())
for length in (10, 20):
    decoder.say(length)
"""


@pytest.mark.parametrize(
    ("loop", "made", "mark"),
    [
        ("for _ in range(steps)", "self.model(state)", ""),  # step after step of one request
        ("for _ in range(steps)", "torch.rand(64, 64)", "  # TML504"),
        ("while True", "self.model(state)", "  # TML504"),
        ("for batch in loader", "self.model(batch)", "  # TML504"),
    ],
)
def test_items_that_follow_one_another(loop: str, made: str, mark: str) -> None:
    check(AHEAD % (loop, made, mark))


ANSWERED = """
import threading


class Channel:
    def __init__(self):
        self.pending = queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def submit(self, part):
        done = threading.Event()
        self.pending.put((part.clone(), done))%s
        return done

    def run(self):
        while self.step(self.pending.get()):
            pass

    def step(self, item):
        if item is not None:
            print(item[0].sum().item())
            item[1].set()
        return item is not None

    def close(self):
        self.pending.put(None)


class Sync:
    def __init__(self):
        self.channels = [Channel() for _ in range(4)]

    def push(self, part):
        answers = []
        for channel in self.channels:
            answers.append(channel.submit(part))
        %s


sync = Sync()
for _ in range(1000):
    sync.push(torch.rand(64, 64))
for channel in sync.channels:
    channel.close()
"""


@pytest.mark.parametrize(
    ("after", "mark"),
    [("for answer in answers:\n            answer.wait()", ""), ("return answers", "  # TML504")],
)
def test_queues_whose_answers_are_waited_for(after: str, mark: str) -> None:
    check(ANSWERED % (mark, after))


RETRY = """
def work(merger, model, x, shape):
    try:
        return %s
    except torch.cuda.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        %s
"""


@pytest.mark.parametrize(
    ("tried", "again", "mark"),
    [
        ("merger.run(shape, device=x.device)", "return merger.run(shape, device='cpu')", ""),
        ("x.argmax(0).cpu()", "return x.argmax(0)", ""),
        ("check(ValueError(x))", "raise ValueError('too large') from error", ""),
        ("merger.run(shape)", "return merger.run(shape)", "  # TML307"),
    ],
)
def test_second_attempts(tried: str, again: str, mark: str) -> None:
    check(RETRY % (tried, again + mark))


WAITING = """
import threading


class Adder(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.amounts = queue.Queue(4)
        self.parts = [torch.zeros(64, 64) for _ in range(5)]

    def run(self):
        while True:
            amount = self.amounts.get()%s
            for part in %s:
                part.add_(amount)


adder = Adder()
adder.start()
for number in range(1000):
    adder.amounts.put(number)
"""


@pytest.mark.parametrize(
    ("parts", "mark"),
    [("self.parts", ""), ("[one * 2 for one in self.parts]", "  # TML502")],
)
def test_loop_variables_of_threads_that_wait(parts: str, mark: str) -> None:
    check(WAITING % (mark, parts))


TEE = """
import itertools
from itertools import chain, tee


def batches_of(loader):
    for x, y in loader:
        yield x.float(), y


%s
"""

KEPT_BRANCHES = {
    "attributes": """
class Stream:
    def __init__(self, loader):
        self.peek, self.rest = itertools.tee(batches_of(loader))  # TML308
        self.width = next(self.peek)[0].shape[1]

    def __next__(self):
        return next(self.rest)
""",
    "locals": """
def train(net, loader, step):
    head, rest = tee(iter(loader))  # TML308
    print(next(head)[0].shape)
    for x, y in rest:
        step(net, x, y)
""",
    "handed on": """
def train(loader, fit):
    stream = batches_of(loader)
    stream, probe = tee(stream, 2)  # TML308
    shape = next(probe)[0].shape
    fit(stream, shape)
""",
    "generator": """
def checked(frames):
    first, frames = tee(frames)  # TML308
    assert next(first, None) is not None
    yield from frames
""",
    "islice": """
def normalised(loader, net):
    sample, full = itertools.tee(loader)  # TML308
    mean = torch.stack([x.mean() for x, _ in itertools.islice(sample, 4)]).mean()
    for x, _ in full:
        net(x - mean)
""",
    "looked at by iter": """
def train(loader, show, fit):
    probe, rest = tee(loader)  # TML308
    show(next(iter(probe)))
    fit(rest)
""",
    "indexed": """
class Stream:
    def __init__(self, dataset):
        self.both = tee(dataset)  # TML308
        self.first = next(self.both[0])

    def __iter__(self):
        return iter(self.both[1])
""",
}
ADVANCED_BRANCHES = {
    "attributes": """
class Stream:
    def __init__(self, loader):
        first = next(batches := batches_of(loader))
        self.rest = chain([first], batches)
        self.width = first[0].shape[1]

    def __next__(self):
        return next(self.rest)
""",
    "locals": """
def train(net, loader, step):
    head, rest = tee(iter(loader))
    print(next(head)[0].shape)
    del head
    for x, y in rest:
        step(net, x, y)
""",
    "handed on": """
def pairs(loader):
    before, after = tee(batches_of(loader))
    next(after, None)
    return zip(before, after)
""",
    "returned": """
def checked(frames):
    first, frames = tee(frames)
    assert next(first, None) is not None
    return frames
""",
    "both": """
def compare(loader, one, two):
    left, right = itertools.tee(loader)
    for (x, _), (y, _) in zip(left, right):
        print(one(x).sum().item() - two(y).sum().item())
""",
    "numbers": """
def rates(net, steps, step):
    warm, steady = tee(0.1 * 0.99**i for i in range(steps))
    next(steady)
    for rate in warm:
        step(net, rate)
""",
}


@pytest.mark.parametrize("name", KEPT_BRANCHES)
def test_branches_that_stay_behind(name: str) -> None:
    check(TEE % KEPT_BRANCHES[name])


@pytest.mark.parametrize("name", ADVANCED_BRANCHES)
def test_branches_that_keep_up(name: str) -> None:
    check(TEE % ADVANCED_BRANCHES[name])


HELPER = """
import gc


def clear(%s):
    for one in parts:
        %s  %s
    gc.collect()
    torch.cuda.empty_cache()


def main(step):
    encoder, tower = Net(), Net()
    context = encoder(torch.rand(4, 8)).detach() + tower(torch.rand(4, 8)).detach()
    %s
    for _ in range(100):
        step(context)
"""


@pytest.mark.parametrize("gone", ["del one", "one = None"])
@pytest.mark.parametrize(
    ("param", "call"),
    [
        ("parts", "clear([encoder, tower])"),
        ("parts", "clear((encoder, tower))"),
        ("*parts", "clear(encoder, tower)"),
        ("parts", "clear(parts=[encoder, tower])"),
        ("parts", "clear([*[encoder], tower])"),
        ("*parts", "clear(*[encoder, tower])"),
    ],
)
def test_helpers_that_delete_their_own_names(param: str, gone: str, call: str) -> None:
    check(HELPER % (param, gone, "# TML602", call))
    check(HELPER % (param, gone, "", f"{call}\n    del encoder, tower"))
    check(HELPER % (param, gone, "", f"{call}\n    encoder = tower = None"))


RELEASE = """
import gc


def free():
    torch.cuda.empty_cache()
    torch.cuda.ipc_collect()


class Slot:
    def __init__(self, collect):
        self.collect = collect
        self.pipe = None
        self.name = None
        self.models = {}

    def use(self, name, made):
        self.pipe = self.models[name] = made
        self.name = name

    def release(self, name):
%s
"""
TOO_EARLY = {
    "none": "        torch.cuda.empty_cache()  # TML604\n        self.pipe = None",
    "del": "        gc.collect()\n        torch.cuda.empty_cache()  # TML604\n        del self.pipe",
    "in a helper": "        gc.collect()\n        free()  # TML604\n        self.pipe = None\n        self.name = None",
    "under a test": """
        if self.collect:
            gc.collect()
            free()  # TML604
        self.pipe = self.name = None
        print("released", name)""",
    "table": "        gc.collect()\n        torch.cuda.empty_cache()  # TML604\n        self.models.pop(name, None)",
    "told": """
        torch.cuda.empty_cache()  # TML604
        print("released", name)
        setattr(self, "pipe", None)""",
    "on a device": """
        gc.collect()
        with torch.cuda.device(0):
            torch.cuda.empty_cache()  # TML604
        self.pipe = None""",
    "cleared": """
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # TML604
        self.models.clear()
        return True""",
}
IN_TIME = {
    "none": "        self.pipe = None\n        gc.collect()\n        torch.cuda.empty_cache()",
    "again": "        torch.cuda.empty_cache()\n        self.pipe = None\n        gc.collect()\n        free()",
    "number": "        gc.collect()\n        free()\n        self.name = None",
    "work follows": "        gc.collect()\n        free()\n        self.pipe = None\n        self.use(name, Net())",
    "caller": """
        free()
        self.pipe = None

    def swap(self, name):
        self.release(name)
        gc.collect()
        free()""",
    "table": "        self.models.pop(name, None)\n        gc.collect()\n        torch.cuda.empty_cache()",
}


@pytest.mark.parametrize("name", TOO_EARLY)
def test_caches_emptied_too_early(name: str) -> None:
    check(RELEASE % TOO_EARLY[name])


@pytest.mark.parametrize("name", IN_TIME)
def test_caches_emptied_in_time(name: str) -> None:
    check(RELEASE % IN_TIME[name])


TAKEN_APART = """
import threading


def serve(tasks, model):
    while True:
        item, done = tasks.get()%s
        if item is None:
            return
        with torch.no_grad():
            done.append(model(item).argmax(1).tolist())%s


tasks = queue.Queue(2)
threading.Thread(target=serve, args=(tasks, Net()), daemon=True).start()
for _ in range(10):
    tasks.put((torch.rand(4096, 8), []))
tasks.put((None, None))
"""


def test_items_that_are_taken_apart() -> None:
    check(TAKEN_APART % ("  # TML502", ""))
    check(TAKEN_APART % ("", "\n        del item, done"))
    check(TAKEN_APART % ("", "\n        item = done = None"))
    check((TAKEN_APART % ("", "")).replace("torch.rand(4096, 8)", "17"))


OWN_THREAD = """
import threading
import time


class Poller(threading.Thread):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.running = True
        self.start()%s

    def run(self):
        while self.running:
            time.sleep(0.1)

    def %s(self):
        self.running = False
"""


def test_threads_that_are_their_own_owners() -> None:
    check(OWN_THREAD % ("  # TML505", "__del__"))
    check(OWN_THREAD % ("", "close"))


ENDS_ITSELF = """
import threading
import time


class Link:
    def __init__(self, peer):
        self.peer = peer
        self.failed = False
        self.thread = threading.Thread(target=self.pump, daemon=True)%s
        self.thread.start()

    def pump(self):
        while not self.failed:
            try:
                self.peer.send(torch.rand(8))
                time.sleep(0.01)
            except OSError as error:
                %s
        %s

    def fail(self):
        self.failed = True

    def note(self, error):
        print(error)

    def __del__(self):
        self.fail()
"""


def test_threads_that_end_themselves() -> None:
    check(ENDS_ITSELF % ("", "self.fail()", "print(self.peer)"))
    check(ENDS_ITSELF % ("", "self.failed = True", "pass"))
    check(ENDS_ITSELF % ("  # TML505", "self.note(error)", "pass"))
    check(ENDS_ITSELF % ("  # TML505", "pass", "self.failed = True"))
