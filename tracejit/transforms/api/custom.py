"""Functions whose derivatives the program says: `custom_vjp` and `custom_jvp`.

A call in a trace is a node `custom`. The function and its rules are traced there and then, each in
a region of its own, on values that stand for the floats among the arguments. A rule that calls its
own function is traced in this way to a depth of a few calls, one for each order of derivative.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tracejit.frontend.control.unions import narrow
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.trace import current_trace, here
from tracejit.frontend.tracing.traceable import part_of
from tracejit.transforms.api.custom_trace import Call, Result
from tracejit.transforms.api.function import Decorated
from tracejit.transforms.api.rules import CustomRules, may_follow, within

__all__ = ["CustomJvp", "CustomVjp"]


class _Custom(Decorated):
    """What functions with rules have in common."""

    #: The names of the rules, which are attributes.
    rules: tuple[str, ...] = ()
    #: How a rule is given.
    advice = ""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.__name__ = getattr(function, "__name__", "function")
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        self.require_rules()
        if current_trace() is not None:
            return super().__call__(*args, **kwargs)
        return self.function(*args, **kwargs)

    def require_rules(self) -> None:
        """Raise AttributeError where there is no rule yet."""
        if any(getattr(self, name) is None for name in self.rules):
            raise AttributeError(
                f"{self.transform}: no derivative of {self.__qualname__} is given; "
                f"give one by {self.__name__}.{self.advice}"
            )

    def by_place(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> tuple[Any, ...]:
        """The arguments of a call by position, defaults among them. Raises TypeError."""
        signature = inspect.signature(self.function)
        bound = signature.bind(*args, **kwargs)
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        places = [x for x in signature.parameters.values() if x.kind in kinds]
        given = bound.arguments
        for k, x in enumerate(places):
            if x.name not in given:
                given[x.name] = _default(interpreter, function, k - len(places), x)
        if bound.kwargs:
            names = ", ".join(bound.kwargs)
            raise TypeError(f"{self.transform}: {names} of {self.__qualname__} has no position")
        return bound.args

    def record(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        self.require_rules()
        args = tuple(map(narrow, self.by_place(interpreter, function, args, kwargs)))
        if getattr(here().builder, "active", None) is not None:
            from tracejit.transforms.api.custom_eager import record_eagerly

            return record_eagerly(interpreter, self.own_rules(), function, args)
        call = Call(interpreter, self.transform, self.__name__, args)
        result = call.primal(function)
        if not may_follow(self):
            return call.emit(result, "none", ())
        rules = [part_of(interpreter, self, name) for name in self.rules]
        with within(self):
            return self.record_rules(call, result, *rules)

    def own_rules(self) -> CustomRules:
        """The rules as they are now."""
        raise NotImplementedError

    def record_rules(self, call: Call, result: Result, *rules: Callable[..., Any]) -> Any:
        """Trace the rules, and record the node; the call's result."""
        raise NotImplementedError


def _default(
    interpreter: Interpreter, function: Callable[..., Any], place: int, x: inspect.Parameter
) -> Any:
    """The default of a parameter, followed to where the program has it from."""
    if getattr(here().builder, "active", None) is not None:
        return x.default
    source = interpreter.capture.source_of(function)
    if source is None or type(function) is not FunctionType:
        return x.default
    return interpreter.capture.default(source, place, x.name, x.default)


class CustomVjp(_Custom):
    """A function with a rule for reverse mode: `forward` and `backward`."""

    transform = "custom_vjp"
    rules = ("forward", "backward")
    advice = "defvjp(forward, backward)"
    forward: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Say the derivative.

        `forward(*args)` gives the pair (result, residuals), `backward(residuals, cotangent)` the
        tuple of the cotangents of the arguments; None stands for zero.
        """
        self.forward, self.backward = forward, backward

    def own_rules(self) -> CustomRules:
        return CustomRules(self, self.__name__, forward=self.forward, backward=self.backward)

    def record_rules(self, call: Call, result: Result, *rules: Callable[..., Any]) -> Any:
        forward, backward = rules
        residuals = call.forward(forward, result)
        wrt = call.backward(backward, result, residuals)
        return call.emit(result, "vjp", wrt)


class CustomJvp(_Custom):
    """A function with a rule for forward mode, which is transposed for reverse mode."""

    transform = "custom_jvp"
    rules = ("rule",)
    advice = "defjvp(rule)"
    rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Say the derivative: `rule(primals, tangents)` gives the pair (result, tangent).

        Both arguments are tuples, one entry for each argument. The tangent that is given must
        be linear in the tangents.
        """
        self.rule = rule
        return rule

    def own_rules(self) -> CustomRules:
        return CustomRules(self, self.__name__, jvp=self.rule)

    def record_rules(self, call: Call, result: Result, *rules: Callable[..., Any]) -> Any:
        return call.emit(result, "jvp", call.tangents(rules[0], result))
