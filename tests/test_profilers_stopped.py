"""Profilers that the function which starts them stops, on every way out or not; `# TML109` says what is due."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

PASSED_BY = {
    "by a return in the loop": """
        def look(model, loader, limit):
            prof = torch.profiler.profile()
            prof.start()  # TML109
            for i, x in enumerate(loader):
                model(x)
                if i == limit:
                    return i
            prof.stop()
    """,
    "of an object": """
        class Tuner:
            def __init__(self, model, wanted):
                self.model = model
                self.prof = self.recorder(wanted)
            def recorder(self, wanted):
                if not wanted:
                    return contextlib.nullcontext()
                return torch.profiler.profile(record_shapes=True)
            def fit(self, loader):
                self.prof.start()  # TML109
                for x in loader:
                    if self.model(x).isnan().any():
                        return False
                self.prof.stop()
                return True

        def main(model, loader):
            return Tuner(model, True).fit(loader)
    """,
    "by an error that is told": """
        def look(model, loader):
            prof = torch.profiler.profile()
            prof.start()  # TML109
            for x in loader:
                if x.dim() != 2:
                    raise ValueError(x.shape)
                model(x)
            prof.stop()
    """,
}
STOPPED = {
    "in a finally": """
        def look(model, loader, limit):
            prof = torch.profiler.profile()
            prof.start()
            try:
                for i, x in enumerate(loader):
                    model(x)
                    if i == limit:
                        return i
            finally:
                prof.stop()
    """,
    "before each return": """
        def look(model, loader, limit):
            prof = torch.profiler.profile()
            prof.start()
            for i, x in enumerate(loader):
                model(x)
                if i == limit:
                    prof.stop()
                    return i
            prof.stop()
    """,
    "started after the returns": """
        def look(model, loader):
            prof = torch.profiler.profile()
            for x in loader:
                if x.dim() != 2:
                    return
            prof.start()
            model(x)
            prof.stop()
    """,
    "left by break": """
        def look(model, loader):
            prof = torch.profiler.profile()
            prof.start()
            for x in loader:
                if model(x).isnan().any():
                    break
            prof.stop()
    """,
    "given to whoever asked": """
        def look(model, loader):
            prof = torch.profiler.profile()
            prof.start()
            for x in loader:
                if model(x).isnan().any():
                    return prof
            prof.stop()
            return prof
    """,
}


@pytest.mark.parametrize("name", PASSED_BY)
def test_stop_that_a_return_passes_by(name: str) -> None:
    check("import contextlib\n" + textwrap.dedent(PASSED_BY[name]))


@pytest.mark.parametrize("name", STOPPED)
def test_stopped_on_every_way_out(name: str) -> None:
    check(textwrap.dedent(STOPPED[name]))
