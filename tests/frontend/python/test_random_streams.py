"""Draws from streams made elsewhere: the numbers and, afterwards, the streams are Python's."""

from __future__ import annotations

import copy
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.python import random_programs as programs
from tests.support.compare import assert_same
from tracejit.codegen.program.random.rng_state import _SAVED

pytestmark = pytest.mark.sampled(9)

X = np.arange(-4.0, 3.0) / 2
ROWS = np.arange(12.0).reshape(4, 3)

GENERATORS: dict[str, Callable[[int], Any]] = {
    "pcg64": np.random.default_rng,
    "pcg64dxsm": lambda seed: np.random.Generator(np.random.PCG64DXSM(seed)),
    "mt19937": lambda seed: np.random.Generator(np.random.MT19937(seed)),
    "philox": lambda seed: np.random.Generator(np.random.Philox(seed)),
    "sfc64": lambda seed: np.random.Generator(np.random.SFC64(seed)),
}
STATES: dict[str, Callable[[int], Any]] = {"state": np.random.RandomState}
NUMPY = {**GENERATORS, **STATES}
ALL: dict[str, Callable[[int], Any]] = {**NUMPY, "python": random.Random}

#: Program -> the streams it takes first, and the rest of the arguments of several calls.
PROGRAMS: dict[str, tuple[dict[str, Callable[[int], Any]], list[tuple[Any, ...]]]] = {
    "of_a_branch": (NUMPY, [(1.5,), (-1.0,), (2.5,)]),
    "arrays": (NUMPY, [(4,), (4,), (6,)]),
    "choices": (NUMPY, [(X, np.full(7, 1 / 7)), (X + 1, np.eye(7)[2])]),
    "choices_of_places": (
        NUMPY,
        [
            (9, 3, np.array([0.25, 0.5, 0.25])),
            (40, 40, np.full(10, 0.1)),
            (12000, 300, np.array([1.0])),
            (7, 8, np.array([0.25, 0.75])),
            (9, 3, np.array([0.25, 0.5])),
            (9, 3, np.array([1.5, -0.5])),
            (11000, 20, np.array([0.5, 0.5])),
        ],
    ),
    "shuffles": (NUMPY, [(X, ROWS), (X[:5], ROWS[:2])]),
    "sizes_of_the_data": (NUMPY, [(X,), (X - 1,), (X - 9,)]),
    "of_generators": (GENERATORS, [(3,), (5,), (0,)]),
    "of_random_states": (STATES, [(3,), (5,), (2,)]),
    "of_python": ({"python": random.Random}, [(3,), (5,), (2,)]),
    "given_back": (NUMPY, [(), ()]),
    "given_to_default_rng": (GENERATORS, [(), ()]),
    "bails_out": (NUMPY, [(X, np.array([1])), (X, np.array([9])), (X, np.array([2]))]),
    "wrong_arguments": (NUMPY, [(1.0,), (-1.0,), (2.0,)]),
    "with_a_callee": (NUMPY, [(3,), (3,)]),
    "in_a_loop": (
        {k: v for k, v in ALL.items() if k != "python"},
        [(0,), (1,), (50,), (51,), (300,)],
    ),
    "raises_after_a_draw": (NUMPY, [(-1.0,), (1.0,), (-2.0,)]),
}


def state(stream: Any) -> Any:
    if isinstance(stream, np.random.Generator):
        return stream.bit_generator.state
    if isinstance(stream, np.random.RandomState):
        return stream.get_state(legacy=False)
    return stream.getstate()


def same_state(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_state(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return f(*args)
    except Exception as e:
        return type(e), str(e)


def assert_alike(want: Any, got: Any) -> None:
    """The same, where a stream is the same as one in the same state."""
    if isinstance(want, (np.random.Generator, np.random.RandomState, random.Random)):
        assert type(got) is type(want)
        assert same_state(state(got), state(want))
    elif isinstance(want, tuple):
        assert type(got) is tuple
        for a, b in zip(got, want, strict=True):
            assert_alike(a, b)
    else:
        assert_same(got, want)


def assert_compiled(g: Any) -> None:
    assert not g.report().fallbacks, str(g.report())
    assert not _SAVED


@pytest.mark.sampled(72, kind=lambda name, **_: name)
@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, (kinds, _) in PROGRAMS.items() for kind in kinds]
)
def test_streams_that_are_arguments(name: str, kind: str) -> None:
    f: Any = getattr(programs, name)
    kinds, calls = PROGRAMS[name]
    g = tracejit.jit(f)
    plain, compiled = kinds[kind](5), kinds[kind](5)
    for args in calls:
        # The arguments are changed, too.
        mine, its = copy.deepcopy(args), copy.deepcopy(args)
        assert_alike(outcome(f, plain, *its), outcome(g, compiled, *mine))
        assert_same(mine, its)
        assert_alike(compiled, plain)
    assert_compiled(g)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", NUMPY)
def test_native_draws(kind: str) -> None:
    """To the bit, with nothing that runs in Python."""
    f = programs.native_of_states if kind == "state" else programs.native_of_generators
    g = tracejit.jit(f, strict=True)
    plain, compiled = NUMPY[kind](5), NUMPY[kind](5)
    for n, low, high, a, b in (
        (10, -3, 5, 0.5, 1.5),
        (20000, 0, 2**33, -2.0, 0.25),
        (20000, -(2**62), 2**62, 3.0, 40.0),
        (2, 0, 2**32, 0.0, 1.0),
        (6, -(2**63) + 1, 2**63 - 1, 0.0, 1.0),
    ):
        want, got = f(plain, n, low, high, a, b), g(compiled, n, low, high, a, b)
        for x, y in zip(want[1:], got[1:], strict=True):
            assert np.array_equal(x, y)
        # Sums may be fused.
        assert np.isclose(got[0], want[0], rtol=1e-13, atol=0)
        assert_alike(plain, compiled)
    assert_compiled(g)


SEEDS = (0, 1, 2**32 - 1, 7, 2**32, -1, 2**40 + 3, -(2**63), 2**63 - 1)


@pytest.mark.parametrize("kind", ["state", "python"])
def test_seeds(kind: str) -> None:
    """By machine code; what NumPy refuses, it refuses in place of it."""
    g = tracejit.jit(programs.seeded, strict=True)
    for seed in SEEDS:
        for stops in ("", "stops"):
            plain, compiled = ALL[kind](5), ALL[kind](5)
            for stream in (plain, compiled):
                stream.normal() if kind == "state" else stream.gauss(0.0, 1.0)
            want = outcome(programs.seeded, plain, seed, stops)
            assert_alike(want, outcome(g, compiled, seed, stops))
            assert_alike(plain, compiled)
    assert_compiled(g)


def test_seeds_of_modules() -> None:
    before = np.random.get_state(), random.getstate()
    g = tracejit.jit(programs.seeds_a_module, strict=True)
    for seed in (0, 5, 6, 2**32 - 1):
        want = programs.seeds_a_module(seed)
        kept = np.random.get_state(legacy=False), random.getstate()
        assert_same(g(seed), want)
        assert same_state(kept[0], np.random.get_state(legacy=False))
        assert kept[1] == random.getstate()
    np.random.set_state(before[0])
    random.setstate(before[1])


def test_seeds_of_other_bit_generators_are_refused() -> None:
    g = tracejit.jit(programs.seeded)
    for _ in range(2):
        with pytest.raises(TypeError, match="can only re-seed a MT19937"):
            g(np.random.RandomState(np.random.PCG64(1)), 3, "")  # type: ignore[arg-type]


def test_native_draws_of_a_generator_made_inside() -> None:
    """Seeds that are known while compiling, and such that are not, of one and of two halves."""
    g = tracejit.jit(programs.native_of_a_generator_made_inside, strict=True)
    h = tracejit.jit(programs.interleaved, strict=True)
    for k, seed in enumerate((5, 5, 0, 2**32 - 1, 2**32, 2**63 - 1, 123456789012345)):
        given = seed, 500 + 2 * k, -3, 5 + 2**k, 0.5, 1.5
        want, got = programs.native_of_a_generator_made_inside(*given), g(*given)
        for x, y in zip(want[1:], got[1:], strict=True):
            assert np.array_equal(x, y)
        assert np.isclose(got[0], want[0], rtol=1e-13, atol=0)
        assert_same(h(seed, 30 + k), programs.interleaved(seed, 30 + k))
    assert_compiled(g)
    assert_compiled(h)


def test_seeds_that_are_none_raise_as_numpy() -> None:
    g = tracejit.jit(lambda seed: np.random.default_rng(seed).random())
    for seed in (3, 4, -1, 5, 2**70, 6):
        want = outcome(lambda seed=seed: np.random.default_rng(seed).random())
        assert_same(want, outcome(g, seed))


def test_native_draws_with_wrong_arguments_raise_as_numpy() -> None:
    for f, args in (
        (lambda rng, a: rng.normal(a, -a), (1.0,)),
        (lambda rng, a: rng.exponential(-a), (1.0,)),
        (lambda rng, a: rng.uniform(a, -a), (np.inf,)),
        (lambda rng, a: rng.uniform(a, -a), (1.0,)),
        (lambda rng, a: rng.beta(a, 1.0), (0.0,)),
        (lambda rng, a: rng.poisson(a), (1e19,)),
        (lambda rng, a: rng.poisson(a), (np.nan,)),
        (lambda rng, a: rng.integers(a, 3), (3,)),
        (lambda rng, a: rng.integers(a), (0,)),
        (lambda rng, a: rng.integers(5, a, endpoint=True), (4,)),
        (lambda rng, a: rng.normal(np.nan, a), (np.nan,)),
    ):
        g = tracejit.jit(f)
        for given in (args, args, (args[0] + 5,), args):
            plain, compiled = np.random.default_rng(3), np.random.default_rng(3)
            want, got = outcome(f, plain, *given), outcome(g, compiled, *given)
            assert_same(want, got)
            assert_alike(plain, compiled)
        assert_compiled(g)


def test_native_draws_of_python() -> None:
    f = programs.native_of_python
    g = tracejit.jit(f, strict=True)
    plain, compiled = random.Random(5), random.Random(5)
    for n, low, high, a, b in (
        (2, 0, 6, 0.0, 1.0),
        (3, -3, 2**31, -2.0, 0.5),
        (1000, -(2**31), 2**31, 1.5, 7.0),
        (1001, 5, 2**32 + 4, 1.5, 7.0),
        (500, -(2**61), 2**61 + 3, 1.5, 7.0),
        (500, 1, 2**62, 1.5, -7.0),
    ):
        want, got = f(plain, n, low, high, a, b), g(compiled, n, low, high, a, b)
        assert np.array_equal(want[0], got[0])
        assert want[2:] == got[2:]
        assert np.isclose(got[1], want[1], rtol=1e-13, atol=0)
        assert_alike(plain, compiled)
    assert_compiled(g)


def test_wide_integers_of_python() -> None:
    """Those that no word holds are drawn by Python itself."""
    g = tracejit.jit(lambda r, low, high: (r.random(), r.randint(low, high)))
    plain, compiled = random.Random(5), random.Random(5)
    for low, high in ((0, 9), (-(2**63), 2**63 - 1), (5, 4), (2**62, 2**62)):
        want = outcome(g.__wrapped__, plain, low, high)
        assert outcome(g, compiled, low, high) == want
        assert_alike(plain, compiled)


def test_pairs_of_normal_numbers_are_shared_with_python() -> None:
    g = tracejit.jit(lambda r: r.gauss(1.0, 2.0))
    plain, compiled = random.Random(5), random.Random(5)
    for _ in range(3):
        assert [g(compiled), compiled.gauss(), g(compiled), g(compiled)] == [
            plain.gauss(1.0, 2.0),
            plain.gauss(),
            plain.gauss(1.0, 2.0),
            plain.gauss(1.0, 2.0),
        ]
        assert_alike(plain, compiled)


def test_a_list_of_one_number_is_no_count() -> None:
    g = tracejit.jit(lambda rng: (rng.permutation([1]), rng.permutation([3]), rng.permutation(1)))
    assert_same(tuple(x.tolist() for x in g(np.random.default_rng(3))), ([1], [3], [0]))


@pytest.mark.parametrize("kind", NUMPY)
def test_native_choices(kind: str) -> None:
    def f(stream: Any, x: Any, n: int) -> Any:
        s = 0.0
        for _ in range(n):
            s += stream.choice(x) + stream.choice(x)
        return s, stream.choice(x > 1.0), stream.choice(x.astype(np.int32))

    g = tracejit.jit(f, strict=True)
    plain, compiled = NUMPY[kind](5), NUMPY[kind](5)
    for size, n in ((7, 3), (5, 200), (1, 4), (300, 100)):
        x = np.arange(size) / 2
        assert_alike(f(plain, x, n), g(compiled, x, n))
        assert_alike(plain, compiled)


def test_choices_of_nothing_raise() -> None:
    g = tracejit.jit(lambda rng, x: rng.choice(x[x > 0]))
    for x in (X, X - 9, X):
        plain, compiled = np.random.default_rng(3), np.random.default_rng(3)
        assert outcome(g.__wrapped__, plain, x) == outcome(g, compiled, x)
        assert_alike(plain, compiled)


def test_empty_draws_draw_nothing() -> None:
    def f(rng: Any, n: int) -> Any:
        x = np.arange(n)
        rng.shuffle(x)
        return rng.normal(size=n), rng.integers(5, size=n), rng.permutation(n), x, rng.random()

    g = tracejit.jit(f, strict=True)
    plain, compiled = np.random.default_rng(3), np.random.default_rng(3)
    for n in (3, 0, 4, 1, 0):
        assert_alike(f(plain, n), g(compiled, n))
        assert_alike(plain, compiled)


def test_bounds_that_a_loop_computes() -> None:
    def f(rng: Any, n: int) -> Any:
        low, high = 0, 1
        for _ in range(n):
            low, high = high, high + rng.integers(low, high + 1)
        return low, high

    g = tracejit.jit(f, strict=True)
    plain, compiled = np.random.default_rng(3), np.random.default_rng(3)
    for n in (3, 0, 9):
        assert f(plain, n) == g(compiled, n)
        assert_alike(plain, compiled)


def test_a_run_draws_only_where_nobody_else_does() -> None:
    """A thread that holds the lock of a stream: the call waits for it, as NumPy does."""
    g = tracejit.jit(lambda rng: rng.normal())
    rng = np.random.default_rng(1)
    want = np.random.default_rng(1).normal(size=3)
    assert g(rng) == want[0]
    held, found = threading.Event(), []

    def hold() -> None:
        with rng.bit_generator.lock:
            held.set()
            time.sleep(0.05)
            found.append(rng.normal())

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert g(rng) == want[2]
    thread.join()
    assert found == [want[1]]
    assert rng.bit_generator.lock.acquire(blocking=False)


@pytest.mark.parametrize("n", [3, 40000])
def test_threads_share_a_stream(n: int) -> None:
    """Large runs let go of the interpreter: every run still has a part of the stream for itself."""
    g = tracejit.jit(lambda rng, n: rng.random(n))
    rng, found = np.random.default_rng(4), []
    want = np.random.default_rng(4).random(120 * n).reshape(120, n)
    g(np.random.default_rng(0), n)

    def work() -> None:
        for _ in range(30):
            found.append(g(rng, n))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    order = np.argsort([x[0] for x in found])
    assert np.array_equal(np.array(found)[order], want[np.argsort(want[:, 0])])


def test_one_compile_for_all_generators() -> None:
    g = tracejit.jit(programs.of_a_branch)
    for seed in range(20):
        plain, compiled = np.random.default_rng(seed), np.random.default_rng(seed)
        assert g(compiled, 1.0) == programs.of_a_branch(plain, 1.0)
        assert same_state(state(compiled), state(plain))
    assert len(g.report().compiles) == 1


def test_streams_that_are_one() -> None:
    g = tracejit.jit(programs.two)
    for order in ((0, 1), (0, 0), (1, 1), (1, 0)):
        plain = [np.random.default_rng(k) for k in range(2)]
        compiled = [np.random.default_rng(k) for k in range(2)]
        want = programs.two(*(plain[k] for k in order))
        assert g(*(compiled[k] for k in order)) == want
        assert_alike(tuple(compiled), tuple(plain))
    assert_compiled(g)


def test_bit_generators_of_the_program() -> None:
    class Own(np.random.PCG64):
        pass

    g = tracejit.jit(programs.bails_out)
    plain, compiled = (np.random.Generator(Own(3)) for _ in range(2))
    for k in (1, 9, 2):
        args = X, np.array([k])
        want = outcome(programs.bails_out, plain, *args)
        assert_alike(want, outcome(g, compiled, *args))
        assert_alike(plain, compiled)
    assert_compiled(g)


@pytest.mark.compiles
def test_a_run_of_python_that_bails_out() -> None:
    def f(r: Any, x: Any, k: Any) -> Any:
        return r.gauss(0.0, 1.0) + r.random() + x[k[0]]

    g = tracejit.jit(f)
    plain, compiled = random.Random(3), random.Random(3)
    for k in (1, 9, 2, 9, 9, 3):
        args = X, np.array([k])
        assert outcome(f, plain, *args) == outcome(g, compiled, *args)
        assert_alike(plain, compiled)
    assert_compiled(g)
    assert g.report().bailouts == 3


@pytest.mark.compiles
def test_two_generators_of_one_bit_generator_bail_out() -> None:
    def f(a: Any, b: Any, x: Any, k: Any) -> Any:
        return a.random() + b.random() + a.random() + x[k[0]]

    g = tracejit.jit(f)
    for k in (1, 9, 2):
        given = []
        for _ in range(2):
            bits = np.random.PCG64(3)
            given.append((np.random.Generator(bits), np.random.Generator(bits)))
        args = X, np.array([k])
        assert outcome(g, *given[0], *args) == outcome(f, *given[1], *args)
        assert_alike(given[0][0], given[1][0])
    assert_compiled(g)
    assert g.report().bailouts == 1


def test_a_list_of_streams() -> None:
    g = tracejit.jit(programs.of_a_list)
    plain = [np.random.default_rng(k) for k in range(4)]
    compiled = [np.random.default_rng(k) for k in range(4)]
    for _ in range(3):
        assert g(compiled) == programs.of_a_list(plain)
        assert_alike(tuple(compiled), tuple(plain))
    assert_compiled(g)


def test_streams_that_are_global() -> None:
    g = tracejit.jit(programs.of_globals)
    mine = programs.RNG, programs.STATE, programs.PYTHON
    begin = [copy.deepcopy(state(s)) for s in mine]
    want = [programs.of_globals(n) for n in (2, 2, 5)]
    end = [copy.deepcopy(state(s)) for s in mine]
    programs.RNG.bit_generator.state = begin[0]
    programs.STATE.set_state(begin[1])
    programs.PYTHON.setstate(begin[2])
    for n, expected in zip((2, 2, 5), want, strict=True):
        assert_same(g(n), expected)
    assert all(map(same_state, map(state, mine), end))
    assert_compiled(g)


@pytest.mark.parametrize("f", [programs.of_modules, programs.seeds_of_modules])
def test_streams_of_modules(f: Callable[..., Any]) -> None:
    g = tracejit.jit(f)
    outcomes = []
    for function in (f, g):
        np.random.seed(3)
        random.seed(3)
        results = [function(n) for n in (2, 2, 5)]
        outcomes.append((results, np.random.get_state(legacy=False), random.getstate()))
    (want, numpys, pythons), (got, numpys_after, pythons_after) = outcomes
    assert_same(got, want)
    assert same_state(numpys, numpys_after)
    assert pythons == pythons_after
    assert_compiled(g)


@pytest.mark.parametrize("kind", NUMPY)
def test_streams_that_are_attributes(kind: str) -> None:
    plain, compiled = programs.Walker(NUMPY[kind](1)), programs.Walker(NUMPY[kind](1))
    step, jump = tracejit.jit(programs.Walker.step), tracejit.jit(programs.Walker.jump)
    for k in range(4):
        assert_same(step(compiled, k + 0.5), plain.step(k + 0.5))
        assert jump(compiled) == plain.jump()
        assert_same(compiled.x, plain.x)
        assert_alike(compiled.stream, plain.stream)
    other = programs.Walker(NUMPY[kind](2)), programs.Walker(NUMPY[kind](2))
    assert_same(step(other[0], 1.0), other[1].step(1.0))
    assert_compiled(step)
    assert_compiled(jump)


def test_a_stream_that_is_stored() -> None:
    replace = tracejit.jit(programs.Walker.replace)
    for _ in range(2):
        walkers = [programs.Walker(np.random.default_rng(1)) for _ in range(2)]
        others = [np.random.default_rng(2) for _ in range(2)]
        assert replace(walkers[0], others[0]) == walkers[1].replace(others[1])
        assert walkers[0].stream is others[0]
        assert_alike(others[0], others[1])
    assert_compiled(replace)


@pytest.mark.parametrize("shared", [False, True])
def test_objects_that_share_a_stream(shared: bool) -> None:
    both = tracejit.jit(programs.Pair.both)
    pairs = []
    for _ in range(2):
        first = np.random.default_rng(1)
        second = first if shared else np.random.default_rng(2)
        pairs.append(programs.Pair(programs.Walker(first), programs.Walker(second), first))
    for _ in range(3):
        assert_same(both(pairs[0]), pairs[1].both())
        assert_alike(pairs[0].stream, pairs[1].stream)
        assert_alike(pairs[0].second.stream, pairs[1].second.stream)
    assert_compiled(both)


def test_without_a_seed_every_call_begins_elsewhere() -> None:
    g = tracejit.jit(lambda n: np.random.default_rng().random(n))
    found = np.concatenate([g(3) for _ in range(4)])
    assert len(set(found.tolist())) == 12
    assert ((found >= 0) & (found < 1)).all()
    assert_compiled(g)


def test_what_is_not_followed_runs_eagerly() -> None:
    for f in (
        lambda rng: rng.bit_generator.random_raw(),
        lambda rng: rng.bytes(4),
        lambda rng: rng.random(out=np.zeros(3)),
        lambda rng: rng.choice(["a", "b"]),
    ):
        g = tracejit.jit(f)
        plain, compiled = np.random.default_rng(3), np.random.default_rng(3)
        assert_same(g(compiled), f(plain))
        assert_alike(compiled, plain)
        assert g.report().fallbacks
