"""What lives long and gathers, in the words of services, trackers and searches: guilty forms, innocent twins.

A trailing `# TML311` in a snippet says what must be reported on that line; nothing else may be.
"""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

# -- room for one more ----------------------------------------------------------------------------

BEST = """
import copy
import heapq
import itertools

class Best:
    def __init__(self, most):
        self.most = most
        self.heap = []
        self.numbers = itertools.count()

    def offer(self, score, model):
        {puts}

    def average(self):
        return [state for _, _, state in heapq.nlargest(self.most, self.heap)]

def train(loader, epochs):
    model, best = nn.Linear(8, 2), Best(3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        for x, y in loader:
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        best.offer(-epoch, model)
    return best.average()
"""
ENTRY = "(score, next(self.numbers), copy.deepcopy(model.state_dict()))"
PUSH = f"heapq.heappush(self.heap, {ENTRY})"
WORSE = "score > self.heap[0][0]"


@pytest.mark.parametrize(
    "puts",
    [
        f"if len(self.heap) < self.most or {WORSE}: {PUSH}  # TML303",
        f"if {WORSE} or self.most > len(self.heap): {PUSH}  # TML303",
        f"if len(self.heap) < self.most: {PUSH}",
        f"if len(self.heap) < self.most and {WORSE}: {PUSH}",
        f"if len(self.heap) < self.most or {WORSE}: {PUSH}\n        if len(self.heap) > 3: heapq.heappop(self.heap)",
        f"if len(self.heap) >= self.most or score < 0: return\n        {PUSH}",
        f"if self.most is None or len(self.heap) < self.most: {PUSH}",
        f"if not self.heap or len(self.heap) < self.most: {PUSH}",
    ],
)
def test_a_test_for_room_that_another_one_makes_up_for(puts: str) -> None:
    check(BEST.format(puts=puts))


# -- releases that some entries never come to -----------------------------------------------------

SERVICE = """
class Request:
    def __init__(self, number, most):
        self.number = number
        self.cache = torch.zeros(most, 64)

class Inbox:
    def __init__(self):
        self.requests = {{}}

    def open(self, number):
        request = Request(number, 32)
        self.requests[request.number] = request{mark}
        return request

class Server:
    def __init__(self):
        self.inbox = Inbox()

    def answer(self, send, number):
        request = self.inbox.open(number)
        try:
            send(number)
        {clause}
        return request.cache.sum().item()

def main(send):
    server = Server()
    for request_id in range(1000):
        server.answer(send, request_id)
"""
POP = "self.inbox.requests.pop(request.number, None)"


@pytest.mark.parametrize(
    ("clause", "mark"),
    [
        (f"except Exception:\n            {POP}\n            raise", "  # TML311"),
        (f"except BaseException:\n            {POP}\n            raise RuntimeError(number)", "  # TML311"),
        (f"finally:\n            {POP}", ""),
        (f"except Exception:\n            {POP}\n            raise\n        {POP}", ""),
    ],
)
def test_a_release_that_only_failures_come_to(clause: str, mark: str) -> None:
    check(SERVICE.format(clause=clause, mark=mark))


STREAMS = """
import itertools

class Streams:
    def __init__(self, net):
        self.net = net
        self.streams = {{}}
        self.numbers = itertools.count()

    @torch.inference_mode()
    def decode(self, ids, most):
        past = self.net(ids)
        for _ in range(most):
            past = torch.cat([past, past[-1:]])
            yield int(past[-1].argmax())

    def open(self, ids):
        number = next(self.numbers)
        self.streams[number] = {made}{mark}
        return number

    def poll(self, number):
        try:
            return next(self.streams[number])
        except StopIteration:
            {ends}
            return None

    def hang_up(self, number):
        {closes}

def ask(streams, ids, patience):
    number = streams.open(ids)
    {asks}
    streams.hang_up(number)

def main(net):
    streams = Streams(net)
    for _ in range(1000):
        ask(streams, torch.randn(8, 8), 5)
"""
SOME = "words = [streams.poll(number) for _ in range(patience)]"
ALL = "while streams.poll(number) is not None:\n        pass"
DECODED = "self.decode(ids, 64)"


@pytest.mark.parametrize(
    ("made", "ends", "closes", "asks", "mark"),
    [
        (DECODED, "del self.streams[number]", "pass", SOME, "  # TML311"),
        (DECODED, "self.streams.pop(number)", "pass", SOME, "  # TML311"),
        (DECODED, "del self.streams[number]", "self.streams.pop(number, None)", SOME, ""),
        (DECODED, "del self.streams[number]", "pass", ALL, ""),
        ("iter(range(3))", "del self.streams[number]", "pass", SOME, ""),
    ],
)
def test_a_generator_that_goes_at_its_end_only(made: str, ends: str, closes: str, asks: str, mark: str) -> None:
    check(STREAMS.format(made=made, ends=ends, closes=closes, asks=asks, mark=mark))


ANSWER = """
class Answer:
    def __init__(self, prompt, most):
        self.tokens = torch.as_tensor(prompt)
        self.left = most
        self.finished = False

    def append(self, token):
        self.tokens = torch.cat([self.tokens, token.view(1)]){mark}
        self.left -= 1
        self.finished = self.left == 0

class Writer:
    def __init__(self, net):
        self.net = net
        self.running = {{}}

    @torch.inference_mode()
    def write(self, prompt, most):
        answer = self.running["one"] = Answer(prompt, most)
        while {until}:
            answer.append(self.net(answer.tokens[-1:].float()).argmax())
        return answer.tokens.tolist()

def main(net, prompts):
    writer = Writer(net)
    for prompt in prompts:
        writer.write(prompt, 16)
"""


@pytest.mark.parametrize("until", ["not answer.finished", "not (answer.finished)"])
def test_an_answer_that_says_when_it_is_whole(until: str) -> None:
    check_innocent(ANSWER.format(until=until, mark=""))


# -- states that the caller holds -----------------------------------------------------------------

TRACKER = """
class Tracker(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(64, 64)

    def init_state(self):
        state = {{"count": 0}}
        state["memory"] = {{"first": {{}}, "later": {{}}}}
        return state

    @torch.inference_mode()
    def track(self, state, frame):
        memory, index = state["memory"], state["count"]
        found = self.encoder(frame) + self.recall(memory, index)
        memory["later"][index] = found{mark}
        {forgets}
        state["count"] += 1
        return found.argmax()

    def recall(self, memory, index):
        return sum(memory["later"][i] for i in range(max(0, index - 6), index))

    {reads}

def main(camera):
    tracker = Tracker().eval()
    state = tracker.init_state()
    for frame in camera:
        print(tracker.track(state, frame).item())
    {after}
"""
READS = 'def summary(self, state):\n        return torch.stack(list(state["memory"]["later"].values())).mean()'


@pytest.mark.parametrize(
    ("forgets", "reads", "after", "mark"),
    [
        ("pass", "", "", "  # TML311"),
        ("memory['later'].pop(index - 7, None)", "", "", ""),
        ("pass", READS, "print(tracker.summary(state))", ""),
    ],
)
def test_a_state_that_a_method_makes_for_its_caller(forgets: str, reads: str, after: str, mark: str) -> None:
    check(TRACKER.format(forgets=forgets, reads=reads, after=after, mark=mark))


FOLLOWER = """
class Follower(nn.Module):
    def __init__(self, reach=4):
        super().__init__()
        self.encoder, self.reach = nn.Linear(64, 64), reach

    def begin(self):
        return {{"known": {{}}, "seen": {{}}, "last": None}}

    @torch.inference_mode()
    def add(self, state, index, frame):
        state["known"][index] = self.encoder(frame)

    @torch.inference_mode()
    def follow(self, state, index, frame):
        found = self.encoder(frame) + sum(state["known"].values())
        for one in range(index - self.reach, index):
            if one in state["seen"]:
                found = found + state["seen"][one]
        state["seen"][index] = found{mark}
        {forgets}
        state["last"] = index
        return found.argmax().item()

def main(camera):
    follower = Follower().eval()
    state = follower.begin()
    for index, frame in enumerate(camera):
        if index == 0:
            follower.add(state, index, frame)
        else:
            print(follower.follow(state, index, frame))
    {after}
"""


@pytest.mark.parametrize(
    ("forgets", "after", "mark"),
    [
        ("pass", "", "  # TML311"),
        ("pass", "print(state['last'])", "  # TML311"),
        ("state['seen'].pop(index - self.reach, None)", "", ""),
        ("state['seen'] = {key: x for key, x in state['seen'].items() if key > index - self.reach}", "", ""),
        ("pass", "print(torch.stack(list(state['seen'].values())).mean())", ""),
    ],
)
def test_a_state_that_is_given_back_as_it_is_made(forgets: str, after: str, mark: str) -> None:
    check(FOLLOWER.format(forgets=forgets, after=after, mark=mark))


def test_results_of_a_loop_of_the_object_itself() -> None:
    check_innocent("""
        class Evaluator:
            def __init__(self, net):
                self.net = net

            def begin(self):
                return {"rows": [], "count": 0}

            @torch.no_grad()
            def collect(self, results, x):
                results["rows"].append(self.net(x))

            def evaluate(self, loader):
                results = self.begin()
                for x in loader:
                    self.collect(results, x)
                return torch.cat(results["rows"]).mean()

        def main(net, loader):
            evaluator = Evaluator(net)
            for _ in range(10):
                print(evaluator.evaluate(loader))
    """)


# -- exit stacks ----------------------------------------------------------------------------------

REPLICAS = """
import contextlib

class Replica:
    def __init__(self, version):
        self.model = nn.Linear(64, 64 + version)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

class Held:
    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.replica = None

    def update(self, version):
        {updates}

class Whole(contextlib.ExitStack):
    def __init__(self):
        super().__init__()
        self.replica = None

    def update(self, version):
        {whole}

def main(versions):
    held = Held()
    with Whole() as whole:
        for version in versions:
            held.update(version)
            whole.update(version)
"""


@pytest.mark.parametrize(
    ("updates", "whole"),
    [
        ("self.replica = self.stack.enter_context(Replica(version))  # TML303", "pass"),
        ("self.stack.callback(print, Replica(version))  # TML303", "pass"),
        ("self.stack.close(); self.replica = self.stack.enter_context(Replica(version))", "pass"),
        ("with contextlib.ExitStack() as stack: print(stack.enter_context(Replica(version)))", "pass"),
        ("self.stack.callback(print, version)", "pass"),
        ("pass", "self.replica = self.enter_context(Replica(version))  # TML303"),
        ("pass", "self.pop_all().close(); self.replica = self.enter_context(Replica(version))"),
    ],
)
def test_a_stack_that_gets_one_after_the_other(updates: str, whole: str) -> None:
    check(REPLICAS.format(updates=updates, whole=whole))


# -- keys -----------------------------------------------------------------------------------------

VOICES = """
VOICES = {{}}

class Voice:
    def __init__(self, source):
        self.mel = torch.randn(80, 400)

def voice_of(source):
    if source not in VOICES:
        VOICES[source] = Voice(source){mark}
    return VOICES[source]

def speak(text, {given}):
    return voice_of({given}).mel.mean().item()

def main(texts):
    for index, text in enumerate(texts):
        speak(text, {key})
"""


@pytest.mark.parametrize(
    ("given", "key", "mark"),
    [
        ("recording", "'%s/%05d.wav' % ('uploads', index)", "  # TML301"),
        ("recording", "'voice of %s' % ('lang',)", ""),
        ("recording", "'block%d' % index", ""),
    ],
)
def test_a_key_that_only_the_caller_knows(given: str, key: str, mark: str) -> None:
    check(VOICES.format(given=given, key=key, mark=mark))


# -- objects that are made once, without their constructor ----------------------------------------

SINGLETON = """
class Overrides:
    _instance = None
{makes}

    def register(self, module, settings):
        self.entries.append((module, settings)){mark}

class StableEmbedding(nn.Embedding):
    def __init__(self, size, width):
        super().__init__(size, width)
        {get}.register(self, {{"bits": 32}})

def main(steps):
    for step in range(steps):
        print(StableEmbedding(1000, 64)(torch.zeros(1, dtype=torch.long)).sum().item())
        {ends}
"""
GET_INSTANCE = """
    @classmethod
    def get_instance(cls):
        if cls._instance is None:
            cls._instance = cls.__new__(cls)
            cls._instance.{sets}
        return cls._instance

    def initialize(self):
        self.entries = []
"""
OWN_NEW = """
    def __new__(cls, *args):
        if cls._instance is None:
            made = super().__new__(cls)
            made.entries = []
            cls._instance = made
        return cls._instance
"""


@pytest.mark.parametrize(
    ("makes", "get"),
    [
        (GET_INSTANCE.format(sets="initialize()"), "Overrides.get_instance()"),
        (GET_INSTANCE.format(sets="entries = []"), "Overrides.get_instance()"),
        (OWN_NEW, "Overrides()"),
    ],
)
def test_what_is_set_on_an_object_without_constructor_replaces_nothing(makes: str, get: str) -> None:
    check(SINGLETON.format(makes=makes, get=get, mark="  # TML303", ends="pass"))
    check_innocent(SINGLETON.format(makes=makes, get=get, mark="", ends=f"{get}.entries.clear()"))
    check_innocent(SINGLETON.format(makes=makes, get=get, mark="", ends=f"{get}.entries = []"))


def test_a_method_that_sets_up_and_is_called_again_lets_go() -> None:
    makes = GET_INSTANCE.format(sets="initialize()")
    for again in (
        "Overrides.get_instance().initialize()",
        "overrides = Overrides.get_instance(); overrides.initialize()",
    ):
        check_innocent(SINGLETON.format(makes=makes, get="Overrides.get_instance()", mark="", ends=again))


# -- a stack of what is current -------------------------------------------------------------------

CURRENT = """
_STACK = []

def get_storage():
    return _STACK[-1]

class Storage:
    def __init__(self):
        self.images = []

    def put_image(self, image):
        self.images.append(image){mark}

    def clear_images(self):
        self.images = []

    def __enter__(self):
        _STACK.append(self)
        return self

    def __exit__(self, kind, error, trace):
        _STACK.pop()

def run_step(model, optimizer, x):
    scores = model(x)
    get_storage().put_image(scores[0].detach().sigmoid())
    scores.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()

def train(steps):
    model = nn.Conv2d(3, 1, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {loop}
"""
OUTSIDE = "with Storage():\n        for step in range(steps):\n            "
STEP = "run_step(model, optimizer, torch.rand(2, 3, 64, 64))"


def test_what_a_current_object_gains_until_its_with_block_ends() -> None:
    check(CURRENT.format(loop=OUTSIDE + STEP, mark="  # TML303"))
    check_innocent(CURRENT.format(loop=f"{OUTSIDE}{STEP}\n            get_storage().clear_images()", mark=""))
    inside = f"for step in range(steps):\n        with Storage():\n            {STEP}"
    check_innocent(CURRENT.format(loop=inside, mark=""))
