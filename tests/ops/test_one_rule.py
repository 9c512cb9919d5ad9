"""No elementwise function has two rules: what computes the same has the same partials."""

import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from tests.ops.derivative_points import elementwise_names
from tracejit.errors import GraphError
from tracejit.ir.evaluate import type_of
from tracejit.ir.op import OPS
from tracejit.ops.host.derivatives.partials import ELEMENTWISE
from tracejit.ops.host.functions import find_function

#: Where functions that are not the same differ.
EDGES = np.array([-np.inf, -2.5, -1.0, -0.3, -0.0, 0.0, 0.4, 0.7, 1.0, 2.0, 3.5, np.inf, np.nan])


def _values(f: Callable[..., Any], arity: int) -> np.ndarray | None:
    """The results for all edges; None of a function that takes or gives others."""
    if arity > 2:
        return None  # no op but `select` has as many, and some take for ever at the edges
    grid = np.meshgrid(*[EDGES] * arity)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.array(f(*grid))
    except (TypeError, ValueError):
        return None
    return found if found.dtype.kind == "f" else None


def _functions() -> Iterator[tuple[str, int, np.ndarray, Any]]:
    for name in elementwise_names():
        op: Any = OPS[name]
        if name.startswith("py_"):
            continue  # of Python's numbers, by the table of the ufuncs
        arity = len(op.partials)
        with suppress(GraphError, KeyError):
            op.infer([type_of(EDGES)] * arity, {}, (), ())
            values = _values(lambda *x, op=op: op.evaluate(list(x), {})[0], arity)
            if values is not None:
                yield name, arity, values, op.partials
    for path, partials in ELEMENTWISE.items():
        values = _values(find_function(path), len(partials))
        if values is not None:
            yield path, len(partials), values, partials


FUNCTIONS = list(_functions())


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-300, equal_nan=True)


def test_functions_that_are_the_same_have_one_rule() -> None:
    # The conjugate differs for complex numbers, and the root at 0 has no slope on purpose.
    of_their_own = {"conjugate", "root_of_squares"}
    found = []
    for (name, n, x, f), (other, m, y, g) in itertools.combinations(FUNCTIONS, 2):
        if n == m and _same(x, y) and any(a is not b and a != b for a, b in zip(f, g, strict=True)):
            if of_their_own.isdisjoint((name, other)):
                found.append((name, other))
    assert found == []


@pytest.mark.parametrize("name", ["expm1", "log1p", "exp2", "cbrt", "erf"])
def test_the_sample_points_find_a_function_again(name: str) -> None:
    by_name = {name: values for name, _, values, _ in FUNCTIONS}
    assert _same(by_name[name], by_name[f"scipy.special:{name}"])
