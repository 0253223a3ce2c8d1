"""Lists of step outputs that only the next evaluation empties, and such as are emptied in time or hold little."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

LOOP = """
class EvaluationLoop:
    def __init__(self, trainer):
        self.trainer = trainer
        self.collected = []

    def setup(self, loader):
        self.collected = []

    def on_batch_end(self, output):
        self.collected.append(output)%s

    def finish(self):
        return None

    def run_epoch_end(self, model):
        %s
"""

CALLBACK = """
class Ranking(lightning.Callback):
    def %s(self, trainer, module):
        self.seen = []

    def on_validation_batch_end(self, trainer, module, outputs, batch, index):
        self.seen.append(%s)%s

    def %s(self, trainer, module):
        %s
"""

FULL = {
    "handed to the model's hook": "return model.validation_epoch_end(self.collected)",
    "by another name": """everything = self.collected
        if len(everything) == 1:
            everything = everything[0]
        return model.validation_epoch_end(outputs=everything)""",
    "gone over": "return sum(each.std() for each in self.collected)",
    "joined": """if not self.collected:
            return None
        return torch.cat(self.collected).std()""",
}
EMPTIED = {
    "handed on with the only reference": """handed, self.collected = self.collected, []
        return model.validation_epoch_end(handed)""",
    "replaced when it was read": """handed = self.collected
        self.collected = []
        return model.validation_epoch_end(handed)""",
    "cleared": """result = torch.cat(self.collected).std()
        self.collected.clear()
        return result""",
    "sliced away": """result = torch.cat(self.collected).std()
        del self.collected[:]
        return result""",
    "emptied by the beginning itself": """result = model.validation_epoch_end(self.collected)
        self.setup(())
        return result""",
    "the list is the result": "return self.collected",
    "kept by another attribute": """self.results = self.collected
        return torch.cat(self.results).std()""",
    "counted": "return len(self.collected)",
}


@pytest.mark.parametrize("end", FULL.values(), ids=FULL)
def test_a_loop_that_stays_full(end: str) -> None:
    check(LOOP % ("  # TML107", end))


@pytest.mark.parametrize("end", EMPTIED.values(), ids=EMPTIED)
def test_a_loop_that_is_emptied_or_read_later(end: str) -> None:
    check_innocent(LOOP % ("", end))


JOINED = "module.log('spread', torch.cat(self.seen).std())"
MARK = "  # TML107"


@pytest.mark.parametrize(
    ("begin", "kept", "end", "mark"),
    [
        ("on_validation_epoch_start", "outputs", "on_validation_epoch_end", MARK),
        ("on_validation_start", "outputs['logits']", "on_validation_end", MARK),
        ("on_validation_epoch_start", "{'x': module(batch), 'id': index}", "on_validation_epoch_end", MARK),
        ("on_validation_epoch_start", "outputs.cpu()", "on_validation_epoch_end", ""),
        ("on_validation_epoch_start", "outputs.to('cpu')", "on_validation_epoch_end", ""),
        ("on_validation_epoch_start", "outputs['loss']", "on_validation_epoch_end", ""),
        ("on_validation_epoch_start", "outputs.sum()", "on_validation_epoch_end", ""),
        ("on_validation_epoch_start", "index", "on_validation_epoch_end", ""),
        ("on_train_epoch_start", "outputs", "on_validation_epoch_end", ""),  # which comes at once
        ("on_test_epoch_start", "outputs", "on_test_epoch_end", ""),  # after which nothing does
    ],
)
def test_a_callback(begin: str, kept: str, end: str, mark: str) -> None:
    check(CALLBACK % (begin, kept, mark, end, JOINED))


SEEN = {
    "what the model gives in a module's own step": """
        class Embedder(lightning.LightningModule):
            def on_validation_epoch_start(self):
                self.embedded = []

            def validation_step(self, batch, index):
                x, y = batch
                embedded = F.normalize(self(x), dim=1)
                self.embedded.append(embedded)  # TML107

            def on_validation_epoch_end(self):
                self.log("spread", torch.cat(self.embedded).std())
        """,
    "a loop that empties its list when it is run again": """
        class EvaluationEpoch:
            def __init__(self, model):
                self.model = model
                self._kept = []

            def reset(self):
                self._kept = []

            def run(self, batches):
                self.reset()
                for batch in batches:
                    self.advance(batch)
                return self.on_run_end()

            def advance(self, batch):
                self._kept.append(self.model.validation_step(batch))  # TML107

            def on_run_end(self):
                return torch.stack([each["loss"] for each in self._kept]).mean()
        """,
    "a list for each loader, filled by others": """
        class ValidationLoop:
            def begin(self, loaders):
                self.per_loader = [[] for _ in loaders]

            def epoch_end(self, model):
                every = self.per_loader  # TML107
                model.validation_epoch_end(every)

        @torch.no_grad()
        def validate(loop, model, loaders):
            loop.begin(loaders)
            for number, loader in enumerate(loaders):
                for batch in loader:
                    loop.per_loader[number].append(model.validation_step(batch))
            loop.epoch_end(model)
        """,
}


@pytest.mark.parametrize("snippet", SEEN.values(), ids=SEEN)
def test_seen(snippet: str) -> None:
    check(snippet)


INNOCENT = {
    "a metric is reset by whoever uses it": """
        class ValidationRecall:
            def __init__(self, model):
                self.model = model
                self.reset()

            def reset(self):
                self.rows = []

            def update(self, x):
                self.rows.append(self.model(x))

            def on_validation_end(self):
                return torch.cat(self.rows).mean()
        """,
    "the list is read when the evaluation is over": """
        class EvaluationLoop:
            def setup(self):
                self.rows = []

            def on_batch_end(self, output):
                self.rows.append(output)

            def epoch_end(self, model):
                model.validation_epoch_end(self.rows)

        @torch.no_grad()
        def evaluate(loop, model, batches):
            loop.setup()
            for batch in batches:
                loop.on_batch_end(model(batch).detach())
            loop.epoch_end(model)
            return torch.cat(loop.rows)
        """,
    "the object is made for one evaluation": """
        class EvaluationLoop:
            def setup(self):
                self.rows = []

            def on_batch_end(self, output):
                self.rows.append(output)

            def epoch_end(self, model):
                return model.validation_epoch_end(self.rows)

        def evaluate(model, batches):
            loop = EvaluationLoop()
            loop.setup()
            with torch.no_grad():
                for batch in batches:
                    loop.on_batch_end(model(batch))
            return loop.epoch_end(model)
        """,
    "set up again behind the end": """
        class EvaluationLoop:
            def setup(self):
                self.rows = []

            def on_batch_end(self, output):
                self.rows.append(output)

            def epoch_end(self, model):
                return model.validation_epoch_end(self.rows)

        class Trainer:
            def evaluate(self, model, batches):
                for batch in batches:
                    self.loop.on_batch_end(model.validation_step(batch))
                result = self.loop.epoch_end(model)
                self.loop.setup()
                return result
        """,
    "another hook empties it": """
        class Task(lightning.LightningModule):
            def on_validation_epoch_start(self):
                self.rows = []

            def validation_step(self, batch, index):
                self.rows.append(self(batch))

            def on_validation_epoch_end(self):
                self.log("spread", torch.cat(self.rows).std())

            def on_validation_end(self):
                self.rows.clear()
        """,
    "figures": """
        class Task(lightning.LightningModule):
            def on_validation_epoch_start(self):
                self.losses, self.right = [], []

            def validation_step(self, batch, index):
                x, y = batch
                logits = self(x)
                self.losses.append(F.cross_entropy(logits, y))
                self.right.append((logits.argmax(1) == y).float().mean())

            def on_validation_epoch_end(self):
                self.log("loss", torch.stack(self.losses).mean())
                self.log("right", torch.stack(self.right).mean())
        """,
}


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=INNOCENT)
def test_innocent(snippet: str) -> None:
    check_innocent(snippet)


STEP = """
class Recommender(lightning.LightningModule):
    def training_step(self, batch, index):
        x, weights = batch
        logits = self(x)
        dense = self.dense(weights)
        accuracy = (logits > 0).float().mean()
        loss = F.binary_cross_entropy_with_logits(logits, dense)
        return {"loss": loss, %s}%s

    def training_epoch_end(self, outputs):
        %s
"""
LOSSES = "self.log('loss', torch.stack([each['loss'] for each in outputs]).mean())"


@pytest.mark.parametrize(
    ("entry", "end", "mark"),
    [
        ("'logits': logits.detach()", LOSSES, MARK),
        ("'dense': dense", LOSSES, MARK),
        ("'dense': dense", "for i, each in enumerate(outputs):\n            print(i, each['loss'])", MARK),
        ("'logits': logits", "print(len(outputs), outputs[0]['loss'])", MARK),
        ("'accuracy': accuracy", LOSSES, ""),
        ("'shown': logits.cpu()", LOSSES, ""),
        ("'shown': logits.argmax(1)", LOSSES, ""),
        ("'weights': weights", LOSSES, ""),  # perhaps one for each row
        ("'hiddens': logits", LOSSES, ""),  # the framework reads them
        ("'logits': logits", "print(torch.cat([each['logits'] for each in outputs]).std())", ""),
        ("'logits': logits", "print(sum(each.get('logits').std() for each in outputs))", ""),
        ("'logits': logits", "self.summary(outputs)", ""),
        ("'logits': logits", "for each in outputs:\n            self.summary(each)", ""),
        ("'logits': logits", "print([each[key] for each in outputs for key in ('loss', 'logits')])", ""),
        ("'logits': logits", "self.log('done', 1.0)", ""),
    ],
)
def test_entries_of_a_step_that_its_epoch_does_not_read(entry: str, end: str, mark: str) -> None:
    check(STEP % (entry, mark, end))


def test_an_entry_that_another_hook_reads() -> None:
    check_innocent(
        STEP % ("'logits': logits", "", LOSSES)
        + """
    def on_train_batch_end(self, outputs, batch, index):
        print(outputs["logits"].std())
"""
    )


def test_a_step_whose_results_nobody_gathers() -> None:
    check_innocent((STEP % ("'logits': logits", "", LOSSES)).replace("training_epoch_end", "summarize"))
