"""The cache that is emptied for the next model, while a record of the file, or a second condition, has the old one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

HEAD = """
import gc


def load(name):
    return nn.Linear(512, 512)


class State:
    def __init__(self):
        self.name = ""
        self.model = None
        self.extra = None


state = State()


def flush():
    gc.collect()
    torch.cuda.empty_cache()


def answer(names):
    for name in names:
        switch(name)
        with torch.no_grad():
            print(state.model(torch.rand(1, 512)).mean().item())
    flush()
"""

GUILTY = {
    "in a record of the file, by a helper that others call": """
        def switch(name):
            if state.name == name and state.model is not None:
                return
            flush()  # TML604
            state.model = load(name)
            state.name = name
        """,
    "the first time, or another one": """
        def switch(name):
            if state.model is None or state.name != name:
                torch.cuda.empty_cache()  # TML604
                state.model = load(name)
                state.name = name
        """,
}

INNOCENT = {
    "the old one goes first": """
        def switch(name):
            if state.name == name and state.model is not None:
                return
            state.model = None
            flush()
            state.model = load(name)
            state.name = name
        """,
    "by the function that others call": """
        def unload():
            if state.model is not None:
                state.model = None
                flush()

        def switch(name):
            if state.name == name and state.model is not None:
                return
            unload()
            flush()
            state.model = load(name)
            state.name = name
        """,
    "the first one only": """
        def switch(name):
            if state.model is not None and not name.startswith(state.name):
                return
            if state.model is None:
                flush()
                state.model = load(name)
                state.name = name
        """,
    "a record of the function's own": """
        def switch(name):
            other = State()
            if other.name != name:
                flush()
                other.model = load(name)
            state.model = other.model
        """,
}


@pytest.mark.parametrize("case", GUILTY)
def test_a_model_that_is_replaced_after_the_cache_is_emptied(case: str) -> None:
    check(HEAD + textwrap.dedent(GUILTY[case]))


@pytest.mark.parametrize("case", INNOCENT)
def test_a_model_that_goes_before_the_cache_is_emptied(case: str) -> None:
    check_innocent(HEAD + textwrap.dedent(INNOCENT[case]))


SHARED = """
    import torch

    class State:
        def __init__(self):
            self.name, self.model = "", None

    state = State()
    """
APP = """
    import torch
    from torch import nn
    from shared import state

    def load(name):
        return nn.Linear(512, 512)

    def switch(name):
        if state.name == name:
            return
        torch.cuda.empty_cache()  # TML604
        state.model = load(name)
        state.name = name

    def main(names):
        for name in names:
            switch(name)
            with torch.no_grad():
                print(state.model(torch.rand(1, 512)).mean().item())
    """


@pytest.mark.parametrize("first", ["", "state.model = None"])
def test_a_record_of_another_file(first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = APP.replace("torch.cuda.empty_cache()  # TML604", f"{first}; torch.cuda.empty_cache()") if first else APP
    check_project({"shared.py": textwrap.dedent(SHARED), "app.py": textwrap.dedent(app)}, tmp_path, monkeypatch)


PACKAGE = """
from faster_whisper import WhisperModel


class Listener:
    def __init__(self):
        self.size, self.model = "", None

    def load(self, size):
        if self.model is not None and self.size == size:
            return
        {first}
        torch.cuda.empty_cache(){mark}
        self.model = WhisperModel(size, device="cuda")
        self.size = size
"""


@pytest.mark.parametrize(("first", "mark"), [("pass", "  # TML604"), ("self.model = None", "")])
def test_a_model_of_a_package(first: str, mark: str) -> None:
    check(PACKAGE.format(first=first, mark=mark))
