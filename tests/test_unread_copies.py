"""Deep copies in a list that nobody reads, and lists of copies that somebody does read."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent, check_syntax

GUILTY = {
    "copies of what a subclass makes": """
        from copy import deepcopy

        class Base:
            def __init__(self):
                self._posterior, self._bank = None, []

            def build_posterior(self, estimator):
                self._posterior = self._create(estimator)
                self._bank.append(deepcopy(self._posterior))  # TML303
                return self._posterior

            def _create(self, estimator):
                raise NotImplementedError
        """,
    "copies of what is given": """
        import copy

        class Archive:
            def __init__(self):
                self._states = []

            def visit(self, state):
                self._states.append(copy.deepcopy(state))  # TML303
        """,
}

INNOCENT = {
    "copies that another method returns": """
        from copy import deepcopy

        class Base:
            def __init__(self):
                self._posterior, self._bank = None, []

            def build_posterior(self, estimator):
                self._posterior = self._create(estimator)
                self._bank.append(deepcopy(self._posterior))
                return self._posterior

            def rounds(self):
                return list(self._bank)

            def _create(self, estimator):
                raise NotImplementedError
        """,
    "copies that a subclass reads": """
        from copy import deepcopy

        class Base:
            def __init__(self):
                self._bank = []

            def visit(self, state):
                self._bank.append(deepcopy(state))

        class Best(Base):
            def best(self):
                return max(self._bank, key=len)
        """,
    "copies for whoever uses the object": """
        from copy import deepcopy

        class Base:
            def __init__(self):
                self.bank = []

            def visit(self, state):
                self.bank.append(deepcopy(state))
        """,
    "copies that the constructor makes": """
        from copy import deepcopy

        class Ensemble:
            def __init__(self, config):
                self._configs = []
                for _ in range(3):
                    self._configs.append(deepcopy(config))
        """,
    "text that is no copy": """
        class Journal:
            def __init__(self):
                self._lines = []

            def visit(self, line):
                self._lines.append(line.strip())
        """,
}


@pytest.mark.parametrize("name", list(GUILTY))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", [*GUILTY, *INNOCENT])
def test_is_a_program(name: str) -> None:
    check_syntax({**GUILTY, **INNOCENT}[name])
