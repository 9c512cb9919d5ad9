"""np.einsum on tracers: diagonals, sums of single labels, then pairwise matrix products."""

from __future__ import annotations

from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from tracejit.base.locks import once
from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype, fit_dims
from tracejit.frontend.numpy.linalg.products import diagonal_view, from_zero, matrix_product
from tracejit.frontend.numpy.memory_orders import in_order, of_unknown_order
from tracejit.frontend.numpy.outputs import accepts_out
from tracejit.frontend.numpy.registry import handles, only
from tracejit.frontend.numpy.shape import permuted, reshaped
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.memory.layout import axis_ranks
from tracejit.frontend.tracing.tracer import TracedArray, here, user_line, wrap
from tracejit.ir.dims import Dim, prod
from tracejit.ops.array.axis_orders import iterator_order

__all__: list[str] = []

#: Labels for the axes that an ellipsis stands for, from the last one.
_ELLIPSIS = [chr(0x1000 + k) for k in range(64)]


def _expanded(labels: str, ndim: int) -> str:
    """The labels of one operand with its ellipsis written out."""
    if "..." not in labels:
        if len(labels) != ndim:
            raise ValueError("operand has a different number of dimensions than its subscripts")
        return labels
    head, tail = labels.split("...")
    count = ndim - len(head) - len(tail)
    if count < 0:
        raise ValueError("einstein sum subscripts string contains too many subscripts for operand")
    return head + "".join(reversed(_ELLIPSIS[:count])) + tail


def _parse(subscripts: str, arrays: list[TracedArray]) -> tuple[list[str], str]:
    """The labels of the operands and of the result. Raises ValueError for a malformed string."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(arrays):
        raise ValueError("more or fewer operands provided to einstein sum than specified")
    for term in (*terms, right):
        letters = term.replace("...", "", 1)
        if letters and not (letters.isalpha() and letters.isascii()):
            raise ValueError(f"invalid subscript in einstein sum subscripts string: {term!r}")
    labels = [_expanded(t, x.ndim) for t, x in zip(terms, arrays, strict=True)]
    used = "".join(labels)
    dots = "".join(e for e in reversed(_ELLIPSIS) if e in used)
    if arrow:
        result = right.replace("...", dots)
        if "..." not in right and dots:
            raise ValueError("output has no ellipsis but the operands have broadcast axes")
    else:
        single = sorted(c for c in set(used) - set(dots) if used.count(c) == 1)
        result = dots + "".join(single)
    if len(set(result)) != len(result) or not set(result) <= set(used):
        raise ValueError("einstein sum subscripts string has a wrong output subscript")
    return labels, result


def _with_letters(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands with lists of numbers behind them, as a string of subscripts and operands."""
    pairs = len(operands) // 2 * 2
    lists = [*operands[1:pairs:2], *operands[pairs:]]
    texts = []
    for labels in lists:
        known = [k if k is Ellipsis else _letter(k) for k in labels]
        texts.append("".join("..." if k is Ellipsis else k for k in known))
    arrow = ["->" + texts.pop()] if len(operands) > pairs else []
    return ("".join([",".join(texts), *arrow]), *operands[:pairs:2])


def _letter(k: Any) -> str:
    if not isinstance(k, (int, np.integer)) or not 0 <= k < len(ascii_letters):
        raise TraceError("TJ004", "np.einsum with such a label", user_line())
    return (ascii_uppercase + ascii_lowercase)[int(k)]


def _without_repeats(x: TracedArray, labels: str) -> tuple[TracedArray, str]:
    """Diagonals taken where an operand names one label twice."""
    for c in sorted(set(labels)):
        while labels.count(c) > 1:
            i = labels.index(c)
            j = labels.index(c, i + 1)
            if not here().env.expect(x.type.shape[i], "==", x.type.shape[j]):
                raise TraceError("TJ004", "np.einsum of a label of several sizes", user_line())
            x = diagonal_view(x, 0, i, j, True)
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + c
    return x, labels


def _summed(x: TracedArray, labels: str, keep: set[str]) -> tuple[TracedArray, str]:
    axes = tuple(k for k, c in enumerate(labels) if c not in keep)
    if not axes:
        return x, labels
    total = np.sum(x, axis=axes, dtype=x.dtype) if x.dtype.kind != "b" else np.any(x, axis=axes)
    return asarray(from_zero(total)), "".join(c for c in labels if c in keep)


def _arranged(x: TracedArray, labels: str, target: str, sizes: dict[str, Dim]) -> TracedArray:
    """`x` with its axes in the order of `target`; one that it lacks has size 1."""
    order = [labels.index(c) for c in target if c in labels]
    moved = permuted(x, order)
    shape = iter(moved.type.shape)
    env = here().env
    new = []
    for c in target:
        d = next(shape) if c in labels else 1
        new.append(1 if d != sizes[c] and env.is_one(d) else sizes[c] if d != 1 else 1)
    return fit_dims(moved, tuple(new))


def _pair(
    x: TracedArray, a: str, y: TracedArray, b: str, keep: set[str], sizes: dict[str, Dim]
) -> tuple[TracedArray, str]:
    """The product of two operands, summed over the labels that nothing else needs."""
    x, a = _summed(x, a, keep | set(b))
    y, b = _summed(y, b, keep | set(a))

    def whole(z: TracedArray, labels: str, c: str) -> bool:
        d = z.type.shape[labels.index(c)]
        return d == sizes[c] or here().env.decide(d, "==", sizes[c])

    gone = [c for c in a if c in b and c not in keep]
    rows = "".join(c for c in a if c not in b)
    columns = "".join(c for c in b if c not in a)
    # A kernel reads what no library reads twice. (Half precision is added up in single there.)
    once = not (rows and columns if x.dtype.kind == "c" else rows or columns)
    once = once and x.dtype.char != "e"
    if not gone or once or any(not (whole(x, a, c) and whole(y, b, c)) for c in gone):
        target = a + "".join(c for c in b if c not in a)
        both = elementwise(
            np.multiply, (_arranged(x, a, target, sizes), _arranged(y, b, target, sizes))
        )
        return _summed(asarray(both), target, keep)
    shared = "".join(c for c in a if c in b and c in keep)
    inner = "".join(gone)
    left = _arranged(x, a, shared + rows + inner, sizes)
    right = _arranged(y, b, shared + inner + columns, sizes)
    lead, n = left.type.shape[: len(shared)], prod([sizes[c] for c in inner])
    lead_right = right.type.shape[: len(shared)]
    left = reshaped(left, (*lead, prod(left.type.shape[len(shared) : len(shared + rows)]), n))
    right = reshaped(right, (*lead_right, n, prod(right.type.shape[len(shared + inner) :])))
    product = _product_of_parts(left, right) if x.dtype.kind == "c" else matrix_product(left, right)
    tail = (*(sizes[c] for c in rows), *(sizes[c] for c in columns))
    return reshaped(product, (*product.type.shape[: len(shared)], *tail)), shared + rows + columns


def _product_of_parts(x: TracedArray, y: TracedArray) -> TracedArray:
    """The matrix product of complex operands from products of their parts.

    A complex one of BLAS scales its result by 1 + 0j, which makes NaN of infinities.
    """
    squares = matrix_product(x.real, y.real), matrix_product(x.imag, y.imag)
    crossed = matrix_product(x.real, y.imag), matrix_product(x.imag, y.real)
    parts = elementwise(np.subtract, squares), elementwise(np.add, crossed)
    trace = here()
    return asarray(wrap(trace, trace.emit("make_complex", [p.value() for p in parts])))


@handles(np.einsum)
@accepts_out("np.einsum", apart=True)
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """Einstein's summation from a string of subscripts, operand by operand from the left."""
    only("np.einsum", **kwargs)
    if operands and not isinstance(operands[0], str):
        operands = _with_letters(operands)
    if not operands:
        raise TraceError("TJ004", "np.einsum of nothing", user_line())
    arrays = [asarray(x) for x in operands[1:]]
    if not arrays:
        raise ValueError("must provide at least an operand to einsum")
    dtype = np.result_type(*(x.dtype for x in arrays))
    labels, result = _parse(operands[0], arrays)
    sizes: dict[str, Dim] = {}
    env = here().env
    views = []
    for k, (x, term) in enumerate(zip(arrays, labels, strict=True)):
        single, labels[k] = _without_repeats(x, term)
        views.append((single, labels[k]))
        arrays[k] = astype(single, dtype)
        for c, d in zip(term, x.type.shape, strict=True):
            have = sizes.get(c, 1)
            if have == 1 or env.is_one(have):
                sizes[c] = d
            elif d != have and not env.is_one(d) and not env.expect(d, "==", have):
                raise ValueError(f"operands could not be broadcast together over {c!r}")
    x, a = arrays[0], labels[0]
    contracted = False
    for k in range(1, len(arrays)):
        later = set(result).union(*labels[k + 1 :])
        contracted = bool(_shared(x, a, arrays[k], labels[k]) - later)
        x, a = _pair(x, a, arrays[k], labels[k], later, sizes)
    x, a = _summed(x, a, set(result))
    x = permuted(x, [a.index(c) for c in result])
    if optimize is False and len(arrays) > 1 and not contracted:
        x = asarray(from_zero(x))
    if x.ndim > 1 and optimize is not False and len(arrays) > 1:
        x = of_unknown_order(x)
    elif x.ndim > 1 and (len(arrays) > 1 or set(a) != set(labels[0])):
        order = _order(views, result)
        x = of_unknown_order(x) if order is None else in_order(x, order)
    if x.ndim or optimize is not False and _keeps_arrays():
        return x
    if optimize is not False and len(arrays) > 2:
        _require_one_group(arrays, labels, optimize)
        return x
    # A product of matrices stays an array without axes.
    return x if optimize is not False and contracted else x[()]


@once
def _keeps_arrays() -> bool:
    """Whether NumPy gives arrays without axes for all sums that it optimizes (before 2.4)."""
    return isinstance(np.einsum("i->", np.ones(1), optimize=True), np.ndarray)


def _order(operands: list[tuple[TracedArray, str]], result: str) -> tuple[int, ...] | None:
    """The axis order of NumPy's result; None where it is not known.

    Its iterator goes over the labels of the result, then over those that are summed.
    """
    labels = result + "".join(sorted({c for _, term in operands for c in term} - set(result)))
    known = []
    for x, term in operands:
        ranks = axis_ranks(x)
        if ranks is None:
            return None
        known.append([ranks[term.index(c)] if c in term else 0 for c in labels])
    return tuple(k for k in iterator_order(known) if k < len(result))


def _shared(x: TracedArray, a: str, y: TracedArray, b: str) -> set[str]:
    """The labels of two operands along which neither has one element."""
    env = here().env
    long = [
        {c for c, d in zip(labels, z.type.shape, strict=True) if not env.is_one(d)}
        for z, labels in ((x, a), (y, b))
    ]
    return long[0] & long[1]


def _require_one_group(arrays: list[TracedArray], labels: list[str], optimize: Any) -> None:
    """Raise TraceError where the order of NumPy's products decides whether a number or an array
    without axes comes of them: for operands in groups without a common label, and given orders.
    """
    rest = list(zip(arrays, labels, strict=True))
    group = [rest.pop()]
    for near in group:
        group += [far for far in rest if _shared(*near, *far)]
        rest = [far for far in rest if not any(far is found for found in group)]
    if rest or type(optimize) not in (bool, str):
        raise TraceError("TJ004", "np.einsum in such an order", user_line())
