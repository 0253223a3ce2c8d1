"""Results of all ranks that come by a helper of a helper, in a tuple, into an entry, or cut to length."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

EVALUATOR = """
import numpy as np
import torch.distributed as dist

def gather(rows):
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, rows)
    return found

def merge(ids, masks):
    everyone = gather(masks)
    masks = np.concatenate(everyone, 0)
    return sorted(set(ids)), masks[np.argsort(ids)]

def joined(masks):
    everyone = gather(masks)
    return np.concatenate(everyone, 0)

class Evaluator:
    def __init__(self, kinds):
        self.kinds, self.ids, self.masks = kinds, [], {{kind: [] for kind in kinds}}

    def update(self, found):
        for kind in self.kinds:
            self.masks[kind].append(found[kind].cpu().numpy())

    def synchronize(self, kind):
        masks = np.concatenate(self.masks[kind], 0)
{synchronize}

    def summarize(self):
        return {{kind: masks.mean() for kind, masks in self.masks.items()}}

@torch.no_grad()
def evaluate(net, loader):
    evaluator = Evaluator(["boxes", "masks"])
    for x in loader:
        evaluator.update(net(x))
    for kind in evaluator.kinds:
        evaluator.synchronize(kind)
{reads}
"""
BY_ONE = "if dist.get_rank() == 0:\n    print(evaluator.summarize())"
FORMS = {
    "a helper of a helper": ("self.masks[kind] = joined(masks)  # TML410", BY_ONE),
    "in a tuple": ("self.ids, self.masks[kind] = merge(self.ids, masks)  # TML410", BY_ONE),
    "joined there": ("self.masks[kind] = np.concatenate(gather(masks), 0)  # TML410", BY_ONE),
    "cut to length": (
        "rows = gather(masks)\nself.masks[kind] = np.concatenate(rows)[: len(self.ids)]  # TML410",
        BY_ONE,
    ),
    "read by all": ("self.ids, self.masks[kind] = merge(self.ids, masks)", "print(evaluator.summarize())"),
    "only the numbers are kept": ("self.ids, _ = merge(self.ids, masks)", BY_ONE),
    "the mean is kept": ("self.masks[kind] = np.concatenate(gather(masks), 0).mean()", BY_ONE),
    "an entry is kept": ("self.masks[kind] = joined(masks)[0]", BY_ONE),
}


@pytest.mark.parametrize(("synchronize", "reads"), FORMS.values(), ids=FORMS)
def test_who_reads_what_was_merged(synchronize: str, reads: str) -> None:
    check(EVALUATOR.format(synchronize=textwrap.indent(synchronize, 8 * " "), reads=textwrap.indent(reads, 4 * " ")))
