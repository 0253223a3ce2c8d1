"""Functions that run for each request, and the images, sounds and device buffers that they keep."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

GUILTY = {
    "images that are kept until somebody asks for them": """
        import uuid
        from fastapi import FastAPI
        from torchvision.io import decode_image

        app = FastAPI()
        images = {}

        @app.post("/images")
        async def upload(file):
            image = decode_image(torch.frombuffer(bytearray(await file.read()), dtype=torch.uint8)).float() / 255
            key = str(uuid.uuid4())
            images[key] = image[None]  # TML301
            return key
        """,
    "what a transform that ends in a tensor makes": """
        import torchvision.transforms as T
        from PIL import Image

        to_batch = T.Compose([T.Resize(224), T.ToTensor()])
        seen = []

        @socket.on("frame")
        def frame(message):
            seen.append(to_batch(Image.open(message)))  # TML301
        """,
    "sounds": """
        import torchaudio

        class Recorder:
            def __init__(self):
                self.sounds = []

            def on_file(self, path):
                sound, rate = torchaudio.load(path)
                self.sounds.append(sound)  # TML303
        """,
    "answers of a task queue": """
        from torchvision.transforms.functional import to_tensor
        ANSWERS = []

        @app.task
        def read(image):
            ANSWERS.append(to_tensor(image))  # TML301
        """,
}
INNOCENT = {
    "images that go when they were looked at": """
        import uuid
        from fastapi import FastAPI
        from torchvision.io import decode_image

        app = FastAPI()
        images = {}

        @app.post("/images")
        async def upload(file):
            key = str(uuid.uuid4())
            images[key] = decode_image(file)
            return key

        @app.get("/images/{key}")
        def size(key):
            return images.pop(key).shape
        """,
    "names": """
        from PIL import Image
        import torchvision.transforms as T

        to_batch = T.Compose([T.Resize(224), T.Grayscale()])
        seen = []

        @socket.on("frame")
        def frame(message):
            seen.append(to_batch(Image.open(message)).size)
        """,
    "what is set up when the service starts": """
        from torchvision.io import read_image
        labels = {}

        @app.on_event("startup")
        def read():
            for path in PATHS:
                labels[path] = read_image(path)
        """,
    "a rate": """
        import torchaudio

        class Recorder:
            def __init__(self):
                self.rates = []

            def on_file(self, path):
                sound, rate = torchaudio.load(path)
                self.rates.append(rate)
        """,
}
BUFFERS = """
import cupy as cp

kept = {{}}

def upload(frame, camera):
    block = cp.empty(frame.shape, frame.dtype)
    {}
    return block
"""


@pytest.mark.parametrize("name", GUILTY)
def test_what_stays(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


def test_the_best_of_several_objects_is_one_of_them() -> None:
    check(
        """
        class Track:
            def __init__(self):
                self.looks = []

        first, second = Track(), Track()
        model = Net()
        for frame in loader:
            best = max([first, second], key=lambda track: len(track.looks), default=None)
            best.looks.append(model(frame))  # TML102
        """
    )


def test_buffers_in_the_lists_of_a_table() -> None:
    check(BUFFERS.format("kept.setdefault(camera, []).append(block)  # TML702"), "import torch\n")
    check(BUFFERS.format("kept[camera].append(block)  # TML702"), "import torch\n")
    check(BUFFERS.format("kept[camera].append(block.sum().get())"), "import torch\n")
    check(BUFFERS.format("kept[camera].append(block)\n    kept[camera].pop(0)"), "import torch\n")
