"""Productions that change shapes, index, join, create, and multiply or solve matrices."""

from __future__ import annotations

import numpy as np

from tests.random.fuzz.draw import NUMBERS, Draw, Expression

RESHAPES = (
    *(
        "{x}.reshape(-1)",
        "{x}.ravel()",
        "{x}.T",
        "np.transpose({x})",
        "{x}.reshape({x}.shape[0], -1)",
    ),
    *("{x}.reshape({x}.shape[::-1])", "np.reshape({x}, (-1, 1))", "np.expand_dims({x}, {a})"),
    *("{x}[None]", "{x}[..., None]", "np.squeeze({x})", "np.flip({x}, {a})", "np.flip({x})"),
    *("np.roll({x}, {i}, {a})", "np.roll({x}, {i})", "np.repeat({x}, 2, axis={a})"),
    *("np.repeat({x}, 2)", "{x}.copy()", "np.swapaxes({x}, 0, {a})", "np.moveaxis({x}, {a}, 0)"),
    *("np.broadcast_to({x}, (2,) + {x}.shape)", "np.atleast_2d({x})", "{x}.flatten()"),
    *("np.tile({x}, 2)", "np.ravel({x}[::-1])", "{x}.swapaxes({a}, -1)", "np.rot90({x})"),
)


def reshape(d: Draw) -> Expression:
    x = d.array()
    return Expression(d.choice(RESHAPES).format(x=x, a=d.axis(x), i=d.integer(-3, 3)))


def permute(d: Draw) -> Expression:
    x = d.array(low=2)
    order = list(range(np.ndim(d.values[x])))
    d.rng.shuffle(order)
    return Expression(d.choice((f"np.transpose({x}, {order})", f"{x}.transpose({tuple(order)})")))


def join(d: Draw) -> Expression:
    x = d.array()
    others = [x] + [d.variable(like=x) if d.chance(0.8) else x for _ in range(d.integer(1, 2))]
    name = d.choice(("concatenate", "stack", "concatenate", "stack", "hstack", "vstack"))
    text = f"[{', '.join(others)}]" if d.chance(0.6) else f"({', '.join(others)})"
    axis = f", axis={d.axis(x)}" if name in ("concatenate", "stack") and d.chance(0.8) else ""
    return Expression(f"np.{name}({text}{axis})")


def _subscript(d: Draw, room: int) -> str:
    parts: list[str] = []
    dots = False
    for _ in range(d.integer(1, room)):
        choice = d.integer(0, 9)
        if choice < 2:
            parts.append(d.choice(("0", "-1", "1")))
        elif choice == 2:
            parts.append("None")
        elif choice == 3 and not dots:
            parts.append("...")
            dots = True
        else:
            bound = ("", "", "1", "2", "-1", "-2", "0", "30")
            start, stop = d.choice(bound), d.choice(bound)
            parts.append(f"{start}:{stop}" + d.choice(("", "", ":2", ":-1", ":-2", ":3")))
    return ", ".join(parts)


def index(d: Draw) -> Expression:
    x = d.array()
    return Expression(f"{x}[{_subscript(d, np.ndim(d.values[x]))}]")


def stencil(d: Draw) -> Expression:
    x = d.array("f")
    form = d.choice(
        (
            "{x}[1:] - {x}[:-1]",
            "({x}[2:] - 2 * {x}[1:-1] + {x}[:-2]) * 0.5",
            "({x}[..., 1:] + {x}[..., :-1]) / 2",
            "{x} + {x}[::-1]",
        )
    )
    return Expression(form.format(x=x))


def gather(d: Draw) -> Expression:
    x = d.array()
    constant = d.choice(("[0, -1, 0]", "np.array([[0], [-1]])", "np.array([], int)", "[0]"))
    if d.chance(0.4):
        return Expression(f"{x}[{constant}]")
    form = d.choice(
        ("{x}[{i} % {x}.shape[0]]", "{x}[..., {i} % {x}.shape[-1]]", "np.take({x}, {i} % {x}.size)")
        + ("{x}[{i}]", "{x}[:, {i} % {x}.shape[1]]", "{x}[{i} % {x}.shape[0], 0]")
    )
    return Expression(form.format(x=x, i=d.variable("iu", 0, 2)))


def mask(d: Draw) -> Expression:
    x = d.array()
    return Expression(f"{x}[{d.variable('b', like=x)}]")


# Creation, linear algebra and others ------------------------------------------------------------

CREATIONS = (
    *(
        "np.zeros_like({x})",
        "np.ones({x}.shape)",
        "np.full({x}.shape, {v})",
        "np.eye({x}.shape[0])",
    ),
    *("np.arange({x}.shape[0])", "np.arange({x}.size) * 0.5", "np.linspace(0, 1, {x}.shape[0])"),
    *("np.zeros(({x}.shape[0], 2), np.float32)", "np.arange(1, {x}.shape[0] + 2, 2)"),
    *("np.ones_like({x}, dtype=np.float32)", "np.full_like({x}, 2)", "np.array([1.0, {v}, 2.0])"),
    *("np.linspace({v}, 5, 7)", "np.arange(3.0)", "np.asarray({x})", "np.eye(2, 3)"),
)


def creation(d: Draw) -> Expression:
    return Expression(d.choice(CREATIONS).format(x=d.array(), v=d.choice(("2", "0.5", "-1"))))


def multiply_matrices(d: Draw) -> Expression:
    x = d.array(NUMBERS, 1, 3)
    y = d.variable(NUMBERS, like=x)
    form = d.choice(
        (
            "{x} @ {y}.T",
            "{x}.T @ {y}",
            "np.dot({x}, {y}.T)",
            "{x}.dot({y}.T)",
            "np.matmul({x}.T, {y})",
        )
        + ("np.einsum('...i,...i->...', {x}, {y})", "np.einsum('i...,i...->...', {x}, {y})")
        + ("np.einsum('ij,kj->ik', {x}, {y})", "np.einsum('ij,ij', {x}, {y})", "{x} @ {y}")
        + ("np.einsum('ij->j', {x})", "np.einsum('ij->ji', {x})")
    )
    text = form.format(x=x, y=y)
    return Expression(text, "exact" if d.exact(x, y) else "order", text)


def solve(d: Draw) -> Expression:
    x = d.array("f", 2, 3)
    matrix = f"({x} @ np.swapaxes({x}, -1, -2) + 30 * np.eye({x}.shape[-2]))"
    form = d.choice(
        ("np.linalg.inv({m})", "np.linalg.cholesky({m})", "np.linalg.solve({m}, {x})")
        + ("np.linalg.solve({m}, {x}[..., 0])",)
    )
    return Expression(form.format(m=matrix, x=x), "backward")


def norm(d: Draw) -> Expression:
    x = d.array("fc")
    text = f"np.linalg.norm({x}{d.choice(('', f', axis={d.axis(x)}', ', axis=-1, keepdims=True'))})"
    return Expression(text, "order", text)


def sizes(d: Draw) -> Expression:
    x = d.array()
    return Expression(
        d.choice(("{x}.shape[0]", "{x}.size", "len({x}) * 0.5", "{x}.ndim")).format(x=x)
    )


def softmax(d: Draw) -> Expression:
    x = d.array("f")
    return Expression(f"np.exp({x} - {x}.max(axis=-1, keepdims=True))", "ulp")


def rows(d: Draw) -> Expression:
    """What depends on what whole rows come to, in several steps over the same rows."""
    x = d.array("f")
    rows = "axis=-1, keepdims=True"
    e = f"np.exp({x} - {x}.max({rows}))"
    mean = f"{x}.mean({rows})"
    return d.choice(
        (
            Expression(f"{e} / {e}.sum({rows})", "order"),
            Expression(f"{x} - {mean}", "order", f"{x} + {mean}"),
            Expression(f"{x} / (1 + np.abs({x}).sum({rows}))", "order"),
            Expression(f"np.log({e}.sum(axis=-1))", "order", f"1 + np.log({e}.sum(axis=-1))"),
        )
    )


def beyond(d: Draw) -> Expression:
    """Calls outside what is compiled today; they must be right however they run."""
    x = d.array("biuf")
    form = d.choice(
        (
            "np.unique({x})",
            "np.nonzero({x})[0]",
            "np.argsort({x}, kind='stable')",
            "{x}.tolist()[0]",
        )
        + ("np.median({x})", "np.diff({x})", "np.maximum.accumulate({x})", "np.outer({x}, {x})")
        + ("float({x}.ravel()[0])", "np.nan_to_num({x})", "np.triu({x})", "np.divmod({x}, 3)[0]")
    )
    return Expression(form.format(x=x), "order" if "median" in form else "exact", f"np.max({x})")
