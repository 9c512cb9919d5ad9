"""The table of functions of Python that traced programs call, imported for the first of them."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from tracejit.frontend.python.index import CALLS_OF
from tracejit.late_table import LateTable

__all__ = ["CALLS"]

#: Callee -> what a call of it does: (interpreter, *args, **kwargs) -> result.
CALLS: LateTable[Any, Callable[..., Any]] = LateTable()
for _module, _names in CALLS_OF.items():
    CALLS.later(_names, f"tracejit.frontend.python.{_module}", "CALLS")
# All functions of these modules are known, and newer versions of Python have more of them.
CALLS.later(" ".join({*vars(math), *vars(cmath)}), "tracejit.frontend.python.builtins", "CALLS")
