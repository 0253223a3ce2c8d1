"""Real editors with the settings of `docs/editors.md`: Vim's quickfix list, Neovim's and Emacs's language clients."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NO_EFFECT, ROOT, Write
from test_docs import blocks

LOOP = """\
import torch


def measure(model, x):
    with torch.no_grad:
        return model(x)
"""
MENDED = LOOP.replace("no_grad:", "no_grad():")
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
nvim, emacs = shutil.which("nvim"), shutil.which("emacs")
vim = shutil.which("vim") or shutil.which("vim.tiny") or shutil.which("vim.basic")
SCRIPT = r"""
set nomore
set errorformat=%f:%l:%c:\ %m
let &makeprg = '{python} -m torchmemlint'
silent make! .
let rows = map(getqflist(), {{_, item -> [bufname(item.bufnr), item.lnum, item.col, item.valid, item.text]}})
call writefile([json_encode(rows)], 'list')
silent cfirst
call writefile([line('.') . ' ' . col('.') . ' ' . bufname('%')], 'place')
qall!
"""


@pytest.mark.skipif(vim is None, reason="vim is not installed")
def test_quickfix_list(write: Write) -> None:
    assert vim is not None
    root = write(
        {"a b.py": "import torch\nif True: torch.no_grad()\n", "sub/c.py": NO_EFFECT, "broken.py": "def f(:\n"}
    )
    write("script.vim", SCRIPT.format(python=sys.executable))
    version = subprocess.run([vim, "--version"], capture_output=True, text=True).stdout
    if "+quickfix" not in version or "+eval" not in version:
        pytest.skip("this vim has no quickfix list or no scripts")
    subprocess.run([vim, "-N", "-u", "NONE", "-i", "NONE", "-es", "-S", "script.vim"], timeout=60, input="", text=True)
    rows = json.loads((root / "list").read_text())
    assert [row[:4] for row in rows] == [["a b.py", 2, 10, 1], ["broken.py", 1, 7, 1], ["sub/c.py", 3, 1, 1]]
    assert rows[0][4].startswith("TML202 ")
    assert (root / "place").read_text() == "2 10 a b.py\n"


def settings(language: str, title: str = "") -> str:
    (text,) = (t for of, at, t in blocks(ROOT / "docs" / "editors.md") if (of, at) == (language, title))
    return text


def run_editor(command: list[str], *, lines: int) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=ENVIRONMENT, input="")
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("> ")]
    assert len(said) == lines, done.stdout + done.stderr
    return said


NEOVIM = r"""
local function say(...) io.stdout:write("> " .. table.concat({ ... }, " ") .. "\n") end
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 50)
for _, found in ipairs(vim.diagnostic.get(0)) do say(found.lnum, found.col, found.code, found.source) end
vim.fn.cursor(5, 10)
local where = vim.lsp.util.make_range_params(0, "utf-16")
where.context = { diagnostics = {} }
for _, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/codeAction", where, 60000)) do
  say(answer.result[1].title)
  vim.lsp.util.apply_workspace_edit(answer.result[1].edit, "utf-16")
end
vim.cmd("write")
"""


@pytest.mark.skipif(nvim is None, reason="neovim is not installed")
def test_neovim(write: Write) -> None:
    assert nvim is not None
    version = subprocess.run([nvim, "--version"], capture_output=True, text=True).stdout.split()[1].lstrip("v")
    new = tuple(map(int, version.split("-")[0].split(".")[:2])) >= (0, 11)
    root = write({"a.py": LOOP, "pyproject.toml": "", "script.lua": NEOVIM})
    write("init.lua", settings("lua", "" if new else "init.lua"))
    command = [
        nvim,
        "--headless",
        "-n",
        "-i",
        "NONE",
        "-u",
        "init.lua",
        "a.py",
        "-c",
        "luafile script.lua",
        "-c",
        "qa!",
    ]
    assert run_editor(command, lines=2) == ["> 4 4 TML202 torchmemlint", "> TML202: Call `no_grad`"]
    assert (root / "a.py").read_text() == MENDED


EMACS = """
(require 'eglot)
(setq eglot-sync-connect 60 make-backup-files nil last-nonmenu-event 13)
(find-file "a.py")
(apply #'eglot (eglot--guess-contact))
(let ((end (+ (float-time) 60)))
  (while (and (not (flymake-diagnostics)) (< (float-time) end)) (flymake-start) (accept-process-output nil 0.2)))
(dolist (found (flymake-diagnostics))
  (princ (format "> %d %s\\n" (line-number-at-pos (flymake-diagnostic-beg found)) (flymake-diagnostic-text found))))
(goto-char (flymake-diagnostic-beg (car (flymake-diagnostics))))
(cl-letf (((symbol-function 'completing-read) (lambda (_ items &rest _) (caar items))))
  (eglot-code-actions (point) (1+ (point)) "quickfix" t))
(save-buffer)
"""


@pytest.mark.skipif(emacs is None, reason="emacs is not installed")
def test_emacs(write: Write) -> None:
    assert emacs is not None
    root = write({"a.py": LOOP, "script.el": EMACS, "init.el": settings("elisp", "init.el")})
    subprocess.run(["git", "init", "--quiet"], check=True)
    command = [emacs, "--batch", "-l", "init.el"]
    if (
        "no eglot"
        in subprocess.run([*command, "-l", "script.el"], capture_output=True, text=True, env=ENVIRONMENT).stdout
    ):
        pytest.skip("this emacs has no eglot")
    write("a.py", LOOP)
    (line,) = run_editor([*command, "-l", "script.el"], lines=1)
    assert line.startswith("> 5 torchmemlint [TML202]: ")
    assert (root / "a.py").read_text() == MENDED


COMPILE = """
(setq compilation-environment '("TERM=dumb")) ; as it is where there is a screen
(compilation-start "torchmemlint a.py" nil)
(while (process-live-p (get-buffer-process "*compilation*")) (accept-process-output nil 0.2))
(accept-process-output nil 0.2)
(next-error 1 t)
(with-current-buffer (get-file-buffer "a.py") (princ (format "> %d %d\\n" (line-number-at-pos) (1+ (current-column)))))
"""


@pytest.mark.skipif(emacs is None, reason="emacs is not installed")
def test_compilation_in_emacs(write: Write) -> None:
    assert emacs is not None
    write({"a.py": LOOP, "script.el": COMPILE})
    assert run_editor([emacs, "--batch", "-l", "script.el"], lines=1) == ["> 5 5"]
