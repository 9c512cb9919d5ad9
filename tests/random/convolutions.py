"""Random convolutions, in all the ways that people write them, and loops that look like them.

`generate(seed)` gives the text of a module with the function `f(x, w)`, linear in each, and what
to call it with. `check(seed)` holds the compiled function against NumPy, for two sizes, and its
gradient against differences, which of such a function are exact.

python -m tests.random.convolutions --seeds 0:1000
"""

from __future__ import annotations

import itertools
import linecache
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Case", "generate"]


_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Case:
    """The text of `f(x, w)`, the shapes of its arguments in two calls, and their dtype."""

    text: str
    shapes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    dtype: str

    @property
    def strict(self) -> bool:
        """Whether it must be compiled: of axes of one place strides are not known."""
        return "strides[" not in self.text

    def function(self) -> Callable[..., Any]:
        """`f`."""
        namespace: dict[str, Any] = {}
        name = f"<convolution {next(_NUMBERS)}>"
        linecache.cache[name] = (len(self.text), None, self.text.splitlines(True), name)
        code = compile(self.text, name, "exec")
        exec(code, namespace)
        f: Callable[..., Any] = namespace["f"]
        return f

    def calls(self, seed: int, dtype: str = "") -> list[tuple[Any, Any]]:
        """Arguments."""
        rng = np.random.default_rng(seed)
        found = []
        for shapes in self.shapes:
            given = [_array(rng, shape, dtype or self.dtype) for shape in shapes]
            found.append((given[0], given[1]))
        return found


def _array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Numbers, at times in another order in memory, or every second of an array, or backwards."""
    how = rng.integers(6)
    if how == 0 and shape:
        return np.ascontiguousarray(rng.standard_normal(shape[::-1]).astype(dtype)).T
    if how == 1 and shape:
        return rng.standard_normal((*shape[:-1], 2 * shape[-1])).astype(dtype)[..., ::2]
    if how == 2 and shape:
        return rng.standard_normal(shape).astype(dtype)[..., ::-1]
    return rng.standard_normal(shape).astype(dtype)


HEAD = """\
import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

"""


class _Generator:
    """Writes one function. x is (n, c, *space) or (n, *space, c), w (o, c, *taps) in any order."""

    def __init__(self, seed: int) -> None:
        self.random = r = random.Random(seed)
        self.nd = nd = r.choice((1, 1, 2, 2, 2, 3))
        self.stride = [r.choice((1, 1, 1, 2, 3)) for _ in range(nd)]
        self.dilation = [r.choice((1, 1, 1, 2)) for _ in range(nd)]
        self.taps = [r.choice((1, 2, 3, 3, 4)) for _ in range(nd)]
        self.last = r.random() < 0.4
        #: The letters of the axes of w, in its order.
        letters = list("oc" + "ijk"[:nd])
        if r.random() < 0.3:
            r.shuffle(letters)
        self.w_axes = "".join(letters)
        self.lines: list[str] = []

    def case(self) -> Case:
        r = self.random
        self._padding()
        self._begin()
        form = r.choice(FORMS)
        getattr(self, "_" + form)()
        text = HEAD + "def f(x, w):\n" + "".join(f"    {line}\n" for line in self.lines)
        shapes = (self._shapes(False), self._shapes(r.random() < 0.2))
        return Case(text, shapes, r.choice(("f4", "f8", "f8")))

    def _shapes(self, large: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        r = self.random
        n, c = r.choice((1, 2, 3, 5)), r.choice((1, 2, 3, 4, 17))
        sizes = {"o": r.choice((1, 2, 5, 8, 12, 33)), "c": c}
        space = []
        for k in range(self.nd):
            taps = r.choice((1, 2, 3, 5)) if large else self.taps[k]
            sizes["ijk"[k]] = taps
            span = self.dilation[k] * (taps - 1) + 1
            space.append(span + r.choice((0, 1, 2, 5, 9, 14 if self.nd < 3 else 3)))
        own = (n, *space, c) if self.last else (n, c, *space)
        return own, tuple(sizes[a] for a in self.w_axes)

    def add(self, *lines: str) -> None:
        self.lines += lines

    def _padding(self) -> None:
        r = self.random
        if r.random() < 0.5:
            return
        around = [(r.randrange(3), r.randrange(3)) for _ in range(self.nd)]
        outer = [(0, 0), *around, (0, 0)] if self.last else [(0, 0), (0, 0), *around]
        how = r.randrange(3)
        if how == 0:
            self.add(f"x = np.pad(x, {outer})")
        elif how == 1:
            self.add(f"x = np.pad(x, {outer}, mode='edge')")
        else:
            shape = ", ".join(f"x.shape[{k}] + {a + b}" for k, (a, b) in enumerate(outer))
            at = ", ".join(f"{a}:{a} + x.shape[{k}]" for k, (a, _) in enumerate(outer))
            self.add(f"padded = np.zeros(({shape}), x.dtype)", f"padded[{at}] = x", "x = padded")

    def _begin(self) -> None:
        """Names for the sizes: n, c, o, k0.., h0.. (of the result)."""
        first = 1 if self.last else 2
        self.add(f"n, c = x.shape[0], x.shape[{-1 if self.last else 1}]")
        self.add(f"o = w.shape[{self.w_axes.index('o')}]")
        for k in range(self.nd):
            d, s = self.dilation[k], self.stride[k]
            self.add(f"k{k} = w.shape[{self.w_axes.index('ijk'[k])}]")
            self.add(f"h{k} = (x.shape[{first + k}] - {d} * (k{k} - 1) - 1) // {s} + 1")

    def _all(self, prefix: str) -> str:
        return ", ".join(f"{prefix}{k}" for k in range(self.nd))

    def _x(self, parts: Sequence[str]) -> str:
        inner = ", ".join(parts)
        return f"x[:, {inner}]" if self.last else f"x[:, :, {inner}]"

    @property
    def x_axes(self) -> str:
        space = "hpq"[: self.nd]
        return f"n{space}c" if self.last else f"nc{space}"

    @property
    def y_axes(self) -> str:
        space = "hpq"[: self.nd]
        return self.random.choice((f"n{space}o", f"no{space}"))

    def _tap_first(self) -> None:
        """w as (o, c, taps)."""
        order = tuple(self.w_axes.index(a) for a in "oc" + "ijk"[: self.nd])
        if order != tuple(range(len(order))):
            self.add(f"w = w.transpose({order})")

    def _part(self, k: int, tap: str) -> str:
        """The part of axis k of x that a tap meets."""
        d, s = self.dilation[k], self.stride[k]
        first = tap if d == 1 else f"{d} * {tap}"
        most = f"{first} + {s} * (h{k} - 1) + 1" if s > 1 else f"{first} + h{k}"
        if s > 1 and self.random.random() < 0.4:
            most = f"{first} + {s} * h{k}"
        return f"{first}:{most}:{s}" if s > 1 else f"{first}:{most}"

    def _windows_view(self) -> str:
        """Lines for p, windows of x; returns its axes."""
        axes = tuple(range(1, 1 + self.nd)) if self.last else tuple(range(2, 2 + self.nd))
        if self.random.random() < 0.3:
            # By strides.
            steps = [f"{s} * x.strides[{a}]" for s, a in zip(self.stride, axes, strict=True)]
            moves = [f"{d} * x.strides[{a}]" for d, a in zip(self.dilation, axes, strict=True)]
            channel = -1 if self.last else 1
            self.add(
                f"p = as_strided(x, (n, c, {self._all('h')}, {self._all('k')}), "
                f"(x.strides[0], x.strides[{channel}], {', '.join(steps + moves)}))"
            )
            return "nc" + "hpq"[: self.nd] + "ijk"[: self.nd]
        spans = ", ".join(f"{d} * (k{k} - 1) + 1" for k, d in enumerate(self.dilation))
        self.add(f"p = sliding_window_view(x, ({spans},), axis={axes})")
        steps = [f"::{s}" for s in self.stride] + ([":"] if self.last else [])
        moves = [f"::{d}" for d in self.dilation]
        outer = [":"] if self.last else [":", ":"]
        self.add(f"p = p[{', '.join(outer + steps + moves)}]")
        return self.x_axes + "ijk"[: self.nd]

    def _windows_einsum(self) -> None:
        axes = self._windows_view()
        self.add(f"return np.einsum('{axes},{self.w_axes}->{self.y_axes}', p, w)")

    def _depthwise(self) -> None:
        axes = self._windows_view()
        out = self.random.choice((self.x_axes, "o" + self.x_axes, "n" + "hpq"[: self.nd] + "co"))
        self.add(f"return np.einsum('{axes},{self.w_axes}->{out}', p, w)")

    def _some_einsum(self) -> None:
        """Any letters of both are kept."""
        axes = self._windows_view()
        letters = sorted(set(axes + self.w_axes))
        keep = [a for a in letters if self.random.random() < 0.5]
        self.random.shuffle(keep)
        self.add(f"return np.einsum('{axes},{self.w_axes}->{''.join(keep)}', p, w)")

    def _windows_tensordot(self) -> None:
        axes = self._windows_view()
        pairs = [(axes.index(a), self.w_axes.index(a)) for a in "c" + "ijk"[: self.nd]]
        a, b = zip(*pairs, strict=True)
        self.add(f"return np.tensordot(p, w, axes=({a}, {b}))")

    def _windows_matmul(self) -> None:
        axes = self._windows_view()
        rows, inner = "n" + "hpq"[: self.nd], "c" + "ijk"[: self.nd]
        order = tuple(axes.index(a) for a in rows + inner)
        self._tap_first()
        size = f"c * {' * '.join(f'k{k}' for k in range(self.nd))}"
        self.add(f"p = p.transpose({order}).reshape(-1, {size})")
        self.add(f"return (p @ w.reshape(o, -1).T).reshape(n, {self._all('h')}, o)")

    def _columns(self) -> None:
        """Columns by loops over taps."""
        self._tap_first()
        taps, space = self._all("k"), self._all("h")
        first = self.random.random() < 0.5
        shape = f"n, c, {taps}, {space}" if not self.last else f"n, {taps}, {space}, c"
        fill = self.random.choice(("empty", "zeros"))
        self.add(f"columns = np.{fill}(({shape}), x.dtype)")
        names = "ijk"[: self.nd]
        for k in range(self.nd):
            self.add("    " * k + f"for {names[k]} in range(k{k}):")
        part = self._x([self._part(k, names[k]) for k in range(self.nd)])
        lead = ":, :, " if not self.last else ":, "
        self.add("    " * self.nd + f"columns[{lead}{', '.join(names)}] = {part}")
        # In the order n, c, taps, space.
        if self.last:
            nd = self.nd
            self.add(f"columns = columns.transpose({(0, 2 * nd + 1, *range(1, 2 * nd + 1))})")
        size = f"c * {' * '.join(f'k{k}' for k in range(self.nd))}"
        if first:
            self.add(f"y = w.reshape(o, -1) @ columns.reshape(n, {size}, -1)")
            self.add(f"return y.reshape(n, o, {space})")
        else:
            order = (1, *range(2, 2 + self.nd), 0, *range(2 + self.nd, 2 + 2 * self.nd))
            self.add(f"columns = columns.transpose({order}).reshape({size}, -1)")
            self.add(f"return (w.reshape(o, -1) @ columns).reshape(o, n, {space})")

    def _shifted(self) -> None:
        """The result as a sum over taps."""
        axes, out = self.x_axes, self.y_axes
        sizes = {"n": "n", "o": "o"} | {"hpq"[k]: f"h{k}" for k in range(self.nd)}
        self.add(f"y = np.zeros(({', '.join(sizes[a] for a in out)}), x.dtype)")
        names = "ijk"[: self.nd]
        for k in range(self.nd):
            self.add("    " * k + f"for {names[k]} in range(k{k}):")
        at = ", ".join(a if a in names else ":" for a in self.w_axes)
        rest = "".join(a for a in self.w_axes if a in "oc")
        part = self._x([self._part(k, names[k]) for k in range(self.nd)])
        if self.last and out.endswith("o") and self.random.random() < 0.5:
            matrix = f"w[{at}]" if rest == "co" else f"w[{at}].T"
            self.add("    " * self.nd + f"y += {part} @ {matrix}")
        else:
            self.add("    " * self.nd + f"y += np.einsum('{axes},{rest}->{out}', {part}, w[{at}])")
        self.add("return y")

    def _positions(self) -> None:
        """The result, one place after another."""
        out = self.y_axes
        sizes = {"n": "n", "o": "o"} | {"hpq"[k]: f"h{k}" for k in range(self.nd)}
        self.add(f"y = np.empty(({', '.join(sizes[a] for a in out)}), x.dtype)")
        parts = []
        for k in range(self.nd):
            self.add("    " * k + f"for {'hpq'[k]} in range(h{k}):")
            d, s = self.dilation[k], self.stride[k]
            first = f"{s} * {'hpq'[k]}" if s > 1 else "hpq"[k]
            end = f"{first} + {d} * (k{k} - 1) + 1"
            parts.append(f"{first}:{end}:{d}" if d > 1 else f"{first}:{end}")
        part = self._x(parts)
        at = ", ".join(a if a in "hpq" else ":" for a in out)
        axes = "n" + "ijk"[: self.nd] + "c" if self.last else "nc" + "ijk"[: self.nd]
        pairs = [(axes.index(a), self.w_axes.index(a)) for a in "c" + "ijk"[: self.nd]]
        a, b = zip(*pairs, strict=True)
        self.add("    " * self.nd + f"y[{at}] = np.tensordot({part}, w, axes=({a}, {b}))")
        self.add("return y")

    def _grids(self, image: str = "") -> list[str]:
        """Lines for e0.., the places of the windows in x, as (h.., k..)."""
        found = []
        for k in range(self.nd):
            after = self.nd * 2 - 1
            windows = f"np.arange(h{k}).reshape({', '.join(['-1'] + ['1'] * (after - k))})"
            taps = f"np.arange(k{k}).reshape({', '.join(['-1'] + ['1'] * (self.nd - 1 - k))})"
            self.add(f"e{k} = {self.stride[k]} * {windows} + {self.dilation[k]} * {taps}")
            found.append(f"e{k}")
        return found

    def _indices(self) -> None:
        places = ", ".join(self._grids())
        inner = "hpq"[: self.nd] + "ijk"[: self.nd]
        axes = f"n{inner}c" if self.last else f"nc{inner}"
        lead = ":" if self.last else ":, :"
        self.add(f"p = x[{lead}, {places}]")
        how = self.random.randrange(3)
        if how == 0:
            self.add(f"return np.einsum('{axes},{self.w_axes}->{self.y_axes}', p, w)")
            return
        self._tap_first()
        order = tuple(axes.index(a) for a in "n" + "hpq"[: self.nd] + "c" + "ijk"[: self.nd])
        self.add(
            f"p = p.transpose({order}).reshape(n * {self._times('h')}, c * {self._times('k')})"
        )
        self.add(f"return (p @ w.reshape(o, -1).T).reshape(n, {self._all('h')}, o)")

    def _times(self, prefix: str) -> str:
        return " * ".join(f"{prefix}{k}" for k in range(self.nd))

    def _transposed(self) -> None:
        """x is what a convolution gave: its taps are added to an image."""
        self._tap_first()
        first = 1 if self.last else 2
        self.add(*(f"h{k} = x.shape[{first + k}]" for k in range(self.nd)))
        for k in range(self.nd):
            d, s = self.dilation[k], self.stride[k]
            more = self.random.randrange(3)
            self.add(f"m{k} = {s} * (h{k} - 1) + {d} * (k{k} - 1) + 1 + {more}")
        names = "ijk"[: self.nd]
        how = self.random.randrange(3)
        x = f"{self.x_axes},oc{names}"
        space = "hpq"[: self.nd]
        if how == 0:
            self.add(f"y = np.zeros((n, o, {self._all('m')}), x.dtype)")
            for k in range(self.nd):
                self.add("    " * k + f"for {names[k]} in range(k{k}):")
            at = ", ".join(self._part(k, names[k]) for k in range(self.nd))
            tap = ", ".join(names)
            self.add(
                "    " * self.nd + f"y[:, :, {at}] += "
                f"np.einsum('{self.x_axes},oc->no{space}', x, w[:, :, {tap}])"
            )
        elif how == 1:
            places = ", ".join(self._grids())
            self.add(f"v = np.einsum('{x}->no{space}{names}', x, w)")
            self.add(f"y = np.zeros((n, o, {self._all('m')}), x.dtype)")
            self.add(f"np.add.at(y, (slice(None), slice(None), {places}), v)")
        else:
            self.add(f"v = np.einsum('{x}->no{names}{space}', x, w)")
            self.add(f"y = np.zeros((n, o, {self._all('m')}), x.dtype)")
            for k in range(self.nd):
                self.add("    " * k + f"for {names[k]} in range(k{k}):")
            at = ", ".join(self._part(k, names[k]) for k in range(self.nd))
            self.add("    " * self.nd + f"y[:, :, {at}] += v[:, :, {', '.join(names)}]")
        if self.random.random() < 0.5:
            cut = ", ".join("1:" if self.random.random() < 0.5 else ":-1" for _ in range(self.nd))
            self.add(f"y = y[:, :, {cut}]")
        self.add("return y")

    def _groups(self) -> None:
        """Every channel of x with all of w: the channels are groups."""
        axes = self._windows_view()
        self._tap_first()
        inner = "ijk"[: self.nd]
        order = tuple(axes.index(a) for a in "cn" + "hpq"[: self.nd] + inner)
        self.add(f"p = p.transpose({order}).reshape(c, -1, {self._times('k')})")
        self.add(f"q = w.transpose(1, {', '.join(map(str, range(2, 2 + self.nd)))}, 0)")
        self.add(f"return p @ q.reshape(c, {self._times('k')}, o)")


FORMS = (
    *("windows_einsum", "depthwise", "some_einsum", "windows_tensordot", "windows_matmul"),
    *("columns", "shifted", "positions", "indices", "transposed", "transposed", "groups"),
)


def generate(seed: int) -> Case:
    """The same case for the same seed."""
    return _Generator(seed).case()
