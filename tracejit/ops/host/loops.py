"""Host calls, and ops on stacks of matrices, that are one loop of a ufunc of NumPy's.

The Python in front of the loop chooses it, and prepares what it takes: that is said here again. The
operand has a dtype of the loop (see `frontend/host/loop_operands.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.fft import _pocketfft_umath as fft  # type: ignore[attr-defined]
from numpy.linalg import _umath_linalg as linalg

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType

__all__ = ["DECOMPOSITIONS", "TRANSFORMS", "LoopCall", "bound", "core_names", "loop_call"]

#: Path -> the names of its parameters.
DECOMPOSITIONS: dict[str, tuple[str, ...]] = {
    "numpy.linalg:eigh": ("a", "UPLO"),
    "numpy.linalg:eigvalsh": ("a", "UPLO"),
    "numpy.linalg:svd": ("a", "full_matrices", "compute_uv", "hermitian"),
}
TRANSFORMS: dict[str, tuple[str, ...]] = {
    f"numpy.fft:{name}": ("a", "n", "axis", "norm") for name in ("fft", "ifft", "rfft", "irfft")
}


@dataclass(frozen=True)
class LoopCall:
    """A call of a loop with the operand `a`, or with several.

    `ufuncs` are one, or those for an even and an odd number of `points`. `axes` are the core axes
    of the operand and the results. A transform is of `points`, the length of the axis if that is
    None, and multiplied by `factor` of them: "one", "reciprocal" or "root", the reciprocal root.
    """

    ufuncs: tuple[np.ufunc, ...]
    types: str
    a: Value
    axes: tuple[tuple[int, ...], ...]
    factor: str | None = None
    points: int | Value | None = None
    others: tuple[Value, ...] = ()


def core_names(ufunc: np.ufunc) -> list[list[str]]:
    """The names of the core sizes of each operand and result."""
    assert ufunc.signature is not None
    parts = ufunc.signature.replace(" ", "").replace("->", ",").strip("()").split("),(")
    return [[name for name in part.split(",") if name] for part in parts]


def bound(
    names: Sequence[str], args: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Arguments by the names of parameters; None where there are others, or not the first."""
    found = dict(zip(names, args, strict=False))
    if len(args) > len(names) or not keywords.keys() <= set(names) - found.keys():
        return None
    found |= keywords
    return found if names[0] in found else None


def loop_call(node: Node) -> LoopCall | None:
    """The loop that a host call is; None for others."""
    if loop := node.op.loop(node.attrs):
        return _stacked(node, getattr(linalg, loop))
    path = node.attrs.get("function", "")
    names = DECOMPOSITIONS.get(path) or TRANSFORMS.get(path)
    if names is None or node.binds:
        return None
    given = bound(names, node.attrs["arguments"], dict(node.attrs["keywords"]))
    if given is None or given[names[0]][0] != "operand":
        return None
    a = node.inputs[given[names[0]][1]]
    if not isinstance(a.type, ArrayType):
        return None
    find = _transform if path in TRANSFORMS else _decomposition
    options = {k: given[k] for k in names[1:] if k in given}
    call = find(path.partition(":")[2], a, a.type, options, node.inputs)
    return call if call is not None and _fits(call, node) else None


def _stacked(node: Node, ufunc: np.ufunc) -> LoopCall | None:
    """The loop of an op on stacks of matrices of double precision."""
    a = node.inputs[0]
    if not isinstance(a.type, ArrayType) or a.type.dtype.char not in "dD":
        return None
    types = next((s for s in ufunc.types if s[0] == a.type.dtype.char), None)
    if types is None:
        return None
    axes = []
    for v, names in zip((*node.inputs, *node.outputs), core_names(ufunc), strict=True):
        assert isinstance(v.type, ArrayType)
        axes.append(tuple(range(v.type.ndim - len(names), v.type.ndim)))
    return LoopCall((ufunc,), types, a, tuple(axes), others=tuple(node.inputs[1:]))


def _fits(call: LoopCall, node: Node) -> bool:
    """Whether the results are declared as the loop gives them."""
    given, _, made = call.types.partition("->")
    types = [call.a.type, *(v.type for v in node.outputs)]
    chars = [given[0], *made]
    if len(types) != len(chars) or len(types) != len(call.axes):
        return False
    stacks = set()
    for t, char, axes in zip(types, chars, call.axes, strict=True):
        if not isinstance(t, ArrayType) or t.dtype.char != char:
            return False
        stacks.add(t.ndim - len(axes))
    return len(stacks) == 1


def _decomposition(
    name: str, a: Value, t: ArrayType, options: Mapping[str, Any], inputs: Sequence[Value]
) -> LoopCall | None:
    given = {k: x[1] if x[0] == "constant" else NotImplemented for k, x in options.items()}
    if t.ndim < 2 or t.dtype.char not in "dD":
        return None
    if name == "svd":
        full, vectors = given.get("full_matrices", True), given.get("compute_uv", True)
        if type(full) is not bool or type(vectors) is not bool or given.get("hermitian", False):
            return None
        ufunc = (linalg.svd_f if full else linalg.svd_s) if vectors else linalg.svd
    else:
        side = given.get("UPLO", "L")
        if side not in ("L", "U", "l", "u"):
            return None
        ufunc = getattr(linalg, f"{name}_{'lo' if side in 'Ll' else 'up'}")
    types = next(s for s in ufunc.types if s[0] == t.dtype.char)
    ndim = t.ndim - 2
    axes = tuple(tuple(range(ndim, ndim + len(names))) for names in core_names(ufunc))
    return LoopCall((ufunc,), types, a, axes)


def _transform(
    name: str, a: Value, t: ArrayType, options: Mapping[str, Any], inputs: Sequence[Value]
) -> LoopCall | None:
    kind, axis = options.get("n", ("constant", None)), options.get("axis", ("constant", -1))
    norm = options.get("norm", ("constant", None))
    if axis[0] != "constant" or type(axis[1]) is not int or not -t.ndim <= axis[1] < t.ndim:
        return None
    if norm[0] != "constant" or norm[1] not in (None, "backward", "ortho", "forward"):
        return None
    points: Any = None
    if kind[0] == "operand":
        points = inputs[kind[1]]
    elif kind[0] == "constant" and (kind[1] is None or type(kind[1]) is int):
        points = kind[1]
    else:
        return None
    is_inverse = name in ("ifft", "irfft")
    plain = (None, "backward") if not is_inverse else ("forward",)
    factor = "one" if norm[1] in plain else "root" if norm[1] == "ortho" else "reciprocal"
    ufuncs = (fft.rfft_n_even, fft.rfft_n_odd) if name == "rfft" else (getattr(fft, name),)
    types = next((s for s in ufuncs[0].types if s[0] == t.dtype.char and s[0] in "dDfF"), None)
    if types is None:
        return None
    place = (axis[1] % t.ndim,)
    return LoopCall(ufuncs, types, a, (place, place), factor, points)
