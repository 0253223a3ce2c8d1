"""Files, disks, streams and signals as they should not be: an answer each time, and never a traceback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import NO_EFFECT, Lint, Run, Write, codes, lines
from deep import LONG, TOO_DEEP

from torchmemlint import cli
from torchmemlint.config import OUTPUT_FORMATS

UNREADABLE: dict[str, tuple[str | bytes, str, str]] = {
    "syntax": ("import torch\ndef f(:\n", "2:7", "cannot be parsed: "),
    "syntax_without_torch": ("x = 1\ndef f(:\n", "2:7", "cannot be parsed: "),
    "python_2": ("import torch\nprint 'a'\n", "2:1", "cannot be parsed: "),
    "indentation": ("import torch\nif x:\npass\n", "3:1", "cannot be parsed: expected an indented block"),
    "unfinished": ("import torch\nx = (\n", "2:5", "cannot be parsed: '(' was never closed"),
    "null": ("import torch\nx = \0\n", "2:5", "contains a null byte"),
    "not_utf8": (b"import torch\nx = '\xe9'\n", "2:6", "is not valid UTF-8"),
    "utf16": ("import torch\n".encode("utf-16"), "1:1", "is not valid UTF-8"),
    "coding": (b"# coding: klingon\n", "1:1", "declares the encoding 'klingon'"),
    "bom_and_coding": (
        b"\xef\xbb\xbf#!python\n# coding: latin-1\n",
        "2:1",
        "declares the encoding 'latin-1', but begins",
    ),
}
READABLE: dict[str, str | bytes] = {
    "empty": "",
    "blank": "\n\n",
    "comment": "# torch",
    "no_final_newline": "import torch; x = 1",
    "form_feed": "import torch\n\x0c\nx = 1\n",
    "crlf": b"import torch\r\nif x:\r\n    y = 1\r\n",
    "cr": b"import torch\rx = 1\r",
    "bom": b"\xef\xbb\xbfimport torch\n",
    "latin1": b"# coding: latin-1\nimport torch\nx = '\xe9'\n",
    "tabs": "import torch\nif x:\n\ty = 1\n",
    "backslash": "import torch\nx = 1 + \\\n    2\n",
    "invalid_escape": "import torch\nx = '\\d'\n",
    "joined_strings": "import torch\nx = (" + "'a'\n" * 4_000 + ")\n",
    "repeated_keyword": "import torch\nf(a=1, a=2)\n",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_file_that_cannot_be_read_is_a_finding(write: Write, lint: Lint, name: str) -> None:
    content, place, message = UNREADABLE[name]
    write({"a.py": content, "b.py": NO_EFFECT})
    result = lint()
    assert result.exit_code == 1
    assert codes(result) == [f"a.py:{place} TML900", "b.py:3:1 TML202"]
    assert message in lines(result)[0]


@pytest.mark.parametrize("name", READABLE)
def test_odd_files_that_can_be_read(write: Write, lint: Lint, name: str) -> None:
    write("a.py", READABLE[name])
    result = lint("a.py")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_files_that_cannot_be_opened(folder: Path, lint: Lint) -> None:
    (folder / "dangling.py").symlink_to("nowhere.py")
    assert codes(lint()) == ["dangling.py:1:1 TML900"]
    assert codes(lint("dangling.py")) == ["dangling.py:1:1 TML900"]


def test_odd_links_are_findings(write: Write, lint: Lint) -> None:
    root = write("z.py", NO_EFFECT)
    for name, target in {"itself": "itself.py", "left": "right.py", "right": "left.py", "through": "z.py/a.py"}.items():
        (root / f"{name}.py").symlink_to(target)
    odd = ["itself.py", "left.py", "right.py", "through.py"]
    expected = [*(f"{name}:1:1 TML900" for name in odd), "z.py:3:1 TML202"]
    assert codes(lint(".")) == codes(lint(*odd, "z.py")) == expected
    assert [os.path.basename(line) for line in lines(lint("--show-files"))] == [*odd, "z.py"]


@pytest.mark.parametrize("arguments", [["."], ["shut", "closed.py", "link.py", "z.py"]])
def test_what_may_not_be_read_is_a_finding(write: Write, arguments: list[str]) -> None:
    root = write({"shut/a.py": NO_EFFECT, "closed.py": NO_EFFECT, "z.py": NO_EFFECT})
    (root / "link.py").symlink_to("shut/a.py")
    for name in ("shut", "closed.py"):
        (root / name).chmod(0)
    done = unprivileged(*arguments)
    (root / "shut").chmod(0o700)
    assert codes(done) == [*(f"{name}:1:1 TML900" for name in ("closed.py", "link.py", "shut")), "z.py:3:1 TML202"]


def test_a_file_in_a_closed_folder_is_a_finding(write: Write) -> None:
    root = write({"shut/a.py": NO_EFFECT, "shut/pyproject.toml": "[tool.torchmemlint]\n"})
    (root / "shut").chmod(0)
    done = unprivileged("shut/a.py"), unprivileged("shut")
    (root / "shut").chmod(0o700)
    assert [codes(one) for one in done] == [["shut/a.py:1:1 TML900"], ["shut:1:1 TML900"]]


def unprivileged(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process that permissions hold for, also where tests are run by root."""
    command = [sys.executable, "-m", "torchmemlint", "--no-cache", *arguments]
    if os.name != "posix":
        pytest.skip("permissions as on POSIX")
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv") or pytest.skip("root may read everything")
        command = [setpriv, "--bounding-set=-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "")
    return done


def test_files_of_the_folder_that_are_called_like_modules(folder: Path, write: Write) -> None:
    write({f"{name}.py": "raise SystemExit(7)\n" for name in ("glob", "queue", "csv", "pickle", "logging", "click")})
    command = [sys.executable, "-m", "torchmemlint", "--no-cache", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_file_that_is_too_large(write: Write, lint: Lint) -> None:
    write("a.py", NO_EFFECT * 100)
    assert codes(lint("--max-file-size", "1000", "a.py")) == ["a.py:1:1 TML900"]


def test_nothing_crashes_the_run(write: Write, run: Run) -> None:
    write({f"deep_{name}.py": "import torch\n" + make(30_000) for name, make in TOO_DEEP.items()})
    write({f"near_{name}.py": "import torch\n" + make(150) for name, make in TOO_DEEP.items()})
    write({f"long_{name}.py": "import torch\n" + make(3_000) for name, make in LONG.items()})
    write("words.py", "import torch\nx = (" + "'a'\n" * 3_000 + ")\n")
    write("z.py", NO_EFFECT)
    for jobs in ("1", "2"):
        done = run("--jobs", jobs, ".")
        assert done.returncode == 1
        reported = {line.split(":")[0] for line in done.stdout.splitlines()}
        assert reported - {"words.py"} == {f"deep_{name}.py" for name in TOO_DEEP} | {"z.py"}
        assert done.stderr == ""


@pytest.mark.slow
def test_file_of_fifty_thousand_lines(write: Write, run: Run) -> None:
    body = "".join(
        f"def f{n}(a, b=None):\n    '''Text.'''\n    x = [a, b, {n}]\n    return x\n\n" for n in range(10_000)
    )
    write("a.py", "import torch\n" + body + "torch.no_grad()\n")
    done = run("a.py")
    assert done.stdout.startswith("a.py:50002:1: TML202")


def test_closed_pipe_ends_quietly(write: Write) -> None:
    write("a.py", "import torch\n" + "torch.no_grad()\n" * 20_000)
    command = f"{sys.executable} -m torchmemlint a.py | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def by_shell(arguments: str) -> tuple[int, str, str]:
    """Exit code, output and complaints of the command with its streams as a shell makes them."""
    done = subprocess.run(
        f"{sys.executable} -m torchmemlint {arguments}", shell=True, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", ["a.py", "--statistics a.py", "rules", "--help", "--version", "verify --help"])
def test_full_disk_is_an_error_and_no_traceback(write: Write, arguments: str) -> None:
    write("a.py", NO_EFFECT)
    said = "Error: cannot write to standard output: No space left on device\n"
    assert by_shell(f"{arguments} > /dev/full") == (2, "", said)


@pytest.mark.skipif(os.name != "posix", reason="streams as on POSIX")
def test_closed_streams_swallow_what_they_get(write: Write) -> None:
    write("a.py", NO_EFFECT)
    found = by_shell("a.py")
    assert by_shell("a.py >&-") == (1, "", "")
    assert by_shell("a.py 2>&-") == by_shell("a.py <&-") == found
    assert by_shell("missing.py 2>&-") == by_shell("missing.py 2> /dev/full") == (2, "", "")
    assert by_shell("rules >&-") == by_shell("--show-settings >&-") == (0, "", "")
    assert by_shell("- <&-") == (1, "-:1:1: TML900 this file cannot be read: standard input is closed\n", "")
    assert by_shell("server <&-")[::2] == (2, "Error: standard input is closed\n")


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the folder of a process cannot be deleted")
@pytest.mark.parametrize("arguments", ["", "./a.py", "- < /dev/null", "clean"])
def test_a_working_directory_that_is_gone(folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    (folder / "gone").mkdir()
    monkeypatch.chdir("gone")
    done = subprocess.run(
        f"rmdir ../gone; {sys.executable} -m torchmemlint {arguments}", shell=True, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "Error: the working directory is gone\n")


def test_an_internal_error_is_not_taken_for_findings(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(cli, "_settings", broken)
    monkeypatch.setattr(sys, "argv", ["torchmemlint"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_ends_quietly(write: Write, jobs: str) -> None:
    body = "".join(f"def f{n}(a, b=None):\n    x = [a, b, {n}]\n    return x\n\n" for n in range(8_000))
    write({f"{n}.py": f"import torch\nN = {n}\n{body}" for n in range(24)})
    command = [sys.executable, "-m", "torchmemlint", "--jobs", jobs, "."]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run in the background
    )
    time.sleep(1.5)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGKILL", -9)])
def test_a_run_that_is_ended_leaves_no_worker_and_no_folder(folder: Path, write: Write, name: str, code: int) -> None:
    body = "".join(f"def f{n}(a, b=None):\n    x = [a, b, {n}]\n    return x\n\n" for n in range(1_000))
    write({f"{n}.py": f"import torch\nN = {n}\n{body}" for n in range(60)})
    kept = folder / "temporary"
    kept.mkdir()
    command = [sys.executable, "-m", "torchmemlint", "--no-cache", "--jobs", "2", "."]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(kept)},
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # ignored where tests run under nohup
    )
    while not any(file.stat().st_size > 40_000 for file in kept.glob("*/*-wal")):  # a worker has kept something
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=20)  # which waits for everybody who could still write
    assert (process.returncode, out, err) == (code, "", "")
    assert list(kept.iterdir()) == []


def test_names_that_are_no_text(folder: Path, run: Run) -> None:
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.py")).write_text(NO_EFFECT)
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    for format_ in OUTPUT_FORMATS:
        done = run("--output-format", format_, ".")
        assert (done.returncode, "TML202" in done.stdout) == (1, True)
    assert '"uri": "caf%E9.py"' in run("--output-format", "sarif", ".").stdout
    assert run("--baseline", "known.json", "--write-baseline", ".").returncode == 0
    assert run("--baseline", "known.json", ".").stdout == ""


def test_a_bug_in_a_rule_costs_one_file_only(write: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchmemlint.linter import analysis

    real = analysis.findings

    def faulty(source, rules, *rest):  # type: ignore[no-untyped-def]
        if source.path == "a.py":
            raise KeyError("oops")
        return real(source, rules, *rest)

    monkeypatch.setattr(analysis, "findings", faulty)
    write({"a.py": NO_EFFECT, "b.py": NO_EFFECT})
    result = lint(".")
    assert codes(result) == ["a.py:1:1 TML900", "b.py:3:1 TML202"]
    assert "internal error (at test_bad_input.py:" in lines(result)[0]
    assert "KeyError" in lines(result)[0]
