"""Evaluations, predictions and recordings with gradients that nobody wants."""

from __future__ import annotations

import pytest
from snippets import check, check_syntax, known

GUILTY = {
    "two classes whose methods have one name": """
        class Trainer:
            def __init__(self):
                self.model = Net()

            def validate(self, loader):
                self.model.eval()
                return [self.model(x).argmax().item() for x, _ in loader]  # TML201

        class Distiller:
            def __init__(self):
                self.student = Net()

            def validate(self, loader):
                self.student.eval()
                return [self.student(x).argmax().item() for x, _ in loader]  # TML201
        """,
    "contexts of one's own that leave gradients on, or are left": """
        class Timed:
            def __enter__(self):
                self.start = torch.is_grad_enabled()
                return self

            def __exit__(self, *error):
                return False

        class Untracked:
            def __enter__(self):
                self.guard = torch.no_grad()
                self.guard.__enter__()

            def __exit__(self, *error):
                self.guard.__exit__(*error)

        def main():
            model, timed, later = nn.Linear(8, 2), [], []
            with Timed():
                for _ in range(10):
                    timed.append(model(torch.rand(2, 8)))  # TML102
            with Untracked():
                model(torch.rand(2, 8))
            for _ in range(10):
                later.append(model(torch.rand(2, 8)))  # TML102
            print(len(timed), len(later))

        if __name__ == "__main__":
            main()
        """,
    "fragments kept under their keys, whose values are detached when they are used": """
        class Agent:
            def __init__(self):
                self.critic = nn.Linear(4, 1)
                self.optimizer = torch.optim.SGD(self.critic.parameters(), lr=0.1)

            def fragment(self, rewards):
                seen = {"states": torch.rand(8, 4), "rewards": rewards}
                seen["returns"] = seen["rewards"] + self.critic(torch.rand(1, 4))[0]
                return seen

            def learn(self, batch):
                wanted = batch["returns"].detach()
                loss = (self.critic(batch["states"]) - wanted).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

        def main():
            agent = Agent()
            fragments = []
            while len(fragments) < 100:
                fragments.append(agent.fragment(torch.rand(8)))  # TML201
            whole = {key: torch.cat([fragment[key] for fragment in fragments]) for key in fragments[0]}
            agent.learn(whole)
    """,
    "experiment that is called a test": """
        class Test:
            def __init__(self, model, loader):
                self.model, self.loader = model, loader

            def test(self):
                self.model.eval()
                losses = []
                for x, y in self.loader:
                    losses.append(F.cross_entropy(self.model(x), y))  # TML102
                return float(torch.stack(losses).mean())
    """,
    "comprehension over the loader": """
        def evaluate(model: Net, loader):
            model.eval()
            outputs = [model(x) for x, _ in loader]  # TML102
            print(len(outputs))
        """,
    "predictions for batches that lie ready": """
        def evaluate(model, batches):
            model.eval()
            predictions = []
            for x, y in batches:
                predictions.append(model(x).cpu())  # TML102
            return torch.cat(predictions).detach().numpy()

        def main():
            evaluate(Net(), [(torch.randn(4, 8), torch.randn(4)) for _ in range(100)])
        """,
    "items of a generator, one model run each": """
        def embeddings(model, batches):
            model.eval()
            for x in batches:
                yield model(x)

        def main():
            rows = []
            for row in embeddings(Net(), torch.randn(100, 4, 8)):
                rows.append(row)  # TML102
        """,
    "generator expression handed out of no_grad": """
        class Searcher:
            def __init__(self, model: Net, documents):
                self.model, self.documents = model.eval(), documents

            @torch.no_grad()
            def encoded(self):
                return (self.model(document) for document in self.documents)

            def index(self):
                rows = []
                for row in self.encoded():
                    rows.append(row)  # TML102
                return torch.cat(rows).detach()

        def main():
            Searcher(Net(), [torch.randn(8) for _ in range(100)]).index()
        """,
    "replay memory of attached states": """
        import random

        class Memory:
            def __init__(self, capacity=10000):
                self.transitions = deque(maxlen=capacity)

            def push(self, *transition):
                self.transitions.append(transition)  # TML102

        def main():
            encoder, q, memory = Net(), nn.Linear(8, 3), Memory()
            optimizer = torch.optim.SGD(q.parameters(), lr=0.1)
            state = encoder(torch.randn(1, 8))
            for _ in range(100):
                following = encoder(torch.randn(1, 8))
                memory.push(state, following)
                state = following
                states, _ = zip(*random.sample(memory.transitions, 1))
                optimizer.zero_grad()
                q(torch.cat(states).detach()).pow(2).mean().backward()
                optimizer.step()
        """,
    "evaluation without no_grad": """
        def evaluate(model: nn.Module, loader):
            model.eval()
            correct = 0
            for x, y in loader:
                correct += (model(x).argmax(dim=1) == y).sum().item()  # TML201
            return correct
        """,
    "second half of evaluation outside the mode": """
        def evaluate(model: nn.Module, loader):
            model.eval()
            with torch.no_grad():
                first = [model(x).argmax(1) for x, _ in loader]
            rest = [model(x).argmax(1).tolist() for x, _ in loader]  # TML201
            return first, rest
        """,
    "bare mode": """
        def evaluate(model: nn.Module, x):
            torch.no_grad()  # TML202
            return model(x).argmax().item()
        """,
    "likelihoods of a pretrained model with gradients": """
        from transformers import GPT2LMHeadModel
        def perplexity(chunks):
            model = GPT2LMHeadModel.from_pretrained("gpt2")
            model.eval()
            nlls = []
            for ids in chunks:
                outputs = model(ids, labels=ids)
                nlls.append(outputs.loss)  # TML102
            return torch.exp(torch.stack(nlls).mean())
        """,
    "model mapped over a loader": """
        def evaluate(model: Net, loader):
            model.eval()
            outs = list(map(model, (x for x, _ in loader)))  # TML201
            print(len(outs))
        """,
    "rollout recorded with gradients": """
        class Agent:
            def __init__(self):
                self.actor, self.critic = Net(), Net()
                self.buffer = []
            def act(self, state):
                dist = torch.distributions.Categorical(logits=self.actor(state))
                a = dist.sample()
                self.buffer.append((state, a, dist.log_prob(a)))  # TML102
                return a
            def learn(self, optimizer):
                for state, a, old in self.buffer:
                    dist = torch.distributions.Categorical(logits=self.actor(state))
                    loss = -(dist.log_prob(a) - old.detach()).exp().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        """,
    "evaluated through a helper that training needs as well": """
        class Scorer:
            def __init__(self, net: nn.Module, optimizer):
                self.net = net
                self.optimizer = optimizer

            def _score(self, x):
                return self.net(x).squeeze(1)

            def train(self, loader):
                for x, y in loader:
                    loss = F.mse_loss(self._score(x), y)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()

            def predict(self, loader):
                self.net.eval()
                found = []
                for x, _ in loader:
                    found += self._score(x).tolist()  # TML201
                return found
        """,
    "validated after a wrapper was put around the model": """
        class Trainer:
            @classmethod
            def run(cls, model, loader, epochs):
                model, _, _, _ = lightning.wrap(model=model, parameters=model.parameters())
                for epoch in range(epochs):
                    cls.validate_one_epoch(model, loader)

            @classmethod
            def validate_one_epoch(cls, model, loader):
                model.eval()
                for x, y in loader:
                    loss, stats = model(x, y)  # TML201
                    print({k: v.item() for k, v in stats.items()})
        """,
    "detached when the loop has ended": """
        def rank(net, make_energy, candidates):
            net.eval()
            energy = make_energy(net, "slice")
            found = []
            for candidate in candidates:
                found.append(energy(candidate))  # TML201
            return torch.cat(found).detach().numpy()
        """,
    "embedded batch by batch and detached at the end": """
        class Index:
            def __init__(self, encoder: nn.Module):
                self.encoder = encoder

            def embed(self, x):
                return self.encoder(x)

            def fill(self, loader):
                parts = [self.embed(x) for x in loader]  # TML201
                self.table = torch.cat(parts).detach().cpu()
        """,
    "evaluation that is fed by another module": """
        class Embeddings(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(9, 8)

            def forward(self, ids):
                return {name: self.table(part) for name, part in ids.items()}

        def look_up(embeddings, ids):
            return embeddings(ids)

        def evaluate(loader, model, embeddings):
            model.eval()
            right = []
            for ids, y in loader:
                out = model(look_up(embeddings, ids)["a"])  # TML201
                right.append(out.argmax(dim=1) == y)
            return torch.cat(right).float().mean()

        def main(loader):
            model, embeddings = Net(), Embeddings()
            print(evaluate(loader, model, embeddings))
        """,
    "test over a loader that only compares": """
        def test(loader, model):
            right = 0
            for x, y in loader:
                wrong = (model(x).sigmoid().round() != y).sum(dim=-1)  # TML201
                right += int((wrong == 0).sum())
            return right

        print(test(torch.utils.data.DataLoader(range(9)), Net()))
        """,
    "evaluation whose losses are weighed by a comprehension": """
        def evaluate(model, criterion, loader, weights, meter):
            model.eval()
            for x, y in loader:
                losses = criterion(model(x), y)  # TML201
                weighed = {k: v * weights[k] for k, v in losses.items()}
                meter.update(sum(weighed.values()))
        """,
    "a reference model in a loss that the trainer differentiates": """
        from transformers import Trainer

        class Tuner(Trainer):
            def __init__(self, ref_model: nn.Module, **settings):
                super().__init__(**settings)
                self.ref_model = ref_model

            def compute_loss(self, model: nn.Module, inputs, return_outputs=False):
                scores = F.log_softmax(model(inputs).logits, -1)
                reference = self.ref_model.get_decoder()
                goal = F.softmax(reference(inputs).logits, -1)  # TML204
                return F.kl_div(scores, goal, reduction="batchmean")

            def prediction_step(self, model, inputs):
                with torch.no_grad():
                    return self.compute_loss(model, inputs).item()
        """,
    "predictions that an evaluation hands out": """
        class Service:
            def __init__(self, net):
                self.net = net

            def predict(self, images):
                self.net.eval()
                return self.net(images).softmax(-1)  # TML201
        """,
    "streamed, beside an inference under no_grad": """
        class Speaker(nn.Module):
            def __init__(self):
                super().__init__()
                self.decoder = nn.GRU(8, 8)

            @torch.no_grad()
            def inference(self, codes):
                return self.decoder(codes)[0]

            def inference_stream(self, codes):
                for code in codes:
                    wave, _ = self.decoder(code)  # TML201
                    yield wave
        """,
    "a method for users beside a pass that does not come to it": """
        class Finder(nn.Module):
            def __init__(self, backbone, heads):
                super().__init__()
                self.backbone, self.heads = backbone, heads
                self.register_buffer("mean", torch.zeros(3, 1, 1), False)

            @property
            def device(self):
                return self.mean.device

            def forward(self, images, truth=None):
                return self.heads(self.backbone(images), truth)

            def inference(self, images):
                assert not self.training
                features = self.backbone(images.to(self.device) - self.mean)  # TML201
                return self.sort_out(self.heads(features, None), images.shape[-2:])

            def sort_out(self, found, size):
                return [one.clip(size) for one in found]
        """,
    "boxes that other code makes of what a detector gives": """
        class Detector:
            def __init__(self, net, boxes):
                self.net, self.boxes = net.eval(), boxes

            def predict_boxes(self, image):
                outputs = self.net(torch.from_numpy(image))  # TML201
                for box in self.boxes.decode(outputs):
                    print(box)
        """,
    "validated by a step of the model's own": """
        class Runner:
            def __init__(self, model):
                self.model = model

            def val(self, loader):
                self.model.eval()
                self.outputs = self.model.val_step(next(loader))  # TML201
        """,
    "evaluated where it was trained, by `.data`": """
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in torch.load("train.pt"):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        correct = 0
        for x, y in torch.load("test.pt"):
            _, guess = torch.max(model(x).data, 1)  # TML201
            correct += (guess == y).sum().item()
        """,
    "pairs that a graph library has put aside": """
        class Scores(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 1)

            def forward(self, near, far, h):
                near.apply_edges(h, self.layer(h))
                return near.edata["s"], far.edata["s"]

        def evaluate(scores, samples):
            found = []
            scores.eval()
            for near, far, h in samples:
                close, other = scores(near, far, h)  # TML201
                found.append((close.mean() - other.mean()).item())
            return found

        def main(samples):
            print(evaluate(Scores(), samples))
        """,
    "validated in the function that trains, by the loader's name": """
        def train(train_loader, valid_loader, optimizer, epochs):
            model = Net()
            for epoch in range(epochs):
                for x, y in train_loader:
                    loss = F.cross_entropy(model(x), y)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                losses = []
                for x, y in valid_loader:
                    losses.append(F.cross_entropy(model(x), y).item())  # TML201
                print(epoch, sum(losses))
        """,
    "mode that goes back before an error": """
        def evaluate(model, loader):
            was_training = model.training
            model.eval()
            if not any(True for _ in loader):
                if was_training:
                    model.train()
                raise ValueError("nothing to evaluate")
            found = []
            for x in loader:
                found.append(model(x).mean())  # TML102
            if was_training:
                model.train()
            return torch.stack(found).mean()
        """,
    "a context manager as a decorator, which has nothing to do with gradients while it is open": """
        import contextlib
        import time

        @contextlib.contextmanager
        def timed():
            begun = time.time()
            yield
            with torch.no_grad():
                print(torch.tensor(time.time() - begun))

        @timed()
        def validate(loader, net: nn.Module):
            net.eval()
            total = 0.0
            for x, y in loader:
                total += F.cross_entropy(net(x), y).item()  # TML201
            return total
        """,
    "a public way to the model beside one that has gradients off": """
        class Translator:
            def __init__(self, model: nn.Module):
                self.model = model
                self.model.eval()

            def translate(self, batches):
                with torch.no_grad():
                    return [self._search(batch) for batch in batches]

            def _search(self, batch):
                return self._decode(batch).argmax(-1).tolist()

            def _search_old(self, batch):
                found = []
                for row in batch:
                    found.append(self._decode(row).argmax(-1).item())
                return found

            def score(self, batches):
                return sum(self._decode(batch).sum().item() for batch in batches)

            def _decode(self, batch):
                return self.model(batch)  # TML201
        """,
    "a metric that is the default for what is measured": """
        class Accuracy(nn.Module):
            def forward(self, output, target):
                return (output.topk(1).indices == target.unsqueeze(1)).sum()

        def validate(net: nn.Module, loader, measure: nn.Module = Accuracy()):
            total = torch.tensor(0.0)
            net.eval()
            for x, y in loader:
                total += measure(net(x), y)  # TML201
            return total
        """,
    "a loss that is the default for what is measured": """
        class Distance(nn.Module):
            def forward(self, output, target):
                return (output - target).pow(2).sum()

        def validate(net: nn.Module, loader, measure: nn.Module = Distance()):
            total = torch.tensor(0.0)
            net.eval()
            for x, y in loader:
                total += measure(net(x), y)  # TML101
            return total
        """,
}


@pytest.mark.parametrize("name", known({}, list(GUILTY)))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(GUILTY))
def test_is_a_program(name: str) -> None:
    check_syntax(GUILTY[name])
