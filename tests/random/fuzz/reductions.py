"""Productions that reduce, accumulate or sort along axes."""

from __future__ import annotations

import numpy as np

from tests.random.fuzz.draw import ANY, Draw, Expression, NoCandidateError


def _reduce(d: Draw, x: str, name: str, extra: str = "") -> str:
    axes = d.axes(x)
    arguments = "" if axes == "None" and d.chance(0.7) else f"axis={axes}"
    if d.chance(0.25):
        arguments += ", keepdims=True" if arguments else "keepdims=True"
    if extra:
        arguments += (", " if arguments else "") + extra
    if d.chance(0.5):
        return f"{x}.{name}({arguments})"
    return f"np.{name}({x}{', ' + arguments if arguments else ''})"


def sums(d: Draw) -> Expression:
    x = d.variable()
    dtype = d.choice(("", "", "", "dtype=np.float64", "dtype=np.float32", "dtype=np.int64"))
    name = d.choice(("sum", "sum", "mean"))
    text = _reduce(d, x, name, dtype)
    if "int64" in dtype and not d.exact(x):
        raise NoCandidateError
    rounds = name == "mean" or not d.exact(x) or "float" in dtype
    return Expression(text, "order" if rounds else "exact", text)


def product(d: Draw) -> Expression:
    x = d.variable(ANY)
    if d.exact(x):
        return Expression(_reduce(d, x, "prod"))
    if d.is_complex(x):
        raise NoCandidateError
    bounded = f"np.clip({x}, -1.25, 1.25)"
    return Expression(f"np.prod({bounded}, axis={d.axes(x)})", "order")


def extremes(d: Draw) -> Expression:
    return Expression(_reduce(d, d.variable(), d.choice(("max", "min"))), "zero")


def extreme_positions(d: Draw) -> Expression:
    x = d.variable()
    axis = "" if d.chance(0.4) or np.ndim(d.values[x]) == 0 else f"axis={d.axis(x)}"
    name = d.choice(("argmax", "argmin"))
    return Expression(f"{x}.{name}({axis})" if d.chance(0.5) else f"np.{name}({x}, {axis})")


def truth(d: Draw) -> Expression:
    return Expression(_reduce(d, d.variable(), d.choice(("any", "all"))))


def spread(d: Draw) -> Expression:
    x = d.variable("biuf")
    text = _reduce(d, x, d.choice(("var", "std")))
    return Expression(text, "spread")


def cumulative(d: Draw) -> Expression:
    x = d.array()
    axis = "" if d.chance(0.3) else f"axis={d.axis(x)}"
    text = d.choice((f"{x}.cumsum({axis})", f"np.cumsum({x}, {axis})"))
    return Expression(text, "exact" if d.exact(x) else "order", text)


def sort(d: Draw) -> Expression:
    x = d.array("biuf")
    return Expression(
        f"np.sort({x}{d.choice(('', ', axis=0', ', axis=-1', ', axis=None'))})", "zero"
    )
