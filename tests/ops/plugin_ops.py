"""A plug-in: an elementwise op, a reduction and a NumPy function, each added by what stands here.

Importing the module registers them; `test_plugin` takes them away again.
"""

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import special

from tracejit.frontend.numpy.conversion import asarray
from tracejit.frontend.numpy.registry import handles
from tracejit.ir.kernel import Call, Const, Expr
from tracejit.ir.op import register
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.reduction import Reduction
from tracejit.ops.rules.reduction import Weighted

if TYPE_CHECKING:
    from tracejit.ir.derivatives import DerivativeBuilder, NodeAdaptor
    from tracejit.ir.graph import Value


@register
class Exp10(Elementwise):
    """10 to the power of x."""

    name = "exp10"
    numpy = special.exp10
    parity = "ulp(4)"
    work = 20.0
    partials = (lambda x, y: y * math.log(10),)

    @staticmethod
    def formula(dtype: str, x: Expr) -> Expr:
        return Call("power", (Const(10.0, dtype), x), dtype)


@register
class ReduceLogAddExp(Weighted, Reduction):
    """The logarithm of the sum of exponentials over `axes`; minus infinity for none."""

    name: ClassVar[str] = "reduce_logaddexp"
    numpy: ClassVar[Any] = np.logaddexp.reduce
    ufunc: ClassVar[Any] = np.logaddexp
    combine: ClassVar[str] = "logaddexp"
    identity: ClassVar[float] = -np.inf
    kinds: ClassVar[str] = "f"
    parity: ClassVar[str] = "order"

    def weights(self, c: "DerivativeBuilder", at: "NodeAdaptor") -> "Value":
        total = c.keep_axes(at.y(), at.attrs["axes"], at.inputs[0])
        return c.op("exp", c.sub(at.x(0), total))


@handles(np.sinc)
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), as NumPy writes it."""
    y = np.pi * asarray(x)
    y = np.where(y, y, np.finfo(y.dtype).eps)
    return np.sin(y) / y


__all__ = ["Exp10", "ReduceLogAddExp", "sinc"]
