"""What an update has stored is read from the array, where another kernel needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit

Program = Callable[..., Any]


def jacobi(a: Any, b: Any, steps: int) -> None:
    for _ in range(steps):
        b[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.3 * (b[:-2] + b[1:-1] + b[2:])


def twice(a: Any, b: Any, steps: int) -> Any:
    """The value is needed after the array has changed again: then it is computed."""
    v = a * 2 + 1
    b[:] = 0
    b[1:] = v[1:]
    w = v[1:] + steps
    b[:-1] = v[:-1] * 3
    return w, v[1:] * b[:-1]


def steps_apart(a: Any, b: Any, steps: int) -> Any:
    v = a[:-1:2] * a[1::2] + steps
    b[1::2] = v
    return v - b[::2], np.sum(v * b[:-1:2])


def backwards(a: Any, b: Any, steps: int) -> Any:
    v = a[::-1] * 2 + a
    b[::-1] = v
    return v + b


def dead(a: Any, b: Any, steps: int) -> Any:
    c = np.zeros_like(a)
    c[2:] = a[2:] * a[:-2] + 1
    return c[2:] + 1


def into_itself(a: Any, b: Any, steps: int) -> Any:
    v = a[1:] * b[1:] + a[:-1]
    a[1:] = v
    b[:-1] = v - a[:-1]
    a[:-1] += b[:-1] * v
    return v


def fields(a: Any, b: Any, steps: int) -> None:
    """Each store leaves the elements that the next one reads."""
    for k in range(steps):
        a[0] = k
        a[1:] -= 0.5 * (b[1:] - b[:-1])
        b[:-1] -= 0.25 * (a[1:] - a[:-1])


def edges(a: Any, b: Any, steps: int) -> Any:
    a[0] = a[1] * 2
    a[-1] = a[-2] + a[0]
    b[:2] = a[-2:] + b[:2]
    b[3:] = b[2:-1] + b[3:]
    old = b[-1] + a[0]
    b[-1] = steps
    return old + b[:-1], b[-1:] * a[1:2]


def elements(a: Any, b: Any, steps: int) -> None:
    """Each store of an element leaves what is in front of it."""
    for k in range(len(a)):
        a[k] = a[k] + b[k]
        b[k] = a[k] * 2.0
        b[:k] = a[:k] * 0.5 + b[:k].T + steps


def item_within(a: Any, b: Any, steps: int) -> Any:
    """The element may be one of those that were read before."""
    k = int(b[0]) % len(a)
    v = a[1:] * 2
    a[k] = steps
    a[1:] += v
    w = b[::2] + 1
    b[2] = 0.5
    b[1::2] += w + b[::2]
    return a[1:] - v


def branch(a: Any, b: Any, steps: int) -> Any:
    b[1:] = a[1:] * a[:-1] + 2
    if a[0] > 0:
        b[1:] = b[1:] * 2 + a[1:]
        a[1:] = b[1:] + 1
    return b[1:] + a[:-1]


def single_elements(a: Any, b: Any, steps: int) -> Any:
    """Reads past an element that has been stored, at places known to be others."""
    s = 0.0
    for i in range(1, len(b) - 1):
        old = b[i]
        b[i] = b[i - 1] * 0.5 + a[i]
        s += b[i + 1] - b[i - 1] + old
        a[i + 1] = s
        a[i] = a[i - 1] + b[i - 1]
    return s


def overwritten(a: Any, b: Any, steps: int) -> Any:
    """The first of two stores into one place is read only by what the second one stores."""
    for k in range(min(steps, 3)):
        a[1:] = a[1:] + b[1:]
        a[1:] = a[1:] * 0.5 + k
        b[k] = a[k + 1] + 1
        b[k] = b[k] * 0.5
    b[:2] = 0
    kept = b[:2].sum()
    b[:2] = a[:2]
    return kept, a[0]


PROGRAMS: list[Program] = [
    single_elements,
    overwritten,
    jacobi,
    twice,
    steps_apart,
    backwards,
    dead,
    into_itself,
    fields,
    edges,
    elements,
    item_within,
    branch,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: Program) -> None:
    f = tracejit.jit(strict=True)(program)
    rng = np.random.default_rng(1)
    for n, steps, sign in ((8, 3, 1), (50, 2, -1), (4, 5, 1), (130, 1, 1)):
        for order in (slice(None), slice(None, None, 2), slice(None, None, -1)):
            a, b = rng.integers(1, 9, (2, 2 * n)).astype(np.float64)
            a[0] = sign
            a, b = a[: n if order.step is None else None][order], b[:n]
            a = a[:n]
            plain = a.copy(), b.copy()
            expected = program(*plain, steps)
            actual = f(a, b, steps)
            for x, y in zip((actual, a, b), (expected, *plain), strict=True):
                if isinstance(x, tuple):
                    for p, q in zip(x, y, strict=True):
                        np.testing.assert_array_equal(p, q, strict=True)
                else:
                    np.testing.assert_array_equal(x, y, strict=True)


@pytest.mark.compiles
def test_a_stencil_by_turns_is_two_kernels_in_place() -> None:
    f = tracejit.jit(strict=True)(jacobi)
    a, b = np.ones(4000), np.ones(4000)
    f(a, b, 5)
    (variant,) = f.report().variants
    assert len(variant.buffers.in_place) == 2
    assert not variant.buffers.copies and not variant.buffers.temporaries
    stages = f.lower(a, b, 5)
    assert stages.text("fuse").count("multiply(") == 2
    # All that it touches is in the first caches.
    assert "prefetch" not in stages.text("llvm")


def test_parts_that_an_update_leaves_need_no_copy() -> None:
    f = tracejit.jit(strict=True)(fields)
    f(np.ones((40, 3)), np.ones((40, 3)), 5)
    buffers = f.report().variants[0].buffers
    assert len(buffers.in_place) == 3
    assert not buffers.copies and not buffers.temporaries


def test_parts_that_stores_of_elements_leave_need_no_copy() -> None:
    f = tracejit.jit(strict=True)(elements)
    f(np.ones(40), np.ones(40), 5)
    assert not f.report().variants[0].buffers.temporaries


def test_what_is_read_first_is_computed_where_the_update_is_dropped() -> None:
    text = tracejit.jit(dead).lower(np.ones(9), np.ones(9), 1).text("fuse")
    assert "update_slice" not in text and text.count("fusion(") == 1


def test_elements_that_an_update_leaves_need_no_copy() -> None:
    f = tracejit.jit(strict=True)(single_elements)
    f(np.ones(40), np.ones(40), 1)
    assert not f.report().variants[0].buffers.copies


def test_what_is_overwritten_is_not_stored() -> None:
    f = tracejit.jit(strict=True)(overwritten)
    text = f.lower(np.ones(40), np.ones(40), 3).text("fuse")
    body = text[text.index("def body(") : text.index("while_loop(")]
    assert body.count("update_slice(") == 1 and body.count("write_item(") == 1


def test_an_augmented_store_is_one_store() -> None:
    def f(a: Any, b: Any) -> None:
        a[1:] += b[1:]
        a[0] -= b[0]
        a[::2][1:] *= 2.0

    text = tracejit.jit(f).lower(np.ones(9), np.ones(9)).text("trace")
    assert text.count("update_slice(") == 4  # the last one is stored through two views


def test_a_view_is_stored_into_itself() -> None:
    def f(a: Any) -> Any:
        a[1:] = a[1:]
        b = a.copy()
        b[0] = 5.0
        b[1:] = b[1:]
        b[1:] = b[:-1]
        return b

    g = tracejit.jit(strict=True)(f)
    np.testing.assert_array_equal(g(np.arange(6.0)), f(np.arange(6.0)))
    fixed = np.arange(6.0)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tracejit.jit(f)(fixed)
