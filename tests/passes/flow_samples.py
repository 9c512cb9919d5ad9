"""Structured graphs with control flow, as text: what the lowering is shown by."""

BRANCH = """
def f(x: float, y: float, z: float):
    p: bool = py_less(x, y)
    def then(x: float, y: float, z: float):
        a: float = py_add(x, z)
        return a
    def orelse(x: float, y: float, z: float):
        two: int = constant(value=2, type="int")
        b: float = py_power(y, two)
        return b
    r: float = cond(p, x, y, z, sizes=((), ()), regions=(then, orelse))
    return r
"""

LOOP = """
def f(n: size, x: f64[n], limit: int):
    k: int = constant(value=0, type="int")
    def test(m: size, k: int, a: f64[m], limit: int, x: f64[m]):
        go: bool = py_less(k, limit)
        return go
    def body(m: size, k: int, a: f64[m], limit: int, x: f64[m]):
        one: int = constant(value=1, type="int")
        next: int = py_add(k, one)
        b: f64[m] = add(a, x)
        return next, b
    last, sum = typed(while_loop(k, x, limit, x, carried=2, sizes=((n,), (n,)),
                                 regions=(test, body)), int, f64[n])
    return sum
"""

LOOP_IN_BRANCH = """
def f(p: bool, s: f64, trips: int):
    def then(s: f64, trips: int):
        outer: int = constant(value=0, type="int")
        def test(i: int, s: f64, trips: int):
            go: bool = py_less(i, trips)
            return go
        def body(i: int, s: f64, trips: int):
            def inner_test(j: int, s: f64, i: int):
                go: bool = py_less(j, i)
                return go
            def inner_body(j: int, s: f64, i: int):
                one: int = constant(value=1, type="int")
                next: int = py_add(j, one)
                more: f64 = add(s, s)
                return next, more
            zero: int = constant(value=0, type="int")
            j, t = typed(while_loop(zero, s, i, carried=2, sizes=((), ()),
                                    regions=(inner_test, inner_body)), int, f64)
            one: int = constant(value=1, type="int")
            next: int = py_add(i, one)
            return next, t
        i, t = typed(while_loop(outer, s, trips, carried=2, sizes=((), ()),
                                regions=(test, body)), int, f64)
        return t
    def orelse(s: f64, trips: int):
        return s
    r: f64 = cond(p, s, trips, sizes=((), ()), regions=(then, orelse))
    return r
"""

BREAK = """
def f(n: size, x: f64[n], limit: f64):
    yes: bool = constant(value=True, type="bool")
    zero: f64 = constant(value=0.0, type="f64")
    def test(k: size, n: size, go: bool, total: f64, x: f64[n], limit: f64):
        def within(k: size, n: size):
            at: int = dim_value(dim=k)
            trips: int = dim_value(dim=n)
            below: bool = py_less(at, trips)
            return below
        def orelse():
            no: bool = constant(value=False, type="bool")
            return no
        on: bool = cond(go, sizes=((k, n), ()), regions=(within, orelse))
        return on
    def body(k: size, n: size, go: bool, total: f64, x: f64[n], limit: f64):
        part: f64[1] = slice(x, start=(k,), size=(1,), step=(1,))
        whole: f64[()] = reshape(part, shape=())
        item: f64 = element(whole)
        more: f64 = add(total, item)
        below: b1 = less(more, limit)
        on: bool = py_scalar(below, kind="bool")
        return on, more, size(k + 1)
    go, total = typed(while_loop(yes, zero, x, limit, carried=2, sizes=((0, n), (0, n)),
                                 regions=(test, body), binds=(stop,)), bool, f64)
    at: int = dim_value(dim=stop)
    return total, at
"""

CARRIED_SIZE = """
def f(n: size, x: f64[n]):
    zero: int = constant(value=0, type="int")
    def test(w: size, k: int, a: f64[w]):
        three: int = constant(value=3, type="int")
        go: bool = py_less(k, three)
        return go
    def body(w: size, k: int, a: f64[w]):
        one: int = constant(value=1, type="int")
        next: int = py_add(k, one)
        twice: f64[2*w] = concatenate(a, a, axis=0)
        return next, twice, size(2*w)
    k, long = typed(while_loop(zero, x, carried=2, sizes=((n,), (n,)),
                               regions=(test, body), binds=(w,)), int, f64[w])
    total: f64[()] = reduce_sum(long, axes=(0,))
    count: int = dim_value(dim=w)
    return total, count
"""

EFFECTS = """
def f(x: int):
    t0: token = start_token()
    zero: int = constant(value=0, type="int")
    def test(k: int, t: token, x: int):
        three: int = constant(value=3, type="int")
        go: bool = py_less(k, three)
        return go
    def body(k: int, t: token, x: int):
        t1: token = print_text(t, k, text=(("value", 0, "", ()), "\\n"))
        bad: bool = py_equal(k, x)
        def then(t: token, k: int):
            t2: token = raise_error(
                t, k, error=("call", "builtins:ValueError", 0, (("operand", 0),), ()))
            t3: token = undefined(kind="token")
            return t3
        def orelse(t: token, k: int):
            return t
        t4: token = cond(bad, t1, k, sizes=((), ()), regions=(then, orelse))
        far: int = constant(value=-1, type="int")
        inside: bool = py_less(far, x)
        check(inside)
        one: int = constant(value=1, type="int")
        next: int = py_add(k, one)
        return next, t4
    k, t5 = typed(while_loop(zero, t0, x, carried=2, sizes=((), ()), regions=(test, body)),
                  int, token)
    t6: token = print_text(t5, k, text=("end ", ("value", 0, "", ()), "\\n"))
    return k
"""

NO_CAPTURES = """
def f(p: bool):
    def then():
        a: int = constant(value=1, type="int")
        return a
    def orelse():
        b: int = constant(value=2, type="int")
        return b
    r: int = cond(p, sizes=((), ()), regions=(then, orelse))
    return r
"""

SAMPLES = {
    "branch": BRANCH,
    "loop": LOOP,
    "loop-in-branch": LOOP_IN_BRANCH,
    "break": BREAK,
    "carried-size": CARRIED_SIZE,
    "effects": EFFECTS,
    "no-captures": NO_CAPTURES,
}
