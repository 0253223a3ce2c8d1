"""Objects that a metaclass, or a `__new__`, keeps so that they are not made twice."""

from __future__ import annotations

import pytest
from snippets import check

TABLES = {
    "a table for each class": """
        class Once(type):
            def __init__(cls, name, bases, namespace):
                super().__init__(name, bases, namespace)
                cls.made = {}

            def __call__(cls, *args, **kwargs):
                key = (args, tuple(sorted(kwargs.items())))
                if key not in cls.made:
                    cls.made[key] = super().__call__(*args, **kwargs)  # TML302
                return cls.made[key]

        class Bank(metaclass=Once):
            def __init__(self, path):
                self.filters = torch.randn(128, 256)
        """,
    "a table of the metaclass": """
        class Once(type):
            made = {}

            def __call__(cls, path):
                if path not in cls.made:
                    cls.made[path] = type.__call__(cls, path)  # TML302
                return cls.made[path]

        class Base(metaclass=Once):
            pass

        class Bank(Base):
            def __init__(self, path):
                self.filters = torch.randn(128, 256)
        """,
    "__new__": """
        class Bank:
            made = {}

            def __new__(cls, path):
                if path not in cls.made:
                    cls.made[path] = super().__new__(cls)  # TML302
                return cls.made[path]

            def __init__(self, path):
                self.filters = torch.randn(128, 256)
        """,
    "a list of all": """
        class Bank:
            made = []

            def __new__(cls, *args):
                self = object.__new__(cls)
                cls.made.append(self)  # TML302
                return self

            def __init__(self, path):
                self.filters = torch.randn(128, 256)
        """,
}
MAIN = """
        def main(paths):
            for path in paths:
                print(Bank(path).filters.sum().item())
"""


@pytest.mark.parametrize("made", TABLES.values(), ids=TABLES)
def test_tables(made: str) -> None:
    check(made.rstrip() + "\n" + MAIN)


INNOCENT = {
    "one of each class": """
        class Singleton(type):
            made = {}

            def __call__(cls, *args):
                if cls not in cls.made:
                    cls.made[cls] = super().__call__(*args)
                return cls.made[cls]

        class Bank(metaclass=Singleton):
            def __init__(self, path):
                self.filters = torch.randn(128, 256)
        """,
    "one": """
        class Bank:
            only = None

            def __new__(cls, path):
                if cls.only is None:
                    cls.only = super().__new__(cls)
                    cls.only.filters = torch.randn(128, 256)
                return cls.only
        """,
    "weakly": """
        import weakref

        class Once(type):
            made = weakref.WeakValueDictionary()

            def __call__(cls, path):
                found = cls.made.get(path)
                if found is None:
                    found = cls.made[path] = super().__call__(path)
                return found

        class Bank(metaclass=Once):
            def __init__(self, path):
                self.filters = torch.randn(128, 256)
        """,
    "a limit": """
        class Once(type):
            made = {}

            def __call__(cls, path):
                if path not in cls.made:
                    if len(cls.made) > 8:
                        cls.made.clear()
                    cls.made[path] = super().__call__(path)
                return cls.made[path]

        class Bank(metaclass=Once):
            def __init__(self, path):
                self.filters = torch.randn(128, 256)
        """,
    "the class itself": """
        class Plugin(type):
            known = {}

            def __init__(cls, name, bases, namespace):
                super().__init__(name, bases, namespace)
                Plugin.known[name] = cls

        class Bank(metaclass=Plugin):
            def __init__(self, path):
                self.filters = torch.randn(128, 256)
        """,
    "numbers": """
        class Bank:
            made = []

            def __new__(cls, path):
                self = object.__new__(cls)
                cls.made.append(path)
                return self

            def __init__(self, path):
                self.filters = torch.randn(128, 256)
        """,
    "from few values": """
        class Once(type):
            made = {}

            def __call__(cls, *args):
                if args not in cls.made:
                    cls.made[args] = super().__call__(*args)
                return cls.made[args]

        class Window(metaclass=Once):
            def __init__(self, size):
                self.window = torch.hann_window(size)

        def main(waves, size):
            for wave in waves:
                print((wave * Window(size).window).sum().item())

        class Bank:
            def __init__(self, path):
                self.filters = torch.randn(128, 256)
        """,
}


@pytest.mark.parametrize("made", INNOCENT.values(), ids=INNOCENT)
def test_innocent(made: str) -> None:
    check(made.rstrip() + "\n" + (MAIN if "def main" not in made else ""))


def test_objects_that_are_called() -> None:
    """Who makes one calls its `__call__`, which no name in the file says."""
    check("""
        class _Search:
            def __init__(self, model):
                self.model = model
                self.tried = []

            def __call__(self, x):
                self._look(x)
                return x

            def _look(self, x):
                self.tried.append(self.model(x).sum())  # TML102

        class Beam(_Search):
            pass

        def rank(batches):
            op = Beam(nn.Linear(2, 2))
            for x in batches:
                op(x)
        """)
