"""Routines of BLAS and LAPACK by address: those of NumPy's own library, which NumPy itself calls.

`routine("dgemm")` finds the very routine that NumPy calls, so that results agree bit for bit;
SciPy's pointers stand in where NumPy's library exports nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from tracejit.base.late import imported
from tracejit.base.locks import once
from tracejit.link.addresses import Address, Recipe, described
from tracejit.link.finding import pointer_in

__all__ = [
    "LAPACK",
    "PREFIXES",
    "ROUTINES",
    "Routine",
    "routine",
    "spellings",
    "threads_function",
]

#: Element type -> the letter of its routines.
PREFIXES = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
_BLAS_REAL = ("gemm", "gemv", "syrk", "trsm", "trsv", "swap", "dot")
_BLAS_COMPLEX = ("gemm", "gemv", "syrk", "trsm", "trsv", "swap", "dotu")
LAPACK = ("gesv", "potrf", "getrf", "getri")
#: Every routine by its BLAS name, such as "dgemm" or "zdotu".
ROUTINES = tuple(
    prefix + name
    for prefix in PREFIXES.values()
    for name in (*(_BLAS_REAL if prefix in "sd" else _BLAS_COMPLEX), *LAPACK)
)


class Routine(NamedTuple):
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
    multiarray, linalg = (ctypes.CDLL(imported(name).__file__) for name in modules)
    return multiarray, linalg


def _address(library: ctypes.CDLL, symbol: str) -> int | None:
    function = getattr(library, symbol, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def spellings(name: str) -> list[tuple[str, int]]:
    """How libraries call a routine, CBLAS's or Fortran's of LAPACK, and the bits of its integers:
    one for each library, in the same order for all routines.
    """
    base = name + "_sub" if name.endswith("dotu") else name
    return [
        ((fortran if name[1:] in LAPACK else cblas).format(base), bits)
        for cblas, fortran, bits in _SPELLINGS
    ]


def _of_numpy(name: str) -> Routine | None:
    try:
        multiarray, linalg = _numpy_libraries()
    except OSError:
        return None
    is_lapack = name[1:] in LAPACK
    for (symbol, bits), (known, _) in zip(spellings(name), spellings("dgemm"), strict=True):
        # A spelling counts only as a whole: parts of two libraries are never mixed.
        if _address(multiarray, known) is None:
            continue
        address = _address(linalg if is_lapack else multiarray, symbol)
        if address is not None:
            return Routine(
                name, _described(name, address), bits, "fortran" if is_lapack else "cblas"
            )
    return None


def _of_scipy(name: str) -> Routine | None:
    """SciPy's Cython interface. Complex dot products return structs there and are left out."""
    if name.endswith("dotu"):
        return None
    which = "cython_lapack" if name[1:] in LAPACK else "cython_blas"
    try:
        capsules: Mapping[str, Any] = imported(f"scipy.linalg.{which}").__pyx_capi__
    except ImportError:
        return None
    capsule = capsules.get(name)
    return (
        None
        if capsule is None
        else Routine(name, _described(name, pointer_in(capsule)), 32, "fortran")
    )


@once
def routine(name: str) -> Routine | None:
    """A routine by its BLAS name, such as "dgemm", "zdotu" or "sgesv"; None if there is none.

    Raises KeyError for a name that is not in `ROUTINES`.
    """
    if name not in ROUTINES:
        raise KeyError(name)
    return _of_numpy(name) or _of_scipy(name)


def _described(name: str, address: int) -> Address:
    return Address(address, Recipe(__name__, "routine", (name,)))


@described
def threads_function(which: str) -> int | None:
    """NumPy's BLAS's function that says ("get"), or is told ("set"), how many threads it uses; None
    for a library that has none.
    """
    try:
        multiarray, _ = _numpy_libraries()
    except OSError:
        return None
    for spelling in _THREADS:
        found = {x: _address(multiarray, spelling.format(x)) for x in ("get", "set")}
        if None not in found.values():
            return found[which]
    return None
