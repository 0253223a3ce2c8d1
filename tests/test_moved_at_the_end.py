"""Results that the hooks of an evaluation collect on the device, and that the hook for its end moves."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CALLBACK = """
class Collect(lightning.Callback):
    def __init__(self):
        self.rows = []
        self.info = {{"x": [], "n": []}}

    def on_predict_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        x, y = batch
        {adds}

    def on_predict_epoch_end(self, trainer, pl_module):
        {ends}
        self.rows.clear()
        self.info = {{"x": [], "n": []}}
"""
MODULE = """
class Task(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()
        self.rows, self.labels = [], []

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self.net(x)
        {adds}

    def on_validation_epoch_end(self):
        {ends}
        self.rows.clear()
        self.labels.clear()
"""
KEPT = 'self.result = {"rows": torch.cat(self.rows).cpu()}'
INFO = """for name, parts in self.info.items():
            if name == "x":
                self.result = torch.cat([part for part in parts]).cpu()"""
GUILTY = {
    "the outputs": (CALLBACK, "self.rows.append(outputs)  # TML310", KEPT),
    "made of the outputs": (CALLBACK, "out = pl_module.scale(outputs)\n        self.rows.append(out)  # TML310", KEPT),
    "an entry": (CALLBACK, 'self.rows.append(outputs["logits"])  # TML310', KEPT),
    "the inputs": (CALLBACK, 'self.info["x"].append(x)  # TML310', INFO),
    "of the module": (MODULE, "self.rows.append(logits.detach())  # TML310", "show(torch.cat(self.rows).cpu())"),
    "by a name": (
        MODULE,
        "self.rows.append(logits)  # TML310",
        "rows = torch.cat(self.rows)\n        rows = rows.float().cpu()\n        show(rows.argmax(1))",
    ),
}
INNOCENT = {
    "moved": (CALLBACK, "self.rows.append(outputs.cpu())", KEPT),
    "moved by a helper": (CALLBACK, 'self.rows.append(move(outputs, "cpu"))', KEPT),
    "moved by a keyword": (CALLBACK, 'self.rows.append(outputs.to(device="cpu"))', KEPT),
    "labels": (CALLBACK, "self.rows.append(y)", KEPT),
    "an entry with labels": (CALLBACK, 'self.rows.append(outputs["labels"])', KEPT),
    "classes": (MODULE, "self.rows.append(logits.argmax(1))", "show(torch.cat(self.rows).cpu().numpy())"),
    "of a helper": (
        MODULE,
        "loss, preds = self.shared_step(batch)\n        self.rows.append(preds)",
        "show(torch.cat(self.rows).cpu().numpy())",
    ),
    "computed with first": (MODULE, "self.rows.append(logits)", "show(torch.cat(self.rows).softmax(1).mean(0).cpu())"),
    "computed with beside": (
        MODULE,
        "self.rows.append(logits)",
        "rows = torch.cat(self.rows)\n        self.metric(rows)\n        show(rows.cpu())",
    ),
    "in training": (
        MODULE.replace("validation", "training"),
        "self.rows.append(logits.detach())",
        "show(torch.cat(self.rows).cpu().numpy())",
    ),
}


@pytest.mark.parametrize("name", GUILTY)
def test_results_that_wait_for_the_end(name: str) -> None:
    code, adds, ends = GUILTY[name]
    check(code.format(adds=adds, ends=ends))


@pytest.mark.parametrize("name", INNOCENT)
def test_results_that_do_not(name: str) -> None:
    code, adds, ends = INNOCENT[name]
    check_innocent(code.format(adds=adds, ends=ends))


def test_a_batch_that_a_helper_moves_anew() -> None:
    """A dictionary that a comprehension makes is another one in each round: it collects nothing."""
    check(
        """
        def move(x, device):
            if isinstance(x, torch.Tensor):
                return x.to(device)
            if isinstance(x, dict):
                return {key: move(value, device) for key, value in x.items()}
            return x

        class Keeper:
            def __init__(self):
                self.info = {"x": []}

            def add(self, x):
                for name in self.info:
                    self.info[name].append(x)  # TML310

            def end(self):
                for name, parts in self.info.items():
                    show({key: torch.cat([part[key] for part in parts]).cpu() for key in parts[0]})
                self.info = {}

        @torch.no_grad()
        def predict(loader: torch.utils.data.DataLoader, device):
            keeper = Keeper()
            for x, y in loader:
                batch = move(x, device), y.to(device)
                keeper.add(batch[0])
            keeper.end()
        """
    )


_SHARES = """
    def shares(rows, model):
        model.eval()
        found = []
        with torch.no_grad():
            for row in rows:
                row = {host}
                row = torch.from_numpy(row).float().to("cuda")
                found.append({kept}){mark}
        return found

    def main(rows, model, path, use):
        found = shares(rows, model)
        torch.save(found, path)
        return use(found)
    """


def test_numbers_of_the_host_that_are_wanted_on_the_device() -> None:
    check(_SHARES.format(host="(np.array(row) - np.mean(row)) / np.std(row)", kept="F.softmax(row / 5, 0)", mark=""))
    check(_SHARES.format(host="np.array(row) / 255", kept="model(row)", mark="  # TML310"))
