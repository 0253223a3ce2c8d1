"""Threads, tasks and their queues in the ordinary words of scripts and classes: what stays, and what goes."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

HEAD = """
import asyncio
import gc
import queue
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
import numpy as np
"""

SERVER = """
class Batcher:
    def __init__(self, model):
        self.model, self.requests = model, queue.Queue(maxsize=8)
        self.done = threading.Event()

    def start(self):
        threading.Thread(target=self.work, daemon=True).start()

    def stop(self):
        self.done.set()

    def work(self):
        while not self.done.is_set():
            self.answer()

    def answer(self):
        try:
            request = self.requests.get(timeout=0.1)
        except queue.Empty:
            return
        with torch.inference_mode():
            print(self.model(request).norm())

class Server:
    def __init__(self):
        self.batcher = None

    def update(self, state):
        model = nn.Linear(64, 64)
        model.load_state_dict(state)
{update}

def main(states):
    server = Server()
    for state in states:
        server.update(state)
"""


def server(update: str) -> str:
    """A server that makes a worker for each state, and what its `update` does with that."""
    return SERVER.replace("{update}", textwrap.indent(update, 8 * " "))


GUILTY = {
    "a worker that a name has before the attribute": server(
        "batcher = Batcher(model)  # TML505\nbatcher.start()\nself.batcher = batcher\n"
    ),
    "a task that serves holds its last answer": """
        class Runner:
            def __init__(self, model):
                self.model = model.eval()
                self.requests = asyncio.Queue(maxsize=64)

            async def run(self):
                while True:
                    image, answer = await self.requests.get()  # TML502
                    with torch.inference_mode():
                        scores = self.model(image[None])
                    answer.set_result(scores.tolist())
        """,
    "a method takes futures out, and nobody calls or names it": """
        class Writer:
            def __init__(self):
                self.pool = ThreadPoolExecutor(2)
                self.jobs = {}

            def save(self, name, image):
                self.jobs[name] = self.pool.submit(torch.save, image, name)  # TML503

            def written(self, name):
                self.jobs.pop(name, None)

        def main():
            writer = Writer()
            for number in range(1000):
                writer.save(f"{number}.pt", torch.rand(3, 64, 64))


        if __name__ == "__main__":
            main()
        """,
    "a writer that is started by the function of the lower module": """
        import _thread

        def write(frames):
            for frame in iter(frames.get, None):  # TML502
                print(frame.mean())

        def main(steps):
            net = nn.Conv2d(3, 3, 3).eval()
            frames = queue.Queue()
            _thread.start_new_thread(write, (frames,))
            with torch.no_grad():
                for _ in range(steps):
                    frames.put(net(torch.rand(1, 3, 64, 64)))  # TML504
        """,
    "a script that submits and submits": """
        model = nn.Linear(64, 64).eval()

        @torch.no_grad()
        def predict(x):
            return model(x)

        pool = ThreadPoolExecutor(2)
        futures = []
        while True:
            future = pool.submit(predict, torch.rand(8, 64))
            futures.append(future)  # TML503
            print(future.result().mean())
        """,
    "a script that keeps its threads": """
        class Job(threading.Thread):
            def __init__(self, image):
                super().__init__()
                self.image = image

            def run(self):
                self.mask = self.image.sigmoid()

        jobs = []
        while True:
            job = Job(torch.rand(3, 64, 64))
            jobs.append(job)  # TML501
            job.start()
            job.join()
        """,
    "a task for each message, in a variable": """
        class Client:
            def __init__(self, socket, net):
                self.socket = socket
                self.net = net

            async def answer(self, message):
                with torch.no_grad():
                    return self.net(torch.tensor(message))

            async def listen(self):
                tasks = []
                try:
                    async for message in self.socket:
                        tasks.append(asyncio.create_task(self.answer(message)))  # TML503
                finally:
                    print(len(tasks))
                    for task in tasks:
                        task.cancel()
        """,
    "a queue is joined, and no thread": """
        jobs = queue.Queue(maxsize=4)

        def work():
            while True:
                batch = jobs.get()  # TML502
                print(batch.norm())
                jobs.task_done()

        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        for _ in range(10):
            jobs.put(torch.rand(64, 64))
        jobs.join()
        print(", ".join(["all", "done"]))
        """,
    "the last task's output, of a thread's own": """
        own = threading.local()

        class Segmenter:
            def __init__(self, net):
                self.net = net.eval()
                self.pool = ThreadPoolExecutor(4)

            def one(self, image):
                with torch.no_grad():
                    own.logits = self.net(image[None])  # TML502
                return int(own.logits.argmax(1).sum())

            def all(self, images):
                return list(self.pool.map(self.one, images))
        """,
    "a stream for each thread, one after the other": """
        def job(net, x):
            stream = torch.cuda.Stream()  # TML506
            with torch.cuda.stream(stream), torch.no_grad():
                y = net(x)
            stream.synchronize()
            print(y.mean().item())

        def serve(net, batches):
            for batch in batches:
                thread = threading.Thread(target=job, args=(net, batch))
                thread.start()
                thread.join()
        """,
    "streams for each call, two functions away": """
        def send(tensors):
            streams = [torch.cuda.Stream() for _ in range(2)]  # TML506
            for number, tensor in enumerate(tensors):
                with torch.cuda.stream(streams[number % 2]):
                    print(tensor.contiguous().shape)

        class Sync:
            def __init__(self, net):
                self.net = net

            def push(self):
                send(self.net.state_dict().values())

        def main(net, steps):
            sync = Sync(net)
            for _ in range(steps):
                sync.push()
        """,
    "streams of an object for each pass": """
        class Pass:
            def __init__(self, loader):
                self.loader = loader
                self.streams = [torch.cuda.Stream() for _ in range(3)]  # TML506
                self.at = 0

            def __next__(self):
                self.at += 1
                with torch.cuda.stream(self.streams[self.at % 3]):
                    return self.loader.read(self.at).cuda(non_blocking=True)

        class Loader:
            def __init__(self, read):
                self.read = read

            def __iter__(self):
                return Pass(self)
        """,
    "a thread fetches batches by the loader's name": """
        class Prefetcher:
            def __init__(self, loader):
                self.loader = loader
                self.queue = queue.Queue()
                self.thread = threading.Thread(target=self.fill, daemon=True)

            def fill(self):
                for batch in self.loader:
                    self.queue.put(batch)  # TML504
                self.queue.put(None)

            def __iter__(self):
                self.thread.start()
                while (batch := self.queue.get()) is not None:
                    yield batch
        """,
    "references of a script, in every step": """
        import ray

        ray.init()
        references = []
        for step in range(1000):
            weights = ray.put({"w": torch.rand(64, 64)})
            references.append(weights)  # TML503
            print(step, len(references))
        """,
    "a state that a coroutine carries, decorated with a mode": """
        class Session:
            def __init__(self):
                self.model = nn.GRU(80, 256).eval()
                self.state = None

            @torch.inference_mode()
            async def transcribe(self, chunk):  # TML202
                out, self.state = self.model(chunk, self.state)  # TML105
                return out.argmax(-1).tolist()
        """,
    "weights that an actor asks for now and then": """
        import torch.multiprocessing as mp

        def act(weights, steps):
            policy = nn.Linear(64, 64)
            for _ in range(steps):
                try:
                    policy.load_state_dict(weights.get_nowait())
                except queue.Empty:
                    pass
                policy(torch.rand(1, 64))

        def push(policy, weights):
            state = {name: p.detach().clone() for name, p in policy.state_dict().items()}
            weights.put(state)  # TML504

        def main(steps):
            weights = mp.Queue()
            actor = mp.Process(target=act, args=(weights, steps), daemon=True)
            actor.start()
            policy = nn.Linear(64, 64)
            optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
            for _ in range(steps):
                optimizer.zero_grad()
                policy(torch.rand(8, 64)).square().mean().backward()
                optimizer.step()
                push(policy, weights)
            actor.join()
        """,
    "results that a thread puts into objects of a table": """
        class Answer:
            def __init__(self):
                self.value = None
                self.done = threading.Event()

            def set(self, value):
                self.value = value
                self.done.set()

        jobs = queue.Queue(maxsize=8)
        answers = {}
        model = nn.Linear(64, 64).eval()

        def work():
            while (job := jobs.get()) is not None:
                with torch.no_grad():
                    job["answer"].set(model(job["x"]))
                del job

        def ask(number, x):
            answer = Answer()
            answers[number] = answer  # TML301
            jobs.put({"x": x, "answer": answer})
            answer.done.wait()
            return answer.value.argmax(-1).tolist()

        def main(steps):
            worker = threading.Thread(target=work)
            worker.start()
            for step in range(steps):
                ask(step, torch.rand(8, 64))
            jobs.put(None)
            worker.join()
        """,
    "a table of futures that says which is which": """
        def read(number):
            return torch.rand(3, 256, 256)

        def means(number_of_tiles):
            found = {}
            with ThreadPoolExecutor(4) as pool:
                numbers = {pool.submit(read, number): number for number in range(number_of_tiles)}  # TML503
                for future in as_completed(numbers):
                    number = numbers[future]
                    found[number] = future.result().mean().item()
            return found
        """,
    "a session that an endless loop's end would close": """
        class Disconnect(Exception):
            pass

        class Detector:
            def __init__(self):
                self.net = nn.Linear(4096, 8).eval()
                self.sessions = {}

            def open(self):
                key = str(len(self.sessions))
                self.sessions[key] = torch.zeros(1, 4096)  # TML311
                return key

            def close(self, key):
                self.sessions.pop(key, None)

            @torch.inference_mode()
            def probability(self, key, chunk):
                return self.net(self.sessions[key] + chunk).mean().item()

        detector = Detector()

        async def endpoint(client):
            key = detector.open()
            try:
                while True:
                    await client.send(detector.probability(key, await client.receive()))
                detector.close(key)
            except Disconnect:
                print("left")
        """,
}

INNOCENT = {
    "a worker that a name has before the attribute, whose old value is stopped": server(
        "batcher = Batcher(model)\n"
        "batcher.start()\n"
        "if self.batcher is not None:\n"
        "    self.batcher.stop()\n"
        "self.batcher = batcher\n"
    ),
    "a worker whose attribute gives its old value a name": server(
        "batcher = Batcher(model)\n"
        "batcher.start()\n"
        "old = self.batcher\n"
        "self.batcher = batcher\n"
        "if old is not None:\n"
        "    old.stop()\n"
    ),
    "a worker that changes places with the one before": server(
        "batcher = Batcher(model)\n"
        "batcher.start()\n"
        "old, self.batcher = self.batcher, batcher\n"
        "if old is not None:\n"
        "    old.stop()\n"
    ),
    "a task that serves lets go of its answers": """
        class Runner:
            def __init__(self, model):
                self.model = model.eval()
                self.requests = asyncio.Queue(maxsize=64)

            async def run(self):
                while True:
                    image, answer = await self.requests.get()
                    with torch.inference_mode():
                        scores = self.model(image[None])
                    answer.set_result(scores.tolist())
                    del image, answer, scores
        """,
    "a task whose queue somebody waits for": """
        class Runner:
            def __init__(self, model):
                self.model = model.eval()
                self.requests = asyncio.Queue(maxsize=64)

            async def run(self):
                while True:
                    image, answer = await self.requests.get()
                    with torch.inference_mode():
                        scores = self.model(image[None])
                    answer.set_result(scores.tolist())
                    self.requests.task_done()

            async def all(self, images):
                task = asyncio.create_task(self.run())
                for image in images:
                    await self.requests.put((image, asyncio.get_running_loop().create_future()))
                await self.requests.join()
                task.cancel()
        """,
    "a task that leaves the work to another method": """
        class Runner:
            def __init__(self, model):
                self.model = model.eval()
                self.requests = asyncio.Queue(maxsize=64)

            @torch.inference_mode()
            def answer(self, image):
                return self.model(image[None]).tolist()

            async def run(self):
                while True:
                    text, answer = await self.requests.get()
                    answer.set_result(self.answer(torch.tensor(text)))
        """,
    "a writer that is started by the function of the lower module, with a limit": """
        import _thread

        def show(frame):
            print(frame.mean())

        def write(frames):
            while True:
                show(frames.get())

        def main(steps):
            net = nn.Conv2d(3, 3, 3).eval()
            frames = queue.Queue(maxsize=4)
            _thread.start_new_thread(write, (frames,))
            with torch.no_grad():
                for _ in range(steps):
                    frames.put(net(torch.rand(1, 3, 64, 64)))
        """,
    "a lambda calls the method that takes a future out": """
        class Writer:
            def __init__(self):
                self.pool = ThreadPoolExecutor(2)
                self.jobs = {}

            def save(self, name, image):
                job = self.pool.submit(torch.save, image, name)
                self.jobs[name] = job
                job.add_done_callback(lambda done: self.written(name, done))

            def written(self, name, job):
                self.jobs.pop(name, None)

        def main(images):
            writer = Writer()
            for number, image in enumerate(images):
                writer.save(f"{number}.pt", image)
        """,
    "a function of the method's own calls the one that takes a future out": """
        class Writer:
            def __init__(self):
                self.pool = ThreadPoolExecutor(2)
                self.jobs = {}

            def save(self, name, image):
                def finished(done):
                    self.written(name)

                self.jobs[name] = job = self.pool.submit(torch.save, image, name)
                job.add_done_callback(finished)

            def written(self, name):
                self.jobs.pop(name, None)

        def main(images):
            writer = Writer()
            for number, image in enumerate(images):
                writer.save(f"{number}.pt", image)
        """,
    "a script that waits for all": """
        def predict(x):
            return x.mean().item()

        pool = ThreadPoolExecutor(2)
        futures = []
        for number in range(10):
            futures.append(pool.submit(predict, torch.rand(8, 64)))
        print([future.result() for future in futures])
        """,
    "a script that drops what is done": """
        def predict(x):
            with torch.no_grad():
                return x @ x.T

        pool = ThreadPoolExecutor(2)
        futures = []
        while True:
            futures.append(pool.submit(predict, torch.rand(8, 64)))
            futures = [future for future in futures if not future.done()]
        """,
    "a few threads of a script": """
        class Job(threading.Thread):
            def __init__(self, image):
                super().__init__()
                self.image = image

            def run(self):
                self.mask = self.image.sigmoid()

        jobs = []
        for _ in range(4):
            job = Job(torch.rand(3, 64, 64))
            jobs.append(job)
            job.start()
        for job in jobs:
            job.join()
            print(job.mask.mean())
        """,
    "tasks that serve until they are cancelled": """
        async def serve(channel, net):
            while True:
                net(await channel.get())

        async def main(channel, net):
            workers = []
            for _ in range(4):
                workers.append(asyncio.create_task(serve(channel, net)))
            await channel.join()
            for worker in workers:
                worker.cancel()
        """,
    "a task for each message, discarded when done": """
        class Client:
            def __init__(self, socket, net):
                self.socket = socket
                self.net = net

            async def answer(self, message):
                with torch.no_grad():
                    return self.net(torch.tensor(message))

            async def listen(self):
                tasks = set()
                async for message in self.socket:
                    task = asyncio.create_task(self.answer(message))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
        """,
    "a task for each message of one request, all of them awaited": """
        async def answer(net, message):
            with torch.no_grad():
                return net(torch.tensor(message))

        async def collect(net, stream):
            tasks = []
            async for message in stream:
                tasks.append(asyncio.create_task(answer(net, message)))
            return await asyncio.gather(*tasks)
        """,
    "threads that are waited for, and a queue that is joined": """
        def main(batches):
            jobs = queue.Queue(maxsize=4)

            def work():
                while True:
                    batch = jobs.get()
                    if batch is None:
                        break
                    print(batch.norm())

            thread = threading.Thread(target=work)
            thread.start()
            for _ in range(10):
                jobs.put(torch.rand(64, 64))
            jobs.put(None)
            thread.join(timeout=5)
        """,
    "what a thread has for itself, for good": """
        own = threading.local()

        class Segmenter:
            def __init__(self, build):
                self.build = build
                self.pool = ThreadPoolExecutor(4)

            def one(self, image):
                if not hasattr(own, "window"):
                    own.window = torch.hann_window(512)
                return float((own.window * image).sum())

            def all(self, images):
                return list(self.pool.map(self.one, images))
        """,
    "a thread's output, taken away": """
        own = threading.local()

        class Segmenter:
            def __init__(self, net):
                self.net = net.eval()
                self.pool = ThreadPoolExecutor(4)

            def one(self, image):
                with torch.no_grad():
                    own.logits = self.net(image[None])
                found = int(own.logits.argmax(1).sum())
                own.logits = None
                return found

            def all(self, images):
                return list(self.pool.map(self.one, images))
        """,
    "a stream for each of a few threads that stay": """
        def work(net, jobs):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream), torch.no_grad():
                for batch in iter(jobs.get, None):
                    print(net(batch).mean().item())
                    del batch

        def serve(net, jobs):
            threads = [threading.Thread(target=work, args=(net, jobs)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        """,
    "streams that are made once": """
        STREAMS = []

        def streams():
            while len(STREAMS) < 2:
                STREAMS.append(torch.cuda.Stream())
            return STREAMS

        def send(tensors):
            for number, tensor in enumerate(tensors):
                with torch.cuda.stream(streams()[number % 2]):
                    print(tensor.contiguous().shape)

        def main(net, steps):
            for _ in range(steps):
                send(net.state_dict().values())
        """,
    "streams of the loader, for all its passes": """
        class Pass:
            def __init__(self, loader):
                self.loader = loader
                self.streams = loader.streams

        class Loader:
            def __init__(self, read):
                self.read = read
                self.streams = [torch.cuda.Stream() for _ in range(3)]

            def __iter__(self):
                return Pass(self)
        """,
    "a thread that has to wait for room": """
        class Counter:
            def __init__(self, loader):
                self.loader = loader
                self.queue = queue.Queue(maxsize=8)
                self.thread = threading.Thread(target=self.fill, daemon=True)

            def fill(self):
                for batch in self.loader:
                    self.queue.put(batch)

            def __iter__(self):
                self.thread.start()
                while (batch := self.queue.get()) is not None:
                    yield batch
        """,
    "all parts of what was given, and all answers": """
        import torch.multiprocessing as mp

        def work(net, inputs, outputs):
            for index, ids in iter(inputs.get, None):
                with torch.no_grad():
                    outputs.put((index, net(ids).tolist()))
                del ids

        class Encoder:
            def __init__(self, net):
                self.inputs, self.outputs = mp.Queue(), mp.Queue()
                self.workers = [
                    mp.Process(target=work, args=(net, self.inputs, self.outputs), daemon=True) for _ in range(2)
                ]
                for worker in self.workers:
                    worker.start()

            def encode(self, texts, size=4):
                count = 0
                for start in range(0, len(texts), size):
                    self.inputs.put((count, torch.rand(size, 8)))
                    count += 1
                return [self.outputs.get() for _ in range(count)]
        """,
    "references that a script asks for": """
        import ray

        ray.init()
        references = []
        for step in range(8):
            references.append(ray.put({"w": torch.rand(64, 64)}))
        print(len(ray.get(references)))
        """,
    "a state that a coroutine carries, with a mode inside": """
        class Session:
            def __init__(self):
                self.model = nn.GRU(80, 256).eval()
                self.state = None

            async def transcribe(self, chunk):
                async with asyncio.Lock():
                    with torch.inference_mode():
                        out, self.state = self.model(chunk, self.state)
                return out.argmax(-1).tolist()
        """,
    "a state that a generator carries whose mode is its decorator's": """
        class Session:
            def __init__(self):
                self.model = nn.GRU(80, 256).eval()
                self.state = None

            @torch.no_grad()
            def transcribe(self, chunks):
                for chunk in chunks:
                    out, self.state = self.model(chunk, self.state)
                    yield out.argmax(-1).tolist()
        """,
    "weights of which there are two at most": """
        import torch.multiprocessing as mp

        def act(weights, steps):
            policy = nn.Linear(64, 64)
            for _ in range(steps):
                try:
                    policy.load_state_dict(weights.get_nowait())
                except queue.Empty:
                    pass
                policy(torch.rand(1, 64))

        def push(policy, weights):
            state = {name: p.detach().clone() for name, p in policy.state_dict().items()}
            try:
                weights.put_nowait(state)
            except queue.Full:
                pass

        def main(steps):
            weights = mp.Queue(maxsize=2)
            actor = mp.Process(target=act, args=(weights, steps), daemon=True)
            actor.start()
            policy = nn.Linear(64, 64)
            optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
            for _ in range(steps):
                optimizer.zero_grad()
                policy(torch.rand(8, 64)).square().mean().backward()
                optimizer.step()
                push(policy, weights)
            actor.join()
        """,
    "parts that are all there when the workers begin": """
        def work(parts, number):
            while True:
                try:
                    part = parts.get_nowait()
                except queue.Empty:
                    break
                print(number, part.mean().item())

        def main(steps):
            parts = queue.Queue()
            for part in torch.rand(512, 3, 64, 64).split(8):
                parts.put(part)
            workers = [threading.Thread(target=work, args=(parts, number)) for number in range(4)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        """,
    "results that a thread puts into objects of a table, and who asked takes out": """
        class Answer:
            def __init__(self):
                self.value = None
                self.done = threading.Event()

            def set(self, value):
                self.value = value
                self.done.set()

        jobs = queue.Queue(maxsize=8)
        answers = {}
        model = nn.Linear(64, 64).eval()

        def work():
            while (job := jobs.get()) is not None:
                with torch.no_grad():
                    job["answer"].set(model(job["x"]))
                del job

        def ask(number, x):
            answer = Answer()
            answers[number] = answer
            try:
                jobs.put({"x": x, "answer": answer})
                answer.done.wait()
                return answer.value.argmax(-1).tolist()
            finally:
                del answers[number]

        def main(steps):
            worker = threading.Thread(target=work)
            worker.start()
            for step in range(steps):
                ask(step, torch.rand(8, 64))
            jobs.put(None)
            worker.join()
        """,
    "a table of futures that each is taken out of": """
        def read(number):
            return torch.rand(3, 256, 256)

        def means(number_of_tiles):
            found = {}
            with ThreadPoolExecutor(4) as pool:
                numbers = {pool.submit(read, number): number for number in range(number_of_tiles)}
                for future in as_completed(list(numbers)):
                    number = numbers.pop(future)
                    found[number] = future.result().mean().item()
            return found
        """,
    "a session that is closed in any case": """
        class Disconnect(Exception):
            pass

        class Detector:
            def __init__(self):
                self.net = nn.Linear(4096, 8).eval()
                self.sessions = {}

            def open(self):
                key = str(len(self.sessions))
                self.sessions[key] = torch.zeros(1, 4096)
                return key

            def close(self, key):
                self.sessions.pop(key, None)

            @torch.inference_mode()
            def probability(self, key, chunk):
                return self.net(self.sessions[key] + chunk).mean().item()

        detector = Detector()

        async def endpoint(client):
            key = detector.open()
            try:
                while True:
                    await client.send(detector.probability(key, await client.receive()))
            except Disconnect:
                print("left")
            finally:
                detector.close(key)
        """,
}


@pytest.mark.parametrize("form", GUILTY.values(), ids=GUILTY)
def test_what_stays(form: str) -> None:
    check(HEAD + textwrap.dedent(form))


@pytest.mark.parametrize("form", INNOCENT.values(), ids=INNOCENT)
def test_what_goes(form: str) -> None:
    check(HEAD + textwrap.dedent(form))
