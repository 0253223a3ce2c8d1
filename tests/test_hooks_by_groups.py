"""Hooks that find the parameters in an optimizer's groups: those of the module that it was made for."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SEARCH = """
class Compressed:
    def __init__(self, inner):
        self.inner, self.error, self.handles = inner, {{}}, []
        {each}
                self.error[p] = torch.zeros_like(p)
                {put}

    def fold(self, p):
        self.error[p] = p.grad + self.error[p]

    def close(self):
        for handle in self.handles:
            handle.remove()


def build(net, rate):
    return torch.optim.Adam(net.parameters(), lr=rate)


def attempt(net, rate, batches):
    {made}
    for x in batches:
        net(x).sum().backward()
        opt.inner.step()
    {end}


def main():
    net = Net()
    batches = [torch.randn(4, 8) for _ in range(10)]
    for rate in torch.linspace(0.001, 0.1, 50).tolist():
        attempt(net, rate, batches)


if __name__ == "__main__":
    main()
"""
MARK = "  # TML304"
PUT = "p.register_post_accumulate_grad_hook(self.fold)"
PLAIN = {"each": "for group in inner.param_groups:\n            for p in group['params']:",
         "put": PUT + MARK,
         "made": "opt = Compressed(torch.optim.SGD(net.parameters(), lr=rate))", "end": "pass"}  # fmt: skip
KEPT = "self.handles.append(p.register_post_accumulate_grad_hook(self.fold))"


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"each": "for number, group in enumerate(self.inner.param_groups):\n            for p in group['params']:"},
        {"each": "if True:\n            for p in inner.param_groups[0]['params']:"},
        {"each": "if True:\n            for p in [q for group in inner.param_groups for q in group['params']]:"},
        {"put": "p.register_hook(lambda grad, p=p: self.fold(p))" + MARK},
        {"made": "opt = Compressed(build(net, rate))"},
        {"made": "sgd = torch.optim.SGD([{'params': net.parameters(), 'lr': rate}])\n    opt = Compressed(sgd)"},
        {"made": "opt = Compressed(torch.optim.SGD([p for p in net.parameters() if p.requires_grad], rate))"},
    ],
)
def test_on_what_stays(change: dict[str, str]) -> None:
    check(SEARCH.format(**PLAIN | change))


@pytest.mark.parametrize(
    "change",
    [
        {"put": KEPT, "end": "opt.close()"},
        {"made": "net = Net()\n    opt = Compressed(torch.optim.SGD(net.parameters(), lr=rate))"},
        {"made": "layer = nn.Linear(2, 2)\n    opt = Compressed(build(layer, rate))"},
        {"put": "p.register_post_accumulate_grad_hook(lambda p: p.grad.clamp_(-1, 1))"},
    ],
)
def test_taken_out_or_on_what_goes(change: dict[str, str]) -> None:
    check_innocent(SEARCH.format(**PLAIN | {"put": PUT} | change))


def test_never_told_to() -> None:
    check(SEARCH.format(**PLAIN | {"put": KEPT, "made": PLAIN["made"] + MARK}))


OWN = """
class Compressed(torch.optim.{base}):
    def __init__(self, params, rate):
        super().__init__(params, {given})
        self.error = {{}}
        for group in self.param_groups:
            for p in group["params"]:
                p.register_post_accumulate_grad_hook(self.fold){mark}

    def fold(self, p):
        self.error[p] = p.grad + self.error.get(p, 0.0)


def attempt(net, rate):
    {made}
    opt = Compressed(net.parameters(), rate)
    net(torch.randn(4, 8)).sum().backward()
    opt.step()


def main():
    net = Net()
    for rate in torch.linspace(0.001, 0.1, 50).tolist():
        attempt(net, rate)


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("base", "given"), [("SGD", "lr=rate"), ("Optimizer", "dict(lr=rate)")])
def test_of_an_optimizer_of_the_project(base: str, given: str) -> None:
    check(OWN.format(base=base, given=given, made="pass", mark=MARK))
    check_innocent(OWN.format(base=base, given=given, made="net = Net()", mark=""))


@pytest.mark.parametrize(
    "loop",
    [
        "for i, layer in enumerate(net):",
        "for i in range(20):\n        layer = net[i]",
        "for i in range(20):\n        layer = net.get_submodule(str(i))",
        "for i, p in enumerate(net.parameters()):\n        layer = nn.Module()\n        layer.weight = p",
    ],
)
def test_of_another_layer_each(loop: str) -> None:
    check_innocent(
        f"""
        class Watch:
            def __init__(self, inner):
                self.inner, self.norms = inner, {{}}
                for group in inner.param_groups:
                    for p in group["params"]:
                        p.register_post_accumulate_grad_hook(self.note)

            def note(self, p):
                self.norms[p] = p.grad.clone()


        def main():
            net = nn.ModuleList([nn.Linear(8, 8) for _ in range(20)])
            watches = []
            {loop.replace(chr(10), chr(10) + "        ")}
                watches.append(Watch(torch.optim.SGD(layer.parameters(), lr=0.1 * i)))
            return watches


        main()
        """
    )
