"""Tables of a part that only a method of the whole would empty, and who may call that method."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

ENGINE = """
{imports}

class Manager:
    def __init__(self):
        self.adapters = {{}}

    def add(self, request_id):
        self.adapters[request_id] = torch.randn(64, 64){mark}

    def remove(self, request_id):
        self.adapters.pop(request_id, None)

class Engine{base}:
    def __init__(self):
        self.manager, self.model = Manager(), Net().eval()
        {begins}

    def load(self, request_id):
        self.manager.add(request_id)

    {decorator}
    def {unload}(self, request_id):
        self.manager.remove(request_id)

    @torch.inference_mode()
    def run(self, x):
        return self.model(x).sum().item()

class Front:
    def __init__(self, engine):
        self.engine, self.names = engine, {{}}

    def load(self, request_id):
        self.engine.load(request_id)
        self.names[request_id] = len(self.names)

    def drop(self, request_id):
        del self.names[request_id]
        {tells}

def main(steps):
    engine = Engine()
    front = Front(engine)
    {serves}
    for step in range(steps):
        request_id = f"request {{step}}"
        front.load(request_id)
        engine.run(torch.randn(1, 8))
        front.drop(request_id)
"""


def engine(mark: str = "", **parts: str) -> str:
    given = {
        "imports": "",
        "base": "",
        "decorator": "",
        "unload": "unload",
        "tells": "pass",
        "serves": "pass",
        "begins": "",
    }
    return ENGINE.format(mark=mark, **{**given, **parts})


def test_the_front_forgets_the_name_alone() -> None:
    check(engine("  # TML311"))
    check(engine("  # TML311", base="(object)"))


@pytest.mark.parametrize(
    "parts",
    [
        {"tells": "self.engine.unload(request_id)"},
        {"imports": "from server import serve", "serves": "serve(engine)"},
        {"imports": "import atexit", "serves": "atexit.register(engine.unload, 0)"},
        {"imports": "from server import route", "decorator": "@route"},
        {"imports": "from server import Base", "base": "(Base)"},
        {"unload": "on_unload"},
        {"imports": "import threading", "begins": "threading.Thread(target=self.unload, args=('',)).start()"},
    ],
)
def test_who_may_tell_the_engine(parts: dict[str, str]) -> None:
    check_innocent(engine(**parts))


def test_a_function_that_is_not_run() -> None:
    check_innocent(engine() + "\n\ndef stop(engine, request_id):\n    engine.unload(request_id)\n")
