"""Objects that can be called, put on a model by whoever has made them, and left there."""

from snippets import check

PROBE = """
class Record:
    def __init__(self):
        self.seen = []

    def __call__(self, module, inputs, output):
        self.seen.append(output.detach().clone())

    def clear(self):
        self.seen = []

class Probe:
    def __init__(self, model{more}):
        {first}
        self.model = model
        self.record = Record()
        for name in ("first", "second"):
            getattr(self.model, name).register_forward_hook(self.record){mark}

    def __call__(self, x):
        self.record.clear()
        self.model(x)
        return self.record.seen
{rest}
"""


def _case(more: str = "", first: str = "pass", mark: str = "", rest: str = "") -> None:
    check(PROBE.format(more=more, first=first, mark=mark, rest=rest))


def test_a_record_that_stays_on_the_model_of_others() -> None:
    _case(mark="  # TML304")
    _case(", layers=()", mark="  # TML304")


def test_a_model_of_its_own() -> None:
    _case(first="model = nn.ModuleDict({'first': nn.Linear(8, 8), 'second': nn.Linear(8, 8)})")


def test_hooks_that_are_taken_out_by_their_tables() -> None:
    out = """
    def __del__(self):
        for name in ("first", "second"):
            table = getattr(self.model, name)._forward_hooks
            for key in [key for key, hook in table.items() if hook is self.record]:
                del table[key]
    """
    _case(rest=out)


def test_one_probe_for_the_whole_run() -> None:
    kept = """
def main(steps):
    model = nn.ModuleDict({"first": nn.Linear(8, 8), "second": nn.Linear(8, 8)})
    probe = Probe(model)
    for _ in range(steps):
        probe(torch.rand(4, 8))
    """
    _case(rest=kept)


ASKED = """
class Probe:
    def __init__(self, name{more}):
        {model}
        self.seen = []
        {layer}
        layer.register_forward_hook(self.keep){mark}

    def keep(self, module, inputs, output):
        self.seen.append(output.detach().clone())
"""


def test_a_layer_that_is_asked_for_by_name() -> None:
    own, given = "self.net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))", "self.net = net"
    for layer in (
        "layer = getattr(self.net, name)",
        "layer = dict(self.net.named_modules())[name]",
        "layer = self.net.get_submodule(name)",
    ):
        check(ASKED.format(more="", model=own, layer=layer, mark=""))
        check(ASKED.format(more=", net", model=given, layer=layer, mark="  # TML304"))
