"""Statistics: densities, projections, robust and rank measures, random walks."""

import dataclasses

import numpy as np
from scipy.special import erf

from tests.programs.program import Program


def pca_projection(data, components):
    centred = data - data.mean(axis=0)
    scores = centred @ components.T
    explained = (scores**2).sum(axis=0) / (centred**2).sum()
    return scores, explained


def data_and_components(rng, size):
    components = np.linalg.qr(rng.normal(size=(6, 6)))[0][:2]
    return rng.normal(size=(size, 6)) * np.arange(1, 7), components


def mahalanobis(x, mean, covariance):
    centred = x - mean
    solved = np.linalg.solve(covariance, centred.T)
    return np.sqrt((centred.T * solved).sum(axis=0))


def normal_sample(rng, size):
    root = rng.normal(size=(4, 4))
    return rng.normal(size=(size, 4)), rng.normal(size=4), root @ root.T + 4 * np.eye(4)


@dataclasses.dataclass
class Mixture:
    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray


def mixture_log_likelihood(x, mixture):
    z = (x[:, None] - mixture.means) / mixture.deviations
    log_density = -0.5 * z**2 - np.log(mixture.deviations) - 0.5 * np.log(2 * np.pi)
    joint = log_density + np.log(mixture.weights)
    top = joint.max(axis=1)
    log_total = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    return log_total.sum(), np.exp(joint - log_total[:, None])


def mixture_sample(rng, size):
    return rng.normal(size=size) * 3, Mixture(
        np.array([0.2, 0.5, 0.3]), np.array([-2.0, 0.0, 3.0]), np.array([0.5, 1.0, 2.0])
    )


def black_scholes(spot, strike, years, rate, volatility):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    n1 = 0.5 * (1 + erf(d1 / np.sqrt(2.0)))
    n2 = 0.5 * (1 + erf(d2 / np.sqrt(2.0)))
    discounted = strike * np.exp(-rate * years)
    call = spot * n1 - discounted * n2
    return call, call - spot + discounted


def options(rng, size):
    return (
        rng.uniform(10, 50, size),
        rng.uniform(10, 50, size),
        rng.uniform(1, 2, size),
        0.02,
        rng.uniform(0.1, 0.5, size),
    )


def covariance_and_correlation(x):
    centred = x - x.mean(axis=1, keepdims=True)
    covariance = centred @ centred.T / (x.shape[1] - 1)
    deviation = np.sqrt(np.diagonal(covariance))
    return covariance, covariance / np.outer(deviation, deviation)


def variables(rng, size):
    return (rng.normal(size=(4, size)),)


def ranks(scores):
    order = np.argsort(scores, kind="stable")
    return np.argsort(order, kind="stable"), scores[order], np.sort(scores)[::-1]


def scores_with_ties(rng, size):
    return (rng.integers(0, size // 2, size).astype(np.float64),)


def median_absolute_deviation(x):
    def middle(values):
        ordered = np.sort(values)
        half = ordered.shape[0] // 2
        return (ordered[half] + ordered[-half - 1]) / 2

    centre = middle(x)
    return centre, middle(np.abs(x - centre))


def sample(rng, size):
    return (rng.normal(size=size),)


def standardize(table):
    return (table - table.mean(0)) / table.std(0, ddof=1)


def mixed_scale_table(rng, size):
    return (rng.normal(size=(size, 5)) * 10.0 ** np.arange(5),)


def exponential_moving_histogram(values, edges, decay):
    inside = (values[:, None] >= edges[:-1]) & (values[:, None] < edges[1:])
    age = np.arange(values.size)[::-1]
    return (inside * decay ** age[:, None]).sum(axis=0)


def stream(rng, size):
    return rng.random(size), np.linspace(0, 1, 11), 0.97


def drawdown(returns):
    level = np.cumsum(returns)
    peak = np.maximum.accumulate(level)
    return (peak - level).max()


def small_returns(rng, size):
    return (rng.integers(-50, 50, size) / 64.0,)


def winsorized_mean(x, low, high):
    return x.clip(low, high).mean(), x.clip(min=low).min(), x.clip(max=high).max()


def sample_and_limits(rng, size):
    return rng.normal(size=size), -1.0, 1.5


PROGRAMS = [
    Program(pca_projection, data_and_components, "order", 64),
    Program(mahalanobis, normal_sample, "order", 256),
    Program(mixture_log_likelihood, mixture_sample, "order", 64),
    Program(black_scholes, options, "order", 16),
    Program(covariance_and_correlation, variables, "order", 64),
    Program(ranks, scores_with_ties, in_scope=False),
    Program(median_absolute_deviation, sample),
    Program(standardize, mixed_scale_table, "order", 64),
    Program(exponential_moving_histogram, stream, "order", 64),
    Program(drawdown, small_returns, in_scope=False),
    Program(winsorized_mean, sample_and_limits, "order", 32),
]
