"""What a run shows of a function whose statements stand in others, or under short names, is judged in plain words."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CALIBRATED = """
class Calibrator:
    def __init__(self):
        self.moments = {{}}
        self.seen = {{}}

    def hook(self, module, args, output):
        if module not in self.seen:
            {store}
            self.seen[module] = 0
        self.seen[module] += 1

    def keep(self, module, args):
        self.moments[module] = torch.zeros(args[0].shape[-1], args[0].shape[-1]){inside}

    @torch.no_grad()
    def compress(self):
        for module in list(self.seen):
            module.weight.mul_(self.moments[module].trace())
            del self.seen[module]{release}

def compress(calibrator, model, batches):
    for layer in model:
        handle = layer.register_forward_hook(calibrator.hook)
        for batch in batches:
            layer(batch)
        handle.remove()
        calibrator.compress()

def main():
    calibrator = Calibrator()
    for _ in range(1000):
        compress(calibrator, nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)), [torch.randn(4, 8)])
"""
MADE = "torch.zeros(args[0].shape[-1], args[0].shape[-1])"
STORES = {
    "as it is": f"self.moments[module] = {MADE}  # TML311",
    "short name": f"moments = self.moments\n            moments[module] = {MADE}  # TML311",
    "method": "self.keep(module, args)",
}


@pytest.mark.parametrize("how", STORES)
def test_table_whose_twin_is_drained(how: str) -> None:
    inside = "  # TML311" if how == "method" else ""
    check(CALIBRATED.format(store=STORES[how], inside=inside, release=""))
    drained = "\n            del self.moments[module]"
    check_innocent(CALIBRATED.format(store=STORES[how].partition("  #")[0], inside="", release=drained))


ENCODER = """
class Encoder:
    def __init__(self, device):
        self.model, self.device = Net().to(device).eval(), device

    def tensorize(self, texts):
        return torch.tensor([[len(text)] * 8 for text in texts], dtype=torch.float32).to(self.device)

    def note(self, found, output):
        found.append(output{moved})  # TML310

    @torch.no_grad()
    def encode(self, loader):
        found = []
        for batch in loader:
            output = self.model(self.tensorize({keyword}batch))
            self.note(found, output)
        return torch.cat(found).cpu().numpy()

def main(loader):
    return Encoder("cuda").encode(loader)
"""


@pytest.mark.parametrize("keyword", ["", "texts="])
def test_results_that_a_method_collects(keyword: str) -> None:
    check(ENCODER.format(moved="", keyword=keyword))
    check_innocent(ENCODER.format(moved=".cpu()", keyword=keyword).replace("  # TML310", ""))


RETRIED = """
def attempts(model, batches, lock):
    error, size = None, 64
    for _ in range(3):
        try:
            return [model(part) for part in batches.split(size)]
        except torch.OutOfMemoryError as failed:
            with lock:
                error = {kept}
            size //= 2
    raise RuntimeError("no memory") from error
"""
RECORDED = """
class Worker:
    def __init__(self, model):
        self.model, self.error = model, None

    def note(self, error):
        self.error = {kept}

    def answer(self, request):
        try:
            return self.model(request)
        except RuntimeError as failed:
            self.note(failed){mark}
        return None

WORKER = Worker(Net())
"""


def test_errors_that_are_kept_in_a_block_or_by_a_method() -> None:
    check(RETRIED.format(kept="failed  # TML307"))
    check_innocent(RETRIED.format(kept="failed.with_traceback(None)"))
    check(RECORDED.format(kept="error", mark="  # TML307"))
    check_innocent(RECORDED.format(kept="str(error)", mark=""))


TABLE = """
_tables = {{}}
_count = 0

class Table:
    def __init__(self, rows):
        global _count
        self.rows = torch.zeros(rows, 8)
        self.number = {number}
        _count += 1
        self.register()

    def register(self):
        _tables[self.number] = self{mark}

def make(sizes):
    return [Table(rows) for rows in sizes]
"""


def test_objects_that_a_method_enters_under_their_number() -> None:
    check(TABLE.format(number="_count", mark="  # TML314"))
    check_innocent(TABLE.format(number="rows", mark=""))


READ_AHEAD = """
import threading

def ahead(source, lock):
    waiting, end = queue.Queue(maxsize=4), object()

    def fill():
        for item in source:
            waiting.put(torch.as_tensor(item))
        waiting.put(end)

    thread = threading.Thread(target=fill, daemon=True)
    with lock:
        thread.start(){mark}
    {body}

def train(model, source, lock, steps):
    for number, item in enumerate(ahead(source, lock)):
        model(item).sum().backward()
        if number == steps:
            break

def main(model, source, lock):
    for _ in range(100):
        train(model, source, lock, 10)
"""


def test_threads_started_under_a_lock() -> None:
    read = "for item in iter(waiting.get, end):\n        yield item"
    check(READ_AHEAD.format(mark="  # TML505", body=read))
    ended = "try:\n        yield from iter(waiting.get, end)\n    finally:\n        drain(waiting, thread)"
    check_innocent(READ_AHEAD.format(mark="", body=ended))


GATHERED = """
def all_gather(tensor):
    gathered = [torch.empty_like(tensor) for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather(gathered, tensor)
    return torch.cat(gathered)

class Evaluation:
    def __init__(self):
        self.scores = []

    def process(self, logits):
        self.scores += [{gathered}]{mark}

    def compute(self):
        if torch.distributed.get_rank() == 0:
            return torch.cat(self.scores).mean()
        return None

@torch.no_grad()
def evaluate(model, loader):
    evaluation = Evaluation()
    for batch in loader:
        evaluation.process(model(batch))
    return evaluation.compute()
"""


def test_lists_that_are_added_to_as_lists() -> None:
    check(GATHERED.format(gathered="all_gather(logits.softmax(1))", mark="  # TML410"))
    check_innocent(GATHERED.format(gathered="logits.softmax(1).cpu()", mark=""))


ANSWERED = """
import torch.multiprocessing as mp

def serve(inbox, outbox):
    while True:
        number, batch = inbox.get()
        outbox.put((number, float(batch.mean())))

class Client:
    def __init__(self):
        self.inbox, self.outbox = mp.Queue(), mp.Queue()
        mp.Process(target=serve, args=(self.inbox, self.outbox), daemon=True).start()

    def submit(self, number, batch):
        inbox = self.inbox
        inbox.put((number, batch.numpy())){mark}

    def collect(self):
        return {asked}

def main():
    client = Client()
    for number in range(1000):
        client.submit(number, torch.randn(256, 256))
        client.collect()
"""


def test_queue_with_a_short_name_whose_answers_are_waited_for() -> None:
    check_innocent(ANSWERED.format(asked="self.outbox.get(timeout=30)", mark=""))
    check(ANSWERED.format(asked="self.outbox.qsize()", mark="  # TML504"))
