"""Lists that hooks fill while a model is trained."""

import pytest
from snippets import check

TRAINED = """
class Watch:
    def __init__(self, model):
        self.seen = []
        {hook}

    def keep(self, *given):
        self.seen.append(given[-1][0].detach()){kept}

    def flush(self):
        self.seen.clear()

def train(model, loader, optimizer):
    {before}
    for x in loader:
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}
    {end}

def main(loader):
    model = Net()
    train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
"""
FORWARD = "self.handle = model.layer.register_forward_hook(self.keep)"
EACH = "for p in model.parameters():\n            p.{}(lambda g: self.seen.append({}.clone())){}"
GRADIENTS = EACH.format("register_hook", "g", "")
ACCUMULATED = EACH.format("register_post_accumulate_grad_hook", "g.grad", "")


def _case(
    hook: str,
    before: str = "watch = Watch(model)",
    after: str = "print(len(watch.seen))",
    end: str = "pass",
    mark: str = "",
) -> None:
    kept = mark if hook is FORWARD else ""
    own = hook if hook is FORWARD else hook + mark
    check(TRAINED.format(hook=own, kept=kept, before=before, after=after, end=end))


def test_a_list_that_each_step_makes_longer() -> None:
    _case(FORWARD, mark="  # TML303")
    _case(GRADIENTS, mark="  # TML303")
    _case(ACCUMULATED, mark="  # TML303")


def test_a_list_that_is_emptied_or_goes() -> None:
    for hook in (FORWARD, GRADIENTS):
        _case(hook, after="watch.flush()")
        _case(hook, after="watch.seen = []")


def test_a_list_of_who_only_looks() -> None:
    look = "watch = Watch(model)\n    for x in loader: model(x)\n    print(torch.cat(watch.seen).mean())"
    _case(FORWARD, before="pass", after="pass", end=look)


WATCHED = """
def watch(model, seen):
    def hook(name):
        def keep(module, args, output):
            seen.setdefault(name, []).append(output{cut}){kept}
        return keep
    for name, layer in model.named_children():
        layer.register_forward_hook(hook(name))
    return seen
"""
VARIABLE = """
def main(steps, optimizer):
    model = Net()
    seen = watch(model, {{}})
    for _ in range(steps):
        loss = model(torch.randn(4, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}
"""
ATTRIBUTE = """
class Study:
    def __init__(self, model):
        self.model = model
        self.seen, self.names = taps(model)

    def fit(self, loader, optimizer):
        for x in loader:
            loss = self.model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {after}

def taps(model):
    seen = {{}}
    return watch(model, seen), list(seen)

def main(loader, optimizer):
    study = Study(Net())
    study.fit(loader, optimizer)
    print(study.names)
"""


@pytest.mark.parametrize(("user", "code"), [(VARIABLE, "TML102"), (ATTRIBUTE, "TML108")])
@pytest.mark.parametrize(
    ("cut", "after"),
    [
        ("", "pass"),
        (".detach().norm().item()", "pass"),
        ("", "{}.clear()"),
        ("", "for rows in {}.values(): rows.clear()"),
    ],
)
def test_what_a_helper_has_filled(user: str, code: str, cut: str, after: str) -> None:
    after = after.format("seen" if user is VARIABLE else "self.seen")
    kept = f"  # {code}" if not cut and after == "pass" else ""
    check(WATCHED.format(cut=cut, kept=kept) + user.format(after=after))


PROBE = """
class Probe:
    def __init__(self, layer):
        self.outputs, self.inputs = [], []
        self.after = layer.register_forward_hook(self.keep_output)
        self.before = layer.register_forward_pre_hook(self.keep_input)

    def keep_input(self, module, given):
        self.inputs.append(given){mark}

    def keep_output(self, module, given, result):
        self.outputs.append(result.detach())

    def reset(self):
        {reset}

    def close(self):
        self.after.remove()
        self.before.remove()
"""


def test_a_list_that_the_reset_beside_it_forgets() -> None:
    check(PROBE.format(mark="  # TML303", reset="self.outputs = []"))
    check(PROBE.format(mark="  # TML303", reset="self.outputs.clear()"))


def test_lists_that_are_emptied_together_or_not_at_all() -> None:
    check(PROBE.format(mark="", reset="self.outputs, self.inputs = [], []"))
    check(PROBE.format(mark="", reset="self.outputs.clear()\n        self.inputs.clear()"))
    check(PROBE.format(mark="", reset="self.count = 0"))


SHOWN = """
class Viewer:
    def __init__(self, model):
        self.model, self.grads = model, []
        {once}

    def save(self, module, given, grads):
        self.grads.append(grads[0])

    def show(self, image):
        self.grads.clear()
        {puts}
        self.model(image).sum().backward()
        {after}
        return self.grads[0].abs().amax(1)

def main(images):
    viewer = Viewer(Net())
    for image in images:
        viewer.show(image)
"""
PUT = "self.model.layer.register_full_backward_hook(self.save)"


def test_a_hook_that_each_call_puts_on_once_more() -> None:
    check(SHOWN.format(once="pass", puts=PUT + "  # TML304", after="pass"))


def test_hooks_that_are_put_on_once_or_taken_out() -> None:
    check(SHOWN.format(once=PUT, puts="pass", after="pass"))
    guarded = SHOWN.replace("self.model(image)", "try: self.model(image)").replace(
        "{after}", "finally: handle.remove()"
    )
    check(guarded.format(once="pass", puts="handle = " + PUT))


STAGE = """
import torch.distributed as dist

class Stage:
    def __init__(self, rank):
        self.rank, self.works, self.state = rank, [], torch.zeros(64)

    def tell(self, step):
        {first}
        self.state[step % 64] += 1
        buffer = self.state.clone()
        work = {start}
        self.works.append((work, buffer)){mark}

    def finish(self):
        for work, _ in self.works:
            work.wait()
        self.works.clear()

def run(rank, steps):
    stage = Stage(rank)
    {rounds}
    stage.finish()

def turn(stage, step):
    {each}
    stage.tell(step)

def main():
    run(0, 1000)
"""
ROUNDS = "for step in range(steps): turn(stage, step)"


@pytest.mark.parametrize(
    ("mark", "first", "start", "each"),
    [
        ("  # TML303", "pass", "dist.isend(buffer, dst=1)", "pass"),
        ("  # TML303", "pass", "dist.all_reduce(buffer, async_op=True)", "pass"),
        ("", "self.finish()", "dist.isend(buffer, dst=1)", "pass"),
        ("", "pass", "dist.isend(buffer, dst=1)", "stage.finish()"),
        ("", "while self.works and self.works[0][0].is_completed(): self.works.pop(0)", "dist.isend(buffer)", "pass"),
    ],
)
@pytest.mark.parametrize("rounds", [ROUNDS, "done = [turn(stage, step) for step in range(steps)]"])
def test_sends_that_only_the_end_waits_for(mark: str, first: str, start: str, each: str, rounds: str) -> None:
    check(STAGE.format(mark=mark, first=first, start=start, each=each, rounds=rounds))


@pytest.mark.parametrize(("first", "mark"), [("pass", "  # TML303"), ("self.finish()", "")])
def test_sends_in_objects_of_their_own(first: str, mark: str) -> None:
    text = STAGE.format(mark=mark, first=first, start="dist.isend(buffer, dst=1)", each="pass", rounds=ROUNDS)
    check(text.replace("(work, buffer)", "Pending(work, data=buffer)").replace("work, _ in", "work in"))
