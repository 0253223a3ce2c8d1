"""Classes that a model server makes once, sets up by a method of theirs, and asks for each request."""

from __future__ import annotations

from .model import ClassFacts
from .walk import last_name

_BASES = frozenset(
    """BaseHandler VisionHandler ImageClassifier ObjectDetector ImageSegmenter TextHandler TextClassifier BasePredictor
    PythonModel LitAPI""".split()
)  # [docs: torchserve, cog, mlflow, litserve]
_NAMED = "TritonPythonModel"  # [docs: triton, "Python backend"]
_BEGINS = frozenset("initialize setup load_context".split())
_ANSWERS = frozenset("preprocess inference postprocess handle execute predict decode_request encode_response".split())


def set_up_by(cls: ClassFacts) -> frozenset[str]:
    """The methods that the server calls once, before all others."""
    return _BEGINS & cls.methods.keys() if _is_served(cls) else frozenset()


def answers(cls: ClassFacts, name: str) -> bool:
    """Whether a method runs for each request."""
    return name in _ANSWERS and _is_served(cls)


def _is_served(cls: ClassFacts) -> bool:
    known = cls.name == _NAMED or any(last_name(base) in _BASES for base in cls.bases)
    return known and not _ANSWERS.isdisjoint(cls.methods)
