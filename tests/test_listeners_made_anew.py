"""Lists of listeners that are made anew for each one: put beside the others, or left out of them."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

EVENTS = """
import weakref

HANDLERS = {{}}
ALL = []

def on(event, handler):
    {on}

def off(event, handler):
    global ALL
    {off}

def known(event):
    return [one for one in HANDLERS.get(event, []) if one() is not None]

class Model:
    def __init__(self, mass):
        self.mass = mass
        self.fill()
        on("dtype", self.fill){mark}

    def fill(self):
        self.table = torch.full((500, 500), self.mass)

    def value(self, x):
        return (self.table @ x).sum().item()

def main(steps):
    values = []
    for step in range(steps):
        model = Model(float(step))
        values.append(model.value(torch.rand(500)))
        {end}
    print(max(values))
"""
OFF = "HANDLERS[event] = [one for one in HANDLERS[event] if one != handler]"
OFF_CALLED = "HANDLERS[event] = [one for one in HANDLERS[event] if one() != handler]"


@pytest.mark.parametrize(
    "on",
    [
        "HANDLERS[event] = [*HANDLERS.get(event, []), handler]",
        "HANDLERS[event] = HANDLERS.get(event, []) + [handler]",
        "HANDLERS[event] = [*known(event), lambda: handler]",
        "HANDLERS[event] = [lambda: handler, *HANDLERS.get(event, ())]",
        "HANDLERS[event] = [*[one for one in HANDLERS.get(event, []) if one() is not None], lambda: handler]",
        "HANDLERS.setdefault(event, []).append(lambda: handler)",
        "ALL.append(lambda *given: handler(*given))",
    ],
)
@pytest.mark.parametrize("end", ["pass", 'off("dtype", print)'])
def test_it_stays(on: str, end: str) -> None:
    check(EVENTS.format(on=on, off=OFF, mark="  # TML314", end=end))


@pytest.mark.parametrize(
    ("on", "off"),
    [
        ("HANDLERS[event] = [*HANDLERS.get(event, []), handler]", OFF),
        ("HANDLERS[event] = [*HANDLERS.get(event, []), handler]", "HANDLERS[event].remove(handler)"),
        ("HANDLERS[event] = [*HANDLERS.get(event, []), handler]", "HANDLERS.clear()"),
        ("HANDLERS[event] = [*HANDLERS.get(event, []), handler]", "HANDLERS.pop(event)"),
        ("HANDLERS[event] = [*known(event), lambda: handler]", OFF_CALLED),
        ("HANDLERS.setdefault(event, []).append(handler)", OFF),
        ("ALL.append(handler)", "ALL = [one for one in ALL if one != handler]"),
        ("ALL.append(handler)", "ALL = list(filter(lambda one: one != handler, ALL))"),
        ("HANDLERS[event] = [*HANDLERS.get(event, [])[-3:], handler]", "pass"),
        ("HANDLERS[event] = [*[one for one in HANDLERS.get(event, []) if one.open], handler]", "pass"),
        ("HANDLERS[event] = [print, handler]", "pass"),
        ("HANDLERS[event] = [*known(event), weakref.WeakMethod(handler)]", "pass"),
        ("ref = weakref.WeakMethod(handler); ALL.append(lambda: ref()())", "pass"),
    ],
)
def test_it_goes(on: str, off: str) -> None:
    check_innocent(EVENTS.format(on=on, off=off, mark="", end='off("dtype", model.fill)'))
