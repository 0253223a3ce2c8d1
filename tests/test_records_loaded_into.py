"""A data set whose records get what is loaded for them, each time that they are asked for."""

from __future__ import annotations

import pytest
from snippets import codes

SET = """
import json
import cv2
import numpy as np
from torch.utils.data import Dataset

class Scenes(Dataset):
    def __init__(self, path{given}):
        self.transform = np.ascontiguousarray
        {table}

    def __len__(self):
        return len(self.scenes)

    def picture(self, path):
        image = cv2.imread(path)
        return image[:, :, ::-1]

    def __getitem__(self, index):
        scene = {entry}
        {body}
        return {gives}
"""
TABLE = "self.scenes = json.load(open(path))"
LOADED = 'scene["image"] = cv2.imread(scene["path"])'


def _is_said(
    body: str = LOADED, entry: str = "self.scenes[index]", table: str = TABLE, gives: str = "scene", given: str = ""
) -> bool:
    body = body.replace("\n", "\n        ")
    found = codes(SET.format(body=body, entry=entry, table=table, gives=gives, given=given))
    assert "TML900" not in found
    return "TML404" in found


@pytest.mark.parametrize(
    "body",
    [
        LOADED,
        'scene["image"] = torch.from_numpy(cv2.imread(scene["path"]))',
        'scene["image"] = self.picture(scene["path"])',
        'scene["image"] = self.transform(self.picture(scene["path"]))',
        'image = cv2.imread(scene["path"])\nscene["image"] = image',
        'image = cv2.imread(scene["path"])\nimage = self.transform(image)\nscene["image"] = image',
        "scene.image = np.load(scene.path)",
    ],
)
def test_records_that_keep_what_is_loaded(body: str) -> None:
    assert _is_said(body)


@pytest.mark.parametrize(
    ("table", "given"),
    [
        ('self.scenes = json.load(open(path))["scenes"]', ""),
        ("self.scenes = [dict(path=p) for p in path]", ""),
        ("self.scenes = []\n        for p in path: self.scenes.append({'path': p})", ""),
        ("scenes = list(path)\n        self.scenes = sorted(scenes)", ""),
        ("self.scenes = path", ": list[dict]"),
    ],
)
def test_tables_that_are_lists(table: str, given: str) -> None:
    assert _is_said(table=table, given=given)
    assert _is_said(table=table, given=given, gives="index, scene")


@pytest.mark.parametrize(
    "body",
    [
        "scene = dict(scene)\n" + LOADED,
        'if "image" not in scene:\n    ' + LOADED,
        LOADED + '\nimage = scene.pop("image")',
        'scene["size"] = cv2.imread(scene["path"]).shape',
        'scene["mean"] = float(cv2.imread(scene["path"]).mean())',
        'scene["index"] = index',
        'scene["path"] = str(scene["path"])',
    ],
)
def test_records_that_keep_nothing_heavy(body: str) -> None:
    assert not _is_said(body)


def test_records_that_are_copies_or_made_anew() -> None:
    assert not _is_said(entry="self.scenes[index].copy()")
    assert not _is_said(entry="copy.deepcopy(self.scenes[index])")
    assert not _is_said(table="self.scenes = path")  # perhaps a data set, which makes them
    assert not _is_said(table="self.scenes = load_dataset(path)")


STREAM = """
import json
import numpy as np
from torch.utils.data import IterableDataset

class Clips(IterableDataset):
    def __init__(self, path):
        self.clips = [json.loads(line) for line in open(path)]

    def __iter__(self):
        for {names} in {over}:
            {body}
            yield clip
"""


@pytest.mark.parametrize(("names", "over"), [("clip", "self.clips"), ("i, clip", "enumerate(self.clips)")])
def test_a_stream_of_records(names: str, over: str) -> None:
    loaded = STREAM.format(names=names, over=over, body='clip["wave"] = np.load(clip["path"])')
    assert "TML404" in codes(loaded)
    copied = STREAM.format(names=names, over=over, body='clip = {**clip, "wave": np.load(clip["path"])}')
    assert "TML404" not in codes(copied)
