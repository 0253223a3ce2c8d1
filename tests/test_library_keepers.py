"""What objects of packages keep of the models that a script gives them: trainers, pipelines, launchers."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TUNE = """
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from trl import DPOTrainer, SFTTrainer
import lightning as L

def tune(data, prompts):
    model = AutoModelForCausalLM.from_pretrained("small")
    trainer = {trainer}
    trainer.train()
    model.save_pretrained("out")
    {drops}
    torch.cuda.empty_cache()
    judge = AutoModelForCausalLM.from_pretrained("big")
    return {judge}
"""
TRAINERS = [
    'Trainer(model=model, args=TrainingArguments("out"), train_dataset=data)',
    "SFTTrainer(model, train_dataset=data)",
    "DPOTrainer(model=model, train_dataset=data)",
]


@pytest.mark.parametrize("trainer", TRAINERS)
def test_trainers_keep_their_model(trainer: str) -> None:
    check(TUNE.format(trainer=trainer, drops="del model  # TML604", judge="judge.generate(prompts)"))


@pytest.mark.parametrize(
    ("trainer", "drops", "judge"),
    [
        (TRAINERS[0], "del model, trainer", "judge.generate(prompts)"),
        (TRAINERS[0], "trainer = None\n    del model", "judge.generate(prompts)"),
        (TRAINERS[0], "model.cpu()\n    del model", "judge.generate(prompts)"),
        (TRAINERS[0], "del model", "judge.generate(prompts), trainer.state.log_history"),
        ("L.Trainer(max_epochs=3)", "del model", "judge.generate(prompts)"),
        ('Trainer(model_init=make, args=TrainingArguments("out"))', "del model", "judge.generate(prompts)"),
    ],
    ids=["both", "one after the other", "on the host", "read later", "another framework", "a model of its own"],
)
def test_models_that_no_trainer_keeps(trainer: str, drops: str, judge: str) -> None:
    check_innocent(TUNE.format(trainer=trainer, drops=drops, judge=judge))


def test_a_pipeline_keeps_its_autoencoder() -> None:
    check(
        """
        from diffusers import AutoencoderKL, StableDiffusionPipeline

        def draw(prompts):
            vae = AutoencoderKL.from_pretrained("vae").to("cuda")
            pipe = StableDiffusionPipeline.from_pretrained("base", vae=vae).to("cuda")
            latents = [pipe(prompt, output_type="latent").images for prompt in prompts]
            del vae  # TML604
            torch.cuda.empty_cache()
            refiner = StableDiffusionPipeline.from_pretrained("refiner").to("cuda")
            return [refiner(image=latent) for latent in latents]
        """
    )


FOLDS = """
from accelerate import Accelerator

def train_fold(fold, accelerator):
    model, optimizer = {made}
    model, optimizer = accelerator.prepare(model, optimizer){of_function}
    accelerator.backward(model(fold).mean())
    optimizer.step()
    print(model(fold).mean().item())

def train_folds(folds):
    accelerator = Accelerator()
    for fold in folds:
        {first}
        model = Net()
        optimizer = torch.optim.Adam(model.parameters())
        model, optimizer = accelerator.prepare(model, optimizer){of_loop}
        accelerator.backward(model(fold).mean())
        optimizer.step()
        {last}

def main(folds):
    train_folds(folds)
    accelerator = Accelerator()
    for fold in folds:
        train_fold(fold, accelerator)
"""
MARK = "  # TML314"
MADE = "Net(), torch.optim.Adam(Net().parameters())"


def _folds(made: str = MADE, first: str = "pass", last: str = "pass", of_loop: str = "", of_function: str = "") -> str:
    return FOLDS.format(made=made, first=first, last=last, of_loop=of_loop, of_function=of_function)


def test_a_launcher_lists_what_it_has_prepared() -> None:
    check(_folds(of_loop=MARK, of_function=MARK))


@pytest.mark.parametrize(
    "last", ["accelerator.free_memory()", "model, optimizer = accelerator.free_memory(model, optimizer)"]
)
def test_a_launcher_that_forgets(last: str) -> None:
    check_innocent(_folds(last=last))


def test_a_launcher_for_each_round() -> None:
    check(_folds(first="accelerator = Accelerator()", of_function=MARK))


def test_what_is_prepared_once() -> None:
    check_innocent(
        """
        from accelerate import Accelerator

        def main(loaders, steps):
            accelerator = Accelerator()
            model = Net()
            optimizer = torch.optim.Adam(model.parameters())
            model, optimizer = accelerator.prepare(model, optimizer)
            for name, loader in loaders.items():
                loader = accelerator.prepare(loader)
                for batch in loader:
                    accelerator.backward(model(batch).mean())
                    optimizer.step()
                    optimizer.zero_grad()
        """
    )
