"""Benchmark programs become scalar losses, and their gradients are checked by finite differences.

The loss of a program is the sum of all floating-point numbers that it leaves behind, in its result
and in the arguments that it changes, with fixed random weights; of complex ones, of the squares of
their magnitudes. It is differentiated by all floating-point arrays among the arguments.
"""

import copy
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .harness import rebind
from .programs.program import Kernel, Program, differences, parts

Arrays = dict[str, Any]
Loss = Callable[[Arrays, Arrays, list[Any]], Any]
#: Random directions for each array.
DIRECTIONS = 2
#: The first step of the differences, for numbers of magnitude 1.
STEP = 1e-3
#: A check is one only if its tolerance is at most this share of what adds up to the slope.
LOOSEST = 1e-4
#: The number of times that the step is halved.
HALVINGS = 6


class WrongGradient(AssertionError):
    """A gradient disagrees with finite differences; the message says by which array and how."""


@dataclass(frozen=True)
class Differentiable:
    """A program's loss, `loss(wrt, given, weights)`, with arguments.

    `path` takes the same and gives the integers that the program returns, of iterations say. The
    loss adds up the arguments `outcomes` after the call and the parts `results` of its result.
    `wrt` are the arrays to differentiate by, `given` the other arguments, and `changed` the names
    of those among both that a call changes.
    """

    name: str
    loss: Loss
    path: Callable[[Arrays, Arrays, list[Any]], tuple[int, ...]]
    wrt: Arrays
    given: Arrays
    weights: list[Any]
    outcomes: tuple[str, ...]
    results: tuple[int, ...]
    changed: frozenset[str]

    def fresh(self) -> list[Any]:
        """Arguments for one call."""

        def copied(arrays: Arrays) -> Arrays:
            return {k: x.copy() if k in self.changed else x for k, x in arrays.items()}

        return [copied(self.wrt), copied(self.given), self.weights]


def reason_against(program: Program) -> str:
    """Why a program has no gradient, or nothing."""
    kinds = {x.dtype.kind for x in program.arguments("S").values() if isinstance(x, np.ndarray)}
    if kinds & set("fc"):
        return ""
    return "its arrays are integers" if kinds else "it takes no arrays"


def loss_of(kernel: Kernel, outcomes: tuple[str, ...], results: tuple[int, ...]) -> Loss:
    """The loss of a kernel: of the arguments named `outcomes` and of these parts of its result."""

    def loss(wrt: Arrays, given: Arrays, weights: list[Any]) -> Any:
        arguments = {**wrt, **given}
        result = kernel(**arguments)
        if not isinstance(result, tuple):
            result = (result,)
        left = [arguments[name] for name in outcomes] + [result[k] for k in results]
        total = 0.0
        for x, weight in zip(left, weights, strict=True):
            if x.dtype.kind == "c":
                x = x.real**2 + x.imag**2
            total = total + np.sum(weight * x)
        return total

    return loss


def differentiable(program: Program, size: str, double: bool = False) -> Differentiable:
    """The loss of a program; `double` computes in double precision what the program does not."""
    arguments = program.arguments(size)
    kernel = program.kernel
    if double:
        assert isinstance(kernel, types.FunctionType)
        kernel = in_double(kernel)
        arguments = {name: doubled(x) for name, x in arguments.items()}
    after = copy.deepcopy(arguments)
    result = parts(kernel(*after.values()))
    changed = [k for k in arguments if any(differences(arguments[k], after[k], 0.0, k))]
    outcomes = tuple(k for k in changed if is_float(after[k]))
    results = tuple(k for k, x in enumerate(result) if is_float(x))
    rng = np.random.default_rng(7)
    left = [after[k] for k in outcomes] + [result[k] for k in results]
    weights = [rng.uniform(0.5, 1.5, x.shape).astype(x.real.dtype) for x in left]
    wrt = {k: x for k, x in arguments.items() if isinstance(x, np.ndarray) and is_float(x)}
    given = {k: x for k, x in arguments.items() if k not in wrt}
    loss = loss_of(kernel, outcomes, results)

    def path(wrt: Arrays, given: Arrays, weights: list[Any]) -> tuple[int, ...]:
        if all(map(is_float, result)):
            return ()
        return tuple(x for x in parts(kernel(**wrt, **given)) if isinstance(x, int))

    return Differentiable(
        program.name, loss, path, wrt, given, weights, outcomes, results, frozenset(changed)
    )


def is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "fc"


def doubled(x: Any) -> Any:
    return x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype == np.float32 else x


def in_double(kernel: types.FunctionType) -> types.FunctionType:
    """The same code, and that of its module's functions that it calls, with float32 as float64."""
    wide = types.SimpleNamespace(**{**vars(np), "float32": np.float64})
    helpers = {
        name: in_double(value)
        for name in kernel.__code__.co_names
        if isinstance(value := kernel.__globals__.get(name), types.FunctionType)
        and value.__module__ == kernel.__module__
    }
    return rebind(kernel, np=wide, **helpers)


# Finite differences ------------------------------------------------------------------------------


def slope(
    function: Callable[[float], tuple[float, Any]], start: float = STEP
) -> tuple[float, float]:
    """The derivative at 0 and a bound of its error, by central differences extrapolated to step 0.

    Richardson's extrapolation in Ridders' form (C. J. F. Ridders, Advances in Engineering Software
    4, 1982): of the table of all orders and steps the entry that changes least. `function` gives
    its value, and what must be the same for all points: the number of iterations, say. The first
    step is the largest of `start`, `start` / 8, ... for which it is.
    """
    value, path = function(0.0)
    while any(function(t)[1] != path for t in (start, -start)):
        start /= 8.0
    noise = float(np.finfo(np.float64).eps) * abs(value)
    best, error = np.nan, np.inf
    above: list[float] = []
    for k in range(HALVINGS + 1):
        h = start / 2**k
        row = [(function(h)[0] - function(-h)[0]) / (2 * h)]
        for order, before in enumerate(above, 1):
            row.append(row[-1] + (row[-1] - before) / (4**order - 1))
            change = max(abs(row[-1] - row[-2]), abs(row[-1] - before)) + noise / h
            if change < error:
                best, error = row[-1], change
        above = row
    return best, error


def check_gradient(d: Differentiable, gradient: Mapping[str, Any], rtol: float = 1e-7) -> None:
    """Compare a gradient with differences of plain NumPy along random directions, array by array.

    The tolerance is the differences' own error bound, four times, and `rtol` of the sum of the
    magnitudes of what adds up to the slope. Raises WrongGradient.
    """
    rng = np.random.default_rng(11)
    for name, x in d.wrt.items():
        g = np.asarray(gradient[name])
        if g.shape != x.shape or g.dtype != x.dtype:
            raise WrongGradient(f"{d.name}: by {name}: {g.dtype}{g.shape}, not {x.dtype}{x.shape}")
        for _ in range(DIRECTIONS):
            direction = rng.uniform(-1.0, 1.0, x.shape)
            if x.dtype.kind == "c":
                direction = direction + 1j * rng.uniform(-1.0, 1.0, x.shape)

            def moved(t: float, name: str = name, direction: Any = direction) -> list[Any]:
                given = d.fresh()
                given[0][name] = given[0][name] + t * direction
                return given

            def along(t: float, moved: Callable[[float], list[Any]] = moved) -> tuple[float, Any]:
                return float(d.loss(*moved(t))), d.path(*moved(t))

            found, bound = slope(along)
            # of complex z = x + iy the gradient is du/dx - i du/dy
            terms = (g * direction).real
            scale = float(np.abs(terms).sum())
            tolerance = 4 * bound + rtol * scale
            largest = max(scale, abs(found))
            if largest and not tolerance <= LOOSEST * largest:
                raise WrongGradient(f"{d.name}: by {name}: {found:.10g} +- {bound:.2g} is no check")
            if not abs(float(terms.sum()) - found) <= tolerance:
                raise WrongGradient(
                    f"{d.name}: by {name}: {terms.sum():.10g} along a direction, "
                    f"differences give {found:.10g} +- {tolerance:.2g}"
                )
