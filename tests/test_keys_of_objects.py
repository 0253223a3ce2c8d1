"""A key that an object has, and that the function itself has worked out, is what it was worked out from."""

from __future__ import annotations

import pytest
from snippets import check

WORKER = """
import hashlib

class Worker:
    def __init__(self, encoder):
        self.encoder, self.cache = encoder.eval(), {{}}

    def key_of(self, text):
        return hashlib.sha256(text.encode()).hexdigest()

    @torch.inference_mode()
    def embed(self, images):
        for image in images:
            {key}
            if image.cache_key not in self.cache:
                self.cache[image.cache_key] = self.encoder(image.pixels){mark}
        return [self.cache[image.cache_key].norm().item() for image in images]

def main(requests):
    worker = Worker(Net())
    for request in requests:
        print(worker.embed(request.images))
"""


@pytest.mark.parametrize(
    ("key", "mark"),
    [
        ("image.cache_key = self.key_of(image.url)", "  # TML311"),
        ("image.cache_key = hashlib.sha256(image.data).hexdigest()", "  # TML311"),
        ("image.cache_key = image.pixels.shape", ""),
        ("image.cache_key = (image.width, image.height)", ""),
        ("pass", ""),  # one of a few, for all that is said
    ],
)
def test_keys_that_the_function_gives(key: str, mark: str) -> None:
    check(WORKER.format(key=key, mark=mark))
