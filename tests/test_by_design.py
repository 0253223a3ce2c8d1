"""What looks like a leak and is meant: small figures, windows of a few batches, what goes with a test or a pass."""

from __future__ import annotations

import textwrap

import pytest
from snippets import PLAN, PRELUDE, check

from torchmemlint.linter.engine import lint_source
from torchmemlint.source import decode


@pytest.mark.parametrize(
    "text",
    [
        # the batches of one optimizer step
        """
        def train(model: Net, loader, optimizer, every):
            running = 0
            for index, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y)
                running += loss
                loss.backward()
                if (index + 1) % every == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                    print(running.item())
                    running = 0
        """,
        # ... reset where it is printed, long after: a graph of each batch until then
        """
        def train(model: Net, loader, optimizer):
            running = 0
            for index, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y)
                running += loss  # TML101
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                if index % 2000 == 1999:
                    print(running.item())
                    running = 0
        """,
        # a part in eval mode, for one image at a time, is no evaluation
        """
        class Attentive(nn.Module):
            def __init__(self, count):
                super().__init__()
                self.norm = nn.BatchNorm1d(8)
                self.steps = nn.ModuleList([nn.Linear(8, 8) for _ in range(count)])

            def forward(self, features):
                if features.shape[0] == 1:
                    self.norm.eval()
                    features = self.norm(features)
                    self.norm.train()
                total, masks, x = 0.0, [], features
                for step in self.steps:
                    x = step(x)
                    total += x.sum()
                    masks.append(x)
                return x, total, masks
        """,
        # what a callback has no use for
        """
        import gc


        class Collector(lightning.Callback):
            def fit_end(self, state, logger):
                del state, logger
                gc.collect()
                torch.cuda.empty_cache()
        """,
        # ... and a helper that means it
        """
        import gc


        def free(model):
            del model  # TML602
            gc.collect()
            torch.cuda.empty_cache()
        """,
        # native calls have no frames
        """
        def join(parts):
            try:
                return torch.cat(parts)
            except torch.cuda.OutOfMemoryError:
                joined = torch.cat([part.cpu() for part in parts])
                torch.cuda.empty_cache()
                return joined
        """,
        """
        import json


        def answer(generate, prompt):
            try:
                for out in generate(prompt):
                    yield json.dumps({"text": out})
            except torch.cuda.OutOfMemoryError as error:
                yield json.dumps({"error": str(error)})
        """,
        # groups of ranks are no tensors, parameters are there anyway
        """
        class Reduce(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, tp_group, weight):
                ctx.tp_group = tp_group
                ctx.weight = weight
                return x * weight

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.weight, None, None
        """,
        # numbers of each rank
        """
        import torch.distributed as dist


        def outliers(value, world):
            mine = torch.tensor([value], device="cuda")
            everybody = [torch.zeros(1, device="cuda") for _ in range(world)]
            dist.all_gather(everybody, mine)
            if dist.get_rank() == 0:
                print([one.item() for one in everybody])
        """,
        """
        import torch.distributed as dist


        def report(local_summary, world):
            summaries = [None] * world
            dist.all_gather_object(summaries, local_summary)
            if dist.get_rank() == 0:
                print(summaries)
        """,
        # ... and results of each rank
        """
        import torch.distributed as dist


        def gather(predictions, world):
            everything = [None] * world
            dist.all_gather_object(everything, predictions)  # TML410
            if dist.get_rank() == 0:
                print(len(everything))
        """,
        # for one sequence, to grow with it
        """
        class SequenceCache:
            def __init__(self, layers):
                self.keys = [None for _ in range(layers)]

            def update(self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int):
                if self.keys[layer_idx] is None:
                    self.keys[layer_idx] = key_states
                else:
                    self.keys[layer_idx] = torch.cat([self.keys[layer_idx], key_states], dim=2)
                return self.keys[layer_idx]
        """,
        # a data set that is filled when it is made, a step of its own
        """
        class Packed(torch.utils.data.Dataset):
            def __init__(self, source):
                self.source = source
                self.packs = []
                self._pack()

            def _pack(self):
                current = []
                for sample in self.source:
                    current += sample["tokens"]
                    while len(current) > 100:
                        current = self._add(current)

            def _add(self, current):
                self.packs.append(torch.tensor(current[:100]))
                return current[100:]

            def __getitem__(self, index):
                return self.packs[index]
        """,
        # one for each device
        """
        class Estimator(nn.Module):
            def __init__(self):
                super().__init__()
                self.tables = {}

            def lookup(self, indices, device):
                key = (len(indices), device.type, device.index)
                if key not in self.tables:
                    self.tables[key] = torch.as_tensor(indices, device=device)
                return self.tables[key]
        """,
        # graphs that are captured before there is any input
        """
        class Server:
            def __init__(self):
                self.graphs = {}

            def graph_warmup(self, size):
                graph = torch.cuda.CUDAGraph()
                self.graphs[size] = {"graph": graph, "x": torch.zeros(size, device="cuda")}
        """,
        # entered by hand, for the rest of the function
        """
        def main(model: Net, loader):
            model.eval()
            torch.no_grad().__enter__()
            rows = []
            for x, _ in loader:
                rows.append(model(x).cpu().numpy())
            return rows
        """,
        # ... and left again
        """
        def main(model: Net, loader):
            model.eval()
            mode = torch.no_grad()
            mode.__enter__()
            print(model(next(iter(loader))[0]))
            mode.__exit__(None, None, None)
            rows = []
            for x, _ in loader:
                rows.append(model(x))  # TML102
            return rows
        """,
        # what is no tensor has no graph
        """
        class Recorder:
            def __init__(self):
                self.seen = {}

            def hook(self, module, args, kwargs, output):
                for key, value in kwargs.items():
                    self.seen[key] = value.detach().cpu() if isinstance(value, torch.Tensor) else value


        def record(model: Net):
            recorder = Recorder()
            return recorder, model.layer.register_forward_hook(recorder.hook, with_kwargs=True)
        """,
        # handles by name, taken out in the end, unless the pass raises
        """
        def attentions(model: Net, batch, chosen):
            handles, outputs = {}, {}
            for name, part in model.named_modules():
                if part in chosen:

                    def hook(module, given, output, name=name):
                        outputs.setdefault(name, []).append(output.detach().cpu())

                    handle = part.register_forward_hook(hook)  # TML304
                    handles[name] = handle
            model(batch)
            for _, handle in handles.items():
                handle.remove()
            return outputs
        """,
        # raises, and is meant to
        """
        import pytest


        def refuses():
            t = torch.randn(4, dtype=torch.bfloat16)
            with pytest.raises(TypeError):
                t.numpy()
        """,
    ],
)
def test_by_design(text: str) -> None:
    check(text)


_HELPER = """
import pytest


def run_and_keep(model: Net, batches):
    outputs = []
    for batch in batches:
        output = model(batch).sum()
        outputs.append(output)
        output.backward()
    return outputs
"""


def test_helpers_of_tests() -> None:
    """What a test keeps goes with it; a script that is merely called like one is not a test."""
    text = PRELUDE + textwrap.dedent(_HELPER)
    found = [one.code for one in lint_source(decode("test_outputs.py", text.encode()), PLAN)]
    assert found == []
    script = text.replace("import pytest\n", "")
    found = [one.code for one in lint_source(decode("test_outputs.py", script.encode()), PLAN)]
    assert found == ["TML102"]


def test_a_merge_makes_another_of_its_kind() -> None:
    """What takes its place lets go of the first."""
    check("""
        class Samples:
            def __init__(self):
                self.samples = []

            def update(self, sample: torch.Tensor):
                self.samples.append(sample)

            def merge(self, other):
                result = Samples()
                result.samples = self.samples + other.samples
                return result
        """)


_KEYS_AND_VALUES = """
class {cls}(nn.Module):
    def __init__(self, longest, width):
        super().__init__()
        self.register_buffer("{name}", torch.zeros(1, longest, width), persistent=False)

    def update(self, at, k):
        self.{name}.scatter_(1, at.expand(-1, -1, 8), k){mark}
        return at

class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, x, at, kept: {cls}):
        return kept.update(at, self.mix(x)) * self.mix(x)

class Decoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = Attention(width)

    def begin(self):
        return {cls}(64, 8)

    def forward(self, x, at, kept):
        return self.layer.forward(x, at, kept)

class Speaker:
    def __init__(self, decoder: Decoder):
        self.decoder, self.kept = decoder, decoder.begin()

    def speak(self, x, at):
        for _ in range(64):
            x = self.decoder.forward(x, at, self.kept).mean(-1, keepdim=True)
            at.add_(1)
        return x
"""


@pytest.mark.parametrize(
    ("cls", "name", "mark"),
    [
        ("Kept", "k_cache", ""),
        ("Kept", "cache_k", ""),
        ("Kept", "kv_cache", ""),
        ("KVCacheOfALayer", "seen", ""),
        ("Kept", "seen", "  # TML101"),
        ("Kept", "cached", "  # TML101"),
    ],
)
def test_a_cache_of_keys_is_for_inference(cls: str, name: str, mark: str) -> None:
    check(_KEYS_AND_VALUES.format(cls=cls, name=name, mark=mark))
