"""Odd arguments: the outcome is that of NumPy and Python, and the compiler itself does not fail.

That it does not is checked after every test (`conftest.py`).
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import tracejit
from tests.frontend.numpy.odd_arguments import ARGUMENTS, TEXTS, module_text, names_in
from tests.random.control_search import load
from tests.support.compare import assert_same_outcome, run


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    module = load(module_text(), str(tmp_path_factory.mktemp("odd")))
    yield module
    del sys.modules[module.__name__]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", range(len(TEXTS)), ids=TEXTS)
def test_outcome(k: int, functions: Any) -> None:
    f = getattr(functions, f"f{k}")
    args = tuple(copy.deepcopy(ARGUMENTS[name]) for name in names_in(TEXTS[k]))
    jitted = tracejit.jit(f)
    expected = run(f, args)
    for _ in range(2):
        assert_same_outcome(expected, run(jitted, args), parity="order", ulp=64.0)
