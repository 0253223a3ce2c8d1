"""What public training code gets back from a network's own step and keeps: of a table of results one entry is
back-propagated, which says nothing of the boxes beside it; each beside a kept loss."""

from __future__ import annotations

import pytest
from snippets import check

_RESULTS = """
def train(networks, config, batches):
    net = networks.net(config).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(10):
        kept = []
        net.train()
        for batch in batches:
            results = net.{step}(batch)
            optimizer.zero_grad()
            results["total_loss"].backward()
            optimizer.step()
            kept.append([results["{entry}"], batch["name"]]){mark}
        report(kept)
"""
_MARK = "  # TML102"


@pytest.mark.parametrize(
    ("step", "entry", "mark"),
    [
        ("train_forward", "boxes", ""),
        ("train_forward", "total_loss", _MARK),
        ("train_forward", "aux_loss", _MARK),
        ("forward", "boxes", _MARK),
    ],
)
def test_entries(step: str, entry: str, mark: str) -> None:
    check(_RESULTS.format(step=step, entry=entry, mark=mark))


_MADE = """
def evaluate(networks, config, batches):
    net = networks.net(config).cuda()
    {use}
    kept = []
    for batch in batches:
        kept.append({value}){mark}
    return torch.cat(kept).argmax().item()
"""


def test_what_has_parameters_is_a_network_and_no_result() -> None:
    check(
        _MADE.format(
            use="net.eval()\n    print(len(list(net.parameters())))", value="batch.mean() * net.scale", mark=""
        )
    )
    check(_MADE.format(use="net.eval()\n    print(len(list(net.parameters())))", value="net(batch)", mark=_MARK))


_CARRIED = """
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x, hidden):
        hidden = self.layer(hidden)
        return self.layer(x) + hidden, hidden

def adapt(frames, labels):
    net = Memory().cuda()
    net.eval()
    optimizer = torch.optim.AdamW(net.parameters())
    value, hidden = net(frames[0], torch.zeros(1, 8))
    losses = {{}}
    for i, frame in enumerate(frames):
        logits, hidden = net(value, hidden)
        if i < len(frames) - 1:
            more, {name} = net(frame, hidden){mark}
            {use}
        losses[f"ce_{{i}}"] = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    total = sum(losses.values())
    total.backward()
    optimizer.step()
    print(total.item())
"""


def test_what_a_round_makes_for_the_next_one_is_differentiated_there() -> None:
    check(_CARRIED.format(name="hidden", use="value = torch.cat([value, more])", mark=""))
    check(_CARRIED.format(name="other", use="print(more.mean().item())", mark="  # TML201"))


_NAMED_TERMS = """
class Trainer:
    def __init__(self, net, weights):
        self.net = net.cuda()
        self.losses = {{}}
        self.weights = weights

    def compare(self, data):
        one, other = self.net(data["a"]), self.net(data["b"])
        {start}
        if "same" in self.weights:
            names = [{names}]
            for name in names:
                self.losses["same"] += torch.pow(one[name] - other[name], 2).mean(){mark}
"""


def test_a_sum_over_a_few_names_starts_anew_with_each_call() -> None:
    anew, once = 'self.losses["same"] = torch.tensor(0.0)', 'self.losses.setdefault("same", 0.0)'
    names = '"first", "second", "third", "fourth"'
    check(_NAMED_TERMS.format(start=anew, names=names, mark=""))
    check(_NAMED_TERMS.format(start=once, names=names, mark="  # TML101"))


_TABLES = """
class Depth(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.kept = {{}}

    def forward(self, batch_dict):
        batch_dict["{first}"] = self.conv(batch_dict["image"])
        self.kept["last"] = batch_dict["{second}"]{mark}
        return batch_dict
"""


def test_what_is_written_to_a_batch_under_a_name_is_not_its_labels() -> None:
    check(_TABLES.format(first="logits", second="depth_maps", mark=""))
    check(_TABLES.format(first="logits", second="logits", mark="  # TML108"))
