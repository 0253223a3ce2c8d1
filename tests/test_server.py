"""The language server, spoken to by a real client over its standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import NO_EFFECT, Write

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from torchmemlint.finding import Location
from torchmemlint.linter.fixes.text import apply_edits
from torchmemlint.server.documents import location, units

LOOP = """\
import torch
import torch.nn.functional as F


def train(model, loader):
    model, total = torch.nn.Linear(8, 2), 0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        print("损失𝄞"); total += loss
    return total.item()
"""


class Editor(LanguageClient):
    """A client that remembers what the server says."""

    def __init__(self, encodings: list[lsp.PositionEncodingKind | str] | None = None) -> None:
        super().__init__("tests", "1")
        self.encodings = encodings
        self.news: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.messages: asyncio.Queue[str] = asyncio.Queue()
        self.text: dict[str, str] = {}

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.news.put_nowait(params)

        @self.feature(lsp.WINDOW_SHOW_MESSAGE)
        def show(params: lsp.ShowMessageParams) -> None:
            self.messages.put_nowait(params.message)

    async def begin(self, root: Path) -> None:
        await self.start_io(sys.executable, "-m", "torchmemlint", "server")
        general = lsp.GeneralClientCapabilities(position_encodings=self.encodings) if self.encodings else None
        capabilities = lsp.ClientCapabilities(general=general)
        await self.initialize_async(lsp.InitializeParams(capabilities, root_uri=root.as_uri()))
        self.initialized(lsp.InitializedParams())

    async def end(self) -> None:
        await self.shutdown_async(None)
        self.exit(None)
        await self.stop()

    async def open(self, path: Path, text: str | None = None) -> list[lsp.Diagnostic]:
        self.text[path.as_uri()] = path.read_text() if text is None else text
        item = lsp.TextDocumentItem(path.as_uri(), "python", 1, self.text[path.as_uri()])
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.told()

    def type(self, path: Path, text: str, version: int) -> None:
        identifier = lsp.VersionedTextDocumentIdentifier(version, path.as_uri())
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))

    async def told(self) -> list[lsp.Diagnostic]:
        return list((await self.told_of()).diagnostics)

    async def told_of(self) -> lsp.PublishDiagnosticsParams:
        return await asyncio.wait_for(self.news.get(), 60)

    async def actions(self, path: Path, at: lsp.Range, only: list[str] | None = None) -> list[lsp.CodeAction]:
        context = lsp.CodeActionContext([], only)
        params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(path.as_uri()), at, context)
        return list(await self.text_document_code_action_async(params) or [])  # type: ignore[arg-type]


Talk = Callable[[Editor, Path], Awaitable[None]]


def talk(root: Path, conversation: Talk, encodings: list[Any] | None = None) -> None:
    async def whole() -> None:
        editor = Editor(encodings)
        await editor.begin(root)
        try:
            await conversation(editor, root)
        finally:
            await asyncio.wait_for(editor.end(), 60)

    asyncio.run(whole())


def edited(text: str, action: lsp.CodeAction) -> str:
    """The text after an action whose edits count columns in code points."""
    assert action.edit is not None and action.edit.document_changes is not None
    (change,) = action.edit.document_changes
    assert isinstance(change, lsp.TextDocumentEdit)
    edits = []
    for edit in change.edits:
        assert isinstance(edit, lsp.TextEdit)
        start, end = (Location(p.line + 1, p.character + 1) for p in (edit.range.start, edit.range.end))
        edits.append(type_edit(start, end, edit.new_text))
    return apply_edits(text, edits)


def type_edit(start: Location, end: Location, content: str) -> Any:
    from torchmemlint.finding import Edit

    return Edit(start, end, content)


def test_a_session(write: Write) -> None:
    root = write({"a.py": LOOP, "b.py": "x = 1\n"})

    async def conversation(editor: Editor, root: Path) -> None:
        path = root / "a.py"
        (found,) = await editor.open(path)
        assert (found.code, found.source, found.severity) == ("TML101", "torchmemlint", lsp.DiagnosticSeverity.Warning)
        assert found.range == lsp.Range(lsp.Position(9, 22), lsp.Position(9, 35))

        fix, silence, with_reason = await editor.actions(path, found.range)
        assert (fix.title, fix.kind, fix.is_preferred) == ("TML101: Store `.detach()`", "quickfix", True)
        assert edited(LOOP, fix) == LOOP.replace("+= loss", "+= loss.detach()")
        assert edited(LOOP, silence) == LOOP.replace("+= loss", "+= loss  # noqa: TML101")
        assert edited(LOOP, with_reason) == LOOP.replace("+= loss", "+= loss  # torchmemlint: ignore[TML101] -- why")
        nowhere = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
        assert await editor.actions(path, nowhere) == []

        (everything,) = await editor.actions(path, nowhere, ["source.fixAll"])
        assert edited(LOOP, everything) == LOOP.replace("+= loss", "+= loss.detach()")

        where = lsp.TextDocumentIdentifier(path.as_uri())
        hover = await editor.text_document_hover_async(lsp.HoverParams(where, found.range.start))
        assert hover is not None and isinstance(hover.contents, lsp.MarkupContent)
        assert hover.contents.value.startswith("**TML101 accumulated-graph** (high confidence, growing)")
        assert "## Why it retains" in hover.contents.value
        assert await editor.text_document_hover_async(lsp.HoverParams(where, nowhere.start)) is None

        editor.type(path, LOOP.replace("+= loss", "+= loss.item()"), 2)
        assert await editor.told() == []
        assert await editor.open(root / "b.py") == []
        editor.text_document_did_close(lsp.DidCloseTextDocumentParams(where))
        told = await editor.told_of()
        assert (told.uri, list(told.diagnostics)) == (path.as_uri(), [])

    talk(root, conversation, [lsp.PositionEncodingKind.Utf32])


def test_the_last_of_many_keystrokes_has_the_last_word(write: Write) -> None:
    async def conversation(editor: Editor, root: Path) -> None:
        path = root / "a.py"
        assert await editor.open(path) == []
        for version in range(2, 12):
            editor.type(path, "import torch\n" + "#" * version + "\ntorch.no_grad()\n", version)
        versions: list[int] = []
        while not versions or versions[-1] != 11:
            told = await editor.told_of()
            versions.append(told.version or 0)
            assert len(told.diagnostics) == 1
        assert versions == sorted(set(versions))

    talk(write("a.py", "x = 1\n"), conversation)


@pytest.mark.parametrize(
    ("encoding", "column"),
    [(lsp.PositionEncodingKind.Utf8, 29), (lsp.PositionEncodingKind.Utf16, 23), (lsp.PositionEncodingKind.Utf32, 22)],
)
def test_columns_are_counted_as_the_client_counts(
    write: Write, encoding: lsp.PositionEncodingKind, column: int
) -> None:
    async def conversation(editor: Editor, root: Path) -> None:
        (found,) = await editor.open(root / "a.py")
        assert found.range.start == lsp.Position(9, column)
        assert len(await editor.actions(root / "a.py", found.range)) == 3

    talk(write("a.py", LOOP), conversation, [encoding])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_there_and_back(encoding: str) -> None:
    lines = ["ab损𝄞é x\n"]
    for column in range(1, 9):
        place = Location(1, column)
        assert location(lines, 0, units(lines, place, encoding), encoding) == place


def test_settings_baseline_and_excludes_are_those_of_the_project(write: Write) -> None:
    known = (
        '{"version": 1, "findings": [{"code": "TML202", "path": "known.py", "source": "torch.no_grad()", "count": 1}]}'
    )
    settings = '[tool.torchmemlint]\nbaseline = "known.json"\nexclude = ["gen"]\n'
    settings += 'per-file-ignores = { "quiet.py" = ["TML2"] }\n'
    files = dict.fromkeys(["a.py", "quiet.py", "gen/a.py", "known.py"], NO_EFFECT)
    root = write({"known.json": known, "pyproject.toml": settings, **files})

    async def conversation(editor: Editor, root: Path) -> None:
        counts = [len(await editor.open(root / name)) for name in files]
        assert counts == [1, 0, 0, 0]

    talk(root, conversation)


def test_wrong_settings_are_told_and_mended(write: Write) -> None:
    root = write({"a.py": NO_EFFECT, "torchmemlint.toml": "selct = []\n"})

    async def conversation(editor: Editor, root: Path) -> None:
        assert await editor.open(root / "a.py") == []
        message = await asyncio.wait_for(editor.messages.get(), 60)
        assert "unknown setting `selct`; did you mean `select`?" in message
        (root / "torchmemlint.toml").write_text("")
        changed = lsp.FileEvent((root / "torchmemlint.toml").as_uri(), lsp.FileChangeType.Changed)
        editor.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([changed]))
        assert [found.code for found in await editor.told()] == ["TML202"]

    talk(root, conversation)


def test_saving_one_file_looks_at_the_others_again(write: Write) -> None:
    helper = "def measure(loss):\n    return loss{}\n"
    user = LOOP.replace("import torch\n", "import torch\nfrom helper import measure\n").replace(
        "total += loss", "total += measure(loss)"
    )
    root = write({"helper.py": helper.format(""), "a.py": user})

    async def conversation(editor: Editor, root: Path) -> None:
        assert [found.code for found in await editor.open(root / "a.py")] == ["TML101"]
        (root / "helper.py").write_text(helper.format(".item()"))
        identifier = lsp.TextDocumentIdentifier((root / "helper.py").as_uri())
        editor.text_document_did_save(lsp.DidSaveTextDocumentParams(identifier))
        assert await editor.told() == []

    talk(root, conversation)


@pytest.mark.parametrize("text", ["def f(:\n", "\x00", "x = " + "(" * 5_000, "", "import torch\n\x0c\ntorch.no_grad()"])
def test_files_that_cannot_be_read_do_not_end_the_session(write: Write, text: str) -> None:
    async def conversation(editor: Editor, root: Path) -> None:
        told = await editor.open(root / "a.py", text)
        assert all(found.severity == lsp.DiagnosticSeverity.Error for found in told if found.code == "TML900")
        editor.type(root / "a.py", NO_EFFECT, 2)
        assert [found.range.start.line for found in await editor.told()] == [2]

    talk(write("a.py", ""), conversation)
