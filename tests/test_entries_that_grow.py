"""Entries of a table that go on growing, whatever the keys are, and inputs of hooks that all layers have."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

_STREAM = """
class Streams:
    def __init__(self, net):
        self.net, self.past = net.eval(), {{}}

    @torch.inference_mode()
    def feed(self, sid, chunk):
        {get}
        {put}
        return self.net(x)[-1].tolist()
    {rest}
"""
_TESTED = "x = torch.tensor(chunk)\n        if sid in self.past: x = torch.cat([self.past[sid], x])"
_ASKED = "past = self.past.get(sid)\n        x = chunk if past is None else torch.cat([past, chunk])"
_ENDED = "\n    def end(self, sid):\n        self.past.pop(sid, None)\n"


@pytest.mark.parametrize(("get", "code"), [(_TESTED, "TML303"), (_ASKED, "TML311")])
def test_each_stream_keeps_what_has_come(get: str, code: str) -> None:
    check(_STREAM.format(get=get, put=f"self.past[sid] = x  # {code}", rest=""))


@pytest.mark.parametrize("get", [_TESTED, _ASKED])
@pytest.mark.parametrize(
    ("put", "rest"), [("self.past[sid] = x", _ENDED), ("self.seen = len(x)", ""), ("self.past['last'] = x[-1:]", "")]
)
def test_streams_that_end(get: str, put: str, rest: str) -> None:
    check_innocent(_STREAM.format(get=get, put=put, rest=rest))


_AVERAGE = """
class Average:
    def __init__(self, model):
        self.model, self.shadow = model, {{}}
        for name, p in model.named_parameters():
            self.shadow[name] = p.{first}

    {mode}
    def update(self):
        for name, p in self.model.named_parameters():
            self.shadow[name] = {update}{mark}
"""
_MIXED = "0.9 * self.shadow[name] + 0.1 * p"


def test_average_under_the_name_of_each_parameter() -> None:
    made = {"first": "detach().clone()", "mode": "", "update": _MIXED, "mark": "  # TML205"}
    check(_AVERAGE.format(**made))
    check(_AVERAGE.format(**{**made, "first": "clone()"}))
    check_innocent(_AVERAGE.format(**{**made, "mode": "@torch.no_grad()", "mark": ""}))
    check_innocent(_AVERAGE.format(**{**made, "update": _MIXED + ".detach()", "mark": ""}))
    check_innocent(_AVERAGE.format(**{**made, "update": "p.detach().clone()", "mark": ""}))


_INPUTS = """
class Ranges:
    def __init__(self, model):
        self.seen = {{}}
        {register}

    def look(self, name, layer, inputs, *output):
        self.seen.setdefault(name, []).append({kept}){mark}

def main(steps):
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))
    ranges = Ranges(model)
    for _ in range(steps):
        model(torch.rand(4, 8)).sum().backward()
"""
_EACH = "for name, layer in model.named_modules(): layer.{}(functools.partial(self.look, name))"
_FIRST = "model[0].{}(functools.partial(self.look, 'first'))"


@pytest.mark.parametrize("kind", ["register_forward_pre_hook", "register_forward_hook"])
def test_inputs_of_all_layers_have_a_graph(kind: str) -> None:
    each, first = _EACH.format(kind), _FIRST.format(kind)
    check(_INPUTS.format(register=each, kept="inputs[0]", mark="  # TML108"))
    check_innocent(_INPUTS.format(register=each, kept="inputs[0].abs().max().item()", mark=""))
    check(_INPUTS.format(register=first, kept="inputs[0]", mark="  # TML303"))
