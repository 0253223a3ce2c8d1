"""Networks that follow a trained one, or that its optimizer leaves out, whatever they are called."""

from __future__ import annotations

import textwrap

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
    "in eval mode, and left out by the optimizer": """
        class Learner:
            def __init__(self):
                self.net, self.before = Net(), None
                self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

            def end_task(self):
                self.before = copy.deepcopy(self.net).eval()

            def observe(self, x, y):
                out = self.net(x)
                loss = F.cross_entropy(out, y)
                if self.before is not None:
                    loss = loss + F.mse_loss(out, self.before(x))  # TML204
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        """,
    "the optimizer has the other one as an entry of a list": """
        def distill(loader):
            small, large = Net(), Net()
            trainable = nn.ModuleList([small])
            opt = torch.optim.SGD(trainable.parameters(), lr=0.1)
            large.eval()
            for x in loader:
                loss = F.mse_loss(small(x), large(x))  # TML204
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
    "a teacher by its letter": """
        def distill(model_s, model_t, criterion, loader, opt):
            model_s.train()
            model_t.eval()
            for x, y in loader:
                logit_s = model_s(x)
                logit_t = model_t(x)  # TML204
                loss = F.cross_entropy(logit_s, y) + criterion(logit_s, logit_t)
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
    "a teacher by its letter, among the modules of a list": """
        def distill(modules, criteria, loader, opt):
            for module in modules:
                module.train()
            modules[-1].eval()
            net_s, net_t = modules[0], modules[-1]
            for x, y in loader:
                logit_s = net_s(x)
                logit_t = net_t(x)  # TML204
                loss = criteria[0](logit_s, y) + criteria[1](logit_s, logit_t)
                opt.zero_grad()
                loss.backward()
                opt.step()

        def main(loader):
            modules = nn.ModuleList([Net()])
            opt = torch.optim.SGD(modules.parameters(), lr=0.1)
            modules.append(Net())
            distill(modules, nn.ModuleList([nn.CrossEntropyLoss(), nn.MSELoss()]), loader, opt)
        """,
}

TWO = """
    def train(loader):
        one, other = Net(), Net()
        {mode}
        opt = torch.optim.SGD({params}, lr=0.1)
        {more}
        for x in loader:
            loss = F.mse_loss(one(x), other(x)){mark}
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
EVAL = "other.eval()"

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
    "nets of the source and of the target": """
        def adapt(net_s, net_t, loader, opt):
            net_s.train()
            net_t.train()
            for x, y in loader:
                loss = F.mse_loss(net_s(x), net_t(y))
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
    "one that is trained through one in eval mode": """
        def invert(loader):
            maker, judge = Net(), nn.Linear(2, 2)
            judge.eval()
            opt = torch.optim.SGD(maker.parameters(), lr=0.1)
            for x, y in loader:
                loss = F.mse_loss(judge(maker(x)), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
}


@pytest.mark.parametrize(
    ("mode", "params", "more", "guilty"),
    [
        (EVAL, "one.parameters()", "pass", True),
        ("pass", "one.parameters()", "pass", False),
        (EVAL, "[*one.parameters(), *other.parameters()]", "pass", False),
        (EVAL, '[{"params": one.parameters()}, {"params": other.parameters(), "lr": 0.01}]', "pass", False),
        (EVAL, "one.parameters()", 'opt.add_param_group({"params": other.parameters()})', False),
        (EVAL, "nn.ModuleList([one, other]).parameters()", "pass", False),
        ("other.eval().requires_grad_(False)", "one.parameters()", "pass", False),
    ],
)
def test_what_the_optimizer_has(mode: str, params: str, more: str, guilty: bool) -> None:
    check(TWO.format(mode=mode, params=params, more=more, mark="  # TML204" if guilty else ""))


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check("import copy\n" + textwrap.dedent(GUILTY[name]))


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


_DOMAINS = """
    def adapt(source_loader, target_loader, source_net: nn.Module, {net}: nn.Module, criterion, optimizer):
        {net}.{mode}()
        for (x_s,), (x_t,) in zip(source_loader, target_loader):
            first = {source}(x_s)
            second = {net}(x_t){mark}
            loss = criterion(first, second)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """


def test_networks_of_two_domains() -> None:
    check(_DOMAINS.format(net="target_net", source="source_net", mode="train", mark=""))
    check(_DOMAINS.format(net="target_net", source="source_net", mode="eval", mark="  # TML204"))
    check(_DOMAINS.format(net="target_net", source="net", mode="train", mark="  # TML204"))


_PARTS = """
    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk = nn.Linear(4, 4)
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            return self.head(self.trunk(x))

        def groups(self, rate):
            return [{{"params": self.trunk.parameters(), "lr": rate}}, {{"params": self.head.parameters()}}]

    class Learner:
        def __init__(self):
            self.net = Whole()
            self.target_net = Whole()
            self.optimizer = torch.optim.Adam(self.{trained}.groups(0.1))

        def update(self, batch):
            loss = F.mse_loss(self.net(batch.obs), self.target_net(batch.next)){mark}
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
    """


def test_a_network_whose_parts_are_trained() -> None:
    check(_PARTS.format(trained="target_net", mark=""))
    check(_PARTS.format(trained="net", mark="  # TML204"))
