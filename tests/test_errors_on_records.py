"""A helper that an `except` clause gives the error and the record that failed, and that puts the one on the other."""

from __future__ import annotations

import pytest
from snippets import check

RUNNER = """
class Trial:
    def __init__(self, number):
        self.number, self.error, self.failures = number, None, 0

class Runner:
    def __init__(self):
        self.model, self.trials = Net(), []

    def add(self, number):
        self.trials.append(Trial(number))

    def step(self):
        for trial in self.trials:
            self.run(trial)

    def run(self, trial):
        try:
            self.score = self.model(torch.rand(64, 8)).mean().item()
        except RuntimeError as error:
            self.failed(trial, error)

    def failed(self, {given}, error):
        one_more(trial)
        {put}

    def report(self):
        return [trial.error for trial in self.trials]

def one_more(trial):
    trial.failures += 1
"""


def test_an_error_on_a_record_that_a_table_has() -> None:
    text = RUNNER.format(given="trial", put="trial.error = error  # TML307")
    check(text)
    check(text.replace("failed(self, trial,", "failed(self, task,").replace("trial.error =", "task.error =")
          .replace("        one_more(trial)\n", ""))  # fmt: skip
    twice = "except RuntimeError as error:\n            self.failed(trial, error)\n        "
    check(text.replace("except RuntimeError", twice + "except ValueError"))


@pytest.mark.parametrize(
    "put",
    [
        "trial.error = str(error)",
        "trial.error = error.with_traceback(None)",
        "note = Trial(1); note.error = error; print(note)",
    ],
)
def test_errors_without_their_frames_or_on_what_goes(put: str) -> None:
    check(RUNNER.format(given="trial", put=put))


def test_a_record_that_no_table_has() -> None:
    rounds = "for trial in self.trials:\n            self.run(trial)"
    check(RUNNER.format(given="trial", put="trial.error = error").replace(rounds, "self.run(Trial(1))"))
    check(
        """
        class Job:
            error = None

        def failed(job, error):
            job.error = error

        def run(model, x):
            job = Job()
            try:
                return model(x)
            except RuntimeError as error:
                failed(job, error)
            return repr(job.error)
        """
    )
