"""What an object moves from one of its containers to another, as far as its maker gave it, is no growth."""

from __future__ import annotations

from snippets import check

ENGINE = """
from dataclasses import dataclass, field

@dataclass
class Request:
    request_id: str
    prompt: torch.Tensor
    hidden: torch.Tensor | None = None
    tokens: list = field(default_factory=list)

    def has_ended(self):
        return len(self.tokens) >= 4

@dataclass
class Group:
    name: str
    waiting: dict = field(default_factory=dict)
    finished: dict = field(default_factory=dict)

    @staticmethod
    def begin(engine, name, prompt, samples):
        group = Group(name)
        for number in range(samples):
            one = f"{name}-{number}"
            request = engine.request(one, prompt)
            engine.groups[one] = group{group}
            group.waiting[one] = request

    def finish(self, request):
        del self.waiting[request.request_id]
        self.finished[request.request_id] = request{finished}

    def answers(self):
        if self.waiting:
            return None
        return [one.tokens for one in self.finished.values()]

class Engine:
    def __init__(self, model):
        self.model, self.running, self.groups = model, [], {}

    def add(self, name, prompt, samples):
        if samples > 1:
            Group.begin(self, name, prompt, samples)
            return
        self.request(name, prompt)

    def request(self, name, prompt):
        request = Request(name, prompt)
        self.running.append(request)
        return request

    @torch.no_grad()
    def step(self):
        hidden = torch.stack([one.prompt.mean(0) if one.hidden is None else one.hidden for one in self.running])
        answers = []
        for request, state in zip(self.running, self.model(hidden)):
            request.hidden = state.clone()
            request.tokens.append(int(state.argmax()))
            answer = self.answer(request)
            if answer is not None:
                answers.append(answer)
        self.running = [one for one in self.running if not one.has_ended()]
        return answers

    def answer(self, request):
        ended = request.has_ended()
        if request.request_id in self.groups:
            group = self.groups[request.request_id]
            if ended:
                group.finish(request)
{given}
            answers = group.answers()
            if answers is None:
                return None
{taken}
            return answers
        return [request.tokens] if ended else None

def main(prompts):
    engine, answers = Engine(nn.Linear(8, 8)), 0
    for number in range(prompts):
        engine.add(f"alone {number}", torch.rand(64, 8), 1)
        engine.add(f"several {number}", torch.rand(64, 8), 3)
        while engine.running:
            answers += len(engine.step())
    print(answers)
"""
TAKEN = """
            for name in list(group.finished):
                self.groups.pop(name)
"""
GIVEN = """
                group.waiting[f"again {request.request_id}"] = request
"""
SCHEDULER = """
class Scheduler:
    def __init__(self, model):
        self.model, self.running, self.finished = model, {}, {}

    def add(self, request_id, prompt):
        self.running[request_id] = prompt

    @torch.no_grad()
    def finish(self, request_id):
        hidden = self.running.pop(request_id)
        self.finished[request_id] = self.model(hidden)  # TML311

def main(prompts):
    scheduler = Scheduler(nn.Linear(8, 8))
    for number in range(prompts):
        scheduler.add(f"request {number}", torch.rand(64, 8))
        scheduler.finish(f"request {number}")
"""


def engine(*, taken: str = "", given: str = "", group: str = "", finished: str = "") -> str:
    marked = ENGINE.replace("{group}", group).replace("{finished}", finished)
    return marked.replace("{taken}", taken).replace("{given}", given)


def test_group_that_is_taken_out() -> None:
    check(engine(taken=TAKEN))


def test_group_that_stays() -> None:
    check(engine(finished="  # TML311"))


def test_group_that_stays_is_said_once() -> None:
    text = engine(group="  # TML311").replace("            one = f", "            request_id = f")
    check(text.replace("(one, prompt)", "(request_id, prompt)").replace("[one] = ", "[request_id] = "))


def test_what_is_given_later_is_growth() -> None:
    check(engine(taken=TAKEN, given=GIVEN, finished="  # TML311"))


def test_object_that_is_made_once() -> None:
    check(SCHEDULER)
