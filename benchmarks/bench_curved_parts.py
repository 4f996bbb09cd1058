"""What curvature adds: the same kernel machines with metrics of each geometry, and with flat ones.

    python benchmarks/bench_curved_parts.py [bundled] [keel] [--tables FOLDER] [--rows 500]

Sets and splits are those of bench_classifiers.py. "One kernel" is the machine in the metric alone,
``parts="metric"``; "sum" is the default, with columns and neighbours. "Flat only" is the product
without its spheres, the same procedure otherwise. Prints mean accuracy and log loss, their
differences from flat only, on how many sets each is better and worse, and the p-values of
Wilcoxon's paired test over sets (two-sided, means of splits). One thread.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402

from _sets import Set, bundled, keel, log_loss, split, tables  # noqa: E402
from cayleyklein import CurvedKernelClassifier  # noqa: E402
from cayleyklein.learning import lmnn  # noqa: E402

SETTINGS = {"one kernel": {"parts": "metric"}, "sum": {}}
GEOMETRIES = {
    "flat only": ("product", (("flat", 1.0),)),
    "product": ("product", lmnn.LABEL_PRODUCT),
    "elliptic": ("elliptic", lmnn.LABEL_PRODUCT),
    "hyperbolic": ("hyperbolic", lmnn.LABEL_PRODUCT),
    "learned K": ("learned", lmnn.LABEL_PRODUCT),
    "mixed": ("mixed", lmnn.LABEL_PRODUCT),
}


def judge(
    X: np.ndarray, y: np.ndarray, n_rows: int, seed: int, geometry: str, product: tuple, **how: str
) -> tuple[float, float]:
    """Return accuracy and log loss of one split."""
    X_train, y_train, X_test, y_test = split(X, y, n_rows, seed)
    with mock.patch.object(lmnn, "LABEL_PRODUCT", product):
        model = CurvedKernelClassifier(**how, geometry=geometry, random_state=0)
        model.fit(X_train, y_train)
    shares, truth = model.predict_proba(X_test), np.searchsorted(model.classes_, y_test)
    return float(np.mean(shares.argmax(axis=1) == truth)), log_loss(shares, truth)


def p_value(differences: np.ndarray) -> float:
    """Return Wilcoxon's p of paired differences; 1 where there is none."""
    differences = differences.round(9)
    return float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0


def summarize(setting: str, results: np.ndarray, n_rows: int) -> None:
    """Print a table; results are sets × splits × geometries × (accuracy, log loss)."""
    means = results.mean(axis=1)
    print(f"\n{setting}, {n_rows} rows: {len(means)} sets, {results.shape[1]} splits")
    print("| metric | accuracy | over flat | sets + − | p | log loss | over flat | sets + − | p |")
    print("|---|---|---|---|---|---|---|---|---|")
    for i, name in enumerate(GEOMETRIES):
        cells = []
        for score, sign in ((0, 1), (1, -1)):
            gain = means[:, i, score] - means[:, 0, score]
            better = f"{(sign * gain > 1e-9).sum()} {(sign * gain < -1e-9).sum()}"
            cells.append(
                f"{means[:, i, score].mean():.4f} | {gain.mean():+.4f} | {better} | "
                f"{p_value(gain):.3f}"
            )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Run both settings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", default=["bundled", "keel"])
    parser.add_argument("--tables", type=Path, help="a folder of CSV tables")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--sets", nargs="+", help="only these sets")
    given = parser.parse_args()
    make: dict[str, Callable[[], dict[str, Set]]] = {"bundled": bundled, "keel": keel}
    sets = {name: each for group in given.groups for name, each in make[group]().items()}
    if given.tables:
        sets |= tables(given.tables)
    if given.sets:
        sets = {name: sets[name] for name in given.sets}
    for setting, how in SETTINGS.items():
        print(f"\naccuracy and log loss, {setting}:", ", ".join(GEOMETRIES))
        found = []
        for name, (X, y) in sets.items():
            found.append(
                [
                    [judge(X, y, given.rows, seed, *which, **how) for which in GEOMETRIES.values()]
                    for seed in range(given.splits)
                ]
            )
            shown = "  ".join(f"{a:.3f} {b:.3f}" for a, b in np.mean(found[-1], axis=0))
            print(f"{name:16s} {shown}", flush=True)
        summarize(setting, np.array(found), given.rows)


if __name__ == "__main__":
    main()
