"""Child processes that a launcher starts and whose handles nobody keeps."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, Program, expressions
from ..facts.walk import heads, in_loops, nodes, statements

_OF_RANKS = frozenset("LOCAL_RANK RANK WORLD_SIZE CUDA_VISIBLE_DEVICES MASTER_ADDR MASTER_PORT".split())
_STARTS_PYTHON = tuple(
    "python pypy torch accelerate deepspeed horovod mpi srun numactl env nohup bash sh ssh docker taskset".split()
)


def launched_and_dropped(program: Program) -> Iterator[Site]:
    """`subprocess.Popen(...)` for each rank, or each device, and nothing that could wait for it or end it."""
    if "Popen" not in program.called or not _is_launcher(program):
        return
    for place in program.places:
        for statement, looped in in_loops(place.facts.body) if "Popen" in place.facts.calls else ():
            call = _started(statement)
            started = looped and call is not None and program.dotted(call[2]) == "subprocess.Popen"
            if (
                call is not None
                and started
                and not (_is_kept(place.facts.body, statement) or _is_of_another_program(call))
            ):
                yield call[1]


def _is_launcher(program: Program) -> bool:
    """Whether the file says who is which rank, or has which device: what it starts works as it does itself."""
    constants = (expr for place in program.places for expr in expressions(place.facts.body) if expr[0] == m.CONST)
    return any(expr[1] in _OF_RANKS for expr in constants if type(expr[1]) is str)


def _started(statement: Stmt) -> Expr | None:
    value = statement[-1] if statement[0] in (m.EXPR, m.ASSIGN) else None
    return value if value is not None and value[0] == m.CALL else None


def _is_kept(body: Block, made: Stmt) -> bool:
    """Whether a statement binds what it starts to more than a local name that nothing else reads."""
    if made[0] == m.EXPR:
        return False
    name = made[2][0]
    others = (head for one in statements(body) if one is not made for head in heads(one))
    return name[0] != m.NAME or any(name in nodes(head) for head in others)


def _is_of_another_program(call: Expr) -> bool:
    """Whether what is started is named, and is no Python program, nor what starts one: `["strace", "-p", pid]` watches
    a rank, and is none."""
    command = call[3][0] if call[3] else None
    program = command[3][0] if command is not None and command[0] == m.NEW and command[3] else None
    named = program[1] if program is not None and program[0] == m.CONST else None
    return isinstance(named, str) and not named.rpartition("/")[2].startswith(_STARTS_PYTHON)
