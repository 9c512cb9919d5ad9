"""Gradients of functions that give one real number: `grad` and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import set_effect_token
from tracejit.frontend.tracing.pytree import build_dataclass
from tracejit.frontend.tracing.trace import here
from tracejit.frontend.tracing.tracer import Tracer, lift, wrap
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, NpScalar, PyScalar
from tracejit.sparse import RowGradient
from tracejit.transforms.api.function import Transformed, argument_places, chosen_places
from tracejit.transforms.api.primal import Variables, call_primal, fresh_name, like, stack_name
from tracejit.transforms.autodiff.reverse import Pullback
from tracejit.transforms.autodiff.sparse_rows import RowReads

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
        sparse_rows: bool | int | str | Sequence[int | str] = False,
    ) -> None:
        self.transform = "value_and_grad" if with_value else "grad"
        super().__init__(function)
        names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
        #: Whether it is by one argument that was not given in a sequence.
        self.single = not names if argnums is None else isinstance(argnums, int) and not names
        self.single |= argnums is None and isinstance(argnames, str)
        if argnums is None:
            argnums = () if names else 0
        self.argnums = argnums if isinstance(argnums, int) else tuple(argnums)
        self.argnames, self.has_aux, self.with_value = names, has_aux, with_value
        one = isinstance(sparse_rows, (int, str))
        self.sparse_rows = sparse_rows if one else tuple(sparse_rows)  # type: ignore[arg-type]

    def record(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        chosen = self.argnums, self.argnames
        places = chosen_places(self.transform, function, *chosen, args, kwargs, carries=True)
        primal = call_primal(
            interpreter, function, args, kwargs, places, self.transform, self.has_aux
        )
        result, aux = primal.result, primal.aux
        value = _real_number(primal.settled, self.transform)
        trace = primal.trace
        sparse = self._sparse(function, places, args, kwargs)
        by_place = dict(zip(places, primal.variables, strict=True))
        by_rows = {p: _tables(by_place[p], sparse.get(p, ()), self.transform) for p in places}
        tables = [by_place[p].values[k] for p in places for k in sorted(by_rows[p])]
        rows = RowReads(tables, primal.segment.nodes, self.transform) if sparse else None
        wrt = [v for p in places for k, v in enumerate(by_place[p].values) if k not in by_rows[p]]
        pull = Pullback(primal.segment, wrt, fresh_name(trace), stack_name(trace), rows)
        one = pull.c.ones(value.type)
        found = iter(pull.run([value.value()], [one]))
        if pull.effects is not None:
            set_effect_token(trace, pull.effects)
        gradients = []
        for place, x in by_place.items():
            leaves = [
                _by_rows(interpreter, leaf, *pull.row_gradients[v])
                if k in by_rows[place]
                else like(leaf, next(found))
                for k, (leaf, v) in enumerate(zip(x.given, x.values, strict=True))
            ]
            gradients.append(x.rebuilt(interpreter, leaves))
        out = gradients[0] if self.single else tuple(gradients)
        if self.with_value:
            return (((result, aux) if self.has_aux else result), out)
        return (out, aux) if self.has_aux else out

    def _sparse(
        self,
        function: Callable[..., Any],
        places: Sequence[int | str],
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> dict[int | str, list[str]]:
        """The places of the arguments of which gradients are kept as rows, and for each the paths
        to the parts of which they are. Raises TypeError."""
        given = self.sparse_rows
        if isinstance(given, bool):
            return {p: [""] for p in places} if given else {}
        sparse: dict[int | str, list[str]] = {}
        for one in given if isinstance(given, tuple) else (given,):
            name, _, path = one.partition(".") if isinstance(one, str) else ("", "", "")
            numbers, names = ((), (name,)) if isinstance(one, str) else ((one,), ())
            (place,) = argument_places(function, numbers, names, args, kwargs)
            if place not in places:
                raise TypeError(
                    f"{self.transform}: sparse_rows names arguments that argnums does not"
                )
            sparse.setdefault(place, []).append(path)
        return sparse


def _tables(x: Variables, paths: Sequence[str], what: str) -> set[int]:
    """The numbers of the arrays in parts of an argument. Raises TypeError for numbers among them,
    and where a path leads nowhere."""
    found = {k for path in paths for k in x.below(path)}
    for k in found:
        t = x.given[k].type
        if not isinstance(t, ArrayType) or t.ndim == 0:
            raise TypeError(f"{what} with sparse_rows takes arrays of one axis or more")
    return found


def _by_rows(interpreter: Interpreter, table: Tracer, rows: Value, values: Value) -> Any:
    """The gradient by a table as rows of it."""
    trace = here()
    shape = table.shape  # type: ignore[attr-defined]
    fields = {"rows": wrap(trace, rows), "values": wrap(trace, values), "shape": shape}
    return interpreter.allocate(build_dataclass(RowGradient, fields))


def _real_number(x: Any, what: str) -> Tracer:
    """The result of a function as a real number. Raises TypeError for anything else."""
    try:
        value = lift(x)
    except Exception:
        value = None
    t = value.type if value is not None else None
    shape = t.shape if isinstance(t, ArrayType) else ()
    number = isinstance(t, (ArrayType, NpScalar, PyScalar)) and t.dtype.kind == "f"
    if value is None or not number or any(d != 1 for d in shape):
        text = str(t) if t is not None else type(x).__name__
        raise TypeError(
            f"{what} takes a function that gives one real floating-point number, not {text}; "
            "for arrays there are jacobian and vjp"
        )
    return value
