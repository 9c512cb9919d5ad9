"""Bookkeeping with dicts, counters and histories."""

import math
import time
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field

import numpy as np

from .program import Family

PROGRAMS = Family()


def values(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


def count_words(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


PROGRAMS.add(
    count_words,
    lambda: ("the cat and the dog and the bird".split(),),
    lambda: (["a"],),
)


def letter_frequencies(text):
    counter = Counter(c.lower() for c in text if c.isalpha())
    total = sum(counter.values())
    return {c: n / total for c, n in counter.most_common(3)}


PROGRAMS.add(letter_frequencies, lambda: ("Hello World",), lambda: ("abracadabra",))


def group_means(labels, values):
    groups = defaultdict(list)
    for label, value in zip(labels, values):
        groups[label].append(value)
    return {label: sum(vs) / len(vs) for label, vs in groups.items()}


PROGRAMS.add(
    group_means,
    lambda: (["a", "b", "a", "c"], values(4)),
    lambda: ([1, 2, 1], [1.0, 2.0, 3.0]),
)


def group_by_bin(x, width):
    """Counts and sums by bin, for bins known only from the data."""
    bins = {}
    for v in x:
        b = int(math.floor(v / width))
        count, total = bins.get(b, (0, 0.0))
        bins[b] = (count + 1, total + v)
    return dict(sorted(bins.items()))


PROGRAMS.add(group_by_bin, lambda: (values(20), 0.5), lambda: (values(12, 1), 1.0))


def histogram_dict(x):
    hist = {}
    for v in x:
        if v in hist:
            hist[v] += 1
        else:
            hist[v] = 1
    return hist


PROGRAMS.add(
    histogram_dict,
    lambda: (np.array([1, 2, 2, 5, 1]),),
    lambda: (np.random.default_rng(0).integers(5, size=30),),
)


def two_sum(nums, target):
    seen = {}
    for i, num in enumerate(nums):
        if target - num in seen:
            return [seen[target - num], i]
        seen[num] = i
    return None


PROGRAMS.add(two_sum, lambda: ([2, 7, 11, 15], 9), lambda: (np.array([3, 2, 4, 1]), 6))


class MetricTracker:
    def __init__(self, *names):
        self.metrics = {name: {"total": 0.0, "count": 0} for name in names}

    def update(self, **scores):
        for name, value in scores.items():
            if name not in self.metrics:
                raise KeyError(f"unknown metric: {name}")
            self.metrics[name]["total"] += value
            self.metrics[name]["count"] += 1

    def update_all(self, scores, n=1):
        for name, value in scores.items():
            m = self.metrics.setdefault(name, {"total": 0.0, "count": 0})
            m["total"] += value * n
            m["count"] += n

    def averages(self):
        return {k: m["total"] / m["count"] for k, m in self.metrics.items() if m["count"]}


def tracker():
    made = MetricTracker("loss", "acc")
    made.update(loss=0.5, acc=0.25)
    return made


PROGRAMS.add(
    MetricTracker.update_all,
    lambda: (tracker(), {"loss": 0.1, "acc": 0.9}, 8),
    lambda: (tracker(), {"f1": 0.3}),
)
PROGRAMS.add(MetricTracker.averages, lambda: (tracker(),), lambda: (MetricTracker("loss"),))


class AverageMeter:
    """Computes and stores the average and current value."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


PROGRAMS.add(
    AverageMeter.update,
    lambda: (AverageMeter(), 0.5, 32),
    lambda: (AverageMeter(), np.float32(2.0)),
)
PROGRAMS.add(AverageMeter.reset, lambda: (AverageMeter(),))


class CosineScheduler:
    def __init__(self, base_lr, total, warmup=0, min_lr=0.0):
        self.base_lr, self.total, self.warmup, self.min_lr = base_lr, total, warmup, min_lr
        self.step_count = 0
        self.history = []

    def step(self):
        self.step_count += 1
        if self.step_count <= self.warmup:
            lr = self.base_lr * self.step_count / self.warmup
        else:
            progress = (self.step_count - self.warmup) / max(1, self.total - self.warmup)
            lr = self.min_lr + 0.5 * (self.base_lr - self.min_lr) * (
                1 + math.cos(math.pi * min(1.0, progress))
            )
        self.history.append(lr)
        return lr


PROGRAMS.add(
    CosineScheduler.step,
    lambda: (CosineScheduler(0.1, 10, 2),),
    lambda: (CosineScheduler(1.0, 3, 0, 0.01),),
)


class ReplayBuffer:
    def __init__(self, capacity, state_dim, seed=0):
        self.states = np.zeros((capacity, state_dim))
        self.rewards = np.zeros(capacity)
        self.dones = np.zeros(capacity, dtype=bool)
        self.capacity, self.pos, self.size = capacity, 0, 0
        self.rng = np.random.default_rng(seed)

    def add(self, state, reward, done):
        self.states[self.pos] = state
        self.rewards[self.pos] = reward
        self.dones[self.pos] = done
        self.pos = (self.pos + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, batch_size):
        idx = self.rng.integers(0, self.size, size=batch_size)
        return self.states[idx], self.rewards[idx], self.dones[idx]


def replay(n):
    made = ReplayBuffer(6, 3)
    for k in range(n):
        made.add(values(3, k), k * 1.0, k % 4 == 0)
    return made


PROGRAMS.add(
    ReplayBuffer.add,
    lambda: (replay(2), values(3), 1.0, False),
    lambda: (replay(5), values(3), -1, True),
)
PROGRAMS.add(ReplayBuffer.sample, lambda: (replay(4), 3), lambda: (replay(9), 5))


Transaction = namedtuple("Transaction", ["account", "amount", "kind"])


class Ledger:
    def __init__(self):
        self.balances = defaultdict(float)
        self.log = []

    def post(self, transactions):
        rejected = []
        for t in transactions:
            if t.kind == "withdrawal":
                if self.balances[t.account] < t.amount:
                    rejected.append(t)
                    continue
                self.balances[t.account] -= t.amount
            else:
                self.balances[t.account] += t.amount
            self.log.append(t)
        return rejected


PROGRAMS.add(
    Ledger.post,
    lambda: (Ledger(), [Transaction("a", 5.0, "deposit"), Transaction("a", 2.0, "withdrawal")]),
    lambda: (Ledger(), [Transaction("b", 2.0, "withdrawal")]),
)


@dataclass
class Inventory:
    stock: dict = field(default_factory=dict)
    prices: dict = field(default_factory=dict)
    low: set = field(default_factory=set)

    def remove(self, item, quantity):
        try:
            available = self.stock[item]
        except KeyError:
            raise ValueError(f"no such item: {item}") from None
        if quantity > available:
            raise ValueError(f"only {available} of {item} left")
        self.stock[item] = available - quantity
        if self.stock[item] < 3:
            self.low.add(item)
        return quantity * self.prices[item]

    def total_value(self):
        return sum(n * self.prices[item] for item, n in self.stock.items())


def inventory():
    return Inventory({"bolt": 10, "nut": 4}, {"bolt": 0.25, "nut": 0.1})


PROGRAMS.add(
    Inventory.remove,
    lambda: (inventory(), "bolt", 2),
    lambda: (inventory(), "nut", 2),
    lambda: (inventory(), "washer", 1),
    lambda: (inventory(), "nut", 9),
)
PROGRAMS.add(Inventory.total_value, lambda: (inventory(),), lambda: (Inventory(),))


class MovingWindow:
    def __init__(self, size):
        self.data = deque(maxlen=size)

    def add(self, x):
        self.data.append(x)
        mean = sum(self.data) / len(self.data)
        var = sum((v - mean) ** 2 for v in self.data) / len(self.data)
        return mean, math.sqrt(var)


def window(size, *items):
    made = MovingWindow(size)
    made.data.extend(items)
    return made


PROGRAMS.add(
    MovingWindow.add,
    lambda: (window(3), 1.0),
    lambda: (window(2, 1.0, 2.0), 5.0),
)


def train_with_history(X, y, epochs=20, lr=0.1, patience=3):
    w = np.zeros(X.shape[1])
    history = {"loss": [], "grad_norm": []}
    best = {"loss": float("inf"), "w": w, "epoch": -1}
    for epoch in range(epochs):
        residual = X @ w - y
        loss = (residual**2).mean()
        grad = 2 * X.T @ residual / len(y)
        history["loss"].append(loss)
        history["grad_norm"].append(np.linalg.norm(grad))
        if loss < best["loss"] - 1e-6:
            best = {"loss": loss, "w": w.copy(), "epoch": epoch}
        elif epoch - best["epoch"] >= patience:
            break
        w = w - lr * grad
    return best, history


PROGRAMS.add(
    train_with_history,
    lambda: (values(60).reshape(20, 3), values(20, 1)),
    lambda: (values(30, 2).reshape(15, 2), values(15, 3), 10, 0.5),
)


class Timer:
    def __init__(self):
        self.laps = []

    def measure(self, f, *args):
        start = time.perf_counter()
        result = f(*args)
        self.laps.append(time.perf_counter() - start > 0)
        return result


PROGRAMS.add(
    Timer.measure,
    lambda: (Timer(), np.sum, values(10)),
    lambda: (Timer(), lambda x: x * 2, values(5)),
)


def summarize(results, digits=3):
    lines = []
    for name, (mean, std) in sorted(results.items()):
        lines.append(f"{name:<10}{mean:.{digits}f} +/- {std:.{digits}f}")
    return "\n".join(lines)


PROGRAMS.add(
    summarize,
    lambda: ({"svm": (0.91234, 0.01), "knn": (0.8, 0.02)},),
    lambda: ({}, 2),
)


def column_statistics(table, names):
    stats = {}
    for j, name in enumerate(names):
        column = table[:, j]
        stats[name] = {
            "mean": column.mean(),
            "std": column.std(),
            "min": column.min(),
            "max": column.max(),
            "missing": int(np.isnan(column).sum()),
        }
    return stats


PROGRAMS.add(
    column_statistics,
    lambda: (values(30).reshape(10, 3), ["a", "b", "c"]),
    lambda: (np.array([[1.0, np.nan], [2.0, 3.0]]), ("x", "y")),
)
