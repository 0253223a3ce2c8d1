"""Lists that gain a score for every candidate, where the best few of each row would do."""

from __future__ import annotations

import pytest
from snippets import check

JUDGED = """
class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.side, self.table = nn.Linear(8, 32), nn.Embedding(9000, 32)

    def forward(self, x):
        return self.side(x) @ self.table.weight.T

def hits(best, wanted):
    return (best == wanted[:, None]).any(1).float().mean().item()

def recall(scores, wanted, k):
    best = scores.topk(k)[1]
    return best.eq(wanted.view(-1, 1)).any(1).float().mean().item()

def in_order(scores, wanted, k):
    order = torch.argsort(scores, dim=1, descending=True)[:, :k]
    return hits(order, wanted)

def by_loss(scores, wanted):
    return F.cross_entropy(scores, wanted).item()

@torch.no_grad()
def judge(finder, loader, k):
    rows, kept = [], []
    for x, wanted in loader:
        {add}
        kept.append(wanted)
    kept = torch.cat(kept)
    {then}

def main(path, k):
    judge(Finder().eval(), torch.utils.data.DataLoader(Records(path)), k)
"""
ALL = "rows.append(finder(x))"


@pytest.mark.parametrize(
    ("add", "then"),
    [
        (ALL, "return torch.cat(rows).topk(k, dim=1).indices"),
        (ALL, "return torch.topk(torch.cat(rows, 0), k, -1)"),
        (ALL, "rows = torch.cat(rows); return hits(rows.topk(k).indices, kept)"),
        (ALL, "rows, kept = torch.cat(rows), kept.long(); _, best = rows.topk(k); return hits(best, kept)"),
        (ALL, "table = torch.cat(rows).cpu().float(); print(len(table), table.shape); return recall(table, kept, k)"),
        (ALL, "return in_order(torch.vstack(rows), kept, k)"),
        (ALL, "likely = torch.cat(rows).softmax(-1); return likely.topk(k).values.tolist()"),
        (ALL, "best = torch.cat(rows).topk(k)[1]; return [hits(best[:, :n], kept) for n in (1, 5)]"),
        (ALL, "best = torch.cat(rows).topk(k)[1].t(); return best.eq(kept).any(0).sum().item()"),
        ("scores = finder.side(x) @ finder.table.weight.T; rows.append(scores)", "return torch.cat(rows).topk(k)"),
        ("rows.append(torch.matmul(x, finder.table.weight.t()))", "return torch.cat(rows).topk(k)"),
    ],
)
def test_all_scores_for_the_best(add: str, then: str) -> None:
    check(JUDGED.format(add=f"{add}  # TML310", then=then))


@pytest.mark.parametrize(
    ("add", "then"),
    [
        ("rows.append(finder(x).topk(k, dim=1).indices)", "return torch.cat(rows)[:, :3].topk(1, dim=1)"),
        ("rows.append(finder(x).amax(1))", "return torch.cat(rows).topk(k).indices"),  # the best samples of all
        ("rows.append(finder(x)[:, 3].clone())", "best = torch.cat(rows).topk(k)[1]; return kept[best]"),
        (ALL, "return torch.cat(rows).topk(k, dim=0).indices"),
        (ALL, "return torch.cat(rows, dim=1).topk(k, dim=1).indices"),
        (ALL, "table = torch.cat(rows); return table, table.topk(k, dim=1)"),
        (ALL, "table = torch.cat(rows); return by_loss(table, kept), recall(table, kept, k)"),
        (ALL, "table = torch.cat(rows); return table.topk(k, dim=1), table.mean(0)"),
        (ALL, "order = torch.argsort(torch.cat(rows), dim=1); return order"),
        (ALL, "return torch.cat(rows).topk(k, dim=1), rows[-1]"),
        (ALL, "best, rows = torch.cat(rows).topk(k, dim=1), rows[:9]; return best, rows"),
        (ALL, "report(torch.cat(rows)); return torch.cat(rows).topk(k, dim=1)"),
    ],
)
def test_all_scores_for_more(add: str, then: str) -> None:
    check(JUDGED.format(add=add, then=then))


@pytest.mark.parametrize(
    ("over", "add", "mark"),
    [
        ("for at in range(0, len(queries), 64):", "queries[at : at + 64] @ items.T", "  # TML310"),
        ("for part in loader:", "part @ items.T", "  # TML310"),
        ("for _ in range(steps):", "queries @ items.T", ""),  # the steps of one answer
        ("for part in loader:", "items @ part", ""),
    ],
)
def test_searches(over: str, add: str, mark: str) -> None:
    check(
        f"""
        @torch.no_grad()
        def search(queries, loader, steps, k):
            items = torch.randn(9000, 64)
            found = []
            {over}
                found.append({add}){mark}
            return torch.cat(found).topk(k)

        def main(path):
            search(torch.randn(500, 64), torch.utils.data.DataLoader(Queries(path)), 4, 10)
        """
    )
