"""Keys and values of attention, kept as a pair of which both get longer: `past = (cat([k, key]), cat([v, value]))`."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SERVER = """
class Past:
    def __init__(self, depth):
        self.past = {empty}

    def extend(self, layer, key, value):
        {body}

class Model(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(8, 8) for _ in range(depth))

    def forward(self, x, past):
        for place, part in enumerate(self.parts):
            key, value = past.extend(place, part(x), x)
            x = x + torch.softmax(key.mean(1, keepdim=True), -1) * value.mean(1, keepdim=True)
        return x

class Server:
    def __init__(self):
        self.model = Model().eval()
        self.past = Past(2)

    @torch.inference_mode()
    def answer(self, x):
        return self.model(x, {past}).argmax(-1).tolist()

def main(steps):
    server = Server()
    for _ in range(steps):
        server.answer(torch.randn(1, 4, 8))
"""
GROWING = {
    "unpacked": """if layer in self.past:
            k, v = self.past[layer]
            key, value = torch.cat([k, key], dim=1), torch.cat([v, value], dim=1)
            self.past[layer] = (key, value)  # TML303
        else:
            self.past[layer] = (key, value)
        return key, value""",
    "by a name": """past = self.past.get(layer)
        if layer in self.past:
            past = self.past[layer]
            key = torch.cat([past[0], key], dim=1)
            value = torch.cat([past[1], value], dim=1)
        self.past[layer] = (key, value)  # TML303
        return key, value""",
    "in one piece": """if layer in self.past:
            old = self.past[layer]
            self.past[layer] = (torch.cat([old[0], key], 1), torch.cat([old[1], value], 1))  # TML303
        else:
            self.past[layer] = (key, value)
        return self.past[layer]""",
}
LISTED = """if layer < len(self.past):
            k, v = self.past[layer]
            key, value = torch.cat([k, key], dim=1), torch.cat([v, value], dim=1)
            self.past[layer] = (key, value)  # TML303
        else:
            self.past.append((key, value))
        return key, value"""


@pytest.mark.parametrize("body", GROWING.values(), ids=GROWING)
def test_pairs_in_a_table(body: str) -> None:
    check(SERVER.format(empty="{}", body=body, past="self.past"))


@pytest.mark.parametrize("body", [*GROWING.values(), LISTED], ids=[*GROWING, "listed"])
def test_pairs_for_one_call(body: str) -> None:
    empty = "[]" if body is LISTED else "{}"
    check_innocent(SERVER.format(empty=empty, body=body.replace("  # TML303", ""), past="Past(2)"))


def test_pairs_in_a_list() -> None:
    check(SERVER.format(empty="[]", body=LISTED, past="self.past"))


def test_a_list_of_which_there_is_a_limit() -> None:
    body = LISTED.replace("  # TML303", "").replace("if layer < len(self.past)", "if len(self.past) > 64")
    check_innocent(SERVER.format(empty="[]", body=body, past="self.past"))


@pytest.mark.parametrize(
    "body",
    [
        """if layer in self.past:
            k, v = self.past[layer]
            key, value = torch.cat([k, key], dim=1)[:, -16:], torch.cat([v, value], dim=1)[:, -16:]
        self.past[layer] = (key, value)
        return key, value""",
        """if layer in self.past:
            k, v = self.past[layer]
            key, value = torch.cat([k[:, 1:], key], dim=1), torch.cat([v[:, 1:], value], dim=1)
        self.past[layer] = (key, value)
        return key, value""",
        """if layer in self.past:
            k, v = self.past[layer]
            key, value = torch.cat([k, key], dim=1), torch.cat([v, value], dim=1)
            key, value = key[:, -16:], value[:, -16:]
        self.past[layer] = (key, value)
        return key, value""",
        """self.past[layer] = (torch.cat([key, key], dim=1), torch.cat([value, value], dim=1))
        return self.past[layer]""",
    ],
)
def test_pairs_of_a_window(body: str) -> None:
    check_innocent(SERVER.format(empty="{}", body=body, past="self.past"))


GENERATION = """
class Past:
    def __init__(self):
        self.past = None

    def extend(self, key, value):
        if self.past is not None:
            k, v = self.past
            key, value = torch.cat([k, key], dim=1), torch.cat([v, value], dim=1)
        self.past = (key, value){mark}
        return key, value

@torch.inference_mode()
def main(turns, tokens):
    layer = nn.Linear(8, 8)
    {loops}
"""
OF_A_TURN = """for _ in range(turns):
        past, x = Past(), torch.randn(1, 4, 8)
        for _ in range(tokens):
            key, value = past.extend(layer(x), x)
            x = key[:, -1:] + value.mean(1, keepdim=True)"""
OF_ALL = """past = Past()
    for _ in range(turns):
        x = torch.randn(1, 4, 8)
        for _ in range(tokens):
            key, value = past.extend(layer(x), x)
            x = key[:, -1:] + value.mean(1, keepdim=True)"""
OF_ONE = """past, x = Past(), torch.randn(1, 4, 8)
    for _ in range(tokens):
        key, value = past.extend(layer(x), x)
        x = key[:, -1:] + value.mean(1, keepdim=True)"""


def test_pairs_of_one_sequence() -> None:
    check_innocent(GENERATION.format(mark="", loops=OF_A_TURN))
    check_innocent(GENERATION.format(mark="", loops=OF_ONE))
    check_innocent(GENERATION.format(mark="", loops="return layer"))


def test_one_pair_for_all_sequences() -> None:
    check(GENERATION.format(mark="  # TML303", loops=OF_ALL))
