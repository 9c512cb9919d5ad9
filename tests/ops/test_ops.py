"""Every op, from its samples: types, values against an independent reference, layout, bail-outs."""

import numpy as np
import pytest

import tracejit.ops  # noqa: F401 - fills the registry
from tests.ops.op_parity import tolerance, tolerances, zeros_are_open
from tests.ops.op_references import REFERENCES, Undefined
from tests.support.compare import Mismatch, assert_same
from tracejit.errors import Bailout, GraphError
from tracejit.ir.dims import symbol
from tracejit.ir.op import OPS, Op, register
from tracejit.ir.types import DTYPES, NONE, PYFLOAT, PYINT, ArrayType, NpScalar, PyScalar
from tracejit.ops.array.elementwise import Elementwise

#: Ops with regions run graphs, not values.
#: Ops that give results for operands by themselves.
PLAIN = [
    name
    for name, op in sorted(OPS.items())
    if not hasattr(op, "evaluate_regions")
    and op.kind not in ("call", "dataflow", "effect", "stack")
]
VIEWS = {"reshape", "transpose", "slice"}


def memory_order(x: np.ndarray) -> tuple[int, ...]:
    return tuple(sorted(range(x.ndim), key=lambda a: -abs(x.strides[a])))


def type_of(value):
    """The type of a concrete value, with its layout."""
    if isinstance(value, np.ndarray):
        return ArrayType(value.dtype, value.shape, memory_order(value))
    if isinstance(value, np.generic):
        return NpScalar(value.dtype)
    return PyScalar(type(value).__name__)


def infer(op: Op, inputs, attrs):
    binds = ("n",) if op.name == "bind_size" else ()
    return op.infer([type_of(x) for x in inputs], attrs, (), binds)


def evaluate(op: Op, inputs, attrs):
    with np.errstate(all="ignore"):
        return op.evaluate(inputs, attrs)


def samples_of(op: Op):
    with np.errstate(all="ignore"):
        return list(op.samples())


def run_samples(op: Op):
    """(inputs, attrs, results) of each sample that does not bail out."""
    for inputs, attrs in samples_of(op):
        try:
            yield inputs, attrs, evaluate(op, inputs, attrs)
        except Bailout:
            continue


def reference_of(op: Op):
    if op.name in REFERENCES:
        return REFERENCES[op.name]
    assert isinstance(op, Elementwise), f"{op.name} has no reference"
    return lambda inputs, attrs: (
        np.asarray(op.compute(inputs, attrs))
        if isinstance(inputs[0], np.ndarray)
        else op.compute(inputs, attrs)
    )


# What holds of every op -------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLAIN)
def test_samples_exist_and_mostly_run(name) -> None:
    op = OPS[name]
    samples = samples_of(op)
    assert samples
    assert 2 * len(list(run_samples(op))) >= len(samples)


@pytest.mark.parametrize("name", PLAIN)
def test_infer_agrees_with_evaluate(name) -> None:
    op = OPS[name]
    for inputs, attrs, results in run_samples(op):
        types = infer(op, inputs, attrs)
        if name == "bind_size":
            assert types == () and type(results[0]) is int
            continue
        assert len(types) == len(results)
        for t, value in zip(types, results, strict=True):
            found = type_of(value)
            same = type(found) is type(t) and found.dtype == t.dtype
            if same and isinstance(t, ArrayType):
                same = found.shape == t.shape
            assert same, f"{list(map(type_of, inputs))} {attrs}: {t}, but evaluate gives {found}"


@pytest.mark.parametrize("name", PLAIN)
def test_results_lie_in_memory_as_infer_says(name) -> None:
    op = OPS[name]
    for inputs, attrs, results in run_samples(op):
        for t, value in zip(infer(op, inputs, attrs), results, strict=False):
            if not isinstance(t, ArrayType) or not value.size:
                continue
            strides = [abs(value.strides[a]) for a in t.order if value.shape[a] > 1]
            assert strides == sorted(strides, reverse=True), (t, inputs, attrs, value.strides)


@pytest.mark.parametrize("name", PLAIN)
def test_results_are_fresh_and_operands_stay(name) -> None:
    op = OPS[name]
    for inputs, attrs, results in run_samples(op):
        before = [np.array(x) for x in inputs]
        again = evaluate(op, inputs, attrs)
        for x, old in zip(inputs, before, strict=True):
            assert np.asarray(x).tobytes() == old.tobytes()
        for value in [*results, *again]:
            if name not in VIEWS and isinstance(value, np.ndarray):
                assert not any(np.may_share_memory(value, x) for x in inputs)
                assert value.flags.writeable


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", PLAIN)
def test_evaluate_agrees_with_the_reference(name) -> None:
    op = OPS[name]
    if name == "bind_size":
        assert [op.evaluate(x, {}) for x in ([3], [np.int64(0)])] == [(3,), (0,)]
        return
    expected_of = reference_of(op)
    for inputs, attrs in samples_of(op):
        try:
            with np.errstate(all="ignore"):
                expected = expected_of(list(inputs), attrs)
        except Undefined:
            with pytest.raises(Bailout):
                evaluate(op, inputs, attrs)
            continue
        try:
            (actual, *more) = evaluate(op, inputs, attrs)
        except Bailout:
            assert may_bail(name, inputs, expected), f"{inputs} {attrs}: {expected}"
            continue
        if more:
            bounds = tolerances(op, inputs)
            for wanted, result, bound in zip(expected, (actual, *more), bounds, strict=True):
                assert_same(wanted, result, **bound)
            continue
        extra = {}
        if zeros_are_open(op):
            extra["ignore"] = np.equal(expected, 0) & np.equal(actual, 0)
        assert_same(expected, actual, **{**tolerance(op, inputs, attrs), **extra})
        if name in ("reduce_sum", "reduce_prod") and expected.dtype.kind == "f":
            zeros = (expected == 0) & (actual == 0)
            assert np.array_equal(np.signbit(expected[zeros]), np.signbit(actual[zeros]))


def may_bail(name: str, inputs, expected) -> bool:
    """Cases that Python decides and 64-bit code leaves to it."""
    large = any(type(x) is int and abs(x) > 2**53 for x in inputs)
    has_nan = type(expected) is complex and expected != expected
    comparison = isinstance(expected, bool) and any(type(x) in (float, complex) for x in inputs)
    # -2.0**63 goes with what is beyond it.
    return (
        (large and (name == "py_truediv" or comparison))
        or (name in ("py_multiply", "py_truediv") and has_nan)
        or (isinstance(inputs[0], (float, np.floating)) and int_of(expected) == -(2**63))
    )


def int_of(x) -> int | None:
    return int(x) if isinstance(x, (int, np.integer)) else None


def test_the_comparison_sees_a_wrong_op() -> None:
    """The generic test itself, on an op that is one unit in the last place off."""
    expected, (actual,) = np.float64(0.1) + 0.2, (np.nextafter(np.float64(0.3), 0),)
    with pytest.raises(Mismatch):
        assert_same(expected, actual, **tolerance(OPS["add"], [], {}))


def test_names_are_unique() -> None:
    with pytest.raises(ValueError, match="defined twice"):
        register(type(OPS["reshape"]))


# Bail-outs --------------------------------------------------------------------------------------

A = np.arange(6.0).reshape(2, 3)
SINGULAR = np.ones((2, 2))
BAILOUTS = [
    ("gather", [A, np.array([0, 2])], {}),
    ("gather", [A, np.array([-3])], {}),
    ("gather", [A, 0, 3], {}),
    ("gather", [A, np.int64(-3)], {}),
    ("gather", [A[:0], np.array([0])], {}),
    ("scatter", [A, A[:1], np.array([2])], {}),
    ("slice", [A], {"start": (0, 1), "size": (2, 3), "step": (1, 1)}),
    ("slice", [A], {"start": (0, 1), "size": (2, 3), "step": (1, -1)}),
    ("slice", [A], {"start": (0, 0), "size": (-1, 3), "step": (1, 1)}),
    ("slice", [A], {"start": (-1, 0), "size": (1, 1), "step": (1, 1)}),
    ("update_slice", [A, A], {"start": (1, 0), "size": (2, 3), "step": (1, 1)}),
    ("reshape", [A], {"shape": (4,), "assume": True}),
    ("reshape", [A], {"shape": (-2, -3), "assume": True}),
    ("iota", [], {"size": -1, "dtype": "i64"}),
    ("bind_size", [-1], {}),
    ("reduce_min", [A[:0]], {"axes": (0,)}),
    ("reduce_max", [A[:, :0]], {"axes": (0, 1)}),
    ("argmin", [A[:0]], {"axis": 0}),
    ("argmax", [A[:0, :0]], {"axis": 0}),
    ("solve", [SINGULAR, SINGULAR], {"vector": False}),
    ("solve", [np.stack([np.eye(2), SINGULAR]), A[0, :2]], {"vector": True}),
    ("inv", [SINGULAR], {}),
    ("cholesky", [-SINGULAR], {"upper": False}),
    ("py_add", [2**63 - 1, 1], {}),
    ("py_add", [2**63 - 1, True], {}),
    ("py_subtract", [-(2**63), 1], {}),
    ("py_multiply", [2**32, 2**31], {}),
    ("py_multiply", [-(2**63), -1], {}),
    ("py_negative", [-(2**63)], {}),
    ("py_abs", [-(2**63)], {}),
    ("py_abs", [complex(1.5e308, 1.5e308)], {}),
    ("py_floordiv", [-(2**63), -1], {}),
    ("py_power", [2], {"exponent": 63}),
    ("py_power", [-8.0, 1 / 3], {}),
    ("py_power", [10.0, 400.0], {}),
    ("py_power", [0.0, -1.0], {}),
    *((f"py_{op}", [1, 0], {}) for op in ("truediv", "floordiv", "mod")),
    *((f"py_{op}", [1.0, -0.0], {}) for op in ("truediv", "floordiv", "mod")),
    ("py_truediv", [1j, 0], {}),
    ("py_sqrt", [-1.0], {}),
    ("py_log", [0], {}),
    ("py_exp", [710.0], {}),
    ("py_floor", [float("nan")], {}),
    ("py_round", [1e19], {}),
    ("py_round_to", [6.1], {"digits": 15}),
    ("py_int_power", [2, -1], {}),
    ("py_int_power", [2, 63], {}),
    ("py_isqrt", [-1], {}),
    ("py_gcd", [-(2**63), 0], {}),
    ("py_truediv", [2**53 + 1, 3], {}),
    ("py_less", [2**53 + 1, 2.0**53], {}),
    ("py_scalar", [float("nan")], {"kind": "int"}),
    ("py_scalar", [np.float32(2.0**63)], {"kind": "int"}),
    ("py_scalar", [np.uint64(2**63)], {"kind": "int"}),
    ("np_scalar", [128], {"dtype": "i8"}),
    ("np_scalar", [-1], {"dtype": "u64"}),
    ("np_scalar", [float("inf")], {"dtype": "i64"}),
]


@pytest.mark.parametrize(("name", "inputs", "attrs"), BAILOUTS, ids=[b[0] for b in BAILOUTS])
def test_bailouts(name, inputs, attrs) -> None:
    with pytest.raises(Bailout):
        evaluate(OPS[name], inputs, attrs)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 1)])
def test_extremes_of_no_elements_bail_out_where_numpy_raises(shape, axes) -> None:
    x, op = np.zeros(shape), OPS["reduce_min"]
    try:
        expected = np.min(x, axis=axes)
    except ValueError:
        with pytest.raises(GraphError):
            infer(op, [x], {"axes": axes})
        with pytest.raises(Bailout):
            evaluate(op, [x], {"axes": axes})
    else:
        assert infer(op, [x], {"axes": axes})[0].shape == expected.shape
        assert_same(expected, evaluate(op, [x], {"axes": axes})[0])


# Types that do not fit --------------------------------------------------------------------------

F, I64, N = DTYPES["f64"], DTYPES["i64"], symbol("n")
X = ArrayType(F, (2, N))
VECTOR, INDEX = ArrayType(F, (N,)), ArrayType(I64, (3,))
SLICE = {"start": (0, 0), "size": (1, N), "step": (1, 1)}
REFUSED = [
    ("broadcast_to", [X], {"shape": (3, N)}),
    ("broadcast_to", [X], {"shape": (N,)}),
    ("broadcast_to", [X], {"shape": (2, -1)}),
    ("broadcast_to", [PYFLOAT], {"shape": (2,)}),
    ("reshape", [X], {"shape": (N,)}),
    ("reshape", [X], {"shape": (2, N), "order": "F"}),
    ("transpose", [X], {"axes": (0, 0)}),
    ("transpose", [X], {"axes": (0,)}),
    ("slice", [X], {**SLICE, "step": (1, 0)}),
    ("slice", [X], {**SLICE, "start": (2, 0)}),
    ("slice", [X], {**SLICE, "size": (1,)}),
    ("update_slice", [X, X], SLICE),
    ("update_slice", [X, ArrayType(I64, (1, N))], SLICE),
    ("concatenate", [X, ArrayType(F, (2, 3))], {"axis": 0}),
    ("concatenate", [X, ArrayType(I64, (2, N))], {"axis": 0}),
    ("concatenate", [X, VECTOR], {"axis": 0}),
    ("concatenate", [X], {"axis": 2}),
    ("concatenate", [], {"axis": 0}),
    ("element", [VECTOR], {}),
    ("element", [NpScalar(F)], {}),
    ("constant", [], {"value": 1, "type": "f64"}),
    ("constant", [], {"value": 0.1, "type": "f32"}),
    ("constant", [], {"value": 256, "type": "u8"}),
    ("constant", [], {"value": True, "type": "int"}),
    ("constant", [], {"value": 1.0, "type": "f64[2]"}),
    ("constant", [], {"value": 1.0, "type": "nothing"}),
    ("iota", [], {"size": -1, "dtype": "i64"}),
    ("iota", [], {"size": 3, "dtype": "int64"}),
    ("dim_value", [], {"dim": 1.5}),
    ("bind_size", [PYINT], {}),
    ("reduce_sum", [X], {"axes": (1, 0)}),
    ("reduce_sum", [X], {"axes": (0, 2)}),
    ("reduce_sum", [X], {"axes": 0}),
    ("reduce_sum", [X], {"axes": (0,), "wide": 0}),
    ("reduce_prod", [X], {"axes": (0,), "wide": False}),
    ("reduce_sum", [ArrayType(DTYPES["b1"], (3,))], {"axes": (0,)}),
    ("reduce_any", [X], {"axes": (0,)}),
    ("reduce_min", [ArrayType(F, (0, 3))], {"axes": (0,)}),
    ("argmax", [ArrayType(F, (3, 0))], {"axis": 1}),
    ("argmax", [ArrayType(F, ())], {"axis": 0}),
    ("cumsum", [ArrayType(DTYPES["b1"], (3,))], {"axis": 0}),
    ("cumsum", [X], {"axis": -1}),
    ("sort", [X], {"axis": 2}),
    ("argsort", [X], {"axis": 0, "stable": 1}),
    ("gather", [X], {}),
    ("gather", [X, ArrayType(DTYPES["i32"], (3,))], {}),
    ("gather", [X, INDEX, ArrayType(I64, (4,))], {}),
    ("gather", [X, INDEX, PYINT], {}),
    ("gather", [X, INDEX, INDEX, INDEX], {}),
    ("gather", [X, NONE], {}),
    ("scatter", [X, VECTOR, INDEX], {}),
    ("matmul", [X, X], {}),
    ("matmul", [X, ArrayType(I64, (N,))], {}),
    ("matmul", [X, ArrayType(F, ())], {}),
    ("matmul", [ArrayType(F, (2, 3, 4)), ArrayType(F, (3, 4, 2))], {}),
    ("inv", [X], {}),
    ("inv", [ArrayType(I64, (2, 2))], {}),
    ("solve", [ArrayType(F, (2, 2)), ArrayType(F, (3,))], {"vector": True}),
    ("solve", [ArrayType(F, (2, 2)), ArrayType(F, (2,))], {"vector": False}),
    ("cholesky", [ArrayType(F, (2, 2))], {}),
    ("py_add", [PYINT, NpScalar(I64)], {}),
    ("py_add", [PYINT], {}),
    ("py_less", [PYINT, PyScalar("complex")], {}),
    ("py_floordiv", [PyScalar("complex"), PYINT], {}),
    ("py_power", [PYINT, PYINT], {}),
    ("py_power", [PYINT], {"exponent": -1}),
    ("py_power", [PYFLOAT], {"exponent": 2}),
    ("py_and", [PYINT, PYINT], {}),
    ("py_exp", [PyScalar("complex")], {}),
    ("py_exp", [NpScalar(F)], {}),
    ("py_atan2", [PYFLOAT], {}),
    ("py_int_power", [PYFLOAT, PYINT], {}),
    ("py_round_to", [PYINT], {"digits": 2}),
    ("py_round_to", [PYFLOAT], {"digits": -1}),
    ("py_scalar", [NpScalar(DTYPES["c64"])], {"kind": "float"}),
    ("py_scalar", [X], {"kind": "float"}),
    ("py_scalar", [PYINT], {"kind": "str"}),
    ("np_scalar", [PyScalar("complex")], {"dtype": "f64"}),
    ("np_scalar", [NpScalar(F)], {"dtype": "f64"}),
]


@pytest.mark.parametrize(("name", "types", "attrs"), REFUSED)
def test_types_that_do_not_fit(name, types, attrs) -> None:
    with pytest.raises(GraphError):
        OPS[name].infer(types, attrs, (), ())


SYMBOLIC = [
    ("broadcast_to", [VECTOR], {"shape": (3, N)}, ArrayType(F, (3, N))),
    ("broadcast_to", [NpScalar(F)], {"shape": (N,)}, VECTOR),
    ("reshape", [X], {"shape": (N * 2,)}, ArrayType(F, (2 * N,))),
    ("reshape", [X], {"shape": (4,), "assume": True}, ArrayType(F, (4,))),
    ("reshape", [X], {"shape": (2, 1, N)}, ArrayType(F, (2, 1, N))),
    ("transpose", [X], {"axes": (1, 0)}, ArrayType(F, (N, 2), (1, 0))),
    ("slice", [X], SLICE, ArrayType(F, (1, N))),
    ("concatenate", [X, X], {"axis": 1}, ArrayType(F, (2, 2 * N))),
    ("concatenate", [X, X], {"axis": 0}, ArrayType(F, (4, N))),
    ("iota", [], {"size": N + 1, "dtype": "u8"}, ArrayType(DTYPES["u8"], (N + 1,))),
    ("dim_value", [], {"dim": N}, PYINT),
    ("reduce_min", [X], {"axes": (1,)}, ArrayType(F, (2,))),
    ("argmax", [X], {"axis": 0}, ArrayType(I64, (N,))),
    ("gather", [X, INDEX], {}, ArrayType(F, (3, N))),
    ("gather", [X, PYINT, PYINT], {}, ArrayType(F, ())),
    ("matmul", [X, ArrayType(F, (N, 3))], {}, ArrayType(F, (2, 3))),
    ("matmul", [VECTOR, VECTOR], {}, ArrayType(F, ())),
    ("inv", [ArrayType(F, (N, N))], {}, ArrayType(F, (N, N))),
]


@pytest.mark.parametrize(("name", "types", "attrs", "result"), SYMBOLIC)
def test_symbolic_sizes(name, types, attrs, result) -> None:
    assert OPS[name].infer(types, attrs, (), ()) == (result,)


def test_a_size_is_bound_once() -> None:
    assert OPS["bind_size"].infer([NpScalar(I64)], {}, (), ("n",)) == ()
    with pytest.raises(GraphError):
        OPS["bind_size"].infer([PYINT], {}, (), ("n", "m"))
