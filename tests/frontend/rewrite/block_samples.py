"""Functions of two ints and a log, each with one thing about blocks that is easy to get wrong."""

# ruff: noqa: B007, B020, B023, B905, C416, F821, F823, F841

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

Log = list[Any]
SAMPLES: list[Callable[..., Any]] = []


def sample(f: Callable[..., Any]) -> Callable[..., Any]:
    SAMPLES.append(f)
    return f


def noted(log: Log, value: Any) -> Any:
    log.append(value)
    return value


@sample
def falls_off(a, b, log):
    if a < b:
        log.append(a)


@sample
def returns_nothing(a, b, log):
    for i in range(a):
        if i == b:
            return
    return a


@sample
def returns_none_from_a_loop(a, b, log):
    while a > 0:
        a -= 1
        if a == b:
            return None
    log.append("end")
    return 1


@sample
def loop_else(a, b, log):
    for i in range(a):
        if i == b:
            log.append("break")
            break
        if i % 2:
            continue
        log.append(i)
    else:
        log.append("else")
    while b < 3:
        b += 1
        if b == a:
            break
    else:
        log.append(b)
    return a, b


@sample
def jumps_from_an_else(a, b, log):
    out = 0
    for i in range(4):
        for j in range(a):
            if j == b:
                break
        else:
            out += 10
            if i == 2:
                break
            continue
        out += 1
        while out < b:
            out += 2
        else:
            if out > 3:
                return out
            break
    return out, i


@sample
def nested_returns(a, b, log):
    for i in range(3):
        while a < 5:
            a += 1
            if a == b:
                for j in range(2):
                    if j:
                        return i, j, a
        if i == b:
            return i
    return a


@sample
def bound_in_one_branch(a, b, log):
    if a < b:
        c = a
    elif a > 3:
        c = b
    if a < b or a > 3:
        return c
    return a


@sample
def unbound(a, b, log):
    if a > b:
        c = 1
    log.append(a)
    return c


@sample
def deleted(a, b, log):
    c = a
    if a > b:
        del c
    else:
        c += 1
    if b:
        return c
    c = b
    for _ in range(2):
        del c
        c = a
    return c


@sample
def loop_variable_afterwards(a, b, log):
    i = "none"
    for i in range(a):
        if i > b:
            break
    return i


@sample
def carried(a, b, log):
    """Locals that only the next iteration reads."""
    for i in range(4):
        if i:
            log.append(last)
        last = i * a
        if i == b:
            continue
        kept = last
    return kept


@sample
def bound_before_a_break(a, b, log):
    """What only the place after the loop reads."""
    found = None
    for i in range(5):
        if i > a:
            found = i * 10
            break
        found = i
        found = -found
    return found


@sample
def read_after_continue(a, b, log):
    c = d = 0
    for i in range(3):
        log.append(c)
        if i == a:
            c = 5
            d = 1
            continue
        c = i
        d = 2
    return d


@sample
def dead_code(a, b, log):
    if a:
        return a
        c = 1
    while b:
        b = 0
        break
        c = 2
    raise IndexError(b)
    c = 3
    return c


@sample
def dead_names_stay_local(a, b, log):
    if b > 100:
        return noted
        noted = 1
    return noted


@sample
def assignments_in_operands(a, b, log):
    if noted(log, a) > 1 and (c := noted(log, b)) > 1 or (c := 7) < a:
        log.append(c)
    d = (e := a) if a < b else (e := b) + (f := 1)
    return c, d, e, a < b or f, 1 < a < (g := b) < (g := 9), g


@sample
def assignments_in_nested_operands(a, b, log):
    c = d = 0
    out = a and (b or (c := noted(log, 3))) and (d := (b and (c := 4)))
    return out, c, d, [c and v for v in (c, d)]


@sample
def order_of_operands(a, b, log):
    x = noted(log, 1) + (noted(log, a) and (a := noted(log, 3))) + noted(log, a)
    log[noted(log, 0)] = noted(log, b) or (b := noted(log, 5))
    return x, a, b


@sample
def assignment_in_a_loop_test(a, b, log):
    while (c := a - b) > 0 and (d := noted(log, c)):
        a -= 1
        if d == 2:
            continue
        log.append((c, d))
    return c


@sample
def assignment_in_a_comprehension(a, b, log):
    if a:
        found = [last := v + a for v in range(b)]
        log.append(found)
    return last


@sample
def targets(a, b, log):
    class_of = {"k": 0}
    log.append(0)
    for log[noted(log, 0)], (c, *d) in [(a, (1, 2, 3)), (b, "xy")]:
        log.append((c, d))
    for class_of["k"] in range(a):
        if class_of["k"] > b:
            break
    for e, class_of["j"] in zip([[v for v in range(3)]], [a]):
        pass
    return class_of, c, d, e


@sample
def functions_in_blocks(a, b, log):
    functions = []
    for i in range(3):
        if i != a:

            def shifted(v, by=i):
                if v > 0:
                    w = v + by
                    return w + i
                return i

            functions.append(shifted)
            functions.append(lambda v, k=b: v + k + i + a)
    a = 100
    return [f(2) for f in functions], [f(-2) for f in functions]


@sample
def closures_read_later(a, b, log):
    c = 1

    def read():
        return c, d

    if a:
        c = 2
        d = 3
    else:
        d = b
    lazy = (c + v for v in range(2))
    if b:
        c = 10
    return read(), list(lazy)


@sample
def recursion(a, b, log):
    def count(n):
        if n <= 0:
            return 0
        for _ in range(2):
            if n % 2:
                return 1 + count(n - 2)
            n -= 1
        return n

    return count(a)


@sample
def declared(a, b, log):
    c: int
    d: int = 3
    if a:
        c: int
        d: int = 4
        if b:
            c = 1
    return d if not (a and b) else c


@sample
def starred(a, b, log, *more, key=1, **named):
    """A documented function."""
    if key:
        more = (*more, a)
        named["z"] = b
    return more, named, key


@sample
def asserts(a, b, log):
    assert a < 4, (noted(log, "message"), a)
    for i in range(3):
        assert noted(log, i) != b
    return a


@sample
def raises(a, b, log):
    if a > b:
        raise ValueError(noted(log, a)) from (KeyError() if b else None)
    elif a == b:
        raise TypeError
    return a


@sample
def shadows(a, b, log):
    for log in ([log, [3]][:a],):
        pass
    sum = [i for i in range(3) if i < a or i > b]
    if b:
        sum = [[i for i in sum] for i in sum]
    return sum, log


@sample
def chained_conditions(a, b, log):
    if not (a < b < noted(log, 3)) and not noted(log, a) or noted(log, ""):
        log.append("yes")
    return not a, not log, a and b or "c", [] or {} or a


@sample
def handles(a, b, log):
    c = noted(log, a)
    try:
        c = noted(log, a // b)
        d = c + 1
    except ZeroDivisionError as e:
        log.append(e.args)
        d = c
        e = c
    except KeyError:
        return None
    else:
        c = -c
    finally:
        log.append(c)
    try:
        return c, d, e
    except NameError:
        return c, d


@sample
def jumps_through_finally(a, b, log):
    for k in range(4):
        c = k
        try:
            try:
                if k == a:
                    continue
                if k == b:
                    break
                c = noted(log, k * 2)
                if c == a:
                    return c
                if c == b:
                    raise KeyError(c)
            finally:
                log.append(c)
        except KeyError:
            c = noted(log, -1)
            if a:
                raise
        finally:
            log.append((c, k))
    else:
        log.append("ended")
    return c, k


@sample
def suppresses(a, b, log):
    for k in range(3):
        with contextlib.suppress(KeyError), contextlib.nullcontext(k) as c:
            d = noted(log, a + k)
            if d == b:
                raise KeyError
            e = d
            if c == b:
                break
    return c, d, e if a < b else 0


class Cell:
    """A class whose methods use names that only it may use."""

    def __init__(self, value: Any) -> None:
        self.__value = value

    def get(self, a, b, log):
        __hidden = 1
        for __item in range(a):
            if __item == b:
                __hidden = __item
                self.__value = [x for x in (__hidden, __item)]
                break
        else:
            __other = 4
            while __hidden < __other:
                __hidden += 1
        return self.__value, __hidden


class Derived(Cell):
    def get(self, a, b, log):
        if a:
            for _ in range(2):
                first = super().get(a, b, log)
            return first, __class__.__name__
        self = Derived(b)
        return super().get(a, b, log)


def enclosed(k: int) -> Callable[..., Any]:
    def inner(a, b, log):
        while a < k:
            a += k
        return a, k

    return inner


TRACED: list[Callable[..., Any]] = []


def traced_sample(f: Callable[..., Any]) -> Callable[..., Any]:
    TRACED.append(f)
    return f


@traced_sample
def bound_in_a_side(x):
    y = 1.0
    z = (y := 3.0) if x.sum() > 0 else 0.0
    return y + z


@traced_sample
def bound_in_an_operand(x):
    y, z = 1.0, x
    x.sum() > 0 and (y := x * 3)
    x.sum() > 0 or (y := 3.0) < x[0] or (z := x - 1)
    return y, z


@traced_sample
def bound_in_a_chain(x):
    y = z = 1.0
    w = -20 < x.sum() < (y := 3.0) < 4 < (z := x[1]) < 9
    return w, y, z


@traced_sample
def bound_deep_in_operands(x):
    y = z = 0.0
    w = (y := 1.0) if x[0] < 0 or (z := x[0]) > 2 and (y := z + 1) < 9 else (z := y - 1)
    return w, y, z
