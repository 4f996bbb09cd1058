"""The default classifier, nothing chosen, beside the classifiers people use today.

    python benchmarks/bench_classifiers.py [--tables FOLDER] [--rows 500 4000] [--splits 2]

The package's and scikit-learn's data sets, and every table of a folder (CSV or gzipped CSV with a
header, the class in the last column), split at random into at most so many training rows (at most
two thirds of a set) and at most 2,000 test rows. Sets of fewer than 1,200 rows are left out of the
larger size. Prints accuracy and log loss of each set, means, mean ranks and CPU times.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn import datasets as sklearn_datasets
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from cayleyklein import CurvedKNeighborsClassifier, datasets

TEST_ROWS = 2000
LARGE_FROM = 1200
GRID = {"svc__C": [1, 10, 100], "svc__gamma": ["scale", 0.01, 0.1]}

METHODS = {
    "cayleyklein": lambda: CurvedKNeighborsClassifier(random_state=0),
    "k-NN (3, standardised)": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    "NCA + k-NN (3)": lambda: make_pipeline(
        StandardScaler(), NeighborhoodComponentsAnalysis(random_state=0), KNeighborsClassifier(3)
    ),
    "random forest (200)": lambda: RandomForestClassifier(200, random_state=0),
    "extra trees (300)": lambda: ExtraTreesClassifier(300, random_state=0),
    "RBF SVM (CV)": lambda: GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=3),
}


def all_sets(folder: Path | None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the rows and classes of every data set."""
    found = {}
    for name in ("wine", "sonar", "vowel", "balance", "pima"):
        found[name] = getattr(datasets, f"load_{name}")(return_X_y=True)
    for name in ("iris", "breast_cancer", "digits"):
        found[name] = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)
    for path in sorted(folder.glob("*.csv*")) if folder else ():
        table = pd.read_csv(path)
        rows = table.iloc[:, :-1].to_numpy(dtype=float)
        found[path.name.split(".")[0]] = rows, table.iloc[:, -1].astype(str).to_numpy()
    return found


def split(X: np.ndarray, y: np.ndarray, n_rows: int, seed: int) -> tuple[np.ndarray, ...]:
    """Return training rows and classes, and test rows whose classes were seen."""
    order = np.random.default_rng(seed).permutation(len(X))
    n = min(n_rows, 2 * len(X) // 3)
    train, test = order[:n], order[n : n + TEST_ROWS]
    test = test[np.isin(y[test], y[train])]
    return X[train], y[train], X[test], y[test]


def log_loss(model: object, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of -log p(true class), p at least 1e-15; NaN without probabilities."""
    if not hasattr(model, "predict_proba"):
        return np.nan
    shares = model.predict_proba(X)
    truth = shares[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.log(np.maximum(truth, 1e-15)).mean())


def run(found: dict, n_rows: int, n_splits: int) -> None:
    """Print the tables of one size."""
    scores: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for name, (X, y) in found.items():
        if n_rows > 500 and len(X) < LARGE_FROM:
            continue
        for seed in range(n_splits):
            X_train, y_train, X_test, y_test = split(X, y, n_rows, seed)
            for method, make in METHODS.items():
                start = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = make().fit(X_train, y_train)
                    accuracy = float(np.mean(model.predict(X_test) == y_test))
                    loss = log_loss(model, X_test, y_test)
                seconds = time.process_time() - start
                scores.setdefault(name, {}).setdefault(method, []).append((accuracy, loss, seconds))
        shown = {m: np.mean([s[0] for s in v]) for m, v in scores[name].items()}
        print(f"{name:16s}", "  ".join(f"{share:.3f}" for share in shown.values()), flush=True)
    table = np.array([[np.mean(v[m], axis=0) for m in METHODS] for v in scores.values()])
    errors = np.array([
        np.std([a[0] - b[0] for a, b in zip(v["cayleyklein"], v["k-NN (3, standardised)"],
                                             strict=True)], ddof=1) / np.sqrt(n_splits)
        if n_splits > 1 else 0.0
        for v in scores.values()
    ])  # fmt: skip
    binomial = np.sqrt(table[:, 0, 0] * (1 - table[:, 0, 0]) / 200)
    ranks = np.array([rankdata(-row) for row in table[:, :, 0].round(6)])
    print(f"\n{len(table)} sets, at most {n_rows} training rows, {n_splits} splits")
    print("| method | accuracy | rank | log loss | CPU-s |\n|---|---|---|---|---|")
    for at, method in enumerate(METHODS):
        accuracy, loss, seconds = table[:, at].mean(axis=0)
        rank = ranks[:, at].mean()
        print(f"| {method} | {accuracy:.4f} | {rank:.2f} | {loss:.3f} | {seconds:.2f} |")
    behind = table[:, 1, 0] - table[:, 0, 0]
    worse = [
        f"{name} by {gap:.3f}"
        for name, gap, a, b in zip(scores, behind, errors, binomial, strict=True)
        if gap > max(a, b)
    ]
    print("below plain k-NN by more than one standard error:", ", ".join(worse) or "none", "\n")


def main() -> None:
    """Run the sizes that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path, help="a folder of CSV tables")
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 4000])
    parser.add_argument("--splits", type=int, default=2)
    given = parser.parse_args()
    found = all_sets(given.tables)
    print("columns:", ", ".join(METHODS))
    for n_rows in given.rows:
        run(found, n_rows, given.splits)


if __name__ == "__main__":
    main()
