"""Lists, tables and devices that fill up, in the words of everyday code: guilty forms, innocent twins.

A trailing `# TML315` in a snippet says what must be reported on that line; nothing else may be.
"""

from __future__ import annotations

import pytest
from snippets import check, check_innocent, codes

# -- models that are made anew --------------------------------------------------------------------

LEARNER = """
class Learner:
    def __init__(self, width):
        self.width = width
        self.net = nn.Linear(width, width)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def fit(self, loader):
        for x, y in loader:
            F.mse_loss(self.net(x), y).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def reset(self):
        {first}
        {then}
"""


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("self.net = nn.Linear(self.width, self.width)  # TML317", ""),
        ("self.net = nn.Linear(self.width, self.width).to('cuda')  # TML317", "self.net.train()"),
        ("self.net = nn.Linear(self.width, 8)", "self.optimizer = torch.optim.Adam(self.net.parameters())"),
        ("self.net = nn.Linear(self.width, 8)", "self.__init__(8)"),
        ("self.net = nn.Linear(self.width, 8)", "self.optimizer.add_param_group({'params': self.net.parameters()})"),
        ("self.net = nn.DataParallel(self.net)", ""),
        ("self.net = torch.compile(self.net)", ""),
    ],
)
def test_a_model_that_is_made_anew(first: str, then: str) -> None:
    check(LEARNER.format(first=first, then=then))


# -- lists that are only drawn from ---------------------------------------------------------------

MEMORY = """
import random

def play(env, steps):
    policy = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(policy.parameters())
    memory = {made}
    state = torch.zeros(4)
    for step in range(steps):
        with torch.no_grad():
            action = policy(state).argmax().item()
        state = torch.tensor(env.step(action), dtype=torch.float32)
        {adds}
        {reads}
        optimizer.zero_grad()
        policy(rows).sum().backward()
        optimizer.step()
    {after}
"""


@pytest.mark.parametrize(
    ("made", "adds", "reads", "after"),
    [
        ("[]", "memory.append(state)  # TML311", "rows = torch.stack(random.sample(memory, 8))", ""),
        (
            "deque()",
            "memory.append(state)  # TML311",
            "rows = torch.stack(random.choices(memory, k=8))",
            "print(len(memory))",
        ),
        ("[]", "memory.append(state)  # TML311", "rows = torch.stack(memory[-8:])", ""),
        ("deque(maxlen=500)", "memory.append(state)", "rows = torch.stack(random.sample(memory, 8))", ""),
        ("[]", "memory.append(state)", "rows = torch.stack(random.sample(memory, 8))", "return memory"),
        ("[]", "memory.append(state)", "rows = torch.stack(memory)", ""),
        ("[]", "memory.append(state); memory = memory[-99:]", "rows = torch.stack(random.sample(memory, 8))", ""),
        ("[]", "memory.append(action)", "rows = torch.ones(1, 4) * random.choice(memory)", ""),
    ],
)
def test_a_list_that_its_loop_draws_from(made: str, adds: str, reads: str, after: str) -> None:
    check(MEMORY.format(made=made, adds=adds, reads=reads, after=after))


def test_a_list_that_is_filled_up_to_its_limit() -> None:
    check_innocent("""
        import random

        def play(env, steps, limit):
            memory = []
            for step in range(steps):
                state = torch.rand(4) + step
                if len(memory) < limit:
                    memory.append(state)
                env.step(random.choice(memory).numpy())
    """)


def test_a_script_that_draws_from_its_list() -> None:
    check("""
        import random

        rows = []
        for step in range(10**6):
            rows.append(torch.rand(64, 64))  # TML311
            print(random.choice(rows).mean().item())
    """)


# -- views ----------------------------------------------------------------------------------------

STATES = """
@torch.no_grad()
def states_of({model}: nn.Module, batches):
    rows = []
    for ids in batches:
        {states} = {model}(ids)
        {kept}
    return torch.stack(rows)
"""


@pytest.mark.parametrize(
    ("states", "kept"),
    [
        ("hidden", "rows.append(hidden[0, -1])  # TML309"),
        ("x", "rows.append(x[0, -1, :])  # TML309"),
        ("x", "rows.append(x[:, 0])  # TML309"),
        ("output", "rows.append(output.hidden_states[-1][0, -1])  # TML309"),
        ("hidden", "rows.append(hidden[0, -1].clone())"),
        ("hidden", "rows.append(hidden[0, 0])"),
        ("scores", "rows.append(scores[0, -1])"),
        ("hidden", "rows.append(hidden[0])"),
    ],
)
def test_the_last_state_of_one_sequence(states: str, kept: str) -> None:
    check(STATES.format(model="lm", states=states, kept=kept))


BANK = """
class Bank:
    def __init__(self, lm: {hint}):
        self.lm = lm
        self.rows = []

    @torch.inference_mode()
    def add(self, ids):
        hidden = self.lm(ids).last_hidden_state
        self.rows.append(hidden[:, -1]){mark}

    def matrix(self):
        return torch.stack(self.rows)

def build(lm, docs):
    bank = Bank(lm)
    for ids in docs:
        bank.add(ids)
    return bank.matrix()
"""


def test_an_annotation_says_what_a_caller_does_not() -> None:
    check(BANK.format(hint="nn.Module", mark="  # TML309"))
    check_innocent(BANK.format(hint="object", mark=""))


# -- objects that share a model and keep what is their own ------------------------------------------

SESSIONS = """
import itertools
import uuid

_live = {{}}
_ids = itertools.count()

class Session:
    def __init__(self, model):
        self.id = {key}
        self.model = model
        self.frames = []
        _live[self.id] = self{mark}

    def step(self, x):
        {step}
        return self.model(x).argmax().item()

    def close(self):
        {close}

def handle(model, x: torch.Tensor):
    session = Session(model)
    answer = session.step(x)
    session.close()
    return answer
"""


@pytest.mark.parametrize(
    ("key", "step", "close", "mark"),
    [
        ("uuid.uuid4().hex", "self.frames.append(x)", "self.id = ''", "  # TML301"),
        ("next(_ids)", "self.frames.append(x)", "self.id = ''", "  # TML301"),
        ("next(_ids)", "self.frames.append(x)", "del _live[self.id]", ""),
        ("uuid.uuid4().hex", "self.frames.append(len(x))", "self.id = ''", ""),
        ("'only'", "self.frames.append(x)", "self.id = ''", ""),
    ],
)
def test_an_object_of_each_call_that_shares_its_model(key: str, step: str, close: str, mark: str) -> None:
    check(SESSIONS.format(key=key, step=step, close=close, mark=mark))


# -- results on the device ------------------------------------------------------------------------

SCRIPT = """
from torch.utils.data import DataLoader

net = Net().cuda().eval()
loader = DataLoader(load("rows"), batch_size=8)
maps = []
with torch.no_grad():
    for x, _ in loader:
        {keeps}
torch.save({saved}, "maps.pt")
"""


@pytest.mark.parametrize(
    ("keeps", "saved"),
    [
        ("maps.append(net(x.cuda()))  # TML310", "torch.cat(maps).cpu()"),
        ("maps.append(net(x.cuda()).cpu())", "torch.cat(maps)"),
        ("maps.append(x)", "torch.cat(maps).cpu()"),
    ],
)
def test_a_script_that_moves_its_results_at_the_end(keeps: str, saved: str) -> None:
    check(SCRIPT.format(keeps=keeps, saved=saved))


ENCODER = """
class Encoder:
    def __init__(self, device):
        self.device = torch.device(device)
        self.net = Net().to(self.device)

    def tensorize(self, texts):
        rows = torch.tensor([[hash(word) % 99 for word in text.split()] for text in texts], dtype=torch.float32)
        return rows{moves}

    @torch.no_grad()
    def __call__(self, texts):
        self.net.eval()
        vectors = []
        for batch in batches(texts, 32):
            {keeps}
        stacked = torch.cat(vectors)
        return stacked.cpu().numpy()
"""


@pytest.mark.parametrize(
    ("moves", "keeps"),
    [
        (".to(self.device)", "vectors.append(self.net(self.tensorize(batch)))  # TML310"),
        (".to(self.device)", "vectors.append(self.net(self.tensorize(batch)).cpu())"),
        (".to(self.device)", "vectors.append(self.net(self.tensorize(self.device)))"),
        (".to(torch.float32)", "vectors.append(self.net(self.tensorize(batch)))"),
    ],
)
def test_a_helper_that_puts_each_batch_on_the_device(moves: str, keeps: str) -> None:
    check(ENCODER.format(moves=moves, keeps=keeps))


# -- copies of a model ----------------------------------------------------------------------------

COPIES = """
import copy

def train(model, loader, score, epochs):
    optimizer = torch.optim.Adam(model.parameters())
    copies, scores = [], []
    for epoch in range(epochs):
        for x, y in loader:
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        scores.append(score(model))
        {adds}
    {ends}
"""


@pytest.mark.parametrize(
    ("adds", "ends"),
    [
        ("copies.append(copy.deepcopy(model))  # TML313", "return copies[scores.index(max(scores))]"),
        (
            "copies.append((scores[-1], copy.deepcopy(model.state_dict())))  # TML313",
            "model.load_state_dict(max(copies, key=lambda one: one[0])[1])",
        ),
        (
            "state = copy.deepcopy(model.state_dict()); copies.append(state)  # TML313",
            "model.load_state_dict(copies[-1])",
        ),
        ("copies.append(copy.deepcopy(model))", "return copies"),
        ("copies.append(copy.deepcopy(model))", "return [copies[i] for i in range(epochs)]"),
        ("copies.append(copy.deepcopy(model))", "for i in range(epochs):\n        score(copies[i])"),
        ("copies = [copy.deepcopy(model)]", "return copies[0]"),
        ("copies.append(copy.deepcopy(scores))", "return copies[-1]"),
    ],
)
def test_copies_of_which_one_is_picked(adds: str, ends: str) -> None:
    check(COPIES.format(adds=adds, ends=ends))


RESUMED = """
class Resume:
    def __init__(self, trainer, path):
        self.trainer, self.path = trainer, path
        self.loaded = {{}}

    def begin(self):
        {loads}

    def restore(self):
        self.begin()
        self.into_model()
        self.into_run()
        {ends}

    def into_model(self):
        if self.loaded:
            self.trainer.model.load_state_dict(self.loaded["model"])

    def into_run(self):
        if self.loaded:
            self.trainer.optimizer.load_state_dict(self.loaded["optimizer"])
            self.trainer.step = self.loaded["step"]
"""


@pytest.mark.parametrize(
    ("loads", "ends"),
    [
        ("self.loaded = torch.load(self.path, map_location='cpu')  # TML313", "print('restored')"),
        ("self.loaded = torch.load(self.path, map_location='cpu')", "self.loaded = {}"),
        ("self.loaded = torch.load(self.path, map_location='cpu'); return self.loaded", "print('restored')"),
    ],
)
def test_a_checkpoint_that_one_method_loads_and_another_uses_up(loads: str, ends: str) -> None:
    check(RESUMED.format(loads=loads, ends=ends))


# -- records of which a part is read --------------------------------------------------------------

EPISODES = """
class Learner:
    def __init__(self, env, window=100):
        self.env, self.window = env, window
        self.infos = []
        self.x = env.reset()

    def rollout(self):
        for step in range(8):
            self.x, reward, done = self.env.step(self.x)
            if done:
                self.infos.append({{"last": torch.rand(64, 64) + self.x, "reward": float(reward)}}){mark}

    def show(self):
        {reads}

    def learn(self, rounds):
        for _ in range(rounds):
            self.rollout()
            print(self.show())

def main(env):
    learner = Learner(env)
    learner.learn(100)
"""
LAST = "recent = self.infos[-self.window:]; "


@pytest.mark.parametrize(
    ("reads", "mark"),
    [
        (LAST + 'return sum(one["reward"] for one in recent) / len(recent)', "  # TML303"),
        ('return [one["reward"] for one in reversed(self.infos)]', "  # TML303"),
        ('newest = self.infos[-1]; return newest["reward"]', "  # TML303"),
        (LAST + 'return [one["last"] for one in recent]', "  # TML303"),
        (LAST + "return torch.save(recent, 'infos.pt')", "  # TML303"),
        ("newest = self.infos[-1]; return newest", "  # TML303"),
        ("return list(self.infos)", ""),
    ],
)
def test_records_of_which_the_latest_are_looked_at(reads: str, mark: str) -> None:
    check(EPISODES.format(reads=reads, mark=mark))


# -- one more hook on the parameters ----------------------------------------------------------------

MASKED = """
class Tasks:
    def __init__(self, model):
        self.model = model
        self.handles = []

    def hold(self, number):
        for name, param in self.model.named_parameters():
            {test}
                mask = (param.detach().abs() > 0.1).float()
                {put}

    def learn(self, loader, optimizer, number):
        self.hold(number)
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(self.model(x), y).backward()
            optimizer.step()
        {end}

def main(loader, most):
    model = Net()
    tasks = Tasks(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(most):
        tasks.learn(loader, optimizer, number)
"""
HOOK = "param.register_hook(lambda grad, mask=mask: grad * mask)"
KEPT = f"self.handles.append({HOOK})"


@pytest.mark.parametrize(
    ("put", "test", "end"),
    [
        (f"{HOOK}  # TML304", "if True:", "pass"),
        (f"{HOOK}  # TML304", 'if "weight" in name:', "pass"),
        ("param.register_hook(functools.partial(torch.mul, mask))  # TML304", "if param.dim() > 1:", "pass"),
        (f"{KEPT}  # TML304", "if True:", "print(len(self.handles))"),
        (HOOK, "if number == 0:", "pass"),
        ("param.register_hook(lambda grad: grad.clamp(-1, 1))", "if True:", "pass"),
        (KEPT, "if True:", "while self.handles: self.handles.pop().remove()"),
    ],
)
def test_a_mask_on_the_gradients_for_each_task(put: str, test: str, end: str) -> None:
    check(MASKED.format(put=put, test=test, end=end))


def test_one_mask_for_each_parameter() -> None:
    check_innocent(
        """
        def protect(param, mask):
            param.register_hook(lambda grad: grad * mask)

        def main(depth):
            model = nn.ModuleList(nn.Linear(8, 8) for _ in range(depth))
            masks = {name: torch.ones_like(param) for name, param in model.named_parameters()}
            for name in masks:
                params = dict(model.named_parameters())
                param = params[name]
                protect(param, masks[name])
            for i in range(depth):
                protect(model[i].weight, torch.ones(8, 8))
            return [protect(param, torch.ones_like(param)) for param in model.parameters()]
        """
    )
    check_innocent(
        """
        def main(steps):
            for _ in range(steps):
                model = Net()
                mask = torch.ones_like(model.layer.weight)
                model.layer.weight.register_hook(lambda grad: grad * mask)
                model(torch.ones(1, 8)).mean().backward()
        """
    )


# -- the error of the choice before -------------------------------------------------------------------

CHOICES = """
class Choice:
    def __init__(self, name, run):
        self.name, self.run = name, run

def figure_of({params}):
    return float(choice.run(x).numel())

def fastest(choices, x):
    error, figures = None, {{}}
    for choice in choices:
        try:
            figures[choice.name] = figure_of(choice, x)
        except RuntimeError as e:
            {keep}
    if not figures:
        raise ValueError("none of them runs") from error
    return min(figures, key=figures.get)
"""


@pytest.mark.parametrize(
    ("params", "keep"),
    [
        ("choice, x: torch.Tensor", "error = e  # TML307"),
        ("choice, x: torch.Tensor", "error = e.with_traceback(None)"),
        ("choice, x: torch.Tensor", "error = str(e)"),
        ("choice, x: torch.Tensor", "error = e\n            break"),
        ("choice, x: str", "error = e"),
    ],
)
def test_an_error_that_is_kept_while_the_next_choice_is_tried(params: str, keep: str) -> None:
    check(CHOICES.format(params=params, keep=keep))


# -- activations that are packed ----------------------------------------------------------------------

PACKED = """
class Offload(torch.autograd.graph.saved_tensors_hooks):
    def __init__(self):
        self.rows = {{}}
        super().__init__(self._pack, self._unpack)

    def _pack(self, activation):
        number = len(self.rows)
        {check}
        self.rows[number] = activation.to("cpu"){mark}
        return number

    def _unpack(self, number):
        return {out}

{use}
"""
STEP = """
def {name}(model, loader):
    {mode}
    offload = Offload()
    for x in loader:
        with offload:
            loss = model(x).mean()
        {ends}
"""
TRAIN = STEP.format(name="train", mode="model.train()", ends="loss.backward()")
TESTS = STEP.format(name="test", mode="model.eval()", ends="print(loss.item())")
FIRST = "if number == 0 and len(self.rows) > 0: raise ValueError('not all ran backward')"


@pytest.mark.parametrize(
    ("out", "use", "check_", "mark"),
    [
        ("self.rows[number]", TRAIN, "pass", "  # TML108"),
        ("self.rows[number]", "", FIRST, "  # TML108"),
        ("self.rows.pop(number)", "", "pass", "  # TML108"),
        ("self.rows.pop(number)", TRAIN + TESTS, "pass", "  # TML108"),
        ("self.rows.pop(number)", TRAIN.replace("loss.backward", "loss[0].backward"), "pass", "  # TML108"),
        ("self.rows.pop(number)", TRAIN, "pass", ""),
        ("self.rows.pop(number)", "", FIRST, ""),
    ],
)
def test_a_table_of_what_was_packed(out: str, use: str, check_: str, mark: str) -> None:
    snippet = PACKED.format(out=out, use=use, check=check_, mark=mark)
    assert [code for code in codes(snippet) if code == "TML108"] == (["TML108"] if mark else [])
