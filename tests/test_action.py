"""The GitHub action: its steps are run by bash, with the environment that the runner gives them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import NO_EFFECT, ROOT, Write

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "name" in step}

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


def run_step(name: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    step: dict[str, Any] = STEPS[name]
    values = {key: str(value.get("default", "")) for key, value in ACTION["inputs"].items()} | inputs
    env = {key: value for key, value in os.environ.items() if not key.startswith("GITHUB_")}
    env |= {"GITHUB_ACTION_PATH": str(ROOT), "GITHUB_ENV": str(folder / "env"), "RUNNER_TEMP": str(folder / "temp")}
    for key, value in step.get("env", {}).items():
        for asked, given in values.items():
            value = value.replace(f"${{{{ inputs.{asked} }}}}", given)
        env[key] = value.replace("${{ steps.python.outputs.python-path }}", sys.executable)
    if (folder / "env").exists():
        env |= dict(line.split("=", 1) for line in (folder / "env").read_text().splitlines())
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]  # as the runner does
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


@pytest.fixture
def project(write: Write) -> Path:
    root = write({"src/a b.py": NO_EFFECT, "other/b.py": NO_EFFECT, "clean/c.py": "x = 1\n"})
    (root / "env").write_text(f"TORCHMEMLINT={Path(sys.executable).parent / 'torchmemlint'}\n")
    return root


def test_annotations(project: Path) -> None:
    done = run_step("Lint", project, paths="src\nclean\n")
    assert done.returncode == 1, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("::error title=torchmemlint (TML202),file=src/a b.py,line=3,")
    assert run_step("Lint", project, paths="clean").returncode == 0
    assert len(run_step("Lint", project).stdout.splitlines()) == 2


def test_arguments_and_sarif(project: Path) -> None:
    done = run_step("Lint", project, args="--select TML1 --isolated", **{"sarif-file": "out.sarif"})
    assert (done.returncode, done.stdout) == (0, "")
    assert '"version": "2.1.0"' in (project / "out.sarif").read_text()
    done = run_step("Lint", project, **{"sarif-file": "out.sarif"})
    assert (done.returncode, (project / "out.sarif").read_text().count('"ruleId"')) == (1, 2)


@pytest.mark.slow
def test_installation(project: Path) -> None:
    (project / "env").unlink()
    done = run_step("Install torchmemlint", project)
    if done.returncode and "pip" in done.stderr + done.stdout:
        pytest.skip("pip cannot install here")
    assert done.returncode == 0, done.stderr
    assert run_step("Lint", project, paths="src").returncode == 1
