"""Ten programs of people who never heard of tracing: longer, mixed, as they lie in notebooks."""

# ruff: noqa: B007

import dataclasses

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("newcomer")


def backtest(prices, fast, slow, fee):
    """Moving averages that cross; cash and shares; a log of the last trade."""
    cash, shares, trades = 1000.0, 0.0, 0
    last = None
    for day in range(slow, len(prices)):
        quick = prices[day - fast : day].mean()
        calm = prices[day - slow : day].mean()
        if quick > calm and shares == 0:
            shares = (cash - fee) / prices[day]
            cash = 0.0
            trades += 1
            last = "buy"
        elif quick < calm and shares != 0:
            cash = shares * prices[day] - fee
            shares = 0.0
            trades += 1
            last = "sell"
        if cash < 0:
            print("broke on day", day)
            break
    return cash + shares * prices[-1], trades, last


programs.add(
    backtest,
    (10 + mixed(20), 2, 4, 1.0),
    (10 + mixed(60), 2, 5, 1.0),
    (10 + mixed(60), 2, 5, 2000.0),
    (np.full(12, 10.0), 2, 4, 1.0),
    parity="order",
    ulp=200,
)


@dataclasses.dataclass
class Sir:
    susceptible: float
    infected: float
    recovered: float


def epidemic(state, rate, recovery, days):
    """Returns when it is over, the peak and the curve."""
    curve = np.zeros(days)
    peak, peak_day = 0.0, -1
    for day in range(days):
        new = rate * state.susceptible * state.infected
        gone = recovery * state.infected
        state = Sir(state.susceptible - new, state.infected + new - gone, state.recovered + gone)
        curve[day] = state.infected
        if state.infected > peak:
            peak, peak_day = state.infected, day
        if state.infected < 1e-3:
            return state, peak_day, curve[: day + 1].max()
    return state, peak_day, peak


programs.add(
    epidemic,
    (Sir(0.99, 0.01, 0.0), 0.5, 0.1, 30),
    (Sir(0.99, 0.01, 0.0), 0.5, 0.1, 300),
    (Sir(0.5, 0.01, 0.49), 0.1, 0.5, 50),
)


def simplex_step(t):
    """One pivot of the simplex method on a tableau, in place; says why it stops."""
    rows, columns = t.shape
    pivot_column = 0
    for j in range(columns - 1):
        if t[-1, j] < t[-1, pivot_column]:
            pivot_column = j
    if t[-1, pivot_column] >= 0:
        return "optimal"
    pivot_row, best = -1, np.inf
    for i in range(rows - 1):
        if t[i, pivot_column] > 0:
            ratio = t[i, -1] / t[i, pivot_column]
            if ratio < best:
                best, pivot_row = ratio, i
    if pivot_row < 0:
        raise ValueError(f"unbounded in column {pivot_column}")
    t[pivot_row] /= t[pivot_row, pivot_column]
    for i in range(rows):
        if i != pivot_row:
            t[i] -= t[i, pivot_column] * t[pivot_row]
    return "pivoted"


def simplex(t, most=50):
    for step in range(most):
        if simplex_step(t) == "optimal":
            return t[-1, -1], step
    return None


LP = np.array([[1.0, 1, 1, 0, 4], [1, 3, 0, 1, 6], [-3, -5, 0, 0, 0]])
BIG = np.array(
    [
        [2.0, 1, 1, 1, 0, 0, 14],
        [4, 2, 3, 0, 1, 0, 28],
        [2, 5, 5, 0, 0, 1, 30],
        [-1, -2, 1, 0, 0, 0, 0],
    ]
)
programs.add(simplex, (LP,), (LP, 1), (BIG,), (np.array([[-1.0, 1, 1], [-1, 0, 0]]),))


def game_score(rolls):
    """Bowling."""
    total, k = 0, 0
    for _frame in range(10):
        if rolls[k] == 10:
            total += 10 + rolls[k + 1] + rolls[k + 2]
            k += 1
        elif rolls[k] + rolls[k + 1] == 10:
            total += 10 + rolls[k + 2]
            k += 2
        else:
            total += rolls[k] + rolls[k + 1]
            k += 2
    return total


programs.add(
    game_score,
    (np.full(12, 10),),
    (np.array([9, 0] * 10),),
    (np.array([5, 5] * 10 + [5]),),
    (np.array([10, 3, 4, 5, 5, 0, 0]),),
)


def clean_signal(x, threshold=2.0, passes=3):
    """Replaces outliers by their neighbours' mean until there are none."""
    x = x.copy()
    replaced = []
    for p in range(passes):
        spread = x.max() - x.min()
        count = 0
        for i in range(1, len(x) - 1):
            around = (x[i - 1] + x[i + 1]) / 2
            if abs(x[i] - around) > threshold:
                x[i] = around
                count += 1
        replaced.append(count)
        if count == 0:
            break
        print(f"pass {p}: {count} of {len(x)}, spread {spread:.2f}")
    return x, replaced


programs.add(
    clean_signal,
    (mixed(9),),
    (mixed(40), 1.0),
    (ramp(9), 2.0, 5),
    (mixed(9), 0.5, 2),
    eager="a list grows in a loop that data end",
)


def train(x, y, rate=0.125, epochs=20, patience=3):
    """Linear regression by epochs, stopped early."""
    w, b = np.zeros(x.shape[1]), 0.0
    best, waited, history = np.inf, 0, np.full(epochs, np.nan)
    for epoch in range(epochs):
        error = x @ w + b - y
        loss = (error * error).mean()
        history[epoch] = loss
        if loss < best - 1e-4:
            best, waited = loss, 0
        else:
            waited += 1
            if waited >= patience:
                break
        w = w - rate * (x.T @ error) / len(y)
        b -= rate * error.mean()
    else:
        epoch = epochs
    return w, b, epoch, history


programs.add(
    train,
    (table(8, 2) / 4, ramp(8)),
    (table(8, 2) / 4, ramp(8), 8.0, 9),
    (table(30, 3) / 4, mixed(30), 0.125, 40),
    parity="order",
    ulp=1e5,
)


class Queue:
    """Customers at a counter."""

    def __init__(self, service):
        self.service = service
        self.free_at = 0.0
        self.waited = 0.0
        self.longest = 0.0

    def arrive(self, time):
        start = max(time, self.free_at)
        wait = start - time
        self.waited += wait
        if wait > self.longest:
            self.longest = wait
        self.free_at = start + self.service
        return wait


def simulate_queue(gaps, service):
    queue = Queue(service)
    time = 0.0
    waits = np.zeros(len(gaps))
    for i, gap in enumerate(gaps):
        time += abs(gap)
        waits[i] = queue.arrive(time)
    mean = queue.waited / len(gaps) if len(gaps) else 0.0
    return waits, mean, queue.longest


programs.add(simulate_queue, (mixed(6), 1.0), (mixed(6), 9.0), (mixed(35), 2.5), (np.zeros(0), 1.0))


def count_islands(grid):
    """Labels by sweeps until nothing changes."""
    labels = np.zeros(grid.shape, dtype=np.int64)
    n = 0
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            if grid[i, j]:
                n += 1
                labels[i, j] = n
    changed = True
    while changed:
        changed = False
        for i in range(grid.shape[0]):
            for j in range(grid.shape[1]):
                if not grid[i, j]:
                    continue
                best = labels[i, j]
                if i > 0 and grid[i - 1, j]:
                    best = min(best, labels[i - 1, j])
                if j > 0 and grid[i, j - 1]:
                    best = min(best, labels[i, j - 1])
                if i + 1 < grid.shape[0] and grid[i + 1, j]:
                    best = min(best, labels[i + 1, j])
                if j + 1 < grid.shape[1] and grid[i, j + 1]:
                    best = min(best, labels[i, j + 1])
                if best < labels[i, j]:
                    labels[i, j] = best
                    changed = True
    seen = np.zeros(n + 1, dtype=bool)
    islands = 0
    for v in labels.ravel():
        if v and not seen[v]:
            seen[v] = True
            islands += 1
    return islands, labels


programs.add(
    count_islands,
    (whole(12, 0, 2).reshape(3, 4) > 0,),
    (np.zeros((2, 2), dtype=bool),),
    (whole(42, 0, 3, 1).reshape(6, 7) > 0,),
    eager="an array whose size is counted",
)


def decode(bits):
    """Run lengths to an array, with checks of the input."""
    assert len(bits) % 2 == 0, "pairs are expected"
    total = 0
    for k in range(0, len(bits), 2):
        if bits[k] < 0:
            raise ValueError(f"negative run at {k}: {bits[k]}")
        total += bits[k]
    out = np.zeros(64, dtype=np.int64)
    at = 0
    for k in range(0, len(bits), 2):
        for _ in range(bits[k]):
            out[at] = bits[k + 1]
            at += 1
    return out, at, total == at


programs.add(
    decode,
    (np.array([2, 7, 3, -1]),),
    (np.array([2, 7, -3, -1]),),
    (np.array([1, 2, 3]),),
    (np.array([4, 1, 0, 9, 20, 5, 2, 2]),),
    (np.array([60, 1, 10, 9]),),
)


def orbit(position, velocity, dt, most):
    """Leapfrog around a fixed mass until it has gone round, has crashed or time is over."""
    start = position.copy()
    left = False
    for step in range(most):
        r = np.sqrt((position * position).sum())
        if r < 0.25:
            status = "crashed"
            break
        velocity = velocity - dt * position / r**3
        position = position + dt * velocity
        away = np.abs(position - start).max()
        if away > 1.0:
            left = True
        if left and away < 0.25:
            status = "closed"
            break
    else:
        status = "still flying"
    energy = 0.5 * (velocity * velocity).sum() - 1 / np.sqrt((position * position).sum())
    return status, step, position, energy


programs.add(
    orbit,
    (np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0625, 200),
    (np.array([1.0, 0.0]), np.array([0.0, 0.0]), 0.0625, 200),
    (np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.5, 1.0]), 0.0625, 30),
    parity="order",
    ulp=1e5,
)
