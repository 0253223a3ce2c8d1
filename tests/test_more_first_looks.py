"""What another first look at strangers' code was wrong about, and what it had not seen."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SEEN = {
    "an error whose frames were given tensors": """
        class Search:
            def __init__(self, kernel):
                self.kernel = kernel
                self.failed = {}

            def measure(self, plan, left: torch.Tensor, right: torch.Tensor):
                return self.kernel(left, right, plan)

            def attempt(self, plan, left, right):
                try:
                    return self.measure(plan, left, right)
                except RuntimeError as error:
                    self.failed[plan] = error  # TML307
        """,
    "a row at the end of each sequence": """
        class Word:
            def __init__(self, end):
                self.end = end
                self.vectors = {}

            def put(self, name, vector):
                self.vectors[name] = vector  # TML309

        class Text:
            def __init__(self, ends):
                self.words: list[Word] = [Word(end) for end in ends]

        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(8, 8, batch_first=True)

            @torch.no_grad()
            def annotate(self, texts: list[Text], x):
                states = self.rnn(x)[0]
                for i, text in enumerate(texts):
                    for word in text.words:
                        word.put("last", states[i, word.end - 1])
        """,
    "a list that only its own private method empties": """
        class Recorder(nn.Module):
            def __init__(self):
                super().__init__()
                self.rows = []
                self.net = Net()

            @torch.no_grad()
            def record(self, loader):
                for x in loader:
                    self.rows.append(self.net(x))  # TML303

            def _flush(self):
                self.rows = []
        """,
    "a list of arguments that a helper sets to nothing": """
        def drop(*things):
            things = list(things)
            for index in range(len(things)):
                things[index] = None
            return things

        def swap(build, path):
            model = build(path)
            drop(model)  # TML603
            torch.cuda.empty_cache()
            other = build(path)
            print(other, model)
            return other
        """,
    "an evaluation whose model hands out how many there were": """
        def evaluate(model, tasks):
            model.eval()
            scores, count = {}, 0
            for task in tasks:
                for batch in task.batches:
                    found = model.forward(batch)  # TML201
                    count += found["n_seen"]
                    scores[task.name] = found["preds"].tolist()
            return scores, count
        """,
    "a model's own method that runs a part by another name": """
        from blocks import Deep

        class Joint(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.z_encoder = Deep(n)

            def infer(self, x):
                return dict(z=self.z_encoder(x))

            def sample(self, x):
                return self.infer(x)["z"]

        class Fit:
            def __init__(self, n):
                self.net = Joint(n)

            def latents(self, loader):
                self.net.eval()
                found = []
                for x in loader:
                    found.append(self.net.sample(x))  # TML102
                return torch.cat(found).detach().cpu().numpy()
        """,
    "a base that is not seen, and a parameter": """
        from bases import Unit

        class Mixture(Unit):
            def __init__(self, n):
                super().__init__()
                self.decoder = make(n)
                self.scale = nn.Parameter(torch.ones(n))

            def sample(self, x):
                return self.decoder(x) * self.scale

        class Fit:
            def __init__(self, n):
                self.net = Mixture(n)

            def draw(self, loader):
                self.net.eval()
                found = []
                for x in loader:
                    found.append(self.net.sample(x))  # TML102
                return torch.cat(found).detach().cpu().numpy()
        """,
    "a script's list of what a network gave, made by a function": """
        def predict(net, loader):
            return [net(x) for x in loader]  # TML102

        found = predict(Net(), [torch.rand(4, 8) for _ in range(9)])
        """,
}

QUIET = {
    "three of four columns": """
        @torch.no_grad()
        def gather(depths, poses):
            xyz = []
            for depth, pose in zip(depths, poses):
                world = torch.stack([depth, depth, depth, torch.ones_like(depth)], -1) @ pose.T
                xyz.append(world[:, :3])
            return torch.cat(xyz)
        """,
    "a shard of each rank, by a helper": """
        import torch.distributed as dist

        def load_model(model, folder, local_rank, size):
            dist.init_process_group("nccl")
            path = shard_path(folder, mp_rank=local_rank % size)
            model.load_state_dict(torch.load(path))
        """,
    "the state of a data loader": """
        import torch.distributed as dist

        def resume(trainer, path):
            dist.init_process_group("nccl")
            dataloader_state = torch.load(path)
            trainer.dataloader.load_state_dict(dataloader_state)
        """,
    "weights that start anew unless they are tracked": """
        class Inner:
            def __init__(self, track):
                self.track = track

            def step(self, loss, params):
                grads = torch.autograd.grad(loss, params, create_graph=self.track)
                new = [p - 0.1 * g for p, g in zip(params, grads)]
                if not self.track:
                    new = [p.detach().requires_grad_() for p in new]
                return new

        def adapt(model, stream, forward):
            inner = Inner(track=False)
            params = list(model.parameters())
            for x, y in stream:
                params = inner.step(forward(params, x, y), params)
            return len(params)
        """,
    "one output for each place in the data": """
        class Session:
            def __init__(self, model):
                self.model = model.eval()
                self.outputs = {}

            @torch.no_grad()
            def output(self, batch):
                if batch.index not in self.outputs:
                    self.outputs[batch.index] = self.model(batch.images)
                return self.outputs[batch.index]

        class Batch:
            def __init__(self, images, index):
                self.images, self.index = images, index

        def main(model, count):
            session = Session(model)
            for i in range(count):
                session.output(Batch(torch.rand(4, 8), i))
        """,
    "features of a signal": """
        class Engine:
            def __init__(self, frontend_class, encoder):
                self.frontend = frontend_class()
                self.frontend.eval()
                self.encoder = encoder

            def generate(self, audio):
                speech = self.frontend(audio)
                with torch.no_grad():
                    return self.encoder(speech)

        def demo(files, frontend_class, encoder):
            engine = Engine(frontend_class, encoder)
            for batch in files:
                engine.generate(batch)
        """,
    "a list that others may empty": """
        class Environment(nn.Module):
            def __init__(self):
                super().__init__()
                self.rows = []
                self.net = Net()

            @torch.no_grad()
            def rollout(self, loader):
                for x in loader:
                    self.rows.append(self.net(x))

            def flush(self):
                torch.save(self.rows, "rows.pt")
                self.rows = []
        """,
    "a table that is made longer when it is too short": """
        class Positions(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("table", torch.zeros(1, 8, 4))

            def forward(self, length):
                if length > self.table.size(1):
                    self.extend(length)
                return self.table[:, :length]

            def extend(self, length):
                have = self.table.size(1)
                more = torch.zeros(1, length - have, 4)
                self.table = torch.cat([self.table, more], dim=1)
        """,
    "options of a run": """
        def options(*words):
            args = list(words)
            args = parse(args)
            args["board"] = None
            return args

        def run(path, name):
            args = options("--path", path, name)
            print(args, path, name)
        """,
    "numbers and buffers of gradients on a context": """
        class Scatter(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, spread: bool, grad_out, cu_seqlens):
                ctx.spread = spread
                ctx.grad_out = grad_out
                ctx.cu_seqlens = cu_seqlens
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 2, None, None, None

        def use(model, x):
            return Scatter.apply(x, True, torch.zeros(8, 2), torch.arange(9))
        """,
    "names of layers by their number": """
        class Encoder(nn.Module):
            def __init__(self, layers):
                super().__init__()
                self.layers = layers
                self.count = 4
                self.seen = {}

            def forward(self, x):
                for i in range(self.count):
                    x = torch.relu(self.layers[i](x))
                    self.seen["layer%d" % (i + 1)] = x
                return x
        """,
    "a model that differentiates its own energy": """
        def evaluate(model, loader):
            model.eval()
            errors = []
            for batch in loader:
                found = model(batch["coord"])
                errors.append((found["force"] - batch["force"]).abs().mean().item())
            return errors
        """,
    "numbers beside what a model computes": """
        def train(model, loader, optimizer):
            seen = 0
            for batch in loader:
                found = model(batch)
                found.loss.backward()
                optimizer.step()
                seen += found["num_tokens"]
                seen += found.n_masked
            return seen
        """,
    "a text of losses": """
        def losses_of(model, loader, wide):
            model.train()
            form = "%.3f %.3f" if wide else "%.1f %.1f"
            for x in loader:
                loss = model(x).sum()
                loss.backward()
                text = ""
                for each in (loss, loss * 2):
                    text += form % (each, each)
                print(text)
        """,
    "a script's list of the rows of one pass, made by a function": """
        class Rows(nn.Module):
            def __init__(self):
                super().__init__()
                self.boxes, self.masks = nn.Linear(8, 4), nn.Linear(8, 1)

            def forward(self, x):
                return [{"box": b, "mask": m} for b, m in zip(self.boxes(x), self.masks(x))]

        model = Rows().eval()
        with torch.no_grad():
            found = model(torch.rand(3, 8))
        learned = model(torch.rand(3, 8))
        """,
}


@pytest.mark.parametrize("name", SEEN)
def test_seen(name: str) -> None:
    check(SEEN[name])


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str) -> None:
    check_innocent(QUIET[name])
