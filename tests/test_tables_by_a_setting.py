"""Tables of a data set by a size, or a place in a ring: as many entries as there are of these; notes of what failed."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CROPS = """
from torch.utils.data import DataLoader

class Crops(torch.utils.data.Dataset):
    def __init__(self, paths):
        self.paths, self.kept, self.failed = paths, {{}}, []

    def __len__(self):
        return len(self.paths)

    def window(self, size):
        if size not in self.kept:
            self.kept[size] = torch.hann_window(size)
        return self.kept[size]

    def __getitem__(self, i):
        path, name = self.paths[i], self.paths[i].name
        image = torch.load(path)
        height, width = image.shape[-2:]
        {}
        return image * self.window(width)

def main(paths):
    for batch in DataLoader(Crops(paths), batch_size=8, num_workers=2):
        print(batch.mean())
"""


@pytest.mark.parametrize(
    "keeps",
    [
        "self.kept[height, width] = torch.ones(height, width)",
        "self.kept[image.shape] = torch.ones_like(image)",
        "self.kept[i % 8] = image",
        "self.failed.append(path)",
    ],
)
def test_few_entries(keeps: str) -> None:
    check_innocent(CROPS.format(keeps))


@pytest.mark.parametrize(
    "keeps",
    [
        "self.kept[name] = image  # TML404",
        "self.kept['%s.png' % name] = image  # TML404",
        "self.kept[name, width] = image  # TML404",
        "self.failed.append(image)  # TML404",
    ],
)
def test_an_entry_for_each_item(keeps: str) -> None:
    check(CROPS.format(keeps))


SERVED = """
import torch.multiprocessing as mp

class Answers:
    def __init__(self):
        self.by_key = {}

    def put(self, k, answer):
        self.by_key[k] = answer  # TML401

ANSWERS = Answers()

def serve(requests, replies):
    while True:
        request = requests.get()
        if request is None:
            return
        key, rows = request
        ANSWERS.put(key, torch.rand(rows, 64))
        replies.put(key)

def main(steps):
    requests, replies = mp.Queue(8), mp.Queue(8)
    worker = mp.Process(target=serve, args=(requests, replies))
    worker.start()
    for step in range(steps):
        requests.put((f"request {step}", 16))
        print(replies.get())
    requests.put(None)
    worker.join()
"""


def test_a_key_of_whoever_asks() -> None:
    check(SERVED)


SOUNDS = """
from torch.utils.data import DataLoader
import librosa
import torchaudio

filters, windows = {{}}, {{}}

def spectrum(wave, n_fft, bins, rate, fmin=0, fmax=None, path=None):
    kind = str(wave.dtype) + "_" + str(wave.device)
    {}
    return torch.stft(wave, n_fft, return_complex=True)

class Sounds(torch.utils.data.Dataset):
    def __init__(self, paths, params):
        self.paths, self.at, self.resamplers = paths, 0, {{}}
        self.n_fft, self.bins, self.rate = params.n_fft, params.bins, params.rate
        self.lowest = params.lowest

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        self.at = i
        path = self.paths[i]
        wave, sample_rate = torchaudio.load(path)
        if sample_rate not in self.resamplers:
            self.resamplers[sample_rate] = torchaudio.transforms.Resample(sample_rate, self.rate)
        return spectrum(self.resamplers[sample_rate](wave), self.n_fft, self.bins, {})

def main(paths, params):
    for batch in DataLoader(Sounds(paths, params), batch_size=8, num_workers=2):
        print(batch.mean())
"""
MEL = "torch.from_numpy(librosa.filters.mel(sr=rate, n_fft=n_fft, n_mels=bins))"


@pytest.mark.parametrize(
    ("keeps", "given"),
    [
        (f"filters[f'{{n_fft}}_{{bins}}_{{rate}}_{{fmin}}_{{fmax}}_{{wave.device}}'] = {MEL}", "self.rate"),
        (f"key = '%s-%s-%s-%s' % (kind, n_fft, bins, fmin)\n    filters[key] = {MEL}", "self.rate, self.lowest, None"),
        (f"filters[kind + '_' + str(bins)] = {MEL}", "22050"),
        (f"if (bins, fmax, kind) not in filters:\n        filters[bins, fmax, kind] = {MEL}", "self.rate, fmax=8000"),
        ("windows[str(n_fft) + '_' + kind] = torch.hann_window(n_fft)", "self.rate"),
    ],
)
def test_a_filter_for_each_setting(keeps: str, given: str) -> None:
    check_innocent(SOUNDS.format(keeps, given))


@pytest.mark.parametrize(
    ("keeps", "given"),
    [
        (f"filters[f'{{n_fft}}_{{path}}'] = {MEL}  # TML404", "self.rate, path=path"),
        (f"key = '%s-%s' % (kind, fmin)\n    filters[key] = {MEL}  # TML404", "self.rate, self.at"),
        (f"filters[kind + '_' + str(fmin)] = {MEL}  # TML404", "self.rate, i"),
        (f"windows[bins, path] = {MEL}  # TML404", "self.rate, path=path"),
    ],
)
def test_an_entry_for_each_sound(keeps: str, given: str) -> None:
    check(SOUNDS.format(keeps, given))


FILTERS = """
kept = {{}}

def energies(wave, rate=16000.0, low=20.0, warp=1.0, clip=None):
    key = "%s-%s-%s-%s" % ({}, low, warp, wave.device)
    if key not in kept:
        kept[key] = torch.rand(80, 257)
    return kept[key] @ wave

def main(waves):
    for wave in waves:
        print(energies(wave, sample_rate=16000).sum())
"""


def test_a_filter_of_a_module_for_each_rate() -> None:
    check_innocent(FILTERS.format("sample_frequency").replace("rate=", "sample_frequency="))
