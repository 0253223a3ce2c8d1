"""Optimizers that a helper has made for a model, and that stay when the model goes."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CODE = """
import gc

def build{params}:
    {helper}

def run(data):
    {made}
    for x in data:
        net(x).sum().backward()
        optimizer.step()
    {gone}
    gc.collect()
    torch.cuda.empty_cache()
    other = nn.Linear(4096, 4096).cuda()
    print(other(data[0]).sum())
"""
NET = "net = nn.Linear(4096, 4096).cuda()\n    "
ADAM = "optimizer = torch.optim.Adam(net.parameters())\n    "
PLAN = "plan = torch.optim.lr_scheduler.StepLR(optimizer, 10)\n    "
TOGETHER = ("()", NET + ADAM + "return net, optimizer", "net, optimizer = build()")
PLANNED = ("(net)", ADAM + PLAN + "return optimizer, plan", NET + "optimizer, plan = build(net)")
OTHER_NAMES = ("(m)", (ADAM + PLAN + "return optimizer, plan").replace("net.", "m."), PLANNED[2])
THREE = ("()", NET + ADAM + "loss = nn.MSELoss()\n    return net, loss, optimizer", "net, loss, optimizer = build()")
LATER = (TOGETHER[0], TOGETHER[1], TOGETHER[2] + "\n    " + PLAN.strip())
GUILTY = {
    "made with it": (*TOGETHER, "del net  # TML604"),
    "made with it and a loss": (*THREE, "del net  # TML604"),
    "made for it": (*PLANNED, "del net  # TML604"),
    "under another name": (*OTHER_NAMES, "del net  # TML604"),
    "a plan of the helper's is left": (*PLANNED, "del net, optimizer  # TML604"),
    "a plan made here is left": (*LATER, "del net, optimizer  # TML604"),
}
TWO = ("(net, second)", PLANNED[1].replace("(net.", "(second."), NET + "optimizer, plan = build(net, data[0])")
FRESH = (
    "()",
    NET + "second = nn.Linear(8, 8)\n    optimizer = torch.optim.Adam(second.parameters())\n    return net, optimizer",
    TOGETHER[2],
)
INNOCENT = {
    "all go": (*TOGETHER, "del net, optimizer"),
    "all go, one by one": (*PLANNED, "del net\n    del optimizer\n    del plan"),
    "of another model": (*TWO, "del net"),
    "of a second model": (*FRESH, "del net"),
}


@pytest.mark.parametrize("name", GUILTY)
def test_optimizers_that_stay(name: str) -> None:
    params, helper, made, gone = GUILTY[name]
    check(CODE.format(params=params, helper=helper, made=made, gone=gone))


@pytest.mark.parametrize("name", INNOCENT)
def test_optimizers_that_go(name: str) -> None:
    params, helper, made, gone = INNOCENT[name]
    check_innocent(CODE.format(params=params, helper=helper, made=made, gone=gone))
