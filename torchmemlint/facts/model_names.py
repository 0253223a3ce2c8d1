"""Names that stand for models."""

from __future__ import annotations

import functools

from .knowledge import MODEL_NAMES

_KINDS = ("model", "net", "network")
# What is done to a model, or says that it is of another kind.
_OF_OTHERS = frozenset(
    """build make create get load save init train fit test eval evaluate run compile export prepare update set new use
    is has to from wrap convert register copy check select choose switch find list plot print show log view data user
    read write delete del remove unload reload free release offload download upload reset clear close open describe
    inspect clone replace quantize freeze unfreeze ngram camera noise color sensor motion object""".split()
)


@functools.lru_cache(4096)
def names_model(name: str) -> bool:
    """Whether a name is one of a model, or of a certain one: `bert_model`, `value_net`; not `build_model`."""
    if name in MODEL_NAMES:
        return True
    which, _, kind = name.lower().rpartition("_")
    return kind in _KINDS and _OF_OTHERS.isdisjoint(which.split("_"))
