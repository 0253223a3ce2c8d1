"""Modules that leave the device where they stand, and states that stay with who took them; each beside what they are
taken for."""

from __future__ import annotations

import pytest
from snippets import check

STAGE = """
    class Fitter:
        def __init__(self, net, rate):
            self.net, self.rate = net, rate

        def fit(self, x):
            return self.net(x).mean().item()

    def stage(x, device, offload):
        net = Net().to(device)
        {holder}
        score = x.numel()
        {leave}
        del net{mark}
        torch.cuda.empty_cache()
        return score + Fitter(Net(), 0.1).fit(x)
    """
HOLDERS = ["fitter = Fitter(net, 0.1)", "parts = {'student': net}"]
LEFT = [
    "net.cpu()",
    "net.to('cpu')",
    "net = net.to(device=torch.device('cpu'))",
    "net.half(); net.cpu(); net.eval()",
    "kept = net.cpu()",
]
STAYED = [
    "net.half()",
    "net.to(device)",
    "net.cpu(); net.cuda()",
    "net.cpu().to(device)",
    "if offload: net.cpu()",
]


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("leave", LEFT)
def test_models_that_left_the_device(holder: str, leave: str) -> None:
    check(STAGE.format(holder=holder, leave=leave, mark=""))


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("leave", STAYED)
def test_models_that_are_on_the_device(holder: str, leave: str) -> None:
    check(STAGE.format(holder=holder, leave=leave, mark="  # TML604"))


def test_a_layer_after_another() -> None:
    check("""
        def found(module, name=""):
            if type(module) in (nn.Conv2d, nn.Linear):
                return {name: module}
            parts = {}
            for key, child in module.named_children():
                parts.update(found(child, name=name + "." + key))
            return parts

        @torch.no_grad()
        def rounded(net, batches, device):
            layers = net.model.layers
            for index in range(len(layers)):
                layer = layers[index].to(device)
                linear = found(layer)
                for name in linear:
                    linear[name].weight.data = linear[name].weight.data.round()
                for batch in batches:
                    batch.copy_(layer(batch)[0])
                layers[index] = layer.cpu()
                del layer
                torch.cuda.empty_cache()
        """)


@pytest.mark.parametrize(
    ("put", "given", "mark"),
    [
        ("tensor.to(device)", "out", ""),
        ("tensor.cuda()", "out", ""),
        ("tensor.to(device).square()", "out", "  # TML310"),
        ("tensor.to(device)", "torch.stack(out)", "  # TML310"),
    ],
)
def test_what_a_function_moves_to_the_device(put: str, given: str, mark: str) -> None:
    check(f"""
        class Trainer:
            @staticmethod
            def moved(tensors, device):
                out = []
                for tensor in tensors:
                    if tensor is not None:
                        out.append({put}){mark}
                    else:
                        out.append(None)
                return {given}

            @torch.no_grad()
            def evaluate(self, net: nn.Module, loader: torch.utils.data.DataLoader, device):
                rows = []
                for graphs, wanted in loader:
                    wanted = {{key: self.moved(value, device) for key, value in wanted.items()}}
                    found = net(graphs.to(device))
                    for number in range(len(graphs)):
                        rows.append((found[number].cpu(), wanted["energy"][number].cpu()))
                return rows
        """)


@pytest.mark.parametrize(
    ("path", "taken", "mark"),
    [
        ("path", "optimizer.load_state_dict(state)", ""),
        ("path, map_location=device", "optimizer.load_state_dict(state)", ""),
        ("path, map_location='cpu'", "optimizer.load_state_dict(state)", "  # TML313"),
        ("path, map_location=device", "net.load_state_dict(state)", "  # TML313"),
        ("path, map_location=device", "ema.load_state_dict(state)", "  # TML313"),
    ],
)
def test_states_that_an_optimizer_takes_for_its_own(path: str, taken: str, mark: str) -> None:
    check(f"""
        def train(net, ema, path, loader, device):
            net.to(device)
            optimizer = torch.optim.AdamW(net.parameters())
            state = torch.load({path}){mark}
            {taken}
            for x, y in loader:
                loss = F.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """)


@pytest.mark.parametrize(("mapped", "mark"), [("'cpu'", "  # TML313"), ("device", "")])
def test_states_that_an_optimizer_takes_by_a_name_of_their_own(mapped: str, mark: str) -> None:
    check(f"""
        def train(net, path, loader, device):
            net.to(device)
            opt = torch.optim.AdamW(net.parameters())
            loaded = torch.load(path, map_location={mapped}){mark}
            opt_state = loaded.get("optimizer")
            opt.load_state_dict(opt_state)
            for x, y in loader:
                loss = F.mse_loss(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
        """)


@pytest.mark.parametrize(("owner", "mark"), [("drawn.sampler", ""), ("drawn", ""), ("net.head", "  # TML313")])
def test_states_that_what_draws_takes(owner: str, mark: str) -> None:
    """A sampler, or a loader that can be resumed, has numbers for a state."""
    check(f"""
        def draw(data, net, states=None):
            drawn = torch.utils.data.DataLoader(data, sampler=Resumed(data))
            if states is not None:
                {owner.replace("drawn", "train_loader")}.load_state_dict(states)
            return drawn

        def train(net, path, data):
            left = torch.load(path, map_location="cpu"){mark}
            drawn = draw(data, net, states=left)
            optimizer = torch.optim.AdamW(net.parameters())
            for x, y in drawn:
                loss = F.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """)
