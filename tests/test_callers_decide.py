"""What the methods of a base class, or the function that runs a step, say of a method: its grad mode, and whose affair
a store is."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

_BASES = """
class Agent:
    def __init__(self, model: Net, optimizer):
        self.model, self.optimizer = model, optimizer

    def act(self, batch):
        if batch.training:
            self.train_step(batch)
        else:
            self.model.eval()
            with torch.no_grad():
                self.eval_step(batch)


class Scorer(Agent):
    def train_step(self, batch):
        loss = F.cross_entropy(self.score(batch), batch.labels)
        loss.backward()
        self.optimizer.step()

    def eval_step(self, batch):
        return self.score(batch).argmax(1).tolist()
"""

CALLERS = {
    "a hook that training and a guarded evaluation share": """
        class Pairs(Scorer):
            def score(self, batch):
                return self.model(batch.pairs)

            def evaluate_scores(self, batches):
                return [self.score(batch).argmax(1).tolist() for batch in batches]
    """,
    "a hook that only the guarded evaluation calls": """
        class Ranker(Scorer):
            def eval_step(self, batch):
                kept = []
                for candidate in batch.candidates:
                    kept.append(self.model(candidate))
                return torch.stack(kept).argmax(0).tolist()
    """,
    "the same without a base that guards it": """
        class Alone:
            def __init__(self, model: Net):
                self.model = model.eval()

            def eval_step(self, loader):
                kept = []
                for batch in loader:
                    kept.append(self.model(batch))  # TML102
                return torch.stack(kept).argmax(0).tolist()
    """,
    "a hook that an unguarded method of the base calls": """
        class Base:
            def run(self, loader):
                return self.eval_step(loader)


        class Own(Base):
            def __init__(self, model: Net):
                self.model = model.eval()

            def eval_step(self, loader):
                kept = []
                for batch in loader:
                    kept.append(self.model(batch))  # TML102
                return torch.stack(kept).argmax(0).tolist()
    """,
}


@pytest.mark.parametrize("name", CALLERS)
def test_grad_mode_of_inherited_callers(name: str) -> None:
    check(_BASES + textwrap.dedent(CALLERS[name]))


CHOICES = {
    "the smaller of two losses": """
        def train(model: Net, loader, optimizer):
            best = 1e9
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                best = min(best, loss)
            print(float(best))
    """,
    "the best so far, by a condition": """
        def train(model: Net, loader, optimizer):
            best = None
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                best = loss if best is None or loss < best else best
            print(best.item())
    """,
    "... a tensor that torch computes from both": """
        def train(model: Net, loader, optimizer):
            best = torch.tensor(1e9)
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                best = torch.min(best, loss)  # TML101
            print(best.item())
    """,
    "the losses of one optimizer step": """
        def train_step(model: Net, batches, optimizer, accumulation_steps):
            losses = []
            for _ in range(accumulation_steps):
                x, y = next(batches)
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                losses.append(loss)
            optimizer.step()
            return sum(loss.item() for loss in losses)
    """,
    "memory that goes to the device again in each round": """
        @torch.no_grad()
        def decode(model: Net, source, steps):
            memory = model(source)
            for _ in range(steps):
                memory = memory.to(source.device)
                print(memory.argmax().item())
    """,
    "a table of models, one made for each width": """
        def compare(models, loader, optimizer_of):
            for width, model in models.items():
                model = model()
                model.train()
                optimizer = optimizer_of(model)
                for x, y in loader:
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    optimizer.step()
    """,
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name: str) -> None:
    check(CHOICES[name])


LOADED = {
    "on one rank": """
        import torch.distributed as dist

        def resume(model: Net, path):
            if dist.get_rank() == 0:
                checkpoint = torch.load(path + "model.pt")
                model.load_state_dict(checkpoint)
                del checkpoint
    """,
    "where there are no ranks": """
        import torch.distributed as dist

        def resume(model: Net, path):
            if dist.is_initialized():
                state = torch.load(path, map_location=f"cuda:{dist.get_rank()}")
            else:
                state = torch.load(path)
            model.load_state_dict(state)
            return model
    """,
    "... and on all of them": """
        import torch.distributed as dist

        def resume(model: Net, path):
            dist.init_process_group("nccl")
            state = torch.load(path)  # TML312
            model.load_state_dict(state)
            return model
    """,
    "handed to the model itself": """
        def train(model: Net, path, loader, optimizer):
            state = torch.load(path, map_location="cuda")
            model.load_state_dict(state, assign=True)
            for x, y in loader:
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
    """,
}


@pytest.mark.parametrize("name", LOADED)
def test_loads(name: str) -> None:
    check(LOADED[name])


def test_fills_and_slices() -> None:
    check(
        """
        from rewards import reward_of

        def train(args, model, loader, optimizer):
            margins = torch.zeros(args.window)
            kept = []
            for index, data in enumerate(loader):
                rewards = reward_of(model, data)
                chosen = rewards[:4]
                loss = -F.logsigmoid(chosen).mean()
                loss.backward()
                optimizer.step()
                margins[index % args.window] = chosen.mean()  # TML101
                kept.append(chosen)  # TML102

        def label_is_no_source(args, model, loader, optimizer):
            kept = []
            for data in loader:
                logits, target = args.parts(data)
                loss = F.cross_entropy(logits, target)
                loss.backward()
                optimizer.step()
                kept.append(target)
        """
    )


ASKED_FOR = {
    "an attention map that a switch keeps, for whoever asks for it": """
        class Attention(nn.Module):
            def __init__(self, width, save=False):
                super().__init__()
                self.qkv, self.save = nn.Linear(width, width), save
                self.map = None

            def save_map(self, scores):
                self.map = scores

            def get_map(self):
                return self.map

            def forward(self, x):
                scores = self.qkv(x).softmax(-1)
                if self.save:
                    self.save_map(scores)
                return scores @ x
    """,
    "logits that a loss of another class compares with": """
        class Student(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(8, 1)

            def interact(self, x):
                self.logits = self.head(x)
                return self.logits.sigmoid()

            def forward(self, x):
                return self.interact(x)


        class Distilled:
            def __init__(self, student: Student, teacher: Student):
                self.student, self.teacher = student, teacher

            def loss(self):
                return (self.teacher.logits.data - self.student.logits).pow(2).mean()
    """,
    "... and an attention map that nobody reads": """
        class Attention(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.qkv, self.drop = nn.Linear(width, width), nn.Dropout(0.1)

            def attend(self, value, scores):
                self.map = torch.softmax(scores, -1)  # TML108
                return self.drop(self.map) @ value

            def forward(self, x):
                return self.attend(x, self.qkv(x))
    """,
    "statistics that are gathered in training and applied in eval mode": """
        class Runner:
            def __init__(self, model, optimizer, value_mean_std):
                self.model, self.optimizer, self.value_mean_std = model, optimizer, value_mean_std

            def prepare(self, values, returns):
                self.value_mean_std.train()
                values = self.value_mean_std(values)
                self.value_mean_std.eval()
                return values, self.value_mean_std(returns)

            def train(self, batches):
                while True:
                    values, returns = self.prepare(*next(batches))
                    loss = F.mse_loss(self.model(values), returns)
                    loss.backward()
                    self.optimizer.step()
    """,
    "a demonstration under the model": """
        if __name__ == "__main__":
            model = Net()
            model.eval()
            x = torch.randn(3, 10, 8)
            whole = model(x)
            for i in range(10):
                torch.testing.assert_close(model(x[:, i]), whole[:, i])
    """,
}


@pytest.mark.parametrize("name", ASKED_FOR)
def test_asked_for(name: str) -> None:
    check(ASKED_FOR[name])


_FAR_DOWN = """
def pack(h):
    if isinstance(h, torch.Tensor):
        return h%s
    return tuple(pack(one) for one in h)

def evaluate(net, batches):
    total = 0
    hidden = None
    for x in batches:
        out, hidden = net(x, hidden)%s
        total += out.sum().item()
        hidden = pack(hidden)
    return total
"""


@pytest.mark.parametrize(("made", "mark"), [(" * 1", "  # TML105"), (".detach()", "  # TML201")])
def test_a_helper_that_is_called_too_far_down_to_be_entered(made: str, mark: str) -> None:
    """What it returns is what it was given, unless it says in a `return` that it cuts."""
    outer, called = "", "evaluate"
    for depth in range(10):
        outer += f"\ndef outer{depth}(net, batches):\n    return {called}(net, batches)\n"
        called = f"outer{depth}"
    check(_FAR_DOWN % (made, mark) + outer + f"\ndef main(batches):\n    {called}(nn.LSTM(8, 8), batches)\n")


_HELPER = """
def run_over(model, batches, scores):
    for x in batches:
        scores.update(model(x).cpu())%s
    return scores
"""
_OF_HELPERS = {
    "by-a-method": """
        class Trainer:
            def __init__(self, model):
                self.model = model

            @torch.no_grad()
            def validate(self, batches, scores):
                self.model.eval()
                return between(self.model, batches, scores)

        def between(model, batches, scores):
            return evaluate_all(model, batches, scores)
    """,
    "by-a-function-of-the-name-of-another-method": """
        @torch.no_grad()
        def evaluate(model, batches, scores):
            model.eval()
            return evaluate_all(model, batches, scores)

        def evaluate_all(model, batches, scores):
            run_over(model, batches, scores)
            return scores.evaluate()
    """,
}


@pytest.mark.parametrize("name", _OF_HELPERS)
@pytest.mark.parametrize("guard", ["@torch.no_grad()", ""])
def test_modes_of_helpers_that_stand_before_their_callers(name: str, guard: str) -> None:
    """A helper has the grad mode of who is seen to call it, wherever the two stand in the file."""
    helper = _HELPER % ("" if guard else "  # TML201")
    if name == "by-a-method":
        helper = helper.replace("run_over", "evaluate_all")
    check(helper + textwrap.dedent(_OF_HELPERS[name]).replace("@torch.no_grad()", guard))
