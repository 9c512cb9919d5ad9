"""Twenty-seven NumPy programs as their users write them, checked against NumPy itself."""

from ..harness import Table
from . import (
    adi,
    bicg,
    channel_flow,
    cholesky,
    contour_integral,
    conv2d_bias,
    covariance,
    deriche,
    doitgen,
    fdtd_2d,
    floyd_warshall,
    gemm,
    gesummv,
    hdiff,
    jacobi_1d,
    lu,
    mandelbrot,
    mvt,
    nbody,
    resnet,
    softmax,
    spmv,
    stockham,
    symm,
    syrk,
    three_products,
    trisolv,
)
from .program import PRESETS, Difference, Kernel, Kind, Program, check

__all__ = [
    "PRESETS",
    "PROGRAMS",
    "Difference",
    "Kernel",
    "Kind",
    "Program",
    "check",
    "named",
    "run",
]

MODULES = (
    adi,
    bicg,
    channel_flow,
    cholesky,
    contour_integral,
    conv2d_bias,
    covariance,
    deriche,
    doitgen,
    fdtd_2d,
    floyd_warshall,
    gemm,
    gesummv,
    hdiff,
    jacobi_1d,
    lu,
    mandelbrot,
    mvt,
    nbody,
    resnet,
    softmax,
    spmv,
    stockham,
    symm,
    syrk,
    three_products,
    trisolv,
)

PROGRAMS: tuple[Program, ...] = tuple(module.PROGRAM for module in MODULES)


def named(name: str) -> Program:
    """The program of that name; raises KeyError where there is none."""
    return {program.name: program for program in PROGRAMS}[name]


def run(quick: bool) -> list[Table]:
    """All programs, compiled and plain, in turns."""
    from .._programs_timing import run_all  # which imports the compilers

    return run_all(PROGRAMS, quick)
