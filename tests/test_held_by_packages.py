"""A model that goes while what a package made of it stays: a pipeline, a model with adapters."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

HEAD = """
import gc
from diffusers import StableDiffusionPipeline
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, Pipeline, pipeline


def load(name):
    return AutoModelForCausalLM.from_pretrained(name).eval()


def judge(texts):
    with torch.no_grad():
        return load("judge")(texts).logits.argmax().item()
"""

GUILTY = {
    "a pipeline of transformers": """
        def answers(prompts):
            model = load("chat")
            chat = pipeline("text-generation", model=model, tokenizer=AutoTokenizer.from_pretrained("chat"))
            texts = [one["text"] for one in chat(prompts)]
            del model  # TML604
            gc.collect()
            torch.cuda.empty_cache()
            return judge(texts)
        """,
    "a pipeline of diffusers": """
        def pictures(prompts):
            unet = nn.Linear(64, 64)
            paint = StableDiffusionPipeline.from_pretrained("base", unet=unet).to("cuda")
            texts = [paint(one).caption for one in prompts]
            del unet  # TML604
            torch.cuda.empty_cache()
            return judge(texts)
        """,
    "the base of a model with adapters": """
        def answers(prompts):
            base = load("chat")
            model = get_peft_model(base, LoraConfig())
            with torch.no_grad():
                texts = model(prompts).logits.argmax().tolist()
            del model  # TML604
            torch.cuda.empty_cache()
            return judge(texts)
        """,
    "the model with adapters that is loaded onto it": """
        def answers(prompts):
            base = load("chat")
            model = PeftModel.from_pretrained(base, "adapter")
            with torch.no_grad():
                texts = model(prompts).logits.argmax().tolist()
            del base  # TML604
            torch.cuda.empty_cache()
            return judge(texts)
        """,
}

INNOCENT = {
    "both go": """
        def answers(prompts):
            model = load("chat")
            chat = pipeline("text-generation", model=model)
            texts = [one["text"] for one in chat(prompts)]
            del model, chat
            gc.collect()
            torch.cuda.empty_cache()
            return judge(texts)
        """,
    "the pipeline is used again": """
        def answers(prompts):
            model = load("chat")
            chat = pipeline("text-generation", model=model)
            del model
            torch.cuda.empty_cache()
            return judge([one["text"] for one in chat(prompts)])
        """,
    "a pipeline of another model": """
        def answers(prompts):
            model = load("chat")
            ask = pipeline("text-classification", model="small")
            with torch.no_grad():
                texts = model(prompts).logits.argmax().tolist()
            labels = ask(prompts)
            del model
            torch.cuda.empty_cache()
            return judge(texts), labels
        """,
    "adapters in turn on one base": """
        def answers(prompts, adapters):
            base = load("chat")
            found = []
            for adapter in adapters:
                model = PeftModel.from_pretrained(base, adapter)
                with torch.no_grad():
                    found.append(model(prompts).logits.argmax().item())
                del model
                torch.cuda.empty_cache()
            return found
        """,
    "the name is bound to the model with adapters": """
        def answers(prompts):
            model = load("chat")
            model = get_peft_model(model, LoraConfig())
            with torch.no_grad():
                texts = model(prompts).logits.argmax().tolist()
            del model
            torch.cuda.empty_cache()
            return judge(texts)
        """,
}


@pytest.mark.parametrize("snippet", GUILTY.values(), ids=GUILTY.keys())
def test_what_was_made_of_it_stays(snippet: str) -> None:
    check(HEAD + textwrap.dedent(snippet))


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=INNOCENT.keys())
def test_nothing_of_it_stays_or_it_is_needed(snippet: str) -> None:
    check_innocent(HEAD + textwrap.dedent(snippet))
