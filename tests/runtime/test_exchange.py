"""Calls with arrays of other libraries: any that follows the array API standard, PyTorch, JAX."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit


class Array:
    """An array of a library of nobody's."""

    def __init__(self, x: Any) -> None:
        self.x = np.asarray(x)

    def __dlpack__(self, **how: Any) -> Any:
        return self.x.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()

    def __array_namespace__(self) -> Any:
        return LIBRARY


class Other(Array):
    def __array_namespace__(self) -> Any:
        return np


LIBRARY = SimpleNamespace(__name__="nobodys", from_dlpack=lambda x: Array(np.from_dlpack(x)))


@dataclass
class Point:
    a: Any
    b: Any


class Scale:
    def __init__(self, w: Any) -> None:
        self.w, self.history, self.steps = w, [], 0

    def __call__(self, x: Any) -> Any:
        self.w[0] *= 2
        self.history.append(self.w * x)
        self.last, self.steps = x, self.steps + 1
        return self


@tracejit.jit(strict=True)
def whole(p: Any, d: Any, xs: Any, scale: Any, plain: Any) -> Any:
    d["sum"] = p.a + xs[0]
    p.a[0] = 7
    p.b = p.a * 2
    return p, d, xs[0], {"max": p.a.max()}, p.a[1:], scale(xs[0]), plain, "text", 2 * plain[0]


def check_whole(make: Any, cls: type, values: Any) -> None:
    """Whole trees with arrays that `make` makes of NumPy's, and `values` reads."""
    p, d, xs = Point(make(np.ones(3)), None), {"q": make(np.ones(2))}, [make(np.arange(3.0))]
    scale, plain = Scale(make(np.ones(3))), (np.ones(2), "t")
    a, w = p.a, scale.w
    for k in range(3):
        out = whole(p, d, xs, scale, plain)
        assert out[0] is p and out[1] is d and out[2] is xs[0] and out[5] is scale
        assert out[6][0] is plain[0] and p.a is a and scale.w is w and scale.last is xs[0]
        assert values(p.a).tolist() == [7, 1, 1] and values(p.b).tolist() == [14, 2, 2]
        assert values(d["sum"]).tolist() == [7 if k else 1, 2, 3] and list(d) == ["q", "sum"]
        assert scale.steps == len(scale.history) == k + 1 and values(scale.w)[0] == 2 ** (k + 1)
        assert {type(x) for x in (p.b, d["sum"], out[3]["max"], out[4], *scale.history)} == {cls}
        assert values(scale.history[k]).tolist() == [0, 1, 2] and values(out[3]["max"]) == 7
        assert out[7] == "text" and values(out[3]["max"]).shape == ()
    values(out[4])[0] = 9
    assert values(p.a).tolist() == [7, 9, 1]  # a view is a view
    # One for the first call, one for the arrays that it has put in the place of None.
    assert len(whole.report().variants) == 2


def test_whole_trees_of_arrays_by_dlpack() -> None:
    check_whole(Array, Array, lambda x: x.x)


def test_one_compile_serves_all_libraries_and_eager_runs_see_the_same() -> None:
    @tracejit.jit
    def f(x: Any) -> Any:
        return np.sqrt(x) + 1

    x = np.full(3, 4.0)
    a = f(x)
    b = f(Array(x))
    with tracejit.eager():
        c = f(Array(x))
    assert type(b) is type(c) is Array and (a == 3).all() and (b.x == 3).all() and (c.x == 3).all()
    assert len(f.report().variants) == 1
    assert str(f.lower(Array(x)).text("trace")) == str(f.lower(x).text("trace"))
    assert f.partial(Array(x)).outputs[0].tolist() == [3, 3, 3]


def test_gradients_and_batches() -> None:
    x = Array(np.arange(3.0))
    slope = tracejit.grad(lambda x: (x * x).sum())(x)
    assert type(slope) is Array and slope.x.tolist() == [0, 2, 4]
    rows = tracejit.vmap(lambda x: x * 2)(x)
    assert type(rows) is Array and rows.x.tolist() == [0, 2, 4]


def test_arrays_of_two_libraries_and_read_only_ones_are_refused() -> None:
    @tracejit.jit
    def f(x: Any, y: Any) -> Any:
        x[0] = y[0]
        return x

    with pytest.raises(TypeError, match="arrays of numpy beside those of nobodys"):
        f(Array(np.ones(2)), Other(np.ones(2)))
    fixed = np.ones(2)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(Array(fixed), np.zeros(2))
    assert fixed.tolist() == [1, 1]


def test_exceptions_leave_what_python_leaves() -> None:
    @tracejit.jit
    def f(p: Any, k: Any) -> Any:
        p.b = p.a + 1
        return p.a[k]

    p = Point(Array(np.ones(2)), None)
    with pytest.raises(IndexError):
        f(p, 5)
    assert type(p.b) is Array and p.b.x.tolist() == [2, 2]


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    check_whole(torch.from_numpy, torch.Tensor, lambda x: x.numpy())

    @tracejit.jit(strict=True)
    def f(x: Any) -> Any:
        return np.tanh(x), x.sum(dtype=np.float64), x.T, np.broadcast_to(x[0], (2, *x[0].shape))

    for x in (torch.rand(4, 3).T, torch.rand(1, 3).expand(3, 3), torch.rand(6, 6)[::2, 1:]):
        tanh, total, turned, broad = f(x)
        assert torch.allclose(tanh, x.tanh(), atol=1e-6) and tanh.dtype is torch.float32
        assert total.dtype is torch.float64 and total.shape == () and broad.shape[0] == 2
        if 0 in x.stride():  # NumPy's view is read-only, which no tensor is
            assert turned.data_ptr() != x.data_ptr() and torch.equal(turned, x.T)
        else:
            assert turned.data_ptr() == x.data_ptr() and turned.stride() == x.T.stride()
    flipped, half = tracejit.jit(lambda x: (x[::-1], x.astype(np.float16)))(torch.arange(3.0))
    assert flipped.tolist() == [2, 1, 0] and half.dtype is torch.float16
    mask, name = tracejit.jit(lambda x: (x > 1, np.array(["a"])))(torch.arange(3.0))
    assert mask.dtype is torch.bool and type(name) is np.ndarray  # there are no tensors of texts


def test_tensors_that_are_refused() -> None:
    torch = pytest.importorskip("torch")

    @tracejit.jit
    def f(x: Any) -> Any:
        return np.tanh(x)

    x = torch.ones(3, requires_grad=True)
    with pytest.raises(TypeError, match="requires grad.*interop.torch.function"):
        f([x])
    with torch.no_grad():
        assert not f(x).requires_grad
    for other, why in [
        (torch.ones(2, dtype=torch.bfloat16), "bfloat16, which NumPy has not"),
        (torch.eye(2).to_sparse(), r"layout torch.sparse_coo: pass x.to_dense\(\)"),
        (torch.ones(2, dtype=torch.complex64).conj(), r"pass x.resolve_conj\(\)"),
        (torch.ones(2, device="meta"), r"device meta: pass x.cpu\(\)"),
    ]:
        with pytest.raises(TypeError, match=why):
            f(other)
    store = tracejit.jit(lambda x: x.fill(3))
    with pytest.raises(ValueError, match="read-only"):
        store(torch.ones(1).expand(3))


@pytest.mark.parametrize("how", ["compiled", "eager", "simulated"])
def test_stores_are_told_to_autograd(how: str) -> None:
    torch = pytest.importorskip("torch")

    @tracejit.jit(device="cuda-sim" if how == "simulated" else None)
    def f(x: Any, y: Any) -> Any:
        y[0] = 5.0
        return x + y

    w = torch.ones(3, requires_grad=True)
    for _ in range(2):
        x, y, z = torch.ones(3), torch.ones(3), torch.ones(3)
        kept, stored = (w * x).sum(), (w * y).sum()
        with tracejit.eager() if how == "eager" else nullcontext():
            f(x, y)
        assert (x._version, y._version, z._version) == (0, 1, 0)
        kept.backward()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            stored.backward()


def test_modules_of_pytorch_are_its_own() -> None:
    torch = pytest.importorskip("torch")

    @tracejit.jit
    def f(module: Any, x: Any) -> Any:
        return module(torch.from_numpy(x)).detach().numpy()

    module = torch.nn.Linear(3, 2)
    x = np.ones((1, 3), np.float32)
    assert np.array_equal(f(module, x), module(torch.from_numpy(x)).detach().numpy())


def test_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax")

    @tracejit.jit
    def f(x: Any, out: Any) -> Any:
        out[0] = x
        return np.tanh(x), x.sum()

    x, out = jax.numpy.arange(3.0), [None]
    for _ in range(2):
        tanh, total = f(x, out)
        assert out[0] is x and isinstance(tanh, jax.Array) and total.shape == ()
        assert np.allclose(tanh, np.tanh(np.arange(3.0, dtype=np.float32)))
    store = tracejit.jit(lambda x: x.fill(3))
    with pytest.raises(ValueError, match="read-only"):
        store(x)
    with pytest.raises(TypeError, match="interop.jax.function"):
        jax.jit(lambda x: f(x, []))(x)
