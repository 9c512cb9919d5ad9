"""BLAS and LAPACK for compiled programs: NumPy's own library by address, behind uniform functions.

`routine("dgemm")` finds the very routine that NumPy calls, so that results agree bit for bit;
SciPy's pointers stand in where NumPy's library exports nothing. `helper_address("tj_gemm_f64")` is
the address of a compiled function that hides the convention; element types are f32, f64, c64, c128.

`void tj_gemm_T(C, A, B, i64 m, i64 n, i64 k, i32 ta, i32 tb, i64 lda, i64 ldb, i64 ldc)`
    C[m, n] = A[m, k] @ B[k, n], elements counted in T. C has rows `ldc` apart. A has rows `lda`
    apart, or columns `lda` apart if `ta`; likewise B. As NumPy's matmul does, it takes dot, gemv,
    syrk (one matrix times its own transpose), gemm or plain loops. Any size may be 0 or 1.
`void tj_product_T(...)`
    The same with one thread of BLAS, shared by the pool of threads where that pays: see
    `shared_products.py`. What follows, and programs, call this one.
`void tj_gemv_T(y, A, x, i64 m, i64 k, i32 ta, i64 lda, i64 incx)`
    y[m] = A[m, k] @ x[k]; `x @ A` is the same with `ta` turned round.
`void tj_dot_T(out, x, y, i64 k, i64 incx, i64 incy)`
    out[0] = sum of x * y, without conjugation, as matmul does. (`np.dot` copies an operand with a
    negative step first.)
`void tj_trsm_T(X, A, i64 n, i64 k, i64 lda, i32 upper, i32 trans, i32 unit)`
    X[n, k] := the Y with t(A) @ Y = X, where t(A) is one triangle of A[n, n], its transpose
    (`trans` 1) or its conjugate transpose (2). A has rows `lda` apart; X is dense.

LAPACK works in place on column-major memory: a[i + j * n] is A[i, j]. `ipiv` has n slots of 8
bytes. Each returns LAPACK's `info`: 0, or positive for a singular or indefinite matrix. T is f64 or
c128: `numpy.linalg` casts single precision to double and back.

`i64 tj_getrs_T(X, P, ipiv, i64 n, i64 k, i32 trans)`
    X[n, k] := the Y with A @ Y = X, or A.T @ Y = X for `trans` 1, by what `tj_getrf_T` made of A
    in P; both have their rows dense. 1 for a singular matrix.
`i64 tj_getri_T(P, ipiv, out, i64 n, pivots, work)`
    out := the inverse of A, by columns. `pivots` has n slots of 8 bytes, `work` has 64 n elements.
`void tj_pivoted_T(P, ipiv, out, i64 n)`       out as that of `tj_ludiag_T`

`i64 tj_gesv_T(a, b, i64 n, i64 nrhs, ipiv)`   a := its LU factors, b := the solution of A X = B
`i64 tj_inv_T(a, out, i64 n, ipiv)`            a := its LU factors, out := the inverse of A
`i64 tj_getrf_T(a, i64 n, ipiv)`               a := its LU factors, ipiv := rows from 1, as i64
`i64 tj_ludiag_T(a, out, i64 n, ipiv)`         the same, out := the diagonal of U, its first element
                                               negated for an odd permutation; always 0
`i64 tj_potrf_T(a, i64 n, i32 upper)`          a := its Cholesky factor, the other triangle 0
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tracejit.codegen.llvm.engine import Library, load_object, object_code
from tracejit.codegen.support.blas_calls import PREFIXES
from tracejit.codegen.support.blas_text import HELPERS, helper_text, narrow_product_text
from tracejit.codegen.support.capsules import pointer_in
from tracejit.codegen.support.shared_products import product_text, serial_blas
from tracejit.locks import once

__all__ = [
    "HELPERS",
    "Routine",
    "declaration",
    "guard_symbols",
    "helper_address",
    "helper_ir",
    "routine",
    "symbols",
]

_BLAS_REAL = ("gemm", "gemv", "syrk", "trsm", "trsv", "swap", "dot")
_BLAS_COMPLEX = ("gemm", "gemv", "syrk", "trsm", "trsv", "swap", "dotu")
_LAPACK = ("gesv", "potrf", "getrf", "getri")
#: Every routine by its BLAS name, such as "dgemm" or "zdotu".
ROUTINES = tuple(
    prefix + name
    for prefix in PREFIXES.values()
    for name in (*(_BLAS_REAL if prefix in "sd" else _BLAS_COMPLEX), *_LAPACK)
)


@dataclass(frozen=True)
class Routine:
    """A routine of a library: the width of its integers, and whether it is CBLAS or Fortran."""

    name: str
    address: int
    int_bits: int
    convention: Literal["cblas", "fortran"]


#: How libraries spell `cblas_dgemm` and `dgesv_`: a format for each, and the integers' bits.
#: NumPy's wheels have OpenBLAS under the first spelling, or Accelerate under the second.
_SPELLINGS = (
    ("scipy_cblas_{}64_", "scipy_{}_64_", 64),
    ("cblas_{}$NEWLAPACK$ILP64", "{}$NEWLAPACK$ILP64", 64),
    ("cblas_{}64_", "{}_64_", 64),
    ("scipy_cblas_{}", "scipy_{}_", 32),
    ("cblas_{}", "{}_", 32),
)


_GUARDS = ("tj_blas_enter", "tj_blas_leave")
#: How OpenBLAS spells the functions for the number of its threads.
_THREADS = (
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads",
)


@once
def _numpy_libraries() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """NumPy's two extensions: looking a name up in them also searches what they are linked to."""
    modules = ("numpy._core._multiarray_umath", "numpy.linalg._umath_linalg")
    multiarray, linalg = (ctypes.CDLL(importlib.import_module(name).__file__) for name in modules)
    return multiarray, linalg


def _address(library: ctypes.CDLL, symbol: str) -> int | None:
    function = getattr(library, symbol, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def _of_numpy(name: str) -> Routine | None:
    try:
        multiarray, linalg = _numpy_libraries()
    except OSError:
        return None
    is_lapack = name[1:] in _LAPACK
    base = name + "_sub" if name.endswith("dotu") else name
    for cblas, fortran, bits in _SPELLINGS:
        # A spelling counts only as a whole: parts of two libraries are never mixed.
        if _address(multiarray, cblas.format("dgemm")) is None:
            continue
        address = (
            _address(linalg, fortran.format(name))
            if is_lapack
            else _address(multiarray, cblas.format(base))
        )
        if address is not None:
            return Routine(name, address, bits, "fortran" if is_lapack else "cblas")
    return None


def _of_scipy(name: str) -> Routine | None:
    """SciPy's Cython interface. Complex dot products return structs there and are left out."""
    if name.endswith("dotu"):
        return None
    which = "cython_lapack" if name[1:] in _LAPACK else "cython_blas"
    try:
        capsules: Mapping[str, Any] = importlib.import_module(f"scipy.linalg.{which}").__pyx_capi__
    except ImportError:
        return None
    capsule = capsules.get(name)
    return None if capsule is None else Routine(name, pointer_in(capsule), 32, "fortran")


@once
def routine(name: str) -> Routine | None:
    """A routine by its BLAS name, such as "dgemm", "zdotu" or "sgesv"; None if there is none.

    Raises KeyError for a name that is not in `ROUTINES`.
    """
    if name not in ROUTINES:
        raise KeyError(name)
    return _of_numpy(name) or _of_scipy(name)


class _Addresses(Mapping[str, int]):
    """Routine name -> address, looked up on demand; a routine that was not found is no key."""

    def __getitem__(self, name: str) -> int:
        found = routine(name)
        if found is None:
            raise KeyError(name)
        return found.address

    def __iter__(self) -> Iterator[str]:
        return (name for name in ROUTINES if routine(name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def symbols() -> Mapping[str, int]:
    """The addresses of all routines that can be found, looked up on demand."""
    return _Addresses()


def declaration(name: str) -> str:
    """The LLVM declaration of a helper. Raises KeyError for an unknown one."""
    result, parameters = HELPERS[name]
    return f"declare {result} @{name}({parameters})"


def helper_ir(name: str, threads: int | None = None) -> tuple[str, dict[str, int]] | None:
    """A helper's LLVM text (with external linkage) and the symbols to link it with.

    A product is shared by as many threads as are given, or as the process is set to.

    None where a routine that it needs was not found. Raises KeyError for an unknown helper.
    """
    if name not in HELPERS:
        raise KeyError(name)
    kind, dtype = name.split("_")[1:]
    if kind in ("gemv", "dot"):
        product = helper_address(f"tj_product_{dtype}", threads)
        return None if product is None else (narrow_product_text(name), {f"{name}.gemm": product})
    if kind == "product":
        return _product_ir(name, dtype, threads)
    bound: dict[str, Routine | None] = {}

    def find(routine_name: str) -> Routine | None:
        return bound.setdefault(routine_name, routine(routine_name))

    text = helper_text(name, find)
    if text is None:
        return None
    addresses = {f"{name}.{key}": r.address for key, r in bound.items() if r is not None}
    if kind == "getrs":
        trsm = helper_address(f"tj_trsm_{dtype}")
        return None if trsm is None else (text, {**addresses, f"{name}.trsm": trsm})
    return text, addresses


def _product_ir(name: str, dtype: str, threads: int | None) -> tuple[str, dict[str, int]] | None:
    one = f"tj_gemm_{dtype}"
    gemm, guard = helper_address(one), _serial()
    if gemm is None:
        return None
    text, more = product_text(name, dtype, one, guard is not None, threads)
    return text, {**more, **guard_symbols(), one: gemm}


def guard_symbols() -> dict[str, int]:
    """`tj_blas_enter` and `tj_blas_leave` with their addresses; nothing where BLAS has no threads.

    They are for calls of LAPACK, around each.
    """
    guard = _serial()
    return {} if guard is None else {n: guard.address(n) for n in _GUARDS}


@once
def _serial() -> Library | None:
    """What gives NumPy's BLAS one thread for a while; None for one that cannot be told to."""
    try:
        multiarray, _ = _numpy_libraries()
    except OSError:
        return None
    for spelling in _THREADS:
        get, set_ = (_address(multiarray, spelling.format(x)) for x in ("get", "set"))
        if get is not None and set_ is not None:
            return serial_blas(get, set_)
    return None


@once
def _library(name: str, threads: int | None) -> Library | None:
    made = helper_ir(name, threads)
    if made is None:
        return None
    text, bound = made
    return load_object(object_code(text, glue=True), bound, [name])


def helper_address(name: str, threads: int | None = None) -> int | None:
    """The address of a helper, compiled once a process; None where a routine was not found.

    A product is shared by as many threads as are given, or as the process is set to.

    Raises KeyError for an unknown helper.
    """
    shared = name.split("_")[1] in ("product", "gemv", "dot")
    library = _library(name, threads if shared else None)
    return None if library is None else library.address(name)
