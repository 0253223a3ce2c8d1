"""Objects that listen to something of the process, each of which is replaced by the next one."""

import pytest
from snippets import check

SERVER = """
import weakref

LISTENERS = []

def listen(callback):
    LISTENERS.append(callback)

class Table:
    def __init__(self):
        self.rows = {}

class Caches:
    def __init__(self):
        self.outputs, self.names = Table(), Table()

SHARED = Caches()

class Executor:
    def __init__(self):
        self.caches = Caches()
        LISTENS

    def forget(self, reason):
        self.caches.outputs.rows.clear()

    def close(self):
        CLOSE

    def run(self, name):
        with torch.no_grad():
            self.caches.outputs.rows[name] = torch.rand(1, 4, 64, 64).sigmoid()

class Server:
    def __init__(self):
        self.executor = None

    def reset(self):
        RESET

    def answer(self, name):
        self.reset()
        self.executor.run(name)
        return name

def main():
    server = Server()
    for name in load():
        print(server.answer(name))

if __name__ == "__main__":
    main()
"""
METHOD = "listen(self.forget)"
CLOSURE = "listen(lambda reason: self.caches.outputs.rows.clear())"
WEAK = "listen(weakref.WeakMethod(self.forget))"
LEAVES = "LISTENERS.remove(self.forget)"
REPLACES = "self.executor = Executor()"
CLOSES = "self.executor and self.executor.close(); self.executor = Executor()"
MISSING = "self.executor = self.executor or Executor()"


@pytest.mark.parametrize(
    ("listens", "close", "reset"),
    [
        (METHOD + "  # TML314", "pass", REPLACES),
        (CLOSURE + "  # TML314", "pass", REPLACES),
        (WEAK, "pass", REPLACES),
        (METHOD, LEAVES, CLOSES),
        (METHOD, "pass", MISSING),
        (METHOD + "; self.caches = SHARED", "pass", REPLACES),
    ],
)
def test_replaced_by_the_next_one(listens: str, close: str, reset: str) -> None:
    text = SERVER.replace("        LISTENS\n", f"        {listens}\n")
    check(text.replace("CLOSE", close).replace("RESET", reset))
