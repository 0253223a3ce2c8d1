"""What says that something called `model` is one, and that a function is called again and again."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent, check_syntax

GUILTY = {
    "sessions by new numbers, which get what a model gives later": """
        import uuid

        class Session:
            def __init__(self, number):
                self.number, self.past = number, None

        class Service:
            def __init__(self, model, read):
                self.model, self.read = model, read
                self.sessions = {}

            def open(self):
                number = uuid.uuid4().hex
                self.sessions[number] = Session(number)  # TML311
                return number

            @torch.no_grad()
            def chat(self, number, text):
                session = self.sessions[number]
                out = self.model(self.read(text), past_key_values=session.past)
                session.past = out.past
                return out.logits.argmax()
        """,
    "sessions by new numbers, whose own lists grow, too": """
        import uuid

        class Session:
            def __init__(self):
                self.past, self.turns = None, []

        class Service:
            def __init__(self, model, read):
                self.model, self.read = model, read
                self.sessions = {}

            def open(self):
                number = uuid.uuid4().hex
                self.sessions[number] = Session()  # TML311
                return number

            @torch.no_grad()
            def chat(self, number, text):
                session = self.sessions[number]
                ids = self.read(text)
                out = self.model(input_ids=ids, past_key_values=session.past)
                session.past = out.past_key_values
                session.turns.append(out.logits)
                return out.logits.argmax()

            def close(self, number):
                self.sessions[number].past = None
        """,
    "outputs of something that takes what models of transformers take": """
        class Recorder:
            def __init__(self, model, read):
                self.model, self.read = model, read
                self.seen = []

            def observe(self, text):
                out = self.model(input_ids=self.read(text), output_hidden_states=True)
                self.seen.append(out.hidden_states[-1].detach())  # TML303
        """,
    "activations that a hook collects for a map, of the last of them": """
        class Maps:
            def __init__(self, model, layer):
                self.model, self.seen = model, []
                self.handle = layer.register_forward_hook(self.keep)

            def keep(self, module, inputs, output):
                self.seen.append(output)  # TML108

            def close(self):
                self.handle.remove()

            def __call__(self, x, index):
                self.model.zero_grad()
                self.model(x)[0, index].backward()
                return self.seen[-1].sum(1).relu()
        """,
    "a part without a model's name, in another method than the pass": """
        class Denoiser(nn.Module):
            def __init__(self, guess):
                super().__init__()
                self.guess, self.traces = guess, []

            def forward(self, x, t):
                return F.mse_loss(self.guess(x, t), x)

            def observe(self, x, t):
                self.traces.append(self.guess(x, t))  # TML102
        """,
    "a default that a function adds to": """
        def bank_of(model, x, bank=[]):
            with torch.no_grad():
                bank.append(model(pixel_values=x))  # TML306
            return torch.cat(bank[-4:])
        """,
    "models of trials that a search calls for": """
        import optuna

        TRIED = []

        def objective(trial):
            net = nn.Sequential(nn.Linear(8, trial.suggest_int("width", 16, 512)), nn.ReLU())
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(10):
                loss = net(torch.rand(4, 8)).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            TRIED.append((trial.number, net))  # TML301
            return loss.item()

        def main():
            optuna.create_study().optimize(objective, n_trials=50)
        """,
}

INNOCENT = {
    "sessions that are closed": """
        import uuid

        class Session:
            def __init__(self, number):
                self.number, self.past = number, None

        class Service:
            def __init__(self, model, read):
                self.model, self.read = model, read
                self.sessions = {}

            def open(self):
                number = uuid.uuid4().hex
                self.sessions[number] = Session(number)
                return number

            @torch.no_grad()
            def chat(self, number, text):
                session = self.sessions[number]
                out = self.model(self.read(text), past_key_values=session.past)
                session.past = out.past
                return out.logits.argmax()

            def close(self, number):
                self.sessions.pop(number, None)
        """,
    "prices of something that is called a model": """
        class Recorder:
            def __init__(self, model):
                self.model, self.seen = model, []

            def observe(self, row):
                self.seen.append(self.model(row))
        """,
    "activations that a hook collects until the map is made": """
        class Maps:
            def __init__(self, model, layer):
                self.model, self.seen = model, []
                self.handle = layer.register_forward_hook(self.keep)

            def keep(self, module, inputs, output):
                self.seen.append(output)

            def close(self):
                self.handle.remove()

            def __call__(self, x, index):
                self.seen.clear()
                self.model.zero_grad()
                self.model(x)[0, index].backward()
                return self.seen[-1].sum(1).relu()
        """,
    "outputs by a layer's name, handed out and begun anew": """
        class Taps:
            def __init__(self, layers):
                self.outputs = defaultdict(dict)
                self.handles = [
                    layer.register_forward_hook(functools.partial(self.keep, name)) for name, layer in layers
                ]

            def keep(self, name, module, inputs, output):
                self.outputs[output.device][name] = output

            def take(self, device):
                taken = self.outputs[device]
                self.outputs[device] = {}
                return taken

            def close(self):
                for handle in self.handles:
                    handle.remove()
        """,
    "a default that is copied": """
        def bank_of(model, x, bank=[]):
            bank = list(bank)
            with torch.no_grad():
                bank.append(model(x))
            return torch.cat(bank[-4:])
        """,
    "numbers of trials": """
        import optuna

        TRIED = []

        def objective(trial):
            net = nn.Sequential(nn.Linear(8, trial.suggest_int("width", 16, 512)), nn.ReLU())
            loss = net(torch.rand(4, 8)).pow(2).mean()
            TRIED.append((trial.number, loss.item()))
            return loss.item()

        def main():
            optuna.create_study().optimize(objective, n_trials=50)
        """,
}


@pytest.mark.parametrize("name", list(GUILTY))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", [*GUILTY, *INNOCENT])
def test_is_a_program(name: str) -> None:
    check_syntax({**GUILTY, **INNOCENT}[name])
