"""Messages that say there was too little memory: what a clause tells its user says what it is for."""

from __future__ import annotations

import re

_TOO_LITTLE = re.compile(
    r"\b(?:out of|lack of|low on|short of|not enough|too little|insufficient)(?: (?:gpu|cuda|cpu|device|video))?"
    r" (?:memory|vram)\b|\boom\b",
    re.IGNORECASE,
)


def too_little_memory(text: str) -> str:
    """The words of a message that say so: "lack of memory" of "Failed, probably due to a lack of memory, ..."."""
    if not ("emory" in text or "OOM" in text or "VRAM" in text):  # of most texts there is no more to ask
        return ""
    found = _TOO_LITTLE.search(text)
    return found.group() if found is not None else ""
