"""What spawned workers import, however the start method is said; `# TML402` says what is due."""

from __future__ import annotations

import pytest
from snippets import check

PROGRAM = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.pool import Pool
from torch.utils.data import DataLoader, Dataset

NAMES = ["O", "PER", "LOC"]
tagger = nn.Embedding(50_000, 256){mark}
weights = torch.ones(len(NAMES))

class Texts(Dataset):
    def __getitem__(self, index):
        return clean(str(index))

def clean(text):
    return text.lower()

def main(texts):
    context = multiprocessing.get_context({method})
    {start}
"""
STARTS = [
    "with ProcessPoolExecutor(2, mp_context=context) as pool:\n        return list(pool.map(clean, texts))",
    "with ProcessPoolExecutor(2, context) as pool:\n        return list(pool.map(clean, texts))",
    "with Pool(2, context=context) as pool:\n        return pool.map(clean, texts)",
]


@pytest.mark.parametrize("start", STARTS)
def test_a_context_that_spawns(start: str) -> None:
    check(PROGRAM.format(mark="  # TML402", method='"spawn"', start=start))


@pytest.mark.parametrize("start", STARTS)
def test_a_context_that_forks(start: str) -> None:
    check(PROGRAM.format(mark="", method='"fork"', start=start))


def test_a_loader_s_context() -> None:
    start = "for text in DataLoader(Texts(), num_workers=2, multiprocessing_context=context):\n        print(text)"
    check(PROGRAM.format(mark="  # TML402", method='"spawn"', start=start))
    check(PROGRAM.format(mark="", method='"fork"', start=start))


LIBRARIES = """
import clip
import multiprocessing
import torch
import whisper
from sentence_transformers import SentenceTransformer

{}

def cut(text):
    return text.split()

def main(texts):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        return pool.map(cut, texts)
"""


@pytest.mark.parametrize(
    "made",
    [
        'model = torch.hub.load("pytorch/vision", "resnet18")',
        'model, preprocess = clip.load("ViT-B/32")',
        'speech = whisper.load_model("large")',
        'encoder = SentenceTransformer("all-MiniLM-L6-v2")',
    ],
)
def test_models_of_libraries(made: str) -> None:
    check(LIBRARIES.format(made + "  # TML402"))
    check(LIBRARIES.format(f"def load():\n    {made}"))
