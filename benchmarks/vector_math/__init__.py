"""Elementary functions on vectors: one jitted call beside NumPy's own, and beside JAX and Numba.

A call is `def f(x): return np.exp(x)` on 1e3, 1e5 and 1e7 numbers, and makes its result's array,
as NumPy's does. Their errors are `python -m benchmarks.vector_math.errors`.
"""

from __future__ import annotations

import linecache
import math
import statistics
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

import tracejit
from tracejit.codegen.vector_math.define import ARITY

from ..harness import Contender, Table, absent, check, measure, peer
from .contenders import Array, jaxs
from .sweep import DTYPES

SIZES = (1_000, 100_000, 10_000_000)
#: The size that is required to be no slower than NumPy.
JUDGED = 100_000
#: What the speed is measured on: arguments that programs have. Others are given 0.1 to 10.
RANGES = {
    **dict.fromkeys(("exp", "exp2"), (-20.0, 20.0)),
    **dict.fromkeys(("expm1", "sinh", "cosh", "expit", "log_expit"), (-5.0, 5.0)),
    **dict.fromkeys(("log", "log2", "log10"), (1e-3, 100.0)),
    **dict.fromkeys(("sin", "cos", "tan", "cbrt"), (-100.0, 100.0)),
    **dict.fromkeys(("arcsin", "arccos", "arctanh", "erfinv"), (-0.999, 0.999)),
    **dict.fromkeys(("arctan", "arctan2", "arcsinh", "hypot"), (-10.0, 10.0)),
    **dict.fromkeys(("tanh", "erf", "ndtr", "log_ndtr"), (-4.0, 4.0)),
    **dict.fromkeys(("logit", "ndtri"), (0.001, 0.999)),
    **dict.fromkeys(("i0", "i1", "i0e", "i1e", "j0", "j1"), (-15.0, 15.0)),
    **dict.fromkeys(("y0", "y1"), (0.01, 15.0)),
    "arccosh": (1.0, 10.0),
    "erfc": (-3.0, 6.0),
    "erfcinv": (0.001, 1.999),
    "log1p": (-0.9, 10.0),
}
#: Where 0.9 of NumPy's speed is enough at `JUDGED`, and why.
REASONS: dict[str, str] = {
    "expm1 f32": "(level with Intel's SVML, 0.94 to 1.17 by run)",
    "tan f32": "(Intel's SVML, within 4 ULP, carries no rounding error of the remainder)",
}
#: Numba knows these by Python's names for them.
_NUMBA = {"erf": "math.erf", "erfc": "math.erfc", "gamma": "math.gamma", "gammaln": "math.lgamma"}


def defined(text: str, parameters: str, **names: Any) -> Callable[..., Any]:
    """`def f(parameters): text`, with a source that can be found."""
    source = f"def f({parameters}):\n{text}"
    file = f"<vector_math {text.strip()}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np, "sp": scipy.special, "math": math, **names}
    exec(compile(source, file, "exec"), space)
    return space["f"]  # type: ignore[no-any-return]


def operands(name: str, kind: Any, size: int) -> list[Array]:
    draw = np.random.default_rng(3)
    low, high = RANGES.get(name, (0.1, 10.0))
    if ARITY[name] == 1:
        return [draw.uniform(low, high, size).astype(kind)]
    return [draw.uniform(low, high, size).astype(kind), draw.uniform(0.1, 5.0, size).astype(kind)]


def functions(name: str) -> dict[str, Callable[..., Any]]:
    """NumPy's call first, then ours, JAX's and Numba's, as far as they have the function."""
    given = ", ".join("xy"[: ARITY[name]])
    module = "np" if hasattr(np, name) else "sp"
    plain = defined(f"    return {module}.{name}({given})\n", given)
    found: dict[str, Any] = {"numpy": plain, "ours": tracejit.jit(plain)}
    jax, numba = peer("jax"), peer("numba")
    if jax is not None and (function := jaxs(name)):
        found["jax"] = jax.jit(function)
    text = f"np.{name}" if module == "np" and name != "i0" else _NUMBA.get(name)
    if numba is not None and text is not None:
        element = ", ".join(f"{k}[i]" for k in given.split(", "))
        body = "    out = np.empty_like(x)\n    for i in range(x.size):\n"
        body += f"        out[i] = {text}({element})\n    return out\n"
        found["numba"] = numba.njit(defined(body, given))
    return found


def rows(name: str, dtype: str, sizes: tuple[int, ...], rounds: int) -> Iterator[dict[str, Any]]:
    """A row for each size."""
    entrants = functions(name)
    for size in sizes:
        bound: dict[str, Any] = dict(zip("xy", operands(name, DTYPES[dtype], size), strict=False))
        call = f"f({', '.join(bound)})"
        contenders = [Contender(k, call, bound | {"f": f}) for k, f in entrants.items()]
        for k, contender in enumerate(contenders):
            if contender.name == "jax":
                there = {n: peer("jax").numpy.asarray(v) for n, v in bound.items()}  # type: ignore[union-attr]
                names = there | {"f": entrants["jax"]}
                contenders[k] = Contender("jax", f"{call}.block_until_ready()", names)
        tolerance = 1e-12 if dtype == "f64" else 1e-5
        # JAX's special functions are good to fewer digits.
        check(contenders[:2], tolerance, tolerance / 100)
        turns = rounds if size <= JUDGED else -(-rounds // 3)
        times = measure(contenders, turns, batch=0.004)
        base = times["numpy"].cpu
        row: dict[str, Any] = {"": f"{name} {dtype}", "size": size}
        row["numpy, ns an element"] = base / size * 1e9
        row["times numpy"] = base / times["ours"].cpu
        yield row | {f"{k}: times numpy": base / v.cpu for k, v in list(times.items())[2:]}


def svml() -> str:
    """Whether Numba calls Intel's vector functions."""
    numba = peer("numba")
    if numba is None:
        return ""
    return f"Numba {'with' if numba.config.USING_SVML else 'without'} SVML"


def run(quick: bool, only: str = "") -> list[Table]:
    """A row for each function, dtype and size; `only` names functions."""
    names = only.split(",") if only else list(ARITY)
    table = Table("NumPy's CPU time over that of one call", [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            for dtype in DTYPES:
                sizes = (JUDGED,) if quick else SIZES
                table.rows += rows(name, dtype, sizes, 3 if quick else 9)
    judged = {str(r[""]): float(r["times numpy"]) for r in table.rows if r["size"] == JUDGED}
    for what, ratio in judged.items():
        why = REASONS.get(what)
        table.require(f"{what} {why or ''}".strip(), ratio, at_least=0.9 if why else 1.0)
    table.require("geometric mean", statistics.geometric_mean(judged.values()), at_least=1.2)
    table.notes.append("numpy: SciPy's function where NumPy has none")
    table.notes += [*absent("jax", "numba"), *filter(None, [svml()])]
    return [table]
