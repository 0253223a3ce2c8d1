"""What runs in native code alone: no frame but its caller's has tensors when it fails, and that one lives on."""

from __future__ import annotations

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.program import Program
from ..facts.walk import calls, root_of

_MODULES = frozenset("torch torch.nn.functional torch.linalg torch.fft torch.special torch.cuda torch.ops.aten".split())
# What runs the code of others, or is written in Python and has tensors of its own meanwhile.
_NOT = frozenset(
    """load compile vmap cond while_loop func_call multi_head_attention_forward gumbel_softmax stft istft
    make_graphed_callables graph""".split()
)
_OF_TENSORS = frozenset(
    """matmul mm bmm addmm baddbmm einsum softmax log_softmax sigmoid tanh exp log sqrt pow add sub mul div clamp clone
    masked_fill repeat repeat_interleave roll flip gather scatter index_select cumsum sort topk triu tril abs neg
    masked_fill_ copy_ add_ sub_ mul_ div_ index_copy_ scatter_ scatter_add_ split_with_sizes""".split()
)
_METHODS = (
    knowledge.GRAPH_FREE
    | knowledge.VIEWS
    | knowledge.REDUCTIONS
    | knowledge.FACTORIES
    | knowledge.LIGHT_RESULTS
    | knowledge.IN_PLACE_LIGHT
    | _OF_TENSORS
)


def is_native(program: Program, block: tuple[Stmt, ...]) -> bool:
    """Whether all that a block calls are functions of torch and methods of tensors, and there are some:
    `out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)`."""
    called = [call[2] for call in calls(block)]
    return bool(called) and all(_is_native(program, callee) for callee in called)


def _is_native(program: Program, callee: Expr) -> bool:
    owner, _, name = program.dotted(callee).rpartition(".")
    if owner in _MODULES:
        return name.islower() and name not in _NOT
    if callee[0] == m.NAME:
        return name in knowledge.BUILTINS and name not in program.by_name
    if callee[0] != m.ATTR or callee[1] == (m.NAME, "self") or callee[2] in program.by_name:
        return False
    root = root_of(callee)
    return callee[2] in _METHODS and not (root[0] == m.NAME and root[1] in program.imports)
