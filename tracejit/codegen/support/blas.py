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

from tracejit.base.locks import once
from tracejit.codegen.llvm.engine import Library, load_object, object_code
from tracejit.codegen.support.blas_text import HELPERS, helper_text, narrow_product_text
from tracejit.codegen.support.shared_products import product_text, serial_blas
from tracejit.link.addresses import Address
from tracejit.link.blas import Routine, routine, threads_function
from tracejit.link.digests import digest
from tracejit.link.shared import Shared, shared

__all__ = [
    "HELPERS",
    "declaration",
    "guard_symbols",
    "helper_address",
    "helper_ir",
]

_GUARDS = ("tj_blas_enter", "tj_blas_leave")


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


def _serial() -> Shared | None:
    """What gives NumPy's BLAS one thread for a while; None for one that cannot be told to."""
    get, set_ = threads_function("get"), threads_function("set")
    return None if get is None or set_ is None else serial_blas(get, set_)


def _library(name: str, threads: int | None) -> Shared | None:
    made = _known_ir(name, threads)
    if made is None:
        return None
    text, bound = made

    def compiled() -> Library:
        return load_object(object_code(text, glue=True), bound, [name])

    # The text has the sizes of integers that the routines found take.
    return shared(f"{name} {threads} {digest(text.encode())}", compiled)


@once
def _known_ir(name: str, threads: int | None) -> tuple[str, dict[str, int]] | None:
    return helper_ir(name, threads)


def helper_address(name: str, threads: int | None = None) -> Address | None:
    """The address of a helper, compiled once a process; None where a routine was not found.

    A product is shared by as many threads as are given, or as the process is set to.

    Raises KeyError for an unknown helper.
    """
    by_threads = name.split("_")[1] in ("product", "gemv", "dot")
    library = _library(name, threads if by_threads else None)
    return None if library is None else library.address(name)
