"""Rules of the program's own in the mode that they are not said for: the transpose of the rule."""

import numpy as np
import pytest

import tracejit
from tests.transforms.test_custom_rules import (
    X,
    both,
    clipped,
    log1pexp,
    log1pexp_backward,
    rounded,
)


@tracejit.custom_vjp
def direct(x):
    """As `log1pexp`, with a forward rule that does not call it."""
    return np.log(1.0 + np.exp(x))


direct.defvjp(lambda x: (np.log(1.0 + np.exp(x)), x), log1pexp_backward)


def plain(x):
    return np.log(1.0 + np.exp(x))


def through_loop(f, x):
    n = 0
    while n < 3 and x[0] < 50.0:
        x = f(x) * x[::-1]
        n += 1
    return x.sum()


FORWARD = {
    "jvp": lambda f: tracejit.jvp(f, (X,), (X + 1,))[1],
    "hessian": lambda f: tracejit.hessian(lambda x: np.sum(f(x) ** 2 * np.roll(x, 1)))(X),
    "hvp": lambda f: tracejit.hvp(lambda x: np.sum(f(x) ** 3))(X, X + 0.3),
    "jvp of jvp": lambda f: tracejit.jvp(
        lambda x: tracejit.jvp(lambda x: f(x) ** 2, (x,), (x,))[1], (X,), (X,)
    )[1],
    "grad of jvp": lambda f: tracejit.grad(
        lambda x: tracejit.jvp(lambda x: f(x) ** 2, (x,), (x,))[1].sum()
    )(X),
    "vmap": lambda f: tracejit.vmap(tracejit.hessian(lambda x: np.sum(f(x) ** 2)))(
        np.stack([X, X + 1])
    ),
    "loop": lambda f: tracejit.hessian(lambda x: through_loop(f, x))(X),
    "remat": lambda f: tracejit.hessian(lambda x: np.sum(tracejit.remat(f)(x) ** 2))(X),
}


@pytest.mark.sampled(16, kind=lambda name, **_: name)
@pytest.mark.parametrize("f", [direct, log1pexp], ids=["direct", "itself"])
@pytest.mark.parametrize("name", FORWARD)
def test_forward_mode_is_the_transpose_of_the_rule(name, f) -> None:
    expected = FORWARD[name](plain)
    for found in both(FORWARD[name], f):
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_forward_mode_goes_by_the_rule() -> None:
    """Of a function whose rule is not its derivative, in every order of the modes."""
    for found in both(lambda x: tracejit.jvp(rounded, (x,), (x,))[1], X):
        assert np.array_equal(found, X)
    square = tracejit.hessian(lambda x: np.sum(rounded(x) ** 2))
    again = tracejit.jacobian(tracejit.grad(lambda x: np.sum(rounded(x) ** 2)), mode="reverse")
    for found in [*both(square, X), *both(again, X)]:
        assert np.array_equal(found, 2 * np.eye(len(X)))


def test_forward_mode_with_several_arguments_and_results() -> None:
    @tracejit.custom_vjp
    def f(pair, scale, n):
        return {"a": pair[0] @ pair[1] * scale, "n": n, "b": np.sum(pair[1]) ** n}

    f.defvjp(
        lambda pair, scale, n: (f(pair, scale, n), (pair, scale, n)),
        lambda r, g: (
            (
                r[1] * np.outer(g["a"], r[0][1]),
                r[1] * r[0][0].T @ g["a"] + g["b"] * r[2] * np.sum(r[0][1]) ** (r[2] - 1),
            ),
            np.sum(g["a"] * (r[0][0] @ r[0][1])),
            None,
        ),
    )
    matrix, rng = np.arange(12.0).reshape(4, 3) / 7, np.random.default_rng(3)
    primals = ((matrix, X[:3]), 1.5)
    tangents = ((rng.normal(size=(4, 3)), rng.normal(size=3)), 0.7)

    def along(pair, scale):
        out = f(pair, scale, 3)
        return out["a"], out["b"]

    h = 1e-6
    moved = [
        along(
            (matrix + s * h * tangents[0][0], X[:3] + s * h * tangents[0][1]),
            1.5 + s * h * tangents[1],
        )
        for s in (1, -1)
    ]
    expected = [(a - b) / (2 * h) for a, b in zip(*moved, strict=True)]
    for _, found in both(lambda *args: tracejit.jvp(along, *args), primals, tangents):
        for x, y in zip(found, expected, strict=True):
            assert np.allclose(x, y, rtol=1e-7, atol=1e-8)


def test_forward_mode_of_complex_rules() -> None:
    @tracejit.custom_vjp
    def f(z):
        return z * z * np.conj(z)

    f.defvjp(
        lambda z: (z * z * np.conj(z), z),
        lambda z, g: (g * 2 * z * np.conj(z) + np.conj(g * z * z),),
    )
    z, t = X + 1j * X[::-1], 0.3 - 1j * X
    expected = tracejit.jvp(lambda z: z * z * np.conj(z), (z,), (t,))[1]
    by_rule = tracejit.vjp(f, z)[1](t)[0]
    assert np.allclose(by_rule, tracejit.vjp(lambda z: z * z * np.conj(z), z)[1](t)[0])
    for _, found in both(lambda z, t: tracejit.jvp(f, (z,), (t,)), z, t):
        assert np.allclose(found, expected, rtol=1e-12)


def test_forward_mode_of_rules_with_loops() -> None:
    @tracejit.custom_vjp
    def power(x, n):
        return x**n

    def backward(r, g):
        x, n = r
        for _ in range(n - 1):
            g = g * x
        return g * n, None

    power.defvjp(lambda x, n: (x**n, (x, n)), backward)
    for _, found in both(lambda x: tracejit.jvp(lambda x: power(x, 4), (x,), (x,)), X):
        assert np.allclose(found, 4 * X**4, rtol=1e-12)


@tracejit.custom_jvp
def squashed(x):
    return x * 1.0


@squashed.defjvp
def squashed_rule(primals, tangents):
    return primals[0] * 1.0, np.tanh(tangents[0])


@pytest.mark.parametrize(
    "transform",
    [
        lambda x: tracejit.jvp(lambda x: clipped(x, 1.0), (x,), (x,)),
        tracejit.hessian(lambda x: np.sum(clipped(x, 1.0) ** 2)),
        tracejit.grad(lambda x: np.sum(squashed(x))),
    ],
)
def test_rules_that_are_not_linear_have_no_transpose(transform) -> None:
    for compiled in (True, False):
        with pytest.raises(TypeError, match="not linear"):
            if compiled:
                transform(X)
            else:
                with tracejit.eager():
                    transform(X)
