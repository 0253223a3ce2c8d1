"""What an evaluation gives for each of a few loaders, and what it gathers of their batches."""

from __future__ import annotations

import pytest
from snippets import check

BY_NAME = """
from tqdm import tqdm

def evaluate(model, loader, names):
    model.eval()
    {first}
    with torch.no_grad():
        for x, y in tqdm(loader):
            {each}
    {then}

def evaluate_all(model: nn.Module, loaders, names):
    found = {{}}
    for name, loader in zip(names, loaders):
        found[name] = evaluate(model, loader, names)
    return found

def main(model: nn.Module, loaders, names):
    for name, result in evaluate_all(model, loaders, names).items():
        print(name, {last})
"""
COUNTED = {
    "first": 'seen = torch.zeros(8, device="cuda")\n    right = torch.zeros(8, device="cuda")',
    "each": "found = model(x.cuda()).argmax(1)\n            seen += torch.bincount(found, minlength=8)\n"
    "            right += torch.bincount(found[found == y.cuda()], minlength=8)",
    "then": 'shares = right / seen\n    return {"class_%d" % i: share for i, share in enumerate(shares)}',
    "last": "{key: value.cpu() for key, value in result.items()}",
}


@pytest.mark.parametrize("change", [{}, {"then": 'return {"mean": right / seen, "seen": seen}'}])
def test_numbers_of_each_loader(change: dict[str, str]) -> None:
    check(BY_NAME.format(**COUNTED | change))


def test_results_that_the_evaluation_gathers_itself() -> None:
    check(
        BY_NAME.format(
            first="rows = []",
            each="rows.append(model(x.cuda()))  # TML310",
            then="return torch.cat(rows)",
            last="result.cpu()",
        )
    )


@pytest.mark.parametrize("helper", ["x.cuda()", "onto_device(x)"])
def test_batches_that_a_helper_brings_there(helper: str) -> None:
    check(
        f"""
        def onto_device(x):
            return x.cuda()

        @torch.no_grad()
        def predict(model: nn.Module, dataset):
            model.eval()
            rows = []
            for x, _ in dataset:
                rows.append(model({helper}))  # TML310
            return torch.cat(rows).cpu()
        """
    )
