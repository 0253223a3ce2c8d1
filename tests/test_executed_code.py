"""Namespaces that the code of others has filled, kept for each of its scripts."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

RUNS = """
import runpy
from pathlib import Path

class Result:
    def __init__(self, path, names):
        self.path, self.names = path, names

class Examples:
    def __init__(self):
        self.ran = {start}
        self.last = None

    def execute(self, path):
        names = {{"__name__": "__main__"}}
        {executed}
        {kept}

    def execute_all(self, paths):
        for path in paths:
            self.execute(path)
            {after}

def put_back():
    torch.set_default_dtype(torch.float32)
    torch.cuda.empty_cache()

def main(folder):
    examples = Examples()
    examples.execute_all(Path(folder).glob("*.py"))
    print(len(examples.ran))
"""
EXEC = "exec(path.read_text(), names)"


def ran(kept: str, executed: str = EXEC, after: str = "put_back()", start: str = "[]") -> str:
    return RUNS.format(kept=kept, executed=executed, after=after, start=start)


KEPT = {
    "itself": "self.ran.append(names)  # TML303",
    "in a tuple": "self.ran.append((path, names))  # TML303",
    "on an object": "self.ran.append(Result(path, names))  # TML303",
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_a_namespace_for_each_script(kept: str) -> None:
    check(ran(kept))


def test_other_ways_to_execute() -> None:
    kept = "self.ran.append(names)  # TML303"
    check(ran(kept, 'exec(compile(path.read_text(), str(path), "exec"), names)'))
    check(ran(kept, "names = runpy.run_path(str(path))"))


def test_a_table_of_namespaces() -> None:
    check(ran("self.ran[path] = names  # TML311", start="{}"))


OTHER = {
    "its names": "self.ran.append(sorted(names))",
    "how many": "self.ran.append(len(names))",
    "one of them": 'self.ran.append(names["__doc__"])',
    "their types": "self.ran.append({key: type(value).__name__ for key, value in names.items()})",
    "the last one": "self.last = names",
    "emptied in the end": """self.ran.append(names)
        print(len(names))
        names.clear()""",
}


@pytest.mark.parametrize("kept", OTHER.values(), ids=OTHER)
def test_what_is_taken_from_a_namespace(kept: str) -> None:
    check_innocent(ran(kept))


def test_namespaces_that_go_again() -> None:
    check_innocent(ran("self.ran.append(names)", start="deque(maxlen=2)"))
    check_innocent(ran("self.ran.append(names)", after="put_back(); self.ran.clear()"))


def test_settings_say_nothing_of_torch() -> None:
    check_innocent(ran("self.ran.append(names)", after="print(path)"))


def test_code_that_is_made_for_one_function() -> None:
    check_innocent("""
        class Kernels:
            def __init__(self):
                self.made = {}

            def get(self, name, text):
                names = {"torch": torch}
                exec(text, names)
                self.made[name] = names["kernel"]

        def main(texts):
            kernels = Kernels()
            for name, text in texts:
                kernels.get(name, text)
                torch.cuda.empty_cache()
        """)
