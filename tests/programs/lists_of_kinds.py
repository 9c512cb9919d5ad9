"""Programs whose lists grow with elements of several kinds, each a function of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Name -> function of an array of floats, of any length.
PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def _program(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[f.__name__] = f
    return f


@_program
def none_or_float(x):
    out = []
    for v in x:
        out.append(None if v > 0 else float(v))
    return out


@_program
def on_two_paths(x):
    out = []
    for i, v in enumerate(x):
        if v > 0.3:
            out.append(i)
        elif v > -0.3:
            out.append(None)
        elif v > -1.5:
            out.append(v)
    return out, len(out)


@_program
def the_class_of_each(x):
    out = []
    for v in x:
        out.append(max(v, 0))
    total = 0.0
    for o in out:
        total += o * 2
    return out, total


@_program
def texts(x):
    names = []
    for v in x:
        names.append("up" if v > 0 else "down")
    ups = 0
    for i, name in enumerate(names):
        if name == "up":
            ups += i
    return names, ups


@_program
def tuples_with_texts(x):
    trades, held = [], 0.0
    for day, price in enumerate(x):
        if price > 0.5 and held == 0:
            held = 2 * price
            trades.append(("buy", day, price, held))
        elif price < -0.5 and held > 0:
            trades.append(("sell", day, price, held))
            held = 0.0
    return trades, [t[1] for t in trades if t[0] == "sell"]


@_program
def tuples_or_none(x):
    out = [None]
    for v in x:
        out.append((v, 1) if v > 0 else None)
    n = 0
    for o in out:
        if o is not None:
            n += o[1]
    return out, n


@_program
def another_kind_later(x):
    out = []
    for v in x:
        out.append(int(v * 4))
    for v in x:
        if v > 0:
            out.append(v)
    out.append(None)
    return out


@_program
def kinds_within_kinds(x):
    out = [((0, None), "first")]
    for v in x:
        out.append(((v, 1) if v > 0 else (len(out), None), "second"))
    return out, [o[0][1] for o in out]


@_program
def joined_lists(x):
    a, b = [], ["end", None]
    for v in x:
        a.append(float(v))
    for v in x:
        if v < 0:
            b.append(True)
    return a + b, b + [2.5] + a


@_program
def stored_items(x):
    board = [" "] * 12
    for i in range(len(x)):
        k = int(abs(x[i]) * 5) % 12
        if board[k] == " ":
            board[k] = "X" if x[i] > 0 else "O"
    return board


@_program
def stored_over(x):
    best = []
    for _ in x:
        best.append(None)
    for i in range(len(x)):
        if x[i] > 0:
            best[i] = x[i]
    return best


@_program
def gaps(x):
    """As sequences are aligned: NumPy's elements, and a Python number for a gap."""
    a, i = [], len(x)
    while i > 0:
        a.append(x[i - 1] if x[i - 1] > 0 else -1.0)
        i -= 1
    return a[::-1], np.array(a[::-1]) * 2 if len(a) > 0 else None


@_program
def popped(x):
    stack, seen = [], []
    for v in x:
        if v > 0:
            stack.append(v)
        elif v < -1:
            stack.append("mark")
        elif len(stack) > 0:
            seen.append(stack.pop())
    return stack, seen


@_program
def an_error_in_the_middle(x):
    out = []
    for i in range(len(x) + 1):
        out.append(x[i] if i % 2 else None)
    return out


@_program
def a_missing_value_is_used(x):
    out = []
    for v in x:
        out.append(v if v > -1 else None)
    total = 0.0
    for o in out:
        total = total + o
    return total, out


@_program
def arrays_or_none(x):
    out = []
    for v in x:
        out.append(None if v > 0 else np.array([v, 1.0]))
    return out


@_program
def nested_loops(x):
    out = []
    for i in range(len(x)):
        for j in range(i % 3):
            if x[j] > 0:
                out.append((i, "row"))
            else:
                out.append(j)
        out.append(None)
    return out


@_program
def a_machine_of_states(x):
    state, seen = "idle", []
    for v in x:
        if state == "idle":
            state = "start" if v > 0 else "idle"
        elif state == "start":
            state = "run" if v > 0 else "fail"
        elif state == "run":
            state = "stop" if v < -1 else "run"
        elif state == "stop":
            state = "done" if v > 1 else "cool"
        elif state == "cool":
            state = "idle"
        elif state == "fail":
            state = None
        else:
            state = "idle"
        seen.append(state)
    return state, seen


@_program
def back_references(x):
    """As compressed data is read: an empty list has nothing to refer to."""
    out = []
    for v in x:
        n = int(v * 2)
        if n > 0:
            start = len(out) - n
            for k in range(n + 2):
                out.append(out[start + k])
        out.append(int(v * 10))
    return out
