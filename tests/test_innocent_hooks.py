"""Innocent hooks, listeners and handlers of signals: taken out in time, or put on once."""

from __future__ import annotations

import pytest
from snippets import check_innocent, check_syntax

INNOCENT = {
    "what a hook leaves on an object of the call that takes it out again": """
        class Capture:
            def __init__(self):
                self.activation = None

        def attribute(net, layer, x):
            capture = Capture()

            def keep(module, inputs, output):
                capture.activation = output

            handle = layer.register_forward_hook(keep)
            try:
                out = net(x)
                grad = torch.autograd.grad(out.sum(), capture.activation)[0]
            finally:
                handle.remove()
            return (grad * capture.activation).sum().detach()

        def main(steps):
            net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))
            for _ in range(steps):
                attribute(net, net[0], torch.rand(4, 8))
        """,
    "what a hook leaves is read where gradients are off, as in the pass before": """
        from parts import find, load

        class Attention(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.model, self.query = load(name), None
                for name in ("query", "attention.query"):
                    try:
                        part = find(self.model, name)

                        def keep(module, inputs, output):
                            self.query = output

                        self.hook = part.register_forward_hook(keep)
                        break
                    except AttributeError:
                        continue

            @torch.inference_mode()
            def extract(self, x):
                self.query = None
                self.model(x)
                return self.query.float().cpu().numpy()

        def main(steps):
            attention = Attention("tiny")
            for _ in range(steps):
                attention.extract(torch.rand(4, 8))
        """,
    "model that is run for what its hooks are given": """
        class Probe:
            def __init__(self, model):
                self.model, self.seen = model.eval(), None
                self.handle = model.layer.register_forward_hook(self.note)

            def note(self, module, inputs, output):
                self.seen = output

            def look(self, x):
                self.model(x)
                return self.seen

            def close(self):
                self.handle.remove()

        def main():
            probe = Probe(Net())
            picture = torch.zeros(1, 8, requires_grad=True)
            optimizer = torch.optim.SGD([picture], lr=0.1)
            for _ in range(100):
                loss = probe.look(picture).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            probe.close()
    """,
    "hook that only runs in the inference mode it was put on in": """
        class Extractor:
            def __init__(self, model):
                self.model = model
                self.outputs = {}

            def keep(self, name):
                def hook(module, inputs, output):
                    self.outputs[name] = output

                return hook

            @torch.inference_mode()
            def extract(self, batches, name):
                handle = dict(self.model.named_modules())[name].register_forward_hook(self.keep(name))
                found = []
                try:
                    for batch in batches:
                        self.model(batch)
                        found.append(self.outputs[name].mean(1).tolist())
                finally:
                    handle.remove()
                return found

        def main(batches):
            print(Extractor(Net()).extract(batches, "layer"))
        """,
    "recorder that returns itself and keeps no graph": """
        class Recorder:
            def __init__(self, model):
                self.model = model
                self.features = []
                self.handle = None

            def keep(self, module, args, output):
                self.features.append(output.detach())

            def __enter__(self):
                self.handle = self.model.layer.register_forward_hook(self.keep)
                return self

            def __exit__(self, *error):
                self.handle.remove()
        """,
    "hook that can be called, taken out when the object is closed": """
        class Tap:
            def __init__(self):
                self.value = None

            def __call__(self, module, inputs, output):
                self.value = output.detach()

        class Features:
            def __init__(self, model, names):
                self.taps, self.handles = {}, []
                parts = dict(model.named_modules())
                for name in names:
                    self.taps[name] = Tap()
                    self.handles.append(parts[name].register_forward_hook(self.taps[name]))

            def close(self):
                for handle in self.handles:
                    handle.remove()

        def read(loader):
            model = Net().eval()
            for x in loader:
                features = Features(model, ["layer"])
                with torch.no_grad():
                    model(x)
                features.close()
        """,
    "taps that are put on the layers of one model, once": """
        class Tap:
            def __init__(self):
                self.value = None

            def __call__(self, module, inputs, output):
                self.value = output.detach()

        def watch(model: Net, names, loader):
            taps = []
            for name in names:
                tap = Tap()
                taps.append(tap)
                model.get_submodule(name).register_forward_hook(tap)
            with torch.no_grad():
                for x in loader:
                    model(x)
        """,
    "recorder of each round, given to an exit stack": """
        import contextlib

        class Recorder:
            def __init__(self, model):
                self.rows = []
                self.handles = [model.layer.register_forward_hook(self.keep)]

            def keep(self, module, inputs, output):
                self.rows.append(output.detach())

            def close(self):
                for handle in self.handles:
                    handle.remove()

        def run(loader):
            model = Net().eval()
            for x in loader:
                with contextlib.ExitStack() as stack, torch.no_grad():
                    recorder = Recorder(model)
                    stack.callback(recorder.close)
                    model(x)
        """,
    "recorder of each model": """
        class Recorder:
            def __init__(self, model):
                self.rows = []
                self.handles = [model.layer.register_forward_hook(self.keep)]

            def keep(self, module, inputs, output):
                self.rows.append(output.detach())

            def close(self):
                for handle in self.handles:
                    handle.remove()

        def run(folds, x):
            for fold in folds:
                model = Net().eval()
                recorder = Recorder(model)
                with torch.no_grad():
                    model(x)
                print(len(recorder.rows))
        """,
    "what hooks put on modules is read when they are gone": """
        def keep(module, inputs, output):
            module.seen = output.detach()

        def features(model: Net, x):
            handle = model.layer.register_forward_hook(keep)
            try:
                with torch.no_grad():
                    model(x)
            finally:
                handle.remove()
            return model.layer.seen
        """,
    "handler of a signal that is put back": """
        import signal

        class Saver:
            def __init__(self, model):
                self.model = model
                self.before = {}

            def __enter__(self):
                self.before[signal.SIGUSR1] = signal.getsignal(signal.SIGUSR1)
                signal.signal(signal.SIGUSR1, self.save)
                return self

            def save(self, number, frame):
                torch.save(self.model.state_dict(), "last.pt")

            def __exit__(self, *error):
                for number, handler in self.before.items():
                    signal.signal(number, handler or signal.SIG_DFL)

        def jobs(seeds):
            for seed in seeds:
                with Saver(Net()):
                    print(seed)
        """,
    "listeners that are taken out by what subscribing gave": """
        LISTENERS = []

        class Token:
            def __init__(self, listener):
                self.listener = listener

            def cancel(self):
                LISTENERS.remove(self.listener)

        def subscribe(listener):
            LISTENERS.append(listener)
            return Token(listener)

        class Session:
            def __init__(self):
                self.latent = torch.zeros(64, 512, requires_grad=True)
                self.token = subscribe(self.on_rate)

            def on_rate(self, rate):
                self.rate = rate

            def close(self):
                self.token.cancel()
                self.token = None

        def run(n):
            for _ in range(n):
                session = Session()
                session.latent.square().sum().backward()
                session.close()
        """,
    "unsubscribed when it is done": """
        class Bus:
            def __init__(self):
                self.handlers = []

            def on(self, handler):
                self.handlers.append(handler)

            def off(self, handler):
                self.handlers.remove(handler)

        BUS = Bus()

        class Trainer:
            def __init__(self):
                self.model = Net()
                BUS.on(self.stop)

            def stop(self):
                BUS.off(self.stop)

        def main(trials):
            for _ in range(trials):
                Trainer().stop()
        """,
    "hook that detaches": """
        def features(model: Net, loader):
            kept = []
            handle = model.layer.register_forward_hook(lambda module, inputs, output: kept.append(output.detach()))
            try:
                for x, y in loader:
                    F.cross_entropy(model(x), y).backward()
            finally:
                handle.remove()
            return kept
        """,
    "model-run-once-for-what-a-hook-sees": """
        def input_scale(model, x):
            seen = []
            handle = model[0].register_forward_hook(lambda m, i, o: seen.append(o.abs().max().item()))
            model(x)
            handle.remove()
            return seen[0]

        def main(x):
            model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
            return input_scale(model, x)
    """,
    "hook-on-the-one-layer-that-is-asked-for": """
        class Probe:
            def __init__(self, model, wanted):
                self.seen = None
                for name, layer in model.named_modules():
                    if name == wanted:
                        self.handle = layer.register_forward_hook(self._save)

            def _save(self, module, inputs, output):
                self.seen = output.detach()

            def close(self):
                self.handle.remove()

        def in_turn(model, x):
            for layer in model.children():
                handle = layer.register_forward_hook(print)
                model(x)
                handle.remove()

        def listed(model, x):
            handles = []
            for layer in model.children():
                handle = layer.register_forward_hook(print)
                handles.append(handle)
            model(x)
            for handle in handles:
                handle.remove()
    """,
}


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_is_a_program(name: str) -> None:
    check_syntax(INNOCENT[name])
