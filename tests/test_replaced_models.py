"""The cache that is emptied for the next model, while the one that it replaces is still bound."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

HEAD = """
import gc


def load(name):
    return nn.Linear(512, 512)


class Adapter(nn.Module):
    def __init__(self, control):
        super().__init__()
        self.control = control


def use(model):
    with torch.no_grad():
        return model(torch.rand(1, 512)).tolist()
"""

GUILTY = {
    "after an early return": """
        class Switch:
            def __init__(self):
                self.name, self.model = "", None

            def to(self, name):
                if name == self.name:
                    return
                gc.collect()
                torch.cuda.empty_cache()  # TML604
                self.model = load(name)
                self.name = name

        def main():
            switch = Switch()
            for name in ("a", "b"):
                switch.to(name)
                use(switch.model)
        """,
    "by a method that empties": """
        class Server:
            def __init__(self, name):
                self.name = name
                self.model = load(name)

            def _flush(self):
                gc.collect()
                torch.cuda.empty_cache()  # TML604

            def answer(self, name):
                if self.name != name:
                    self._flush()
                    model = load(name).eval()
                    self.model = model
                    self.name = name
                return use(self.model)

        def main():
            server = Server("a")
            return [server.answer(name) for name in ("a", "b")]
        """,
    "a table is cleared, and what was made of its model stays": """
        class Script:
            table = {}

            def __init__(self):
                self.name, self.latest = "", None

            def clear(self):
                Script.table.clear()
                gc.collect()
                torch.cuda.empty_cache()  # TML604

            def load(self, name):
                if name in Script.table:
                    return Script.table[name]
                if len(Script.table) > 0:
                    self.clear()
                model = load(name)
                Script.table[name] = model
                return model

            def process(self, name):
                if name != self.name:
                    control = self.load(name)
                    self.latest = Adapter(control)
                    self.name = name
                return use(self.latest.control)

        def main():
            script = Script()
            return [script.process(name) for name in ("a", "b")]
        """,
    "of the whole file": """
        model, current = None, ""

        def get(name):
            global model, current
            if name != current:
                gc.collect()
                torch.cuda.empty_cache()  # TML604
                model = load(name)
                current = name
            return model

        def main():
            return [use(get(name)) for name in ("a", "b")]
        """,
    "emptied only when the next one is there": """
        class Switch:
            def __init__(self, name):
                self.name, self.model = name, load(name)

            def to(self, name):
                if name != self.name:
                    self.model = load(name)  # TML604
                    self.name = name
                    gc.collect()
                    torch.cuda.empty_cache()
                return use(self.model)

        def main():
            Switch("a").to("b")
        """,
    "made by a method, emptied below an early return": """
        class Manager:
            def __init__(self, name):
                self.name = name
                self.model = self.build(name)

            def build(self, name):
                return load(name).eval()

            def flush(self):
                gc.collect()
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()

            def switch(self, name):
                if name == self.name:
                    return
                model = self.build(name)  # TML604
                self.model = model
                self.name = name
                self.flush()

        def main():
            manager = Manager("a")
            manager.switch("b")
            return use(manager.model)
        """,
}

INNOCENT = {
    "let go of first": """
        class Switch:
            def __init__(self, name):
                self.name, self.model = name, load(name)

            def to(self, name):
                if name != self.name:
                    self.model = None
                    gc.collect()
                    torch.cuda.empty_cache()
                    self.model = load(name)
                    self.name = name

        def main():
            Switch("a").to("b")
        """,
    "let go of by who calls it": """
        class Switch:
            def __init__(self, name):
                self.name, self.model = name, load(name)

            def unload(self):
                del self.model

            def load(self, name):
                if name != self.name:
                    gc.collect()
                    torch.cuda.empty_cache()
                    self.model = load(name)
                    self.name = name

            def to(self, name):
                self.unload()
                self.load(name)

        def main():
            Switch("a").to("b")
        """,
    "only the first one": """
        class Lazy:
            def __init__(self):
                self.model = None

            def answer(self):
                if self.model is None:
                    torch.cuda.empty_cache()
                    self.model = load("a")
                return use(self.model)

        def main():
            return Lazy().answer()
        """,
    "the one before goes on when the next one fails": """
        class Switch:
            def __init__(self, name):
                self.name, self.model = name, load(name)

            def to(self, name):
                if name != self.name:
                    try:
                        model = load(name)
                    except OSError:
                        return False
                    self.model = model
                    self.name = name
                    gc.collect()
                    torch.cuda.empty_cache()
                return True

        def main():
            Switch("a").to("b")
        """,
    "let go of first, emptied last": """
        class Switch:
            def __init__(self, name):
                self.name, self.model = name, load(name)

            def to(self, name):
                if name != self.name:
                    del self.model
                    self.model = load(name)
                    self.name = name
                    gc.collect()
                    torch.cuda.empty_cache()

        def main():
            Switch("a").to("b")
        """,
    "made once, then used, then emptied": """
        class Runner:
            def __init__(self):
                self.model = None

            def run(self):
                self.model = load("a")
                found = use(self.model)
                torch.cuda.empty_cache()
                return found

        def main():
            return Runner().run()
        """,
    "moved to the host before": """
        class Switch:
            def __init__(self, name):
                self.name, self.model = name, load(name)

            def to(self, name):
                if name != self.name:
                    self.model.to("cpu")
                    torch.cuda.empty_cache()
                    self.model = load(name)
                    self.name = name

        def main():
            Switch("a").to("b")
        """,
    "a setting, no model": """
        class Runner:
            def __init__(self, size):
                self.size = size
                self.model = load("a")
                self.plan = [size]

            def resize(self, size):
                if size != self.size:
                    torch.cuda.empty_cache()
                    self.plan = list(range(size))
                    self.size = size
                return use(self.model)

        def main():
            return Runner(1).resize(2)
        """,
    "how many parts are there, after one was made smaller": """
        class Runner:
            def __init__(self, config):
                self.config = config
                self.encoder, self.model = None, None

            def load_all(self):
                self.encoder = load("encoder")
                self.encoder.half()
                gc.collect()
                torch.cuda.empty_cache()
                if self.config.split and self.config.parts > 1:
                    raise NotImplementedError("not in parts")
                self.model = load("model")

        def main(config):
            runner = Runner(config)
            runner.load_all()
            return use(runner.model)
        """,
    "set up once": """
        class Runner:
            def __init__(self):
                self.model = None

            def setup(self):
                torch.cuda.empty_cache()
                self.model = load("a")

        def main():
            runner = Runner()
            runner.setup()
            return use(runner.model)
        """,
}


@pytest.mark.parametrize("snippet", GUILTY.values(), ids=GUILTY.keys())
def test_the_old_model_is_still_there(snippet: str) -> None:
    check(HEAD + textwrap.dedent(snippet))


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=INNOCENT.keys())
def test_nothing_is_there_that_is_to_go(snippet: str) -> None:
    check_innocent(HEAD + textwrap.dedent(snippet))
