"""Functions that see the order of a set: prints what compiled ones give beside plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit

X = np.arange(2000.0)


def in_a_loop(x: Any) -> Any:
    found = 0
    for k in {"a", "bb", "ccc", "dddd", "eeeee", "ffffff"}:
        found = found * 7 + len(k)
    return x.sum() + found


def in_a_list(x: Any) -> Any:
    return x.sum() + len(list({"a", "bb", "ccc"})[0])


def popped(x: Any) -> Any:
    return x.sum() + len({"a", "bb", "ccc"}.pop())


def in_a_dict(x: Any) -> Any:
    return x.sum() + len(next(iter(dict.fromkeys({"a", "bb", "ccc"}))))


def in_a_text(x: Any) -> Any:
    return x.sum() + str({"a", "bb", "ccc"}).index("bb") + f"{ {'a', 'bb', 'ccc'} }".index("bb")


def of_numbers(x: Any) -> Any:
    found = 0.0
    for k in {5, 17, 3.0, 2**40, True}:
        found = found * 3 + k
    return x.sum() + found


def membership(x: Any) -> Any:
    return x.sum() + ("a" in {"a", "bb", "ccc"})


if __name__ == "__main__":
    for f in (in_a_loop, in_a_list, popped, in_a_dict, in_a_text, of_numbers, membership):
        compiled = tracejit.jit(f, strict=True)
        found, wanted = compiled(X), f(X)
        recalled = [c.recalled for c in compiled.report().variants]
        print(f.__name__, "right" if found == wanted else f"{found} for {wanted}", *recalled)
