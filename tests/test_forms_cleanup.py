"""Data, device memory and its cleanup in the ordinary words of scripts and classes: what stays, and what goes."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

HEAD = """
import asyncio
import gc
import queue
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
import numpy as np
"""

GUILTY = {
    "a global beside the one that goes": """
        class Pipeline:
            def __init__(self, model):
                self.model = model

            def __call__(self, x):
                with torch.no_grad():
                    return self.model(x)

        model = pipeline = None

        def load(width):
            global model, pipeline
            model = nn.Linear(width, width)
            pipeline = Pipeline(model)

        def unload():
            global model, pipeline
            model = None  # TML604
            gc.collect()
            torch.cuda.empty_cache()

        def main():
            for width in (64, 128):
                load(width)
                unload()
        """,
    "the variable of a loop over the object's parts": """
        class Transcriber:
            def __init__(self, encoder, decoder):
                self.encoder = encoder.cuda()
                self.decoder = decoder.cuda()

            def unload(self):
                for part in (self.encoder, self.decoder):
                    part = None  # TML602
                gc.collect()
                torch.cuda.empty_cache()
        """,
    "the variable of a loop over the names of models": """
        def main(build):
            teacher, student = build("l").cuda(), build("s").cuda()
            student.learn(teacher)
            for model in [teacher, student]:
                del model  # TML602
            torch.cuda.empty_cache()
            return build("xl").cuda()
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
    "both globals go": """
        class Pipeline:
            def __init__(self, model):
                self.model = model

            def __call__(self, x):
                with torch.no_grad():
                    return self.model(x)

        model = pipeline = None

        def load(width):
            global model, pipeline
            model = nn.Linear(width, width)
            pipeline = Pipeline(model)

        def unload():
            global model, pipeline
            model = pipeline = None
            gc.collect()
            torch.cuda.empty_cache()

        def main():
            for width in (64, 128):
                load(width)
                unload()
        """,
    "a table that keeps them on purpose": """
        class Pipeline:
            def __init__(self, model):
                self.model = model

            def __call__(self, x):
                with torch.no_grad():
                    return self.model(x)

        model = pipeline = None
        cached = {}

        def load(width):
            global model, pipeline
            model = nn.Linear(width, width)
            cached[width] = Pipeline(model)

        def unload():
            global model, pipeline
            model = None
            gc.collect()
            torch.cuda.empty_cache()

        def main():
            for width in (64, 128):
                load(width)
                unload()
        """,
    "another function lets go of the other global": """
        class Pipeline:
            def __init__(self, model):
                self.model = model

            def __call__(self, x):
                with torch.no_grad():
                    return self.model(x)

        model = pipeline = None

        def load(width):
            global model, pipeline
            model = nn.Linear(width, width)
            pipeline = Pipeline(model)

        def stop():
            global pipeline
            pipeline = None

        def unload():
            global model, pipeline
            model = None
            gc.collect()
            torch.cuda.empty_cache()

        def main():
            for width in (64, 128):
                load(width)
                stop()
                unload()
        """,
    "the variable of a loop over parts that are dropped as well": """
        class Transcriber:
            def __init__(self, encoder, decoder):
                self.encoder = encoder.cuda()
                self.decoder = decoder.cuda()

            def unload(self):
                for part in (self.encoder, self.decoder):
                    part = None
                self.encoder = self.decoder = None
                gc.collect()
                torch.cuda.empty_cache()

            @torch.no_grad()
            def evaluate(self, batches):
                for part in (self.encoder, self.decoder):
                    for batch in batches:
                        print(part(batch).norm())
                    del part
                torch.cuda.empty_cache()
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
    "what moves in place": """
        def train(net, loader, optimizer, device):
            for data, labels in loader:
                data.to(device)
                loss = F.cross_entropy(net(data), labels.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
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
}


@pytest.mark.parametrize("form", GUILTY.values(), ids=GUILTY)
def test_what_stays(form: str) -> None:
    check(HEAD + textwrap.dedent(form))


@pytest.mark.parametrize("form", INNOCENT.values(), ids=INNOCENT)
def test_what_goes(form: str) -> None:
    check(HEAD + textwrap.dedent(form))


# -- a function that keeps the model which goes -----------------------------------------------------

SCORER = """
import gc

def scorer(net):
    return lambda x: net(x).mean().item()

@torch.no_grad()
def compare(x):
    model = Net()
    {score}
    print(score(x))
    {drop}{mark}
    gc.collect()
    torch.cuda.empty_cache()
    other = nn.Linear(2048, 2048)
    return other(torch.rand(1, 2048)).sum().item()

def main(steps):
    for _ in range(steps):
        compare(torch.rand(4, 8))
"""


@pytest.mark.parametrize(
    ("score", "drop", "mark"),
    [
        ("score = scorer(model)", "del model", "  # TML604"),
        ("score = scorer(model)", "model = None", "  # TML604"),
        ("score = scorer(model)", "del model, score", ""),
        ("score = lambda x: model(x).mean().item()", "del model", ""),  # it has the variable, not the model
        ("score = lambda x: model(x).mean().item()", "model = None", ""),
    ],
)
def test_a_function_that_keeps_what_goes(score: str, drop: str, mark: str) -> None:
    check(SCORER.format(score=score, drop=drop, mark=mark))


def test_a_callback_that_has_the_owner_of_what_goes() -> None:
    check_innocent(
        """
        class Timed:
            def __init__(self, model, on_unload):
                self.model, self._on_unload = model, on_unload

            def unload(self):
                del self.model
                self.model = None
                gc.collect()
                torch.cuda.empty_cache()
                self._on_unload()

        class Models:
            def __init__(self):
                self.loaded = {}

            def load(self, key):
                if key not in self.loaded:
                    self.loaded[key] = Timed(Net(), on_unload=lambda: self.loaded.pop(key, None))
                return self.loaded[key]

        def main(steps):
            models = Models()
            for step in range(steps):
                models.load(step).unload()
        """
    )
