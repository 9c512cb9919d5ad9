"""Running sums and products as the array standard spells them, and without NaNs, on tracers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray
from tracejit.frontend.numpy.creation import filled
from tracejit.frontend.numpy.join import concatenate
from tracejit.frontend.numpy.outputs import accepts_out
from tracejit.frontend.numpy.registry import HANDLERS, handles, only
from tracejit.frontend.numpy.selection import where
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.tracer import user_line

__all__: list[str] = []


def _standard(name: str, running: Any, identity: int) -> Any:
    def run(
        x: Any,
        /,
        *,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: Any = False,
    ) -> Any:
        v = asarray(x)
        v = v if v.ndim else v.reshape(1)
        if axis is None:
            if v.ndim > 1:
                text = "For arrays which have more than one dimension ``axis`` argument is required"
                raise ValueError(f"{text}.")
            axis = 0
        if include_initial and out is not None:
            only(f"np.{name} with include_initial=True", out=out)
        found = HANDLERS[running](v, axis=axis, dtype=dtype, out=out)
        if not include_initial:
            return found
        axis = normalize_axis_index(axis, v.ndim)
        shape = tuple(1 if k == axis else d for k, d in enumerate(v.type.shape))
        return concatenate([filled(shape, identity, found.dtype), found], axis=axis)

    return run


def _without_nan(name: str, running: Any, identity: int) -> Any:
    @accepts_out(f"np.{name}")
    def run(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x = asarray(a)
        if x.dtype == np.float16:
            raise TraceError("TJ004", f"np.{name} of float16", user_line())
        if x.dtype.kind in "fc":
            x = asarray(where(elementwise(np.isnan, (x,)), x.dtype.type(identity), x))
        return HANDLERS[running](x, axis=axis, dtype=dtype)

    return run


if hasattr(np, "cumulative_sum"):
    handles(np.cumulative_sum)(_standard("cumulative_sum", np.cumsum, 0))
    handles(np.cumulative_prod)(_standard("cumulative_prod", np.cumprod, 1))
handles(np.nancumsum)(_without_nan("nancumsum", np.cumsum, 0))
handles(np.nancumprod)(_without_nan("nancumprod", np.cumprod, 1))
