"""Functions with sets; called with an array and two lists of numbers."""
# ruff: noqa: B905, C403, C413, C416, C417, F601

import math

import numpy as np


def set_1(x, a, b):
    return list(set(a).union(set(b)))


def set_2(x, a, b):
    s = set(a) | set(b)
    out = []
    while s:
        out.append(s.pop())
    return out


def set_3(x, a, b):
    s = set()
    for k in a:
        s.add(k)
    for k in b:
        s.discard(k)
    return [k for k in s]


def set_4(x, a, b):
    return list(dict.fromkeys(a, 1).keys() & dict.fromkeys(b, 1).keys())


def set_5(x, a, b):
    return sorted(set(a)), min(set(b)), max(set(a)), sum(set(a)), len(set(a))


def set_6(x, a, b):
    return list(frozenset(a) ^ frozenset(b))


def set_7(x, a, b):
    return {1}, {1.0}, {True}, {0.0, -0.0}, list({1.0: 2, 1: 3}.items())


def set_8(x, a, b):
    return list(set([float(v) for v in x]))


def set_9(x, a, b):
    s = set(a)
    t = s.copy()
    t.update(b)
    t.difference_update([a[0]])
    return list(t), list(s - set(b)), list(s & set(b))


def set_10(x, a, b):
    n = float("nan")
    s = {n, n}
    t = {float("nan"), float("nan")}
    return len(s), len(t), n in s, float("nan") in s, len({x[0], x[0]}), len({math.nan, math.nan})


def set_11(x, a, b):
    return len({x[0], x[1], x[0]}), x[0] in {1.0, 2.0}, list({x[1], x[0]})


def set_12(x, a, b):
    d = {k: i for i, k in enumerate(a)}
    s = set(d)
    s.add(3)
    return list(s), list(set(d.values())), list(set(d.items()))


def set_13(x, a, b):
    s = set(a)
    s |= {100, 7, -1, -2}
    s ^= set(b)
    return list(s), repr(s)


def set_14(x, a, b):
    s = set(a)
    r = []
    for _ in range(3):
        r.append(s.pop())
        s.add(r[-1] + 1000)
    return r, list(s)


def set_15(x, a, b):
    s = {int(v) for v in x}
    return list(s), sorted(s)


def set_16(x, a, b):
    n = x.shape[0]
    s = {n, n + 1, 5}
    return list(s), s.pop()


def set_17(x, a, b):
    t = tuple(set(a))
    u = [*set(b)]
    a0, *r = set(a)
    return t, u, a0, r, list(enumerate(set(a))), list(zip(set(a), set(b))), dict.fromkeys(set(a))


def set_18(x, a, b):
    s = set(a)
    return (
        list(map(lambda k: k * 2, s)),
        np.array(list(s)),
        np.fromiter(s, float),
        next(iter(s)),
        [v for v in reversed(sorted(s))],
    )


def set_19(x, a, b):
    return list(set("abc") | set("xyz")), list({"q", "w", "e"}), list({(1, 2), (3, 4)})


def set_20(x, a, b):
    s = set(a)
    out = x * 0
    for k in s:
        out = out * 1.1 + k
    return out


def set_21(x, a, b):
    s = set(a)
    if x[0] > 0:
        s.add(64)
    else:
        s.add(65)
    return list(s)


def set_22(x, a, b):
    s = set(a)
    for i in range(int(x[1])):
        s.add(i * 33)
    return list(s)


def set_23(x, a, b):
    k = int(x[1])
    s = {k, 40, 8}
    return list(s), len(s), 2 in s


def set_24(x, a, b):
    return (
        set(a) <= set(b),
        set(a) == set(b),
        set(a).isdisjoint(b),
        {1.0, 2} == {1, 2.0},
        hash(1.0) == hash(1),
        frozenset({1, 2}) in {frozenset({2, 1})},
    )


def set_25(x, a, b):
    out = []
    for k in {None, 1, 2, 30, 7}:
        out.append(k)
    for k in {5, 17, 3.0, 2**40, True}:
        out.append(k)
    for k in {"weight", "bias", "scale", "shift", "mean", "variance"}:
        out.append(k)
    out += [k for k in {(1, 2), (3, -4), 1 + 1, -1, "e"} if k != -1]
    out += [(k, v) for k in {3, 19, 35, 51, 67, 83} for v in {1, 9}]
    return out, {k: -k for k in {40, 8, 1, 16, 24}}, {k for k in {40, 8, 1, 16, 24}}
