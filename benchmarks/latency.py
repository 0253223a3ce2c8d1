#!/usr/bin/env python3
"""How long after a keystroke an editor hears of it: a real client, the real server, one file of a project.

    latency.py FILE [--edits N]

FILE is opened where it lies, and nothing is written. Each edit changes one line in the middle; the time runs from the
edit to the server's diagnostics, and edits come singly. Between them a bare `libcst.parse_module` of the same text
is timed: machines differ, and that is the floor on this one.
"""

from __future__ import annotations

import asyncio
import pathlib
import statistics
import sys
import time

import click
import libcst
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient


async def measure(path: pathlib.Path, edits: int) -> tuple[float, list[float], list[float]]:
    """Seconds from opening the file, and from each edit, to the diagnostics; and those of bare parses between."""
    client = LanguageClient("latency", "1")
    told: asyncio.Queue[int] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params: lsp.PublishDiagnosticsParams) -> None:
        told.put_nowait(len(params.diagnostics))

    await client.start_io(sys.executable, "-m", "torchmemlint", "server")
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=path.parent.as_uri()))
    client.initialized(lsp.InitializedParams())
    lines = path.read_text("utf-8").split("\n")
    begun = time.perf_counter()
    item = lsp.TextDocumentItem(path.as_uri(), "python", 1, "\n".join(lines))
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    await asyncio.wait_for(told.get(), 60)
    opened = time.perf_counter() - begun
    waits, parses = [], []
    for version in range(2, edits + 2):
        lines[len(lines) // 2] += " "
        identifier = lsp.VersionedTextDocumentIdentifier(version, path.as_uri())
        change = lsp.TextDocumentContentChangeWholeDocument("\n".join(lines))
        begun = time.perf_counter()
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))
        await asyncio.wait_for(told.get(), 60)
        waits.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        libcst.parse_module("\n".join(lines))
        parses.append(time.perf_counter() - begun)
        await asyncio.sleep(0.3)  # not a burst of keystrokes, for which the server waits
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return opened, waits, parses


@click.command()
@click.argument("path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path))
@click.option("--edits", default=20, show_default=True)
def main(path: pathlib.Path, edits: int) -> None:
    opened, waits, parses = asyncio.run(measure(path.resolve(), edits))
    lines = len(path.read_text("utf-8").splitlines())
    click.echo(f"{path.name}, {lines:,} lines: {opened * 1000:.0f} ms after opening")
    middle, worst, parse = statistics.median(waits) * 1000, max(waits) * 1000, statistics.median(parses) * 1000
    click.echo(f"{middle:.0f} ms after an edit (median of {len(waits)}, slowest {worst:.0f} ms); at most 150")
    click.echo(f"a bare parse of it takes {parse:.0f} ms here: {middle / parse:.2f}x")


if __name__ == "__main__":
    main()
