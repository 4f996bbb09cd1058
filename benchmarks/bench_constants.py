"""Halve and double each constant of the predictors that was chosen on evidence.

    python benchmarks/bench_constants.py [--rows 150] [--splits 1] [--tables …] [--only NEAR TIE]

Tables: the bundled ones, two of numbers, and two with a fifth of the cells missing, with at most so
many rows to learn from. Loss: log loss of classes, 1 - R² of numbers, of the kernel estimators
and of the neighbours. A row says the mean change of the loss over the tables, its standard error,
and on how many of them anything changed: a constant that changes nothing here matters elsewhere, or
not at all.
"""

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # read when NumPy is loaded
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
from sklearn.datasets import load_diabetes, make_friedman1  # noqa: E402
from sklearn.metrics import log_loss, r2_score  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402

import _sets  # noqa: E402
import cayleyklein  # noqa: E402


def scaled(values: tuple[float, ...], factor: float) -> tuple[float, ...]:
    return tuple(type(value)(max(1, value * factor)) for value in values)


def scaled_reals(values: tuple[float, ...], factor: float) -> tuple[float, ...]:
    return tuple(value * factor for value in values)


def scaled_spheres(parts: tuple[tuple[str, float], ...], factor: float) -> Any:
    return tuple((name, value if name == "flat" else factor * value) for name, value in parts)


def scaled_windows(rows: dict[str, int], factor: float) -> dict[str, int]:
    return {name: int(n * factor) for name, n in rows.items()}


def scaled_number(value: float, factor: float) -> float:
    return max(1, int(value * factor)) if isinstance(value, int) else value * factor


# Module and name of each constant, and what half and double of it are.
CONSTANTS: dict[str, tuple[str, Callable[[Any, float], Any]]] = {
    "GAMMAS": ("parts.kernel", scaled_reals),
    "RIDGES": ("parts.kernel", scaled_reals),
    "GAMMA_PLACES": ("parts.kernel", scaled_number),
    "NEIGHBORS": ("parts.votes", scaled),
    "LABEL_NEIGHBORS": ("parts.votes", scaled_number),
    "NUMBER_NEIGHBORS": ("parts.votes", scaled_number),
    "NEAR": ("parts.places", scaled_number),
    "LEAST_SCALE": ("parts.places", scaled_number),
    "N_FOLDS": ("learning.folds", scaled_number),
    "TIE": ("learning.samples", scaled_number),
    "LABEL_PRODUCT": ("learning.lmnn", scaled_spheres),
    "NUMBER_PRODUCT": ("learning.mlkr", scaled_spheres),
    "WINDOW_ROWS": ("learning.mlkr", scaled_windows),
    "SKEWED": ("prediction.scales", scaled_number),
    "CLIPPED_AT": ("columns.gaps", scaled_number),
    "LEAST_SHRINKAGE": ("columns.gaps", scaled_number),
    "TELLING": ("columns.gaps", scaled_number),
}


@contextmanager
def changed(name: str, factor: float) -> Iterator[None]:
    """Replace a constant in each module that has it."""
    home, change = CONSTANTS[name]
    value = getattr(importlib.import_module(f"cayleyklein.{home}"), name)
    new = change(value, factor)
    if name == "N_FOLDS":
        new = max(2, new)
    modules = [module for key, module in sys.modules.items() if key.startswith("cayleyklein.")]
    holders = [module for module in modules if getattr(module, name, None) is value]
    for module in holders:
        setattr(module, name, new)
    try:
        yield
    finally:
        for module in holders:
            setattr(module, name, value)


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    found = {
        name: table for name, table in _sets.bundled().items() if name not in ("digits", "iris")
    }
    found["diabetes"] = load_diabetes(return_X_y=True)
    found["friedman"] = make_friedman1(600, noise=1.0, random_state=0)
    rng = np.random.default_rng(0)
    for name in ("breast_cancer", "friedman"):
        X, y = found[name]
        gaps = rng.uniform(size=X.shape) < 0.2
        found[f"{name}, gaps"] = np.where(gaps, np.nan, X), y
    return found


def loss_of(kind: str, X: np.ndarray, y: np.ndarray, rows: int, split: int) -> float:
    numeric = y.dtype.kind == "f" and len(np.unique(y)) > 20
    size = min(rows, 2 * len(y) // 3)
    test = min(1000, len(y) - size)
    parts = train_test_split(
        X, y, train_size=size, test_size=test, random_state=split, stratify=None if numeric else y
    )
    learn, judge, y_learn, y_judge = parts
    name = f"Curved{kind}{'Regressor' if numeric else 'Classifier'}"
    model = getattr(cayleyklein, name)(random_state=0).fit(learn, y_learn)
    if numeric:
        return 1 - r2_score(y_judge, model.predict(judge))
    return log_loss(y_judge, model.predict_proba(judge), labels=model.classes_)


def losses(names: list[str], rows: int, splits: int) -> np.ndarray:
    """Return losses (2, tables) of kernels and neighbours, the mean over splits."""
    known = tables()
    means = {}
    for kind in ("Kernel", "KNeighbors"):
        for name in names:
            found = [loss_of(kind, *known[name], rows, split) for split in range(splits)]
            means[kind, name] = np.mean(found)
    return np.reshape(list(means.values()), (2, -1))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--tables", nargs="*", default=list(tables()))
    parser.add_argument("--only", nargs="*", default=list(CONSTANTS))
    asked = parser.parse_args()
    how = asked.tables, asked.rows, asked.splits
    usual = losses(*how)
    print("tables:", "; ".join(asked.tables))
    print("kernel as it is:    ", " ".join(f"{value:.3f}" for value in usual[0]))
    print("neighbours as it is:", " ".join(f"{value:.3f}" for value in usual[1]))
    title = "kernel change ± s.e. (tables)"
    print(f"{'constant':18s} {'':7s} {title:30s} neighbours")
    for name in asked.only:
        for word, factor in (("half", 0.5), ("double", 2.0)):
            with changed(name, factor):
                found = losses(*how) - usual
            said = []
            for change in found:
                error = change.std(ddof=1) / np.sqrt(len(change))
                n_changed = int((np.abs(change) > 1e-9).sum())
                said.append(f"{change.mean():+.4f} ± {error:.4f} ({n_changed})")
            print(f"{name:18s} {word:7s} {said[0]:30s} {said[1]}", flush=True)


if __name__ == "__main__":
    main()
