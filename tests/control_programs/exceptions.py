"""Exceptions that the program itself raises and handles."""

import math

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp

programs = Programs("exceptions")

LINKED = "an exception with a context is raised in the call's repetition"


class Diverged(Exception):
    """A plain class of the program's own."""


class TooLarge(Diverged):
    """One that is derived from it."""


# What the program raises -------------------------------------------------------------------------


def nothing_raised(x):
    try:
        y = x * 2
    except ValueError:  # never
        y = x  # never
    return y + 1


programs.add(nothing_raised, (ramp(4),), (mixed(9),))


def raised_and_caught(x):
    s = 0.0
    for v in x:
        try:
            if v < 0:
                raise ValueError(v)
            s += v
        except ValueError as e:
            s -= e.args[0]
        else:
            s += 1
        finally:
            s *= 2
    return s


programs.add(raised_and_caught, (ramp(4),), (mixed(9),))


def root_of(v):
    if v < 0:
        raise ValueError("negative", v)
    return math.sqrt(v)


def raised_by_a_callee(x):
    out, bad = np.zeros(len(x)), 0
    for i in range(len(x)):
        try:
            out[i] = root_of(x[i]) + 1
        except ValueError as e:
            bad += 1
            out[i] = e.args[1]
    return out, bad


programs.add(raised_by_a_callee, (ramp(4),), (mixed(12),), (ramp(3, 1, 2),))


def callees_in_one_expression(x, y):
    try:
        return root_of(x) * root_of(y) + root_of(x + y)
    except ValueError as e:
        return -e.args[1]


programs.add(callees_in_one_expression, (1.0, 4.0), (-1.0, 4.0), (1.0, -2.0))


def leaves_a_loop(x, limit):
    s, i = 0.0, -1
    try:
        for i in range(len(x)):
            s += x[i]
            if s > limit:
                raise TooLarge("sum", s)
        s = -s
    except Diverged as e:
        return e.args, i
    else:
        s = s - 1
    finally:
        print("summed", s, i)
    return s, i


programs.add(leaves_a_loop, (ramp(6), 100.0), (ramp(6), 0.5), (ramp(6, 1, 2), 1.0))


def in_folds(x, y):
    try:
        return sum(root_of(v) for v in x if v < 3), any(root_of(v) > 1 for v in y)
    except ValueError as e:
        return e.args


programs.add(
    in_folds, (ramp(9, 0, 1), ramp(9, 0, 2)), (mixed(12), ramp(9)), (ramp(9, 1, 2), mixed(9))
)


def in_comprehensions(x):
    try:
        return max([root_of(v) for v in x], key=lambda v: root_of(v - 0.5))
    except ValueError as e:
        return e.args


programs.add(in_comprehensions, (ramp(3, 1, 2),), (ramp(3),), (ramp(3, 0, 1),))


def several_handlers(x, k):
    try:
        if k == 0:
            raise KeyError("zero")
        if k == 1:
            raise TooLarge(x.sum())
        if k == 2:
            raise IndexError
        y = x * k
    except KeyError as e:
        print("key", e)
        y = x
    except (Diverged, ValueError) as e:
        print(type(e).__name__, e, isinstance(e, TooLarge), isinstance(e, ValueError))
        y = x + e.args[0]
    except LookupError:
        y = -x
    return y


programs.add(
    several_handlers, (ramp(4), 3), (ramp(4), 0), (ramp(4), 1), (ramp(4), 2), (ramp(4), -1)
)


def bare_handler(x):
    try:
        if x[0] > 0:
            raise Diverged
        y = 1.0
    except:  # noqa: E722
        y = 2.0
    return y


programs.add(bare_handler, (ramp(3),), (ramp(3, 1, 2),))


def not_for_this_handler(x):
    try:
        if x[0] > 0:
            raise ValueError("not a key", x[1])
        return x[0]
    except KeyError:  # never
        return 0.0  # never


programs.add(not_for_this_handler, (ramp(3),), (ramp(3, 1, 2),))


def passes_through_finally(x, log):
    try:
        if x[0] > 0:
            raise ValueError(f"first {x[0]}")
        log[0] = 1.0
    finally:
        log[1] += x[1]
        print("after")
    return x * 2


programs.add(passes_through_finally, (ramp(3), np.zeros(2)), (ramp(3, 1, 2), np.zeros(2)))


def finally_runs(x, log):
    try:
        if x[0] > 0:
            return x[0]
        log[0] = 1.0
    finally:
        log[1] += 1.0
    return -1.0


programs.add(
    finally_runs,
    (ramp(4), np.zeros(2)),
    (ramp(4, 1, 2), np.zeros(2)),
    (ramp(9), np.ones(3)),
)


def finally_after_jumps(x):
    s, n = 0.0, 0
    for v in x:
        try:
            if v > 3:
                break
            if v < 0:
                continue
            s += v
        finally:
            n += 1
    else:
        s = -s
    return s, n


programs.add(finally_after_jumps, (ramp(5),), (mixed(12),), (mixed(40),))


def finally_returns(x):
    for v in x:
        try:
            if v < 0:
                raise ValueError
        finally:
            if v > 1:
                return v  # noqa: B012
    return 0.0


programs.add(finally_returns, (ramp(5, 0, 2),), (ramp(5, 0, 1),), (np.array([-1.0, 2.0]),))


def raised_again(x):
    try:
        try:
            if x[0] > 0:
                raise ValueError("inner", x[0])
            y = 1
        except ValueError:
            y = 2
            if x[1] > 0:
                raise
        finally:
            print("inner ends")
    except (KeyError, ValueError) as e:
        return e.args[1]
    return y


programs.add(raised_again, (ramp(3),), (np.array([1.0, 2.0]),), (np.array([1.0, -2.0]),))


def raised_again_and_out(x):
    try:
        if x[0] > 0:
            raise ValueError("out", x[0])
    except ValueError:
        print("noticed")
        raise
    return x


programs.add(raised_again_and_out, (ramp(3),), (ramp(3, 1, 2),))


def raised_from(x):
    try:
        if x[0] > 0:
            raise KeyError("cause")
        return x + 1
    except KeyError as e:
        raise Diverged("effect", x[0]) from e


programs.add(raised_from, (ramp(3),), (ramp(3, 1, 2),), repeats=LINKED)


def raised_in_a_handler(x):
    try:
        if x[0] > 0:
            raise KeyError("first")
        return x + 1
    except KeyError:
        if x[1] > 1.4:
            raise Diverged("second") from None
        return x - 1


programs.add(raised_in_a_handler, (ramp(3),), (ramp(3, 1, 2),), (ramp(3, 1, 1.5),), repeats=LINKED)


def asserted(x):
    try:
        assert x.sum() > 0, f"sum {x.sum()}"
        return x
    except AssertionError as e:
        print("assertion:", e)
        return -x


programs.add(asserted, (ramp(5),), (ramp(5, -3, 1),))


def nested_tries(x):
    count = 0
    for v in x:
        try:
            try:
                if v > 2:
                    raise KeyError(v)
                if v < -2:
                    raise ValueError(v)
            except KeyError:
                count += 1
                try:
                    if v > 3:
                        raise ValueError("large")
                except ValueError:
                    count += 10
            else:
                count += 100
        except ValueError:
            count -= 1000
    return count


programs.add(nested_tries, (ramp(5, 0, 3),), (mixed(40),))


def names_before_and_after(x):
    try:
        a = x[0]
        if a > 0:
            raise ValueError
        b = x[1]
    except ValueError:
        b = a * 2
        a = -1.0
    return a, b


programs.add(names_before_and_after, (ramp(3),), (ramp(3, 1, 2),))


def stores_stay(x, out):
    try:
        for i in range(len(x)):
            out[i] = x[i] * 2
            if x[i] > 1:
                raise StopIteration(i)
    except StopIteration as e:
        return e.args[0]
    return len(x)


programs.add(stores_stay, (ramp(4), np.zeros(4)), (ramp(4, -1, 0), np.zeros(4)))


def in_a_while_loop(x, steps):
    k = 0
    while k < steps:
        try:
            x = x / 2
            if x < 1e-3:
                raise Diverged(k)
        except Diverged:
            break
        finally:
            k += 1
    return x, k


programs.add(in_a_while_loop, (1.0, 4), (1.0, 40))


def handled_by_the_caller(x, depth):
    def inner(v, k):
        if v > 1:
            raise TooLarge(k, v)
        return v if k == 0 else inner(v * 1.5, k - 1)

    try:
        return inner(x[0], depth)
    except TooLarge as e:
        k, v = e.args
        return k + v


programs.add(handled_by_the_caller, (np.array([0.1]), 3), (np.array([0.5]), 3))
