"""Local sums over the parts of a graph that is there anyway, and over the runs of a module."""

from __future__ import annotations

from snippets import check

ADVANTAGES = """
def discounted(deltas, gamma=0.99):
    out, running = torch.zeros_like(deltas), 0.0
    for t in reversed(range(len(deltas))):
        running = deltas[t] + gamma * running
        out[t] = running
    return out

def advantages(rewards, values, last):
    predicted = torch.cat([values, last[None]])
    return discounted(rewards + 0.99 * predicted[1:] - predicted[:-1])

class Sampler:
    def __init__(self):
        self.model = nn.Linear(8, 1)
        self.kept = deque(maxlen=1000)

    def sample(self, rows, last):
        values = self.model(rows).squeeze(-1)
        {keep}(advantages(torch.rand(len(rows)), values, self.model(last)[0])){mark}

def main(batches):
    sampler = Sampler()
    for batch in batches:
        sampler.sample(batch[:-1], batch[-1])

main([torch.rand(4, 8)] * 9)
"""


def test_the_graph_is_kept_by_who_keeps_the_result() -> None:
    check(ADVANTAGES.format(keep="self.kept.append", mark="  # TML102").replace("maxlen=1000", ""))


def test_a_sum_of_what_each_round_runs() -> None:
    check(
        """
        def mean_loss(model, optimizer, batches):
            total = 0.0
            for x, y in batches:
                parts = torch.cat([F.cross_entropy(model(x), y)[None]])
                parts.sum().backward()
                optimizer.step()
                total = total + parts[0]  # TML101
            return total / len(batches)

        model = Net()
        mean_loss(model, torch.optim.SGD(model.parameters(), lr=0.1), [(torch.rand(4, 8), torch.zeros(4).long())] * 9)
        """
    )
