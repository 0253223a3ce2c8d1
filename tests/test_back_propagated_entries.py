"""A list whose last entry is back-propagated holds graphs, whatever its entries come from."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

GUILTY = {
    "what a given function computes": """
        def fit(weights, criterion, optimizer, rounds):
            errors = []
            for _ in range(rounds):
                optimizer.zero_grad()
                errors.append(criterion(*weights))  # TML102
                errors[-1].backward()
                optimizer.step()
            return [error.item() for error in errors]
        """,
    "under a name first": """
        def fit(weights, criterion, optimizer, rounds):
            errors = []
            for _ in range(rounds):
                optimizer.zero_grad()
                error = criterion(*weights)
                errors.append(error)  # TML102
                errors[-1].backward()
                optimizer.step()
            return min(error.item() for error in errors)
        """,
    "the last entry alone becomes a number": """
        def fit(loader, optimizer):
            net, errors = Net(), []
            for x, y in loader:
                optimizer.zero_grad()
                errors.append(F.mse_loss(net(x), y))  # TML102
                errors[-1].backward()
                optimizer.step()
            errors[-1] = errors[-1].item()
            return errors
        """,
    "another entry becomes a number": """
        def fit(loader, optimizer):
            net, errors = Net(), []
            for x, y in loader:
                optimizer.zero_grad()
                errors.append(F.mse_loss(net(x), y))  # TML102
                errors[-1].backward()
                optimizer.step()
                errors[0] = errors[0].item()
            return errors
        """,
}

INNOCENT = {
    "numbers": """
        def fit(weights, criterion, optimizer, rounds):
            errors = []
            for _ in range(rounds):
                optimizer.zero_grad()
                error = criterion(*weights)
                error.backward()
                errors.append(error.item())
                optimizer.step()
            return errors
        """,
    "entries that nobody back-propagates": """
        def fit(criterion, rounds):
            errors = []
            for step in range(rounds):
                errors.append(criterion(step))
            return errors
        """,
    "a list for each step": """
        def fit(weights, criteria, optimizer, rounds):
            for _ in range(rounds):
                optimizer.zero_grad()
                errors = []
                for criterion in criteria:
                    errors.append(criterion(*weights))
                    errors[-1].backward()
                optimizer.step()
                print(sum(error.item() for error in errors))
        """,
    "a list that is emptied": """
        def fit(weights, criterion, optimizer, rounds):
            errors = []
            for _ in range(rounds):
                optimizer.zero_grad()
                errors.append(criterion(*weights))
                errors[-1].backward()
                optimizer.step()
                errors.clear()
        """,
    "an entry that is detached": """
        def fit(loader, optimizer):
            net, errors = Net(), []
            for x, y in loader:
                optimizer.zero_grad()
                errors.append(F.mse_loss(net(x), y))
                errors[-1].backward()
                optimizer.step()
                errors[-1] = errors[-1].detach().cpu()
            return errors
        """,
    "an entry that gives way to its number": """
        def fit(weights, criterion, optimizer, rounds):
            errors = []
            for _ in range(rounds):
                optimizer.zero_grad()
                errors.append(criterion(*weights))
                errors[-1].backward()
                optimizer.step()
                errors[-1] = errors[-1].item()
            return errors
        """,
}


@pytest.mark.parametrize("name", list(GUILTY))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])
