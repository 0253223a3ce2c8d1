"""Names of a loop or a function that go while a list or the module goes on holding the model."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

STAGES = """
def refine(x, paths):
    {made}
    for {name} in {over}:
        {work}
        del {name}{mark}
        torch.cuda.empty_cache()
    return x
"""
MADE = "stages = [Net().cuda() for _ in paths]"
MARK = "  # TML602"


def _stages(
    made: str = MADE, name: str = "stage", over: str = "stages", work: str = "x = stage(x)", mark: str = ""
) -> str:
    return STAGES.format(made=made, name=name, over=over, work=work, mark=mark)


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"made": "stages = [Net().cuda(), Net().cuda()]"},
        {"made": "first, second = Net(), Net()\n    stages = (first, second)"},
        {"made": "models = [Net().cuda() for _ in paths]", "name": "model", "over": "models", "work": "x = run(model)"},
    ],
    ids=["a comprehension", "a list", "a tuple of names", "models by name"],
)
def test_models_of_a_list_that_was_made_before(kwargs: dict[str, str]) -> None:
    check(
        "def run(model):\n    with torch.no_grad():\n        return model(torch.ones(8))\n\n"
        + _stages(**kwargs, mark=MARK)
    )


@pytest.mark.parametrize(
    "kwargs",
    [
        {"made": "stages = (Net().cuda() for _ in paths)"},
        {"made": "pass", "over": "map(torch.load, paths)"},
        {"made": "pass", "name": "batch", "over": "paths", "work": "x = x + batch"},
        {"made": "rows = [torch.load(path) for path in paths]", "name": "row", "over": "rows", "work": "x = x + row"},
    ],
    ids=["one after the other", "loaded on the way", "of the caller", "no models"],
)
def test_models_that_nothing_else_holds(kwargs: dict[str, str]) -> None:
    check_innocent(_stages(**kwargs))


MODULE = """
import gc

_model = None

def load():
    global _model
    if _model is None:
        _model = Net().cuda()
    return _model

def unload():
    {says}
    model = {value}
    if model is not None:
        {work}
        del model{mark}
    gc.collect()
    torch.cuda.empty_cache()
"""


def test_another_name_of_a_global() -> None:
    check(MODULE.format(says='"""Free the device."""', value="_model", work="pass", mark=MARK))


@pytest.mark.parametrize(
    ("says", "value", "work"),
    [
        ("global _model", "_model", "_model = None"),
        ("pass", "_model", "model.cpu()"),
        ("pass", "_model", "print(model(torch.ones(8)).detach())"),
        ("pass", "Net().cuda()", "pass"),
    ],
    ids=["both", "on the host", "done with it", "a model of its own"],
)
def test_names_that_are_the_last(says: str, value: str, work: str) -> None:
    check_innocent(MODULE.format(says=says, value=value, work=work, mark=""))
