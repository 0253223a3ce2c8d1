"""Handlers with a model that each run gives to a logger, and where they are taken out of it again."""

import pytest
from snippets import check, check_innocent

SHARED = """
import contextlib
import logging

LOG = logging.getLogger("runs")


class Watch(logging.Handler):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def emit(self, record):
        print(self.net.layer.weight.norm().item())

"""
RUN = (
    SHARED
    + """
class Run:
    def __init__(self, net):
        self.net = net
        self.watch = Watch(net)
        LOG.addHandler(self.watch)%s

    def step(self):
        LOG.info("a step")


class Owner:
    def __init__(self):
        self.run = Run(Net())

    def close(self):
        %s


def main(steps):
    for _ in range(steps):
        owner = Owner()
        owner.run.step()
        owner.close()
"""
)


@pytest.mark.parametrize(
    ("closes", "mark"),
    [
        ("LOG.removeHandler(self.run.watch)", ""),
        ("watch = self.run.watch; LOG.removeHandler(watch)", ""),
        ("self.run.watch.close()", "  # TML314"),
        ("LOG.removeHandler(self.run.net)", "  # TML314"),
    ],
)
def test_removed_by_an_owner(closes: str, mark: str) -> None:
    check(RUN % (mark, closes))


HELPER = (
    SHARED
    + """
def attach(net):
    watch = Watch(net)
    LOG.addHandler(watch)%s
    return %s


def detach(watch):
    LOG.removeHandler(watch)


def main(steps):
    quiet = logging.NullHandler()
    LOG.addHandler(quiet)
    for _ in range(steps):
        found = attach(Net())
        LOG.info("a step")
        %s
    detach(quiet)
"""
)


@pytest.mark.parametrize(
    ("gives", "ends", "mark"),
    [
        ("watch", "LOG.removeHandler(found)", ""),
        ("watch", "detach(found)", ""),
        ("lambda: LOG.removeHandler(watch)", "found()", ""),
        ("watch", "found.close()", "  # TML314"),
        ("watch", "print(found)", "  # TML314"),
    ],
)
def test_removed_by_who_gets_it(gives: str, ends: str, mark: str) -> None:
    check(HELPER % (mark, gives, ends))


LISTED = (
    SHARED
    + """
class Run:
    def __init__(self, net):
        self.added = []
        for log in (LOG, logging.getLogger("more")):
            watch = Watch(net)
            log.addHandler(watch)%s
            self.added.append((log, watch))

    def close(self):
        for log, watch in self.added:
            %s


def main(steps):
    for _ in range(steps):
        run = Run(Net())
        run.close()
"""
)


@pytest.mark.parametrize(("ends", "mark"), [("log.removeHandler(watch)", ""), ("watch.flush()", "  # TML314")])
def test_handlers_in_a_list(ends: str, mark: str) -> None:
    check(LISTED % (mark, ends))


@pytest.mark.parametrize("adds", ["addHandler", "addFilter"])
def test_removed_by_a_callback(adds: str) -> None:
    removes = adds.replace("add", "remove")
    check_innocent(
        SHARED
        + f"""
def main(steps):
    for _ in range(steps):
        with contextlib.ExitStack() as stack:
            watch = Watch(Net())
            LOG.{adds}(watch)
            stack.callback(LOG.{removes}, watch)
            LOG.info("a step")
"""
    )


def test_removed_from_a_table() -> None:
    check_innocent(
        SHARED
        + """
WATCHES = {}


def start(name, net):
    WATCHES[name] = Watch(net)
    LOG.addHandler(WATCHES[name])


def stop(name):
    LOG.removeHandler(WATCHES.pop(name))


def main(steps):
    for step in range(steps):
        start(str(step), Net())
        LOG.info("a step")
        stop(str(step))
"""
    )
