"""Tables of Python objects that a module has, and that the tasks of forked pools read."""

from __future__ import annotations

import pytest
from snippets import check

LOOKUP = """
import multiprocessing as mp

ROWS = {empty}

def fill(lines):
    global ROWS
    {fill}

def hours(row):
    return torch.tensor(row["words"]).sum().item()

def look_up(number):
    {read}

def main(lines, numbers):
    fill(lines)
    with {pool} as pool:
        print(sum(pool.imap_unordered(look_up, numbers)))
"""
RECORD = "dict(name=line, words=[ord(c) for c in line], length=len(line))"
APPENDED = f"""
    for line in lines:
        ROWS.append({RECORD})"""
ADDED = APPENDED + "  # TML405"
KEYED = f"""
    for line in lines:
        ROWS[line] = {RECORD}  # TML405"""


@pytest.mark.parametrize(
    ("empty", "fill", "read", "pool"),
    [
        ("[]", ADDED, "return hours(ROWS[number])", "mp.Pool(4)"),
        ("[]", ADDED, "return max(hours(row) for row in ROWS[number:])", 'mp.get_context("fork").Pool(4)'),
        (
            "[]",
            ADDED.replace(RECORD, '{"name": line, "words": line.split()}'),
            "return hours(ROWS[number])",
            "mp.Pool(4)",
        ),
        ("{}", KEYED, "return hours(ROWS[number])", "mp.Pool(4)"),
        ("[]", f"ROWS = [{RECORD} for line in lines]  # TML405", "return hours(ROWS[number])", "mp.Pool(4)"),
        ("[]", APPENDED, "return hours(ROWS[number])", 'mp.get_context("spawn").Pool(4)'),
        ("[]", APPENDED, "return number / len(ROWS)", "mp.Pool(4)"),
        ("[]", APPENDED, "return number", "mp.Pool(4)"),
        ("[]", APPENDED, "return hours(ROWS[number])", "mp.Pool(4, initializer=fill, initargs=(lines,))"),
        ("[]", APPENDED, "ROWS = [number]; return ROWS[0]", "mp.Pool(4)"),
        ("[]", "ROWS = torch.stack([torch.tensor(line) for line in lines])", "return ROWS[number]", "mp.Pool(4)"),
        ("[]", APPENDED, "return hours(ROWS[number])", "mp.pool.ThreadPool(4)"),
    ],
)
def test_read_by_tasks(empty: str, fill: str, read: str, pool: str) -> None:
    check(LOOKUP.format(empty=empty, fill=fill.strip(), read=read, pool=pool))
