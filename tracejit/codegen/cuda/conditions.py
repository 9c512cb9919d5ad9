"""The kernels that tell conditional nodes of a CUDA graph whether their bodies are to run.

A body runs while its condition is not 0 (WHILE), or once if it is not (IF). Kernels set conditions:
no other way leads from a value on the device to one.
"""

from __future__ import annotations

from tracejit.codegen.cuda.launches import Launch, Shape

__all__ = ["CONDITIONS", "begin", "branch", "loop"]

#: The function of the device that sets a condition.
CONDITIONS = "cudaGraphSetConditional"
_SHAPE = Shape("map", 1)


def begin() -> Launch:
    """Let a loop evaluate its condition for the first time."""
    source = "def begin(again):\n    fn_set_condition(again, True)\n"
    return Launch("begin", source, ("u64",), (), _SHAPE)


def loop(flagged: bool) -> Launch:
    """Whether a loop goes on, and its body runs; not once a check has failed."""
    also = " and _flag[0] == 0" if flagged else ""
    source = (
        f"def again(value{', _flag' if flagged else ''}, again, body):\n"
        f"    holds = value[0] != 0{also}\n"
        "    fn_set_condition(again, holds)\n"
        "    fn_set_condition(body, holds)\n"
    )
    given = ("b1*", *(("i32*",) if flagged else ()), "u64", "u64")
    return Launch("again", source, given, (), _SHAPE)


def branch() -> Launch:
    """Which side of a branch runs."""
    source = (
        "def branch(value, then, orelse):\n"
        "    holds = value[0] != 0\n"
        "    fn_set_condition(then, holds)\n"
        "    fn_set_condition(orelse, not holds)\n"
    )
    return Launch("branch", source, ("b1*", "u64", "u64"), (), _SHAPE)
