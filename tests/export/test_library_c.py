"""Libraries called from C: the example gives what NumPy gives, and tables of either width serve."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.export import library_programs as programs
from tests.support.libraries import NEEDS_CC, Drawn, numpy_blas, run_example

pytestmark = NEEDS_CC


def close(expected: Any, found: list[float]) -> bool:
    """Whether numbers are the same up to a rounding."""
    return np.allclose(np.ravel(expected), found, rtol=1e-12, atol=1e-14)


def test_the_example_of_a_system(tmp_path: Path) -> None:
    blas = numpy_blas()
    if blas is None:
        pytest.skip("NumPy has no BLAS in a file of its own")
    made = tracejit.export(programs.solve, "f64[n, n], f64[n]", out=tmp_path)
    drawn = Drawn()
    x, r, most = programs.solve(drawn.array(4, 4), drawn.array(4))
    found = run_example(made, str(blas))
    assert close(x, found["out0"]) and close([most], found["out2"])
    assert np.abs(np.array(found["out1"])).max() < 1e-12 and len(found["out1"]) == len(r)


def test_the_example_of_stores_and_made_arrays(tmp_path: Path) -> None:
    def both(x, y, k):
        y[1:] = y[1:] * k
        return x[x > 0.5], np.float32(x.sum()), y + 1j

    made = tracejit.export(both, "f64[n], f64[n], int", "f64[n], f64[n], 3", out=tmp_path)
    drawn = Drawn()
    x, y = drawn.array(4), drawn.array(4)
    k = 1 + int(9 * drawn.number())
    first = both(x, y, k)
    # The second function draws on, and prints under the same names.
    u, v = drawn.array(4), drawn.array(4)
    second = both(u, v, 3)
    found = run_example(made)
    assert close([*y, *v], found["y"])
    assert close([*first[0], *second[0]], found["out0"])
    assert np.allclose([first[1], second[1]], found["out1"], rtol=1e-6)
    parts = np.concatenate([first[2], second[2]])
    assert close(np.stack([parts.real, parts.imag], -1), found["out2"])


HOST = """
#include <stdio.h>
#include "inverses.h"

/* A BLAS with 32-bit integers, as others have: as much of it as is called here. */
static int calls;
static void dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                  int lda, const double *b, int ldb, double beta, double *c, int ldc) {
    ++calls;
    for (int i = 0; order == 101 && i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = beta == 0 ? 0 : beta * c[i * ldc + j];
            for (int p = 0; p < k; ++p)
                sum += alpha * (ta == 111 ? a[i * lda + p] : a[p * lda + i]) *
                       (tb == 111 ? b[p * ldb + j] : b[j * ldb + p]);
            c[i * ldc + j] = sum;
        }
}
static void dsyrk(int order, int half, int trans, int n, int k, double alpha, const double *a,
                  int lda, double beta, double *c, int ldc) {
    (void)half;
    dgemm(order, trans, trans == 111 ? 112 : 111, n, n, k, alpha, a, lda, a, lda, beta, c, ldc);
}
/* Columns, and pivots from 1. */
static void dgetrf(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info) {
    ++calls;
    *info = 0;
    for (int k = 0; k < *n && *m == *n; ++k) {
        int best = k;
        for (int i = k + 1; i < *n; ++i)
            if ((a[i + k * *lda] < 0 ? -1 : 1) * a[i + k * *lda] >
                (a[best + k * *lda] < 0 ? -1 : 1) * a[best + k * *lda])
                best = i;
        pivots[k] = best + 1;
        for (int j = 0; j < *n; ++j) {
            double t = a[k + j * *lda];
            a[k + j * *lda] = a[best + j * *lda];
            a[best + j * *lda] = t;
        }
        if (a[k + k * *lda] == 0) {
            *info = k + 1;
            return;
        }
        for (int i = k + 1; i < *n; ++i) {
            a[i + k * *lda] /= a[k + k * *lda];
            for (int j = k + 1; j < *n; ++j)
                a[i + j * *lda] -= a[i + k * *lda] * a[k + j * *lda];
        }
    }
}
int main(void) {
    double A[9] = {0, 2, 1, 3, 1, 4, 1, 0, 2}, product[9], det;
    if (det_and_product(3, A, &det, product) != DET_AND_PRODUCT_BLAS)
        return 1;
    det_and_product_blas table = {0};
    table.int_bits = 32;
    table.dgemm = (void (*)(void))dgemm;
    table.dsyrk = (void (*)(void))dsyrk;
    table.dgetrf = (void (*)(void))dgetrf;
    det_and_product_set_blas(&table);
    if (det_and_product(1, A, &det, product) != DET_AND_PRODUCT_SIZES)
        return 2;
    if (det_and_product(3, A, &det, product) || !calls)
        return 3;
    printf("%.17g", det);
    for (int k = 0; k < 9; ++k)
        printf(" %.17g", product[k]);
    return 0;
}
"""


def test_a_table_with_narrow_integers(tmp_path: Path) -> None:
    """Pivots are widened, sizes narrowed; without a table calls are refused."""

    def det_and_product(A):
        return np.linalg.det(A), A @ A.T

    made = tracejit.export(det_and_product, "f64[n, n]", out=tmp_path)
    host = tmp_path / "host.c"
    host.write_text(HOST.replace("inverses.h", made.header.name))
    program = tmp_path / "host"
    flags = ["-Wall", "-Wextra", "-Werror", f"-Wl,-rpath,{tmp_path}", "-o", str(program)]
    subprocess.run(["cc", str(host), str(made.library), "-lm", *flags], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 0
    A = np.array([[0.0, 2, 1], [3, 1, 4], [1, 0, 2]])
    numbers = [float(x) for x in done.stdout.split()]
    assert close(np.linalg.det(A), numbers[:1]) and close(A @ A.T, numbers[1:])


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no compiler of C++")
def test_the_header_is_one_of_cpp(tmp_path: Path) -> None:
    made = tracejit.export(programs.complex_product, "c128[n, m], c128[m]", out=tmp_path)
    source = tmp_path / "host.cpp"
    source.write_text(f'#include "{made.header.name}"\n')
    subprocess.run(["c++", "-Wall", "-Werror", "-fsyntax-only", str(source)], check=True)


def test_only_what_the_header_declares_is_exported(tmp_path: Path) -> None:
    made = tracejit.export(programs.solve, "f64[n, n], f64[n]", out=tmp_path)
    library = ctypes.CDLL(str(made.library))
    for name in ("solve", "solve_shapes", "solve_set_blas"):
        assert hasattr(library, name) and f" {name}(" in made.header.read_text()
    for name in ("tj_program_solve", "tj_take", "tj_gesv_f64", "tj_blas_dgesv"):
        assert not hasattr(library, name)
