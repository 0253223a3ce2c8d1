"""A hook that an error leaves on a model is of interest where somebody goes on with the model."""

from __future__ import annotations

import pytest
from snippets import check

EXTRACT = """
import contextlib

def extract(net, batches):
    rows = []
    handle = net.layer.register_forward_hook(lambda module, args, out: rows.append(out.detach().clone())){mark}
    with torch.no_grad():
        for x in batches:
            net(x)
    handle.remove()
    return torch.cat(rows)

{rest}
"""
MAIN = """
def rounds(net, steps):
    for _ in range(steps):
        {work}

def main(steps):
    rounds(Net().eval(), steps)

if __name__ == "__main__":
    main(4)
"""
WORK = "print(extract(net, [torch.rand(4, 8)]).mean())"
TRIED = f"try:\n            {WORK}\n        except RuntimeError as error:\n            print(error)"
MARK = "  # TML304"


@pytest.mark.parametrize(
    ("rest", "mark"),
    [
        (MAIN.format(work=WORK), ""),
        (MAIN.format(work=TRIED), MARK),
        (MAIN.format(work=f"with contextlib.suppress(RuntimeError):\n            {WORK}"), MARK),
        (MAIN.format(work="serve(extract, net)"), MARK),
        (MAIN.format(work=WORK).replace("rounds(Net().eval(), steps)", "print(steps)"), MARK),
        ("", MARK),
    ],
    ids=["ends", "caught", "suppressed", "handed on", "nobody calls", "library"],
)
def test_who_goes_on(rest: str, mark: str) -> None:
    check(EXTRACT.format(rest=rest, mark=mark))
