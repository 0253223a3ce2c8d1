"""Classes that a model server makes once, sets up by a method of theirs, and asks for each request."""

from __future__ import annotations

import pytest
from snippets import check

SERVED = """
{imports}

class {cls}:
    def {begin}(self, {given}):
        self.net = nn.Linear(8, 8)
        self.rows = {empty}

    def {ask}(self, {asked}):
        with torch.no_grad():
            out = self.net(torch.tensor(data))
        {stored}{mark}
        return out.tolist()
"""
TORCHSERVE = {
    "imports": "from ts.torch_handler.base_handler import BaseHandler",
    "cls": "Handler(BaseHandler)",
    "begin": "initialize",
    "given": "context",
    "ask": "preprocess",
    "asked": "data",
}
TRITON = {**TORCHSERVE, "imports": "", "cls": "TritonPythonModel", "given": "args", "ask": "execute"}
LITSERVE = {
    **TORCHSERVE,
    "imports": "import litserve",
    "cls": "Api(litserve.LitAPI)",
    "begin": "setup",
    "ask": "predict",
}


@pytest.mark.parametrize("words", [TORCHSERVE, TRITON, LITSERVE])
def test_what_each_request_leaves(words: dict[str, str]) -> None:
    check(SERVED.format(**words, empty="[]", stored="self.rows.append(out)", mark="  # TML303"))


@pytest.mark.parametrize("stored", ["self.rows = [out]", "self.rows.append(out.sum().item())", "self.rows[:] = [out]"])
@pytest.mark.parametrize("words", [TORCHSERVE, TRITON, LITSERVE])
def test_what_the_next_request_replaces_and_what_is_small(words: dict[str, str], stored: str) -> None:
    check(SERVED.format(**words, empty="[]", stored=stored, mark=""))


@pytest.mark.parametrize("words", [TORCHSERVE, TRITON, LITSERVE])
def test_what_is_bounded(words: dict[str, str]) -> None:
    check(SERVED.format(**words, empty="collections.deque(maxlen=8)", stored="self.rows.append(out)", mark=""))


def test_an_object_that_is_initialized_anew_for_each_episode() -> None:
    words = {**TORCHSERVE, "cls": "Episode", "ask": "observe"}
    check(SERVED.format(**words, empty="[]", stored="self.rows.append(out)", mark=""))
