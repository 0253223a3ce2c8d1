"""Which functions do the work: they run a model, or have tensors at hand when they call something else."""

from __future__ import annotations

from collections.abc import Iterator, Set

from ..facts import model as m
from ..facts.knowledge import DATA_NAMES, FACTORIES, FEATURES, MODEL_NAMES
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Stmt
from ..facts.model_names import names_model
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, last_name, nodes, places_with_values, statements

_RUNS = MODEL_NAMES | set(
    """forward generate backward matmul bmm einsum softmax conv1d conv2d conv3d interpolate cdist addmm baddbmm
    scaled_dot_product_attention multi_head_attention_forward""".split()
)
# What a model is asked for by other names than its own: `model.encode(x)`.
_ASKED_OF_MODELS = frozenset(
    "encode decode embed predict transcribe translate sample infer extract_features".split()
).union(FEATURES)
# Of modules of torch that make tensors, those whose names little else has; the layers that most models are made of.
_LAYERS = frozenset(("Sequential", "ModuleList", "Linear", "Conv2d", "Embedding"))
_ASKED = ("__iter__", "__next__", "__getitem__", "__call__")
_MAKES = (FACTORIES - {"range", "normal", "tensor"}) | _LAYERS


def reaches_work(program: Program, names: set[str], *, making: bool = False) -> bool:
    """Whether functions of these names run a model, themselves or through what they call; or make tensors, or are
    given some: then a failed call's frames keep those."""
    seen = set[str]()
    for _ in range(4):
        inside = [place for name in names for place in program.by_name.get(name, ())]
        work = _RUNS | _MAKES if making and "torch" in program.imports.values() else _RUNS
        if names & work or names & program.models or any(map(names_model, names)):
            return True
        seen |= names
        if making and any(map(_is_given_tensors, inside)):
            return True
        names = {called for place in inside for called in place.facts.calls} - seen
    return False


def started(block: tuple[Stmt, ...]) -> frozenset[str]:
    """The last names of what a block calls, and of the generators that it only goes on with: `next(steps)`,
    `self.steps.send(value)`, `for item in self.steps`."""
    names = {last_name(call[2]) for call in calls(block)}
    if not names.isdisjoint(_ASKED_OF_MODELS):
        asked = (call[2] for call in calls(block) if call[2][0] == m.ATTR and call[2][2] in _ASKED_OF_MODELS)
        names |= {name for callee in asked if (name := last_name(callee[1])) in MODEL_NAMES}
    driven = [call[3][0] for call in calls(block) if call[2] == (m.NAME, "next") and call[3]]
    driven += [call[2][1] for call in calls(block) if call[2][0] == m.ATTR and call[2][2] in ("send", "__next__")]
    driven += [one[3] for one in statements(block) if one[0] == m.FOR]
    return frozenset(names | ({last_name(one) for one in driven if one[0] in (m.NAME, m.ATTR)} - _RUNS))


def has_tensors(program: Program, function: FunctionFacts) -> bool:
    """Whether a function has tensors of its own: it is given some, makes some or runs a model."""
    makes = _RUNS | _MAKES if "torch" in program.imports.values() else _RUNS
    if not makes.isdisjoint(function.calls) or not program.models.isdisjoint(function.calls):
        return True
    return any(place.facts is function and _is_given_tensors(place) for place in program.places)


def is_called_at_work(program: Program, function: FunctionFacts) -> bool:
    """Whether a function has tensors or a model at hand, or one that calls it: its frame is in the traceback, too."""
    if any(place.facts is function and _has_at_hand(program, place) for place in program.places):
        return True
    called = {function.name}
    for _ in range(4):
        callers = [one for one in program.places if not called.isdisjoint(one.facts.calls)]
        if any(_has_at_hand(program, one) for one in callers):
            return True
        called = {one.facts.name for one in callers} - called
    return False


def _has_at_hand(program: Program, place: Place) -> bool:
    if _is_of_module(program, place.bases):
        return True
    return _is_given_tensors(place) or not (_RUNS | _LAYERS).isdisjoint(place.facts.calls)


def _is_of_module(program: Program, bases: tuple[str, ...], depth: int = 3) -> bool:
    """Whether a class with these bases is one of modules, itself or by way of other classes of the file."""
    if any(base.endswith("nn.Module") for base in bases):
        return True
    above = (cls for cls in program.facts.classes if cls.name in bases) if depth else ()
    return any(_is_of_module(program, tuple(map(program.dotted, cls.bases)), depth - 1) for cls in above)


def _is_given_tensors(place: Place) -> bool:
    return any(is_tensor_hint(param.hint) for param in place.facts.params)


def is_tensor_hint(hint: Expr | None) -> bool:
    """Whether an annotation speaks of tensors or modules."""
    return hint is not None and any(last_name(part) in ("Tensor", "Module") for part in nodes(hint))


def makes_tensors(program: Program, value: Expr) -> bool:
    """Whether an expression makes a tensor or a layer, or runs a model."""
    made = {last_name(part[2]) for part in nodes(value) if part[0] == m.CALL and len(part) == 5}
    return not made.isdisjoint(_MAKES | _RUNS | program.models)


def is_tensor_or_model(program: Program, function: FunctionFacts, name: Expr) -> bool:
    """Whether a variable is a tensor, a batch or a model: a parameter that says so, or what makes one."""
    for param in function.params:
        if param.name == name[1]:
            return is_tensor_hint(param.hint) or names_model(name[1]) or name[1] in DATA_NAMES
    return any(
        name in targets(one) and makes_tensors(program, one[3])
        for one in statements(function.body)
        if one[0] == m.ASSIGN
    )


def dispatched(program: Program, function: FunctionFacts) -> set[str]:
    """The functions that a function calls by names which it puts together, `getattr(self, "do_" + verb)(*words)`, or
    is told by its callers: `getattr(self.worker, method)` and `run("generate", batch)`."""
    if "getattr" not in function.calls:
        return set()
    found = set[str]()
    methods = program.facts.classes[function.owner].methods if function.owner >= 0 else {}
    asked = (call[3][:2] for call in calls(function.body) if call[2] == (m.NAME, "getattr") and len(call[3]) > 1)
    for owner, name in asked:
        prefix = _beginning(name)
        if prefix and owner == (m.NAME, "self"):
            found |= {method for method in methods if method.startswith(prefix)}
        if name[0] == m.NAME:
            found |= _told(program, function, name[1]) & program.by_name.keys()
    return found


def bound_by_name(function: FunctionFacts) -> set[str]:
    """The variables of a function that stand for what it looks up by name: `call = getattr(self, method)`."""
    if "getattr" not in function.calls:
        return set()
    bound = [*_pairs(function.body), *((one[2], one[4]) for one in statements(function.body) if one[0] == m.ANNOTATE)]
    return {
        target[1]
        for target, value in bound
        if target[0] == m.NAME and value is not None and value[0] == m.CALL and value[2] == (m.NAME, "getattr")
    }


def _told(program: Program, function: FunctionFacts, name: str, depth: int = 2) -> set[str]:
    """The texts that callers in the program give a function for a parameter, also those that only pass it on."""
    index = next((i for i, param in enumerate(function.params) if param.name == name), -1)
    found = set[str]()
    for place in program.places if index >= 0 and depth else ():
        for call in calls(place.facts.body) if function.name in place.facts.calls else ():
            if last_name(call[2]) != function.name:
                continue
            given = keyword(call, name, index - (function.owner >= 0 and call[2][0] == m.ATTR))
            if given is not None and given[0] == m.CONST and isinstance(given[1], str):
                found.add(given[1])
            elif given is not None and given[0] == m.NAME:
                found |= _told(program, place.facts, given[1], depth - 1)
    return found


def _beginning(name: Expr) -> str:
    """`do_` of `"do_" + verb` and of `f"do_{verb}"`."""
    if name[0] == m.ARITH and name[1] == "Add":
        return _beginning(name[2])
    if name[0] == m.TEXT and len(name) > 1 and name[1]:
        return _beginning(name[1][0])
    return name[1] if name[0] == m.CONST and isinstance(name[1], str) else ""


def decorated(facts: FileFacts, function: FunctionFacts) -> set[str]:
    """The functions of the file that are wrapped by the decorator that a function belongs to, or put on an object of
    its class by one."""
    index = next((i for i, one in enumerate(facts.functions) if one is function), 0)
    for _ in range(3):
        index = next((i for i, one in enumerate(facts.functions) if index in one.inner), 0)
        if not index:
            break
        name = facts.functions[index].name
        found = {one.name for one in facts.functions if any(last_name(item) == name for item in one.decorators)}
        if found:
            return found
    if function.owner < 0:
        return set()
    methods = facts.classes[function.owner].methods.keys()  # `@worker.task`, of a worker that runs what it has
    return {
        one.name
        for one in facts.functions
        if any(item[0] == m.ATTR and item[2] in methods and one.owner < 0 for item in one.decorators)
    }


def handed_in(program: Program, function: FunctionFacts, names: Set[str], depth: int = 3) -> set[str]:
    """The functions of the file that a function is given to call: `run_one(report, check_shapes)`, by callers, too,
    that only pass on what they are given; or the object that it is a method of, when that is made:
    `Runner(check_shapes)`."""
    listed = {part for name in names for table in _tables(program, function.body, (m.NAME, name)) for part in table}
    names = names | listed
    wanted = [(index, param.name) for index, param in enumerate(function.params) if param.name in names]
    found = _given(program, function.name, function.owner >= 0, wanted, depth) | (listed & program.by_name.keys())
    if function.owner >= 0:
        cls = program.facts.classes[function.owner]
        found |= _made_to_call(program, cls, names, depth)
    hints = {last_name(param.hint) for param in function.params if param.hint is not None}
    asked = {  # `job.function()` of `job: Job`, or of what else the file makes that has a `function`
        call[2][2]
        for call in calls(function.body)
        if call[2][0] == m.ATTR and call[2][1][0] == m.NAME and call[2][1][1] != "self" and call[2][2] in names
    } - program.by_name.keys()
    for cls in program.facts.classes:
        if cls.name in hints:
            found |= _made_to_call(program, cls, names, depth)
        elif asked:
            found |= _made_to_call(program, cls, asked, depth)
    return found


def _made_to_call(program: Program, cls: ClassFacts, names: Set[str], depth: int) -> set[str]:
    """The functions of the file that objects of a class get, when they are made, under one of these names."""
    taken = [(index, param) for index, (param, kept) in enumerate(_made_with(program, cls)) if names & kept]
    return _given(program, cls.name, False, taken, depth)


def _made_with(program: Program, cls: ClassFacts) -> Iterator[tuple[str, set[str]]]:
    """What the objects of a class are made with, and the attributes that it becomes: by the constructor, or the
    fields of a dataclass."""
    if "__init__" not in cls.methods:
        declared = program.facts.functions[cls.body].body
        yield from ((one[2][1], {one[2][1]}) for one in declared if one[0] == m.ANNOTATE and one[2][0] == m.NAME)
        return
    init = program.facts.functions[cls.methods["__init__"]]
    kept = [(value, target[2]) for target, value in _pairs(init.body) if target[0] == m.ATTR]
    for param in init.params[1:]:
        yield param.name, {name for value, name in kept if value == (m.NAME, param.name)}


def _pairs(body: tuple[Stmt, ...]) -> Iterator[tuple[Expr, Expr]]:
    """What is bound to what, also in `self.function, self.limit = function, limit`."""
    for statement in statements(body):
        if statement[0] == m.ASSIGN:
            yield from places_with_values(statement)


def _given(program: Program, callee: str, method: bool, wanted: list[tuple[int, str]], depth: int) -> set[str]:
    """The functions of the file that go into these parameters where something is called."""
    found = set[str]()
    for place in program.places if wanted and depth else ():
        if callee not in place.facts.calls:
            continue
        for call in calls(place.facts.body):
            if last_name(call[2]) != callee:
                continue
            bound = method and call[2][0] == m.ATTR
            for index, name in wanted:
                given = keyword(call, name, index - bound)
                if given is None:
                    continue
                meant = _functions_of(program, place, given)
                found |= meant | handed_in(program, place.facts, meant, depth - 1)
    return found


def _functions_of(program: Program, place: Place, given: Expr) -> set[str]:
    """The names of the functions that an expression may stand for."""
    if given[0] == m.LAMBDA:
        return set(program.facts.functions[given[1]].calls)
    if given[0] == m.CALL and last_name(given) == "partial" and given[3]:
        return {last_name(given[3][0])}
    if given[0] == m.CALL:  # a generator, or an object that works when somebody asks it for an item
        called = last_name(given)
        made = {one.facts.name for one in program.by_name.get(called, ()) if one.facts.generator}
        asked = (one.facts.calls for name in _ASKED for one in program.by_name.get(name, ()) if one.cls == called)
        return made.union(*asked)
    if given[0] == m.NEW:
        return {last_name(item) for item in given[3]} - {""}
    if given[0] not in (m.NAME, m.ATTR):
        return set()
    listed = {name for table in _tables(program, place.facts.body, given) for name in table}
    for one in statements(place.facts.body):  # `calls = [lambda: worker.step(batch) for worker in workers]`
        if one[0] == m.ASSIGN and given in one[2] and one[3][0] in (m.NEW, m.COMP):
            listed |= {name for part in nodes(one[3]) if part[0] == m.LAMBDA and len(part) == 2
                       for name in program.facts.functions[part[1]].calls}  # fmt: skip
    listed |= _entries(program, place.facts.body, {given}, kinds=(m.NEW, m.DICT))
    return {last_name(given), *listed}


def _tables(program: Program, body: tuple[Stmt, ...], target: Expr) -> Iterator[set[str]]:
    """What a loop variable stands for in turn: `for name, check in CHECKS.items()`."""
    for loop in statements(body):
        if loop[0] == m.FOR and target in nodes(loop[2]):
            iterated = {part for part in nodes(loop[3]) if part[0] == m.NAME}
            yield _entries(program, body, iterated)
            yield {part[1] for part in iterated}


def _entries(program: Program, body: tuple[Stmt, ...], tables: set[Expr], kinds: tuple[int, ...] = ()) -> set[str]:
    """What tables are made of, here or in the module, `ROUTES = (Route("exact", exact), ...)`; of any kind, or of
    these kinds of expressions."""
    bound = [one for block in (body, program.facts.functions[0].body) for one in statements(block)]
    values = [one[-1] for one in bound if one[0] in (m.ASSIGN, m.ANNOTATE) and not tables.isdisjoint(targets(one))]
    made = [value for value in values if value is not None and (not kinds or value[0] in kinds)]
    return {part[1] for value in made for part in nodes(value) if part[0] == m.NAME}
