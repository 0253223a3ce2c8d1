"""Evaluations with gradients on: those that hand the model on, or say by other means than a name what they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from snippets import check

from torchmemlint.config import load
from torchmemlint.linter import engine, pool


@pytest.mark.parametrize(
    "text",
    [
        # a loop object: its class says what it does, and it hands the results to an evaluator
        """
        class ValLoop:
            def __init__(self, runner, loader, evaluator):
                self.runner, self.loader, self.evaluator = runner, loader, evaluator

            def run(self):
                for batch in self.loader:
                    self.run_iter(batch)
                return self.evaluator.evaluate()

            def run_iter(self, batch):
                outputs = self.runner.model(batch)  # TML201
                self.evaluator.process(batch, outputs)
        """,
        # what unseen code gave is a model: it is put in eval mode in passing
        """
        def tta(net, x):
            return (net(x) + net(x.flip(-1))) / 2  # TML201

        def main(cfg):
            net = build(cfg).to(cfg.device).eval()
            total = 0
            for x, y in torch.utils.data.DataLoader(load(cfg), batch_size=8):
                p = tta(net, x.to(cfg.device))
                total += (p.argmax(1).cpu() == y).sum()
            print(total)
        """,
        # a trial run precedes the loop
        """
        def test(loader, model: nn.Module, compute_loss):
            model.eval()
            model(torch.zeros(1, 8))
            seen = 0
            for x, y in loader:
                out = model(x)  # TML201
                seen += (out.argmax(1) == y).sum().item()
            return seen
        """,
        # a policy under a name of its own, that is known for a module by what the class does with it
        """
        class Scorer:
            def __init__(self, policy):
                self.policy = policy
                self.device = next(self.policy.parameters()).device

            def evaluate(self, env, steps):
                state, total = env.reset(), 0.0
                for _ in range(steps):
                    out = self.policy(state)  # TML201
                    state, reward = env.step(out.argmax().item())
                    total += reward + out.max().item()
                return total
        """,
        # its weights are copied to the network that is called: it is one, too
        """
        class Agent:
            def __init__(self, q, q_target, opt, gamma):
                self.q, self.q_target, self.opt, self.gamma = q, q_target, opt, gamma

            def sync(self):
                self.q_target.load_state_dict(self.q.state_dict())

            def bootstrap(self, reward, following):
                best = self.q_target(following).max(1)[0]  # TML204
                return reward + self.gamma * best

            def learn(self, obs, action, reward, following):
                y = self.bootstrap(reward, following)
                loss = F.mse_loss(self.q(obs).gather(1, action).squeeze(), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        """,
        # torchrl runs the policy
        """
        def eval_model(actor, env, episodes):
            rewards = []
            for _ in range(episodes):
                data = env.rollout(policy=actor, max_steps=1000)  # TML201
                rewards.append(data["next", "reward"].sum().item())
            return sum(rewards) / episodes

        def main(cfg):
            actor = make_actor(cfg)
            for step in range(cfg.steps):
                train(actor)
                actor.eval()
                print(eval_model(actor, make_env(cfg), 3))
                actor.train()
        """,
    ],
)
def test_evaluations_that_record(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        """
        class ValLoop:
            def __init__(self, runner, loader, evaluator):
                self.runner, self.loader, self.evaluator = runner, loader, evaluator

            @torch.no_grad()
            def run(self):
                for batch in self.loader:
                    self.run_iter(batch)
                return self.evaluator.evaluate()

            def run_iter(self, batch):
                outputs = self.runner.model(batch)
                self.evaluator.process(batch, outputs)
        """,
        """
        def main(cfg):
            net = build(cfg).to(cfg.device).eval()
            total = 0
            for x, y in torch.utils.data.DataLoader(load(cfg), batch_size=8):
                with torch.inference_mode():
                    p = net(x.to(cfg.device))
                total += (p.argmax(1).cpu() == y).sum()
            print(total)
        """,
        # of an expression, not of a model
        """
        def main(cfg, loader):
            table = cfg.frame().eval("a + b")
            for x in loader:
                print(table(x))
        """,
        """
        class TrainLoop:
            def __init__(self, runner, loader):
                self.runner, self.loader = runner, loader

            def run(self):
                for batch in self.loader:
                    outputs = self.runner.model(batch)
                    self.runner.process(batch, outputs)
        """,
        # the caller has turned them off
        """
        def eval_model(actor, env, episodes):
            rewards = []
            for _ in range(episodes):
                data = env.rollout(policy=actor, max_steps=1000)
                rewards.append(data["next", "reward"].sum().item())
            return sum(rewards) / episodes

        def main(cfg):
            actor = make_actor(cfg)
            for step in range(cfg.steps):
                train(actor)
                actor.eval()
                with torch.no_grad():
                    print(eval_model(actor, make_env(cfg), 3))
                actor.train()
        """,
        # it is trained on what it has seen
        """
        def main(cfg):
            actor = make_actor(cfg)
            opt = torch.optim.Adam(actor.parameters())
            for step in range(cfg.steps):
                data = make_env(cfg).rollout(100, actor)
                loss = -data["next", "reward"].mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
    ],
)
def test_evaluations_that_do_not(text: str) -> None:
    check(text)


HELPER = """
def eval_model(actor, env, episodes):
    rewards = []
    for _ in range(episodes):
        data = env.rollout(policy=actor, max_steps=1000)
        rewards.append(data["next", "reward"].sum().item())
    return sum(rewards) / episodes
"""
MAIN = """
import torch
from helper import eval_model

def main(cfg):
    actor = make_actor(cfg)
    for step in range(cfg.steps):
        train(actor)
        actor.eval()
        {guard}:
            print(eval_model(actor, make_env(cfg), 3)){comment}
        actor.train()
"""


@pytest.mark.parametrize(("guard", "comment"), [("if True", "  # TML201"), ("with torch.no_grad()", "")])
def test_a_helper_of_another_file_runs_the_model(
    guard: str, comment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    main = tmp_path / "main.py"
    main.write_text(MAIN.format(guard=guard, comment=comment))
    monkeypatch.chdir(tmp_path)
    plan = engine.plan(load(tmp_path, {"no-cache": True}, isolated=True))
    rows = [row for row, line in enumerate(main.read_text().splitlines(), 1) if re.search("# TML201", line)]
    found = pool.lint_files(["helper.py", "main.py"], plan, 1)
    assert [(f.filename, f.start.row, f.code) for f in found] == [("main.py", row, "TML201") for row in rows]
