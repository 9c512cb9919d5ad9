"""Classes with state as users write them, and the calls of their methods that tests make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np


class Scenario(NamedTuple):
    """An object's maker, and the calls (method, arguments) on it."""

    make: Callable[[], Any]
    calls: list[tuple[str, tuple[Any, ...]]]


def _numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


class Kalman:
    def __init__(self) -> None:
        self.x, self.P = np.zeros(2), np.eye(2)
        self.F, self.H = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        self.Q, self.R = np.eye(2) * 0.01, np.array([[0.5]])

    def predict(self) -> Any:
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q
        return self.x

    def update(self, z: Any) -> None:
        y = z - self.H @ self.x
        gain = self.P @ self.H.T @ np.linalg.inv(self.H @ self.P @ self.H.T + self.R)
        self.x = self.x + gain @ y
        self.P = (np.eye(len(self.x)) - gain @ self.H) @ self.P


class KMeans:
    def __init__(self, k: int) -> None:
        self.k, self.max_iter, self.tol = k, 20, 1e-4
        self.centers: Any = None

    def fit(self, points: Any) -> KMeans:
        self.centers = points[: self.k].copy()
        self.n_iter = 0
        for _ in range(self.max_iter):
            labels = ((points[:, None] - self.centers[None]) ** 2).sum(-1).argmin(1)
            new = np.empty_like(self.centers)
            for j in range(self.k):
                mine = labels == j
                new[j] = points[mine].mean(0) if mine.any() else self.centers[j]
            shift = np.abs(new - self.centers).max()
            self.centers = new
            self.n_iter += 1
            if shift < self.tol:
                break
        self.labels = labels
        return self

    def predict(self, points: Any) -> Any:
        return ((points[:, None] - self.centers[None]) ** 2).sum(-1).argmin(1)


class Dense:
    def __init__(self, n: int, m: int, seed: int) -> None:
        self.w, self.b = _numbers(n, m, seed=seed) * 0.1, np.zeros(m)

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.w + self.b

    def backward(self, g: Any, rate: float) -> Any:
        dw, db, dx = self.x.T @ g, g.sum(0), g @ self.w.T
        self.w -= rate * dw
        self.b = self.b - rate * db
        return dx


class Network:
    def __init__(self) -> None:
        self.layers = [Dense(4, 8, 1), Dense(8, 3, 2)]
        self.losses: list[Any] = []

    def train(self, x: Any, y: Any, rate: float) -> Any:
        h = x
        for layer in self.layers:
            h = layer.forward(h)
        g = 2 * (h - y) / len(y)
        for layer in reversed(self.layers):
            g = layer.backward(g, rate)
        loss = ((h - y) ** 2).mean()
        self.losses.append(loss)
        return loss


class Adam:
    def __init__(self) -> None:
        self.m: dict[str, Any] = {}
        self.v: dict[str, Any] = {}
        self.t, self.rate, self.b1, self.b2 = 0, 0.1, 0.9, 0.99

    def step(self, params: dict[str, Any], grads: dict[str, Any]) -> None:
        self.t += 1
        for k in params:
            if k not in self.m:
                self.m[k], self.v[k] = np.zeros_like(params[k]), np.zeros_like(params[k])
            self.m[k] = self.b1 * self.m[k] + (1 - self.b1) * grads[k]
            self.v[k] = self.b2 * self.v[k] + (1 - self.b2) * grads[k] ** 2
            mean = self.m[k] / (1 - self.b1**self.t)
            scale = self.v[k] / (1 - self.b2**self.t)
            params[k] = params[k] - self.rate * mean / (np.sqrt(scale) + 1e-8)


class Average:
    """Raises in the middle: what is stored before stays."""

    __slots__ = ("count", "last", "total")

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def add(self, x: float) -> float:
        self.count += 1
        if x < 0:
            raise ValueError("a negative number")
        self.total += x
        self.last = x
        return self.total / self.count

    def forget(self) -> None:
        del self.last


class Scaled:
    """A property with a setter, used as an attribute."""

    def __init__(self) -> None:
        self._value, self.changes = 1.0, 0

    @property
    def value(self) -> float:
        return self._value * 2

    @value.setter
    def value(self, x: float) -> None:
        self._value = x / 2
        self.changes += 1

    def move(self, x: float) -> float:
        self.value = x + 1
        self.value += 1
        return self.value


class Life:
    def __init__(self) -> None:
        self.grid = (np.random.default_rng(0).random((12, 12)) < 0.4).astype(int)
        self.generation, self.alive = 0, [0]

    def step(self) -> None:
        grid = self.grid
        count = np.zeros_like(grid)
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                if (i, j) != (0, 0):
                    count = count + np.roll(np.roll(grid, i, 0), j, 1)
        self.grid = ((count == 3) | ((grid == 1) & (count == 2))).astype(int)
        self.generation += 1
        self.alive.append(int(self.grid.sum()))

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.grid = np.roll(self.grid, 1, 0)
            self.generation += 1


class Best:
    """Stores on one side of a branch only, attributes that may be new among them."""

    def __init__(self) -> None:
        self.best: Any = None
        self.score, self.stale = -np.inf, 0

    def offer(self, x: Any) -> bool:
        score = float(np.sum(x))
        if score > self.score:
            self.best, self.score, self.stale = x, score, 0
            self.found = True
            return True
        self.stale += 1
        return False


class Changes:
    """Deletions, and every way to change a dict or list."""

    def __init__(self) -> None:
        self.spare = np.ones(2)
        self.table = {"a": 1.0, "b": np.zeros(2)}
        self.items: list[Any] = [1.0, np.ones(2), 3]

    def go(self, x: Any) -> None:
        self.y = self.spare + x
        del self.spare
        self.table["c"] = x
        del self.table["a"]
        self.items[0] = 5.0
        self.items.append(x)
        self.items.pop(1)
        self.spare = self.y * 2

    def back(self, x: float) -> int:
        self.table["a"] = x
        self.items.insert(0, x)
        self.items += [x, 2]
        self.table.update(b=x)
        self.items.reverse()
        return len(self.items)


class Node:
    def __init__(self, value: float) -> None:
        self.value = value
        self.next: Node | None = None


class Stack:
    """Objects made inside become part of objects from outside."""

    def __init__(self) -> None:
        self.head: Node | None = Node(1.0)
        self.size = 1

    def push(self, value: float) -> None:
        node = Node(value)
        node.next = self.head
        self.head = node
        self.size += 1

    def total(self) -> float:
        out, node = 0.0, self.head
        while node is not None:
            out += node.value
            node = node.next
        return out

    def pop(self) -> float:
        node = self.head
        assert node is not None
        self.head = node.next
        self.size -= 1
        return node.value


class Shared:
    """Two names of one object, and one array that two attributes hold."""

    def __init__(self) -> None:
        self.a = SimpleNamespace(n=1, x=np.zeros(3))
        self.b = self.a
        self.x = self.y = np.zeros(3)

    def go(self, v: float) -> Any:
        self.a.n += 1
        self.b.x = self.a.x + v
        self.a.x[0] = 7.0
        self.x[1] = v
        self.y += 1
        self.x = self.x * 2
        return self.a is self.b

    def part(self, v: float) -> None:
        self.b = SimpleNamespace(n=0, x=np.ones(3) * v)


@dataclass
class Settings:
    rate: float = 0.5
    steps: int = 0
    history: list[Any] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=lambda: {"v": np.zeros(2)})

    def update(self, g: Any) -> Any:
        self.state["v"] = self.rate * self.state["v"] + g
        self.steps += 1
        self.history.append(float(self.steps))
        return self


class Walker:
    """Stores in loops and in branches inside loops."""

    def __init__(self) -> None:
        self.position, self.visits = np.zeros(2), 0
        self.low = self.high = 0.0

    def walk(self, steps: Any) -> Any:
        for s in steps:
            self.position = self.position + s
            if self.position[0] > self.high:
                self.high = float(self.position[0])
            elif self.position[0] < self.low:
                self.low = float(self.position[0])
            self.visits += 1
        while self.position[1] > 1.0:
            self.position[1] -= 1.0
            self.visits += 1
        return self.position


class Counted:
    """Attributes of classes that change."""

    made, total = 0, 0.0

    def add(self, x: float) -> float:
        Counted.made += 1
        type(self).total = self.total + x
        if x > 1.5:
            Counted.total += 1
        return self.total * self.made


class Descent:
    """A list from outside gets longer in a loop whose number of iterations is an attribute."""

    def __init__(self) -> None:
        self.steps, self.losses, self.shift = 4, [], 0.0

    def fit(self, x: Any) -> Any:
        self.shift = 0.0
        for _ in range(self.steps):
            a = x + self.shift
            self.losses.append(np.mean(a))
            self.shift -= np.sum(a)
        self.steps += 7
        return self

    def until(self, limit: float) -> list[float]:
        found = []
        for _ in range(5):
            self.shift += 1.0
            found.append(self.shift)
            if self.shift > limit:
                break
        return found


class Perceptron:
    """Methods of itself and of another object, kept in attributes."""

    def __init__(self, scale: float = 2.0, other: Any = None) -> None:
        self.scale, self.calls, self.other = scale, 0, other
        self.activation = (other or self).step
        self.table = {"twice": self.twice}

    def step(self, x: float) -> float:
        self.calls += 1
        return x * self.scale

    def twice(self, x: float) -> float:
        return 2 * x * self.scale

    def fit(self, xs: Any) -> float:
        total = 0.0
        for x in xs:
            total = total + self.activation(x)
        return total + self.table["twice"](1.0)


class Bandit:
    """Methods that call methods, class attributes, static and class methods."""

    decay = 0.9

    def __init__(self, n: int) -> None:
        self.values, self.counts = np.zeros(n), np.zeros(n, int)
        self.total = 0

    @staticmethod
    def _clip(x: float) -> float:
        return max(-1.0, min(x, 1.0))

    @classmethod
    def _factor(cls) -> float:
        return cls.decay

    def _choose(self) -> Any:
        self.total += 1
        return np.argmax(self.values + np.sqrt(np.log(self.total + 1.0) / (self.counts + 1e-3)))

    def pull(self, rewards: Any) -> Any:
        arm = self._choose()
        self.counts[arm] += 1
        self.values[arm] = self._factor() * self.values[arm] + self._clip(rewards[arm])
        return arm


def transfer(a: Scaled, b: Scaled, amount: float) -> None:
    a._value = a._value - amount
    b._value = b._value + amount


def transfer_inside(pair: Any) -> None:
    pair.a.n -= 1
    pair.b.n += 1


class Noted:
    """Every store of an attribute runs code of the class."""

    def __init__(self) -> None:
        object.__setattr__(self, "log", [])

    def __setattr__(self, name: str, value: Any) -> None:
        self.log.append(name)
        object.__setattr__(self, name, value)


def set_x(owner: Any, value: float) -> None:
    owner.x = value


def call_go(owner: Any) -> Any:
    return owner.go()


class Keeps:
    """What is stored and returned is one object; so are parts of two results."""

    def __init__(self) -> None:
        self.state: Any = (1.0, 2.0)

    def move(self, x: Any) -> Any:
        self.state = (x, x + 1)
        self.table = {"x": [x, self.state]}
        self.first = self.table["x"]
        self.node = Node(2.0)
        self.node.next = Node(3.0)
        self.last = self.node.next
        return self.state, self.table, [self.node, self.first]

    def either(self, x: float) -> Any:
        found = {"x": x} if x > 1 else None
        self.table = found
        return [found, found]


_X, _Y = _numbers(5, 4, seed=3), _numbers(5, 3, seed=4)
_POINTS = _numbers(60, 2, seed=5)
_PARAMS = {"w": _numbers(3, 2, seed=6), "b": np.zeros(2)}
_GRADS = {k: v + 1 for k, v in _PARAMS.items()}

SCENARIOS = {
    "kalman": Scenario(
        Kalman, [c for k in range(3) for c in (("predict", ()), ("update", (_numbers(1, seed=k),)))]
    ),
    "k_means": Scenario(
        lambda: KMeans(3),
        [c for k in range(2) for c in (("fit", (_POINTS + k,)), ("predict", (_X[:, :2],)))],
    ),
    "network": Scenario(Network, [("train", (_X, _Y, 0.1))] * 4),
    "adam": Scenario(Adam, [("step", (_PARAMS, _GRADS))] * 4),
    "average": Scenario(
        Average,
        [
            *(("add", (v,)) for v in (1.0, 2.0, -1.0, 3.0)),
            ("forget", ()),
            ("forget", ()),
            ("add", (-2.0,)),
        ],
    ),
    "property": Scenario(Scaled, [("move", (v,)) for v in (1.0, 2.0, 3.0)]),
    "life": Scenario(Life, [*([("step", ())] * 4), ("run", (5,)), ("run", (6,)), ("run", (7,))]),
    "best": Scenario(Best, [("offer", (_numbers(3, seed=k),)) for k in range(7)]),
    "changes": Scenario(
        Changes, [("go", (np.arange(2.0),)), ("back", (1.0,)), ("go", (np.arange(2.0),))]
    ),
    "stack": Scenario(
        Stack,
        [
            ("push", (3.0,)),
            ("total", ()),
            ("push", (4.0,)),
            ("total", ()),
            ("pop", ()),
            ("pop", ()),
        ],
    ),
    "shared": Scenario(
        Shared,
        [
            *(("go", (v,)) for v in (1.0, 2.0)),
            ("part", (3.0,)),
            *(("go", (v,)) for v in (1.0, 2.0)),
        ],
    ),
    "dataclass": Scenario(Settings, [("update", (np.ones(2),))] * 3),
    "walker": Scenario(Walker, [("walk", (_numbers(n, 2, seed=n),)) for n in (5, 7, 9, 0)]),
    "keeps": Scenario(
        Keeps,
        [*[("move", (np.ones(2),))] * 2, *(("either", (v,)) for v in (0.5, 2.0, 0.5, 3.0))],
    ),
    "descent": Scenario(
        Descent,
        [
            *(("fit", (_numbers(5 - k, 2),)) for k in range(3)),
            *(("until", (v,)) for v in (1.5, -9.0, 99.0, 7.5)),
        ],
    ),
    "methods": Scenario(
        lambda: Perceptron(1.5, Perceptron(2.5)),
        [("fit", (_numbers(4),)), ("fit", (_numbers(5),)), ("fit", (_numbers(6),))],
    ),
    "bandit": Scenario(lambda: Bandit(4), [("pull", (_numbers(4, seed=k),)) for k in range(5)]),
}


TOTAL, LAST = 0, None
NAMES_BOUND = ("TOTAL", "LAST", "MOST")


def counts_globally(x: Any) -> Any:
    global TOTAL, LAST, MOST
    TOTAL += 1
    LAST = x
    if x.sum() > 2:
        MOST = x * TOTAL
    for k in range(3):
        TOTAL = TOTAL + k
    return total_twice()


def total_twice() -> int:
    return TOTAL * 2


def counter() -> tuple[Any, Any]:
    """A function that binds names of the one around it, and one that tells what they are."""
    count, last, swapped = 0, None, 5

    def count_up(x: Any) -> Any:
        nonlocal count, last, swapped
        count += 1
        count, swapped = swapped, count
        if x > 1.5:
            last = x
        return count + x

    return count_up, lambda: (count, last, swapped)
