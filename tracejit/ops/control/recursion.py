"""Functions that call themselves: one region is the function, and calls in it say its name.

    r = recursive_call(n, name="fib", sizes=((),), types=(("python", "int"),), ...){ fib }
    fib: s = recurse(m, name="fib", frames=1, sizes=(), types=(("python", "int"),), written=())

Both take what the region takes: `sizes` stand for its sizes. `types` describes the results, as in
`host_call`; a size that is known only when the call returns is `(k,)`, number k of `binds`, whose
values are the last results. `written` holds pairs (result, operand): such a result is that operand
as the call has left it, and may lie in its memory. `frames` is how many frames Python has for the
program, or the function, around the call: they count for its limit of recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

from tracejit.errors import Bailout
from tracejit.ir.dims import Dim, Poly, symbol
from tracejit.ir.graph import Attr, Attrs, Graph
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import (
    DTYPES,
    PYINT,
    ArrayType,
    NpScalar,
    PyScalar,
    Type,
    dtype_name,
)
from tracejit.ops.checks import only_attrs
from tracejit.ops.control.regions import RegionOp, check_region

__all__ = ["Recurse", "RecursiveCall", "described"]

_ATTRS = ("name", "frames", "sizes", "types", "written")
_Run = Callable[[Graph, Sequence[Any], Mapping[str, int]], "tuple[Any, ...]"]
#: The functions that are being evaluated, by name.
_CALLED: ContextVar[dict[str, tuple[Graph, _Run]] | None] = ContextVar("called", default=None)


def described(t: Type, binds: Sequence[str] = ()) -> Attr:
    """The type of a result, for the attribute `types`; `binds` are the sizes that a node binds."""
    if isinstance(t, ArrayType):
        bound = {symbol(name): (k,) for k, name in enumerate(binds)}
        shape = tuple(bound.get(d, d) for d in t.shape)  # type: ignore[arg-type]
        return ("array", dtype_name(t.dtype), shape, t.order)
    if isinstance(t, NpScalar):
        return ("numpy", dtype_name(t.dtype))
    require(isinstance(t, PyScalar), f"a function that calls itself gives no {t}")
    assert isinstance(t, PyScalar)
    return ("python", t.kind)


def _type(described_type: Any, binds: Sequence[str]) -> Type:
    match described_type:
        case ("array", str(dtype), tuple(shape), tuple(order)) if dtype in DTYPES:
            sizes = [symbol(binds[d[0]]) if type(d) is tuple else d for d in shape]
            require(all(type(d) is int or isinstance(d, Poly) for d in sizes), f"{shape} no shape")
            return ArrayType(DTYPES[dtype], tuple(sizes), order)
        case ("numpy", str(dtype)) if dtype in DTYPES:
            return NpScalar(DTYPES[dtype])
        case ("python", str(kind)):
            return PyScalar(kind)
    require(False, f"{described_type!r} describes no type")
    raise AssertionError


def _results(
    name: str, inputs: Sequence[Type], attrs: Attrs, binds: tuple[str, ...]
) -> tuple[Type, ...]:
    only_attrs(name, attrs, *_ATTRS)
    types = [_type(t, binds) for t in attrs["types"]]
    for result, operand in attrs["written"]:
        same = types[result] == inputs[operand]
        require(same, f"{name}: result {result} is no operand {operand} that was written")
    return (*types, *(PYINT for _ in binds))


@contextmanager
def _defined(name: str, region: Graph, run: _Run) -> Iterator[None]:
    token = _CALLED.set({**(_CALLED.get() or {}), name: (region, run)})
    try:
        yield
    finally:
        _CALLED.reset(token)


def _called(
    region: Graph, run: _Run, inputs: Sequence[Any], sizes: Sequence[Dim], binds: int
) -> tuple[Any, ...]:
    try:
        # What is written is memory of the call's own.
        results = run(region, inputs, dict(zip(region.sizes, sizes, strict=True)))  # type: ignore[arg-type]
    except RecursionError as e:
        raise Bailout("calls within each other") from e
    return (*results, *results[len(results) - binds :]) if binds else results


@register
class RecursiveCall(RegionOp):
    """A call of a function that calls itself: the region."""

    name: ClassVar[str] = "recursive_call"
    kind: ClassVar[str] = "call"
    raises: ClassVar[bool] = True
    gives_sizes: ClassVar[bool] = True

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(len(regions) == 1, "recursive_call has one region")
        (region,) = regions
        check_region(self.name, region, inputs, attrs["sizes"][0])
        results = _results(self.name, inputs, attrs, binds)
        given = [v.type for v in region.outputs]
        alike = len(given) == len(results) and all(map(_alike, given, results))
        require(alike, f"recursive_call: {region.name} does not give {results}")
        return results

    def evaluate_regions(
        self, inputs: Sequence[Any], attrs: dict[str, Any], regions: tuple[Graph, ...], run: _Run
    ) -> tuple[Any, ...]:
        """The results of the region, then the sizes that the node binds."""
        (region,) = regions
        binds = len(region.outputs) - len(attrs["types"])
        with _defined(attrs["name"], region, run):
            return _called(region, run, inputs, attrs["sizes"][0], binds)


@register
class Recurse(Op):
    """A call of the function around it that has this name."""

    name: ClassVar[str] = "recurse"
    kind: ClassVar[str] = "call"
    raises: ClassVar[bool] = True
    gives_sizes: ClassVar[bool] = True

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(not regions, "recurse has no region")
        return _results(self.name, inputs, attrs, binds)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        region, run = (_CALLED.get() or {})[attrs["name"]]
        binds = len(region.outputs) - len(attrs["types"])
        return _called(region, run, inputs, attrs["sizes"], binds)


def _alike(a: Type, b: Type) -> bool:
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        return (a.dtype, a.ndim, a.order) == (b.dtype, b.ndim, b.order)
    return a == b
