"""Casts to another type, which hand the graph on or end it; helpers that move a batch; models that something is put
around; tails that a request leaves for the next piece. Each with what it is taken for."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent, codes

_NORM = """
class Whitening(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("level", torch.zeros(width))

    def forward(self, x):
        level = x.mean(0){cast}
        self.level = 0.9 * self.level + 0.1 * level{mark}
        return x - level

def main(steps):
    first, norm = nn.Linear(8, 8), Whitening(8)
    optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
    for _ in range(steps):
        loss = norm(first(torch.rand(4, 8))).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
_VOTES = """
def main(steps):
    net, votes = Net(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        out = net(torch.rand(4, 8))
        optimizer.zero_grad()
        out.pow(2).mean().backward()
        optimizer.step()
        votes.append(out.{cast}){mark}
    print(torch.cat(votes).float().mean())
"""
_PREDICT = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def {helper}(batch):
    return batch.to(device)

@torch.no_grad()
def predict(net, loader):
    found = []
    for x, _ in loader:
        found.append({kept}){mark}
    return torch.cat(found).cpu().numpy()
"""
_INJECT = """
class Injector(nn.Module):
    def __init__(self, model, rate):
        super().__init__()
        self.model, self.rate, self.ranges = model, rate, {{}}
        self.handles = []
        for name, layer in model.named_modules():
            if isinstance(layer, nn.Linear):
                self.ranges[name] = torch.zeros(64)
                {register}

    def spoil(self, name):
        def hook(layer, inputs, output):
            self.ranges[name] += output.abs().max(){marked}
            return output + self.rate
        return hook

    def forward(self, x):
        return self.model(x)

def main(steps):
    {before}
    for rate in range(steps):
        {each}
        injector = Injector(net, rate)
        {run}
        {after}
"""
_INJECTED = {
    "register": "layer.register_forward_hook(self.spoil(name))",
    "before": "net = Net()",
    "each": "pass",
    "run": "with torch.no_grad():\n            print(injector(torch.rand(2, 8)).sum().item())",
    "after": "pass",
    "marked": "",
}
_KEPT = {
    "register": "self.handles.append(layer.register_forward_hook(self.spoil(name)))",
    "after": "for handle in injector.handles:\n            handle.remove()",
}
_TAILS = """
class Voice:
    def __init__(self, net):
        self.net, self.tails = net.eval(), {{}}

    def piece(self, tokens, ticket):
        wave = self.net(tokens)
        if self.tails[ticket] is not None:
            wave = torch.cat([self.tails[ticket], wave], 1)
        self.tails[ticket] = wave[:, -4:]{mark}
        return wave

    @torch.inference_mode()
    def speak(self, pieces, ticket):
        self.tails[ticket] = None
        for tokens in pieces:
            yield self.piece(tokens, ticket)
        {after}

def main(steps):
    voice = Voice(nn.Linear(8, 64))
    for ticket in range(steps):
        print(sum(piece.shape[1] for piece in voice.speak(torch.rand(3, 1, 8), str(ticket))))
"""


@pytest.mark.parametrize("cast", [".type(x.dtype)", ".type(torch.float64)", '.type("torch.DoubleTensor")'])
def test_a_cast_by_type_hands_the_graph_on(cast: str) -> None:
    check(_NORM.format(cast=cast, mark="  # TML101"))
    check(_NORM.format(cast=".detach()" + cast, mark=""))


@pytest.mark.parametrize("cast", ["to(torch.long)", "to(dtype=torch.int64)", 'type("torch.LongTensor")'])
def test_what_is_cast_to_integers_has_no_graph(cast: str) -> None:
    check_innocent(_VOTES.format(cast=cast, mark=""))


@pytest.mark.parametrize("cast", ["to(torch.float16)", 'type("torch.HalfTensor")', "type(out.type())"])
def test_what_is_cast_to_another_float_has_one(cast: str) -> None:
    check(_VOTES.format(cast=cast, mark="  # TML102"))


@pytest.mark.parametrize("helper", ["to_gpu", "move_to_cuda", "to_cuda"])
def test_helper_that_puts_a_batch_on_the_device(helper: str) -> None:
    check(_PREDICT.format(helper=helper, kept=f"net({helper}(x))", mark="  # TML310"))
    check_innocent(_PREDICT.format(helper=helper, kept=f"net({helper}(x)).cpu()", mark=""))


def test_wrapper_of_each_round_hooks_the_model_that_stays() -> None:
    check(_INJECT.format(**{**_INJECTED, "register": _INJECTED["register"] + "  # TML304"}))


@pytest.mark.parametrize("change", [_KEPT, {"each": "net = Net()", "before": "pass"}], ids=["removed", "new model"])
def test_wrapper_whose_hooks_go(change: dict[str, str]) -> None:
    check_innocent(_INJECT.format(**{**_INJECTED, **change}))


def test_hook_that_only_runs_without_gradients_records_none() -> None:
    recording = {"run": "print(injector(torch.rand(2, 8)).sum().item())", "marked": "  # TML108"}
    check_innocent(_INJECT.format(**{**_INJECTED, **_KEPT}))
    check(_INJECT.format(**{**_INJECTED, **_KEPT, **recording}))


def test_tail_of_a_request_that_is_taken_out_again() -> None:
    check_innocent(_TAILS.format(after="self.tails.pop(ticket)", mark=""))
    check(_TAILS.format(after="pass", mark="  # TML309"))


_ASKED = """
class Sampler:
    def __init__(self, env, net):
        self.env, self.net, self.rows = env, net, []

    def step(self):
        parents = self.env.parents()
        loss = self.env.{method}(parents)
        self.rows.append(torch.stack(parents).type(torch.float32)){mark}

def train(sampler, optimizer, loader):
    for x, y in loader:
        F.mse_loss(sampler.net(x), y).backward()
        optimizer.step()
        sampler.step()

def main(env, loader):
    net = Net()
    train(Sampler(env, net), torch.optim.SGD(net.parameters(), lr=0.1), loader)
"""


def test_what_a_mask_is_asked_for_is_not_differentiated() -> None:
    assert not {"TML101", "TML102"} & codes(_ASKED.format(method="get_mask_backward", mark=""))
    assert "TML102" in codes(_ASKED.format(method="manual_backward", mark=""))


_PACKING = """
@torch.no_grad()
def packed(net, device):
    found = {{}}
    for name, layer in net.named_modules():
        if isinstance(layer, nn.Linear):
            weight = layer.weight.{moved}
            found[name] = weight * (127 / weight.abs().amax(1, keepdim=True)){mark}
    return found

def main(net, device, path):
    net = net.to(device)
    torch.save({{name: value.cpu() for name, value in packed(net, device).items()}}, path)
"""


@pytest.mark.parametrize("moved", ["to(layer.bias.dtype)", "to(torch.int8)", "float()"])
def test_weights_that_are_cast_where_they_are(moved: str) -> None:
    check_innocent(_PACKING.format(moved=moved, mark=""))
