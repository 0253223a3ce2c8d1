"""What a base class lets go of, in a method that a subclass has put its own in the place of."""

from snippets import check

METRIC = """
class Metric:
    def __init__(self):
        self.defaults, self.features = {{}}, []

    def add_state(self, name, default):
        self.defaults[name] = default
        setattr(self, name, default())

    def reset(self):
        {base}

class KernelScore(Metric):
    def __init__(self):
        super().__init__()
        self.seen = 0
        self.add_state("seen", int)

    def {name}(self):
        {own}
        self.seen = 0

    def update(self, features):
        self.features.append(features){mark}
        self.seen += len(features)

    def compute(self):
        return torch.cat(self.features[-4:]).mean().item()

def main(steps):
    net, score = Net().eval(), KernelScore()
    for _ in range(steps):
        score.reset()
        with torch.no_grad():
            score.update(net(torch.randn(4, 8)))
        print(score.compute())
"""
EACH = "for name, default in self.defaults.items(): setattr(self, name, default())"


def test_a_reset_that_does_not_call_the_one_of_its_base() -> None:
    for base in (EACH, "self.features.clear()", "self.features = []"):
        check(METRIC.format(base=base, name="reset", own="pass", mark="  # TML303"))
        check(METRIC.format(base=base, name="reset", own="super().reset()", mark=""))
        check(METRIC.format(base=base, name="reset", own="Metric.reset(self)", mark=""))
        check(METRIC.format(base=base, name="begin", own="pass", mark=""))
