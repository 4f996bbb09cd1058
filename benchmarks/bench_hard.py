"""Problems that are hard for some method: accuracy and log loss of ours and of three peers.

    python benchmarks/bench_hard.py [--draws 3] [--problems "nested Gaussians" …] [--methods …]

Nested Gaussians: two classes with the same centre in 10 dimensions, standard deviations 1 and 2.
Rules: classes by thresholds of three of ten columns. Noise columns: 5 of 100 columns matter. Cauchy
columns: classes by the signs of heavy-tailed columns. Label noise: a quarter of the training labels
of two moons in 8 dimensions are wrong. Minority: a class of 3 %. Few rows: 20 and 40 training rows
of the sets that come with the package and scikit-learn, each draw another sample. Many rows:
100,000 × 12, of which the SVM, whose time grows with the square, gets 10,000. Otherwise 500
training rows and 2,000 to test. One thread; CPU seconds of the fit.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from _sets import bundled, log_loss  # noqa: E402
from cayleyklein import CurvedKernelClassifier, CurvedKNeighborsClassifier  # noqa: E402

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

TRAIN, TEST, MANY, SVM_ROWS = 500, 2000, 100_000, 10_000
SVM_GRID = {"svc__C": [1, 10, 100], "svc__gamma": ["scale", 0.01, 0.1]}


class ProbableSVC:
    """An RBF machine, C and γ by 3 folds, with the probabilities of Platt's method."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> ProbableSVC:
        """Choose C and γ, and fit; of many rows the first."""
        X, y = X[:SVM_ROWS], y[:SVM_ROWS]
        smallest = np.unique(y, return_counts=True)[1].min()
        machine = make_pipeline(StandardScaler(), SVC())
        if smallest >= 2:
            search = GridSearchCV(machine, SVM_GRID, cv=min(3, smallest))
            machine = search.fit(X, y).best_estimator_
        self.machine = machine.set_params(svc__probability=True, svc__random_state=0).fit(X, y)
        self.classes_ = self.machine.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the classes by the votes of pairs."""
        return self.machine.predict(X)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return Platt's probabilities."""
        return self.machine.predict_proba(X)


METHODS: dict[str, Callable] = {
    "kernel": lambda: CurvedKernelClassifier(random_state=0),
    "neighbours": lambda: CurvedKNeighborsClassifier(random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "forest (300)": lambda: RandomForestClassifier(300, random_state=0),
    "RBF SVM, cross-validated": ProbableSVC,
}


def parted(X: np.ndarray, y: np.ndarray, train: int = TRAIN) -> Split:
    """Return the first rows to train on, the others to test on."""
    return X[:train], y[:train], X[train:], y[train:]


def nested(rng: np.random.Generator) -> Split:
    """Draw two Gaussians with one centre."""
    y = rng.integers(2, size=TRAIN + TEST)
    return parted(rng.normal(size=(len(y), 10)) * (1 + y[:, None]), y)


def rules(rng: np.random.Generator) -> Split:
    """Draw classes by thresholds of columns."""
    X = rng.uniform(size=(TRAIN + TEST, 10))
    y = (X[:, 0] > 0.5) & (X[:, 1] > 0.3) | (X[:, 2] > 0.8)
    return parted(X, y.astype(int))


def noise_columns(rng: np.random.Generator) -> Split:
    """Draw two classes, each of two clusters in 5 columns, and 95 columns of noise."""
    X = rng.normal(size=(TRAIN + TEST, 100))
    centres = rng.normal(size=(4, 5)) * 1.5
    cluster = rng.integers(4, size=len(X))
    X[:, :5] += centres[cluster]
    return parted(X, cluster % 2)


def cauchy(rng: np.random.Generator) -> Split:
    """Draw heavy-tailed columns, and classes by their signs and sizes."""
    X = rng.standard_cauchy(size=(TRAIN + TEST, 8))
    y = np.arctan(X[:, :4]).sum(axis=1) + 0.3 * rng.normal(size=len(X)) > 0
    return parted(X, y.astype(int))


def label_noise(rng: np.random.Generator) -> Split:
    """Draw two moons, turned into 8 dimensions; a quarter of the training labels are wrong."""
    y = rng.integers(2, size=TRAIN + TEST)
    angle = np.pi * rng.uniform(size=len(y))
    moons = np.column_stack([np.cos(angle) + y, (1 - 2 * y) * np.sin(angle) + 0.5 * y])
    X = np.column_stack([moons, np.zeros((len(y), 6))]) + 0.2 * rng.normal(size=(len(y), 8))
    X = X @ np.linalg.qr(rng.normal(size=(8, 8)))[0]
    X_train, y_train, X_test, y_test = parted(X, y)
    wrong = rng.uniform(size=TRAIN) < 0.25
    return X_train, np.where(wrong, 1 - y_train, y_train), X_test, y_test


def minority(rng: np.random.Generator) -> Split:
    """Draw a class of 3 % near the edge of the other."""
    y = (rng.uniform(size=TRAIN + TEST) < 0.03).astype(int)
    X = rng.normal(size=(len(y), 6))
    X[:, :2] += 2.0 * y[:, None]
    return parted(X, y)


def many(rng: np.random.Generator) -> Split:
    """Draw 100,000 rows of 12 columns."""
    return parted(*smooth_and_rule(rng, MANY + TEST, 12), MANY)


def smooth_and_rule(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows by a smooth function and a rule of five columns, a tenth of the labels wrong."""
    X = rng.normal(size=(n, d))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + (X[:, 3] > 0.5) - 0.5 * X[:, 4]
    y = (score > 0) ^ (rng.uniform(size=n) < 0.1)
    return X, y.astype(int)


def few(n: int) -> Callable[[np.random.Generator], Iterator[Split]]:
    """Return a function that draws n training rows of each bundled set, every class once."""

    def draw(rng: np.random.Generator) -> Iterator[Split]:
        for X, y in bundled().values():
            order = rng.permutation(len(X))
            first = np.unique(y[order], return_index=True)[1]
            order = np.concatenate([order[first], np.delete(order, first)])[: n + TEST]
            yield parted(X[order], y[order], n)

    return draw


PROBLEMS: dict[str, Callable] = {
    "nested Gaussians": nested,
    "rules": rules,
    "5 of 100 columns": noise_columns,
    "Cauchy columns": cauchy,
    "25 % label noise": label_noise,
    "3 % minority": minority,
    "n = 20": few(20),
    "n = 40": few(40),
    "100,000 × 12": many,
}


def judge(name: str, data: Split) -> tuple[float, float, float]:
    """Return accuracy, log loss and CPU seconds of the fit."""
    X_train, y_train, X_test, y_test = data
    start = time.process_time()
    model = METHODS[name]().fit(X_train, y_train)
    seconds = time.process_time() - start
    shares, truth = model.predict_proba(X_test), np.searchsorted(model.classes_, y_test)
    return float(np.mean(model.predict(X_test) == y_test)), log_loss(shares, truth), seconds


def main() -> None:
    """Print a table of each problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    given = parser.parse_args()
    print("accuracy, log loss, CPU seconds of the fit")
    print(f"| problem | {' | '.join(given.methods)} |\n|---{'|---' * len(given.methods)}|")
    for problem in given.problems:
        draws = 1 if problem.startswith("100,000") else given.draws
        splits: list[Split] = []
        for seed in range(draws):
            made = PROBLEMS[problem](np.random.default_rng(seed))
            splits += [made] if isinstance(made, tuple) else list(made)
        means = [np.mean([judge(name, data) for data in splits], axis=0) for name in given.methods]
        cells = (f"{a:.3f}, {loss:.3f}, {seconds:.2f} s" for a, loss, seconds in means)
        print(f"| {problem} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
