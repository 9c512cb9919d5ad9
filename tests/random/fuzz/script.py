"""Prints a case as a Python script that needs nothing but NumPy, SciPy and tracejit."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.random.fuzz.generate import Case

TEMPLATE = '''"""{reason}"""

import numpy as np
from scipy.special import erf

import tracejit


{source}

jitted = tracejit.jit(f)
{calls}
print(jitted.report())
'''

CALL = """
{arguments}
for name, function in (("plain", f), ("compiled", jitted)):
    try:
        print(name, repr(function({names})))
    except Exception as error:
        print(name, repr(error))
"""


def script(case: Case, reason: str) -> str:
    """The text of a script that shows plain and compiled results of each call."""
    calls = []
    for call in case.calls:
        args = call.arguments(case.program)
        names = [f"a{i}" for i in range(len(args))]
        lines = [f"{name} = {literal(arg)}" for name, arg in zip(names, args, strict=True)]
        calls.append(CALL.format(arguments="\n".join(lines), names=", ".join(names)))
    reason = reason.replace("\\", "/").replace('"', "'")
    source = case.program.source()
    if "erf" not in source:
        template = TEMPLATE.replace("from scipy.special import erf\n", "")
    else:
        template = TEMPLATE
    return template.format(reason=reason, source=source, calls="".join(calls))


def literal(value: Any) -> str:
    """An expression for a value: arrays by their bytes and strides, exactly."""
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, tuple):
        return "(" + "".join(literal(x) + ", " for x in value) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, np.ndarray):
        return array_literal(value)
    if isinstance(value, np.generic):
        return f"{array_literal(np.asarray(value))}[()]"
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    return f"float('{value}')" if isinstance(value, float) else repr(value)


def array_literal(array: np.ndarray) -> str:
    """An expression that rebuilds an array, its strides, offset and writeability."""
    if not array.size:
        return f"np.zeros({array.shape}, '{array.dtype.str}')"
    low, high = np.lib.array_utils.byte_bounds(array)
    offset = array.__array_interface__["data"][0] - low
    memory = np.zeros(high - low, np.uint8)
    np.ndarray(array.shape, array.dtype, memory, offset, array.strides)[...] = array
    kind = "bytearray" if array.flags.writeable else "bytes"
    return (
        f"np.ndarray({array.shape}, '{array.dtype.str}', "
        f"{kind}.fromhex('{memory.tobytes().hex()}'), {offset}, {array.strides})"
    )
