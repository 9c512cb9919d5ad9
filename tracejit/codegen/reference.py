"""A kernel becomes a Python function over NumPy scalars: slow, obvious, the oracle.

    print(print_kernel(kernel))
    run_kernel(kernel, {"x": x, "out": out}, {"n": 100}, {})

The print is plain Python: loops are `for` over `range`, a buffer is a flat list of elements, a
scalar function is NumPy's ufunc of that name on NumPy scalars. `run_kernel` executes that print;
elementary functions of floats are there those of `vector_math`, with the bits of the native code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from tracejit.codegen.llvm.engine import HostTarget
from tracejit.codegen.scalar.math import C_FUNCTIONS
from tracejit.codegen.vector_math.define import ARITY, PARTS
from tracejit.codegen.vector_math.evaluate import evaluate
from tracejit.ir.dims import Atom, Dim
from tracejit.ir.fma import fma
from tracejit.ir.kernel import (
    Call,
    Check,
    Const,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Let,
    Load,
    Reduce,
    ScanLoop,
    Stmt,
    Store,
    Target,
    Var,
    While,
    place_of,
)
from tracejit.ir.op import OPS
from tracejit.ir.text.print import TextLine
from tracejit.ir.types import DTYPES
from tracejit.link.finding import c_address
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.numpy_formulas import UNIFORM_POWERS
from tracejit.ops.host.special import special_op

__all__ = ["OutOfRange", "kernel_lines", "print_kernel", "run_kernel"]


class OutOfRange(Exception):
    """A checked index was out of range: the native function returns 1."""


# Printing.

#: Calls from which on what an expression has in several places is printed once.
_LONG = 500
_NO_NAMES: Mapping[int, str] = {}


def print_kernel(kernel: Kernel) -> str:
    """The kernel as a Python function of its buffers, sizes and scalars."""
    return "\n".join(kernel_lines(kernel)) + "\n"


def kernel_lines(kernel: Kernel) -> list[str]:
    """The lines of `print_kernel`; those of statements are `TextLine`s."""
    names = [p.name for p in kernel.params]
    names += [*kernel.sizes, *(v.name for v in kernel.scalars)]
    lines = [f"def {kernel.name}({', '.join(names)}):"]
    lines += _body(kernel.body, _strides(kernel), "    ")
    return lines


def _strides(kernel: Kernel) -> dict[str, tuple[Dim, ...]]:
    out = {}
    for p in kernel.params:
        step: Dim = 1
        dense: list[Dim] = []
        for size in reversed(p.shape):
            dense.append(step)
            step = step * size
        out[p.name] = p.strides if p.strides is not None else tuple(reversed(dense))
    return out


_Strides = Mapping[str, tuple[Dim, ...]]


def _body(body: Sequence[Stmt], strides: _Strides, indent: str) -> list[str]:
    lines: list[str] = []
    for stmt in body:
        where = place_of(stmt)
        lines += [
            TextLine(indent + line, line.where if isinstance(line, TextLine) else where)
            for line in _statement(stmt, strides)
        ]
    return lines or [indent + "pass"]


def _statement(stmt: Stmt, strides: _Strides) -> list[str]:
    match stmt:
        case Let(name, _, expr):
            names: dict[int, str] = {}
            lines = []
            for k, part in enumerate(_shared(expr)):
                lines.append(f"{name}_part{k} = {_expr(part, strides, names)}")
                names[id(part)] = f"{name}_part{k}"
            return [*lines, f"{name} = {_expr(expr, strides, names)}"]
        case Store(buffer, index, expr):
            return [f"{buffer}[{_place(buffer, index, strides)}] = {_expr(expr, strides)}"]
        case For(var, size, body, vector):
            note = "  # vector" if vector else ""
            return [f"for {var} in range({_dim(size)}):{note}", *_body(body, strides, "    ")]
        case Reduce():
            return _reduce(stmt, strides)
        case While():
            return _while(stmt, strides)
        case If():
            sides = [
                [
                    *_body(body, strides, "    "),
                    *(f"    {r.name} = {_expr(value, strides)}" for r, value in values),
                ]
                for body, values in (
                    (stmt.then, [(r, r.then) for r in stmt.results]),
                    (stmt.orelse, [(r, r.orelse) for r in stmt.results]),
                )
            ]
            return [f"if {_expr(stmt.condition, strides)}:", *sides[0], "else:", *sides[1]]
        case Check(failed):
            return [f"check({_expr(failed, strides)})"]
        case ScanLoop(var, size, body, carries):
            return [
                *(f"{c.name} = {_expr(c.init, strides)}" for c in carries),
                f"for {var} in range({_dim(size)}):  # in order",
                *_body(body, strides, "    "),
                # All at once: a next value may read what another carry was.
                *(
                    [
                        f"    {', '.join(c.name for c in carries)} = "
                        + ", ".join(_expr(c.next, strides) for c in carries)
                    ]
                    if carries
                    else []
                ),
            ]


def _while(stmt: While, strides: _Strides) -> list[str]:
    names = ", ".join(c.name for c in stmt.carries)
    following = ", ".join(_expr(c.next, strides) for c in stmt.carries)
    return [
        *(f"{c.name} = {_expr(c.init, strides)}" for c in stmt.carries),
        "while True:",
        *_body(stmt.test_body, strides, "    "),
        f"    if not {_expr(stmt.test, strides)}:",
        "        break",
        *_body(stmt.body, strides, "    "),
        *([f"    {names} = {following}"] if names else []),
    ]


def _reduce(stmt: Reduce, strides: _Strides) -> list[str]:
    names = ", ".join(t.name for t in stmt.targets)
    terms = ", ".join(_expr(t.expr, strides) for t in stmt.targets)
    kinds = ", ".join(map(_kind, stmt.targets))
    note = "  # vector" if stmt.vector else ""
    return [
        f"def terms({stmt.var}):",
        *(f"    {name} = {stmt.var} // ({_dim(d)})" for name, d in stmt.quotients),
        *_body(stmt.body, strides, "    "),
        f"    return ({terms},)",
        f"{names}, = reduce(terms, {_dim(stmt.size)}, [{kinds}], "
        f"lanes={stmt.lanes}, block={stmt.block}){note}",
    ]


def _kind(t: Target) -> str:
    identity = "" if t.identity is None else f", {_expr(Const(t.identity, t.dtype), {})}"
    return f"({t.combine!r}, {_type(t.dtype)}{identity})"


def _place(buffer: str, index: Sequence[Dim], strides: _Strides) -> str:
    parts = []
    for i, stride in zip(index, strides[buffer], strict=True):
        if stride == 1:
            parts.append(_dim(i) if isinstance(i, int) or len(index) == 1 else f"({_dim(i)})")
        else:
            parts.append(f"({_dim(i)})*({_dim(stride)})")
    return " + ".join(parts) or "0"


def _dim(d: Dim) -> str:
    if isinstance(d, int):
        return str(d)
    terms = []
    for monomial, coefficient in d.terms:
        factors = [] if coefficient == 1 and monomial else [str(coefficient)]
        factors += [a if isinstance(a, str) else _atom(a) for a in monomial]
        terms.append("*".join(factors))
    return " + ".join(terms)


def _atom(atom: Atom) -> str:
    a, b = (_dim(x) for x in atom.args)
    if atom.fn in ("min", "max"):
        return f"{atom.fn}({a}, {b})"
    return f"(({a}) {'//' if atom.fn == 'floordiv' else '%'} ({b}))"


def _type(dtype: str) -> str:
    # A loop variable may be called i8.
    return f"np.{DTYPES[dtype].type.__name__}"


def _shared(expr: Expr) -> list[Call]:
    """The calls that an expression has in several places, operands first; none of a short one."""
    length: dict[int, int] = {}
    uses: dict[int, int] = {}
    done: list[Call] = []
    stack: list[tuple[Expr, bool]] = [(expr, False)]
    while stack:
        e, complete = stack.pop()
        args = e.args if isinstance(e, Call) else ()
        if complete:
            length[id(e)] = 1 + sum(length[id(a)] for a in args)
            done += [e] if isinstance(e, Call) else []
        else:
            uses[id(e)] = uses.get(id(e), 0) + 1
            if uses[id(e)] == 1:
                stack.append((e, True))
                stack += ((a, False) for a in args)
    return [e for e in done if uses[id(e)] > 1] if length[id(expr)] > _LONG else []


def _expr(expr: Expr, strides: _Strides, names: Mapping[int, str] = _NO_NAMES) -> str:
    if id(expr) in names:
        return names[id(expr)]
    match expr:
        case Const(value, dtype):
            text = repr(value)
            text = repr(text) if text in ("inf", "-inf", "nan") else text
            return f"{_type(dtype)}({text})"
        case Var(name):
            return name
        case Load(buffer, index):
            return f"{buffer}[{_place(buffer, index, strides)}]"
        case IndexValue(dim):
            return f"{_type('i64')}({_dim(dim)})"
        case Call(fn, args, dtype):
            operands = ", ".join(_expr(a, strides, names) for a in args)
            if fn in ("cast", "bitwise_count"):
                return f"{fn}({operands}, {_type(dtype)})"
            # A loop variable may be called i0.
            return f"{'special.' * (special_op(fn) is not None)}{fn}({operands})"


# Meaning.


def _wrap_index(index: Any, size: Any) -> int:
    place = int(index)
    if place < 0:
        place += int(size)
    if not 0 <= place < int(size):
        raise OutOfRange
    return place


def _check(failed: Any) -> None:
    if failed:
        raise OutOfRange


def _select(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


def _cast(value: Any, dtype: type) -> Any:
    return np.asarray(value).astype(dtype)[()]


def _op(name: str) -> Callable[..., Any]:
    """The function of an op, whose ufunc may differ on single elements."""
    return lambda *args: OPS[name].evaluate(args, {})[0]


def _elementary(name: str, target: HostTarget | None) -> Callable[..., Any]:
    """A function of `vector_math`; power is one of integers, too."""
    host = {} if target is None else {"fma": target.has_fma, "permutes": target.permutes}

    def call(*args: Any) -> Any:
        of_floats = args[0].dtype.kind == "f"
        return evaluate(name, *args, **host) if of_floats else OPS[name].evaluate(args, {})[0]

    return call


def _functions(target: HostTarget | None) -> dict[str, Any]:
    ufuncs = {name: f for name in dir(np) if isinstance(f := getattr(np, name), np.ufunc)}
    own = {name: _elementary(name, target) for name in (*ARITY, *PARTS)}
    special = {name: own.get(name) or _op(name) for name in OPS if special_op(name)}
    return {
        **{name: _op(name) for name, op in OPS.items() if isinstance(op, Elementwise)},
        **ufuncs,
        **own,
        "special": SimpleNamespace(**special),
        "np": np,
        "wrap_index": _wrap_index,
        "fma": fma,
        "uniform_power": lambda x, y: UNIFORM_POWERS.get(float(y), lambda x: own["power"](x, y))(x),
        **{f"libm_{name}": _libm(name) for name in C_FUNCTIONS},
        "select": _select,
        "check": _check,
        "cast": _cast,
        "unlikely": lambda condition: condition,
        "bitwise_count": lambda x, dtype: dtype(np.bitwise_count(x)),
        "reduce": _reduce_terms,
    }


def _libm(name: str) -> Callable[..., Any]:
    """A function of the C library, on numbers of one dtype."""

    def call(*args: Any) -> Any:
        function = ctypes.CFUNCTYPE(*(ctypes.c_double for _ in (*args, None)))
        return type(args[0])(function(c_address(name))(*map(float, args)))

    return call


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def _identity(combine: str, dtype: Any) -> Any:
    """What a reduction starts from, and what it is over nothing."""
    kind = np.dtype(dtype).kind
    if combine in ("sum", "prod"):
        return dtype(combine == "prod")
    if combine in ("any", "all"):
        return dtype(combine == "all")
    if kind == "b":
        return dtype(combine == "min")
    if kind == "f":
        return dtype(np.inf if combine == "min" else -np.inf)
    info = np.iinfo(dtype)
    return dtype(info.max if combine == "min" else info.min)


def _reduce_terms(
    terms: Callable[[int], tuple[Any, ...]],
    size: int,
    kinds: Sequence[tuple[Any, ...]],
    *,
    lanes: int,
    block: int,
) -> tuple[Any, ...]:
    columns = list(zip(*(terms(i) for i in range(size)), strict=True)) or [()] * len(kinds)
    return tuple(
        _arg_extreme(combine, column)
        if combine in ("argmin", "argmax")
        else _combined(combine, dtype, column, lanes, block, *start)
        for (combine, dtype, *start), column in zip(kinds, columns, strict=True)
    )


def _arg_extreme(combine: str, column: Sequence[Any]) -> Any:
    """The first position of the extreme, any NaN counting as more extreme than all numbers."""
    best = 0
    for i, x in enumerate(column):
        beats = x < column[best] if combine == "argmin" else x > column[best]
        # Only NaN differs from itself.
        if beats or (x != x and column[best] == column[best]):
            best = i
    return np.int64(best)


def _combined(
    combine: str, dtype: Any, column: Sequence[Any], lanes: int, block: int, start: Any = None
) -> Any:
    """The order of `ir/kernel.py`: sums of floats by lanes and blocks, else from left to right."""
    terms = [_cast(x, dtype) for x in column]
    if combine == "sum" and np.dtype(dtype).kind == "f":
        sums = [_block_sum(part, dtype, lanes) for part in _blocks(terms, block)]
        return _compensated(sums, dtype)
    total = _identity(combine, dtype) if start is None else start
    step = _COMBINE[combine] if start is None else _op(combine)
    for x in terms:
        total = step(total, x)
    return dtype(total)


def _compensated(values: Sequence[Any], dtype: Any) -> Any:
    s = c = dtype(0)
    for v in values:
        t = s + v
        z = t - s
        c = c + ((s - (t - z)) + (v - z))
        s = t
    return s + c if np.isfinite(s + c) else s


def _blocks(column: Sequence[Any], block: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(column), block):
        yield column[start : start + block]


def _block_sum(part: Sequence[Any], dtype: Any, lanes: int) -> Any:
    lane = [dtype(0)] * lanes
    for i, x in enumerate(part):
        lane[i % lanes] = lane[i % lanes] + x
    while len(lane) > 1:
        half = len(lane) // 2
        lane = [lane[k] + lane[k + half] for k in range(half)]
    return lane[0]


def run_kernel(
    kernel: Kernel,
    buffers: Mapping[str, np.ndarray[Any, Any]],
    sizes: Mapping[str, int],
    scalars: Mapping[str, Any] | None = None,
    target: HostTarget | None = None,
) -> None:
    """Execute the print of a kernel on flat views of memory; outputs are written in place.

    `buffers` maps each parameter to a one-dimensional array that begins at the buffer's first
    element. Elementary functions have the bits of `target`, or those without fused multiply-add.
    Raises OutOfRange where the native function returns 1, KeyError for a missing argument.
    """
    env = _functions(target)
    exec(compile(print_kernel(kernel), f"<kernel {kernel.name}>", "exec"), env)
    given = scalars or {}
    arguments: list[Any] = [buffers[p.name] for p in kernel.params]
    arguments += [int(sizes[name]) for name in kernel.sizes]
    arguments += [DTYPES[v.dtype].type(given[v.name]) for v in kernel.scalars]
    with np.errstate(all="ignore"):
        env[kernel.name](*arguments)
