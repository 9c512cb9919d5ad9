"""Estimators of scikit-learn around networks in plain NumPy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.interop import networks

pytest.importorskip("sklearn")

PARTS = 4


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", range(PARTS))
def test_they_are_estimators(part: int) -> None:
    from unittest import SkipTest

    from sklearn.utils.estimator_checks import estimator_checks_generator

    interop = tracejit.interop.sklearn
    checks = [
        (estimator, check)
        for kind in (interop.Classifier, interop.Regressor)
        for estimator, check in estimator_checks_generator(kind(epochs=20))
    ]
    assert len(checks) > 90
    for estimator, check in checks[part::PARTS]:
        try:
            check(estimator)
        except SkipTest:  # what else is not installed
            pass


def test_they_learn_in_pipelines_and_searches() -> None:
    from sklearn.datasets import load_iris
    from sklearn.feature_selection import SelectKBest
    from sklearn.model_selection import GridSearchCV, train_test_split
    from sklearn.pipeline import make_pipeline

    interop = tracejit.interop.sklearn
    x, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    parts = train_test_split(x, names, random_state=0, stratify=y)
    model = make_pipeline(SelectKBest(k=3), interop.Classifier(random_state=0))
    search = GridSearchCV(model, {"classifier__epochs": [2, 30]}, cv=2).fit(parts[0], parts[2])
    assert search.best_params_ == {"classifier__epochs": 30}
    assert search.score(parts[1], parts[3]) > 0.9
    again = pickle.loads(pickle.dumps(search))
    p = search.predict_proba(parts[1])
    assert np.array_equal(again.predict_proba(parts[1]), p) and np.allclose(p.sum(1), 1)
    best = search.best_estimator_[-1]
    twin = interop.Classifier(random_state=0, epochs=30).fit(
        search.best_estimator_[:-1].transform(parts[0]), parts[2]
    )
    assert twin.loss_curve_ == best.loss_curve_ and len(best.loss_curve_) == 30
    assert best.loss_curve_[-1] < 0.3 * best.loss_curve_[0]


class Descent:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def update(self, net: Any, grads: Any) -> None:
        for p, g in zip(tracejit.tree.leaves(net), tracejit.tree.leaves(grads), strict=True):
            p -= self.rate * g


class Flat:
    def __init__(self) -> None:
        self.w = np.ones(3, np.float32)

    def __call__(self, x: Any) -> Any:
        return x @ self.w


def test_networks_and_optimisers_of_ones_own() -> None:
    interop = tracejit.interop.sklearn
    rng = np.random.default_rng(0)
    x = rng.standard_normal((90, 3)) * [1, 10, 100] + 1000
    y = np.stack([x @ [1, 2, 3], x[:, 0]], 1)
    modes = []

    def build(inputs: int, outputs: int, rng: Any) -> Any:
        modes.append((inputs, outputs))
        return networks.Matrix(inputs, outputs)

    model = interop.Regressor(
        build, lambda net: Descent(0.2), epochs=60, batch=32, random_state=0
    ).fit(x, y)
    assert modes == [(3, 2)] and model.score(x, y) > 0.99 and model.predict(x).shape == (90, 2)
    assert model.net_.training is False and model.net_.rows == 60 * 90
    assert np.allclose(model.partial_fit(x, y).predict(x), y, rtol=0.01)
    with pytest.raises(ValueError, match=r"one shape, not \(30,\) and \(30, 1\)"):
        interop.Regressor(lambda n, m, rng: Flat()).fit(x, y[:, 0])
    with pytest.raises(ValueError, match="at least 1"):
        interop.Regressor(batch=0).fit(x, y)
    with pytest.raises(ValueError, match=r"not in \[0 1\]"):
        interop.Classifier().partial_fit(x, y[:, 0] > 0, classes=[0, 1]).partial_fit(
            x, np.full(90, 2)
        )
