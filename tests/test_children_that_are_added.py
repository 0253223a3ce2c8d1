"""Objects that give a helper of their own what refers back to them: said where it is given, not in the helper."""

from __future__ import annotations

from snippets import check, check_innocent

CODE = """
class Note:
    def __init__(self, text):
        self.text = text

class Card:
    def __init__(self, trainer):
        self.trainer = trainer

class Trainer:
    def __init__(self, model):
        self.model = model
        self.callbacks = []
        self.add(Note("start"))
        {adds}

    def add(self, callback):
        self.callbacks.append(callback){mark}

def main(rounds):
    for _ in range(rounds):
        trainer = Trainer(nn.Linear(512, 512))
        print(trainer.model.weight.norm())
"""


def test_said_where_it_is_given() -> None:
    check(CODE.format(adds="self.add(Card(self))  # TML315", mark=""))


def test_by_a_keyword() -> None:
    check(CODE.format(adds="self.add(callback=Card(self))  # TML315", mark=""))


def test_said_in_the_helper_where_the_call_does_not_show_it() -> None:
    check(CODE.format(adds="card = Card(self)\n        self.add(card)", mark="  # TML315"))


def test_what_does_not_refer_back() -> None:
    check_innocent(CODE.format(adds="self.add(Note(len(self.callbacks)))", mark=""))
