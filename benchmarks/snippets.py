#!/usr/bin/env python3
"""How far `verify PATHS` gets on functions of real packages that it cannot run for real.

    snippets.py PACKAGES [--count 200] [--releases 3] [--seed 1] [--show]

Takes functions with a loop that computes a tensor, sampled by a seed, and runs each as it is and as un-fix mutants (see
`snippet_samples.py`). Prints for how many the runner reaches a verdict that it trusts, how many mutants of those are
confirmed, and every unchanged function that is: each of these must have a reason.
"""

from __future__ import annotations

import collections
import os
import pathlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

import click
from snippet_samples import Mutant, Sample, sampled

from torchmemlint.finding import Finding, Location, Retains, Verdict
from torchmemlint.runtime import flagged
from torchmemlint.runtime.client import Server
from torchmemlint.runtime.isolation import Limits


@dataclass(frozen=True)
class Judged:
    """A verdict and the seconds that it took. `kind`: own (the function as it is), a mutant's, or `un-` and a mutant's:
    the same place without the mutation.
    """

    sample: Sample
    kind: str
    row: int
    verdict: Verdict
    seconds: float

    @property
    def trusted(self) -> bool:
        return self.verdict.status != "inconclusive"

    def said(self, packages: pathlib.Path) -> str:
        place = f"{self.sample.path.relative_to(packages)}:{self.row} {self.sample.function}"
        verdict = self.verdict
        path = f" [{' -> '.join(verdict.path)}]" if verdict.path else ""
        return (
            f"{self.kind:9} {verdict.status:12} {verdict.tier:9} {self.seconds:4.1f} s {place}: {verdict.reason}{path}"
        )


def judge(sample: Sample, mutant: Mutant | None, row: int, kind: str, server: Server) -> Judged:
    """The verdict on one row, as if the linter had reported it: no_grad mutants for their peak, all else for growth."""
    began = time.monotonic()
    place, file = Location(row, 1), str(sample.path)
    retains = Retains.PEAK if kind.endswith("no_grad") else Retains.GROWING
    finding = Finding("TML102", "sampled", "", file, place, place, retains=retains)
    case = flagged.Case(finding, flagged.project(file), source=mutant.text if mutant is not None else None)
    verdict = flagged.verify(case, server).verdict
    assert verdict is not None
    return Judged(sample, kind, row, verdict, time.monotonic() - began)


def measure(sample: Sample, server: Server) -> Iterator[Judged]:
    """The function as it is, and each mutant after the same place without the mutation."""
    own = judge(sample, None, sample.row, "own", server)
    yield own
    for mutant in sample.mutants:
        before = own
        if mutant.kind != "planted":
            before = judge(sample, None, mutant.row_before, f"un-{mutant.kind}", server)
            yield before
        if before.trusted:
            yield judge(sample, mutant, mutant.row, mutant.kind, server)


@click.command()
@click.argument("packages", type=click.Path(exists=True, file_okay=False, path_type=pathlib.Path))
@click.option("--count", default=200, show_default=True)
@click.option("--releases", default=3, show_default=True, help="Functions of a package with a release to take away.")
@click.option("--seed", default=1, show_default=True)
@click.option("--show", is_flag=True, help="Print every verdict.")
def main(packages: pathlib.Path, count: int, releases: int, seed: int, show: bool) -> None:
    packages = packages.resolve()
    samples = sampled(packages, count, releases, seed)
    judged: list[Judged] = []
    with Server(device="cpu", limits=Limits(timeout=30.0)) as server:
        for some in server.map(lambda sample: list(measure(sample, server)), samples):
            judged += some
            for one in some:
                is_mutant = one.kind in ("planted", "item", "no_grad", "clear")
                if show or (one.verdict.confirmed is not is_mutant and (one.trusted or is_mutant)):
                    click.echo(one.said(packages))
    report(judged)


def report(judged: list[Judged]) -> None:
    own = [one for one in judged if one.kind == "own"]
    trusted = [one for one in own if one.trusted]
    mutants = [one for one in judged if one.kind in ("planted", "item", "no_grad", "clear")]
    caught = [one for one in mutants if one.verdict.confirmed]
    click.echo(f"{len(own)} functions of {len({one.sample.package for one in own})} packages: {_share(trusted, own)}")
    click.echo(f"{len(mutants)} mutants of those: {_share(caught, mutants)} confirmed")
    for kind in sorted({one.kind for one in mutants}):
        of_kind = [one for one in mutants if one.kind == kind]
        click.echo(f"  {kind:8} {_share([one for one in caught if one.kind == kind], of_kind)}")
    tiers = collections.Counter((one.verdict.status, one.verdict.tier) for one in own)
    click.echo("  ".join(f"{status} ({tier}): {number}" for (status, tier), number in sorted(tiers.items())))
    seconds = sorted(one.seconds for one in judged[1:])
    spent = os.times()  # of the server and all that it ran, now that it has ended
    click.echo(
        f"seconds per verdict: median {seconds[len(seconds) // 2]:.2f}, 90 % {seconds[len(seconds) * 9 // 10]:.2f}, "
        f"most {seconds[-1]:.1f}; of the processor {(spent.children_user + spent.children_system) / len(judged):.2f}"
    )
    reasons = collections.Counter(re.sub(r"\d+", "N", one.verdict.reason)[:90] for one in own if not one.trusted)
    for reason, number in reasons.most_common(16):
        click.echo(f"  {number:4} {reason}")


def _share(some: list[Judged], of: list[Judged]) -> str:
    return f"{len(some)} of {len(of)} ({len(some) / max(len(of), 1):.0%})"


if __name__ == "__main__":
    main()
