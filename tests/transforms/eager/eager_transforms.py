"""Programs that take derivatives inside, for eager derivatives of them."""

import numpy as np

import tracejit


def energy(x):
    if x[0] > 0:
        return (x**3).sum() + x[0] * x[1]
    return x.sum()


def newton(x):
    for _ in range(3):
        g = tracejit.grad(energy)(x)
        h = tracejit.hessian(energy)(x)
        x = x - 0.1 * np.linalg.solve(h, g)
    return energy(x)


def with_jvp(x):
    value, slope = tracejit.jvp(energy, (x,), (np.ones(2),))
    return value * slope


def with_vjp(x):
    y, pull = tracejit.vjp(lambda v: v**2 * v[0], x)
    (g,) = pull(np.ones(2))
    return (g * y).sum()


def with_jacobian(x):
    return (tracejit.jacobian(lambda v: np.outer(v, v * v[1]))(x) ** 2).sum()


def with_vmap(x):
    return tracejit.vmap(lambda v: np.sin(v) * v)(x).sum()


def with_vmap_of_grad(x):
    rows = tracejit.vmap(tracejit.grad(energy))(np.stack([x, 2.0 * x]))
    return (rows**2).sum()


@tracejit.jit
def compiled(x):
    y = np.zeros(2)
    for i in range(2):
        y[i] = x[i] ** 2
    return y.sum()


def with_compiled(x):
    return compiled(x) * x[0] + tracejit.grad(compiled)(x)[1]


PROGRAMS = [newton, with_jvp, with_vjp, with_jacobian, with_vmap, with_vmap_of_grad, with_compiled]
