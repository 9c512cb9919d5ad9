"""Programs that change lists inside which grow with data, each a function of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Name -> function of an array of floats, of any length.
PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def _program(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[f.__name__] = f
    return f


def _whole(x):
    out = []
    for v in x:
        out.append(int(v * 3))
    return out


@_program
def inserted(x):
    out = []
    for v in x:
        k = 0
        while k < len(out) and out[k] < v:
            k += 1
        out.insert(k, v)
    return out


@_program
def inserted_anywhere(x):
    out = _whole(x)
    out.insert(-2, 7)
    out.insert(99, 8)
    out.insert(-99, 9)
    out.insert(len(out) // 2, 10)
    return out


@_program
def popped_anywhere(x):
    out, seen = _whole(x), []
    while len(out) > 2:
        seen.append(out.pop(abs(out[0]) % len(out)))
        seen.append(out.pop(-2))
    return out, seen


@_program
def popped_behind_the_end(x):
    out = _whole(x)
    return out.pop(3), out.pop(int(abs(x[0]) * 9)), out


@_program
def deleted(x):
    out = _whole(x)
    del out[0]
    del out[-1]
    del out[int(abs(x[1]) * 2)]
    return out


@_program
def deleted_slices(x):
    out = _whole(x)
    del out[1:3]
    del out[-2:]
    k = int(x[0] * 2) if len(x) > 0 else 0
    del out[k : k + 2]
    del out[4:2]
    return out


@_program
def stored_slices(x):
    out = _whole(x)
    out[1:3] = [50, 60]
    out[:1] = []
    out[2:2] = _whole(x + 1)
    out[-1:] = [1, 2, 3]
    out[5:] = list(range(4))
    return out, len(out)


@_program
def removed(x):
    out = _whole(x)
    out.remove(0)
    out.remove(int(x[0] * 3))
    return out


@_program
def asked(x):
    out = _whole(x)
    return out.count(0), out.count(int(x[0] * 3)), out.index(1), out.index(0)


@_program
def kinds(x):
    out = []
    for v in x:
        out.append(int(v * 3) if v > 0 else None)
    out.insert(1, None)
    del out[2:4]
    out[:2] = [None, 5]
    return out, out.pop(1)
