"""Communication hooks which get at their wrapper by a weak reference, under the name that it has outside."""

from __future__ import annotations

import pytest
from snippets import check

TUNE = """
import weakref
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def reducing(ddp, steps):
    ref = {made}

    def hook(state, bucket):
        {inside}
        if not ddp.training:
            return None
        steps.append(bucket.index())
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future()

    return hook


def tune(rates, batches):
    for rate in rates:
        model = DDP(nn.Linear(64, 64))
        model.register_comm_hook(None, reducing(model, [])){mark}
        for batch in batches:
            model(batch).mean().backward()
"""


@pytest.mark.parametrize("inside", ["pass", "nonlocal ddp; ddp = ddp.train()"])
def test_the_wrapper_itself(inside: str) -> None:
    check(TUNE.format(made="None", inside=inside, mark="  # TML315"))


@pytest.mark.parametrize(
    ("made", "inside"), [("weakref.ref(ddp)", "ddp = ref()"), ("[weakref.proxy(ddp)]", "for ddp in ref: pass")]
)
def test_a_name_of_the_hooks_own(made: str, inside: str) -> None:
    check(TUNE.format(made=made, inside=inside, mark=""))
