"""Models that are taken out of a list which goes on having them."""

import pytest
from snippets import check

STAGES = """
import gc

@torch.no_grad()
def sample(x, models, stages):
    for i, steps in enumerate(stages):
        model = models[i]
        for t in steps:
            x = model(x)
        %s
        gc.collect()
        torch.cuda.empty_cache()
    return x
"""


@pytest.mark.parametrize(
    "gone",
    [
        "del model  # TML602",
        "model = None  # TML602",
        "models[i] = None; del model",
        "del model, models[i]",
        "models.pop(0); del model",
        "model = Net(); del model",
        "print(model)",
    ],
)
def test_a_model_that_the_list_still_has(gone: str) -> None:
    check(STAGES % gone)


def test_what_is_no_model() -> None:
    check((STAGES % "del table").replace("model = models[i]", "table = models[i]").replace("model(x)", "x * 2"))
