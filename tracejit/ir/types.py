"""Types: what a value is, with Python's and NumPy's meanings of a number kept apart.

`ArrayType(dtype, shape, order)` | `NpScalar(dtype)` | `PyScalar(kind)` | `NONE` | `TOKEN`.
A 0-d array is `ArrayType(dtype, ())`; a NumPy scalar is not an array.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim, Poly, dim_from_ast, free_symbols, prod, substitute

__all__ = [
    "DTYPES",
    "NONE",
    "PYBOOL",
    "PYCOMPLEX",
    "PYFLOAT",
    "PYINT",
    "TOKEN",
    "ArrayType",
    "NoneTypeT",
    "NpScalar",
    "PyScalar",
    "TokenType",
    "Type",
    "c_order",
    "dtype_name",
    "dtype_of",
    "is_held",
    "lossless",
    "shape_of",
    "type_from_ast",
    "type_sizes",
    "type_substitute",
]

#: Every dtype that a graph can hold, by the name the text uses. All are native byte order.
DTYPES: dict[str, np.dtype[Any]] = {
    "b1": np.dtype(np.bool_),
    **{f"i{8 * n}": np.dtype(f"i{n}") for n in (1, 2, 4, 8)},
    **{f"u{8 * n}": np.dtype(f"u{n}") for n in (1, 2, 4, 8)},
    **{f"f{8 * n}": np.dtype(f"f{n}") for n in (2, 4, 8)},
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
_NAMES = {(d.kind, d.itemsize): name for name, d in DTYPES.items()}


@lru_cache(maxsize=1024)
def dtype_name(dtype: np.dtype[Any]) -> str:
    """The text's name of `dtype`. Raises TypeError for a dtype that graphs cannot hold."""
    name = _NAMES.get((dtype.kind, dtype.itemsize))
    if name is None or not dtype.isnative:
        raise TypeError(f"dtype {dtype} is not supported in a graph")
    return name


def is_held(dtype: np.dtype[Any]) -> bool:
    """Whether graphs hold `dtype` itself, not an equal one: no long long, and no metadata.

    Raises TypeError as `dtype_name` does.
    """
    return dtype.char == DTYPES[dtype_name(dtype)].char and dtype.metadata is None


def c_order(ndim: int) -> tuple[int, ...]:
    """The axis order, outermost first, of a C-contiguous array."""
    return tuple(range(ndim))


@dataclass(frozen=True)
class ArrayType:
    """An array: `order` lists its axes from the outermost in memory to the innermost."""

    dtype: np.dtype[Any]
    shape: tuple[Dim, ...]
    order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.order) != len(self.shape):
            object.__setattr__(self, "order", c_order(len(self.shape)))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Dim:
        """The number of elements."""
        return prod(self.shape)

    @property
    def is_c(self) -> bool:
        """Whether the axes lie in C order."""
        return self.order == c_order(self.ndim)

    def __str__(self) -> str:
        dims = ", ".join(map(str, self.shape)) or "()"
        tail = "" if self.is_c else f" @ ({', '.join(map(str, self.order))},)"
        return f"{dtype_name(self.dtype)}[{dims}]{tail}"


@dataclass(frozen=True)
class NpScalar:
    """A NumPy scalar such as `np.float64`."""

    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return dtype_name(self.dtype)


_PY_DTYPES = {"int": "i64", "float": "f64", "complex": "c128", "bool": "b1"}


@dataclass(frozen=True)
class PyScalar:
    """A Python number; `kind` is int, float, complex or bool. An int is an i64 with checked
    arithmetic.
    """

    kind: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its machine representation."""
        return DTYPES[_PY_DTYPES[self.kind]]

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class NoneTypeT:
    """The type of None."""

    def __str__(self) -> str:
        return "None"


@dataclass(frozen=True)
class TokenType:
    """The type of an effect token."""

    def __str__(self) -> str:
        return "token"


PYINT, PYFLOAT = PyScalar("int"), PyScalar("float")
PYCOMPLEX, PYBOOL = PyScalar("complex"), PyScalar("bool")
NONE, TOKEN = NoneTypeT(), TokenType()

Type: TypeAlias = ArrayType | NpScalar | PyScalar | NoneTypeT | TokenType


def dtype_of(t: Type) -> np.dtype[Any]:
    """The dtype of a numeric type. Raises TypeError for None and tokens."""
    if isinstance(t, (ArrayType, NpScalar, PyScalar)):
        return t.dtype
    raise TypeError(f"{t} has no dtype")


def shape_of(t: Type) -> tuple[Dim, ...]:
    """The shape of an array; () for scalars."""
    return t.shape if isinstance(t, ArrayType) else ()


def type_sizes(t: Type) -> set[str]:
    """The size symbols that a type mentions."""
    return set().union(*(free_symbols(d) for d in shape_of(t) if not isinstance(d, int)))


def type_substitute(t: Type, sizes: Mapping[str, Dim]) -> Type:
    """`t` with its size symbols replaced."""
    if not isinstance(t, ArrayType) or not any(isinstance(d, Poly) for d in t.shape):
        return t
    return ArrayType(t.dtype, tuple(substitute(d, sizes) for d in t.shape), t.order)


def type_from_ast(node: ast.expr) -> Type:
    """The type written as a Python expression. Raises ValueError for any other syntax."""
    match node:
        case ast.Constant(value=None):
            return NONE
        case ast.Name(id="token"):
            return TOKEN
        case ast.Name(id=kind) if kind in _PY_DTYPES:
            return PyScalar(kind)
        case ast.Name(id=name) if name in DTYPES:
            return NpScalar(DTYPES[name])
        case ast.Subscript(value=ast.Name(id=name), slice=index) if name in DTYPES:
            dims = index.elts if isinstance(index, ast.Tuple) else [index]
            return ArrayType(DTYPES[name], tuple(dim_from_ast(d) for d in dims))
        case ast.BinOp(left=left, op=ast.MatMult(), right=ast.Tuple(elts=axes)):
            t = type_from_ast(left)
            order = tuple(ast.literal_eval(a) for a in axes)
            if isinstance(t, ArrayType):
                if sorted(order) != list(range(t.ndim)):
                    raise ValueError(f"{order} is not an order of the axes of {t}")
                return ArrayType(t.dtype, t.shape, order)
    raise ValueError(f"not a type: {ast.unparse(node)}")


def lossless(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """Whether every value of `a` is a value of `b`."""
    if a == b or a.kind == "b":
        return True
    if a.kind in "iu":
        bits = a.itemsize * 8 - (a.kind == "i")
        if b.kind in "iu":
            return b.itemsize * 8 - (b.kind == "i") >= bits and (a.kind == "u" or b.kind == "i")
        return b.kind in "fc" and bits <= np.finfo(b).nmant + 1
    if a.kind == "f":
        return b.kind in "fc" and np.finfo(b).nmant >= np.finfo(a).nmant
    return b.kind == "c" and b.itemsize >= a.itemsize
