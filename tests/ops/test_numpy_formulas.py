"""Powers and complex arithmetic against NumPy, whose loops round in several ways: bit for bit."""

import itertools
import warnings

import numpy as np
import pytest

import tracejit
import tracejit.ops
from tests.ops import formula_samples as samples
from tests.support.sampling import in_slice, sampled
from tracejit.frontend.numpy.ufunc_loops import _complex_formula, _described
from tracejit.ir.op import OPS
from tracejit.ops.array.elementwise import edge_values
from tracejit.ops.array.numpy_formulas import FORMULAS, formula_value, same_bits

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

#: The exponents that NumPy has functions for take these, in some loops.
SPECIAL = (2, 1, 0, -1, 0.5)


def complex_values(dtype, n=40):
    rng = np.random.default_rng(5)
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 3, n) + 1j * rng.standard_normal(n)
    far = [1e200 + 1e200j, 1e-200 - 1e-200j, 3e-310 + 1j, 1e30 - 1e30j, 1e-30j]
    with np.errstate(all="ignore"):
        x = np.concatenate([x, far, edge_values(np.dtype(dtype), 0)])
        return x.astype(dtype)[: 8 * (len(x) // 8)]


def outcome(f, *args):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)
    except Exception as e:
        return type(e)


def assert_same_bits(expected, actual, where) -> None:
    if isinstance(expected, tuple):
        assert type(actual) is tuple, f"{where}: {actual}"
        assert len(actual) == len(expected), where
        for k, (a, b) in enumerate(zip(expected, actual, strict=True)):
            assert_same_bits(a, b, f"{where}, result {k}")
        return
    if isinstance(expected, type):
        assert actual is expected, where
        return
    assert type(actual) is type(expected) and actual.dtype == expected.dtype, where
    assert np.shape(actual) == np.shape(expected), where
    a, b = np.asarray(expected), np.asarray(actual)
    if a.dtype.kind in "fc":
        if not same_bits(a.reshape(-1), b.reshape(-1)):
            differ = np.flatnonzero(
                [not same_bits(x, y) for x, y in zip(a.flat, b.flat, strict=True)]
            )
            k = int(differ[0])
            raise AssertionError(f"{where}: NumPy gives {a.flat[k]!r}, not {b.flat[k]!r}")
    else:
        assert np.array_equal(a, b), where


@pytest.mark.parametrize("name", ["multiply", "square", "absolute"])
def test_ops_of_formulas_are_one_meaning(name) -> None:
    """What an op gives does not depend on how its operands lie, as NumPy's ufunc does."""
    ufunc = getattr(np, name)
    for op, dtype in itertools.product(FORMULAS[ufunc], (np.complex64, np.complex128)):
        x = complex_values(dtype)
        operands = [x, np.roll(x, 7)][: OPS[op].arity]
        (whole,) = OPS[op].evaluate(operands, {})
        assert same_bits(whole, formula_value(op, operands))
        (back,) = OPS[op].evaluate([v[::-1] for v in operands], {})
        assert same_bits(whole[::-1], back)
        one = [OPS[op].evaluate([v[k] for v in operands], {})[0] for k in range(len(x))]
        assert same_bits(whole, np.array(one))


LAYOUTS = {
    "C": lambda x: x.copy(),
    "F": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 3, axis=-1)[..., ::3],
    "rows reversed": lambda x: x[::-1].copy()[::-1],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
    "all reversed": lambda x: np.flip(np.flip(x).copy()),
}


@pytest.mark.sampled(16, kind=lambda f, **_: f.__name__)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("f", samples.COMPLEX_ARRAYS, ids=lambda f: f.__name__)
def test_complex_arrays_follow_numpy(f, dtype) -> None:
    jitted = tracejit.jit(f)
    x = complex_values(dtype)
    y = np.roll(x, 3)
    for shape in ((-1,), (8, -1)):
        for (a, lay), (b, other) in itertools.product(LAYOUTS.items(), repeat=2):
            if len(shape) == 1 and {a, b} & {"F", "rows reversed", "all reversed"}:
                continue
            if a != b and (b != "C" or a == "strided"):
                continue
            args = lay(x.reshape(shape)), other(y.reshape(shape))
            where = f"{f.__name__} of {a} and {b} arrays of shape {args[0].shape}"
            assert_same_bits(outcome(f, *args), outcome(jitted, *args), where)
            assert "reversed" in a or not jitted.report().fallbacks, where


@pytest.mark.sampled(4)
@pytest.mark.parametrize("f", samples.COMPLEX, ids=lambda f: f.__name__)
def test_complex_scalars_follow_numpy(f) -> None:
    """NumPy scalars, 0-d arrays, Python numbers and arrays of real numbers among them."""
    jitted = tracejit.jit(f)
    x = complex_values(np.complex128)
    for k in range(0, 60, 7):
        z, w = x[k], x[k + 1]
        # One compile serves all values of a kind.
        kinds = (z, np.complex64(z), np.array(z), np.array(z, np.complex64), x[k : k + 3])
        others = (w, np.array(w), np.complex64(w), w.real, np.float32(w.real), np.array(w.real))
        for a, b in itertools.product(kinds, (*others, complex(w), float(w.real), 3)):
            for args in ((a, b), (b, a)) if f is samples.products else ((a, b),):
                where = f"{f.__name__} of {args[0]!r} and {args[1]!r}"
                # NumPy's first call of a process with numbers of a kind may round otherwise.
                outcome(f, *args)
                assert_same_bits(outcome(f, *args), outcome(jitted, *args), where)


def test_orbits_stay_where_numpys_do() -> None:
    rng = np.random.default_rng(1)
    c = rng.uniform(-2, 2, (20, 30)) + 1j * rng.uniform(-2, 2, (20, 30))
    expected = samples.julia(c, 40)
    assert np.isnan(expected).any() and np.isfinite(expected).any()
    assert_same_bits(expected, tracejit.jit(samples.julia, strict=True)(c, 40), "julia")
    for z in (c, c[0, 0], np.array(c[0, 0]), complex(c[0, 0])):
        for d in (c[1, 1], np.array(c[1, 1]), complex(c[1, 1])):
            expected = outcome(samples.iterate, z, d, 30)
            actual = outcome(tracejit.jit(samples.iterate), z, d, 30)
            if isinstance(expected, complex) and not isinstance(expected, np.generic):
                assert repr(actual) == repr(expected)
            else:
                assert_same_bits(expected, actual, f"orbit of {z!r} with {d!r}")


# Powers -----------------------------------------------------------------------------------------

BASES = ("?", "u1", "i8", "f2", "f4", "f8", "c8", "c16")


def base(dtype):
    d = np.dtype(dtype)
    if d.kind in "biu":
        return np.array([1, 2, 3, 7, 0]).astype(d)
    values = [-np.inf, -0.0, 0.0, np.inf, np.nan, -1.0, 2.0, 3.3, 0.7, 1e-3]
    if d.kind == "c":
        return (np.array(values) + 1j * np.array([0, 0, 1, 2, 0, 0.5, -1, 3.7, -0.1, 0])).astype(d)
    return np.array(values).astype(d)


def exponents(value):
    """The value in every kind that holds it."""
    yield from (float(value), complex(value))
    yield from (np.dtype(d).type(value) for d in ("f2", "f4", "f8", "c8"))
    yield from (np.array(value, d) for d in ("f2", "f4", "f8"))
    if value == int(value):
        yield from (int(value), np.int64(value), np.int8(value), np.array(int(value)))


def close_powers(expected, actual, where, root=False, computed=None) -> None:
    """Two units in the last place between powers, and bit for bit what is no plain number.

    Four of its size for a complex number's `root`, of which NumPy rounds each part so; its other
    powers are bit for bit. `computed` is the dtype of sizes in which they are, if not their own.
    """
    if isinstance(expected, type):
        assert actual is expected, where
        return
    assert type(actual) is type(expected) and actual.dtype == expected.dtype, where
    a, b = np.asarray(expected).reshape(-1), np.asarray(actual).reshape(-1)
    limit = 2
    if a.dtype.kind == "c" and root:
        plain = np.isfinite(a) & (a != 0)
        assert same_bits(a[~plain], b[~plain]), f"{where}: {a} is not {b}"
        sizes = np.abs(a[plain])
        off = np.abs(a[plain] - b[plain]) / np.spacing(sizes.astype(computed or sizes.dtype))
        assert not len(off) or off.max() <= 4, f"{where}: {off.max()} ulp"
        return
    if a.dtype.kind not in "f":
        assert_same_bits(a, b, where)
        return
    plain = np.isfinite(a) & (a != 0)
    assert same_bits(a[~plain], b[~plain]), f"{where}: {a} is not {b}"
    off = np.abs(a[plain] - b[plain]) / np.spacing(np.abs(a[plain]))
    assert not len(off) or off.max() <= limit, f"{where}: {off.max()} ulp"


@pytest.mark.parametrize("dtype", BASES)
def test_powers_by_every_kind_of_exponent(dtype) -> None:
    x = base(dtype)
    floats = np.dtype(dtype).kind == "f"
    operands = (x, np.array(x[1]), x[0], *((x[:1], x[:, None]) if floats else ()))
    for f in samples.POWERS if floats else samples.POWERS[:2]:
        jitted = tracejit.jit(f)
        for value in SPECIAL:
            for p, (k, a) in itertools.product(exponents(value), enumerate(operands)):
                # A compile serves all values of a kind.
                kind = f"{f.__name__} {dtype} {k} {type(p).__name__} {np.asarray(p).dtype}"
                if not in_slice(kind, 15):
                    continue
                where = f"{f.__name__} of {a!r} and {p!r}"
                expected, actual = outcome(f, a, p), outcome(jitted, a, p)
                uniform = floats and isinstance(a, np.ndarray) and np.dtype(dtype).itemsize > 2
                if uniform and a.size > 1 and np.dtype(type(p)).kind != "c":
                    assert_same_bits(expected, actual, where)
                else:
                    close_powers(expected, actual, where, root=value == 0.5)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", BASES)
def test_literal_and_stored_powers(dtype) -> None:
    x = base(dtype)
    for f in samples.LITERAL_POWERS:
        jitted = tracejit.jit(f)
        for a in (x, np.array(x[1]), x[0], x[:1]):
            expected, actual = outcome(f, a), outcome(jitted, a)
            if isinstance(expected, type):
                assert actual is expected, f"{f.__name__} of {a!r}"
                continue
            for k, (e, o) in enumerate(zip(expected, actual, strict=True)):
                root = f is samples.half
                close_powers(e, o, f"{f.__name__} of {a!r}, result {k}", root)
    for f in samples.STORED_POWERS:
        jitted = tracejit.jit(f)
        for value, a in itertools.product(SPECIAL, (x, np.array(x[1]), x[:1])):
            for p in sampled(exponents(value), 3, name=lambda p: f"{type(p)} {np.result_type(p)}"):
                where = f"{f.__name__} of {a!r}, {p!r}"
                single = np.float32 if np.result_type(a, p) == np.complex64 else None
                given = where, value == 0.5, single
                close_powers(outcome(f, a, p), outcome(jitted, a, p), *given)


def test_arrays_of_exponents() -> None:
    """NumPy takes roots where its buffers repeat one exponent: by sizes, and by memory order."""
    rng = np.random.default_rng(2)
    for d, e in sampled((("f4", "f4"), ("f8", "f8"), ("f8", "f4"), ("f2", "f2")), 2):
        x = rng.choice(base(d), (6, 5)).astype(d)
        p = rng.choice(np.array(SPECIAL), (6, 5)).astype(e)
        jitted = tracejit.jit(samples.by_operator)
        for a, b in itertools.product(
            (x, x.T.copy().T, x[:, :1], x[:1, :1], x[0]),
            (p, p[:, ::-1], p[:1], p[:, :1], p[:1, :1], p[0], p[0, :1]),
        ):
            close_powers(a**b, jitted(a, b), f"{a.shape} {d} ** {b.shape} {e}")
    wide = np.full((3, 20000), -np.inf), np.full((3, 1), 0.5, np.float32)
    close_powers(wide[0] ** wide[1], tracejit.jit(samples.by_operator)(*wide), "beyond a buffer")


def test_numpy_is_asked_how_it_rounds() -> None:
    """The formula of each layout is one that has been recognised on this machine."""
    x = complex_values(np.complex128)[:8]
    for ufunc in FORMULAS:
        for operand in (x[0], x.dtype.type(1)):
            described = (_described(operand),) * ufunc.nin
            assert _complex_formula(ufunc, ufunc, described) in FORMULAS[ufunc]
