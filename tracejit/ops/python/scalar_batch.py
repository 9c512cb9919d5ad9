"""Batches of Python numbers: an op's kernel expressions as elementwise nodes over the lanes.

    py_truediv of (a, b)    ->  divide(a, b), check(reduce_all(logical_not(equal(b, 0))))

A vector of i64, f64, b1 or c128 holds the numbers of the lanes. Where a lane would bail out, the
check bails out for all. math's functions are NumPy's of the same meaning there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tracejit.ir.batching import stretched
from tracejit.ir.graph import Value
from tracejit.ir.kernel import Call, Const, Expr, Var
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, Type, dtype_name, dtype_of
from tracejit.ops.array.complex_elements import parts_dtype
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.python.scalar_exprs import INT_MIN, ScalarRule, i64, int_const

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["UFUNCS", "batched_rule", "is_elementwise", "named_operands"]


def named_operands(types: Sequence[Type]) -> tuple[Any, ...]:
    """Expressions of operands by their numbers; the parts of a complex one are `0.re`, `0.im`."""
    out: list[Any] = []
    for k, t in enumerate(types):
        name = dtype_name(dtype_of(t))
        part = parts_dtype(name)
        if part == name:
            out.append(Var(str(k), name))
        else:
            out.append((Var(f"{k}.re", part), Var(f"{k}.im", part)))
    return tuple(out)


# From functions of kernels to elementwise ops -----------------------------------------------------

#: The ufuncs that mean functions of C and Python of other names.
UFUNCS = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "pow": "power",
    "fabs": "absolute",
    "degrees": "rad2deg",
    "radians": "deg2rad",
}


def _op_name(fn: str) -> str | None:
    """The elementwise op that computes a function of kernels, if there is one."""
    name = fn.removeprefix("libm_")
    name = "cast" if fn == "truncated" else UFUNCS.get(name, name)
    return name if isinstance(OPS.get(name), Elementwise) else None


def _negative(x: Expr) -> Expr:
    return Call("less", (x, int_const(0)), "b1")


def _add_overflows(a: Expr, b: Expr) -> Expr:
    """The sum's sign differs from that of both operands."""
    out = i64("add", a, b)
    return _negative(i64("bitwise_and", i64("bitwise_xor", a, out), i64("bitwise_xor", b, out)))


def _subtract_overflows(a: Expr, b: Expr) -> Expr:
    """The operands' signs differ, and the difference has not the first one's."""
    out = i64("subtract", a, b)
    return _negative(i64("bitwise_and", i64("bitwise_xor", a, b), i64("bitwise_xor", a, out)))


def _multiply_overflows(a: Expr, b: Expr) -> Expr:
    """The wrapped product divided by a factor is not the other one.

    Only -1 times the smallest int passes that test though it overflows: the quotient wraps too.
    """
    back = i64("floor_divide", i64("multiply", a, b), b)
    lost = Call("not_equal", (back, a), "b1")
    # Nothing but 0 times anything is lost by a division by 0, which gives 0.
    lost = Call("logical_and", (lost, Call("not_equal", (b, int_const(0)), "b1")), "b1")
    least = Call("equal", (a, int_const(INT_MIN)), "b1")
    wraps = Call("logical_and", (least, Call("equal", (b, int_const(-1)), "b1")), "b1")
    return Call("logical_or", (lost, wraps), "b1")


_EXPANDED: dict[str, Callable[..., Expr]] = {
    "add_overflows": _add_overflows,
    "subtract_overflows": _subtract_overflows,
    "multiply_overflows": _multiply_overflows,
}


def is_elementwise(rule: ScalarRule | None) -> bool:
    """Whether elementwise ops can compute a rule of `named_operands`."""
    if rule is None:
        return False
    value, bail = rule
    todo: list[Expr | None] = [*value, bail] if isinstance(value, tuple) else [value, bail]
    seen: set[int] = set()
    while todo:
        e = todo.pop()
        if not isinstance(e, Call) or id(e) in seen:
            continue
        seen.add(id(e))
        if e.fn not in _EXPANDED and _op_name(e.fn) is None:
            return False
        todo += e.args
    return True


# From expressions to nodes ------------------------------------------------------------------------


def batched_rule(c: DerivativeBuilder, at: BatchAdaptor, rule: ScalarRule | None) -> tuple[Value]:
    """The vector of a rule's results. Bails out where a lane does."""
    assert rule is not None
    value, bail = rule
    emit = _NodeRecorder(c, at)
    if bail is not None:
        holds = c.op("logical_not", emit(bail))
        if isinstance(holds.type, ArrayType):
            holds = c.op("element", c.op("reduce_all", holds, axes=(0,)))
        c.ops("check", [holds])
    if isinstance(value, tuple):
        return (c.op("make_complex", *(emit.whole(part) for part in value)),)
    return (emit.whole(value),)


class _NodeRecorder:
    """Records the nodes of expressions; of one that occurs in several places, once.

    What has no batched operand is a NumPy scalar until it meets something that has.
    """

    def __init__(self, c: DerivativeBuilder, at: BatchAdaptor) -> None:
        self.c, self.size = c, at.size
        #: Keeps each expression too, whose identity is the key.
        self.done: dict[int, tuple[Expr, Value]] = {}
        self.operands = {str(k): c.number(v) for k, v in enumerate(at.values)}

    def __call__(self, e: Expr) -> Value:
        if id(e) not in self.done:
            self.done[id(e)] = e, self.emit(e)
        return self.done[id(e)][1]

    def whole(self, e: Expr) -> Value:
        """The vector of an expression's values."""
        return self.stretched(self(e))

    def stretched(self, v: Value) -> Value:
        """A value as a vector."""
        return v if isinstance(v.type, ArrayType) else stretched(self.c, v, self.size)

    def emit(self, e: Expr) -> Value:
        """An expression's values."""
        match e:
            case Const():
                return self.c.full(NpScalar(DTYPES[e.dtype]), e.value)
            case Var():
                name, _, part = e.name.partition(".")
                x = self.operands[name]
                return self.c.op({"re": "real", "im": "imag"}[part], x) if part else x
            case Call() if e.fn in _EXPANDED:
                return self(_EXPANDED[e.fn](*e.args))
            case Call():
                return self.call(e)
        raise NotImplementedError(f"no batch of {e}")

    def call(self, e: Call) -> Value:
        """A function's values, in the dtype of the expression."""
        name = _op_name(e.fn)
        assert name is not None
        operands = [self(a) for a in e.args]
        if name == "cast":
            return self.c.cast(operands[0], e.dtype)
        if any(isinstance(v.type, ArrayType) for v in operands):
            operands = [self.stretched(v) for v in operands]
        # The check that comes with an int's power has seen that no exponent is negative.
        more = {"nonneg": True} if name == "power" and e.dtype == "i64" else {}
        return self.c.cast(self.c.op(name, *operands, **more), e.dtype)
