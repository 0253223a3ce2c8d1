"""Innocent evaluations: who asks for their gradients, or runs them without any, is out of sight."""

from __future__ import annotations

import pytest
from snippets import check_innocent, check_syntax

INNOCENT = {
    "spectra of a class of the project": """
        class LogMel(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base = base

            def forward(self, wave):
                return torch.log(self.base(wave) + 1e-5)

        class Validation:
            def __init__(self, base):
                self.mel = LogMel(base)

            def evaluate(self, loader):
                return [self.mel(wave).mean().item() for wave in loader]
        """,
    "evaluation under no_grad that is fed by another module": """
        def look_up(embeddings, ids):
            return embeddings(ids)

        @torch.no_grad()
        def evaluate(loader, model, embeddings):
            model.eval()
            return torch.cat([model(look_up(embeddings, ids)).argmax(dim=1) for ids in loader])

        def main(loader):
            print(evaluate(loader, Net(), nn.Embedding(9, 8)))
        """,
    "layers run over a loader for a caller that nobody sees": """
        class Layers(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])

            def inference(self, loader, table):
                for layer in self.layers:
                    for rows, x in loader:
                        table[rows] = layer(x).cpu()
                return table
        """,
    "attack on a model that is evaluated": """
        def evaluate(loader, model):
            model.eval()
            for x, y in loader:
                x.requires_grad_(True)
                loss = F.cross_entropy(model(x), y)
                attacked = x + 0.1 * torch.autograd.grad(loss, x)[0].sign()
                with torch.no_grad():
                    print((model(attacked).argmax(1) == y).sum().item())
        """,
    "test of a loader under the caller's no_grad": """
        def test(loader, model):
            return sum(int((model(x).round() != y).sum()) for x, y in loader)

        def main(loader):
            with torch.no_grad():
                print(test(loader, Net()))
        """,
    "one of two columns, and parts that are computed with": """
        @torch.no_grad()
        def evaluate(model, loader):
            scores, normed = [], []
            for x in loader:
                hidden = model(x)
                scores.append(hidden[:, 1])
                normed.append(hidden[:, 0, :] * 2)
            return torch.cat(scores), torch.cat(normed)
        """,
    "validation step of Lightning": """
        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.model, self.outputs = Net(), []

            def training_step(self, batch, batch_idx):
                x, y = batch
                loss = F.cross_entropy(self.model(x), y)
                self.log("loss", loss)
                return loss

            def validation_step(self, batch, batch_idx):
                x, y = batch
                loss = F.cross_entropy(self.model(x), y)
                self.outputs.append(loss)
                return loss

            def on_validation_epoch_end(self):
                self.log("val", torch.stack(self.outputs).mean())
                self.outputs.clear()
        """,
    "generator of outputs": """
        def outputs(model: Net, loader):
            for x, _ in loader:
                yield model(x)
        """,
    "detached in each round": """
        def rank(net, make_energy, candidates):
            net.eval()
            energy = make_energy(net, "slice")
            found = [energy(candidate).detach() for candidate in candidates]
            return torch.cat(found).numpy()
        """,
    "made from a model, and nobody knows of a graph": """
        def explain(net, make_explainer, loader):
            net.eval()
            explainer = make_explainer(net)
            maps = [explainer(x) for x in loader]
            return torch.cat(maps).cpu()
        """,
    "parts of one pass from a generator": """
        def parts(model, x):
            out = model(x)
            for part in out.chunk(4):
                yield part

        def main():
            kept = []
            for part in parts(Net(), torch.randn(4, 8)):
                kept.append(part)
            print(len(kept))
    """,
    "model tried once": """
        def build():
            return nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()

        def main():
            model = build()
            out = model(torch.randn(1, 8))
            print(out.shape, out.sum().item())
    """,
    "a module's inference method that others may run under no_grad": """
        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)

            def inference(self, x):
                return self.layer(x)
        """,
    "what the pass itself does when it does not train": """
        class Finder(nn.Module):
            def __init__(self, backbone, heads):
                super().__init__()
                self.backbone, self.heads = backbone, heads
                self.register_buffer("mean", torch.zeros(3, 1, 1), False)

            @property
            def device(self):
                return self.mean.device

            def forward(self, images, truth=None):
                if not self.training:
                    return self.inference(images)
                return self.heads(self.backbone(images.to(self.device)), truth)

            def inference(self, images):
                assert not self.training
                features = self.backbone(images.to(self.device) - self.mean)
                return self.sort_out(self.heads(features, None), images.shape[-2:])

            def sort_out(self, found, size):
                return [one.clip(size) for one in found]
    """,
    "the same of the pass of a base": """
        class Finder(nn.Module):
            def __init__(self, backbone):
                super().__init__()
                self.backbone = backbone

            def forward(self, images, truth=None):
                return self.losses(images, truth) if self.training else self.predict(images)

        class Boxes(Finder):
            def predict(self, images):
                found = self.backbone(images.to(next(self.parameters()).device))
                for box in found.sort_out():
                    print(box)
    """,
    "inputs taken to the device by a pass of its own": """
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)

            @torch.no_grad()
            def inference(self, x):
                return self.encode(x)

            def encode(self, x):
                return self.layer(x.to(self.layer.weight.device))

            def _infer(self, x):
                return self.layer(x.to(self.layer.weight.device))
        """,
    "a pass of validation that is called an inference": """
        class DenoiseMasked(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net, self.loss = Net(), nn.CrossEntropyLoss()

            def inference_pass(self, batch):
                x, y = batch
                return {"val_loss": self.loss(self.net(x.to(self.device)), y)}

            @torch.no_grad()
            def transcribe(self, x):
                return self.net(x)

            def compute_loss(self, batch, other: nn.Module):
                return F.mse_loss(self.forward(batch), other(batch))

            def forward(self, batch):
                return self.net(batch)
        """,
    "a frozen reference model in a loss that is handed out": """
        class Tuner:
            def __init__(self, ref_model: nn.Module):
                self.ref_model = ref_model
                self.ref_model.requires_grad_(False)

            def compute_loss(self, model: nn.Module, x):
                return F.mse_loss(model(x), self.ref_model(x))
        """,
    "a reference model whose scores are detached": """
        def compute_loss(model: nn.Module, ref_model: nn.Module, x):
            return F.mse_loss(model(x), ref_model(x).detach())
        """,
    "adapted on a test set": """
        def adapt(model: nn.Module, test_loader, optimizer):
            for x in test_loader:
                optimizer.zero_grad()
                entropy = -(model(x).softmax(1) * model(x).log_softmax(1)).sum(1).mean()
                entropy.backward()
                optimizer.step()
                print(entropy.item())
        """,
    "a validation set whose losses are put together and differentiated": """
        def hyper_step(model: nn.Module, val_loader, optimizer):
            total = 0.0
            for x, y in val_loader:
                loss = F.cross_entropy(model(x), y)
                print(loss.item())
                total = total + loss
            total.backward()
            optimizer.step()
        """,
    "a prediction that is differentiated for its input": """
        def predict(net, x):
            net.eval()
            x = x.clone().requires_grad_(True)
            return net(x).sum()
        """,
    "a context manager of the project that turns gradients off, as a decorator": """
        import contextlib

        @contextlib.contextmanager
        def frozen(announce=False):
            if announce:
                print("gradients are off")
            with torch.no_grad():
                yield

        @frozen()
        def validate(loader, net: nn.Module):
            net.eval()
            return sum(F.cross_entropy(net(x), y).item() for x, y in loader)
        """,
    "a private way to the model that nobody goes any more, beside one that has gradients off": """
        class Translator:
            def __init__(self, model: nn.Module):
                self.model = model
                self.model.eval()

            def translate(self, batches):
                with torch.no_grad():
                    return [self._search(batch) for batch in batches]

            def _search(self, batch):
                return self._decode(batch).argmax(-1).tolist()

            def _search_old(self, batch):
                found = []
                for row in batch:
                    found.append(self._decode(row).argmax(-1).item())
                return found

            def _decode(self, batch):
                return self.model(batch)
        """,
}


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_is_a_program(name: str) -> None:
    check_syntax(INNOCENT[name])
