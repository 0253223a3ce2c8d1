"""Entries that one way through a function takes out of a table, and another leaves there."""

from __future__ import annotations

import pytest
from snippets import check

SERVER = """
class Overflow(Exception):
    pass

class Scheduler:
    def __init__(self, model):
        self.model = model
        self.states = {{}}

    def add(self, request_id, prompt):
        self.states[request_id] = self.model(prompt){mark}

    def step(self, request_id):
        if self.states[request_id].shape[0] > 8:
            raise Overflow(request_id)
        return self.states[request_id].mean().item()

    def finish(self, request_id):
        self.states.pop(request_id, None)

class Server:
    def __init__(self):
        self.scheduler = Scheduler(Net())

    @torch.inference_mode()
    def handle(self, request_id, prompt):
{body}

def main(requests):
    server = Server()
    for number, request in enumerate(requests):
        server.handle(number, torch.randn(4, 8))
"""
GUILTY = {
    "caught, and nothing taken out": """
        self.scheduler.add(request_id, prompt)
        try:
            value = self.scheduler.step(request_id)
        except Overflow:
            return None
        self.scheduler.finish(request_id)
        return value
""",
    "the pop is in the try": """
        self.scheduler.add(request_id, prompt)
        value = None
        try:
            value = self.scheduler.step(request_id)
            self.scheduler.finish(request_id)
        except Overflow as error:
            print(error)
        return value
""",
    "refused after it was added": """
        self.scheduler.add(request_id, prompt)
        if len(prompt) > 100:
            raise ValueError("too long")
        value = self.scheduler.step(request_id)
        self.scheduler.finish(request_id)
        return value
""",
}
INNOCENT = {
    "in a finally": """
        self.scheduler.add(request_id, prompt)
        try:
            return self.scheduler.step(request_id)
        finally:
            self.scheduler.finish(request_id)
""",
    "on both ways": """
        self.scheduler.add(request_id, prompt)
        try:
            value = self.scheduler.step(request_id)
        except Overflow:
            self.scheduler.finish(request_id)
            return None
        self.scheduler.finish(request_id)
        return value
""",
    "the clause goes on to it": """
        self.scheduler.add(request_id, prompt)
        try:
            value = self.scheduler.step(request_id)
        except Overflow:
            value = None
        self.scheduler.finish(request_id)
        return value
""",
    "refused before it is added": """
        if len(prompt) > 100:
            raise ValueError("too long")
        self.scheduler.add(request_id, prompt)
        value = self.scheduler.step(request_id)
        self.scheduler.finish(request_id)
        return value
""",
    "asks whether it is there": """
        self.scheduler.add(request_id, prompt)
        value = self.scheduler.step(request_id)
        if request_id in self.scheduler.states:
            self.scheduler.finish(request_id)
        return value
""",
}


@pytest.mark.parametrize("body", GUILTY.values(), ids=GUILTY)
def test_guilty(body: str) -> None:
    check(SERVER.format(body=body.strip("\n"), mark="  # TML311"))


@pytest.mark.parametrize("body", INNOCENT.values(), ids=INNOCENT)
def test_innocent(body: str) -> None:
    check(SERVER.format(body=body.strip("\n"), mark=""))


def test_early_return() -> None:
    check("""
    class Tracker:
        def __init__(self):
            self.encoder = Net().eval()
            self._features = {}

        @torch.no_grad()
        def process(self, track_id, crop):
            self._features[track_id] = self.encoder(crop)  # TML311
            if self._features[track_id].mean().item() < 0:
                return None
            return self._features.pop(track_id).sum().item()

    def main(crops):
        tracker = Tracker()
        for number, crop in enumerate(crops):
            tracker.process(number, torch.randn(1, 8))
    """)


def test_put_together_until_it_is_complete() -> None:
    check("""
    class Parts:
        def __init__(self):
            self.encoder = Net().eval()
            self.parts = {}

        @torch.no_grad()
        def process(self, message_id, chunk, last):
            before = self.parts.get(message_id, 0)
            self.parts[message_id] = before + self.encoder(chunk)
            if not last:
                return None
            return self.parts.pop(message_id).sum().item()

    def main(crops):
        parts = Parts()
        for number, crop in enumerate(crops):
            parts.process(number, torch.randn(1, 8), number % 3 == 0)
    """)


def test_the_caller_goes_on_after_a_failure() -> None:
    check("""
    class Jobs:
        def __init__(self):
            self.model = Net().eval()
            self.inputs = {}

        @torch.no_grad()
        def run(self, job_id, x):
            self.inputs[job_id] = torch.cat([x, x])  # TML311
            result = self.model(self.inputs[job_id]).sum().item()
            del self.inputs[job_id]
            return result

    def main(batches):
        jobs = Jobs()
        for number, batch in enumerate(batches):
            try:
                jobs.run(number, torch.randn(4, 8))
            except RuntimeError as error:
                print(error)
    """)


ROOM_FOR_SOME = """
class Jobs:
    def __init__(self, room=64):
        self.model = Net().eval()
        self.inputs, self.room = {{}}, room

    @torch.no_grad()
    def run(self, job_id, x):
        if len(self.inputs) >= self.room:
            return None
        self.inputs[job_id] = torch.cat([x, x]){told}
        try:
            result = self.model(self.inputs[job_id]).sum().item()
        except RuntimeError:
            {early}
        self.inputs.pop(job_id, None)
        return result

def main(batches):
    jobs = Jobs()
    for number, batch in enumerate(batches):
        jobs.run(number, torch.randn(4, 8))
"""


@pytest.mark.parametrize(("early", "told"), [("return None", "  # TML311"), ("result = None", "")])
def test_what_is_left_behind_uses_up_the_room(early: str, told: str) -> None:
    check(ROOM_FOR_SOME.format(early=early, told=told))
