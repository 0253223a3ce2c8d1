"""Tables of what was asked for, records of a training in a tensor, and parts of what a pass returned."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """\
import cv2
import librosa
import numpy as np
import soundfile as sf
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn
"""


@pytest.mark.parametrize(
    "text",
    [
        # -- tables by what is asked for --
        """
        SOUNDS = {}

        def sound(path):
            if path not in SOUNDS:
                wave, rate = librosa.load(path, sr=16000)
                SOUNDS[path] = wave  # TML301
            return SOUNDS[path]
        """,
        """
        _PICTURES: dict = dict()

        def picture(url):
            try:
                return _PICTURES[url]
            except KeyError:
                _PICTURES[url] = cv2.imread(url)[..., ::-1]  # TML301
            return _PICTURES[url]
        """,
        """
        WAVES = {}

        def wave(path, rate):
            key = (path, rate)
            if key not in WAVES:
                data, _ = sf.read(path)
                WAVES[key] = data.astype("float32")  # TML301
            return WAVES[key]
        """,
        """
        _ROWS = {}

        def _read(path):
            return np.load(path)

        def rows(path):
            return _ROWS.setdefault(path, _read(path))  # TML301
        """,
        """
        class Voices:
            _known = {}

            @classmethod
            def get(cls, prompt):
                if prompt not in cls._known:
                    cls._known[prompt] = torch.load(prompt, map_location="cpu")  # TML302
                return cls._known[prompt]
        """,
        """
        class Videos:
            table = {}

            @staticmethod
            def fetch(video_id):
                if video_id not in Videos.table:
                    Videos.table[video_id] = Image.open(f"{video_id}.png").convert("RGB")  # TML302
                return Videos.table[video_id]
        """,
        # by a name that says less than what it is called with
        """
        class Pictures:
            table = {}

        def picture(name, gray=False):
            key = (name, gray)
            if key not in Pictures.table:
                Pictures.table[key] = cv2.imread(name)  # TML302
            return Pictures.table[key]

        def main(folder):
            for path in sorted(folder.glob("*.png")):
                print(picture(str(path)).shape)
        """,
        """
        class Pictures:
            table = {}

        def picture(name, gray=False):
            key = (name, gray)
            if key not in Pictures.table:
                Pictures.table[key] = cv2.imread(f"assets/{name}.png")
            return Pictures.table[key]

        def main(kinds):
            for kind in kinds:
                print(picture(kind).shape, picture("frame").shape)
        """,
        # what is computed for a prompt, whatever the function that does so is called
        """
        class Prompts:
            def __init__(self, net):
                self.net = net
                self.known = {}

            @torch.no_grad()
            def fetch(self, prompt):
                if prompt not in self.known:
                    self.known[prompt] = self.net(prompt) * torch.ones(77, 768)  # TML311
                return self.known[prompt]
        """,
        # a memo of the project's own around it
        """
        def remembered(function):
            results = {}

            def inner(text):
                if text not in results:
                    results[text] = function(text)
                return results[text]
            return inner

        @remembered  # TML305
        def embed(text):
            return torch.randn(1, 512)
        """,
        # released, bounded, filled once, few, numbers, a table of constants
        """
        SOUNDS = {}

        def sound(path):
            if path not in SOUNDS:
                SOUNDS[path] = np.load(path)
            return SOUNDS[path]

        def forget(path):
            SOUNDS.pop(path, None)
        """,
        """
        SOUNDS = {}

        def sound(path):
            if path not in SOUNDS:
                if len(SOUNDS) > 16:
                    SOUNDS.clear()
                SOUNDS[path] = np.load(path)
            return SOUNDS[path]
        """,
        """
        SOUNDS = {}

        def preload(paths):
            for path in paths:
                SOUNDS[path] = np.load(path)
        """,
        """
        MODELS = {}
        LENGTHS = {}

        def model(model_path):
            if model_path not in MODELS:
                MODELS[model_path] = torch.load(model_path, map_location="cpu")
            return MODELS[model_path]

        def length(path):
            if path not in LENGTHS:
                LENGTHS[path] = len(np.load(path))
            return LENGTHS[path]
        """,
        """
        CONSTANTS = {}

        def constant(value, dtype, device):
            key = (value.shape, value.tobytes(), dtype, device)
            if key not in CONSTANTS:
                CONSTANTS[key] = torch.as_tensor(value.copy(), dtype=dtype, device=device)
            return CONSTANTS[key]
        """,
        # -- a tensor with a place for each round --
        """
        def train(model, loader, opt, steps):
            record = torch.zeros(steps)
            for i, (x, y) in enumerate(loader):
                loss = F.mse_loss(model(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                record[i] = loss  # TML101
            return record
        """,
        """
        def train(model, loader, opt, steps):
            record = torch.zeros(steps)
            for i, (x, y) in enumerate(loader):
                loss = F.mse_loss(model(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                record[i] = loss.item()
            return record
        """,
        """
        def train(model, tasks, opt):
            for task in tasks:
                losses = torch.zeros(len(task))
                for i, (x, y) in enumerate(task):
                    losses[i] = F.mse_loss(model(x), y)
                opt.zero_grad()
                losses.mean().backward()
                opt.step()
        """,
        # -- parts of what a pass returned --
        """
        class Criterion(nn.Module):
            def forward(self, model, sample):
                loss = F.nll_loss(model(sample["x"]), sample["y"])
                return loss, {"loss": loss, "n": sample["y"].numel()}

        def train(model, loader, opt):
            criterion, log = Criterion(), []
            for sample in loader:
                loss, output = criterion(model, sample)
                opt.zero_grad()
                loss.backward()
                opt.step()
                log.append(output)  # TML102
        """,
        """
        class Criterion(nn.Module):
            def forward(self, model, sample):
                loss = F.nll_loss(model(sample["x"]), sample["y"])
                return loss, {"loss": loss.data, "n": sample["y"].numel()}

        def train(model, loader, opt):
            criterion, log = Criterion(), []
            for sample in loader:
                loss, output = criterion(model, sample)
                opt.zero_grad()
                loss.backward()
                opt.step()
                log.append(output)
        """,
        """
        def train(detector, loader, opt):
            log = []
            for images, targets in loader:
                parts = detector(images, targets)
                total = sum(part for part in parts.values())
                opt.zero_grad()
                total.backward()
                opt.step()
                log.append(parts["box"])  # TML102
        """,
        """
        def train(detector, loader, opt):
            log = []
            for images, targets in loader:
                parts = detector(images, targets)
                total = sum(part for part in parts.values())
                opt.zero_grad()
                total.backward()
                opt.step()
                log.append(parts["box"].item())
        """,
        # -- results that leave the device when all are there --
        """
        class Evaluator:
            def __init__(self, model):
                self.model = model.cuda()
                self.rows = []

            @torch.no_grad()
            def run(self, loader):
                for x, y in loader:
                    self.rows.append(self.model(x.cuda()))  # TML310
                found = torch.cat(self.rows).cpu()
                self.rows = []
                return found
        """,
        """
        @torch.no_grad()
        def export(model, loader, path):
            model.cuda()
            table = {}
            for names, x in loader:
                for name, row in zip(names, model(x.cuda())):
                    table[name] = row  # TML310
            torch.save(table, path)
        """,
        """
        @torch.no_grad()
        def export(model, loader, path):
            model.cuda()
            rows = []
            for x in loader:
                rows.append(model(x.cuda()).cpu())
            torch.save(torch.cat(rows), path)
        """,
        # a bank that is searched on the device
        """
        class Bank:
            def __init__(self, model):
                self.model = model.cuda()
                self.rows = []

            @torch.no_grad()
            def build(self, loader):
                self.rows.clear()
                for x in loader:
                    self.rows.append(self.model(x.cuda()))
                self.matrix = torch.cat(self.rows)

            def search(self, query):
                return (self.matrix @ query).argmax().cpu()
        """,
    ],
)
def test_kept_by_key(text: str) -> None:
    check(textwrap.dedent(text), IMPORTS)


VIEWED = """
import numpy as np

class Views:
    def __init__(self):
        self.made = {{}}

    def of(self, array):
        key = {key}
        if key not in self.made:
            self.made[key] = {view}{mark}
        return self.made[key]

def main(read, model):
    views = Views()
    while True:
        print(model(views.of(read())).sum().item())
"""


@pytest.mark.parametrize(
    ("key", "view", "mark"),
    [
        ("(array.ctypes.data, array.shape)", "torch.from_dlpack(array)", "  # TML311"),
        ("array.data.ptr", "torch.utils.dlpack.from_dlpack(array.toDlpack())", "  # TML311"),
        ('array.__cuda_array_interface__["data"][0]', "torch.as_tensor(array)", "  # TML311"),
        ("array.shape", "torch.from_dlpack(array)", ""),
        ("array.ctypes.data", "array.nbytes", ""),
    ],
)
def test_views_by_the_address_of_an_array(key: str, view: str, mark: str) -> None:
    check(VIEWED.format(key=key, view=view, mark=mark), prelude=IMPORTS)
