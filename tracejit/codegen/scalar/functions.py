"""The table of scalar functions: a name and dtypes become instructions over any number of lanes.

The meaning of a function is the NumPy ufunc of its name on those dtypes; `cast` converts and
`select(b1, x, x)` chooses. Every function but `cast` gets arguments of the loop's dtypes already.
`unlikely(b1)` is its operand, which hardly ever holds: of single elements, a `select` of that, or
of a `logical_and` that begins with it, is a branch. What is computed with the result need then not
wait for the condition.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from tracejit.codegen.llvm.lanes import Lanes, is_float, register_type, round_to_half
from tracejit.codegen.llvm.text import FunctionBuilder
from tracejit.codegen.scalar.booleans import BOOLEAN
from tracejit.codegen.scalar.casts import cast
from tracejit.codegen.scalar.floats import FLOAT, HALF
from tracejit.codegen.scalar.integers import INTEGER, ScalarEmitter, with_overflow
from tracejit.ir.dims import Atom, Dim
from tracejit.ir.kernel import Call, Const, Expr, IndexValue, Var

__all__ = ["define", "emit_call", "emit_dim", "emit_expr", "supports"]

#: Functions whose result on halves is a half already.
_EXACT_ON_HALVES = frozenset(
    {
        "absolute", "ceil", "conjugate", "copysign", "fabs", "floor", "fmax", "fmin", "fmod",
        "frexp_mantissa", "heaviside", "maximum", "minimum", "negative", "positive", "rint",
        "sign", "trunc",
    }
)  # fmt: skip

#: Functions of the last places of a format, which know halves.
_OF_LAST_PLACES = frozenset({"nextafter", "spacing"})


def _table(dtype: str) -> Mapping[str, object]:
    return FLOAT if is_float(dtype) else BOOLEAN if dtype == "b1" else INTEGER


def define(
    name: str,
    *,
    floats: ScalarEmitter | None = None,
    integers: ScalarEmitter | None = None,
    booleans: ScalarEmitter | None = None,
) -> None:
    """Add a scalar function, with its code for elements of each kind.

    An emitter gets (lanes, registers, their dtypes, the result's dtype) and gives the register of
    the result; halves come as f32. Raises ValueError for a name taken twice.
    """
    for table, emitter in ((FLOAT, floats), (INTEGER, integers), (BOOLEAN, booleans)):
        if emitter is not None:
            if name in table:
                raise ValueError(f"scalar function {name} is defined twice")
            table[name] = emitter


def supports(fn: str, dtypes: Sequence[str]) -> bool:
    """Whether there is code for a function on arguments of these dtypes."""
    if any(d[0] == "c" for d in dtypes):
        return False
    if fn in ("cast", "select", "wrap_index"):
        return True
    return fn in _table(dtypes[0])


def emit_call(s: Lanes, fn: str, args: Sequence[str], dtypes: Sequence[str], dtype: str) -> str:
    """Write the function over lanes; the register of its result.

    Raises NotImplementedError for a function without code on these dtypes.
    """
    if fn == "cast":
        return cast(s, args[0], dtypes[0], dtype)
    if fn == "select":
        return s.select(args[0], dtype, args[1], args[2])
    if fn == "wrap_index":
        return _wrap_index(s, args[0], args[1])
    if not supports(fn, dtypes):
        raise NotImplementedError(f"scalar function {fn} on {', '.join(dtypes)}")
    if dtypes[0] == "f16" and fn not in _OF_LAST_PLACES:
        through = "f32" if dtype == "f16" else dtype
        emit = HALF.get(fn) or FLOAT[fn]
        result = emit(s, args, ["f32" if d == "f16" else d for d in dtypes], through)
        if dtype == "f16" and fn not in _EXACT_ON_HALVES:
            result = round_to_half(s, result)
        return result
    table = FLOAT if is_float(dtypes[0]) else BOOLEAN if dtypes[0] == "b1" else INTEGER
    return table[fn](s, args, dtypes, dtype)


def _wrap_index(s: Lanes, index: str, size: str) -> str:
    """A checked index: negative ones count from the end; one out of range leaves the function."""
    negative = s.compare("slt", "i64", index, s.const(0, "i64"))
    wrapped = s.select(negative, "i64", s.op("add", "i64", index, size), index)
    s.fb.check(s.any(s.compare("uge", "i64", wrapped, size)))
    return wrapped


def emit_dim(
    fb: FunctionBuilder, dim: Dim, env: Mapping[str, str], known: dict[Atom, str] | None = None
) -> str:
    """The i64 value of a size, with symbols bound by `env`: a register or a literal.

    floordiv and mod follow Python's sign rule; a division by zero gives 0. `known` are registers of
    atoms that dominate this place; those that are written are added.
    """
    if isinstance(dim, int):
        return str(dim)
    known = {} if known is None else known
    total = "0"
    for monomial, coefficient in dim.terms:
        term = str(coefficient)
        for atom in monomial:
            value = env[atom] if isinstance(atom, str) else _emit_atom(fb, atom, env, known)
            term = fb.integer("mul", value, term)
        total = fb.integer("add", total, term)
    return total


#: The scalar function that an atom of a size stands for.
ATOM_FUNCTIONS = {
    "floordiv": "floor_divide",
    "mod": "remainder",
    "min": "minimum",
    "max": "maximum",
}


def _emit_atom(
    fb: FunctionBuilder, atom: Atom, env: Mapping[str, str], known: dict[Atom, str]
) -> str:
    # A size that follows from itself again and again holds the same atoms many times.
    if atom not in known:
        args = [emit_dim(fb, a, env, known) for a in atom.args]
        known[atom] = emit_call(Lanes(fb), ATOM_FUNCTIONS[atom.fn], args, ("i64", "i64"), "i64")
    return known[atom]


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def emit_expr(
    fb: FunctionBuilder,
    expr: Expr,
    env: Mapping[str, str],
    width: int = 1,
    known: dict[object, str] | None = None,
) -> str:
    """Write an expression without loads; its register or literal.

    `env` binds variables, and the symbols of index values, to registers of `width` lanes. `known`
    holds what has been written: calls with one dictionary write a shared subexpression once.
    """
    lanes = Lanes(fb, width)
    written: dict[object, str] = {} if known is None else known

    def visit(e: Expr) -> str:
        if id(e) not in written:
            written[id(e)] = write(e)
        return written[id(e)]

    def write(e: Expr) -> str:
        if isinstance(e, Const):
            return lanes.const(e.value, e.dtype)
        if isinstance(e, Var):
            return env[e.name]
        if isinstance(e, IndexValue):
            return lanes.splat(emit_dim(fb, e.dim, env), "i64")
        if isinstance(e, Call):
            if e.fn in _COMPARE and all(isinstance(a, Const) for a in e.args):
                a, b = (a.value for a in e.args if isinstance(a, Const))
                return lanes.const(_COMPARE[e.fn](a, b), "b1")
            if width == 1 and (condition := _unlikely(e)) is not None:
                return branch(e, *condition)
            args = [visit(a) for a in e.args]
            operation = e.fn.removesuffix("_overflows")
            if operation != e.fn:
                # The machine gives the result along with the answer.
                value, overflow = with_overflow(lanes, operation, e.args[0].dtype, *args)
                written[operation, *args] = value
                return overflow
            if (e.fn, *args) in written:
                return written[e.fn, *args]
            return emit_call(lanes, e.fn, args, [a.dtype for a in e.args], e.dtype)
        raise ValueError(f"{type(e).__name__} outside of a kernel")

    def branch(e: Call, unlikely: Expr, further: Expr | None) -> str:
        _, exception, rule = e.args
        if further is not None:
            exception = Call("select", (further, exception, rule), e.dtype)
        usual, condition = visit(rule), visit(unlikely)

        def then() -> Sequence[str]:
            # What is written on the way there is there alone.
            return [emit_expr(fb, exception, env, known=dict(written))]

        kind = register_type(e.dtype)
        (register,) = fb.if_then(condition, [(kind, usual)], then, unlikely=True)
        return register

    return visit(expr)


def _unlikely(e: Call) -> tuple[Expr, Expr | None] | None:
    """What hardly ever holds of the condition of a `select`, and what must hold besides."""
    if e.fn != "select" or not isinstance(e.args[0], Call):
        return None
    match e.args[0]:
        case Call("unlikely", (condition,)):
            return condition, None
        case Call("logical_and", (Call("unlikely", (condition,)), further)):
            return condition, further
    return None
