"""Queues, threads, retries and releases that look alike: what runs ahead and what cannot, what frees and what does not."""

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
