"""A third emitter: definitions printed as Python on single numbers, the form of a CUDA kernel.

It is short, and what it prints has the bits of the other two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.native_kernels import same_bits
from tracejit.codegen.cuda.python_builder import printed
from tracejit.codegen.cuda.simulated_functions import simulated_function
from tracejit.codegen.vector_math.define import ARITY
from tracejit.codegen.vector_math.evaluate import evaluate
from tracejit.codegen.vector_math.formats import FORMATS


def points(dtype: str) -> Any:
    draw = np.random.default_rng(4)
    special = [0.0, 1.0, 0.5, 6.5, 170.0, 1e4, 1e22, 1e-40, np.inf, np.nan]
    usual = [draw.uniform(-1, 1, 20), draw.uniform(-9, 9, 20), draw.uniform(-180, 180, 20)]
    kind = np.float64 if dtype == "f64" else np.float32
    return np.concatenate([*usual, special, np.negative(special)]).astype(kind)


@pytest.mark.sampled(72, kind=lambda name, **_: name)
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", sorted(ARITY))
def test_the_print_has_the_same_bits(name: str, dtype: str, fused: bool) -> None:
    function = simulated_function(printed(name, dtype, fused))
    x = points(dtype)
    columns = (x, np.random.default_rng(5).permutation(x))[: ARITY[name]]
    with np.errstate(all="ignore"):
        got = np.array([function(*row) for row in zip(*columns, strict=True)])
    assert same_bits(got, evaluate(name, *columns, fma=fused))


def test_a_print() -> None:
    text = printed("exp2", "f32", fma=True).source.splitlines()
    assert text[:4] == [
        "def function(x):",
        "    v0 = fn_fma(x, float32(16.0), float32(12582912.0))",
        "    v1 = v0 - float32(12582912.0)",
        "    v2 = uint32(fn_bits(v0))",
    ]
    start = next(k for k, line in enumerate(text) if line.startswith("    if "))
    assert text[-1].startswith("    return ") and text[start + 1].startswith("        v")
