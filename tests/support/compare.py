"""Turns two results (or two runs of a function) into agreement or a readable AssertionError.

`assert_same` compares values: result type (array, NumPy scalar, Python number, container), dtype,
shape and content under one of four parity classes:

- ``exact``: bit-identical, signed zeros included; NaNs match whatever their sign and payload.
- ``ulp``: within ``ulp`` units in the last place of the expected element (of the modulus, for
  complex numbers); zeros keep their sign; infinities and NaNs sit in the same places.
- ``order``: within ``ulp * eps * scale``, for results whose summation order is free. ``scale`` is
  the sum of magnitudes that were added where the caller knows it, else the largest finite magnitude
  of the result. With ``reference`` (the same result in higher precision) the error against it may
  also be as large as twice NumPy's own largest error.
- ``bound``: within ``tolerance``, a tree of arrays shaped like the result.

`assert_parity` runs a plain function and its compiled form on separate copies of the arguments and
compares results, exception types, the arguments afterwards and which results share memory with
which arguments.
"""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

Parity = Literal["exact", "ulp", "order", "bound"]


class Mismatch(AssertionError):
    """Two values that should agree do not; the message names the place inside the result."""


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """How far a number may lie from the expected one; see the module's docstring."""

    parity: Parity = "exact"
    ulp: float = 1.0
    scale: Any = None
    reference: Any = None
    tolerance: Any = None
    ignore: Any = None

    def at(self, key: Any) -> Tolerance:
        """The tolerance of one element of a container, following the trees given for it."""

        def step(tree: Any) -> Any:
            if isinstance(tree, list | tuple | dict):
                return tree[key]
            if dataclasses.is_dataclass(tree):
                return getattr(tree, key)
            return tree

        return dataclasses.replace(
            self,
            scale=step(self.scale),
            reference=step(self.reference),
            tolerance=step(self.tolerance),
            ignore=step(self.ignore),
        )


def assert_same(
    expected: Any,
    actual: Any,
    parity: Parity = "exact",
    *,
    ulp: float = 1.0,
    scale: Any = None,
    reference: Any = None,
    tolerance: Any = None,
    ignore: Any = None,
    where: str = "result",
) -> None:
    """Raise `Mismatch` unless `actual` is what `expected` is, under the parity class.

    `scale`, `reference`, `tolerance` and `ignore` (a mask of elements whose value, not type, is
    left open) are arrays broadcastable to the result, or trees of them shaped like the result.
    """
    if parity == "bound" and tolerance is None:
        raise TypeError("parity 'bound' needs a tolerance")
    _same(expected, actual, Tolerance(parity, ulp, scale, reference, tolerance, ignore), where)


def _same(expected: Any, actual: Any, allowed: Tolerance, where: str) -> None:
    if type(expected) is not type(actual):
        raise Mismatch(
            f"{where}: expected {_kind(expected)}, got {_kind(actual)}\n"
            f"  expected: {_short(expected)}\n  actual:   {_short(actual)}"
        )
    if isinstance(expected, np.ndarray | np.generic):
        _same_array(expected, actual, allowed, where)
    elif isinstance(expected, float | complex):
        _same_array(np.asarray(expected), np.asarray(actual), allowed, where)
    elif isinstance(expected, list | tuple):
        if len(expected) != len(actual):
            raise Mismatch(f"{where}: expected {len(expected)} elements, got {len(actual)}")
        for i, (e, a) in enumerate(zip(expected, actual, strict=True)):
            _same(e, a, allowed.at(i), f"{where}[{i}]")
    elif isinstance(expected, dict):
        if list(expected) != list(actual):
            raise Mismatch(f"{where}: expected keys {list(expected)}, got {list(actual)}")
        for key in expected:
            _same(expected[key], actual[key], allowed.at(key), f"{where}[{key!r}]")
    elif dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            e, a = getattr(expected, field.name), getattr(actual, field.name)
            _same(e, a, allowed.at(field.name), f"{where}.{field.name}")
    elif expected is not actual and expected != actual:
        raise Mismatch(f"{where}: expected {expected!r}, got {actual!r}")


def _same_array(expected: Any, actual: Any, allowed: Tolerance, where: str) -> None:
    if expected.dtype != actual.dtype:
        raise Mismatch(f"{where}: expected dtype {expected.dtype}, got {actual.dtype}")
    if expected.shape != actual.shape:
        raise Mismatch(f"{where}: expected shape {expected.shape}, got {actual.shape}")
    e, a = np.asarray(expected), np.asarray(actual)
    if e.dtype.kind == "O":
        for i in np.ndindex(e.shape):
            _same(e[i], a[i], allowed, f"{where}{list(i)}")
        return
    if e.dtype.kind in "fc":
        good = _close(e, a, allowed)
    elif e.dtype.kind in "mM":
        good = (e == a) | (np.isnat(e) & np.isnat(a))
    else:
        good = np.asarray(e == a)
    if allowed.ignore is not None:
        good = good | np.asarray(allowed.ignore, bool)
    if not good.all():
        _fail(e, a, good, allowed, where)


def _fail(e: Any, a: Any, good: Any, allowed: Tolerance, where: str) -> None:
    wrong = np.argwhere(~good)
    lines = [f"{where}: {len(wrong)} of {good.size} elements differ ({allowed.parity}, {e.dtype})"]
    for index in wrong[:5]:
        at = tuple(int(i) for i in index)
        off = ""
        if e.dtype.kind in "fc" and np.isfinite(e[at]) and np.isfinite(a[at]):
            with np.errstate(all="ignore"):
                ulps = np.abs(a[at] - e[at]) / np.spacing(np.abs(e[at]))
            off = f"  ({float(ulps):.4g} ulp)"
        lines.append(f"  {list(at)}: expected {e[at]!r}, got {a[at]!r}{off}")
    raise Mismatch("\n".join(lines))


def _close(e: Any, a: Any, allowed: Tolerance) -> Any:
    """Which elements of two float or complex arrays agree."""
    if e.dtype.kind == "c" and (allowed.parity == "exact"):
        return _bits_agree(e.real, a.real) & _bits_agree(e.imag, a.imag)
    if allowed.parity == "exact":
        return _bits_agree(e, a)
    finite = np.isfinite(e) & np.isfinite(a)
    with np.errstate(all="ignore"):
        error = np.where(finite, np.abs(np.where(finite, a, 0) - np.where(finite, e, 0)), 0)
        bound = np.broadcast_to(_bound(e, a, finite, allowed), e.shape)
        good = np.where(finite, error <= bound, _special_agrees(e, a))
    if allowed.parity == "ulp" and e.dtype.kind == "f":
        both_zero = (e == 0) & (a == 0)
        good = good & (~both_zero | (np.signbit(e) == np.signbit(a)))
    return np.asarray(good)


def _bound(e: np.ndarray, a: np.ndarray, finite: np.ndarray, allowed: Tolerance) -> Any:
    # The modulus of a finite complex number may overflow.
    magnitude = np.minimum(np.abs(np.where(finite, e, 0)), np.finfo(e.dtype).max)
    if allowed.parity == "ulp":
        return allowed.ulp * np.spacing(magnitude)
    if allowed.parity == "bound":
        return np.asarray(allowed.tolerance)
    scale = magnitude.max(initial=0) if allowed.scale is None else np.abs(allowed.scale)
    info = np.finfo(e.dtype)
    bound = allowed.ulp * np.maximum(info.eps * scale, float(info.smallest_subnormal))
    if allowed.reference is None:
        return bound
    truth = np.asarray(allowed.reference)
    own = np.abs(np.where(finite, e - truth, 0)).max(initial=0)
    theirs = np.abs(np.where(finite, a - truth, 0))
    error = np.abs(np.where(finite, a - e, 0))
    return np.where(theirs <= 2 * own + bound, error, bound)


def _bits_agree(e: Any, a: Any) -> Any:
    same = (e == a) & (np.signbit(e) == np.signbit(a))
    return same | (np.isnan(e) & np.isnan(a))


def _special_agrees(e: Any, a: Any) -> Any:
    """Agreement where at least one side is infinite or NaN: the same part is, the same way."""
    if e.dtype.kind == "c":
        return _special_part(e.real, a.real) & _special_part(e.imag, a.imag)
    return _special_part(e, a)


def _special_part(e: Any, a: Any) -> Any:
    both_finite = np.isfinite(e) & np.isfinite(a)
    return np.asarray((e == a) | (np.isnan(e) & np.isnan(a)) | both_finite)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{type(value).__name__} of {value.dtype}{list(value.shape)}"
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 200 else text[:200] + "..."


# Copies of arguments ----------------------------------------------------------------------------


def leaves(tree: Any) -> Iterator[Any]:
    """The non-container values inside nested lists, tuples, dicts and dataclasses."""
    if isinstance(tree, list | tuple):
        for item in tree:
            yield from leaves(item)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from leaves(item)
    elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        for field in dataclasses.fields(tree):
            yield from leaves(getattr(tree, field.name))
    else:
        yield tree


def clone(tree: Any) -> Any:
    """A deep copy whose arrays keep strides, layout, writeability and shared memory.

    Two arrays that view one piece of memory still do in the copy; `copy.deepcopy` and `np.copy`
    give each its own.
    """
    memo: dict[int, Any] = {}
    owners: dict[int, np.ndarray] = {}
    for leaf in leaves(tree):
        if type(leaf) is np.ndarray and not leaf.dtype.hasobject:
            memo[id(leaf)] = _clone_array(leaf, owners)
    return copy.deepcopy(tree, memo)


def _clone_array(array: np.ndarray, owners: dict[int, np.ndarray]) -> np.ndarray:
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    low, high = np.lib.array_utils.byte_bounds(base)
    if id(base) not in owners:
        memory = np.empty(high - low, np.uint8)
        if base.size:
            _window(memory, base, base, low)[...] = base
        owners[id(base)] = memory
    copied = _window(owners[id(base)], array, base, low)
    copied.flags.writeable = array.flags.writeable
    return copied


def _window(memory: np.ndarray, like: np.ndarray, base: np.ndarray, low: int) -> np.ndarray:
    """A view of `memory`, a copy of the bytes of `base`, lying in it as `like` lies in `base`."""
    offset = like.__array_interface__["data"][0] - low if like.size else 0
    return np.ndarray(like.shape, like.dtype, memory, offset, like.strides)


# Running both -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    """What a call left behind: its value or exception, and its arguments afterwards."""

    value: Any
    exception: BaseException | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def run(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> Outcome:
    """Call `f` on copies of the arguments; NumPy's numeric warnings are not part of the outcome."""
    args, kwargs = clone((tuple(args), kwargs or {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        try:
            return Outcome(f(*args, **kwargs), None, tuple(args), kwargs)
        except Exception as exception:
            return Outcome(None, exception, tuple(args), kwargs)


def sharing(outcome: Outcome) -> set[tuple[str, str, bool]]:
    """(result, other array, is it the same object) for each two arrays that share memory.

    The other array is an argument or a later result.
    """
    results = [x for x in leaves(outcome.value) if isinstance(x, np.ndarray)]
    arguments = [x for x in leaves((outcome.args, outcome.kwargs)) if isinstance(x, np.ndarray)]
    named = [(f"result {i}", x) for i, x in enumerate(results)]
    others = named + [(f"argument {i}", x) for i, x in enumerate(arguments)]
    return {
        (name, other_name, result is other)
        for i, (name, result) in enumerate(named)
        for other_name, other in others[i + 1 :]
        if np.shares_memory(result, other)
    }


def assert_same_outcome(
    expected: Outcome,
    actual: Outcome,
    *,
    given: Sequence[Any] = (),
    check_alias: bool = True,
    **allowed: Any,
) -> None:
    """Compare two outcomes; keyword arguments are those of `assert_same`, for what is computed.

    That is the results, and those of the arguments `given` that the call has changed.
    """
    if expected.exception is None and actual.exception is not None:
        raise Mismatch(f"unexpected {actual.exception!r}") from actual.exception
    if type(expected.exception) is not type(actual.exception):
        raise Mismatch(
            f"expected {expected.exception!r}, got "
            f"{actual.exception!r}, result {_short(actual.value)}"
        ) from actual.exception
    assert_same(expected.value, actual.value, **allowed)
    written = [k for k, x in enumerate(given) if not _is_same(x, expected.args[k])]
    for k in written:
        where = f"argument {k} afterwards"
        assert_same(expected.args[k], actual.args[k], where=where, **allowed)
    kept = [k for k in range(len(expected.args)) if k not in written]
    for k in kept:
        assert_same(expected.args[k], actual.args[k], where=f"argument {k} afterwards")
    assert_same(expected.kwargs, actual.kwargs, where="keyword arguments afterwards")
    if check_alias and sharing(expected) != sharing(actual):
        raise Mismatch(
            "results share memory with other arrays than NumPy's: "
            f"expected {sorted(sharing(expected))}, got {sorted(sharing(actual))}"
        )


def _is_same(a: Any, b: Any) -> bool:
    try:
        assert_same(a, b)
    except Mismatch:
        return False
    return True


def assert_parity(
    f: Callable[..., Any],
    *args: Any,
    jitted: Callable[..., Any] | None = None,
    kwargs: dict[str, Any] | None = None,
    also: Sequence[Sequence[Any]] = (),
    calls: int = 2,
    check_alias: bool = True,
    **allowed: Any,
) -> Callable[..., Any]:
    """Check that `f` compiled behaves as `f` plain; returns the compiled function.

    It is called `calls` times on `args`, then once on each argument tuple of `also` (other sizes,
    layouts, dtypes), then on `args` again where `also` is given. `allowed` goes to `assert_same`.
    """
    if jitted is None:
        import tracejit

        jitted = tracejit.jit(f)
    rounds = [args] * calls + [tuple(more) for more in also] + ([args] if also else [])
    for call, arguments in enumerate(rounds):
        expected = run(f, arguments, kwargs)
        actual = run(jitted, arguments, kwargs)
        try:
            assert_same_outcome(
                expected, actual, given=arguments, check_alias=check_alias, **allowed
            )
        except Mismatch as mismatch:
            mismatch.add_note(f"in call {call} of {getattr(f, '__name__', f)}")
            raise
    return jitted
