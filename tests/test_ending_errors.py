"""Threads whose loop goes on until an error that they wait for, and those that wait for none."""

from __future__ import annotations

import pytest
from snippets import PRELUDE, codes

PROGRAM = """
import contextlib
import threading

class HungUp(Exception):
    pass

class Link:
    def __init__(self, line):
        self.line = line
    def push(self, row):
        if not self.line.open:
            raise HungUp
        self.line.rows.append(row.mean().item())

def serve(link, rows):
{}

def main(lines, rows):
    for line in lines:
        threading.Thread(target=serve, args=(Link(line), rows), daemon=True).start()
"""

ENDING = [
    """
    try:
        while True:
            link.push(rows.get())
    except HungUp:
        print("gone")
    """,
    """
    with contextlib.suppress(HungUp, OSError):
        while True:
            link.push(rows.get())
    """,
    """
    try:
        with link.line:
            while True:
                row = rows.get()
                if row is not None:
                    link.push(row)
    except (BrokenPipeError, HungUp) as gone:
        print(gone)
    finally:
        rows.task_done()
    """,
    """
    try:
        while True:
            try:
                link.push(rows.get())
            except ValueError:
                print("a bad row")
    except HungUp:
        pass
    except Exception:
        print("failed")
    """,
]
ENDLESS = [
    """
    while True:
        try:
            link.push(rows.get())
        except HungUp:
            print("gone")
    """,
    """
    try:
        while True:
            link.push(rows.get())
    except Exception:
        print("failed")
    """,
    """
    try:
        while True:
            with contextlib.suppress(HungUp):
                link.push(rows.get())
    except HungUp:
        print("gone")
    """,
    """
    try:
        while True:
            try:
                link.push(rows.get())
            except Exception as failed:
                print(failed)
    except HungUp:
        print("gone")
    """,
    """
    while True:
        try:
            while True:
                link.push(rows.get())
        except HungUp:
            link.line.reconnect()
    """,
    """
    try:
        while True:
            row = rows.get()
            print(row)
    except HungUp:
        print("gone")
    """,
    """
    try:
        while True:
            link.push(rows.get())
    except KeyboardInterrupt:
        print("gone")
    """,
]


@pytest.mark.parametrize("body", ENDING)
def test_what_an_error_ends(body: str) -> None:
    assert "TML505" not in codes(PROGRAM.format(body), PRELUDE)


@pytest.mark.parametrize("body", ENDLESS)
def test_what_no_error_ends(body: str) -> None:
    assert "TML505" in codes(PROGRAM.format(body), PRELUDE)
