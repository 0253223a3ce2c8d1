"""Applications of web frameworks: what one puts on them stays as long as they serve."""

from __future__ import annotations

from ..facts.model import Site
from .frames import Frame
from .machine import Machine
from .stores import settle
from .values import Value

# The attribute that is there to be filled, and whether it is a dictionary.
_FILLED = {
    "fastapi.FastAPI": ("state", False),  # [docs: fastapi; starlette.datastructures.State]
    "fastapi.applications.FastAPI": ("state", False),
    "starlette.applications.Starlette": ("state", False),
    "flask.Flask": ("config", True),  # [docs: flask.Config]
    "quart.Quart": ("config", True),
    "sanic.Sanic": ("ctx", False),  # [docs: sanic, "Application context"]
}
APPLICATIONS = frozenset(_FILLED)
CURRENT = frozenset(("flask.current_app", "quart.current_app"))


def application(machine: Machine, frame: Frame, dotted: str, site: Site) -> Value:
    """`app = FastAPI()`, with `app.state`."""
    name, is_dictionary = _FILLED[dotted]
    app = machine.allocate(frame, ("application", site), "attributes")
    filled = machine.allocate(frame, ("application", site, name), "dict" if is_dictionary else "attributes")
    settle(app, name, (filled,))
    if app not in machine.applications:
        machine.applications.append(app)
    machine.put(app.fields, name, (filled,))
    return (app,)


def current_application(machine: Machine) -> Value:
    """`request.app`, `current_app`: the only one that the program has."""
    return tuple(machine.applications) if len(machine.applications) == 1 else ()
