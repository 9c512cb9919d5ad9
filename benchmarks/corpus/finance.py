"""Finance: options, indicators, portfolios, ledgers."""

import math
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from .program import Family

PROGRAMS = Family()


def prices(n, seed=0):
    return 100 * np.exp(np.cumsum(np.random.default_rng(seed).normal(0, 0.02, size=n)))


def norm_cdf(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


def black_scholes(S, K, T, r, sigma, option="call"):
    if T <= 0:
        return max(S - K, 0) if option == "call" else max(K - S, 0)
    d1 = (math.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * math.sqrt(T))
    d2 = d1 - sigma * math.sqrt(T)
    if option == "call":
        return S * norm_cdf(d1) - K * math.exp(-r * T) * norm_cdf(d2)
    elif option == "put":
        return K * math.exp(-r * T) * norm_cdf(-d2) - S * norm_cdf(-d1)
    raise ValueError(f"unknown option type '{option}'")


PROGRAMS.add(
    black_scholes,
    lambda: (100.0, 95.0, 0.5, 0.02, 0.3),
    lambda: (100.0, 95.0, 0.5, 0.02, 0.3, "put"),
    lambda: (100.0, 95.0, 0.5, 0.02, 0.3, "straddle"),
)


def implied_volatility(price, S, K, T, r, tol=1e-8, max_iter=100):
    low, high = 1e-6, 5.0
    for _ in range(max_iter):
        mid = (low + high) / 2
        diff = black_scholes(S, K, T, r, mid) - price
        if abs(diff) < tol:
            return mid
        if diff > 0:
            high = mid
        else:
            low = mid
    return mid


PROGRAMS.add(
    implied_volatility,
    lambda: (10.0, 100.0, 100.0, 1.0, 0.01),
    lambda: (2.0, 100.0, 120.0, 0.5, 0.0, 1e-4),
)


def binomial_tree(S0, K, T, r, sigma, N, american=False):
    dt = T / N
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    q = (np.exp(r * dt) - d) / (u - d)
    stock = S0 * d ** np.arange(N, -1, -1) * u ** np.arange(0, N + 1)
    values = np.maximum(K - stock, 0)
    for i in range(N - 1, -1, -1):
        values = np.exp(-r * dt) * (q * values[1 : i + 2] + (1 - q) * values[0 : i + 1])
        if american:
            stock = S0 * d ** np.arange(i, -1, -1) * u ** np.arange(0, i + 1)
            values = np.maximum(values, K - stock)
    return values[0]


PROGRAMS.add(
    binomial_tree,
    lambda: (100.0, 105.0, 1.0, 0.03, 0.2, 40),
    lambda: (100.0, 105.0, 1.0, 0.03, 0.2, 25, True),
)


def monte_carlo_asian(S0, K, T, r, sigma, steps, paths, rng):
    dt = T / steps
    payoffs = []
    for _ in range(paths):
        S = S0
        total = 0.0
        for _ in range(steps):
            S *= math.exp((r - 0.5 * sigma**2) * dt + sigma * math.sqrt(dt) * rng.normal())
            total += S
        payoffs.append(max(total / steps - K, 0))
    discounted = np.exp(-r * T) * np.array(payoffs)
    return discounted.mean(), discounted.std() / np.sqrt(paths)


PROGRAMS.add(
    monte_carlo_asian,
    lambda: (100.0, 100.0, 1.0, 0.02, 0.2, 10, 30, np.random.default_rng(0)),
    lambda: (50, 45, 0.5, 0.01, 0.4, 12, 20, np.random.default_rng(1)),
)


def max_drawdown(prices):
    peak = prices[0]
    worst, start, end, trough_start = 0.0, 0, 0, 0
    for i, p in enumerate(prices):
        if p > peak:
            peak = p
            trough_start = i
        drawdown = (peak - p) / peak
        if drawdown > worst:
            worst, start, end = drawdown, trough_start, i
    return worst, start, end


PROGRAMS.add(max_drawdown, lambda: (prices(60),), lambda: (list(prices(20, 1)),))


def sharpe_ratio(returns, risk_free=0.0, periods=252):
    excess = returns - risk_free / periods
    std = excess.std(ddof=1)
    if std == 0:
        return np.nan
    return np.sqrt(periods) * excess.mean() / std


PROGRAMS.add(sharpe_ratio, lambda: (np.diff(np.log(prices(50))), 0.01), lambda: (np.zeros(10),))


def ema(values, span):
    alpha = 2 / (span + 1)
    out = np.zeros(len(values))
    out[0] = values[0]
    for i in range(1, len(values)):
        out[i] = alpha * values[i] + (1 - alpha) * out[i - 1]
    return out


def macd(close, fast=12, slow=26, signal=9):
    line = ema(close, fast) - ema(close, slow)
    sig = ema(line, signal)
    hist = line - sig
    crossings = [i for i in range(1, len(hist)) if hist[i - 1] <= 0 < hist[i]]
    return line, sig, hist, crossings


PROGRAMS.add(macd, lambda: (prices(80),), lambda: (prices(50, 1), 5, 10, 3))


def rsi(prices, n=14):
    deltas = np.diff(prices)
    seed = deltas[: n + 1]
    up = seed[seed >= 0].sum() / n
    down = -seed[seed < 0].sum() / n
    rs = up / down
    out = np.zeros_like(prices)
    out[:n] = 100.0 - 100.0 / (1.0 + rs)
    for i in range(n, len(prices)):
        delta = deltas[i - 1]
        if delta > 0:
            upval, downval = delta, 0.0
        else:
            upval, downval = 0.0, -delta
        up = (up * (n - 1) + upval) / n
        down = (down * (n - 1) + downval) / n
        rs = up / down
        out[i] = 100.0 - 100.0 / (1.0 + rs)
    return out


PROGRAMS.add(rsi, lambda: (prices(60),), lambda: (prices(40, 1), 7))


def bollinger_bands(prices, window=20, num_std=2):
    n = len(prices)
    middle, upper, lower = (np.full(n, np.nan) for _ in range(3))
    for i in range(window - 1, n):
        w = prices[i - window + 1 : i + 1]
        m, s = np.mean(w), np.std(w)
        middle[i] = m
        upper[i] = m + num_std * s
        lower[i] = m - num_std * s
    return {"middle": middle, "upper": upper, "lower": lower}


PROGRAMS.add(bollinger_bands, lambda: (prices(50),), lambda: (prices(30, 1), 5, 1.5))


class Backtest:
    def __init__(self, cash=10_000.0, fee=0.001):
        self.cash = cash
        self.fee = fee
        self.position = 0.0
        self.trades = []
        self.equity = []

    def buy(self, day, price):
        qty = self.cash / (price * (1 + self.fee))
        self.position += qty
        self.cash -= qty * price * (1 + self.fee)
        self.trades.append(("buy", day, price, qty))

    def sell(self, day, price):
        self.cash += self.position * price * (1 - self.fee)
        self.trades.append(("sell", day, price, self.position))
        self.position = 0.0

    def run(self, prices, short=5, long=15):
        for day in range(len(prices)):
            price = prices[day]
            if day >= long:
                fast = prices[day - short : day].mean()
                slow = prices[day - long : day].mean()
                if fast > slow and self.position == 0:
                    self.buy(day, price)
                elif fast < slow and self.position > 0:
                    self.sell(day, price)
            self.equity.append(self.cash + self.position * price)
        return self.equity[-1] / self.equity[0] - 1


PROGRAMS.add(Backtest.run, lambda: (Backtest(), prices(60)), lambda: (Backtest(), prices(40, 2), 3))


@dataclass
class Position:
    quantity: float = 0.0
    cost: float = 0.0


@dataclass
class Portfolio:
    cash: float
    positions: dict = field(default_factory=dict)
    history: list = field(default_factory=list)

    def trade(self, symbol, quantity, price):
        total = quantity * price
        if total > self.cash:
            raise ValueError(f"insufficient funds: need {total:.2f}, have {self.cash:.2f}")
        position = self.positions.setdefault(symbol, Position())
        position.quantity += quantity
        position.cost += total
        self.cash -= total
        self.history.append((symbol, quantity, price))

    def value(self, quotes):
        return self.cash + sum(p.quantity * quotes[s] for s, p in self.positions.items())


def portfolio():
    made = Portfolio(1000.0)
    made.trade("ABC", 3, 20.0)
    made.trade("XYZ", 1, 100.0)
    return made


PROGRAMS.add(
    Portfolio.trade,
    lambda: (portfolio(), "ABC", 2.0, 21.0),
    lambda: (portfolio(), "NEW", 1.0, 50.0),
    lambda: (portfolio(), "ABC", 1000.0, 21.0),
)
PROGRAMS.add(
    Portfolio.value,
    lambda: (portfolio(), {"ABC": 22.0, "XYZ": 90.0}),
    lambda: (portfolio(), {"ABC": 22.0}),
)


def amortization_schedule(principal, annual_rate, months):
    r = annual_rate / 12
    payment = principal * r / (1 - (1 + r) ** -months) if r else principal / months
    balance = principal
    rows = []
    for month in range(1, months + 1):
        interest = balance * r
        balance -= payment - interest
        rows.append((month, payment, interest, max(balance, 0.0)))
    return rows, sum(row[2] for row in rows)


PROGRAMS.add(amortization_schedule, lambda: (10_000.0, 0.05, 12), lambda: (5000, 0.0, 10))


def irr(cash_flows, guess=0.1, tol=1e-9):
    rate = guess
    for _ in range(100):
        npv = sum(cf / (1 + rate) ** i for i, cf in enumerate(cash_flows))
        d = sum(-i * cf / (1 + rate) ** (i + 1) for i, cf in enumerate(cash_flows))
        step = npv / d
        rate -= step
        if abs(step) < tol:
            return rate
    return None


PROGRAMS.add(
    irr, lambda: ([-100.0, 30.0, 40.0, 60.0],), lambda: (np.array([-50.0, 20.0, 20.0, 20.0]),)
)


def garch_likelihood(params, returns):
    omega, alpha, beta = params
    T = len(returns)
    sigma2 = np.empty(T)
    sigma2[0] = np.var(returns)
    for t in range(1, T):
        sigma2[t] = omega + alpha * returns[t - 1] ** 2 + beta * sigma2[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi) + np.log(sigma2) + returns**2 / sigma2)


PROGRAMS.add(
    garch_likelihood,
    lambda: ((0.01, 0.1, 0.8), np.diff(np.log(prices(80)))),
    lambda: (np.array([0.02, 0.05, 0.9]), np.diff(np.log(prices(50, 1)))),
)


class Side(Enum):
    BUY = 1
    SELL = -1


class OrderBook:
    def __init__(self):
        self.bids = []
        self.asks = []

    def add(self, side, price, quantity):
        """Matches against the other side; what is left rests, best price first."""
        book, other = (self.bids, self.asks) if side is Side.BUY else (self.asks, self.bids)
        filled = 0
        while other and quantity > 0:
            best_price, best_quantity = other[0]
            if side.value * (price - best_price) < 0:
                break
            traded = min(quantity, best_quantity)
            filled += traded
            quantity -= traded
            if traded == best_quantity:
                other.pop(0)
            else:
                other[0] = (best_price, best_quantity - traded)
        if quantity > 0:
            book.append((price, quantity))
            book.sort(key=lambda o: -side.value * o[0])
        return filled


def order_book():
    made = OrderBook()
    for k in range(3):
        made.add(Side.BUY, 99.0 - k, 5)
        made.add(Side.SELL, 101.0 + k, 4)
    return made


PROGRAMS.add(
    OrderBook.add,
    lambda: (order_book(), Side.BUY, 102.0, 6),
    lambda: (order_book(), Side.SELL, 100.0, 2),
)
