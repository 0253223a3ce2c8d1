"""The whole state of a sharded model: who gathers it, and who saves it."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TYPED = """
    import torch.distributed as dist
    from torch.distributed.fsdp import FullStateDictConfig, StateDictType
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

    def save(model, rank, path):
        policy = FullStateDictConfig({given}){mark}
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, policy):
            state = model.state_dict()
        {read}
        dist.barrier()
    """
SAVED = """if rank == 0:
            torch.save(state, path)"""


@pytest.mark.parametrize("given", ["", "offload_to_cpu=True", "True"])
def test_every_rank_gathers_and_one_saves(given: str) -> None:
    check(TYPED.format(given=given, mark="  # TML410", read=SAVED))


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("offload_to_cpu=True, rank0_only=True", SAVED),
        ("True, True", SAVED),
        ("offload_to_cpu=True, rank0_only=path.endswith('.pt')", SAVED),
        ("**options", SAVED),
        ("offload_to_cpu=True", 'torch.save(state, f"{path}.{rank}")'),
        ("offload_to_cpu=True", "compare(state, path)"),
    ],
)
def test_one_rank_gathers_or_each_of_them_reads(given: str, read: str) -> None:
    check_innocent(TYPED.format(given=given, mark="", read=read))


def test_settings_of_the_whole_file() -> None:
    check(
        """
    from torch.distributed.fsdp import FullStateDictConfig, StateDictType
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

    POLICY = FullStateDictConfig(offload_to_cpu=True)

    def save(model, rank, path):
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, POLICY):
            state = model.state_dict()  # TML410
        if rank != 0:
            return
        torch.save(state, path)
    """
    )


OPTIONS = """
    import torch.distributed as dist
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    def save(model, path):
        state = get_model_state_dict(model, options=StateDictOptions({given})){mark}
        if dist.get_rank() == 0:
            torch.save(state, path)
    """


def test_options() -> None:
    check(OPTIONS.format(given="full_state_dict=True", mark="  # TML410"))


@pytest.mark.parametrize("given", ["full_state_dict=True, cpu_offload=True", "", "full_state_dict=False"])
def test_options_that_give_no_rank_more_than_it_needs(given: str) -> None:
    check_innocent(OPTIONS.format(given=given, mark=""))
