"""Objects that are entries of a table until what they are for has come to its end.

for output in outputs:
    state = self.states[output.id]
    state.add(output.chunk)
    if output.finished:
        del self.states[output.id]
        state.queue.put(torch.cat(state.chunks))

`chunks` gets longer until then, and is needed as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..interpreter.events import Reset, Store
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine
from ..interpreter.values import Obj


def ends_of_entry(
    machine: Machine, store: Store, readers: set[str], resets: Callable[[Obj | Frame, str], Sequence[Reset]]
) -> Iterator[Reset]:
    """Where the function that fills an entry takes it out of its table, and uses what the entry has got. `readers`: the
    functions that read the place of the store; `resets`: what empties a place."""
    whole = store.owner.home[0] if isinstance(store.owner, Obj) and store.owner.home is not None else None
    others = readers - {store.frame.name}
    if not others or not isinstance(whole, Obj) or whole.kind != "instance":
        return
    for put in (*machine.later, *machine.stores):
        if put.owner is store.owner or all(one is not whole for one in (*put.instances, *put.objects)):
            continue
        for reset in resets(put.owner, put.key):
            filling = reset.how == "pop" and reset.frame in (store.frame, store.frame.caller)
            if filling and not others.isdisjoint((reset.frame.name, *reset.frame.facts.calls)):
                yield reset
