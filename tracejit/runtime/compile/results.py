"""From a program's outputs to the user's result: views, shared objects, containers."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tracejit.frontend.interpreter.entry import Store
from tracejit.frontend.tracing.pytree import (
    LEAF,
    Alternative,
    Boxed,
    Identity,
    Made,
    Shared,
    Static,
    TreeDef,
    unflatten,
)
from tracejit.frontend.tracing.tracer import ViewStep
from tracejit.ir import dims
from tracejit.ir.dims import Poly
from tracejit.ir.graph import attr_sizes
from tracejit.ir.op import OPS
from tracejit.link.portable import Meant, Portable, portable
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    Choice,
    Container,
    Leaf,
    OutArray,
    OutConstants,
    OutLeaf,
    OutList,
    OutMade,
    OutNpScalar,
    OutObject,
    Output,
    OutPyScalar,
    OutView,
    ScalarLeaf,
)
from tracejit.runtime.compile.stages import ResultPlan, Traced
from tracejit.runtime.entries.jit_type import JitBase

__all__ = ["Results", "direct_results", "make_results"]

#: Classes of keys whose hash and equality run no Python code.
_KEYS = (str, int, float, bool, bytes, type(None))
#: What trees are made of: the compiler's classes, and containers and numbers.
_COMPILER = ("tracejit.frontend.", "tracejit.ir.", "tracejit.ops.", "tracejit.runtime.")
_WRITTEN = frozenset((*_KEYS, complex, tuple, list, dict, frozenset, slice, range))
#: Results that an entry has code for, of those that a run may choose.
_PATHS = 16
#: From how many constants on a list of these alone is one output.
_MANY = 8


def make_results(traced: Traced) -> Results | None:
    """What makes the results of a trace, or None where the entry's result is the user's."""
    return Results.of(traced) if traced.shape_of_result == "other" else None


def direct_results(
    traced: Traced, outputs: Sequence[Output], numbers: Mapping[int, int]
) -> DirectResults | None:
    """The outputs of an entry that makes the results' leaves without Python, and what it returns.

    `outputs` are those of the program as its entry for flat leaves makes them, `numbers` those of
    the entry's leaves, by the trace's. None where a view's strides are not known, or the result is
    one of too many.
    """

    from tracejit.runtime.call.stores import STORED_NATIVELY

    out, places = list(outputs), list[int]()
    taken: dict[int, int] = {}

    def place(output: Output) -> int:
        out.append(output)
        return len(out) - 1

    for plan in traced.plans:
        if plan.same_as is not None:
            places.append(places[plan.same_as])
            continue
        base = plan.index
        if plan.leaf is not None:
            if plan.leaf not in taken:
                taken[plan.leaf] = place(OutLeaf(numbers[plan.leaf]))
            base = taken[plan.leaf]
        assert base is not None
        if plan.views and plan.geometry is None:
            return None
        places.append(place(_out_view(plan, base)) if plan.views else base)
    if traced.stores:
        made = _made(traced.tree.root, iter(places), out, {})
        if made is not None and all(store.kind in STORED_NATIVELY for store in traced.stores):
            owners = tuple(place(_owner(store, numbers)) for store in traced.stores)
            whole = Container(tuple, (*made.items, *owners))
            stored = _chosen(whole, {}, out, iter(range(_PATHS)))
            if stored is not None:
                kinds = tuple((store.kind, store.key) for store in traced.stores)
                return DirectResults(tuple(out), stored, None, kinds)
        if _alternates(traced.tree.root):
            return None
        places += [place(_owner(store, numbers)) for store in traced.stores]
        return DirectResults(
            tuple(out), Container(tuple, tuple(places)), Results.of(traced).finish_parts
        )
    made = _made(traced.tree.root, iter(places), out, {})
    if made is not None:
        chosen = _chosen(made, {}, out, iter(range(_PATHS)))
        if chosen is not None:
            return DirectResults(tuple(out), chosen)
    if _alternates(traced.tree.root):
        return None
    return DirectResults(tuple(out), Container(tuple, tuple(places)), Results.of(traced).shape)


def _owner(store: Store, numbers: Mapping[int, int]) -> Output:
    return OutObject(store.owner) if store.place is None else OutLeaf(numbers[store.place])


def owners_of(stores: Sequence[Store], leaves: Mapping[int, Any] | Sequence[Any]) -> list[Any]:
    """What the stores go into."""
    return [store.owner if store.place is None else leaves[store.place] for store in stores]


def write_back(values: Sequence[Any], stores: Sequence[Store], owners: Sequence[Any]) -> Any:
    """The first of the values, after the others have been stored into their owners."""

    from tracejit.runtime.call.stores import store_value

    for store, owner, value in zip(stores, owners, values[1:], strict=True):
        store_value(owner, store.kind, store.key, value)
    return values[0]


class DirectResults(NamedTuple):
    """The fields of an `EntrySpec` of these names."""

    outputs: tuple[Output, ...]
    result: int | Container | Choice
    finish: Callable[[Sequence[Any]], Any] | None = None
    stores: tuple[tuple[str, Any], ...] = ()


def _out_view(plan: ResultPlan, base: int) -> OutView:
    """The output that a plan with known strides is."""
    from tracejit.frontend.tracing.memory.geometry import base_axis

    g = plan.geometry
    assert g is not None
    size = g.dtype.itemsize
    flags = {view.writeable for view in plan.views}
    return OutView(
        base,
        g.dtype if any(view.op in ("real", "imag") for view in plan.views) else None,
        g.shape,
        tuple(step * size for step in g.strides),
        g.offset * size,
        False if False in flags else None if None in flags else True,
        plan.sizes,
        tuple((k, n, step * size) for k, (n, step) in zip(plan.operands, g.picks, strict=True)),
        tuple(
            (name, axis)
            for name in sorted(attr_sizes(g.strides))
            if (axis := base_axis(name)) is not None
        ),
    )


def _alternates(node: Any) -> bool:
    """Whether results may be missing."""
    if isinstance(node, Shared):
        node = node.node
    if isinstance(node, Alternative):
        return True
    return isinstance(node, tuple) and any(map(_alternates, node[2]))


def _made(
    node: Any,
    places: Iterator[int],
    out: list[Output],
    shared: dict[int, Container | int],
) -> Any:
    """The result as containers and choices, in each other; None where an entry makes no such.

    Constants and lists are outputs behind those in `out`. A container that occurs several times is
    one object, by its number in `shared`.
    """
    if node is LEAF:
        return next(places)
    constants = _constants(node)
    if constants is not None or isinstance(node, Boxed):
        output = _list(node, places, out) if constants is None else constants
        if output is None:
            return None
        out.append(output)
        return len(out) - 1
    if isinstance(node, Shared):
        again = _made(node.node, places, out, shared)
        if isinstance(again, int) and isinstance(out[again], (OutConstants, OutList)):
            return shared.setdefault(node.number, again)
        return shared.setdefault(node.number, again) if isinstance(again, Container) else None
    if isinstance(node, Alternative):
        flag = next(places)
        sides = [_made(side, places, out, shared) for side in (node.first, node.second)]
        return None if None in sides else Choice(flag, *sides)
    if not isinstance(node, tuple):
        return None
    cls, keys, children = node
    names = tuple(key.value if isinstance(key, Static) else key for key in keys)
    items = tuple(_made(child, places, out, shared) for child in children)
    odd = keys and issubclass(cls, (tuple, list, SimpleNamespace))
    if odd or None in items or not all(type(name) in _KEYS for name in names):
        return None
    return Container(cls, items, names)


def _constants(node: Any) -> OutObject | OutConstants | None:
    """The output that a constant is, or a list of many; None for others."""
    if isinstance(node, Static):
        return OutObject(node.value)
    if isinstance(node, tuple) and node[0] is list and len(node[2]) >= _MANY:
        if all(isinstance(child, Static) for child in node[2]):
            return OutConstants(tuple(child.value for child in node[2]))
    return None


def _list(node: Boxed, places: Iterator[int], out: Sequence[Output]) -> OutList | None:
    """A list that is made of arrays; None where its elements are no numbers or tuples of them."""
    columns = tuple(next(places) for _ in range(node.count))
    arrays = [out[k] for k in columns]
    plain = all(
        isinstance(x, OutArray) and len(x.shape) == 1 or isinstance(x, OutMade) and x.ndim == 1
        for x in arrays
    )
    return OutList(node.form, columns) if plain and _of_numbers(node.form) else None


def _of_numbers(form: Any) -> bool:
    if isinstance(form, str):
        return form in ("python", "scalar")
    return form[0] == "tuple" and all(_of_numbers(part) for part, _ in form[1])


def _chosen(
    made: Any, known: Mapping[int, bool], outputs: Sequence[Output], left: Iterator[int]
) -> int | Container | Choice | None:
    """A result with its choices around its containers, where some flags are known.

    None where a flag is no bool, or where none is left of the results that there may be.
    """
    flag = _open_flag(made, known)
    if flag is None:
        found: int | Container = _resolved(made, known, {})
        return None if next(left, None) is None else found
    if outputs[flag] not in (OutPyScalar("bool"), OutNpScalar(np.dtype(bool))):
        return None
    first = _chosen(made, {**known, flag: True}, outputs, left)
    second = None if first is None else _chosen(made, {**known, flag: False}, outputs, left)
    return None if first is None or second is None else Choice(flag, first, second)


def _open_flag(made: Any, known: Mapping[int, bool]) -> int | None:
    """The first flag that matters and is not known."""
    if isinstance(made, Choice):
        if made.flag not in known:
            return made.flag
        return _open_flag(made.first if known[made.flag] else made.second, known)
    found = (
        _open_flag(item, known) for item in (made.items if isinstance(made, Container) else ())
    )
    return next((flag for flag in found if flag is not None), None)


def _resolved(made: Any, known: Mapping[int, bool], done: dict[int, Container]) -> Any:
    """A result whose flags are all known; `done` are containers by the id of what they were."""
    if isinstance(made, Choice):
        return _resolved(made.first if known[made.flag] else made.second, known, done)
    if isinstance(made, int):
        return made
    if id(made) not in done:
        items = tuple(_resolved(item, known, done) for item in made.items)
        done[id(made)] = Container(made.cls, items, made.keys)
    return done[id(made)]


class Results:
    """Makes the user's result from the outputs and from leaves, by their numbers."""

    def __init__(
        self,
        plans: Sequence[ResultPlan],
        tree: TreeDef,
        count: int,
        stores: tuple[Store, ...],
        sized: dict[int, Leaf],
    ) -> None:
        self.plans, self._tree, self._count = plans, tree, count
        self._stores, self._sized = stores, sized
        self._build = _builder(tree.root)
        self._choose = _chooser(tree.root)
        views = [view for plan in self.plans for view in plan.views]
        #: The numbers of the leaves that the results are made from.
        owners = {store.place for store in self._stores if store.place is not None}
        used = {p.leaf for p in self.plans if p.leaf is not None}
        self.leaves = sorted(used | {*self._sized} | owners)
        #: For each part of the result, which value it is, where all of them are whole values.
        self._places: list[int] | None = None
        if not views:
            by_leaf = {k: self._count + at for at, k in enumerate(self.leaves)}
            self._places = [self._place(plan, by_leaf) for plan in self.plans]

    @classmethod
    def of(cls, traced: Traced) -> Results:
        """Those of a trace."""
        views = [view for plan in traced.plans for view in plan.views]
        known = ((*view.attrs.values(), view.corner, view.places) for view in views)
        sized: dict[int, Leaf] = {}
        if any(map(_has_sizes, known)):
            leaves = traced.specialization.leaves
            sized = {k: leaf for k, leaf in enumerate(leaves) if _binds(leaf)}
        return cls(traced.plans, traced.tree, len(traced.outputs), traced.stores, sized)

    def portable(self) -> Portable:
        """The arguments that another process makes the same of. Raises what `pickle` does."""
        plans = [dataclasses.replace(plan, geometry=None) for plan in self.plans]
        given = plans, self._tree, self._count, self._stores, self._sized
        return portable(given, _is_of_the_program, _reduced)

    def _place(self, plan: ResultPlan, by_leaf: Mapping[int, int]) -> int:
        if plan.same_as is not None:
            return self._place(self.plans[plan.same_as], by_leaf)
        if plan.leaf is not None:
            return by_leaf[plan.leaf]
        assert plan.index is not None
        return plan.index

    def finish(self, values: Sequence[Any]) -> Any:
        """The result from the outputs followed by the leaves `self.leaves`."""
        if self._places is not None and not self._stores:
            return self.shape([values[k] for k in self._places])
        given = values[self._count :]
        return self(values, dict(zip(self.leaves, given, strict=True)))

    def finish_parts(self, parts: Sequence[Any]) -> Any:
        """The result from its parts followed by what the stores go into."""
        count = len(self.plans)
        return write_back(self.shape(parts[:count]), self._stores, parts[count:])

    def __call__(self, outputs: Sequence[Any], leaves: Mapping[int, Any] | Sequence[Any]) -> Any:
        """The user's result."""
        made = self.shape(_Parts(self, outputs, leaves))
        if not self._stores:
            return made
        return write_back(made, self._stores, owners_of(self._stores, leaves))

    def shape(self, parts: Sequence[Any]) -> Any:
        """The containers around the parts, of which some are chosen."""
        if self._choose is not None:
            return self._choose(parts)
        if self._build is not None:
            return self._build(parts)
        return unflatten(self._tree, parts)

    def some(
        self,
        numbers: Sequence[int],
        outputs: Sequence[Any],
        leaves: Mapping[int, Any] | Sequence[Any],
    ) -> list[Any]:
        """The results' leaves of these numbers; only what they are made from is looked at."""
        parts = _Parts(self, outputs, leaves)
        return [parts[k] for k in numbers]

    def sizes(self, leaves: Mapping[int, Any] | Sequence[Any]) -> dict[str, int]:
        """The values of the sizes that views mention."""
        sizes: dict[str, int] = {}
        for k, leaf in self._sized.items():
            if isinstance(leaf, ArrayLeaf):
                for d, n in zip(leaf.dims, leaves[k].shape, strict=True):
                    if isinstance(d, str):
                        sizes[d] = n
            elif isinstance(leaf, ScalarLeaf) and leaf.size is not None:
                sizes[leaf.size] = leaves[k]
        return sizes


def _is_of_the_program(x: Any) -> bool:
    """Whether an object in a tree is one of the program, not of the compiler."""
    cls = type(x)
    if isinstance(x, (type, FunctionType)):
        return not (x.__module__ == "copyreg" or x.__module__.startswith(_COMPILER))
    if cls in _WRITTEN or isinstance(x, np.dtype):
        return cls is str  # Texts are compared by identity, too.
    return isinstance(x, JitBase) or not cls.__module__.startswith(_COMPILER)


def _reduced(x: Any) -> Any:
    """How an object of the compiler is made again that has more than its bytes can hold."""
    if type(x) is Static:
        return Static, (Meant(x.value),)
    if type(x) is Identity:
        value = x.get()
        if value is None:
            raise LookupError("an object that has died")
        return Identity, (Meant(value),)
    if type(x) is ViewStep:
        indices = (None,) * len(x.indices)
        return ViewStep, (None, x.op, indices, x.attrs, x.writeable, x.corner, x.windows, x.kept)
    if type(x) is TreeDef:
        return TreeDef, (x.root, x.count)
    return NotImplemented


class _Parts(Sequence[Any]):
    """The leaves of one result, each made when it is asked for: outputs for a side of an
    alternative that is not taken hold nothing that could be looked at."""

    __slots__ = ("_leaves", "_made", "_outputs", "_results", "_sizes")

    def __init__(
        self, results: Results, outputs: Sequence[Any], leaves: Mapping[int, Any] | Sequence[Any]
    ) -> None:
        self._results, self._outputs, self._leaves = results, outputs, leaves
        self._made: dict[int, Any] = {}
        self._sizes: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self._results.plans)

    def __getitem__(self, k: Any) -> Any:
        plan = self._results.plans[k]
        if plan.same_as is not None:
            return self[plan.same_as]
        if k not in self._made:
            self._made[k] = self._make(plan)
        return self._made[k]

    def _make(self, plan: ResultPlan) -> Any:
        if plan.leaf is not None:
            x = self._leaves[plan.leaf]
        else:
            assert plan.index is not None
            x = self._outputs[plan.index]
        if not plan.views:
            return x
        if self._sizes is None:
            self._sizes = self._results.sizes(self._leaves)
        operands = [self._outputs[k] for k in plan.operands]
        sizes = self._sizes | {name: self._outputs[k] for name, k in plan.sizes}
        return apply_views(x, plan.views, operands, sizes)


def _builder(root: Any) -> Callable[[Sequence[Any]], Any] | None:
    """What makes tuples, lists and dicts around parts, and lists of what arrays hold; None where
    there is anything else."""
    constants: list[Any] = []
    count = 0

    def constant(x: Any) -> str:
        constants.append(x)
        return f"c[{len(constants) - 1}]"

    def part() -> str:
        nonlocal count
        count += 1
        return f"p[{count - 1}]"

    def text(node: Any) -> str | None:
        if node is LEAF:
            return part()
        if isinstance(node, Boxed):
            return _text_of_list(node.form, part)
        if isinstance(node, Static):
            return constant(node.value)
        if not isinstance(node, tuple) or node[0] not in (tuple, list, dict, Made):
            return None
        cls, keys, children = node
        parts = [text(child) for child in children]
        if cls is Made and None not in parts:
            return f"{constant(keys[0])}({', '.join(map(str, parts))})"
        if None in parts or not all(isinstance(k, Static) for k in keys):
            return None
        if cls is dict:
            pairs = zip(keys, parts, strict=True)
            return "{" + ", ".join(f"{constant(k.value)}: {v}" for k, v in pairs) + "}"
        inner = "".join(f"{v}, " for v in parts)
        return f"({inner})" if cls is tuple else f"[{inner}]"

    found = text(root)
    if found is None or root is LEAF:
        return None
    made: Callable[[Sequence[Any]], Any] = eval(f"lambda p: {found}", {"c": constants})
    return made


def _text_of_list(form: Any, part: Callable[[], str]) -> str | None:
    """The expression that `boxed` stands for, of arrays that are the next parts."""
    if form == "python":
        return f"{part()}.tolist()"
    if form == "scalar":
        return f"list({part()})"
    if form == "array" or form[0] != "tuple":
        return None
    columns = [_text_of_list(inner, part) for inner, _ in form[1]]
    return None if None in columns else f"list(zip({', '.join(map(str, columns))}))"


def _chooser(node: Any, at: int = 0) -> Callable[[Sequence[Any]], Any] | None:
    """What finds the result among its parts from number `at` on; None where containers are made."""
    if node is LEAF:
        return operator.itemgetter(at)
    if isinstance(node, Static):
        value = node.value
        return lambda parts: value
    if not isinstance(node, Alternative):
        return None
    first = _chooser(node.first, at + 1)
    second = _chooser(node.second, at + 1 + node.counts[0])
    if first is None or second is None:
        return None
    return lambda parts: first(parts) if parts[at] else second(parts)


def _binds(leaf: Leaf) -> bool:
    """Whether a leaf gives a size symbol its value."""
    if isinstance(leaf, ArrayLeaf):
        return any(isinstance(d, str) for d in leaf.dims)
    return isinstance(leaf, ScalarLeaf) and leaf.size is not None


def _has_sizes(attr: Any) -> bool:
    if isinstance(attr, tuple):
        return any(map(_has_sizes, attr))
    return isinstance(attr, Poly)


def _concrete(attr: Any, sizes: dict[str, int]) -> Any:
    if isinstance(attr, Poly):
        return dims.evaluate(attr, sizes)
    if isinstance(attr, tuple):
        return tuple(_concrete(a, sizes) for a in attr)
    return attr


def apply_views(
    array: Any, views: Sequence[ViewStep], indices: Sequence[Any], sizes: dict[str, int]
) -> Any:
    """The NumPy view of `array` that a chain of index ops means; `indices` are those of gathers."""
    remaining = list(indices)
    for view in views:
        attrs = view.attrs
        if sizes:
            attrs = {k: _concrete(a, sizes) for k, a in attrs.items()}
        if view.op == "broadcast_to":
            array = _broadcast(array, attrs["shape"], view.writeable)
        elif view.corner:
            row, column = _concrete(view.corner, sizes)
            base, array = array, np.moveaxis(np.diagonal(array, column - row), -1, 0)
            # NumPy's diagonals are read-only views unless einsum gives them.
            if view.writeable and base.flags.writeable:
                array.flags.writeable = True
        elif view.windows:
            array = _windows(array, view.windows, _concrete(view.places, sizes))
        elif view.op == "gather":
            count = len(view.indices)
            array = array[(*(int(i) for i in remaining[:count]), ...)]
            del remaining[:count]
        elif view.op in ("real", "imag"):
            array = getattr(array, view.op)
        elif view.kept is not None:
            array = _indexed(array, view.kept)
        else:
            (array,) = OPS[view.op].evaluate([array], attrs)
            if not view.writeable:
                array.flags.writeable = False
    return array


def _indexed(array: Any, kept: Sequence[int | None]) -> Any:
    """A view with axes of one element added (None) and dropped (those that are not kept)."""
    dropped = [k for k in range(array.ndim) if k not in kept]
    key: list[Any] = [None if k is None else slice(None) for k in kept]
    for k in dropped:
        behind = [at for at, axis in enumerate(kept) if axis is not None and axis < k]
        key.insert(behind[-1] + 1 if behind else 0, 0)
    return array[tuple(key)]


def _windows(array: Any, windows: Sequence[bool], shape: Sequence[int]) -> Any:
    """What windows see that slide over some of the first axes: each stands behind its axis.

    `shape` has the lengths of these axes in this order.
    """
    axes = [k for k, w in enumerate(windows) if w]
    places = [k + axes.index(k) + 1 for k in axes]
    seen = sliding_window_view(array, tuple(shape[p] for p in places), tuple(axes))
    return np.moveaxis(seen, range(array.ndim, seen.ndim), places)


def _broadcast(array: Any, shape: tuple[int, ...], writeable: bool | None) -> Any:
    if writeable is not None:
        return np.broadcast_to(array, shape)
    # NumPy lets these be stored into, and warns: the shape is that of the array it is beside.
    return np.broadcast_arrays(array, np.broadcast_to(False, shape))[0]
