"""Frames of running functions that a container gains, and with them the locals of calls that are over."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TRACED = """
import inspect, sys, traceback

class Entry:
    def __init__(self, title, where):
        self.title = title
        self.where = where

class Journal:
    def __init__(self):
        self.entries = {start}

    def note(self, title):
        {note}

def embed(x, journal):
    vector = torch.tanh(x)
    journal.note({title})
    return vector.sum().item()

def main(n):
    journal = Journal()
    for _ in range(n):
        embed(torch.randn(4, 8), journal)
        {after}
    print(len(journal.entries))
"""


def traced(note: str, start: str = "[]", title: str = '"embed"', after: str = "pass") -> str:
    return TRACED.format(note=note, start=start, title=title, after=after)


KEPT = {
    "a record of the stack": "self.entries.append((title, inspect.stack()[1]))  # TML307",
    "the whole stack": "self.entries += inspect.stack()  # TML307",
    "the frame of the caller": "self.entries.append(inspect.currentframe().f_back)  # TML307",
    "so many calls out": "self.entries.append(sys._getframe(1))  # TML307",
    "of a record": "self.entries.append(inspect.stack()[1].frame)  # TML307",
    "... by position": "self.entries.append(inspect.stack()[1][0])  # TML307",
    "in a list of its own": "self.entries.append([one.frame for one in inspect.stack()])  # TML307",
    "on an object": "self.entries.append(Entry(title, inspect.currentframe()))  # TML307",
}


@pytest.mark.parametrize("note", KEPT.values(), ids=KEPT)
def test_a_list_of_frames(note: str) -> None:
    check(traced(note))


def test_tables_of_frames() -> None:
    check(traced("self.entries[id(title)] = inspect.stack()  # TML307", "{}", "vector"))
    check(traced("self.entries.setdefault(title, []).append(inspect.stack())  # TML307", "{}"))


PLACES = {
    "the line": "self.entries.append(inspect.currentframe().f_back.f_lineno)",
    "the code": "self.entries.append(sys._getframe(1).f_code)",
    "the name": "self.entries.append(inspect.stack()[1].function)",
    "... by position": "self.entries.append(inspect.stack()[1][3])",
    "parts of a record": """frame, file, line, name, *_ = inspect.stack()[1]
        self.entries.append((file, line, name))""",
    "pairs": "self.entries.append([(one.filename, one.lineno) for one in inspect.stack()])",
    "what is told of a frame": "self.entries.append(inspect.getframeinfo(inspect.currentframe()))",
    "a text": "self.entries.append(str(inspect.stack()[1]))",
    "a summary": "self.entries.append(traceback.extract_stack(limit=3))",
    "the last one": "self.entries = inspect.stack()",
}


@pytest.mark.parametrize("note", PLACES.values(), ids=PLACES)
def test_what_tells_where_it_is(note: str) -> None:
    check_innocent(traced(note))


def test_frames_that_go_again() -> None:
    note = "self.entries.append(inspect.stack())"
    check_innocent(traced(note, after="journal.entries.clear()"))
    check_innocent(traced(note, start="deque(maxlen=4)"))


def test_one_for_each_line() -> None:
    note = """frame = inspect.currentframe().f_back
        self.entries[frame.f_code.co_filename, frame.f_lineno] = frame"""
    check_innocent(traced(note, start="{}"))


def test_calls_without_tensors() -> None:
    check_innocent("""
        import inspect

        NOTES = []

        def note(title):
            NOTES.append((title, inspect.stack()))

        def ask(question):
            note(question)
            return len(question)

        def main(questions):
            for question in questions:
                ask(question.strip())
        """)


def test_a_frame_that_is_there_anyway() -> None:
    check_innocent("""
        import inspect

        def main(n):
            notes = []
            for _ in range(n):
                x = torch.randn(4, 8)
                notes.append(inspect.currentframe())
            print(len(notes), x.sum().item())
        """)


def test_a_decorator_that_notes_who_calls() -> None:
    check("""
        import inspect

        CALLS = []

        def noted(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                CALLS.append(inspect.stack())  # TML307
                return function(*args, **kwargs)
            return inner

        @noted
        def total(x):
            return x.sum().item()

        def main(n):
            for _ in range(n):
                total(torch.randn(4, 8))
        """)
