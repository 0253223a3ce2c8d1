"""Functions, hooks and errors that refer to what they keep, in everyday words: guilty forms, innocent twins.

A trailing `# TML315` in a snippet says what must be reported on that line; nothing else may be.
"""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

# -- functions that a part of an object is given ---------------------------------------------------

SESSION = """
class Lane:
    def __init__(self):
        self.calls = []

    def after(self, call):
        self.calls.append(call)

class Pool:
    def __init__(self, width):
        self.blocks = torch.zeros(256, width)
        self.name = str(width)
        self.lane = Lane()
        {given}

class Desk:
    def __init__(self):
        self.pools = {{}}

    def open(self, key, width):
        self.pools[key] = Pool(width)

    def close(self, key):
        {ends}

def main(steps):
    desk = Desk()
    for step in range(steps):
        desk.open(step, 64)
        desk.close(step)
"""


def test_a_part_that_keeps_a_function_of_its_whole() -> None:
    guilty = "self.lane.after(lambda: print(self.name))  # TML315"
    check(SESSION.format(given=guilty, ends="del self.pools[key]"))
    check(SESSION.format(given=guilty, ends="return self.pools.pop(key).name"))


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        ("name = self.name; self.lane.after(lambda: print(name))", "del self.pools[key]"),
        ("self.lane.after(print)", "del self.pools[key]"),
    ],
)
def test_a_part_that_keeps_a_function_of_nobody(given: str, ends: str) -> None:
    check_innocent(SESSION.format(given=given, ends=ends))


FOLD = """
class Ticker:
    def __init__(self, on_tick):
        self.on_tick = on_tick

    def tick(self, x):
        return self.on_tick(x)

def total(x):
    return x.sum().item()

class Fold:
    def __init__(self, width):
        self.model = nn.Linear(width, width)
        {made}

    @torch.no_grad()
    def score(self, x):
        return self.model(x).sum().item()

{runs}
"""
EACH = "def run(widths):\n    return [Fold(width).ticker.tick(torch.rand(4, width)) for width in widths]"


@pytest.mark.parametrize(
    ("made", "runs"),
    [
        ("self.ticker = Ticker(self.score)  # TML315", EACH),
        ("self.ticker = Ticker(lambda x: self.score(x))  # TML315", EACH),
        ("self.ticker = Ticker(total)", EACH),
        (
            "self.ticker = Ticker(self.score)",
            "def run(width):\n    return Fold(width).ticker.tick(torch.rand(4, width))",
        ),
    ],
)
def test_a_part_that_is_made_with_a_method_of_its_whole(made: str, runs: str) -> None:
    check(FOLD.format(made=made, runs=runs))


# -- loaders and hooks ----------------------------------------------------------------------------

ENDLESS = """
import itertools

def endless(source):
    while True:
        {split}
        yield from current

def train(net, loader, optimizer):
    for x, y in endless({given}):
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("split", "given"),
    [
        ("source, current = itertools.tee(source)  # TML308", "iter(loader)"),
        ("current, source = itertools.tee(source)  # TML308", "iter(loader)"),
        ("source, current = itertools.tee(source)", "[(net.x, net.y)]"),
        ("current = iter(source)", "loader"),
    ],
)
def test_an_iterator_that_each_pass_splits_anew(split: str, given: str) -> None:
    check(ENDLESS.format(split=split, given=given))


READER = """
class Reader:
    def __init__(self, net):
        self.net = net
        self.seen = {{}}

    def _hook(self, name):
        def keep(module, inputs, output):
            {keeps}

        return keep

    @torch.no_grad()
    def read(self, x, wanted):
        for name, module in self.net.named_modules():
            if name == wanted:
                handle = module.register_forward_hook(self._hook(name)){mark}
        self.net(x)
        handle.remove()
        return self.seen.pop(wanted)
"""


@pytest.mark.parametrize(
    ("keeps", "mark"),
    [
        ("self.seen[name] = output.clone()", ""),
        ("self.seen[id(output)] = output.clone()", "  # TML304"),
    ],
)
def test_a_hook_of_an_own_module_that_an_error_leaves(keeps: str, mark: str) -> None:
    check(READER.format(keeps=keeps, mark=mark))


# -- weak tables ----------------------------------------------------------------------------------

ADAPTERS = """
import weakref

class Adapter:
    def __init__(self, base, rank):
        {keeps}
        self.down = nn.Linear(64, rank)

class Pool:
    def __init__(self, rank):
        self.rank = rank
        self.table = weakref.WeakKeyDictionary()

    def get(self, layer):
        adapter = self.table.get(layer)
        if adapter is None:
            adapter = {made}
            self.table[layer] = adapter{mark}
        return adapter
"""


@pytest.mark.parametrize(
    ("keeps", "made", "mark"),
    [
        ("self.base = base", "Adapter(layer, self.rank)", "  # TML316"),
        ("self.base = base", "Adapter(rank=self.rank, base=layer)", "  # TML316"),
        ("self.base = base", "(Adapter(layer, 4), 0)", "  # TML316"),
        ("self.base = base", "functools.partial(Adapter, layer)", "  # TML316"),
        ("self.base = base", "lambda x: layer(x)", "  # TML316"),
        ("self.base = weakref.ref(base)", "Adapter(layer, self.rank)", ""),
        ("self.width = base.in_features", "Adapter(layer, self.rank)", ""),
        ("self.base = base", "Adapter(None, self.rank)", ""),
        ("self.base = base", "Adapter(self.other, layer)", ""),
    ],
)
def test_the_value_of_a_weak_key_of_which_nothing_is_seen(keeps: str, made: str, mark: str) -> None:
    check(ADAPTERS.format(keeps=keeps, made=made, mark=mark))


# -- a function that is set on a part, and errors of what a model is asked for ----------------------

TREE = """
class Leaf:
    def __init__(self):
        self.on_change = None

class Tree:
    def __init__(self, features):
        self.features = features
        self.leaves = [Leaf() for _ in range(4)]
        for leaf in self.leaves:
            leaf.on_change = {given}

    def refresh(self):
        return self.features.sum()

def grow(steps):
    for step in range(steps):
        print(Tree(torch.rand(64, 64)).refresh().item())
"""


@pytest.mark.parametrize(
    ("given"),
    ["lambda: self.refresh()  # TML315", "print", "lambda: print(1)"],
)
def test_a_function_of_the_whole_that_is_set_on_its_part(given: str) -> None:
    check(TREE.format(given=given))


SCORES = """
import sys

failures = []

def score(model, samples):
    results = {{}}
    for key, x in samples.items():
        try:
            results[key] = {tried}
        except Exception:
            {kept}
    return results
"""


@pytest.mark.parametrize(
    ("tried", "kept"),
    [
        ("model.encode(x).mean().item()", "failures.append((key, sys.exc_info()))  # TML307"),
        ("model.encode(x).mean().item()", "failures.append((key, sys.exc_info()[0]))"),
        ("key.encode('utf8')", "failures.append((key, sys.exc_info()))"),
    ],
)
def test_errors_of_what_a_model_is_asked_for(tried: str, kept: str) -> None:
    check(SCORES.format(tried=tried, kept=kept))


JOINED = """
def predict(model: nn.Module, loader, device):
    model.to(device).eval()
    found = torch.empty(0, 8, device=device)
    with torch.no_grad():
        for x in loader:
            {joins}
    return found.cpu().numpy()
"""


@pytest.mark.parametrize(
    "joins",
    [
        "found = torch.cat((found, model(x.to(device))))  # TML310",
        "found = torch.vstack([found, model(x.to(device))])  # TML310",
        "found = torch.cat((model(x.to(device)), x.to(device)))",
        "found = found + model(x.to(device))",
        "found = torch.cat((found, torch.cat([model(x.to(device)).topk(1)[1], x.to(device)[:, :1]], dim=1)))",
    ],
)
def test_results_that_are_joined_to_those_before(joins: str) -> None:
    check(JOINED.format(joins=joins))


def test_features_that_a_model_is_asked_for() -> None:
    check("""
        @torch.no_grad()
        def collect(vit: nn.Module, loader):
            vit.eval()
            rows = []
            for images, _ in loader:
                rows.append(vit.forward_features(images)[:, 0])  # TML309
            return torch.cat(rows)
    """)


# -- annotated modules ----------------------------------------------------------------------------


def test_a_hook_on_a_module_that_is_annotated_and_given() -> None:
    check("""
        class Map:
            def __init__(self, model: nn.Module, layer: nn.Module):
                self.model = model
                self.seen = []
                layer.register_forward_hook(self._keep)  # TML304

            def _keep(self, module, inputs, output):
                self.seen = [output.detach()]

            def of(self, x):
                return self.model(x).sum() + self.seen[0].sum()

        def explain(model, images):
            with torch.no_grad():
                return [Map(model, model.layer4).of(image).item() for image in images]
    """)


# -- tables of the parts of a model, and what their entries refer to ---------------------------------

BOUNDS = """
import weakref
from torch.utils.weak import WeakIdKeyDictionary

BOUNDS = {table}

def make(weight, most):
    norm = weight.detach().norm().item()
    values = weight.detach()

    def clip():
        return {uses}

    return clip

def constrain(net):
    for weight in net.parameters():
        if weight not in BOUNDS:
            BOUNDS[weight] = {value}{mark}

def main(steps):
    for _ in range(steps):
        constrain(nn.Linear(8, 2))
"""
WEAK = "WeakIdKeyDictionary()"


@pytest.mark.parametrize(
    ("table", "uses", "value", "mark"),
    [
        (WEAK, "weight.norm() > most", "make(weight, 1.0)", "  # TML316"),
        ("weakref.WeakKeyDictionary()", "weight.norm() > most", "make(weight, 1.0)", "  # TML316"),
        (WEAK, "norm", "functools.partial(torch.norm, weight)", "  # TML316"),
        (WEAK, "norm > most", "make(weight, 1.0)", ""),
        (WEAK, "values.norm() > most", "make(weight, 1.0)", ""),
        (WEAK, "norm", "1.0", ""),
        ("{}", "norm > most", "make(weight, 1.0)", "  # TML301"),
        ("weakref.WeakValueDictionary()", "norm > most", "make(weight, 1.0)", "  # TML301"),
    ],
)
def test_a_table_of_the_parts_of_a_model(table: str, uses: str, value: str, mark: str) -> None:
    check(BOUNDS.format(table=table, uses=uses, value=value, mark=mark))


# -- what calls back with itself ------------------------------------------------------------------

PREDICTORS = """
class Predictor:
    def __init__(self, net, callbacks={given}):
        self.net = net
        self.masks = None
        self.callbacks = callbacks{or_own}
        {subscribes}

    def begin(self, predictor):
        self.masks = torch.zeros(5, 32, 32)

    def run(self, x):
        for callback in self.callbacks.get("start", []):
            callback(self)
        return self.net(x)

class Model:
    def __init__(self):
        self.net = nn.Linear(8, 2)
        self.callbacks = {{"start": [], "end": []}}

    def predict(self, x):
        return Predictor(self.net, self.callbacks).run(x)

def main(steps):
    model = Model()
    for _ in range(steps):
        model.predict(torch.rand(4, 8))
"""


@pytest.mark.parametrize(
    ("given", "or_own", "subscribes"),
    [
        ("()", "", 'self.callbacks["start"].append(self.begin)  # TML314'),
        ("None", ' or {"start": []}', 'self.callbacks["start"].append(self.begin)  # TML314'),
        ("None", ' or {"start": []}', "self.begin(self)"),
    ],
)
def test_a_method_among_the_callbacks_of_what_lives_longer(given: str, or_own: str, subscribes: str) -> None:
    check(PREDICTORS.format(given=given, or_own=or_own, subscribes=subscribes))


# -- objects under a number of their own ------------------------------------------------------------

TABLES = """
import itertools
import weakref

NUMBERS = itertools.count()
made = 0
TABLES = {table}

class Rows:
    def __init__(self, count, name, peer):
        global made
        made += 1
        self.rows = torch.empty(count, 8)
        self.number = {number}
        TABLES[{key}] = self{mark}

def look_up(number, i):
    return TABLES[number].rows[i]
{more}
"""


@pytest.mark.parametrize(
    ("table", "number", "key", "mark", "more"),
    [
        ("{}", "next(NUMBERS)", "self.number", "  # TML314", ""),
        ("{}", "made", "self.number", "  # TML314", ""),
        ("{}", "0", "str(id(self))", "  # TML314", ""),
        ("{}", "name", "self.number", "", ""),
        ("{}", "0", "id(peer)", "", ""),
        ("{}", "next(NUMBERS)", "self.number", "", "\ndef close(number):\n    TABLES.pop(number)"),
        ("weakref.WeakValueDictionary()", "next(NUMBERS)", "self.number", "", ""),
    ],
)
def test_an_object_that_puts_itself_under_its_number(table: str, number: str, key: str, mark: str, more: str) -> None:
    check(TABLES.format(table=table, number=number, key=key, mark=mark, more=more))


SIGNALS = """
import signal

class All:
    def __init__(self, calls):
        self.calls = calls

    def __call__(self, number, frame):
        for call in self.calls:
            call(number, frame)

class Run:
    def __init__(self, width):
        self.model = nn.Linear(width, width)

    def save(self, number, frame):
        torch.save(self.model.state_dict(), "last.pt")

    def fit(self, x):
        before = signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGTERM, {handler}){mark}
        y = self.model(x).mean().item()
        {after}
        return y

def main(steps):
    for _ in range(steps):
        Run(8).fit(torch.rand(4, 8))
"""


@pytest.mark.parametrize(
    ("handler", "after", "mark"),
    [
        ("All([before, self.save])", "pass", "  # TML314"),
        ("All([before, self.save])", "signal.signal(signal.SIGTERM, before)", ""),
        ("All([before, print])", "pass", ""),
    ],
)
def test_a_handler_that_calls_several_methods(handler: str, after: str, mark: str) -> None:
    check(SIGNALS.format(handler=handler, after=after, mark=mark))


# -- what a clause runs, and what hooks are let go of -------------------------------------------------

DECODER = """
class Codec:
    def __init__(self, device):
        self.first_stage = Net(){chain}
        self.device = device

    def in_tiles(self, z):
        return torch.cat([{runs} for part in z.split(1)])

    @torch.no_grad()
    def decode(self, z):
        full = None
        try:
            full = self.first_stage(z)
        except torch.cuda.OutOfMemoryError:
            {clause}
        if full is None:
            full = self.in_tiles(z)
        return full
"""


@pytest.mark.parametrize(
    ("chain", "runs", "clause"),
    [
        (".eval().to(device)", "self.first_stage(part)", "full = self.in_tiles(z)  # TML307"),
        ("", "self.first_stage(part)", "full = self.in_tiles(z)  # TML307"),
        (".eval().to(device)", "self.first_stage(part)", "torch.cuda.empty_cache()"),
        (".eval().to(device)", "part.mean(0)", "full = self.in_tiles(z)"),
    ],
)
def test_a_part_that_is_made_and_moved_at_once(chain: str, runs: str, clause: str) -> None:
    check(DECODER.format(chain=chain, runs=runs, clause=clause))


INSTALLED = """
class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.keys = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))

    def install(self):
        seen, hooks = {{}}, []
        def keep(module, _, out):
            seen[module] = out
        for key in self.keys:
            hooks.append(key.register_forward_hook(keep))
        return seen, hooks

class Task:
    def __init__(self, layers):
        self.layers = layers
        self.seen, self.hooks = {{}}, []

    def begin(self):
        self.seen, self.hooks = self.layers.install()

    def clean_up(self):
        {removes}
        self.seen = {{}}
        self.hooks = []{mark}
"""


@pytest.mark.parametrize(
    ("removes", "mark"),
    [
        ("pass", "  # TML304"),
        ("for hook in self.hooks:\n            hook.remove()", ""),
        ("self.layers.take_out(self.hooks)", ""),
    ],
)
def test_handles_that_another_object_gives_back(removes: str, mark: str) -> None:
    check(INSTALLED.format(removes=removes, mark=mark))


# -- parts that know what they are a part of ------------------------------------------------------------

PARTS = """
import weakref

class Store:
    def __init__(self, parent, values):
        self.parent = parent
        self.values = values

    def close(self):
        {close}

class Sample:
    def __init__(self, x):
        {makes}

class Tree:
    def __init__(self, state, parent=None):
        self.state, self.parent, self.children = state, parent, []

    def expand(self, model):
        for part in model(self.state).detach().chunk(2):
            {grows}

def main(steps):
    model, total = nn.Linear(8, 16), 0.0
    {before}
    for _ in range(steps):
        {each}
"""
MAKES = 'self.store = Store(self, {"x": x})'
ONE = "sample = Sample(torch.rand(8)); total += sample.store.values['x'].mean().item()"
TREE = "tree = Tree(torch.rand(8)); tree.expand(model)"
GROWS = "self.children.append(Tree(part, self))"


@pytest.mark.parametrize(
    "parts",
    [
        {"makes": f"{MAKES}  # TML315"},
        {"makes": "store = Store(None, {'x': x}); store.parent = self; self.store = store  # TML315"},
        {"makes": "self.store = Store(None, {'x': x}); self.store.parent = self  # TML315"},
        {"makes": MAKES.replace("Store(self", "Store(weakref.ref(self)")},
        {"makes": MAKES.replace("Store(self", "Store(None")},
        {"makes": MAKES, "close": "self.parent = None"},
        {"makes": MAKES, "before": ONE, "each": "total += sample.store.values['x'].mean().item()"},
        {"each": TREE, "grows": f"{GROWS}  # TML315"},
        {"each": TREE, "grows": GROWS.replace("self)", "None)")},
        {"each": "tree.expand(model)", "before": "tree = Tree(torch.rand(8))", "grows": "Tree(part, self).expand(abs)"},
    ],
)
def test_a_part_that_refers_to_its_whole(parts: dict[str, str]) -> None:
    default = {"close": "pass", "makes": "self.x = x", "grows": "pass", "before": "pass", "each": ONE}
    check(PARTS.format(**default | parts))
