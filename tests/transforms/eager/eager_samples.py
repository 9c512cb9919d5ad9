"""Functions of one vector that call functions through others, index objects of NumPy, and the like.

Their gradients compile, and so they must be had by runs operation by operation as well.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
import operator
from functools import partial, reduce
from typing import Any

import numpy as np
import scipy.special as sp

X = np.array([0.5, 1.5])
W = np.array([1.0, 2.0])


def sine_times(a, b):
    return math.sin(a) * b


def squares(a, b):
    y = np.zeros(2)
    y[0] = a
    y[1] = b * a
    return np.dot(y, y)


def bessel(a, b):
    return sp.jv(1, a * b)


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, v):
        return math.exp(v) * self.factor

    def method(self, v):
        return math.exp(v) * self.factor


def ordered(x):
    items = [x[1], x[0]]
    items.sort(key=lambda v: math.sin(v))
    return items[0] * 2


PROGRAMS: dict[str, Any] = {
    "ordered": ordered,
    "map_partial_math": lambda x: sum(map(partial(sine_times, x[0]), [1.0, 2.0])),
    "map_partial_store": lambda x: sum(map(partial(squares, x[0]), [1.0, 2.0])),
    "map_partial_array": lambda x: np.sum(sum(map(partial(bessel, x), [1.0, 2.0]))),
    "map_lambda": lambda x: sum(map(lambda v, w: math.sin(v) * w, x, x)),
    "map_math": lambda x: sum(map(math.sin, x)),
    "map_np": lambda x: sum(map(np.sin, x)),
    "map_two": lambda x: sum(map(sine_times, x, x)),
    "map_two_store": lambda x: sum(map(squares, x, x)),
    "reduce": lambda x: reduce(lambda a, b: sine_times(a, b), x),
    "reduce_g": lambda x: reduce(sine_times, x),
    "reduce_gn": lambda x: reduce(squares, x),
    "accumulate": lambda x: sum(itertools.accumulate(x, sine_times)),
    "starmap": lambda x: sum(itertools.starmap(sine_times, [(x[0], x[1])])),
    "maxkey": lambda x: max(x, key=lambda v: sine_times(v, -v)),
    "maxkey2": lambda x: max(x, key=partial(sine_times, 2.0)),
    "minkey": lambda x: min([x[0], x[1]], key=math.sin),
    "partial_call": lambda x: partial(sine_times, x[0])(2.0),
    "partial_np": lambda x: partial(np.power, x)(2).sum(),
    "partial_np_map": lambda x: sum(map(partial(np.power, 2.0), x)),
    "obj": lambda x: Scaled(x[0])(x[1]),
    "obj_map": lambda x: sum(map(Scaled(x[0]), x)),
    "meth_map": lambda x: sum(map(Scaled(x[0]).method, x)),
    "listcomp": lambda x: sum([sine_times(v, v) for v in x]),
    "genexp": lambda x: sum(sine_times(v, v) for v in x),
    "zip": lambda x: sum(sine_times(a, b) for a, b in zip(x, W, strict=True)),
    "enumerate": lambda x: sum(sine_times(a, b) for b, a in enumerate(x)),
    "operator": lambda x: reduce(operator.mul, x),
    "math_prod": lambda x: math.prod(x),
    "hypot": lambda x: math.hypot(x[0], x[1]),
    "sumstart": lambda x: sum(x, x[0]),
    "iv_scalar": lambda x: sp.iv(1, x).sum(),
    "iv_arr": lambda x: sp.iv(np.arange(2), x).sum(),
    "iv_int": lambda x: sp.iv(x.astype(int), x).sum(),
    "iv_len": lambda x: sp.iv(len(x), x).sum(),
    "iv_round": lambda x: sp.iv(np.round(x + 0.1), x).sum(),
    "iv_like": lambda x: sp.iv(np.full_like(x, 1.5), x).sum(),
    "iv_zeros": lambda x: sp.iv(np.zeros(2), x).sum(),
    "iv_const": lambda x: sp.iv(np.zeros(2) + 1, x).sum(),
    "iv_loop": lambda x: sum(sp.iv(v, x).sum() for v in (0.5, 1.5)),
    "ive": lambda x: sp.ive(1.0, x).sum(),
    "gammainc": lambda x: sp.gammainc(2.0, x).sum(),
    "gammainc_ones": lambda x: sp.gammainc(np.ones(2), x).sum(),
    "linspace": lambda x: np.linspace(x[0], x[1], 3).sum(),
    "select": lambda x: np.select([x > 1, x <= 1], [x, x * x]).sum(),
    "interp": lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, 3.0, 1.0]).sum(),
    "einsum": lambda x: np.einsum("i,i", x, x),
    "block": lambda x: np.block([[np.eye(2), x[:, None]], [x[None], np.ones((1, 1))]]).sum(),
    "array": lambda x: np.array([x[0], x[1] * 2]).sum(),
    "array2": lambda x: np.array([[x[0], 1.0], [2.0, x[1]]]).sum(),
    "asarray": lambda x: np.asarray([x, x]).sum(),
    "stack": lambda x: np.stack([x, x]).sum(),
    "r_": lambda x: np.r_[x, x].sum(),
    "c_": lambda x: (np.c_[x, x * x] ** 2).sum(),
    "r_many": lambda x: np.r_[x, np.ones(2), 0:3].sum(),
    "r_const": lambda x: (np.r_[np.ones(1), np.zeros(1)] * x).sum(),
    "c_mat": lambda x: np.c_[x, np.ones((2, 2))].sum(),
    "dictfun": lambda x: {"f": sine_times}["f"](x[0], 2.0),
    "star": lambda x: sine_times(*x),
    "kw": lambda x: sine_times(a=x[0], b=x[1]),
    "walrus": lambda x: (y := x * x).sum() + y[0],
    "ternary": lambda x: sine_times(x[0], x[1]) if x[0] > 0 else x[1],
    "chained": lambda x: x[0] if 0 < x[0] < 1 else x[1],
    "anyall": lambda x: x[0] * 2 if all(v > 0 for v in x) else x[1],
    "abs_": lambda x: sum(map(abs, x)),
    "pow_": lambda x: pow(x[0], 2),
    "divmod_": lambda x: divmod(x[1], 1.0)[1],
    "round_": lambda x: round(x[0], 1) + x[1],
    "float_": lambda x: float(x[0]) * float(x[1]),
    "item": lambda x: x[0].item() * 2,
    "complex_": lambda x: abs(complex(x[0], x[1])),
    "sort": lambda x: np.sort(x)[0],
    "median": lambda x: np.median(x),
    "fft": lambda x: np.abs(np.fft.fft(x)).sum(),
    "T": lambda x: x.T.sum(),
    "polyval": lambda x: np.polyval([1.0, 2.0], x).sum(),
    "polyval2": lambda x: np.polyval(x, 2.0),
    "trapz": lambda x: np.trapezoid(x),
    "gradient": lambda x: np.gradient(x).sum(),
    "meshgrid": lambda x: sum(np.meshgrid(x, x)).sum(),
    "outer": lambda x: np.multiply.outer(x, x).sum(),
    "reduceat": lambda x: np.add.reduceat(x, [0, 1])[0],
    "ufreduce": lambda x: np.multiply.reduce(x),
    "accum": lambda x: np.add.accumulate(x).sum(),
    "iv_numpy": lambda x: sp.iv(np.float64(1.5), x).sum(),
    "iv_single": lambda x: sp.iv(np.float32(1.5), x).sum(),
    "median_axis": lambda x: np.median(x, axis=np.int64(0)),
    "sortedkey": lambda x: sorted([x[0], x[1]], key=lambda v: -sine_times(v, v))[0] * 2,
    "tolist": lambda x: sum(x.tolist()),
    "ndindex": lambda x: sum(x[i] for i in np.ndindex(2)),
    "takewhile": lambda x: sum(itertools.takewhile(lambda v: math.sin(v) < 0.9, x)),
    "nlargest": lambda x: heapq.nlargest(1, list(x), key=math.sin)[0],
    "nsmallest": lambda x: heapq.nsmallest(1, list(x), key=lambda v: math.sin(v))[0],
    "flat": lambda x: sum(x.flat),
    "bisect": lambda x: x[bisect.bisect([0.1, 0.2, 2.0], 0.5, key=lambda v: math.sin(v)) - 2],
}

#: These are not compiled themselves.
EAGER: dict[str, Any] = {
    "filter": lambda x: sum(filter(lambda v: sine_times(v, v) > 0.5, x)),
    "filter2": lambda x: sum(filter(partial(sine_times, 1.0), x)),
    "dropwhile": lambda x: sum(itertools.dropwhile(lambda v: math.sin(v) < 0.9, x)),
    "filterfalse": lambda x: sum(itertools.filterfalse(lambda v: math.sin(v) < 0.9, x)),
    "groupby": lambda x: sum(sum(g) for _, g in itertools.groupby(x, lambda v: math.sin(v) > 0.9)),
}

#: Functions of (order, x), differentiated by x.
OF_AN_ORDER = [
    lambda v, x: np.sum(sp.iv(v, x)),
    lambda v, x: np.sum(sp.jv(v, x)),
    lambda v, x: np.sum(sp.gammainc(v, x)),
    lambda v, x: sum(sp.kv(v + k, x).sum() for k in range(3)),
    lambda v, x: sp.iv(v, x).sum() if np.all(v > 0) else 0.0,
]
ORDERS = [1, 1.5, np.float32(1.5), np.int64(2), np.array(1.5), np.array([1.0, 2.0])]
