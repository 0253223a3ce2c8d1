"""What names say of evaluation: of functions and classes that evaluate or infer, and of what turns gradients off."""

from __future__ import annotations

import functools
import re

from . import knowledge
from .model import FunctionFacts

_TEST_OF_DATA = frozenset(("test", "epoch", "loop", "one", "batch", "step", "single", "model", "net"))
_QUANTITIES = frozenset("dim dims size sizes shape shapes dtype type types channels length device count".split())
_INFERENCE = frozenset(("inference", "infer", "transcribe", "translate", "synthesize"))


def is_evaluation(function: FunctionFacts) -> bool:
    """Whether a function that calls anything may evaluate, by its name."""
    return bool(function.calls) and _may_evaluate(function.name)


@functools.lru_cache(4096)
def _may_evaluate(name: str) -> bool:
    name = name.lower()
    if name.startswith("test_") and not says_evaluation(name):
        return False  # of a test suite
    return any(word in name for word in knowledge.EVALUATION_WORDS)


def says_no_grad(name: str) -> bool:
    """Whether the name of other code's context or decorator says that it turns gradients off, like ultralytics'
    `smart_inference_mode` and MONAI's `eval_mode`."""
    name = name.lower()
    return any(word in name for word in ("eval_mode", "no_grad", "inference_mode", "nograd", "disable_grad"))


def says_evaluation(name: str) -> bool:
    """Whether a function's name says that it evaluates: `validate`, `run_eval`, `predict_batch`; not a
    test of a test suite: `test_output_shape`."""
    words = name.lower().strip("_").split("_")
    if words[0] == "test" and not _TEST_OF_DATA.issuperset(words):
        return False
    if words[-1] in _QUANTITIES:
        return False  # `infer_output_dim`, `test_size`
    return any(word in knowledge.EVALUATION_NAMES for word in words)


@functools.lru_cache(4096)
def class_evaluates(name: str) -> bool:
    """Whether a class's name says that its objects evaluate: `ValLoop`, `Evaluator`, `DefaultPredictor`; not a class
    of a test suite: `TestPooling`."""
    words = [word.lower() for word in re.findall("[A-Z][a-z]+", name)]
    if words[:1] == ["test"] and words[1:] not in (["loop"], ["runner"], ["epoch"]):
        return False
    return not (knowledge.EVALUATION_NAMES | knowledge.EVALUATORS).isdisjoint(words)


def says_inference(name: str) -> bool:
    """Whether a public function's name says that it is there for inference: `inference`, `transcribe_file`."""
    return name[:1] != "_" and not _INFERENCE.isdisjoint(name.lower().split("_"))
