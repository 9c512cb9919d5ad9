"""Random numbers in a traced program: draws from NumPy's streams, in the program's order."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.host.calls import CallOperands, record, refuse_opaque
from tracejit.frontend.host.functions import takes_keywords
from tracejit.frontend.tracing.checks import require_known
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer
from tracejit.ops.host.functions import find_function
from tracejit.ops.host.random import DRAW, START, draw, start

__all__ = ["RandomFunction", "TracedGenerator", "random_function"]

_DISTRIBUTIONS = (
    "beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric "
    "laplace logistic lognormal logseries multinomial multivariate_normal negative_binomial "
    "noncentral_chisquare noncentral_f normal pareto permutation poisson power random rayleigh "
    "standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular "
    "uniform vonmises wald weibull zipf"
).split()
_GLOBAL = frozenset((*_DISTRIBUTIONS, "rand", "randn", "randint", "random_sample", "seed"))
_OF_GENERATOR = frozenset((*_DISTRIBUTIONS, "integers", "multivariate_hypergeometric", "permuted"))


def random_function(name: str, value: Any) -> RandomFunction | None:
    """The stand-in of `np.random.name`, which is `value`; None for what is not known."""
    if name == "default_rng" and value is np.random.default_rng:
        return RandomFunction(name)
    of_global = getattr(value, "__self__", None) is np.random.mtrand._rand
    known = of_global or value is np.random.seed
    return RandomFunction(name) if name in _GLOBAL and known else None


class RandomFunction:
    """A function of the module `np.random`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
        """Draw from NumPy's global stream, or make a Generator."""
        if self.name == "default_rng":
            return _make(interpreter, *args, **kwargs)
        name = f"np.random.{self.name}"
        operands = CallOperands()
        # The types of its results are found on a stream of its own.
        placeholder = getattr(np.random.RandomState(0), self.name)
        refused = TraceError("TJ002", name, user_line())
        with refuse_opaque(refused):
            require_known([*args, *kwargs.values()], f"an argument of {name}")
            attrs = operands.call(f"numpy.random:{self.name}", args, kwargs)
            return record(
                interpreter, attrs, operands, placeholder, name, refused.where, effect=True
            )


def _make(interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
    """`np.random.default_rng(seed)`."""
    refused = TraceError("TJ002", "np.random.default_rng", user_line())
    seeds = (*args, *kwargs.values())
    # Without a seed every call of the function would begin somewhere else.
    if len(seeds) != 1 or not set(kwargs) <= {"seed"} or not _is_seed(seeds[0]):
        raise refused
    operands = CallOperands()
    with refuse_opaque(refused):
        attrs = operands.call(START, seeds, {})
        name = "np.random.default_rng"
        words = record(interpreter, attrs, operands, find_function(START), name, refused.where)
    return TracedGenerator(words)


def _is_seed(x: Any) -> bool:
    if isinstance(x, (Tracer, SymInt, np.integer)):
        return True
    return type(x) is int or (type(x) in (list, tuple) and bool(x) and all(map(_is_seed, x)))


class TracedGenerator:
    """A Generator that the program makes: an array of the words of its state."""

    def __init__(self, words: TracedArray) -> None:
        self.words = words

    def attribute(self, name: str) -> Any:
        """A method that draws. Raises TraceError for any other attribute."""
        if name not in _OF_GENERATOR:
            raise TraceError("TJ002", f"Generator.{name}", user_line())
        return _Method(self, name)


def _example_draw(method: str, words: Any, args: Any, keywords: Any) -> Any:
    """A draw from a stream of its own: not every number is the state of one."""
    return draw(method, start(0), args, keywords)


class _Method(RandomFunction):
    """A method of a Generator."""

    def __init__(self, generator: TracedGenerator, name: str) -> None:
        super().__init__(name)
        self.generator = generator

    def call(self, interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
        """Draw, and keep the state after it."""
        words, name = self.generator.words, f"Generator.{self.name}"
        refused = TraceError("TJ002", name, user_line())
        if not takes_keywords(kwargs):
            raise refused
        operands = CallOperands()
        with refuse_opaque(refused):
            require_known([*args, *kwargs.values()], f"an argument of {name}")
            given = (self.name, words, tuple(args), dict(kwargs))
            attrs = operands.call(DRAW, given, {})
            after, result = record(interpreter, attrs, operands, _example_draw, name, refused.where)
        words.store(after.value())
        return result
