"""Functions and classes as values: decorators, bases, attributes of classes."""

from __future__ import annotations

from . import model as m
from .machine import Frame, Machine
from .model import ClassFacts, Expr, FunctionFacts
from .values import OFF, Class, External, Function, Mode, Value

_CACHES = ("functools.lru_cache", "functools.cache")


def define_function(machine: Machine, frame: Frame, facts: FunctionFacts) -> Value:
    """The function that a `def` or lambda makes, with what its decorators do to it."""
    function = Function(facts, frame, None)
    for decorator in reversed(facts.decorators):
        _decorate(machine, frame, function, decorator)
    return (function,)


def _decorate(machine: Machine, frame: Frame, function: Function, decorator: Expr) -> None:
    if decorator[0] == m.ATTR and decorator[2] in ("setter", "getter", "deleter"):
        function.kind = "setter"
        return
    for atom in machine.eval(frame, decorator):
        if type(atom) is Mode:
            function.grad = atom.grad
            function.mode = atom.name
        elif type(atom) is External:
            name = atom.dotted
            tail = name.rsplit(".", 1)[-1]
            if tail in ("no_grad", "inference_mode") and name.startswith("torch"):
                function.mode = tail
                function.grad = OFF  # a class used as a decorator without a call acts too
            elif name == "builtins.staticmethod":
                function.kind = "static"
            elif name == "builtins.classmethod":
                function.kind = "class"
            elif tail in ("property", "cached_property"):
                function.kind = "property"
            elif name.endswith("contextmanager"):
                function.kind = "manager"


def define_class(machine: Machine, frame: Frame, index: int, facts: ClassFacts) -> Value:
    """The class that a `class` statement makes; its body runs now."""
    known = frame.unit.classes.get(index)
    if isinstance(known, Class) and known.frame.parent is frame:
        return (known,)
    bases: list[Class] = []
    external: list[str] = []
    for expr in facts.bases:
        for atom in machine.eval(frame, expr):
            if type(atom) is Class:
                bases.append(atom)
                external += atom.external
            elif type(atom) is External:
                external.append(atom.dotted)
    grad = None
    for decorator in facts.decorators:
        for atom in machine.eval(frame, decorator):
            if type(atom) is Mode:
                grad = atom.grad
            elif type(atom) is External:
                external.append("@" + atom.dotted.rsplit(".", 1)[-1])
    body = frame.unit.facts.functions[facts.body]
    inner = Frame(body, frame, frame, frame.call_site, frame.unit)
    inner.loops = machine.loops
    klass = Class(facts, inner, bases, tuple(dict.fromkeys(external)))
    frame.unit.classes[index] = klass
    machine.stack.append(inner)
    machine.block(inner, body.body)
    machine.stack.pop()
    for value in inner.vars.values():
        for atom in value:
            if type(atom) is Function and atom.frame is inner:
                atom.owner = klass
                if grad is not None:
                    atom.grad = grad
    return (klass,)
