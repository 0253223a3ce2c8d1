"""Clean-ups that take a part out of what an attribute has, and leave the rest of it there."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

HEAD = """
import gc


class Worker:
    def __init__(self, width):
        self.model = nn.Linear(width, width)


class Cache:
    def __init__(self, rows):
        self.rows = [torch.zeros(2, rows, 16, 64) for _ in range(4)]


class Notes:
    def __init__(self):
        self.lines = []


class Engine:
    def __init__(self, width):
        self.worker = Worker(width)
        self.cache = Cache(64)


class Light:
    def __init__(self, width):
        self.worker = Worker(width)
        self.notes = Notes()


class LLM:
    def __init__(self, width, engine=Engine):
        self.engine = engine(width)
"""

USE = """
def main():
    judge = Judge()
    for _ in range(3):
        judge.CLEAN()
"""

GUILTY = {
    "tables of tensors": """
        class Judge:
            def __init__(self):
                self.llm = LLM(64)

            def cleanup(self):
                del self.llm.engine.worker
                gc.collect()
                torch.cuda.empty_cache()  # TML604
        """,
    "a model beside it": """
        class Pair:
            def __init__(self):
                self.one, self.two = nn.Linear(64, 64), nn.Linear(64, 64)

        class Judge:
            def __init__(self):
                self.pair = Pair()

            def unload(self):
                self.pair.one = None
                torch.cuda.empty_cache()  # TML604
        """,
}

INNOCENT = {
    "all of it": """
        class Judge:
            def __init__(self):
                self.llm = LLM(64)

            def cleanup(self):
                del self.llm.engine.worker
                self.llm = None
                gc.collect()
                torch.cuda.empty_cache()
        """,
    "the rest is light": """
        class Judge:
            def __init__(self):
                self.light = Light(64)

            def cleanup(self):
                del self.light.worker
                gc.collect()
                torch.cuda.empty_cache()
        """,
    "a part is what is meant": """
        class Judge:
            def __init__(self):
                self.llm = LLM(64)

            def free_worker(self):
                del self.llm.engine.worker
                gc.collect()
                torch.cuda.empty_cache()
        """,
    "part by part": """
        class Judge:
            def __init__(self):
                self.llm = LLM(64)

            def cleanup(self):
                del self.llm.engine.worker
                del self.llm.engine
                gc.collect()
                torch.cuda.empty_cache()
        """,
    "by another method": """
        class Judge:
            def __init__(self):
                self.llm = LLM(64)

            def drop(self):
                self.llm = None

            def cleanup(self):
                del self.llm.engine.worker
                self.drop()
                gc.collect()
                torch.cuda.empty_cache()
        """,
}


@pytest.mark.parametrize("snippet", GUILTY.values(), ids=GUILTY.keys())
def test_the_rest_stays(snippet: str) -> None:
    check(HEAD + textwrap.dedent(snippet) + _use(snippet))


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=INNOCENT.keys())
def test_nothing_is_left_or_the_rest_is_to_stay(snippet: str) -> None:
    check_innocent(HEAD + textwrap.dedent(snippet) + _use(snippet))


def _use(snippet: str) -> str:
    method = next(one for one in ("cleanup", "unload", "free_worker") if f"def {one}" in snippet)
    return USE.replace("CLEAN", method)
