"""Elementwise ops: one for each NumPy ufunc, plus select, cast and the parts of complex numbers.

All inputs of a node are arrays of one shape, or all are NumPy scalars; broadcasts and casts are
nodes of their own. `scalar` gives the element's expression for kernels. Complex elements are pairs
of real expressions there; an op without a complex rule runs complex inputs through NumPy (`native`
says so).

In products of a tangent v with what depends on operands, a v of exactly 0 stays 0 beside an
infinite or undefined partial derivative. That is what keeps the lane that `where` does not take out
of gradients. A product of 0 and infinity that arises in a chain of functions by itself, as in
sqrt(x)**2 at 0, is 0 by the same rule. What the rules give where a function has no derivative:

- absolute, copysign and hypot at 0: 0, also for complex numbers; maximum, minimum, fmax and fmin of
  equal operands: half for each; maximum and minimum of a NaN: 0, fmax and fmin: all for the number;
- sqrt and cbrt at 0: infinity; log at 0: infinity; arctan2 at (0, 0): NaN;
- x**p at x = 0, by x: 0 for p = 0 and p > 1, 1 for p = 1, infinite below 1;
  by p: 0 for p >= 0, minus infinity for p < 0; for a negative real x: NaN by p;
- remainder and fmod by the divisor: minus the whole quotient, with no jumps;
- heaviside by its value at 0: 1 there; nextafter by its first operand: 1;
- logaddexp of equal infinities: 1 for each.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.base.late import imported
from tracejit.base.late_table import LateTable
from tracejit.errors import Bailout
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Attrs, Node, Value
from tracejit.ir.kernel import Call, Const, Expr
from tracejit.ir.op import Op, for_each_op, register, require
from tracejit.ir.terms import Tangent, Term, equal, function, where
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, Type, dtype_name, dtype_of
from tracejit.ops.array.axis_orders import k_order
from tracejit.ops.array.complex_elements import (
    COMPLEX_RULES,
    SEVERAL_FORMULAS,
    Element,
    on_values,
    parts_dtype,
    real,
)
from tracejit.ops.rules.partials import ElementwiseDerivative, LinearMap, Operand, Partial

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = [
    "UFUNC_OPS",
    "Element",
    "Elementwise",
    "ImportedUfunc",
    "edge_values",
    "op_of",
    "parts_dtype",
    "times_i",
]

#: ufunc -> the op that means it.
UFUNC_OPS: LateTable[Any, Elementwise] = LateTable()
#: By the ufunc's name: the module that has it, and the op. They are not imported for this.
_ELSEWHERE: LateTable[str, tuple[str, Elementwise]] = LateTable()


class ImportedUfunc:
    """As an op's `numpy`: the ufunc of the op's name, imported when it is asked for."""

    def __init__(self, module: str) -> None:
        self.module = module

    def path(self, op: Op) -> str:
        """The ufunc's name with its module."""
        return f"{self.module}.{op.name}"

    def __get__(self, op: Op | None, owner: type[Op]) -> Any:
        return getattr(imported(self.module), owner.name)


def op_of(ufunc: Any) -> Elementwise | None:
    """The op that means a ufunc, if there is one."""
    op: Elementwise | None = UFUNC_OPS.get(ufunc)
    if op is None:
        name = getattr(ufunc, "__name__", "")
        module, found = _ELSEWHERE.get(name, ("", None))
        if found is not None and getattr(sys.modules.get(module), name, None) is ufunc:
            op = UFUNC_OPS[ufunc] = found
    return op


@lru_cache(maxsize=4096)
def _resolve(ufunc: Any, dtypes: tuple[np.dtype[Any], ...]) -> tuple[np.dtype[Any], ...]:
    resolved = ufunc.resolve_dtypes((*dtypes, *([None] * ufunc.nout)))
    # Of equal dtypes (long and long long) the one a graph names: equal keys share a cache entry.
    return tuple(_named(d) for d in resolved)


def _named(dtype: np.dtype[Any]) -> np.dtype[Any]:
    try:
        return DTYPES[dtype_name(dtype)]
    except TypeError:
        return dtype


class Elementwise(ElementwiseDerivative):
    """A function of elements."""

    kind: ClassVar[str] = "elementwise"
    fused: ClassVar[str] = "element"
    arity: ClassVar[int] = 1
    work: ClassVar[float] = 1.0
    #: Whether there are operands that are complex numbers.
    takes_complex: ClassVar[bool] = True
    #: Gives the complex element from pairs of parts; a real result is a single expression.
    complex_rule: ClassVar[Any] = None
    #: The parity class for complex operands, where it is another.
    complex_parity: ClassVar[str] = ""
    #: What kernels compute it for: the dtypes, or the beginnings of their names.
    native_on: ClassVar[tuple[str, ...]] = ("b", "i", "u", "f")
    #: (dtype, elements) -> the element in terms of kernel functions, where there is none of the
    #: op's own name. The dtype is that of the operands; half precision is computed in f32.
    formula: ClassVar[Callable[..., Expr] | None] = None

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        """The result's dtype. Raises GraphError where the ufunc has no loop for `dtypes`."""
        try:
            resolved = _resolve(self.numpy, dtypes)
        except TypeError as e:
            require(False, f"{self.name}: {e}")
            raise
        # Messages are made where they are needed: each node of a trace passes here.
        if resolved[: len(dtypes)] != dtypes:
            require(False, f"{self.name}: no loop for {dtypes}")
        return resolved[len(dtypes)]

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        require(len(inputs) == self.arity, f"{self.name} takes {self.arity} operands")
        first = inputs[0]
        if isinstance(first, ArrayType):
            arrays = [t for t in inputs if isinstance(t, ArrayType)]
            if len(arrays) != len(inputs) or any(t.shape != first.shape for t in arrays):
                found = ", ".join(map(str, inputs))
                require(False, f"{self.name}: operands {found} differ in shape")
            dtype = self.result_dtype(tuple(t.dtype for t in arrays), attrs)
            return (ArrayType(dtype, first.shape, k_order(arrays)),)
        scalars = [t for t in inputs if isinstance(t, NpScalar)]
        if len(scalars) != len(inputs):
            require(False, f"{self.name}: operands {inputs} are of mixed kinds")
        return (NpScalar(self.result_dtype(tuple(t.dtype for t in scalars), attrs)),)

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """The NumPy value."""
        if self.name in SEVERAL_FORMULAS and inputs[0].dtype.kind == "c":
            return on_values(COMPLEX_RULES[self.name], inputs)
        return self.numpy(*inputs)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        out = self.compute(inputs, attrs)
        if isinstance(inputs[0], np.ndarray) and not isinstance(out, np.ndarray):
            out = np.asarray(out)
        return (out,)

    def native(self, dtypes: Sequence[str], attrs: Attrs) -> bool:
        """Whether kernels can compute the op for operands of these dtypes."""
        if any(d in ("c64", "c128") for d in dtypes):
            return type(self).complex_rule is not None
        return all(d.startswith(self.native_on) for d in dtypes)

    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        """The element's expression; `dtypes` are the operands', `out` the result's."""
        if any(d in ("c64", "c128") for d in (*dtypes, out)):
            rule = type(self).complex_rule
            if rule is not None:
                element: Element = rule(parts_dtype(dtypes[0]), args)
                return element
        parts = tuple(a for a in args if not isinstance(a, tuple))
        formula = type(self).formula
        if formula is None:
            return Call(self.name, parts, out)
        if dtypes[0] != "f16":
            return formula(dtypes[0], *parts)
        wide = formula("f32", *(Call("cast", (a,), "f32") for a in parts))
        return Call("cast", (wide,), out) if out == "f16" else wide

    def parity_of(self, inputs: Sequence[Type]) -> str:
        if self.complex_parity and dtype_of(inputs[0]).kind == "c":
            return self.complex_parity
        return self.parity

    def cost(self, inputs: Sequence[Type], attrs: Attrs) -> float:
        return self.work

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        operands = [at.whole(k) for k in range(len(at.values))]
        return c.ops(self.name, operands, **at.attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for loop in self.numpy.types:
            codes = loop.split("->")[0]
            dtypes = [np.dtype(c) for c in codes if c not in "gGOmMqQSUVp"]
            if len(dtypes) == len(codes) and _resolve_ok(self.numpy, tuple(dtypes)):
                values = [edge_values(d, k) for k, d in enumerate(dtypes)]
                length = min(len(v) for v in values)
                out.append(([v[:length] for v in values], {}))
        return out


def _resolve_ok(ufunc: Any, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    try:
        resolved = _resolve(ufunc, dtypes)
    except TypeError:
        return False
    return resolved[: len(dtypes)] == dtypes


def edge_values(dtype: np.dtype[Any], shift: int) -> np.ndarray[Any, Any]:
    """Values near every special point of a dtype, rotated by `shift` so that operands meet."""
    if dtype.kind == "b":
        base = np.array([False, True, True, False, True])
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        ints = [0, 1, 2, 3, 5, 7, 63, info.max, info.min, info.max - 1, 64 % info.max]
        if dtype.kind == "i":
            ints += [-1, -2, -5, info.min + 1]
        base = np.array(ints, dtype=dtype)
    else:
        part = np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype
        info_f = np.finfo(part)
        values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.5, 1.5, 10.0, 100.0, 0.1, -0.75]
        values += [np.inf, -np.inf, np.nan, float(info_f.max), float(info_f.tiny), -7.25]
        values += [float(info_f.smallest_subnormal), float(info_f.eps)]
        base = np.array(values).astype(part)
        if dtype.kind == "c":
            return (base + 1j * np.roll(base, 5 + shift)).astype(dtype)
    reps = [np.roll(base, 3 * k * shift) for k in range(len(base))]
    return np.concatenate(reps) if shift else np.tile(base, len(base))


#: Not maximum and minimum: which zero they give is that of an operand.
_COMMUTES = frozenset(
    (np.add, np.multiply, np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_xor)
    + (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm)
)
_ARITHMETIC = frozenset((np.add, np.subtract, np.multiply, np.divide, np.negative))
#: What kernels compute of these.
_NATIVE_ON: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys((np.logical_and, np.logical_or, np.logical_xor, np.logical_not), ("b",)),
    np.float_power: (),
}
_LOGIC: dict[Any, str] = {
    np.logical_not: "not",
    np.logical_and: "and",
    np.logical_or: "or",
    np.bitwise_and: "bit_and",
    np.bitwise_or: "bit_or",
}


class _LateRule:
    """As an op's `complex_rule`: the one in another module, imported when it is asked for."""

    def __init__(self, module: str, name: str, key: str = "") -> None:
        self.module, self.name, self.key = module, name, key

    def __get__(self, op: Op | None, owner: type[Op]) -> Any:
        found = getattr(imported(f"tracejit.ops.array.{self.module}"), self.name)
        return found[self.key] if self.key else found


#: Function -> the module with the rule for its complex elements, and the table there.
_LATE_RULES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        "arccos arccosh arcsin arcsinh arctan arctanh cos cosh log log10 log2 sin sinh sqrt tan "
        "tanh".split(),
        ("complex_functions", "COMPLEX_FUNCTIONS"),
    ),
    **dict.fromkeys(("expm1", "log1p"), ("complex_powers", "COMPLEX_POWERS")),
}


def _define(ufunc: Any, partials: tuple[Partial, ...] | None, parity: str, work: float) -> None:
    """Register the op of a ufunc, of whose name kernels have a function.

    Steps, and what gives no floats, have no `partials`.
    """
    name = ufunc.__name__
    body: dict[str, Any] = {
        "__doc__": (ufunc.__doc__ or name).split("\n\n")[1].split("\n")[0]
        if ufunc.__doc__
        else name,
        "name": name,
        "numpy": ufunc,
        "parity": parity,
        "work": work,
        "arity": ufunc.nin,
        "native_on": _NATIVE_ON.get(ufunc, Elementwise.native_on),
        "constant": partials is None,
        "commutes": ufunc in _COMMUTES,
        "arithmetic": name if ufunc in _ARITHMETIC else "",
        "logic": _LOGIC.get(ufunc, ""),
        "partials": partials,
    }
    if name in COMPLEX_RULES:
        body["complex_rule"] = staticmethod(COMPLEX_RULES[name])
    elif name in _LATE_RULES:
        body["complex_rule"] = _LateRule(*_LATE_RULES[name], name)
    if name in _LATE_RULES or name == "exp2":
        body["complex_parity"] = "ulp(4)"
    register(type(name.title(), (Elementwise,), body))


def _note_ufunc(op: Op) -> None:
    if isinstance(op, Elementwise):
        meaning = inspect.getattr_static(op, "numpy")
        if isinstance(meaning, ImportedUfunc):
            _ELSEWHERE[op.name] = meaning.module, op
        elif isinstance(meaning, np.ufunc):
            UFUNC_OPS[meaning] = op


for_each_op(_note_ufunc)
UFUNC_OPS.announce("ufuncs")
_ELSEWHERE.announce("ufuncs_elsewhere")


# Partial derivatives ------------------------------------------------------------------------------

exp, log, sin, cos, sinh, cosh = map(function, ("exp", "log", "sin", "cos", "sinh", "cosh"))
square, sqrt, hypot, sign = map(function, ("square", "sqrt", "hypot", "sign"))
absolute, isnan, rint = map(function, ("absolute", "isnan", "rint"))


def _sign_forward(v: Tangent, z: Term, unit: Term) -> Term | None:
    """d(z / |z|) = i u Im(conj(u) dz) / |z|, with u = z / |z|; nothing for real numbers."""
    return _turned(v, z, unit.conj(), unit) if z.is_complex else None


def _sign_back(v: Tangent, z: Term, unit: Term) -> Term | None:
    return _turned(v, z, unit, unit.conj()) if z.is_complex else None


def _turned(v: Tangent, z: Term, left: Term, right: Term) -> Term:
    speed = (v * left).op("imag") / absolute(z)
    return times_i(speed) * right


def times_i(v: Tangent) -> Tangent:
    """The tangent times the imaginary unit."""
    return v.of(v.full(0).op("make_complex", v).value)


def _one_minus_square(v: Term) -> Term:
    """(1 - v)(1 + v), which has no cancellation near v = 1."""
    return (1 - v) * (1 + v)


def _arcsinh_root(x: Term) -> Term:
    """sqrt(1 + x**2), for real numbers without overflow."""
    return sqrt(square(x) + 1) if x.is_complex else hypot(x, 1)


def _arccosh_root(x: Term) -> Term:
    """sqrt(x - 1) sqrt(x + 1): undefined below 1, and on the right branch of complex numbers."""
    return sqrt(x - 1) * sqrt(x + 1)


def _base(x: Term, p: Term, y: Term) -> Term:
    """p x**(p - 1); 0 for p = 0, where x**p is 1 for every x, 0 and NaN too."""
    plain = p * x ** (p - 1)
    return where(~(absolute(x) > 0) & equal(p, 0), 0, plain)


def _exponent(x: Term, p: Term, y: Term) -> Term:
    """x**p log(x); 0 for x = 0 and p >= 0, where x**p does not change with p > 0."""
    plain = y * log(x)
    return where(equal(x, 0) & (p >= 0), 0, plain)


def _angle(k: int, number: float) -> Partial:
    """d arctan2(a, b) = (b da - a db) / h**2, h = hypot(a, b), without overflow."""

    def rule(v: Tangent, *terms: Term) -> Term:
        h = hypot(terms[0], terms[1])
        return v * (terms[k] / h) / h * number

    return LinearMap(rule)


def _leg(k: int) -> Partial:
    """d hypot(a, b) / da = a / hypot(a, b), 0 at the origin."""

    def partial(*terms: Term) -> Term:
        h = terms[2]
        share = terms[k] / h
        return where(equal(h, 0), 0, share)

    return partial


def _extreme(k: int, better: str, *, skips_nan: bool) -> Partial:
    """All for the operand that wins, half for one of two equal ones."""

    def rule(v: Tangent, *terms: Term) -> Term:
        x, other = terms[k], terms[1 - k]
        wins = x.op(better, other)
        if skips_nan:
            wins = wins | isnan(other) & equal(x, x)
        return where(wins, v, where(equal(x, other), v * 0.5, 0))

    return LinearMap(rule)


def _share(exponential: str, k: int) -> Partial:
    """d log(e**a + e**b) / da = e**(a - log(e**a + e**b)); 1 where `a` is the result.

    Equal infinities have no difference.
    """

    def partial(*terms: Term) -> Term:
        x, y = terms[k], terms[2]
        apart = x - y
        return where(equal(x, y), 0, apart).op(exponential)

    return partial


_LN2, _LN10 = math.log(2.0), math.log(10.0)
_POWER: tuple[Partial, ...] = (_base, _exponent)

#: Parity and work -> ufuncs with their partial derivatives.
_UFUNCS: dict[tuple[str, float], dict[Any, tuple[Partial, ...] | None]] = {
    ("exact", 1.0): {
        np.add: (1, 1),
        np.subtract: (1, -1),
        np.multiply: (lambda a, b, y: b, lambda a, b, y: a),
        np.negative: (-1,),
        np.positive: (1,),
        # d|z| = Re(conj(z) dz / |z|); of a real number, its sign.
        np.absolute: (lambda x, y: sign(x).conj(),),
        np.sign: (LinearMap(_sign_forward, _sign_back),),
        np.square: (lambda x, y: +(2 * x),),
        np.conjugate: (LinearMap(lambda v, x, y: v.conj()),),
        np.deg2rad: (math.pi / 180.0,),
        np.rad2deg: (180.0 / math.pi,),
        np.maximum: tuple(_extreme(k, "greater", skips_nan=False) for k in (0, 1)),
        np.minimum: tuple(_extreme(k, "less", skips_nan=False) for k in (0, 1)),
        np.fmax: tuple(_extreme(k, "greater", skips_nan=True) for k in (0, 1)),
        np.fmin: tuple(_extreme(k, "less", skips_nan=True) for k in (0, 1)),
        np.copysign: (lambda a, b, y: sign(a) * b.full(1).op("copysign", b), None),
        np.nextafter: (1, None),
        np.heaviside: (None, LinearMap(lambda v, x, at_zero, y: where(equal(x, 0), v, 0))),
        **dict.fromkeys((np.equal, np.not_equal, np.less, np.less_equal)),
        **dict.fromkeys((np.greater, np.greater_equal, np.isnan, np.isinf, np.isfinite)),
        **dict.fromkeys((np.logical_and, np.logical_or, np.logical_xor, np.logical_not)),
        **dict.fromkeys((np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)),
        **dict.fromkeys((np.left_shift, np.right_shift, np.spacing, np.signbit)),
        **dict.fromkeys((np.floor, np.ceil, np.trunc, np.rint)),
    },
    ("exact", 4.0): {
        # d(a / b) / db = -(a / b) / b.
        np.divide: (lambda a, b, y: 1 / b, LinearMap(lambda v, a, b, y: -(v / b * y))),
        np.sqrt: (lambda x, y: 1 / (2 * y),),
    },
    ("exact", 10.0): {
        np.floor_divide: None,
        # Minus the whole quotient; of fmod that cut to a whole number, but for rounding.
        np.remainder: (1, lambda a, b, y: -a.op("floor_divide", b)),
        np.fmod: (1, lambda a, b, y: -rint((a - y) / b)),
    },
    ("exact", 20.0): dict.fromkeys((np.bitwise_count, np.gcd, np.lcm)),
    ("ulp(2)", 15.0): {
        np.exp: (lambda x, y: y,),
        np.log: (lambda x, y: 1 / x,),
        np.sin: (lambda x, y: cos(x),),
        np.cos: (lambda x, y: -sin(x),),
        np.tanh: (lambda x, y: _one_minus_square(y),),
    },
    ("ulp(2)", 40.0): {
        np.exp2: (lambda x, y: _LN2 * y,),
        np.expm1: (lambda x, y: y + 1,),
        np.log2: (lambda x, y: (1 / _LN2) / x,),
        np.log10: (lambda x, y: (1 / _LN10) / x,),
        np.log1p: (lambda x, y: 1 / (x + 1),),
        np.tan: (lambda x, y: square(y) + 1,),
        np.arcsin: (lambda x, y: 1 / sqrt(_one_minus_square(x)),),
        np.arccos: (lambda x, y: -1 / sqrt(_one_minus_square(x)),),
        np.arctan: (lambda x, y: 1 / (square(x) + 1),),
        np.sinh: (lambda x, y: cosh(x),),
        np.cosh: (lambda x, y: sinh(x),),
        np.arcsinh: (lambda x, y: 1 / _arcsinh_root(x),),
        np.arccosh: (lambda x, y: 1 / _arccosh_root(x),),
        np.arctanh: (lambda x, y: 1 / _one_minus_square(x),),
        np.cbrt: (lambda x, y: 1 / (3 * square(y)),),
        np.arctan2: (_angle(1, 1.0), _angle(0, -1.0)),
        np.hypot: (_leg(0), _leg(1)),
        np.logaddexp: (_share("exp", 0), _share("exp", 1)),
        np.logaddexp2: (_share("exp2", 0), _share("exp2", 1)),
        np.float_power: _POWER,
    },
}
for (_parity, _work), _partials_of in _UFUNCS.items():
    for _u, _partials in _partials_of.items():
        _define(_u, _partials, _parity, _work)


@register
class Power(Elementwise):
    """`x ** y`. With `nonneg` the exponent of signed integers is known not to be negative."""

    name = "power"
    partials = _POWER
    numpy = np.power
    arity = 2
    parity = "ulp(2)"
    complex_rule = _LateRule("complex_powers", "complex_power")
    work = 40.0

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        x, y = inputs
        if x.dtype.kind != "f":
            return super().compute(inputs, attrs)
        # Next to another exponent: of a single one NumPy's loops make a square or a root.
        pairs = (np.append(v, v.dtype.type(n)) for v, n in ((x, 1), (y, 3)))
        out = np.empty_like(x)
        out[...] = np.power(*pairs)[:-1].reshape(x.shape)
        return out if isinstance(x, np.ndarray) else out[()]

    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        x, y = args
        if isinstance(y, Const) and y.value in (2.0, 3.0) and out in ("f32", "f64"):
            # A cube's error is less than 1.5 ULP, NumPy's own less than one; where x * x leaves
            # the range, the cube does, too.
            assert not isinstance(x, tuple)
            square = Call("multiply", (x, x), out)
            return square if y.value == 2.0 else Call("multiply", (square, x), out)
        return super().scalar(args, dtypes, out)

    def native(self, dtypes: Sequence[str], attrs: Attrs) -> bool:
        return dtypes[0][0] in "fubc" or (dtypes[0][0] == "i" and bool(attrs.get("nonneg")))

    def may_raise(self, node: Node) -> bool:
        return dtype_of(node.inputs[0].type).kind == "i"

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            return super().evaluate(inputs, attrs)
        except ValueError as e:
            raise Bailout(str(e)) from None

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for (x, y), _ in super().samples():
            signed = x.dtype.kind == "i"
            if x.dtype.kind == "c":
                # The angle of a large power is that of the logarithm's rounding.
                small = np.maximum(np.abs(y.real), np.abs(y.imag)) <= 100
                y = np.where(small, y, 0.5 - 2j).astype(y.dtype)
            out.append(([x, np.abs(y // 2) if signed else y], {"nonneg": True} if signed else {}))
        return out


@register
class Reciprocal(Elementwise):
    """1 / x; of integers 1, -1 and 0, and for 0 what NumPy has."""

    name = "reciprocal"
    partials = (LinearMap(lambda v, x, y: -(v * y * y)),)
    numpy = np.reciprocal
    parity = "exact"
    complex_rule = staticmethod(COMPLEX_RULES["reciprocal"])
    work = 4.0

    @staticmethod
    def formula(dtype: str, x: Expr) -> Expr:
        if dtype[0] == "f":
            return Call("reciprocal", (x,), dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_zero = int(np.reciprocal(np.zeros(1, DTYPES[dtype]))[0])
        values = {0: of_zero, 1: 1} | ({-1: -1} if dtype[0] == "i" else {})
        out: Expr = Const(0, dtype)
        for value, found in values.items():
            test = Call("equal", (x, Const(value, dtype)), "b1")
            out = Call("select", (test, Const(found, dtype), out), dtype)
        return out


def _taken(v: Tangent, condition: Operand, *others: Term) -> Term:
    return where(condition.of(condition.given), v, 0)


def _not_taken(v: Tangent, condition: Operand, *others: Term) -> Term:
    return where(condition.of(condition.given), 0, v)


@register
class Select(Elementwise):
    """`a` where the condition holds, else `b`: np.where of three operands of one shape."""

    name = "select"
    partials = (None, LinearMap(_taken), LinearMap(_not_taken))
    arity = 3
    numpy = np.where

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        require(dtypes[0] == DTYPES["b1"] and dtypes[1] == dtypes[2], f"select: {dtypes}")
        return dtypes[1]

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        out = np.where(*inputs)
        return out if isinstance(inputs[0], np.ndarray) else out[()]

    @staticmethod
    def complex_rule(d: str, args: tuple[Any, ...]) -> Element:
        cond, (a, b), (c, e) = args
        part = a.dtype
        return real("select", part, cond, a, c), real("select", part, cond, b, e)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        cond = np.array([True, False, True, True, False])
        return [
            ([cond, np.arange(5).astype(d), (10 - np.arange(5)).astype(d)], {})
            for d in DTYPES.values()
            if d.kind != "u"
        ]


@register
class Cast(Elementwise):
    """Conversion to `dtype`, as `astype(dtype)` does it."""

    name = "cast"
    partials = (1,)

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        require(attrs["dtype"] in DTYPES, f"cast: unknown dtype {attrs['dtype']}")
        return DTYPES[attrs["dtype"]]

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            return inputs[0].astype(DTYPES[attrs["dtype"]], order="K")

    def native(self, dtypes: Sequence[str], attrs: Attrs) -> bool:
        # Kernels have f16 as f32: the number would be rounded twice.
        return (*dtypes, attrs["dtype"]) != ("f64", "f16")

    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        (a,) = args
        to = parts_dtype(out)
        if isinstance(a, tuple) and out == "b1":
            zero = Const(0.0, a[0].dtype)
            set_ = [real("not_equal", "b1", part, zero) for part in a]
            return real("logical_or", "b1", *set_)
        re, im = a if isinstance(a, tuple) else (a, None)
        cast_re = re if re.dtype == to else Call("cast", (re,), to)
        if out not in ("c64", "c128"):
            return cast_re
        if im is None:
            return cast_re, Const(0.0, to)
        return cast_re, im if im.dtype == to else Call("cast", (im,), to)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        small = [np.array([0, 1, 2, 100]).astype(d) for d in DTYPES.values()]
        return [([x], {"dtype": to}) for x in small for to in DTYPES]


def broadcast_result(shape: tuple[Dim, ...], t: ArrayType) -> tuple[int, ...]:
    """The axis order of `t` broadcast to `shape`: new axes outermost."""
    lead = len(shape) - t.ndim
    return (*range(lead), *(lead + a for a in t.order))
