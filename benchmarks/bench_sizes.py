"""Where each kind of model is at home: accuracy, log loss and time over the number of rows.

    python benchmarks/bench_sizes.py [--tables FOLDER] [--sizes 250 1000 4000 16000]
        [--shapes 500x20 1500x20 4000x16 100000x12] [--figure FILE] [--out FILE]
        [--models kernel neighbours boosting forest lightgbm catboost]

Generated rows of some shapes: two classes by a smooth function and a rule of five columns, a tenth
of the labels wrong, as in `bench_hard.py`, 5,000 rows to test. Tables are CSV files with a header
and the class in the last column, those of at least 6,000 rows. Of each table up to 4,000 rows are
kept for the test, and each size trains on the first rows of one permutation. Defaults everywhere.
Prints accuracy, log loss, CPU seconds of the fit and of 5,000 predictions, and the exponent of the
fit's time over the rows; draws log loss and accuracy over the sizes of the tables, and of generated
rows of 12 columns. LightGBM and CatBoost take part where they are installed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss

from bench_hard import smooth_and_rule
from cayleyklein import CurvedKernelClassifier, CurvedKNeighborsClassifier

SIZES = (250, 1000, 4000, 16_000)
SHAPES = (
    *("500x20", "1500x20", "4000x16"),
    *("250x12", "1000x12", "4000x12", "16000x12", "100000x12"),
)
TEST, ASKED = 4000, 5000


def peer(module: str, name: str, **given):
    """Return a function that makes an estimator of a package that may not be installed."""
    return lambda: getattr(importlib.import_module(module), name)(**given)


MODELS = {
    "kernel": lambda: CurvedKernelClassifier(random_state=0),
    "neighbours": lambda: CurvedKNeighborsClassifier(random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(random_state=0),
    "lightgbm": peer("lightgbm", "LGBMClassifier", verbose=-1, random_state=0),
    "catboost": peer("catboost", "CatBoostClassifier", verbose=0, random_state=0),
}


Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def tables(folder: Path, sizes: list[int]) -> Iterator[tuple[str, Split]]:
    """Yield the large tables of a folder at each size: rows and classes to learn and to test."""
    import pandas as pd

    paths = sorted(folder.glob("*.csv*"))
    if not paths:
        raise SystemExit(f"no tables in {folder}")
    for path in paths:
        table = pd.read_csv(path)
        if len(table) < 6000:
            continue
        X, y = table.iloc[:, :-1].to_numpy(dtype=float), table.iloc[:, -1].astype(str).to_numpy()
        order = np.random.default_rng(0).permutation(len(X))
        for size in sizes:
            n_test = TEST if size + TEST <= len(X) else 2000
            test, train = order[:n_test], order[n_test : n_test + size]
            if len(train) == size:
                yield path.name.split(".")[0], (X[train], y[train], X[test], y[test])


def generated(shapes: list[str]) -> Iterator[tuple[str, Split]]:
    """Yield generated rows of some shapes, and others to test."""
    for shape in shapes:
        n, d = map(int, shape.split("x"))
        X, y = smooth_and_rule(np.random.default_rng(0), n + ASKED, d)
        yield "generated", (X[:n], y[:n], X[n:], y[n:])


def measure(make, X, y, Q, truth) -> dict[str, float]:
    """Return how good a model is on rows it has not seen, and its CPU seconds."""
    start = time.process_time()
    model = make().fit(X, y)
    fit = time.process_time() - start
    start = time.process_time()
    chance = model.predict_proba(Q)
    predict = (time.process_time() - start) * ASKED / len(Q)
    classes = model.classes_
    known = np.isin(truth, classes)
    chance = np.clip(chance, 1e-7, None)
    chance /= chance.sum(axis=1, keepdims=True)
    return {
        "accuracy": float(np.mean(classes[chance.argmax(axis=1)] == truth)),
        "log loss": float(log_loss(truth[known], chance[known], labels=classes)),
        "fit": fit,
        "predict": predict,
    }


def figure(results: list[dict], path: Path) -> None:
    """Draw log loss and accuracy over the number of rows, a column for each table."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    results = [each for each in results if each["table"] != "generated" or each["columns"] == 12]
    names = list(dict.fromkeys(each["table"] for each in results))
    models = list(dict.fromkeys(each["model"] for each in results))
    shape = {"figsize": (3.1 * len(names), 5.6), "sharex": True, "squeeze": False}
    figure, axes = plt.subplots(2, len(names), layout="constrained", **shape)
    for column, name in enumerate(names):
        for row, score in enumerate(("log loss", "accuracy")):
            ax = axes[row, column]
            for at, model in enumerate(models):
                own = [e for e in results if e["table"] == name and e["model"] == model]
                sizes = [each["rows"] for each in own]
                width = 2.4 if model == "kernel" else 1.2
                color = f"C{at}"
                ax.plot(sizes, [e[score] for e in own], "o-", ms=3, lw=width, c=color, label=model)
            ax.set_xscale("log")
            if score == "log loss":
                ax.set_yscale("log")
                ax.set_title(name)
            else:
                ax.set_xlabel("rows")
            if column == 0:
                ax.set_ylabel(score)
            ax.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=8)
    figure.savefig(path)


def exponent(results: list[dict], model: str) -> float:
    """Return the slope of the logarithm of the time of a fit, for 1,000 generated rows or more."""
    own = [e for e in results if e["table"] == "generated" and e["columns"] == 12]
    own = [e for e in own if e["model"] == model and e["rows"] >= 1000]
    if len(own) < 2:
        return float("nan")
    return float(
        np.polyfit(np.log([e["rows"] for e in own]), np.log([e["fit"] for e in own]), 1)[0]
    )


def main() -> None:
    """Run what is asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--out", type=Path, help="JSON of the results, which later runs add to")
    given = parser.parse_args()
    results = json.loads(given.out.read_text()) if given.out and given.out.exists() else []
    done = {(each["table"], each["model"], each["rows"], each["columns"]) for each in results}
    X, y = smooth_and_rule(np.random.default_rng(1), 400, 5)
    for name in given.models:  # loads compiled code, and drops what is not installed
        try:
            MODELS[name]().fit(X, y).predict_proba(X)
        except ImportError:
            print(f"{name} is not installed")
            del MODELS[name]
    print("accuracy, log loss, CPU seconds of the fit and of 5,000 predictions")
    print(f"{'table':14}{'rows × columns':16}{'model':12}accuracy log loss     fit   5,000")
    splits = chain(
        tables(given.tables, given.sizes) if given.tables else (), generated(given.shapes)
    )
    for name, (X, y, Q, truth) in splits:
        rows, columns = X.shape
        for model in [each for each in given.models if each in MODELS]:
            if (name, model, rows, columns) in done:
                continue
            found = measure(MODELS[model], X, y, Q, truth)
            case = {"table": name, "model": model, "rows": rows, "columns": columns}
            results.append({**case, **found})
            shape = f"{rows:,} × {columns}"
            numbers = f"{found['accuracy']:8.4f} {found['log loss']:8.4f}"
            seconds = f"{found['fit']:8.2f}{found['predict']:8.2f}"
            print(f"{name:14}{shape:16}{model:12}{numbers}{seconds}", flush=True)
            if given.out:
                given.out.write_text(json.dumps(results))
    for model in given.models:
        print(f"{model}: time of a fit over the rows, exponent {exponent(results, model):.2f}")
    if given.figure:
        figure(results, given.figure)


if __name__ == "__main__":
    main()
