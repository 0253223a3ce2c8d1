"""Which functions are worth running: those that a rule could speak about, and what leads to them."""

from __future__ import annotations

import functools
from collections.abc import Collection

from . import knowledge
from . import model as m
from .answering import answers_requests
from .callers import callers_by_name, makers_by_class, with_callers
from .evaluating import class_evaluates, is_evaluation
from .given_containers import give_containers
from .indices import collect_parts
from .model import Expr, FileFacts, FunctionFacts, Stmt
from .plain_hints import asks_for_plain, names_of_plain_hints
from .program import targets
from .walk import calls, expressions_of, last_name, loops, nodes, once, root_of, statements

# What makes a function worth a run of its own: it changes what others hold, or says how gradients are to be kept.
_SINKS = m.GROWS | m.KEEPS | m.BACKWARD | m.HOOKS | m.THREADS | m.RECORDS | m.DISCARDS | m.MODE | m.EVALUATES | m.HOLDS
_PLAIN_BASES = frozenset(("Module", "object", "ABC", "Protocol", "Generic"))
# A graph that only locals keep matters while the function trains or evaluates, itself or through what it calls.
_DRIVES = m.BACKWARD | m.EVALUATES | m.MODE | m.HOOKS | m.THREADS

# What a function does to others, whatever it is given: it sets modes, starts threads, hands on, lets go.
_ACTS = m.MODE | m.BACKWARD | m.HOOKS | m.THREADS | m.RECORDS | m.RELEASES | m.DISCARDS | m.HOLDS

_OF_LISTS = frozenset(("append", "extend", "insert", "write", "info", "debug", "warning"))
_LETS_GO = knowledge.TAKES_OUT | {"empty_cache", "collect"}
_JOINS = frozenset(("cat", "concat", "stack", "vstack"))

_TELLS = knowledge.REPORTERS | knowledge.BUILTINS | {"format", "format_exception", "print_exception", "from_exception"}
_CACHES = frozenset(dotted.rpartition(".")[2] for dotted in knowledge.CACHES)
_SELF = (m.NAME, "self")
_OWN = (m.ATTR, _SELF)


def worth_running(facts: FileFacts) -> set[int]:
    """The functions that a rule could speak about: with a sink of their own, or calling one by that name."""
    worth = {i for i, function in enumerate(facts.functions) if function.flags & _SINKS or is_evaluation(function)}
    worth |= {i for i, function in enumerate(facts.functions) if "empty_cache" in function.calls}
    worth |= {i for klass in facts.classes if class_evaluates(klass.name) for i in klass.methods.values()}
    worth |= {i for i, function in enumerate(facts.functions) if function.generator and _opens(function)}
    worth |= {i for i, function in enumerate(facts.functions) if _syncs(function)} | _cached(facts)
    worth |= _of_pipelines(facts)
    worth |= _passes_of_copies(facts) | _makers_of_cycles(facts) | _losses_of_references(facts)
    worth |= {i for i, function in enumerate(facts.functions) if _moves_to_host(function)}
    worth |= collect_parts(facts)
    worth |= _loads_kept_parts(facts)
    worth |= _give_themselves(facts) | _fill_elsewhere(facts) | _of_scripts(facts) | _hand_on_errors(facts)
    answering = {i for i, function in enumerate(facts.functions) if answers_requests(function)}
    worth |= answering | {i for i, one in enumerate(facts.functions) if not answering.isdisjoint(one.inner)}
    worth |= _use_shared(facts) | give_containers(facts)
    worth -= _preparations(facts, worth)
    driving = {i for i, function in enumerate(facts.functions) if function.flags & _DRIVES or is_evaluation(function)}
    driving |= _of_evaluators(facts)
    callers, makers = callers_by_name(facts), makers_by_class(facts)
    driving = with_callers(facts, driving, callers, makers)
    worth |= {i for i in driving if facts.functions[i].flags & m.LOCAL}
    worth |= _connecting(facts, worth)
    return with_callers(facts, worth, callers, makers)


def _connecting(facts: FileFacts, worth: set[int]) -> set[int]:
    """What connects a signal of Qt to a function that is worth running: it gets what is emitted."""
    names = {facts.functions[i].name for i in worth}
    return {
        i
        for i, function in enumerate(facts.functions)
        if "connect" in function.calls
        for call in calls(function.body)
        if last_name(call[2]) == "connect" and call[3] and last_name(call[3][0]) in names
    }


def _preparations(facts: FileFacts, worth: set[int]) -> set[int]:
    """What sets up the parts of a module, `reset_classifier`, `set_input_size`, where no other method of it is worth
    running: it replaces what nobody has kept."""
    found: set[int] = set()
    for klass in facts.classes:
        own = worth.intersection(klass.methods.values()) if "forward" in klass.methods else set()
        plain = (facts.functions[i].flags & _SINKS == m.KEEPS for i in own)
        if all(facts.functions[i].name.startswith(knowledge.PREPARES) for i in own) and all(plain):
            found |= own
    return found


def _cached(facts: FileFacts) -> set[int]:
    """Functions of which a decorator keeps what they are called with, unless they say that this is numbers and text."""
    found = {
        i
        for i, function in enumerate(facts.functions)
        if any(last_name(decorator) in _CACHES for decorator in function.decorators)
    }
    names = names_of_plain_hints(facts) if found else frozenset()
    return {i for i in found if not asks_for_plain(facts.functions[i], names)}


def _loads_kept_parts(facts: FileFacts) -> set[int]:
    """What loads an item of a data set and reads a property for it that keeps its value: `self.records[i].pixels`."""
    kept = {one.name for one in facts.functions if any(last_name(by) == "cached_property" for by in one.decorators)}
    return {
        klass.methods["__getitem__"]
        for klass in facts.classes
        if kept and "__getitem__" in klass.methods
        for statement in statements(facts.functions[klass.methods["__getitem__"]].body)
        if any(part[0] == m.ATTR and part[2] in kept for part in expressions_of(statement))
    }


def _syncs(function: FunctionFacts) -> bool:
    """Whether a function may give one module the weights of another."""
    calls = set(function.calls)
    return {"load_state_dict", "state_dict"} <= calls or {"zip", "parameters"} <= calls


def _of_evaluators(facts: FileFacts) -> set[int]:
    """The methods of classes whose constructor puts a model into eval mode: they run it as it was left."""
    found: set[int] = set()
    for klass in facts.classes:
        made = klass.methods.get("__init__", -1)
        if made >= 0 and facts.functions[made].flags & m.EVALUATES:
            found |= set(klass.methods.values()) - {made}
    return found


def _of_pipelines(facts: FileFacts) -> set[int]:
    """The calls of pipelines, which are for inference: `class Painter(DiffusionPipeline)`."""
    return {
        klass.methods["__call__"]
        for klass in facts.classes
        if "__call__" in klass.methods and any(last_name(base).endswith("Pipeline") for base in klass.bases)
    }


def _moves_to_host(function: FunctionFacts) -> bool:
    """Whether a function may move what it has collected, or its object has, from a device to the host."""
    if "cpu" not in function.calls:  # `.detach().to("cpu").numpy()`, `torch.save(kept, path)`
        calls = set(function.calls)
        moves = {"detach", "numpy"} <= calls or ("save" in calls and not calls.isdisjoint(knowledge.TO_DEVICE))
        return bool(function.flags & m.LOCAL) and moves
    return bool(function.flags & m.LOCAL) or not _JOINS.isdisjoint(function.calls)


def _give_themselves(facts: FileFacts) -> set[int]:
    """Constructors that give the object, or a method of it, to a function that may be another file's, and keep it:
    `registry.remember(self)`, `on_exit(self.close)`."""
    found = set()
    for klass in facts.classes:
        for index in (klass.methods[name] for name in ("__init__", "__post_init__") if name in klass.methods):
            for one in facts.functions[index].body:
                call = one[2] if one[0] == m.EXPR and one[2][0] == m.CALL else None
                root = root_of(call[2]) if call is not None else _SELF
                if call is None or root == _SELF or root[0] != m.NAME or root[1] in knowledge.BUILTINS:
                    continue
                if any(given == _SELF or (given[:2] == _OWN and given[2] in klass.methods) for given in call[3]):
                    found.add(index)
    return found


def _hand_on_errors(facts: FileFacts) -> set[int]:
    return {index for index, function in enumerate(facts.functions) if hands_on_errors(function)}


def hands_on_errors(function: FunctionFacts) -> bool:
    """Whether a function gives what a clause of it has caught to something that may keep it: `report.add(error)`."""
    return bool(function.flags & m.TRIES) and any(
        name and any(_may_keep(call, (m.NAME, name)) for call in calls(body))
        for one in statements(function.body)
        if one[0] == m.TRY
        for _, name, body in one[3]
    )


def _may_keep(call: Expr, error: Expr) -> bool:
    """Whether a call gets an exception as it is, and does not only tell of it or raise another one from it."""
    name = last_name(call[2])
    if name in _TELLS or name.endswith(("Error", "Exception")):
        return False
    return error in call[3] or any(value == error for _, value in call[4])


def _of_scripts(facts: FileFacts) -> set[int]:
    """What a script calls, `if __name__ == "__main__": run()`, and a `main` that something else may start: it may leave
    all that it does to other files."""
    guarded = (one for one in facts.functions[0].body if one[0] == m.IF and (m.NAME, "__name__") in nodes(one[2]))
    called = {last_name(call) for one in guarded for call in calls(one[3])} | {"main"}
    return {i for i, function in enumerate(facts.functions) if function.owner < 0 and function.name in called}


def _fill_elsewhere(facts: FileFacts) -> set[int]:
    """Functions with a loop that gives what each round makes to another object, or with it to another file's function:
    `trainer.attach(handler)`, `setup(trainer, model)`."""
    imported: set[str] = set()
    for statement in statements(facts.functions[0].body):
        if statement[0] == m.FROM:
            imported.update(local for _, local in statement[4])
    found = set()
    for index, function in enumerate(facts.functions):
        for _, inside in loops(function.body) if index else ():
            if any(one[0] == m.EXPR and _hands_over(one[2], inside, imported) for one in inside):
                found.add(index)
    return found


_OF_OTHERS = knowledge.LIGHT_ROOTS | set("torch collections threading functools contextlib rich click loguru".split())


def _use_shared(facts: FileFacts) -> set[int]:
    """Functions that call a method of what the module has made with a class of another file, `sessions.open()`."""
    made: set[str] = set()
    shared: set[str] = set()
    for one in facts.functions[0].body:
        if one[0] == m.FROM and (one[2] or one[3].partition(".")[0] not in _OF_OTHERS):
            made.update(local for _, local in one[4] if local[:1].isupper())
        elif one[0] == m.ASSIGN and one[3][0] == m.CALL and one[3][2][0] == m.NAME and one[3][2][1] in made:
            shared.update(target[1] for target in one[2] if target[0] == m.NAME)
    if not shared:
        return set()
    roots = {(m.NAME, name) for name in shared}
    return {
        index
        for index, function in enumerate(facts.functions)
        if index and any(call[2][0] == m.ATTR and root_of(call[2]) in roots for call in calls(function.body))
    }


def _hands_over(call: Expr, inside: list[Stmt], imported: set[str]) -> bool:
    if call[0] != m.CALL or not (call[3] or call[4]) or root_of(call[2])[0] != m.NAME:
        return False
    name = root_of(call[2])[1]
    if call[2][0] == m.ATTR:
        if call[2][2] in _OF_LISTS or call[2][2][-1] == "_" or name in knowledge.LIGHT_ROOTS:
            return False
    elif name not in imported or len(call[3]) + len(call[4]) < 2:
        return False
    made = {
        target[1]
        for one in inside
        if one[0] == m.ASSIGN and one[3][0] == m.CALL
        for target in one[2]
        if target[0] == m.NAME
    }
    given = (*call[3], *(part for _, part in call[4]))
    return name not in made and any(
        part[1] in made if part[0] == m.NAME else part[0] == m.CALL and last_name(part)[:1].isupper() for part in given
    )


def _opens(function: FunctionFacts) -> bool:
    """Whether a function may collect open files: what a generator has is there for a whole pass."""
    calls = set(function.calls)
    return "enter_context" in calls or (bool(function.flags & m.LOCAL) and not calls.isdisjoint(knowledge.OPENERS))


def acting(facts: FileFacts) -> set[int]:
    """The functions that do something to others, whatever they are given and return, or call one by that name."""
    acts = {
        i
        for i, function in enumerate(facts.functions)
        if function.flags & _ACTS or is_evaluation(function) or lets_go(function)
    }
    return with_callers(facts, acts, callers_by_name(facts), makers_by_class(facts))


@once
def lets_go(function: FunctionFacts) -> bool:
    """Whether a function takes something out of what is not its own, or binds names that are not."""
    if any(one[0] in (m.GLOBAL, m.NONLOCAL) for one in function.body):
        return True
    deleted = [target for one in statements(function.body) if one[0] == m.DELETE for target in one[2]]
    if not deleted and _LETS_GO.isdisjoint(function.calls):
        return False
    own = {(m.NAME, param.name) for param in function.params}
    own.update(target for one in statements(function.body) for target in targets(one))
    taking = (call[2] for call in calls(function.body) if last_name(call[2]) in _LETS_GO)
    return any(root_of(target) not in own for target in deleted) or any(
        callee[0] != m.ATTR or root_of(callee) not in own for callee in taking
    )


def loud_constructors(facts: FileFacts) -> set[int]:
    """The constructors that may do something that a rule could speak about, themselves or through what they call;
    those that merely make parts of the object may be run when somebody looks at these."""
    bodies = {klass.body for klass in facts.classes}
    loud = {
        i
        for i, function in enumerate(facts.functions)
        if i not in bodies and (function.flags & _SINKS or is_evaluation(function))
    }
    made = {klass.methods["__init__"]: klass.name for klass in facts.classes if "__init__" in klass.methods}
    while True:
        names = {made.get(i, facts.functions[i].name) for i in loud}
        more = {
            i
            for i, function in enumerate(facts.functions)
            if i not in loud and i not in bodies and not names.isdisjoint(function.calls)
        }
        if not more:
            return loud & set(made)
        loud |= more


def releasing(facts: FileFacts, worth: set[int]) -> set[int]:
    """The functions that are run only for what they let go: where something has been kept."""
    keeping = {facts.functions[index].owner for index in worth}
    return {
        i
        for i, function in enumerate(facts.functions)
        if function.flags & m.RELEASES and i not in worth and _may_release(facts, function.owner, keeping)
    }


def _passes_of_copies(facts: FileFacts) -> set[int]:
    """The passes of classes that copy a module: the copy may have kept what it should not, `requires_grad`."""
    copying = {function.owner for function in facts.functions if "deepcopy" in function.calls and function.owner >= 0}
    methods = [facts.classes[owner].methods for owner in copying]
    return {own[name] for own in methods for name in ("forward", "__call__") if name in own}


def _losses_of_references(facts: FileFacts) -> set[int]:
    """What computes a loss and runs a reference model for it, under its name or through its methods."""
    found = set()
    for i, function in enumerate(facts.functions):
        if "loss" in function.name.lower():
            of_class = facts.classes[function.owner].uses if function.owner >= 0 else {}
            if any(map(_names_reference, (*function.calls, *function.uses, *of_class))):
                found.add(i)
    return found


@functools.lru_cache(4096)
def _names_reference(name: str) -> bool:
    name = name.lower()
    return name not in ("target", "targets") and any(role in name for role in knowledge.FROZEN_ROLES)


def _makers_of_cycles(facts: FileFacts) -> set[int]:
    """What constructs a class that keeps its own methods, or lambdas of itself, on its objects; the methods that put
    them there, if another one makes more of these objects; and inner functions that call themselves."""
    binding = {
        i: facts.classes[function.owner].name
        for i, function in enumerate(facts.functions)
        if function.flags & m.BINDS and function.owner >= 0 and _binds(function, facts.classes[function.owner].methods)
    }
    names = set(binding.values())
    found = {i for i, function in enumerate(facts.functions) if names and not names.isdisjoint(function.calls)}
    for i, name in binding.items():
        methods = (facts.functions[other] for other in facts.classes[facts.functions[i].owner].methods.values())
        if any(not {name, "__class__", "type", "_get_checked_instance"}.isdisjoint(one.calls) for one in methods):
            found.add(i)
    bodies = {klass.body for klass in facts.classes}  # a method's name alone does not mean the method
    return found | {
        inner  # refers to itself, through the function around it
        for index, function in enumerate(facts.functions)
        for inner in function.inner
        if index and index not in bodies and facts.functions[inner].name in facts.functions[inner].calls
    }


def _binds(function: FunctionFacts, methods: Collection[str]) -> bool:
    values = [statement[3] for statement in statements(function.body) if statement[0] == m.ASSIGN]
    kept = [value for value in values if value[0] == m.CALL and value[2][-1] in knowledge.KEEPS_CALLBACKS]
    values += [given for value in kept for given in (*value[3], *(item for _, item in value[4]))]
    return any(value[0] == m.LAMBDA or (value[0] == m.ATTR and value[2] in methods) for value in values)


def _may_release(facts: FileFacts, owner: int, keeping: set[int]) -> bool:
    """Whether something that a function lets go may have been kept: in its class or a base, or in the module."""
    if owner in keeping or owner < 0:
        return bool(keeping)
    bases = {base[-1] for base in facts.classes[owner].bases if base[0] in (m.NAME, m.ATTR)}
    if not keeping.isdisjoint(i for i, klass in enumerate(facts.classes) if klass.name in bases):
        return True
    inherits = {facts.classes[other].name for other in keeping if other >= 0}
    names = {facts.classes[owner].name} | bases
    unseen = bases - {klass.name for klass in facts.classes} - _PLAIN_BASES
    return bool(unseen) or any(names & _bases(facts, name) for name in inherits)


def _bases(facts: FileFacts, name: str) -> set[str]:
    """The names of a class's bases in the file."""
    return {
        base[-1] for klass in facts.classes if klass.name == name for base in klass.bases if base[0] in (m.NAME, m.ATTR)
    }
