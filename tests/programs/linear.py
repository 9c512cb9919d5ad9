"""Linear algebra: fits, whitening, filters, graph and Markov steps."""

import numpy as np

from tests.programs.program import Program


def ridge_regression(features, targets, penalty):
    gram = features.T @ features + penalty * np.eye(features.shape[1])
    weights = np.linalg.solve(gram, features.T @ targets)
    residual = targets - features @ weights
    return weights, (residual**2).mean()


def regression_data(rng, size):
    features = rng.normal(size=(size, 4))
    return features, features @ np.arange(4.0) + rng.normal(size=size) / 10, 1.0


def whiten(data):
    centred = data - data.mean(axis=0)
    covariance = centred.T @ centred / len(data) + 0.1 * np.eye(data.shape[1])
    root = np.linalg.cholesky(np.linalg.inv(covariance))
    return centred @ root, root


def correlated(rng, size):
    return (rng.normal(size=(size, 4)) @ rng.normal(size=(4, 4)),)


def kalman_update(state, covariance, measurement, observe, noise):
    innovation = measurement - observe @ state
    s = observe @ covariance @ observe.T + noise
    gain = np.linalg.solve(s, observe @ covariance).T
    return state + gain @ innovation, (np.eye(state.size) - gain @ observe) @ covariance


def filter_state(rng, size):
    return rng.normal(size=4), np.eye(4), rng.normal(size=2), rng.normal(size=(2, 4)), np.eye(2)


def power_iteration_step(matrix, vector):
    image = matrix @ vector
    image = image / np.linalg.norm(image)
    return image, image @ matrix @ image


def symmetric(rng, size):
    root = rng.normal(size=(size, size))
    return root + root.T, np.ones(size)


def page_rank_step(links, rank, damping):
    out = links.sum(axis=0)
    share = np.where(out > 0, rank / np.where(out > 0, out, 1), 0)
    return (1 - damping) / rank.size + damping * (links @ share)


def link_matrix(rng, size):
    return (rng.random((size, size)) < 0.3).astype(np.float64), np.full(size, 1 / size), 0.85


def tensor_contraction(cores, vector):
    return np.einsum("iaj,jbk,a,b->ik", cores[0], cores[1], vector, vector)


def tensor_train(rng, size):
    return [rng.normal(size=(2, size, 3)), rng.normal(size=(3, size, 4))], rng.normal(size=size)


def complex_power_flow(admittance, voltage):
    current = admittance @ voltage
    power = voltage * current.conj()
    return power.real, power.imag, abs(power).max()


def grid(rng, size):
    y = rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size))
    return y, np.exp(1j * rng.uniform(-0.3, 0.3, size))


def batched_solve(matrices, right):
    lifted = np.matmul(matrices.transpose(0, 2, 1), matrices) + np.eye(3)
    return np.linalg.solve(lifted, right[..., None])[..., 0], np.linalg.norm(right, axis=-1)


def small_systems(rng, size):
    return rng.normal(size=(size, 3, 3)), rng.normal(size=(size, 3))


PROGRAMS = [
    Program(ridge_regression, regression_data, "order", 512),
    Program(whiten, correlated, "order", 2048),
    Program(kalman_update, filter_state, "order", 512, sizes=(2, 3)),
    Program(power_iteration_step, symmetric, "order", 128),
    Program(page_rank_step, link_matrix, "order", 64),
    Program(tensor_contraction, tensor_train, "order", 128),
    Program(complex_power_flow, grid, "order", 128),
    Program(batched_solve, small_systems, "order", 4096),
]
