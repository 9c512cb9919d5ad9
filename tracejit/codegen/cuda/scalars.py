"""Scalar functions of the Kernel IR as statements of Python: for Numba-CUDA, and for execution.

    ScalarPrinter(lines, fresh).call("floor_divide", ("x", "y"), ("i32", "i32"), "i32")

The statements are those that the LLVM code has, instruction by instruction; a name "fn_exp" stands
for one of the functions of `device_functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracejit.codegen.cuda.python_lanes import PythonLanes, literal_text
from tracejit.codegen.scalar import functions

__all__ = ["ScalarPrinter", "supports"]


def supports(fn: str, dtypes: Sequence[str]) -> bool:
    """Whether `ScalarPrinter.call` prints a function on arguments of these dtypes."""
    return fn != "wrap_index" and functions.supports(fn, dtypes)


class ScalarPrinter:
    """Appends statements without indentation to `lines`; `fresh` gives names that are not in use.

    Operands are source text: a name, or an expression that can be repeated. They have exactly the
    type of their dtype; an f16 is a float32, a b1 a truth value.
    """

    def __init__(self, lines: list[str], fresh: Callable[[], str]) -> None:
        self._lanes = PythonLanes(lines, fresh)

    def const(self, value: bool | int | float, dtype: str) -> str:
        """A literal: "float32(0.5)", "int64(3)", "True"."""
        return literal_text(value, dtype)

    def call(self, fn: str, args: Sequence[str], dtypes: Sequence[str], dtype: str) -> str:
        """Print a function; the text of its result, of type `dtype`.

        Raises NotImplementedError for a function that `supports` denies.
        """
        if not supports(fn, dtypes):
            raise NotImplementedError(f"scalar function {fn} on {', '.join(dtypes)}")
        s = self._lanes
        operands = [s.given(a, d) for a, d in zip(args, dtypes, strict=True)]
        if fn.endswith("_overflows"):
            texts = ", ".join(s.operand(a, d) for a, d in zip(operands, dtypes, strict=True))
            return s.put(f"fn_{fn}({texts})", "b1")
        return s.operand(functions.emit_call(s, fn, operands, dtypes, dtype), dtype)
