"""One thread for everybody, and what a reader must know of the machine to judge a figure.

`limit_threads` must run before NumPy is imported: the thread pools read the environment once.
"""

import importlib.metadata
import os
import platform
import sys
from pathlib import Path

POOL_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
PACKAGES = (
    *("numpy", "scipy", "llvmlite", "numexpr", "numba", "jax", "jaxlib", "torch", "mpmath"),
    *("numba-cuda", "cupy", "cupy-cuda12x", "cupy-cuda13x", "triton", "jax-cuda12-plugin"),
    "jax-cuda13-plugin",
)


def limit_threads(count: int) -> None:
    """Let every library use at most `count` threads, and this process as many CPUs.

    Raises RuntimeError where NumPy is already imported, since its BLAS would not take notice.
    """
    if "numpy" in sys.modules:
        raise RuntimeError("limit_threads must run before numpy is imported")
    for variable in POOL_VARIABLES:
        os.environ[variable] = str(count)
    # JAX in the precision that the others use; XLA's own pool follows the CPUs of the process.
    os.environ["JAX_ENABLE_X64"] = "1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    if count == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])


def cpu_model() -> str:
    """The processor's name as the system states it."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Installed version of every package that takes part; absent ones are left out."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def describe(threads: int) -> dict[str, object]:
    """What the JSON and the head of the table say about the machine."""
    return {
        "cpu": cpu_model(),
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
    }
