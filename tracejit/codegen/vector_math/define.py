"""Names of elementary functions become LLVM IR: one internal function per name, format and width.

The functions are written over explicit vectors, so that LLVM's code generator alone, with no
optimisation pass, gives the final code; they need no library. What `build` makes of a definition is
the emitter's: `evaluate` computes the same bits with NumPy. Every result of NumPy's functions and
of erf is within 1 ULP, but for what is left of logaddexp where it is near zero; SciPy's other
functions as docs/vector_math.md says. A result's bits depend on the
argument and on `fma`, not on the width, the other lanes or the CPU, but for tanh of float32, which
is in pieces where there is AVX-512. Special values, subnormal numbers and signed zeros are NumPy's.

The method throughout: reduce the argument with its rounding error kept apart, evaluate a minimax
polynomial for the small tail of the result, and add the tail to a head that is exact, so that one
rounding decides. Reductions follow Cody and Waite, "Software Manual for the Elementary Functions"
(1980); exact sums are Dekker's Fast2Sum (1971). The numbers are in `tables` and `polynomials`.

A vector type must be passed alike by caller and callee: give the functions that call these no
attribute that changes which vectors are legal (`min-legal-vector-width` below the width in use).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.base.late import imported
from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.formats import F32, FORMATS
from tracejit.codegen.vector_math.llvm_builder import LlvmBuilder
from tracejit.codegen.vector_math.llvm_text import Definition, symbol
from tracejit.codegen.vector_math.values import Float

__all__ = ["ARITY", "PARTS", "SHARED", "build", "define", "symbol"]

Body = Callable[..., Any]


@dataclass(frozen=True)
class _Function:
    """What writes a function: `body` in the format of the arguments, of whose results one counts.

    `wide` is for float32, over the arguments as float64; the result is rounded once. Both are names
    in modules of this package, which are imported when they are written.
    """

    body: str
    arity: int = 1
    wide: str = ""
    place: int | None = None


def _over_doubles(body: str) -> _Function:
    return _Function(body, wide=body)


def _written_by(place: str) -> Body:
    """The function of a name such as `special.bessel.j0`."""
    module, _, name = place.rpartition(".")
    body: Body = getattr(imported(f"{__package__}.{module}"), name)
    return body


_FUNCTIONS: dict[str, _Function] = {
    "arccos": _Function("inverse_trigonometric.arccos"),
    "arccosh": _Function("inverse_hyperbolic.arccosh"),
    "arcsin": _Function("inverse_trigonometric.arcsin"),
    "arcsinh": _Function("inverse_hyperbolic.arcsinh"),
    "arctan": _Function("inverse_trigonometric.arctan"),
    "arctan2": _Function("inverse_trigonometric.arctan2", 2),
    "arctanh": _Function("inverse_hyperbolic.arctanh"),
    "cbrt": _Function("cube_roots.cbrt"),
    "cos": _Function("trigonometric.cos"),
    "cosh": _Function("hyperbolic.cosh"),
    "erf": _Function("special.errors.erf"),
    "erfc": _over_doubles("special.normal.erfc"),
    "erfcinv": _over_doubles("special.normal.erfcinv"),
    "erfcx": _over_doubles("special.normal.erfcx"),
    "erfinv": _over_doubles("special.normal.erfinv"),
    "exp": _Function("exponentials.exp"),
    "exp2": _Function("exponentials.exp2"),
    "expit": _over_doubles("special.logistic.expit"),
    "expm1": _Function("hyperbolic.expm1"),
    "gamma": _over_doubles("special.gamma_functions.gamma"),
    "gammaln": _over_doubles("special.gamma_functions.gammaln"),
    "hypot": _Function("square_roots.hypot", 2, wide="square_roots.wide_hypot"),
    "i0": _over_doubles("special.bessel.i0"),
    "i0e": _over_doubles("special.bessel.i0e"),
    "i1": _over_doubles("special.bessel.i1"),
    "i1e": _over_doubles("special.bessel.i1e"),
    "j0": _over_doubles("special.bessel.j0"),
    "j1": _over_doubles("special.bessel.j1"),
    "kl_div": _Function("special.entropies.kl_div", 2, wide="special.entropies.kl_div"),
    "log": _Function("logarithms.log"),
    "log10": _Function("logarithms.log10"),
    "log1p": _Function("logarithms.log1p"),
    "log2": _Function("logarithms.log2"),
    "log_expit": _over_doubles("special.logistic.log_expit"),
    "log_ndtr": _over_doubles("special.normal.log_ndtr"),
    "logit": _over_doubles("special.logistic.logit"),
    "logaddexp": _Function("log_sums.logaddexp", 2, wide="log_sums.wide_logaddexp"),
    "logaddexp2": _Function("log_sums.logaddexp2", 2, wide="log_sums.wide_logaddexp2"),
    "ndtr": _over_doubles("special.normal.ndtr"),
    "ndtri": _over_doubles("special.normal.ndtri"),
    "power": _Function("powers.power", 2),
    "psi": _over_doubles("special.gamma_functions.psi"),
    "sin": _Function("trigonometric.sin"),
    "sinh": _Function("hyperbolic.sinh"),
    "tan": _Function("trigonometric.tan"),
    "tanh": _Function("exponentials.tanh"),
    "y0": _over_doubles("special.bessel.y0"),
    "y1": _over_doubles("special.bessel.y1"),
}
#: The parts of complex results, by the parts of the operands in order; of float64 alone.
_PARTS: dict[str, _Function] = {
    f"power_{part}": _Function("complex_powers.power_parts", 4, place=k)
    for k, part in enumerate(("real", "imag"))
}
#: Functions with several results.
_SHARING: dict[str, str] = {
    "sincos": "trigonometric.sincos",
    "power_parts": "complex_powers.power_parts",
}
#: A function's name -> the one that gives its result, too, and which of the results it is.
SHARED: dict[str, tuple[str, int]] = {
    "sin": ("sincos", 0),
    "cos": ("sincos", 1),
    "power_real": ("power_parts", 0),
    "power_imag": ("power_parts", 1),
}
#: The functions here, and how many arguments they take. sqrt is an LLVM intrinsic and not here.
ARITY: dict[str, int] = {name: function.arity for name, function in _FUNCTIONS.items()}
#: The same of the parts of complex results.
PARTS: dict[str, int] = {name: function.arity for name, function in _PARTS.items()}


def build(e: VectorBuilder, name: str, arguments: Sequence[Float]) -> Sequence[Float]:
    """The results of a function, mostly one, of arguments in the format of `e`.

    Raises KeyError for an unknown name.
    """
    if name in _SHARING:
        several: Sequence[Float] = _written_by(_SHARING[name])(e, *arguments)
        return several
    function = _FUNCTIONS.get(name) or _PARTS[name]
    if not function.wide or e.format is not F32:
        result = _written_by(function.body)(e, *arguments)
        return [result if function.place is None else result[function.place]]
    wide = _written_by(function.wide)
    return [wide(e.doubles(), *(a.widened() for a in arguments)).narrowed(e)]


def define(
    name: str, dtype: str, width: int, fma: bool = True, permutes: bool = False
) -> Definition:
    """The function `symbol(name, dtype, width)`.

    It takes ARITY[name] vectors of `width` elements (width 1: scalars) of "f64" or "f32" and
    returns one; those that SHARED names return a structure of several. `fma` says whether the host
    has a fused multiply-add instruction; both forms keep the same bounds. `permutes` says whether
    it has AVX-512F; but for tanh of float32, results do not depend on it. Raises KeyError for an
    unknown name or dtype, ValueError for a width below 1.
    """
    if width < 1:
        raise ValueError(f"width must be at least 1, not {width}")
    e = LlvmBuilder(FORMATS[dtype], width, fma, permutes)
    count = {**ARITY, **PARTS, "power_parts": 4}.get(name, 1)
    parameters = ["%x", "%y", "%z", "%w"][:count]
    results = build(e, name, [Float(e, parameter) for parameter in parameters])
    return e.definition(symbol(name, dtype, width), parameters, results)
