"""The pre-commit hook, installed by the real pre-commit from a repository, as users do."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CLEAN, NO_EFFECT, ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("pre_commit") is None, reason="pre-commit is not installed"),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


def git(folder: Path, *args: str) -> None:
    identity = ["-c", "user.name=tests", "-c", "user.email=tests@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init")
    git(folder, "add", "--all")
    git(folder, "commit", "--message", "files", "--no-verify")
    return folder


@pytest.fixture
def hook(tmp_path: Path) -> Path:
    """A repository with this package in it."""
    parts = ["torchmemlint", "fixtures", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"]
    for part in parts:
        source, target = ROOT / part, tmp_path / "hook" / part
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(source, target)
    return repository(tmp_path / "hook", {})


def test_try_repo(tmp_path: Path, hook: Path) -> None:
    settings = '[tool.torchmemlint]\nextend-exclude = ["generated"]\n'
    files = {"bad.py": NO_EFFECT, "good.py": CLEAN, "script": "#!/usr/bin/env python3\n" + NO_EFFECT}
    files |= {"stub.pyi": CLEAN, "text.txt": NO_EFFECT, "generated/a.py": NO_EFFECT, "pyproject.toml": settings}
    work = repository(tmp_path / "work", files)
    (work / "script").chmod(0o755)
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env |= {"PRE_COMMIT_HOME": str(tmp_path / "home"), "PRE_COMMIT_COLOR": "never"}
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(hook), "torchmemlint", "--verbose", "--all-files"]
    done = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=600)
    if "TML" not in done.stdout and "CalledProcessError" in done.stdout + done.stderr and "pip" in done.stdout:
        pytest.skip("pip cannot install here")
    assert done.returncode == 1, done.stdout + done.stderr
    found = [line for line in done.stdout.splitlines() if ": TML" in line]
    assert [line.split(" ")[0] for line in found] == ["bad.py:3:1:", "script:4:1:"]


def test_plain_install_brings_no_torch() -> None:
    requirements = importlib.metadata.requires("torchmemlint") or []
    plain = {
        requirement.split(">")[0].split(";")[0].strip() for requirement in requirements if "extra ==" not in requirement
    }
    assert plain <= {"libcst", "click", "pathspec", "tomli"}
