"""Which files are linted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Write

from torchmemlint.config import ConfigError, load
from torchmemlint.linter.files import find


def found(*paths: str, **overrides: object) -> list[str]:
    settings = load(Path.cwd(), {key.replace("_", "-"): value for key, value in overrides.items()}, isolated=True)
    return [path.replace(os.sep, "/") for path in find(paths or (".",), settings)]


def tree(write: Write, *names: str) -> Path:
    return write(dict.fromkeys(names, "x = 1\n"))


def test_python_files_and_stubs_in_order(write: Write) -> None:
    tree(write, "b.py", "a.pyi", "a.txt", "sub/c.py", "sub/c.pyc", "README", ".hidden/d.py", "sub/.#c.py")
    assert found() == [".hidden/d.py", "a.pyi", "b.py", "sub/c.py"]


def test_a_named_file_is_linted_whatever_its_suffix_and_each_once(write: Write) -> None:
    tree(write, "script", "a.py", "sub/b.py")
    assert found("script", "./a.py", "a.py", ".", "sub") == ["./a.py", "script", "sub/b.py"]


def test_names_are_as_the_user_would_write_them(write: Write) -> None:
    root = tree(write, "sub/b.py")
    assert found("sub/") == ["sub/b.py"]
    assert found("./sub") == ["./sub/b.py"]
    assert found(str(root / "sub")) == [f"{root}/sub/b.py"]


def test_missing_path(write: Write) -> None:
    tree(write, "a.py")
    with pytest.raises(ConfigError, match=r"no such file or directory: b\.py"):
        found("a.py", "b.py")


def test_default_excludes_hold_in_folders_but_not_for_what_is_named(write: Write) -> None:
    tree(write, "a.py", ".venv/b.py", "venv/c.py", "sub/node_modules/d.py", "lib/site-packages/e.py", "build/f.py")
    assert found() == ["a.py", "build/f.py"]
    assert found("venv", "lib/site-packages/e.py") == ["lib/site-packages/e.py", "venv/c.py"]
    assert found("venv", "lib/site-packages/e.py", force_exclude=True) == []


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (["sub"], ["a.py", "other/subway.py"]),
        (["sub/deep"], ["a.py", "other/sub/c.py", "other/subway.py", "sub/b.py"]),
        (["*way.py"], ["a.py", "other/sub/c.py", "sub/b.py", "sub/deep/d.py"]),
        (["**/sub/*.py"], ["a.py", "other/subway.py"]),
        (["other/"], ["a.py", "sub/b.py", "sub/deep/d.py"]),
        (["*.py"], []),
        (["!sub"], ["a.py", "other/sub/c.py", "other/subway.py", "sub/b.py", "sub/deep/d.py"]),
    ],
)
def test_exclude(write: Write, exclude: list[str], left: list[str]) -> None:
    tree(write, "a.py", "sub/b.py", "sub/deep/d.py", "other/sub/c.py", "other/subway.py")
    assert found(exclude=exclude) == left
    assert found(extend_exclude=exclude) == left


def test_exclude_replaces_the_default_and_extend_exclude_adds_to_it(write: Write) -> None:
    tree(write, "a.py", "venv/c.py")
    assert found(exclude=["a.py"]) == ["venv/c.py"]
    assert found(extend_exclude=["a.py"]) == []


def test_the_folder_of_kept_results_is_left_out(write: Write) -> None:
    tree(write, "a.py", ".torchmemlint_cache/b.py")
    assert found() == ["a.py"]


def test_gitignore_of_every_folder_counts_the_nearest_last(write: Write) -> None:
    tree(write, "a.py", "out/b.py", "gen_c.py", "sub/gen_d.py", "sub/gen_keep.py", "sub/deep/e.py", "sub/f.py")
    write({".gitignore": "out/\ngen_*.py\n", "sub/.gitignore": "!gen_keep.py\n/deep\n", "sub/info.txt": ""})
    assert found() == ["a.py", "sub/f.py", "sub/gen_keep.py"]
    assert found("sub") == ["sub/f.py", "sub/gen_keep.py"]
    assert found("gen_c.py", "out") == ["gen_c.py", "out/b.py"]
    assert len(found(respect_gitignore=False)) == 7


def test_git_info_exclude_and_the_border_of_a_repository(write: Write) -> None:
    tree(write, "a.py", "b.py", "inner/a.py")
    write({".git/info/exclude": "b.py\n", ".gitignore": "a.py\n", "inner/.git/HEAD": ""})
    assert found() == []
    assert found("inner") == ["inner/a.py"]


def test_gitignore_that_git_would_find_odd(write: Write) -> None:
    tree(write, "a.py", "b.py")
    write(".gitignore", b"!\n\xff\n[\nb.py\n")
    assert found() == ["a.py"]


def test_links(write: Write) -> None:
    root = tree(write, "a.py", "sub/b.py")
    (root / "loop").symlink_to(root)
    (root / "sub" / "up").symlink_to("..")
    (root / "link.py").symlink_to("a.py")
    (root / "dangling.py").symlink_to("nowhere")
    (root / ".#a.py").symlink_to("someone@host")
    assert found() == ["a.py", "dangling.py", "link.py", "sub/b.py"]
    assert found("sub/up/sub") == ["sub/up/sub/b.py"]


def test_folder_called_like_a_module_and_pipes(write: Write) -> None:
    root = tree(write, "pkg.py/a.py")
    os.mkfifo(root / "pipe.py")
    assert found() == ["pkg.py/a.py"]
