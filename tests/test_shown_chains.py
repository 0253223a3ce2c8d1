"""Models that a cell shows by the way of methods which give the model back."""

from __future__ import annotations

import pytest
from snippets import check

NOTEBOOK = """
# %%
model = nn.Linear(512, 512)
{shown}

# %%
with torch.no_grad():
    norm = model(torch.rand(4, 512)).norm().item()

# %%
del model{mark}
torch.cuda.empty_cache()
"""
MARK = "  # TML802"


@pytest.mark.parametrize(
    ("shown", "mark"),
    [
        ("model.cuda().eval()", MARK),
        ('model.to("cuda").half().eval()', MARK),
        ("model.cuda().eval();", ""),
        ("model = model.cuda().eval()", ""),
        ("model.cuda().eval().training", ""),
    ],
)
def test_shown_chains(shown: str, mark: str) -> None:
    check(NOTEBOOK.format(shown=shown, mark=mark))
