"""Texts and bytes in functions whose derivative is taken: shown freely, never numbers again."""

from __future__ import annotations

import decimal
import fractions
import json
import pickle
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.frontend.tracing.concrete_trace import LostGradient

VECTOR = np.array([1.5, 2.5, 3.0])


def by_parts(x: Any) -> Any:
    whole, rest = str(x[0]).split(".")
    return (int(whole) + float("0." + rest)) * x[1]


def by_lines(x: Any) -> Any:
    return sum(float(part) for part in str(x)[1:-1].split())


def stored(x: Any) -> Any:
    y = np.full(3, 1.5)
    y[0] = str(x[0])
    return (y * x).sum()


def all_stored(x: Any) -> Any:
    y = np.zeros(3)
    y[:] = [str(v) for v in x]
    return (y * x).sum()


LOSING: tuple[Callable[[Any], Any], ...] = (
    *(by_parts, by_lines, stored, all_stored),
    lambda x: np.float64(str(x[0])) * x[1],
    lambda x: float(f"{x[0]}") * x[1],
    lambda x: float(f"0{x[0]:.2f}") * x[1],
    lambda x: complex(str(x[0])).real * x[1],
    lambda x: float("%.17g" % x[0]) * x[1],  # noqa: UP031
    lambda x: float("{}{}".format("1", x[0])) * x[1],
    lambda x: float(format(x[0], ".3f").strip()[:3]) * x[1],
    lambda x: float(b"1" + str(x[0]).encode()) * x[1],
    lambda x: next(map(float, [repr(x.tolist()[0])])) * x[1],
    lambda x: float.fromhex(x.tolist()[0].hex()) * x[1],
    lambda x: float(decimal.Decimal(str(x[0]))) * x[1],
    lambda x: float(fractions.Fraction(str(x[0]))) * x[1],
    lambda x: np.array([str(v) for v in x]).astype(float).sum(),
    lambda x: x.astype(str).astype(float).sum(),
    lambda x: np.fromstring(",".join(str(v) for v in x), sep=",").sum(),
    lambda x: float(np.array2string(x[0])) * x[1],
    lambda x: np.array(json.loads(json.dumps(x.tolist()))).sum(),
    lambda x: pickle.loads(pickle.dumps(x)).sum(),
    lambda x: struct.unpack("d", struct.pack("d", x[0]))[0] * x[1],
    lambda x: np.frombuffer(x.tobytes()).sum(),
    lambda x: np.frombuffer(memoryview(x)).sum(),
    lambda x: np.frombuffer(bytearray(x.tobytes())).sum(),
    lambda x: x.view(np.int64).view(np.float64).sum(),
)


@pytest.mark.parametrize("f", LOSING, ids=range(len(LOSING)))
def test_a_text_that_becomes_a_number_loses_a_derivative(f: Any) -> None:
    for run in (tracejit.grad(f), tracejit.jit(tracejit.grad(f))):
        x = VECTOR.copy()
        with pytest.raises(LostGradient, match="the gradient cannot pass through") as caught:
            run(x)
        assert caught.value.where is not None and caught.value.where.file == __file__
        np.testing.assert_array_equal(x, VECTOR)
    with tracejit.eager(), pytest.raises(LostGradient):
        tracejit.grad(f)(x)
    assert np.isfinite(f(VECTOR))


class Named:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __format__(self, spec: str) -> str:
        return "<" + format(self.value, spec) + ">"


def shown(x: Any, log: list[Any]) -> Any:
    s = str(x[0])
    log.append(f"{s:>{6}}|{x[1]!r:>16}|{Named(x[2]):.2f}|{'a'}")
    log.append("%s %5.1f" % (x[0], x[1]) + s * 2 + "q" + s)  # noqa: UP031
    log.append(f"{s!r} {x[1]}")
    log += [",".join([s, "b"]), s.encode(), x.tobytes(), [*s], s.upper().partition(".")]
    log += [type(s) is str, isinstance(s, str), s == "1.5", {s: 1}["1.5"], s in {"1.5"}]
    log += ["1" in s, s < "2", len(s), hash(s) == hash("1.5"), s is s, s.isdigit(), s[::2]]
    memo = {x.tobytes(): 2.0, s: float("3.5")}
    try:
        raise ValueError(f"bad {x[0]}")
    except ValueError as e:
        log.append(str(e))
    return (x**2).sum() * memo[x.tobytes()] * memo[s] * int(s[0]), {"name": f"x{s}"}


def test_texts_are_those_of_a_plain_call() -> None:
    expected: list[Any] = []
    value, aux = shown(VECTOR, expected)
    for context in (tracejit.eager, None):
        log: list[Any] = []
        run = tracejit.value_and_grad(shown, has_aux=True)
        if context is None:
            (found, other), slopes = run(VECTOR, log)
        else:
            with context():
                (found, other), slopes = run(VECTOR, log)
        assert found == value and other == aux and log == expected
        assert type(other["name"]) is str
        assert repr(pickle.loads(pickle.dumps(log))) == repr(expected)
        np.testing.assert_allclose(slopes, 14 * VECTOR)


def test_after_the_run_texts_are_texts() -> None:
    log: list[Any] = []

    def f(x: Any) -> Any:
        log.append(str(x[0]))
        return (x**2).sum()

    def g(x: Any) -> Any:
        return float(log[0]) * x.sum()

    with tracejit.eager():
        tracejit.grad(f)(VECTOR)
        assert float(log[0]) == np.float64(log[0]) == 1.5
        np.testing.assert_array_equal(tracejit.grad(g)(VECTOR), np.full(3, 1.5))


def test_texts_of_an_outer_derivative() -> None:
    def f(x: Any) -> Any:
        s = f"{x[0]}"
        return (tracejit.grad(lambda y: (y**2).sum() * float(s))(x) * x).sum()

    def g(x: Any) -> Any:
        return (tracejit.grad(lambda y: (y**2).sum() * float("3.5"))(x) * x).sum()

    with pytest.raises(LostGradient, match=r"float\(s\)"):
        tracejit.grad(f)(VECTOR)
    np.testing.assert_allclose(tracejit.grad(g)(VECTOR), 14 * VECTOR)
