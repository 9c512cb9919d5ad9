"""Functions that NumPy has as compiled code, in Python: they are traced as its source is."""

from __future__ import annotations

from typing import Any

from tracejit.frontend.interpreter.library_parts import INSIDE, WHOLE

__all__ = ["LOOPS", "WITHIN"]

#: What stands for these functions inside NumPy's own.
WITHIN: dict[Any, Any] = {**INSIDE}
#: A function of NumPy -> the Python function that is traced for it.
LOOPS: dict[Any, Any] = {**WHOLE}
