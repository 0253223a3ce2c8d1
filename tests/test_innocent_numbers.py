"""Innocent training loops that keep numbers, or what was detached: from helpers, meters and narrowed values."""

from __future__ import annotations

import pytest
from snippets import check_innocent, check_syntax

INNOCENT = {
    "sums of those entries that are numbers, by the keys of the sums": """
        class Losses(nn.Module):
            def forward(self, out, y):
                square, other = (out - y).pow(2).mean(), (out - y).abs().mean()
                return {"total": square + other, "square": square.item(), "other": float(other)}

        def train(net, loader, optimizer):
            criterion, sums = Losses(), {"square": 0.0, "other": 0.0}
            for x, y in loader:
                losses = criterion(net(x), y)
                optimizer.zero_grad()
                losses["total"].backward()
                optimizer.step()
                for key in sums:
                    sums[key] += losses[key]
                for key, value in losses.items():
                    print(key, float(value))
            return sums

        def train_again(net, loader, optimizer):
            criterion, sums = Losses(), {"square": 0.0, "other": 0.0}
            for x, y in loader:
                losses = criterion(net(x), y)
                optimizer.zero_grad()
                losses["total"].backward()
                optimizer.step()
                for key in ("square", "other"):
                    sums[key] += losses[key]
            return sums
        """,
    "leaves that a function is applied to": """
        from torch.utils._pytree import tree_map, tree_map_only

        def step(net, x):
            out = net(x)
            loss = out.mean()
            loss.backward()
            return {"loss": loss, "parts": [out, out.norm()], "size": len(x)}

        def train(net: nn.Linear, loader):
            detached, tensors, tested, numbers = [], [], [], []
            for x, y in loader:
                made = step(net, x)
                detached.append(tree_map(torch.Tensor.detach, made["parts"]))
                tensors.append(tree_map_only(torch.Tensor, lambda t: t.detach().cpu(), made))
                tested.append(tree_map(lambda t: t.detach() if isinstance(t, torch.Tensor) else t, made))
                numbers.append(tree_map(float, made))
            return detached, tensors, tested, numbers
        """,
    "helpers that detach what is a tensor": """
        def by_match(tree):
            match tree:
                case torch.Tensor():
                    return tree.detach()
                case dict():
                    return {key: by_match(value) for key, value in tree.items()}
                case list() | tuple():
                    return [by_match(value) for value in tree]
                case _:
                    return tree

        def by_trial(value):
            try:
                return value.detach()
            except AttributeError:
                return value

        def train(net: nn.Linear, loader):
            matched, trees, tried = [], [], []
            for x, y in loader:
                loss = net(x).mean()
                loss.backward()
                matched.append(by_match(loss))
                trees.append(by_match({"loss": loss, "size": len(x), "parts": [loss, y]}))
                tried.append(by_trial(loss))
            return matched, trees, tried
        """,
    "what is left of a row behind its first element": """
        def train(net: nn.Module, loader, first, second):
            labels, sizes = [], []
            for x, y in loader:
                loss, *rest = net(x).mean(), y, len(y)
                *_, last = net(x).mean(), y, len(y)
                loss.backward()
                labels.append(rest)
                sizes.append(rest[-1] + last)
            for weight, *gradients in zip(net.parameters(), first, second):
                weight.grad = torch.stack(gradients).mean(0)
            return labels, sizes

        def main(loader):
            train(nn.Linear(8, 2), loader, [torch.rand(2, 8), torch.rand(2)], [torch.rand(2, 8), torch.rand(2)])
        """,
    "numbers of the parts of a loss whose sum is back-propagated": """
        def train(agent, loader, optimizer):
            history = []
            for batch in loader:
                losses = agent.compute(batch)
                loss = sum(losses) if isinstance(losses, tuple) else losses
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if isinstance(losses, tuple):
                    history.append([part.item() for part in losses])
                else:
                    history.append(losses.item())
            return history
        """,
    "mean under a name that is put together": """
        class Trainer:
            def __init__(self, model, what="loss"):
                self.model, self.what, self.history = model, what, []
                self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

            def run(self, x, y, stage):
                out = self.model(x)
                return {f"{stage}_{key}": part for key, part in {"out": out, "loss": F.cross_entropy(out, y)}.items()}

            def fit(self, loader, stage):
                for _ in range(10):
                    seen = []
                    for x, y in loader:
                        figures = self.run(x, y, stage)
                        self.optimizer.zero_grad()
                        figures[f"{stage}_loss"].backward()
                        self.optimizer.step()
                        seen.append(figures[f"{stage}_loss"].detach())
                    figures[f"mean_{self.what}"] = torch.stack(seen).mean()
                    self.history.append(figures[f"mean_{self.what}"])
                print(torch.stack(self.history))

        def main(stage="train"):
            Trainer(Net()).fit([(torch.rand(4, 8), torch.zeros(4).long())], stage)
    """,
    "a running mean with a method of its own to take a value in": """
        class Loop:
            def __init__(self, trainer):
                self.trainer = trainer
                self.running = None

            def run(self, model, loader, optimizer):
                for x, y in loader:
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    optimizer.step()
                    self.running.append(loss)
                    if self.running.mean() > 4:
                        self.running.reset()
        """,
    "a container of the values that have `detach`": """
        def free(values):
            out = {}
            for key, value in values.items():
                if callable(getattr(value, "detach", None)):
                    out[key] = value.detach()
                else:
                    out[key] = value
            return out

        def train(model, loader, optimizer):
            kept = []
            for batch in loader:
                logs = model.training_step(batch)
                logs["loss"].backward()
                optimizer.step()
                kept.append(free(logs))
            return kept
        """,
    "a step's output whose loss is detached before it is kept": """
        def train(module, loader, optimizer):
            outputs = []
            for i, batch in enumerate(loader):
                optimizer.zero_grad()
                output = module.training_step(batch, i)
                output["loss"].backward()
                optimizer.step()
                output["loss"] = output["loss"].detach()
                outputs.append(output)
            return module.training_epoch_end(outputs)
        """,
    "a-result-that-numpy-takes-has-no-graph": """
import torch


class Problem:
    def __init__(self, model: torch.nn.Module, score: torch.nn.Module) -> None:
        self.model, self.score = model.eval(), score.eval()

    def evaluate(self, x, out):
        with torch.no_grad():
            y = self.model(x)
        value = self.score(y)
        out["cost"] = -value.cpu().numpy()
        print(self.score(y).numpy())
""",
    "epoch sums of detached losses": """
        def train(model: Net, loader, optimizer):
            history = []
            for epoch in range(10):
                epoch_loss = 0
                for x, y in loader:
                    optimizer.zero_grad()
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    optimizer.step()
                    epoch_loss += loss.detach()
                history.append(epoch_loss / len(loader))
        """,
    "losses reduced over ranks": """
        def train(model, loader, optimizer, logger):
            for images, targets in loader:
                loss_dict = model(images, targets)
                losses = sum(loss for loss in loss_dict.values())
                reduced = reduce_dict(loss_dict)
                value = sum(loss for loss in reduced.values()).item()
                optimizer.zero_grad()
                losses.backward()
                optimizer.step()
                logger.update(loss=value, **reduced)
        """,
    "a name rebound to a float before it is kept": """
        def find_rate(model: Net, optimizer, loader):
            losses = []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                loss = loss.detach().cpu().item()
                smooth = loss
                losses.append(smooth if not losses else 0.9 * losses[-1] + 0.1 * smooth)
                losses.append(loss)
            return losses
        """,
    "helper that gives a number": """
        def value(loss):
            return loss.item()

        def train(loader):
            model, total, log = Net(), 0.0, []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                total += value(loss)
                log.append(value(loss))
            return total, log
        """,
    "method that gives a number": """
        class Trainer:
            def __init__(self):
                self.model, self.losses = Net(), []

            def step(self, x, y):
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                return loss.item()

            def fit(self, loader):
                for x, y in loader:
                    self.losses.append(self.step(x, y))
        """,
    "accelerator with item": """
        def train(model: Net, loader, accelerator, optimizer):
            total = 0.0
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
                total += accelerator.gather(loss.detach()).mean()
                total += loss.item()
            return total
        """,
    "narrowing by isinstance": """
        def plain(value):
            if isinstance(value, torch.Tensor):
                return value.item()
            return value

        def train(loader):
            model, log = Net(), []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log.append(plain(loss))
                log.append(plain(1.0))
            return log
        """,
    "narrowing in a meter": """
        class Meter:
            def __init__(self):
                self.total = 0.0

            def update(self, value):
                if isinstance(value, torch.Tensor):
                    value = value.detach()
                self.total += value

        def train(loader):
            model, meter = Net(), Meter()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                meter.update(loss)
            return meter
        """,
    "narrowing by hasattr": """
        def number(value):
            return value.item() if hasattr(value, "item") else value

        def train(loader):
            model, total = Net(), 0.0
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                total += number(loss)
            return total
        """,
    "meter that is given numbers": """
        class Meter:
            def __init__(self):
                self.total, self.values = 0.0, []

            def update(self, value, n=1):
                self.total += value * n
                self.values.append(value)

        def train(loader):
            model, meter = Net(), Meter()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                meter.update(loss.item(), len(x))
            return meter
        """,
    "meter of which nothing is known": """
        class Meter:
            def __init__(self):
                self.total, self.values = 0.0, []

            def update(self, value, n=1):
                self.total += value * n
                self.values.append(value)
        """,
    "same name in another function": """
        def train(loader):
            model = Net()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()

        def report(rows):
            losses = []
            for row in rows:
                loss = float(row["loss"])
                losses.append(loss)
            return losses
        """,
    "get_loss that is no loss": """
        def summarise(reports):
            losses = []
            for report in reports:
                losses.append(report.get_loss())
                losses.append(read_loss(report))
            return losses
        """,
    "entries of a row, detached where they have a graph": """
        def train(loader):
            model, rows = Net(), []
            for x, y in loader:
                logits = model(x)
                loss = F.cross_entropy(logits, y)
                loss.backward()
                row = {"loss": loss, "hits": (logits.argmax(1) == y).sum(), "count": len(y)}
                rows.append({k: v.detach() if k == "loss" else v for k, v in row.items()})
            print(sum(row["count"] for row in rows))
        """,
    "a curve of numbers, joined value by value": """
        class Estimator:
            def __init__(self):
                self.net = Net()
                self.curve = torch.empty(0)

            def validation_step(self, x, y):
                with torch.no_grad():
                    cost = F.cross_entropy(self.net(x), y)
                    self.curve = torch.cat([self.curve, cost.reshape(1)])
                return cost.item()
        """,
    "a loss and how much it is about": """
        def train(loader, model):
            total, seen = 0.0, 0
            model.train()
            for batch in loader:
                loss, datapoint_count = model(batch)
                loss.backward()
                total += loss.item()
                seen += datapoint_count
            print(total / seen)
        """,
    "exponential average of a number": """
        def train(loader):
            model, average = Net(), None
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                value = loss.item()
                average = value if average is None else 0.9 * average + 0.1 * value
        """,
    "printed, logged, drawn": """
        def train(loader, writer, bar):
            model = Net()
            for step, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                writer.add_scalar("loss", loss, step)
                bar.set_postfix(loss=loss)
                print(step, loss)
        """,
}


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_is_a_program(name: str) -> None:
    check_syntax(INNOCENT[name])
