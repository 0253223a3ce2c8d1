"""Networks that follow a trained one, whatever they are called."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

GUILTY = {
    "loaded with the other's weights every few steps": """
        class Agent:
            def __init__(self, obs, act):
                self.q1 = nn.Linear(obs, act)
                self.q2 = nn.Linear(obs, act)
                self.opt = torch.optim.Adam(self.q1.parameters())
                self.steps = 0

            def learn(self, s, a, r, s2):
                if self.steps % 100 == 0:
                    self.q2.load_state_dict(self.q1.state_dict())
                self.steps += 1
                best = self.q2(s2).max(1)[0]  # TML204
                loss = F.mse_loss(self.q1(s).gather(1, a), r + 0.99 * best)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        """,
    "moved towards the other by a helper": """
        def track(slow, fast, tau=0.005):
            for p, q in zip(slow.parameters(), fast.parameters()):
                p.data.copy_(tau * q.data + (1 - tau) * p.data)

        def train(loader):
            fast, slow = nn.Linear(8, 2), nn.Linear(8, 2)
            opt = torch.optim.SGD(fast.parameters(), lr=0.1)
            for x in loader:
                loss = (fast(x) - slow(x)).pow(2).mean()  # TML204
                opt.zero_grad()
                loss.backward()
                opt.step()
                track(slow, fast)
        """,
}

INNOCENT = {
    "trained by an optimizer of its own": """
        def train(rounds, loaders):
            whole, local = nn.Linear(8, 2), nn.Linear(8, 2)
            server = torch.optim.SGD(whole.parameters(), lr=1.0)
            for _ in range(rounds):
                for loader in loaders:
                    local.load_state_dict(whole.state_dict())
                    opt = torch.optim.SGD(local.parameters(), lr=0.1)
                    for x, y in loader:
                        loss = F.cross_entropy(local(x), y) + (local(x) - whole(x)).pow(2).mean()
                        opt.zero_grad()
                        loss.backward()
                        opt.step()
                server.step()
        """,
    "a student that starts from its teacher": """
        class Distil:
            def __init__(self, dim):
                self.student = nn.Linear(dim, dim)
                self.big = nn.Linear(dim, dim)
                self.student.load_state_dict(self.big.state_dict())
                self.opt = torch.optim.Adam(self.student.parameters())

            def learn(self, x):
                with torch.no_grad():
                    wanted = self.big(x)
                loss = F.mse_loss(self.student(x), wanted)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        """,
    "a target critic that the actor is trained through, in states that other code imagines": """
        from world import WorldModel, returns

        class Dreamer:
            def __init__(self, dim):
                self.world = WorldModel(dim)
                self.actor = nn.Linear(dim, 2)
                self.target_critic = nn.Linear(dim, 1)
                self.opt = torch.optim.Adam(self.actor.parameters())

            def update(self, start):
                states = self.world.imagine(self.actor, start)
                target = self._compute_target(states, self.world.reward(states))
                loss = -target.mean() - self.actor(states.detach()).mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()

            def _compute_target(self, states, reward):
                value = self.target_critic(states)
                return returns(reward, value)
        """,
    "one through which another is trained": """
        class Actor:
            def __init__(self, obs, act):
                self.actor = nn.Linear(obs, act)
                self.q1 = nn.Linear(obs + act, 1)
                self.q2 = nn.Linear(obs + act, 1)
                self.opt = torch.optim.Adam(self.actor.parameters())
                self.opt_q = torch.optim.Adam(self.q1.parameters())

            def learn(self, s):
                self.q2.load_state_dict(self.q1.state_dict())
                act = self.actor(s)
                loss = -self.q2(torch.cat([s, act], 1)).mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.opt_q.step()
        """,
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])
