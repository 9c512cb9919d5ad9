"""Random views of arrays in any layout, and what functions make of them: strides, flags, sharing.

`check(seed)` holds a compiled call against NumPy's: an argument in one of the layouts, up to four
views or copies of it, and then a function of the last, or a sum of products of several arrays.

python -m tests.random.layouts --seeds 0:10000
"""

from __future__ import annotations

import argparse
import linecache
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit
from tests.support import layouts

__all__ = ["Wrong", "check", "generate"]

LAYOUTS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    *(np.array, layouts.fortran, layouts.strided, layouts.reversed_rows, layouts.inner_block),
    *(layouts.transposed, layouts.swapped_axes, layouts.repeated_rows, layouts.repeated_columns),
    layouts.overlapping,
)
SHAPES = ((6,), (3, 4), (4, 4), (2, 3, 4), (4, 1, 6), (2, 4, 4), (0, 3), (3, 0, 2), (1, 4))
#: Functions of the last view, `{s}`.
FUNCTIONS = """
{s}
{s} + 1
{s} + y
{s} > 0
{s}.real
{s}[[0, 0]]
{s}[..., [0, 0]]
{s}.astype('f4')
{s}.flatten('K')
np.copy({s})
np.copy({s}, order='f')
np.array({s}, 'i4')
np.concatenate(({s}, {s}))
np.stack(({s}, {s}), axis=-1)
np.sum({s}, axis=-1)
np.sum({s}, axis=0)
np.max({s}, axis=0, keepdims=True)
np.mean({s}, axis=0)
np.std({s}, axis=0)
np.median({s}, axis=0)
np.nansum({s}, axis=0)
np.nanvar({s}, axis=0)
np.nanmax({s}, axis=0)
np.percentile({s}, 30, axis=0)
np.average({s}, axis=0)
np.cumsum({s}, axis=0)
np.nancumsum({s}, axis=0)
np.sort({s}, axis=0)
np.argsort({s}, axis=-1)
np.partition({s}, 0, axis=0)
np.argmax({s}, axis=0)
np.zeros_like({s})
np.full_like({s}, 2)
np.where({s} > 1, {s}, 0)
np.clip({s}, 0, 3)
np.choose([0, 1], [{s}, {s}])
np.repeat({s}, 2, axis=0)
np.roll({s}, 1, axis=0)
np.tile({s}, 2)
np.tile({s}, 1)
np.pad({s}, 1)
np.delete({s}, 0, axis=0)
np.insert({s}, 0, 1, axis=0)
np.diff({s}, axis=0)
np.flip({s})
np.take({s}, [0], axis=-1)
np.compress([True], {s}, axis=0)
np.ravel({s}, order='K')
np.moveaxis({s}, 0, -1).copy('K')
np.broadcast_arrays({s}, 0)[0] * 1
np.einsum('...i->...', {s})
np.fft.fft({s})
np.matmul({s}, np.swapaxes({s}, -1, -2))
np.vecdot({s}, {s})
np.outer({s}, {s})
np.tensordot({s}, {s}, 0)
np.kron({s}, {s})
np.linalg.norm({s}, axis=-1)
np.trapezoid({s}, axis=0)
np.unwrap({s}, axis=0)
np.divmod({s}, 2)
np.isin({s}, [1, 2])
np.searchsorted([1.0, 2.0], {s})
np.interp({s}, [1.0, 2.0], [3.0, 4.0])
np.cov({s})
np.angle({s})
np.nan_to_num({s})
np.round({s}, 1)
""".strip().splitlines()


class Wrong(AssertionError):
    """A compiled call gives something else than NumPy."""


def _view(rng: random.Random, x: np.ndarray, s: str) -> str:
    """The text of a view, or a new array, of `s`, which is `x`."""
    n = x.ndim
    parts = [rng.choice([":", "1:", "::2", ":1", ":2"]) for _ in range(n)]
    news = [rng.choice([":", ":", "None, :"]) for _ in range(n)]
    forms = [
        f"{s}.T",
        f"np.transpose({s}, {tuple(rng.sample(range(n), n))})",
        f"{s}[{', '.join(parts)}]",
        f"{s}[{', '.join(news)}]",
        f"{s}[::-1]",
        f"{s}[0]",
        f"{s}[...]",
        f"{s}.swapaxes(0, -1)",
        f"np.broadcast_to({s}, {(2, *x.shape)})",
        f"{s}.reshape({_other_shape(rng, x.shape)})",
        f"np.diagonal({s})",
        f"np.lib.stride_tricks.sliding_window_view({s}, 2, {rng.randrange(n)})",
        f"({s} + 1)",
        *rng.sample([f"{s}.copy()", f"{s}.astype('f4')", f"np.asfortranarray({s})"], 1),
    ]
    return rng.choice(forms)


def _other_shape(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Axes cut in two, and neighbours joined."""
    new: list[int] = []
    for d in shape:
        new += [2, d // 2] if d in (4, 6) and rng.random() < 0.7 else [d]
    if len(new) > 1 and rng.random() < 0.4:
        k = rng.randrange(len(new) - 1)
        new[k : k + 2] = [new[k] * new[k + 1]]
    return tuple(new)


def generate(seed: int) -> tuple[str, tuple[np.ndarray, ...]]:
    """The text of a call on `x`, `y` and `z`, and these arrays."""
    rng = random.Random(seed)
    if rng.random() < 0.2:
        return _sum_of_products(rng)
    x = v = _laid_out(rng, rng.choice(SHAPES))
    y = z = np.ones(3)
    s = "x"
    for _ in range(rng.randint(0, 4)):
        text = _view(rng, v, s)
        try:
            made = eval(text, {"np": np, "x": x})
        except (ValueError, IndexError):
            continue
        if made.ndim > 5 or made.size > 1000 or not made.ndim:
            break
        s, v = text, made
    return rng.choice(FUNCTIONS).format(s=s), (x, y, z)


def _sum_of_products(rng: random.Random) -> tuple[str, tuple[np.ndarray, ...]]:
    sizes = dict(zip("abcde", (2, 3, 4, 5, 6), strict=True)) | {
        rng.choice("abcde"): rng.choice((1, 7))
    }
    terms = ["".join(rng.sample("abcde", rng.randint(1, 3))) for _ in range(3)]
    terms[0] += terms[0][0] * (rng.random() < 0.1)
    # The order of a product's axes is that of the compiler.
    count = 1
    used = sorted(set("".join(terms[:count])))
    result = "".join(rng.sample(used, len(used)))
    arrays = tuple(_laid_out(rng, tuple(sizes[c] for c in term)) for term in terms)
    names = ", ".join("xyz"[:count])
    return f"np.einsum('{','.join(terms[:count])}->{result}', {names})", arrays


def _laid_out(rng: random.Random, shape: tuple[int, ...]) -> np.ndarray:
    x = np.arange(float(np.prod(shape))).reshape(shape) * 0.75
    return rng.choice(LAYOUTS)(x) if x.size else x


def _strides(x: np.ndarray) -> list[int]:
    return [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1] if x.size else []


def _memory(x: Any, args: tuple[np.ndarray, ...]) -> Any:
    """What can be seen of the memory of a result, or of parts of one."""
    if isinstance(x, (tuple, list)):
        return [_memory(part, args) for part in x]
    if not isinstance(x, np.ndarray):
        return type(x).__name__
    flags = x.flags.c_contiguous, x.flags.f_contiguous, x.flags._writeable_no_warn
    shared = [np.may_share_memory(x, a) for a in args]
    return x.dtype.str, x.shape, _strides(x), flags, shared


def _call(f: Callable[..., Any], args: tuple[np.ndarray, ...]) -> Any:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return f(*args)
    except Exception as e:
        return type(e)


def check(seed: int) -> str:
    """Compile the call, and compare; how it ran. Raises `Wrong`."""
    text, args = generate(seed)
    source = f"def call(x, y, z):\n    return {text}\n"
    file = f"<layouts {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), space)
    expected = _call(space["call"], args)
    jitted = tracejit.jit(space["call"])
    for _ in range(2):
        got = _call(jitted, args)
        if _memory(got, args) != _memory(expected, args):
            raise Wrong(f"{_memory(got, args)}, not {_memory(expected, args)}")
        parts = [x if isinstance(x, (tuple, list)) else (x,) for x in (got, expected)]
        if not isinstance(expected, type):
            for a, b in zip(*parts, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-12)
    fallbacks = jitted.report().fallbacks
    if fallbacks and fallbacks[0].code == "TJ013":
        raise Wrong(str(fallbacks[0]))
    return fallbacks[0].code if fallbacks else "compiled"


def main() -> int:
    """Check seeds; returns 1 if one was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.random.layouts", description=__doc__)
    parser.add_argument("--seeds", default="0:1000", help="first:end")
    arguments = parser.parse_args()
    first, end = map(int, arguments.seeds.split(":"))
    failures = 0
    for seed in range(first, end):
        try:
            check(seed)
        except AssertionError as e:
            failures += 1
            text, (x, y, z) = generate(seed)
            where = [(a.shape, a.strides) for a in (x, y, z)]
            print(f"seed {seed}: {text} of {where}: {e}", flush=True)
    print(f"seeds {arguments.seeds}: {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
