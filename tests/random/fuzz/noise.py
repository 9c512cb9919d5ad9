"""How far rounding may move each result of a program: the spread of runs with rounding errors.

Each statement declares what its value may differ by between two right implementations:

- ``exact``: nothing (NaNs may differ in sign);
- ``zero``: the sign of zeros (minima, maxima, and sorting, where -0.0 and 0.0 are equal);
- ``cast``: elements that do not fit the integer type, which C leaves undefined;
- ``ulp``: a few units in the last place (of the modulus, for complex numbers);
- ``order``: ``terms * eps * magnitude``, where ``magnitude`` is the same expression over absolute
  values: the bound for any order of summation (Higham, Accuracy and Stability of Numerical
  Algorithms, 2nd edition, section 4.2); for products, it is the result itself (section 3.1);
- ``spread``: variances, whose error is relative to the mean square;
- ``backward``: as if the operands had been off by a few eps of their largest element, which is what
  LAPACK's solvers promise (the same book, section 1.5).

A noisy run applies a random error of that size after each statement, and one of a unit in the last
place to every floating-point value computed from a value that already carries error, as stochastic
arithmetic does (Vignes, A stochastic arithmetic for reliable scientific computation, 1993). Runs
come in pairs with opposite signs of NaNs and zeros, so that none is kept by chance. Results
that no noisy run moves have to agree bit for bit; others within a multiple of the observed spread.
Elements that are discrete or not finite and differ between noisy runs decide nothing.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tests.random.fuzz.program import Program, Statement, start

RUNS = 16
FACTOR = 3.75
ULPS = 3.0


@dataclasses.dataclass
class Allowed:
    """How far one result may lie from plain NumPy's: arguments of `compare.assert_same`."""

    parity: str = "exact"
    tolerance: Any = None
    ignore: Any = None


class UnstableError(Exception):
    """Rounding decides whether the program raises, or the shape of a result."""


def allowances(program: Program, sizes: dict[str, int], plain: dict[str, Any]) -> list[Allowed]:
    """What each returned value may differ by; `plain` holds the variables of the plain run.

    Raises `UnstableError` where no bound makes sense.
    """
    runs = []
    for k in range(RUNS):
        runs.append(noisy_run(program, sizes, Draws(k)))
    return [_allowed(plain[name], [run[name] for run in runs]) for name in program.returns]


class Draws:
    """The random numbers of one run: of each pair of runs, the second has the opposite signs."""

    def __init__(self, run: int) -> None:
        self.errors, self.coins = np.random.default_rng([run, 0]), np.random.default_rng(run // 2)
        self.opposite = run % 2 == 1
        self.choice, self.uniform = self.errors.choice, self.errors.uniform
        self.integers = self.errors.integers

    def coin(self, shape: tuple[int, ...]) -> Any:
        """Signs without a meaning, 1 or -1."""
        drawn = self.coins.choice([-1.0, 1.0], shape)
        return -drawn if self.opposite else drawn


def noisy_run(program: Program, sizes: dict[str, int], rng: Draws) -> dict[str, Any]:
    """The variables of one run with rounding errors."""
    values = start(program, sizes)
    tainted: set[str] = set()
    for statement in program.statements:
        try:
            value = _noisy(statement, values, rng)
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            raise UnstableError from error
        if kind_of(value) not in "fc":
            tainted.discard(statement.target)
        elif statement.parity not in ("exact", "zero", "cast"):
            tainted.add(statement.target)
        elif tainted.intersection(statement.reads):
            tainted.add(statement.target)
            value = _like(_shift_ulps(value, rng, 1.0), value)
        values[statement.target] = value
    return values


def _allowed(plain: Any, noisy: list[Any]) -> Allowed:
    shape, p = np.shape(plain), np.asarray(plain)
    if any(np.shape(x) != shape or np.asarray(x).dtype != p.dtype for x in noisy):
        raise UnstableError
    with np.errstate(all="ignore"):
        if p.dtype.kind not in "fc":
            ignore = np.any([np.asarray(x) != p for x in noisy], axis=0)
            return Allowed(ignore=ignore) if np.any(ignore) else Allowed()
        if all(_identical(p, np.asarray(x)) for x in noisy):
            return Allowed()
        tolerance, ignore = np.zeros(shape), np.zeros(shape, bool)
        for x in map(np.asarray, noisy):
            differ = np.where(np.isfinite(x) & np.isfinite(p), np.abs(x - p), 0)
            tolerance = np.maximum(tolerance, differ)
            ignore |= ~(_same_special(x, p))
            # Of a complex number with a part that is not finite, the other part may move.
            ignore |= ~np.isfinite(p) & ~np.isnan(p) & (x != p)
        return Allowed("bound", FACTOR * tolerance, ignore)


def _identical(a: Any, b: Any) -> bool:
    if a.dtype.kind == "c":
        return _identical(a.real, b.real) and _identical(a.imag, b.imag)
    same = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
    return bool(np.all(same))


def _same_special(a: Any, b: Any) -> Any:
    if a.dtype.kind == "c":
        return _same_special(a.real, b.real) & _same_special(a.imag, b.imag)
    return np.isfinite(a) & np.isfinite(b) | (a == b) | np.isnan(a) & np.isnan(b)


# One statement ----------------------------------------------------------------------------------


def _noisy(statement: Statement, values: dict[str, Any], rng: Draws) -> Any:
    value = statement.evaluate(values)
    array = np.asarray(value)
    operands = [values[name] for name in statement.reads]
    with np.errstate(all="ignore"):
        if statement.parity == "cast":
            return _like(_undefined_casts(array, np.asarray(operands[0]), rng), value)
        if array.dtype.kind not in "fc":
            return value
        if statement.parity == "zero":
            array = _flip_zeros(array, rng)
        elif statement.parity == "ulp":
            array = _shift_ulps(array, rng, ULPS)
        elif statement.parity == "order":
            array = _reorder(statement, array, values, rng)
        elif statement.parity == "spread":
            array = _respread(statement, array, operands[0], rng)
        elif statement.parity == "backward":
            moved = {name: _move_operand(values[name], rng) for name in statement.reads}
            array = np.asarray(statement.evaluate({**values, **moved}))
        return _like(_any_nans(array, rng), value)


def _like(array: Any, value: Any) -> Any:
    """An array as the type of value it stands for."""
    array = np.asarray(array)
    if isinstance(value, np.ndarray):
        return array.astype(value.dtype, copy=False)
    return array[()] if isinstance(value, np.generic) else type(value)(array[()])


def _signs(shape: tuple[int, ...], rng: Draws) -> Any:
    return rng.choice([-1, 1], shape)


def _shift_ulps(value: Any, rng: Draws, ulps: float) -> Any:
    """Moved by up to `ulps` units in the last place; zeros, infinities and NaNs stay."""
    array = np.asarray(value)
    if array.dtype.kind not in "fc":
        return array
    with np.errstate(all="ignore"):
        unit = ulps * np.spacing(np.abs(array))
        error = _signs(array.shape, rng) * unit
        if array.dtype.kind == "c":
            error = error + 1j * (_signs(array.shape, rng) * unit)
        return np.where(np.isfinite(array) & (array != 0), array + error, array).astype(array.dtype)


def _flip_zeros(array: Any, rng: Draws) -> Any:
    return np.where((array == 0) & (rng.coin(array.shape) < 0), -array, array)


def _any_nans(array: Any, rng: Draws) -> Any:
    """NaNs of a sign that is drawn anew, whatever it was: two changes of one sign may cancel."""
    if array.dtype.kind != "f":
        return array
    signs = np.asarray(rng.coin(array.shape), array.dtype)
    return np.where(np.isnan(array), np.copysign(array, signs), array)


def _undefined_casts(array: Any, operand: Any, rng: Draws) -> Any:
    if array.dtype.kind not in "iu" or operand.dtype.kind not in "fc":
        return array
    info = np.iinfo(array.dtype)
    real = operand.real
    fits = np.isfinite(real) & (real > float(info.min) - 1) & (real < float(info.max))
    return np.where(fits, array, rng.integers(0, 2, array.shape).astype(array.dtype))


def _magnitude(operand: Any) -> Any:
    """Absolute values, with what is not finite left out."""
    if kind_of(operand) not in "iufc":
        return operand
    if kind_of(operand) in "iu":
        operand = np.asarray(operand).astype(float)[()]
    return _like(np.abs(_finite(np.asarray(operand))), np.abs(operand))


def _finite(array: Any) -> Any:
    """An array with 0 for each number, or part of a complex one, that is not finite."""
    if array.dtype.kind == "c":
        return _finite(array.real) + 1j * _finite(array.imag)
    return np.where(np.isfinite(array), array, 0)


def kind_of(value: Any) -> str:
    """NumPy's letter for the kind of number a value is."""
    return np.asarray(value).dtype.kind


def _reorder(statement: Statement, array: Any, values: dict[str, Any], rng: Draws) -> Any:
    magnitude = np.abs(_finite(array))
    if statement.magnitude is not None:
        absolute = {name: _magnitude(values[name]) for name in statement.reads}
        magnitude = np.asarray(statement.evaluate({**values, **absolute}, statement.magnitude)).real
    terms = sum(np.size(values[name]) for name in statement.reads)
    info = np.finfo(array.dtype)
    bound = (2 + terms) * (float(info.eps) * np.abs(magnitude).astype(float))
    bound = bound + 1e4 * float(info.smallest_subnormal) * (bound > 0)
    error = rng.uniform(-1, 1, array.shape) * bound
    if array.dtype.kind == "c":
        error = error + 1j * rng.uniform(-1, 1, array.shape) * bound
        moved = array.copy()
        moved.real, moved.imag = array.real + error.real, array.imag + error.imag
    else:
        moved = array + error
    overflow = ~np.isfinite(np.broadcast_to(bound, array.shape))
    overflow = overflow | (np.abs(magnitude) > float(info.max) / 2)
    moved = np.where(overflow, rng.choice([0, np.nan]), moved).astype(array.dtype)
    return _flip_zeros(moved, rng)


def _respread(statement: Statement, array: Any, operand: Any, rng: Draws) -> Any:
    """Variances moved by an error relative to the largest square, deviations accordingly."""
    x = np.asarray(operand)
    finite = x[np.isfinite(x)].astype(float)
    square = float(np.max(finite * finite, initial=0))
    info = np.finfo(array.dtype)
    if square * max(1, x.size) > float(info.max) / 4:
        return np.full(array.shape, rng.choice([0, np.nan]), array.dtype)
    error = rng.uniform(-1, 1, array.shape) * (2 + x.size) * float(info.eps) * square
    if "std(" in statement.expression:
        return np.sqrt(np.abs(array * array + error)).astype(array.dtype)
    return (array + error).astype(array.dtype)


def _move_operand(operand: Any, rng: Draws) -> Any:
    array = np.asarray(operand)
    if array.dtype.kind not in "fc":
        return operand
    largest = np.max(np.abs(array[np.isfinite(array)]), initial=0)
    bound = 10 * float(np.finfo(array.dtype).eps) * float(largest)
    return _like((array + rng.uniform(-1, 1, array.shape) * bound).astype(array.dtype), operand)
