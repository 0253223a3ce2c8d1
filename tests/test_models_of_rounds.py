"""Loops that make a model in each round and empty the device cache: which are there while the next one is made."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

HEAD = "import gc\n"
FORMS = {
    "a round's model while the next one is built": """
        def build(width):
            return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 2)).cuda()

        def clean():
            gc.collect()
            torch.cuda.empty_cache()

        @torch.no_grad()
        def sweep(widths, loader):
            found = {}
            for width in widths:
                network = build(width)
                found[width] = sum(network(x).sum().item() for x in loader)
                clean()  # TML604
            return found
        """,
    "a round's model when the next one begins": """
        from transformers import AutoModelForCausalLM

        @torch.inference_mode()
        def rank(names, tokens):
            for name in names:
                torch.cuda.empty_cache()  # TML604
                lm = AutoModelForCausalLM.from_pretrained(name).cuda().eval()
                print(name, lm(tokens).logits.mean().item())
        """,
    "models of rounds that are wanted, deleted, moved, or there before": """
        SHARED = nn.Linear(8, 2)

        def shared():
            return SHARED

        @torch.no_grad()
        def sweep(widths, networks, x):
            best, highest = None, 0.0
            for width in widths:
                network = nn.Linear(8, width)
                score = network(x).sum().item()
                if score > highest:
                    best, highest = network, score
                torch.cuda.empty_cache()
            for width in widths:
                goes = nn.Linear(8, width)
                print(goes(x).sum().item())
                del goes
                torch.cuda.empty_cache()
            for width in widths:
                moved = nn.Linear(8, width).cuda()
                print(moved(x).sum().item())
                moved.cpu()
                torch.cuda.empty_cache()
            for width in widths:
                there = networks[width].cuda()
                print(there(x).sum().item())
                torch.cuda.empty_cache()
            for width in widths:
                one = shared()
                print(one(x).sum().item())
                torch.cuda.empty_cache()
            for width in widths:
                last = nn.Linear(8, width)
                print(last(x).sum().item())
                torch.cuda.empty_cache()
            return best, last
        """,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_models_of_rounds(form: str) -> None:
    check(HEAD + textwrap.dedent(form))
