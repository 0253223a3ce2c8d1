"""Scripts that lie in a package: run by their path, they know nothing of it and import what lies beside them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .project import Project

_PACKAGE = "__init__.py"
# Packages that a folder is named after as often as not, `trainers/lightning/`, while the files beside it mean them.
_INSTALLED = frozenset(
    """torch torchvision torchaudio torchmetrics ignite lightning pytorch_lightning transformers accelerate deepspeed
    megatron apex peft diffusers datasets tokenizers ray dask jax flax tensorflow keras paddle onnx onnxruntime tensorrt
    triton numpy scipy cupy numba pycuda pandas sklearn matplotlib cv2 PIL wandb mlflow redis celery fastapi flask
    django""".split()
)


def beside_a_script(project: Project, importer: str, folder: str, parts: list[str]) -> str | None:
    """`from models import Net` in a folder with an `__init__.py`, where nothing else has that name: that of the file
    that is run, `python train.py`. One that imports from its package, by dots or by name, is a part of it."""
    if not parts or parts[0] in _INSTALLED or parts[0] in sys.stdlib_module_names:
        return None
    found = project.walk(folder, parts)
    if found is None or found == importer:
        return None
    top = folder
    while os.path.exists(os.path.join(os.path.dirname(top), _PACKAGE)):
        top = os.path.dirname(top)
    modules = [one for module, names in project.imports_of(importer) for one in ([module] if module else names)]
    package = os.path.basename(top)
    own = any(module.startswith(".") or module.split(".", 1)[0] == package for module in modules)
    return None if own else found
