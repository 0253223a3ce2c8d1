"""Lists that gain what each batch gives, and that are only counted."""

from __future__ import annotations

import pytest
from snippets import check

JOB = """
@dataclasses.dataclass
class Find:
    box: list
    crop: torch.Tensor

def cut(image, boxes):
    return [Find(box, image[:, : int(box[0])].contiguous()) for box in boxes.tolist()]

@torch.no_grad()
def work(detector, classifier, loader):
    finds = []
    for images in loader:
        batch = []
        for image, boxes in zip(images, detector(images)):
            batch.extend(cut(image, boxes))
        scores = classifier(torch.stack([find.crop for find in batch]))
        post(scores.argmax(1).tolist())
        {adds}
    {then}

def main(paths):
    detector, classifier = nn.Conv2d(3, 4, 8), nn.Sequential(nn.Flatten(), nn.Linear(192, 7))
    work(detector, classifier, torch.utils.data.DataLoader([torch.rand(3, 64, 64) for _ in range(8)]))
"""


@pytest.mark.parametrize(
    ("adds", "then"),
    [
        ("finds.extend(batch)  # TML310", "print(len(finds))"),
        ("finds.extend(batch)  # TML310", "print(f'{len(finds)} finds')"),
        ("finds += batch  # TML310", "return len(finds) > 0"),
        ("finds.extend(batch)", "return finds"),
        ("finds.extend(batch)", "print(len(finds), finds[-1].box)"),
        ("finds.extend(batch)", "return [find.box for find in finds]"),
        ("finds.extend(batch)", "report(finds)"),
        ("finds.extend(batch); finds.clear()", "print(len(finds))"),
        ("finds.extend(batch)", "return lambda: finds"),
        ("finds.extend(find.box for find in batch)", "print(len(finds))"),
        ("finds.extend(scores.argmax(1).tolist())", "print(len(finds))"),
        ("finds.append(scores.shape)", "print(len(finds))"),
    ],
)
def test_what_nobody_looks_into(adds: str, then: str) -> None:
    check("import dataclasses\n" + JOB.format(adds=adds, then=then))


def test_it_is_there_to_keep() -> None:
    check("""
@torch.no_grad()
def warm_up(model, loader):
    keep_alive = []
    for x in loader:
        keep_alive.append(model(x))
    torch.cuda.synchronize()
""")


SERVED = """
class Served:
    def __init__(self, model, most):
        self.model, self.most = model, most
        self.waiting, self.running = collections.deque(), []

    def put(self, x):
        self.waiting.append(x)

    def fill(self):
        while self.waiting and len(self.running) < self.most:
            self.running.append(self.waiting.popleft())

    @torch.no_grad()
    def step(self):
        self.fill()
        going_on = []
        for x in self.running:
            if self.model(x).mean() < 0:
                going_on.append(x)
        self.running = going_on

def main(rounds):
    served = Served(nn.Linear(8, 8), 4)
    for _ in range(rounds):
        served.put(torch.rand(4, 8))
        served.step()
"""


def test_a_list_that_an_attribute_has_got() -> None:
    check(SERVED)
