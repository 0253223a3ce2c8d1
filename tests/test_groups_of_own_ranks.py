"""Process groups for the ranks that an object was set up with, made each time it is asked; `# TML408` says where."""

from __future__ import annotations

import pytest
from snippets import check

JUDGE = """
import torch
import torch.distributed as dist

class Score:
    def __init__(self):
        self.right = torch.zeros(())

    def joined(self, group):
        dist.all_reduce(self.right, group=group)
        return self.right.item()

class Judge:
    def __init__(self, model, ranks):
        self.model, self.seen = model.eval(), 0
        self.ranks = {ranks}
        {setup}

    @torch.inference_mode()
    def judge(self, x, hosts):
        {line}
        score = Score()
        score.right += self.model(x).argmax(1).sum().item()
        return score.joined(group)

    def widen(self, rank):
        {widen}

def serve(model, batches, hosts):
    judge = Judge(model, [0, 1])
    return max(judge.judge(x, hosts) for x in batches)
"""
ALL = "list(range(dist.get_world_size()))"
AGAIN = "group = dist.new_group(self.ranks)  # TML408"
SILENT = "group = dist.new_group(self.ranks)"


def program(line: str, ranks: str = ALL, setup: str = "pass", widen: str = "pass") -> str:
    return JUDGE.format(line=line, ranks=ranks, setup=setup, widen=widen)


@pytest.mark.parametrize("ranks", [ALL, "[0, 1, 2]", "sorted([3, 1])"])
def test_groups_of_ranks_that_the_constructor_sets(ranks: str) -> None:
    check(program(AGAIN, ranks))


def test_groups_that_methods_give_to_collectives() -> None:
    check(program("group = dist.new_group(hosts.pop())  # TML408"))


@pytest.mark.parametrize(
    "innocent",
    [
        program("group = self.group", setup="self.group = dist.new_group(self.ranks)"),
        program(SILENT + "\n        self.seen += 1\n        dist.destroy_process_group(group)"),
        JUDGE.replace("{line}", SILENT + "; self.groups.append(group)")
        .replace("score.joined(group)", "group")
        .format(ranks="ranks", setup="self.groups = []", widen="self.ranks = [rank]"),
        JUDGE.replace("dist.all_reduce(self.right, group=group)", "self.group = group").format(
            line=SILENT, ranks="[0]", setup="pass", widen="self.ranks.append(rank)"
        ),
    ],
)
def test_groups_that_are_made_once_or_destroyed_or_of_other_ranks(innocent: str) -> None:
    check(innocent)
