"""The pipelines of packages that a script makes: objects with models in them, which nothing here looks into."""

from __future__ import annotations

from ..facts import model as m
from ..facts.knowledge import GIVES_ITSELF
from ..facts.model import Expr, Stmt
from ..facts.program import Program

_MAKES = ("from_pretrained", "from_single_file", "from_pipe")  # [docs: diffusers, Pipelines; DiffusionPipeline]


def binds_pipeline(program: Program, statement: Stmt) -> bool:
    """`pipe = StableDiffusionPipeline.from_pretrained(name).to(device)`, `asr = pipeline("...")` of transformers"""
    return bool(statement[0] == m.ASSIGN) and _is_pipeline(program, statement[3])


def _is_pipeline(program: Program, value: Expr) -> bool:
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in GIVES_ITSELF:
        value = value[2][1]
    dotted = program.dotted(value[2]) if value[0] == m.CALL else ""
    if dotted.startswith("diffusers."):
        cls, _, made = dotted.rpartition(".")
        return made in _MAKES and "Pipeline" in cls.rpartition(".")[2]
    return dotted in ("transformers.pipeline", "transformers.pipelines.pipeline")
