"""Releases that a function comes to on some of its ways, where the entry was handed to it for good."""

from __future__ import annotations

import pytest
from snippets import check

WORKS = """
class Jobs:
    def __init__(self, model):
        self.model = model
        self.inputs = {{}}

    def add(self, key, frames: torch.Tensor):
        self.inputs[key] = frames{mark}

    @torch.no_grad()
    def work(self, key, answer):
{body}

def main():
    jobs = Jobs(Net())
    for number in range(1000):
        jobs.add(number, torch.randn(64, 8))
        jobs.work(number, print)
"""
FAILED = {
    "a clause that returns": """
        try:
            result = self.model(self.inputs[key]).sum().item()
        except Exception as error:
            print("failed", error)
            answer(error)
            return
        answer(result)
        self.inputs.pop(key)
""",
    "a clause that goes round": """
        for one in (key,):
            try:
                result = self.model(self.inputs[key]).sum().item()
            except Exception as error:
                answer(error)
                return
            answer(result)
        del self.inputs[key]
""",
    "an answer in the place of the result": """
        try:
            result = self.model(self.inputs[key]).sum().item()
        except (ValueError, RuntimeError) as error:
            return answer(str(error))
        self.inputs.pop(key, None)
        answer(result)
""",
}
SEEN_TO = {
    "a finally": """
        try:
            answer(self.model(self.inputs[key]).sum().item())
        except Exception as error:
            answer(error)
        finally:
            self.inputs.pop(key)
""",
    "after the clause": """
        try:
            result = self.model(self.inputs[key]).sum().item()
        except Exception as error:
            result = error
        self.inputs.pop(key)
        answer(result)
""",
    "a clause that is about the key": """
        try:
            frames = self.inputs[key]
        except KeyError:
            return
        answer(self.model(frames).sum().item())
        self.inputs.pop(key)
""",
    "tried again": """
        try:
            answer(self.model(self.inputs[key]).sum().item())
        except Exception:
            self.retry(key)
            return
        self.inputs.pop(key)

    def retry(self, key):
        print("later", key)
""",
    "the caller is told": """
        try:
            answer(self.model(self.inputs[key]).sum().item())
        except Exception:
            return False
        self.inputs.pop(key)
        return True
""",
    "attempts": """
        for attempt in range(3):
            try:
                answer(self.model(self.inputs[key]).sum().item())
                break
            except Exception as error:
                print(attempt, error)
        self.inputs.pop(key)
""",
}


@pytest.mark.parametrize("body", FAILED.values(), ids=FAILED)
def test_what_has_failed(body: str) -> None:
    check(WORKS.format(body=body, mark="  # TML311"))


@pytest.mark.parametrize("body", SEEN_TO.values(), ids=SEEN_TO)
def test_what_is_seen_to(body: str) -> None:
    check(WORKS.format(body=body, mark=""))


ASKED = """
class Copies:
    def __init__(self):
        self.going = {{}}
        self.acks = deque()
        self.cancelled = set()

    def start(self, number, cache: torch.Tensor):
        self.going[number] = cache{mark}
        self.acks.append(number)

    def poll(self):
        done = []
        for _ in range(len(self.acks)):
{body}
        return done

def main():
    copies = Copies()
    for number in range(1000):
        copies.start(number, torch.randn(64, 64))
        copies.poll()
"""
SKIPPED = {
    "gone on": """
            number = self.acks.popleft()
            if number in self.cancelled:
                self.cancelled.discard(number)
                continue
            done.append(self.going.pop(number).sum().item())
""",
    "given up": """
            number = self.acks.popleft()
            cache = self.going[number]
            if cache.isnan().any():
                return done
            done.append(cache.sum().item())
            del self.going[number]
""",
}
TAKEN = {
    "at once": """
            number = self.acks.popleft()
            cache = self.going.pop(number)
            if number in self.cancelled:
                continue
            done.append(cache.sum().item())
""",
    "put back": """
            number = self.acks.popleft()
            if self.going[number].isnan().any():
                self.acks.append(number)
                continue
            done.append(self.going.pop(number).sum().item())
""",
    "nothing there": """
            number = self.acks.popleft()
            cache = self.going.get(number)
            if cache is None:
                continue
            done.append(cache.sum().item())
            del self.going[number]
""",
    "another kind": """
            kind, number, note = self.acks.popleft()
            if kind == "stop":
                return done
            done.append(self.going.pop(number).sum().item())
""",
    "an end": """
            number = self.acks.popleft()
            if number is None:
                break
            done.append(self.going.pop(number).sum().item())
""",
}


@pytest.mark.parametrize("body", SKIPPED.values(), ids=SKIPPED)
def test_what_is_skipped(body: str) -> None:
    check(ASKED.format(body=body, mark="  # TML311"))


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN)
def test_what_is_taken(body: str) -> None:
    check(ASKED.format(body=body, mark=""))


ANSWERED = """
class Responder:
    def __init__(self, number, frames: torch.Tensor, done):
        self.number = number
        self.frames = frames
        self.done = done

    def respond(self, answer):
        print(answer)
        self.done(self)

class Session:
    def __init__(self, model):
        self.model = model
        self.open = {{}}

    def receive(self, number, frames: torch.Tensor):
        responder = Responder(number, frames, done=lambda one: self.open.pop(one.number, None))
        self.open[responder.number] = responder{mark}
        try:
            self.handle(responder)
        except ValueError as error:
{caught}

    @torch.no_grad()
    def handle(self, responder):
{checked}
        responder.respond(self.model(responder.frames).sum().item())

def main():
    session = Session(Net())
    for number in range(1000):
        session.receive(number, torch.randn(64, 8))
"""
CHECKED = """\
        if responder.frames.isnan().any():
            raise ValueError("no numbers")
"""


def test_what_nobody_answers() -> None:
    told = '            print("not valid", error)'
    taken = "            self.open.pop(responder.number, None)"
    check(ANSWERED.format(mark="  # TML311", caught=told, checked=CHECKED))
    check(ANSWERED.format(mark="", caught=taken, checked=CHECKED))
    check(ANSWERED.format(mark="", caught=told, checked="        print(responder.number)"))
    answered = CHECKED.replace('raise ValueError("no numbers")', 'return responder.respond("no numbers")')
    check(ANSWERED.format(mark="", caught=told, checked=answered))


ANSWERS = """
class Prefetches:
    def __init__(self):
        self.going = {{}}
        self.hits = []

    def start(self, number, pages: torch.Tensor):
        self.going[number] = pages{mark}

    def is_ready(self, number):
        if number not in self.going:
            return True
{body}

def main():
    prefetches = Prefetches()
    for number in range(1000):
        prefetches.start(number, torch.randn(64, 64))
        prefetches.is_ready(number)
"""
SAME_ANSWER = """
        pages = self.going[number]
        if len(pages) < 3:
            return True
        self.hits.append(pages.sum().item())
        self.going.pop(number)
        return True
"""
OTHER_ANSWERS = {
    "not yet": """
        pages = self.going[number]
        if len(pages) < 3:
            return False
        self.going.pop(number)
        return True
""",
    "nothing there": """
        pages = self.going.get(number)
        if pages is None:
            return True
        self.going.pop(number)
        return True
""",
    "taken out first": """
        pages = self.going.pop(number)
        if len(pages) < 3:
            return True
        self.hits.append(pages.sum().item())
        return True
""",
    "given to another": """
        pages = self.going[number]
        if len(pages) < 3:
            self.give_up(number)
            return True
        self.going.pop(number)
        return True

    def give_up(self, number):
        del self.going[number]
""",
}


def test_the_last_answer_on_an_earlier_way() -> None:
    check(ANSWERS.format(body=SAME_ANSWER, mark="  # TML311"))


@pytest.mark.parametrize("body", OTHER_ANSWERS.values(), ids=OTHER_ANSWERS)
def test_other_answers(body: str) -> None:
    check(ANSWERS.format(body=body, mark=""))
