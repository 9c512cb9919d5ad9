"""What comes before and after a model: scaling, components, splits, scores."""

import numpy as np

from .machine_learning import blobs
from .program import Family

PROGRAMS = Family()


class StandardScaler:
    def __init__(self, with_mean=True, with_std=True):
        self.with_mean = with_mean
        self.with_std = with_std

    def fit_transform(self, X):
        X = np.asarray(X, dtype=float)
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
        self.mean_ = X.mean(axis=0) if self.with_mean else None
        if self.with_std:
            self.scale_ = X.std(axis=0)
            self.scale_[self.scale_ == 0] = 1.0
        else:
            self.scale_ = None
        out = X.copy()
        if self.mean_ is not None:
            out -= self.mean_
        if self.scale_ is not None:
            out /= self.scale_
        return out


PROGRAMS.add(
    StandardScaler.fit_transform,
    lambda: (StandardScaler(), blobs(30, d=4)[0]),
    lambda: (StandardScaler(with_mean=False), blobs(20, d=3)[0]),
    lambda: (StandardScaler(), np.arange(5)),
)


class PCA:
    def __init__(self, n_components):
        self.n_components = n_components
        self.components = None
        self.mean = None

    def fit(self, X):
        self.mean = np.mean(X, axis=0)
        X = X - self.mean
        cov = np.cov(X.T)
        eigenvalues, eigenvectors = np.linalg.eigh(cov)
        idxs = np.argsort(eigenvalues)[::-1]
        self.components = eigenvectors[:, idxs].T[: self.n_components]

    def transform(self, X):
        return np.dot(X - self.mean, self.components.T)


def pca():
    model = PCA(2)
    model.fit(blobs(40, d=4)[0])
    return model


PROGRAMS.add(
    PCA.fit,
    lambda: (PCA(2), blobs(40, d=4)[0]),
    lambda: (PCA(1), blobs(30, d=3)[0]),
)


PROGRAMS.add(
    PCA.transform,
    lambda: (pca(), blobs(20, d=4)[0]),
    lambda: (pca(), blobs(33, d=4, seed=2)[0]),
)


class LinearDiscriminantAnalysis:
    def fit(self, X, y):
        n_features = X.shape[1]
        class_labels = np.unique(y)
        mean_overall = np.mean(X, axis=0)
        SW = np.zeros((n_features, n_features))
        SB = np.zeros((n_features, n_features))
        for c in class_labels:
            X_c = X[y == c]
            mean_c = np.mean(X_c, axis=0)
            SW += (X_c - mean_c).T.dot(X_c - mean_c)
            n_c = X_c.shape[0]
            mean_diff = (mean_c - mean_overall).reshape(n_features, 1)
            SB += n_c * mean_diff.dot(mean_diff.T)
        self.scatter = np.linalg.solve(SW, SB)
        return self


PROGRAMS.add(
    LinearDiscriminantAnalysis.fit,
    lambda: (LinearDiscriminantAnalysis(), *blobs(60, d=3)),
    lambda: (LinearDiscriminantAnalysis(), *blobs(45, d=3, k=2)),
)


def train_test_split(X, y, test_size=0.25, seed=None):
    rng = np.random.default_rng(seed)
    indices = rng.permutation(len(X))
    n_test = int(len(X) * test_size)
    test, train = indices[:n_test], indices[n_test:]
    return X[train], X[test], y[train], y[test]


PROGRAMS.add(
    train_test_split,
    lambda: (*blobs(40), 0.25, 0),
    lambda: (*blobs(33), 0.5, 1),
)


def confusion_matrix(y_true, y_pred, n_classes):
    matrix = np.zeros((n_classes, n_classes), dtype=int)
    for t, p in zip(y_true, y_pred):
        matrix[t, p] += 1
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.diag(matrix) / matrix.sum(axis=0)
        recall = np.diag(matrix) / matrix.sum(axis=1)
        f1 = 2 * precision * recall / (precision + recall)
    return {"matrix": matrix, "precision": precision, "recall": recall, "f1": np.nan_to_num(f1)}


PROGRAMS.add(
    confusion_matrix,
    lambda: (blobs(50)[1], blobs(50, seed=1)[1], 3),
    lambda: (np.zeros(10, int), np.arange(10) % 2, 2),
)
