"""Estimators of scikit-learn around networks in plain NumPy, trained by a compiled step.

model = tracejit.interop.sklearn.Classifier(hidden=(64, 64), random_state=0)
GridSearchCV(make_pipeline(SelectKBest(), model), {"classifier__epochs": [20, 50]}).fit(X, y)

def build(inputs, outputs, rng):
    return Net(inputs, outputs, rng)          # any class with arrays: net(x) -> (n, outputs)

model = tracejit.interop.sklearn.Regressor(build=build, optimiser=optim.AdamW)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit import nn, optim, tree
from tracejit.api import jit
from tracejit.interop.needed import needed
from tracejit.interop.networks import Perceptron, cross_entropy, squares, step
from tracejit.interop.programs import called

_base = needed("sklearn.base", "scikit-learn", "scikit-learn")
_validation = needed("sklearn.utils.validation", "scikit-learn", "scikit-learn")
_multiclass = needed("sklearn.utils.multiclass", "scikit-learn", "scikit-learn")

__all__ = ["Classifier", "Regressor"]


@lru_cache(maxsize=32)
def _programs(build: Any) -> tuple[Any, Any]:
    """The step, and the call, of the networks that `build` makes."""
    return jit(step), jit(called)


class _Network(_base.BaseEstimator):  # type: ignore[misc, name-defined]
    """What both estimators do."""

    _loss: Callable[..., Any]

    def __init__(
        self,
        build: Callable[..., Any] | None = None,
        optimiser: Callable[..., Any] | None = None,
        hidden: Sequence[int] = (64,),
        learning_rate: float = 3e-3,
        epochs: int = 50,
        batch: int = 32,
        standardise: bool = True,
        random_state: Any = None,
    ) -> None:
        self.build = build
        self.optimiser = optimiser
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch = batch
        self.standardise = standardise
        self.random_state = random_state

    def _start(self, x: Any, outputs: int) -> None:
        """Make the network, its optimiser, and what inputs are measured by."""
        seed = _validation.check_random_state(self.random_state).randint(2**31)
        self._rng = np.random.default_rng(seed)
        self._center, self._scale = _measure(x, self.standardise)
        inputs = x.shape[1]
        if self.build is None:
            self.net_ = Perceptron((inputs, *self.hidden, outputs), self._rng)
        else:
            self.net_ = self.build(inputs, outputs, self._rng)
        make = self.optimiser
        self.optimiser_ = (make or self._adam)(self.net_)
        self.loss_curve_: list[float] = []

    def _adam(self, net: Any) -> Any:
        return optim.Adam(net, self.learning_rate)

    def _inputs(self, x: Any) -> Any:
        return ((x - self._center) / self._scale).astype(np.float32)

    def _train(self, x: Any, y: Any, epochs: int) -> Any:
        """Steps over batches of about the same size, in a new order in each epoch."""
        if self.batch < 1 or epochs < 1:
            raise ValueError(f"batch and epochs are at least 1, not {self.batch} and {epochs}")
        x, rows = self._inputs(x), len(x)
        nn.set_training(self.net_, True)
        run, _ = _programs(self.build)
        for _ in range(epochs):
            total = 0.0
            for part in np.array_split(self._rng.permutation(rows), -(-rows // self.batch)):
                loss = run(type(self)._loss, self.net_, self.optimiser_, x[part], y[part])
                total += float(loss) * len(part)
            self.loss_curve_.append(total / rows)
        nn.set_training(self.net_, False)
        return self

    def _outputs(self, x: Any) -> Any:
        _validation.check_is_fitted(self)
        x = _validation.validate_data(self, x, dtype=np.float64, reset=False)
        net, x = self.net_, self._inputs(x)
        if self.build is None:
            # A row's results are not to depend on the rows beside it.
            net, x = tree.map(lambda p: p.astype(np.float64), net), x.astype(np.float64)
        return np.asarray(_programs(self.build)[1](net, x))


def _measure(x: Any, standardise: bool) -> tuple[Any, Any]:
    """The means and standard deviations of columns; 0 and 1 where they are to stay."""
    if not standardise:
        return np.zeros(x.shape[1]), np.ones(x.shape[1])
    scale = x.std(axis=0)
    # Of a constant column, its rounding errors are no scale.
    return x.mean(axis=0), np.where(scale > 1e-12 * np.abs(x).max(axis=0), scale, 1.0)


class Classifier(_base.ClassifierMixin, _Network):  # type: ignore[misc, name-defined]
    """A network as a classifier: softmax of its outputs, trained by cross-entropy.

    `build(inputs, outputs, rng)` makes the network, any object with arrays that gives (n, outputs)
    for float32 inputs (n, inputs); without it, layers of the sizes `hidden`. `optimiser(net)` makes
    what has `update(net, grads)`; without it, `optim.Adam` at `learning_rate`. Inputs are
    standardised, by the first data seen. For one `random_state`, all results are the same in each
    run.

    After `fit` it has `net_`, `optimiser_`, `classes_`, `loss_curve_` (the mean loss by epoch).
    """

    _loss = staticmethod(cross_entropy)

    def fit(self, X: Any, y: Any) -> Any:
        """Train a new network for `epochs`."""
        X, y = _validation.validate_data(self, X, y, dtype=np.float64)
        _multiclass.check_classification_targets(y)
        self.classes_, places = np.unique(y, return_inverse=True)
        self._start(X, len(self.classes_))
        return self._train(X, places, self.epochs)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        """Train for one epoch. The first call says all classes there will be.

        Raises ValueError for others.
        """
        is_new = not hasattr(self, "net_")
        X, y = _validation.validate_data(self, X, y, dtype=np.float64, reset=is_new)
        if is_new:
            _multiclass.check_classification_targets(y)
            self.classes_ = np.unique(y if classes is None else classes)
            self._start(X, len(self.classes_))
        places = np.searchsorted(self.classes_, y).clip(0, len(self.classes_) - 1)
        if (self.classes_[places] != y).any():
            raise ValueError(f"y has classes that are not in {self.classes_}")
        return self._train(X, places, 1)

    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the classes, (n, classes)."""
        z = self._outputs(X).astype(np.float64)
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        """The classes that are most probable."""
        best = self._outputs(X).argmax(axis=1)
        return self.classes_[best]


class Regressor(_base.RegressorMixin, _Network):  # type: ignore[misc, name-defined]
    """A network as a regressor of one or several targets, trained by squares.

    As `Classifier`; the targets are standardised, too.
    """

    _loss = staticmethod(squares)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Any:
        """Train a new network for `epochs`."""
        return self._fit(X, y, True, self.epochs)

    def partial_fit(self, X: Any, y: Any) -> Any:
        """Train for one epoch."""
        return self._fit(X, y, not hasattr(self, "net_"), 1)

    def _fit(self, x: Any, y: Any, is_new: bool, epochs: int) -> Any:
        x, y = _validation.validate_data(
            self, x, y, dtype=np.float64, multi_output=True, y_numeric=True, reset=is_new
        )
        columns = np.asarray(y, np.float64).reshape(len(y), -1)
        if is_new:
            self._start(x, columns.shape[1])
            self._target_center, self._target_scale = _measure(columns, self.standardise)
            self._is_column = y.ndim == 2
        targets = (columns - self._target_center) / self._target_scale
        return self._train(x, targets.astype(np.float32), epochs)

    def predict(self, X: Any) -> Any:
        """The targets, in the shape of those that it was fitted to."""
        y = self._outputs(X) * self._target_scale + self._target_center
        return y if self._is_column else y[:, 0]
