"""What a pass leaves on its modules for a backward pass that does not come."""

from __future__ import annotations

import pytest
from snippets import check

AWAITED = {
    "a list of each layer": """
        class Engine:
            def __init__(self, model):
                self.handles = []
                for layer in model.modules():
                    if isinstance(layer, nn.Linear):
                        layer.activations = []
                        self.handles.append(layer.register_forward_hook(self.capture))
                        self.handles.append(layer.register_full_backward_hook(self.differentiate))

            def capture(self, layer, inputs, output):
                if not layer.training:
                    return
                layer.activations.append(inputs[0].detach())  # TML108

            def differentiate(self, layer, grad_in, grad_out):
                seen = layer.activations.pop()
                layer.weight.grad_sample = torch.einsum("ni,nj->nij", grad_out[0], seen)

            def remove(self):
                for handle in self.handles:
                    handle.remove()
    """,
    "a table of the module": """
        _inputs = defaultdict(list)

        def remember(module, args, output):
            _inputs[id(module)].append(args[0].detach())  # TML108

        def use(module, grad_input, grad_output):
            x = _inputs[id(module)].pop()
            module.norms = (x * grad_output[0]).sum(-1).norm()

        def attach(model):
            model.register_forward_hook(remember)
            model.register_full_backward_hook(use)
    """,
    "closures over a list": """
        def watch(layer, report):
            stack = []

            def forward_hook(module, args, output):
                stack.append(output.detach())  # TML108

            def backward_hook(module, grad_input, grad_output):
                report(stack.pop(), grad_output[0])

            return layer.register_forward_hook(forward_hook), layer.register_full_backward_hook(backward_hook)
    """,
    "a deque that the other end is taken from": """
        class Fisher:
            def __init__(self, layer):
                self.inputs = deque()
                self.ways = [
                    layer.register_forward_pre_hook(self._on_input),
                    layer.register_full_backward_hook(self._on_grad),
                ]
                self.total = 0.0

            def _on_input(self, layer, args):
                x = args[0].detach().clone()
                self.inputs.append(x)  # TML108

            def _on_grad(self, layer, grad_input, grad_output):
                self.total += (self.inputs.popleft().T @ grad_output[0]).pow(2).sum().item()

            def close(self):
                for way in self.ways:
                    way.remove()
    """,
    "the last entry deleted": """
        class Curvature:
            def __init__(self, model):
                self.kept = {name: [] for name, _ in model.named_modules()}
                self.norms = {}
                self.ways = []
                for name, layer in model.named_modules():
                    self.ways.append(layer.register_forward_hook(functools.partial(self.save, name)))
                    self.ways.append(layer.register_full_backward_hook(functools.partial(self.take, name)))

            def close(self):
                for way in self.ways:
                    way.remove()
                self.kept.clear()

            def save(self, name, layer, args, output):
                self.kept[name].append((args[0].detach(), output.detach()))  # TML108

            def take(self, name, layer, grad_input, grad_output):
                x, y = self.kept[name][-1]
                del self.kept[name][-1]
                self.norms[name] = (x.norm() * y.norm() * grad_output[0].norm()).item()
    """,
    "a hook of the output's gradient": """
        class Tracer:
            def __init__(self, layer):
                self.seen = []
                self.way = layer.register_forward_hook(self.enter)

            def close(self):
                self.way.remove()

            def enter(self, layer, args, output):
                self.seen.append(args[0].detach())  # TML108
                output.register_hook(self.leave)

            def leave(self, grad):
                x = self.seen.pop()
                print((x.mean() * grad.mean()).item())
    """,
    "kw hook, insert": """
        class Rec:
            def __init__(self, net):
                self.buf = []
                self.hs = [net.register_forward_hook(hook=self.f), net.register_full_backward_hook(hook=self.b)]

            def close(self):
                for h in self.hs:
                    h.remove()

            def f(self, mod, inp, out):
                self.buf.insert(0, out.detach())  # TML108

            def b(self, mod, gi, go):
                y = self.buf.pop(0)
                self.last = float((y * go[0]).sum())
""",
    "unpacked arg": """
        class Rec:
            def __init__(self, net):
                self.xs = []
                self.hs = [net.register_forward_pre_hook(self.f), net.register_full_backward_pre_hook(self.b)]

            def close(self):
                for h in self.hs:
                    h.remove()

            def f(self, mod, inp):
                (x,) = inp
                self.xs.append(x.detach())  # TML108

            def b(self, mod, go):
                self.last = float((self.xs.pop() * go[0]).sum())
""",
    "helper fills": """
        class Rec:
            def __init__(self, net):
                self.xs = []
                self.hs = [net.register_forward_hook(self.f), net.register_full_backward_hook(self.b)]

            def close(self):
                for h in self.hs:
                    h.remove()

            def _push(self, x):
                self.xs.append(x.detach())  # TML108

            def f(self, mod, inp, out):
                self._push(inp[0])

            def b(self, mod, gi, go):
                self.last = float((self.xs.pop() * go[0]).sum())
""",
    "lambda hooks": """
        class Rec:
            def __init__(self, net):
                self.xs = []
                self.hs = [  # TML108
                    net.register_forward_hook(lambda m, i, o: self.xs.append(i[0].detach())),
                    net.register_full_backward_hook(lambda m, gi, go: print(self.xs.pop().mean())),
                ]

            def close(self):
                for h in self.hs:
                    h.remove()
""",
    "setdefault": """
        class Rec:
            def __init__(self, net):
                self.table = {}
                self.hs = []
                for name, part in net.named_children():
                    self.hs.append(part.register_forward_hook(self.f))
                    self.hs.append(part.register_full_backward_hook(self.b))

            def close(self):
                for h in self.hs:
                    h.remove()

            def f(self, mod, inp, out):
                self.table.setdefault(mod, []).append(out.detach())  # TML108

            def b(self, mod, gi, go):
                self.last = float((self.table[mod].pop() * go[0]).sum())
""",
    "sums in module list": """
        KEPT = []

        def f(mod, inp, out):
            KEPT.append((mod, out))  # TML108

        def b(mod, gi, go):
            other, y = KEPT.pop()
            mod.score = float((y.detach() * go[0]).sum())

        def attach(net):
            return net.register_forward_hook(f), net.register_full_backward_hook(b)
""",
}

AWAITED_TWINS = {
    "only where gradients are on": AWAITED["a list of each layer"]
    .replace("not layer.training", "not layer.training or not torch.is_grad_enabled()")
    .replace("  # TML108", ""),
    "only of what needs gradients": """
        def watch(layer, report):
            stack = []

            def forward_hook(module, args, output):
                if output.requires_grad:
                    stack.append(output.detach())

            def backward_hook(module, grad_input, grad_output):
                report(stack.pop(), grad_output[0])

            return layer.register_forward_hook(forward_hook), layer.register_full_backward_hook(backward_hook)
    """,
    "emptied before each step": """
        class Fisher:
            def __init__(self, layer):
                self.inputs = deque()
                self.first = layer.register_forward_pre_hook(self._on_input)
                self.second = layer.register_full_backward_hook(self._on_grad)
                self.total = 0.0

            def close(self):
                self.first.remove()
                self.second.remove()

            def begin_step(self):
                self.inputs.clear()

            def _on_input(self, layer, args):
                self.inputs.append(args[0].detach().clone())

            def _on_grad(self, layer, grad_input, grad_output):
                self.total += (self.inputs.popleft().T @ grad_output[0]).pow(2).sum().item()
    """,
    "room for one": """
        class Fisher:
            def __init__(self, layer):
                self.inputs = deque(maxlen=1)
                self.first = layer.register_forward_pre_hook(self._on_input)
                self.second = layer.register_full_backward_hook(self._on_grad)
                self.total = 0.0

            def close(self):
                self.first.remove()
                self.second.remove()

            def _on_input(self, layer, args):
                self.inputs.append(args[0].detach())

            def _on_grad(self, layer, grad_input, grad_output):
                self.total += (self.inputs.pop().T @ grad_output[0]).pow(2).sum().item()
    """,
    "the names of the layers": """
        class Order:
            def __init__(self, model):
                self.names = []
                for name, layer in model.named_modules():
                    layer.register_forward_hook(functools.partial(self.enter, name))
                    layer.register_full_backward_hook(self.leave)

            def enter(self, name, layer, args, output):
                self.names.append(name)

            def leave(self, layer, grad_input, grad_output):
                self.names.pop()
    """,
    "the hook takes out what the last pass left": """
        class Fisher:
            def __init__(self, layer):
                self.inputs = []
                self.first = layer.register_forward_pre_hook(self._on_input)
                self.second = layer.register_full_backward_hook(self._on_grad)
                self.total = 0.0

            def close(self):
                self.first.remove()
                self.second.remove()

            def _on_input(self, layer, args):
                if self.inputs:
                    self.inputs.pop()
                self.inputs.append(args[0].detach())

            def _on_grad(self, layer, grad_input, grad_output):
                self.total += (self.inputs.pop().T @ grad_output[0]).pow(2).sum().item()
    """,
}


@pytest.mark.parametrize("snippet", AWAITED.values(), ids=list(AWAITED))
def test_kept_until_a_backward_pass(snippet: str) -> None:
    check(snippet)


@pytest.mark.parametrize("snippet", AWAITED_TWINS.values(), ids=list(AWAITED_TWINS))
def test_kept_for_no_backward_pass(snippet: str) -> None:
    check(snippet)
