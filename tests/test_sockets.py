"""Sessions of web sockets that are taken out again only if the other side says good-bye."""

from __future__ import annotations

import pytest
from snippets import check

SERVER = """
class Session:
    def __init__(self, model):
        self.model = model
        self.state = torch.zeros(64, 64)

    def feed(self, x):
        with torch.no_grad():
            self.state = self.model(x)
        return self.state.mean().item()

class Server:
    def __init__(self, model):
        self.model = model
        self.sessions = {{}}

    async def serve(self, {socket}):
        session = Session(self.model)
        self.sessions[{name}.id] = session{mark}
{body}
"""
PLAIN = """
        while True:
            x = await {name}.receive()
            if x is None:
                break
            await {name}.send(session.feed(x))
        del self.sessions[{name}.id]
"""
LEFT = {
    "by its name": ("websocket", "websocket", PLAIN),
    "by its annotation": ("peer: WebSocket", "peer", PLAIN.replace("receive", "receive_json")),
    "as a reader": (
        "ws",
        "ws",
        PLAIN.replace("receive", "recv").replace("del self.sessions[", "self.sessions.pop(").replace("id]", "id)"),
    ),
}
SEEN_TO = {
    "in a finally": """
        try:
            while True:
                x = await {name}.receive()
                await {name}.send(session.feed(x))
        finally:
            del self.sessions[{name}.id]
""",
    "when it breaks off": """
        try:
            while True:
                x = await {name}.receive()
                await {name}.send(session.feed(x))
        except Disconnect:
            print("gone")
        del self.sessions[{name}.id]
""",
    "by somebody else": PLAIN
    + """
    async def gone(self, number):
        self.sessions.pop(number, None)
""",
}


@pytest.mark.parametrize("way", LEFT)
def test_sessions_that_stay_when_it_breaks_off(way: str) -> None:
    socket, name, body = LEFT[way]
    check(SERVER.format(socket=socket, name=name, mark="  # TML311", body=body.format(name=name)))


@pytest.mark.parametrize("way", SEEN_TO)
def test_sessions_that_go_anyway(way: str) -> None:
    body = SEEN_TO[way].format(name="websocket")
    check(SERVER.format(socket="websocket", name="websocket", mark="", body=body))


def test_a_queue_says_when_it_is_over() -> None:
    body = PLAIN.format(name="tasks")
    check(SERVER.format(socket="tasks", name="tasks", mark="", body=body))


STREAMED = """
        while True:
            line = await {reader}.readline()
            if not line:
                break
            {writer}.write(session.feed(decode(line)))
            await {writer}.drain()
        del self.sessions[{reader}.id]
"""


@pytest.mark.parametrize(
    ("params", "names", "mark"),
    [
        ("reader, writer", ("reader", "writer"), "  # TML311"),
        ("taken: asyncio.StreamReader, given: asyncio.StreamWriter", ("taken", "given"), "  # TML311"),
        ("feed, sink", ("feed", "sink"), ""),
    ],
)
def test_streams_of_a_server(params: str, names: tuple[str, str], mark: str) -> None:
    """`asyncio.start_server` goes on when what serves one connection has raised."""
    body = STREAMED.format(reader=names[0], writer=names[1])
    check(SERVER.format(socket=params, name=names[0], mark=mark, body=body))


def test_streams_of_a_server_with_a_finally() -> None:
    body = """
        try:
            while line := await reader.readline():
                writer.write(session.feed(decode(line)))
                await writer.drain()
        finally:
            del self.sessions[reader.id]
"""
    check(SERVER.format(socket="reader, writer", name="reader", mark="", body=body))
