"""Records that a logger hands to handlers: they have the arguments of the call."""

from __future__ import annotations

import pytest
from snippets import check

LOGGED = """
import logging

logger = logging.getLogger(__name__)

class Collecting(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = {container}

    def emit(self, record):
        self.records.append({kept}){told}

def train(model, loader, optimizer):
    for x in loader:
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        logger.info("%s", {logged})
        optimizer.step()

def main():
    model, handler = Net(), Collecting()
    {adds}
    loader, optimizer = torch.utils.data.DataLoader(range(9)), torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(9):
        train(model, loader, optimizer)
    print(len(handler.records))
"""
OUTPUT = "model.layer(x).detach()"


@pytest.mark.parametrize(
    ("kept", "logged", "told"),
    [
        ("record", OUTPUT, "  # TML303"),
        ("record.args", OUTPUT, "  # TML303"),
        ("record", "loss", "  # TML102"),
        ("record", "loss.item()", ""),
        ("self.format(record)", OUTPUT, ""),
        ("record.getMessage()", OUTPUT, ""),
        ("(record.created, record.levelname)", OUTPUT, ""),
    ],
)
def test_what_a_handler_keeps_of_a_record(kept: str, logged: str, told: str) -> None:
    adds = "logger.addHandler(handler)"
    check(LOGGED.format(container="[]", kept=kept, logged=logged, told=told, adds=adds))


@pytest.mark.parametrize(
    ("container", "adds"), [("deque(maxlen=9)", "logger.addHandler(handler)"), ("[]", "print(handler)")]
)
def test_handlers_that_keep_few_or_get_none(container: str, adds: str) -> None:
    check(LOGGED.format(container=container, kept="record", logged=OUTPUT, told="", adds=adds))
