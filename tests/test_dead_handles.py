"""Lists that keep the handles of hooks that are gone."""

from snippets import check

EXTRACTOR = """
class Extractor:
    def __init__(self, model):
        self.model = model
        self.handles = []
        self.seen = []
        {first}

    def hook_in(self):
        for layer in self.model.layers:
            {put}{mark}

    def keep(self, module, inputs, output):
        self.seen.append(output.detach())

    def take_out(self):
        for handle in self.handles:
            handle.remove()
        {then}

    def features(self, x):
        {call}
        try:
            self.model(x)
            found, self.seen = self.seen, []
        finally:
            {after}
        return found
"""
PUT = "self.handles.append(layer.register_forward_hook(self.keep))"


def _case(
    put: str = PUT,
    first: str = "pass",
    then: str = "pass",
    call: str = "self.hook_in()",
    after: str = "",
    mark: str = "",
) -> None:
    after = after or "self.take_out()"
    check(EXTRACTOR.format(put=put, first=first, then=then, call=call, after=after, mark=mark))


def test_hooks_that_are_taken_out_and_handles_that_stay() -> None:
    _case(mark="  # TML303")
    bound = "handle = layer.register_forward_hook(self.keep)\n            self.handles.append(handle)"
    _case(bound, mark="  # TML303")


def test_a_list_that_is_emptied_or_made_anew() -> None:
    _case(then="self.handles.clear()")
    _case(then="self.handles = []")
    _case(then="del self.handles[:]")
    _case(call="self.handles = []; self.hook_in()")
    _case(after="self.take_out(); drop(self.handles)")
    _case(put="self.handles = [layer.register_forward_hook(self.keep)]")


def test_hooks_that_are_put_on_once() -> None:
    _case(first="self.hook_in()", call="pass", after="pass")


ENTERED = """
from contextlib import ContextDecorator

class Collector({base}):
    def __init__(self, model):
        self.model, self.handles = model, []

    def __enter__(self):
        for layer in self.model.layers:
            self.handles.append(layer.register_forward_hook(self.keep)){mark}
        return self

    def keep(self, module, inputs, output):
        module.rows = output.shape[0]

    def __exit__(self, *exc):
        for handle in self.handles:
            handle.remove()
        {then}
"""


def test_a_decorator_is_entered_again() -> None:
    check(ENTERED.format(base="ContextDecorator", mark="  # TML303", then="return False"))
    check(ENTERED.format(base="ContextDecorator", mark="", then="self.handles.clear()"))
    check(ENTERED.format(base="object", mark="", then="return False"))


PASSED = """
class Saliency:
    def __init__(self, model, layer):
        self.model, self.handles, self.gradient = model, [], None
        self.handles.append(layer.register_forward_hook(self.follow))

    def follow(self, module, inputs, output):
        {put}{mark}

    def store(self, gradient):
        self.gradient = gradient.detach()

    def __call__(self, x):
        {first}
        self.model(x).sum().backward()
        return self.gradient

    def close(self):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
"""


def test_a_hook_that_puts_one_on_each_output() -> None:
    put = "self.handles.append(output.register_hook(self.store))"
    check(PASSED.format(put=put, mark="  # TML303", first="pass"))
    check(PASSED.format(put=put, mark="", first="del self.handles[1:]"))
    check(PASSED.format(put="output.register_hook(self.store)", mark="", first="pass"))
