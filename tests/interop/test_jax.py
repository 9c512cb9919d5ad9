"""JAX: compiled functions of NumPy inside its programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit

jax = pytest.importorskip("jax")
jnp = jax.numpy
interop = tracejit.interop.jax


def decay(p: Any, x: Any, steps: Any = 3) -> Any:
    """A loop and a branch on values, which JAX alone would not trace."""
    for _ in range(steps):
        if x.sum() > 1:
            x = np.tanh(p["w"] * x) + p["b"]
        else:
            x = x * x
    return {"x": x, "total": x.sum(), "count": steps}


def same(p: Any, x: Any, steps: Any = 3) -> Any:
    for _ in range(steps):
        x = jnp.where(x.sum() > 1, jnp.tanh(p["w"] * x) + p["b"], x * x)
    return {"x": x, "total": x.sum(), "count": steps}


f = interop.function(decay)
P = {"w": jnp.array([1.0, 2.0, 3.0]), "b": jnp.array(0.5)}
X = jnp.array([0.1, 0.9, 0.8])


def close(a: Any, b: Any) -> None:
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert isinstance(x, jax.Array) and x.dtype == jnp.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6)


def test_values_and_gradients() -> None:
    close(f(P, X), same(P, X))
    close(jax.jit(f)(P, X, 4), same(P, X, 4))
    close(jax.jit(lambda p, x: f(p, x, steps=2))(P, 0.1 * X), same(P, 0.1 * X, 2))

    def loss(f: Any) -> Any:
        return lambda p, x: (f(p, x)["x"] ** 2).sum() + 3 * f(p, x)["total"]

    for how in (lambda g: g, jax.jit):
        close(how(jax.grad(loss(f), (0, 1)))(P, X), jax.grad(loss(same), (0, 1))(P, X))
    twice = [jax.grad(lambda x, g=g: jax.grad(loss(g))(P, x)["w"].sum()) for g in (f, same)]
    close(twice[0](X), twice[1](X))
    assert all(r.variants and not r.fallbacks for r in f.report())


def test_batches_are_one_call() -> None:
    xs, ws = jnp.stack([X, 0.1 * X]), jnp.stack([P["w"], 2 * P["w"], 3 * P["w"]])

    def counted(p: Any, x: Any) -> Any:
        return decay(p, x)["x"]

    g = interop.function(counted)
    close(jax.vmap(g, (None, 0))(P, xs), jax.vmap(lambda x: same(P, x)["x"])(xs))

    def grid(g: Any) -> Any:
        inner = jax.vmap(lambda w, x: g({**P, "w": w}, x), (None, 0))
        return jax.jit(jax.vmap(inner, (0, None)))(ws, xs)

    close(grid(g), grid(lambda p, x: same(p, x)["x"]))
    slopes = [
        jax.vmap(jax.grad(lambda x, h=h: h(P, x).sum()))(xs)
        for h in (g, lambda p, x: same(p, x)["x"])
    ]
    close(*slopes)
    close(jax.jacrev(lambda x: g(P, x))(X), jax.jacrev(lambda x: same(P, x)["x"])(X))
    assert len(g.report()) > 2


def test_integers_and_complex_numbers() -> None:
    g = interop.function(lambda x, k: (np.exp(1j * x) * k, k + 1))
    k = jnp.array([1, 2, 3])
    close(jax.jit(g)(X, k), (jnp.exp(1j * X) * k, k + 1))

    def real(g: Any) -> Any:
        return lambda z: (g(z) * (1 + 2j)).real.sum()

    z = X + 1j * X[::-1]
    h = interop.function(lambda z: np.exp(z) * z)
    close(jax.grad(real(h))(z), jax.grad(real(lambda z: jnp.exp(z) * z))(z))
    half = interop.function(lambda x: {"b": 2.5 * float(x[0]), "a": x * 2})
    slopes = jax.jacrev(lambda x: half(x)["b"] * half(x)["a"][1])(X)
    close(slopes, jnp.array([5 * X[1], 5 * X[0], 0.0]))
    ints = jax.grad(lambda x: g(x, k)[0].real.sum())(X)
    close(ints, -jnp.sin(X) * k)


def test_shapes_that_are_said_and_what_may_not_happen() -> None:
    def chosen(x: Any) -> Any:
        if x[0] < 5:
            raise ValueError("too small")
        return np.sqrt(x)

    g = interop.function(chosen, lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype))
    close(jax.jit(g)(X + 9), jnp.sqrt(X + 9))
    with pytest.raises(ValueError, match="too small"):
        jax.jit(interop.function(chosen))(X + 9)
    close(interop.function(chosen)(X + 9), jnp.sqrt(X + 9))
    picked = interop.function(lambda x, k: x[k])  # the shape rests on what is in an array
    for k in (np.array([0]), np.array([True, False, True])):
        close(jax.jit(lambda x, k=k: picked(x, k))(X), X[k])
    with pytest.raises(ValueError, match="read-only"):
        interop.function(lambda x: x.fill(1))(X)
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(lambda x: f(P, x)["x"], (X,), (X,))
