"""What a loop puts on a device for what follows, beside results that pile up there."""

from __future__ import annotations

import pytest
from snippets import PRELUDE, check

_IMPORTS = PRELUDE + "import numpy as np\n"
_LOAD = """
        def load_scene(path, device):
            with np.load(path) as file:
                return {key: torch.tensor(value).to(device) for key, value in file.items()}
"""
_USE = """
        @torch.no_grad()
        def simulate(model: nn.Module, paths, device):
            scenes = []
            for path in paths:
                LINE
            batch = {key: torch.cat([scene[key] for scene in scenes]) for key in scenes[0]}
            tops = [scene["speed"].cpu().numpy().max() for scene in scenes]
            return model(batch["past"]), tops
"""
_ROWS = """
        @torch.no_grad()
        def pick(model: nn.Module, loader, count, length, device):
            rows = []
            for batch in loader:
                mask = batch.get("mask")
                for index in range(len(batch["ids"])):
                    if len(rows) >= count:
                        return rows
                    LINE
                    KEEP
            return rows

        def show(model: nn.Module, loader, decode, device):
            for row in pick(model, loader, 3, 80, device):
                row = row["row"] if "row" in row else row
                print(decode(row.cpu()))
"""
SNIPPETS = {
    "scenes that are loaded onto the device": _LOAD + _USE.replace("LINE", "scenes.append(load_scene(path, device))"),
    "scenes that are loaded, by a name": _LOAD
    + _USE.replace("LINE", "scene = load_scene(path, device=device)\n                scenes.append(scene)"),
    "arrays by key": """
        def to_torch(arrays, device):
            out = {}
            for key, row in arrays.items():
                if key == "ids":
                    out[key] = torch.from_numpy(row).long().to(device)
                else:
                    out[key] = torch.from_numpy(row.astype(np.float32)).to(device)
            return out

        @torch.no_grad()
        def run(model: nn.Module, arrays, device):
            batch = to_torch(arrays, device)
            past = {key: batch[key][:1].detach().cpu().numpy() for key in batch}
            return model(batch["x"]).cpu(), past
        """,
    "the first rows of some batches": _ROWS.replace(
        "LINE", 'row = batch["ids"][index][:length].unsqueeze(0).to(device)'
    ).replace("KEEP", "rows.append(row)"),
    "several parts of them": _ROWS.replace(
        "LINE", 'row = batch["ids"][index][:length].unsqueeze(0).to(device)'
    ).replace("KEEP", 'rows.append({"ids": row, "mask": mask[index].to(device) if mask is not None else None})'),
    "what is computed of the rows": _ROWS.replace(
        "LINE", 'row = model(batch["ids"][index][:length].unsqueeze(0).to(device))'
    ).replace("KEEP", "rows.append(row)  # TML310"),
    "what is computed of them, moved by a name": _ROWS.replace("LINE", "row = model(mask[index]).to(device)").replace(
        "KEEP", 'rows.append({"row": row})  # TML310'
    ),
    "what the model makes of what is loaded": _LOAD
    + """
        @torch.no_grad()
        def predict_all(model: nn.Module, paths, device):
            rows = []
            for path in paths:
                scene = load_scene(path, device)
                rows.append(model(scene["past"]))  # TML310
            return torch.cat(rows).cpu()
        """,
    "what the model makes of arrays": """
        @torch.no_grad()
        def predict_all(model: nn.Module, arrays, device):
            out = {}
            for key, row in arrays.items():
                x = torch.from_numpy(row).to(device)
                out[key] = model(x)  # TML310
            return {key: row.cpu() for key, row in out.items()}
        """,
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name], _IMPORTS)


_PICKING = """
    class Boxes:
        def pick(self, boxes, scores):
            best = scores.sort(dim=0)[1][-20:]{moved}
            return boxes[best], scores[best]

        def decode(self, boxes, scores):
            found = []
            for box, score in zip(boxes.split(1, 0), scores.split(1, 0)):
                found.append(self.pick(box.squeeze(0), score.squeeze(0))){mark}
            return found

    @torch.no_grad()
    def evaluate(net: nn.Module, loader: torch.utils.data.DataLoader, device):
        rows = []
        for images, ids in loader:
            boxes, scores = net(images.to(device))
            for number in range(len(boxes)):
                one = Boxes().decode(boxes[number].unsqueeze(0), scores[number].unsqueeze(0))[0]
                rows.append([part.cpu().numpy() for part in one])
        return rows
    """


@pytest.mark.parametrize(("moved", "mark"), [('.to("cpu")', ""), (".to(device='cpu')", ""), ("", "")])
def test_a_helper_that_moves_indices_to_the_host(moved: str, mark: str) -> None:
    """It puts nothing on a device: the rounds that call it go over no batches."""
    check(_PICKING.format(moved=moved, mark=mark))
