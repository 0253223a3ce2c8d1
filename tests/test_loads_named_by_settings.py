"""Checkpoints whose path the settings have, `args.resume`: what they are called says nothing of the file. Beside files
that hold no weights, and loads that somebody has thought of."""

from __future__ import annotations

import pytest
from snippets import check

_RANKS = """
from torch.nn.parallel import DistributedDataParallel as DDP

def work(rank, args, config):
    torch.distributed.init_process_group("nccl", rank=rank)
    model = DDP(Net().to(rank), device_ids=[rank])
    optimizer = torch.optim.Adam(model.parameters())
    {load}
"""
_MARK = "  # TML312"
_OF_RANKS = {
    "args.resume": f"model.load_state_dict(torch.load(args.resume)){_MARK}",
    "config.checkpoint": f"state = torch.load(config.checkpoint){_MARK}\n    model.load_state_dict(state['model'])",
    "self-made": f"state = torch.load(args['ckpt']){_MARK}\n    model.load_state_dict(state['model'])",
    "mapped": "model.load_state_dict(torch.load(args.resume, map_location='cpu'))",
    "numbers": "args.update(torch.load(args.scaler_state))",
    "a configuration": "settings = torch.load(args.model_config)",
    "mapped in the other arm": (
        "if args.gpu is None:\n        state = torch.load(args.resume)\n    else:\n"
        "        state = torch.load(args.resume, map_location=f'cuda:{args.gpu}')\n"
        "    model.load_state_dict(state['model'])"
    ),
    "another file mapped": (
        f"state = torch.load(args.resume){_MARK}\n    model.load_state_dict(state['model'])\n"
        "    optimizer.load_state_dict(torch.load(args.optimizer, map_location='cpu')['optimizer'])"
    ),
}


@pytest.mark.parametrize("name", _OF_RANKS)
def test_what_each_rank_loads(name: str) -> None:
    check(_RANKS.format(load=_OF_RANKS[name]))


@pytest.mark.parametrize("path", ["args.resume", "kwargs['checkpoint']", "config.pretrained", "self.args.weights"])
def test_what_is_copied_into_a_model(path: str) -> None:
    check(f"""
class Runner:
    def start(self, args, config, **kwargs):
        model = Net().cuda()
        state = torch.load({path}){_MARK}
        model.load_state_dict(state["model"])
        return model
""")
