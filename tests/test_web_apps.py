"""What requests leave on an application of a web framework, and in what an application factory had at hand."""

from __future__ import annotations

import pytest
from snippets import check

SERVED = """
from {package} import {cls}, {other}

app = {cls}({name})
app.{place} = {empty}
net = nn.Linear(8, 8)

@app.post("/embed")
def embed({request}, {key}, rows):
    with torch.no_grad():
        app.{place}{put}{mark}
    return {{}}
"""
FASTAPI = {"package": "fastapi", "cls": "FastAPI", "other": "Request", "name": "", "request": "request: Request"}
FLASK = {"package": "flask", "cls": "Flask", "other": "current_app", "name": "__name__", "request": "text"}
PUTS = [
    (FASTAPI, "state.rows", "[]", ".append(net(rows))", "TML301"),
    (FASTAPI, "state.rows", "{}", "[request_id] = net(rows)", "TML301"),
    (FASTAPI, "state.rows", "collections.deque(maxlen=9)", ".append(net(rows))", ""),
    (FASTAPI, "state.rows", "None", " = net(rows)", ""),
    (FASTAPI, "state.sums", "[]", ".append(net(rows).sum().item())", ""),
    (FLASK, 'config["ROWS"]', "[]", ".append(net(rows))", "TML301"),
    (FLASK, 'config["ROWS"]', "{}", "[request_id] = net(rows)", "TML301"),
    (FLASK, 'config["WIDTH"]', "8", " = 9", ""),
]


@pytest.mark.parametrize(("words", "place", "empty", "put", "code"), PUTS)
def test_what_each_request_puts_on_the_application(
    words: dict[str, str], place: str, empty: str, put: str, code: str
) -> None:
    mark = f"  # {code}" if code else ""
    check(SERVED.format(**words, place=place, empty=empty, put=put, key="request_id", mark=mark))


@pytest.mark.parametrize(
    ("words", "asked"),
    [(FASTAPI, "request.app.state.rows"), (FLASK, 'current_app.config["ROWS"]')],
)
@pytest.mark.parametrize("taken", [False, True])
def test_the_application_of_a_request(words: dict[str, str], asked: str, taken: bool) -> None:
    place = asked.split("app.", 1)[1]
    served = SERVED.format(**words, place=place, empty="{}", put="", key="request_id", mark="")
    mark = "" if taken else "  # TML301"
    stored = f"        rows_of = {asked}\n        rows_of[request_id] = net(rows){mark}\n"
    fetched = f'\n@app.get("/rows")\ndef fetch({words["request"]}, request_id):\n    return {asked}.pop(request_id)\n'
    served = served.replace(f"        app.{place}\n", stored)
    check(served + (fetched if taken else ""))


FACTORY = """
from fastapi import FastAPI

def create_app(model: nn.Module):
    app = FastAPI()
    {made}

    @app.post("/embed")
    def embed(request_id: str, rows: list[float]):
        with torch.no_grad():
            {place}[request_id] = model(torch.tensor(rows)){mark}
        return {{}}
{more}
    return app
"""
FETCH = """
    @app.get("/rows")
    def fetch(request_id: str):
        return {place}.pop(request_id).tolist()
"""


@pytest.mark.parametrize("place", ["rows_of", "app.state.rows_of"])
@pytest.mark.parametrize("taken", [False, True])
def test_routes_in_an_application_factory(place: str, taken: bool) -> None:
    mark = "" if taken else "  # TML311"
    more = FETCH.format(place=place) if taken else ""
    check(FACTORY.format(made=f"{place} = {{}}", place=place, more=more, mark=mark))


def test_an_inner_function_that_answers_no_request() -> None:
    check(
        FACTORY.format(made="rows_of = {}", place="rows_of", more="", mark="").replace('@app.post("/embed")', "@once")
    )


def test_an_object_that_a_method_makes_of_two_is_filled_anew() -> None:
    check("""
class Stacked:
    def __init__(self):
        self.samples = []

    def update(self, sample: torch.Tensor):
        self.samples.append(sample)

    def merge(self, other):
        both = Stacked()
        both.samples = self.samples + other.samples
        return both
""")
