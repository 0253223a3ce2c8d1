"""Tensors that a loop submits to few workers who take long for each, and what keeps such a loop back."""

from __future__ import annotations

import pytest
from snippets import check

WRITER = """
import gzip, os, threading
import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

FEW = 2

def pack(path, image):
    {work}

class Packer:
    def __init__(self, folder, workers=2):
        self.folder, self.jobs = folder, []
        self.room = threading.Semaphore(4)
        self.pool = {pool}

    def put(self, number, image):
        {before}
        path = os.path.join(self.folder, str(number))
        {submit}

    def close(self):
        self.pool.shutdown()

@torch.inference_mode()
def enhance(net, {stream}, packer):
    for number, image in enumerate({over}):
        {rounds}

def main(net, images, folder):
    packer = Packer(folder)
    enhance(net.eval(), images, packer)
    packer.close()
"""
FORM = {
    "work": "open(path, 'wb').write(gzip.compress(image.numpy().tobytes()))",
    "pool": "ThreadPoolExecutor(1)",
    "before": "pass",
    "submit": "self.pool.submit(pack, path, image){mark}",
    "stream": "images",
    "over": "images",
    "rounds": "better = net(image)\n        packer.put(number, better)",
}
DUE = "  # TML504"
GUILTY: dict[str, dict[str, str]] = {
    "one thread": {},
    "one process": {"pool": "ProcessPoolExecutor(max_workers=1)"},
    "a pool": {"pool": "mp.Pool(2)", "submit": "self.pool.apply_async(pack, (path, image)){mark}"},
    "a few": {"pool": "ThreadPoolExecutor(max_workers=FEW)"},
    "as many as it is told": {"pool": "ThreadPoolExecutor(workers)"},
    "made smaller first": {
        "work": "image = F.interpolate(image[None], scale_factor=0.5)[0]\n    torch.save(image, path)"
    },
    "from a loader": {"stream": "loader", "over": "loader"},
    "a callback": {"submit": "self.pool.submit(pack, path, image).add_done_callback(print){mark}"},
}
INNOCENT: dict[str, dict[str, str]] = {
    "work that is soon done": {"work": "print(path, image.mean().item())"},
    "many workers": {"pool": "ThreadPoolExecutor(16)"},
    "one for each core": {"pool": "ThreadPoolExecutor()"},
    "a semaphore": {
        "before": "self.room.acquire()",
        "submit": "self.pool.submit(pack, path, image).add_done_callback(lambda job: self.room.release())",
    },
    "the one before": {
        "before": "if self.jobs:\n            self.jobs.pop().result()",
        "submit": "self.jobs.append(self.pool.submit(pack, path, image))",
    },
    "until few are left": {"before": "while os.listdir(self.folder)[9:]:\n            print(path)"},
    "waits in each round": {
        "rounds": "better = net(image)\n        packer.put(number, better)\n        packer.wait_for_room()",
    },
    "now and then": {
        "rounds": "better = net(image)\n        if number % 9 == 0:\n            packer.put(number, better)"
    },
    "what is there anyway": {"rounds": "packer.put(number, image)"},
    "parts of one image": {"stream": "tiles", "over": "tiles"},
    "parts that it cuts": {"over": "torch.split(images, 64)"},
    "a number": {"rounds": "better = net(image).mean().item()\n        packer.put(number, better)"},
}


def writer(change: dict[str, str], mark: str) -> str:
    form = {**FORM, **change}
    return WRITER.format(**{**form, "submit": form["submit"].replace("{mark}", mark)})


@pytest.mark.parametrize("name", GUILTY)
def test_more_than_is_done_by_then(name: str) -> None:
    check(writer(GUILTY[name], DUE))


@pytest.mark.parametrize("name", INNOCENT)
def test_loops_that_are_not_ahead(name: str) -> None:
    check(writer(INNOCENT[name], ""))
