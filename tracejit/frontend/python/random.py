"""Random numbers in a traced program: draws from streams of NumPy and Python, in its order."""

from __future__ import annotations

import random
import sys
from types import BuiltinFunctionType, MethodType
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.host.calls import CallOperands, record, refuse_opaque
from tracejit.frontend.host.functions import takes_keywords
from tracejit.frontend.numpy.conversion import fit_dims
from tracejit.frontend.python.choices import choice
from tracejit.frontend.tracing.checks import require_known
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.instances import is_stream
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import Storage
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer
from tracejit.ir.types import ArrayType
from tracejit.ops.host.functions import find_function
from tracejit.ops.host.random import (
    DRAW,
    DRAWN,
    MODULES,
    START,
    draw,
    drawn_from,
    module_stream,
    start,
)

__all__ = ["RandomFunction", "StreamMethod", "TracedGenerator", "random_function"]

_DISTRIBUTIONS = (
    "beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric "
    "laplace logistic lognormal logseries multinomial multivariate_normal negative_binomial "
    "noncentral_chisquare noncentral_f normal pareto permutation poisson power random rayleigh "
    "shuffle standard_cauchy standard_exponential standard_gamma standard_normal standard_t "
    "triangular uniform vonmises wald weibull zipf"
).split()
#: The methods that draw, or seed, by the name of the stream's class.
_METHODS = {
    "Generator": frozenset(
        (*_DISTRIBUTIONS, "integers", "multivariate_hypergeometric", "permuted")
    ),
    "RandomState": frozenset(
        (*_DISTRIBUTIONS, "rand", "randint", "randn", "random_sample", "seed", "tomaxint")
    ),
    "Random": frozenset(
        "betavariate choice choices expovariate gammavariate gauss getrandbits lognormvariate "
        "normalvariate paretovariate randint random randrange sample seed shuffle triangular "
        "uniform vonmisesvariate weibullvariate".split()
    ),
}
#: What these methods call the bounds of integers.
_HIGH = frozenset(("high", "b", "stop"))
_BOUNDS = _HIGH | {"low", "a", "start"}
#: What `choice` draws by. A Generator chooses places, of which none occurs twice, by integers.
_DRAWS: dict[str, dict[str, str]] = {
    "Generator": {"uniform numbers": "random", "integers": "integers"},
    "RandomState": {
        "uniform numbers": "random_sample",
        "integers": "randint",
        "permutation": "permutation",
    },
}
#: Functions of `np.random` that are no methods of its stream, but call one.
_CALLS = {"ranf": "random_sample", "sample": "random_sample", "seed": "seed"}


def _draws(cls: type) -> dict[str, str]:
    """What `choice` of a stream of NumPy draws by."""
    of_numpy = cls.__module__.startswith("numpy.random.")
    return _DRAWS.get(cls.__name__, {}) if of_numpy else {}


class RandomFunction:
    """A function that draws random numbers, or makes a Generator."""

    def call(self, interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
        """What it gives. Raises TraceError for what cannot be followed."""
        raise NotImplementedError


def random_function(interpreter: Interpreter, f: Any) -> RandomFunction | None:
    """The stand-in of a function that draws from a stream, or makes one; None for any other."""
    if type(f) in (BuiltinFunctionType, MethodType) and is_stream(f.__self__):
        kind = next((k for k in MODULES if f.__self__ is module_stream(k)), None)
        if kind is not None:
            return StreamMethod(f.__self__, f.__name__, kind)
        source = interpreter.capture.source_of(f)
        if source is None:
            return None
        owner = interpreter.capture.attribute(source, "__self__", f.__self__)
        return StreamMethod(owner, f.__name__)
    module = sys.modules.get("numpy.random")
    if module is None:
        return None
    if f is module.default_rng:
        return _Maker()
    method = next((m for name, m in _CALLS.items() if f is getattr(module, name)), None)
    if method is None:
        return None
    return StreamMethod(module_stream("np.random"), method, "np.random")


# Streams from outside ----------------------------------------------------------------------------


class StreamMethod(RandomFunction):
    """A method of a stream that the program has not made; `kind` names one that is a module's."""

    def __init__(self, stream: Any, name: str, kind: str | None = None) -> None:
        self.stream, self.name, self.kind = stream, name, kind

    def call(self, interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
        """Draw from it where it lies."""
        stream, cls = self.stream, type(self.stream)
        if self.name == "choice" and _draws(cls):
            found = choice(interpreter, self._sibling, args, kwargs)
            if found is not NotImplemented:
                return found
        if self.name == "choice" and cls is random.Random and len(args) == 1 and not kwargs:
            (given,) = args
            if type(given) in (list, tuple) and given and not is_grown(given):
                # So does Python: https://docs.python.org/3/library/random.html#random.choice
                place = StreamMethod(stream, "randrange", self.kind)
                return interpreter.item(given, interpreter.call(place, len(given)))
        name, refused = _checked(cls.__name__, self.name, kwargs)
        operands = CallOperands()
        with refuse_opaque(refused):
            require_known([*args, *kwargs.values()], f"an argument of {name}")
            address = None
            if self.kind is None:
                address = interpreter.capture.address(stream, cls.__name__)
            args, kwargs = _alike(args, kwargs)
            given = (self.kind or cls.__name__, self.name, address, args, kwargs)
            attrs = operands.call(DRAWN, given, {})
            where = refused.where
            result = record(interpreter, attrs, operands, _example(cls), where, "host_draw")
        return _result(interpreter, self.name, args, result)

    def _sibling(self, what: str) -> StreamMethod | None:
        """The method of the same stream that draws something; None where it has none."""
        name = _draws(type(self.stream)).get(what)
        return None if name is None else StreamMethod(self.stream, name, self.kind)


def _checked(cls: str, method: str, kwargs: dict[str, Any]) -> tuple[str, TraceError]:
    """The method's name, and what is raised where the call cannot be followed, here if so."""
    module = "random" if cls == "Random" else "np.random"
    name = f"{module}.{cls}.{method}"
    refused = TraceError("TJ002", name, user_line())
    if method not in _METHODS[cls] or not takes_keywords(kwargs):
        raise refused
    return name, refused


def _alike(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments; arrays of equal sizes have them written in the same way."""
    arrays = [x for x in (*args, *kwargs.values()) if isinstance(x, TracedArray)]
    if len(arrays) < 2:
        return tuple(args), dict(kwargs)
    env, shape = here().env, arrays[0].type.shape
    for x in arrays[1:]:
        if x.ndim != len(shape):
            return tuple(args), dict(kwargs)
        for a, b in zip(x.type.shape, shape, strict=True):
            if not env.is_known(a, b) or not env.decide(a, "==", b):
                return tuple(args), dict(kwargs)

    def fitted(x: Any) -> Any:
        return fit_dims(x, shape) if isinstance(x, TracedArray) else x

    return tuple(map(fitted, args)), {k: fitted(x) for k, x in kwargs.items()}


def _example(cls: type) -> Any:
    """A draw from a stream of its own: what is known while tracing is not drawn from."""

    def example(_: str, method: str, address: Any, args: Any, keywords: Any) -> Any:
        stream = np.random.default_rng(0) if cls is np.random.Generator else cls(0)
        return drawn_from(stream, method, *_possible(method, args, keywords))

    return example


def _possible(method: str, args: Any, keywords: Any) -> tuple[Any, Any]:
    """Arguments of these types, with bounds between which there are integers."""
    if method not in ("integers", "randint", "randrange"):
        return args, keywords
    low, high = (0, 9) if len(args) > 1 or keywords.keys() & _HIGH else (9, 9)
    given = [b if _is_integer(x) else x for x, b in zip(args, (low, high), strict=False)]
    named = {
        k: (high if k in _HIGH else low) if k in _BOUNDS and _is_integer(x) else x
        for k, x in keywords.items()
    }
    return (*given, *args[2:]), named


def _is_integer(x: Any) -> bool:
    return isinstance(x, (int, np.integer))


def _result(interpreter: Interpreter, method: str, args: Any, result: Any) -> Any:
    """What a method gives, by what the draw gives: `shuffle` stores that into its argument."""
    if method != "shuffle":
        return result
    x = args[0]
    if isinstance(x, list):
        interpreter.require_mutable(x)
        x[:] = result
    else:
        x[...] = result
    return None


# Generators made inside --------------------------------------------------------------------------


class _Maker(RandomFunction):
    """`np.random.default_rng`."""

    def call(self, interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
        """Make a Generator; without a seed, another one each time."""
        name = "np.random.default_rng"
        refused = TraceError("TJ002", name, user_line())
        seeds = (*args, *kwargs.values()) or (None,)
        if len(seeds) == 1 and type(seeds[0]) is np.random.Generator:
            return seeds[0]
        if len(seeds) != 1 or not set(kwargs) <= {"seed"} or not _is_seed(seeds[0]):
            raise refused
        if _is_constant_seed(seeds[0]):
            words = start(seeds[0])
            trace = here()
            value = trace.constant(words, ArrayType(words.dtype, words.shape))
            return TracedGenerator(TracedArray(trace, Storage(trace, value)))
        operands = CallOperands()
        with refuse_opaque(refused):
            attrs = operands.call(START, seeds, {})
            maker, fresh = find_function(START), seeds[0] is None
            words = record(interpreter, attrs, operands, maker, refused.where, "host_draw" * fresh)
        return TracedGenerator(words)


def _is_seed(x: Any) -> bool:
    if x is None or isinstance(x, (Tracer, SymInt, np.integer)):
        return True
    return type(x) is int or (type(x) in (list, tuple) and bool(x) and all(map(_is_seed, x)))


def _is_constant_seed(x: Any) -> bool:
    """Whether a seed is known while tracing, and one that NumPy takes."""
    if type(x) in (list, tuple):
        return all(map(_is_constant_seed, x))
    return type(x) is int and x >= 0


class TracedGenerator:
    """A Generator that the program makes: an array of the words of its state."""

    def __init__(self, words: TracedArray) -> None:
        self.words = words

    def attribute(self, name: str) -> Any:
        """A method that draws."""
        return _Method(self, name)


def _example_draw(method: str, words: Any, args: Any, keywords: Any) -> Any:
    """A draw from a stream of its own: not every number is the state of one."""
    return draw(method, start(0), *_possible(method, args, keywords))


class _Method(RandomFunction):
    """A method of a Generator that the program makes."""

    def __init__(self, generator: TracedGenerator, name: str) -> None:
        self.generator, self.name = generator, name

    def call(self, interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
        """Draw, and keep the state after it."""
        if self.name == "choice":
            found = choice(interpreter, self._sibling, args, kwargs)
            if found is not NotImplemented:
                return found
        words = self.generator.words
        name, refused = _checked("Generator", self.name, kwargs)
        operands = CallOperands()
        with refuse_opaque(refused):
            require_known([*args, *kwargs.values()], f"an argument of {name}")
            args, kwargs = _alike(args, kwargs)
            given = (self.name, words, args, kwargs)
            attrs = operands.call(DRAW, given, {})
            after, result = record(interpreter, attrs, operands, _example_draw, refused.where)
        words.store(after.value())
        return _result(interpreter, self.name, args, result)

    def _sibling(self, what: str) -> _Method | None:
        """As that of `StreamMethod`."""
        name = _DRAWS["Generator"].get(what)
        return None if name is None else _Method(self.generator, name)
