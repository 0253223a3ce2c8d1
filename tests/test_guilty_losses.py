"""Losses that a training loop keeps or sums up with their graphs: in many kinds of loop, and of many kinds."""

from __future__ import annotations

import pytest
from snippets import check, check_syntax, known

GUILTY = {
    "reports on the parts of one update, with what was computed on the way to the loss": """
        def step(batch, model):
            logits = model(batch[0])
            loss = F.cross_entropy(logits, batch[1])
            return loss, {"outputs": {"logits": logits}, "metrics": {"loss": loss.item()}}

        def parts_of(batches, model, count):
            reports = []
            for _ in range(count):
                loss, report = step(next(batches), model)
                reports.append(report)  # TML102
                (loss / count).backward()
            return reports

        def train(loader, optimizer):
            model = Net()
            for batches in loader:
                optimizer.zero_grad()
                reports = parts_of(iter(batches), model, len(batches))
                optimizer.step()
                print(torch.cat([report["outputs"]["logits"] for report in reports]).mean().item())
        """,
    "buckets that an index adds to, of what one process gathers": """
        def train(net: Net, loader, optimizer, accelerator):
            buckets = torch.zeros(10)
            for x, y, times in loader:
                each = F.mse_loss(net(x), y, reduction="none").mean(dim=1)
                optimizer.zero_grad()
                accelerator.backward(each.mean())
                optimizer.step()
                gathered = accelerator.gather(each).cpu()
                buckets.index_add_(0, (times * 10).long(), gathered)  # TML101
            return buckets
        """,
    "sums by the keys of the sums, one of which has a graph": """
        class Losses(nn.Module):
            def forward(self, out, y):
                square, other = (out - y).pow(2).mean(), (out - y).abs().mean()
                return {"total": square + other, "other": float(other)}

        def train(loader, optimizer):
            net, criterion, sums = Net(), Losses(), {"total": 0.0, "other": 0.0}
            for x, y in loader:
                losses = criterion(net(x), y)
                optimizer.zero_grad()
                losses["total"].backward()
                optimizer.step()
                for key in sums:
                    sums[key] += losses[key]  # TML101
            return sums
        """,
    "comprehension in the loop": """
        def train(loader):
            models, log = [Net(), Net()], []
            for x, y in loader:
                losses = [F.cross_entropy(model(x), y) for model in models]
                sum(losses).backward()
                log.append([loss for loss in losses])  # TML102
            return log
        """,
    "dictionary by step": """
        def train(loader):
            model, log = Net(), {}
            for step, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log[step] = loss  # TML102
            return log
        """,
    "losses of a closure that the optimizer calls": """
        class Style:
            def __init__(self, net: Net, image):
                self.net, self.scores = net, []
                self.image = image.requires_grad_()
                self.optimizer = torch.optim.LBFGS([self.image])

            def fit(self, steps):
                for _ in range(steps):
                    def closure():
                        self.optimizer.zero_grad()
                        loss = self.net(self.image).pow(2).mean()
                        loss.backward()
                        self.scores.append(loss)  # TML102
                        return loss

                    self.optimizer.step(closure)
        """,
    "loss kept under a branch": """
        def train(loader, verbose):
            model, log = Net(), []
            for step, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                if verbose and step % 10 == 0:
                    log.append(loss)  # TML102
            return log
        """,
    "loss kept in a while loop": """
        def train(x, y):
            model, log, step = Net(), [], 0
            while step < 100:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log.append(loss)  # TML102
                step += 1
            return log
        """,
    "accelerator": """
        from accelerate import Accelerator

        def train(loader):
            accelerator = Accelerator()
            model = Net()
            model, loader = accelerator.prepare(model, loader)
            total = 0.0
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss)
                total += loss  # TML101
            print(total / len(loader))
        """,
    "gradient scaler": """
        def train(loader, optimizer):
            model, scaler, total = Net(), torch.amp.GradScaler(), 0.0
            for x, y in loader:
                with torch.autocast("cuda"):
                    loss = F.cross_entropy(model(x), y)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                total += loss  # TML101
            print(total)
        """,
    "loss of an unseen criterion that is back-propagated": """
        def train(model, criterion, optimizer, loader):
            total = 0.0
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                total += loss  # TML101
            return total / len(loader)
        """,
    "loss of a model's output object": """
        from transformers import AutoModelForCausalLM

        def train(loader):
            model = AutoModelForCausalLM.from_pretrained("gpt2")
            losses = []
            for batch in loader:
                outputs = model(**batch)
                outputs.loss.backward()
                losses.append(outputs.loss)  # TML102
            return losses
        """,
    "sum with an annotation": """
        def step(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
            return model(batch).mean()

        def train(model: nn.Module, loader):
            total: torch.Tensor = torch.tensor(0.0)
            for batch in loader:
                loss = step(model, batch)
                loss.backward()
                total = total + loss  # TML101
            print(total)
        """,
    "narrowing that lets the tensor through": """
        def plain(value):
            if isinstance(value, torch.Tensor):
                return value.clone()
            return value

        def train(loader):
            model, log = Net(), []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log.append(plain(loss))  # TML102
            return log
        """,
    "grad mode ends before the sum": """
        def train(loader):
            model, total = Net(), 0.0
            for x, y in loader:
                with torch.no_grad():
                    scale = model(x).mean()
                loss = F.cross_entropy(model(x), y) * scale
                loss.backward()
                total += loss  # TML101
            print(total)
        """,
    "view under no_grad keeps the graph": """
        def train(loader):
            model, kept = Net(), []
            for x, y in loader:
                logits = model(x)
                F.cross_entropy(logits, y).backward()
                with torch.no_grad():
                    kept.append(logits.view(-1))  # TML102
            return kept
        """,
    "one retained graph too many": """
        def train(loader, optimizer):
            model = Net()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward(retain_graph=True)  # TML103
                optimizer.step()
        """,
    "a retained graph of its own for each target of a list": """
        def gradients(net: nn.Module, x, targets):
            for target in targets:
                F.mse_loss(net(x), target).backward(retain_graph=True)  # TML103

        def main(steps):
            net = nn.Linear(8, 2)
            for _ in range(steps):
                gradients(net, torch.rand(4, 8), [torch.rand(4, 2) for _ in range(3)])
        """,
    "heads are summed up before the only pass": """
        class Tasks(nn.Module):
            def __init__(self):
                super().__init__()
                self.trunk = nn.Linear(8, 8)
                self.heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(3))

            def learn(self, x, optimizer):
                shared, total = self.trunk(x), 0.0
                for head in self.heads:
                    total = total + head(shared).mean()
                total.backward(retain_graph=True)  # TML103
                optimizer.step()

        def main(steps):
            tasks = Tasks()
            optimizer = torch.optim.SGD(tasks.parameters(), 0.1)
            for _ in range(steps):
                tasks.learn(torch.rand(4, 8), optimizer)
        """,
    "a few named losses, each of a pass of its own": """
        def gradients(x):
            net = nn.Linear(8, 2)
            for _ in range(10):
                for name in ("mean", "norm"):
                    loss = getattr(net(x), name)()
                    torch.autograd.grad(loss, net.weight, retain_graph=True)  # TML103
        """,
    "what is left of a row behind its first element": """
        def train(loader):
            net, kept, last, norms = nn.Linear(8, 2), [], [], []
            for x, y in loader:
                out = net(x)
                size, *rest = len(x), out, y
                *_, end = len(x), y, out
                out.mean().backward()
                kept.append(rest)  # TML102
                last.append(end)  # TML102
                norms.append(rest[0].norm())  # TML102
            return kept, last, norms
        """,
    "dictionaries some of whose entries are replaced": """
        def losses(net, x):
            out = net(x)
            return {"mean": out.mean(), "norm": out.norm()}

        def train(loader, optimizer):
            net, means, names, scaled, deleted, listed = nn.Linear(8, 2), [], [], [], [], []
            for x, y in loader:
                found = losses(net, x)
                sum(found.values()).backward()
                optimizer.step()
                for key in found:
                    if key == "mean":
                        found[key] = found[key].item()
                means.append(found)  # TML102
                found = losses(net, x)
                for key in found:
                    found[key].detach()
                names.append(found)  # TML102
                found = losses(net, x)
                for key, value in found.items():
                    found[key] = value / len(x)
                scaled.append(found)  # TML102
                found = losses(net, x)
                del found["mean"]
                deleted.append(found)  # TML102
                found = list(losses(net, x).values())
                for index in range(len(found)):
                    found[index] = found[index].clone()
                listed.append(found)  # TML102
            return means, names, scaled, deleted, listed
        """,
    "a list that each step fills in": """
        def train(batches, optimizer):
            net, losses = nn.Linear(8, 2), [None] * len(batches)
            for step in range(len(losses)):
                loss = F.cross_entropy(net(batches[step][0]), batches[step][1])
                loss.backward()
                optimizer.step()
                losses[step] = loss  # TML102
            return losses
        """,
    "leaves that a function is applied to": """
        from torch.utils._pytree import tree_map, tree_map_only

        def train(net: nn.Linear, loader):
            halves, others = [], []
            for x, y in loader:
                out = net(x)
                made = {"loss": out.mean(), "parts": [out, out.norm()], "size": len(x)}
                made["loss"].backward()
                halves.append(tree_map(lambda t: t / 2, made["parts"]))  # TML102
                others.append(tree_map_only(int, str, made))  # TML102
            return halves, others
        """,
    "helpers that detach something else": """
        def by_match(tree):
            match tree:
                case list() | tuple():
                    return [value.detach() for value in tree]
                case _:
                    return tree

        def if_long(tree):
            match tree:
                case torch.Tensor(ndim=1):
                    return tree.detach()
                case _:
                    return tree

        def by_trial(value):
            try:
                return value.item()
            except RuntimeError:
                return value

        def train(net: nn.Linear, loader):
            matched, long, tried = [], [], []
            for x, y in loader:
                loss = net(x).mean(0)
                loss.sum().backward()
                matched.append(by_match(loss))  # TML102
                long.append(if_long(loss))  # TML102
                tried.append(by_trial(loss))  # TML102
            print(len(long))
            return matched, tried
        """,
    "detach thrown away": """
        def train(loader):
            model = Net()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                loss.detach()  # TML605
                print(loss)
        """,
    "async": """
        async def train(loader):
            model, log = Net(), []
            async for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log.append(loss)  # TML102
            return log
        """,
    "tuple of losses taken apart": """
        def losses(model: Net, x, y):
            out = model(x)
            return F.cross_entropy(out, y), out.norm()

        def train(loader):
            model, norms = Net(), 0.0
            for x, y in loader:
                loss, norm = losses(model, x, y)
                (loss + norm).backward()
                norms += norm  # TML101
            print(norms)
        """,
    "sum of what a parameter made": """
        def fit(data):
            weight, total = nn.Parameter(torch.zeros(8)), 0.0
            for x, y in data:
                loss = (x @ weight - y).pow(2).sum()
                loss.backward()
                total += loss  # TML101
            print(total)
        """,
    "dictionary of losses": """
        def losses(model: Net, x, y):
            out = model(x)
            return {"ce": F.cross_entropy(out, y), "norm": out.norm()}

        def train(loader):
            model, sums = Net(), defaultdict(float)
            for x, y in loader:
                parts = losses(model, x, y)
                sum(parts.values()).backward()
                for name, value in parts.items():
                    sums[name] += value  # TML101
            print(dict(sums))
        """,
    "phases that sum the loss": """
        def fit(model: Net, loaders, optimizer):
            for epoch in range(10):
                for phase in ("train", "val"):
                    running = 0.0
                    for x, y in loaders[phase]:
                        with torch.set_grad_enabled(phase == "train"):
                            out = model(x)
                            loss = F.cross_entropy(out, y)
                            if phase == "train":
                                loss.backward()
                                optimizer.step()
                        running += loss  # TML101
        """,
    "parts of a loss, whose sum is back-propagated, kept together": """
        def train(agent, loader, optimizer):
            history, parts = [], []
            for batch in loader:
                losses = agent.compute(batch)
                loss = sum(losses) if isinstance(losses, tuple) else losses
                terms = agent.regularizers(batch)
                total = sum(terms.values())
                optimizer.zero_grad()
                loss.backward()
                total.backward()
                optimizer.step()
                history.append(losses)  # TML102
                parts.append(terms)  # TML102
            return history, parts
        """,
    "epoch sums in a history": """
        def train(model: Net, loader, optimizer):
            history = []
            for epoch in range(10):
                epoch_loss = 0
                for x, y in loader:
                    optimizer.zero_grad()
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    optimizer.step()
                    epoch_loss += loss  # TML101
                history.append(epoch_loss / len(loader))  # TML102
        """,
    "losses from a generator": """
        def steps(model, loader):
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                yield loss
        def train(loader):
            losses = []
            for loss in steps(Net(), loader):
                losses.append(loss)  # TML102
            print(losses[-1])
        """,
    "loss and its parts from a helper that is given a tensor": """
        def train(model, optimizer, loader, helper):
            total, places = torch.zeros(()), torch.arange(8)
            for x in loader:
                optimizer.zero_grad()
                loss, parts = helper.region_loss(model, x, places=places)
                loss.backward()
                optimizer.step()
                total = total + loss  # TML101
            return total.item()
        """,
    "parts of a loss whose terms are not followed, by name": """
        class Parts:
            def __init__(self, config):
                self.loss = config.make()

            def __call__(self, boxes, targets):
                shape, kind = self.loss(boxes, targets)
                parts = {"shape": 2.0 * shape, "kind": kind}
                return sum(parts.values()) / len(parts), parts

        def train(config, model, loader, optimizer):
            criterion = Parts(config)
            totals = defaultdict(lambda: torch.zeros(()))
            for images, targets in loader:
                optimizer.zero_grad()
                loss, parts = criterion(config.boxes(model(images)), targets)
                loss.backward()
                optimizer.step()
                for name, part in parts.items():
                    totals[name] += part * len(images)  # TML101
            return totals
        """,
    "a term that is not followed, added to a tensor": """
        def train(config, model, loader, optimizer):
            total = torch.zeros(())
            for images, targets in loader:
                optimizer.zero_grad()
                first, second = config.loss(config.boxes(model(images)), targets)
                (first + second).backward()
                optimizer.step()
                total = total + first  # TML101
            return total.item()
        """,
    "list sorted with one more": """
        def train(loader):
            model, best = Net(), []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                best = sorted(best + [loss])  # TML102
        """,
}

GUILTY_BUGS: dict[str, str] = {
    "list sorted with one more": "a list rebuilt from itself is not seen to grow",
}


@pytest.mark.parametrize("name", known(GUILTY_BUGS, list(GUILTY)))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(GUILTY))
def test_is_a_program(name: str) -> None:
    check_syntax(GUILTY[name])
