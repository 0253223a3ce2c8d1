"""Objects that hold themselves, what graphs and modules keep for others, and names beside a list.

A trailing `# TML315` in a snippet says what must be reported on that line; nothing else may be.
"""

from __future__ import annotations

import pytest
from snippets import check, messages

SNIPPETS = {
    "a method of itself on something that is made in numbers": """
        class Curve:
            def __init__(self, points):
                self.points = torch.zeros(64, 3) + torch.as_tensor(points)
                self.at = self._linear  # TML315

            def _linear(self, t):
                return self.points[0] * t

            def shifted(self, by):
                return type(self)(self.points + by)
        """,
    "a method of itself on something that there is one of": """
        class Study:
            def __init__(self, points):
                self.points = torch.zeros(64, 3) + torch.as_tensor(points)
                self.at = self._linear

            def _linear(self, t):
                return self.points[0] * t

            @classmethod
            def load(cls, path):
                return cls(torch.load(path, map_location="cpu"))
        """,
    "a distribution that hands its own methods to its base": """
        class Proposal(torch.distributions.Distribution):
            def __init__(self, draw, score):
                self.draw, self.score = draw, score  # TML315

        class Peaked(Proposal):
            def __init__(self, peak):
                self.peak = peak
                super().__init__(self._draw, self._score)

            def expand(self, shape, _instance=None):
                new = self._get_checked_instance(Peaked, _instance)
                new.peak = self.peak.expand(shape)
                return new

            def _draw(self, shape):
                return self.peak.new_ones(shape)

            def _score(self, value):
                return value - self.peak
        """,
    "a distribution whose methods are weak": """
        from util import weakmethod

        class Peaked(torch.distributions.Distribution):
            def __init__(self, peak):
                self.peak = torch.as_tensor(peak)
                self.draw = self._draw

            def expand(self, shape, _instance=None):
                new = self._get_checked_instance(Peaked, _instance)
                new.peak = self.peak.expand(shape)
                return new

            @weakmethod
            def _draw(self, shape):
                return self.peak.new_ones(shape)
        """,
    "what a function computes, applied to what nobody has seen": """
        class Noise(torch.autograd.Function):
            @staticmethod
            def forward(ctx, location, scale, shape):
                ctx.shape = shape
                ctx.white = location.new_empty(shape).normal_()  # TML106
                ctx.spread = torch.matmul(ctx.white, scale.t())  # TML106
                ctx.save_for_backward(scale)
                return location + ctx.spread

            @staticmethod
            def backward(ctx, gradient):
                (scale,) = ctx.saved_tensors
                return gradient, ctx.white.t() @ gradient @ scale, None

        class Normal:
            def __init__(self, location, scale):
                self.location, self.scale = location, scale

            def draw(self, shape):
                return Noise.apply(self.location, self.scale, shape)
        """,
    "a context manager's hooks with what it was given": """
        import contextlib
        from functools import partial

        def scaled(module, inputs, by):
            return (inputs[0] * by,)

        @contextlib.contextmanager
        def scaling(model, factors):
            handles = []
            for layer in model.children():
                handle = layer.register_forward_pre_hook(partial(scaled, by=factors))  # TML304
                handles.append(handle)
            yield
            for handle in handles:
                handle.remove()

        @contextlib.contextmanager
        def adding(model, offsets):
            handle = model.register_forward_hook(lambda module, inputs, output: output + offsets)  # TML304
            yield model
            handle.remove()
        """,
    "a context manager's hooks that are taken out, or have nothing": """
        import contextlib
        from functools import partial

        def scaled(module, inputs, by):
            return (inputs[0] * by,)

        def twice(module, inputs):
            return (inputs[0] * 2,)

        @contextlib.contextmanager
        def scaling(model, factors):
            handles = [layer.register_forward_pre_hook(partial(scaled, by=factors)) for layer in model.children()]
            try:
                yield
            finally:
                for handle in handles:
                    handle.remove()

        @contextlib.contextmanager
        def doubling(model, factor: float):
            first = model.register_forward_pre_hook(twice)
            second = model.register_forward_pre_hook(partial(scaled, by=2))
            third = model.register_forward_hook(lambda module, inputs, output: output * factor)
            yield
            first.remove()
            second.remove()
            third.remove()
        """,
    "a list of models, and their names": """
        import gc

        def main(args, load, train):
            image_encoder, text_encoder = load("image"), load("text")
            encoders = [image_encoder, text_encoder]
            rows = encode(args.prompts, encoders)
            if not args.tune:
                del encoders  # TML604
                gc.collect()
                torch.cuda.empty_cache()
            for step in range(args.steps):
                if args.tune:
                    text_encoder.train()
                train(rows, step)
        """,
    "a list of models that work on, or go by name": """
        import gc

        def main(args, load, train):
            image_encoder, text_encoder = load("image"), load("text")
            encoders = [image_encoder, text_encoder]
            rows = encode(args.prompts, encoders)
            del encoders
            gc.collect()
            torch.cuda.empty_cache()
            train(rows, image_encoder, text_encoder)

        def other(args, load, train):
            image_encoder, text_encoder = load("image"), load("text")
            encoders = [image_encoder, text_encoder]
            rows = encode(args.prompts, encoders)
            if not args.tune:
                del encoders
                del image_encoder, text_encoder
                gc.collect()
                torch.cuda.empty_cache()
            train(rows)
        """,
    "lists of the class and of the module that objects put themselves into": """
        import weakref

        _OPEN = []

        class Span:
            every = defaultdict(list)
            last = defaultdict(list)
            weak = weakref.WeakSet()
            few = deque(maxlen=8)

            def __init__(self, name):
                self.began = torch.cuda.Event(enable_timing=True)
                Span.every[name].append(self)  # TML314
                Span.last[name].append(self)
                Span.weak.add(self)
                self.few.append(self)
                _OPEN.append(self)

            def end(self):
                _OPEN.remove(self)

            @classmethod
            def begin(cls):
                cls.last = defaultdict(list)
        """,
    "what refers to the object, in a list of its class or in one of its own": """
        from hooks import Saver

        class Shared:
            parts = []
            own = []

            def __init__(self, build):
                self.own = []
                self.network = build()
                self.saver = Saver(self)
                self.parts.append(self.saver)  # TML314
                self.own.append(self.saver)
        """,
    "a cached method of what has agents": """
        class Arena:
            def __init__(self, agents, rows):
                self.agents = agents
                self.rows = rows

            @functools.lru_cache(maxsize=1)  # TML305
            def count(self):
                return sum(agent.count() for agent in self.agents)

        class Table:
            def __init__(self, rows):
                self.rows = rows

            @functools.lru_cache(maxsize=1)
            def count(self):
                return len(self.rows)
        """,
    "what is packed for the backward pass": """
        class Offload(torch.autograd.graph.saved_tensors_hooks):
            def __init__(self):
                self.rows, self.shapes, self.few, self.swept = {}, {}, {}, {}
                super().__init__(self._pack, self._unpack)

            def _pack(self, activation):
                number = len(self.rows)
                packed = activation.to("cpu", non_blocking=True)
                self.rows[number] = (activation.device, packed)  # TML108
                self.shapes[number] = activation.shape
                self.few[number] = packed
                for old in list(self.few)[:-4]:
                    del self.few[old]
                self.swept[number] = packed
                return number

            def _unpack(self, number):
                device, packed = self.rows.pop(number)
                return packed.to(device)

            def sweep(self):
                self.swept.clear()
        """,
}


@pytest.mark.parametrize("snippet", SNIPPETS.values(), ids=SNIPPETS)
def test_snippets(snippet: str) -> None:
    check(snippet)


OLD_FUNCTION = """
class Pool(torch.autograd.Function):
    %s
    def forward(%s, features):
        %s.features = features
        return features * 2
"""


def test_a_context_goes_by_the_name_that_the_function_gives_it() -> None:
    (old,) = messages(OLD_FUNCTION % ("", "self", "self"))
    assert "`self.features` keeps" in old
    assert "`self.save_for_backward`" in old
    (new,) = messages(OLD_FUNCTION % ("@staticmethod", "context", "context"))
    assert "`context.features` keeps" in new
    assert not messages(
        OLD_FUNCTION.replace("%s.features = features", "%s.features = features.shape") % ("", "self", "self")
    )


RECURSION = """
def load(group, width):
    state = torch.zeros(width, width)

    def walk(module):%s
        %s
        for part in module.children():
            walk(part)

    walk(group)

def main(groups):
    for group in groups:
        load(group, 8)
"""


@pytest.mark.parametrize(
    ("body", "mark"),
    [
        ("module.weight.data.copy_(state)", "  # TML315"),
        ("for name, state in module.named_parameters(): state.requires_grad = True", ""),
        ("state = module.weight; state.requires_grad = True", ""),
        ("state += 1", ""),
        ("nonlocal state; state = state + 1", "  # TML315"),
    ],
)
def test_a_variable_of_the_inner_function_is_not_that_of_the_outer(body: str, mark: str) -> None:
    check(RECURSION % (mark, body))


SCHEDULE = """
from torch.optim.lr_scheduler import LambdaLR

def flat(step):
    return 1.0

class Warmup(LambdaLR):
    def __init__(self, optimizer, steps):
        self.steps = steps
        super().__init__(optimizer, {rate}){mark}

    def rate(self, step):
        return min(1.0, step / self.steps)

def train(width):
    net = nn.Linear(width, width)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    schedule = Warmup(optimizer, 4)
    for x in torch.rand(4, 8, width):
        net(x).sum().backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()

{runs}
"""
TRIALS = "for width in (8, 16, 32, 64):\n    train(width)"


@pytest.mark.parametrize(
    ("rate", "mark", "runs"),
    [
        ("self.rate", "  # TML315", TRIALS),
        ("lr_lambda=lambda step: self.rate(step)", "  # TML315", TRIALS),
        ("flat", "", TRIALS),
        ("self.rate", "", "train(8)"),
    ],
)
def test_a_schedule_that_gives_its_base_a_method_of_its_own(rate: str, mark: str, runs: str) -> None:
    check(SCHEDULE.format(rate=rate, mark=mark, runs=runs))
