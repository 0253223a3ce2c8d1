"""Functions and classes as values: decorators, bases, attributes of classes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..facts import model as m
from ..facts.answering import answers_requests
from ..facts.evaluating import says_no_grad
from ..facts.knowledge import CACHES, GRAD_OFF
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.relevance import hands_on_errors
from ..facts.walk import calls, last_name, statements
from .descriptors import describes
from .frames import Frame
from .functions import call_function
from .machine import Machine
from .making import tell_metaclass
from .registries import entering, entering_of, only_marks
from .values import OFF, ON, UNKNOWN, Bound, Class, External, Function, Mode, Obj, Value

_STORES = m.GROWS | m.KEEPS


_PUBLIC = {  # what is also known by where it is written
    "torch.autograd.function.Function": "torch.autograd.Function",
    "torch.autograd.function.InplaceFunction": "torch.autograd.Function",
    "torch.autograd.function.NestedIOFunction": "torch.autograd.Function",
}


def define_function(machine: Machine, frame: Frame, facts: FunctionFacts) -> Value:
    """The function that a `def` or lambda makes, with what its decorators do to it."""
    function = Function(facts, frame, None)
    if _is_abstract(facts):
        function.kind = "abstract"
    value: Value = (function,)
    for decorator in reversed(facts.decorators):
        value = _decorate(machine, frame, function, decorator, value)
    if facts.decorators and frame.function is not None and frame.unit is machine.home and answers_requests(facts):
        machine.routes.append(function)
    return value


def _is_abstract(facts: FunctionFacts) -> bool:
    """Nothing but `raise NotImplementedError`, with or without `msg = "..."` before."""
    *before, last = facts.body or ((m.JUMP,),)
    if last[0] != m.RAISE or not _is_not_implemented(last[2]):
        return False
    return all(one[0] == m.ASSIGN and one[3][0] in (m.CONST, m.TEXT) for one in before)


def _is_not_implemented(raised: Expr | None) -> bool:
    """`raise NotImplementedError`, `raise NotImplementedError("...")`."""
    if raised is not None and raised[0] == m.CALL:
        raised = raised[2]
    return raised == (m.NAME, "NotImplementedError")


def _decorate(machine: Machine, frame: Frame, function: Function, decorator: Expr, value: Value) -> Value:
    """What a decorator makes of a function: itself with a property of its own, or what stores its results."""
    if decorator[0] == m.ATTR and decorator[2] in ("setter", "getter", "deleter"):
        function.kind = "setter"
        getters = [atom for atom in machine.eval(frame, decorator[1]) if type(atom) is Function]
        for getter in getters if decorator[2] == "setter" else ():
            getter.setter = function
            machine.settable.add(function.facts.name)
        return tuple(getters) or value
    made = machine.eval(frame, decorator)
    named = machine.eval(frame, decorator[2]) if decorator[0] == m.CALL else made
    function.cached |= any(type(atom) is External and atom.dotted in CACHES for atom in named)
    if not made and says_no_grad(last_name(decorator)):
        function.grad = OFF
    for atom in made:
        if _stores(machine, atom) and last_name(decorator) != "wraps":
            value = _wrapped(machine, frame, function, atom, value)
        elif type(atom) is Mode:
            _put_around(machine, frame, function, atom.name, atom.grad)
        elif type(atom) is Obj and atom.kind == "manager":
            function.grad = _mode_within(machine, frame, atom, function.facts.site + m.DECORATORS)
        elif type(atom) is Function:
            mode = _mode_around(machine, atom)
            if mode is not None:
                function.grad = mode
            _enter(machine, frame, function, atom, value)
        elif type(atom) is Bound:
            _enter(machine, frame, function, atom, value)
        elif type(atom) is External:
            name = atom.dotted
            tail = name.rsplit(".", 1)[-1]
            if tail in GRAD_OFF and name.startswith("torch"):
                _put_around(machine, frame, function, tail, OFF)  # a class used as a decorator without a call acts too
            elif says_no_grad(tail):
                function.grad = OFF
            elif name == "atexit.register":
                machine.note("registered", function.facts.site + m.DECORATORS, frame, [value])
            elif name == "builtins.staticmethod":
                function.kind = "static"
            elif name == "builtins.classmethod":
                function.kind = "class"
            elif tail in ("property", "cached_property"):
                function.kind = "property"
            elif name.endswith("contextmanager"):
                function.kind = "manager"
            elif name == "abc.abstractmethod":
                function.kind = "abstract"
    for atom in value:
        if type(atom) is Function and atom is not function:
            atom.kind = function.kind
    return value


def _put_around(machine: Machine, frame: Frame, function: Function, name: str, grad: int | None) -> None:
    """A mode of torch around a function. Around an `async def` it is entered and left while the coroutine is made, and
    the body runs after that."""
    if function.facts.coroutine:
        machine.note("mode-on-coroutine", function.facts.site, frame)
        return
    function.grad = grad
    function.mode = name


def _enter(machine: Machine, frame: Frame, function: Function, decorator: Function | Bound, value: Value) -> None:
    """Do what a decorator does that puts a function where others find it: `@engine.on(EPOCH_ENDED)`."""
    enters = entering_of(machine, decorator, (m.ASSIGN, m.EXPR))
    if enters is not None:
        machine.call(frame, (enters,), [value], {}, function.facts.site + m.DECORATORS)


def _stores(machine: Machine, decorator: Any) -> bool:
    """Whether what a decorator of the project puts around a function adds to something that stays, like a memo, or
    hands on what it has caught, which others may keep."""
    if type(decorator) is Function:
        if not decorator.facts.inner and decorator.frame.unit is not machine.home:
            return False  # it enters the function into a register, of which that file knows
        functions = decorator.frame.unit.facts.functions
        around = [decorator.facts, *(functions[index] for index in decorator.facts.inner)]
        if any(facts.flags & _STORES or hands_on_errors(facts) for facts in around):
            return True
        called = {name for facts in around for name in facts.calls}
        if called.isdisjoint(param.name for facts in around for param in facts.params):
            return False  # nothing calls what it decorates: it writes its documentation, say
        # `add_to_cache(self, name, method(self))`
        return any(facts.flags & _STORES and facts.owner < 0 and facts.name in called for facts in functions)
    if type(decorator) is Class and not decorator.external:
        return any(type(f) is Function and f.facts.flags & _STORES for f in decorator.find("__call__") or ())
    if type(decorator) is Obj and isinstance(decorator.cls, Class):  # `@Memo("gram")`
        return any(type(f) is Function and _stores_around(f) for f in decorator.cls.find("__call__") or ())
    return False


def _stores_around(decorator: Function) -> bool:
    """Whether a function that a decorator has inside adds to something: it is put around what is decorated."""
    functions = decorator.frame.unit.facts.functions
    return any(functions[index].flags & _STORES for index in decorator.facts.inner)


def _wrapped(machine: Machine, frame: Frame, function: Function, decorator: Any, value: Value) -> Value:
    made = machine.call(frame, (decorator,), [value], {}, function.facts.site + m.DECORATORS)
    found = tuple(atom for atom in made if type(atom) in (Function, Obj))
    for atom in found:
        if type(atom) is Function and atom is not function:
            atom.around = function
    return found or value


def _mode_around(machine: Machine, decorator: Function) -> int | None:
    """The grad mode in which a decorator of the project calls what it decorates: the inner function that it hands
    out does so in a `with`, or sets the mode before, or it hands out `torch.no_grad()(function)`."""
    facts = decorator.facts
    if not facts.params:
        return None
    wrapped = facts.params[0].name
    for statement in statements(facts.body):
        if statement[0] == m.RETURN and statement[2] is not None:
            mode = _mode_put_around(machine, decorator.frame, statement[2], wrapped)
            if mode is not None:
                return mode
    for index in facts.inner:
        mode = _set_before(decorator.frame.unit.facts.functions[index].body, wrapped)
        if mode is not None:
            return mode
        for statement in statements(decorator.frame.unit.facts.functions[index].body):
            if statement[0] != m.WITH or wrapped not in {last_name(call[2]) for call in calls(statement[3])}:
                continue
            for context, _ in statement[2]:
                for atom in machine.eval(decorator.frame, context):
                    if type(atom) is Mode:
                        machine.entered.add(atom.site)
                        return atom.grad
    return None


def _mode_put_around(machine: Machine, frame: Frame, made: Expr, wrapped: str) -> int | None:
    """The grad mode of `torch.no_grad()(function)`, or of both arms of a choice between such."""
    if made[0] == m.COND:
        arms = {_mode_put_around(machine, frame, arm, wrapped) for arm in made[2:]}
        return arms.pop() if len(arms) == 1 else None
    if made[0] == m.CALL and made[3] == ((m.NAME, wrapped),):
        for atom in machine.eval(frame, made[2]):
            if type(atom) is Mode:
                machine.entered.add(atom.site)
                return atom.grad
    return None


def _set_before(body: tuple[Stmt, ...], wrapped: str) -> int | None:
    """The mode that a function sets before it calls another one. Where that hangs on a setting,
    `torch.set_grad_enabled(self.defaults["differentiable"])`, gradients are on for those alone who ask for that."""
    mode: int | None = None
    for call in calls(body):
        if last_name(call[2]) == wrapped:
            return mode
        if last_name(call[2]) == "set_grad_enabled" and call[3]:
            mode = ON if call[3][0] == (m.CONST, True) else OFF
    return None


def _mode_within(machine: Machine, frame: Frame, manager: Obj, site: Site) -> int | None:
    """The grad mode of what a context manager of the project stands around as a decorator, if it sets one:
    `@contextmanager def without_grad(): with torch.no_grad(): yield`."""
    outer, within = machine.grad, list[int]()
    function, receiver, args, kwargs = manager.fields["$call"][0]
    call_function(
        machine, frame, function, receiver, args, kwargs, site, on_yield=lambda _: within.append(machine.grad)
    )
    return within[0] if within and within[0] != outer else None


def define_class(machine: Machine, frame: Frame, index: int, facts: ClassFacts) -> Value:
    """The class that a `class` statement makes; its body runs now, that of another file's class name by name."""
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
                external.append(_PUBLIC.get(atom.dotted, atom.dotted))
    grad = None
    entered_by: list[Function | Bound] = []
    for decorator in facts.decorators:
        for atom in () if only_marks(machine, frame, decorator) else machine.eval(frame, decorator):
            enters = entering_of(machine, atom)
            if enters is not None:
                entered_by.append(enters)
            elif type(atom) is Mode:
                grad = atom.grad
                external += ["@no_grad"] if grad == OFF else []
                machine.note("mode-on-class", facts.site, frame)
            elif type(atom) is External:
                external.append("@" + atom.dotted.rsplit(".", 1)[-1])
    body = frame.unit.facts.functions[facts.body]
    inner = Frame(body, frame, frame, frame.call_site, frame.unit)
    inner.loops = machine.loops
    klass = Class(facts, inner, bases, tuple(dict.fromkeys(external)))
    if facts.metaclass is not None:
        klass.meta = next((atom for atom in machine.eval(frame, facts.metaclass) if type(atom) is Class), klass.meta)
    frame.unit.classes[index] = klass
    away = frame.unit is not machine.home and frame is frame.unit.frame
    waiting = frame.unit.outline.members(index) if away else {}
    if waiting:
        klass.pending, klass.bring = dict(waiting), functools.partial(_bring, machine, klass, grad)
        machine.settable.update(name for name, binding in waiting.items() if len(binding) > 1)
    else:
        _run_body(machine, klass, grad, body.body)
    for function in reversed(entered_by):
        machine.call(frame, (function,), [(klass,)], {}, facts.site + m.DECORATORS)
    _tell_base(machine, frame, klass)
    tell_metaclass(machine, frame, klass)
    return (klass,)


def _run_body(machine: Machine, klass: Class, grad: int | None, body: Sequence[Stmt]) -> None:
    inner = klass.frame
    before = dict(inner.vars)
    machine.stack.append(inner)
    machine.block(inner, body)
    machine.stack.pop()
    # what was there before has been seen to: a body that waits is run name by name
    bound = [(name, value) for name, value in inner.vars.items() if before.get(name) is not value]
    machine.described.update(name for name, value in bound if describes(value))
    for _, value in bound:
        setters = tuple(atom.setter for atom in value if type(atom) is Function and atom.setter is not None)
        for atom in (*value, *setters):
            atom = atom.innermost if type(atom) is Function else atom
            if type(atom) is Function and atom.frame is inner and atom.owner is None:
                atom.owner = klass
                if grad is not None and atom.facts.name == "__init__":
                    atom.grad = grad  # of a class that a mode decorates it is the construction that runs in the mode


def _bring(machine: Machine, klass: Class, grad: int | None, name: str) -> None:
    """Run what binds a name in a class body that waits, as it would have run when its file was imported."""
    frame = klass.frame.unit.frame
    dead = frame.dead
    body = klass.pending.pop(name)
    machine.apart(frame, lambda: _run_body(machine, klass, grad, body))
    frame.dead = dead


def _tell_base(machine: Machine, frame: Frame, klass: Class) -> None:
    """Runs the `__init_subclass__` of a base class that enters what is derived from it into a table."""
    name = "__init_subclass__"
    told = next(
        (base.find(name) for base in klass.bases if any(name in entry.facts.methods for entry in base.mro)), None
    )
    for atom in told or ():
        enters = entering(machine, atom) if type(atom) is Function else None
        if enters is not None:
            params = enters.facts.params[1:]  # `class Net(Base, kind="n")`
            said = {param.name: UNKNOWN for param in params if not param.kind}
            call_function(machine, frame, enters, klass, [], said, klass.facts.site + m.DECORATORS)
