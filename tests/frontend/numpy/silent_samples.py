"""Functions of LAPACK and around it, of a square matrix and a vector."""

import numpy as np
from numpy.polynomial import chebyshev, hermite, laguerre, legendre, polynomial

try:
    import scipy.linalg as scipy_linalg
except ImportError:  # pragma: no cover
    scipy_linalg = None


def _of(f):
    return lambda a, v: f(a)


FITS = (np.polyfit, polynomial.polyfit, chebyshev.chebfit, legendre.legfit)
CASES = (
    *(lambda a, v, f=f: f(v, v * v, 2) for f in (*FITS, laguerre.lagfit, hermite.hermfit)),
    lambda a, v: np.polyfit(v, v * v, 1, w=v),
    lambda a, v: np.polyfit(v, v * v, 1, cov=True),
    lambda a, v: np.linalg.lstsq(a / a.sum(axis=0), v)[0],
    lambda a, v: np.roots(v),
    *map(
        _of,
        (
            *(np.linalg.svd, np.linalg.eig, np.linalg.eigh, np.linalg.eigvals, np.linalg.qr),
            *(np.linalg.pinv, np.linalg.cond, np.linalg.matrix_rank, np.cov, np.corrcoef),
        ),
    ),
    *map(
        _of,
        ()
        if scipy_linalg is None
        else (
            *(scipy_linalg.expm, scipy_linalg.logm, scipy_linalg.sqrtm, scipy_linalg.lu),
            *(scipy_linalg.schur, scipy_linalg.null_space, scipy_linalg.pinv, scipy_linalg.svdvals),
        ),
    ),
)
