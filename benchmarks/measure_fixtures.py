"""Run the fixtures, and write down what they keep (see `torchmemlint/runtime/fixtures.py` for how).

python benchmarks/measure_fixtures.py [CODE ...]   print the table
python benchmarks/measure_fixtures.py --write      and update the `Measured` line of each header, and the receipts
python benchmarks/measure_fixtures.py --check      and fail where a header or a verdict is wrong
"""

from __future__ import annotations

import argparse

from torchmemlint.rules import registry
from torchmemlint.runtime import fixtures
from torchmemlint.runtime.client import Server


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("codes", nargs="*", help="rules to measure; all by default")
    parser.add_argument("--write", action="store_true", help="update the headers and the receipts")
    parser.add_argument("--check", action="store_true", help="compare with the headers")
    parser.add_argument("--device", default="cpu", help="cpu or cuda; headers are about the cpu where it can show it")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    options = parser.parse_args()
    retains = {code: rule.retains.value if rule.retains else None for code, rule in registry().items()}
    wrong = 0
    with Server(device=options.device, jobs=options.jobs) as server:
        found = fixtures.pairs(retains, options.codes)
        for outcome in fixtures.measure_all(found, server):
            pair = outcome.pair
            print(f"{pair.name:36} {pair.shows:11} {outcome.bad_line.partition(': ')[2] or '-'}", flush=True)
            problems = list(outcome.problems)
            if outcome.skipped:
                print(f"{'':36} not run: {outcome.skipped}", flush=True)
                continue
            if options.write and not problems:
                fixtures.write_receipts([outcome])
            for path, line in ((pair.bad, outcome.bad_line), (pair.good, outcome.good_line)):
                about_it = options.device == "cpu" or pair.shows in fixtures.ON_A_DEVICE
                if options.write and line and not problems and about_it:
                    fixtures.write_header(path, line)
                if options.check and fixtures.exact(fixtures.Header.read(path).measured) != fixtures.exact(line):
                    problems.append(f"the header of {path.name} says otherwise: {line}")
            for problem in problems:
                print(f"{'':36} WRONG: {problem}", flush=True)
            wrong += bool(problems)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
