"""Names of models that go while a table, a cache or the user of a `with` goes on having them."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

ZOO = """
import gc

class Zoo:
    def __init__(self):
        self.models, self.order = {{}}, []

    def get(self, name):
        if name not in self.models:
            if len(self.models) >= 2:
                oldest = self.order.pop(0)
                model = {taken}
                del model{mark}
                gc.collect()
                torch.cuda.empty_cache()
            self.models[{key}] = Net().cuda()
            self.order.append(name)
        return self.models[name]
"""
MARK = "  # TML602"


def test_a_table_that_goes_on_having_the_oldest() -> None:
    check(ZOO.format(taken="self.models[oldest]", key="name", mark=MARK))


@pytest.mark.parametrize(("taken", "key"), [("self.models.pop(oldest)", "name"), ("self.models[oldest]", "oldest")])
def test_a_table_that_lets_go(taken: str, key: str) -> None:
    check_innocent(ZOO.format(taken=taken, key=key, mark=""))


def test_a_table_that_is_gone_through() -> None:
    experts = """
    def run(x):
        experts = {made}
        for name, expert in experts.items():
            x = expert(x)
            del expert{mark}
            torch.cuda.empty_cache()
        {after}
        return x
    """
    check(experts.format(made="{str(i): Net().cuda() for i in range(4)}", after="pass", mark=MARK))
    check(experts.format(made='{"low": Net().cuda(), "high": Net().cuda()}', after="pass", mark=MARK))
    check_innocent(experts.format(made="torch.load('rows.pt')", after="pass", mark=""))
    check_innocent(experts.format(made='{"low": Net().cuda(), "high": Net().cuda()}', after="del experts", mark=""))


CACHED = """
import gc
from functools import lru_cache

{decorator}
def get_model(name):
    return Net().cuda()

def unload(name):
    model = get_model(name)
    {work}
    del model{mark}
    gc.collect()
    torch.cuda.empty_cache()
"""


def test_a_cache_that_goes_on_having_a_model() -> None:
    check(CACHED.format(decorator="@lru_cache(maxsize=4)", work="pass", mark=MARK))


@pytest.mark.parametrize(
    ("decorator", "work"),
    [
        ("@lru_cache(maxsize=4)", "get_model.cache_clear()"),
        ("@torch.no_grad()", "pass"),
        ("@lru_cache(maxsize=4)", "model.cpu()"),
    ],
    ids=["cleared", "no cache", "on the host"],
)
def test_caches_that_have_none(decorator: str, work: str) -> None:
    check_innocent(CACHED.format(decorator=decorator, work=work, mark=""))


LOADED = """
import gc

class Loaded:
    def __init__(self, width):
        self.width = width

    def __enter__(self):
        self.model = nn.Linear(self.width, self.width).cuda()
        return {given}

    def __exit__(self, *exc):
        {gone}{mark}
        gc.collect()
        torch.cuda.empty_cache()

def compare(x):
    with Loaded(8) as model:
        first = model(x).detach()
    {after}
"""
AFTER = "with torch.no_grad():\n        return first - Net().cuda()(x)"


@pytest.mark.parametrize("gone", ["del self.model", "self.model = None"])
def test_a_with_whose_name_stays(gone: str) -> None:
    check(LOADED.format(given="self.model", gone=gone, after=AFTER, mark=MARK))


@pytest.mark.parametrize(
    ("given", "after"),
    [("self", AFTER), ("self.model", "return first"), ("self.model", "del model\n    " + AFTER)],
    ids=["the object", "nothing more", "let go of"],
)
def test_a_with_that_leaves_nothing(given: str, after: str) -> None:
    use = LOADED.format(given=given, gone="del self.model", after=after, mark="")
    check_innocent(use if given != "self" else use.replace("model(x)", "model.model(x)"))


_SHARED = """
    def embed(path, shared=None):
        if shared is not None:
            {taken}
        else:
            {loaded}
        with torch.no_grad():
            found = model(names(path))
        if shared is None:
            del model{mark}
            torch.cuda.empty_cache()
        return found.cpu()
"""


@pytest.mark.parametrize("loaded", ["model = load(path)", "names, model = load(path)", "[names, model] = load(path)"])
def test_a_model_that_is_loaded_where_no_table_has_it(loaded: str) -> None:
    check_innocent(_SHARED.format(taken='names, model = shared["names"], shared["model"]', loaded=loaded, mark=""))


def test_a_model_that_only_a_table_has() -> None:
    taken = 'names, model = shared["names"], shared["model"]'
    check(_SHARED.format(taken=taken, loaded="return None", mark=MARK))


_IN_TURN = """
    import gc

    def flush():
        gc.collect()
        torch.cuda.empty_cache()

    def sample(pipe, x, steps, device):
        {first}
        model = None{mark}
        {between}
        for step in steps:
            {chosen}
            with torch.no_grad():
                x = pipe.step(x, step)
        {last}
        return x
"""
IN_TURN = {
    "first": "model = pipe.low",
    "mark": "",
    "between": "pass",
    "chosen": "wanted = pipe.low if step > 5 else pipe.high\n"
    "            if model is not wanted:\n                wanted.to(device)\n            model = wanted",
    "last": "flush()",
}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"chosen": "if model != pipe.low:\n                pipe.low.to(device)"},
        {"between": "gc.collect()", "last": "gc.collect()\n        torch.cuda.empty_cache()"},
        {"between": "print(model)", "chosen": "pass"},
    ],
)
def test_a_name_that_says_that_none_is_in_use_yet(change: dict[str, str]) -> None:
    check_innocent(_IN_TURN.format(**IN_TURN | change))


@pytest.mark.parametrize(
    "change",
    [
        {"between": "flush()"},
        {"chosen": "pass"},
        {"chosen": "other = pipe.high\n            print(other)"},
    ],
)
def test_a_name_that_goes_before_the_cache_is_emptied(change: dict[str, str]) -> None:
    check(_IN_TURN.format(**IN_TURN | {"mark": MARK} | change))
