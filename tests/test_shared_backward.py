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
