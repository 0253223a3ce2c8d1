"""Hooks beside others that are removed, batches that are slices, and what steps return by way of a helper."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TRACER = """
        class Tracer:
            def __init__(self, model):
                self.sizes = []
                self.handles = [layer.register_forward_hook(self.size) for layer in model.children()]

            def size(self, module, given, output):
                self.sizes.append(tuple(output.shape))

            def stop(self):
                while self.handles:
                    self.handles.pop().remove()
"""
MODULE = """
        class Lit(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = Net()

            def forward(self, x):
                return self.net(x)

            def shared(self, batch):
                loss = F.mse_loss(self(batch["image"]), batch["target"])
                out = {Key.LOSS: loss}
                out.update({Key.NAME: batch["name"], Key.IMAGE: batch["image"]})
                return out%s

            def training_step(self, batch, batch_idx):
                return self.shared(batch)

            def training_epoch_end(self, outputs):
                self.names = [name for out in outputs for name in out[%s]]
        """
CALLBACK = """
        from lightning.pytorch.callbacks import Callback

        class Gather(Callback):
            def __init__(self):
                self.%s = []

            def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
                self.%s.append(batch[1])%s

            def on_validation_epoch_end(self, trainer, pl_module):
                print(len(self.%s))
"""


def _gathering(name: str, mark: str = "") -> str:
    return CALLBACK % (name, name, mark, name)


SEEN = {
    "hooks that only another class could remove": TRACER
    + """
        class Probe:
            def __init__(self, model):
                self.rows = []
                self.handles = []
                for layer in model.children():
                    self.handles.append(layer.register_forward_hook(self.keep))  # TML304

            def keep(self, module, given, output):
                self.rows.append(output.detach())

        def run(batches):
            model = Net().eval()
            tracer = Tracer(model)
            tracer.stop()
            with torch.no_grad():
                for x in batches:
                    probe = Probe(model)
                    model(x)
        """,
    "batches that are slices": """
        def embed(model, rows, size, device):
            model.eval()
            found = {"left": [], "right": []}
            for start in range(0, len(rows), size):
                x = rows[start : start + size].to(device)
                with torch.no_grad():
                    found["left"].append(model(x))  # TML310
            return {key: torch.cat(part).cpu().numpy() for key, part in found.items() if part}
        """,
    "what a callback takes of a batch": _gathering("targets", "  # TML107"),
    "what a helper returns for a step": MODULE % ("  # TML107", "Key.NAME"),
}
INNOCENT = {
    "another class that is told to remove what this one registers": """
        class Probe:
            def __init__(self, model):
                self.rows = []
                self.handles = []
                for layer in model.children():
                    self.handles.append(layer.register_forward_hook(self.keep))

            def keep(self, module, given, output):
                self.rows.append(output.detach())

        class Session:
            def __init__(self, probe):
                self.probe = probe

            def stop(self):
                for handle in self.probe.handles:
                    handle.remove()

        def run(batches):
            model = Net().eval()
            with torch.no_grad():
                for x in batches:
                    session = Session(Probe(model))
                    model(x)
                    session.stop()
        """,
    "the tokens of one answer": """
        def generate(model, prompt, count, device):
            model.eval()
            found = []
            x = prompt.to(device)
            for step in range(0, count, 1):
                with torch.no_grad():
                    found.append(model(x))
                x = found[-1]
            return torch.cat(found).cpu()
        """,
    "tiles of one computation": """
        def score(models, basis, size):
            found = []
            for start in range(0, len(models), size):
                errors = (models[start : start + size] @ basis).abs()
                found.append((errors <= 0.1).sum(1).to(models.dtype))
            return torch.cat(found)

        def best(points: torch.Tensor, basis: torch.Tensor, samples):
            basis = basis.to(points.device)
            best_score = 0.0
            with torch.no_grad():
                for indices in samples:
                    scores = score(points[indices], basis, 64)
                    top, rows = scores.topk(4)
                    best_score = max(best_score, *top.tolist())
                    records = (scores.cpu() > 0).nonzero().tolist()
            return best_score
        """,
    "items cast to another type, which are where they were": """
        def prepare(clips):
            mono = []
            for clip in clips:
                if not isinstance(clip, torch.Tensor):
                    clip = torch.from_numpy(clip)
                mono.append(clip.mean(-1).to(torch.float32))
            for row, clip in enumerate(mono):
                yield row, clip.detach().cpu().numpy()
        """,
    "what a callback takes of a batch, emptied": _gathering("targets")
    + """
                self.targets = []
        """,
    "names that a callback takes of a batch": _gathering("names"),
    "what the end of the epoch reads": MODULE % ("", "Key.IMAGE"),
}


@pytest.mark.parametrize("case", SEEN)
def test_seen(case: str) -> None:
    check(SEEN[case])


@pytest.mark.parametrize("case", INNOCENT)
def test_innocent(case: str) -> None:
    check_innocent(INNOCENT[case])
