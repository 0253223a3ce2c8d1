"""Functions of packages whose names, or whose ways of giving their results, look like something of torch."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

_CLIPPED = """
import torch

def clip_norm_(parameters, limit):
    norms = [torch.norm(p.grad) for p in parameters]
    total = torch.norm(torch.stack(norms))
    for p in parameters:
        p.grad.detach().mul_(limit / (total + 1e-6))
    return total

def damped_(loss):
    return loss * 0.5
"""
_AGENT = """
import torch
from torch import nn
import agents

class Agent:
    def __init__(self, model, optimizer, limit):
        self.model, self.optimizer, self.limit = model, optimizer, limit
        self.kept = []

    def loss(self, batch):
        return self.model(batch).pow(2).mean()

    def update(self, batch):
        loss = self.loss(batch)
        self.optimizer.zero_grad()
        loss.backward()
        agents.tools.clip_norm_(self.model.parameters(), self.limit)
        self.optimizer.step()
        self.kept.append({kept}){mark}
"""


@pytest.mark.parametrize(
    ("kept", "mark"), [("loss.item()", ""), ("agents.tools.damped_(loss)", "  # TML102"), ("loss", "  # TML102")]
)
def test_a_function_that_changes_what_it_is_given(
    kept: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "agents/__init__.py": "from agents import tools\n",
        "agents/tools/__init__.py": "from agents.tools.clipped import clip_norm_, damped_\n",
        "agents/tools/clipped.py": _CLIPPED,
        "agents/dqn.py": _AGENT.format(kept=kept, mark=mark),
    }
    check_project(files, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("kept", "mark"),
    [
        ("statistics.update(prefixed(dist.get_diagnostics(), 'policy/'))", ""),
        ("rows.append(dist.stats())", ""),
        ("statistics.update(prefixed(dist.parts(), 'policy/'))", "  # TML102"),
        ("rows.append(dist.entropy())", "  # TML102"),
    ],
)
def test_statistics_that_an_object_gives_of_itself(kept: str, mark: str) -> None:
    check(f"""
        def prefixed(table, prefix):
            renamed = {{}}
            for key, value in table.items():
                renamed[prefix + key] = value
            return renamed

        class Trainer:
            def __init__(self, policy, optimizer):
                self.policy, self.optimizer = policy, optimizer
                self.statistics, self.rows = {{}}, []

            def fit_batch(self, batch):
                dist = self.policy(batch["observations"])
                loss = -dist.log_prob(batch["actions"]).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.{kept}{mark}
        """)


@pytest.mark.parametrize(
    ("package", "name", "mark"),
    [
        ("optimum.onnxruntime", "ORTModelForFeatureExtraction", ""),
        ("transformers", "FlaxAutoModel", ""),
        ("transformers", "AutoModel", "  # TML201"),
        ("transformers", "ORTAutoModel", ""),
        ("transformers", "OverAutoModel", "  # TML201"),
    ],
)
def test_models_that_another_library_runs(package: str, name: str, mark: str) -> None:
    check(f"""
        from {package} import {name}

        class Embedder:
            def __init__(self, path, tokenizer, head):
                self.model = {name}.from_pretrained(path)
                self.tokenizer, self.head = tokenizer, head

            def predict(self, texts):
                tokens = self.tokenizer(texts, padding=True, return_tensors="pt")
                outputs = self.model(**tokens){mark}
                return self.head.predict(outputs["last_hidden_state"].mean(1).tolist())
        """)
