"""Writers of TensorBoard that nobody closes, and those that somebody does."""

from __future__ import annotations

import pytest
from snippets import PRELUDE, codes

IMPORTS = """\
import atexit

from torch.utils.tensorboard import SummaryWriter
"""

LEFT_OPEN = [
    """
    def log_epoch(folder, losses):
        writer = SummaryWriter(folder)
        for i, loss in enumerate(losses):
            writer.add_scalar("loss", loss, i)
    """,
    """
    class Trainer:
        def train(self, path, val=None):
            train_w = None
            val_w = None
            train_w = SummaryWriter(path)
            if val is not None:
                val_w = SummaryWriter(path + "/val")
            self.evaluate(train_w, val_w)
        def evaluate(self, one, two):
            if one:
                one.add_scalar("x", 1, 1)
                one.flush()
    """,
    """
    def fit(cfg):
        tb = SummaryWriter(cfg.out) if cfg.tb else None
        if tb is not None:
            tb.add_text("cfg", str(cfg))
    if __name__ == "__main__":
        for cfg in [1, 2]:
            fit(cfg)
    """,
    """
    def graph(model, x, folder):
        SummaryWriter(folder).add_graph(model, x)
    """,
    """
    import tensorboardX
    class Evaluator:
        def on_epoch(self, epoch, images):
            board = tensorboardX.SummaryWriter(logdir=f"runs/{epoch}")
            self._show(board, images)
        def _show(self, board, images):
            board.add_images("x", images)
    """,
    """
    class Run:
        def open(self, folder):
            writer = SummaryWriter(folder)
            self.writer = writer
        def close(self):
            self.writer.flush()
    """,
    """
    class Logger2:
        def log_video(self, name, frames, step):
            sw = SummaryWriter(log_dir=name)
            sw.add_video(name, frames, step)
            sw.flush()
    """,
    """
    def write_histograms(model, folder, step):
        from tensorboardX import SummaryWriter as SW
        tb = SW(folder)
        for n, p in model.named_parameters():
            tb.add_histogram(n, p, step)
    """,
    """
    def sweep(configs):
        for c in configs:
            writer = SummaryWriter(c.dir)
            train_one(c, writer)
    def train_one(c, writer):
        writer.add_scalar("a", 1, 2)
    """,
    """
    class Experiment:
        def execute(self, seed):
            board: SummaryWriter = SummaryWriter(str(seed))
            board.add_scalar("s", seed, 0)
    """,
    """
    class Callback:
        def on_fit_end(self, trainer, result):
            w = SummaryWriter(trainer.dir)
            try:
                w.add_scalar("r", result, 0)
            except OSError:
                w.close()
                raise
    """,
    """
    class Agg:
        def agg(self, runs):
            writers = [SummaryWriter(r) for r in runs]
            for w in writers:
                w.add_scalar("x", 1, 0)
    """,
]

CLOSED = [
    """
    def log_epoch(folder, losses):
        writer = SummaryWriter(folder)
        for i, loss in enumerate(losses):
            writer.add_scalar("loss", loss, i)
        writer.close()
    """,
    """
    class Trainer:
        def train(self, path, val=None):
            train_w = None
            val_w = None
            train_w = SummaryWriter(path)
            val_w = SummaryWriter(path + "/val")
            self.evaluate(train_w, val_w)
            for w in (train_w, val_w):
                w.close()
        def evaluate(self, one, two):
            if one:
                one.add_scalar("x", 1, 1)
                one.flush()
    """,
    """
    def fit(cfg):
        tb = SummaryWriter(cfg.out) if cfg.tb else None
        if tb is not None:
            tb.add_text("cfg", str(cfg))
    if __name__ == "__main__":
        fit(1)
    """,
    """
    def graph(model, x, folder):
        with SummaryWriter(folder) as w:
            w.add_graph(model, x)
    """,
    """
    import tensorboardX
    class Evaluator:
        def on_epoch(self, epoch, images):
            board = tensorboardX.SummaryWriter(logdir=f"runs/{epoch}")
            self._show(board, images)
        def _show(self, board, images):
            board.add_images("x", images)
            board.close()
    """,
    """
    def make(folder):
        w = SummaryWriter(folder)
        w.add_text("a", "b")
        return w
    """,
    """
    class Run:
        def begin(self, folder):
            w = SummaryWriter(folder)
            atexit.register(w.close)
            w.add_text("a", "b")
    """,
    """
    class Run:
        def begin(self, folder):
            w = SummaryWriter(folder)
            self.backend = Backend(w)
    """,
    """
    class Agg:
        def agg(self, runs):
            writers = [SummaryWriter(r) for r in runs]
            for w in writers:
                w.add_scalar("x", 1, 0)
            for w in writers: w.close()
    """,
    """
    class Exp:
        def go(self, folder):
            try:
                w = SummaryWriter(folder)
                w.add_text("a","b")
            finally:
                w.close()
    """,
]


@pytest.mark.parametrize("text", LEFT_OPEN)
def test_what_nothing_ends(text: str) -> None:
    assert codes(text, PRELUDE + IMPORTS) == {"TML505"}


@pytest.mark.parametrize("text", CLOSED)
def test_what_comes_to_its_end(text: str) -> None:
    assert codes(text, PRELUDE + IMPORTS) == set()
