"""A host call becomes a Python function without parameters, for certain sizes.

    def call():
        try:
            r = f(a0, a1.item(), side="left")
            if not (type(r) is tuple and len(r) == 2):
                return careful(r)
            x0, x1 = r
            if not (type(x0) is ndarray and x0.dtype is d and (flags := x0.flags.num) & ...):
                return careful(r)
            ...
            z0[()] = x1
            return (x0,)
        except Exception:
            return None

`a0`, ... are arrays that stay: native code has put the memory of this call into them, and into
`z0`, ..., which scalars are written to. So a callee that has kept one of them, as its count of
references tells, must not be called with it again: `forget` gives the function up. A result that
the quick checks do not know is checked by `careful`, as the op does it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from keyword import iskeyword
from types import CodeType
from typing import Any

import numpy as np

from tracejit.ir.dims import Poly, evaluate, free_symbols
from tracejit.ir.graph import Attrs, Node, Value
from tracejit.ir.types import DTYPES, TOKEN, ArrayType, PyScalar, dtype_of
from tracejit.ops.control.templates import make_object
from tracejit.ops.host.call import HostCall, as_declared, leaves_apart
from tracejit.ops.host.functions import KINDS, find_function

__all__ = ["make_function", "settle", "ufunc_of"]

#: Bits of an array's flags: NumPy's C API fixes them.
_C_ORDER, _F_ORDER, _OWNS, _WRITEABLE = 1, 2, 4, 0x400


def ufunc_of(node: Node) -> Any:
    """The ufunc that a node applies to arrays and does nothing else, or None."""
    types = [v.type for v in (*node.inputs, *node.outputs)]
    if len(node.outputs) != 1 or node.binds or not all(isinstance(t, ArrayType) for t in types):
        return None
    attrs = node.attrs
    if isinstance(node.op, HostCall):
        operands = tuple(("operand", k) for k in range(len(node.inputs)))
        if (attrs["arguments"], attrs["keywords"]) != (operands, ()):
            return None
        ufunc = find_function(attrs["function"]) if attrs["result"] == ("operand", 0) else None
    else:
        ufunc = None if attrs else getattr(node.op, "numpy", None)
    if not isinstance(ufunc, np.ufunc) or ufunc.signature or ufunc.nin != len(node.inputs):
        return None
    dtypes = [dtype_of(t) for t in types]
    try:
        fits = ufunc.resolve_dtypes((*dtypes[:-1], None))[-1] == dtypes[-1]
    except TypeError:
        return None
    return ufunc if fits and ufunc.nout == 1 else None


def settle(
    outputs: Sequence[Value], results: Sequence[Any], sizes: dict[str, int]
) -> tuple[tuple[np.ndarray[Any, Any], ...], list[Any]]:
    """The arrays among an op's results, dense as their types say, and the scalars."""
    arrays, scalars = [], []
    for v, x in zip(outputs, results, strict=False):
        if isinstance(v.type, ArrayType):
            arrays.append(_dense(v.type, x, sizes))
        elif v.type != TOKEN:
            scalars.append(x)
    return tuple(arrays), scalars


def _dense(t: ArrayType, x: Any, sizes: dict[str, int]) -> np.ndarray[Any, Any]:
    # A size that only the call tells is that of the result.
    is_late = any(not free_symbols(d) <= sizes.keys() for d in t.shape)
    shape = x.shape if is_late else tuple(evaluate(d, sizes) for d in t.shape)
    if type(x) is np.ndarray and (x.dtype, x.shape) == (t.dtype, shape):
        if x.transpose(t.order).flags.c_contiguous:
            return x
    out = np.empty([shape[axis] for axis in t.order], t.dtype)
    out = out.transpose([t.order.index(axis) for axis in range(t.ndim)])
    out[...] = x
    return out


@lru_cache(maxsize=256)
def _code(source: str) -> CodeType:
    return compile(source, "<host call>", "exec")


def make_function(
    node: Node,
    attrs: Attrs,
    now: Callable[[], tuple[dict[str, Any], dict[str, int]]],
    lists: tuple[list[Any], ...],
    stays: list[Any],
    forget: Callable[[], None],
) -> Any:
    """A function that makes the call; None where there is none.

    `now` gives the concrete attributes and sizes of the present call. The lists are of arrays,
    which nothing else refers to: the operands, those of scalars without axes, and None for a token;
    what scalars are written to; what a ufunc writes to, if anything; what has the shapes of those
    results whose `attrs` have symbols. `stays` has all that native code writes the fields of, and
    gives it to the function.
    """
    operands, scalars, out, _ = lists
    maker = _Maker(node, attrs, now)
    try:
        lines = maker.fill() if out else maker.body()
    except (ImportError, AttributeError, _Unfit):
        return None
    for k, v in enumerate(node.inputs):
        if isinstance(v.type, ArrayType):
            operands[k].flags.writeable = False
            maker.counted.append(f"a{k}")
    maker.counted += ["o0"] if out else []
    names = maker.names
    scalar_count = len(scalars)
    for stem, arrays in zip("azom", lists, strict=True):
        names.update((f"{stem}{k}", x) for k, x in enumerate(arrays))
        arrays.clear()
    names.update(forget=forget, getrefcount=sys.getrefcount, ndarray=np.ndarray)
    space: dict[str, Any] = {}
    exec(_code(maker.source(lines, scalar_count)), space)
    call, count = space.pop("make")(**names)
    # From here on the function alone refers to the arrays, and to those it does not mention.
    call.stays = tuple(stays)
    names.clear()
    stays.clear()
    count()
    return call


def _owner(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """The array that owns the memory of a view, if it is known."""
    base = x.base
    return base if type(base) is np.ndarray and base.flags.owndata else None


class _Unfit(Exception):
    """A call that is made the general way."""


class _Maker:
    """Writes the statements of `call`, and collects what they name."""

    def __init__(
        self,
        node: Node,
        attrs: Attrs,
        now: Callable[[], tuple[dict[str, Any], dict[str, int]]],
    ) -> None:
        self.node, self.attrs, self.now = node, attrs, now
        self.inputs = [(k, v) for k, v in enumerate(node.inputs) if v.type != TOKEN]
        self.outputs = [v for v in node.outputs if v.type != TOKEN]
        #: The operands, as expressions.
        self.given: list[str] = [self._operand(k, v) for k, v in self.inputs]
        self.names: dict[str, Any] = {"make_object": make_object, "owner": _owner}
        #: The arrays that a callee might keep.
        self.counted: list[str] = []
        self.lines: list[str] = []
        self._late: list[str] = []

    def _operand(self, k: int, v: Value) -> str:
        if isinstance(v.type, ArrayType):
            return f"a{k}"
        return f"a{k}.item()" if isinstance(v.type, PyScalar) else f"a{k}[()]"

    def _name(self, stem: str, x: Any) -> str:
        name = f"{stem}_{len(self.names)}"
        self.names[name] = x
        return name

    def source(self, lines: Sequence[str], scalars: int) -> str:
        """A function of all that is named, which gives `call` and what counts references first."""
        counts = [f"{a}_count" for a in self.counted]
        is_kept = " or ".join(f"getrefcount({a}) != {a}_count" for a in self.counted) or "False"
        return "\n".join(
            [
                f"def make({', '.join(self.names)}):",
                *(f" {count} = 0" for count in counts),
                " def careful(r):",
                f"  arrays, scalars = check(r, ({''.join(f'{a}, ' for a in self.given)}))",
                f"  if {is_kept}: forget()",
                *(f"  z{k}[()] = scalars[{k}]" for k in range(scalars)),
                "  return arrays",
                " def call():",
                "  try:",
                *(f"   {line.replace('IS_KEPT', is_kept)}" for line in lines),
                "  except Exception:",
                "   return None",
                " def count():",
                *(f"  nonlocal {count}" for count in counts),
                *(f"  {a}_count = getrefcount({a})" for a in self.counted),
                "  return",
                " return call, count",
            ]
        )

    def fill(self) -> list[str]:
        """A ufunc writes its result where it belongs."""
        self.names.update(f=ufunc_of(self.node), check=None)
        return [f"f({', '.join(self.given)}, out=o0)", "if IS_KEPT: forget()", "return ()"]

    def body(self) -> list[str]:
        """A call of the op's function, or of its meaning."""
        op, attrs, now, outputs = self.node.op, self.attrs, self.now, self.outputs
        if not isinstance(op, HostCall):

            def evaluated(_: Any, given: Sequence[Any]) -> Any:
                attrs, sizes = now()
                return settle(outputs, op.evaluate(list(given), dict(attrs)), sizes)

            self.names["check"] = evaluated
            return ["return careful(None)"]

        def check(r: Any, given: Sequence[Any]) -> Any:
            attrs, sizes = now()
            leaves = as_declared(attrs, *leaves_apart(r, given))
            return settle(outputs, leaves, sizes)

        self.names.update(check=check, f=find_function(attrs["function"]))
        args = [self._object(a) for a in attrs["arguments"]]
        for name, a in attrs["keywords"]:
            if not name.isidentifier() or iskeyword(name):
                raise _Unfit
            args.append(f"{name}={self._object(a)}")
        self.lines.append(f"r = f({', '.join(args)})")
        self._take("r", attrs["result"])
        arrays = [k for k, t in enumerate(attrs["types"]) if t[0] == "array"]
        pairs = [f"w{j} is not w{k}" for j in arrays for k in arrays if j < k]
        for k, t in enumerate(attrs["types"]):
            self._check(k, t)
        self.lines.append("if IS_KEPT: return careful(r)")
        self._require(pairs)
        values = [f"x{k}" for k, t in enumerate(attrs["types"]) if t[0] != "array"]
        for k, value in enumerate([*values, *self._late]):
            self.lines.append(f"z{k}[()] = {value}")
        self.lines.append(f"return ({''.join(f'x{k}, ' for k in arrays)})")
        return self.lines

    def _object(self, template: Any) -> str:
        match template:
            case ("operand", k):
                return self.given[int(k)]
            case ("constant", value):
                return self._name("c", value)
            case ("tuple", *items):
                return f"({''.join(f'{self._object(i)}, ' for i in items)})"
            case ("list", *items):
                return f"[{', '.join(self._object(i) for i in items)}]"
        return (
            f"make_object({self._name('t', template)}, ({''.join(f'{a}, ' for a in self.given)}))"
        )

    def _require(self, conditions: Sequence[str]) -> None:
        if conditions:
            self.lines.append(f"if not ({' and '.join(conditions)}): return careful(r)")

    def _take(self, r: str, template: Any) -> None:
        """Name the leaves of a result."""
        match template:
            case ("operand", k):
                self.lines.append(f"x{k} = {r}")
            case ("constant", None):
                self._require([f"{r} is None"])
            case ("tuple" | "list" as kind, *items):
                self._require([f"type({r}) is {kind} and len({r}) == {len(items)}"])
                self._unpack(r, items)
            case ("call", path, 0, items, ()):
                self._require([f"type({r}) is {self._name('cls', find_function(path))}"])
                self._unpack(r, items)
            case _:
                raise _Unfit

    def _unpack(self, r: str, items: Sequence[Any]) -> None:
        parts = [f"{r}_{k}" for k in range(len(items))]
        if parts:
            self.lines.append(f"{''.join(f'{p}, ' for p in parts)} = {r}")
        for p, item in zip(parts, items, strict=True):
            self._take(p, item)

    def _check(self, k: int, declared: Any) -> None:
        """The leaf `x{k}` is as declared, and an array is memory of its own, dense."""
        x = f"x{k}"
        if declared[0] == "numpy":
            self._require([f"type({x}) is {self._name('t', DTYPES[declared[1]].type)}"])
            return
        if declared[0] == "python":
            (kind,) = [cls.__name__ for cls, name in KINDS.items() if name == declared[1]]
            fits = f" and {-(2**63)} <= {x} < {2**63}" if kind == "int" else ""
            self._require([f"type({x}) is {kind}{fits}"])
            return
        _, dtype, shape, order = declared
        backwards = len(order) > 1 and order == tuple(reversed(range(len(order))))
        flags = _WRITEABLE | (_F_ORDER if backwards else _C_ORDER)
        own = f"(flags := {x}.flags.num) & {flags} == {flags}"
        conditions = [f"type({x}) is ndarray", f"{x}.dtype is {self._name('d', DTYPES[dtype])}"]
        if order != tuple(range(len(shape))) and not backwards and order != ():
            raise _Unfit
        self._require([*conditions, own])
        self.lines.append(f"w{k} = {x} if flags & {_OWNS} else owner({x})")
        self.lines.append(f"s{k} = {x}.shape")
        if any(isinstance(d, Poly) for d in shape):
            self._require([f"w{k} is not None", f"s{k} == m{k}.shape"])
            return
        if all(type(d) is int for d in shape):
            self._require([f"w{k} is not None", f"s{k} == {self._name('s', shape)}"])
            return
        same = [f"w{k} is not None", f"len(s{k}) == {len(shape)}"]
        for axis, d in enumerate(shape):
            size = f"s{k}[{axis}]"
            if d is None:
                self._late.append(size)
            elif type(d) is tuple:
                same.append(f"{size} == {self._late[d[0]]}")
            else:
                same.append(f"{size} == {self._name('n', d)}")
        self._require(same)
