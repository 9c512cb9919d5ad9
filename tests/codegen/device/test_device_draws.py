"""Uniform numbers that the device computes: NumPy's bits, and NumPy's states afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit.codegen.device.target import Trips

pytestmark = pytest.mark.sampled(14)

JUMPING = [np.random.PCG64, np.random.PCG64DXSM, np.random.Philox]
OTHERS = [np.random.MT19937, np.random.SFC64]


def compare(f: Any, make: Any, *args: Any, strict: bool = True) -> Trips:
    """Call twice, with a stream in the same state; what the program does on the device.

    A program that is `strict` has no round trip.
    """
    jitted: Any = tracejit.jit(f, device="cuda-sim", strict=strict)
    one, other = make(), make()
    for _ in range(2):
        assert_same(f(one, *args), jitted(other, *args))
        assert state(other) == state(one)
    found: Trips = jitted.report().variants[0].trips
    return found


def state(stream: Any) -> str:
    streams = stream if isinstance(stream, tuple) else (stream,)
    return str([s.bit_generator.state for s in streams])


def numbers(rng: Any, n: int, low: float) -> Any:
    return rng.random(n), rng.uniform(low, 3.5, (n, 2)), rng.random((3, 4))


@pytest.mark.parametrize("cls", [*JUMPING, *OTHERS], ids=lambda cls: cls.__name__)
def test_numbers_and_states(cls: Any) -> None:
    for n in (0, 1, 7, 1000):
        trips = compare(numbers, lambda: np.random.Generator(cls(5)), n, -2.25)
        assert not trips.host
        launched, waits, there, back = trips.counts
        assert (waits, there) == (0, 0)
        drawn = 3 if cls in JUMPING else 0
        assert (launched, back) == (2 * drawn, 0 if drawn else 2 * 8 * (3 * n + 12))


@pytest.mark.parametrize("cls", JUMPING, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("before", range(6))
def test_states_amid_a_block(cls: Any, before: int) -> None:
    def make() -> Any:
        rng = np.random.Generator(cls(8))
        rng.random(before)
        rng.integers(0, 9, dtype=np.uint32)
        return rng

    compare(lambda rng: [rng.random(n) for n in (1, 2, 3, 4, 5, 9)], make)


def test_counters_and_states_that_carry() -> None:
    def philox() -> Any:
        bits = np.random.Philox(
            key=2**127 + 3, counter=[2**64 - 2, 2**64 - 1, 2**64 - 1, 2**64 - 1]
        )
        return np.random.Generator(bits)

    def set_by_hand() -> Any:
        """What is left over need not follow from the counter."""
        bits: Any = np.random.Philox(0)
        bits.state = {**bits.state, "buffer": np.arange(4, dtype=np.uint64) << 40, "buffer_pos": 1}
        return np.random.Generator(bits)

    def full() -> Any:
        bits: Any = np.random.PCG64(0)
        words = {"state": 2**128 - 1, "inc": 2**128 - 1}
        bits.state = {**bits.state, "state": words}
        return np.random.Generator(bits)

    for make in (philox, set_by_hand, full):
        compare(lambda rng: rng.random(40), make)


def test_numbers_far_apart() -> None:
    """More numbers than a thread takes, from states that have jumped far."""
    for cls in JUMPING:
        bits: Any = cls(1)
        bits.advance(2**100 + 12345)
        kept = bits.state

        def make(cls: Any = cls, kept: Any = kept) -> Any:
            made = cls(0)
            made.state = kept
            return np.random.Generator(made)

        compare(lambda rng: rng.random(3000), make)


def looped(rng: Any, n: int) -> Any:
    total = np.zeros(5)
    for k in range(n):
        total += rng.random(5) * k
    left = 0
    while left < 4:
        total += rng.uniform(-1.0, left, 5)
        left += 1
    return total


def branched(rng: Any, n: int) -> Any:
    x = np.ones(6)
    if n > 3:
        x = rng.random(6)
    return x * 2, rng.random(2)


def mixed(rng: Any, n: int) -> Any:
    a = rng.random(n)
    b = rng.standard_normal(n)
    c = rng.uniform(0.0, 2.0, n)
    return a + b * c, rng.integers(0, 10, n), rng.permutation(n), rng.random(), rng.random(n)


@pytest.mark.parametrize("cls", [*JUMPING, np.random.MT19937], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("f", [looped, branched, mixed])
def test_control_flow_and_other_draws(f: Any, cls: Any) -> None:
    for n in (2, 7):
        compare(f, lambda: np.random.Generator(cls(11)), n, strict=f is not mixed)


def test_two_generators() -> None:
    def f(streams: Any, n: int) -> Any:
        one, other = streams
        return one.random(n) - other.random(n) + one.uniform(1.0, 2.0, n)

    def make() -> Any:
        return np.random.default_rng(1), np.random.Generator(np.random.Philox(1))

    compare(f, make, 9)


def test_one_compile_serves_all_bit_generators() -> None:
    jitted: Any = tracejit.jit(lambda rng: rng.random(9), device="cuda-sim", strict=True)
    for cls in (*JUMPING, *OTHERS):
        one, other = (np.random.Generator(cls(2)) for _ in range(2))
        assert_same(one.random(9), jitted(other))
        assert state(one) == state(other)
    assert len(jitted.report().variants) == 1


def test_a_program_that_leaves_in_the_middle() -> None:
    """The repetition begins from the state that the call found."""

    def f(rng: Any, x: Any, k: int) -> Any:
        y = rng.random(4) + x[k]
        return y / rng.uniform(1.0, x[0], 4)

    jitted: Any = tracejit.jit(f, device="cuda-sim")
    for cls in JUMPING:
        for x0, k in ((2.0, 1), (2.0, 7), (0.5, 1), (np.inf, 1)):
            one, other = (np.random.Generator(cls(2)) for _ in range(2))
            x = np.array([x0, 3.0])
            errors = []
            for call, stream in ((f, one), (jitted, other)):
                try:
                    call(stream, x, k)
                except (IndexError, ValueError, OverflowError) as error:
                    errors.append((type(error), str(error)))
            assert len(errors) in (0, 2), errors
            assert errors[:1] == errors[1:], errors
            assert state(one) == state(other)


def test_own_generators_stay_on_the_device() -> None:
    def f(n: int) -> Any:
        rng = np.random.default_rng(4)
        out = rng.random((n, 2))
        for k in range(n):
            out[k] += rng.uniform(0.0, 1.0 + k, 2)
        return out, rng.random(3), rng.normal(size=2), rng.random(3)

    jitted: Any = tracejit.jit(f, device="cuda-sim")
    for n in (0, 1, 6):
        assert_same(f(n), jitted(n))
    trips = jitted.report().variants[-1].trips
    (normal,) = trips.host
    assert normal.attrs["arguments"][0] == ("constant", "normal")
    # That, and the checked indices at the end.
    assert trips.waits == [normal, None]


def test_sizes_that_are_known_when_the_program_runs() -> None:
    for f in (
        lambda rng, n: rng.random(n),
        lambda rng, n: rng.random((n, n)) * 2,
        lambda rng, n: rng.uniform(0.0, 3.0, (2, n, 3)).T,
    ):
        jitted: Any = tracejit.jit(f, device="cuda-sim")
        one, other = np.random.default_rng(1), np.random.default_rng(1)
        for n in (3, 4, 0, 7, 1):
            assert_same(f(one, n), jitted(other, n))
            assert state(one) == state(other)
        with pytest.raises(ValueError, match="negative dimensions"):
            jitted(other, -1)
        assert state(one) == state(other)
        assert not any(c.trips.host for c in jitted.report().variants)


def test_other_draws_go_to_the_host() -> None:
    for f in (
        lambda rng: rng.random(4, dtype=np.float32),
        lambda rng: rng.standard_normal(4),
        lambda rng: rng.integers(0, 2**63 - 1, 4),
    ):
        assert compare(f, lambda: np.random.default_rng(1), strict=False).host
    jitted: Any = tracejit.jit(lambda s: s.random_sample(4), device="cuda-sim")
    one, other = np.random.RandomState(1), np.random.RandomState(1)
    assert_same(one.random_sample(4), jitted(other))
    assert jitted.report().variants[0].trips.host


def test_a_program_for_a_gpu() -> None:
    lowered: Any = tracejit.jit(lambda rng: rng.random(9) * 2, device="cuda")
    trips = lowered.lower(np.random.default_rng(1)).program.trips
    assert not trips.host
    assert [x.name.partition("_")[0] for x in trips.launches].count("draw") == 2
