"""Classes of machine learning with fit and predict."""

import numpy as np

from .program import Family

PROGRAMS = Family()


def blobs(n, d=2, k=3, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=4.0, size=(k, d))
    y = rng.integers(k, size=n)
    return centers[y] + rng.normal(size=(n, d)), y


class KMeans:
    def __init__(self, n_clusters=3, max_iter=50, tol=1e-4, seed=0):
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.rng = np.random.default_rng(seed)
        self.centroids = None
        self.inertia_ = None

    def fit(self, X):
        idx = self.rng.choice(len(X), self.n_clusters, replace=False)
        self.centroids = X[idx].copy()
        for i in range(self.max_iter):
            labels = self._assign(X)
            new_centroids = np.array(
                [
                    X[labels == k].mean(axis=0) if np.any(labels == k) else self.centroids[k]
                    for k in range(self.n_clusters)
                ]
            )
            shift = np.linalg.norm(new_centroids - self.centroids)
            self.centroids = new_centroids
            if shift < self.tol:
                break
        self.n_iter_ = i + 1
        self.inertia_ = sum(((X[labels == k] - c) ** 2).sum() for k, c in enumerate(self.centroids))
        return self

    def _assign(self, X):
        distances = np.linalg.norm(X[:, np.newaxis] - self.centroids, axis=2)
        return np.argmin(distances, axis=1)

    def predict(self, X):
        return self._assign(X)


def fitted_kmeans():
    return KMeans().fit(blobs(60)[0])


PROGRAMS.add(
    KMeans.fit,
    lambda: (KMeans(), blobs(90)[0]),
    lambda: (KMeans(4, max_iter=3), blobs(50, seed=1)[0]),
)
PROGRAMS.add(
    KMeans.predict,
    lambda: (fitted_kmeans(), blobs(40)[0]),
    lambda: (fitted_kmeans(), blobs(75, seed=3)[0]),
)


class LinearRegression:
    def __init__(self, lr=0.05, n_iters=200):
        self.lr = lr
        self.n_iters = n_iters
        self.weights = None
        self.bias = None

    def fit(self, X, y):
        n_samples, n_features = X.shape
        self.weights = np.zeros(n_features)
        self.bias = 0
        for _ in range(self.n_iters):
            y_pred = np.dot(X, self.weights) + self.bias
            dw = (1 / n_samples) * np.dot(X.T, (y_pred - y))
            db = (1 / n_samples) * np.sum(y_pred - y)
            self.weights = self.weights - self.lr * dw
            self.bias = self.bias - self.lr * db

    def score(self, X, y):
        y_pred = X @ self.weights + self.bias
        ss_res = np.sum((y - y_pred) ** 2)
        ss_tot = np.sum((y - np.mean(y)) ** 2)
        return 1 - ss_res / ss_tot


def line_data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=n) + 3


def fitted_line():
    model = LinearRegression()
    model.fit(*line_data(50))
    return model


PROGRAMS.add(
    LinearRegression.fit,
    lambda: (LinearRegression(), *line_data(60)),
    lambda: (LinearRegression(0.01, 50), *line_data(33, 1)),
)
PROGRAMS.add(
    LinearRegression.score,
    lambda: (fitted_line(), *line_data(40)),
    lambda: (fitted_line(), *line_data(80, 2)),
)


class LogisticRegression:
    def __init__(self, learning_rate=0.1, max_iter=100, verbose=False):
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.verbose = verbose
        self.losses = []

    def sigmoid(self, z):
        return 1 / (1 + np.exp(-z))

    def compute_loss(self, y_true, y_pred):
        epsilon = 1e-9
        y1 = y_true * np.log(y_pred + epsilon)
        y2 = (1 - y_true) * np.log(1 - y_pred + epsilon)
        return -np.mean(y1 + y2)

    def fit(self, x, y):
        self.weights = np.zeros(x.shape[1])
        self.bias = 0.0
        for epoch in range(self.max_iter):
            A = self.sigmoid(np.matmul(x, self.weights) + self.bias)
            self.losses.append(self.compute_loss(y, A))
            dz = A - y
            self.weights -= self.learning_rate * (1 / len(x)) * np.matmul(x.T, dz)
            self.bias -= self.learning_rate * (1 / len(x)) * np.sum(dz)
            if self.verbose and epoch % 50 == 0:
                print(f"epoch {epoch}: loss {self.losses[-1]:.4f}")
        return self

    def predict(self, x, threshold=0.5):
        y_hat = self.sigmoid(x @ self.weights + self.bias)
        return [1 if p > threshold else 0 for p in y_hat]


def two_classes(n, seed=0):
    X, y = blobs(n, k=2, seed=seed)
    return X, (y == 1).astype(int)


PROGRAMS.add(
    LogisticRegression.fit,
    lambda: (LogisticRegression(), *two_classes(70)),
    lambda: (LogisticRegression(0.5, 30), *two_classes(45, 1)),
)
PROGRAMS.add(
    LogisticRegression.predict,
    lambda: (LogisticRegression().fit(*two_classes(40)), two_classes(50)[0]),
    lambda: (LogisticRegression().fit(*two_classes(40)), two_classes(30, 2)[0], 0.9),
)


class Perceptron:
    def __init__(self, learning_rate=0.01, n_iters=20):
        self.lr = learning_rate
        self.n_iters = n_iters
        self.activation_func = self._unit_step_func
        self.weights = None
        self.bias = None

    def fit(self, X, y):
        n_samples, n_features = X.shape
        self.weights = np.zeros(n_features)
        self.bias = 0
        y_ = np.array([1 if i > 0 else 0 for i in y])
        for _ in range(self.n_iters):
            for idx, x_i in enumerate(X):
                linear_output = np.dot(x_i, self.weights) + self.bias
                y_predicted = self.activation_func(linear_output)
                update = self.lr * (y_[idx] - y_predicted)
                self.weights += update * x_i
                self.bias += update

    def _unit_step_func(self, x):
        return np.where(x >= 0, 1, 0)


PROGRAMS.add(
    Perceptron.fit,
    lambda: (Perceptron(), *two_classes(60)),
    lambda: (Perceptron(0.1, 5), *two_classes(35, 4)),
)


class GaussianNB:
    def fit(self, X, y):
        self.classes = np.unique(y)
        self.parameters = []
        for c in self.classes:
            X_where_c = X[np.where(y == c)]
            self.parameters.append([])
            for col in X_where_c.T:
                self.parameters[-1].append({"mean": col.mean(), "var": col.var()})
        return self

    def _likelihood(self, mean, var, x):
        eps = 1e-4
        coeff = 1.0 / np.sqrt(2.0 * np.pi * var + eps)
        return coeff * np.exp(-((x - mean) ** 2) / (2 * var + eps))

    def _classify(self, sample, y):
        posteriors = []
        for i, c in enumerate(self.classes):
            posterior = np.mean(y == c)
            for value, params in zip(sample, self.parameters[i]):
                posterior *= self._likelihood(params["mean"], params["var"], value)
            posteriors.append(posterior)
        return self.classes[np.argmax(posteriors)]

    def predict(self, X, y):
        return [self._classify(sample, y) for sample in X]


PROGRAMS.add(
    GaussianNB.fit,
    lambda: (GaussianNB(), *blobs(60)),
    lambda: (GaussianNB(), *blobs(40, d=3, k=2, seed=2)),
)
PROGRAMS.add(
    GaussianNB.predict,
    lambda: (GaussianNB().fit(*blobs(60)), *blobs(25, seed=0)),
    lambda: (GaussianNB().fit(*blobs(60)), *blobs(31, seed=1)),
)


class KNN:
    def __init__(self, k=3):
        self.k = k

    def fit(self, X, y):
        self.X_train = X
        self.y_train = y

    def predict(self, X):
        predictions = [self._predict(x) for x in X]
        return np.array(predictions)

    def _predict(self, x):
        distances = [np.sqrt(np.sum((x - x_train) ** 2)) for x_train in self.X_train]
        k_indices = np.argsort(distances)[: self.k]
        k_nearest_labels = [self.y_train[i] for i in k_indices]
        return np.bincount(k_nearest_labels).argmax()


def knn(k, n):
    model = KNN(k)
    model.fit(*blobs(n))
    return model


PROGRAMS.add(
    KNN.predict,
    lambda: (knn(3, 40), blobs(12, seed=0)[0]),
    lambda: (knn(5, 30), blobs(9, seed=1)[0]),
)


class SVM:
    def __init__(self, learning_rate=0.001, lambda_param=0.01, n_iters=20):
        self.lr = learning_rate
        self.lambda_param = lambda_param
        self.n_iters = n_iters
        self.w = None
        self.b = None

    def fit(self, X, y):
        y_ = np.where(y <= 0, -1, 1)
        n_samples, n_features = X.shape
        self.w = np.zeros(n_features)
        self.b = 0
        for _ in range(self.n_iters):
            for idx, x_i in enumerate(X):
                condition = y_[idx] * (np.dot(x_i, self.w) - self.b) >= 1
                if condition:
                    self.w -= self.lr * (2 * self.lambda_param * self.w)
                else:
                    self.w -= self.lr * (2 * self.lambda_param * self.w - np.dot(x_i, y_[idx]))
                    self.b -= self.lr * y_[idx]


PROGRAMS.add(
    SVM.fit,
    lambda: (SVM(), *two_classes(50)),
    lambda: (SVM(0.01, n_iters=7), *two_classes(40, 2)),
)
