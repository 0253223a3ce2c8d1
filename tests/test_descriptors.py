"""Attributes that a descriptor keeps elsewhere, and objects that are made of the class of another one."""

from __future__ import annotations

import pytest
from snippets import check

FIELDS = """
        class Field:
            def __init__(self, default=None):
                self.default = default
                self.values = {{}}

            def __get__(self, instance, owner):
                return {got}

            def __set__(self, instance, value):
                {put}

        class Item:
            vectors = Field()

            def __init__(self):
                self.vectors = torch.randn(100, 100)

        def main(n):
            for i in range(n):
                print(Item().vectors.sum().item())
"""


def test_values_of_all_objects() -> None:
    check(FIELDS.format(got="self.values.get(id(instance))", put="self.values[id(instance)] = value  # TML311"))


@pytest.mark.parametrize(
    ("got", "put"),
    [
        ("instance.__dict__['vectors']", "instance.__dict__['vectors'] = value"),
        ("instance._vectors", "instance._vectors = value"),
        ("getattr(instance, '_vectors', self.default)", "setattr(instance, '_vectors', value)"),
        ("self.values.get('last')", "self.values['last'] = float(value.sum())"),
    ],
)
def test_values_on_the_objects(got: str, put: str) -> None:
    check(FIELDS.format(got=got, put=put))


def test_values_under_weak_keys() -> None:
    weakly = FIELDS.replace("class Field", "import weakref\n\n        class Field").replace(
        "self.values = {{}}", "self.values = weakref.WeakKeyDictionary()"
    )
    check(weakly.format(got="self.values[instance]", put="self.values[instance] = value"))


COPIES = """
        class Probe:
            def __init__(self):
                self.seen = {{}}

            def note(self, module, args, output):
                self.seen["input"] = args[0].detach()

            def another(self):
                return {made}

        class Probes:
            def __init__(self, first):
                self.first = first
                self.probes = []

            def run(self, model, x):
                probe = self.first.another()
                handle = model.register_forward_hook(probe.note)
                {kept}
                try:
                    model(x)
                finally:
                    handle.remove()

        def main(batches):
            model = Net()
            probes = Probes(Probe())
            for x in batches:
                probes.run(model, x)
"""


@pytest.mark.parametrize("made", ["self.__class__()", "type(self)()", "Probe()"])
def test_objects_of_the_same_class(made: str) -> None:
    check(COPIES.format(made=made, kept="self.probes.append(probe)  # TML303"))
    check(COPIES.format(made=made, kept="self.probes = [probe]"))
