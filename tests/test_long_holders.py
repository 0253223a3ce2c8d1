"""What holds something for longer than it is of use, each beside what looks like it: hooks that an error leaves,
models on a class, tables of layers, parts of weights,
entries of tables that a failure leaves, objects in their own registries,
buffers that are emptied after a `yield`."""

from __future__ import annotations

import pytest
from snippets import check

SNIPPETS = {
    "a context manager without a try": """
        from contextlib import contextmanager

        @contextmanager
        def recording(net, store):
            def note(module, args, out):
                store[module] = out[0].cpu()

            handles = [part.register_forward_hook(note) for part in net.children()]  # TML304
            yield store
            for handle in handles:
                handle.remove()

        @contextmanager
        def watched(net, store):
            def note(module, args, out):
                store[module] = out[0].cpu()

            handles = [part.register_forward_hook(note) for part in net.children()]
            try:
                yield store
            finally:
                for handle in handles:
                    handle.remove()
        """,
    "methods of the object put hooks in and take them out": """
        class Relevance:
            def __init__(self, net):
                self.net, self.handles = net, []

            def _watch(self, layer):
                self.handles.append(layer.register_forward_hook(self._keep))

            def _keep(self, layer, args, out):
                layer.relevance = out.detach()  # TML108

            def _stop(self):
                for handle in self.handles:
                    handle.remove()

            def explain(self, x):
                self.net.apply(self._watch)  # TML304
                scores = self.net(x).softmax(-1)
                self._stop()
                return scores

            def explain_safely(self, x):
                try:
                    self.net.apply(self._watch)
                    return self.net(x).softmax(-1)
                finally:
                    self._stop()
        """,
    "hooks that keep numbers, or nothing": """
        def count(model, x):
            totals = {}

            def hook(module, args, out):
                flops = cost(module, out)
                totals[module] = flops
                totals["shape"] = tuple(out.shape)

            def double(module, args, out):
                return out * 2

            handles = [part.register_forward_hook(hook) for part in model.modules()]
            handles.append(model.register_forward_hook(double))
            model(x)
            for handle in handles:
                handle.remove()
            return totals
        """,
    "a model of one's own, and a pass that is caught": """
        def shapes(x):
            seen, net = [], nn.Linear(4, 4)
            handle = net.register_forward_hook(lambda module, args, out: seen.append(out))
            net(x)
            handle.remove()
            return len(seen)

        def first(model, x):
            seen = []
            handle = model.register_forward_hook(lambda module, args, out: seen.append(out.detach()))
            try:
                model(x)
            except RuntimeError:
                handle.remove()
                raise
            handle.remove()
            return seen[0]
        """,
    "a layer that makes its own weights later": """
        class Lazy(nn.Module):
            def restore(self, state):
                if state is None:
                    self.handle = self.register_forward_pre_hook(self.build)
                else:
                    self.load(state)
                    self.handle.remove()

            def build(self, module, args):
                self.weight = nn.Parameter(args[0])
        """,
    "a model on the class": """
        class Session:
            _instance = None

            @classmethod
            def load(klass, path):
                session, net = klass(), Net()
                klass.latest_path = path
                klass.net = net  # TML302
                return session

            @classmethod
            def from_path(klass, path):
                session = klass()
                encoder = build_encoder(path)
                klass.encoder = encoder  # TML302
                return session, path

            @classmethod
            def get(klass):
                if klass._instance is None:
                    klass._instance = klass()
                return klass._instance

        class Lent:
            @classmethod
            def make(cls, path):
                lent = cls()
                cls.model = build_model(path)
                return lent

            def close(self):
                del Lent.model

        class Tool:
            @classmethod
            def setup(cls, path):
                cls.model = build_model(path)
        """,
    "a table of a model's parts": """
        OWNERS, SIZES, LAYERS, KNOWN = {}, {}, {}, {}

        def note(model):
            for name, layer in model.named_modules():
                OWNERS[layer] = name  # TML301
                SIZES[name] = len(list(layer.parameters()))

        def find(model):
            global LAYERS
            LAYERS = {name: layer for name, layer in model.named_modules()}

        def forget():
            global LAYERS
            LAYERS = {}

        def own():
            net = Net()
            for name, layer in net.named_children():
                KNOWN[layer] = name
        """,
    "a weight that is cut": """
        class Model(nn.Module):
            def crop(self, size):
                self.table.weight = nn.Parameter(self.table.weight[:size])  # TML309
                self.other.weight = nn.Parameter(self.other.weight[:size].clone())
                self.rows.weight = nn.Parameter(self.rows.weight[[0, 2]])

            def halves(self, fused, half):
                self.up.weight.data = fused.weight[:half]
                self.down.weight.data = fused.weight[half:]

            def sharded(self, linear, rank):
                piece = torch.tensor_split(linear.weight, 4, dim=0)[rank].to(self.device)
                linear.weight.data = piece  # TML309

            def tied(self, decoder):
                self.head.weight = nn.Parameter(decoder.weight[:100])
        """,
    "entries of a table that a failed wait leaves": """
        class Mailbox:
            def __init__(self):
                self.waiting, self.names, self.lists = {}, {}, {}

            def post(self, key, tensor, name):
                self.waiting[key] = tensor
                self.names[key] = name

            def collect(self, key):
                try:
                    self.channel.receive(key)
                    del self.waiting[key]  # TML311
                except TimeoutError:
                    raise LookupError(key)

            def rename(self, key):
                try:
                    self.channel.receive(key)
                    self.names.pop(key)
                except TimeoutError:
                    raise LookupError(key)

        class Guarded:
            def __init__(self):
                self.waiting = {}

            def post(self, key, tensor):
                self.waiting[key] = tensor

            def collect(self, key):
                try:
                    self.channel.receive(key)
                    del self.waiting[key]
                except TimeoutError:
                    self.waiting.pop(key, None)
                    raise
        """,
    "an object in its own registry": """
        import weakref

        class Loop:
            def __init__(self, model):
                self.model, self.hooks, self.steps = model, [], {}

            def add(self, name, call):
                guarded = self._guard(call)  # TML315
                self.hooks.append((name, guarded))

            def _guard(self, call):
                def inner(*args):
                    if self.model.training:
                        return call(*args)
                return inner

            def bare(self, name, call):
                self.hooks.append((name, self._plain(call)))
                self.steps[name] = (call, weakref.ref(self))

            def _plain(self, call):
                def inner(loop, *args):
                    return call(*args)
                return inner

        class Light:
            def __init__(self):
                self.hooks = []

            def add(self, call):
                self.hooks.append((call, self))
        """,
    "a buffer that is emptied after it was handed out": """
        class Stream:
            def __init__(self, source):
                self.source, self.window, self.rest = source, [], []

            def __iter__(self):
                for item in self.source:
                    self.window.append(torch.as_tensor(item))
                    if len(self.window) >= 4:
                        yield torch.stack(self.window)  # TML303
                        self.window = []

        class Anew:
            def __init__(self, source):
                self.source, self.window = source, []

            def __iter__(self):
                self.window = []
                for item in self.source:
                    self.window.append(torch.as_tensor(item))
                    if len(self.window) >= 4:
                        yield torch.stack(self.window)
                        self.window = []

        def batches(source):
            window = []
            for item in source:
                window.append(torch.as_tensor(item))
                if len(window) >= 4:
                    yield torch.stack(window)
                    window.clear()
        """,
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_what_stays(name: str) -> None:
    check(SNIPPETS[name])
