"""Ops with effects, ordered by a token, and the ops that stand for what follows an exit.

    t1 = print_text(t0, x, text=("x is ", ("value", 0, "", ()), "\\n"))
    t2 = raise_error(t1, x, error=("call", "builtins:ValueError", 0, (("operand", 0),), ()))

A token is a value without bits: it only says what comes before what.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.errors import Bailout
from tracejit.ir.graph import Attrs, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import (
    DTYPES,
    NONE,
    PYBOOL,
    TOKEN,
    ArrayType,
    NpScalar,
    PyScalar,
    Type,
    dtype_name,
)
from tracejit.ops.checks import dtype_attr, only_attrs, sizes_attr, take
from tracejit.ops.control.messages import MessageStream
from tracejit.ops.control.templates import check_object, check_text, make_object, referred, render

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["Check", "PrintText", "RaiseError", "StartToken", "Undefined", "undefined_attrs"]


class _Token:
    """The value of every token where a graph is evaluated."""

    def __repr__(self) -> str:
        return "token"


_THE_TOKEN = _Token()


@register
class StartToken(Op):
    """The token that comes before every effect."""

    name: ClassVar[str] = "start_token"
    kind: ClassVar[str] = "effect"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 0)
        only_attrs(self.name, attrs)
        return (TOKEN,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (_THE_TOKEN,)


def _after_token(name: str, inputs: Sequence[Type]) -> Sequence[Type]:
    require(inputs and inputs[0] == TOKEN, f"{name} takes a token first")
    for t in inputs[1:]:
        require(isinstance(t, (ArrayType, NpScalar, PyScalar)), f"{name} does not take {t}")
    return inputs[1:]


@register
class PrintText(Op):
    """Write a text to `sys.stdout` as it is then.

    `text` is a template over the operands after the token; one that cannot be made bails out.
    `stream` may be "stderr", and `file` the number of an object to write to instead.
    """

    name: ClassVar[str] = "print_text"
    kind: ClassVar[str] = "effect"
    pure: ClassVar[bool] = False

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        only_attrs(self.name, attrs, "text", optional=("file", "flush", "stream"))
        operands = _after_token(self.name, inputs)
        check_text(self.name, attrs["text"], len(operands))
        require(type(attrs.get("file", 0)) is int, "print_text: file is the number of an object")
        stream = attrs.get("stream", "stdout")
        require(stream in ("stdout", "stderr"), f"print_text: there is no stream {stream!r}")
        require(type(attrs.get("flush", False)) is bool, "print_text: flush is True or False")
        return (TOKEN,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        text, file = self.text(inputs, attrs), self.file(attrs)
        if file is not None:
            file.write(text)
            if attrs.get("flush", False):
                file.flush()
        return (inputs[0],)

    def file(self, attrs: Attrs) -> Any:
        """The object to write to, if there is one now. Raises Bailout where writing would raise."""
        if "file" in attrs:
            file = referred(attrs["file"])
            if isinstance(file, MessageStream):
                file.require()
            return file
        return getattr(sys, attrs.get("stream", "stdout"))

    def text(self, inputs: Sequence[Any], attrs: Attrs) -> str:
        """The text for concrete inputs. Raises Bailout."""
        try:
            return render(attrs["text"], inputs[1:])
        except Exception as e:
            raise Bailout(f"a text cannot be made: {e}") from e


@register
class RaiseError(Op):
    """Leave the program by the exception that `error` makes of the operands.

    The last inputs are the present values of the outermost graph's inputs `states`: their memory
    holds just those values when the exception leaves. `cause` is the object after `from`. What
    follows the node in its region is never run.
    """

    name: ClassVar[str] = "raise_error"
    kind: ClassVar[str] = "effect"
    pure: ClassVar[bool] = False

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        only_attrs(self.name, attrs, "error", optional=("cause", "states"))
        states = attrs.get("states", ())
        valid = type(states) is tuple and all(type(k) is int and k >= 0 for k in states)
        require(valid, f"raise_error: {states!r} are not numbers of inputs")
        count = len(_after_token(self.name, inputs)) - len(states)
        require(count >= 0, "raise_error lacks the values of its states")
        for name in ("error", "cause"):
            if name in attrs:
                check_object(self.name, attrs[name], count)
        return (TOKEN,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        raise self.exception(inputs, attrs)

    def exception(self, inputs: Sequence[Any], attrs: Attrs) -> BaseException:
        """The exception for concrete inputs, or the one that making it raises."""
        operands = inputs[1:]
        try:
            error = _as_exception(make_object(attrs["error"], operands))
            if "cause" in attrs:
                cause = make_object(attrs["cause"], operands)
                error.__cause__ = None if cause is None else _as_exception(cause)
                error.__suppress_context__ = True
        except Exception as e:
            return e
        return error


def _as_exception(x: Any) -> BaseException:
    """`x`, or an instance of the class `x`. Raises TypeError as `raise` does."""
    made = x() if isinstance(x, type) and issubclass(x, BaseException) else x
    if not isinstance(made, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    return made


@register
class Check(Op):
    """Bail out unless the operand holds."""

    name: ClassVar[str] = "check"
    kind: ClassVar[str] = "effect"
    pure: ClassVar[bool] = False

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs)
        require(inputs[0] in (PYBOOL, NpScalar(DTYPES["b1"])), f"check takes a bool: {inputs[0]}")
        return ()

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        if not inputs[0]:
            raise Bailout("a check does not hold")
        return ()

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        holds = c.op("reduce_all", at.values[0], axes=(0,))
        return c.ops(self.name, [c.op("element", holds)])


_KINDS = ("array", "numpy", "bool", "int", "float", "complex", "token", "none")


@register
class Undefined(Op):
    """A value that nobody reads: the memory of an array as it is, a scalar of zero bits.

    `kind` is array, numpy (a NumPy scalar), bool, int, float, complex, token or none; arrays have
    `dtype`, `shape` and `order`, NumPy scalars `dtype`. Evaluated, it is zero.
    """

    name: ClassVar[str] = "undefined"
    kind: ClassVar[str] = "effect"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 0)
        kind = attrs.get("kind")
        require(kind in _KINDS, f"undefined: there is no kind {kind!r}")
        needed = {"array": ("dtype", "shape", "order"), "numpy": ("dtype",)}.get(str(kind), ())
        only_attrs(self.name, attrs, "kind", *needed)
        if kind == "array":
            shape, order = sizes_attr(self.name, attrs, "shape"), attrs["order"]
            valid = type(order) is tuple and sorted(order) == list(range(len(shape)))
            require(valid, f"undefined: {order!r} does not list the axes")
            return (ArrayType(dtype_attr(self.name, attrs), shape, order),)
        if kind == "numpy":
            return (NpScalar(dtype_attr(self.name, attrs)),)
        if kind in ("token", "none"):
            return (TOKEN if kind == "token" else NONE,)
        return (PyScalar(str(kind)),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        match attrs["kind"]:
            case "array":
                order = attrs["order"]
                if any(n < 0 for n in attrs["shape"]):
                    raise Bailout(f"a negative size: {attrs['shape']}")
                memory = np.zeros([attrs["shape"][a] for a in order], DTYPES[attrs["dtype"]])
                return (memory.transpose(np.argsort(order)),)
            case "numpy":
                return (DTYPES[attrs["dtype"]].type(0),)
            case "token":
                return (_THE_TOKEN,)
            case "none":
                return (None,)
        return ({"bool": False, "int": 0, "float": 0.0, "complex": 0j}[attrs["kind"]],)


def undefined_attrs(t: Type) -> dict[str, Any]:
    """The attributes of the `undefined` of a type."""
    if isinstance(t, ArrayType):
        return {"kind": "array", "dtype": dtype_name(t.dtype), "shape": t.shape, "order": t.order}
    if isinstance(t, NpScalar):
        return {"kind": "numpy", "dtype": dtype_name(t.dtype)}
    if isinstance(t, PyScalar):
        return {"kind": t.kind}
    return {"kind": "token" if t == TOKEN else "none"}
