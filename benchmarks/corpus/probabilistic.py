"""Trees, ensembles, mixtures, hidden states and topics."""

import numpy as np

from .machine_learning import blobs, two_classes
from .program import Family

PROGRAMS = Family()


class Node:
    def __init__(self, feature=None, threshold=None, left=None, right=None, *, value=None):
        self.feature = feature
        self.threshold = threshold
        self.left = left
        self.right = right
        self.value = value

    def is_leaf_node(self):
        return self.value is not None


class DecisionTree:
    def __init__(self, min_samples_split=2, max_depth=4):
        self.min_samples_split = min_samples_split
        self.max_depth = max_depth
        self.root = None

    def fit(self, X, y):
        self.n_classes = len(np.unique(y))
        self.root = self._grow_tree(X, y)
        return self

    def _grow_tree(self, X, y, depth=0):
        n_samples, n_feats = X.shape
        if depth >= self.max_depth or len(np.unique(y)) == 1 or n_samples < self.min_samples_split:
            return Node(value=np.bincount(y).argmax())
        best_feature, best_thresh = self._best_split(X, y, range(n_feats))
        left_idxs = np.argwhere(X[:, best_feature] <= best_thresh).flatten()
        right_idxs = np.argwhere(X[:, best_feature] > best_thresh).flatten()
        left = self._grow_tree(X[left_idxs, :], y[left_idxs], depth + 1)
        right = self._grow_tree(X[right_idxs, :], y[right_idxs], depth + 1)
        return Node(best_feature, best_thresh, left, right)

    def _best_split(self, X, y, feat_idxs):
        best_gain = -1
        split_idx, split_threshold = None, None
        for feat_idx in feat_idxs:
            X_column = X[:, feat_idx]
            for thr in np.unique(X_column)[:-1]:
                gain = self._information_gain(y, X_column, thr)
                if gain > best_gain:
                    best_gain = gain
                    split_idx = feat_idx
                    split_threshold = thr
        return split_idx, split_threshold

    def _information_gain(self, y, X_column, threshold):
        left = X_column <= threshold
        n, n_l = len(y), left.sum()
        if n_l == 0 or n_l == n:
            return 0
        e_l, e_r = self._entropy(y[left]), self._entropy(y[~left])
        return self._entropy(y) - (n_l / n * e_l + (n - n_l) / n * e_r)

    def _entropy(self, y):
        ps = np.bincount(y) / len(y)
        return -np.sum([p * np.log(p) for p in ps if p > 0])

    def predict(self, X):
        return np.array([self._traverse_tree(x, self.root) for x in X])

    def _traverse_tree(self, x, node):
        if node.is_leaf_node():
            return node.value
        if x[node.feature] <= node.threshold:
            return self._traverse_tree(x, node.left)
        return self._traverse_tree(x, node.right)


PROGRAMS.add(
    DecisionTree.fit,
    lambda: (DecisionTree(), *blobs(40)),
    lambda: (DecisionTree(max_depth=2), *blobs(30, d=3, seed=1)),
)
PROGRAMS.add(
    DecisionTree.predict,
    lambda: (DecisionTree().fit(*blobs(40)), blobs(15, seed=0)[0]),
    lambda: (DecisionTree(max_depth=2).fit(*blobs(40)), blobs(11, seed=1)[0]),
)


def gini_best_split(X, y):
    """The split of lowest weighted Gini impurity, as (feature, threshold, impurity)."""

    def gini(labels):
        if len(labels) == 0:
            return 0.0
        p = labels.mean()
        return 2 * p * (1 - p)

    best = (None, None, float("inf"))
    for j in range(X.shape[1]):
        order = np.argsort(X[:, j])
        xs, ys = X[order, j], y[order]
        for i in range(1, len(xs)):
            if xs[i] == xs[i - 1]:
                continue
            impurity = (i * gini(ys[:i]) + (len(ys) - i) * gini(ys[i:])) / len(ys)
            if impurity < best[2]:
                best = (j, (xs[i] + xs[i - 1]) / 2, impurity)
    return best


PROGRAMS.add(
    gini_best_split,
    lambda: two_classes(40),
    lambda: (np.round(two_classes(30, 1)[0]), two_classes(30, 1)[1]),
)


class DecisionStump:
    def __init__(self):
        self.polarity = 1
        self.feature_idx = None
        self.threshold = None
        self.alpha = None

    def predict(self, X):
        n_samples = X.shape[0]
        X_column = X[:, self.feature_idx]
        predictions = np.ones(n_samples)
        if self.polarity == 1:
            predictions[X_column < self.threshold] = -1
        else:
            predictions[X_column > self.threshold] = -1
        return predictions


class Adaboost:
    def __init__(self, n_clf=4):
        self.n_clf = n_clf
        self.clfs = []

    def fit(self, X, y):
        n_samples, n_features = X.shape
        w = np.full(n_samples, (1 / n_samples))
        self.clfs = []
        for _ in range(self.n_clf):
            clf = DecisionStump()
            min_error = float("inf")
            for feature_i in range(n_features):
                X_column = X[:, feature_i]
                thresholds = np.unique(X_column)
                for threshold in thresholds:
                    p = 1
                    predictions = np.ones(n_samples)
                    predictions[X_column < threshold] = -1
                    misclassified = w[y != predictions]
                    error = sum(misclassified)
                    if error > 0.5:
                        error = 1 - error
                        p = -1
                    if error < min_error:
                        clf.polarity = p
                        clf.threshold = threshold
                        clf.feature_idx = feature_i
                        min_error = error
            EPS = 1e-10
            clf.alpha = 0.5 * np.log((1.0 - min_error + EPS) / (min_error + EPS))
            predictions = clf.predict(X)
            w *= np.exp(-clf.alpha * y * predictions)
            w /= np.sum(w)
            self.clfs.append(clf)
        return self

    def predict(self, X):
        clf_preds = [clf.alpha * clf.predict(X) for clf in self.clfs]
        y_pred = np.sum(clf_preds, axis=0)
        return np.sign(y_pred)


def signs(n, seed=0):
    X, y = two_classes(n, seed)
    return X, 2 * y - 1


PROGRAMS.add(
    Adaboost.fit,
    lambda: (Adaboost(), *signs(30)),
    lambda: (Adaboost(2), *signs(25, 3)),
)
PROGRAMS.add(
    Adaboost.predict,
    lambda: (Adaboost().fit(*signs(20)), signs(30, 1)[0]),
    lambda: (Adaboost().fit(*signs(25, 1)), signs(17, 2)[0]),
)


class GaussianMixture:
    def __init__(self, k, max_iter=30, tol=1e-6):
        self.k = k
        self.max_iter = max_iter
        self.tol = tol

    def _pdf(self, X, mean, cov):
        d = X.shape[1]
        diff = X - mean
        inv = np.linalg.inv(cov)
        norm = 1.0 / np.sqrt((2 * np.pi) ** d * np.linalg.det(cov))
        return norm * np.exp(-0.5 * np.sum(diff @ inv * diff, axis=1))

    def fit(self, X):
        n, d = X.shape
        self.weights = np.ones(self.k) / self.k
        self.means = X[: self.k].copy()
        self.covs = [np.eye(d) for _ in range(self.k)]
        previous = -np.inf
        self.converged = False
        for _ in range(self.max_iter):
            resp = np.zeros((n, self.k))
            for j in range(self.k):
                resp[:, j] = self.weights[j] * self._pdf(X, self.means[j], self.covs[j])
            likelihood = np.log(resp.sum(axis=1) + 1e-300).sum()
            resp /= resp.sum(axis=1, keepdims=True) + 1e-300
            Nk = resp.sum(axis=0)
            self.weights = Nk / n
            for j in range(self.k):
                self.means[j] = resp[:, j] @ X / Nk[j]
                diff = X - self.means[j]
                self.covs[j] = (resp[:, j, None] * diff).T @ diff / Nk[j] + 1e-6 * np.eye(d)
            if abs(likelihood - previous) < self.tol:
                self.converged = True
                break
            previous = likelihood
        return self


PROGRAMS.add(
    GaussianMixture.fit,
    lambda: (GaussianMixture(3), blobs(80)[0]),
    lambda: (GaussianMixture(2, max_iter=5), blobs(50, seed=1)[0]),
)


class HMM:
    def __init__(self, A, B, pi):
        self.A, self.B, self.pi = A, B, pi

    def forward(self, obs):
        T, N = len(obs), len(self.pi)
        alpha = np.zeros((T, N))
        scale = np.zeros(T)
        for t, o in enumerate(obs):
            if t == 0:
                alpha[0] = self.pi * self.B[:, o]
            else:
                alpha[t] = (alpha[t - 1] @ self.A) * self.B[:, o]
            scale[t] = alpha[t].sum()
            alpha[t] /= scale[t]
        return alpha, scale

    def backward(self, obs, scale):
        T, N = len(obs), len(self.pi)
        beta = np.ones((T, N))
        for t in reversed(range(T - 1)):
            beta[t] = self.A @ (self.B[:, obs[t + 1]] * beta[t + 1]) / scale[t + 1]
        return beta

    def viterbi(self, obs):
        T, N = len(obs), self.A.shape[0]
        delta = np.zeros((T, N))
        psi = np.zeros((T, N), dtype=int)
        with np.errstate(divide="ignore"):
            log_A, log_B, log_pi = np.log(self.A), np.log(self.B), np.log(self.pi)
        delta[0] = log_pi + log_B[:, obs[0]]
        for t in range(1, T):
            for j in range(N):
                scores = delta[t - 1] + log_A[:, j]
                psi[t, j] = np.argmax(scores)
                delta[t, j] = scores[psi[t, j]] + log_B[j, obs[t]]
        states = [int(np.argmax(delta[-1]))]
        for t in range(T - 1, 0, -1):
            states.insert(0, int(psi[t, states[0]]))
        return states, np.max(delta[-1])

    def baum_welch(self, obs, n_iter=5):
        T, N = len(obs), len(self.pi)
        log_likelihoods = []
        for _ in range(n_iter):
            alpha, scale = self.forward(obs)
            beta = self.backward(obs, scale)
            log_likelihoods.append(np.log(scale).sum())
            gamma = alpha * beta
            gamma /= gamma.sum(axis=1, keepdims=True)
            xi = np.zeros((N, N))
            for t in range(T - 1):
                joint = np.outer(alpha[t], self.B[:, obs[t + 1]] * beta[t + 1]) * self.A
                xi += joint / joint.sum()
            self.pi = gamma[0]
            self.A = xi / gamma[:-1].sum(axis=0)[:, None]
            for k in range(self.B.shape[1]):
                self.B[:, k] = gamma[obs == k].sum(axis=0) / gamma.sum(axis=0)
        return log_likelihoods


def hmm():
    A = np.array([[0.7, 0.3], [0.4, 0.6]])
    B = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    return HMM(A, B, np.array([0.6, 0.4]))


def observations(n):
    return np.random.default_rng(n).integers(3, size=n)


for method in (HMM.forward, HMM.viterbi, HMM.baum_welch):
    PROGRAMS.add(method, lambda: (hmm(), observations(25)), lambda: (hmm(), observations(40)))


class LDA:
    """Latent Dirichlet allocation by collapsed Gibbs sampling."""

    def __init__(self, n_topics, alpha=0.1, beta=0.01, seed=0):
        self.K, self.alpha, self.beta = n_topics, alpha, beta
        self.rng = np.random.default_rng(seed)

    def fit(self, docs, vocab_size, n_iter=5):
        D, V, K = len(docs), vocab_size, self.K
        self.n_dk = np.zeros((D, K))
        self.n_kw = np.zeros((K, V))
        self.n_k = np.zeros(K)
        self.z = [self.rng.integers(K, size=len(doc)) for doc in docs]
        for d, doc in enumerate(docs):
            for w, k in zip(doc, self.z[d]):
                self.n_dk[d, k] += 1
                self.n_kw[k, w] += 1
                self.n_k[k] += 1
        for _ in range(n_iter):
            for d, doc in enumerate(docs):
                for i, w in enumerate(doc):
                    k = self.z[d][i]
                    self.n_dk[d, k] -= 1
                    self.n_kw[k, w] -= 1
                    self.n_k[k] -= 1
                    p = (self.n_dk[d] + self.alpha) * (self.n_kw[:, w] + self.beta)
                    p /= self.n_k + V * self.beta
                    k = self.rng.choice(K, p=p / p.sum())
                    self.z[d][i] = k
                    self.n_dk[d, k] += 1
                    self.n_kw[k, w] += 1
                    self.n_k[k] += 1
        return self.n_kw / self.n_kw.sum(axis=1, keepdims=True)


def documents(n, length):
    rng = np.random.default_rng(n)
    return [rng.integers(12, size=length) for _ in range(n)]


PROGRAMS.add(
    LDA.fit,
    lambda: (LDA(3), documents(6, 20), 12),
    lambda: (LDA(2), documents(4, 15), 12, 3),
)


class MultinomialNB:
    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        self.classes, counts = np.unique(y, return_counts=True)
        self.log_prior = np.log(counts / len(y))
        self.feature_log_prob = {}
        for c in self.classes:
            totals = X[y == c].sum(axis=0) + self.alpha
            self.feature_log_prob[int(c)] = np.log(totals / totals.sum())
        return self


PROGRAMS.add(
    MultinomialNB.fit,
    lambda: (MultinomialNB(), observations(60).reshape(20, 3), labels_of(20)),
    lambda: (MultinomialNB(0.5), observations(45).reshape(15, 3), labels_of(15)),
)


def labels_of(n):
    return np.random.default_rng(n).integers(2, size=n)
