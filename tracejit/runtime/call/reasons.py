"""Why a call needs a compile of its own: what differs from the nearest call that has one, by name.

Nearest is the compiled call with the fewest differences. They are found in this order: the
structure of the arguments, the keys of their leaves (dtype, axes, layout), and for equal keys what
a variant checks at each call (sizes, numbers, values from outside, guards).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tracejit.frontend.capture.captured import Call
from tracejit.frontend.capture.guards import Equal
from tracejit.frontend.capture.paths import MISSING, Cell, Global
from tracejit.frontend.tracing.pytree import LEAF, Identity, Static, TreeDef
from tracejit.ir.dims import Dim, evaluate
from tracejit.ir.types import DTYPES
from tracejit.runtime.call.entry_spec import ArrayLeaf, Leaf, ScalarLeaf
from tracejit.runtime.call.signature import leaf_key

__all__ = ["reason_for", "walk"]

_SHOWN = 3
_BY_VALUE = (str, bool, bytes, type(None))
_LAYOUTS = {"C": "C order", "F": "Fortran order", "A": "strides"}
_RELATIONS = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


def reason_for(
    structures: dict[Any, Any], signature: inspect.Signature, call: Call, tree: TreeDef
) -> str:
    """The reason for the next compile of a function.

    `structures` maps (tree, keys of the leaves) to objects with `variants`, `scalars_static` and
    `sizes_static`, the call's own among them.
    """
    compiled = {key: s for key, s in structures.items() if s.variants}
    if not compiled:
        return "first call"
    parameters = list(signature.parameters.values())
    names = [name for name, _ in _paths(tree, parameters)]
    keys = tuple(leaf_key(x) for x in call.leaves)
    own = compiled.get((tree, keys))
    if own is not None:
        found = (_missed(v, call, names, own) for v in reversed(own.variants))
    elif any(known == tree for known, _ in compiled):
        others = [k for t, k in reversed(compiled) if t == tree]
        others.sort(key=lambda k: _distance(k, keys))
        found = (list(_leaf_differences(names, k, keys)) for k in others)
    else:
        found = (list(_tree_differences(t, tree, parameters)) for t, _ in reversed(compiled))
    differences = min(found, key=len) or ["the arguments are given in another way"]
    more = len(differences) - _SHOWN
    return "; ".join(differences[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


# Names -------------------------------------------------------------------------------------------


def _paths(tree: TreeDef, parameters: list[inspect.Parameter]) -> list[tuple[str, Any]]:
    """(name, node) of each leaf; names are as in Python: `x`, `xs[0]`, `params['w']`, `p.mass`."""
    return [(name, node) for name, node in walk(tree, parameters) if node is LEAF]


def walk(tree: TreeDef, parameters: list[inspect.Parameter]) -> Iterable[tuple[str, Any]]:
    """(name, node) of every argument and all that is in it, in the order of the leaves."""

    def inside(name: str, node: Any) -> Iterable[tuple[str, Any]]:
        yield name, node
        if isinstance(node, tuple):
            for part, child in _children(node):
                yield from inside(name + part, child)

    for name, node in _arguments(tree, parameters):
        yield from inside(name, node)


def _arguments(tree: TreeDef, parameters: list[inspect.Parameter]) -> list[tuple[str, Any]]:
    (_, _, (args, kwargs)) = tree.root
    named = [(str(key.value), child) for key, child in zip(kwargs[1], kwargs[2], strict=True)]
    return [(_parameter(k, parameters), child) for k, child in enumerate(args[2])] + named


def _parameter(k: int, parameters: list[inspect.Parameter]) -> str:
    positional = [p for p in parameters if p.kind <= p.VAR_POSITIONAL]
    several = [n for n, p in enumerate(positional) if p.kind == p.VAR_POSITIONAL]
    if several and k >= several[0]:
        return f"{positional[several[0]].name}[{k - several[0]}]"
    return positional[k].name if k < len(positional) else f"argument {k + 1}"


def _children(node: Any) -> list[tuple[str, Any]]:
    cls, keys, children = node
    if not keys:
        return [(f"[{k}]", child) for k, child in enumerate(children)]
    parts = [key.value if isinstance(key, Static) else key for key in keys]
    if cls is dict:
        return [(f"[{part!r}]", child) for part, child in zip(parts, children, strict=True)]
    return [(f".{part}", child) for part, child in zip(parts, children, strict=True)]


# Structures --------------------------------------------------------------------------------------


def _tree_differences(
    old: TreeDef, new: TreeDef, parameters: list[inspect.Parameter]
) -> Iterable[str]:
    before, now = dict(_arguments(old, parameters)), dict(_arguments(new, parameters))
    for name in now:
        if name in before:
            yield from _node_differences(name, before[name], now[name])
        else:
            yield f"new structure: {name} is given"
    for name in before:
        if name not in now:
            yield f"new structure: {name} is not given"


def _node_differences(name: str, old: Any, new: Any) -> Iterable[str]:
    if old is new or old == new:
        return
    if isinstance(old, tuple) and isinstance(new, tuple) and old[0] == new[0]:
        before, now = _children(old), _children(new)
        if len(before) != len(now):
            yield f"new structure: {name} has {len(now)} elements instead of {len(before)}"
        elif [part for part, _ in before] != [part for part, _ in now]:
            yield f"new structure: {name} has other keys"
        else:
            for (part, a), (_, b) in zip(before, now, strict=True):
                yield from _node_differences(name + part, a, b)
    elif isinstance(old, Identity) and isinstance(new, Identity):
        yield f"new constant: {name} is another object"
    else:
        category = "new constant" if isinstance(new, Static) else "new structure"
        yield f"{category}: {name} is {_kind_of_node(new)} instead of {_kind_of_node(old)}"


def _kind_of_node(node: Any) -> str:
    if node is LEAF:
        return "an array or a number"
    if isinstance(node, Static):
        return _short(node.value)
    if isinstance(node, Identity):
        return f"an object of {type(node.get()).__name__}"
    return f"a {node[0].__name__}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


# Leaves ------------------------------------------------------------------------------------------


def _leaf_differences(names: Sequence[str], old: Any, new: Any) -> Iterable[str]:
    for name, a, b in zip(names, old, new, strict=True):
        if a != b:
            yield _leaf_difference(name, a, b)


def _distance(old: Any, new: Any) -> tuple[int, int]:
    """How many leaves' keys differ, and in how many parts."""
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    arrays = [(a, b) for a, b in pairs if _is_array(a) and _is_array(b)]
    parts = sum(x != y for a, b in arrays for x, y in zip(a, b, strict=False))
    return len(pairs), parts + 3 * (len(pairs) - len(arrays))


def _leaf_difference(name: str, old: Any, new: Any) -> str:
    """How one leaf's key differs from another's; keys are those that `leaf_key` makes."""
    if not (_is_array(old) and _is_array(new)):
        if _is_function(old) and _is_function(new):
            return f"new function: {name} has other code"
        if _is_static(old) and _is_static(new):
            if old[1] is new[1] and new[1] not in _BY_VALUE:
                return f"new constant: {name} is another {new[1].__name__}"
            return f"new constant: {name} is {_kind(new)} instead of {_kind(old)}"
        return f"new kind of argument: {name} is {_kind(new)} instead of {_kind(old)}"
    if old[0] != new[0]:
        return f"new dtype: {name} is {DTYPES[new[0]].name} instead of {DTYPES[old[0]].name}"
    if len(old[1]) != len(new[1]):
        return f"new number of axes: {name} has {len(new[1])} instead of {len(old[1])}"
    for axis, (a, b) in enumerate(zip(old[1], new[1], strict=True)):
        if a != b:
            was = {0: "0", 1: "1", 2: "2 or more"}
            return f"new size: {name}.shape[{axis}] is {was[b]} instead of {was[a]}"
    if old[2] != new[2]:
        return f"new layout: {name} has {_LAYOUTS[new[2]]} instead of {_LAYOUTS[old[2]]}"
    return f"new layout: {name} has strides of another kind"


def _is_static(key: Any) -> bool:
    return isinstance(key, tuple) and key[0] == "static"


def _is_function(key: Any) -> bool:
    return isinstance(key, tuple) and key[0] == "function"


def _is_array(key: Any) -> bool:
    return isinstance(key, tuple) and isinstance(key[1], tuple)


def _kind(key: Any) -> str:
    """What a leaf's key stands for."""
    if isinstance(key, str):
        return key
    if _is_array(key):
        return f"an array of {DTYPES[key[0]].name}"
    if key[0] == "scalar":
        return f"numpy.{key[2].__name__}"
    if _is_function(key):
        return "a function"
    return _short(key[2]) if key[1] in _BY_VALUE else f"an object of {key[1].__name__}"


# What a variant checks ---------------------------------------------------------------------------


def _missed(variant: Any, call: Call, names: Sequence[str], structure: Any) -> list[str]:
    """What a variant made for leaves with these keys finds different in them."""
    capture = variant.traced.capture
    values, spelled = list(call.leaves), list(names)
    if capture is not None:
        outside = capture.reread(call)
        if isinstance(outside, str):
            return [_changed(capture, call) or f"changed value outside: {outside}"]
        values += outside
        spelled += [source.label for source in capture.inputs]
    specialization = variant.traced.specialization
    found: list[str] = []
    sizes: dict[str, tuple[int, str]] = {}
    for leaf, x, name in zip(specialization.leaves, values, spelled, strict=True):
        found += _leaf_misses(leaf, x, name, sizes, structure)
    if not found:
        found += _broken_guards(variant.traced.guards, sizes)
    return found or ["new layout: arrays of the call share memory in another way"]


def _leaf_misses(
    leaf: Leaf, x: Any, name: str, sizes: dict[str, tuple[int, str]], structure: Any
) -> Iterable[str]:
    if isinstance(leaf, Equal):
        if type(x) is not type(leaf.value) or repr(x) != repr(leaf.value):
            static = structure.scalars_static or structure.sizes_static
            what = "new static value" if static else "new value made traced"
            yield f"{what}: {name} is {_short(x)} instead of {_short(leaf.value)}"
        elif isinstance(x, (float, complex, np.generic)) and x != x and x is not leaf.value:
            yield f"new static value: {name} is another {_short(x)}"
    elif isinstance(leaf, ScalarLeaf) and leaf.size is not None:
        if x < 2:
            yield f"new value that is not like a size: {name} is {x}"
        else:
            yield from _bind(leaf.size, x, name, sizes)
    elif isinstance(leaf, ArrayLeaf):
        if not isinstance(x, np.ndarray):
            yield f"new kind of value: {name} is a {type(x).__name__} instead of an array"
        elif x.dtype != leaf.dtype:
            yield f"new dtype: {name} is {x.dtype.name} instead of {leaf.dtype.name}"
        elif x.ndim != len(leaf.dims):
            yield f"new number of axes: {name} has {x.ndim} instead of {len(leaf.dims)}"
        else:
            for axis, (d, n) in enumerate(zip(leaf.dims, x.shape, strict=True)):
                size = f"{name}.shape[{axis}]"
                if isinstance(d, str):
                    yield from _bind(d, n, size, sizes)
                elif d != n:
                    symbolic = min(d, n) >= 2 and not structure.sizes_static
                    what = "new size made symbolic" if symbolic else "new size"
                    yield f"{what}: {size} is {n} instead of {d}"


def _bind(symbol: str, n: int, name: str, sizes: dict[str, tuple[int, str]]) -> Iterable[str]:
    known = sizes.setdefault(symbol, (n, name))
    if known[0] != n:
        yield f"sizes no longer equal: {name} is {n}, {known[1]} is {known[0]}"


def _broken_guards(
    guards: Sequence[tuple[Dim, str, Dim]], sizes: dict[str, tuple[int, str]]
) -> Iterable[str]:
    values = {symbol: n for symbol, (n, _) in sizes.items()}
    for a, relation, b in guards:
        try:
            holds = _RELATIONS[relation](evaluate(a, values), evaluate(b, values))
        except (KeyError, ZeroDivisionError):
            continue  # It rests on strides, or on a guard that is broken, too.
        if not holds:
            text = f"{a} {relation} {b}"
            for symbol, (_, name) in sizes.items():
                text = re.sub(rf"\b{symbol}\b", name, text)
            yield f"other decision on sizes: {text} no longer holds"


def _changed(capture: Any, call: Call) -> str | None:
    """The first value from outside that is not what it was."""
    for namespace, name, expected in (*capture.bindings, *capture.names):
        if namespace.get(name, MISSING) is not expected:
            return f"changed global: {name}"
    values, failed = capture.found(call)
    if failed is None:
        return None
    value, place = values[failed.path], _place(failed.path)
    if value is MISSING:
        return f"{place}: {failed.label} is gone"
    how = ""
    for guard in failed.guards:
        if isinstance(guard, Equal):
            how = f" is {_short(value)} instead of {_short(guard.value)}"
    return f"{place}: {failed.label}{how}"


def _place(path: Any) -> str:
    if isinstance(path, Global):
        return "changed global"
    return "changed closure" if isinstance(path, Cell) else "changed value outside"
