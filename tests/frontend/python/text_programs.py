"""Programs that keep and give texts of what they compute, with their arguments."""

# ruff: noqa: UP031

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit

X = np.array([0.5, 1.5, -2.0])


class Run:
    def __init__(self) -> None:
        self.messages, self.status = ["begun"], ""


def of_values(x, n):
    return f"{x.sum():.3f} {x[0]} {x} {x > 1} {x[1] * 1j:.1f} {n:05d}", str(x[1]), repr(x)


def by_other_ways(x):
    return (
        "{:.2f} {0}".replace("{0}", "{}").format(x[0], x),
        "%.3f|%s" % (x[0], x),
        format(x[1], "e"),
    )


def of_containers(x):
    return f"{[x[0], x]} {(x[1],)}", str({"a": x[2]})


def in_containers(x):
    return {"a": f"{x[0]}", "b": [str(x[1]), x], "c": (x, f"{x[2]:+.3e}"), "d": None}


def before_stores(x):
    y = x * 2
    before = f"{x} {y[0]}"
    x[0] = y[0] = 9.0
    return before, y, str(y)


def of_branches(x):
    if x[0] > 0:
        name = f"above {x[0]:.1f}"
    elif x[0] < -5:
        name = "far below"
    else:
        name = f"{x.sum()} below {x[0]:.1f}"
    return name, f"{None if x[1] > 1 else x[1]}"


def or_none(x):
    note = None
    if x[0] > 0:
        note = f"positive: {x[0]}"
    return note


def early(x):
    if x[0] > 0:
        return f"early {x[0]}"
    return "late"


def in_loops(x):
    name = ""
    total = 0.0
    for k in range(len(x)):
        total += x[k]
        name = f"after {k}: {total:.2f}"
    return name


def joined(x):
    return ", ".join(f"{v:.2f}" for v in x) + "!" * 2


def methods(x):
    text = f"{x[0]:.2e}"
    return text.upper().rjust(12, ".") + text.replace("e", " x 10^").strip(
        "0"
    ), f"{text:>12}|{text!r}"


def into_objects(run, x):
    run.messages.append(f"{x[0]:.2f}")
    run.status = f"done: {x.sum()}"
    return x


def beside_a_gradient(x):
    return tracejit.grad(lambda x: ((x * x).sum(), f"norm {x.sum():.2f}"), has_aux=True)(x)


PROGRAMS: dict[Any, list[tuple[Any, ...]]] = {
    of_values: [(X, 7), (np.float32([1.5, 2.25]), 8), (np.arange(4), 10**6)],
    by_other_ways: [(X,)],
    of_containers: [(X,)],
    in_containers: [(X,)],
    before_stores: [(X,)],
    of_branches: [(X,), (-X,), (X - 9,)],
    or_none: [(X,), (-X,)],
    early: [(X,), (-X,)],
    in_loops: [(X,), (np.arange(100.0),)],
    joined: [(X,)],
    methods: [(X,)],
    into_objects: [(Run(), X)],
    beside_a_gradient: [(X,)],
}


def no_number(x):
    x[0] = 7.0
    text = f"{x:.2f}"
    x[1] = 8.0
    return text


def no_integer(x):
    text = "%d" % x[0]
    x[1] = 8.0
    return text


def no_width(x):
    text = f"{x[0]:{x[1]}}"
    x[1] = 8.0
    return text


#: Where making the text raises, for some values at least.
RAISING = {
    no_number: X,
    no_integer: np.array([np.nan, 1.0]),
    no_width: np.array([1.0, np.nan]),
}
