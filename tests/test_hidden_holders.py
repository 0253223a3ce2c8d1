"""Small things that keep large ones: views, exceptions, circles of callbacks, and `Out` of a notebook."""

from __future__ import annotations

import pytest
from snippets import check

# -- views ----------------------------------------------------------------------------------------

VIEWS = """
def first(states, mode="cls"):
    if mode == "mean":
        return states.mean(1)
    return states[:, 0]

def own(states):
    return states[:, 0].clone()

def ends(model, x):
    states = model(x, x)
    return states[:, -1]

def weights(model):
    return model.table[:, 0]

@torch.inference_mode()
def embed(xs):
    model, kept, last = nn.Transformer().eval(), [], []
    for x in xs:
        states = model(x, x)
        {}
    return kept
"""
KEPT_VIEWS = [
    "kept.append(states[:, 0])  # TML309",
    "kept.append(states[..., -1, :].detach())  # TML309",
    "first = states[:, 0].squeeze(); kept.append(first)  # TML309",
    "kept.append(model(x, x)[:, 0])  # TML309",
    "kept.append(first(states))  # TML309",
    "kept.append(first(model(x, x).detach()).unsqueeze(1))  # TML309",
    "kept.append(ends(model, x))  # TML309",
    "kept.append(states.topk(8, keepdim=False)[0][:, 0])  # TML309",
]
COPIES = [
    "kept.append(states[:, 0].clone())",
    "kept.append(states[:, 0].cpu())",
    "kept.append(states[:, 0] * 2)",
    "kept.append(states[:, [0]])",
    "kept.append(states[:, :])",
    "kept.append(states[0])",  # of a tuple, maybe
    "kept.append(states); last.append(states[:, 0])",
    "kept = []; kept.append(states[:, 0])",
    "kept.append(states[:, 0].norm().item())",
    "kept.append(own(states))",
    "kept.append(first(states).clone())",
    "kept.append(weights(model))",
    "kept.append(states.gather(1, x[:, None])[:, 0])",
    "best = states.max(dim=1, keepdim=True)[0]; kept.append(best[:, 0])",
]


@pytest.mark.parametrize("line", KEPT_VIEWS)
def test_views_that_are_kept(line: str) -> None:
    check(VIEWS.format(line))


@pytest.mark.parametrize("line", COPIES)
def test_copies_that_are_kept(line: str) -> None:
    check(VIEWS.format(line))


# -- exceptions -----------------------------------------------------------------------------------

ERRORS = """
import sys, traceback

_PROBLEM = None

def fast():
    global _PROBLEM
    try:
        import fast_ops
    except ImportError as error:
        {}
        return None
    return fast_ops

def fits(model, x):
    return model(x).sum().item()

class Block(nn.Module):
    def forward(self, x):
        return fast()(x)

class Search:
    def __init__(self):
        self.rows = []

    def run(self, model, xs):
        for x in xs:
            row = dict(size=len(x))
            try:
                row["score"] = fits(model, x)
            except ValueError:
                {}
            self.rows.append(row)
"""
KEPT_ERRORS = [
    ("_PROBLEM = error  # TML307", "pass"),
    ("_PROBLEM = ('fast_ops', error)  # TML307", "pass"),
    ("pass", "row['why'] = sys.exc_info()  # TML307"),
    ("pass", "row['why'] = sys.exc_info()[1]  # TML307"),
]
KEPT_WORDS = [
    ("_PROBLEM = str(error)", "row['why'] = traceback.format_exc()"),
    ("_PROBLEM = error.with_traceback(None)", "row['why'] = sys.exc_info()[0]"),
    ("error.__traceback__ = None; _PROBLEM = error", "row = sys.exc_info()[1].args"),
    ("problem = error", "why = {'error': sys.exc_info()}; print(why)"),
]


@pytest.mark.parametrize("parts", KEPT_ERRORS)
def test_errors_that_are_kept(parts: tuple[str, str]) -> None:
    check(ERRORS.format(*parts))


@pytest.mark.parametrize("parts", KEPT_WORDS)
def test_what_an_error_says_is_kept(parts: tuple[str, str]) -> None:
    check(ERRORS.format(*parts))


def test_an_error_of_a_module_without_tensors() -> None:
    text = ERRORS.format("_PROBLEM = error", "pass")
    check(text.replace("class Block(nn.Module)", "class Block"))


# -- circles --------------------------------------------------------------------------------------

CIRCLE = """
from torch.optim.lr_scheduler import LambdaLR, StepLR

class Fold:
    def __init__(self, data, warmup):
        self.model, self.warmup = nn.Linear(64, 64), warmup
        self.optimizer = torch.optim.Adam(self.model.parameters())
        {}

    def rate(self, step):
        return min(1.0, step / self.warmup)

    def fit(self, xs):
        for x in xs:
            self.model(x).sum().backward()
            self.optimizer.step()

def folds(data):
    for part in data:
        fold = Fold(part, 3)
        fold.fit(part)
"""
CIRCLES = [
    "self.schedule = LambdaLR(self.optimizer, self.rate)  # TML315",
    "self.schedule = LambdaLR(self.optimizer, lr_lambda=[lambda step: step / self.warmup])  # TML315",
    "self.loader = torch.utils.data.DataLoader(data, collate_fn=lambda rows: rows[: self.warmup])  # TML315",
    "self.table = defaultdict(lambda: self.warmup)  # TML315",
]
NO_CIRCLES = [
    "self.schedule = LambdaLR(self.optimizer, lambda step: step / warmup)",
    "self.schedule = StepLR(self.optimizer, 3)",
    "schedule = LambdaLR(self.optimizer, self.rate)",
    "self.loader = torch.utils.data.DataLoader(data, collate_fn=list)",
    "self.table = defaultdict(list)",
]


@pytest.mark.parametrize("line", CIRCLES)
def test_objects_that_their_callbacks_hold(line: str) -> None:
    check(CIRCLE.format(line))


@pytest.mark.parametrize("line", NO_CIRCLES)
def test_objects_that_no_callback_holds(line: str) -> None:
    check(CIRCLE.format(line))


# -- cells ----------------------------------------------------------------------------------------

CELLS = "# %%\nmodel, x = Net(), torch.rand(8, 8)\n# %%\n{}\n# %%\n{}\n"
KEPT_BY_OUT = [
    ("model", "del model  # TML802"),
    ("model.eval()", "import gc\ndel x, model  # TML802\ngc.collect()"),
    ("x  # TML801", "del x"),
    ("model", "model = None  # TML802\ntorch.cuda.empty_cache()"),
]
NOT_KEPT = [
    ("print(model)", "del model"),
    ("model;", "del model"),
    ("model", "model = Net()\ndel model"),
    ("model", "Out.clear()\ndel model"),
    ("model", "model = None"),
    ("model.layer.weight.shape", "del model"),
    ("len(x)", "del x"),
]


@pytest.mark.parametrize("cells", KEPT_BY_OUT)
def test_names_that_out_keeps(cells: tuple[str, str]) -> None:
    check(CELLS.format(*cells))


@pytest.mark.parametrize("cells", NOT_KEPT)
def test_names_that_nothing_else_keeps(cells: tuple[str, str]) -> None:
    check(CELLS.format(*cells))
