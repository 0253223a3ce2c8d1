"""Device memory for nothing: checkpoints that are loaded onto a device, caches that are emptied too early."""

from __future__ import annotations

import pytest
from test_noop import check


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
