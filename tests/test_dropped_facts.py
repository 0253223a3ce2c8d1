"""Facts of other files that a long run has dropped are gone at once: no collector looks at what is old."""

import gc
import weakref
from pathlib import Path

import pytest

from torchmemlint.config import Settings
from torchmemlint.linter import project
from torchmemlint.linter.engine import lint_file, plan, session


def test_what_a_run_has_looked_at_hangs_in_no_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meters.py").write_text(
        "class Meter:\n    def __init__(self):\n        self.seen = []\n\n"
        "    def add(self, value):\n        self.seen.append(value)\n"
    )
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nfrom meters import Meter\n\nmeter = Meter()\nmodel = torch.nn.Linear(4, 4)\n"
        "for _ in range(9):\n    loss = model(torch.rand(4)).sum()\n    loss.backward()\n    meter.add(loss)\n"
    )
    settings = plan(Settings(root=tmp_path))
    here = session(settings)
    gc.disable()
    try:
        assert [found.code for found in lint_file(str(script), settings, here)] == ["TML102"]
        gc.collect(0)  # of the run, as after every file
        used = [weakref.ref(outline) for outline in here.project.used.values() if outline is not None]
        here.project.begin()
        monkeypatch.setattr(project, "_MOST_STATEMENTS", 0)
        assert here.project.known(str(script))
        assert len(used) == 1 and used[0]() is None
    finally:
        gc.enable()
