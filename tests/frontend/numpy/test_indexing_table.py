"""Every form of an index, read, stored into and updated in place, against NumPy.

The functions are made from the table's texts, as files that the source of a function can be read
from. Each is tried on C and Fortran order, on strided memory and on memory that runs backwards, on
an argument and on an array made inside.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity

#: Name -> index of a 4 by 5 array; i, j are arrays of integers, k is a NumPy integer, n an int.
FORMS = {
    "int": "1",
    "negative": "-2",
    "two ints": "1, 2",
    "numpy int": "np.int64(1)",
    "traced numpy int": "k",
    "negative traced": "-k",
    "two traced": "k, k",
    "traced and slice": "k, 1:",
    "slice": "1:3",
    "beyond the end": "1:100",
    "empty slice": "1:1",
    "strided": "1:, ::2",
    "backwards": "::-1",
    "backwards strided": "3:0:-2, ::-1",
    "slice object": "slice(1, 3), 0",
    "argument as bound": "n:, :n",
    "ellipsis": "...",
    "ellipsis and int": "..., 1",
    "ellipsis and new axis": "None, ..., None",
    "new axis": "None, 1",
    "new axis inside": ":, None, 2",
    "empty tuple": "()",
    "a tuple": "(1, 2)",
    "list": "[0, 2]",
    "repeated list": "[0, 2, 0]",
    "empty list": "[]",
    "range": "range(2)",
    "two lists": "[0, 2], [1, 3]",
    "broadcast lists": "[[0], [2]], [1, 3]",
    "slice and list": "1:, [0, 2]",
    "list and slice": "[0, 2], 1:3",
    "list and int": "[0, 2], 1",
    "int and list": "1, [0, 3]",
    "array": "i",
    "negative array": "-i",
    "two arrays": "i, j",
    "broadcast arrays": "i[:, None], j",
    "array and slice": "i, 1:3",
    "array and new axis": "i, None",
    "ellipsis and array": "..., i",
    "unsigned array": "i.astype(np.uint8)",
    "narrow array": "i.astype(np.int32), 1",
    "matrix": "np.array([[0, 1], [2, 3]])",
    "arange": "np.arange(3)",
    "diagonal": "np.arange(3), np.arange(3)",
    "0-d array": "np.array(1)",
    "grid": "np.ix_([0, 2], [1, 3])",
    "too large": "7",
    "too large traced": "k + 5",
    "too large in a list": "[0, 9]",
    "too large in an array": "i + 9",
    "too many": "1, 2, 3",
    "two ellipses": "..., ...",
    "float": "1.0",
    "float array": "np.array([1.0])",
    "text": "'x'",
}

#: What is done with `a[index]`.
OPERATIONS = {
    "read": "return a[{0}]",
    "store": "a[{0}] = 7",
    "store a number": "a[{0}] = x",
    "store itself": "a[{0}] = a[{0}] * 2",
    "add": "a[{0}] += 2",
    "divide": "a[{0}] /= x",
    "power": "a[{0}] **= 2",
}

#: Forms that run eagerly.
EAGER: frozenset[str] = frozenset()

_ARRAY = np.arange(1.0, 21.0).reshape(4, 5)


def _layouts() -> dict[str, np.ndarray]:
    apart = np.zeros((8, 10))[::2, ::2]
    apart[...] = _ARRAY
    back = _ARRAY[::-1, ::-1].copy()[::-1, ::-1]
    return {"C": _ARRAY.copy(), "F": np.asfortranarray(_ARRAY), "strided": apart, "back": back}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, bool], Any]:
    """(form, operation, made inside) -> the function."""
    lines, names = ["import numpy as np", ""], {}
    for f, index in FORMS.items():
        for o, text in OPERATIONS.items():
            for made in (False, True):
                name = f"f{len(names)}"
                names[f, o, made] = name
                lines.append(f"def {name}(a, i, j, k, n, x):")
                lines += ["    a = a * 1"] if made else []
                lines.append("    " + text.format(index))
                lines += ["    return a", ""] if made and o != "read" else [""]
    path = Path(tmp_path_factory.mktemp("table")) / "table.py"
    path.write_text("\n".join(lines))
    spec = importlib.util.spec_from_file_location("indexing_table", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {key: getattr(module, name) for key, name in names.items()}


@pytest.mark.sampled(144, kind=lambda operation, **_: operation)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("form", FORMS)
def test_an_index_does_what_it_does_in_numpy(
    form: str, operation: str, programs: dict[tuple[str, str, bool], Callable[..., Any]]
) -> None:
    rest = (np.array([0, 2, 0]), np.array([1, 3, 4]), np.int64(2), 3, 2.5)
    for made in (False, True):
        jitted = tracejit.jit(programs[form, operation, made])
        raised = False
        for layout, a in _layouts().items():
            if made and layout not in ("C", "F"):
                continue
            plain = programs[form, operation, made]
            assert_parity(plain, a, *rest, jitted=jitted, check_alias=True)
            try:
                plain(a.copy(), *rest)
            except Exception:
                raised = True
        eager = bool(jitted.report().fallbacks)
        # What always raises is left to NumPy.
        assert eager == (form in EAGER) or raised, jitted.report()


DTYPES = ("bool", "int8", "int64", "uint8", "float32", "float64", "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "value", [True, 3, 2.5, np.float32(1.5), np.int16(4)], ids=lambda v: type(v).__name__
)
def test_a_stored_number_is_converted_as_in_numpy(dtype: str, value: Any) -> None:
    def store(a: Any, v: Any) -> Any:
        a[1] = v
        a[2:4] = v
        a[[5, 6]] = v
        return a

    assert_parity(store, np.zeros(8, dtype), value)


def test_sequences_are_stored_element_by_element() -> None:
    def store(a: Any) -> None:
        a[0, 1:3] = [1, 2]
        a[1:3, :2] = [[1, 2], [3, 4.5]]
        a[3] = (9, 8, 7, 6, 5)
        a[[0, 1], [3, 4]] = [a[0, 0], 3]

    assert_parity(store, _ARRAY, jitted=tracejit.jit(strict=True)(store))

    def too_long(a: Any) -> None:
        a[0, 1:3] = [1, 2, 3]

    assert_parity(too_long, _ARRAY)


def test_a_complex_value_for_a_real_array_is_left_to_numpy() -> None:
    def one(a: Any, z: Any) -> None:
        a[0] = z

    assert_parity(one, np.zeros(3), 1j)
    assert_parity(one, np.zeros(3), np.complex128(1j))

    def many(a: Any, z: Any) -> None:
        a[:] = z

    assert_parity(many, np.zeros(3), np.ones(3) * 1j)
