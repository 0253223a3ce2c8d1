"""What a method moves in the entry of a cache that it hands out, stays there, however it is written."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

VIEWS = """
def onto(image, device):
    if image.dtype == torch.uint8:
        image = image.to(device).float()
    return image

def onto_host(image, device):
    return image.to(device).float().cpu()

class Views:
    def __init__(self, paths, device):
        self.device = device
        self.views = [torch.load(path) for path in paths]
        self.order = list(range(len(paths)))

    def as_floats(self, image):
        return image.to(self.device, non_blocking=True) / 255

    def as_bytes(self, image):
        return image.to(torch.uint8)

    def next_view(self, step):
        view = {entry}
        {body}
"""
MOVED = {
    "and made of it": 'view["image"] = view["image"].to(self.device).float() / 255.0{}\nreturn view',
    "by a method": 'view["image"] = self.as_floats(view["image"]){}\nreturn view',
    "by a function": 'view["image"] = onto(view["image"], self.device){}\nreturn step, view',
    "by a helper of a library": 'view["image"] = send_to_device(view["image"], self.device){}\nreturn view',
    "each part": "for key, part in view.items():\n    view[key] = part.to(self.device){}\nreturn view",
    "an attribute": "view.image = view.image.cuda(){}\nreturn view",
}
NOT_MOVED = {
    "a copy of the same name": 'view = view.copy()\nview["image"] = self.as_floats(view["image"])\nreturn view',
    "a name of its own": 'image = self.as_floats(view["image"])\nreturn image, view["pose"]',
    "another type": 'view["image"] = self.as_bytes(view["image"])\nreturn view',
    "back to the host": 'view["image"] = onto_host(view["image"], self.device)\nreturn view',
    "to the host": 'view["image"] = send_to_device(view["image"], "cpu")\nreturn view',
    "parts of its own": "out = {}\nfor key, part in view.items():\n    out[key] = part.to(self.device)\nreturn out",
}
ANEW = """
    def reload(self, paths):
        self.views = [torch.load(path) for path in paths]
"""


def _views(body: str, entry: str = "self.views[self.order[step]]") -> str:
    return VIEWS.format(entry=entry, body=body.replace("\n", "\n        "))


@pytest.mark.parametrize("name", MOVED)
def test_entries_that_stay_where_they_are_moved_to(name: str) -> None:
    check(_views(MOVED[name].format("  # TML310")))


@pytest.mark.parametrize("name", NOT_MOVED)
def test_entries_that_stay_as_they_are(name: str) -> None:
    check_innocent(_views(NOT_MOVED[name]))


@pytest.mark.parametrize("entry", ["dict(self.views[step])", "self.views[step].copy()", "torch.load(self.paths[step])"])
def test_copies_of_entries(entry: str) -> None:
    check_innocent(_views(MOVED["by a method"].format(""), entry))


def test_entries_that_are_loaded_anew() -> None:
    check_innocent(_views(MOVED["by a method"].format("")) + ANEW)
