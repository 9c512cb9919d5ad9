"""The table of functions of Python that traced programs call, imported for the first of them."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from tracejit.base.late_table import LateTable
from tracejit.frontend.tracing.instances import FROM_OUTSIDE

__all__ = ["CALLS"]

#: Callee -> what a call of it does: (interpreter, *args, **kwargs) -> result.
CALLS: LateTable[Any, Callable[..., Any]] = LateTable()
CALLS.announce("calls")
# All functions of these modules are known, and newer versions of Python have more of them.
_MATH = " ".join({*vars(math), *vars(cmath)})
FROM_OUTSIDE.later("poly1d vectorize", "tracejit.frontend.python.library_objects", "FROM_OUTSIDE")
CALLS.later(_MATH, "tracejit.frontend.python.by_numpy", "MATH_CALLS")
