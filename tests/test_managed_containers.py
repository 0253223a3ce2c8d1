"""Containers of a manager that processes fill, round after round: the manager's process keeps all of it."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

ROUNDS = """
import multiprocessing as mp
import numpy as np

def simulate(number, results):
    path = np.random.rand(1000, 100)
    {puts}

def show(number, results):
    print(results[number].mean())

def main(rounds):
    {before}
    for number in range(rounds):
        {inside}
        process = mp.Process(target=simulate, args=(number, results))
        process.start()
        process.join()
        {reads}
"""
PUTS = "results[number] = path"
MADE = "results = mp.Manager().dict()"
MARK = "  # TML409"


def _rounds(
    puts: str = PUTS, before: str = MADE, inside: str = "pass", reads: str = "show(number, results)", mark: str = ""
) -> str:
    return ROUNDS.format(puts=puts + mark, before=before, inside=inside, reads=reads)


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"puts": "results.append(path)", "before": "results = mp.Manager().list()", "reads": "print(len(results))"},
        {"before": "manager = mp.Manager()\n    results = manager.dict()"},
    ],
    ids=["a table", "a list", "of a manager with a name"],
)
def test_what_every_round_puts_there(kwargs: dict[str, str]) -> None:
    check(_rounds(**kwargs, mark=MARK))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"reads": "print(results.pop(number).mean())"},
        {"reads": "show(number, results)\n        results.clear()"},
        {"reads": "show(number, results)\n        del results[number]"},
        {"before": "manager = mp.Manager()", "inside": "results = manager.dict()"},
        {"puts": "results[number] = float(path.mean())"},
        {"puts": 'results["last"] = path', "reads": "print(len(results))"},
    ],
    ids=["popped", "cleared", "deleted", "one for each round", "numbers", "the last one"],
)
def test_what_goes_or_is_small(kwargs: dict[str, str]) -> None:
    check_innocent(_rounds(**kwargs))


def test_what_workers_give_once() -> None:
    check_innocent(
        """
        import multiprocessing as mp
        import numpy as np

        def simulate(rank, results):
            results[rank] = np.random.rand(1000, 100)

        def main(count):
            results = mp.Manager().dict()
            workers = [mp.Process(target=simulate, args=(rank, results)) for rank in range(count)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            return np.stack([results[rank] for rank in range(count)])
        """
    )


def test_an_object_that_plays_rounds() -> None:
    check(
        """
        import multiprocessing as mp
        import numpy as np

        def play(game, results):
            results[game] = np.random.rand(1000, 100)  # TML409

        class Arena:
            def __init__(self, count):
                self.results = mp.Manager().dict()
                self.count, self.games = count, 0

            def play(self):
                games = range(self.games, self.games + self.count)
                workers = [mp.Process(target=play, args=(game, self.results)) for game in games]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
                self.games += self.count
                return [self.results[game] for game in games]

        def main(rounds):
            arena = Arena(4)
            for _ in range(rounds):
                print(np.stack(arena.play()).mean())
        """
    )
