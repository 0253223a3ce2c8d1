"""Whether what a method collects is what a model gave for a batch, as it was: no figure, and not moved to the host."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts
from ..facts.program import targets
from ..facts.walk import calls, last_name, nodes, statements

_MODELS = frozenset("model net network module encoder decoder backbone forward generator".split())
_GIVEN = frozenset(
    """output outputs step_output step_outputs batch_output pred preds prediction predictions logits features
    embeddings""".split()
)
_PER_BATCH = ("batch_end", "step_end", "iter_end", "iteration_end", "val_iter", "after_batch", "after_step")
_LIGHT_CALLS = frozenset(
    """item cpu numpy tolist float int str len round bool mean sum argmax max min norm std var topk numel gather_object
    to_cpu move_to_cpu detach_to_cpu tensor2np to_numpy apply_to_collection write save""".split()
)
_FIGURES = frozenset(
    """loss losses acc accs accuracy metric metrics score scores iou dice f1 mse mae psnr ssim auc lr time count total
    entropy criterion flops correct num size idx index id ids name names path paths log logs""".split()
)
_DEPTH = 4


def keeps_step_values(function: FunctionFacts, value: Expr) -> bool:
    """Of what is put into a list: `output` of `on_batch_end(self, output)`, `{"logits": self.model(x)}` ..."""
    if value[0] == m.DICT:
        return any(keeps_step_values(function, part) for _, part in value[2])
    if value[0] == m.NEW:
        return any(keeps_step_values(function, part) for part in value[3])
    seen = made_from(function, value)
    if is_light(seen):
        return False
    given = {param.name for param in function.params} & _GIVEN if function.name.endswith(_PER_BATCH) else set()
    return any(
        (node[0] == m.NAME and node[1] in given) or (node[0] == m.CALL and _runs_a_model(node[2]))
        for expr in seen
        for node in nodes(expr)
    )


def given_to_models(function: FunctionFacts) -> set[Expr]:
    """What models get in a function, or get the items of: `self.model(x)`, `for bag in x: self(bag)`."""
    given = {part for call in calls(function.body) if _runs_a_model(call[2]) for part in call[3][:1]}
    loops = (statement for statement in statements(function.body) if statement[0] == m.FOR)
    given = {part for part in given if part[0] != m.CONST}
    return given | {loop[3] for loop in loops if not given.isdisjoint(targets(loop))}


def made_from(function: FunctionFacts, value: Expr) -> list[Expr]:
    """A value, and what the names in it were bound to in the function."""
    return list(_made_from(function, value, _DEPTH))


def is_light(made: list[Expr]) -> bool:
    """Whether a figure, or a move to the host, is among what a value was made from."""
    sizes = {id(given) for expr in made for node in nodes(expr) for given in _sizes(node)}
    return any(_is_light(node) for expr in made for node in nodes(expr) if id(node) not in sizes)


def is_figure(name: str) -> bool:
    """`val_loss`, `num_batches`: a number by its name."""
    return not _FIGURES.isdisjoint(re.split(r"[^a-z0-9]+", name.lower()))


def _runs_a_model(callee: Expr) -> bool:
    """`self(x)`, `self.model(x)`, `model.validation_step(...)`."""
    name = last_name(callee)
    if callee[0] == m.NAME and callee[1] == "self":
        return True
    return name.lstrip("_").endswith("_step") or name.lstrip("_") in _MODELS or name.endswith("_model")


def _made_from(function: FunctionFacts, value: Expr, depth: int) -> Iterator[Expr]:
    yield value
    names = {node for node in nodes(value) if node[0] == m.NAME} if depth else set()
    for statement in statements(function.body) if names else ():
        if statement[0] == m.ASSIGN and value is not statement[3] and names.intersection(targets(statement)):
            yield from _made_from(function, statement[3], depth - 1)


def _sizes(node: Expr) -> Iterator[Expr]:
    """What says how large a tensor is to be, and is no part of it: `torch.zeros(len(rows), width)`."""
    if node[0] == m.CALL and last_name(node[2]) in ("zeros", "ones", "empty", "full", "new_zeros", "new_full"):
        yield from (part for given in node[3] for part in nodes(given))


def _is_light(node: Expr) -> bool:
    if node[0] == m.NAME:
        return is_figure(node[1])
    if node[0] == m.ITEM and node[2][0] == m.CONST and isinstance(node[2][1], str):
        return is_figure(node[2][1])
    if node[0] != m.CALL:
        return False
    name = last_name(node[2])
    given = (*node[3], *(value for _, value in node[4]))  # `x.to("cpu")`, `move_to_device(x, device="cpu")`
    moved = any((m.CONST, "cpu") in nodes(one) for one in given)
    return moved or name in _LIGHT_CALLS or is_figure(name)
