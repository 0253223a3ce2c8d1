"""Elements: `container[key]` read and bound, and what going through a value gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.walk import expressions_of, last_name, loops, statements
from .attributes import get_by_name, set_by_name
from .containers import a_key_of, each_of, keys_of
from .contexts import keep_in_element
from .cycles import note_own_entry
from .drawn_items import note_drawn_by_index
from .frames import Frame, settles
from .given_places import write_to_givers
from .imagined import imagine_element
from .keys import IDENTITY, KNOWN, kind_of_key
from .loaders import part_of_batch
from .machine import Machine, evaluates
from .module_classes import PLAIN_BASES
from .parts import ROW, is_looked_for, is_number, kind_of, take
from .stores import store
from .tables import as_table
from .tensors import arithmetic, names_number
from .values import (
    AN_ARRAY,
    ATTACHED,
    CONTAINERS,
    COUNT,
    FEW,
    FREE,
    LEAF,
    LIGHT,
    NAMED,
    NOTHING,
    OFF,
    SERIES,
    UNKNOWN,
    Bound,
    Caught,
    Class,
    Const,
    External,
    Light,
    Obj,
    Opaque,
    Tensor,
    Value,
    constant,
    is_light,
)
from .weak_keys import note_inside, note_weak_key

_AS_LISTS = frozenset(("list", "tuple", "sorted"))  # what goes through a table that changes meanwhile is made of it


@evaluates(m.ITEM)
def _item(machine: Machine, frame: Frame, expr: Expr) -> Value:
    index = machine.eval(frame, expr[2])
    if _is_table_of_attributes(machine, frame, expr):
        name = constant(index)
        if isinstance(name, str):
            return machine.eval(frame, (m.ATTR, expr[1][1], name))
        return get_by_name(machine, frame, machine.eval(frame, expr[1][1]))
    result: Value = UNKNOWN
    named = len(index) == 1 and type(index[0]) is Light and (index[0] is NAMED or index[0].what[:6] == "key of")
    names = _names_in_loop(machine, frame, expr) if named else set()
    for atom in machine.eval(frame, expr[1]):
        if type(atom) is Tensor:
            atom = take(machine, frame, atom, expr[1], kind_of(machine, frame, expr, index))
        if names and type(atom) is Obj and atom.kind == "dict" and names <= atom.fields.keys():
            for name in (*sorted(names), *({"*"} & atom.fields.keys())):
                result = machine.join(result, read(machine, atom, atom.fields[name]))
            continue
        result = machine.join(result, _item_of(machine, frame, atom, expr[2], index))
    shape = expr[1][0] == m.ATTR and expr[1][2] == "shape" and expr[2][0] != m.SLICE
    if shape and (not result or expr[2] == (m.CONST, 0)):
        return LIGHT  # a number, or how many there are in the batch
    return result or imagine_element(machine, frame, expr[1])


def _names_in_loop(machine: Machine, frame: Frame, item: Expr) -> set[str]:
    """The entries that `losses[key]` may be in `for key in totals`, by the keys that `totals` was made with."""
    names = set[str]()
    for loop, inside in loops(frame.facts.body):
        for over in _gone_over(loop, item[2]):
            if not any(node == item for one in inside for node in expressions_of(one)):
                continue
            found = {f"[{part[1]}]" for part in over[3] if part[0] == m.CONST} if over[0] == m.NEW else set()
            for atom in machine.eval(frame, over) if over[0] != m.NEW else ():
                if type(atom) is Obj and atom.kind == "dict":
                    found |= {name for name in atom.fields if name[:1] == "["}
            if not found:
                return set()
            names |= found
    return names


def _gone_over(statement: Stmt, key: Expr) -> Iterator[Expr]:
    """What a loop goes over with a name for its keys: `table` of `for key in table.keys()`."""
    if statement[0] != m.FOR or key[0] != m.NAME:
        return
    target, over = statement[2], statement[3]
    pair = target[0] == m.NEW and target[3][:1] == (key,)
    method = over[2][2] if over[0] == m.CALL and over[2][0] == m.ATTR else ""
    if target == key or pair:
        if method == ("items" if pair else "keys"):
            yield over[2][1]
        else:
            yield over if not pair else (m.CONST, None)


def _is_table_of_attributes(machine: Machine, frame: Frame, item: Expr) -> bool:
    """`self.__dict__["mean"]` is `self.mean`, and so is `self._buffers["mean"]` [docs:
    torch.nn.Module.register_buffer], unless the object is no module and merely calls its own table so."""
    if item[1][0] != m.ATTR or item[2][0] == m.SLICE:
        return False
    if item[1][2] not in ("_buffers", "_parameters"):
        return bool(item[1][2] == "__dict__")
    owners = machine.eval(frame, item[1][1])
    return not any(type(owner) is Obj and owner.kind == "instance" for owner in owners)


def _item_of(machine: Machine, frame: Frame, atom: Any, index_expr: Expr, index: Value) -> Value:
    if type(atom) is Tensor:
        key = constant(index) if atom.bundle else ...
        if isinstance(key, str) and names_number(key):
            return LIGHT
        if machine.grad == OFF and any(type(one) is Tensor or one == AN_ARRAY for one in index):
            return arithmetic(machine, ((atom,),))  # a copy, and no backward pass goes back from that; not so of a view
        if index_expr[0] != m.SLICE:
            row = bool(machine.derivation.loaded) and _takes_a_row(frame, index_expr)
            return (part_of_batch(machine, atom, 0 if row else constant(index)),)
        return (atom._replace(bundle=False, size=FEW if _few(index_expr) else atom.size),)
    if type(atom) is Opaque:
        return (atom._replace(node=machine.derivation.node((atom.node,))),)
    if type(atom) is Class:
        return (atom,)  # Generic[T]
    if type(atom) is Caught:
        return (atom,) if constant(index) == 0 else LIGHT  # `inspect.stack()[1][0]`; what follows tells where it is
    if type(atom) is External:
        return UNKNOWN
    if type(atom) is Obj:
        if index_expr[0] == m.SLICE:
            if atom.kind == "module":
                return (atom,)
            return (_part_of_series(machine, frame, atom, index_expr),)
        if atom.kind == "instance" and isinstance(atom.cls, Class) and atom.cls.find("__getitem__") is not None:
            return machine.call_method(frame, atom, "__getitem__", [index], {}, machine.site)
        if isinstance(atom.cls, Class) and atom.cls.find("__missing__") is not None:
            made = machine.call_method(frame, atom, "__missing__", [index], {}, machine.site)
            return machine.join(elements(machine, frame, (atom,)), made)
        key = constant(index)
        if key is not ... and f"[{key}]" in atom.fields:
            return read(machine, atom, atom.fields[f"[{key}]"])
        if "$other" in atom.fields:
            return atom.fields["$other"]
        if "$parts" in atom.fields and isinstance(key, str) and "loss" not in key.lower():
            return UNKNOWN  # the loss is back-propagated, and says nothing of the boxes beside it
        start = atom.fields.get("$default") or atom.fields.get("$each")
        if key is not ... and start and all(type(one) is Obj and one.kind in SERIES for one in start):
            return _entry_of_its_own(machine, frame, atom, f"[{key}]", start)
        if isinstance(key, str) and "$table" in atom.fields:
            return _item_of_table(machine, frame, atom, index_expr, index)
        if key is not ... and not atom.unknown and atom.kind == "dict":  # not what is there under other names
            return read(machine, atom, atom.fields.get("*", UNKNOWN))
        if "$default" in atom.fields and a_key_of(atom) not in index:
            kind = kind_of_key(index, index_expr, frame)
            for one in atom.fields["$default"]:
                if type(one) is Obj:
                    machine.opened[one.serial, frame] = atom, kind
        items = elements(machine, frame, (atom,))
        note_drawn_by_index(machine, frame, items, index_expr)
        return items
    if atom == AN_ARRAY and _slices(index_expr):
        return (atom,)
    return (atom,) if atom == COUNT else UNKNOWN  # `uuid4().hex[:8]`


def _takes_a_row(frame: Frame, index: Expr) -> bool:
    """`images[i]`, `images[int(losses.argmax())]`: a view, where a tensor of indices or a mask makes a copy."""
    return is_looked_for(index) or (index[0] == m.NAME and is_number(frame, index))


def _item_of_table(machine: Machine, frame: Frame, table: Obj, index_expr: Expr, index: Value) -> Value:
    """What a table came with: see tables.py."""
    result: Value = UNKNOWN
    for part in table.fields.get("*", UNKNOWN):
        taken = _item_of(machine, frame, part, index_expr, index) if type(part) is Tensor else (part,)
        result = machine.join(result, taken)
    return result


def _part_of_series(machine: Machine, frame: Frame, series: Obj, index: Expr) -> Obj:
    """`losses[1:]`, position by position where these are known and the bounds are written; else with what all have."""
    written = [one for one in index[1:] if one is None or (one[0] == m.CONST and type(one[1]) is int)]
    bounds, fields = [None if one is None else one[1] for one in written], series.fields
    places = [f"[{position}]" for position in range(len(fields)) if f"[{position}]" in fields]
    if len(bounds) < len(index) - 1 or not places or "*" in fields or series.kind not in ("tuple", "list"):
        copy = machine.allocate(frame, ("slice", series.serial), "list")
        machine.put(copy.fields, "*", elements(machine, frame, (series,)))
        return copy
    copy = machine.allocate(frame, ("slice", series.serial, *bounds), "list")
    for position, place in enumerate(places[slice(*bounds)]):
        machine.put(copy.fields, f"[{position}]", read(machine, series, fields[place]))
    return copy


def _entry_of_its_own(machine: Machine, frame: Frame, table: Obj, field: str, starts: Value) -> Value:
    """What a defaultdict makes for a key that it has not had, or a comprehension made for it."""
    made: Value = UNKNOWN
    for start in starts:
        entry = machine.allocate(frame, ("default", table.serial, field), start.kind)
        entry.birth, entry.home = table.birth, (table, field)
        for own in ("$default", "*") if "$default" in start.fields else ():  # a table of tables
            machine.put(entry.fields, own, start.fields.get(own, UNKNOWN))
        made = machine.join(made, (entry,))
    machine.put(table.fields, field, made)
    return machine.join(made, tuple(one for one in table.fields.get("*", UNKNOWN) if _is_filled(one)))


def _is_filled(atom: Any) -> bool:
    return type(atom) is Obj and any(part for key, part in atom.fields.items() if key[:1] != "$")


def _slices(index: Expr) -> bool:
    """`image[top:bottom, left:right]`"""
    return index[0] == m.SLICE or (index[0] == m.NEW and any(item[0] == m.SLICE for item in index[3]))


def _few(index: Expr) -> bool:
    """`x[:2]`: a few rows, however many there are."""
    upper = index[2]
    return index[1] is None and upper is not None and upper[0] == m.CONST and type(upper[1]) is int and 0 < upper[1] < 9


def read(machine: Machine, container: Obj, value: Value) -> Value:
    """A value as it comes out of a container: containers inside it are seen through their holder, so that
    back-propagating a part of them counts as using what the holder kept."""
    through = container.fields.get("$node")
    if not through or not any(type(atom) is Obj and atom.kind in SERIES for atom in value):
        return value
    result: list[Any] = []
    for atom in value:
        if type(atom) is Obj and atom.kind in SERIES and not atom.fields.get("$view"):
            parts = [item for part in atom.fields.values() for item in part if type(item) is Tensor]
            mixed = any(item.graph == ATTACHED for item in parts)  # what has no graph asks nothing of what has one
            view = Obj(atom.kind, atom.cls, atom.birth, atom.site, atom.weight)
            view.serial = atom.serial
            view.home, view.bounded, view.roomy = atom.home, atom.bounded, atom.roomy
            for key, part in atom.fields.items():
                view.fields[key] = tuple(
                    item._replace(node=machine.derivation.node((item.node, through[0].node)))
                    if type(item) is Tensor and not (mixed and item.graph == FREE)
                    else item
                    for item in part
                )
            view.fields["$view"] = LIGHT
            result.append(view)
        else:
            result.append(atom)
    return tuple(result)


def elements(machine: Machine, frame: Frame, value: Value) -> Value:
    """What the elements of a container may be."""
    result: Value = UNKNOWN
    for atom in value:
        if type(atom) is Obj:
            for key, part in atom.fields.items():
                if key == "*" or key[:1] == "[":
                    result = machine.join(result, read(machine, atom, part))
    return result


def iterate(machine: Machine, frame: Frame, value: Value) -> Value:
    """What going through a value gives."""
    result: Value = UNKNOWN
    for atom in value:
        kind = type(atom)
        if kind is Tensor:
            each: Value = (take(machine, frame, atom, None, ROW),)
        elif kind is Opaque:
            each = (atom._replace(node=machine.derivation.node((atom.node,))),)
        elif kind is Obj:
            each = _iterate_object(machine, frame, atom)
        else:
            each = UNKNOWN
        result = machine.join(result, each)
    return result


def _iterate_object(machine: Machine, frame: Frame, atom: Obj) -> Value:
    if atom.kind == "zipped":
        row = machine.allocate(frame, ("row", atom.serial), "tuple")
        for key, part in atom.fields.items():
            machine.put(row.fields, key, iterate(machine, frame, part) if part else UNKNOWN)
        return (row,)
    if atom.kind == "dict":
        return keys_of(atom)
    if atom.kind == "loader":
        node = machine.derivation.node()
        machine.derivation.batches.add(node)
        if "$shares" in atom.fields:
            machine.derivation.loaded[node] = atom
        return (Tensor(3, 1, node, "", True),)
    if atom.kind == "instance" and isinstance(atom.cls, Class):
        for name in ("__iter__", "__getitem__"):
            if atom.cls.find(name) is not None:
                given: list[Value] = [] if name == "__iter__" else [LIGHT]
                made = machine.call_method(frame, atom, name, given, {}, machine.site)
                if name == "__iter__" and atom in made:
                    made = machine.call_method(frame, atom, "__next__", [], {}, machine.site)
                    return made
                return iterate(machine, frame, made) if name == "__iter__" else made
    return elements(machine, frame, (atom,))


def bind_item(machine: Machine, frame: Frame, target: Expr, value: Value, site: Site, how: str) -> None:
    """`container[key] = value`."""
    index = machine.eval(frame, target[2])
    key = constant(index)
    if _is_table_of_attributes(machine, frame, target):
        if isinstance(key, str):
            machine.assign(frame, (m.ATTR, target[1][1], key), value, site, how)
        else:
            set_by_name(machine, frame, machine.eval(frame, target[1][1]), value, site)
        return
    whole = target[2][0] == m.SLICE
    if isinstance(key, str):
        as_table(machine, frame, target, key, value, site)
    for atom in machine.eval(frame, target[1]):
        if type(atom) is not Obj:
            attached = any(type(part) is Tensor and part.graph == ATTACHED for part in value)
            if type(atom) is Tensor and attached:
                _write_in_place(machine, frame, target[1], atom, value, site, "augment" if how == "augment" else "fill")
            elif (
                type(atom) is Tensor and key == "loss" and machine.derivation.labels.get(atom.node, ("",))[0] == "step"
            ):
                machine.derivation.refuted.add(atom.node)  # the one part of a step's output that must have a graph
            continue
        if atom.kind == "module":  # ModuleDict, ParameterDict: what a model is made of
            machine.put(atom.fields, "*", machine.join(atom.fields.get("*", UNKNOWN), value))
            continue
        if isinstance(atom.cls, Class) and atom.cls.find("__setitem__") is not None:
            machine.call_method(frame, atom, "__setitem__", [index, value], {}, site)
            continue
        if whole:
            machine.reset(frame, atom, "*", "trim")
            if not any(target[2][1:]):  # `kept[:] = new`
                inner = store(machine, frame, atom, "*", elements(machine, frame, value), "set", site)
                machine.put(atom.fields, "*", inner)
                continue
        note_own_entry(machine, frame, atom, value, site)
        if key is not ... or each_of(atom) in index:
            note_inside(machine, frame, atom, value, site)
            if machine.context is not None:
                keep_in_element(machine, frame, atom, value, site)
            field = "*" if key is ... else f"[{key}]"
            outlives = any(loop not in atom.birth for loop in machine.loops)
            once = m.statement_of(site) in frame.unit.outline.made_when_missing
            if outlives:
                value = store(machine, frame, atom, field, value, how, site)
                if is_light(value) or _is_begun_anew(frame, value, site):
                    machine.reset(frame, atom, field, "replace")
                if key == -1 and not any(type(part) is Tensor and part.graph == ATTACHED for part in value):
                    machine.reset(frame, atom, "*", "pop")  # what was appended last gives way to what has no graph
            for part in value:
                if type(part) is Obj and settles(frame, part):
                    part.home = (atom, field)
                    if len(atom.birth) < len(part.birth) and (once or not outlives):
                        part.birth = atom.birth
            machine.put(atom.fields, field, value)
            machine.placed.update((part.node, (atom, field)) for part in value if type(part) is Tensor)
        elif how in ("augment", "grow", "fill"):
            stored = store(machine, frame, atom, "*", value, how, site)
            machine.put(atom.fields, "*", machine.join(atom.fields.get("*", UNKNOWN), stored))
        else:
            if machine.context is not None:
                keep_in_element(machine, frame, atom, value, site)
            there = a_key_of(atom) in index and COUNT not in index  # or a new number, where none of those was meant
            machine.key_kind = KNOWN if there else kind_of_key(index, target[2], frame)
            note_weak_key(machine, frame, atom, target, index, value, site)
            if value == NOTHING and atom.kind == "list":  # a slot is emptied; of a table it may be a new key's
                machine.reset(frame, atom, "*", "pop")
            emptied = value == NOTHING and atom.fields.get("*", NOTHING) != NOTHING  # the entry that was there
            if "$weak" not in atom.fields and not machine.reach(value) and not emptied:
                _keep_key(machine, frame, atom, index, site)
            if _is_begun_anew(frame, value, site):
                _note_emptied(machine, frame, atom, index, target, site)
            machine.grow(frame, atom, value, site, "*", "keyed")


def _note_emptied(machine: Machine, frame: Frame, table: Obj, index: Value, target: Expr, site: Site) -> None:
    """`for name in NAMES: self.seen[name] = []`: one entry after the other is made anew, for names that are written
    there, those of a constant, or those that the table has."""
    if len(index) > 1 and all(type(one) is Const for one in index):
        for one in index:
            machine.reset(frame, table, f"[{constant((one,))}]", "replace")
    elif target[2][0] == m.NAME:
        for loop, inside in loops(frame.facts.body):
            if loop[0] == m.FOR and loop[2] == target[2] and any(one[1] == machine.statement for one in inside):
                over = loop[3]
                if over[0] == m.CALL and over[3] and last_name(over) in _AS_LISTS:
                    over = over[3][0]
                over = over[2][1] if over[0] == m.CALL and last_name(over) == "keys" else over
                if over == target[1] or last_name(over).isupper():
                    machine.reset(frame, table, "*", "clear")


def _is_begun_anew(frame: Frame, value: Value, site: Site) -> bool:
    """`self.seen[name] = []`: what the list before it has goes, unless this is done where there is none. Likewise a
    table of empty lists."""
    empty = all(_is_empty(atom) or (type(atom) is Obj and atom.kind == "dict" and _has_empty(atom)) for atom in value)
    return bool(value) and empty and m.statement_of(site) not in frame.unit.outline.made_when_missing


def _is_empty(atom: Any) -> bool:
    return type(atom) is Obj and atom.kind in CONTAINERS and not atom.fields


def _has_empty(table: Obj) -> bool:
    return all(part and all(map(_is_empty, part)) for key, part in table.fields.items() if key[:1] != "$")


def count_by_key(machine: Machine, frame: Frame, target: Expr, site: Site) -> None:
    """`seen[tensor] += 1`: the entry keeps the key, however often it is counted."""
    index = machine.eval(frame, target[2])
    if any(type(one) in (Tensor, Bound) for one in index):
        machine.key_kind = kind_of_key(index, target[2], frame)
        for atom in machine.eval(frame, target[1]):
            if type(atom) is Obj and atom.kind == "dict" and "$weak" not in atom.fields:
                _keep_key(machine, frame, atom, index, site)


def _keep_key(machine: Machine, frame: Frame, table: Obj, key: Value, site: Site) -> None:
    """`names[tensor] = "loss"`, `blocked[layer.changed] += 1`, `started[request] = time()`: an entry keeps its key too.
    It is not what is read from there."""
    made = tuple(
        one
        for one in key
        if (type(one) is Tensor and one.graph != LEAF and one.weight > 1)
        or type(one) is Bound
        or (type(one) is Obj and _is_new_key(machine, table, one) and machine.reach((one,)))
    )
    if made:
        if any(type(one) is not Tensor for one in made):
            machine.key_kind = IDENTITY
        store(machine, frame, table, "*", made, "keyed", site)


def _is_new_key(machine: Machine, table: Obj, key: Obj) -> bool:
    """Whether each round that the table outlives makes an instance of its own for a key: its class does not say which
    ones are equal, as data classes and named tuples do."""
    cls = key.cls
    if key.kind != "instance" or not isinstance(cls, Class) or cls.facts.decorators:
        return False
    if not any(loop in machine.loops and loop not in table.birth for loop in key.birth):
        return False
    return PLAIN_BASES.issuperset(cls.external) and cls.find("__eq__") is None and cls.find("__hash__") is None


def _write_in_place(
    machine: Machine, frame: Frame, place: Expr, tensor: Tensor, value: Value, site: Site, how: str
) -> None:
    """`buffer[i] = attached`: the buffer joins the graph."""
    if machine.grad == OFF or machine.derivation.is_whole(tensor.node):
        return
    filled = arithmetic(machine, ((tensor,), value))
    machine.assign(frame, place, filled, site, how=how)
    for other in _other_names(frame, place):
        machine.assign(frame, other, filled, site, how=how)
    write_to_givers(machine, frame, place, filled, site, how)


def _other_names(frame: Frame, place: Expr) -> Iterator[Expr]:
    """`self.data[key]` for `rows`, where a function says `rows = self.data[key]` and nothing else of that name."""
    if place[0] == m.NAME and place[1] not in {param.name for param in frame.facts.params}:
        bound = [one[3] for one in statements(frame.facts.body) if one[0] == m.ASSIGN and place in one[2]]
        if len(bound) == 1 and bound[0][0] in (m.ATTR, m.ITEM):
            yield bound[0]


Machine.iterate = iterate
Machine.elements = elements


def named_entries(over: Value) -> dict[str, Value] | None:
    """What a dictionary has, by name, if all its names are known."""
    if len(over) != 1 or type(over[0]) is not Obj or over[0].kind != "dict" or "*" in over[0].fields:
        return None
    return {key[1:-1]: part for key, part in over[0].fields.items() if key[:1] == "["}


def is_field(value: Value) -> bool:
    """One of the fields of a data class, `for field in dataclasses.fields(self)`."""
    return len(value) == 1 and type(value[0]) is Obj and value[0].kind == "field"
