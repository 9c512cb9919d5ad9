"""exp, log, sin, cos, tanh, erf in vectors: greatest error in ULP, and speed beside NumPy's."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import scipy.special

from tracejit.codegen.llvm import engine
from tracejit.codegen.vector_math.define import define, symbol

from .harness import Contender, Table, compare
from .vector_math_sweep import DTYPES, NAMES, Floats, points, reference, ulp_errors

SIZE = 16_384
#: What the speed is measured on: arguments that programs have.
RANGES = {
    "exp": (-20.0, 20.0),
    "log": (1e-3, 100.0),
    "sin": (-100.0, 100.0),
    "cos": (-100.0, 100.0),
    "tanh": (-4.0, 4.0),
    "erf": (-3.0, 3.0),
}
ULP_BOUNDS = dict.fromkeys(NAMES, 1.0) | {"erf": 1.25}
SPEED_BOUNDS = {"exp": 0.7, "log": 0.7, "sin": 3.0, "cos": 3.0, "erf": 3.0}


#: One register of the host is a vector, or two are.
HEADS = ("numpy", "one register", "two registers")


class Applied:
    """A vector function applied to all of `x`; calling this fills `y`."""

    def __init__(self, name: str, x: Floats, width: int, fma: bool) -> None:
        self.x, self.y = x, np.empty_like(x)
        dtype = {8: "f64", 4: "f32"}[x.itemsize]
        element = {8: "double", 4: "float"}[x.itemsize]
        vector, own = f"<{width} x {element}>", symbol(name, dtype, width)
        definition = define(name, dtype, width, fma)
        # Addresses in the code: a call then costs ctypes nothing for arguments.
        loop = f"""
define void @apply() {{
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %source = getelementptr {element}, ptr inttoptr (i64 {x.ctypes.data} to ptr), i64 %i
  %target = getelementptr {element}, ptr inttoptr (i64 {self.y.ctypes.data} to ptr), i64 %i
  %a = load {vector}, ptr %source, align {x.itemsize}
  %b = call {vector} @{own}({vector} %a)
  store {vector} %b, ptr %target, align {x.itemsize}
  %next = add i64 %i, {width}
  %more = icmp ult i64 %next, {x.size}
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""
        text = "\n".join([*definition.all_declarations(), *definition.everything().values(), loop])
        self.library = engine.compile_module(text, {}, ["apply"], simplifycfg=False)
        self.call: Any = ctypes.CFUNCTYPE(None)(self.library.address("apply"))


def numpys(name: str) -> Any:
    return scipy.special.erf if name == "erf" else getattr(np, name)


def errors(count: int) -> Table:
    """Greatest error over about `count` points of each function and float width."""
    rows: list[dict[str, str | float | int]] = []
    table = Table(f"error in ULP against mpmath, {count:,} points each", rows)
    for dtype in DTYPES:
        for name in NAMES:
            x = points(name, dtype, count)
            x = x[: x.size // 16 * 16]
            head, rest = reference(name, x)
            row: dict[str, str | float | int] = {"": f"{name} {dtype}", "points": x.size}
            for form, fma in (("fma", True), ("no fma", False)):
                applied = Applied(name, x, 8, fma)
                applied.call()
                found = ulp_errors(applied.y, head, rest)
                worst = int(np.argmax(found))
                row[form] = error = float(found[worst])
                row[f"{form} at"] = f"{x[worst]:.9g}"
                table.require(f"{name} {dtype}, {form}", error, at_most=ULP_BOUNDS[name])
            with np.errstate(all="ignore"):
                row["numpy"] = float(ulp_errors(numpys(name)(x), head, rest).max())
            rows.append(row)
    table.notes.append("numpy: NumPy's function, for erf SciPy's")
    return table


def speeds(rounds: int) -> Table:
    """ns an element beside NumPy, at one and two registers of the host a call."""
    target = engine.host_target()
    rows: list[dict[str, str | float | int]] = []
    table = Table(f"ns an element, {SIZE:,} elements in cache", rows)
    random = np.random.default_rng(3)
    for dtype, kind in DTYPES.items():
        lanes = target.vector_bits // (8 * np.dtype(kind).itemsize)
        for name in NAMES:
            x = random.uniform(*RANGES[name], SIZE).astype(kind)
            names = {"f": numpys(name), "x": x, "y": np.empty_like(x)}
            contenders = [Contender("numpy", "f(x, out=y)", names)]
            for width in (lanes, 2 * lanes):
                applied = Applied(name, x, width, target.has_fma)
                bound = {"call": applied.call, "y": applied.y, "keep": applied}
                contenders.append(Contender(f"width {width}", "call() or y", bound))
            tolerance = 1e-12 if dtype == "f64" else 1e-5
            _, times = compare(
                name, contenders, rounds=rounds, rtol=tolerance, atol=tolerance / 1000
            )
            cpu = {contender: timing.cpu for contender, timing in times.items()}
            row: dict[str, str | float | int] = {"": f"{name} {dtype}"}
            for seconds, head in zip(cpu.values(), HEADS, strict=True):
                row[head] = seconds / SIZE * 1e9
                row[f"{head}: times numpy"] = cpu["numpy"] / seconds
            del row["numpy: times numpy"]
            if name in SPEED_BOUNDS and (dtype == "f64" or name in ("exp", "log")):
                ratio = cpu["numpy"] / cpu[f"width {2 * lanes}"]
                table.require(f"{name} {dtype} over numpy", ratio, at_least=SPEED_BOUNDS[name])
            rows.append(row)
    return table


def run(quick: bool) -> list[Table]:
    return [errors(2_000 if quick else 100_000), speeds(5 if quick else 31)]
