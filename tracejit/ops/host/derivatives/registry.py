"""Derivatives of calls of NumPy's functions: a table of rules by the functions' paths.

A rule sees the call through the names of the function's parameters, and may record calls itself. A
function that is not in the table has no derivative: that is said with its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import Underivable
from tracejit.ir.derivatives import DerivativeBuilder, NodeAdaptor, NoTangent
from tracejit.ir.dims import prod
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, NpScalar, Type, dtype_name, dtype_of, shape_of
from tracejit.ops.control.templates import make_object
from tracejit.ops.host.functions import find_function, leaves_of

__all__ = [
    "RULES",
    "HostAdaptor",
    "Jvp",
    "Rule",
    "Vjp",
    "as_array",
    "flat",
    "host",
    "linear",
    "matched",
    "rule",
    "sum_of",
    "template",
]


# Recording calls ---------------------------------------------------------------------------------


def template(x: Any) -> Any:
    """A constant of Python as an argument."""
    return ("tuple", *map(template, x)) if isinstance(x, tuple) else ("constant", x)


@lru_cache(maxsize=64)
def _result(path: str, count: int) -> Any:
    """The template of `count` results: the tuple that the function gives for a matrix."""
    return leaves_of(find_function(path)(np.eye(1)))[0] if count > 1 else ("operand", 0)


def host(
    c: DerivativeBuilder, path: str, operands: Sequence[Value], *types: Type, **keywords: Any
) -> tuple[Value, ...]:
    """Record a call with these operands as its first arguments; its results."""
    return c.ops(
        "host_call",
        operands,
        function=path,
        arguments=tuple([("operand", k) for k in range(len(operands))]),
        keywords=tuple([(k, template(v)) for k, v in keywords.items()]),
        result=_result(path, len(types)),
        types=tuple([_described(t) for t in types]),
    )


def _described(t: Type) -> tuple[Any, ...]:
    if isinstance(t, ArrayType):
        return "array", dtype_name(t.dtype), t.shape, ()
    assert isinstance(t, NpScalar)
    return "numpy", dtype_name(t.dtype)


def as_array(c: DerivativeBuilder, v: Value) -> Value:
    """A scalar as an array without axes."""
    return v if isinstance(v.type, ArrayType) else c.op("broadcast_to", v, shape=())


def flat(c: DerivativeBuilder, v: Value) -> Value:
    """All elements along one axis."""
    v = as_array(c, v)
    return c.reshape(v, (prod(shape_of(v.type)),))


def matched(c: DerivativeBuilder, v: Value, t: Type) -> Value:
    """`v` in the shape and dtype of a type, which it has but for unit axes."""
    v = c.cast(c.reshape(as_array(c, v), shape_of(t)), dtype_of(t))
    return v if isinstance(t, ArrayType) else c.op("element", v)


def sum_of(c: DerivativeBuilder, *terms: Value | None) -> Value | None:
    """The sum of those terms that are not zero."""
    out: Value | None = None
    for term in terms:
        if term is not None:
            out = term if out is None else c.add(out, term)
    return out


# Rules -------------------------------------------------------------------------------------------


class HostAdaptor:
    """A call under differentiation, its operands by the names of the function's parameters.

    An operand in a list or tuple has the name of the parameter and its number: "arrays.0".
    """

    def __init__(self, c: DerivativeBuilder, call: NodeAdaptor) -> None:
        self.c, self.call = c, call
        self.path: str = call.attrs["function"]
        arguments, keywords = call.attrs["arguments"], dict(call.attrs["keywords"])
        self.given: dict[str, Any] = _bound(find_function(self.path), arguments, keywords)
        #: Parameter -> the number of its operand.
        self.places: dict[str, int] = {}
        for name, given in self.given.items():
            self._place(name, given)

    def _place(self, name: str, given: Any) -> None:
        match given:
            case ("operand", k):
                self.places[name] = k
            case ("tuple" | "list", *parts):
                for k, part in enumerate(parts):
                    self._place(f"{name}.{k}", part)

    def underivable(self, why: str) -> Underivable:
        """The error that says so."""
        return Underivable(f"{self.path.replace(':', '.')} {why}")

    def x(self, name: str) -> Value:
        """The operand of a parameter; numbers that are constants as an array."""
        if name in self.places:
            return self.call.x(self.places[name])
        if self.constant(name) is None:
            raise self.underivable(f"has no derivative rule without {name}")
        return self.c.constant(np.asarray(make_object(self.given[name], ())))

    def wanted(self, name: str) -> bool:
        """Whether a parameter's cotangent is asked for."""
        return name in self.places and self.call.wanted[self.places[name]]

    def type(self, name: str) -> Type:
        """The type of a parameter's operand."""
        return self.call.inputs[self.places[name]]

    def constant(self, name: str, default: Any = None) -> Any:
        """A parameter that is a constant; a NumPy scalar is Python's number.

        Raises Underivable where it is known at run time.
        """

        def made(given: Any) -> Any:
            match given:
                case ("constant", value):
                    return value
                case ("call", cls, 0, (("constant", value),), ()) if cls != "numpy:dtype":
                    return value
                case ("tuple" | "list", *parts):
                    return tuple([made(p) for p in parts])
            raise self.underivable(f"has no derivative rule for a computed {name}")

        return made(self.given[name]) if name in self.given else default

    def only(self, **defaults: Any) -> None:
        """Raise Underivable unless these parameters have these values."""
        for name, value in defaults.items():
            if self.constant(name, value) != value:
                raise self.underivable(f"with {name}= has no derivative rule")

    def again(self, **operands: Value) -> tuple[Value, ...]:
        """The call with other values of the same types for some parameters; its results."""
        return self.applied(operands)

    def applied(
        self, operands: Mapping[str, Value], dtype: str = "", zeroed: Sequence[str] = ()
    ) -> tuple[Value, ...]:
        """The call with other values for some parameters; `dtype` is that of the results then.

        Numbers that are constants are 0 in the parameters `zeroed`.
        """
        if self.call.node.binds:
            raise self.underivable("has no derivative rule for a result of computed size")
        values: list[Value] = []

        def number(name: str, given: Any) -> Any:
            match given:
                case ("operand", k):
                    v = operands[name] if name in operands else self.call.x(k)
                    if v not in values:
                        values.append(v)
                    return "operand", values.index(v)
                case ("tuple" | "list" as kind, *parts):
                    return kind, *(number(f"{name}.{k}", p) for k, p in enumerate(parts))
                case ("constant", value) if value is not None and name.partition(".")[0] in zeroed:
                    return "constant", np.zeros_like(value, int).tolist()
                case ("constant" | "class", *_):
                    return given
                case ("call", _, _, (("constant", _),), ()) if name.partition(".")[0] in zeroed:
                    return "constant", 0
                case ("call", _, _, parts, ()) if all(p[0] == "constant" for p in parts):
                    return given
            raise self.underivable(f"has no derivative rule for such a {name}")

        attrs = dict(self.call.attrs)
        named = {n for n, _ in attrs["keywords"]}
        arguments = [number(n, g) for n, g in self.given.items() if n not in named]
        attrs["arguments"] = tuple(arguments)
        attrs["keywords"] = tuple([(n, number(n, g)) for n, g in attrs["keywords"]])
        if dtype:
            attrs["types"] = tuple([(t[0], dtype, *t[2:]) for t in attrs["types"]])
        return self.c.ops("host_call", values, **attrs)

    def axis(self, v: Value | Type, name: str = "axis", default: int = -1) -> int:
        """A constant axis of an array, counted from 0."""
        axis = self.constant(name, default)
        if type(axis) is not int:
            raise self.underivable(f"with {name}={axis} has no derivative rule")
        ndim = len(shape_of(v.type if isinstance(v, Value) else v))
        return axis % ndim


def _bound(f: Callable[..., Any], arguments: Sequence[Any], keywords: Any) -> dict[str, Any]:
    """The arguments by the names of parameters; by number where there are no names.

    A ufunc's operands are x, or x1, x2 and so on, as its documentation names them.
    """
    if isinstance(f, np.ufunc):
        names = ["x"] if f.nin == 1 else [f"x{k + 1}" for k in range(f.nin)]
        names += ["out"] if f.nout == 1 else [f"out{k + 1}" for k in range(f.nout)]
        return {**dict(zip(names, arguments, strict=False)), **keywords}
    try:
        signature = _signature(f)
        found = signature.bind(*arguments, **keywords).arguments
    except (TypeError, ValueError):
        return {**{str(k): a for k, a in enumerate(arguments)}, **keywords}
    out: dict[str, Any] = {}
    for name, given in found.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            out |= given
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            out |= {f"{name}.{k}": g for k, g in enumerate(given)}
        else:
            out[name] = given
    return out


#: The parameters of methods of ufuncs, whose signatures NumPy tells since 2.4.
_METHODS = {
    "reduce": "array axis dtype out keepdims initial where",
    "accumulate": "array axis dtype out",
    "reduceat": "array indices axis dtype out",
}


def _signature(f: Callable[..., Any]) -> inspect.Signature:
    owner, name = getattr(f, "__self__", None), getattr(f, "__name__", "")
    if not isinstance(owner, np.ufunc) or name not in _METHODS:
        return inspect.signature(f)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named = _METHODS[name].split()
    return inspect.Signature(
        [
            inspect.Parameter(n, kind, default=None if k else inspect.Parameter.empty)
            for k, n in enumerate(named)
        ]
    )


#: (adaptor, tangents by parameters) -> tangents of the results.
Jvp: TypeAlias = Callable[[HostAdaptor, Mapping[str, Value]], Sequence[Value | NoTangent | None]]
#: (adaptor, cotangents of the results) -> cotangents by parameters.
Vjp: TypeAlias = Callable[[HostAdaptor, Sequence[Value | None]], Mapping[str, Value | None]]


@dataclass(frozen=True)
class Rule:
    """The derivatives of a function by some of its parameters."""

    parameters: tuple[str, ...]
    jvp: Jvp
    #: None: the transpose of the tangents' nodes. It is written where the jvp calls the function
    #: itself, as those of linear functions do: a transpose would ask for itself.
    vjp: Vjp | None


#: By `module:name`.
RULES: dict[str, Rule] = {}


def rule(paths: Sequence[str], *parameters: str, jvp: Jvp, vjp: Vjp | None = None) -> None:
    """Enter a rule for functions; without a `vjp` it is the transpose of the jvp."""
    for path in paths:
        RULES[path] = Rule(parameters, jvp, vjp)


def linear(
    paths: Sequence[str],
    parameter: str,
    transposed: Callable[[HostAdaptor, Value], Value],
    **required: Any,
) -> None:
    """Enter the rule of functions that are linear in a parameter, given what is `required`.

    The tangent is the function of the operand's, the cotangent `transposed(at, cotangent)`.
    """

    def jvp(at: HostAdaptor, tangents: Mapping[str, Value]) -> Sequence[Value]:
        at.only(**required)
        return at.again(**tangents)

    def vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
        at.only(**required)
        g, *others = cotangents
        if g is None or any(o is not None for o in others):
            raise at.underivable("has a derivative rule for its first result alone")
        found = transposed(at, g)
        return {parameter: matched(at.c, found, at.type(parameter))}

    rule(paths, parameter, jvp=jvp, vjp=vjp)
