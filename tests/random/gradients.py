"""Derivatives of random functions with control flow and stores, by all ways that there are.

`generate(seed)` gives a `Case` as `tests.random.control` does, of smooth operations. `check` holds
the gradient by evaluation of its graph, that by operation on real values, the compiled one and the
tangent against each other, and against differences where no branch is near.

python -m tests.random.gradients --seeds 0:1000
"""

from __future__ import annotations

import argparse
import collections
import copy
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit
from tests.random.control import Block, Case, Line, Statement, _Generator
from tests.random.control_search import load
from tests.random.dynamic import nudged
from tests.support.capturing import Compiled
from tests.support.compiler_faults import compiler_failure
from tests.transforms.gradient_checks import dot, leaves_of, random_like
from tracejit.errors import Bailout, TraceError
from tracejit.ir.verify import verify

__all__ = ["check", "generate"]

#: The places of the arguments that have derivatives: f0, f1, x, y, m.
PLACES = (2, 3, 4, 5, 6)

_FUNCTION = """
def total(i0, i1, f0, f1, x, y, m):
    a, b, c = f(i0, i1, f0, f1, x, y, m)
    s = np.sin(a) + (np.sin(b) * (np.arange(len(b)) + 1.0)).sum() + np.cos(c).sum()
    return s + (x * x).sum() + np.sin(y).sum() + (m * m[::-1]).sum()
"""


class SmoothCase(Case):
    """A case whose module has the function `total` of one real result."""

    def source(self) -> str:
        """The module's text."""
        return super().source() + "\n" + _FUNCTION

    def calls(self) -> list[tuple[Any, ...]]:
        """Arguments without any pattern; in every second call the ints are NumPy's."""
        rng = np.random.default_rng(self.seed)
        calls = []
        for number in range(2):
            n = (3, 5)[number]
            kind: Any = np.int64 if number == 1 else int
            ints = [kind(k) for k in rng.integers(-3, 7, 2)]
            floats = [float(v) for v in rng.uniform(-1.5, 1.5, 2)]
            arrays = [rng.uniform(-1.5, 1.5, shape) for shape in (n, n, (n, 3))]
            calls.append((*ints, *floats, *arrays))
        return calls


def generate(seed: int) -> SmoothCase:
    """The same case for the same seed."""
    case = _Smooth(seed).case()
    return SmoothCase(case.seed, case.helpers, case.body)


class _Smooth(_Generator):
    def number(self) -> str:
        return repr(round(self.random.uniform(-1.7, 1.7), 3))

    def float_(self, depth: int = 2) -> str:
        v, w = self.pick(*self.floats), self.pick(*self.floats)
        choices = [self.number(), v, v, f"{v} + {self.number()}", f"{v} * 0.5", f"-{v}"]
        if self.arrays:
            array = self.pick(*self.arrays)
            choices += [f"{array}[{self.index(array)}]"] * 3 + [f"np.sin({array}).sum()"]
            if not self.in_helper:
                choices.append(f"m[{self.index('m')}, {self.pick('0', '1', '-1')}]")
        if depth:
            a, b = self.float_(depth - 1), self.float_(depth - 1)
            choices += [
                f"({a}) - ({b})",
                f"np.sin({a}) * ({b})",
                f"({a}) * {self.number()}",
                f"({a} if {self.condition(depth - 1)} else {b})",
                f"min({v}, {w})",
                f"max({a}, {b})",
                f"({a}) / (1.5 + ({b}) ** 2)",
                f"math.sin({a})",
                f"np.tanh({a}) * {w}",
                f"np.exp(-({a}) ** 2)",
                f"{self.int_(0)} * 0.1 * {v}",
            ]
            if self.helpers and not self.in_helper:
                k = self.random.randrange(len(self.helpers))
                choices += [f"h{k}({self.int_(0)}, {v}, {self.float_(0)})"] * 2
        return self.random.choice(choices)

    def array(self) -> str:
        a, b = self.pick(*self.arrays), self.pick(*self.arrays)
        return self.random.choice(
            [
                f"np.sin({a}) * {b}",
                f"{a} * {self.float_(1)}",
                f"np.tanh({a} + {self.float_(0)})",
                f"{a}.copy()",
                f"{a}[::-1] / (1 + {b} ** 2)",
                f"np.where({a} > {b}, np.sin({a}), {self.number()})",
                f"np.minimum({a}, {b}) * 0.5",
                f"m[:, {self.pick('0', '1', '2')}] * {a}",
                f"np.tanh(m @ m.T) @ {a}",
                f"({a} if {self.condition(0)} else {b}) * {self.number()}",
                f"np.full(len({a}), {self.float_(0)})",
                f"np.cumsum(np.sin({a}))",
                f"{a}[np.arange(len({a})) * 2 % len({a})]",
            ]
        )

    def store(self) -> list[Statement]:
        if self.random.random() < 0.5:
            return super().store()
        a, b, i = self.pick(*self.arrays), self.pick(*self.arrays), self.index("m")
        part = self.pick(":", "1:", ":-1", "1:-1", "::2", "::-1")
        choices = [
            f"{a}[{part}] *= np.sin({b}[{part}])",
            f"np.sin({a}, out={b})",
            f"np.multiply({a}, {self.float_(1)}, out={a}, where={b} > {self.number()})",
            f"{a}[{b} > {self.number()}] = {self.float_(1)}",
            f"{a}[{b} > {self.number()}] *= {self.number()}",
            f"np.add.at({a}, np.arange(len({a})) // 2, np.sin({b}))",
            f"{a}[1:] = np.sin({a}[:-1]) * {b}[1:]",
            f"{a}[:] = np.tanh({a}) * {self.number()}",
            f"m[{i}] = np.sin(m[{self.index('m')}]) * {self.float_(0)}",
            f"m[:, 1] *= np.tanh({a})",
            "m[[0, 1]] = m[[1, 0]]",
            f"{a}[1:3] = np.sin({a})[-2:]",
        ]
        return [Line(self.random.choice(choices))]

    def assign_array(self) -> list[Statement]:
        return [Line(f"{self.pick(*self.arrays)} = {self.array()}")]

    def rare(self) -> list[Statement]:
        v = self.pick(*self.floats)
        self.counter += 1
        late = f"u{self.counter}"
        if not self.arrays or self.random.random() < 0.3:
            return [
                Line(f"{late} = {v}"),
                Block(((f"if {self.condition()}:", (Line(f"{late} = {self.float_(1)}"),)),)),
                Line(f"{v} = {late} * 0.7"),
            ]
        a = self.pick(*self.arrays)
        return [
            Line(f"{late} = {a}[{self.pick('1:', '::-1', ':2', '::2')}]"),
            Line(self.pick(f"{late} *= {self.float_(1)}", f"{late}[0] = np.sin({late}[-1])")),
            Line(f"{v} = {late}.sum() * 0.3"),
        ]

    def result(self) -> Line:
        a, b, v = self.pick(*self.arrays), self.pick(*self.arrays), self.pick(*self.floats)
        return Line(f"return {v}, {a}, {b}")

    def leave(self) -> list[Statement]:
        result = Line(f"return {self.float_(1)}") if self.in_helper else self.result()
        return [Block(((f"if {self.condition()}:", (result,)),))]


# The check ----------------------------------------------------------------------------------------


class Wrong(AssertionError):
    """Two ways to a derivative disagree."""


def check(seed: int, native: bool = False, second: bool = False) -> str:
    """Check one case: "checked", or why it was not. Raises Wrong."""
    case = generate(seed)
    with tempfile.TemporaryDirectory() as folder:
        module = load("import math\n" + case.source(), folder)
        try:
            return _check(module.total, case.calls(), native, second)
        finally:
            sys.modules.pop(module.__name__)


def _check(
    f: Callable[..., Any], calls: Sequence[tuple[Any, ...]], native: bool, second: bool
) -> str:
    places = PLACES
    whole = tracejit.value_and_grad(f, argnums=places)
    gradient = tracejit.grad(f, argnums=places)
    evaluated = Compiled(lambda *args: whole(*args))
    pushed = Compiled(lambda args, along: tracejit.jvp(f, args, along))
    twice = Compiled(lambda args, along: tracejit.jvp(gradient, args, along))
    rng = np.random.default_rng(0)
    outcome = "nothing"
    for number, args in enumerate(calls):
        try:
            with np.errstate(all="ignore"):
                value = f(*copy.deepcopy(args))
        except Exception:
            continue
        try:
            got, found = evaluated(*copy.deepcopy(args))
            along = tuple(random_like(a, rng) if k in places else None for k, a in enumerate(args))
            other, tangent = pushed(copy.deepcopy(args), along)
        except Bailout:
            continue
        except TraceError as e:
            return f"{e.code} {e.detail}" if "-v" in sys.argv else e.code
        for entry in evaluated.entries:
            verify(entry.graph)
        what = f"call {number}"
        _near(got, value, value, f"{what}: the value")
        _near(other, value, value, f"{what}: the value of jvp")
        with tracejit.eager():
            _, concrete = whole(*copy.deepcopy(args))
        size = max([abs(value), *(float(np.max(np.abs(g))) for g in leaves_of(found))])
        for k, a, b in zip(places, found, concrete, strict=True):
            try:
                _near(a, b, size, f"{what}, argument {k}: evaluated and op by op")
            except Wrong:
                # Sums in another order are other roundings, which some programs amplify.
                with tracejit.eager():
                    moved = [whole(*nudged(args, to))[1][places.index(k)] for to in (-1, 1)]
                apart = max(float(np.max(np.abs(np.asarray(v) - b), initial=0.0)) for v in moved)
                if not float(np.max(np.abs(np.asarray(a) - b))) <= 4 * apart:
                    raise
        chosen = tuple(along[k] for k in places)
        product = dot(found, chosen)
        _near(tangent, product, size, f"{what}: jvp and vjp")
        outcome = "checked"
        slope = _difference(f, args, along)
        if slope is None:
            outcome = "checked without differences"
        else:
            estimate, error = slope
            _near(estimate, product, size, f"{what}: difference", 1e-6 + 10 * error / (1 + size))
        if native:
            _, compiled = whole(*copy.deepcopy(args))
            for k, a, b in zip(places, found, compiled, strict=True):
                _near(a, b, size, f"{what}, argument {k}: evaluated and compiled")
        if second:
            _second(gradient, twice, args, places, chosen, along, what)
    if native and whole.report().fallbacks:
        failure = compiler_failure(f"{x.code} {x.reason}" for x in whole.report().fallbacks)
        if failure:
            raise Wrong(failure)
        return "eager"
    return outcome


def _second(
    gradient: Any,
    twice: Any,
    args: Any,
    places: Sequence[int],
    chosen: Any,
    along: Any,
    what: str,
) -> None:
    """Forward over reverse and reverse over reverse mode."""
    _, product = twice(copy.deepcopy(args), along)

    def slope(along: Any, *args: Any) -> Any:
        return dot(gradient(*args), along)

    again = tracejit.grad(slope, argnums=tuple(k + 1 for k in places))
    reverse = Compiled(lambda along, *args: again(along, *args))
    other = reverse(chosen, *copy.deepcopy(args))
    size = max(float(np.max(np.abs(g))) for g in leaves_of(product))
    for k, a, b in zip(places, product, other, strict=True):
        _near(a, b, size, f"{what}, argument {k}: second derivatives")


def _near(a: Any, b: Any, size: Any, what: str, tolerance: float = 1e-8) -> None:
    apart = float(np.max(np.abs(np.asarray(a) - np.asarray(b)), initial=0.0))
    if not apart <= tolerance * (1 + abs(size)) and np.all(np.isfinite(b)):
        raise Wrong(f"{what}: {a} and {b}")


def _difference(f: Callable[..., Any], args: Any, along: Any) -> tuple[float, float] | None:
    """The derivative along tangents and about its error; None where it depends on the step."""

    def at(h: float) -> Any:
        given = copy.deepcopy(args)
        return f(*(x if t is None else x + h * t for x, t in zip(given, along, strict=True)))

    rows = []
    with np.errstate(all="ignore"):
        for h in (1e-4, 5e-5, 2.5e-5):
            rows.append(float((at(h) - at(-h)) / (2 * h)))
    best = [(4 * b - a) / 3 for a, b in zip(rows, rows[1:], strict=False)]
    error = abs(best[0] - best[1])
    return (best[1], error) if error <= 1e-7 * (1 + abs(best[1])) else None


def main() -> int:
    """Check many cases; print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0:200")
    parser.add_argument("--native", type=int, default=10, help="every how many cases are compiled")
    parser.add_argument("--second", type=int, default=3, help="every how many go to second order")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(first, last):
        try:
            counts[check(seed, seed % options.native == 0, seed % options.second == 0)] += 1
        except Exception as e:
            counts["wrong" if isinstance(e, Wrong) else type(e).__name__] += 1
            where = traceback.extract_tb(e.__traceback__)[-1]
            text = str(e).splitlines()[0] if str(e) else ""
            print(
                f"seed {seed}: {type(e).__name__}: {text[:300]} ({where.filename}:{where.lineno})"
            )
    print(dict(counts))
    return any(k == "wrong" for k in counts)


if __name__ == "__main__":
    raise SystemExit(main())
