"""What a value may be: atoms, and the small tuples of them that stand for a value.

The empty tuple means *nothing seen*. It is not the union of everything: joining it with an attached
tensor gives the attached tensor, and on its own it is never reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from ..facts.model import ClassFacts, FunctionFacts, Site, Stmt
    from .frames import Frame, Loop
    from .linking import Unit

# How a tensor stands to the autograd graph.
FREE: Final = 0  # no grad_fn
LEAF: Final = 1  # requires grad, has no grad_fn: what is computed from it has
ATTACHED: Final = 2  # has a grad_fn: keeps the graph that made it
MAYBE: Final = 3  # a tensor of which nothing more is known
VEILED: Final = 4  # made by unknown code: of a part of a store only

# What a grad mode is.
OFF: Final = 0
ON: Final = 1
ASSUMED: Final = 2  # on unless an unknown caller turned it off
DEPENDS: Final = 3  # set_grad_enabled(expression)
WANTED: Final = 4  # turned on for the purpose

# How many elements, as far as that is known.
SCALAR: Final = "scalar"
FEW: Final = "few"  # the first rows of something: `x[:2]`
ANY: Final = ""


class Tensor(NamedTuple):
    """A tensor. `node` is its place in the derivation; a `bundle` is a module's output that may be a
    tuple, dict or dataclass of such tensors. `weight` 3 to 1 says how strong the evidence is."""

    graph: int
    weight: int
    node: int
    size: str = ANY
    bundle: bool = False


class Opaque(NamedTuple):
    """Made by unknown code from values in the derivation: carries demand back to them, nothing onward.
    `model` is a module that the code was given: to call what it made may be to run that."""

    node: int
    model: Obj | None = None


class Const(NamedTuple):
    value: Any


class Light(NamedTuple):
    """A number, string, device, shape: nothing that keeps memory."""

    what: str = ""


class Caught(NamedTuple):
    """An exception that a clause of the `try` at this site has caught: its traceback keeps the frames of the failed
    call, and that of the clause."""

    tried: Site
    frame: Frame


class External(NamedTuple):
    """A name of an installed package, fully dotted: `torch.nn.functional.cross_entropy`."""

    dotted: str


class Imported(NamedTuple):
    """A name imported from a module that may belong to the project; what it stands for is found when it is used."""

    importer: str
    level: int
    module: str
    name: str  # empty: the module itself


class Module(NamedTuple):
    """A module of the project."""

    unit: Unit


class Mode(NamedTuple):
    """A grad-mode context or decorator; `site` is where it was made, `entered` once it acts."""

    grad: int
    site: Site
    name: str = ""


class Function:
    """A function of the project, with the frame that it was defined in."""

    __slots__ = ("around", "cached", "facts", "frame", "grad", "kind", "mode", "owner", "setter")

    def __init__(self, facts: FunctionFacts, frame: Frame, owner: Class | None) -> None:
        self.facts = facts
        self.frame = frame
        self.owner = owner
        self.kind = ""  # static, class, property, manager
        self.grad: int | None = None
        self.mode = ""  # the decorator that sets it
        self.around: Function | None = None  # what it was put around, as a decorator does
        self.cached = False  # a decorator keeps what it is called with, and what it returns
        self.setter: Function | None = None  # of a property

    @property
    def innermost(self) -> Function:
        """The function as it was written, without what its decorators put around it."""
        return self if self.around is None else self.around


class Bound(NamedTuple):
    function: Function
    receiver: Any  # Obj or Class


class Partial(NamedTuple):
    callee: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]


class Method(NamedTuple):
    """A method of something that is not a class of the project, not called yet: `loss.detach`."""

    receiver: Any
    name: str


class Class:
    """A class of the project."""

    __slots__ = (
        "bases",
        "bring",
        "dull",
        "external",
        "facts",
        "frame",
        "loud",
        "meta",
        "mro",
        "pending",
        "quiet",
        "weightless",
    )

    def __init__(self, facts: ClassFacts, frame: Frame, bases: list[Class], external: tuple[str, ...]) -> None:
        self.facts = facts
        self.frame = frame  # of the class body: its variables are the class attributes, see `own` and `members`
        self.pending: dict[str, list[Stmt]] = {}  # statements of the body that wait for somebody to ask for the name
        self.bring: Callable[[str], None] = _nothing_waits
        self.bases = bases
        self.external = external  # dotted names of bases outside the project, also inherited ones
        self.dull: bool | None = None  # see module_classes.py; None: nobody has asked
        self.loud: bool | None = None
        self.quiet: bool | None = None
        self.weightless: bool | None = None  # see weightless.py
        self.meta: Class | None = next((base.meta for base in bases if base.meta is not None), None)
        self.mro: list[Class] = [self]
        for base in bases:
            self.mro += [entry for entry in base.mro if entry not in self.mro]

    @property
    def base_names(self) -> tuple[str, ...]:
        """What it derives from: dotted names outside the project, plain ones within."""
        return (*self.external, *(entry.facts.name for entry in self.mro[1:]))

    @property
    def is_named_tuple(self) -> bool:
        return any(base.endswith("NamedTuple") for base in self.external)

    def find(self, name: str) -> Value | None:
        for entry in self.mro:
            if name in entry.pending:
                entry.bring(name)
            value = entry.frame.vars.get(name)
            if value is not None:
                return value
        return None

    def own(self, name: str) -> Value | None:
        """What its own body binds to a name."""
        if name in self.pending:
            self.bring(name)
        return self.frame.vars.get(name)

    @property
    def members(self) -> dict[str, Value]:
        """All that its own body binds."""
        for name in list(self.pending):
            self.bring(name)
        return self.frame.vars


def _nothing_waits(name: str) -> None:
    """Of a class whose body has run as a whole."""


class Super(NamedTuple):
    owner: Class
    receiver: Any


CONTAINERS: Final = ("list", "set", "dict", "deque", "tuple")  # kinds of objects
ANY_NAME: Final = "<name>"  # the field for what `setattr` binds to names that are not seen
SERIES: Final = (*CONTAINERS, "zipped", "generator")


_DEEPEST_ENTRY = 2


class Obj:
    """Something on the heap: a container, an instance, a module, an optimizer.

    `birth` is the stack of loops that were running when it was made; what is put in while another loop
    runs stays after that loop's iteration. `fields` maps attribute names to values; elements of
    containers are under "*" and, where the key is constant, under "[key]".
    """

    __slots__ = (
        "birth",
        "bounded",
        "cls",
        "earlier",
        "fields",
        "home",
        "kind",
        "made",
        "make",
        "roomy",
        "serial",
        "site",
        "taken_in",
        "unknown",
        "weight",
    )

    def __init__(
        self, kind: str, cls: Class | str | None, birth: tuple[Loop, ...], site: Site, weight: int = 3
    ) -> None:
        self.kind = kind
        self.cls = cls
        self.birth = birth
        self.made = birth  # and stays so, whoever keeps it: `birth` becomes that of the first container it is put into
        self.site = site
        self.weight = weight
        self.fields: dict[str, Value] = {}
        self.home: tuple[Obj | Frame, str] | None = None
        self.bounded = False
        self.roomy = False  # the bound is so high that it is reached late, if ever
        self.unknown = False  # made up for something whose origin is not seen
        self.taken_in = False  # by what a helper that made it has given it back to
        self.serial = 0
        self.earlier: frozenset[int] = frozenset()  # nodes of what those had that this expression made before
        self.make: Callable[[], None] | None = None

    def put_off(self, make: Callable[[], None]) -> None:
        """Leave the fields for `make` to fill when somebody looks at them, if anybody does."""
        del self.fields
        self.make = make

    @property
    def is_put_off(self) -> bool:
        return self.make is not None

    def __getattr__(self, name: str) -> dict[str, Value]:
        """Called where the fields are put off only: what has been set is found without it."""
        make, self.make = self.make, None
        if name != "fields" or make is None:
            raise AttributeError(name)
        self.fields = {}
        make()
        return self.fields

    @property
    def holders(self) -> Iterator[Obj | Frame]:
        """The object, what it was put into first, what that was put into and so on; each once, since a part may hold
        the whole."""
        seen: set[int] = set()
        current: Obj | Frame | None = self
        while type(current) is Obj and id(current) not in seen:
            seen.add(id(current))
            yield current
            current = None if current.home is None else current.home[0]
        if current is not None and type(current) is not Obj:
            yield current

    @property
    def settled(self) -> bool:
        """Whether something holds it, other than a tuple that was made to be unpacked."""
        if self.home is None:
            return False
        holder = self.home[0]
        return not (isinstance(holder, Obj) and holder.kind == "tuple" and holder.home is None)

    @property
    def stays(self) -> bool:
        """Whether a container holds what this expression made in an earlier round, also as an entry of
        something else: a new round makes another object, and the one that stands for both must keep what it had."""
        home = self.home
        for _ in range(_DEEPEST_ENTRY):
            if home is None or not isinstance(home[0], Obj) or home[1] == "*":
                break
            home = home[0].home if home[1][:1] == "[" else None
        return home is not None and isinstance(home[0], Obj) and home[1] == "*"


Value = tuple[Any, ...]  # of the atoms above
Kwargs = dict[str, Value]

UNKNOWN: Value = ()
LIGHT: Value = (Light(),)
AN_ARRAY = Light("array")
ARRAY: Value = (AN_ARRAY,)
COUNT: Final = Light("count")  # goes up and up: each value of it is new
NAMED: Final = Light("name")  # one of a few texts, all of which are seen
IDENT: Final = Light("identity")  # `id(tensor)`: says which object it is, not what is in it
NOTHING: Value = (Const(None),)


def is_loader(value: Value) -> bool:
    return any(type(atom) is Obj and atom.kind == "loader" for atom in value)


def constant(value: Value) -> Any:
    """The constant that a value is, else `Ellipsis`."""
    if len(value) == 1 and type(value[0]) is Const:
        return value[0].value
    return ...


def tensors(value: Value) -> list[Tensor]:
    return [atom for atom in value if type(atom) is Tensor]


def functions_in(value: Value) -> Iterator[Function]:
    """What runs when a value is called: functions of the files, also as methods and in partials."""
    for atom in value:
        if type(atom) is Partial:
            yield from functions_in(atom.callee)
        function = atom.function if type(atom) is Bound else atom
        if type(function) is Function:
            yield function


def functions_behind(value: Value) -> Iterator[FunctionFacts]:
    """The same, as they are written."""
    return (function.facts for function in functions_in(value))


def is_light(value: Value) -> bool:
    for atom in value:
        kind = type(atom)
        if kind is not Light and kind is not Const:
            return False
    return value != ()
