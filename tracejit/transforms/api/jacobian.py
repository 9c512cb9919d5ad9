"""Matrices of derivatives: Jacobians by rows or columns, and products with the Hessian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.frontend.control.unions import narrow
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import TreeDef, flatten_state, unflatten
from tracejit.frontend.tracing.symint import unwrap
from tracejit.frontend.tracing.trace import here
from tracejit.frontend.tracing.traceable import Traceable
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift
from tracejit.ir.derivatives import differentiable
from tracejit.ir.dims import Dim, prod
from tracejit.ir.types import dtype_of, shape_of
from tracejit.transforms.api.function import Transformed, chosen_places
from tracejit.transforms.api.gradient import Gradient
from tracejit.transforms.api.primal import fresh_copy, settled
from tracejit.transforms.api.products import Jvp, Vjp
from tracejit.transforms.api.vmap import Vmap, one_dtype

__all__ = ["HessianProduct", "Jacobian"]


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
        places = chosen_places(self.transform, function, self.argnums, (), args, kwargs)
        chosen = tuple(narrow(kwargs[p] if type(p) is str else args[p]) for p in places)  # type: ignore[index]
        f = interpreter.allocate(_Chosen(function, args, kwargs, places))
        leaves, tree = flatten_state(chosen)
        inputs = [lift(x) for x in leaves]
        self._check(inputs, "argument")
        build = self._forward if self.mode == "forward" and inputs else self._reverse
        blocks, results, aux = build(interpreter, f, chosen, inputs, tree)
        out = unflatten(
            results,
            [self._by_argument(interpreter, tree, row) for row in blocks],
            interpreter.allocate,
        )
        return (out, aux) if self.has_aux else out

    def _check(self, values: Sequence[Tracer], what: str) -> None:
        for x in values:
            if not differentiable(x.type):
                raise TypeError(f"{self.transform} takes floating-point numbers, not {x.type}")
            if dtype_of(x.type).kind == "c" and not self.holomorphic:
                raise TypeError(
                    f"{self.transform}: a complex {what}; say holomorphic=True if the function is"
                )

    def _by_argument(self, interpreter: Interpreter, tree: TreeDef, row: Sequence[Any]) -> Any:
        parts = unflatten(tree, row, interpreter.allocate)
        return parts[0] if isinstance(self.argnums, int) else parts

    def _forward(
        self,
        interpreter: Interpreter,
        f: Callable[..., Any],
        chosen: tuple[Any, ...],
        inputs: Sequence[Tracer],
        tree: TreeDef,
    ) -> tuple[list[list[Any]], TreeDef, Any]:
        """Column by column: for each argument, along every direction at once."""
        rows: list[list[Any]] = []
        found = around = None
        before, stored = [fresh_copy(here(), x) for x in inputs], False
        for k, x in enumerate(inputs):

            def along(interpreter: Interpreter, direction: Any, k: int = k) -> Any:
                zeros = [None if j != k else direction for j in range(len(inputs))]
                tangents = unflatten(tree, zeros, interpreter.allocate)
                jvp = interpreter.allocate(Jvp(f, self.has_aux))
                copies = [fresh_copy(here(), v) for v in before]
                given = unflatten(tree, copies, interpreter.allocate)
                result, tangent, *aux = jvp.record(interpreter, f, (given, tangents), {})
                nonlocal stored, around
                stored |= any(isinstance(v, TracedArray) and v.storage.written for v in copies)
                self._check([lift(v) for v in flatten_state(result)[0]], "result")
                # What is auxiliary may have other containers and objects for each direction.
                kept, around = flatten_state(settled(interpreter, tuple(aux), one_dtype))
                return tangent, kept

            mapped = interpreter.allocate(Vmap(interpreter.allocate(_Call(along)), 0, (-1, None)))
            tangent, aux = interpreter.call(mapped, _basis(interpreter, x))
            parts, found = flatten_state(tangent)
            shape = _shape(x)
            rows.append([np.reshape(p, (*p.shape[:-1], *shape)) for p in parts])
        if stored:
            interpreter.call(f, *chosen)
        assert found is not None and around is not None
        blocks = [list(column) for column in zip(*rows, strict=True)]
        kept = unflatten(around, aux, interpreter.allocate)
        return blocks, found, kept[0] if kept else None

    def _reverse(
        self,
        interpreter: Interpreter,
        f: Callable[..., Any],
        chosen: tuple[Any, ...],
        inputs: Sequence[Tracer],
        tree: TreeDef,
    ) -> tuple[list[list[Any]], TreeDef, Any]:
        """Row by row: for each result, back from every element at once."""
        # The calls for the rows begin with what the arguments are before this one.
        before = [fresh_copy(here(), x) for x in inputs]
        vjp = interpreter.allocate(Vjp(f, self.has_aux))
        _, pullback, *aux = vjp.record(interpreter, f, chosen, {})
        outputs, found = pullback.results, pullback.tree
        self._check(outputs, "result")
        rows = []
        for k, y in enumerate(outputs):

            def back(interpreter: Interpreter, cotangent: Any, k: int = k) -> Any:
                given = [
                    _zero(interpreter, v) if j != k else cotangent for j, v in enumerate(outputs)
                ]
                inner = interpreter.allocate(Vjp(f, self.has_aux))
                fresh = [fresh_copy(here(), v) for v in before]
                copies = unflatten(tree, fresh, interpreter.allocate)
                _, pulled, *_ = inner.record(interpreter, f, copies, {})
                return interpreter.call(pulled, unflatten(found, given, interpreter.allocate))

            mapped = interpreter.allocate(Vmap(interpreter.allocate(_Call(back)), 0, 0))
            parts, _ = flatten_state(interpreter.call(mapped, _basis(interpreter, y)))
            rows.append([np.reshape(p, (*_shape(y), *p.shape[1:])) for p in parts])
        return rows, found, aux[0] if aux else None


def _shape(x: Tracer) -> tuple[Any, ...]:
    env = here().env
    return tuple(unwrap(d, env) for d in shape_of(x.type))


def _zero(interpreter: Interpreter, x: Tracer) -> Any:
    return interpreter.call(np.zeros, _shape(x), dtype=dtype_of(x.type))


def _basis(interpreter: Interpreter, x: Tracer) -> Any:
    """All directions of a value, along a new first axis."""
    count: Dim = prod(shape_of(x.type))
    eye = interpreter.call(np.eye, unwrap(count, here().env), dtype=dtype_of(x.type))
    return np.reshape(lift(eye), (eye.shape[0], *_shape(x)))


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
        (place,) = chosen_places(self.transform, function, self.argnums, (), given, kwargs)
        f = interpreter.allocate(_Chosen(function, given, kwargs, (place,)))
        gradient = interpreter.allocate(Gradient(f, 0, None, False, False))
        jvp = interpreter.allocate(Jvp(gradient))
        chosen = kwargs[place] if type(place) is str else given[place]  # type: ignore[index]
        return jvp.record(interpreter, gradient, ((chosen,), (along,)), {})[1]
