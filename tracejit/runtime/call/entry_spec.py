"""What a native entry must check, bind, allocate and return: data, read by two writers of entries.

A compiled program is `i32 program(ptr in, ptr out)`: two arrays of 8-byte slots.

`in`   one slot for each leaf in order (an array: its data pointer; an address; a traced Python
       scalar: i64, double, two doubles, or 0 / 1; a NumPy scalar: its own bytes, two slots for
       complex128; a static leaf: none), then one for each name in `sizes`.
`out`  one slot for each output in order (an array: the data pointer of memory allocated by the
       entry, or zero, where the program puts a new array that it makes itself; a scalar: where the
       program stores its value, two slots for 16 bytes; a constant object or a returned leaf:
       none).

It returns 0, or anything else to refuse: its outputs are dropped and the caller's `_bail` runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Literal, TypeAlias

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.frontend.capture.guards import Guard, Keys, Size
from tracejit.frontend.capture.paths import Item, Path, Positional, Reread
from tracejit.ir.dims import Dim, free_symbols

__all__ = [
    "AddressLeaf",
    "ArrayLeaf",
    "Choice",
    "Container",
    "EntrySpec",
    "Leaf",
    "NpScalarLeaf",
    "OutArray",
    "OutLeaf",
    "OutConstants",
    "OutList",
    "OutMade",
    "OutNpScalar",
    "OutObject",
    "OutPyScalar",
    "OutView",
    "Output",
    "ScalarKind",
    "ScalarLeaf",
    "SizeGuard",
    "k_order",
]

ScalarKind: TypeAlias = Literal["int", "float", "complex", "bool"]


@dataclass(frozen=True)
class ArrayLeaf:
    """An aligned `np.ndarray` (no subclass) of exactly `dtype`, native byte order, no metadata.

    `dims`: an int is an exact size; a name is a size symbol, bound at its first occurrence (where
    it must be at least 2) and compared at later ones. Layout "C" or "F" is NumPy's contiguity flag.
    Layout "A" binds each axis' element stride to the name in `strides` (or compares it with an int)
    and checks that sorting the axes as `k_order` does still gives `order`.

    `writeable`: the program writes to it. NumPy must allow that, no two of its elements may share
    memory, and no other array of the call may lie between its first byte and its last.
    """

    dtype: np.dtype[Any]
    dims: tuple[int | str, ...]
    layout: Literal["C", "F", "A"] = "C"
    strides: tuple[int | str, ...] = ()
    order: tuple[int, ...] = ()
    writeable: bool = False
    #: Whether it is a copy of other arrays, in whose memory is what is written to it in the end.
    joined: bool = False

    def __post_init__(self) -> None:
        axes = len(self.dims)
        if self.layout == "A" and not (len(self.strides) == len(self.order) == axes):
            raise ValueError("layout A needs a stride and a place in the order for each axis")


@dataclass(frozen=True)
class ScalarLeaf:
    """A traced Python number of exactly that type; an int that does not fit 64 bits is a miss.

    `size` names the size symbol that an int is: bound or compared like a dimension of an array.
    """

    kind: ScalarKind
    size: str | None = None


@dataclass(frozen=True)
class NpScalarLeaf:
    """A traced NumPy scalar of exactly `dtype.type`."""

    dtype: np.dtype[Any]


@dataclass(frozen=True)
class AddressLeaf:
    """Any object: the program is given its address, and the entry keeps it alive."""


#: What an entry looks at: what its program is given, or a guard.
Leaf: TypeAlias = ArrayLeaf | ScalarLeaf | NpScalarLeaf | AddressLeaf | Guard


@dataclass(frozen=True)
class SizeGuard:
    """A relation between sizes that must hold."""

    left: Dim
    relation: Literal["==", "!=", "<", "<="]
    right: Dim


@dataclass(frozen=True)
class OutArray:
    """A new array, dense with its axes in `order` (outermost first; () means C order).

    `zeroed`: it is filled with zeros; then the order is C or Fortran order. `noted` are axes with
    strides in bytes that it is given once it is there, where no element is reached by them.
    """

    dtype: np.dtype[Any]
    shape: tuple[Dim, ...]
    order: tuple[int, ...] = ()
    zeroed: bool = False
    noted: tuple[tuple[int, Dim], ...] = ()

    def __post_init__(self) -> None:
        if len(self.order) != len(self.shape):
            object.__setattr__(self, "order", tuple(range(len(self.shape))))


@dataclass(frozen=True)
class OutMade:
    """A new array of `dtype` with `ndim` axes, which the program makes itself, with strides `noted`
    as those of an OutArray.
    """

    dtype: np.dtype[Any]
    ndim: int
    noted: tuple[tuple[int, Dim], ...] = ()


@dataclass(frozen=True)
class OutNpScalar:
    """A new NumPy scalar."""

    dtype: np.dtype[Any]


@dataclass(frozen=True)
class OutPyScalar:
    """A new Python number."""

    kind: ScalarKind


@dataclass(frozen=True, eq=False)
class OutObject:
    """A constant, such as None."""

    value: Any


@dataclass(frozen=True)
class OutConstants:
    """A new list of constants."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class OutLeaf:
    """Leaf number `index` itself: a function that returns one of its arguments."""

    index: int


@dataclass(frozen=True)
class OutList:
    """A new list of numbers, or of tuples of numbers: what is in outputs with these numbers, which
    are new arrays with one axis. `form` is as `boxed.boxed` has it."""

    form: Any
    columns: tuple[int, ...]


@dataclass(frozen=True)
class OutView:
    """A view of output number `base`, which is an array or a leaf; strides and offset in bytes.

    `dtype` is None for that of the base. It can be stored into where the base can, unless it is not
    `writeable`; None has NumPy warn of that. `sizes` are the symbols that outputs hold, with their
    numbers, `base_strides` those for strides of the base, in elements, with their axes. For each of
    `picks`, the output with an index, the length of an axis and its stride, the view lies so many
    strides further, those of a negative index counted from the end.
    """

    base: int
    dtype: np.dtype[Any] | None
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    offset: Dim = 0
    writeable: bool | None = True
    sizes: tuple[tuple[str, int], ...] = ()
    picks: tuple[tuple[int, Dim, Dim], ...] = ()
    base_strides: tuple[tuple[str, int], ...] = ()

    @property
    def symbols(self) -> set[str]:
        """The size symbols that leaves bind."""
        picked = (d for _, *pair in self.picks for d in pair)
        found = map(free_symbols, (*self.shape, *self.strides, self.offset, *picked))
        late = {name for name, _ in (*self.sizes, *self.base_strides)}
        return set[str]().union(*found) - late


Output: TypeAlias = (
    OutArray
    | OutMade
    | OutNpScalar
    | OutPyScalar
    | OutObject
    | OutConstants
    | OutLeaf
    | OutList
    | OutView
)


@dataclass(frozen=True, eq=False)
class Container:
    """A new tuple, list or dict around outputs, by their numbers, and containers; or an instance of
    a namedtuple or a dataclass, for which nothing of the class runs.

    The keys of a dict are constants whose hash runs no Python code, those of a dataclass names.
    """

    cls: type
    items: tuple[int | Container, ...]
    keys: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Choice:
    """One of two results, by the truth of output number `flag`, a bool: the other is not made."""

    flag: int
    first: int | Container | Choice
    second: int | Container | Choice


_SCALAR_SLOTS = {"int": 1, "float": 1, "complex": 2, "bool": 1}


def _slots(item: Leaf | Output) -> int:
    match item:
        case ScalarLeaf(kind) | OutPyScalar(kind):
            return _SCALAR_SLOTS[kind]
        case NpScalarLeaf(dtype) | OutNpScalar(dtype):
            return -(-dtype.itemsize // 8)
        case AddressLeaf() | ArrayLeaf() | OutArray() | OutMade():
            return 1
    return 0


def _offsets(items: Sequence[Leaf | Output]) -> tuple[int, ...]:
    starts = [0]
    for item in items:
        starts.append(starts[-1] + _slots(item))
    return tuple(starts)


@dataclass(frozen=True, eq=False)
class EntrySpec:
    """One specialisation of a function: what it accepts and what it returns.

    `nargs` positional arguments are expected, then exactly `keywords`, in the order of the call.
    `work` estimates the element operations of one call: far above some ten thousand, the program
    runs without the GIL.

    `reread`, called once the arguments fit, gives the tuple that `Reread`s refer to; or None,
    which is a miss. The objects of each group in `distinct` are pairwise different ones.
    The result is the only output, or a tuple or list of all, or one of the outputs, a container or
    a choice of these.
    `finish` makes it from the tuple that it would be; what it raises, the call raises. Where there
    are `stores`, the kind and the key of each, that tuple holds what is returned, then the values
    to store, then the objects that they are stored into.
    With `tells_copies`, `runtime/copying_calls.py` hears of each run whose loops copied much. A
    program that `exchanges` values with other processes has the log of its exchanges cleared
    before it runs, and when it has ended well: a repetition gets what the run has logged.
    """

    leaves: tuple[tuple[Path, Leaf], ...]
    nargs: int
    sizes: tuple[str, ...] = ()
    guards: tuple[SizeGuard, ...] = ()
    outputs: tuple[Output, ...] = ()
    result: Literal["single", "tuple", "list"] | int | Container | Choice = "single"
    work: Dim = 0
    keywords: tuple[str, ...] = ()
    reread: Callable[[], tuple[Any, ...] | None] | None = None
    distinct: tuple[tuple[Path, ...], ...] = ()
    finish: Callable[[tuple[Any, ...]], Any] | None = None
    stores: tuple[tuple[str, Any], ...] = ()
    tells_copies: bool = False
    exchanges: bool = False
    leaf_slots: tuple[int, ...] = field(init=False)
    out_slots: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Raises ValueError if a size is never bound, an index is out of range or the result is
        single with any number of outputs but one."""
        # CPython passes the names of literal keywords interned: identity decides.
        object.__setattr__(self, "keywords", tuple(map(sys.intern, self.keywords)))
        leaves = [leaf for _, leaf in self.leaves]
        object.__setattr__(self, "leaf_slots", _offsets(leaves))
        object.__setattr__(self, "out_slots", _offsets(self.outputs))
        bound: set[str] = set()
        for leaf in leaves:
            if isinstance(leaf, ArrayLeaf):
                bound.update(d for d in leaf.dims + leaf.strides if isinstance(d, str))
            elif isinstance(leaf, ScalarLeaf) and leaf.size is not None:
                bound.add(leaf.size)
        used = set(self.sizes) | free_symbols(self.work)
        for guard in self.guards:
            used |= free_symbols(guard.left) | free_symbols(guard.right)
        for output in self.outputs:
            if isinstance(output, OutArray):
                used |= set().union(*map(free_symbols, output.shape))
            if isinstance(output, (OutArray, OutMade)):
                used |= set().union(*(free_symbols(stride) for _, stride in output.noted))
            elif isinstance(output, OutView):
                used |= output.symbols
            if isinstance(output, OutLeaf) and not 0 <= output.index < len(leaves):
                raise ValueError(f"there is no leaf {output.index}")
        if used - bound:
            raise ValueError(f"sizes that no leaf binds: {', '.join(sorted(used - bound))}")
        count = self.nargs + len(self.keywords)
        containers: dict[Path, Size | Keys] = {}
        for path, leaf in self.leaves:
            if isinstance(leaf, (Size, Keys)):
                containers[path] = leaf
            if isinstance(path, Item):
                container = None if path.parent is None else containers.get(path.parent)
                if container is None or not container.has(path):
                    raise ValueError(f"no container is known to have element {path.key!r}")
            if isinstance(path, Positional) and not 0 <= path.index < count:
                raise ValueError(f"there is no argument {path.index}")
            if isinstance(path, Reread) and self.reread is None:
                raise ValueError("nothing is read again")
        if self.result == "single" and len(self.outputs) != 1:
            raise ValueError("a single result has exactly one output")
        if self.finish is not None and getattr(self.made, "cls", None) is not tuple:
            raise ValueError("only a tuple can be finished")
        if self.stores and self.finish is not None:
            raise ValueError("what is finished has no stores of its own")

    @property
    def made(self) -> int | Container | Choice:
        """The result, as the number of an output, a container or a choice."""
        if isinstance(self.result, str):
            cls = {"tuple": tuple, "list": list}.get(self.result)
            return 0 if cls is None else Container(cls, tuple(range(len(self.outputs))))
        return self.result

    @property
    def size_slot(self) -> int:
        """The first of the in-slots that hold `sizes`."""
        return self.leaf_slots[-1]

    @property
    def in_count(self) -> int:
        """The number of in-slots."""
        return self.leaf_slots[-1] + len(self.sizes)

    @property
    def out_count(self) -> int:
        """The number of out-slots."""
        return self.out_slots[-1]


def k_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The axes of an array, outermost first, as NumPy's order "K" arranges a result like it.

    Larger absolute strides come first and ties keep C order; an axis of size 1 or stride 0 has no
    opinion and stays where insertion finds it.
    """
    steps = [0 if size == 1 else abs(stride) for size, stride in zip(shape, strides, strict=True)]
    order: list[int] = []
    for axis in reversed(range(len(steps))):
        # The new axis starts outermost and moves inwards past every larger stride.
        place = 0
        for position, other in enumerate(order):
            if steps[axis] and steps[other]:
                if steps[axis] >= steps[other]:
                    break
                place = position + 1
        order.insert(place, axis)
    return tuple(order)
