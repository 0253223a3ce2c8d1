"""Errors that are kept without their traceback, and still have the one that they were raised for."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

SERVER = """
class Refused(RuntimeError):
    pass

class Server:
    def __init__(self):
        self.net = Net()
        self.refused, self.seen = [], {{}}

    @torch.no_grad()
    def answer(self, x):
        {raised}

    def serve(self, key, x):
        try:
            return self.answer(x)
        except {caught} as error:
            {kept}

    def file(self, key, result):
        if isinstance(result, Exception):
            result.__traceback__ = None
        self.seen[key] = result

def main(n):
    server = Server()
    for key in range(n):
        server.serve(key, torch.randn(4, 8))
"""
HIDES = """try:
            return self.net(x).sum().item()
        except ValueError as error:
            {first}raise Refused(str(error)) from None"""
RAISED = HIDES.format(first="")
KEPT = {
    "the traceback is taken off as it is kept": "self.refused.append(error.with_traceback(None))  # TML307",
    "... or before": """error.__traceback__ = None
            self.refused.append((key, error))  # TML307""",
    "by a helper": "self.file(key, error)  # TML307",
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_what_an_error_was_raised_for_stays(kept: str) -> None:
    check(SERVER.format(raised=RAISED, caught="Refused", kept=kept))


@pytest.mark.parametrize("caught", ["Exception", "RuntimeError", "(KeyError, Refused)"])
def test_a_clause_for_more_than_that(caught: str) -> None:
    check(SERVER.format(raised=RAISED, caught=caught, kept="self.file(key, error)  # TML307"))


@pytest.mark.parametrize("ending", ["", " from error"])
def test_each_raise_in_a_clause(ending: str) -> None:
    raised = RAISED.replace(" from None", ending)
    check(SERVER.format(raised=raised, caught="Refused", kept="self.file(key, error)  # TML307"))


def test_in_one_function() -> None:
    check("""
        @torch.no_grad()
        def scores(net, batches):
            failed = []
            for batch in batches:
                try:
                    try:
                        net(batch).sum().item()
                    except ValueError:
                        raise RuntimeError("no score") from None
                except RuntimeError as error:
                    failed.append(error.with_traceback(None))  # TML307
            return failed

        def main(n):
            print(len(scores(Net(), (torch.randn(4, 8) for _ in range(n)))))
        """)


CUT = {
    "the chain is cut": """error.__context__ = None
            self.file(key, error)""",
    "each link is gone through": """link = error
            while link is not None:
                link.__traceback__, link = None, link.__context__
            self.refused.append(error)""",
    "only the text is kept": "self.refused.append(str(error.with_traceback(None)))",
    "another one is made": "self.file(key, Refused(str(error)))",
}


@pytest.mark.parametrize("kept", CUT.values(), ids=CUT)
def test_what_keeps_no_frames(kept: str) -> None:
    check_innocent(SERVER.format(raised=RAISED, caught="Refused", kept=kept))


ALONE = {
    "raised after the clause": """try:
            return self.net(x).sum().item()
        except ValueError as error:
            text = str(error)
        raise Refused(text)""",
    "raised by a test": """out = self.net(x).sum().item()
        if out < 0:
            raise Refused("negative")
        return out""",
    "the first one has no frames any more": HIDES.format(first="error.__traceback__ = None\n            "),
    "another one is caught here": RAISED.replace("raise Refused", "raise TimeoutError"),
}


@pytest.mark.parametrize("raised", ALONE.values(), ids=ALONE)
def test_errors_that_were_raised_for_nothing_with_frames(raised: str) -> None:
    check_innocent(SERVER.format(raised=raised, caught="Refused", kept="self.file(key, error)"))


def test_work_without_tensors() -> None:
    check_innocent("""
        class Refused(Exception):
            pass

        class Settings:
            def __init__(self):
                self.refused = []

            def number(self, text):
                try:
                    return int(text)
                except ValueError:
                    raise Refused(text) from None

            def read(self, texts):
                for text in texts:
                    try:
                        self.number(text)
                    except Refused as error:
                        self.refused.append(error.with_traceback(None))
        """)


PAGES = """
import torch
from torch import nn

class PageError(RuntimeError):
    pass

def read(net, x):
    with torch.no_grad():
        try:
            return net(x).sum().item()
        except ValueError as error:
            raise PageError(str(error)) from None
"""
READER = """
import torch
from pages import PageError, read

class Reader:
    def __init__(self, net):
        self.net, self.failed = net, []

    def ask(self, x):
        try:
            return read(self.net, x)
        except PageError as error:
            KEPT
"""


@pytest.mark.parametrize("kept", ["self.failed.append(error.with_traceback(None))", "self.failed.append(str(error))"])
def test_an_error_that_a_function_of_another_file_raises(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = READER.replace("KEPT", kept + ("  # TML307" if "traceback" in kept else ""))
    check_project({"pages.py": PAGES, "reader.py": reader}, tmp_path, monkeypatch)
