"""A graph that is kept for a second backward pass, which comes from whoever gets what the function returns."""

from __future__ import annotations

import pytest
from snippets import check

_AGENT = """
    class Agent(Base):
        def actor_loss(self, batch, action):
            loss = super().actor_loss(batch, action)
            penalty = self.penalty(batch)
            if self.weight_optimizer is not None:
                self.adapt(penalty)
            return {given}

        def penalty(self, batch):
            return (self.log_weight.exp() * (self.policy(batch) - 3)).mean()

        def adapt(self, penalty):
            self.weight_optimizer.zero_grad()
            negative = -penalty
            negative.backward(retain_graph=True){mark}
            self.weight_optimizer.step()
    """
_SAME = """
    class Agent(Base):
        def actor_loss(self, batch, action):
            loss = super().actor_loss(batch, action)
            penalty = (self.log_weight.exp() * (self.policy(batch) - 3)).mean()
            self.weight_optimizer.zero_grad()
            penalty.backward(retain_graph=True){mark}
            self.weight_optimizer.step()
            return {given}
    """


@pytest.mark.parametrize("program", [_AGENT, _SAME])
@pytest.mark.parametrize("given", ["loss + penalty", "Losses(total=loss.actor + penalty, penalty=penalty)"])
def test_a_term_of_what_is_returned(program: str, given: str) -> None:
    check(program.format(given=given, mark=""))


@pytest.mark.parametrize("program", [_AGENT, _SAME])
@pytest.mark.parametrize(
    "given", ["loss", "penalty", "loss + penalty.detach()", "loss + float(penalty)", "penalty + 1"]
)
def test_what_nobody_differentiates_again(program: str, given: str) -> None:
    check(program.format(given=given, mark="  # TML103"))


_GIVEN = """
    class Tuner:
        {before}
            loss.backward(retain_graph=True){mark}
            {after}
    """


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def measure(self, loss):\n            loss = loss * self.scale", "self.update()"),
        ("def backward(self, losses, loss=None):", "self.shared.backward(sum(self.gradients))"),
        ("def backward(self, loss, other):", "other.backward()\n            self.optimizer.step()"),
    ],
)
def test_what_the_caller_may_go_through_again(before: str, after: str) -> None:
    check(_GIVEN.format(before=before, after=after, mark=""))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def step(self, loss):", "self.optimizer.step()"),
        ("def step(self, loss, scaler):", "scaler.step(self.optimizer)"),
        ("def step(self, batch, loss=None):\n            loss = self.terms(batch)", "self.update()"),
    ],
)
def test_what_is_a_whole_step(before: str, after: str) -> None:
    check(_GIVEN.format(before=before, after=after, mark="  # TML103"))


_WRITTEN = """
    def try_out(name):
        first, second = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
        optimizer = build_optimizer(name, [first, second])
        for _ in range(3):
            {head}
            loss = (first * second).sum()
            first.grad, second.grad = torch.autograd.grad(loss, [first, second], create_graph=True){mark}
            optimizer.step()
            {tail}
    """


@pytest.mark.parametrize("tail", ["optimizer.zero_grad(set_to_none=True)", "optimizer.zero_grad()"])
def test_written_gradients_that_are_reset(tail: str) -> None:
    check(_WRITTEN.format(head="pass", tail=tail, mark=""))


@pytest.mark.parametrize("head", ["pass", "optimizer.zero_grad()"])
def test_written_gradients_of_which_the_last_stay(head: str) -> None:
    check(_WRITTEN.format(head=head, tail="pass", mark="  # TML104"))


_WEIGHED = """
    class Distance(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Conv2d(3, 8, 3)
            for one in self.parameters():
                one.requires_grad = False

        def forward(self, a, b):
            return (self.net(a) - self.net(b)).square().mean()

    class Weighed(nn.Module):
        def __init__(self, critic):
            super().__init__()
            self.scale = nn.Parameter(torch.zeros(()))
            self.distance = Distance().eval()
            self.critic = critic

        def balance(self, first, second, last):
            ours = torch.autograd.grad(first, last, retain_graph=True)[0]{mark}
            theirs = torch.autograd.grad(second, last, retain_graph={both})[0]
            return (ours.norm() / (theirs.norm() + 1e-4)).clamp(0, 1e4).detach()

        def forward(self, x, y, last, weights=None):
            apart = torch.abs(x - y) + self.distance(x, y)
            near = apart / torch.exp(self.scale) + self.scale
            weighted = near if weights is None else weights * near
            fooled = -self.critic(y).mean()
            weight = self.balance(near.sum(), fooled, last)
            return {given}
    """


@pytest.mark.parametrize("given", ["weighted.sum() + weight * fooled", "near.sum() + weight * fooled, fooled.item()"])
def test_a_weight_of_a_loss_whose_networks_are_frozen(given: str) -> None:
    check(_WEIGHED.format(mark="", both=True, given=given))


@pytest.mark.parametrize("given", ["weight.item()", "near.detach(), weight"])
def test_a_weight_alone(given: str) -> None:
    check(_WEIGHED.format(mark="  # TML103", both=False, given=given))
