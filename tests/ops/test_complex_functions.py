"""Complex functions by parts: each against mpmath, special values and branch cuts as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import tracejit
from tracejit.codegen.vector_math.evaluate import evaluate
from tracejit.ops.array.complex_functions import COMPLEX_FUNCTIONS
from tracejit.ops.array.complex_powers import COMPLEX_POWERS

Array = np.ndarray[Any, Any]

#: Name -> its value in many digits.
PRECISE: dict[str, Callable[[mp.mpc], mp.mpc]] = {
    **{name: getattr(mp, name) for name in "sqrt log sin cos tan sinh cosh tanh exp".split()},
    **{f"arc{name}": getattr(mp, f"a{name}") for name in "sin cos tan sinh cosh tanh".split()},
    "exp2": mp.exp,
    "log2": lambda z: mp.log(z) / mp.log(2),
    "log10": lambda z: mp.log(z) / mp.log(10),
    "expm1": lambda z: mp.exp(z) - 1,
    "log1p": lambda z: mp.log(1 + z),
}
every_name = pytest.mark.parametrize("name", PRECISE)
every_dtype = pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
COUNT = 60


def compiled(name: str) -> Callable[[Array], Array]:
    f = getattr(np, name)
    return tracejit.jit(lambda z: f(z), strict=True)


def eager(name: str, z: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(getattr(np, name)(z))


def parts(z: Array) -> list[Array]:
    return [z.real, z.imag]


def points(name: str, dtype: Any) -> Array:
    """Of all sizes and angles, and where the parts of the result are hard: axes, |z| = 1, poles."""
    draw = np.random.default_rng(2)

    def turn() -> Array:
        return np.exp(1j * draw.uniform(-3.2, 3.2, COUNT))

    def size(low: float, high: float) -> Array:
        return 10.0 ** draw.uniform(low, high, COUNT)

    def between(bound: float) -> Array:
        return draw.uniform(-bound, bound, COUNT)

    wide = dtype == np.complex128
    grows = name in "exp exp2 expm1 sin cos tan sinh cosh tanh".split()
    most = 2.84 if grows else 300.0 if wide else 30.0
    quarter = np.pi / 2 * draw.choice([-3, -1, 1, 3], COUNT)
    groups = [
        *(between(3) + 1j * between(3), between(40) + 1j * between(40)),
        *(turn() * (1 + size(-16, -1) * draw.choice([-1, 1], COUNT)), turn() * size(0, most)),
        turn() * size(-300 if wide else -35, 0),
        *(between(3) + 1j * size(-20, 0), size(-20, 0) + 1j * between(3)),
        draw.choice([1, -1, 1j, -1j], COUNT) + turn() * size(-16, -1),
        *(between(0.1) + 1j * (quarter + between(0.1)), quarter + between(0.1) + 1j * between(0.1)),
    ]
    if name == "log1p":
        groups.append(turn() - 1)
    with np.errstate(over="ignore"):
        z = np.concatenate(groups).astype(dtype)
    with np.errstate(all="ignore"):
        return np.asarray(z[np.isfinite(getattr(np, name)(z))])


def part_errors(name: str, z: Array, found: Array) -> Array:
    """The greater error of the two parts, in ULP of each."""
    out = np.zeros((2, len(z)))
    for k, x in enumerate(z):
        # Beside a part of another size mpmath's formulas cancel.
        sizes = [abs(float(v)) or 1.0 for v in (x.real, x.imag)]
        far = min(sizes) < 1e-20 or max(sizes) > 1e20
        if name == "exp2":
            x = x * x.dtype.type(np.log(2))  # As NumPy has it, with this rounding.
        with mp.workdps(700 if far else 60):
            exact = PRECISE[name](mp.mpc(float(x.real), float(x.imag)))
            for j, (part, true) in enumerate(
                zip((found[k].real, found[k].imag), (exact.real, exact.imag), strict=True)
            ):
                size = np.abs(type(part)(float(true)))
                if name == "expm1" and j == 0:
                    # A difference of two terms: the larger one has the last place that counts.
                    size = max(size, type(part)(2 * np.sin(float(x.imag) / 2) ** 2))
                unit = np.spacing(size)
                out[j, k] = abs((mp.mpf(float(part)) - true) / mp.mpf(float(unit)))
    return out.max(0)


@pytest.mark.sampled(24)
@every_name
@every_dtype
def test_each_part_is_exact_to_a_few_places(name: str, dtype: Any) -> None:
    z = points(name, dtype)
    errors = part_errors(name, z, compiled(name)(z))
    worst = int(np.argmax(errors))
    bound = 0.6 if dtype == np.complex64 and name in COMPLEX_FUNCTIONS else 4.0
    assert errors[worst] <= bound, f"{errors[worst]:.2f} ULP at {z[worst]!r}"


@pytest.mark.sampled(12)
@every_name
@every_dtype
def test_special_values_are_numpys(name: str, dtype: Any) -> None:
    part = np.float64 if dtype == np.complex128 else np.float32
    info = np.finfo(part)
    sizes = [0.0, 0.5, 1.0, 2.5, np.inf, info.max, info.tiny, 89.0, 710.0, 750.0, 1e5, np.pi]
    values = np.array([v for x in sizes for v in (x, -x)] + [np.nan], part)
    z = np.empty((len(values), len(values)), dtype)
    z.real, z.imag = values[:, None], values[None, :]
    if name == "log1p":
        z = z[(np.abs(z) > 1e-5) | (z == 0) | np.isnan(z)]  # NumPy's loses what is next to 1.
    for want, got in zip(parts(eager(name, z)), parts(compiled(name)(z)), strict=True):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))
        exact = number & (np.isinf(want) | (want == 0))
        np.testing.assert_array_equal(got[exact], want[exact])
        rest = number & ~exact
        np.testing.assert_array_max_ulp(got[rest], want[rest], 8)


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10"])
def test_both_sides_of_the_branch_cut(name: str) -> None:
    cut = -np.array([1e-300, 0.3, 1.0, 7.5, 1e300])
    above, below = cut + 0j, np.conj(cut + 0j)
    f = compiled(name)
    np.testing.assert_allclose(f(above), eager(name, above), rtol=1e-15)
    np.testing.assert_array_equal(f(below), np.conj(f(above)))
    assert (f(above).imag > 0).all()


def test_every_rule_is_tested() -> None:
    assert {*COMPLEX_FUNCTIONS, *COMPLEX_POWERS, "exp", "exp2"} == set(PRECISE)


def test_gradients_pass_through() -> None:
    z = np.array([0.3 + 0.4j, -1.2 + 0.7j])
    for name in COMPLEX_FUNCTIONS | COMPLEX_POWERS:
        f = getattr(np, name)
        step = 1e-6
        slope = tracejit.grad(lambda x, f=f: f(x + 1j * z.imag).real.sum())(z.real)
        numeric = (f(z + step).real - f(z - step).real) / (2 * step)
        np.testing.assert_allclose(slope, numeric, rtol=1e-6)


def power(a: Any, b: Any) -> Any:
    return np.power(a, b)


@every_dtype
def test_whole_powers_are_numpys(dtype: Any) -> None:
    draw = np.random.default_rng(3)
    a = (draw.normal(size=(20, 1)) + 1j * draw.normal(size=(20, 1))).astype(dtype)
    a[:3, 0] = 0, np.inf, np.nan
    n = np.arange(-99, 100).astype(dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tracejit.jit(power, strict=True)(a, n), a**n)
        for k in (-3, -1, 0, 1, 2, 3, 7):
            f = tracejit.jit(lambda a, k=k: np.power(a, k), strict=True)
            np.testing.assert_array_equal(f(a), np.power(a, k))


def test_powers_of_singles_are_within_one_place_of_their_size() -> None:
    draw = np.random.default_rng(4)
    a, b = (draw.normal(size=(2, 200)) + 1j * draw.normal(size=(2, 200))).astype(np.complex64)
    a[:50] *= np.complex64(1e10)
    found = tracejit.jit(power, strict=True)(a, b)
    for x, y, z in zip(a, b, found, strict=True):
        with mp.workdps(40):
            exact = mp.exp(mp.mpc(complex(y)) * mp.log(mp.mpc(complex(x))))
            assert abs(mp.mpc(complex(z)) / exact - 1) <= float(np.finfo(np.float32).eps)


def power_points() -> tuple[Array, Array]:
    """Bases and exponents: of all sizes and angles, beside |a| = 1 and a = 1, axes, diagonals."""
    draw = np.random.default_rng(7)

    def any_number() -> Array:
        return draw.normal(size=COUNT) + 1j * draw.normal(size=COUNT)

    def size(low: float, high: float) -> Array:
        return 10.0 ** draw.uniform(low, high, COUNT)

    def turn() -> Array:
        return np.exp(1j * draw.uniform(-np.pi, np.pi, COUNT))

    halves = draw.integers(-400, 400, COUNT) / 2 + 0.25 + 0j
    pairs = [
        *((any_number(), any_number()), (any_number() * 1e10, 3 * any_number())),
        (turn() * size(-310, 300), turn() * size(-3, 0)),
        (turn() * (1 + size(-16, -1) * draw.choice([-1, 1], COUNT)), turn() * size(0, 3)),
        *((turn(), 100 * any_number()), (1 + turn() * size(-16, -1), turn() * size(0, 14))),
        *((any_number(), draw.integers(-2000, 2000, COUNT) + 0j), (any_number(), halves)),
        *((any_number().real - 0j, 5 * any_number()), (any_number().real + 0j, halves)),
        *((1j * any_number().imag, 5 * any_number()), (1j * any_number().imag, halves)),
        ((1 + 1j) * any_number().real, halves),
        (any_number().real + 1j * size(-300, -10), 3 * any_number()),
        (any_number(), 1j * np.pi / 2 * draw.integers(1, 30, COUNT)),
    ]
    a, b = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return a, b


@pytest.mark.parametrize("fma", [False, True], ids=["plain", "fused"])
def test_each_part_of_a_power_is_exact_to_a_few_places(fma: bool) -> None:
    a, b = power_points()
    operands = [np.ascontiguousarray(v) for v in (a.real, a.imag, b.real, b.imag)]
    found = [evaluate(f"power_{part}", *operands, fma=fma) for part in ("real", "imag")]
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        with mp.workdps(150):
            exact = mp.exp(mp.mpc(complex(y)) * mp.log(mp.mpc(complex(x))))
            for values, true in zip(found, (exact.real, exact.imag), strict=True):
                unit = mp.mpf(float(np.spacing(abs(float(true)))))
                if not np.isfinite(float(unit)):
                    assert np.isinf(values[k])
                else:
                    error = abs(mp.mpf(float(values[k])) - true) / unit
                    assert error <= 2.5, f"{error} ULP at {x!r} ** {y!r}"


def test_parts_of_powers_that_are_zero() -> None:
    """On axes and diagonals, to exponents that lead to axes; the other part is not."""
    f = tracejit.jit(power, strict=True)
    for a, b, on_the_real_axis in [
        *((-4 + 0j, 0.5, False), (-4 - 0j, 100.5, False), (4j, 200.0, True), (-3j, 101.0, False)),
        *((2 + 2j, 102.0, False), (-2 + 2j, 104.0, True), (3 - 3j, 2.0**60, True)),
    ]:
        z = f(np.array([a]), np.array([b + 0j]))[0]
        zero, other = (z.imag, z.real) if on_the_real_axis else (z.real, z.imag)
        assert zero == 0 and other != 0, (a, b, z)


def test_special_powers_are_numpys() -> None:
    values = np.array([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan, 0.5])
    z = (values[:, None] + 0j).repeat(len(values), 1)
    z.imag = values
    a, b = z.reshape(-1, 1), z.ravel()
    with np.errstate(all="ignore"):
        want, got = np.power(a, b), tracejit.jit(power, strict=True)(a, b)
    for w, g in zip(parts(want), parts(got), strict=True):
        np.testing.assert_array_equal(np.isnan(g), np.isnan(w))
        number = ~np.isnan(w)
        # NumPy has a rounding error where there is a zero.
        error = number & (w != 0) & (g == 0) & (np.abs(w) < 1e-14 * np.abs(want))
        signed = number & ~error
        np.testing.assert_allclose(g[signed], w[signed], rtol=1e-14, atol=1e-14)
        np.testing.assert_array_equal(np.signbit(g[signed]), np.signbit(w[signed]))
