"""Checks that leave early: what follows is still looked at, unless the text itself says that it never runs."""

from __future__ import annotations

import pytest
from snippets import codes

PROGRAM = """
    import yaml
    config = yaml.safe_load(open("config.yml"))
    class Runner:
        def __init__(self, config):
            self.config = config
    def found(names):
        for name in names:
            if name == "it":
                return name
        return None
    def outer(model, loader, names, runner{parameters}):
        {check}
        model.eval()
        for batch in loader:
            print(model(batch).mean().item())
    {caller}
    """

RUN_ON = (
    """includes = config.get("includes", [])
        if not isinstance(includes, list): raise TypeError""",
    """device = config.get("device", 0)
        if isinstance(device, int): return None""",
    """best = None
        for name in names:
            if name.startswith(config["prefix"]): best = config[name]
        if best is None: return None""",
    """mesh = getattr(model, "mesh", None)
        if mesh is None: raise ValueError""",
    """mesh = getattr(runner, "mesh", False)
        if not mesh: return None""",
    """name = found(names)
        if name is None: return None""",
    """name = None if not names else config[names[0]]
        if not name: return None""",
    """wanted = None
        with open("wanted") as wanted: pass
        if wanted is None: return None""",
)


@pytest.mark.parametrize("check", RUN_ON)
def test_what_follows_a_check_is_seen(check: str) -> None:
    assert codes(PROGRAM.format(check=check, parameters="", caller="")) == {"TML201"}


PARAMETERS = {
    ", limit=None": ("outer(model, loader, [], None, limit=config['limit'])", True),
    ", *, limit=None": ("outer(model, loader, [], None, **config)", True),
    ", limit=0": ("outer(model, loader, [], None, *config)", True),
    ", plain=None, limit=None": ("outer(model, loader, [], None, config, limit=None)", False),
}


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_what_a_caller_gives(parameters: str) -> None:
    """A caller that says None itself is believed: the evaluation never comes."""
    call, seen = PARAMETERS[parameters]
    caller = f"""
    @torch.no_grad()
    def unused(model, loader): pass
    def main(model, loader):
        {call}
    """
    check = "if limit is None: return None"
    program = PROGRAM.format(check=check, parameters=parameters, caller=caller).replace("def outer", "def _outer")
    assert codes(program.replace(" outer(", " _outer(")) == ({"TML201"} if seen else set())
