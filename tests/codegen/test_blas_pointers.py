"""BLAS and LAPACK by address: the same bits as NumPy for every layout, dtype and small size."""

import ctypes
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tracejit.codegen.llvm.engine import compile_module, load_object, object_code
from tracejit.codegen.support import blas
from tracejit.link import blas as routines
from tracejit.link import shared

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
DOUBLE = ("f64", "c128")
SIZES = [0, 1, 2, 3, 5, 17]
C_TYPES: dict[str, Any] = {
    "ptr": ctypes.c_void_p,
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "void": None,
}


def function(name: str, address: int | None = None) -> Callable[..., Any]:
    """A helper as a Python function."""
    result, parameters = blas.HELPERS[name]
    kinds = [C_TYPES[p] for p in parameters.split(", ")]
    address = blas.helper_address(name) if address is None else address
    assert address is not None, f"{name} was not found"
    return ctypes.CFUNCTYPE(C_TYPES[result], *kinds)(address)


def values(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    out = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        return (out + 1j * generator.standard_normal(shape)).astype(dtype)
    return out.astype(dtype)


def layouts(shape: tuple[int, int], dtype: Any) -> Iterator[Any]:
    """A matrix in memory by rows, by columns, and as part of a larger one."""
    rows, columns = shape
    yield values(shape, dtype)
    yield values((columns, rows), dtype).T
    yield values((rows, columns + 3), dtype)[:, :columns]
    yield values((columns, rows + 2), dtype).T[:rows]


def described(matrix: Any) -> tuple[int, int]:
    """A matrix's t and ld."""
    steps = [stride // matrix.itemsize for stride in matrix.strides]
    by_rows = steps[1] == 1 and steps[0] >= matrix.shape[1]
    by_columns = steps[0] == 1 and steps[1] >= matrix.shape[0]
    assert by_rows or by_columns or not matrix.size
    return (0, steps[0]) if by_rows else (1, steps[1])


def same_bits(got: Any, expected: Any) -> None:
    np.testing.assert_array_equal(got, expected, strict=True)
    assert np.array_equal(np.signbit(got.real), np.signbit(expected.real))


@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("k", SIZES)
def test_gemm_is_matmul(code: str, k: int) -> None:
    dtype = DTYPES[code]
    gemm = function(f"tj_gemm_{code}")
    for m, n in itertools.product(SIZES, repeat=2):
        for a, b in itertools.product(layouts((m, k), dtype), layouts((k, n), dtype)):
            (ta, lda), (tb, ldb) = described(a), described(b)
            c = np.full((m, n), np.nan, dtype)
            gemm(c.ctypes.data, a.ctypes.data, b.ctypes.data, m, n, k, ta, tb, lda, ldb, max(n, 1))
            with np.errstate(invalid="ignore"):  # of lanes that BLAS computes and does not store
                same_bits(c, a @ b)


@pytest.mark.parametrize("code", DTYPES)
def test_a_matrix_times_its_transpose_is_symmetric(code: str) -> None:
    gemm = function(f"tj_gemm_{code}")
    for m, k in ((2, 3), (40, 7), (33, 100)):
        for a in layouts((m, k), DTYPES[code]):
            ta, lda = described(a)
            c = np.empty((m, m), DTYPES[code])
            p = a.ctypes.data
            gemm(c.ctypes.data, p, p, m, m, k, ta, 1 - ta, lda, lda, m)
            same_bits(c, a @ a.T)
            assert np.array_equal(c, c.T)


@pytest.mark.parametrize("code", DTYPES)
def test_a_result_inside_a_larger_array(code: str) -> None:
    gemm = function(f"tj_gemm_{code}")
    a, b = values((4, 6), DTYPES[code]), values((6, 3), DTYPES[code], 1)
    for m, n, k in ((4, 3, 6), (4, 1, 6), (1, 3, 6), (1, 1, 6), (4, 3, 1), (4, 3, 0)):
        whole = np.full((4, 7), 9, DTYPES[code])
        p, q = a.ctypes.data, b.ctypes.data
        gemm(whole.ctypes.data, p, q, m, n, k, 0, 0, 6, 3, 7)
        same_bits(whole[:m, :n].copy(), a[:m, :k] @ b[:k, :n])
        whole[:m, :n] = 9
        assert (whole == 9).all()


@pytest.mark.parametrize("code", DTYPES)
def test_gemv_is_matmul_with_a_vector(code: str) -> None:
    dtype = DTYPES[code]
    gemv = function(f"tj_gemv_{code}")
    for m, k in itertools.product(SIZES, repeat=2):
        for a, step in itertools.product(layouts((m, k), dtype), (1, 2)):
            ta, lda = described(a)
            x = values((k * step,), dtype, 1)[::step]
            y = np.full(m, np.nan, dtype)
            gemv(y.ctypes.data, a.ctypes.data, x.ctypes.data, m, k, ta, lda, step)
            same_bits(y, a @ x)
            same_bits(y, x @ a.T)


@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("k", [0, 1, 2, 7, 1000])
def test_dot_takes_any_step(code: str, k: int) -> None:
    dtype = DTYPES[code]
    dot = function(f"tj_dot_{code}")
    for s, t in itertools.product((1, 2, -1, -3), repeat=2):
        x = values((3 * k,), dtype)[: k * abs(s)][:: abs(s)][:: s // abs(s)]
        y = values((3 * k,), dtype, 1)[: k * abs(t)][:: abs(t)][:: t // abs(t)]
        out = np.full(1, np.nan, dtype)
        dot(out.ctypes.data, x.ctypes.data, y.ctypes.data, k, s, t)
        same_bits(out[0], x @ y)


def test_a_zero_product_is_a_positive_zero() -> None:
    out, minus = np.full(1, 7.0), np.full(3, -0.0)
    one = np.ones(3)
    function("tj_dot_f64")(out.ctypes.data, minus.ctypes.data, one.ctypes.data, 3, 1, 1)
    same_bits(out[0], np.dot(minus, one))
    assert not np.signbit(out[0])


def regular(n: int, dtype: Any) -> Any:
    return values((n, n), dtype) + 3 * np.eye(n, dtype=dtype)


def columns_of(matrix: Any) -> Any:
    return np.asfortranarray(matrix).copy(order="F")


@pytest.mark.parametrize("code", DOUBLE)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 40])
def test_gesv_and_inv_are_numpys(code: str, n: int) -> None:
    matrix, ipiv = regular(n, DTYPES[code]), np.zeros(max(n, 1), np.int64)
    for nrhs in (0, 1, 3):
        a, b = columns_of(matrix), columns_of(values((n, nrhs), DTYPES[code], 1))
        expected = np.linalg.solve(matrix, b)
        gesv = function(f"tj_gesv_{code}")
        assert gesv(a.ctypes.data, b.ctypes.data, n, nrhs, ipiv.ctypes.data) == 0
        same_bits(b, expected)
    a, out = columns_of(matrix), np.full((n, n), np.nan, DTYPES[code], order="F")
    assert function(f"tj_inv_{code}")(a.ctypes.data, out.ctypes.data, n, ipiv.ctypes.data) == 0
    same_bits(out, np.linalg.inv(matrix))


@pytest.mark.parametrize("code", DOUBLE)
def test_a_singular_matrix_is_reported(code: str) -> None:
    ipiv, b = np.zeros(3, np.int64), np.ones((3, 1), DTYPES[code])
    singular = np.zeros((3, 3), DTYPES[code], order="F")
    info = function(f"tj_gesv_{code}")(singular.ctypes.data, b.ctypes.data, 3, 1, ipiv.ctypes.data)
    assert info == 1
    assert function(f"tj_getrf_{code}")(singular.ctypes.data, 3, ipiv.ctypes.data) == 1


@pytest.mark.parametrize("code", DOUBLE)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 40])
def test_getrf_gives_factors_and_rows(code: str, n: int) -> None:
    matrix = regular(n, DTYPES[code])[::-1]
    a, ipiv = columns_of(matrix), np.zeros(n, np.int64)
    assert function(f"tj_getrf_{code}")(a.ctypes.data, n, ipiv.ctypes.data) == 0
    product = (np.tril(a, -1) + np.eye(n, dtype=a.dtype)) @ np.triu(a)
    for row in reversed(range(n)):
        assert row < ipiv[row] <= n
        product[[row, ipiv[row] - 1]] = product[[ipiv[row] - 1, row]]
    tolerance = 100 * np.finfo(a.dtype).eps
    np.testing.assert_allclose(product, matrix, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("code", DOUBLE)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 40])
def test_potrf_is_numpys_cholesky(code: str, n: int) -> None:
    matrix = values((n, n), DTYPES[code])
    matrix = matrix @ matrix.conj().T + 2 * n * np.eye(n, dtype=matrix.dtype)
    for upper in (0, 1):
        a = columns_of(matrix)
        assert function(f"tj_potrf_{code}")(a.ctypes.data, n, upper) == 0
        same_bits(a, np.linalg.cholesky(matrix, upper=bool(upper)))
    if n > 1:
        a = columns_of(-matrix)
        assert function(f"tj_potrf_{code}")(a.ctypes.data, n, 0) == 1


@pytest.fixture
def scipy_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Routines as where NumPy's library exports nothing."""
    pytest.importorskip("scipy.linalg")
    routines.routine.cache_clear()
    blas._known_ir.cache_clear()
    monkeypatch.setattr(shared, "_LIBRARIES", {})
    monkeypatch.setattr(routines, "_of_numpy", lambda name: None)
    yield
    routines.routine.cache_clear()
    blas._known_ir.cache_clear()


@pytest.mark.usefixtures("scipy_only")
@pytest.mark.parametrize("code", DTYPES)
def test_scipys_pointers_agree(code: str) -> None:
    dtype = DTYPES[code]
    found = routines.routine("dgemm")
    assert found is not None and (found.int_bits, found.convention) == (32, "fortran")
    gemm, tolerance = function(f"tj_gemm_{code}"), 100 * float(np.finfo(dtype).eps)
    for m, n, k in itertools.product((0, 1, 2, 9), repeat=3):
        for a, b in itertools.product(layouts((m, k), dtype), layouts((k, n), dtype)):
            (ta, lda), (tb, ldb) = described(a), described(b)
            c = np.full((m, n), np.nan, dtype)
            gemm(c.ctypes.data, a.ctypes.data, b.ctypes.data, m, n, k, ta, tb, lda, ldb, max(n, 1))
            np.testing.assert_allclose(c, a @ b, rtol=tolerance, atol=tolerance)
    for a in layouts((6, 4), dtype):
        ta, lda = described(a)
        c = np.empty((6, 6), dtype)
        gemm(c.ctypes.data, a.ctypes.data, a.ctypes.data, 6, 6, 4, ta, 1 - ta, lda, lda, 6)
        np.testing.assert_allclose(c, a @ a.T, rtol=tolerance, atol=tolerance)
        assert np.array_equal(c, c.T)
    if code not in DOUBLE:
        return
    matrix, ipiv = regular(9, dtype), np.zeros(9, np.int64)
    a, b = columns_of(matrix), columns_of(values((9, 2), dtype))
    expected = np.linalg.solve(matrix, b)
    assert function(f"tj_gesv_{code}")(a.ctypes.data, b.ctypes.data, 9, 2, ipiv.ctypes.data) == 0
    np.testing.assert_allclose(b, expected, rtol=tolerance, atol=tolerance)
    a = columns_of(matrix)
    assert function(f"tj_getrf_{code}")(a.ctypes.data, 9, ipiv.ctypes.data) == 0
    assert ((ipiv > np.arange(9)) & (ipiv <= 9)).all()
    singular = np.zeros((3, 3), dtype)
    assert function(f"tj_getrf_{code}")(singular.ctypes.data, 3, ipiv.ctypes.data) == 1


@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("library", ["", "scipy_only"])
def test_triangular_systems(code: str, library: str, request: pytest.FixtureRequest) -> None:
    if library:
        request.getfixturevalue(library)
    dtype, trsm = DTYPES[code], function(f"tj_trsm_{code}")
    tolerance = 100 * float(np.finfo(dtype).eps)
    whole = regular(6, dtype)
    for n, k, upper, trans, unit in itertools.product((0, 1, 5), (0, 1, 3), *[(0, 1)] * 3):
        trans += trans * upper
        t = np.triu(whole[:n, :n]) if upper else np.tril(whole[:n, :n])
        t = t + unit * (np.eye(n, dtype=dtype) - t * np.eye(n, dtype=dtype))
        t = (t, t.T, t.conj().T)[trans]
        x = values((n, k), dtype, 1)
        b = (t @ x).astype(dtype)
        trsm(b.ctypes.data, whole.ctypes.data, n, k, 6, upper, trans, unit)
        np.testing.assert_allclose(b, x, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("code", DOUBLE)
@pytest.mark.parametrize("library", ["", "scipy_only"])
def test_systems_by_factors(code: str, library: str, request: pytest.FixtureRequest) -> None:
    if library:
        request.getfixturevalue(library)
    dtype, tolerance = DTYPES[code], 1e-12
    for n in (0, 1, 2, 9):
        matrix, ipiv, pivots = regular(n, dtype)[::-1], np.zeros(n, np.int64), np.zeros(n)
        p = np.ascontiguousarray(matrix.T)
        given = p.ctypes.data, ipiv.ctypes.data
        assert function(f"tj_getrf_{code}")(given[0], n, given[1]) == 0
        for k, trans in itertools.product((0, 1, 3), (0, 1)):
            x = values((n, k), dtype, 1)
            b = np.ascontiguousarray((matrix.T if trans else matrix) @ x)
            assert function(f"tj_getrs_{code}")(b.ctypes.data, *given, n, k, trans) == 0
            np.testing.assert_allclose(b, x, rtol=tolerance, atol=tolerance)
        out, work = np.full((n, n), np.nan, dtype), np.empty(64 * n + 64, dtype)
        blocks = out.ctypes.data, n, pivots.ctypes.data, work.ctypes.data
        assert function(f"tj_getri_{code}")(*given, *blocks) == 0
        np.testing.assert_allclose(out.T, np.linalg.inv(matrix), rtol=tolerance, atol=tolerance)
        diagonal = np.empty(n, dtype)
        function(f"tj_pivoted_{code}")(*given, diagonal.ctypes.data, n)
        np.testing.assert_allclose(diagonal.prod(), np.linalg.det(matrix), rtol=tolerance)
        p[:1, :1] = 0
        expected = int(n > 0)
        assert function(f"tj_getrs_{code}")(out.ctypes.data, *given, n, 0, 0) == expected


def test_lapack_helpers_are_of_double_precision_like_numpy_linalg() -> None:
    """`numpy.linalg` computes single precision in double: no other helper would agree with it."""
    single = regular(40, np.float32)
    promoted = np.linalg.inv(single.astype(np.float64)).astype(np.float32)
    same_bits(np.linalg.inv(single), promoted)
    assert {n for n in blas.HELPERS if "gesv" in n} == {"tj_gesv_f64", "tj_gesv_c128"}
    assert routines.routine("sgesv") is not None


def test_what_is_not_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyError):
        routines.routine("dgels")
    with pytest.raises(KeyError):
        blas.helper_ir("tj_gemm_f16")
    for cache in (routines.routine, blas._known_ir):
        cache.cache_clear()
    monkeypatch.setattr(shared, "_LIBRARIES", {})
    monkeypatch.setattr(routines, "_of_numpy", lambda name: None)
    monkeypatch.setattr(routines, "_of_scipy", lambda name: None)
    assert [blas.helper_address(name) for name in blas.HELPERS] == [None] * len(blas.HELPERS)
    for cache in (routines.routine, blas._known_ir):
        cache.cache_clear()


def test_a_program_calls_a_helper() -> None:
    text = f"""
    {blas.declaration("tj_dot_f64")}
    define i32 @program(ptr %in, ptr %out) {{
      %x = load ptr, ptr %in
      call void @tj_dot_f64(ptr %out, ptr %x, ptr %x, i64 3, i64 1, i64 1)
      ret i32 0
    }}
    """
    address = blas.helper_address("tj_dot_f64")
    assert address is not None
    library = compile_module(text, {"tj_dot_f64": address}, ["program"])
    x, out = np.array([1.0, 2.0, 3.0]), np.zeros(1)
    given = ctypes.c_void_p(x.ctypes.data)
    program = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
    assert program(library.address("program"))(ctypes.addressof(given), out.ctypes.data) == 0
    assert out[0] == 14.0


def test_a_helper_can_be_linked_on_its_own() -> None:
    made = blas.helper_ir("tj_gemm_f64")
    assert made is not None
    library = load_object(object_code(made[0]), made[1], ["tj_gemm_f64"])
    a, c = values((3, 3), np.float64), np.empty((3, 3))
    p = a.ctypes.data
    gemm = function("tj_gemm_f64", library.address("tj_gemm_f64"))
    gemm(c.ctypes.data, p, p, 3, 3, 3, 0, 0, 3, 3, 3)
    same_bits(c, a @ a)
