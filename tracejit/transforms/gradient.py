"""Gradients of functions that give one real number: `grad` and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tracejit.frontend.tracer import Tracer, lift
from tracejit.ir.types import ArrayType, NpScalar, PyScalar
from tracejit.transforms.function import Transformed, argument_places
from tracejit.transforms.primal import call_primal, fresh_name, like, stack_name
from tracejit.transforms.reverse import Pullback

if TYPE_CHECKING:
    from tracejit.frontend.hooks import Hooks

__all__ = ["Gradient"]


class Gradient(Transformed):
    """The gradient of a function by some of its arguments, with its value if that is asked for."""

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: int | Sequence[int] | None,
        argnames: str | Sequence[str] | None,
        has_aux: bool,
        with_value: bool,
    ) -> None:
        self.transform = "value_and_grad" if with_value else "grad"
        super().__init__(function)
        names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
        if argnums is None:
            argnums = () if names else 0
        self.argnums = argnums if isinstance(argnums, int) else tuple(argnums)
        self.argnames, self.has_aux, self.with_value = names, has_aux, with_value

    def record(
        self,
        hooks: Hooks,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        places = argument_places(function, self.argnums, self.argnames, args, kwargs)
        primal = call_primal(hooks, function, args, kwargs, places, self.transform, self.has_aux)
        result, aux = primal.result, primal.aux
        value = _real_number(primal.settled, self.transform)
        trace = primal.trace
        pull = Pullback(primal.segment, primal.values, fresh_name(trace), stack_name(trace))
        one = pull.calculus.ones(value.type)
        found = iter(pull.run([value.value()], [one]))
        gradients = [
            x.rebuilt(hooks, [like(leaf, next(found)) for leaf in x.given])
            for x in primal.variables
        ]
        single = isinstance(self.argnums, int) and not self.argnames
        single = single or not self.argnums and len(self.argnames) == 1
        out = gradients[0] if single else tuple(gradients)
        if self.with_value:
            return (((result, aux) if self.has_aux else result), out)
        return (out, aux) if self.has_aux else out


def _real_number(x: Any, what: str) -> Tracer:
    """The result of a function as a real number. Raises TypeError for anything else."""
    try:
        value = lift(x)
    except Exception:
        value = None
    t = value.type if value is not None else None
    shape = t.shape if isinstance(t, ArrayType) else ()
    number = isinstance(t, (ArrayType, NpScalar, PyScalar)) and t.dtype.kind == "f"
    if value is None or not number or shape:
        text = str(t) if t is not None else type(x).__name__
        raise TypeError(
            f"{what} takes a function that gives one real floating-point number, not {text}; "
            "for arrays there are jacobian and vjp"
        )
    return value
