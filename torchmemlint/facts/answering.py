"""Functions that run for each request or message that comes."""

from __future__ import annotations

from . import model as m
from .model import FunctionFacts
from .walk import last_name

_ROUTES = ("get", "post", "put", "patch", "delete", "route", "websocket")
_OF_SERVICERS = (("request", "context"), ("request_iterator", "context"))  # what grpc hands a method
_TASKS = ("task", "shared_task")  # of celery


def answers_requests(function: FunctionFacts) -> bool:
    """Whether a function runs for each request or message: `@app.post("/draw")`, `@socket.on("frame")`,
    `@app.task`, a servicer's `Push(self, request, context)` [docs: fastapi, flask, python-socketio, celery, grpc]."""
    if tuple(param.name for param in function.params[1:]) in _OF_SERVICERS:
        return True
    for decorator in function.decorators:
        named = decorator[2] if decorator[0] == m.CALL else decorator
        if last_name(named) in _TASKS:
            return True
        told = decorator[3][0] if decorator[0] == m.CALL and decorator[3] else None
        if told is not None and told[0] == m.CONST and isinstance(told[1], str):
            name = last_name(named)
            if (name in _ROUTES and told[1].startswith("/")) or (name == "on" and named[0] == m.ATTR):
                return True
    return False
