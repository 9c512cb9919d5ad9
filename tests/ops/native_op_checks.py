"""Runs groups of cases and compares: native code, the evaluator, the reference kernel and NumPy.

What NumPy gives comes from the ufunc itself or, for an op that is no ufunc, from its second
statement in `op_references`; an elementwise op without one says in `compute` what it is in
NumPy. Where NumPy's own answers differ (its loops over arrays, the order of equal operands), each
of them is right.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.ops.native_nodes import NativeNode, Strides, one_node
from tests.ops.native_op_cases import Group
from tests.ops.op_parity import tolerance, tolerances, zeros_are_open
from tests.ops.op_references import REFERENCES, Undefined
from tests.support.compare import Mismatch, assert_same
from tracejit.errors import Bailout, GraphError
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.evaluate import evaluate as evaluate_graph
from tracejit.ir.graph import Attrs
from tracejit.ir.op import Op
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type
from tracejit.ops.array.elementwise import Elementwise
from tracejit.runtime.call.entry_spec import k_order

__all__ = ["Signature", "check", "signature"]

#: The reference runs element by element in Python: on few runs of a signature, of few elements.
_MOST_ELEMENTS, _MOST_RUNS = 80, 3


class Signature:
    """What code is made for: types and attributes in symbols, and where operands are not dense."""

    def __init__(self, inputs: Sequence[Any], attrs: Attrs, symbols_from: int | None) -> None:
        self.values: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self.types = tuple(self._type(x, symbols_from) for x in inputs)
        self.strides = tuple(self._strides(k, x) for k, x in enumerate(inputs))
        self.attrs = dict(attrs)

    def _type(self, x: Any, symbols_from: int | None) -> Type:
        if isinstance(x, np.generic):
            return NpScalar(x.dtype)
        if not isinstance(x, np.ndarray):
            return PyScalar(type(x).__name__)
        dims = [n if symbols_from is None or n < symbols_from else self._size(n) for n in x.shape]
        return ArrayType(x.dtype, tuple(dims), k_order(x.shape, x.strides))

    def _size(self, n: int) -> Dim:
        name = self._names.setdefault(n, f"n{len(self._names)}")
        self.values[name] = n
        return symbol(name)

    def _strides(self, k: int, x: Any) -> Strides:
        if not isinstance(x, np.ndarray):
            return None
        if x.transpose(k_order(x.shape, x.strides)).flags.c_contiguous:
            return None
        out: list[Dim] = []
        for axis, (n, stride) in enumerate(zip(x.shape, x.strides, strict=True)):
            step = stride // x.itemsize
            if n > 1 and -1 <= step <= 1:
                out.append(step)
                continue
            self.values[f"s{k}_{axis}"] = step
            out.append(symbol(f"s{k}_{axis}"))
        return tuple(out)

    def with_sizes_in_attrs(self, op: Op) -> Signature:
        """With symbols in those attributes that the type rule takes them in, to the same result.

        Raises GraphError where the type rule does not take the symbols of the operands.
        """
        for name, attr in self.attrs.items():
            replaced = self._replaced(attr)
            if replaced == attr:
                continue
            given = {**self.attrs, name: replaced}
            try:
                self._results(op, given)
            except Exception:
                continue  # Type rules are not made for a symbol in every place.
            self.attrs = given
        self._results(op, self.attrs)
        return self

    def _replaced(self, attr: Any) -> Any:
        if type(attr) is tuple:
            return tuple(map(self._replaced, attr))
        return symbol(self._names[attr]) if type(attr) is int and attr in self._names else attr

    def _results(self, op: Op, attrs: Attrs) -> None:
        one_node(op, self.types, attrs, list(self._names.values()))

    @property
    def key(self) -> str:
        """Equal keys have equal code."""
        return repr((self.types, self.strides, list(self.values), self.attrs))


def signature(op: Op, inputs: Sequence[Any], attrs: Attrs, symbols_from: int | None) -> Signature:
    """The signature of operands. Raises GraphError where there is no graph for them."""
    if symbols_from is not None:
        # Axes of 0 and 1 are symbols too where the type rule does not ask for their values.
        for least in range(symbols_from, 3):
            try:
                return Signature(inputs, attrs, least).with_sizes_in_attrs(op)
            except GraphError:
                continue
    found = Signature(inputs, attrs, None)
    one_node(op, found.types, attrs)
    return found


def check(group: Group, made: type[NativeNode] = NativeNode) -> int:
    """Run a group; how often. Raises Mismatch, naming the case, where two results differ."""
    nodes: dict[str, NativeNode] = {}
    count = 0
    for inputs, attrs in group.runs():
        try:
            found = signature(group.op, inputs, attrs, group.symbols_from)
        except GraphError:
            continue
        try:
            if found.key not in nodes:
                nodes[found.key] = made(
                    group.op, found.types, found.attrs, found.strides, tuple(found.values)
                )
            _check_run(group.op, nodes[found.key], list(inputs), attrs, found.values)
        except Exception as e:
            e.add_note(f"{group.name}: {', '.join(map(_shown, inputs))} {attrs}")
            raise
        count += 1
    return count


def _shown(x: Any) -> str:
    lies = f"strides {x.strides} " if isinstance(x, np.ndarray) and x.ndim else ""
    text = repr(x)
    return lies + (text if len(text) < 400 else text[:400] + "...")


def _check_run(
    op: Op, node: NativeNode, inputs: list[Any], attrs: dict[str, Any], sizes: dict[str, int]
) -> None:
    before = [np.array(x) for x in inputs]
    try:
        known = {s: sizes[s] for s in node.graph.sizes}
        expected = evaluate_graph(node.graph, inputs, known)
    except Bailout:
        try:
            found = node(inputs, sizes)
        except Bailout:
            return
        raise Mismatch(f"the evaluator bails out, native code gives {found}") from None
    actual = node(inputs, sizes)
    for x, old in zip(inputs, before, strict=True):
        if np.asarray(x).tobytes() != old.tobytes():
            raise Mismatch("an operand was written")
    _compare(node, op, inputs, attrs, expected, actual, "native code against the evaluator")
    numpy = _numpy(op, inputs, attrs)
    if numpy is not None:
        _compare(node, op, inputs, attrs, numpy, actual, "native code against NumPy")
    if sum(np.size(x) for x in (*inputs, *actual)) > _MOST_ELEMENTS or node.runs > _MOST_RUNS:
        return
    node.runs += 1
    kernel = node.kernel_result(inputs, sizes)
    if kernel is not None:
        # It has the native code's own definitions.
        bound = _with_open_zeros(op, kernel, actual[0], {})
        assert_same(kernel, actual[0], where="native code against the reference kernel", **bound)


def _numpy(op: Op, inputs: list[Any], attrs: dict[str, Any]) -> tuple[Any, ...] | None:
    """NumPy's results; None where it has none, or they are sizes."""
    ufunc = _ufunc(op)
    with np.errstate(all="ignore"):
        if op.name not in REFERENCES:
            if ufunc is None:
                return None
            found = ufunc(*inputs)
            return (np.asarray(found) if isinstance(inputs[0], np.ndarray) else found,)
        try:
            found = REFERENCES[op.name](list(inputs), attrs)
        except Undefined:
            return None
    return found if isinstance(found, tuple) else (found,)


def _ufunc(op: Op) -> Any:
    found = getattr(type(op), "numpy", None)
    return found if isinstance(found, np.ufunc) and isinstance(op, Elementwise) else None


def _compare(
    node: NativeNode,
    op: Op,
    inputs: list[Any],
    attrs: dict[str, Any],
    expected: Sequence[Any],
    actual: Sequence[Any],
    what: str,
) -> None:
    bounds = tolerances(op, inputs) if len(actual) > 1 else [tolerance(op, inputs, attrs)]
    bounds = [node.allowed(op, bound) for bound in bounds]
    if op.name == "argsort" and not (attrs["stable"] or node.keeps_order):
        expected, actual = ([in_order(inputs[0], x, attrs["axis"])] for (x,) in (expected, actual))
    for e, a, bound in zip(expected, actual, itertools.cycle(bounds), strict=False):
        assert_same(e, a, where=what, **_with_open_zeros(op, e, a, bound))


def in_order(x: Any, places: Any, axis: int) -> Any:
    """The elements at positions that sort them, with one zero. Each position is there once."""
    assert (np.sort(places, axis) == np.sort(np.argsort(x, axis), axis)).all()
    found = np.take_along_axis(x, places, axis)
    return np.where(found == 0, np.zeros_like(found), found)


def _with_open_zeros(op: Op, e: Any, a: Any, bound: dict[str, Any]) -> dict[str, Any]:
    return {**bound, "ignore": np.equal(e, 0) & np.equal(a, 0)} if zeros_are_open(op) else bound
