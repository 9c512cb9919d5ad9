"""Programs with parts outside straight-line array code: they must be right, compiled or not."""

import numpy as np

from tests.programs.program import Program


def cholesky_by_loops(a):
    lower = np.zeros_like(a)
    for i in range(a.shape[0]):
        for j in range(i):
            lower[i, j] = (a[i, j] - (lower[i, :j] * lower[j, :j]).sum()) / lower[j, j]
        lower[i, i] = np.sqrt(a[i, i] - (lower[i, :i] ** 2).sum())
    return lower


def positive_definite(rng, size):
    root = rng.normal(size=(size, size))
    return (root @ root.T + size * np.eye(size),)


def newton_square_root(x):
    guess = x
    while abs(guess * guess - x) > 1e-12 * x:
        guess = (guess + x / guess) / 2
    return guess


def one_number(rng, size):
    return (np.float64(size + rng.random()),)


def sign_by_branch(x):
    if x.sum() > 0:
        return "positive", x
    return "other", -x


def signal(rng, size):
    return (rng.normal(size=size),)


def normalize_in_place(x):
    x -= x.mean()
    x[0] = 0
    x[1::2] *= 2
    return x.max()


def distinct_values(codes):
    values, counts = np.unique(codes, return_counts=True)
    return values, counts, values[counts.argmax()]


def codes(rng, size):
    return (rng.integers(0, 9, size),)


def keep_positive(x):
    kept = x[x > 0]
    return kept, kept.size, np.nonzero(x > 1)[0]


def describe(x):
    try:
        return {"mean": float(x.mean()), "text": f"{x.shape[0]} values", "list": x[:2].tolist()}
    except ValueError:
        return None


def running_total(x):
    total, seen = 0.0, []
    for value in x:
        total += value
        seen.append(total)
    return np.array(seen), total


def outliers_to_nan(x):
    x = x.copy()
    x[np.abs(x - x.mean()) > 2 * x.std()] = np.nan
    return np.isnan(x).sum(), x.size


def first_crossing(x, level):
    for i in range(len(x)):
        if x[i] > level:
            return i
    return None


def signal_and_level(rng, size):
    return rng.normal(size=size), 1.0


def bucket_sums(keys, values):
    totals = np.zeros(9)
    np.add.at(totals, keys, values)
    return totals, np.bincount(keys, minlength=9)


def keyed(rng, size):
    return rng.integers(0, 9, size), rng.integers(0, 100, size).astype(np.float64)


def spectrum_peak(x):
    spectrum = np.fft.rfft(x - x.mean())
    return int(np.abs(spectrum).argmax())


def solve_or_least_squares(a, b):
    if a.shape[0] == a.shape[1]:
        return np.linalg.solve(a, b)
    return np.linalg.lstsq(a, b, rcond=None)[0]


def tall_system(rng, size):
    return rng.normal(size=(size + 5, size)), rng.normal(size=size + 5)


def parity_words(words):
    return np.bitwise_xor.reduce(words), np.logical_and.reduceat(words > 3, [0, 2])


PROGRAMS = [
    Program(parity_words, codes, in_scope=False),
    Program(cholesky_by_loops, positive_definite, "order", 64, sizes=(3, 12), in_scope=False),
    Program(newton_square_root, one_number, "ulp", 2, in_scope=False),
    Program(sign_by_branch, signal, in_scope=False),
    Program(normalize_in_place, signal, "order", 32, in_scope=False),
    Program(distinct_values, codes, in_scope=False),
    Program(keep_positive, signal, in_scope=False),
    Program(describe, signal, "order", 16, in_scope=False),
    Program(running_total, signal, in_scope=False),
    Program(outliers_to_nan, signal, in_scope=False),
    Program(first_crossing, signal_and_level, in_scope=False),
    Program(bucket_sums, keyed, in_scope=False),
    Program(spectrum_peak, signal, in_scope=False),
    Program(solve_or_least_squares, tall_system, "order", 4096, sizes=(3, 9), in_scope=False),
]
