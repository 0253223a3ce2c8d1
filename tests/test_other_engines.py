"""Models that another library runs, beside those of torch; and models that a constructor loads for the first time."""

from __future__ import annotations

import pytest
from snippets import check

_COLLECTED = """
    import gc
    from {package} import {cls}

    def transcribe(path, rows):
        model = {cls}("large", device="cuda")
        texts = [model.transcribe(row) for row in rows]
        del model
        torch.cuda.empty_cache(){mark}
        gc.collect()
        return texts
    """
_TRIED = """
    import gc
    from {package} import {cls}

    class Speech:
        def __init__(self, name):
            self.name, self.kind = name, "float16"
            {call}

        def {load}(self):
            try:
                self.model = {cls}(self.name, kind=self.kind)
            except Exception as error:
                if self.kind != "int8" and "out of memory" in str(error):
                    gc.collect()
                    torch.cuda.empty_cache(){held}
                    self.model = {cls}(self.name, kind="int8"){tried}
                    self.kind = "int8"
                    return
                raise

        def close(self):
            del self.model
    """
_HELD, _AGAIN = "  # TML604", "  # TML307"


@pytest.mark.parametrize(
    ("package", "cls", "mark"), [("faster_whisper", "WhisperModel", ""), ("nets", "Whisper", "  # TML601")]
)
def test_a_cache_that_is_emptied_before_the_collector_runs(package: str, cls: str, mark: str) -> None:
    check(_COLLECTED.format(package=package, cls=cls, mark=mark))


@pytest.mark.parametrize(
    ("package", "cls", "tried"), [("faster_whisper", "WhisperModel", ""), ("nets", "Whisper", _AGAIN)]
)
def test_a_model_that_is_tried_again(package: str, cls: str, tried: str) -> None:
    load = {"load": "_load", "call": "self._load()"}
    check(_TRIED.format(package=package, cls=cls, **load, held="", tried=tried))


_SWITCHED = """

        def switch(self, kind):
            self.kind = kind
            self.{load}()
    """


@pytest.mark.parametrize(
    ("load", "more", "held"), [("_load", "", ""), ("_load", _SWITCHED, _HELD), ("load", "", _HELD)]
)
def test_a_model_that_only_the_constructor_loads(load: str, more: str, held: str) -> None:
    program = _TRIED.replace("del self.model", "self.file.close()").rstrip() + more
    names = {"package": "faster_whisper", "cls": "WhisperModel", "load": load}
    check(program.format(**names, call=f"self.{load}()", held=held, tried=""))
