"""Matrices of derivatives: Jacobians by rows or columns, and products with the Hessian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.frontend.python.trees import flattened, rebuilt
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.symint import unwrap
from tracejit.frontend.tracing.trace import here
from tracejit.frontend.tracing.traceable import Traceable
from tracejit.frontend.tracing.tracer import Tracer, lift
from tracejit.ir.derivatives import differentiable
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Value
from tracejit.ir.types import dtype_of, shape_of
from tracejit.transforms.api.function import Transformed, chosen_places, require_tree
from tracejit.transforms.api.gradient import Gradient
from tracejit.transforms.api.primal import call_primal, like
from tracejit.transforms.api.products import Jvp, Pulled, direction, results_of
from tracejit.transforms.api.variables import Variables
from tracejit.transforms.api.vmap import Vmap

__all__ = ["HessianProduct", "Jacobian", "hessian"]


class _Call(Traceable):
    """A function of the transforms' own, for another transform to call."""

    def __init__(self, run: Callable[[Interpreter, Any], Any]) -> None:
        self.run = run
        self.__name__ = "element"

    def __call__(self, x: Any) -> Any:
        raise NotImplementedError("only traced")

    def traced_call(
        self, interpreter: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return self.run(interpreter, *args)


class _Chosen(Traceable):
    """A function of the chosen arguments alone, a tuple of them; the others are fixed."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        places: Sequence[int | str],
    ) -> None:
        self.function, self.args, self.kwargs, self.places = function, args, kwargs, places
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError("only traced")

    def traced_call(
        self, interpreter: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        new = dict(zip(self.places, args, strict=True))
        given = [new.get(k, x) for k, x in enumerate(self.args)]
        named = {k: new.get(k, x) for k, x in self.kwargs.items()}
        return interpreter.call(self.function, *given, **named)


class Jacobian(Transformed):
    """The derivative of every element of the results by every element of the chosen arguments."""

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: int | Sequence[int] = 0,
        mode: str = "reverse",
        holomorphic: bool = False,
        has_aux: bool = False,
        transform: str = "jacobian",
    ) -> None:
        self.transform = transform
        super().__init__(function)
        if mode not in ("forward", "reverse"):
            raise ValueError(f"{transform}: mode is 'forward' or 'reverse', not {mode!r}")
        self.argnums = argnums if isinstance(argnums, int) else tuple(argnums)
        self.mode, self.holomorphic, self.has_aux = mode, holomorphic, has_aux

    def record(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        chosen = self.argnums, ()
        places = chosen_places(self.transform, function, *chosen, args, kwargs, carries=True)
        primal = call_primal(
            interpreter, function, args, kwargs, places, self.transform, self.has_aux
        )
        leaves, structure = flattened(primal.settled, interpreter, values=True)
        inputs = [x for variables in primal.variables for x in variables.given]
        results = results_of(leaves)
        self._check(inputs, "argument")
        own = require_tree(function, primal.result, structure, self.transform)
        taken = (lift(x) for k, x in enumerate(leaves) if k in results or k not in own)
        self._check(list(taken), "result")
        pulled = Pulled(interpreter, function, primal, places, len(args))
        blocks = self._blocks(interpreter, pulled, inputs)
        for k, row in zip(results, blocks, strict=True):
            leaves[k] = self._by_argument(interpreter, primal.variables, row)
        out = rebuilt(structure, leaves, interpreter)
        return (out, primal.aux) if self.has_aux else out

    def _check(self, values: Sequence[Tracer], what: str) -> None:
        for x in values:
            if not differentiable(x.type):
                raise TypeError(f"{self.transform} takes floating-point numbers, not {x.type}")
            if dtype_of(x.type).kind == "c" and not self.holomorphic:
                raise TypeError(
                    f"{self.transform}: a complex {what}; say holomorphic=True if the function is"
                )

    def _by_argument(
        self, interpreter: Interpreter, variables: Sequence[Variables], row: Sequence[Any]
    ) -> Any:
        left = iter(row)
        parts = [x.rebuilt(interpreter, [next(left) for _ in x.given]) for x in variables]
        return parts[0] if isinstance(self.argnums, int) else tuple(parts)

    def _blocks(
        self, interpreter: Interpreter, pulled: Pulled, inputs: Sequence[Tracer]
    ) -> list[list[Any]]:
        """For each result a matrix for each value of the arguments."""
        outputs = list(pulled.results.values())
        if self.mode == "forward":
            columns = [self._columns(interpreter, pulled, k, x) for k, x in enumerate(inputs)]
            return [[column[j] for column in columns] for j in range(len(outputs))]
        return [self._rows(interpreter, pulled, k, y) for k, y in enumerate(outputs)]

    def _columns(self, interpreter: Interpreter, pulled: Pulled, k: int, x: Tracer) -> list[Any]:
        """Forwards along every direction of an argument at once."""

        def along(interpreter: Interpreter, tangent: Any) -> Any:
            given: list[Value | None] = [None] * len(pulled.primal.values)
            given[k] = direction(tangent, x.type, "a tangent")
            found = zip(pulled.results.values(), pulled.push(given), strict=True)
            return tuple(like(y, v) for y, v in found)

        mapped = interpreter.allocate(Vmap(interpreter.allocate(_Call(along)), 0, -1))
        parts = interpreter.call(mapped, _basis(interpreter, x))
        return [np.reshape(p, (*p.shape[:-1], *_shape(x))) for p in parts]

    def _rows(self, interpreter: Interpreter, pulled: Pulled, k: int, y: Tracer) -> list[Any]:
        """Back from every element of a result at once."""

        def back(interpreter: Interpreter, cotangent: Any) -> Any:
            given: list[Value | None] = [None] * len(pulled.values)
            given[k] = direction(cotangent, y.type, "a cotangent")
            leaves = [x for variables in pulled.primal.variables for x in variables.given]
            return tuple(like(x, v) for x, v in zip(leaves, pulled.pull(given), strict=True))

        mapped = interpreter.allocate(Vmap(interpreter.allocate(_Call(back)), 0, 0))
        parts = interpreter.call(mapped, _basis(interpreter, y))
        return [np.reshape(p, (*_shape(y), *p.shape[1:])) for p in parts]


def _shape(x: Tracer) -> tuple[Any, ...]:
    env = here().env
    return tuple(unwrap(d, env) for d in shape_of(x.type))


def _basis(interpreter: Interpreter, x: Tracer) -> Any:
    """All directions of a value, along a new first axis."""
    count: Dim = prod(shape_of(x.type))
    eye = interpreter.call(np.eye, unwrap(count, here().env), dtype=dtype_of(x.type))
    return np.reshape(lift(eye), (eye.shape[0], *_shape(x)))


def hessian(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, holomorphic: bool = False
) -> Jacobian:
    """The second derivatives of a function: forward over reverse mode."""
    inner = Jacobian(function, argnums, "reverse", holomorphic)
    made = Jacobian(inner, argnums, "forward", holomorphic, False, "hessian")
    made.__name__ = f"hessian_{getattr(function, '__name__', 'function')}"
    made.__qualname__ = f"hessian({getattr(function, '__qualname__', function)})"
    return made


class HessianProduct(Transformed):
    """The Hessian of a function of one real result times a direction, the last argument."""

    transform = "hvp"

    def __init__(self, function: Callable[..., Any], argnums: int = 0) -> None:
        super().__init__(function)
        self.argnums = argnums

    __signature__ = None  # type: ignore[assignment]

    def record(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        if len(args) < 2:
            raise TypeError("hvp takes the arguments of the function, and then a direction")
        *given, along = args
        (place,) = chosen_places(
            self.transform, function, self.argnums, (), given, kwargs, carries=True
        )
        f = interpreter.allocate(_Chosen(function, given, kwargs, (place,)))
        gradient = interpreter.allocate(Gradient(f, 0, None, False, False))
        jvp = interpreter.allocate(Jvp(gradient))
        chosen = kwargs[place] if type(place) is str else given[place]  # type: ignore[index]
        return jvp.record(interpreter, gradient, ((chosen,), (along,)), {})[1]
