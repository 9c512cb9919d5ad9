"""From tanh to the table of `codegen/vector_math/piecewise_tables.py`: 32 polynomials for float32.

Interval i > 0 holds the float32 numbers whose encodings, without their low 21 bits, are FIRST + i;
interval 0 begins at 0. About a centre c, tanh(a) = tanh(c) + d * q(d), d = a - c, q minimax by the
exchange of `coefficients`. The centre is the number near the middle whose tanh is
closest to a float32, within 2^-9 of a unit in the last place (the idea is Gal's, "Computing
elementary functions: a new approach for achieving high accuracy and good performance", 1986), so
that tanh(c) needs no second part. In interval 0 the constant is 0, and q is less by 1: a is added.

    python -m benchmarks.vector_math.tanh_pieces
"""

from __future__ import annotations

import mpmath as mp
import numpy as np

from .coefficients import minimax

COUNT = 32
DEGREE = 4
#: Of this and of what is beyond the result is 1.
LAST = 9.03125
FIRST = (int(np.float32(LAST).view(np.uint32)) >> 21) - COUNT + 1


def _bounds(i: int) -> tuple[float, float]:
    low, high = (float(np.uint32((FIRST + j) << 21).view(np.float32)) for j in (i, i + 1))
    return (0.0 if i == 0 else low), min(high, LAST)


def _centre(low: float, high: float) -> float:
    middle = np.float32((low + high) / 2)
    candidates = middle + np.arange(-2000, 2001, dtype=np.float32) * np.spacing(middle)
    values = np.tanh(candidates.astype(np.longdouble))
    nearest = values.astype(np.float32)
    errors = np.abs(values - nearest) / np.spacing(nearest)
    return float(candidates[int(np.argmin(errors))])


def row(i: int) -> tuple[list[float], float]:
    """Centre, constant, coefficients, and the greatest error relative to tanh."""
    low, high = _bounds(i)
    centre = 0.0 if i == 0 else _centre(low, high)
    constant = float(np.float32(float(mp.tanh(centre))))
    slope = 1 if i == 0 else 0
    count = 24 * (DEGREE + 2) + 1
    half, middle = (mp.mpf(high) - low) / 2, (mp.mpf(high) + low) / 2
    xs = [
        middle - half * mp.cos(mp.pi * (j + mp.mpf(1) / 3) / count) - centre for j in range(count)
    ]
    f = {d: (mp.tanh(centre + d) - constant) / d - slope for d in xs}
    w = {d: d / mp.tanh(centre + d) for d in xs}
    q, _ = minimax(xs, f, {d: abs(v) + mp.mpf("1e-9") for d, v in w.items()}, DEGREE)
    rounded = [float(np.float32(float(c))) for c in q]
    error = max(abs((f[d] - mp.polyval(rounded[::-1], d)) * w[d]) for d in xs)
    return [centre, constant, *rounded], float(error)


def main() -> int:
    """Print the table as Python source."""
    mp.mp.dps = 50
    rows, errors = zip(*(row(i) for i in range(COUNT)), strict=True)
    print(f"FIRST = {FIRST}")
    print("#: Of this and of what is beyond the result is 1.")
    print(f"LAST = {LAST}")
    print(f"#: Error 2^{np.log2(max(errors)):.1f}: centres, constants, coefficients by degree.")
    print("TANH = (")
    for column in zip(*rows, strict=True):
        words = [value.hex().replace("0000000p", "p") for value in column]
        print("    _hex(")
        for start in range(0, COUNT, 4):
            print(f'        "{" ".join(words[start : start + 4])}{" " if start < 28 else ""}"')
        print("    ),")
    print(")")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
