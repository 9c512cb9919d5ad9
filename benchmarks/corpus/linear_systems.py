"""Linear systems and eigenvalues, solved by hand."""

import math

import numpy as np

from .numerical import spd, vector
from .program import Family

PROGRAMS = Family()


def gaussian_elimination(A, b):
    n = len(b)
    M = np.hstack([A.astype(float), b.reshape(-1, 1)])
    for i in range(n):
        max_row = i + np.argmax(np.abs(M[i:, i]))
        if M[max_row, i] == 0:
            raise ValueError("Matrix is singular.")
        if max_row != i:
            M[[i, max_row]] = M[[max_row, i]]
        for j in range(i + 1, n):
            ratio = M[j, i] / M[i, i]
            M[j, i:] -= ratio * M[i, i:]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (M[i, -1] - np.dot(M[i, i + 1 : n], x[i + 1 :])) / M[i, i]
    return x


PROGRAMS.add(
    gaussian_elimination,
    lambda: (spd(6), vector(6)),
    lambda: (np.array([[0, 1, 2], [1, 0, 3], [4, -3, 8]]), np.array([1, 2, 3])),
    lambda: (np.zeros((2, 2)), np.ones(2)),
)


def lu_decomposition(A):
    n = len(A)
    L = [[0.0] * n for _ in range(n)]
    U = [[0.0] * n for _ in range(n)]
    for j in range(n):
        L[j][j] = 1.0
        for i in range(j + 1):
            U[i][j] = A[i][j] - sum(U[k][j] * L[i][k] for k in range(i))
        for i in range(j, n):
            L[i][j] = (A[i][j] - sum(U[k][j] * L[i][k] for k in range(j))) / U[j][j]
    return L, U


PROGRAMS.add(lu_decomposition, lambda: (spd(5),), lambda: ([[2.0, 1.0], [4.0, 3.0]],))


def cholesky(A):
    n = A.shape[0]
    L = np.zeros_like(A)
    for i in range(n):
        for j in range(i + 1):
            s = sum(L[i, k] * L[j, k] for k in range(j))
            if i == j:
                L[i, j] = math.sqrt(A[i, i] - s)
            else:
                L[i, j] = (A[i, j] - s) / L[j, j]
    return L


PROGRAMS.add(cholesky, lambda: (spd(6),), lambda: (spd(4, 2),), lambda: (-np.eye(3),))


def thomas(a, b, c, d):
    n = len(d)
    cp, dp = np.zeros(n), np.zeros(n)
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = dp
    for i in reversed(range(n - 1)):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


PROGRAMS.add(
    thomas,
    lambda: (vector(12, 0), vector(12) + 5, vector(12, 2), vector(12, 3)),
    lambda: (vector(30, 0), vector(30) + 6, vector(30, 2), vector(30, 3)),
)


def jacobi(A, b, x0=None, tol=1e-8, max_iterations=100):
    x = np.zeros_like(b) if x0 is None else x0.copy()
    D = np.diag(A)
    R = A - np.diagflat(D)
    for k in range(max_iterations):
        x_new = (b - R @ x) / D
        if np.linalg.norm(x_new - x, ord=np.inf) < tol:
            return x_new, k
        x = x_new
    return x, max_iterations


PROGRAMS.add(jacobi, lambda: (spd(6), vector(6)), lambda: (spd(5, 1), vector(5), np.ones(5), 1e-3))


def gauss_seidel(A, b, omega=1.0, iterations=25):
    n = len(b)
    x = [0.0] * n
    residuals = []
    for _ in range(iterations):
        for i in range(n):
            sigma = 0.0
            for j in range(n):
                if j != i:
                    sigma += A[i][j] * x[j]
            x[i] += omega * ((b[i] - sigma) / A[i][i] - x[i])
        residuals.append(np.linalg.norm(np.dot(A, x) - b))
        if residuals[-1] < 1e-10:
            break
    return np.array(x), residuals


PROGRAMS.add(gauss_seidel, lambda: (spd(6), vector(6)), lambda: (spd(4, 3), vector(4), 1.2, 10))


def conjugate_gradient(A, b, x=None, tol=1e-10):
    if x is None:
        x = np.zeros(len(b))
    r = b - A.dot(x)
    p = r.copy()
    rsold = r.dot(r)
    for i in range(len(b)):
        Ap = A.dot(p)
        alpha = rsold / p.dot(Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rsnew = r.dot(r)
        if np.sqrt(rsnew) < tol:
            break
        p = r + (rsnew / rsold) * p
        rsold = rsnew
    return x, i + 1


PROGRAMS.add(
    conjugate_gradient, lambda: (spd(8), vector(8)), lambda: (spd(5), vector(5), np.ones(5))
)


def power_iteration(A, num_simulations=100, tol=1e-12):
    b = np.ones(A.shape[1])
    eigenvalue = 0.0
    for _ in range(num_simulations):
        b1 = np.dot(A, b)
        b = b1 / np.linalg.norm(b1)
        new = b @ A @ b
        if abs(new - eigenvalue) < tol:
            break
        eigenvalue = new
    return eigenvalue, b


PROGRAMS.add(power_iteration, lambda: (spd(6),), lambda: (spd(4, 1), 20))


def gram_schmidt_qr(A):
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for j in range(n):
        v = A[:, j].copy()
        for i in range(j):
            R[i, j] = Q[:, i].dot(A[:, j])
            v -= R[i, j] * Q[:, i]
        R[j, j] = np.linalg.norm(v)
        Q[:, j] = v / R[j, j]
    return Q, R


PROGRAMS.add(gram_schmidt_qr, lambda: (spd(5),), lambda: (spd(7)[:, :3],))


def jacobi_eigenvalues(A, max_sweeps=20, tol=1e-12):
    A = A.copy()
    n = A.shape[0]
    V = np.eye(n)
    for _ in range(max_sweeps):
        off = np.sqrt(np.sum(A**2) - np.sum(np.diag(A) ** 2))
        if off < tol:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(A[p, q]) > 1e-15:
                    theta = (A[q, q] - A[p, p]) / (2 * A[p, q])
                    t = np.sign(theta) / (abs(theta) + np.sqrt(theta**2 + 1))
                    c = 1 / np.sqrt(t**2 + 1)
                    s = t * c
                    J = np.eye(n)
                    J[p, p] = J[q, q] = c
                    J[p, q], J[q, p] = s, -s
                    A = J.T @ A @ J
                    V = V @ J
    return np.sort(np.diag(A)), V


PROGRAMS.add(jacobi_eigenvalues, lambda: (spd(5),), lambda: (spd(4, 2), 2))
