"""The pipelines and trainers of packages that a script makes: objects with models in them, which nothing here looks
into."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.knowledge import GIVES_ITSELF
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, targets
from ..facts.walk import statements
from .cleanup import let_go

_TRAIN = ("transformers", "trl", "sentence_transformers", "setfit")  # their `...Trainer(model=model)` [docs]
_MAKES = ("from_pretrained", "from_single_file", "from_pipe")  # [docs: diffusers, Pipelines; DiffusionPipeline]


def binds_pipeline(program: Program, statement: Stmt) -> bool:
    """`pipe = StableDiffusionPipeline.from_pretrained(name).to(device)`, `asr = pipeline("...")` of transformers"""
    return bool(statement[0] == m.ASSIGN) and _is_pipeline(program, statement[3])


def pipelines_of(program: Program, place: Place, model: str) -> Iterator[tuple[str, Site]]:
    """The names of pipelines and trainers that a function gives a model to, and does not let go of: `ask =
    pipeline("chat", model=model)`, `trainer = SFTTrainer(model=model, ...)`."""
    gone = {name for statement in statements(place.facts.body) for name in let_go(statement)}
    for statement in statements(place.facts.body):
        if not binds_pipeline(program, statement) and not binds_trainer(program, statement):
            continue
        made = _made(statement[3])
        if (m.NAME, model) in (*made[3], *(given for _, given in made[4])):
            names = [target[1] for target in targets(statement) if target[0] == m.NAME]
            yield from ((name, statement[1]) for name in names if name not in gone)


def binds_trainer(program: Program, statement: Stmt) -> bool:
    """`trainer = Trainer(model=model)` of transformers, which keeps the model, and has it in its optimizer. Those of
    Lightning move it to the host when they are done."""
    if statement[0] != m.ASSIGN or statement[3][0] != m.CALL:
        return False
    dotted = program.dotted(statement[3][2])
    return dotted.endswith("Trainer") and dotted.partition(".")[0] in _TRAIN


def _is_pipeline(program: Program, value: Expr) -> bool:
    made = _made(value)
    dotted = program.dotted(made[2]) if made[0] == m.CALL else ""
    if dotted.startswith("diffusers."):
        cls, _, name = dotted.rpartition(".")
        return name.endswith("Pipeline") or (name in _MAKES and "Pipeline" in cls.rpartition(".")[2])
    return dotted.startswith("transformers.") and dotted.endswith((".pipeline", "Pipeline"))


def _made(value: Expr) -> Expr:
    """`DiffusionPipeline.from_pretrained(name)` of `DiffusionPipeline.from_pretrained(name).to(device)`"""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in GIVES_ITSELF:
        value = value[2][1]
    return value
