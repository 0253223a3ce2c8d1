"""An editor's quickfix list, filled from the text report by a real Vim."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from conftest import NO_EFFECT, Write

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
