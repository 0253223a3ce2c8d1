"""What the run shows, with the functions that it went through in plain words: for what rules ask of their text."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping

from ..facts.model import CALLS_PER_STATEMENT, FileFacts, FunctionFacts, Site
from ..interpreter.events import Store
from ..interpreter.frames import Frame
from ..interpreter.linking import Unit


class PlainFunctions:
    """The functions of a file whose plain words differ from the written ones."""

    def __init__(self, home: Unit, words: FileFacts, led: Mapping[Site, set[Site]]) -> None:
        self._home, self._led = home, led
        pairs = zip(home.facts.functions, words.functions, strict=True)
        self._said = {id(old): new for old, new in pairs if new is not old}
        self._unit = copy.copy(home)
        self._unit.facts = words

    def stores(self, stores: Iterable[Store]) -> Iterator[Store]:
        """The stores of these functions: those of a helper of one line as if it stood where it is called."""
        for store in stores:
            frame, site = store.frame, store.site
            if frame.unit is not self._home:
                continue
            if self._is_led(frame, site):
                within = site % CALLS_PER_STATEMENT
                site = frame.call_site if within else _statement(frame.call_site)
                assert frame.caller is not None
                frame = frame.caller
            said = self._said.get(id(frame.facts))
            if said is not None:
                yield store._replace(frame=self._in_words(frame, said), site=site)

    def _is_led(self, frame: Frame, site: Site) -> bool:
        """Whether the statement that the frame was called in has got the words of the one with this site."""
        caller = frame.caller
        if caller is None or caller.unit is not self._home:
            return False
        return _statement(site) in self._led.get(_statement(frame.call_site), ())

    def _in_words(self, frame: Frame, said: FunctionFacts) -> Frame:
        other = copy.copy(frame)
        other.facts, other.unit = said, self._unit
        return other


def _statement(site: Site) -> Site:
    return site - site % CALLS_PER_STATEMENT
