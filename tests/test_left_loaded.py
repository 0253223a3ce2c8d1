"""Clean-ups that let go of some of the models that their counterpart has loaded, and forget one."""

from __future__ import annotations

import pytest
from snippets import check

SERVER = """
import gc

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(64, 64)

    def forward(self, x):
        return self.lin(x)

class Backend:
    def __init__(self, sees):
        self.sees = sees
        self.text = None
        self.eyes = None

    {asyncs}def {opens}(self, name):
        if self.sees:
            {eyes}
        self.text = Encoder()
        self.name = name

    @torch.inference_mode()
    def answer(self, x):
        return self.text(x).sum().item() + self.eyes(x).sum().item()

    {asyncs}def {closes}(self):
        {body}

    def drop_eyes(self):
        self.eyes{drops}

backend = Backend(True)
"""
EYES = "self.eyes = Encoder()"
MARKED = EYES + "  # TML604"
TEXT = "self.text = None\n        "
EMPTIES = "gc.collect()\n        torch.cuda.empty_cache()"


def backend(
    *,
    opens: str = "load",
    closes: str = "unload",
    eyes: str = EYES,
    body: str = TEXT + EMPTIES,
    asyncs: str = "",
    drops: str = ".eval()",
) -> str:
    return SERVER.format(opens=opens, closes=closes, eyes=eyes, body=body, asyncs=asyncs, drops=drops)


@pytest.mark.parametrize(
    ("opens", "closes"), [("load", "unload"), ("load_model", "unload_model"), ("setup", "teardown"), ("start", "stop")]
)
def test_a_model_that_the_counterpart_forgets(opens: str, closes: str) -> None:
    check(backend(opens=opens, closes=closes, eyes=MARKED))
    check(backend(opens=opens, closes=closes, eyes=MARKED, asyncs="async "))
    check(backend(opens=opens, closes=closes, eyes=MARKED, body="del self.text\n        " + EMPTIES))


INNOCENT = {
    "both go": {"body": TEXT + "self.eyes = None\n        " + EMPTIES},
    "another method": {"drops": " = None"},
    "it is moved": {"body": TEXT + "self.eyes.to('cpu')\n        " + EMPTIES},
    "it lets go of what it has": {"body": TEXT + "self.eyes.unload()\n        " + EMPTIES},
    "kept on purpose": {"eyes": "if self.eyes is None: self.eyes = Encoder()"},
    "by the base": {"body": TEXT + "super().unload()\n        " + EMPTIES},
    "by their names": {"body": "for n in ('text', 'eyes'): setattr(self, n, None)\n        " + TEXT + EMPTIES},
    "no memory is meant": {"body": TEXT + "print(self.name)"},
    "a part by its name": {"closes": "unload_text"},
    "no model": {"eyes": "self.eyes = str(self.name)"},
    "none is freed": {"body": "self.name = None\n        " + EMPTIES},
}


@pytest.mark.parametrize("name", INNOCENT)
def test_models_that_may_stay(name: str) -> None:
    check(backend(**INNOCENT[name]))


def test_one_model_under_two_names() -> None:
    text = backend(eyes="pass").replace("self.name = name", "self.eyes = torch.compile(self.text)")
    assert "self.eyes = torch.compile" in text
    check(text.replace("        self.text = None\n        gc", "        self.text = self.eyes = None\n        gc"))
