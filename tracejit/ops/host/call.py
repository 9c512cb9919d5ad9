"""Calls of NumPy and SciPy functions that have no op of their own, made while the program runs.

    u, s, v = typed(host_call(x, function="numpy.linalg:svd", arguments=(("operand", 0),), ...
    values, k1: i64[k], int = host_call(x, function="numpy:unique", ..., binds=(k,))

`arguments` and `keywords` are templates over the operands (see `control/templates.py`). `result` is
the template of what the function returns, over the leaves that `types` lists:

    type = ("array", dtype, (size, ...), order) | ("numpy", dtype) | ("python", kind)

A size is one of the graph's, or known only when the function has returned: None takes the next
symbol of `binds`, whose value is one more result, an int, after the leaves; `(k,)` is the same as
number k of `binds`. An array whose `order` is ()
may lie in any order; it is copied to C order. Whatever is not as declared bails out, and so does an
exception: the eager repetition raises it.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.errors import Bailout
from tracejit.ir.dims import Dim, Poly, symbol
from tracejit.ir.graph import Attrs, Graph, Node, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import DTYPES, PYINT, ArrayType, NpScalar, PyScalar, Type
from tracejit.ops.control.templates import check_object, make_object
from tracejit.ops.host.batch import batched_call, maps_over_lanes
from tracejit.ops.host.functions import KINDS, Unsuitable, describe, find_function, leaves_of
from tracejit.ops.host.registered import is_registered
from tracejit.ops.samples import array

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor, NoTangent

__all__ = ["HostCall", "as_declared", "call_on", "leaves_apart"]

_ATTRS = ("function", "arguments", "keywords", "result", "types")


def _apart(leaves: Sequence[Any], inputs: Sequence[Any]) -> bool:
    """Whether no leaf is memory of an input, or of another leaf, or must not be stored into."""
    found = [x for x in leaves if isinstance(x, np.ndarray)]
    if all(x.flags.owndata and x.flags.writeable for x in found):
        # The inputs cannot be stored into: none of them is a leaf.
        return len({id(x) for x in found}) == len(found)
    given = [x for x in inputs if isinstance(x, np.ndarray)]
    return (
        all(x.flags.writeable for x in found)
        and not any(np.may_share_memory(x, y) for x in found for y in given)
        and not any(np.may_share_memory(x, y) for x, y in itertools.combinations(found, 2))
    )


def call_on(
    function: Callable[..., Any], attrs: Attrs, inputs: Sequence[Any]
) -> tuple[Any, list[Any]]:
    """The template and the leaves of a call's result. Raises Unsuitable, and what it raises.

    The function sees arrays that it cannot write to; what it gives is memory of its own.
    """
    given = [_view(x) if isinstance(x, np.ndarray) else x for x in inputs]
    args = [make_object(a, given) for a in attrs["arguments"]]
    named = {name: make_object(a, given) for name, a in attrs["keywords"]}
    return leaves_apart(function(*args, **named), given)


def leaves_apart(result: Any, given: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The template and the leaves of what a call has given for these. Raises Unsuitable."""
    template, leaves = leaves_of(result)
    if not _apart(leaves, given):
        raise Unsuitable("a view of an argument")
    return template, leaves


def as_declared(attrs: Attrs, result: Any, leaves: list[Any]) -> tuple[Any, ...]:
    """The leaves, if template and types are those of the attributes, and the sizes that these bind.

    Raises Bailout.
    """
    if result != attrs["result"]:
        raise Bailout(f"{attrs['function']} gave {result}")
    sizes: list[int] = []
    for x, t in zip(leaves, attrs["types"], strict=True):
        _compare(x, t, sizes)
    return (*leaves, *sizes)


def _view(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if not x.flags.writeable:
        return x
    out = x.view()
    out.flags.writeable = False
    return out


# The op ------------------------------------------------------------------------------------------


#: Functions that raise for no values of arrays whose types they take; the last is called for the
#: derivative of what is computed, and has raised, beside it.
_NEVER_RAISE = (
    *("numpy:searchsorted", "numpy:unique"),
    "tracejit.ops.host.derivatives.matrices:pseudo_inverse",
)


@register
class HostCall(Op):
    """The result of a pure function of NumPy or SciPy."""

    name: ClassVar[str] = "host_call"
    kind: ClassVar[str] = "host"
    parity: ClassVar[str] = "host"
    raises: ClassVar[bool] = True
    gives_sizes: ClassVar[bool] = True

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        missing = [a for a in _ATTRS if a not in attrs]
        require(not missing and len(attrs) == len(_ATTRS), f"{self.name} takes {_ATTRS}")
        for t in inputs:
            require(isinstance(t, (ArrayType, NpScalar, PyScalar)), f"host_call does not take {t}")
        function = attrs["function"]
        require(type(function) is str and ":" in function, f"{function!r} is not a function's path")
        check_object(self.name, ("tuple", *attrs["arguments"]), len(inputs))
        for item in attrs["keywords"]:
            named = type(item) is tuple and len(item) == 2 and type(item[0]) is str
            require(named and item[0].isidentifier(), f"{item!r} is not a keyword argument")
            check_object(self.name, item[1], len(inputs))
        check_object(self.name, attrs["result"], len(attrs["types"]))
        rest = list(binds)
        types = [_type(t, binds, rest) for t in attrs["types"]]
        require(not rest, f"host_call does not bind {binds}")
        return (*types, *(PYINT for _ in binds))

    def check_read(self, attrs: Attrs) -> None:
        path = attrs.get("function")
        known = type(path) is str and is_registered(path)
        require(known, f"{path!r} is no function that a graph may call")

    def may_raise(self, node: Node) -> bool:
        """Whether the function raises for some values, as most of them may."""
        return node.attrs.get("function") not in _NEVER_RAISE

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            result, leaves = call_on(find_function(attrs["function"]), attrs, inputs)
        except Exception as e:
            raise Bailout(f"{attrs['function']}: {type(e).__name__}: {e}") from None
        found = as_declared(attrs, result, leaves)
        return (*found, *found[len(leaves) :])

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | NoTangent | None]:
        """By the rule of the function. Raises Underivable where there is none."""
        from tracejit.ops.host.derivatives.lookup import call_jvp

        return call_jvp(c, at, tangents)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """By the rule of the function. Raises Underivable where there is none."""
        from tracejit.ops.host.derivatives.lookup import call_vjp

        return call_vjp(c, at, cotangents)

    def vectorises(self, attrs: Attrs, inputs: Sequence[Type], batched: Sequence[bool]) -> bool:
        try:
            function = find_function(attrs["function"])
        except (ImportError, AttributeError):
            return False
        return maps_over_lanes(function, attrs, inputs, batched)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return batched_call(c, at, find_function(at.attrs["function"]))

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        x, y = array("f64", (5,)), array("f64", (3, 3))
        return [
            ([x], _sample("numpy:unwrap", x)),
            ([x, np.float64(0.5)], _sample("numpy:percentile", x, np.float64(0.5))),
            ([x, 3], _sample("numpy:vander", x, 3)),
            ([y], _sample("numpy.linalg:pinv", y)),
            ([y], _sample("numpy.linalg:det", y)),
            ([x, x], _sample("numpy:array_equiv", x, x)),
        ]


def _sample(path: str, *inputs: Any) -> dict[str, Any]:
    attrs: dict[str, Any] = {
        "function": path,
        "arguments": tuple([("operand", k) for k in range(len(inputs))]),
        "keywords": (),
    }
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, leaves = call_on(find_function(path), attrs, inputs)
    return {**attrs, "result": result, "types": tuple(map(describe, leaves))}


def _type(described: Any, binds: tuple[str, ...], rest: list[str]) -> Type:
    """The type that a description says; sizes that are None are taken from `rest`."""
    match described:
        case ("array", str(dtype), tuple(shape), tuple(order)) if dtype in DTYPES:
            whole = [_size(d, binds, rest) for d in shape]
            valid = order == () or sorted(order) == list(range(len(shape)))
            require(valid, f"host_call: {order!r} does not list the axes")
            return ArrayType(DTYPES[dtype], tuple(whole), order)
        case ("numpy", str(dtype)) if dtype in DTYPES:
            return NpScalar(DTYPES[dtype])
        case ("python", str(kind)) if kind in KINDS.values():
            return PyScalar(kind)
    require(False, f"host_call: {described!r} is no type")
    raise AssertionError


def _size(d: Any, binds: tuple[str, ...], rest: list[str]) -> Dim:
    if d is None:
        require(rest, "host_call lacks names for the sizes of its results")
        return symbol(rest.pop(0))
    if type(d) is tuple:
        valid = len(d) == 1 and type(d[0]) is int and 0 <= d[0] < len(binds) - len(rest)
        require(valid, f"host_call: {d!r} is not the number of a size before")
        return symbol(binds[d[0]])
    require(isinstance(d, Poly) or (type(d) is int and d >= 0), f"host_call: {d!r} is not a size")
    found: Dim = d
    return found


def _compare(x: Any, declared: Any, sizes: list[int]) -> None:
    """Raise Bailout unless `x` is as declared; note its sizes that are not."""
    found = describe(x)
    if found == declared:
        return
    if found[0] == "array" == declared[0] and found[1] == declared[1]:
        pairs = list(zip(found[2], declared[2], strict=False))
        same = len(found[2]) == len(declared[2])
        for n, d in pairs:
            if d is None:
                sizes.append(n)
            else:
                same = same and n == (sizes[d[0]] if type(d) is tuple else d)
        dense = x.ndim < 2 or not declared[3] or x.transpose(declared[3]).flags.c_contiguous
        if same and dense:
            return
    raise Bailout(f"a host call gave {found}, not {declared}")
