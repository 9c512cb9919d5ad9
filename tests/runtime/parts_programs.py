"""Programs that run eagerly as a whole, of which parts can be compiled."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from contextlib import suppress
from typing import Any

import numpy as np


def unknown() -> float:
    """What keeps a caller from being compiled."""
    return 0.0 * time.perf_counter()


def carried(x: Any, n: int) -> Any:
    total = unknown()
    for i in range(n):
        for v in x:
            total += v * i
    return total, i


def left_unbound(x: Any, n: int) -> Any:
    unknown()
    for i in range(n):
        y = x[i] * 2
    return i, y


def kept_where_empty(x: Any, n: int) -> Any:
    unknown()
    i, y = "i", None
    for i in range(n):
        if x[i] > 1:
            y = x[i]
    return i, y


def found(x: Any, limit: float) -> Any:
    unknown()
    for i in range(len(x)):
        if x[i] > limit:
            return i, x[i]
    return None


def found_nested(a: Any, limit: float) -> Any:
    unknown()
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > limit:
                return "found", i, j
    else:
        i = -1
    return i


def found_in_finally(x: Any, limit: float, log: list[Any]) -> Any:
    unknown()
    try:
        for v in x:
            if v > limit:
                return v
    finally:
        log.append("end")
    return -1.0


def searched(x: Any, limit: float) -> Any:
    unknown()
    k = 0
    while k < len(x):
        if x[k] > limit:
            break
        k += 1
    else:
        k = -1
    return k


def stores(a: Any, n: int) -> Any:
    unknown()
    for _ in range(n):
        for i in range(1, len(a) - 1):
            a[i] = (a[i - 1] + a[i + 1]) / 2
    return a


def raises(x: Any, limit: float, seen: list[Any]) -> Any:
    unknown()
    total = 0.0
    for v in x:
        if v > limit:
            raise ValueError("beyond", float(v))
        total += v
    seen.append(total)
    return total


def handles(x: Any, limit: float) -> Any:
    unknown()
    total, v = 0.0, None
    try:
        for v in x:
            if v > limit:
                raise ValueError("beyond")
            total += v
    except ValueError as e:
        return "handled", total, v, str(e)
    return total


def handles_outside(x: Any, k: int) -> Any:
    unknown()
    try:
        return indexed(x, k)
    except IndexError as e:
        return str(e)


def indexed(x: Any, k: int) -> Any:
    total = 0.0
    for i in range(k):
        total += x[i]
    return total


def suppressed(x: Any, limit: float) -> Any:
    unknown()
    total = 0.0
    with suppress(ValueError):
        for v in x:
            if v > limit:
                raise ValueError
            total += v
    return total


def prints(x: Any) -> Any:
    unknown()
    print("begin")
    for v in x:
        if v > 2:
            print("large", v)
    print("end")


def prints_and_fails(x: Any, k: int) -> Any:
    unknown()
    for i in range(k):
        print("at", i)
        x[i] += 1
    return x


def flushes_and_fails(x: Any, k: int) -> Any:
    unknown()
    for i in range(k):
        print("at", i, flush=True)
        x[i] += 1
    return x


def calls_method(model: Any, n: int) -> Any:
    unknown()
    for _ in range(n):
        model.step(0.5)
    return model.total


class Model:
    def __init__(self) -> None:
        self.x, self.total, self.history = np.linspace(0.0, 1.0, 8), 0.0, list[Any]()

    def step(self, rate: float) -> None:
        for i in range(len(self.x)):
            self.x[i] += rate * (1 - self.x[i])
        self.total += self.x.sum()

    def run(self, n: int) -> Any:
        unknown()
        for k in range(n):
            self.step(0.1)
            self.history.append(k)
        return self

    def grow(self, x: Any, depth: int = 0) -> Any:
        unknown()
        if depth == 3 or len(x) < 2:
            return self.leaf(x)
        return [self.grow(x[::2], depth + 1), self.grow(x[1::2], depth + 1)]

    def leaf(self, x: Any) -> float:
        s = 0.0
        for v in x:
            s += v * v
        return s


class Child(Model):
    def step(self, rate: float) -> None:
        unknown()
        super().step(rate)
        for i in range(len(self.x)):
            self.__scaled(i)

    def __scaled(self, i: int) -> None:
        self.x[i] *= 0.5


class Dynamic:
    """An object that makes its attributes."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.__dict__["asked"].append(name)
        return len(name)


def asks(d: Any, n: int) -> Any:
    unknown()
    s = 0
    for i in range(n):
        s += d.some * i
    return s


def closure_reads(n: int) -> Any:
    unknown()
    total = 0
    shown = []

    def show() -> None:
        shown.append(total)

    for i in range(n):
        total += i
        show()
    return shown


def closure_binds(n: int) -> Any:
    unknown()
    k = 0

    def more() -> int:
        nonlocal k
        k += 1
        return k

    out = 0
    for _ in range(n):
        out += more() * k
    return out, k


def makes_closures(n: int) -> Any:
    unknown()
    fs = []
    for i in range(n):
        fs.append(lambda: i)  # noqa: B023
    i = 10
    return [f() for f in fs]


def makes_generators(x: Any, n: int) -> Any:
    unknown()
    out = []
    k = 1
    for _ in range(n):
        out.append(v * k for v in x)
    k = 2
    return [list(g) for g in out]


def consumes(x: Any, n: int) -> Any:
    unknown()
    total = 0.0
    for k in range(n):
        total += sum(v * k for v in x)
    return total


def of_dict(d: dict[str, Any], n: int) -> Any:
    unknown()
    for _ in range(n):
        for name in d:
            d[name].append(len(d[name]))
    return d


def counted(words: list[str]) -> Any:
    unknown()
    found: dict[str, int] = defaultdict(int)
    for w in words:
        found[w] += 1
    return sorted(found.items())


def of_iterator(it: Any, limit: float) -> Any:
    unknown()
    total = 0.0
    for v in it:
        total += v
        if v > limit:
            break
    return total, list(it)


def queued(n: int) -> Any:
    unknown()
    q, out = deque([1]), []
    while q and len(out) < n:
        k = q.popleft()
        out.append(k)
        q.append(2 * k)
        q.append(2 * k + 1)
    return out


def stopped(n: int) -> Any:
    out = []
    for k in range(n):
        unknown()
        out.append(k)
    return out


def deletes(x: Any) -> Any:
    unknown()
    for v in x:
        last = v
        del last
    return [name for name in ("v", "last") if name == "v"]


def deleted_before(x: Any, flag: bool) -> Any:
    unknown()
    s = 1.0
    if flag:
        del s
    for v in x:
        s = 1.0 * s * v
    return s


_COUNT = 0


def global_store(n: int) -> Any:
    global _COUNT
    unknown()
    _COUNT = 0
    for _ in range(n):
        _COUNT += 1
        bump()
    return _COUNT


def bump() -> None:
    global _COUNT
    _COUNT += 10


def imports(n: int) -> Any:
    import math

    unknown()
    s = 0.0
    for i in range(n):
        s += math.sqrt(i)
    return s


def local_view(n: int) -> Any:
    unknown()
    for i in range(n):
        k = i * i
    return sorted(locals()), k


def defaults(x: Any, scale: float = 2.0, *rest: Any, power: int = 1, **others: Any) -> Any:
    unknown()
    s = 0.0
    for v in x:
        s += scale * v**power
    return s, rest, others


def returns_view(a: Any, n: int) -> Any:
    unknown()
    row = None
    for i in range(n):
        row = a[i]
        row[0] = i
    return row


def swaps(a: Any, b: Any, n: int) -> Any:
    unknown()
    for _ in range(n):
        a, b = b, a
        a += 1
    return a, b


def same_list(x: list[Any], n: int) -> Any:
    unknown()
    y = x
    for i in range(n):
        x.append(i)
        y[0] += 1
    return x is y, x, y


def continues(x: Any) -> Any:
    unknown()
    out = 0.0
    for i, v in enumerate(x):
        if v < 1:
            continue
        for w in x:
            if w > 2:
                break
            out += v * w
        else:
            continue
        out += i
        break
    return out


def breaks_outer_from_else(x: Any, n: int) -> Any:
    unknown()
    k = 0
    for k in range(n):
        for v in x:
            if v < k - 2:
                break
        else:
            break
    return k


def matched(x: Any, kinds: list[Any]) -> Any:
    unknown()
    s = 0.0
    for k in kinds:
        match k:
            case "add":
                s += x.sum()
            case ("scale", f):
                s *= f
    return s


def walrus(x: Any) -> Any:
    unknown()
    n = 0
    while (v := x[n]) < 3:
        n += 1
    return n, v


def yields(x: Any) -> Any:
    unknown()
    for v in x:
        yield v * 2


def uses_yields(x: Any) -> Any:
    unknown()
    s = 0.0
    for v in yields(x):
        s += v
    return s


def scaled(x: Any, scale: float = 2.0) -> Any:
    unknown()
    s = 0.0
    for v in x:
        s += scale * v
    return s


def descends(n: int) -> int:
    unknown()
    for _ in range(2):
        pass
    return n and 1 + descends(n - 1)


def multiplied(x: Any) -> int:
    unknown()
    product = 1
    for k in x:
        product *= int(k)
    return product
