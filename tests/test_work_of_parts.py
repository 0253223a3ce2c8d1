"""A part of a pipeline that goes for the memory before the other parts are run, while a name still has it."""

from __future__ import annotations

import pytest
from snippets import check

SCRIPT = """
import gc

class Pipe:
    def __init__(self, unet, text):
        self.unet, self.text, self.size = unet, text, 8

def main(prompts):
    text = nn.Linear(64, 64)
    pipe = Pipe(nn.Linear(64, 64), {text})
    with torch.no_grad():
        hidden = [pipe.text(one) for one in prompts]
    {goes}
    gc.collect()
    torch.cuda.empty_cache()
    with torch.no_grad():
        {work}
"""
RUNS = "return [pipe.unet(one) for one in hidden]"
CASES = {
    "none": ("text", "pipe.text = None  # TML604", RUNS),
    "deleted": ("text", "del pipe.text  # TML604", RUNS),
    "both": ("text", "pipe.text = text = None", RUNS),
    "nobody else has it": ("nn.Linear(64, 64)", "pipe.text = None", RUNS),
    "nothing is run afterwards": ("text", "pipe.text = None", "return len(hidden), pipe.size"),
}


@pytest.mark.parametrize("case", CASES)
def test_work_of_parts(case: str) -> None:
    text, goes, work = CASES[case]
    check(SCRIPT.format(text=text, goes=goes, work=work))
