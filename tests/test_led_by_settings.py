"""What a program makes of another file's class has the settings that the program gives; and what it says itself of what
it registers is not said again in the other file."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import write
from test_engine_handlers import BY_CALL, MAIN, project
from test_led_by_programs import said
from test_linking_settings import FIT, RECORDERS


@pytest.mark.parametrize("first", ["", "import torch\n"])
@pytest.mark.parametrize(
    ("made", "code"),
    [
        ('Recorder("loss")', None),
        ("Series()", None),
        ("Fields('loss')", None),
        ('Recorder("loss", keep=True)', "TML102"),
    ],
)
def test_settings_of_the_program(
    made: str, code: str | None, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"recorders.py": first + RECORDERS, "fit.py": FIT.format(made=made, then="pass", mark="")}
    assert [one[2] for one in said(tmp_path, write(tmp_path, files))] == ([] if code is None else [code])


@pytest.mark.parametrize("first", ["", "import torch\n"])
def test_handlers_are_told_once(first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = project(MAIN.format(before="pass", each='Confusion(3).attach(evaluator, "now")', **BY_CALL))
    files["flow/engine.py"] = first + files["flow/engine.py"]
    assert [(name, code) for name, _, code in said(tmp_path, write(tmp_path, files))] == [("main.py", "TML314")]
