"""Lists of a function whose records have a model or tensors, of which only the numbers are read."""

from __future__ import annotations

import pytest
from snippets import check

SWEEP = """
class Record:
    def __init__(self, net, score):
        self.net, self.score = net, score

def trained(part):
    net = nn.Linear(8, 8)
    for x in part:
        net(x).sum().backward()
    return {{"net": net, "score": 0.5}}

def sweep(parts, shared: nn.Module):
    results = []
    for part in parts:
        net = nn.Linear(8, 8)
        with torch.no_grad():
            rows = net(part)
        score = rows.sum().item()
        results.append({record}){mark}
    {used}
"""
READ = "print(sum(one[{}] for one in results) / len(results))".format('"score"')
GUILTY = [
    ("(score, net)", "print(sum(score for score, _ in results) / len(results))"),
    ("(score, net)", "print(max(one[0] for one in results))"),
    ("(part, score, rows)", "for at, (name, score, _) in enumerate(results): print(at, name, score)"),
    ("(score, net)", "return max(results, key=lambda one: one[0])[0]"),
    ('{"net": net, "score": score}', READ),
    ('{"rows": rows, "score": score}', READ),
    ("trained(part)", READ),
    ("Record(net, score)", "print(max(one.score for one in results))"),
    ('{"net": net, "score": score}', 'for one in results: print(one.get("score"))'),
    ('{"net": net, "score": score}', 'return max(results, key=lambda one: one["score"])["score"]'),
]
INNOCENT = [
    ("(score, net)", "for score, each in results: print(score, each)"),
    ("(score, net)", "return max(results, key=lambda one: one[0])"),
    ("(score, net)", "return max(results, key=lambda one: one[0])[1]"),
    ("(score, net)", "score, net = results[-1]; print(net)"),
    ("(score, net)", "print(dict(results))"),
    ("(score, str(part))", "print(sum(score for score, _ in results))"),
    ("(score, shared)", "print(sum(score for score, _ in results))"),
    ('{"net": net, "score": score}', "return results"),
    ('{"net": net, "score": score}', 'return max(results, key=lambda one: one["score"])'),
    ('{"net": net, "score": score}', 'return max(results, key=lambda one: one["score"])["net"]'),
    ('{"net": net, "score": score}', 'torch.save([one["net"] for one in results], "nets.pt")'),
    ('{"net": net, "score": score}', "print(results)"),
    ('{"net": shared, "score": score}', READ),
    ('{"name": str(part), "score": score}', READ),
    ('{"best": rows.max().item(), "score": score}', READ),
    ("score", "print(sum(results))"),
]


@pytest.mark.parametrize(("record", "used"), GUILTY)
def test_only_numbers_are_read_of_records_that_weigh(record: str, used: str) -> None:
    check(SWEEP.format(record=record, used=used, mark="  # TML311"))


@pytest.mark.parametrize(("record", "used"), INNOCENT)
def test_records_that_are_wanted_or_light(record: str, used: str) -> None:
    check(SWEEP.format(record=record, used=used, mark=""))


def test_a_list_that_is_there_to_keep_things() -> None:
    kept = SWEEP.format(record='{"net": net, "score": score}', used=READ, mark="")
    check(kept.replace("results", "keep_alive"))
