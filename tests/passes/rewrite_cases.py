"""Small graphs that show each rule of `simplify`, and graphs that no rule may touch."""

from __future__ import annotations

import re
from typing import NamedTuple


class Case(NamedTuple):
    """A graph in which `rule` applies."""

    rule: str
    name: str
    text: str


CASES: list[Case] = []


def case(rule: str, params: str, body: str, returns: str) -> None:
    """Add a case; a line `c = fill(number, type)` is a number filling an array."""
    name = f"{rule} {sum(c.rule == rule for c in CASES) + 1}"
    CASES.append(Case(rule, name, program(params, body, returns)))


def program(params: str, body: str, returns: str) -> str:
    """The text of a graph over the sizes n and m."""
    lines = [f"def f(n: size, m: size, {params}):"]
    for line in body.strip().splitlines():
        fill = re.fullmatch(r"(\w+) = fill\((.+), (\w+)\[(.+)\]\)", line.strip())
        if fill:
            name, number, dtype, shape = fill.groups()
            lines.append(f'{name}0: {dtype} = constant(value={number}, type="{dtype}")')
            lines.append(f"{name}: {dtype}[{shape}] = broadcast_to({name}0, shape=({shape},))")
        else:
            lines.append(line.strip())
    return "\n    ".join([*lines, f"return {returns}"]) + "\n"


def binary(rule: str, kind: str, op: str, number: str, *, left: bool = False) -> None:
    """A case of `x op number`, or `number op x`."""
    operands = "c, x" if left else "x, c"
    case(rule, f"x: {kind}", f"c = fill({number}, {kind})\ny: {kind} = {op}({operands})", "y")


for _op, _number in [("add", "-0.0"), ("subtract", "0.0"), ("multiply", "1.0"), ("divide", "1.0")]:
    for _dtype in ("f16", "f32", "f64"):
        binary("neutral_operand", f"{_dtype}[n, m]", _op, _number)
binary("neutral_operand", "f64[n]", "multiply", "1.0", left=True)
binary("neutral_operand", "c128[n]", "add", "complex(-0.0, -0.0)", left=True)
binary("neutral_operand", "c64[n]", "subtract", "complex(0.0, 0.0)")
for _op, _number in [("add", "0"), ("bitwise_or", "0"), ("bitwise_and", "-1"), ("left_shift", "0")]:
    binary("neutral_operand", "i8[n]", _op, _number)
for _op, _number in [("floor_divide", "1"), ("power", "1"), ("bitwise_and", "255")]:
    binary("neutral_operand", "u8[n]", _op, _number)
for _op, _number in [("logical_and", "True"), ("logical_or", "False"), ("logical_xor", "False")]:
    binary("neutral_operand", "b1[n]", _op, _number)
binary("neutral_operand", "b1[n]", "maximum", "False")
binary("neutral_operand", "f32[n]", "maximum", "-inf")
binary("neutral_operand", "i16[n]", "minimum", "32767")

for _op, _number in [("multiply", "0"), ("bitwise_and", "0"), ("bitwise_or", "-1")]:
    binary("absorbing_operand", "i32[n]", _op, _number, left=_op == "multiply")
for _op, _number in [("logical_and", "False"), ("logical_or", "True"), ("add", "True")]:
    binary("absorbing_operand", "b1[n]", _op, _number)
binary("absorbing_operand", "i64[n]", "maximum", "9223372036854775807")
binary("absorbing_operand", "b1[n]", "minimum", "False")

for _op in ("multiply_no_nan", "product_no_nan", "divide_no_nan"):
    for _dtype in ("f16", "f64", "c64"):
        _number = "complex(2.5, -1.0)" if _dtype == "c64" else "-2.5"
        if (_op, _dtype) != ("divide_no_nan", "c64"):
            binary(f"{_op}_by_number", f"{_dtype}[n]", _op, _number)
        binary(f"{_op}_by_number", f"{_dtype}[n]", _op, _number, left=True)
binary("multiply_no_nan_by_number", "f32[n]", "multiply_no_nan", "0.0")
case("derived_before", "x: f64[n], z: f64[n]", "y: f64[n] = derived_as(x, z)", "x")
case("not_differentiated", "x: f64[n]", "y: f64[n] = stop_gradient(x)", "x")
case("square_no_nan", "x: f64[n]", "y: f64[n] = multiply_no_nan(x, x)", "y")
case("square_no_nan", "x: c64[n]", "y: c64[n] = product_no_nan(x, x)", "y")
binary("divide_no_nan_by_number", "f32[n]", "divide_no_nan", "inf")
binary("divide_no_nan_by_number", "f32[n]", "divide_no_nan", "nan", left=True)

case("same_operand", "x: f64[n]", "y: f64[n] = maximum(x, x)\nz: f64[n] = fmin(y, y)", "z")
case("same_operand", "x: b1[n]", "y: b1[n] = logical_and(x, x)", "y")
case("cancels", "x: i32[n]", "y: i32[n] = subtract(x, x)\nz: b1[n] = less(x, x)", "y, z")
case("cancels", "x: u8", "y: u8 = bitwise_xor(x, x)", "y")
case("equals_itself", "x: i32[n, m] @ (1, 0,)", "y: b1[n, m] @ (1, 0,) = equal(x, x)", "y")
case("equals_itself", "x: i32[n]", "y: b1[n] = greater_equal(x, x)", "y")
case("involution", "x: f64[n]", "y: f64[n] = negative(x)\nz: f64[n] = negative(y)", "z")
case("involution", "x: i8[n]", "y: i8[n] = invert(x)\nz: i8[n] = invert(y)", "z")
case("involution", "x: b1[n]", "y: b1[n] = logical_not(x)\nz: b1[n] = logical_not(y)", "z")
case("involution", "x: c64[n]", "y: c64[n] = conjugate(x)\nz: c64[n] = conjugate(y)", "z")
case("does_nothing", "x: f64[n]", "y: f64[n] = positive(x)\nz: f64[n] = conjugate(y)", "z")
case("does_nothing", "x: f64[n]", "y: f64[n] = ceil(x)\nz: f64[n] = floor(y)", "z")
case("does_nothing", "x: i32[n]", "y: i32[n] = trunc(x)", "y")
case("absolute_of_signed", "x: f64[n]", "y: f64[n] = negative(x)\nz: f64[n] = absolute(y)", "z")
case("absolute_of_signed", "x: c128[n]", "y: c128[n] = negative(x)\nz: f64[n] = absolute(y)", "z")
case("absolute_of_signed", "x: i8[n]", "y: i8[n] = absolute(x)\nz: i8[n] = absolute(y)", "z")
case("absolute_of_signed", "x: u8[n]", "y: u8[n] = absolute(x)", "y")
for _kind in ("f64[n]", "c64[n]", "i16[n]", "u32[n]"):
    _params = f"x: {_kind}, y: {_kind}"
    for _op, _args in [("add", "x, z"), ("add", "z, x"), ("subtract", "x, z")]:
        _body = f"z: {_kind} = negative(y)\nw: {_kind} = {_op}({_args})"
        case("negative_operand", _params, _body, "w")
for _kind, _op in [("f64[n]", "divide"), ("f32[n]", "multiply"), ("i8[n]", "multiply")]:
    _body = f"p: {_kind} = negative(x)\nq: {_kind} = negative(y)\nz: {_kind} = {_op}(p, q)"
    case("negative_twice", f"x: {_kind}, y: {_kind}", _body, "z")
for _dtype, _number in [("f64", "4.0"), ("f32", "-0.5"), ("f16", "8.0"), ("f64", repr(2.0**-1000))]:
    binary("divide_by_power_of_two", f"{_dtype}[n]", "divide", _number)
for _number in ("0", "2", "3"):
    binary("integer_power", "u16[n]", "power", _number)
    binary("integer_power", "i8[n]", "power", _number)
for _op, _number in [("add", "100"), ("multiply", "77"), ("bitwise_xor", "-5")]:
    case(
        "associate_constants",
        "x: i8[n]",
        f"c = fill(99, i8[n])\nd = fill({_number}, i8[n])\n"
        f"y: i8[n] = {_op}(x, c)\nz: i8[n] = {_op}(d, y)",
        "z",
    )
for _kind, _op in [("f64[n]", "equal"), ("f64[n]", "not_equal"), ("i32[n]", "less")]:
    _body = f"p: b1[n] = {_op}(x, y)\nq: b1[n] = logical_not(p)"
    case("not_of_comparison", f"x: {_kind}, y: {_kind}", _body, "q")
_CAB = "c: b1[n], a: f64[n], b: f64[n]"
for _number in ("True", "False"):
    case("select_known", _CAB, f"k = fill({_number}, b1[n])\ny: f64[n] = select(k, a, b)", "y")
case("select_known", _CAB, "y: f64[n] = select(c, b, b)", "y")
for _yes in (True, False):
    case(
        "select_of_bools",
        "c: b1[n]",
        f"p = fill({_yes}, b1[n])\nq = fill({not _yes}, b1[n])\ny: b1[n] = select(c, p, q)",
        "y",
    )
case("select_not", _CAB, "d: b1[n] = logical_not(c)\ny: f64[n] = select(d, a, b)", "y")
case("select_again", _CAB, "y: f64[n] = select(c, a, b)\nz: f64[n] = select(c, y, a)", "z")
case("select_again", _CAB, "y: f64[n] = select(c, a, b)\nz: f64[n] = select(c, b, y)", "z")
for _kind, _part in [("i32[n]", "real"), ("f32[n]", "real"), ("f64[n]", "imag")]:
    _body = f'z: c128[n] = cast(x, dtype="c128")\ny: f64[n] = {_part}(z)'
    case("part_of_real", f"x: {_kind}", _body, "y")
for _from, _middle, _to in [
    ("i32", "i32", "i32"),
    ("i16", "f32", "f64"),
    ("f32", "f64", "f32"),
    ("f16", "f32", "c64"),
    ("i64", "i32", "i16"),
    ("i32", "i64", "f32"),
    ("b1", "f64", "i8"),
    ("f32", "c64", "b1"),
]:
    _body = f'y: {_middle}[n] = cast(x, dtype="{_middle}")\nz: {_to}[n] = cast(y, dtype="{_to}")'
    case("cast_chain", f"x: {_from}[n]", _body, "z")

case("same_shape", "x: f64[n, m]", "y: f64[n, m] = broadcast_to(x, shape=(n, m))", "y")
case("same_shape", "x: f64[n, m]", "y: f64[n, m] = reshape(x, shape=(n, m))", "y")
case(
    "broadcast_twice",
    "x: f64[m]",
    "y: f64[n, m] = broadcast_to(x, shape=(n, m))\n"
    "z: f64[2, n, m] = broadcast_to(y, shape=(2, n, m))",
    "z",
)
case(
    "reshape_twice",
    "x: f64[n, m]",
    "y: f64[n*m] = reshape(x, shape=(n*m,))\nz: f64[m, n] = reshape(y, shape=(m, n))",
    "z",
)
case(
    "reshape_of_filled",
    "x: f64",
    "y: f64[n, m] = broadcast_to(x, shape=(n, m))\nz: f64[m*n] = reshape(y, shape=(m*n,))",
    "z",
)
case(
    "transpose_twice",
    "x: f64[n, m, 2]",
    "y: f64[2, n, m] @ (1, 2, 0,) = transpose(x, axes=(2, 0, 1))\n"
    "z: f64[n, 2, m] @ (0, 2, 1,) = transpose(y, axes=(1, 0, 2))",
    "z",
)
case("transpose_by_nothing", "x: f64[n, m]", "y: f64[n, m] = transpose(x, axes=(0, 1))", "y")
case(
    "slice_of_everything",
    "x: f64[n, m]",
    "y: f64[n, m] = slice(x, start=(0, 0), size=(n, m), step=(1, 1))",
    "y",
)
case(
    "slice_twice",
    "x: f64[n + 4]",
    "y: f64[n] = slice(x, start=(n + 3,), size=(n,), step=(-1,))\n"
    "z: f64[2] = slice(y, start=(1,), size=(2,), step=(2,))",
    "z",
)
case(
    "slice_of_broadcast",
    "x: f64[m, 1]",
    "y: f64[2, m, n] = broadcast_to(x, shape=(2, m, n))\n"
    "z: f64[1, m - 1, n] = slice(y, start=(1, 1, 0), size=(1, m - 1, n), step=(1, 1, 1))",
    "z",
)
case(
    "slice_of_broadcast",
    "x: f64",
    "y: f64[n] = broadcast_to(x, shape=(n,))\n"
    "z: f64[2] = slice(y, start=(1,), size=(2,), step=(1,))",
    "z",
)
_UPDATE = "y: f64[n] = update_slice(x, v, start=(0,), size=(2,), step=(1,))\n"
case(
    "slice_of_update",
    "x: f64[n], v: f64[2]",
    _UPDATE + "z: f64[2] = slice(y, start=(0,), size=(2,), step=(1,))",
    "z",
)
case(
    "slice_of_update",
    "x: f64[n], v: f64[2]",
    _UPDATE + "z: f64[2] = slice(y, start=(3,), size=(2,), step=(-1,))",
    "z",
)
case(
    "update_of_everything",
    "x: f64[n], v: f64[n]",
    "y: f64[n] = update_slice(x, v, start=(0,), size=(n,), step=(1,))",
    "y",
)
case(
    "concatenate_nothing",
    "x: f64[n], y: f64[0], z: f64[2]",
    "v: f64[n + 2] = concatenate(x, y, z, axis=0)\nw: f64[n] = concatenate(x, axis=0)",
    "v, w",
)
case(
    "element_of_filled",
    "x: f64",
    "y: f64[()] = broadcast_to(x, shape=())\nz: f64 = element(y)",
    "z",
)
case(
    "scalar_there_and_back",
    "x: f32, b: bool",
    'y: float = py_scalar(x, kind="float")\nz: f32 = np_scalar(y, dtype="f32")\n'
    'c: b1 = np_scalar(b, dtype="b1")\nd: bool = py_scalar(c, kind="bool")',
    "z, d",
)
case("scalar_there_and_back", "x: float", 'y: float = py_scalar(x, kind="float")', "y")
for _op in ("reduce_min", "reduce_max", "reduce_prod"):
    case("reduce_unit_axes", "x: f64[n, 1]", f"y: f64[n] = {_op}(x, axes=(1,))", "y")
case("reduce_unit_axes", "x: i16[n, 1]", "y: i16[n] = reduce_sum(x, axes=(1,))", "y")


case(
    "update_by_itself",
    "x: f64[n, 3]",
    """
    y: f64[n, 1] = slice(x, start=(0, 1), size=(n, 1), step=(1, 1))
    z: f64[n, 3] = update_slice(x, y, start=(0, 1), size=(n, 1), step=(1, 1))
    """,
    "z",
)
_NESTED = """
    y: f64[n + 1, 2] = slice(x, start=(n + 2, 1), size=(n + 1, 2), step=(-1, 1))
    z: f64[n + 1, 2] = update_slice(y, v, start=(1, 0), size=(n, 1), step=(1, 1))
"""
case(
    "update_of_part",
    "x: f64[n + 4, 5], v: f64[n, 1]",
    _NESTED
    + "w: f64[n + 4, 5] = update_slice(x, z, start=(n + 2, 1), size=(n + 1, 2), step=(-1, 1))",
    "w",
)
case(
    "update_again",
    "x: f64[n], v: f64[2]",
    _UPDATE + "z: f64[n] = update_slice(y, v, start=(0,), size=(2,), step=(1,))",
    "z",
)
case(
    "update_again",
    "x: f64[n], v: f64[m]",
    """
    zero = fill(0, i64[m])
    y: f64[n] = scatter(x, v, zero)
    z: f64[n] = scatter(y, v, zero)
    """,
    "z",
)
_PART = """
    y: f64[n, 2] = slice(x, start=(0, 1), size=(n, 2), step=(1, 1))
    z: f64[n, 2] = scatter(y, v, k)
"""
case(
    "gather_what_was_scattered",
    "x: f64[n, 3], v: f64[2], k: i64",
    _PART + "w: f64[2] = gather(z, k)",
    "w, z",
)
case(
    "scatter_into_part",
    "x: f64[n, 3], v: f64[2], k: i64",
    _PART + "w: f64[n, 3] = update_slice(x, z, start=(0, 1), size=(n, 2), step=(1, 1))",
    "w",
)
case(
    "scatter_into_part",
    "x: f64[n, 3, 4], v: f64[2], k: i64",
    """
    y: f64[n, 1, 2] = slice(x, start=(0, 1, 0), size=(n, 1, 2), step=(1, 1, 2))
    a: f64[n, 2] = reshape(y, shape=(n, 2))
    z: f64[n, 2] = scatter(a, v, k)
    b: f64[n, 1, 2] = reshape(z, shape=(n, 1, 2))
    w: f64[n, 3, 4] = update_slice(x, b, start=(0, 1, 0), size=(n, 1, 2), step=(1, 1, 2))
    """,
    "w",
)
case(
    "scatter_into_flat",
    "x: f64[n, 3], v: f64[2]",
    """
    k = fill(5, i64[2])
    y: f64[3*n] = reshape(x, shape=(3*n,))
    z: f64[3*n] = scatter(y, v, k)
    w: f64[n, 3] = reshape(z, shape=(n, 3))
    """,
    "w",
)
for _op, _truth in [("py_equal", "True"), ("py_equal", "False"), ("py_not_equal", "True")]:
    case(
        "compared_with_a_truth",
        "p: bool",
        f't: bool = constant(value={_truth}, type="bool")\nq: bool = {_op}(p, t)',
        "q",
    )
case("not_of_python", "p: bool", "q: bool = py_not(p)\nr: bool = py_not(q)", "r")
case("not_of_python", "a: float, b: float", "q: bool = py_equal(a, b)\nr: bool = py_not(q)", "r")
case("not_of_python", "a: int, b: int", "q: bool = py_less(a, b)\nr: bool = py_not(q)", "r")
for _op in ("py_and", "py_or", "py_bit_and"):
    for _truth in ("True", "False"):
        case(
            "truths_joined",
            "p: bool",
            f't: bool = constant(value={_truth}, type="bool")\nq: bool = {_op}(t, p)',
            "q",
        )
    case("truths_joined", "p: bool", f"q: bool = {_op}(p, p)", "q")
for _op, _kind, _number in [
    ("py_add", "int", "0"),
    ("py_subtract", "int", "0"),
    ("py_multiply", "int", "1"),
    ("py_multiply", "float", "1.0"),
]:
    case(
        "neutral_number",
        f"x: {_kind}",
        f'c: {_kind} = constant(value={_number}, type="{_kind}")\ny: {_kind} = {_op}(x, c)',
        "y",
    )


def _kept(kind: str, op: str, number: str, *, left: bool = False) -> str:
    operands = "c, x" if left else "x, c"
    return program(f"x: {kind}", f"c = fill({number}, {kind})\ny: {kind} = {op}({operands})", "y")


KEPT = [
    _kept("f64[n]", "add", "0.0"),
    _kept("f64[n]", "subtract", "-0.0"),
    _kept("f64[n]", "multiply", "0.0"),
    _kept("f64[n]", "divide", "3.0"),
    _kept("f64[n]", "divide", repr(2.0**-1074)),
    _kept("f64[n]", "floor_divide", "1.0"),
    _kept("f64[n]", "power", "2.0"),
    _kept("f64[n]", "power", "0.5"),
    _kept("f64[n]", "subtract", "0.0", left=True),
    _kept("i64[n]", "subtract", "0", left=True),
    _kept("i64[n]", "left_shift", "0", left=True),
    _kept("c128[n]", "multiply", "complex(1.0, 0.0)"),
    _kept("c128[n]", "divide", "complex(1.0, 0.0)"),
    _kept("c128[n]", "add", "complex(-0.0, 0.0)"),
    _kept("f64[n]", "fmax", "-inf"),
    _kept("f64[n]", "multiply_no_nan", "inf"),
    _kept("f64[n]", "multiply_no_nan", "0.0", left=True),
    _kept("f64[n]", "product_no_nan", "0.0"),
    _kept("f64[n]", "product_no_nan", "inf", left=True),
    _kept("f64[n]", "divide_no_nan", "0.0"),
    _kept("f64[n]", "divide_no_nan", "0.0", left=True),
    _kept("c128[n]", "divide_no_nan", "complex(1.0, 0.0)"),
    program("x: f64[n]", "y: f64[n] = subtract(x, x)", "y"),
    program("x: f64[n]", "y: b1[n] = equal(x, x)", "y"),
    program("x: f64[n], y: f64[n]", "p: b1[n] = less(x, y)\nq: b1[n] = logical_not(p)", "q"),
    program("x: i64[n]", "p: b1[n] = logical_not(x)\nq: b1[n] = logical_not(p)", "q"),
    program("x: f64[n, 1]", "y: f64[n] = reduce_sum(x, axes=(1,))", "y"),
    program("x: c128[n, 1]", "y: c128[n] = reduce_prod(x, axes=(1,))", "y"),
    *[
        program(
            f"x: {a}[n]",
            f'y: {b}[n] = cast(x, dtype="{b}")\nz: {c}[n] = cast(y, dtype="{c}")',
            "z",
        )
        for a, b, c in [
            ("i64", "f64", "i64"),
            ("f64", "f32", "f64"),
            ("i32", "f64", "u8"),
            ("i8", "u16", "i64"),
            ("i32", "f64", "f16"),
            ("f32", "f64", "i32"),
            ("i64", "b1", "i64"),
            ("c128", "c64", "c128"),
        ]
    ],
    program(
        "x: f64[n], v: f64[2]",
        "y: f64[n] = update_slice(x, v, start=(0,), size=(2,), step=(1,))\n"
        "z: f64[2] = slice(y, start=(1,), size=(2,), step=(1,))",
        "z",
    ),
    program(
        "x: f64[n, m]",
        "y: f64[n*m] = reshape(x, shape=(n*m,), assume=True)\n"
        "z: f64[m, n] = reshape(y, shape=(m, n))",
        "z",
    ),
    program("a: float, b: float", "p: bool = py_less(a, b)\nq: bool = py_not(p)", "q"),
    program(
        "a: float", 'c: float = constant(value=0.0, type="float")\nb: float = py_add(a, c)', "b"
    ),
    program("a: bool", 'c: int = constant(value=0, type="int")\nb: int = py_add(a, c)', "b"),
    program(
        "x: f64[n], v: f64[2], w: f64[2]",
        _UPDATE + "z: f64[n] = update_slice(y, w, start=(0,), size=(2,), step=(1,))",
        "z",
    ),
    program(
        "x: f64[n], v: f64[2]",
        _UPDATE + "z: f64[n] = update_slice(y, v, start=(1,), size=(2,), step=(1,))",
        "z",
    ),
]
