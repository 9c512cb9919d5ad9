"""Elementary functions on arrays, by the definitions of the native code: what its results are.

    evaluate("exp", np.array([0.5, 1.0]))

These are the bits that the functions of `define` compute.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.codegen.vector_math.define import build
from tracejit.codegen.vector_math.formats import FORMATS
from tracejit.codegen.vector_math.numpy_builder import NumpyBuilder
from tracejit.codegen.vector_math.values import Float

__all__ = ["evaluate"]


def evaluate(name: str, *arguments: Any, fma: bool = False, permutes: bool = False) -> Any:
    """The result for arrays or NumPy numbers of one dtype, float64, float32 or float16.

    Halves go through float32. `fma` and `permutes` are those of `define`. Raises KeyError for
    another name or dtype.
    """
    dtype = np.result_type(*arguments)
    if dtype == np.float16:
        wide = (x.astype(np.float32) for x in arguments)
        with np.errstate(all="ignore"):
            return evaluate(name, *wide, fma=fma, permutes=permutes).astype(np.float16)
    e = NumpyBuilder(FORMATS[f"f{8 * dtype.itemsize}"], fma, permutes)
    shape = np.broadcast_shapes(*(x.shape for x in arguments))
    with np.errstate(all="ignore"):
        (result,) = build(e, name, [Float(e, x) for x in arguments])
    # A result may be one constant.
    return np.broadcast_to(result.value, shape).copy()[()]
