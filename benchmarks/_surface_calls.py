"""The functions of NumPy that tracejit compiles natively become calls, each the text of one line.

What the functions are is asked of the registries: of handlers, ops, and functions that are traced
from NumPy's own Python code or from loops of tracejit's. One that takes an array, or two, is called
with those, and along each axis where it takes one; the others have their calls in `CALLS`.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracejit

__all__ = ["KINDS", "LAYOUTS", "LEFT", "calls", "compiled", "functions", "operands"]

#: Dtypes of the operands `x` and `y`.
KINDS = ("float64", "float32", "int64", "uint8", "bool", "complex128")
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
}
#: Functions whose operands have a domain of their own; all others are given 0.1 to 0.9.
DOMAINS = {
    **dict.fromkeys(("arccosh",), (1.1, 9.0)),
    **dict.fromkeys(("exp", "exp2", "sin", "cos", "tan", "sinh", "cosh", "tanh"), (-3.0, 3.0)),
    **dict.fromkeys(("rint", "floor", "ceil", "trunc", "fix", "round", "around"), (-99.0, 99.0)),
    **dict.fromkeys(("absolute", "fabs", "sign", "floor_divide", "remainder"), (-9.0, 9.0)),
    **dict.fromkeys(("fmod", "divmod", "clip", "sort", "median", "argsort"), (-9.0, 9.0)),
    **dict.fromkeys(("prod", "cumprod", "cumulative_prod", "nanprod", "nancumprod"), (0.9, 1.1)),
}
#: What there is nothing to measure in, with the reason.
LEFT: dict[str, str] = {
    **dict.fromkeys(
        (
            "can_cast",
            "iscomplexobj",
            "isfortran",
            "isrealobj",
            "ndim",
            "result_type",
            "shape",
            "size",
        ),
        "answered by the trace",
    ),
    **dict.fromkeys(("empty", "empty_like"), "the contents of memory"),
}

_SHAPES = "x.shape"
#: Calls of one line by name: `x` and `y` are operands of one shape, of two axes or one; `p` is a
#: mask and `j` indices along the last axis, of that shape; `i` are indices along the first axis,
#: `m` is a square matrix, `v` and `w` are vectors that fit `x` from the right and the left, `s` is
#: like `v` and in ascending order.
CALLS: dict[str, tuple[str, ...]] = {
    "apply_along_axis": ("np.apply_along_axis(np.sum, 0, x)|2",),
    "apply_over_axes": ("np.apply_over_axes(np.sum, x, (0, 1))|2",),
    "append": ("np.append(x, y)",),
    "arange": ("np.arange(x.size)", "np.arange(0.0, x.size, 0.5)"),
    "array_split": ("np.array_split(x, 3)",),
    "astype": ("np.astype(x, np.float32)",),
    "average": ("np.average(x)", "np.average(x, axis=0)", "np.average(x, weights=y)"),
    "bincount": ("np.bincount(i)|1", "np.bincount(i, x)|1"),
    "block": ("np.block([x, y])",),
    "broadcast_arrays": ("np.broadcast_arrays(x, y)",),
    "broadcast_to": ("np.broadcast_to(x, (2, *x.shape))",),
    "clip": ("np.clip(x, 1, 3)", "np.clip(x, y, y)"),
    "compress": ("np.compress(p, x)|1", "np.compress(p[:, 0], x, axis=0)|2"),
    "convolve": (
        *(f"np.convolve(x, x[:{n}])|1" for n in (2, 3, 16)),
        'np.convolve(x, x[:5], "same")|1',
    ),
    "copyto": ("np.copyto(x, y)", "np.copyto(x, y, where=p)"),
    "corrcoef": ("np.corrcoef(x, y)|1", "np.corrcoef(m)"),
    "correlate": ("np.correlate(x, x[:4])|1",),
    "count_nonzero": ("np.count_nonzero(x)", "np.count_nonzero(x, axis=0)|2"),
    "cov": ("np.cov(x, y)|1", "np.cov(m)"),
    "cross": ("np.cross(x[:, :3], y[:, :3])|2",),
    "delete": ("np.delete(x, 1, axis=0)",),
    "diag": ("np.diag(m)",),
    "diag_indices": ("np.diag_indices(x.shape[0])|2",),
    "diag_indices_from": ("np.diag_indices_from(m)",),
    "diagflat": ("np.diagflat(v)|2",),
    "diagonal": ("np.diagonal(x)|2",),
    "diff": ("np.diff(x)", "np.diff(x, axis=0)|2"),
    "digitize": ("np.digitize(x, s[:: 1 + len(s) // 20])",),
    "dot": ("np.dot(x, y)|1", "np.dot(x, v)|2", "np.dot(m, m)"),
    "dsplit": ("np.dsplit(x.reshape(-1, 1, 2), 2)|1",),
    "einsum": (
        'np.einsum("ij,ij->i", x, y)|2',
        'np.einsum("ij,j->i", x, v)|2',
        'np.einsum("i,i", x, y)|1',
        'np.einsum("ij->ji", x)|2',
    ),
    "expand_dims": ("np.expand_dims(x, 0)",),
    "extract": ("np.extract(p, x)",),
    "eye": ("np.eye(x.shape[0])|2",),
    **{f"fft.{k}": (f"np.fft.{k}(x.size)",) for k in ("fftfreq", "rfftfreq")},
    "fill_diagonal": ("np.fill_diagonal(x, 1)|2",),
    "fliplr": ("np.fliplr(x)|2",),
    "full": (f"np.full({_SHAPES}, 2.5)",),
    "full_like": ("np.full_like(x, 1)",),
    "geomspace": ("np.geomspace(1.0, 9.0, x.size)",),
    **{k: (f"np.{k}(x.shape[0])",) for k in ("bartlett", "blackman", "hamming", "hanning")},
    **{f"fft.{k}": (f"np.fft.{k}(x)|2",) for k in ("fft2", "ifft2")},
    "histogram2d": ("np.histogram2d(x, y, 5)|1",),
    "histogramdd": ("np.histogramdd(x[:, :2], 5)|2",),
    "histogram": ("np.histogram(x, 20)", "np.histogram(x, s[:: 1 + len(s) // 20])"),
    "histogram_bin_edges": ("np.histogram_bin_edges(x)",),
    "hsplit": ("np.hsplit(x, 2)",),
    "identity": ("np.identity(x.shape[0])|2",),
    "indices": (f"np.indices({_SHAPES})",),
    "insert": ("np.insert(x, 1, 1, axis=0)", "np.insert(x, [1, 2], 1)"),
    "interp": (
        "np.interp(x, s, v)",
        "np.interp(s, s, v)",
        "np.interp(x, s[:: 1 + len(s) // 20], v[:: 1 + len(v) // 20])",
    ),
    "isin": ("np.isin(x, s[:10])",),
    "ix_": ("np.ix_(i, i)|2",),
    "kron": ("np.kron(v[:4], y)|2",),
    "linalg.cross": ("np.linalg.cross(x[:, :3], y[:, :3])|2",),
    "linalg.diagonal": ("np.linalg.diagonal(x)|2",),
    "linalg.matrix_norm": ("np.linalg.matrix_norm(x)|2",),
    "linalg.matrix_power": ("np.linalg.matrix_power(m, 3)",),
    "linalg.matrix_transpose": ("np.linalg.matrix_transpose(x)|2",),
    "kaiser": ("np.kaiser(x.shape[0], 5.0)",),
    "lexsort": ("np.lexsort((x, y))|1",),
    **{f"linalg.{k}": (f"np.linalg.{k}(m)",) for k in ("matrix_rank", "svdvals")},
    "linalg.multi_dot": ("np.linalg.multi_dot([m, m, m])",),
    "linalg.norm": ("np.linalg.norm(x)", *(f"np.linalg.norm(x, axis={k})|2" for k in (0, 1))),
    "linalg.outer": ("np.linalg.outer(v, w)|2",),
    "linalg.tensordot": ("np.linalg.tensordot(x, y)|2",),
    "linalg.tensorinv": ("np.linalg.tensorinv(m, ind=1)",),
    "linalg.tensorsolve": ("np.linalg.tensorsolve(m, m[0])",),
    "linalg.trace": ("np.linalg.trace(x)|2",),
    "linspace": ("np.linspace(0.0, 1.0, x.size)", "np.linspace(v, v + v, 7)|2"),
    "logspace": ("np.logspace(0.0, 1.0, x.size)",),
    "matrix_transpose": ("np.matrix_transpose(x)|2",),
    "matvec": ("np.matvec(x, v)|2",),
    "meshgrid": ("np.meshgrid(v, w)|2",),
    "moveaxis": ("np.moveaxis(x, 0, -1)",),
    "ones": (f"np.ones({_SHAPES})",),
    "outer": ("np.outer(v, w)|2",),
    "pad": ("np.pad(x, 2)", *(f'np.pad(x, 2, mode="{k}")' for k in ("edge", "wrap", "reflect"))),
    "nanpercentile": ("np.nanpercentile(x, 30)", "np.nanpercentile(x, 30, axis=0)|2"),
    "nanquantile": ("np.nanquantile(x, 0.3)",),
    "percentile": ("np.percentile(x, 30)", "np.percentile(x, 30, axis=0)|2"),
    "piecewise": ("np.piecewise(x, [p], [1, 2])",),
    "place": ("np.place(x, p, y[:1].ravel())",),
    **{k: (f"np.{k}(x, y)|1",) for k in ("polyadd", "polysub")},
    **{k: (f"np.{k}(x)|1",) for k in ("polyder", "polyint")},
    "polydiv": ("np.polydiv(x[:9], y[:3])|1",),
    "polyval": ("np.polyval(v[:5], x)",),
    "put": ("np.put(x, i, y[0])|1",),
    "put_along_axis": ("np.put_along_axis(x, j, y, axis=-1)",),
    "putmask": ("np.putmask(x, p, y)",),
    "quantile": ("np.quantile(x, 0.3)",),
    "repeat": ("np.repeat(x, 2)", "np.repeat(x, 2, axis=0)|2", "np.repeat(x, 2, axis=1)|2"),
    "ravel_multi_index": ("np.ravel_multi_index((i, i), (x.size, x.size))|1",),
    "reshape": ("np.reshape(x, (-1, 2))",),
    "resize": ("np.resize(x, 2 * x.size)",),
    "roll": ("np.roll(x, 3)", "np.roll(x, 3, axis=0)|2", "np.roll(x, 3, axis=1)|2"),
    "rollaxis": ("np.rollaxis(x, 1)|2",),
    "rot90": ("np.rot90(x)|2",),
    "searchsorted": ("np.searchsorted(s, x)", "np.searchsorted(s, s)"),
    "select": ("np.select([p, x > y], [x, y])",),
    "split": ("np.split(x, 2, axis=-1)",),
    "squeeze": ("np.squeeze(x[None])",),
    "swapaxes": ("np.swapaxes(x, 0, 1)|2",),
    "take": ("np.take(x, i)|1", "np.take(x, i, axis=0)|2", "np.take(x, i, axis=1)|2"),
    "lib.stride_tricks.sliding_window_view": (
        "np.lib.stride_tricks.sliding_window_view(v, 5).mean(axis=1)",
    ),
    "take_along_axis": ("np.take_along_axis(x, j, axis=-1)",),
    "tensordot": ("np.tensordot(x, y)|2", "np.tensordot(x, v, axes=1)|2"),
    "tile": ("np.tile(x, 2)", "np.tile(x, (2, 1))"),
    "trace": ("np.trace(x)|2",),
    "trapezoid": ("np.trapezoid(x)", "np.trapezoid(x, axis=0)|2"),
    "tri": ("np.tri(x.shape[0])|2",),
    "tril": ("np.tril(x)|2",),
    "triu": ("np.triu(x)|2",),
    **{f"{k}_indices": (f"np.{k}_indices(x.shape[0])|2",) for k in ("tril", "triu")},
    **{f"{k}_indices_from": (f"np.{k}_indices_from(m)",) for k in ("tril", "triu")},
    "unravel_index": ("np.unravel_index(i, (400, 300))|1",),
    "unstack": ("np.unstack(x[:3])|2",),
    "vander": ("np.vander(x, 4)|1",),
    "vecdot": ("np.vecdot(x, y)", "np.vecdot(x, y, axis=0)|2"),
    "vecmat": ("np.vecmat(w, x)|2",),
    "vsplit": ("np.vsplit(x, 2)|2",),
    "where": ("np.where(p, x, y)", "np.where(x > y, x, 1)", "np.where(p)"),
    "zeros": (f"np.zeros({_SHAPES})",),
    **{k: (f"np.{k}((x, y))",) for k in ("column_stack", "dstack", "hstack", "stack", "vstack")},
    "concatenate": ("np.concatenate((x, y))", "np.concatenate((x, y), axis=1)|2"),
    "ldexp": ("np.ldexp(x, j)",),
    "power": ("np.power(x, y)", "x**2", "x**3"),
    **{k: (f"np.{k}(m)",) for k in ("linalg.det", "linalg.inv", "linalg.slogdet")},
    "linalg.cholesky": ("np.linalg.cholesky(m)",),
    "linalg.solve": ("np.linalg.solve(m, m)",),
    **{k: (f"np.{k}(m, m)",) for k in ("inner", "matmul", "linalg.matmul")},
}


def functions() -> dict[str, Any]:
    """Name after `np.` -> function, of all that have a handler or an op or are traced as code."""
    tracejit.jit(lambda x: x + 1)(np.ones(2))  # The front end is imported at the first compile.
    from tracejit.frontend.numpy import registry, ufuncs
    from tracejit.ops.array.elementwise import UFUNC_OPS

    elementwise = {*UFUNC_OPS, *ufuncs.DEFINED, np.power}
    found = {f.__name__: f for f in elementwise if getattr(np, f.__name__, None) is f}
    for f in registry.functions():
        module = (getattr(f, "__module__", None) or "numpy").removeprefix("numpy").lstrip(".")
        found[f"{module}.{f.__name__}".lstrip(".")] = f
    return dict(sorted(found.items()))


def calls(name: str, f: Any) -> Iterator[tuple[str, int | None]]:
    """(text, number of axes of `x`) of each call of a function; None for either number."""
    if name in LEFT:
        return
    for text in CALLS.get(name) or _usual(name, f):
        body, _, ndim = text.partition("|")
        yield body, int(ndim) if ndim else None


def _usual(name: str, f: Any) -> Iterator[str]:
    if isinstance(f, np.ufunc):
        yield f"np.{name}({', '.join('xy'[: f.nin])})"
        return
    from tracejit.frontend.numpy.registry import HANDLERS, PRELUDE

    parameters = inspect.signature(HANDLERS.get(f) or PRELUDE.get(f, f)).parameters
    needed = [p for p in parameters.values() if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    given = ", ".join("xy"[: max(1, len(needed))])
    yield f"np.{name}({given})"
    if "axis" in parameters:
        yield f"np.{name}({given}, axis=0)|2"
        yield f"np.{name}({given}, axis=1)|2"


def operands(name: str, kind: str, shape: tuple[int, ...], layout: str) -> dict[str, np.ndarray]:
    """New arrays for the free names of a function's calls."""
    bounds = DOMAINS.get(name.rpartition(".")[2], (0.1, 0.9))
    counts = shape[-1] if name != "ldexp" else 5
    values = _values(bounds, kind, shape, counts)
    lay = LAYOUTS[layout]
    return {k: lay(v.copy()) if k in "xypjm" else v for k, v in values.items()}


@functools.lru_cache(maxsize=32)
def _values(
    bounds: tuple[float, float], kind: str, shape: tuple[int, ...], counts: int
) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)

    def values(shape: tuple[int, ...]) -> np.ndarray:
        if kind == "bool":
            return random.random(shape) < 0.5
        if kind in ("int64", "uint8"):
            return random.integers(1, 7, shape).astype(kind)
        real = random.uniform(*bounds, shape)
        return (real + 1j * random.uniform(*bounds, shape) if kind[0] == "c" else real).astype(kind)

    x, y = values(shape), values(shape)
    square = values((min(100, shape[-1]),) * 2)
    if kind not in ("bool", "uint8"):
        square = square @ square.conj().T + len(square) * np.eye(len(square), dtype=square.dtype)
    return {
        "x": x,
        "y": y,
        "m": square,
        "v": values(shape[-1:]),
        "s": np.sort(values(shape[-1:])),
        "w": values(shape[:1]),
        "p": random.random(shape) < 0.5,
        "j": random.integers(0, counts, shape),
        "i": random.integers(0, shape[0], shape[0]),
    }


def compiled(text: str) -> tuple[Callable[..., Any], list[str]]:
    """A call as a function with a source that can be found, and the names of its parameters."""
    names = [k for k in "xypjimvws" if k in compile(text, "", "eval").co_names]
    source = f"def call({', '.join(names)}):\n    return {text}\n"
    file = f"<surface {zlib.crc32(source.encode()):08x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), space)
    return space["call"], names
