"""Results of an evaluation that the hooks of a framework collect on the device, and that go to the host at its end.

Lightning and its like run the model, without gradients and on the device, and call a hook for each batch:
`on_predict_batch_end(self, trainer, pl_module, outputs, batch, batch_idx)`, or `validation_step` of the module itself.
What such a hook adds to a list lies on the device until the hook for the end of the epoch joins and moves it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, targets
from ..facts.walk import calls_of, expressions_of, last_name, nodes, statements
from .moved_late import MovedLate
from .step_values import is_light, keeps_step_values, made_from

_STAGES = ("validation", "test", "predict")
_OF_BATCHES = frozenset(name for one in _STAGES for name in (f"{one}_step", f"on_{one}_batch_end"))
_OF_ENDS = frozenset(name for one in _STAGES for name in (f"on_{one}_epoch_end", f"on_{one}_end", f"{one}_epoch_end"))
_INPUTS = frozenset("batch x inputs images image features pixel_values".split())
_LABELS = frozenset("y label labels target targets gt truth y_true mask masks index indices".split())
_JOINS = frozenset("cat concat concatenate stack vstack hstack".split())
_TO_HOST = frozenset("cpu numpy tolist".split())
_AS_IT_IS = frozenset("detach float double half squeeze unsqueeze view reshape flatten contiguous".split())
_ENTRIES = ("items", "values")
_SELF = (m.NAME, "self")


def moved_at_the_end(program: Program) -> Iterator[MovedLate]:
    """The lists of classes that have a hook for each batch and one for the end, where all that the latter does with
    what it has joined is to move it."""
    if program.called.isdisjoint(_TO_HOST) or program.called.isdisjoint(_JOINS):
        return
    for cls in program.facts.classes:
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        ends = [methods[name] for name in sorted(_OF_ENDS & methods.keys())]
        for name in sorted(_OF_BATCHES & methods.keys()) if ends else ():
            for statement, attribute, value in _adds(methods[name]):
                if _is_on_the_device(methods[name], value) and any(_only_moves(end, attribute) for end in ends):
                    yield MovedLate(statement[1], f"self.{attribute}")


def _adds(function: FunctionFacts) -> Iterator[tuple[Stmt, str, Expr]]:
    """`self.rows.append(row)`, also for one of several lists, `self.rows[name].append(row)`."""
    for statement in statements(function.body):
        for call in calls_of(statement):
            if call[2][0] == m.ATTR and call[2][2] == "append" and len(call[3]) == 1:
                place = call[2][1]
                place = place[1] if place[0] == m.ITEM else place
                if place[0] == m.ATTR and place[1] == _SELF:
                    yield statement, place[2], call[3][0]


def _is_on_the_device(hook: FunctionFacts, value: Expr) -> bool:
    """What the model has given for a batch, or, for a hook that is given the batch, what that has got. Of what a helper
    gives, `loss, preds, y = self.shared_step(batch)`, each may be a number for each sample, as labels are."""
    made = made_from(hook, value)
    if any(_is_by_the_way(node) for expr in made for node in nodes(expr)):
        return False
    if keeps_step_values(hook, value):
        return True
    given = {param.name for param in hook.params}
    from_batch = "batch" in given and any((m.NAME, "batch") in nodes(expr) for expr in made)
    return value[0] == m.NAME and value[1] in _INPUTS and from_batch and not is_light(made)


def _is_by_the_way(node: Expr) -> bool:
    if node[0] == m.ITEM:
        return node[2][0] == m.CONST and node[2][1] in _LABELS
    if node[0] == m.CALL and len(node) == 5:
        return last_name(node[2]).endswith("_step")
    return node[0] in (m.NAME, m.ATTR) and node[-1] in _LABELS


def _only_moves(end: FunctionFacts, attribute: str) -> bool:
    """Whether a method joins what is in an attribute, and moves the whole of it to the host, for nothing else."""
    series = _names_for(end, (m.ATTR, _SELF, attribute))
    found = False
    for statement in statements(end.body):
        for expr in expressions_of(statement):
            if _joins(expr, series):
                if not _goes_to_the_host(end, statement, expr):
                    return False
                found = True
    return found


def _goes_to_the_host(end: FunctionFacts, statement: Stmt, joined: Expr) -> bool:
    if statement[0] == m.ASSIGN and statement[3] == joined:
        return all(_is_only_moved(end, name, statement[1]) for name in targets(statement))
    return _is_moved(statement, joined)


def _names_for(end: FunctionFacts, place: Expr) -> set[Expr]:
    """The attribute, and the names for it or for one of its lists: `for name, rows in self.rows.items()`."""
    found = {place}
    for statement in statements(end.body):
        if statement[0] == m.FOR:
            over = statement[3]
            asks = over[0] == m.CALL and over[2][0] == m.ATTR and over[2][2] in _ENTRIES
            if asks and over[2][1] in found:
                found |= {part for target in targets(statement) for part in nodes(target) if part[0] == m.NAME}
        elif statement[0] == m.ASSIGN and statement[3] in found:
            found |= {target for target in statement[2] if target[0] == m.NAME}
    return found


def _joins(expr: Expr, series: set[Expr]) -> bool:
    """`torch.cat(self.rows)`, `torch.cat([row["logits"] for row in self.rows])`, `torch.cat(self.rows["a"])`."""
    if expr[0] != m.CALL or len(expr) != 5 or last_name(expr[2]) not in _JOINS or not expr[3]:
        return False
    joined = expr[3][0]
    if joined[0] == m.COMP and len(joined[5]) == 1:
        joined = joined[5][0][1]
    return joined in series or (joined[0] == m.ITEM and joined[1] in series)


def _is_moved(statement: Stmt, tensor: Expr) -> bool:
    """Whether a tensor goes to the host in a statement, each time that it stands there, and is asked for nothing else:
    `torch.cat(self.rows).float().cpu()`."""
    read = list(nodes(statement[3])) if statement[0] == m.ASSIGN else expressions_of(statement)
    whole, moved = [tensor], False
    while whole:
        asked = [one for one in read if _asks_of(one, whole)]
        if len(asked) < sum(one in whole for one in read):
            return moved
        if any(one[2][2] not in _AS_IT_IS and one[2][2] not in _TO_HOST for one in asked):
            return moved
        moved |= all(one[2][2] in _TO_HOST for one in asked)
        whole = asked
    return moved


def _asks_of(expr: Expr, tensors: list[Expr]) -> bool:
    return expr[0] == m.CALL and len(expr) == 5 and expr[2][0] == m.ATTR and expr[2][1] in tensors


def _is_only_moved(end: FunctionFacts, name: Expr, joined: Site) -> bool:
    """Whether all that is done with a joined tensor is to move it: `rows = torch.cat(self.rows)`, `rows.cpu()`."""
    moved = False
    for statement in statements(end.body):
        if statement[1] > joined and name in expressions_of(statement):
            if not _is_moved(statement, name):
                return False
            moved = True
            if statement[0] == m.ASSIGN and name in targets(statement):
                break  # `rows = rows.cpu()`: on the host from here
    return moved
