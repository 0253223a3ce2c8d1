"""Numbers that stand beside a loss: what it is scaled with, and what a helper hands out with it for the record."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

SNIPPETS = {
    "a factor that is called after the loss": """
        class Critic:
            def update(self, loader, optimizer):
                totals = {"value": 0.0}
                for batch in loader:
                    value_loss, clipped = find_terms(batch)
                    if self.dynamic:
                        loss_scale_factor = batch["mask"].shape[0] / self.size
                        loss = value_loss * loss_scale_factor
                    else:
                        loss_scale_factor = 1 / self.accumulate
                        loss = value_loss * loss_scale_factor
                    loss.backward()
                    optimizer.step()
                    totals["value"] += value_loss.detach().item() * loss_scale_factor
                return totals
        """,
    "a weight that is called after the loss": """
        def train(loader, optimizer, schedule):
            weights = 0.0
            for step, batch in enumerate(loader):
                loss_weight = schedule.at(step)
                loss = find_terms(batch) * loss_weight
                loss.backward()
                optimizer.step()
                weights += loss_weight
            return weights
        """,
    "the loss beside its weight": """
        def train(loader, optimizer, schedule):
            total = 0.0
            for step, batch in enumerate(loader):
                loss_weight = schedule.at(step)
                rank_loss = find_terms(batch)
                loss = rank_loss * loss_weight
                loss.backward()
                optimizer.step()
                total += rank_loss  # TML101
            return total
        """,
    "what a loss is divided by where it is back-propagated": """
        def train(loader, optimizer, sizes):
            tokens = 0
            for batch in loader:
                optimizer.zero_grad()
                loss = find_terms(batch)
                count = sizes.of(batch)
                (loss / count).backward()
                optimizer.step()
                tokens += count
            return tokens
        """,
    "what a loss is multiplied with where it is back-propagated": """
        def train(loader, optimizer, schedule):
            seen = 0
            for step, batch in enumerate(loader):
                loss = find_terms(batch)
                share = schedule.at(step)
                (share * loss).backward()
                optimizer.step()
                seen += share
            return seen
        """,
    "a loss that is divided where it is back-propagated": """
        def train(loader, optimizer, sizes):
            total = 0
            for batch in loader:
                found = find_terms(batch)
                count = sizes.of(batch)
                (found / count).backward()
                optimizer.step()
                total += found  # TML101
            return total
        """,
    "what an unseen loss gives for the record": """
        from losses import pair_loss

        def train(loader, optimizer):
            model, total, margin = Net(), 0.0, 0.0
            for batch in loader:
                loss, metrics = pair_loss(model(batch), batch)
                loss.backward()
                optimizer.step()
                total += loss.item()
                margin += metrics["margin"]
            return total, margin
        """,
    "the parts of an unseen loss": """
        from losses import pair_loss

        def train(loader, optimizer):
            model, total, margin = Net(), 0.0, 0.0
            for batch in loader:
                loss, parts = pair_loss(model(batch), batch)
                loss.backward()
                optimizer.step()
                total += loss.item()
                margin += parts["margin"]  # TML101
            return total, margin
        """,
}
_LONG = "\n".join(f"    step_{number} = model.scale + {number}" for number in range(300))
_TERMS = f"""
import torch
import torch.nn.functional as F


def cut(model, batch):
{_LONG}
    return [(x.detach(), y.detach()) for x, y in batch]


def pair_loss(model, batch, bias){{hint}}:
    total, margins = 0.0, []
    metrics = {{{{"margin": 0.0, "pairs": 0}}}}
    batch = [pair for pair in batch if pair is not None]
    metrics["pairs"] += len(batch)
    for x, y in batch:
        margin = model(x) - model(y)
        total = total + -F.logsigmoid(margin + bias)
        margins.append(margin.mean())
        metrics["margin"] += margin.mean().item()
    return total / len(batch), {{given}}
"""
_TRAINER = """
import torch
from torch import nn

from terms import cut, pair_loss


def train(loader, optimizer):
    model, total, margin = nn.Linear(8, 1), 0.0, 0.0
    for batch in loader:
        loss, found = pair_loss(model, cut(model, batch), model(batch).mean())
        loss.backward()
        optimizer.step()
        total += loss.item()
        margin += found["margin"]
    return total, margin
"""
_ADDED = _TRAINER.replace("loss.item()", "loss  # TML101")


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name])


@pytest.mark.parametrize("hint", ["", " -> tuple[torch.Tensor, dict[str, float]]"])
@pytest.mark.parametrize("trainer", [_TRAINER, _ADDED], ids=["numbers", "the-loss"])
def test_what_a_long_helper_returns_beside_the_loss(
    hint: str, trainer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The helper takes more steps than what is run of other files."""
    files = {"terms.py": _TERMS.format(hint=hint, given="metrics"), "train.py": trainer}
    check_project(files, tmp_path, monkeypatch)


def test_a_tensor_that_a_long_helper_returns_beside_the_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hint = " -> tuple[torch.Tensor, torch.Tensor]"
    trainer = _TRAINER.replace('found["margin"]', "found  # TML101")
    files = {"terms.py": _TERMS.format(hint=hint, given="torch.stack(margins)"), "train.py": trainer}
    check_project(files, tmp_path, monkeypatch)


@pytest.mark.parametrize(("given", "mark"), [("loss_sum.item()", ""), ("loss_kept", ""), ("loss_sum", "  # TML101")])
def test_a_second_loss_that_a_long_helper_returns(
    given: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = (
        _TERMS.format(hint="", given=given)
        .replace("total", "loss_sum")
        .replace("    return", "    loss_kept = loss_sum.item()\n    return")
    )
    trainer = _TRAINER.replace('found["margin"]', f"found{mark}")
    check_project({"terms.py": terms, "train.py": trainer}, tmp_path, monkeypatch)


_RECORDED = """
    def train(model, draw, optimizer, every):
        kept = []
        for step in range(1000):
            x, y = draw(step)
            optimizer.zero_grad()
            loss, {name} = model{call}(x, y)
            loss.backward()
            optimizer.step()
            kept.append({name}){mark}
            if step % every == 0:
                print(len(kept))
    """


@pytest.mark.parametrize("call", ["", ".forward"])
def test_a_record_beside_the_loss_of_a_model_that_is_not_seen(call: str) -> None:
    for name in ("log", "train_stats", "metrics"):
        check(_RECORDED.format(name=name, call=call, mark=""))
    for name in ("logits", "second"):
        check(_RECORDED.format(name=name, call=call, mark="  # TML102"))


_GATED = """
    class Mixture(nn.Module):
        def __init__(self, gate, expert):
            super().__init__()
            self.gate = gate
            self.expert = expert

        def forward(self, x):
            aux, {place} = self.gate(x){mark}
            return self.expert(x), aux
    """


def test_what_is_about_what_a_gate_gives() -> None:
    check(_GATED.format(place="self.metadata", mark=""))
    check(_GATED.format(place="self.weights", mark="  # TML108"))


_REDUCED = """
import torch
import torch.distributed as dist

def reduce_all(given):
    if dist.get_world_size() < 2:
        return given
    with torch.no_grad():
        names, values = [], []
        for name{both} in {over}:
            names.append(name)
            values.append({value}){mark}
        values = torch.stack(values, 0)
        dist.reduce(values, dst=0)
    return dict(zip(names, values))
"""
_REDUCING = """
import torch
from torch import autograd, nn, optim
from ranks import reduce_all

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 2)

    def forward(self, x):
        return self.layer(x)

def slope(scores, x):
    (grad,) = autograd.grad(outputs=scores.sum(), inputs=x, create_graph=True)
    return grad.pow(2).sum()

def train(loader, critic, optimizer):
    losses = {}
    for _ in range(1000):
        x = next(loader)
        loss = torch.relu(1 - critic(x)).mean()
        losses["loss"] = loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        x.requires_grad = True
        steep = slope(critic(x), x)
        optimizer.zero_grad()
        steep.backward()
        optimizer.step()
        losses["steep"] = steep
        print(reduce_all(losses)["steep"].item())

if __name__ == "__main__":
    net = Net()
    train(iter([]), net, optim.Adam(net.parameters()))
"""
_WAYS = [
    ("", "sorted(given.keys())", "given[name]"),
    (", value", "given.items()", "value"),
    ("", "given", "given[name]"),
]


@pytest.mark.parametrize(("both", "over", "value"), _WAYS)
def test_a_table_of_losses_that_a_helper_lists(
    both: str, over: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = _REDUCED.format(both=both, over=over, value=value, mark="")
    check_project({"ranks.py": helper, "train.py": _REDUCING}, tmp_path, monkeypatch)


_TOLD = """
    import collections
    class Tracker(collections.defaultdict):
        def __init__(self):
            super().__init__(int)

        def __add__(self, other):
            whole = Tracker()
            for key, value in self.items():
                whole[key] = value
            for key, value in other.items():
                whole[key] = whole[key] + value
            return whole

    def find_loss(model: nn.Module, batch, training):
        with torch.set_grad_enabled(training):
            {targets} = model(batch["inputs"], batch["lengths"])
        told = Tracker()
        told["loss"] = loss.detach().item()
        {note}
        return loss, told

    def train(model: nn.Module, optimizer, loader):
        total = Tracker()
        for batch in loader:
            loss, told = find_loss(model, batch, True)
            total = total + told{mark}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return total
    """


def test_counts_and_records_that_a_model_gives_beside_a_loss_that_others_back_propagate() -> None:
    for name in ("tot_frames", "total_tokens", "acc", "char_accuracy", "ppl", "n_right", "logging_output"):
        check(_TOLD.format(targets=f"loss, {name}", note=f'told["more"] = {name}', mark=""))
    copied = "for key in log:\n            told[key] = log[key]"
    check(_TOLD.format(targets="loss, seen_mask, log", note=copied, mark=""))


def test_tensors_that_a_model_gives_beside_a_loss_that_others_back_propagate() -> None:
    for name in ("total_score", "frames", "penalty", "extra"):
        check(_TOLD.format(targets=f"loss, {name}", note=f'told["more"] = {name}', mark="  # TML101"))
    copied = "for key in parts:\n            told[key] = parts[key]"
    check(_TOLD.format(targets="loss, seen_mask, parts", note=copied, mark="  # TML101"))
