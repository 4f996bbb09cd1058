"""Support vector machines in curved metrics beside those people use today.

    python benchmarks/bench_svm.py [--draws 5]

Rows that are truly curved: two classes on both sides of a random hyperplane of a hyperbolic
or an elliptic space, drawn with the odds exp(4 d) of the signed distance d, and many classes, the
clusters of a hyperbolic tree and of a hemisphere. C (of the kernel machines γ too) is chosen by 3
folds for all methods. Prints accuracy and CPU seconds. Ordinary tables are in bench_classifiers.py.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC, LinearSVC

from cayleyklein import CurvedLinearSVC, CurvedMetric
from cayleyklein.datasets import make_elliptic_blobs, make_hyperbolic_tree
from cayleyklein.metrics import laplacian_kernel

CS, GAMMAS = [1, 10, 100, 1000], [0.01, 0.1, 1.0, 10.0]


class ChoSVC(ClassifierMixin, BaseEstimator):
    """The hyperbolic machine of Cho et al. (2019): -½[w,w] + C Σ max(0, arsinh 1 - arsinh y[w,x]).

    Gradient descent with backtracking in the coordinates of the hyperboloid, projected to the
    normals of hyperplanes. It starts from the flat machine of the same coordinates.
    """

    def __init__(self, C: float = 1.0, n_steps: int = 500) -> None:
        self.C = C
        self.n_steps = n_steps

    def lifted(self, X: np.ndarray) -> np.ndarray:
        """Return points of the hyperboloid of K = -1, the time coordinate last."""
        return np.column_stack([X, np.ones(len(X))]) / np.sqrt(1 - (X**2).sum(axis=1))[:, None]

    def fit(self, X: np.ndarray, y: np.ndarray) -> ChoSVC:
        """Descend from the flat solution."""
        self.classes_ = np.unique(y)
        rows = self.lifted(X) * np.where(y == self.classes_[1], 1.0, -1.0)[:, None]
        form = np.append(np.ones(X.shape[1]), -1.0)
        flat = LinearSVC(C=self.C, max_iter=5000).fit(X, y)
        n = self.projected(np.append(flat.coef_[0], flat.intercept_[0]))

        def loss(n: np.ndarray) -> float:
            short = np.maximum(0, np.arcsinh(1) - np.arcsinh(rows @ n))
            return float(n @ (form * n) / 2 + self.C * short.sum())

        value, rate = loss(n), 1.0
        for _ in range(self.n_steps):
            reached = rows @ n
            slope = np.where(reached < 1, 1 / np.sqrt(1 + reached**2), 0.0)
            gradient = form * n - self.C * rows.T @ slope
            while rate > 1e-12:
                following = self.projected(n - rate * gradient)
                if loss(following) < value:
                    break
                rate /= 2
            else:
                break
            n, value, rate = following, loss(following), 2 * rate
        self.normal_ = n
        return self

    @staticmethod
    def projected(n: np.ndarray) -> np.ndarray:
        """Return the normal of a hyperplane that meets the space."""
        size = np.linalg.norm(n[:-1])
        return np.append(n[:-1], np.clip(n[-1], -0.999 * size, 0.999 * size))

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the products [w, x]."""
        return self.lifted(X) @ self.normal_

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def clusters(make: Callable[..., Any], **how: Any) -> Callable[..., Any]:
    """Return a function that draws clusters of the package's generators."""

    def draw(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray, float]:
        X, y, metric = make(n, d, random_state=int(rng.integers(2**31)), return_metric=True, **how)
        return X, y, metric.curvature

    return draw


def half_spaces(K: float) -> Callable[..., Any]:
    """Return a function that draws rows, and classes by a random hyperplane of the space."""

    def draw(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray, float]:
        direction = rng.normal(size=(n, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        radius = rng.uniform(0, 3.0 if K < 0 else 1.4, size=(n, 1))
        X = direction * (np.tanh(radius) if K < 0 else np.tan(radius))
        w = rng.normal(size=d)
        w /= np.linalg.norm(w)
        b = rng.choice([-0.5, 0.5])
        sine = (X @ w + b) / np.sqrt((1 + K * (X**2).sum(axis=1)) * (1 + K * b * b))
        distance = np.arcsinh(sine) if K < 0 else np.arcsin(sine)
        return X, (rng.uniform(size=n) < 1 / (1 + np.exp(-4 * distance))).astype(int), K

    return draw


def tuned(model: BaseEstimator, **grid: list) -> GridSearchCV:
    """Choose parameters by three folds."""
    return GridSearchCV(model, grid, cv=3)


def curved_methods(d: int, K: float, several: bool) -> dict[str, BaseEstimator]:
    """Return the methods for rows of a space of curvature K; several classes go pair by pair."""
    space = CurvedMetric.euclidean(d, curvature=K)
    kernels = [laplacian_kernel(space, gamma) for gamma in GAMMAS]
    methods = {
        "CurvedLinearSVC": tuned(CurvedLinearSVC(space), C=CS),
        "SVC(linear) in the chart": tuned(SVC(kernel="linear", max_iter=200_000), C=CS),
        "SVC(rbf) in the chart": tuned(SVC(), C=CS, gamma=GAMMAS),
        "SVC(laplacian_kernel)": tuned(SVC(), C=CS, kernel=kernels),
    }
    if K < 0 and several:  # slow: fewer C, fewer steps
        pairs = OneVsOneClassifier(ChoSVC(n_steps=200))
        methods["Cho et al. 2019"] = tuned(pairs, estimator__C=[1, 100])
    elif K < 0:
        methods["Cho et al. 2019"] = tuned(ChoSVC(), C=CS)
    return methods


def timed(model: BaseEstimator, data: tuple[np.ndarray, ...]) -> tuple[float, float]:
    """Return the accuracy and the CPU seconds of fit and prediction."""
    X, y, X_test, y_test = data
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accuracy = float(np.mean(model.fit(X, y).predict(X_test) == y_test))
    return accuracy, time.process_time() - start


def curved_rows(draws: int) -> None:
    """Print the table of rows that are truly curved."""
    cases = {
        "hyperbolic half-spaces": half_spaces(-1.0),
        "elliptic half-spaces": half_spaces(1.0),
        "hyperbolic tree, 22 classes": clusters(make_hyperbolic_tree, depth=3),
        "elliptic clusters, 40 classes": clusters(make_elliptic_blobs),
    }
    for (name, draw), d in product(cases.items(), (2, 10)):
        scores: dict[str, list[tuple[float, float]]] = {}
        for seed in range(draws):
            X, y, K = draw(np.random.default_rng(seed), 2500, d)
            order = np.random.default_rng(seed).permutation(len(X))
            train, test = order[:500], order[500:]
            for method, model in curved_methods(d, K, len(set(y)) > 2).items():
                found = timed(model, (X[train], y[train], X[test], y[test]))
                scores.setdefault(method, []).append(found)
        print_means(f"{name}, d = {d}, {draws} draws, 500 training rows", scores)


def print_means(title: str, scores: dict[str, list[tuple[float, float]]]) -> None:
    """Print mean accuracies, their paired differences from the first method, and CPU times."""
    print(f"\n{title}\n| method | accuracy | below the first | CPU-s |\n|---|---|---|---|")
    first = np.array([one[0] for one in next(iter(scores.values()))])
    for method, found in scores.items():
        accuracy, seconds = np.array(found).T
        gap = first - accuracy
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
        means = f"{accuracy.mean():.4f} | {gap.mean():+.4f} ± {error:.4f} | {seconds.mean():.2f}"
        print(f"| {method} | {means} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    curved_rows(parser.parse_args().draws)


if __name__ == "__main__":
    main()
