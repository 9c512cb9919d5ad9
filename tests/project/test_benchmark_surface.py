"""The benchmark of the surface: each native function has a call, and a wrong result no speed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks import surface
from benchmarks.__main__ import names
from benchmarks._surface_calls import CALLS, KINDS, LEFT, calls, compiled, functions, operands

ROW = "add", "np.add(x, y)", "bool", "2-D", "native"
#: Which of a matrix and a vector suit calls of so many axes.
PARTS = {None: (0, 2), 2: (0, 1), 1: (1, 2)}


def test_every_native_function_has_calls_or_a_reason() -> None:
    found = functions()
    assert "surface" in names() and len(found) > 250
    assert sorted({*CALLS, *LEFT} - {*found}) == [], "no native function"
    silent = [name for name, f in found.items() if bool(name in LEFT) == any(calls(name, f))]
    assert silent == []


@pytest.mark.filterwarnings("ignore")
def test_numpy_takes_each_call_of_some_dtype() -> None:
    refused = {}
    for name, f in functions().items():
        for text, ndim in calls(name, f):
            plain, parameters = compiled(text)
            for kind, shape in itertools.product(KINDS, [(6, 8), (40,)][slice(*PARTS[ndim])]):
                given = operands(name, kind, shape, "C")
                try:
                    plain(*(given[k] for k in parameters))
                except (TypeError, ValueError, np.linalg.LinAlgError) as e:
                    refused[text] = repr(e)
                    continue
                refused.pop(text, None)
                break
    assert refused == {}


def test_layouts_have_the_same_values() -> None:
    plain = operands("add", "float64", (6, 8), "C")["x"]
    for layout, strides in (("F", (8, 48)), ("strided", (128, 16))):
        x = operands("add", "float64", (6, 8), layout)["x"]
        assert np.array_equal(x, plain) and x.strides == strides


def test_a_wrong_result_is_not_timed() -> None:
    x = np.linspace(0, 1, 5)
    surface.agree((x, 3), (x * (1 + 1e-15), 3), "close")
    for other in (x + 1e-6, x.astype("f4"), x[:4], x.tolist()):
        with pytest.raises(AssertionError):
            surface.agree(x, other, "different")
    with pytest.raises(AssertionError):
        surface.agree(np.arange(3), np.array([0, 1, 3]), "different")


def test_exceptions_are_of_functions_and_dtypes_that_there_are() -> None:
    for name, kind in surface.EXCEPTIONS:
        assert {name, f"linalg.{name}"} & {*functions()} and kind in ("", *KINDS)
    row = surface.Row("linalg.norm", "np.linalg.norm(x)", "float32", "2-D", "native", 0.5)
    assert row.excuse.startswith("of matrices") and not surface.Row(*ROW).excuse


def test_a_part_of_the_table() -> None:
    found = list(surface.rows("add,sort", quick=True))
    assert {row.function for row in found} == {"add", "sort"}
    assert all(row.how in ("native", "host") and row.ratio > 0 for row in found)
    every = surface.run(quick=True, only="logical_not")[-1]
    assert every.title == "all calls" and len(every.rows) == 3
