"""What every rank gathers although one reads it, joined by key; and runs in a thread that are said once."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """
import asyncio
import torch.distributed as dist
"""

GATHERING = """
def merge(results):
    parts = [None for _ in range(dist.get_world_size())]
    dist.all_gather_object(parts, results)%s
    merged = defaultdict(list)
    for part in parts:
        for key, values in part.items():
            %s
    return merged

def save(results, path):
    merged = merge(results)
    if dist.get_rank() == 0:
        torch.save(dict(merged), path)
    %s
"""


def _check(text: str) -> None:
    check(textwrap.dedent(IMPORTS) + textwrap.dedent(text))


@pytest.mark.parametrize("joined", ["merged[key].extend(values)", "merged[key] = values", "merged[key] += values"])
def test_parts_that_are_joined_by_key(joined: str) -> None:
    _check(GATHERING % ("  # TML410", joined, "dist.barrier()"))
    _check(GATHERING % ("", joined, "print(sorted(merged))"))


def test_a_model_in_a_thread_is_said_where_the_thread_starts() -> None:
    _check("""
        class Service:
            def __init__(self):
                self.model = Net().eval()
                self.vectors = {}

            def _run(self, x):
                return self.model(x)

            async def embed(self, x):
                with torch.no_grad():
                    return await asyncio.to_thread(self._run, x)  # TML203

            async def add(self, key, x):
                self.vectors[key] = await self.embed(x)

            def scores(self):
                return torch.stack([self.vectors[key].detach() for key in self.vectors])

        async def index(service, parts):
            for number, part in enumerate(parts):
                await service.add(number, part)
            return service.scores()
    """)
