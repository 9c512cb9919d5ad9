"""Statistics and random numbers."""

import math
from collections import Counter

import numpy as np

from .program import Family

PROGRAMS = Family()


def sample(n, seed=0):
    return np.random.default_rng(seed).normal(2.0, 1.5, size=n)


def rng(seed=0):
    return np.random.default_rng(seed)


class RunningStats:
    """Welford's algorithm."""

    def __init__(self):
        self.n = 0
        self.mean = 0.0
        self.M2 = 0.0
        self.min, self.max = float("inf"), float("-inf")

    def push(self, x):
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.M2 += delta * (x - self.mean)
        self.min = min(self.min, x)
        self.max = max(self.max, x)

    def extend(self, xs):
        for x in xs:
            self.push(x)
        return self

    @property
    def variance(self):
        return self.M2 / (self.n - 1) if self.n > 1 else 0.0

    @property
    def std(self):
        return math.sqrt(self.variance)

    def summary(self):
        return {"n": self.n, "mean": self.mean, "std": self.std, "range": (self.min, self.max)}


PROGRAMS.add(
    RunningStats.push, lambda: (RunningStats(), 1.0), lambda: (RunningStats(), np.float64(-2.0))
)
PROGRAMS.add(
    RunningStats.extend,
    lambda: (RunningStats(), sample(50)),
    lambda: (RunningStats(), sample(31, 1)),
)
PROGRAMS.add(
    RunningStats.summary,
    lambda: (RunningStats().extend([1.0, 2.0, 4.0]),),
    lambda: (RunningStats().extend([1.0]),),
)


def bootstrap_ci(data, stat, n_boot=200, alpha=0.05, seed=0):
    rng = np.random.default_rng(seed)
    n = len(data)
    estimates = np.empty(n_boot)
    for i in range(n_boot):
        estimates[i] = stat(data[rng.integers(0, n, size=n)])
    estimates.sort()
    low = estimates[int(alpha / 2 * n_boot)]
    high = estimates[int((1 - alpha / 2) * n_boot) - 1]
    return low, high, estimates.std(ddof=1)


PROGRAMS.add(
    bootstrap_ci,
    lambda: (sample(30), np.mean, 100),
    lambda: (sample(25, 1), lambda x: x.max() - x.min(), 60, 0.1, 1),
)


def metropolis_hastings(log_prob, x0, n_samples, step=0.5, burn_in=10, rng=None):
    rng = rng or np.random.default_rng()
    x = np.atleast_1d(x0).astype(float)
    lp = log_prob(x)
    samples = []
    accepted = 0
    for i in range(n_samples + burn_in):
        proposal = x + step * rng.standard_normal(x.shape)
        lp_new = log_prob(proposal)
        if np.log(rng.random()) < lp_new - lp:
            x, lp = proposal, lp_new
            accepted += 1
        if i >= burn_in:
            samples.append(x.copy())
    return np.array(samples), accepted / (n_samples + burn_in)


PROGRAMS.add(
    metropolis_hastings,
    lambda: (lambda x: -0.5 * np.sum(x**2), np.zeros(2), 60, 0.5, 10, rng()),
    lambda: (lambda x: -np.abs(x).sum(), 1.0, 40, 1.0, 0, rng(1)),
)


def gibbs_bivariate_normal(rho, n, rng):
    x, y = 0.0, 0.0
    out = np.zeros((n, 2))
    sd = np.sqrt(1 - rho**2)
    for i in range(n):
        x = rng.normal(rho * y, sd)
        y = rng.normal(rho * x, sd)
        out[i] = [x, y]
    return out


PROGRAMS.add(gibbs_bivariate_normal, lambda: (0.8, 50, rng()), lambda: (-0.3, 80, rng(1)))


def permutation_test(a, b, n_perm, rng):
    observed = abs(np.mean(a) - np.mean(b))
    pooled = np.concatenate([a, b])
    count = 0
    for _ in range(n_perm):
        rng.shuffle(pooled)
        if abs(pooled[: len(a)].mean() - pooled[len(a) :].mean()) >= observed:
            count += 1
    return (count + 1) / (n_perm + 1)


PROGRAMS.add(
    permutation_test,
    lambda: (sample(12), sample(15, 1), 50, rng()),
    lambda: (sample(9), sample(9, 1) + 3, 40, rng(1)),
)


def welch_t_test(a, b):
    na, nb = len(a), len(b)
    if na < 2 or nb < 2:
        raise ValueError("need at least two samples in each group")
    va, vb = np.var(a, ddof=1), np.var(b, ddof=1)
    se = va / na + vb / nb
    t = (np.mean(a) - np.mean(b)) / np.sqrt(se)
    dof = se**2 / ((va / na) ** 2 / (na - 1) + (vb / nb) ** 2 / (nb - 1))
    return t, dof


PROGRAMS.add(
    welch_t_test,
    lambda: (sample(20), sample(30, 1)),
    lambda: (sample(8), sample(1)),
)


def kde(x, data, bandwidth=None, kernel="gaussian"):
    if bandwidth is None:
        bandwidth = 1.06 * np.std(data) * len(data) ** (-1 / 5)
    u = (x[:, None] - data) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    elif kernel == "epanechnikov":
        k = np.where(np.abs(u) <= 1, 0.75 * (1 - u**2), 0)
    else:
        raise ValueError(f"unknown kernel: {kernel!r}")
    return k.sum(axis=1) / (len(data) * bandwidth)


PROGRAMS.add(
    kde,
    lambda: (np.linspace(-2, 6, 30), sample(40)),
    lambda: (np.linspace(-2, 6, 20), sample(25), 0.5, "epanechnikov"),
    lambda: (np.linspace(-2, 6, 20), sample(25), 0.5, "box"),
)


def autocorrelation(x, max_lag):
    x = x - x.mean()
    var = np.dot(x, x)
    return np.array([1.0] + [np.dot(x[:-k], x[k:]) / var for k in range(1, max_lag + 1)])


PROGRAMS.add(autocorrelation, lambda: (sample(60), 10), lambda: (sample(40, 1), 5))


def ks_statistic(a, b):
    a, b = np.sort(a), np.sort(b)
    everything = np.concatenate([a, b])
    cdf_a = np.searchsorted(a, everything, side="right") / len(a)
    cdf_b = np.searchsorted(b, everything, side="right") / len(b)
    return np.max(np.abs(cdf_a - cdf_b))


PROGRAMS.add(
    ks_statistic, lambda: (sample(30), sample(25, 1)), lambda: (sample(10), sample(40, 2) + 1)
)


class LCG:
    """A linear congruential generator."""

    def __init__(self, seed=1, a=1103515245, c=12345, m=2**31):
        self.state = seed
        self.a, self.c, self.m = a, c, m

    def next(self):
        self.state = (self.a * self.state + self.c) % self.m
        return self.state / self.m

    def normals(self, n):
        out = []
        while len(out) < n:
            u1, u2 = self.next(), self.next()
            r = math.sqrt(-2 * math.log(u1))
            out.append(r * math.cos(2 * math.pi * u2))
            out.append(r * math.sin(2 * math.pi * u2))
        return out[:n]


PROGRAMS.add(LCG.normals, lambda: (LCG(), 7), lambda: (LCG(42), 20))
PROGRAMS.add(LCG.next, lambda: (LCG(),), lambda: (LCG(7),))


def reservoir_sample(stream, k, rng):
    reservoir = []
    for i, item in enumerate(stream):
        if i < k:
            reservoir.append(item)
        else:
            j = rng.integers(0, i + 1)
            if j < k:
                reservoir[j] = item
    return reservoir


PROGRAMS.add(
    reservoir_sample,
    lambda: (np.arange(60), 5, rng()),
    lambda: (sample(45), 8, rng(1)),
)


def estimate_pi(n, seed=None):
    rng = np.random.default_rng(seed)
    inside = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        if x * x + y * y <= 1.0:
            inside += 1
    return 4 * inside / n


PROGRAMS.add(estimate_pi, lambda: (500, 0), lambda: (300, 2))


def weighted_quantile(values, quantiles, weights=None):
    values = np.array(values)
    quantiles = np.array(quantiles)
    if weights is None:
        weights = np.ones(len(values))
    assert np.all(quantiles >= 0) and np.all(quantiles <= 1), "quantiles should be in [0, 1]"
    sorter = np.argsort(values)
    values, weights = values[sorter], weights[sorter]
    cum = np.cumsum(weights) - 0.5 * weights
    cum /= np.sum(weights)
    return np.interp(quantiles, cum, values)


PROGRAMS.add(
    weighted_quantile,
    lambda: (sample(20), [0.25, 0.5, 0.75]),
    lambda: (sample(15), [0.1], np.abs(sample(15, 1))),
    lambda: (sample(15), [1.1]),
)


def mode(values):
    counts = Counter(values)
    most = max(counts.values())
    return [v for v, c in counts.items() if c == most]


PROGRAMS.add(mode, lambda: ([1, 2, 2, 3, 3],), lambda: ([5],))


def mutual_information(x, y, bins=8):
    c_xy = np.histogram2d(x, y, bins)[0]
    p_xy = c_xy / np.sum(c_xy)
    p_x, p_y = p_xy.sum(axis=1), p_xy.sum(axis=0)
    mi = 0.0
    for i in range(bins):
        for j in range(bins):
            if p_xy[i, j] > 0:
                mi += p_xy[i, j] * np.log(p_xy[i, j] / (p_x[i] * p_y[j]))
    return mi


PROGRAMS.add(
    mutual_information,
    lambda: (sample(100), sample(100) + sample(100, 1)),
    lambda: (sample(50), sample(50, 3), 5),
)


class BetaBandit:
    def __init__(self, n_arms, seed=0):
        self.successes = np.ones(n_arms)
        self.failures = np.ones(n_arms)
        self.rng = np.random.default_rng(seed)

    def choose(self):
        return int(np.argmax(self.rng.beta(self.successes, self.failures)))

    def update(self, arm, reward):
        if reward:
            self.successes[arm] += 1
        else:
            self.failures[arm] += 1

    def play(self, probabilities, rounds):
        total = 0
        for _ in range(rounds):
            arm = self.choose()
            reward = self.rng.random() < probabilities[arm]
            self.update(arm, reward)
            total += reward
        return total


PROGRAMS.add(
    BetaBandit.play,
    lambda: (BetaBandit(3), np.array([0.2, 0.5, 0.7]), 40),
    lambda: (BetaBandit(2, 1), [0.9, 0.1], 25),
)
PROGRAMS.add(BetaBandit.update, lambda: (BetaBandit(3), 1, True), lambda: (BetaBandit(3), 2, 0))
