"""What the text of a file does not show: what helpers of other packages give, and how often frameworks call a method.

A trailing `# TML102` in a snippet says what must be reported on that line; nothing else may be.
"""

from __future__ import annotations

import pytest
from snippets import check

HELPERS = {
    "a term of the loss": """
        from costs import content_cost, style_cost

        def train(model, loader, optimizer):
            kept = []
            for x, y in loader:
                out = model(x)
                style = style_cost(out, y)
                loss = content_cost(out, y) + 0.1 * style
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                kept.append(style)  # TML102
            return kept
    """,
    "a running sum of a term": """
        from costs import content_cost, style_cost

        class Fitter:
            def __init__(self, model, optimizer):
                self.model, self.optimizer = model, optimizer
                self.total = 0.0

            def step(self, x, y):
                out = self.model(x)
                content = content_cost(out, y).mean()
                style = style_cost(out, y).mean()
                (content + style).backward()
                self.optimizer.step()
                self.total += content / 10  # TML101
    """,
    "what the only way to the model leads through, in renamed statistics": """
        from helpers import chosen_log_probs, flatten_dict, masked_mean

        class Learner:
            def __init__(self, model, optimizer, accelerator):
                self.model, self.optimizer, self.accelerator = model, optimizer, accelerator
                self.model.train()

            def losses(self, new, old, advantages, mask):
                ratio = torch.exp(new - old)
                policy = masked_mean(-advantages * ratio, mask)
                return policy, flatten_dict({"policy": {"loss": policy.detach(), "ratio": ratio}})

            def update(self, batch):
                new = chosen_log_probs(self.model(batch["x"]), batch["ids"])
                loss, statistics = self.losses(new, batch["old"], batch["advantages"], batch["mask"])
                self.optimizer.zero_grad()
                self.accelerator.backward(loss)
                self.optimizer.step()
                return statistics

            def run(self, loader):
                collected = []
                for batch in loader:
                    statistics = self.update(batch)
                    collected.append(statistics)  # TML102
                return collected
    """,
}
INNOCENT_HELPERS = {
    "the sum of what is collected is differentiated": """
        from costs import cost

        def train(model, tasks, optimizer):
            terms = []
            for x, y in tasks:
                terms.append(cost(model(x), y))
            optimizer.zero_grad()
            sum(terms).backward()
            optimizer.step()
    """,
    "entries of a dictionary that are summed up in each step": """
        from costs import cost, penalty

        def train(model, batches, optimizer):
            for batch in batches:
                terms = []
                for x, y in batch:
                    out = model(x)
                    terms.append({"cost": cost(out, y), "penalty": penalty(out)})
                total = sum(term["cost"] + term["penalty"] for term in terms)
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
    """,
    "a mask that the loss is weighted with": """
        from costs import cost, mask_of

        def train(model, loader, optimizer):
            kept = []
            for x, y in loader:
                out = model(x)
                mask = mask_of(out)
                loss = (mask * cost(out, y)).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                kept.append(mask)
            return kept
    """,
    "what is returned beside the loss": """
        from costs import cost, penalty

        def train(model, loader, optimizer):
            kept = []
            for x, y in loader:
                out = model(x)
                first, report = cost(out, y)
                loss = first + penalty(out)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                kept.append(report)
                kept.append((first.item(), float(loss)))
            return kept
    """,
    "an action that is drawn from what the model gives": """
        from policies import drawn

        def play(policy, environment, optimizer):
            memory = []
            for _ in range(100):
                state = environment.reset()
                action, log_probability = drawn(policy(state))
                memory.append((state, action))
                loss = -log_probability * environment.step(action)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return memory
    """,
    "a term that is computed with gradients off, and a detached one": """
        from costs import cost, penalty

        def train(model, loader, optimizer):
            kept = []
            for x, y in loader:
                out = model(x)
                with torch.no_grad():
                    offset = penalty(out)
                error = cost(out, y)
                loss = error + offset
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                kept.append((offset, error.detach()))
            return kept
    """,
    "log probabilities that the end of the episode differentiates": """
        from policies import drawn

        class Agent:
            def __init__(self, policy, optimizer):
                self.policy, self.optimizer = policy, optimizer
                self.saved = []

            def act(self, state):
                action, log_probability = drawn(self.policy(state))
                self.saved.append(log_probability)
                return action

            def finish(self, rewards):
                loss = sum(-saved * reward for saved, reward in zip(self.saved, rewards))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                del self.saved[:]
    """,
}
RATES = {
    "statistics of each loss, taken out when they are logged": """
        from transformers import Trainer
        from helpers import chosen_log_probs

        class PreferenceTrainer(Trainer):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.kept = defaultdict(list)

            def compute_loss(self, model, inputs, return_outputs=False):
                new = chosen_log_probs(model(inputs["x"]).logits, inputs["ids"])
                distance = torch.exp(inputs["old"] - new) - (inputs["old"] - new) - 1
                each = -torch.exp(new - new.detach()) * inputs["advantage"] + 0.1 * distance
                self.kept["distance"].append(distance.mean())  # TML102
                self.kept["length"].append(inputs["mask"].sum().item())
                return (each * inputs["mask"]).sum()

            def log(self, logs):
                super().log({**logs, **{name: sum(values) / len(values) for name, values in self.kept.items()}})
                self.kept.clear()
    """,
    "a metric that is updated in each step and reset once an epoch": """
        from ignite.metrics import Metric

        class Likelihood(Metric):
            def reset(self):
                self.total = torch.tensor(0.0)
                self.count = 0

            def update(self, output: tuple[torch.Tensor, torch.Tensor]) -> None:
                predicted, target = output
                self.total += F.cross_entropy(predicted, target, reduction="sum")  # TML101
                self.count += target.numel()

            def compute(self):
                return (self.total / self.count).item()
    """,
    "figures of each step of a framework that is not seen": """
        from toolkit import TaskModel

        class Tagger(TaskModel):
            def __init__(self, config):
                super().__init__(config)
                self.criterion = nn.CrossEntropyLoss()
                self.classifier = nn.Linear(8, 2)
                self.validation_step_outputs = []

            def training_step(self, batch, index):
                x, y = batch
                return self.criterion(self.classifier(x), y)

            def validation_step(self, batch, index):
                x, y = batch
                loss = self.criterion(self.classifier(x), y)
                self.validation_step_outputs.append({"loss": loss})  # TML107
                return self.validation_step_outputs

            def on_validation_epoch_end(self):
                self.log("loss", torch.stack([each["loss"] for each in self.validation_step_outputs]).mean())
    """,
    "outputs of each training step, emptied at the end of the epoch": """
        class Task(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = Net()
                self.predicted = []

            def training_step(self, batch, index):
                x, y = batch
                predicted = self.net(x)
                self.predicted.append(predicted)  # TML107
                return F.cross_entropy(predicted, y)

            def on_train_epoch_end(self):
                self.log("spread", torch.cat(self.predicted).std())
                self.predicted.clear()
    """,
}
INNOCENT_RATES = {
    "statistics without their graph": """
        from transformers import Trainer

        class PreferenceTrainer(Trainer):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.kept = defaultdict(list)

            def compute_loss(self, model, inputs, return_outputs=False):
                loss = F.cross_entropy(model(inputs["x"]).logits, inputs["labels"])
                self.kept["loss"].append(loss.detach())
                return loss

            def log(self, logs):
                super().log({**logs, "mean": torch.stack(self.kept.pop("loss")).mean().item()})
    """,
    "emptied by whoever calls it, in a class of no framework": """
        class Recorder:
            def __init__(self, net: Net):
                self.net = net
                self.kept = []

            def step(self, x, y):
                loss = F.cross_entropy(self.net(x), y)
                self.kept.append(loss)

            def log(self):
                total = sum(self.kept)
                self.kept.clear()
                return total
    """,
    "a metric of torchmetrics, which turns gradients off": """
        from metrics import Metric

        class Likelihood(Metric):
            def __init__(self):
                super().__init__()
                self.add_state("total", default=torch.tensor(0.0), dist_reduce_fx="sum")

            def update(self, predicted: torch.Tensor, target: torch.Tensor) -> None:
                self.total += F.cross_entropy(predicted, target, reduction="sum")

            def compute(self):
                return self.total
    """,
    "a metric that detaches what it is given": """
        from ignite.metrics import Metric

        class Likelihood(Metric):
            def reset(self):
                self.total = torch.tensor(0.0)

            def update(self, output: tuple[torch.Tensor, torch.Tensor]) -> None:
                predicted, target = output[0].detach(), output[1].detach()
                self.total += F.cross_entropy(predicted, target, reduction="sum")

            def compute(self):
                return self.total.item()
    """,
}
CTX = {
    "gradients that are computed in advance": """
        from kernels import loss_and_gradients

        class Transducer(torch.autograd.Function):
            @staticmethod
            def forward(ctx, scores, labels):
                gradients = torch.zeros_like(scores) if scores.requires_grad else None
                costs = loss_and_gradients(scores, labels, gradients)
                ctx.gradients = gradients  # TML106
                ctx.wanted = gradients is not None
                return costs

            @staticmethod
            def backward(ctx, outer):
                return ctx.gradients * outer.view(-1, 1), None
    """,
    "an output of unknown code, in a tuple": """
        class EdgeSoftmax(torch.autograd.Function):
            @staticmethod
            def forward(ctx, graph, score):
                graph.run("softmax", score)
                out = graph.take("out")
                ctx.kept = (graph, out)  # TML106
                return out

            @staticmethod
            def backward(ctx, outer):
                graph, out = ctx.kept
                ctx.kept = None
                return None, graph.back(out, outer)
    """,
    "a temporary that the backward pass takes off": """
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, scores, factor):
                powers = torch.exp(scores)
                ctx.powers = powers
                ctx.buffers = [scores.new_empty(0)]
                ctx.factor = factor
                return powers * factor

            @staticmethod
            def backward(ctx, outer):
                given = outer * ctx.powers * ctx.factor
                del ctx.powers
                return given, None
    """,
    "a name that is bound again before it is returned": """
        class Part(torch.autograd.Function):
            @staticmethod
            def forward(ctx, graph, index):
                out = graph.shape_of(index)
                ctx.kept = out
                out = graph.part(index)
                return out

            @staticmethod
            def backward(ctx, outer):
                return outer.expand(ctx.kept), None
    """,
}
PROGRAMS = {**HELPERS, **INNOCENT_HELPERS, **RATES, **INNOCENT_RATES, **CTX}


@pytest.mark.parametrize("name", PROGRAMS, ids=[name.replace(" ", "-") for name in PROGRAMS])
def test_unseen(name: str) -> None:
    check(PROGRAMS[name])
