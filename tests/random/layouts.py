"""Random views of arrays in any layout, and what functions make of them: strides, flags, sharing.

`check(seed)` holds a compiled call against NumPy's: an argument in one of the layouts, up to four
views or copies of it, and then a function of the last, or a sum of products of several arrays.
Axes have any number of elements, also one or none. Later calls have other sizes and bounds.

python -m tests.random.layouts --seeds 0:10000
"""

from __future__ import annotations

import argparse
import linecache
import random
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit
from tests.support import layouts
from tracejit.runtime.compile import worth

__all__ = ["Wrong", "check", "generate"]

LAYOUTS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    *(np.array, layouts.fortran, layouts.strided, layouts.reversed_rows, layouts.inner_block),
    *(layouts.transposed, layouts.swapped_axes, layouts.repeated_rows, layouts.repeated_columns),
    *(layouts.overlapping, layouts.spaced, layouts.odd_strides),
)
#: Those that can be made of arrays without elements.
LAYOUTS_OF_NONE = np.array, layouts.fortran, layouts.swapped_axes, layouts.odd_strides
SHAPES = ((6,), (3, 4), (4, 4), (2, 3, 4), (4, 1, 6), (2, 4, 4), (0, 3), (3, 0, 2), (1, 4))
#: Of these sizes are other shapes.
SIZES = (0, 1, 1, 1, 2, 2, 3, 3, 4)
DTYPES = ("f8", "f8", "f8", "f2", "c16", "i4")
#: Bounds of slices that calls are given, one call after the other.
BOUNDS = (2, 2, 1, 0, 3)
PARTS = ":  :  1:  ::2  :1  :2  ::3  :0  ::-1  ::-2  1:0:2  5::2  1:2  :1:3".split()
#: Functions of the last view, `{s}`, that lay out their results as NumPy does in all axes.
EXACT = """
{s}
{s} + 1
{s} + y
{s} > 0
{s}.real
-{s}
{s} * {s}
{s}[:, None] + {s}
np.hypot({s}, 1.5)
np.add({s}, 1, dtype='c16')
{s}.copy('A')
{s}.copy('K')
{s}.astype('c16', order='K')
{s}.astype({s}.dtype, order='A')
{s}.astype('f4', order='F')
np.array({s}, copy=True, order='K')
np.ascontiguousarray({s})
np.asfortranarray({s})
np.ones_like({s}, order='A')
np.zeros_like({s}, order='F')
np.full_like({s}, 2, dtype='i4', order='C')
np.zeros_like({s}, shape={s}.shape)
np.sum({s}, axis=0, keepdims=True)
np.mean({s}, axis=-1, keepdims=True)
np.prod({s}, axis=1)
np.all({s}, axis=0, keepdims=True)
np.add.accumulate({s}, axis=-1)
np.add.reduceat({s}, [0], axis=0)
np.concatenate(({s}, {s}), axis=-1)
np.vstack(({s}, {s}))
np.atleast_3d({s})
np.squeeze({s})
np.split({s}, 1)[0]
np.broadcast_to({s}, (2, *{s}.shape))
{s}.reshape(-1)
{s}.reshape({s}.shape)
np.imag({s})
{s}.conj()
np.rot90({s})
np.fliplr({s})
np.array_split({s}, 2)[1]
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
np.cumsum({s}, axis=0)
np.sort({s}, axis=0)
np.argmax({s}, axis=0)
np.zeros_like({s})
np.full_like({s}, 2)
np.where({s} > 1, {s}, 0)
np.clip({s}, 0, 3)
np.flip({s})
np.moveaxis({s}, 0, -1).copy('K')
""".strip().splitlines()
#: Those that may give axes of at most one element other strides.
OTHERS = """
np.var({s}, axis=0)
np.var({s}, axis=-1, keepdims=True)
np.std({s}, axis=0)
np.median({s}, axis=0)
np.nansum({s}, axis=0)
np.nanvar({s}, axis=0)
np.nanmax({s}, axis=0)
np.percentile({s}, 30, axis=0)
np.average({s}, axis=0)
np.nancumsum({s}, axis=0)
np.argsort({s}, axis=-1)
np.partition({s}, 0, axis=0)
np.choose([0, 1], [{s}, {s}])
np.repeat({s}, 2, axis=0)
np.roll({s}, 1, axis=0)
np.tile({s}, 2)
np.tile({s}, 1)
np.pad({s}, 1)
np.delete({s}, 0, axis=0)
np.insert({s}, 0, 1, axis=0)
np.diff({s}, axis=0)
np.take({s}, [0], axis=-1)
np.compress([True], {s}, axis=0)
np.ravel({s}, order='K')
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
    parts = [rng.choice(PARTS) for _ in range(n)]
    news = [rng.choice([":", ":", "None, :"]) for _ in range(n + 1)][: n + 1]
    news[-1] = rng.choice(["...", "None"])
    ones = [a for a, d in enumerate(x.shape) if d == 1]
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
        f"{s}[{', '.join(rng.choice([':', ':n', 'n:', '::3', 'n::-1']) for _ in range(n))}]",
        f"np.moveaxis({s}, 0, {rng.randrange(n)})",
        f"np.expand_dims({s}, {rng.randrange(n + 1)})",
        f"np.squeeze({s}, {rng.choice(ones) if ones else ()})",
        f"{s}.{rng.choice(['real', 'imag'])}",
        f"{s}.view('u1')",
        f"{s}[np.arange({s}.shape[0]) < n]",
        f"{s}.take([0, 0, 0], -1)[..., :n]",
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
    shape = rng.choice((*SHAPES, *(None,) * len(SHAPES)))
    x = v = _laid_out(rng, shape or tuple(rng.choices(SIZES, k=rng.randint(1, 4))))
    y = z = np.ones(3)
    s = "x"
    for _ in range(rng.randint(0, 4)):
        text = _view(rng, v, s)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = eval(text, {"np": np, "x": x, "n": BOUNDS[0]})
        except (ValueError, IndexError, TypeError):
            continue
        if made.ndim > 5 or made.size > 1000 or not made.ndim:
            break
        s, v = text, made
    return rng.choice(EXACT + OTHERS).format(s=s), (x, y, z)


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
    x = x.astype(rng.choice(DTYPES))
    return rng.choice(LAYOUTS if x.size else LAYOUTS_OF_NONE)(x)


def _memory(x: Any, args: tuple[np.ndarray, ...], text: str, short: bool) -> Any:
    """What can be seen of the memory of a result, or of parts of one.

    Of arrays of their own nothing is told where an axis that only the run knows is `short`.
    """
    if isinstance(x, (tuple, list)):
        return [_memory(part, args, text, short) for part in x]
    if not isinstance(x, np.ndarray):
        return type(x).__name__
    shared = [np.may_share_memory(x, a) for a in args]
    seen = x.dtype.str, x.shape, shared, x.flags._writeable_no_warn
    if short and not any(shared):
        return seen
    exact = any(shared) or all(map(_is_usual, args)) and _function_of(text) in EXACT
    pairs = enumerate(zip(x.shape, x.strides, strict=True))
    strides = {k: s for k, (n, s) in pairs if exact or n > 1 and x.size}
    return *seen, x.flags.c_contiguous, x.flags.f_contiguous, strides


def _is_usual(x: np.ndarray) -> bool:
    """Whether strides along axes of one element or none are those that NumPy would give."""
    if not (x.flags.c_contiguous or x.flags.f_contiguous):
        return True
    order = "C" if x.flags.c_contiguous else "F"
    return x.strides == np.empty(x.shape, x.dtype, order).strides


def _function_of(text: str) -> str:
    """The function that was called last: the longest one that begins and ends as the text does."""
    fits = [f for f in EXACT + OTHERS if _fits(f.split("{s}"), text)]
    return max(fits, key=lambda f: len(f.replace("{s}", "")))


def _fits(parts: list[str], text: str) -> bool:
    return text.startswith(parts[0]) and text.endswith(parts[-1])


def _call(f: Callable[..., Any], args: tuple[np.ndarray, ...]) -> Any:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return f(*args)
    except Exception as e:
        return type(e)


def check(seed: int) -> str:
    """Compile the calls, and compare; how they ran. Raises `Wrong`."""
    text, args = generate(seed)
    source = f"def call(x, y, z, n):\n    return {text}\n"
    file = f"<layouts {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), space)
    jitted = tracejit.jit(space["call"])
    bounded = re.search(r"\bn\b", text) is not None
    for k, n in enumerate(BOUNDS if bounded else BOUNDS[:3]):
        given = args if k < 2 else tuple(map(_larger, args))
        got, expected = (_call(f, (*given, n)) for f in (jitted, space["call"]))
        seen = [_memory(x, given, text, bounded and n < 2) for x in (got, expected)]
        if seen[0] != seen[1]:
            raise Wrong(f"call {k}: {seen[0]}, not {seen[1]}")
        if not isinstance(expected, type):
            _compare(got, expected)
    fallbacks = jitted.report().fallbacks
    if fallbacks and fallbacks[0].code == "TJ013":
        raise Wrong(str(fallbacks[0]))
    return fallbacks[0].code if fallbacks else "compiled"


def _larger(x: np.ndarray) -> np.ndarray:
    """An array of one more element along each axis that has several, with the same axis order."""
    if any(step == 0 and n > 1 for step, n in zip(x.strides, x.shape, strict=True)):
        return x
    order = sorted(range(x.ndim), key=lambda a: -abs(x.strides[a]))
    longer = np.pad(x, [(0, int(n > 1)) for n in x.shape], mode="edge")
    made = longer.transpose(order).copy("C").transpose(np.argsort(order))
    steps = [
        s if n < 2 else made.strides[a]
        for a, (n, s) in enumerate(zip(x.shape, x.strides, strict=True))
    ]
    return np.lib.stride_tricks.as_strided(made, made.shape, steps)


def _compare(got: Any, expected: Any) -> None:
    parts = [x if isinstance(x, (tuple, list)) else (x,) for x in (got, expected)]
    for a, b in zip(*parts, strict=True):
        close = {"rtol": 2e-3} if np.asarray(b).dtype == np.float16 else {"rtol": 1e-5}
        np.testing.assert_allclose(a, b, **close, atol=1e-12)


def main() -> int:
    """Check seeds; returns 1 if one was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.random.layouts", description=__doc__)
    parser.add_argument("--seeds", default="0:1000", help="first:end")
    arguments = parser.parse_args()
    first, end = map(int, arguments.seeds.split(":"))
    worth._OPERATION = float("inf")  # short functions are compiled, too
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
