"""What a framework gathers of its steps where a second hook has the result of the first; each beside a hook that hands
it on as it is."""

from __future__ import annotations

import pytest
from snippets import check

_MODULE = """
class Unfolded(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, index):
        images, output = batch["image"], self.net(batch["image"])
        loss = F.mse_loss(output, batch["target"])
        return {{"loss": loss, "output": output, "name": batch["name"]}}{of_step}

    def training_step_end(self, outputs):
        errors = {{}}
        for number, name in enumerate(outputs["name"]):
            errors[name] = F.mse_loss(outputs["output"][number].detach().cpu(), self.truth[name]).item()
        {returned}{of_end}

    def training_epoch_end(self, outputs):
        errors = [error for output in outputs for error in output["errors"].values()]
        self.log("error", sum(errors) / len(errors))
"""
_IMPORT = "import pytorch_lightning as pl\n"

RETURNED = {
    "figures": ('return {"loss": outputs["loss"], "errors": errors}', "", ""),
    "what it has got": ("outputs['errors'] = errors\n        return outputs", "", ""),
    "pictures": (
        'pictures = self.net(outputs["again"])\n'
        '        return {"loss": outputs["loss"], "errors": errors, "pictures": pictures}',
        "",
        "  # TML107",
    ),
}


@pytest.mark.parametrize("name", RETURNED)
def test_hooks_after_a_step(name: str) -> None:
    returned, of_step, of_end = RETURNED[name]
    check(_IMPORT + _MODULE.format(returned=returned, of_step=of_step, of_end=of_end))


_PLAIN = """
class Folded(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, index):
        output, features = self.net(batch["image"])
        return {{"loss": F.mse_loss(output, batch["target"]), "features": features}}{mark}
    {hook}
    def training_epoch_end(self, outputs):
        self.log("loss", torch.stack([output["loss"] for output in outputs]).mean())
"""
_HOOK = "\n    def training_step_end(self, outputs):\n        {body}\n"
_HOOKS = {
    "none": ("", "  # TML107"),
    "keeps a part": (_HOOK.format(body='return {"loss": outputs["loss"].mean()}'), ""),
    "reads it": (_HOOK.format(body='self.seen += len(outputs["features"])\n        return outputs'), ""),
    "hands it on": (_HOOK.format(body="self.seen += 1\n        return outputs"), "  # TML107"),
}


@pytest.mark.parametrize("name", _HOOKS)
def test_entries_that_nobody_reads(name: str) -> None:
    hook, mark = _HOOKS[name]
    check(_IMPORT + _PLAIN.format(hook=hook, mark=mark))
