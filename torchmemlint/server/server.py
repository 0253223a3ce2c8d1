"""The features: diagnostics as you type, quick fixes, suppressions, and a rule's page on hover."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from .. import __version__
from ..config import ConfigError
from ..finding import Confidence, Edit, Finding, Location
from ..linter.reports.json import url
from ..linter.selection import UNREADABLE, UNUSED_SUPPRESSION
from ..rules import registry
from .documents import Document, forget_settings, location, units

PAUSE = 0.03  # seconds without a change before a file is looked at again
_BURST = 0.3  # seconds: a change that comes sooner after another is one of many
_STACK = 64 << 20  # bytes: room to walk deep trees
_SETTINGS_FILES = ("pyproject.toml", "torchmemlint.toml")
FIX_ALL = "source.fixAll.torchmemlint"
_T = TypeVar("_T")


class Server(LanguageServer):
    """The server with its open documents. Linting runs in one thread beside the one that talks to the client."""

    def __init__(self) -> None:
        super().__init__("torchmemlint", __version__, lsp.TextDocumentSyncKind.Full)
        self.documents: dict[str, Document] = {}
        self._told: set[str] = set()
        before = threading.stack_size(_STACK)
        self._worker = ThreadPoolExecutor(1, "linting")
        self._worker.submit(_warm_up)
        threading.stack_size(before)

    @property
    def encoding(self) -> str:
        """How the client counts columns."""
        return str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))

    async def in_worker(self, function: Callable[..., _T], *arguments: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)

    async def changed(self, uri: str, text: str, version: int, *, pause: float = 0.0) -> None:
        """Takes in a new version of a file, and tells its findings unless a newer one comes meanwhile."""
        path = uris.to_fs_path(uri)
        if path is None:
            return
        document = self.documents[uri] = Document(path, text, version)
        await asyncio.sleep(pause)
        if self.documents.get(uri) is not document:
            return
        try:
            await self.in_worker(self._lint, uri, document)
        except ConfigError as error:
            self._tell_once(str(error))
        if self.documents.get(uri) is document:
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(uri, [self.diagnostic(document, f) for f in document.findings], version)
            )

    def _lint(self, uri: str, document: Document) -> None:
        """In the worker: by the time that it gets to a version there may be a newer one."""
        if self.documents.get(uri) is document:
            document.lint()

    async def all_again(self) -> None:
        """Looks at all open files again, as after a change of the settings."""
        self._told.clear()
        await self.in_worker(forget_settings)
        for uri, document in list(self.documents.items()):
            await self.changed(uri, document.text, document.version)

    def _tell_once(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"torchmemlint: {message}"))

    # -- shapes -----------------------------------------------------------------------------------

    def span(self, lines: Sequence[str], start: Location, end: Location) -> lsp.Range:
        def position(place: Location) -> lsp.Position:
            return lsp.Position(place.row - 1, units(lines, place, self.encoding))

        return lsp.Range(position(start), position(end))

    def diagnostic(self, document: Document, finding: Finding) -> lsp.Diagnostic:
        page = url(finding.name)
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(
                    _uri(note.filename), self.span(self._lines(note.filename, document), note.start, note.end)
                ),
                note.message,
            )
            for note in finding.related
        ]
        return lsp.Diagnostic(
            range=self.span(document.lines, finding.start, finding.end),
            message=finding.message,
            severity=_severity(finding),
            code=finding.code,
            code_description=None if page is None else lsp.CodeDescription(page),
            source="torchmemlint",
            tags=[lsp.DiagnosticTag.Unnecessary] if finding.code == UNUSED_SUPPRESSION else None,
            related_information=related or None,
        )

    def _lines(self, filename: str, document: Document) -> Sequence[str]:
        """The lines of a file that a finding speaks of; of others than its own as they are on disk."""
        if filename == document.path:
            return document.lines
        try:
            return Path(filename).read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        except OSError:
            return []

    def action(
        self, document: Document, finding: Finding, title: str, edits: Sequence[Edit], *, preferred: bool = False
    ) -> lsp.CodeAction:
        changes = [lsp.TextEdit(self.span(document.lines, edit.start, edit.end), edit.content) for edit in edits]
        uri = _uri(document.path)
        identifier = lsp.OptionalVersionedTextDocumentIdentifier(uri, document.version)
        return lsp.CodeAction(
            title=title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[self.diagnostic(document, finding)],
            is_preferred=preferred,
            edit=lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(identifier, list(changes))]),
        )


def _uri(path: str) -> str:
    return uris.from_fs_path(str(Path(path).absolute())) or path


def _severity(finding: Finding) -> lsp.DiagnosticSeverity:
    if finding.code == UNREADABLE:
        return lsp.DiagnosticSeverity.Error
    return (
        lsp.DiagnosticSeverity.Information if finding.confidence == Confidence.LOW else lsp.DiagnosticSeverity.Warning
    )


def _warm_up() -> None:
    """Imports what the first look at a file would otherwise wait for."""
    import importlib

    importlib.import_module("torchmemlint.linter.analysis")
    registry()
    gc.collect()
    gc.freeze()  # what has been imported stays, and trees come in large numbers: looking for cycles takes a fifth
    gc.set_threshold(100_000, 50, 50)


def make() -> Server:
    """A server with all its features, not started yet."""
    server = Server()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        await ls.changed(document.uri, document.text, document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def typed(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        text = ls.workspace.get_text_document(uri).source
        before = ls.documents.get(uri)
        in_burst = before is not None and time.monotonic() - before.since < _BURST
        await ls.changed(uri, text, params.text_document.version, pause=PAUSE if in_burst else 0.0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(ls: Server, params: lsp.DidSaveTextDocumentParams) -> None:
        await ls.all_again()  # what a file says may change what is found in the others

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.documents.pop(params.text_document.uri, None)
        ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(ls: Server, params: lsp.DidChangeWatchedFilesParams) -> None:
        await ls.all_again()

    @server.feature(lsp.INITIALIZED)
    async def watch_settings(ls: Server, params: lsp.InitializedParams) -> None:
        await _watch_settings(ls)

    kinds = [lsp.CodeActionKind.QuickFix, FIX_ALL]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=kinds))
    async def actions(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return await _code_actions(ls, params)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        document = ls.documents.get(params.text_document.uri)
        if document is None:
            return None
        place = location(document.lines, params.position.line, params.position.character, ls.encoding)
        for finding in document.within(place, place):
            content = lsp.MarkupContent(lsp.MarkupKind.Markdown, _page(finding))
            return lsp.Hover(content, ls.span(document.lines, finding.start, finding.end))
        return None

    return server


async def _watch_settings(ls: Server) -> None:
    """Asks the client to tell when a settings file changes, where it can."""
    workspace = ls.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched is None or not watched.dynamic_registration:
        return
    watchers = [lsp.FileSystemWatcher(f"**/{name}") for name in _SETTINGS_FILES]
    options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
    registration = lsp.Registration("settings", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await ls.client_register_capability_async(lsp.RegistrationParams([registration]))


async def _code_actions(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    document = ls.documents.get(params.text_document.uri)
    if document is None:
        return []
    wanted = [str(getattr(kind, "value", kind)) for kind in params.context.only or []]
    found: list[lsp.CodeAction] = []
    if not wanted or any(_covers(kind, lsp.CodeActionKind.QuickFix.value) for kind in wanted):
        start, end = (
            location(document.lines, place.line, place.character, ls.encoding)
            for place in (params.range.start, params.range.end)
        )
        for finding in document.within(start, end):
            found += _quick_fixes(ls, document, await ls.in_worker(document.with_fix, finding))
    if any(_covers(kind, FIX_ALL) for kind in wanted):
        text = await ls.in_worker(document.all_fixed)
        if text is not None:
            found.append(_replace_all(ls, document, text))
    return found


def _covers(wanted: str, kind: str) -> bool:
    """Kinds are a tree: `source` asks for `source.fixAll` too."""
    return kind == wanted or kind.startswith(wanted + ".")


def _quick_fixes(ls: Server, document: Document, finding: Finding) -> Iterator[lsp.CodeAction]:
    fix = finding.fix
    if fix is not None:
        note = "" if fix.applicability == "safe" else " (may change what the code does)"
        title = f"{finding.code}: {fix.message}{note}"
        yield ls.action(document, finding, title, fix.edits, preferred=fix.applicability == "safe")
    for reason, title in ((None, "silence it here"), ("why", "silence it here, with a reason")):
        edits = document.silencing(finding, reason)
        if edits:
            yield ls.action(document, finding, f"{finding.code}: {title}", edits)


def _replace_all(ls: Server, document: Document, text: str) -> lsp.CodeAction:
    end = Location(len(document.lines) + 1, 1)
    edit = lsp.TextEdit(ls.span(document.lines, Location(1, 1), end), text)
    identifier = lsp.OptionalVersionedTextDocumentIdentifier(_uri(document.path), document.version)
    return lsp.CodeAction(
        title="torchmemlint: make all safe fixes",
        kind=FIX_ALL,
        edit=lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(identifier, [edit])]),
    )


def _page(finding: Finding) -> str:
    """What the finding says, then its rule's page."""
    rule = registry().get(finding.code)
    retains = f", {finding.retains.value}" if finding.retains else ""
    head = f"**{finding.code} {finding.name}** ({finding.confidence.label} confidence{retains})\n\n{finding.message}"
    release = f"\n\n**Release:** {finding.release}" if finding.release else ""
    return f"{head}{release}\n\n---\n\n{rule.doc.strip() if rule else ''}"
