"""However a convolution is spelt, it is one contraction, and so are its gradients."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import tracejit
from tracejit.codegen.device.routines import routine_of
from tracejit.ir.types import shape_of


def fused_ops(f, *args):
    """The ops of the fused graph, regions after their nodes."""

    def walk(graph):
        for node in graph.nodes:
            yield node.op.name
            for region in () if node.op.kind == "fusion" else node.regions:
                yield from walk(region)

    graph = f.lower(*args).graphs["fuse"]
    return [name for name in walk(graph) if name not in ("reshape", "transpose", "constant")]


def windows_einsum(x, w, s=1, d=1):
    kh, kw = w.shape[2:]
    span = (d * (kh - 1) + 1, d * (kw - 1) + 1)
    p = sliding_window_view(x, span, axis=(2, 3))[:, :, ::s, ::s, ::d, ::d]
    return np.einsum("nchwij,ocij->nohw", p, w)


def windows_tensordot(x, w, s=1, d=1):
    kh, kw = w.shape[2:]
    span = (d * (kh - 1) + 1, d * (kw - 1) + 1)
    p = sliding_window_view(x, span, axis=(2, 3))[:, :, ::s, ::s, ::d, ::d]
    return np.tensordot(p, w, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def _out(x, w, s, d):
    return tuple((x.shape[a] - d * (w.shape[a] - 1) - 1) // s + 1 for a in (2, 3))


def strides(x, w, s=1, d=1):
    n, c = x.shape[:2]
    kh, kw = w.shape[2:]
    oh, ow = _out(x, w, s, d)
    a, b, e, f = x.strides
    p = as_strided(x, (n, c, kh, kw, oh, ow), (a, b, d * e, d * f, s * e, s * f))
    return np.tensordot(p, w, axes=((1, 2, 3), (1, 2, 3))).transpose(0, 3, 1, 2)


def columns_by_loops(x, w, s=1, d=1):
    n, c = x.shape[:2]
    o, _, kh, kw = w.shape
    oh, ow = _out(x, w, s, d)
    columns = np.empty((n, c, kh, kw, oh, ow), x.dtype)
    for i in range(kh):
        for j in range(kw):
            columns[:, :, i, j] = x[
                :, :, d * i : d * i + s * (oh - 1) + 1 : s, d * j : d * j + s * (ow - 1) + 1 : s
            ]
    out = w.reshape(o, -1) @ columns.reshape(n, c * kh * kw, oh * ow)
    return out.reshape(n, o, oh, ow)


def indices(x, w, s=1, d=1):
    n, c = x.shape[:2]
    o, _, kh, kw = w.shape
    oh, ow = _out(x, w, s, d)
    i = s * np.arange(oh)[:, None, None, None] + d * np.arange(kh)[:, None]
    j = s * np.arange(ow)[:, None, None] + d * np.arange(kw)
    columns = x[:, :, i, j].transpose(0, 2, 3, 1, 4, 5).reshape(n * oh * ow, c * kh * kw)
    return (columns @ w.reshape(o, -1).T).reshape(n, oh, ow, o).transpose(0, 3, 1, 2)


def shifted(x, w, s=1, d=1):
    n, o, (oh, ow) = len(x), len(w), _out(x, w, s, d)
    out = np.zeros((n, o, oh, ow), x.dtype)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            part = x[
                :, :, d * i : d * i + s * (oh - 1) + 1 : s, d * j : d * j + s * (ow - 1) + 1 : s
            ]
            out += np.einsum("nchw,oc->nohw", part, w[:, :, i, j])
    return out


def positions(x, w, s=1, d=1):
    kh, kw = w.shape[2:]
    oh, ow = _out(x, w, s, d)
    out = np.empty((len(x), len(w), oh, ow), x.dtype)
    for i in range(oh):
        for j in range(ow):
            part = x[
                :, :, s * i : s * i + d * (kh - 1) + 1 : d, s * j : s * j + d * (kw - 1) + 1 : d
            ]
            out[:, :, i, j] = np.tensordot(part, w, axes=((1, 2, 3), (1, 2, 3)))
    return out


def sums(x, w, s=1, d=1):
    kh, kw = w.shape[2:]
    oh, ow = _out(x, w, s, d)
    out = np.zeros((len(x), len(w), oh, ow), x.dtype)
    for n in range(len(x)):
        for o in range(len(w)):
            for i in range(oh):
                for j in range(ow):
                    part = x[
                        n,
                        :,
                        s * i : s * i + d * (kh - 1) + 1 : d,
                        s * j : s * j + d * (kw - 1) + 1 : d,
                    ]
                    out[n, o, i, j] = np.sum(part * w[o])
    return out


def sums_of_windows(x, w, s=1, d=1):
    """All images and filters at once, the filters last."""
    kh, kw = w.shape[2:]
    oh, ow = _out(x, w, s, d)
    out = np.empty((len(x), oh, ow, len(w)), x.dtype)
    filters = w.transpose(1, 2, 3, 0)[None]
    for i in range(oh):
        for j in range(ow):
            part = x[
                :,
                :,
                s * i : s * i + d * (kh - 1) + 1 : d,
                s * j : s * j + d * (kw - 1) + 1 : d,
                None,
            ]
            out[:, i, j] = np.sum(part * filters, axis=(1, 2, 3))
    return out.transpose(0, 3, 1, 2)


SPELLINGS = (
    windows_einsum,
    windows_tensordot,
    strides,
    columns_by_loops,
    indices,
    shifted,
    positions,
    sums,
    sums_of_windows,
)


def plain(x, w, s, d):
    """The convolution, its gradient by x and that by w for cotangents that are its own results."""
    oh, ow = _out(x, w, s, d)
    y = np.zeros((len(x), len(w), oh, ow))
    dx, dw = np.zeros(x.shape), np.zeros(w.shape)
    for forward in (True, False):
        for i in range(w.shape[2]):
            for j in range(w.shape[3]):
                at = (
                    slice(None),
                    slice(None),
                    slice(d * i, d * i + s * (oh - 1) + 1, s),
                    slice(d * j, d * j + s * (ow - 1) + 1, s),
                )
                if forward:
                    y += np.einsum("nchw,oc->nohw", x[at], w[:, :, i, j])
                else:
                    dx[at] += np.einsum("nohw,oc->nchw", y, w[:, :, i, j])
                    dw[:, :, i, j] += np.einsum("nohw,nchw->oc", y, x[at])
    return y, dx, dw


def close(got, expected, dtype):
    assert got.dtype == dtype and got.shape == expected.shape
    scale = np.abs(expected).max()
    np.testing.assert_allclose(got, expected, rtol=0, atol=64 * np.finfo(dtype).eps * scale)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_a_contraction_and_so_are_its_gradients(spelling):
    rng = np.random.default_rng(1)
    for dtype, s, d in (("f4", 1, 1), ("f8", 2, 1), ("f4", 3, 2)):
        x = rng.standard_normal((2, 3, 11, 12)).astype(dtype)
        w = rng.standard_normal((12, 3, 3, 2)).astype(dtype)
        y, dx, dw = plain(x, w, s, d)
        f = tracejit.jit(lambda x, w: spelling(x, w, s, d), strict=True)  # noqa: B023
        close(f(x, w), y, dtype)
        g = tracejit.jit(
            tracejit.grad(lambda x, w: np.sum(spelling(x, w, s, d) ** 2) / 2, argnums=(0, 1)),  # noqa: B023
            strict=True,
        )
        got = g(x, w)
        close(got[0], dx, dtype)
        close(got[1], dw, dtype)
        ops = fused_ops(f, x, w)
        assert "contract" in ops and not {"matmul", "while_loop", "gather"} & set(ops)


def test_results_are_computed_where_they_are_to_lie():
    x, w = np.ones((2, 8, 12, 12), "f4"), np.ones((9, 8, 3, 3), "f4")
    for spelling in (positions, columns_by_loops):
        assert fused_ops(tracejit.jit(spelling), x, w) == ["contract"]


def test_the_gradient_copies_no_windows():
    x, w = np.ones((2, 8, 12, 12), "f4"), np.ones((9, 8, 3, 3), "f4")
    g = tracejit.grad(lambda x, w: np.sum(windows_einsum(x, w) ** 2), argnums=(0, 1))
    ops = fused_ops(tracejit.jit(g), x, w)
    # Those after the branch are for weights that are not finite.
    assert ops.count("contract") == 4 and "cond" in ops and "gather" not in ops


@pytest.mark.parametrize(("s", "size", "kernel"), [(2, 13, 3), (4, 51, 11), (3, 12, 2)])
def test_windows_apart_are_summed_for_each_element(s, size, kernel):
    """Where only some of all windows are read, the zeros of the others are added to nothing."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((2, 3, size, size + 1))
    w = rng.standard_normal((5, 3, kernel, kernel))

    def loss(x, w):
        windows = sliding_window_view(x, (kernel, kernel), axis=(2, 3))[:, :, ::s, ::s]
        return np.sum(np.einsum("nchwij,ocij->nohw", windows, w) ** 2) / 2

    g = tracejit.jit(tracejit.grad(loss), strict=True)
    close(g(x, w), plain(x, w, s, 1)[1], "f8")
    outputs = [v for n in g.lower(x, w).graphs["fuse"].nodes for v in n.outputs]
    assert max(len(shape_of(v.type)) for v in outputs) <= 4


def _product(a, b):
    return (a[:, None, :] * b[None]).sum(axis=2)


def test_gradients_of_sums_of_products_are_products():
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((24, 30)), rng.standard_normal((20, 30))
    g = tracejit.grad(lambda a, b: np.sum(_product(a, b) ** 2) / 2, argnums=(0, 1))
    got = g(a, b)
    np.testing.assert_allclose(got[0], a @ b.T @ b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got[1], (a @ b.T).T @ a, rtol=1e-12, atol=1e-12)
    assert fused_ops(tracejit.jit(g), a, b).count("contract") == 3


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_cotangents_of_zero_reach_nothing_through_what_is_not_finite(bad):
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((24, 30)), rng.standard_normal((20, 30))
    b[3, 7], a[5, 2] = bad, bad
    weights = rng.standard_normal((24, 20))
    weights[:, 3], weights[5] = 0.0, 0.0
    g = tracejit.grad(lambda a, b: np.sum(weights * _product(a, b)), argnums=(0, 1))
    clean = np.nan_to_num(a, nan=0, posinf=0, neginf=0), np.nan_to_num(b, nan=0, posinf=0, neginf=0)
    got = g(a, b)
    np.testing.assert_allclose(got[0], weights @ clean[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got[1], weights.T @ clean[0], rtol=1e-12, atol=1e-12)
    weights[2, 3] = 1.0
    got = g(a, b)
    assert not np.isfinite(got[0][2, 7]) and np.isfinite(np.delete(got[0], 7, axis=1)).all()


def test_sums_of_sums_of_products_are_one():
    def f(a, b):
        return (a[:, :, None, None] * b[:, None]).sum(axis=2).sum(axis=0)

    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((9, 12)), rng.standard_normal((9, 8, 11))
    jitted = tracejit.jit(f, strict=True)
    np.testing.assert_allclose(jitted(a, b), f(a, b), rtol=1e-12, atol=1e-12)
    g = tracejit.grad(lambda a, b: np.sum(np.sin(f(a, b))), argnums=(0, 1))
    step = 1e-6 * rng.standard_normal(a.shape)
    ahead, behind = np.sum(np.sin(f(a + step, b))), np.sum(np.sin(f(a - step, b)))
    np.testing.assert_allclose((g(a, b)[0] * step).sum(), (ahead - behind) / 2, rtol=1e-6)


def test_infinite_weights_reach_no_element_that_they_do_not_multiply():
    x = np.ones((1, 2, 6, 6))
    w = np.ones((3, 2, 3, 3))
    w[1, 0, 1, 1] = np.inf

    def loss(x, w):
        return np.sum(windows_einsum(x, w) * np.arange(1.0, 17).reshape(4, 4))

    got = tracejit.jit(tracejit.grad(loss))(x, w)
    cotangent = np.broadcast_to(np.arange(1.0, 17).reshape(4, 4), (1, 3, 4, 4))
    expected = np.zeros(x.shape)
    for i in range(3):
        for j in range(3):
            part = cotangent[:, :, None] * w[None, :, :, i, j, None, None]
            expected[:, :, i : i + 4, j : j + 4] += part.sum(1)
    np.testing.assert_array_equal(got, expected)
    assert np.isfinite(got[0, 0, 0]).all() and np.isinf(got[0, 0, 1, 1])


def test_sizes_may_be_any():
    f = tracejit.jit(windows_tensordot, strict=True)
    rng = np.random.default_rng(2)
    for shape, kernel in (
        ((2, 3, 9, 9), (4, 3, 3, 3)),
        ((3, 4, 10, 12), (5, 4, 2, 5)),
        ((1, 7, 23, 8), (6, 7, 1, 1)),
        ((5, 2, 8, 31), (17, 2, 4, 3)),
    ):
        x, w = rng.standard_normal(shape), rng.standard_normal(kernel)
        close(f(x, w), plain(x, w, 1, 1)[0], "f8")


def test_one_channel_each_is_one_kernel_of_sums():
    def depthwise(x, w):
        return np.einsum("nchwij,cij->nchw", sliding_window_view(x, (3, 3), axis=(2, 3)), w)

    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((3, 6, 19, 18)).astype("f4"), rng.standard_normal((6, 3, 3))
    w = w.astype("f4")
    f = tracejit.jit(depthwise, strict=True)
    close(f(x, w), depthwise(x.astype("f8"), w.astype("f8")), "f4")
    assert fused_ops(f, x, w) == ["fusion"]

    def by_loops(x, w):
        out = np.zeros((3, 6, 17, 16), x.dtype)
        for i in range(3):
            for j in range(3):
                out += x[:, :, i : i + 17, j : j + 16] * w[:, i, j][:, None, None]
        return out

    g = tracejit.jit(by_loops, strict=True)
    np.testing.assert_array_equal(g(x, w), by_loops(x, w))
    assert fused_ops(g, x, w) == ["fusion"]


def test_sums_of_singles_are_as_accurate_as_sums():
    rng = np.random.default_rng(4)
    a, b = (rng.random((20, 3000)).astype("f4") for _ in "ab")

    def f(a, b):
        return np.sum(a[:, None] * b[None], axis=-1)

    jitted = tracejit.jit(f, strict=True)
    assert "contract" in fused_ops(jitted, a, b)
    np.testing.assert_allclose(jitted(a, b), f(a.astype("f8"), b.astype("f8")), rtol=1e-6)


def test_filters_of_one_image_are_one_kernel():
    def f(x, w):
        out = np.zeros((30, 29))
        for i in range(30):
            for j in range(29):
                out[i, j] = np.sum(x[i : i + 3, j : j + 4] * w)
        return out

    rng = np.random.default_rng(4)
    x, w = rng.standard_normal((32, 32)), rng.standard_normal((3, 4))
    jitted = tracejit.jit(f, strict=True)
    np.testing.assert_allclose(jitted(x, w), f(x, w), rtol=1e-12, atol=1e-12)
    assert fused_ops(jitted, x, w) == ["fusion"]


def test_products_that_blas_takes_stay_with_it():
    a, b = np.ones((40, 50), "f4"), np.ones((50, 30), "f4")
    assert fused_ops(tracejit.jit(lambda a, b: a[::2] @ b), a, b) == ["slice", "matmul"]
    assert fused_ops(tracejit.jit(lambda a, b: a.T @ a), a, b) == ["matmul"]


def test_a_loop_that_reads_what_it_stores_stays_a_loop():
    def f(x):
        for i in range(1, 9):
            x[i] = x[i - 1]
        return x

    x = np.arange(10.0)
    np.testing.assert_array_equal(tracejit.jit(f)(x.copy()), f(x.copy()))

    def overlapping(x):
        out = np.zeros(12)
        for i in range(6):
            out[i : i + 4] = x[i : i + 4] * 1
        return out

    def stored(x):
        out = np.zeros((12, 2))
        for i in range(6):
            out[2 * i : 2 * i + 2] = x[i : i + 4].reshape(2, 2)
        return out

    for g in (overlapping, stored):
        np.testing.assert_array_equal(tracejit.jit(g)(x), g(x))


def test_windows_are_read_where_loops_say():
    def f(x):
        return sliding_window_view(x, (3, 2), axis=(0, 1)).max(axis=(2, 3))

    x = np.random.default_rng(6).standard_normal((20, 30))
    jitted = tracejit.jit(f, strict=True)
    np.testing.assert_array_equal(jitted(x), f(x))
    text = jitted.lower(x).text("kernel")
    assert "select" not in text and "wrap_index" not in text


def test_what_is_added_several_times_counts_as_often():
    def along_no_axis_of_the_product(a, b):
        out = np.zeros((48, 4))
        i = np.arange(40)[:, None] + np.arange(9)
        p = (a @ b).reshape(40, 9, 4)
        np.add.at(out, np.broadcast_to(i, (3, 40, 9)), np.broadcast_to(p, (3, 40, 9, 4)))
        return out

    def without_overlap(a, b):
        out = np.zeros((40, 36))
        i = np.broadcast_to(np.arange(40), (3, 40))
        np.add.at(out, i, np.broadcast_to(a @ b, (3, 40, 36)))
        return out

    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((40, 6)), rng.standard_normal((6, 36))
    for f in (along_no_axis_of_the_product, without_overlap):
        compiled = tracejit.jit(f, strict=True)
        close(compiled(a, b), f(a, b), "f8")
        assert "contract" in fused_ops(compiled, a, b)


def test_windows_along_a_diagonal():
    def f(a, b):
        h, w, (n, m) = 2, a.shape[2], b.shape[1:]
        out = np.zeros((3 * h + n, m + h, w))
        i, j = np.arange(n), np.arange(m)[:, None, None]
        k = np.arange(h)[:, None]
        p = np.tensordot(a[:, :2], b, axes=((0,), (0,)))
        np.add.at(out, (3 * k + i + 1, j + k), p.transpose(3, 0, 2, 1))
        return out

    rng = np.random.default_rng(6)
    compiled = tracejit.jit(f, strict=True)
    for h, w, n, m in ((2, 3, 24, 13), (2, 2, 21, 16), (2, 5, 23, 11)):
        a, b = rng.standard_normal((9, h, w)), rng.standard_normal((9, n, m))
        close(compiled(a, b), f(a, b), "f8")


def test_products_of_half_precision_are_added_one_after_another():
    def f(y, x, w):
        for i in range(2):
            y = y + x[:, i : i + 2] @ w[i]
        return y

    y, x, w = np.full((4, 5), -60000, "f2"), np.full((4, 3), 100, "f2"), np.full((2, 2, 5), 250)
    w = w.astype("f2")
    np.testing.assert_array_equal(tracejit.jit(f)(y, x, w), f(y, x, w))


def test_windows_far_apart_are_added_one_by_one():
    def f(a, b, s):
        v = a @ b
        out = np.zeros(s * (len(a) - 1) + b.shape[1])
        np.add.at(out, s * np.arange(len(a))[:, None] + np.arange(b.shape[1]), v)
        return out

    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((200, 5)), rng.standard_normal((5, 64))
    for s, many in ((16, True), (33, False)):
        compiled = tracejit.jit(lambda a, b: f(a, b, s), strict=True)  # noqa: B023
        close(compiled(a, b), f(a, b, s), "f8")
        assert ("cond" in fused_ops(compiled, a, b)) is many


def test_negative_zeros_stay_where_nothing_is_added():
    def f(a, b):
        out = np.full((45, 3), -0.0)
        p = (a @ b).reshape(20, 2, 3)
        np.add.at(out, 2 * np.arange(20)[:, None] + np.arange(2) + 1, p)
        return out

    a, b = np.ones((20, 300)), np.ones((300, 6))
    np.testing.assert_array_equal(np.signbit(tracejit.jit(f)(a, b)), np.signbit(f(a, b)))


def test_a_device_computes_them_by_calls_of_its_packages():
    rng = np.random.default_rng(5)
    f = tracejit.jit(lambda x, w: windows_einsum(x, w, 2, 2), device="cuda-sim", strict=True)
    for shape, kernel in (((2, 3, 19, 19), (12, 3, 3, 3)), ((3, 4, 13, 22), (9, 4, 2, 3))):
        x, w = rng.standard_normal(shape), rng.standard_normal(kernel)
        close(f(x, w), plain(x, w, 2, 2)[0], "f8")
    nodes = f.lower(x, w).graphs["fuse"].nodes
    assert any(n.op.name == "contract" and routine_of(n) for n in nodes)


def test_complex_products_in_windows_are_added_one_by_one():
    def f(a, b):
        out = np.zeros(12, complex)
        np.add.at(out, np.arange(6)[:, None] + np.arange(7), a @ b)
        return out

    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((6, 2)) + 1j, rng.standard_normal((2, 7)) - 1j
    np.testing.assert_allclose(tracejit.jit(f, strict=True)(a, b), f(a, b), rtol=1e-12)
