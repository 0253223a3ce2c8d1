"""Workers and their cleanup in the ordinary words of scripts and classes: each guilty form with an innocent twin."""

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

GUILTY = {
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
    "a pointer that a helper gives, bound again": """
        from cuda import cudart

        def scratch(size):
            error, pointer = cudart.cudaMalloc(size)  # TML702
            return pointer

        def main(kernel):
            for step in range(100):
                pointer = scratch(1 << 20)
                kernel(pointer, step)
        """,
    "a pointer on an object, for a kernel": """
        class Workspace:
            def reserve(self, size):
                self.pointer = torch.cuda.caching_allocator_alloc(size, 0)  # TML702
                return self.pointer

        def main(kernel, sizes):
            space = Workspace()
            for size in sizes:
                kernel(space.reserve(size), size)
        """,
    "another name for what the object has": """
        class Captioner:
            def __init__(self, vision, text):
                self.vision = vision.cuda()
                self.text = text.cuda()

            @torch.no_grad()
            def caption(self, image):
                vision = self.vision
                found = vision(image)
                del vision  # TML602
                torch.cuda.empty_cache()
                return self.text(found)
        """,
    "frames go into rows that a helper has made": """
        class Clips(torch.utils.data.Dataset):
            def __init__(self, count):
                self.rows = [self.row(number) for number in range(count)]

            def row(self, number):
                row = {"path": str(number), "at": number}
                return row

            def __len__(self):
                return len(self.rows)

            def decode(self, row):
                for key in ("top", "wrist"):
                    row[key] = torch.rand(3, 96, 128)  # TML404
                return row

            def __getitem__(self, index):
                row = self.decode(self.rows[index])
                return torch.stack([row["top"], row["wrist"]])

        for batch in torch.utils.data.DataLoader(Clips(100), batch_size=4, num_workers=2):
            print(batch.mean())
        """,
    "frames go into rows that were appended": """
        class Clips(torch.utils.data.Dataset):
            def __init__(self, count):
                self.rows = []
                for number in range(count):
                    self.rows.append(self.row(number))

            def row(self, number):
                row = {"path": str(number), "at": number}
                return row

            def __getitem__(self, index):
                row = self.rows[index]
                if "frame" not in row:
                    row["frame"] = torch.rand(3, 96, 128)  # TML404
                return row["frame"]

        for batch in torch.utils.data.DataLoader(Clips(100), batch_size=4, num_workers=2):
            print(batch.mean())
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
    "a segment for each item, in a list": """
        from multiprocessing.shared_memory import SharedMemory

        class Samples:
            def __init__(self, count):
                self.count = count
                self.segments = []

            def segment(self):
                block = SharedMemory(create=True, size=1 << 20)
                self.segments.append(block)  # TML407
                return block

            def __iter__(self):
                for number in range(self.count):
                    block = self.segment()
                    yield torch.from_numpy(np.ndarray((512, 512), np.float32, block.buf).copy())

            def close(self):
                for block in self.segments:
                    block.close()
                    block.unlink()

        def main(steps):
            samples = Samples(steps)
            for sample in samples:
                print(sample.mean())
            samples.close()
        """,
    "moved by a statement of its own": """
        class Predictor:
            def __init__(self, net):
                self.net = net.eval().cuda()

            @torch.no_grad()
            def predict(self, images):
                logits = self.net(images)
                logits.cpu()  # TML605
                return logits

        def train(net, train_loader, optimizer):
            for step, (images, labels) in enumerate(train_loader):
                images.cuda()  # TML605
                loss = F.cross_entropy(net(images), labels.cuda())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "a helper that empties and then collects": """
        def clear_memory():
            torch.cuda.empty_cache()  # TML601
            gc.collect()

        def main(build, settings):
            for one in settings:
                model = build(one).cuda()
                model.fit()
                del model
                clear_memory()
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
    "a cache of what lies in files, in each worker of a pool": """
        from functools import lru_cache
        from multiprocessing import Pool

        @lru_cache(maxsize=None)  # TML305
        def load_scan(path):
            return torch.load(path)

        def overlap(pair):
            one, other = load_scan(pair[0]), load_scan(pair[1])
            return float((one * other).sum() / (one.sum() + other.sum()))

        def main(pairs):
            with Pool(6) as pool:
                return pool.map(overlap, pairs)
        """,
}

INNOCENT = {
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
    "a pointer that a helper gives, kept": """
        from cuda import cudart

        def scratch(size):
            error, pointer = cudart.cudaMalloc(size)
            return pointer

        class Pool:
            def __init__(self, free):
                self.free = free
                self.blocks = []

            def take(self, size):
                self.blocks.append(scratch(size))
                return self.blocks[-1]
        """,
    "another name for what the object has, moved off": """
        class Captioner:
            def __init__(self, vision, text):
                self.vision = vision.cuda()
                self.text = text.cuda()

            @torch.no_grad()
            def caption(self, image):
                vision = self.vision
                found = vision(image)
                self.vision = None
                del vision
                torch.cuda.empty_cache()
                return self.text(found)
        """,
    "frames go into a copy of the row": """
        class Clips(torch.utils.data.Dataset):
            def __init__(self, count):
                self.rows = [self.row(number) for number in range(count)]

            def row(self, number):
                row = {"path": str(number), "at": number}
                return row

            def __getitem__(self, index):
                row = dict(self.rows[index])
                row["frame"] = torch.rand(3, 96, 128)
                return row["frame"]

        for batch in torch.utils.data.DataLoader(Clips(100), batch_size=4, num_workers=2):
            print(batch.mean())
        """,
    "a few segments that are written into again": """
        from multiprocessing.shared_memory import SharedMemory

        class Rings:
            def __init__(self):
                self.segments = []

            def add(self, size):
                self.segments.append(SharedMemory(create=True, size=size))

            def write(self, number, frame):
                self.segments[number].buf[: len(frame)] = frame

            def close(self):
                for block in self.segments:
                    block.close()
                    block.unlink()

        def main(cameras):
            rings = Rings()
            for camera in cameras:
                rings.add(camera.size)
            for number, camera in enumerate(cameras):
                rings.write(number, camera.read())
            rings.close()
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
    "what moves in place": """
        def train(net, loader, optimizer, device):
            for data, labels in loader:
                data.to(device)
                loss = F.cross_entropy(net(data), labels.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "a helper that collects and then empties": """
        def clear_memory():
            gc.collect()
            torch.cuda.empty_cache()

        def main(build, settings):
            for one in settings:
                model = build(one).cuda()
                model.fit()
                del model
                clear_memory()
        """,
    "references that a script asks for": """
        import ray

        ray.init()
        references = []
        for step in range(8):
            references.append(ray.put({"w": torch.rand(64, 64)}))
        print(len(ray.get(references)))
        """,
    "caches of a few things that lie in files": """
        from functools import cache, lru_cache

        @lru_cache(maxsize=None)
        def load_model(path):
            return torch.load(path)

        @lru_cache(maxsize=4)
        def load_block(path):
            return np.load(path)

        @cache
        def filters(bands: int):
            return np.load("filters.npz")[f"bands_{bands}"]

        @cache
        def names(path):
            return [line.strip() for line in open(path)]
        """,
}


@pytest.mark.parametrize("form", GUILTY.values(), ids=GUILTY)
def test_what_stays(form: str) -> None:
    check(HEAD + textwrap.dedent(form))


@pytest.mark.parametrize("form", INNOCENT.values(), ids=INNOCENT)
def test_what_goes(form: str) -> None:
    check(HEAD + textwrap.dedent(form))
