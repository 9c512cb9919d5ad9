"""Gradients under `eager()`: plain Python on real values, and the same result."""

import copy
import functools
import numbers
import sys
import traceback
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tests.transforms.eager.eager_observed as observed
import tracejit
from tests.transforms.eager.eager_programs import PROGRAMS
from tests.transforms.eager.eager_transforms import PROGRAMS as TRANSFORMING
from tracejit.frontend.tracing.concrete_trace import LostGradient
from tracejit.transforms.api.gradient import Gradient

VECTOR = np.array([0.5, 1.5])


@pytest.fixture(autouse=True)
def _eagerly() -> Iterator[None]:
    with tracejit.eager():
        yield


def gradient(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Any:
    """value_and_grad, run operation by operation."""
    return Gradient(f, argnums, None, has_aux, True)


# Values and derivatives --------------------------------------------------------------------------


def leaves(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return [leaf for v in x.values() for leaf in leaves(v)]
    if isinstance(x, (list, tuple)):
        return [leaf for v in x for leaf in leaves(v)]
    return [x]


def with_leaves(x: Any, given: Iterator[Any]) -> Any:
    if isinstance(x, dict):
        return {k: with_leaves(v, given) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(with_leaves(v, given) for v in x)
    return next(given)


def moved(f: Callable[..., Any], args: Any, leaf: int, index: Any, by: complex) -> float:
    """The value of `f` with one number of its first argument moved."""
    given = copy.deepcopy(leaves(args[0]))
    array = np.array(given[leaf])
    array[index] += by
    kind = type(given[leaf])
    given[leaf] = array if kind is np.ndarray else kind(array.item())
    return float(f(with_leaves(args[0], iter(given)), *copy.deepcopy(args[1:])))


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_gradients_are_those_of_finite_differences(f: Any, args: Any) -> None:
    expected = f(*copy.deepcopy(args))
    value, found = gradient(f)(*copy.deepcopy(args))
    assert type(value) is type(expected)
    assert np.array_equal(value, expected)
    pairs = list(zip(leaves(args[0]), leaves(found), strict=True))
    for leaf, (x, slope) in enumerate(pairs):
        assert type(slope) is type(x)
        array, slopes = np.asarray(x), np.asarray(slope)
        assert slopes.dtype == array.dtype and slopes.shape == array.shape
        step = 1e-2 if array.dtype == np.float32 else 1e-6
        for index in np.ndindex(array.shape):
            for unit in (1, 1j) if array.dtype.kind == "c" else (1,):
                ends = [moved(f, args, leaf, index, s * step * unit) for s in (1, -1)]
                slope_here = (ends[0] - ends[1]) / (2 * step)
                there = (slopes[index] * unit).real
                assert np.isclose(slope_here, there, rtol=1e-4, atol=1e-4)


def test_a_function_without_source() -> None:
    space: dict[str, Any] = {"np": np}
    exec("def f(x):\n    y = np.sin(x) * x[0]\n    return y.sum() if y[0] > 0 else x[1]", space)
    assert np.allclose(gradient(space["f"])(VECTOR)[1], _slopes(space["f"], VECTOR))


def _slopes(f: Any, x: Any) -> Any:
    return [moved(f, (x,), 0, k, 1e-6) / 2e-6 - moved(f, (x,), 0, k, -1e-6) / 2e-6 for k in (0, 1)]


def test_code_that_knows_no_tracers_asks_for_classes() -> None:
    @functools.singledispatch
    def scaled(x: Any) -> Any:
        raise AssertionError(type(x))

    scaled.register(np.ndarray, lambda x: 2.0 * x)
    scaled.register(float, lambda x: 3.0 * x)

    def f(x: Any) -> Any:
        assert isinstance(x, np.ndarray) and isinstance(x[0], np.floating)
        assert isinstance(x[0].item(), float) and isinstance(x[0], numbers.Real)
        return scaled(x).sum() + scaled(x[1])

    assert gradient(f)(VECTOR)[1].tolist() == [2.0, 5.0]


def test_the_public_function_is_eager_here() -> None:
    assert tracejit.grad(lambda x: x * x)(3.0) == 6.0


def test_gradients_of_gradients(capsys: Any) -> None:
    value, slope = gradient(observed.second)(1.5)
    assert (value, slope) == pytest.approx((4 * 1.5**4, 16 * 1.5**3))
    assert capsys.readouterr().out == "5.0625 10.125\n"
    assert gradient(observed.confused)(3.0) == (3.0, 1.0)
    assert np.allclose(gradient(observed.inner_arrays)(VECTOR)[1], 9 * VECTOR**2)
    third = tracejit.grad(tracejit.grad(tracejit.grad(lambda x: x**4)))
    assert third(2.0) == pytest.approx(48.0)


# What can be seen on the way ---------------------------------------------------------------------


def test_print_shows_what_numpy_shows(capsys: Any) -> None:
    observed.printing(VECTOR)
    expected = capsys.readouterr().out
    gradient(observed.printing)(VECTOR)
    assert capsys.readouterr().out == expected


def test_a_breakpoint_stops_in_the_program_and_sees_numbers(monkeypatch: Any) -> None:
    seen: dict[str, Any] = {}

    def hook() -> None:
        frame = sys._getframe(1)
        seen.update(line=frame.f_lineno, file=frame.f_code.co_filename)
        seen.update({k: repr(v) for k, v in frame.f_locals.items()})

    monkeypatch.setattr(sys, "breakpointhook", hook)
    gradient(observed.stopped)(VECTOR)
    assert seen["x"] == "array([0.5, 1.5])" and seen["y"] == "array([0.25, 2.25])"
    assert seen["file"] == observed.__file__
    assert seen["line"] == observed.stopped.__code__.co_firstlineno + 2


FAILING = [
    *((observed.divided, 1.0), (observed.logarithm, 1.0), (observed.beyond, VECTOR)),
    *((f, VECTOR) for f in (observed.unlike_shapes, observed.singular, observed.raising)),
    *((f, VECTOR) for f in (observed.asserting, observed.missing)),
]


@pytest.mark.parametrize(("f", "x"), FAILING, ids=[f.__name__ for f, _ in FAILING])
def test_exceptions_are_those_of_a_plain_call(f: Any, x: Any) -> None:
    with pytest.raises(Exception) as plain:
        f(x)
    with pytest.raises(type(plain.value)) as caught:
        gradient(f)(x)
    assert type(caught.value) is type(plain.value)
    assert repr(caught.value) == repr(plain.value)
    places = [e for e in traceback.extract_tb(caught.tb) if e.filename == observed.__file__]
    assert places[-1].line is not None
    assert type(plain.value).__name__ in places[-1].line


def test_warnings_come_from_the_programs_line() -> None:
    found = []
    for f in (observed.warned, gradient(observed.warned)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            f(VECTOR)
        found.append([(str(w.message), w.category, w.filename, w.lineno) for w in caught])
    assert len(found[0]) == 2
    assert found[0] == found[1]


def test_floating_point_errors_are_raised_where_the_caller_asks_for_them() -> None:
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        gradient(observed.warned)(VECTOR)


# Effects -----------------------------------------------------------------------------------------


def both(f: Any, *args: Any) -> tuple[Any, Any]:
    """The arguments after a plain call and after a gradient; what was raised."""
    out = []
    for run in (f, gradient(f, has_aux=f is observed.returning_arguments)):
        given = copy.deepcopy(args)
        try:
            run(*given)
        except IndexError as e:
            out.append((given, repr(e)))
        else:
            out.append((given, ""))
    return out[0], out[1]


def test_what_is_stored_into_arguments_is_in_the_callers() -> None:
    args = (VECTOR, np.zeros(2), [1.0], {"k": 3 * VECTOR})
    plain, found = both(observed.mutating, *args)
    assert repr(found) == repr(plain)
    assert type(found[0][2][1]) is np.float64
    plain, found = both(observed.mutating_then_failing, VECTOR)
    assert repr(found) == repr(plain) and plain[1]


def test_an_argument_is_handed_back_itself() -> None:
    x, y = VECTOR.copy(), np.ones(2)
    (_, (same, table)), _ = gradient(observed.returning_arguments, has_aux=True)(x, y)
    assert same is y and y[0] == 0.5
    assert type(table["x"]) is np.ndarray


def test_arguments_that_share_memory_are_not_stored_into() -> None:
    x = np.ones(3)
    with pytest.raises(TypeError, match="shares memory"):
        gradient(observed.mutating, 3)(x[1:], x[:2], [1.0], 2.0)


def test_a_read_only_argument_is_not_stored_into() -> None:
    x = VECTOR.copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        gradient(observed.mutating, 1)(x, np.zeros(2), [1.0], {})


def test_what_a_run_leaves_behind_is_numbers() -> None:
    observed.SEEN.clear()
    _, slopes = gradient(observed.remembered)(VECTOR)
    assert slopes.tolist() == [8.0, 8.0]
    kept = observed.SEEN[0]
    assert float(kept[0]) == 1.0 and repr(kept + 1) == "array([2., 4.])"
    assert np.asarray(kept).tolist() == [1.0, 3.0]
    _, slopes = gradient(observed.remembered)(VECTOR)
    assert slopes.tolist() == [4.0, 4.0]


def test_a_cache_keeps_nothing_of_a_run() -> None:
    for x in (VECTOR, VECTOR, 3 * VECTOR):
        assert gradient(observed.with_cache)(x)[1].tolist() == [4 * x[0], 0.0]


# Derivatives that would be lost ------------------------------------------------------------------

LOSING = (
    observed.through_library,
    observed.stored_outside,
    observed.swallowed,
    observed.in_threads,
)


@pytest.mark.parametrize("f", [*LOSING, observed.without_rule], ids=lambda f: f.__name__)
def test_a_derivative_that_would_be_lost_is_an_error(f: Any) -> None:
    with pytest.raises(TypeError, match="the gradient cannot pass through") as caught:
        gradient(f)(VECTOR)
    assert isinstance(caught.value, LostGradient)
    assert caught.value.where is not None
    assert "# lost" in caught.value.where.source()


def test_other_code_gets_numbers_where_it_only_looks() -> None:
    seen: list[Any] = []
    gradient(observed.shown_to_library)(VECTOR, lambda *a, **k: seen.append((a, k)))
    (((x, first), named),) = seen
    assert repr(x) == "array([0.5, 1.5])" and repr(first) == "np.float64(0.5)"
    assert repr(named["value"]) == "np.float64(2.0)"


# Transforms inside -------------------------------------------------------------------------------


@pytest.mark.parametrize("f", TRANSFORMING, ids=lambda f: f.__name__)
def test_derivatives_of_programs_that_take_derivatives(f: Any) -> None:
    x = np.array([0.7, 1.3])
    value, slopes = gradient(f)(x)
    assert np.isclose(value, f(x), rtol=1e-12)
    steps = 1e-6 * np.eye(2)
    assert np.allclose(slopes, [(f(x + s) - f(x - s)) / 2e-6 for s in steps], rtol=1e-5)


def test_a_loop_of_stores_keeps_one_array() -> None:
    """The states of an array take the memory of what was stored, not of an array each."""
    count, size = 100, 100_000
    x = np.linspace(0.0, 1.0, size)
    tracemalloc.start()
    slopes = gradient(observed.filtered)(x, count)[1]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.allclose(slopes[:count], [2 - 0.5 ** (count - 1 - k) for k in range(count)])
    assert not slopes[count:].any()
    assert peak < 30 * x.nbytes
