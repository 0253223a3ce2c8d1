"""Metrics of torchmetrics that gather what they are given: those that nobody resets, and those that somebody does."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

IMPORTS = """\
import lightning
import torch
import torchmetrics
from torchmetrics import MetricCollection
from torchmetrics.classification import BinaryAUROC, MulticlassAccuracy
from torchmetrics.detection import MeanAveragePrecision
"""


@pytest.mark.parametrize(
    "text",
    [
        # asked at the end of each epoch
        """
        class Detector(lightning.LightningModule):
            def __init__(self, net):
                super().__init__()
                self.net = net
                self.map = MeanAveragePrecision(iou_type="bbox")

            def validation_step(self, batch, index):
                images, boxes = batch
                self.map.update(self.net(images), boxes)  # TML303

            def on_validation_epoch_end(self):
                self.log_dict(self.map.compute())
        """,
        # a metric around another one, whose own reset knows nothing of it
        """
        class Ranking(torchmetrics.Metric):
            def __init__(self):
                super().__init__()
                self.inner = torchmetrics.AUROC(task="binary")

            def update(self, scores, labels):
                self.inner.update(scores.sigmoid(), labels)  # TML303

            def compute(self):
                return self.inner.compute()
        """,
        # a collection, while another metric is reset
        """
        class Probe(lightning.Callback):
            def __init__(self):
                self.curves = MetricCollection({"auroc": BinaryAUROC()})
                self.hits = MulticlassAccuracy(num_classes=4)

            def on_validation_batch_end(self, trainer, module, outputs, batch, index):
                self.curves(outputs["scores"], batch["labels"])  # TML303
                self.hits.update(outputs["scores"], batch["labels"])

            def on_validation_epoch_end(self, trainer, module):
                module.log_dict(self.curves.compute())
                self.hits.reset()
        """,
        # made before the epochs
        """
        def evaluate(predict, loader, epochs):
            auroc = BinaryAUROC()
            for epoch in range(epochs):
                for scores, labels in map(predict, loader):
                    auroc.update(scores, labels)  # TML303
                print(epoch, auroc.compute())
        """,
    ],
)
def test_metrics_that_nobody_resets(text: str) -> None:
    check(textwrap.dedent(text), IMPORTS)


@pytest.mark.parametrize(
    "text",
    [
        # reset, by name, by a sweep, or from outside
        """
        class Detector(lightning.LightningModule):
            def __init__(self, net):
                super().__init__()
                self.net = net
                self.map = MeanAveragePrecision()
                self.area = BinaryAUROC()

            def validation_step(self, batch, index):
                images, boxes = batch
                self.map.update(self.net(images), boxes)
                self.area.update(self.net(images), boxes)

            def on_validation_epoch_end(self):
                self.log_dict(self.map.compute())
                self.map.reset()

        def run(detector, loader):
            detector.area.reset()
        """,
        """
        class Detector(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.map = MeanAveragePrecision()

            def validation_step(self, batch, index):
                self.map.update(*batch)

            def on_validation_epoch_end(self):
                self.log_dict(self.map.compute())
                for part in self.children():
                    part.reset()
        """,
        # Lightning resets what is logged as an object
        """
        class Detector(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.area = BinaryAUROC()

            def validation_step(self, batch, index):
                self.area.update(*batch)
                self.log("area", self.area, on_epoch=True)
        """,
        # it counts at thresholds, or sums
        """
        class Detector(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.area = BinaryAUROC(thresholds=100)
                self.hits = MulticlassAccuracy(num_classes=4)

            def validation_step(self, batch, index):
                self.area.update(*batch)
                self.hits.update(*batch)

            def on_validation_epoch_end(self):
                self.log_dict({"area": self.area.compute(), "hits": self.hits.compute()})
        """,
        # made for one evaluation
        """
        class Evaluator:
            def __init__(self):
                self.map = MeanAveragePrecision()

            def add(self, found, boxes):
                self.map.update(found, boxes)

            def summary(self):
                return self.map.compute()

        def evaluate(predict, loader):
            area = BinaryAUROC()
            for scores, labels in map(predict, loader):
                area.update(scores, labels)
            return area.compute()

        def train(predict, loader, epochs):
            for epoch in range(epochs):
                area = BinaryAUROC()
                for scores, labels in map(predict, loader):
                    area.update(scores, labels)
                print(area.compute())
        """,
        # asked in the one pass over the data
        """
        def watch(predict, loader):
            area = BinaryAUROC()
            for scores, labels in map(predict, loader):
                area.update(scores, labels)
                print(area.compute())
        """,
    ],
)
def test_metrics_that_somebody_resets(text: str) -> None:
    check_innocent(IMPORTS + textwrap.dedent(text))
