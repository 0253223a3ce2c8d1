"""Device memory for nothing: checkpoints that are loaded onto a device, caches that are emptied too early."""

from __future__ import annotations

import pytest
from snippets import check


@pytest.mark.parametrize(
    "text",
    [
        # asks whether it was told where to load to
        """
        def read(path, map_location=None):
            if map_location is None:
                return torch.load(path)
            return torch.load(path, map_location=map_location)
        """,
        # moves what it has loaded
        """
        def read(model_path, map_location=None):
            model = torch.load(model_path, weights_only=False)
            return model.to(map_location)
        """,
        # has thought of the host
        """
        def resume(model, path):
            if torch.cuda.is_available():
                checkpoint = torch.load(path)
            else:
                checkpoint = torch.load(path, map_location="cpu")
            model.load_state_dict(checkpoint["model"])
        """,
        # all of it goes in
        """
        def resume(model, path):
            states = torch.load(path)
            model.load_state_dict({name: states[name] for name in model.state_dict()})
        """,
        # a file that everybody has, written once and released
        """
        def convert():
            weights = torch.load("released/old_names_model.pth")
            torch.save({name.replace("conv", "body"): weight for name, weight in weights.items()}, "new.pth")
        """,
        # each rank has a file of its own
        """
        def restore(model, path, rank):
            model.load_state_dict(torch.load(f"{path}/model_{rank}.pt"))


        def restore_named(model, path, rank):
            file = path + "/weights-%d.pt" % rank
            model.load_state_dict(torch.load(file))
        """,
        # goes as soon as it has been copied
        """
        class Pretrained:
            def __init__(self, path):
                self._weights = torch.load(path)

            def fill(self, model):
                model.load_state_dict(self._weights)
                self._weights = None
        """,
        # a whole model, that a student starts from
        """
        class Teacher:
            def __init__(self, path):
                self.model = torch.load(path)

            def start(self, student):
                student.load_state_dict(self.model.state_dict())
        """,
        # no checkpoint, beside loads that say where to
        """
        class Folder:
            def model(self, path):
                return torch.load(path, map_location="cpu")

            def scores(self, path):
                return torch.load(path)
        """,
        # a model's own method, which is called like the function that loads
        """
        def load_state_dict(path, map_location="cpu"):
            return torch.load(path, map_location=map_location)["state"]


        def load_weights(model, path, strict=True, map_location="cpu"):
            state = load_state_dict(path, map_location=map_location)
            return model.load_state_dict(state, strict=strict)
        """,
    ],
)
def test_loads_that_cost_no_device_memory(text: str) -> None:
    check(text, "import torch\n")


@pytest.mark.parametrize(
    "text",
    [
        """
        def fetch(url, map_location="cpu", progress=True):
            return torch.hub.load_state_dict_from_url(url, progress=progress)  # TML312
        """,
        """
        import sys


        def halve(path, to):
            checkpoint = torch.load(path)  # TML312
            checkpoint["model"] = {name: weight.half() for name, weight in checkpoint["model"].items()}
            torch.save(checkpoint, to)


        halve(*sys.argv[1:])
        """,
    ],
)
def test_loads_onto_a_device_for_nothing(text: str) -> None:
    check(text, "import torch\n")


@pytest.mark.parametrize(
    "text",
    [
        # leaves the loop
        """
        def fit(step, batches):
            for batch in batches:
                try:
                    step(batch)
                except RuntimeError:
                    torch.cuda.empty_cache()
                    raise
        """,
        # once more when the exception is gone
        """
        def fit(step, batches):
            for batch in batches:
                try:
                    step(batch)
                except torch.cuda.OutOfMemoryError:
                    torch.cuda.empty_cache()
                torch.cuda.empty_cache()  # of every batch
        """,
        # takes the frames off
        """
        def fit(step, batches):
            for batch in batches:
                try:
                    step(batch)
                except RuntimeError as error:
                    error.__traceback__ = None
                    torch.cuda.empty_cache()
        """,
        # what failed kept no tensors
        """
        def free(names, caches):
            for name in names:
                try:
                    number = int(name)
                except Exception:
                    torch.cuda.empty_cache()
        """,
    ],
)
def test_caches_emptied_in_time(text: str) -> None:
    check(text, "import torch\n")


def test_cache_emptied_while_the_frames_are_alive() -> None:
    check("""
    def fit(step, batches, limit):
        for batch in batches:
            try:
                step(batch)
            except RuntimeError as error:
                if "out of memory" in str(error):
                    limit //= 2
                    torch.cuda.empty_cache()  # TML604
                    continue
                raise
    """)


@pytest.mark.parametrize(
    "text",
    [
        # one entry for each kind of node, not for each batch
        """
        def embedded(tables, features, nodes, device):
            found = {}
            for kind in nodes:
                found[kind] = tables[kind](features[nodes[kind]].to(device))
            return {kind: one.cpu() for kind, one in found.items()}
        """,
        # the steps of one answer
        """
        @torch.no_grad()
        def generated(model, token, state, count):
            said = []
            for _ in range(count):
                token, state = model(token.cuda(), state)
                said.append(token)
            return torch.cat(said).cpu()
        """,
        # moved in the loop, where the caller wants them there
        """
        @torch.no_grad()
        def encoded(model, loader, device, as_array):
            rows = []
            for x in loader:
                out = model(x.to(device))
                if as_array:
                    out = out.cpu()
                for row in out:
                    rows.append(row.detach())
            return [row.cpu().numpy() for row in rows] if as_array else torch.stack(rows)
        """,
        # moved in the loop
        """
        @torch.no_grad()
        def predicted(model, loader, device):
            rows = []
            for x, _ in loader:
                rows.append(model(x.to(device)).cpu())
            return torch.cat(rows).numpy()
        """,
        # moved by a helper or in the loop, needed on the device, and steps of one answer
        """
        class Codes:
            @torch.inference_mode()
            def latent(self, data, steps):
                codes, kept, said = [], [], []
                for batch in self._dataloader(data):
                    codes.append(to_cpu(self.module.encode(batch)))
                    kept.append(self.module.encode(batch))
                for step in range(steps):
                    said.append(self.module.step(step))
                return torch.cat(codes).cpu(), torch.cat(kept), torch.cat(said).cpu()
        """,
    ],
)
def test_results_that_are_not_a_data_set(text: str) -> None:
    check(text, "import torch\n")


@pytest.mark.parametrize(
    "text",
    [
        """
        @torch.no_grad()
        def predicted(model, loader, device):
            rows = []
            for x, _ in loader:
                rows.append(model(x.to(device)))  # TML310
            return torch.cat(rows).cpu().numpy()
        """,
        """
        @torch.inference_mode()
        def collected(network, source):
            said = []
            for x in source:
                said.append(network(x.cuda()))  # TML310
            return said


        def written(network, source, path):
            torch.save(torch.cat(collected(network, source)).cpu(), path)
        """,
        """
        class Codes:
            @torch.inference_mode()
            def latent(self, data):
                codes, sizes = [], []
                for number, batch in enumerate(self._dataloader(data)):
                    x, label = split(batch)
                    codes.append(self.module.encode(x, label))  # TML310
                    sizes.append(self.module.encode(x, label).argmax(-1))
                return torch.cat(codes, dim=0).detach().cpu().numpy(), torch.cat(sizes).cpu()
        """,
    ],
)
def test_results_of_a_data_set(text: str) -> None:
    check(text, "import torch\n")


@pytest.mark.parametrize(
    "text",
    [
        """
        @torch.no_grad()
        def predict(model, loader, device):
            preds = []
            for batch in loader:
                out = model(batch["image"].to(device))
                preds.append(out)  # TML310
            return torch.cat(preds)
        """,
        """
        class Forecaster(torch.nn.Module):
            def predict(self, data, mode="raw"):
                loader = DataLoader(data, batch_size=32)
                output = []
                with torch.no_grad():
                    for x, _ in loader:
                        out = self(x.to(self.device))
                        if mode == "raw":
                            out = out["prediction"]
                        output.append(out)  # TML310
                if isinstance(output[0], list):
                    output = [torch.cat([out[i] for out in output]) for i in range(len(output[0]))]
                else:
                    output = torch.cat(output, dim=0)
                return output
        """,
        """
        class Runner:
            def run_inference(self, dataloader):
                all_logits, all_ids = [], []
                with torch.no_grad():
                    for batch in tqdm(dataloader):
                        batch = {k: v.to(self.device) for k, v in batch.items()}
                        outputs = self.model(**batch)
                        all_logits.append(outputs.logits)  # TML310
                        all_ids.extend(batch["id"])
                return {"logits": torch.cat(all_logits, 0), "ids": all_ids}
        """,
        """
        class Regressor:
            def infer(self, data):
                kept = []
                with torch.inference_mode():
                    for x in DataLoader(data, batch_size=4):
                        kept += [torch.sigmoid(self.net(x.cuda()))]  # TML310
                return kept
        """,
    ],
)
def test_predictions_handed_out_on_the_device(text: str) -> None:
    check(text, "import torch\nfrom torch.utils.data import DataLoader\n")


@pytest.mark.parametrize(
    "text",
    [
        """
        @torch.no_grad()
        def predict(model, loader, device):
            preds = []
            for batch in loader:
                out = model(batch["image"].to(device))
                out = out.to("cpu")
                preds.append(out)
            return torch.cat(preds)
        """,
        """
        @torch.no_grad()
        def predict_labels(model, loader, device):
            labels = []
            for batch in loader:
                out = model(batch["image"].to(device)).argmax(1)
                labels.append(out)
            return torch.cat(labels)
        """,
        """
        @torch.no_grad()
        def predict_parts(model, loader, device):
            parts = []
            for batch in loader:
                out = model(batch.to(device))
                for name in list(out):
                    out[name] = out[name].cpu()
                parts.append(out)
            return parts
        """,
        """
        @torch.no_grad()
        def predict_moved(model, loader, device):
            parts = []
            for batch in loader:
                out = model(batch.to(device))
                to_cpu_(out)
                parts.append(out)
            return parts
        """,
        """
        @torch.no_grad()
        def predict_frames(model, x, device, count):
            x = x.to(device)
            frames = []
            for _ in range(count):
                x = model(x)
                frames.append(x)
            return torch.stack(frames)
        """,
        """
        @torch.no_grad()
        def predict_neighbours(model, loader, bank, device):
            found = []
            for x in loader:
                found.append(model(x.to(device)))
            found = torch.cat(found)
            return (found @ bank.T).topk(5)
        """,
        """
        @torch.no_grad()
        def predict_accuracy(model, loader, device):
            said, wanted = [], []
            for x, y in loader:
                said.append(model(x.to(device)))
                wanted.append(y.to(device))
            return (torch.cat(said) == torch.cat(wanted)).float().mean()
        """,
        """
        @torch.no_grad()
        def features_of(model, loader, device):
            found = []
            for x in loader:
                found.append(model(x.to(device)))
            return torch.cat(found)
        """,
        """
        @torch.no_grad()
        def predict_on_host(model, loader):
            found = []
            for x in loader:
                found.append(model(x))
            return torch.cat(found)
        """,
        """
        class Net(torch.nn.Module):
            def predict_step(self, batches):
                with torch.no_grad():
                    found = []
                    for x in batches:
                        found.append(self.model(x.to(self.device)))
                return torch.cat(found)
        """,
    ],
)
def test_predictions_that_stay_nowhere(text: str) -> None:
    check(text, "import torch\n")


def test_a_collective_says_that_there_are_several_ranks() -> None:
    check(
        """
        class Trainer:
            def __init__(self, model, wrapped=None):
                self.model, self.wrapped = model, wrapped

            def stop_early(self, done):
                dist.all_reduce(done)
                return done.item() > 0

            def load(self, path):
                if self.wrapped is not None:
                    self.wrapped.load_state_dict(torch.load(path))  # TML312
                else:
                    self.model.load_state_dict(torch.load(path))  # TML312

            def load_on_host(self, path):
                self.model.load_state_dict(torch.load(path, map_location="cpu"))
        """,
        "import torch\nimport torch.distributed as dist\n",
    )


def test_a_collective_of_other_devices_says_nothing() -> None:
    check(
        """
        class Strategy:
            def gather(self, tensor):
                return xm.all_gather(tensor)

            def load(self, path, model):
                model.load_state_dict(torch.load(path))
        """,
        "import torch\nimport torch_xla.core.xla_model as xm\n",
    )
