"""Objects that put themselves into a table of the module under an id that each has for itself, drawn in one of the
usual ways: nothing takes them out."""

from __future__ import annotations

import pytest
from snippets import check

RECORDS = """
import uuid
import weakref
from dataclasses import dataclass, field
from itertools import count

REGISTRY = {table}
numbers = count()

@dataclass
class Picture:
    path: str
    pixels: torch.Tensor
    id: str = {id}

    def __post_init__(self):
        REGISTRY[self.id] = self{mark}

def look_up(key):
    return REGISTRY[key]
"""


@pytest.mark.parametrize(
    ("table", "id", "mark"),
    [
        ("{}", "field(default_factory=lambda: uuid.uuid4().hex)", "  # TML314"),
        ("{}", "field(default_factory=uuid.uuid4)", "  # TML314"),
        ("{}", "field(default_factory=lambda: next(numbers))", "  # TML314"),
        ("{}", "field(default_factory=lambda: str(uuid.uuid4())[:8])", "  # TML314"),
        ("weakref.WeakValueDictionary()", "field(default_factory=lambda: uuid.uuid4().hex)", ""),
        ("{}", "'default'", ""),  # one of each name, as the caller says
        ("{}", "field(default='default')", ""),
        ("{}", "field(default_factory=current_name)", ""),
    ],
)
def test_fields_that_are_made_for_each_object(table: str, id: str, mark: str) -> None:
    check(RECORDS.format(table=table, id=id, mark=mark))


SESSIONS = """
import uuid

SESSIONS = {{}}

class Session:
    def __init__(self, model):
        self.cache = model.new_cache()
        self.id = {id}
        SESSIONS[self.id] = self{mark}

def find(key):
    return SESSIONS[key]
{close}
"""
CLOSE = "\ndef close(key):\n    SESSIONS.pop(key, None)"


@pytest.mark.parametrize(
    ("id", "close", "mark"),
    [
        ("uuid.uuid4().hex", "", "  # TML314"),
        ("uuid.uuid4().hex[:12]", "", "  # TML314"),
        ("f'session-{uuid.uuid4().hex}'", "", "  # TML314"),
        ("uuid.uuid4().hex", CLOSE, ""),
        ("model.name", "", ""),
        ("f'session-{model.name}'", "", ""),
    ],
)
def test_parts_of_what_is_drawn(id: str, close: str, mark: str) -> None:
    check(SESSIONS.format(id=id, close=close, mark=mark))
