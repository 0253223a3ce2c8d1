"""Figures of pyplot: those that nothing closes, and those that somebody sees to."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = "import matplotlib.pyplot as plt\nfrom matplotlib.figure import Figure\n"


@pytest.mark.parametrize(
    "text",
    [
        # a hook of a callback, with the axes left alone
        """
        class Watch:
            def on_validation_epoch_end(self, trainer, module):
                fig = plt.figure(figsize=(4, 4))  # TML314
                plt.plot(self.losses)
                plt.savefig(self.path)
        """,
        # nobody has its name
        """
        def curves(runs):
            for run in runs:
                plt.figure()  # TML314
                plt.plot(run.losses)
                plt.savefig(run.path)
        """,
        # a helper makes it
        """
        def canvas(width):
            fig, ax = plt.subplots(figsize=(width, 4))
            return fig, ax

        def report(batches, logger):
            for batch in batches:
                fig, ax = canvas(8)  # TML314
                ax.imshow(batch)
                logger.log({"batch": wandb.Image(fig)})
        """,
        # a helper saves it, and leaves it open
        """
        def save(figure, path):
            figure.savefig(path, dpi=200)

        class Logger:
            def log_attention(self, weights, path):
                fig, ax = plt.subplots()  # TML314
                ax.imshow(weights)
                save(fig, path)
        """,
        # its pixels are given back, not the figure
        """
        class Visualizer:
            @staticmethod
            def draw_features(features):
                fig = plt.figure(frameon=False)  # TML314
                fig.add_subplot(1, 1, 1).imshow(features)
                return np.asarray(fig.canvas.buffer_rgba())

            def close(self):
                plt.close(self.window)
        """,
        # the attribute has the last one, pyplot has them all
        """
        class Model:
            def training_step(self, batch):
                self.fig = plt.figure()  # TML314
                plt.plot(batch)
                self.fig.savefig("step.png")
        """,
        # a function is told which step it draws
        """
        def draw_masks(masks, path, writer=None, step=0):
            fig, axes = plt.subplots(1, len(masks))  # TML314
            for ax, mask in zip(axes, masks):
                ax.imshow(mask)
            if path is not None:
                plt.savefig(path)
            if writer is not None:
                writer.add_images("masks", masks, step)
        """,
    ],
)
def test_figures_that_nothing_closes(text: str) -> None:
    check(IMPORTS + textwrap.dedent(text))


@pytest.mark.parametrize(
    "text",
    [
        # closed, by itself or with all others
        """
        class Watch:
            def on_validation_epoch_end(self, trainer, module):
                fig, ax = plt.subplots()
                ax.plot(self.losses)
                fig.savefig(self.path)
                plt.close(fig)
        """,
        # who calls closes
        """
        class Watch:
            def draw_losses(self):
                plt.figure()
                plt.plot(self.losses)
                plt.savefig(self.path)

            def on_epoch_end(self):
                self.draw_losses()
                plt.close("all")
        """,
        # a helper closes
        """
        def save(fig, path):
            fig.savefig(path)
            plt.close(fig)

        class Logger:
            def log_attention(self, weights, path):
                fig, ax = plt.subplots()
                ax.imshow(weights)
                save(fig, path)
        """,
        # the caller gets it, or who is given it may close it, as TensorBoard does
        """
        class Logger:
            def draw_attention(self, weights, path):
                fig, ax = plt.subplots()
                ax.imshow(weights)
                fig.savefig(path)
                return fig

            def log_attention(self, weights, writer, step):
                fig = plt.figure()
                fig.savefig("last.png")
                writer.add_figure("attention", fig, step)
        """,
        # the same one each time; and one that pyplot does not know
        """
        class Logger:
            def log_losses(self, path):
                plt.figure(1)
                plt.plot(self.losses)
                plt.savefig(path)

            def log_lengths(self, path):
                fig = Figure()
                fig.subplots().plot(self.lengths)
                fig.savefig(path)
        """,
        # made when there is none
        """
        class Logger:
            def log_losses(self, path):
                if self.fig is None:
                    self.fig = plt.figure()
                self.fig.savefig(path)
        """,
        # somebody looks at it
        """
        def show(runs):
            for run in runs:
                plt.figure()
                plt.plot(run.losses)
                plt.savefig(run.path)
                plt.show()
        """,
        # emptied, and the next is not made by pyplot's table alone
        """
        def curves(runs):
            for run in runs:
                fig = plt.figure()
                plt.plot(run.losses)
                fig.savefig(run.path)
                fig.clf()
        """,
        # once, or for a few that stand there
        """
        def curves(losses, path):
            plt.figure()
            plt.plot(losses)
            plt.savefig(path)

        def both(log):
            for name in ("train", "valid"):
                plt.figure()
                plt.plot(log[name])
                plt.savefig(name)
        """,
        # told which step it is, and closed; or given back to whoever asked for it
        """
        def draw_masks(masks, path, epoch):
            fig, ax = plt.subplots()
            ax.imshow(masks[0])
            plt.savefig(path.format(epoch))
            plt.close(fig)

        def draw_slots(slots, path, epoch):
            fig, ax = plt.subplots()
            ax.imshow(slots[0])
            plt.savefig(path.format(epoch))
            return fig, ax
        """,
        # left for the caller to go on with
        """
        class Logger:
            def draw_losses(self):
                plt.figure()
                plt.plot(self.losses)
        """,
    ],
)
def test_figures_that_somebody_sees_to(text: str) -> None:
    check(IMPORTS + textwrap.dedent(text))


SCRIPT = """
def draw(rows, path):
    fig, ax = plt.subplots(){mark}
    ax.plot(rows)
    fig.savefig(path)

def main(rows, runs, both):
    {modes}
    for mode in modes:
        draw(rows, f"{{mode}}.png")

if __name__ == "__main__":
    {runs}
"""


@pytest.mark.parametrize(
    ("modes", "runs", "mark"),
    [
        ("modes = ['train', 'test'] if both else ['test']", "main([], [], True)", ""),
        ("modes = ['train', 'test'] if both else runs", "main([], [], True)", "  # TML314"),
        ("modes = ['train', 'test']", "main([], [], True)", ""),
        ("if both:\n        modes = ['train', 'test']\n    else:\n        modes = ['test']", "main([], [], True)", ""),
        ("modes = ['test']\n    modes.extend(runs)", "main([], [], True)", "  # TML314"),
        ("modes = [*runs]", "main([], [], True)", "  # TML314"),
        ("modes = runs", "main([], [], True)", "  # TML314"),
    ],
)
def test_a_script_that_draws_a_few(modes: str, runs: str, mark: str) -> None:
    check(IMPORTS + SCRIPT.format(modes=modes, runs=runs, mark=mark))
