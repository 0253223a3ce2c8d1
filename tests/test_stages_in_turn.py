"""Stages that each make a model, run it and let it go: what the clean-up meant, and what is left beside it."""

from __future__ import annotations

import pytest
from snippets import check

STAGES = """
import gc

def clean():
    gc.collect()
    torch.cuda.empty_cache()

{mode}
def annotate(frames):
    separator = nn.Linear(64, 64).cuda()
    vocals = separator(frames)
    {first}
    clean()
    recogniser = nn.Linear(64, 8).cuda()
    logits = recogniser(vocals)
    {second}
    clean(){due}
    aligner = nn.Linear(8, 2).cuda()
    return aligner(logits).argmax(-1).tolist()
"""
NO_GRAPH = "@torch.inference_mode()"


@pytest.mark.parametrize(
    ("mode", "second", "due"),
    [
        (NO_GRAPH, "del recogniser", ""),  # a spent activation beside it is no mistake
        (NO_GRAPH, "recogniser = None", ""),
        (NO_GRAPH, "print(logits.shape)", "  # TML604"),  # nothing at all goes
        (NO_GRAPH, "del vocals, recogniser", ""),
    ],
)
def test_what_a_stage_leaves(mode: str, second: str, due: str) -> None:
    check(STAGES.format(mode=mode, first="del separator", second=second, due=due))


def test_what_a_stage_leaves_with_its_graph() -> None:
    """`vocals` has the parameters of the separator, though that is gone."""
    check("""
    def annotate(frames):
        separator = nn.Linear(64, 64).cuda()
        vocals = separator(frames)
        print(vocals.mean())
        del separator
        torch.cuda.empty_cache()  # TML604
        aligner = nn.Linear(64, 2).cuda()
        with torch.no_grad():
            return aligner(frames).argmax(-1).tolist()
    """)
