"""Programs whose names share memory in ways that a loop or a branch decides."""

import numpy as np


def view_of_one_of_two(a, b, n, k):
    y = b
    while k > 0:
        y = b[1:] if n > 0 else a[1:]
        k -= 1
    a += 1
    b *= 2
    y[0] = 77
    return y


def returned_view_of_one_of_two(a, b, n, k):
    y = b
    for i in range(k):
        y = b[1:] if n > i else a[1:]
    return y


def two_names_of_one_array(x, k):
    a = b = np.zeros(6)
    for _ in range(k):
        a = b = a + x
        a[0] = 5
    b[1] = 3
    return a


def view_read_after_a_store(x, n, k):
    y = x[1:]
    for _ in range(k):
        y = x[1:] if n > 0 else x[:-1]
    x[2] = 99
    return y[1], y[2]


def both_names_of_a_sum(a, x, k):
    b = a
    a = a + 0.0
    for _ in range(k):
        t = a + x
        a = t
        b = t
    b[1] = 3
    return a, b


def array_and_its_view(a, x, k):
    a = a * 1.0
    b = a
    for _ in range(k):
        a = a + x
        b = a[1:]
    b[1] = 3
    return a, b


def upd(q, x):
    s = q + x
    return s, s


def pair_from_a_helper(q, x, k):
    q = q * 1.0
    p = q
    for _ in range(k):
        p, q = upd(q, x)
    q[1] = 3
    return p


def tuple_of_one_array_twice(q, x, k):
    st = (q + 1.0, q)
    i = 0
    while i < k:
        st = (st[0] + 1,) * 2
        i += 1
    st[0][1] = 3
    return st[1]


def dict_entries_of_one_array(q, x, k):
    d = {"a": q * 1.0, "b": q * 2.0}
    for _ in range(k):
        t = d["a"] + x
        d["a"] = t
        d["b"] = t
    d["a"][0] = 9
    return d["b"]


def view_of_the_array_before(q, x, k):
    a = q * 1.0
    b = a[1:]
    for _ in range(k):
        a[0] += 1
        a = a * 2
    b[0] = 5
    return a, b


def store_through_the_first_name(q, x, k):
    a = np.zeros(4)
    b = a
    for _ in range(k):
        a = a + 1
        b[0] += 1
    return a, b


def previous_and_current(q, x, k):
    prev = q
    cur = q * 1.0
    for _ in range(k):
        nxt = cur + prev
        prev = cur
        cur = nxt
        cur[0] = -1
    prev[1] = 7
    return prev, cur


def view_of_a_choice(x, p):
    y = x if p > 0 else x.copy()
    v = y[1:]
    x[1] = 99
    return v[0]


def returned_view_of_a_choice(x, p):
    y = x if p > 0 else x.copy()
    v = y[1:]
    return v


def transpose_of_a_choice(x, p):
    a = x * 1.0
    b = a if p > 0 else x * 2.0
    t = b.T
    a[0] = 7
    return t.sum(), b.sum()


def reshape_of_a_choice(x, p):
    a = x * 1.0
    b = x * 2.0
    c = a if p > 0 else b
    d = np.asarray(c)
    r = c.reshape(-1)
    a += 1
    return d.sum(), r.sum()


def list_with_a_choice(x, p):
    a = x * 1.0
    b = x * 2.0
    c = a if p > 0 else b
    both = [c, a]
    c[0] = 5
    return both[0].sum(), both[1].sum(), a.sum(), b.sum()


def choice_in_a_helper(x, p):
    a = x * 1.0

    def g(z):
        z[0] = 3
        return z[1:]

    w = g(a if p > 0 else x)
    a[1] = 50
    x[1] = 60
    return w[0]


def rows_of_a_choice(x, p):
    y = x if p > 0 else x.copy()
    for v in y:
        x[-1] += v
    return x


def next_of_two(q, n):
    x = y = q
    for _ in range(n):
        y = x * 2
        if y.max() > 50:
            break
        x = y
    return y


def last_of_two(q, n):
    x = y = q
    for _ in range(n):
        y = x * 2
        if y.max() > 50:
            break
        x = y
    return x


def last_and_next(q, n):
    x = y = q
    for _ in range(n):
        y = x * 2
        if y.max() > 50:
            break
        x = y
    return x, y


def best_of_candidates(q, n):
    best = current = q * 1.0
    score = 1e9
    for i in range(n):
        candidate = current - 0.25 * i * q
        if abs(candidate.sum()) < score:
            best, score = candidate, abs(candidate.sum())
        if i % 2 == 0:
            current = candidate
    return best


def best_and_current(q, n):
    best = current = q * 1.0
    score = 1e9
    for i in range(n):
        candidate = current - 0.25 * i * q
        if abs(candidate.sum()) < score:
            best, score = candidate, abs(candidate.sum())
        if i % 2 == 0:
            current = candidate
    return best, current


def best_beside_a_store(q, n):
    best = current = q * 1.0
    for i in range(n):
        candidate = current - 0.25 * i * q
        if candidate.sum() < 5:
            best = candidate
        if i % 2 == 0:
            current = candidate
    current[0] = 99.0
    return best


def best_of_nested_loops(q, n):
    best = current = q * 1.0
    for _ in range(3):
        for i in range(n):
            candidate = current * (1 + i)
            if candidate.sum() < 200:
                best = candidate
            if i % 2 == 0:
                current = candidate / 4
    return best


def exchanged_or_shared(q, n):
    a, b = q * 1.0, q * 2.0
    for i in range(n):
        if a.sum() > 3 * i:
            a, b = b, a + 1
        else:
            b = a
    return a
