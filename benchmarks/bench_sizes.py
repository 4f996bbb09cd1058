"""Where each kind of model is at home: accuracy, log loss and time over the number of rows.

    python benchmarks/bench_sizes.py [--tables FOLDER] [--mixed FOLDER]
        [--sizes 250 1000 4000 16000] [--shapes 500x20 1500x20 4000x16 100000x12]
        [--models kernel neighbours boosting forest lightgbm catboost]
        [--figure FILE] [--out FILE]

Generated rows of some shapes: two classes by a smooth function and a rule of five columns, a tenth
of the labels wrong, as in `bench_hard.py`, 5,000 rows to test. Tables are CSV files with a header
and the class in the last column, those of at least 6,000 rows. Of each table up to 4,000 rows are
kept for the test, and each size trains on the first rows of one permutation. Defaults everywhere.
Mixed tables are those of classes of at least 6,000 rows that `targets.json` of their folder names;
peers get them through skrub's `TableVectorizer`.
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
from sklearn.pipeline import make_pipeline

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
    "catboost": peer(
        "catboost", "CatBoostClassifier", verbose=0, random_state=0, allow_writing_files=False
    ),
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
        if len(table) >= 6000:
            X, y = table.iloc[:, :-1].to_numpy(dtype=float), table.iloc[:, -1]
            yield from splits(path.name.split(".")[0], X, y.astype(str).to_numpy(), sizes)


def mixed_tables(folder: Path, sizes: list[int]) -> Iterator[tuple[str, Split]]:
    """Yield the large mixed tables of classes of a folder at each size."""
    import pandas as pd

    for name, about in json.loads((folder / "targets.json").read_text()).items():
        if about["kind"] == "classes" and about["rows"] >= 6000:
            table = pd.read_parquet(folder / f"{name}.parquet")
            y = table.pop(about["target"]).astype(str).to_numpy()
            yield from splits(name, table, y, sizes)


def splits(name: str, X, y: np.ndarray, sizes: list[int]) -> Iterator[tuple[str, Split]]:
    """Yield a table at each size for which there are rows to test."""
    order = np.random.default_rng(0).permutation(len(y))
    for size in sizes:
        n_test = TEST if size + TEST <= len(y) else 2000
        test, train = order[:n_test], order[n_test : n_test + size]
        if len(train) == size:
            rows = [
                X[some] if isinstance(X, np.ndarray) else X.iloc[some] for some in (train, test)
            ]
            yield name, (rows[0], y[train], rows[1], y[test])


def generated(shapes: list[str]) -> Iterator[tuple[str, Split]]:
    """Yield generated rows of some shapes, and others to test."""
    for shape in shapes:
        n, d = map(int, shape.split("x"))
        X, y = smooth_and_rule(np.random.default_rng(0), n + ASKED, d)
        yield "generated", (X[:n], y[:n], X[n:], y[n:])


def model_for(name: str, X):
    """Return a new model; peers of mixed tables see what skrub makes of them."""
    model = MODELS[name]()
    if isinstance(X, np.ndarray) or name in ("kernel", "neighbours"):
        return model
    from skrub import TableVectorizer

    return make_pipeline(TableVectorizer(), model)


def measure(model, X, y, Q, truth) -> dict[str, float]:
    """Return how good a model is on rows it has not seen, and its CPU seconds."""
    start = time.process_time()
    model.fit(X, y)
    fit = time.process_time() - start
    start = time.process_time()
    chance = model.predict_proba(Q)
    predict = (time.process_time() - start) * ASKED / len(Q)
    classes = np.asarray(model.classes_)
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
    """Draw log loss and accuracy over the number of rows, a column for each table, four abreast."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib import ticker

    results = [each for each in results if each["table"] != "generated" or each["columns"] == 12]
    names = list(dict.fromkeys(each["table"] for each in results))
    models = list(dict.fromkeys(each["model"] for each in results))
    abreast = min(len(names), 4)
    n_bands = -(-len(names) // abreast)
    figure, axes = plt.subplots(
        2 * n_bands, abreast, figsize=(3.1 * abreast, 5.2 * n_bands), layout="constrained"
    )
    axes = np.reshape(axes, (n_bands, 2, abreast))
    for ax in axes.ravel():
        ax.set_axis_off()
    for number, name in enumerate(names):
        band, column = divmod(number, abreast)
        for row, score in enumerate(("log loss", "accuracy")):
            ax = axes[band, row, column]
            ax.set_axis_on()
            for at, model in enumerate(models):
                own = [e for e in results if e["table"] == name and e["model"] == model]
                sizes = [each["rows"] for each in own]
                width = 2.4 if model == "kernel" else 1.2
                color = f"C{at}"
                ax.plot(sizes, [e[score] for e in own], "o-", ms=3, lw=width, c=color, label=model)
            ax.set_xscale("log")
            ax.set_xlim(200, 140_000 if name == "generated" else 20_000)
            ax.xaxis.set_major_locator(ticker.FixedLocator([250, 1000, 4000, 16_000, 100_000]))
            ax.xaxis.set_major_formatter(lambda n, _: f"{n / 1000:g}k" if n >= 1000 else f"{n:g}")
            ax.xaxis.set_minor_locator(ticker.NullLocator())
            if score == "log loss":
                ax.set_yscale("log")
                ax.yaxis.set_major_locator(ticker.MaxNLocator(5))
                ax.yaxis.set_major_formatter("{x:.2g}")
                ax.yaxis.set_minor_locator(ticker.NullLocator())
                ax.set_title(name)
            else:
                ax.set_xlabel("rows")
            if column == 0:
                ax.set_ylabel(score)
            ax.grid(alpha=0.3)
    axes[0, 0, 0].legend(fontsize=8)
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
    parser.add_argument("--mixed", type=Path)
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
    cases = chain(
        tables(given.tables, given.sizes) if given.tables else (),
        mixed_tables(given.mixed, given.sizes) if given.mixed else (),
        generated(given.shapes),
    )
    for name, (X, y, Q, truth) in cases:
        rows, columns = X.shape
        for model in [each for each in given.models if each in MODELS]:
            if (name, model, rows, columns) in done:
                continue
            found = measure(model_for(model, X), X, y, Q, truth)
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
