"""Decoders and open files that a data set keeps in each worker; `# TML406` says what is due."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

DECODERS = """
import fsspec
from collections import OrderedDict
from torch.utils.data import DataLoader, Dataset
from torchcodec.decoders import VideoDecoder

class Decoders:
    def __init__(self):
        self._known = OrderedDict()

    def get(self, path):
        if path not in self._known:
            handle = fsspec.open(path).__enter__()
            {}
        return self._known[path][0]

DECODERS = Decoders()

def frames(path, decoders=None):
    decoders = DECODERS if decoders is None else decoders
    return decoders.get(path).get_frames_at([0])

class Episodes(Dataset):
    def __init__(self, names):
        self.names = names

    def __getitem__(self, index):
        return frames(f"episode-{{self.names[index]}}.mp4")

def run(names):
    for batch in DataLoader(Episodes(names), num_workers=2):
        print(batch.shape)
"""
KEPT = "self._known[path] = (VideoDecoder(handle), handle)"


@pytest.mark.parametrize("keeps", [KEPT, "self._known[path] = {0: VideoDecoder(path)}"])
def test_one_for_each_video(keeps: str) -> None:
    check(DECODERS.format(keeps + "  # TML406"))


def test_the_last_few() -> None:
    evicts = "\n            if len(self._known) > 8:\n                self._known.popitem(last=False)[1][1].close()"
    check_innocent(DECODERS.format(KEPT + evicts))
