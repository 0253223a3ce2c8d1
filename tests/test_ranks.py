"""What all ranks gather and one of them needs; `# TML410` says what is due."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

GATHER = """
import torch.distributed as dist

def gather(mine, size):
    parts = [None] * size
    dist.all_gather_object(parts, mine){0}
    {1}
"""
FOR_ONE = [
    "if dist.get_rank() == 0:\n        save(parts)",
    "rows = [row for part in parts for row in part]\n    if is_main_process():\n        save(rows)",
    "if dist.get_rank() != 0:\n        return None\n    return len(parts)",
    "if mine and accelerator.is_main_process:\n        save(parts)\n    del parts",
    "if dist.is_initialized():\n        if not is_main_process():\n            return\n    save(parts)",
    "return parts\n\ndef main(rank):\n    found = gather([1], 2)\n    if rank == 0:\n        print(found)",
    "return list(parts)\n\ndef main(rank):\n    found = gather([1], 2)\n    if rank == 0:\n        print(found)",
]
FOR_ALL = [
    "return parts",
    "return sum(parts)",
    "if dist.get_rank() == 0:\n        save(parts)\n    return len(parts)",
    "if size == 0:\n        save(parts)",
    "if mine:\n        if not is_main_process():\n            return\n    save(parts)",
    "if dist.is_initialized():\n        if not is_main_process():\n            print(parts)\n    save(parts)",
    "if dist.get_rank() == 1 or mine:\n        save(parts)",
    "return parts\n\ndef main(rank):\n    found = gather([1], 2)\n    print(found)",
    "pass",
]


@pytest.mark.parametrize("after", FOR_ONE)
def test_what_one_rank_reads(after: str) -> None:
    check(GATHER.format("  # TML410", after))


@pytest.mark.parametrize("after", FOR_ALL)
def test_what_all_ranks_read(after: str) -> None:
    check(GATHER.format("", after))


_WRITTEN = """
import json

import torch.distributed as dist

def write(rows, folder, size):
    mine = {{}}
    for key, row in rows.items():
        path = folder / f"{{key}}.bin"
        {put}
    parts = [None] * size
    dist.all_gather_object(parts, mine){mark}
    if dist.get_rank() == 0:
        json.dump({{key: value for part in parts for key, value in part.items()}}, open(folder / "all.json", "w"))
"""


@pytest.mark.parametrize("put", ["mine[key] = str(path.name)", 'mine[key] = f"{key}.bin"', "mine[key] = len(row)"])
def test_texts_and_numbers_of_all_ranks(put: str) -> None:
    check(_WRITTEN.format(put=put, mark=""))


@pytest.mark.parametrize("put", ["mine[key] = row", "mine[key] = str(path); mine.update(row)"])
def test_what_is_more_than_texts(put: str) -> None:
    check(_WRITTEN.format(put=put, mark="  # TML410"))


# -- on objects -----------------------------------------------------------------------------------

RANKS = """
import torch.distributed as dist

class Evaluator:
    def __init__(self, rank, world):
        self.rank, self.world, self.parts = rank, world, None

    def gather(self, mine):
        found = [None] * self.world
        dist.all_gather_object(found, mine){}
        self.parts = found

    def report(self):
        {}
"""


EVALUATION = """
def main(rank, world):
    evaluator = Evaluator(rank, world)
    evaluator.gather([torch.rand(8)])
    mean = evaluator.report()
    {}
"""


def test_what_one_rank_needs_the_result_of() -> None:
    each = "for part in found:\n            self.parts.append(part)"
    report = "joined = torch.cat(self.parts)\n        return joined.mean().item()"
    text = RANKS.replace("self.parts = found", each) + EVALUATION
    check(text.format("  # TML410", report, "if rank == 0:\n        print(mean)"))
    check(text.format("", report, "print(mean)"))
    check(text.format("", report.replace("joined", "self.joined"), "if rank == 0:\n        print(mean)"))


def test_what_one_rank_reads_of_a_list() -> None:
    text = RANKS.replace("self.parts = found", "self.parts.append(torch.cat(found))")
    check(text.format("  # TML410", "if self.rank == 0:\n            return torch.cat(self.parts).mean().item()"))
    check(text.format("", "return torch.cat(self.parts).mean().item()"))


@pytest.mark.parametrize(
    ("body", "due"),
    [
        ("if self.rank != 0:\n            return None\n        return sum(map(len, self.parts))", "  # TML410"),
        ("if self.rank == 0:\n            save(self.parts)", "  # TML410"),
        (
            "if not self.parts:\n            return\n        if self.rank == 0:\n            save(self.parts)",
            "  # TML410",
        ),
        ("return sum(map(len, self.parts))", ""),
        ("if self.rank == 0:\n            save(self.parts)\n        self.parts = None", ""),
        ("return self.rank", ""),
    ],
)
def test_what_one_rank_reads_of_an_attribute(body: str, due: str) -> None:
    check(RANKS.format(due, body))


MERGED = """
    import torch.distributed as dist

    def gather_all(mine):
        output = [None] * dist.get_world_size()
        dist.all_gather_object(output, mine)%s
        return output

    class Evaluator:
        def __init__(self):
            self.found = {}

        def update(self, found):
            self.found.update(found)

        def synchronize(self):
            parts = gather_all(self.found)
            merged = {}
            for part in parts:
                merged.update(part)
            self.found = merged

        def summarize(self):
            %s:
                return None
            return sum(box.mean().item() for box in self.found.values()) / len(self.found)
    """


@pytest.mark.parametrize(("due", "asks"), [("  # TML410", "if dist.get_rank() != 0"), ("", "if not self.found")])
def test_what_is_merged_and_put_on_the_object_again(due: str, asks: str) -> None:
    check(MERGED % (due, asks))


PASSES = """
    import torch.distributed as dist

    def all_gather(tensor):
        gathered = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, tensor)
        return torch.cat(gathered)

    class Evaluator:
        def __init__(self, classes):
            self.classes = classes
            self.reset()

        def reset(self):
            self.scores = []

        def process(self, logits, loss):
            %s

        def evaluate(self):
            %s
            everything = torch.cat(self.scores)
            return {"mean": everything.mean().item()}
    """
ONE_READS = "if dist.get_rank() != 0:\n                return {}"
KEPT_OF_ALL = [
    "self.scores.append(all_gather(logits.softmax(1)))  # TML410",
    "scores = all_gather(logits)\n            self.scores.append(scores)  # TML410",
    "self.scores.append(all_gather(logits).cpu())  # TML410",
]


@pytest.mark.parametrize("process", KEPT_OF_ALL)
def test_what_a_helper_gathers_of_each_batch(process: str) -> None:
    check(PASSES % (process, ONE_READS))
    check(PASSES % (process.replace("  # TML410", ""), "dist.barrier()"))
    here = "self.reset()" + "\n            return mean"
    used = ONE_READS + "\n            mean = torch.cat(self.scores).mean().item()\n            " + here
    check(PASSES % (process.replace("  # TML410", ""), used))


@pytest.mark.parametrize("process", ["self.scores.append(all_gather(loss))", "print(all_gather(logits).mean())"])
def test_numbers_that_a_helper_gathers(process: str) -> None:
    check(PASSES % (process, ONE_READS))


COLLECTIVES = """
import torch.distributed as dist

def is_main():
    return not dist.is_initialized() or dist.get_rank() == 0

def gather_all(rows):
    if not dist.is_initialized():
        return [rows]
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, rows)
    return found
"""
REPORT = """
import torch
import collectives

class Report:
    def __init__(self):
        self.rows = []

    def update(self, boxes, scores):
        self.rows.append({"boxes": boxes.cpu(), "scores": scores.cpu()})

    def summary(self):
        %s
        rows = [row for part in parts for row in part]
        %s
        return torch.stack([row["scores"].mean() for row in rows]).mean().item()
"""
AWAY = "if not collectives.is_main():\n            return None"


@pytest.mark.parametrize(
    ("gathers", "then"),
    [
        ("parts = collectives.gather_all(self.rows)  # TML410", AWAY),
        ("parts = collectives.gather_all(self.rows)", "print(len(rows))"),  # each rank has the mean
        ("counts = [len(self.rows)]\n        parts = collectives.gather_all(counts)", "return parts"),
        (
            "tops = [max(row['scores']) for row in self.rows]\n        parts = collectives.gather_all(tops)  # TML410",
            AWAY,
        ),
        ("tops = [max(self.rows[i]) for i in (0, 1, 9)]\n        parts = collectives.gather_all(tops)", AWAY),
        ("parts = collectives.gather_all(self.conf_matrix)", AWAY),
    ],
)
def test_what_a_helper_of_another_file_gathers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gathers: str, then: str
) -> None:
    check_project({"collectives.py": COLLECTIVES, "report.py": REPORT % (gathers, then)}, tmp_path, monkeypatch)


STAGED = """
    import torch.distributed as dist

    class Saver:
        def __init__(self):
            self.staged = {}

        def stage(self, step, model):
            self.staged[step] = {k: v.cpu().clone() for k, v in model.state_dict().items()}%s

        def flush(self):
            %s

    def main(steps):
        model, saver = Net(), Saver()
        for step in range(steps):
            saver.stage(step, model)
            saver.flush()
"""
ON_ONE_RANK = [
    "if dist.get_rank() == 0:\n                torch.save(self.staged, 'last.pt')\n                self.staged.clear()",
    "if dist.get_rank() != 0:\n                return\n            for step in list(self.staged):\n"
    "                torch.save(self.staged.pop(step), 'last.pt')",
]
ON_ALL_RANKS = [
    "if dist.get_rank() == 0:\n                torch.save(self.staged, 'last.pt')\n            self.staged.clear()",
    "if not self.staged:\n                return\n            self.staged.clear()",
]


@pytest.mark.parametrize("body", ON_ONE_RANK)
def test_what_one_rank_alone_lets_go_of(body: str) -> None:
    check(STAGED % ("  # TML311", body))
    only = (STAGED % ("", body)).replace(
        "            saver.stage", "            if dist.get_rank() == 0:\n                saver.stage"
    )
    check(only)


@pytest.mark.parametrize("body", ON_ALL_RANKS)
def test_what_every_rank_lets_go_of(body: str) -> None:
    check(STAGED % ("", body))
