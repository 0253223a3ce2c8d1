"""Futures that keep their results: in tables of an object, and in local lists that a loop goes through."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

POOLED = """
import asyncio
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed, wait
import concurrent.futures as cf

def clean(number):
    return number, torch.rand(64, 64).numpy()

def render(number):
    with torch.no_grad():
        return torch.rand(64, 64) * number

def count(number):
    return number, torch.rand(64, 64).sum().item()

def note(rows, number, image):
    rows.append((number, float(image.mean())))

def fill(number, images):
    image = torch.rand(64, 64).numpy()
    images[number] = image
    return image

def compute(number, images):
    image = torch.rand(64, 64).numpy()
    images[number] = image.mean()
    return image

def file_away(rows, number, image):
    rows.append((number, image))

def main(items, num_workers):
    rows, best = [], 0.0
    with ProcessPoolExecutor(2) as pool, ThreadPoolExecutor(2) as threads:
{}
    return rows, best
"""
KEPT = {
    "what is summed up": """
        total = torch.zeros(64, 64)
        futures = [threads.submit(render, item) for item in items]  # TML503
        for done, future in enumerate(as_completed(futures), 1):
            try:
                image = future.result()
            except ValueError:
                continue
            total += image
        rows.append(total)
        """,
    "what is waited for and not used": """
        images = [None] * len(items)
        futures = [threads.submit(compute, number, images) for number, _ in enumerate(items)]  # TML503
        for future in futures:
            future.result()
        rows.append(images)
        """,
    "an attribute of one object": """
        futures = [threads.submit(clean, item) for item in items]  # TML503
        for future in as_completed(futures):
            number, items.last = future.result()
            print(items.last.mean())
        """,
    "a comprehension": """
        futures = [pool.submit(clean, item) for item in items]  # TML503
        for future in as_completed(futures):
            number, image = future.result()
            rows.append((number, float(image.mean())))
        """,
    "a dictionary": """
        futures = {pool.submit(clean, item): item for item in items}  # TML503
        for future in as_completed(futures):
            number, image = future.result()
            note(rows, futures_of(number), image)
        """,
    "filled in a loop": """
        futures = []
        for item in items:
            futures.append(pool.submit(clean, item))  # TML503
        for n, future in enumerate(cf.as_completed(futures)):
            _, image = future.result()
            print(n, len(futures), image.mean())
        """,
    "in the order of the list": """
        futures = [threads.submit(render, item) for item in items]  # TML503
        for future in futures:
            best = max(best, future.result().max().item())
        """,
    "a table by future": """
        table = {}
        for item in items:
            table[threads.submit(render, item)] = item  # TML503
        for future in as_completed(table):
            image = future.result()
            note(rows, 1, image)
        """,
}
NOT_KEPT = {
    "what is added to a list": """
        futures = [threads.submit(clean, item) for item in items]
        for future in as_completed(futures):
            pair = future.result()
            rows += pair
        """,
    "what puts its result where it stays": """
        images = [None] * len(items)
        futures = [threads.submit(fill, number, images) for number, _ in enumerate(items)]
        for future in futures:
            future.result()
        rows.append(images)
        """,
    "an attribute of an entry": """
        views = [View(item) for item in items]
        futures = [threads.submit(clean, item) for item in items]
        for future in as_completed(futures):
            number, image = future.result()
            views[number].image = image
        rows.append(views)
        """,
    "taken out": """
        futures = [pool.submit(clean, item) for item in items]
        for future in as_completed(futures):
            number, image = future.result()
            futures.remove(future)
            rows.append((number, float(image.mean())))
        """,
    "without a name": """
        for future in as_completed([pool.submit(clean, item) for item in items]):
            number, image = future.result()
            rows.append((number, float(image.mean())))
        """,
    "small results": """
        futures = [pool.submit(count, item) for item in items]
        for future in as_completed(futures):
            rows.append(future.result())
        """,
    "collected anyway": """
        futures = [pool.submit(clean, item) for item in items]
        for future in as_completed(futures):
            number, image = future.result()
            rows.append(image)
        """,
    "collected anyway, at once": """
        futures = [threads.submit(render, item) for item in items]
        for future in futures:
            rows.append(future.result())
        """,
    "collected by a helper": """
        futures = [pool.submit(clean, item) for item in items]
        for future in as_completed(futures):
            number, image = future.result()
            file_away(rows, number, image)
        """,
    "used again": """
        futures = [pool.submit(clean, item) for item in items]
        for future in as_completed(futures):
            print(future.result()[0])
        images = [future.result() for future in futures]
        """,
    "one for each worker": """
        futures = [pool.submit(clean, rank) for rank in range(num_workers)]
        for future in as_completed(futures):
            number, image = future.result()
            rows.append((number, float(image.mean())))
        """,
    "only waited for": """
        futures = [threads.submit(render, item) for item in items]
        for future in as_completed(futures):
            print(future.done())
        """,
}
TABLES = """
import asyncio, itertools, threading
from concurrent.futures import Future

class Remote:
    def __init__(self, link):
        self.link, self.numbers = link, itertools.count()
        self.tasks: dict[int, Future] = {{}}

    def submit(self, function, *args):
        number = next(self.numbers)
        {}
        self.link.put((number, function, args))
        return future

    def on_reply(self, number, result):
        {}

def main(link, model, items):
    remote = Remote(link)
    for item in items:
        print(remote.submit(model, item).result())
"""


@pytest.mark.parametrize("case", KEPT)
def test_results_that_a_list_keeps(case: str) -> None:
    check(POOLED.format(textwrap.indent(textwrap.dedent(KEPT[case]), "        ")))


@pytest.mark.parametrize("case", NOT_KEPT)
def test_results_that_no_list_keeps(case: str) -> None:
    check(POOLED.format(textwrap.indent(textwrap.dedent(NOT_KEPT[case]), "        ")))


FUTURES = ["Future()", "asyncio.Future()", "asyncio.get_running_loop().create_future()"]
STARTED = ["asyncio.get_running_loop().create_task(render(number))", "self.loop.create_task(render(number))"]


@pytest.mark.parametrize("made", [*FUTURES, *STARTED])
def test_tables_of_futures(made: str) -> None:
    put = f"future = {made}; self.tasks[number] = future"
    check(TABLES.format(put + "  # TML503", "self.tasks[number].set_result(result)"))
    check(TABLES.format(put, "self.tasks.pop(number).set_result(result)"))
    check(TABLES.format(put, "self.tasks[number].set_result(result); del self.tasks[number]"))


def test_tasks_of_somebody_else() -> None:
    check(TABLES.format("self.tasks[number] = self.client.create_task(number)", "self.tasks[number].run()"))


LOOKUPS = """
from concurrent.futures import Future

class Client:
    def __init__(self):
        self.waiting = []

    def send(self, prompt):
        future = Future()
        self.waiting.append((future, prompt))
        return future

    def answer(self):
        while self.waiting:
            future, prompt = self.waiting.pop()
            future.set_result(torch.ones(len(prompt), 64))

class Adapter:
    def __init__(self, client):
        self.client, self.lookups = client, {{}}

    def look_up(self, {key}, prompt):
        if {key} in self.lookups:
            return
        future = self.client.send(prompt)
        self.lookups[{key}] = future{mark}

    def found(self, {key}):
        return len(self.lookups{taken}.result())

def main(requests):
    client = Client()
    adapter = Adapter(client)
    for request in requests:
        adapter.look_up(request.{key}, request.prompt)
        client.answer()
        print(adapter.found(request.{key}))
"""


@pytest.mark.parametrize(
    ("key", "taken", "mark"),
    [("request_id", "[request_id]", "  # TML503"), ("request_id", ".pop(request_id)", ""), ("layer", "[layer]", "")],
)
def test_lookups_of_requests(key: str, taken: str, mark: str) -> None:
    check(LOOKUPS.format(key=key, taken=taken, mark=mark))


QUEUED = """
from concurrent.futures import ThreadPoolExecutor

@torch.no_grad()
def render(model, pose):
    return model(pose)

class Pool:
    def __init__(self):
        self.pool, self.futures = ThreadPoolExecutor(1), []

    def run(self, function, *args):
        future = self.pool.submit(function, *args)
        self.futures.append(future)  # TML503
        return future

    def wait(self):
        while self.futures:
            self.futures.pop().result()

    def close(self):
        {closing}
        self.pool.shutdown()

class Exporter:
    def __init__(self, model):
        self.model, self.pool = model.eval(), Pool()

    def warm_up(self, poses):
        for pose in poses:
            self.pool.run(render, self.model, pose)
        self.pool.wait()

    def export(self, poses):
        for pose in poses:
            image = self.pool.run(render, self.model, pose).result()
            {inside}
            print(image.mean().item())
        {after}

def main(poses):
    exporter = Exporter(Net())
    exporter.warm_up([torch.zeros(8)])
    exporter.export(poses)
    {end}

main(torch.rand(99, 8))
"""
LEFT_FULL = {"closing": "pass", "inside": "pass", "after": "pass", "end": "exporter.pool.close()"}
DRAINED = [
    {"inside": "self.pool.wait()"},
    {"inside": "self.finish()", "after": "pass\n\n    def finish(self):\n        self.pool.wait()"},
]
DRAINED_LATE = [
    {"after": "self.pool.wait()"},
    {"end": "exporter.pool.wait()"},
    {"closing": "self.wait()"},
    {"end": "exporter.warm_up(poses)"},
]


def test_futures_that_a_method_would_take_out() -> None:
    check(QUEUED.format(**LEFT_FULL))


@pytest.mark.parametrize("change", DRAINED)
def test_futures_that_a_method_takes_out(change: dict[str, str]) -> None:
    check(QUEUED.format(**{**LEFT_FULL, **change}).replace("  # TML503", ""))


@pytest.mark.parametrize("change", DRAINED_LATE)
def test_futures_that_are_taken_out_when_all_have_been_used(change: dict[str, str]) -> None:
    check(QUEUED.format(**{**LEFT_FULL, **change}))
    text = QUEUED.format(**{**LEFT_FULL, **change}).replace("  # TML503", "")
    check(text.replace("self.pool.run(render, self.model, pose).result()", "torch.zeros(8)"))


AHEAD = """
from concurrent.futures import ThreadPoolExecutor

class Ahead:
    def __init__(self, depth):
        self.depth, self.pool, self.futures, self.next = depth, ThreadPoolExecutor(2), {{}}, 0

    def top_up(self, step, last):
        while self.next < min(step + self.depth, last):
            self.futures[self.next] = self.pool.submit(torch.rand, 64, 64){mark}
            self.next += 1

    def batches(self, count):
        {before}
        for step in range(count):
            self.top_up(step, count)
            yield {taken}

def main(steps):
    for image in Ahead(3).batches(steps):
        print(image.mean().item())

main(99)
"""


def test_futures_that_the_generator_on_the_way_takes_out() -> None:
    check(AHEAD.format(before="pass", taken="self.futures.pop(step).result()", mark=""))
    check(AHEAD.format(before="pass", taken="self.futures[step].result()", mark="  # TML503"))
    check(AHEAD.format(before="self.futures.clear()", taken="self.futures[step].result()", mark="  # TML503"))


CALLED_BACK = """
from concurrent.futures import ThreadPoolExecutor

class Farm:
    def __init__(self):
        self.pool, self.done, self.means = ThreadPoolExecutor(2), [], []

    def on_done(self, future):
        {kept}

    def submit(self, size):
        self.pool.submit(torch.rand, size, size).add_done_callback({callback})

def main(sizes):
    farm = Farm()
    for size in sizes:
        farm.submit(size)
    print(farm.means)

main([64] * 99)
"""


def test_what_callbacks_of_futures_keep() -> None:
    check(CALLED_BACK.format(kept="self.done.append(future.result())  # TML303", callback="self.on_done"))
    check(CALLED_BACK.format(kept="pass", callback="self.done.append").replace("append)", "append)  # TML503"))
    check(CALLED_BACK.format(kept="self.means.append(future.result().mean().item())", callback="self.on_done"))


LIMITED = """
import multiprocessing

def segment(softmax, case):
    return case, F.interpolate(softmax, scale_factor=4).argmax(1)

def predict(images):
    jobs = []
    with multiprocessing.Pool(2) as pool:
        for case, image in images:
            {add}
            {ask}
        for job in jobs:
            case, mask = job.get()
            print(case, mask.float().mean())
"""


@pytest.mark.parametrize(
    ("ask", "mark"),
    [
        ("jobs[-1].ready()", "  # TML503"),
        ("while sum(not job.ready() for job in jobs) > 4: jobs[0].wait()", "  # TML503"),
        ("jobs = [job for job in jobs if not job.ready()]", ""),  # only those that are not done
        ("jobs.pop(0).get()", ""),
        ("watch(jobs)", ""),
        ("watch(job for job in jobs if job.ready())", ""),
    ],
)
def test_futures_that_are_only_asked(ask: str, mark: str) -> None:
    add = "jobs.append(pool.apply_async(segment, (torch.zeros(1, 3, 64, 64), case)))" + mark
    check(LIMITED.format(add=add, ask=ask))
