"""Kernels over the same rows run block by block: one nest, the same bits, no whole temporaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.codegen.lowering.row_blocks import MOST_ROWS
from tracejit.codegen.program.pending import PendingCall
from tracejit.ir.kernel import For, Kernel, Reduce, Stmt


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x: Any) -> Any:
    z = x - x.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def layer_norm(x: Any) -> Any:
    d = x - x.mean(axis=-1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5) * x[0] + x[1]


def variance(x: Any) -> Any:
    return x.var(axis=-1)


def log_sums(x: Any) -> Any:
    most = x.max(axis=-1)
    return most + np.log(np.exp(x - most[..., None]).sum(axis=-1))


def cross_entropy(x: Any) -> Any:
    labels = (np.arange(len(x)) * 7) % x.shape[1]
    z = x - x.max(axis=1, keepdims=True)
    return (np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(x)), labels]).mean()


def masked_scores(x: Any) -> Any:
    s = np.where(x > -0.5, x * 0.125, -1e9)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def masked_by_a_batch(x: Any) -> Any:
    """The mask has no batch, so that its kernel has a loop for the batches and one for the rows."""
    s = np.where(x[:1] > -0.5, x, -1e9)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def two_results(x: Any) -> Any:
    """A matrix and numbers of rows that are results themselves."""
    total = np.abs(x).sum(axis=-1)
    y = x / (total[..., None] + 1.0)
    return y, total, y.min(axis=-1)


def nearest(x: Any) -> Any:
    s = x * x
    worst = s.argmax(axis=-1)
    return worst, s.max(axis=-1) - s.mean(axis=-1)


#: Programs, with the number of kernels of each.
PROGRAMS: list[tuple[Callable[..., Any], int]] = [
    (softmax, 1),
    (log_softmax, 1),
    (layer_norm, 1),
    (variance, 1),
    (log_sums, 1),
    (cross_entropy, 3),
    (masked_scores, 1),
    (two_results, 1),
    (masked_by_a_batch, 1),
]


def program(f: Callable[..., Any], *args: Any) -> Any:
    return tracejit.jit(f).lower(*args).program


def loops(body: Sequence[Stmt]) -> Iterator[For | Reduce]:
    for s in body:
        if isinstance(s, (For, Reduce)):
            yield s
            yield from loops(s.body)


def is_in_blocks(kernel: Kernel) -> bool:
    """Whether a kernel is one loop over blocks of rows, with several loops over their rows."""
    outermost = kernel.body[0]
    while isinstance(outermost, For) and len(outermost.body) == 1:
        (outermost,) = outermost.body
    return isinstance(outermost, For) and all(isinstance(s, For) for s in outermost.body)


def rows(*shape: int, dtype: str = "f8") -> Any:
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("f", "count"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.parametrize("shape", [(1000, 40), (3, 300, 70)], ids=str)
def test_one_nest_for_all_rows(f: Any, count: int, shape: Any) -> None:
    if f is cross_entropy and len(shape) > 2:
        return
    made = program(f, rows(*shape))
    assert len(made.kernels) == count
    assert sum(map(is_in_blocks, made.kernels)) == 1
    # No temporary has as many elements as the matrix.
    size = 8 * int(np.prod(shape))
    assert all(isinstance(d, int) and d < size for sizes in made.plan.slots for d in sizes)


def test_numbers_of_rows_that_are_read_nowhere_else_lie_on_the_stack() -> None:
    made = program(softmax, rows(1000, 40))
    assert {p.dtype for p in made.kernels[0].params} == {"f64"}
    assert made.text.count(f"alloca [{MOST_ROWS * 8} x i8]") == 2


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "f", [f for f, _ in PROGRAMS] + [nearest], ids=lambda f: getattr(f, "__name__", "")
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_bits_are_those_of_kernels_one_after_the_other(
    f: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks with rows left over, of one row, of few; sizes that are known and that are not."""
    shapes = [(600, 10), (MOST_ROWS + 1, 3), (7, 9001), (33, 130), (2, 2)]
    joined = tracejit.jit(f)
    got = [joined(rows(*shape, dtype=dtype)) for shape in shapes]
    monkeypatch.setattr(PendingCall, "joined", lambda *_, **__: None)
    alone = tracejit.jit(f)
    for shape, result in zip(shapes, got, strict=True):
        x = rows(*shape, dtype=dtype)
        for a, b, c in zip(*map(as_arrays, (result, alone(x), f(x))), strict=True):
            assert a.tobytes() == b.tobytes()
            np.testing.assert_allclose(a, c, rtol=2e-3 if dtype == "f4" else 1e-11)


def as_arrays(result: Any) -> list[Any]:
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def other_row(x: Any) -> Any:
    s = x.sum(axis=1)
    return x - s[::-1, None]


def shared_row(x: Any) -> Any:
    s = x.sum(axis=1)
    return x - s[0]


def over_itself(x: Any) -> Any:
    x -= x.max(axis=1, keepdims=True)
    x[1:] += x[:-1].sum(axis=1, keepdims=True)
    return x.sum(axis=1)


def in_a_loop(x: Any) -> Any:
    for _ in range(3):
        x = np.exp(x - x.max(axis=1, keepdims=True))
        x = x / x.sum(axis=1, keepdims=True)
    return x


def with_an_index(x: Any) -> Any:
    s = x.sum(axis=1)
    y = x - s[:, None]
    x[:] = y
    return y[np.arange(len(x)), np.arange(len(x)) % 5], s


@pytest.mark.parametrize("f", [other_row, shared_row, over_itself, in_a_loop, with_an_index])
def test_rows_that_read_others_and_stores_in_place(f: Any) -> None:
    jitted = tracejit.jit(f)
    for shape in ((700, 10), (300, 40), (3, 5)):
        x, y = rows(*shape), rows(*shape)
        for a, b in zip(as_arrays(f(x)), as_arrays(jitted(y)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def test_what_reads_other_rows_is_a_kernel_of_its_own() -> None:
    assert len(program(other_row, rows(700, 10)).kernels) == 2


def many(x: Any) -> Any:
    """More numbers of rows than the stack has room for."""
    out = []
    for k in range(40):
        e = np.exp(x * (k + 1.0) - x.max(axis=1, keepdims=True))
        out.append(e / e.sum(axis=1, keepdims=True))
        x = x[:, ::-1] + 0.0
    return tuple(out)


def test_the_stack_stays_small() -> None:
    made = program(many, rows(300, 3))
    assert made.text.count(f"alloca [{MOST_ROWS * 8} x i8]") <= 32
    x = rows(300, 3)
    for a, b in zip(many(x), tracejit.jit(many)(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


def test_arrays_that_change_places_are_not_the_same() -> None:
    """What a loop carries is read and written by kernels over the same rows: in two places."""

    def turned(x: Any) -> Any:
        total = np.zeros(len(x))
        for k in range(5):
            e = np.exp(x * (k + 1.0) - x.max(axis=1, keepdims=True))
            total = total + e.sum(axis=1)
            x = x[:, ::-1] + 0.0
        return total, x

    for expected, got in zip(turned(rows(300, 3)), tracejit.jit(turned)(rows(300, 3)), strict=True):
        np.testing.assert_allclose(expected, got, rtol=1e-11)
    moved = tracejit.jit(turned, device="cuda-sim")(rows(30, 3))
    for expected, got in zip(turned(rows(30, 3)), moved, strict=True):
        np.testing.assert_allclose(expected, np.asarray(got), rtol=1e-11)
