"""An elementary function as raw loops over arrays: ours in either form, NumPy's, libm's and JAX's.

Each is a function of one array an argument, all of one length and dtype, that returns a new array.
Long double results, what float64 ones are judged by, come from NumPy's and libm's loops too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from tracejit.codegen.llvm import engine
from tracejit.codegen.vector_math.define import ARITY, define, symbol

from ..harness import peer

__all__ = ["LABELS", "contenders", "jaxs", "numpys", "ours", "precise"]

Array = np.ndarray[Any, Any]
Loop = Callable[..., Array]

#: Contenders, as tables call them.
LABELS = ("ours", "ours without FMA", "NumPy", "libm", "JAX")
_ELEMENTS = {"f32": "float", "f64": "double", "f80": "x86_fp80"}
_SUFFIXES = {"f32": "f", "f64": "", "f80": "l"}
_LIBM = {
    **{k: k for k in "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh".split()},
    **{k: k for k in "cbrt erf erfc j0 j1 hypot".split()},
    **{f"arc{k}": f"a{k}" for k in "sin cos tan sinh cosh tanh tan2".split()},
    "power": "pow",
    "gamma": "tgamma",
    "gammaln": "lgamma",
}
_JAX = {"gamma": "gamma", "psi": "digamma", "log_expit": "log_sigmoid"}


def _over_arrays(text: str, called: str, element: str, width: int, arity: int) -> Loop:
    """The function `called` of `text`, which takes `arity` vectors, over arrays of any length."""
    vector = element if width == 1 else f"<{width} x {element}>"
    names = ["a", "b"][:arity]
    align = 4 if element == "float" else 8
    loads = "".join(
        f"  %{k}.at = getelementptr {element}, ptr %{k}, i64 %i\n"
        f"  %{k}.v = load {vector}, ptr %{k}.at, align {align}\n"
        for k in names
    )
    given = ", ".join(f"{vector} %{k}.v" for k in names)
    loop = f"""
define void @apply(ptr %a, ptr %b, ptr %out, i64 %n) {{
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
{loads}  %result = call {vector} @{called}({given})
  %target = getelementptr {element}, ptr %out, i64 %i
  store {vector} %result, ptr %target, align {align}
  %next = add i64 %i, {width}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""
    library = engine.compile_module(f"{text}\n{loop}", {}, ["apply"], simplifycfg=False)
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)
    run = kind(library.address("apply"))

    def call(*columns: Array) -> Array:
        size = columns[0].size
        if size % width:
            columns = tuple(np.resize(c, -(-size // width) * width) for c in columns)
        out = np.empty_like(columns[0])
        run(columns[0].ctypes.data, columns[-1].ctypes.data, out.ctypes.data, out.size)
        return out[:size]

    call.library = library  # type: ignore[attr-defined]  # The code lives as long as this.
    return call


def ours(name: str, dtype: str, fma: bool) -> Loop:
    """Compiled for the host, in full registers of AVX-512 or several smaller ones."""
    target = engine.host_target()
    permutes = target.is_x86 and "avx512f" in target.features
    width = 16 if dtype == "f32" else 8
    definition = define(name, dtype, width, fma, permutes)
    text = "\n".join([*definition.all_declarations(), *definition.everything().values()])
    return _over_arrays(text, symbol(name, dtype, width), _ELEMENTS[dtype], width, ARITY[name])


def _libm(name: str, dtype: str) -> Loop | None:
    if name not in _LIBM:
        return None
    called, element = _LIBM[name] + _SUFFIXES[dtype], _ELEMENTS[dtype]
    arguments = ", ".join([element] * ARITY[name])
    return _over_arrays(
        f"declare {element} @{called}({arguments})", called, element, 1, ARITY[name]
    )


def numpys(name: str) -> Any:
    """NumPy's ufunc, SciPy's where NumPy has none."""
    return getattr(np, name, None) or getattr(scipy.special, name)


def jaxs(name: str) -> Any:
    """JAX's function, not compiled; None where it has none or is not installed."""
    jax = peer("jax")
    if jax is None:
        return None
    import jax.scipy.special

    jax.config.update("jax_enable_x64", True)
    for module in (jax.numpy, jax.scipy.special, jax.nn):
        if found := getattr(module, _JAX.get(name, name), None):
            return found
    return None


def contenders(name: str, dtype: str) -> dict[str, Loop]:
    """Those of LABELS that there are here."""
    found: dict[str, Loop | None] = {"ours without FMA": ours(name, dtype, False)}
    if engine.host_target().has_fma:
        found["ours"] = ours(name, dtype, True)
    found |= {"NumPy": numpys(name), "libm": _libm(name, dtype)}
    if function := jaxs(name):
        compiled = peer("jax").jit(function)  # type: ignore[union-attr]
        found["JAX"] = lambda *columns: np.asarray(compiled(*columns))
    return {k: found[k] for k in LABELS if found.get(k)}  # type: ignore[misc]


def _expit(x: Array) -> Array:
    small = np.exp(-abs(x))
    return np.asarray(np.where(x < 0, small, 1) / (1 + small))


def _log_expit(x: Array) -> Array:
    return np.asarray(np.minimum(x, 0) - np.log1p(np.exp(-abs(x))))


def _logit(p: Array) -> Array:
    middle = (p > 0.3) & (p < 0.7)
    return np.asarray(np.where(middle, np.log1p((2 * p - 1) / (1 - p)), np.log(p) - np.log1p(-p)))


def precise(name: str) -> Loop | None:
    """The function over long doubles, good to their last bits; None where there is no such one."""
    own = {"expit": _expit, "log_expit": _log_expit, "logit": _logit}
    if name in own:
        return own[name]
    if hasattr(np, name) and name != "i0":
        return getattr(np, name)  # type: ignore[no-any-return]
    if name in ("erf", "erfc", "gamma"):
        return _libm(name, "f80")
    return None
