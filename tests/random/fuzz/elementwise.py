"""Productions whose value has an element for each broadcast element of the operands."""

from __future__ import annotations

from tests.random.fuzz.draw import NUMBERS, REAL, Draw, Expression

UNARY_EXACT = ("negative", "conjugate", "isnan", "isinf", "isfinite", "logical_not", "positive")
UNARY_EXACT_REAL = ("sqrt", "square", "sign", "absolute")
UNARY_REAL = ("floor", "ceil", "trunc", "rint", "fabs", "signbit")
UNARY_ROUNDED = (
    *("exp", "log", "sin", "cos", "tanh", "tan", "exp2", "expm1", "log2", "log10", "log1p"),
    *("arcsin", "arccos", "arctan", "sinh", "cosh", "arcsinh", "arccosh", "arctanh"),
)
UNARY_ROUNDED_REAL = ("cbrt", "deg2rad", "rad2deg")
BINARY_EXACT = ("add", "subtract", "multiply", "true_divide")
BINARY_REAL = ("floor_divide", "remainder", "fmod", "copysign", "nextafter")
BINARY_EXTREME = ("maximum", "minimum", "fmax", "fmin")
BINARY_ROUNDED_REAL = ("arctan2", "hypot", "logaddexp")
COMPARE = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
OPERATORS = ("+", "-", "*", "+", "-", "*", "/", "//", "%", "**")
COMPARE_OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
BITWISE = ("&", "|", "^")
SHIFTS = ("<<", ">>")
DTYPES = ("float64", "float32", "int64", "int32", "complex128", "uint8", "int8", "bool", "float16")


def _rounded(d: Draw, *operands: str) -> str:
    return "ulp" if d.is_complex(*operands) else "exact"


def unary(d: Draw) -> Expression:
    x = d.variable()
    if d.chance(0.45):
        name = d.choice(UNARY_ROUNDED)
        return Expression(f"np.{name}({x})", "ulp")
    if d.chance(0.25) and not d.is_complex(x):
        name = d.choice(UNARY_REAL + UNARY_ROUNDED_REAL)
        return Expression(f"np.{name}({x})", "ulp" if name in UNARY_ROUNDED_REAL else "exact")
    if d.chance(0.4):
        return Expression(f"np.{d.choice(UNARY_EXACT_REAL)}({x})", _rounded(d, x))
    return Expression(f"np.{d.choice(UNARY_EXACT)}({x})")


def unary_operator(d: Draw) -> Expression:
    x = d.variable()
    form = d.choice(("-{x}", "abs({x})", "+{x}", "~{x}", "{x}.conj()", "{x}.real", "{x}.imag"))
    return Expression(
        form.format(x=x), "ulp" if form == "abs({x})" and d.is_complex(x) else "exact"
    )


def error_function(d: Draw) -> Expression:
    return Expression(f"erf({d.variable(REAL)})", "ulp")


def binary_operator(d: Draw) -> Expression:
    x = d.variable()
    y = d.partner(x)
    operator = d.choice(OPERATORS)
    if d.chance(0.3):
        x, y = y, x
    parity = "exact" if operator in "+-" else _rounded(d, x, y)
    if operator == "**" and not d.exact(x, y):
        parity = "ulp"
    return Expression(f"{x} {operator} {y}", parity)


def binary_function(d: Draw) -> Expression:
    x = d.variable()
    y = d.partner(x)
    table = d.choice((BINARY_EXACT, BINARY_REAL, BINARY_EXTREME, BINARY_ROUNDED_REAL, LOGICAL))
    parity = _rounded(d, x, y)
    if table is BINARY_EXTREME:
        parity = "zero"
    elif table is BINARY_ROUNDED_REAL:
        parity = "ulp"
    return Expression(f"np.{d.choice(table)}({x}, {y})", parity)


def square_or_root(d: Draw) -> Expression:
    x = d.variable(NUMBERS)
    return Expression(f"{x} ** {d.choice(('2', '3', '0.5', '2.0', '-1', '0'))}", "ulp")


def compare(d: Draw) -> Expression:
    x = d.variable()
    y = d.partner(x)
    if d.chance(0.3):
        return Expression(f"np.{d.choice(COMPARE)}({x}, {y})")
    return Expression(f"{x} {d.choice(COMPARE_OPERATORS)} {y}")


def bitwise(d: Draw) -> Expression:
    x = d.variable("biu")
    if d.chance(0.4):
        return Expression(f"{x} {d.choice(SHIFTS)} {d.choice(('1', '3', '7', '0', '40'))}")
    return Expression(f"{x} {d.choice(BITWISE)} {d.partner(x, 'biu')}")


def where(d: Draw) -> Expression:
    condition = d.variable("b") if d.chance(0.8) else d.variable()
    return Expression(f"np.where({condition}, {d.partner(condition)}, {d.partner(condition)})")


def where_compared(d: Draw) -> Expression:
    x = d.variable(REAL)
    limit, other = d.choice(("0", "0.5", "1")), d.partner(x)
    form = d.choice(("np.where({x} > {l}, {x}, {o})", "np.where({x} <= {l}, {o}, -{x})"))
    return Expression(form.format(x=x, l=limit, o=other))


def clip(d: Draw) -> Expression:
    x = d.variable(REAL)
    form = d.choice(("np.clip({x}, {a}, {b})", "{x}.clip({a}, {b})", "np.clip({x}, {a}, None)"))
    low, high = d.choice(("0", "-1", "-1.5", "1")), d.choice(("2", "3", "0.75", "1"))
    return Expression(form.format(x=x, a=low, b=high), "zero")


def cast(d: Draw) -> Expression:
    x = d.variable()
    dtype = d.choice(DTYPES)
    return Expression(d.choice((f"{x}.astype(np.{dtype})", f"{x}.astype('{dtype}')")), "cast")


def chain(d: Draw) -> Expression:
    x = d.variable("f")
    y = d.partner(x, "f")
    z = d.partner(x, "if")
    form = d.choice(
        (
            "({x} + {y}) * {z} - {x}",
            "{x} * {x} + {y} * {y}",
            "({x} - {y}) / (1 + {z} * {z})",
            "np.sqrt({x} * {x} + 1) * {y}",
            "{x} / {y} / {z}",
            "1 - ({x} - {z}) * ({x} + {y})",
        )
    )
    return Expression(form.format(x=x, y=y, z=z))
