"""Where NumPy's bit generators keep their states: those whose numbers need not come in order.

Each gives the functions of its `bitgen_t`, which also tell what a stream is drawn from; None where
its state lies otherwise than is known here.
"""

from __future__ import annotations

import ctypes

import numpy as np

from tracejit.base.locks import once
from tracejit.link.random_functions import bits_of

__all__ = ["pcg64_functions", "pcg64dxsm_functions", "philox_functions"]

#: Where the addresses of a state's parts have to be multiples of, to be taken for such.
_ALIGNED = 8


def _lcg_functions(cls: str) -> list[int] | None:
    """Those of PCG64 or PCG64DXSM.

    The state is a pointer to the numbers, the state and the increment of 128 bits each and the
    lower half first, then whether 32 bits are left over from a number (an i32), and those.
    """
    bit_generator = getattr(np.random, cls)(0)
    np.random.Generator(bit_generator).integers(0, 9, dtype=np.uint32)
    state, *functions = bits_of(bit_generator)
    numbers_at, rest = (ctypes.c_uint64 * 2).from_address(state)
    kept = bit_generator.state
    wanted = [
        kept["state"][name] >> shift & 2**64 - 1 for name in ("state", "inc") for shift in (0, 64)
    ]
    # Only where the rest is as expected is the first word taken for an address.
    if rest != kept["has_uint32"] | kept["uinteger"] << 32 or numbers_at % (2 * _ALIGNED):
        return None
    numbers = list((ctypes.c_uint64 * 4).from_address(numbers_at))
    return functions if numbers == wanted else None


@once
def pcg64_functions() -> list[int] | None:
    """Those of the bit generator that `np.random.default_rng` makes."""
    return _lcg_functions("PCG64")


@once
def pcg64dxsm_functions() -> list[int] | None:
    """Those of PCG64DXSM."""
    return _lcg_functions("PCG64DXSM")


@once
def philox_functions() -> list[int] | None:
    """Those of Philox.

    The state is a pointer to the counter, four words, one to the key, two, then the place among the
    numbers of the last block (an i32), these four, and what is left over, as of the others.
    """
    bit_generator = np.random.Philox(0)
    np.random.Generator(bit_generator).integers(0, 9, dtype=np.uint32)
    state, *functions = bits_of(bit_generator)
    counter_at, key_at, place, *rest = (ctypes.c_uint64 * 8).from_address(state)
    kept = bit_generator.state
    left = kept["has_uint32"] | kept["uinteger"] << 32
    if [place & 2**32 - 1, *rest] != [kept["buffer_pos"], *kept["buffer"].tolist(), left]:
        return None
    if counter_at % _ALIGNED or key_at % _ALIGNED:
        return None
    found = [list((ctypes.c_uint64 * n).from_address(a)) for n, a in ((4, counter_at), (2, key_at))]
    return functions if found == [kept["state"][k].tolist() for k in ("counter", "key")] else None
