"""States of an array in one memory: each reads as if it were an array of its own."""

import numpy as np

from tracejit.ir.versions import Version


def test_every_state_reads_as_its_own_array() -> None:
    rng = np.random.default_rng(0)
    first = rng.standard_normal((4, 3))
    states, copies = [Version(first.copy())], [first]
    for _ in range(60):
        at = int(rng.integers(len(states)))  # now and then an old state is stored into again
        rows = rng.integers(0, 4, 2)
        index = [(1, 2), (slice(1, 3), ...), (rows, rows % 3), (slice(None, None, -2),)][
            int(rng.integers(4))
        ]
        value = rng.standard_normal()
        copy = copies[at].copy()
        copy[index] = value
        states.append(states[at].replaced(index, value))
        copies.append(copy)
    for k in rng.permutation(len(states)):
        assert np.array_equal(states[k].read(), copies[k])


def test_one_memory_holds_all_states() -> None:
    array = np.zeros(5)
    state = Version(array)
    states = [state]
    for k in range(5):
        state = state.replaced(k, k + 1.0)
        states.append(state)
    assert state.read() is array
    for k, old in reversed(list(enumerate(states))):
        assert old.read() is array
        assert array.tolist() == [*map(float, range(1, k + 1)), *[0.0] * (5 - k)]
