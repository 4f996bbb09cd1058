"""What a model knows of its rows: wrong labels, rows unlike any seen, intervals and sets.

    python benchmarks/bench_knows.py [labels] [strangers] [coverage] [real] [changes]
        [--tables FOLDER] [--mixed FOLDER] [--keel] [--rows 600] [--splits 1]

Ten tables: wine, sonar, iris, breast cancer and digits, and with ``--tables`` the first five CSV of
a folder (a header, the class in the last column), at most so many random rows of each. One thread.

``labels``: 5, 10 and 20 % of the labels are flipped at random. How many of as many rows as were
flipped, the most suspicious first, were: by ``suspicious`` of the kernel classifier and of the
neighbours', and by cleanlab's two rankings of the same left-out probabilities (cleanlab runs in an
environment of its own). Then what both report without being told how many: share of the rows,
precision and recall; without flips every report is false, or an odd row.

``strangers``: half of the rows are fitted, and the other half is told from rows that are planted:
columns shuffled, uniform in the box of the rows, six standard deviations in one column, and the
rows of a class that was not fitted. AUC of ``strangeness``, LocalOutlierFactor and IsolationForest;
the share of ordinary rows above 0.95; how many of them have other probabilities than without, and
the log loss with and without.

``coverage``: how many numbers are inside the intervals of neighbours, with and without weights, on
ten tables of numbers; how many classes are in the sets of the kernel classifier, and their size.

``real``: every CSV of ``--tables``, with ``--keel`` 21 tables of KEEL (its files come from an
environment of their own), and with ``--mixed`` tables with categories, dates, text and gaps
(NAME.parquet each, and a targets.json that says ``{"NAME": {"kind": "classes" or "numbers",
"target": COLUMN}}``), by `TableClassifier` and `TableRegressor` at their defaults: how many classes
are in sets and numbers in intervals, the share of ordinary rows above 0.95 of strangeness, how many
rows have other probabilities than without, and the log loss with and without.

``changes``: the smallest change of class of five rows of wine, iris and sonar's first six columns,
by one and three neighbours with equal votes, and by the kernel classifier; how large it is in
standard deviations, whether it is exact, and its CPU seconds. Beside it the smallest of ten changes
by each method of DiCE (in an environment of its own, at its defaults), and how many of 20,000
random rows that are nearer have another class.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from sklearn import datasets as sklearn_datasets  # noqa: E402
from sklearn.ensemble import IsolationForest  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402
from sklearn.neighbors import LocalOutlierFactor  # noqa: E402

import _peers  # noqa: E402
import cayleyklein  # noqa: E402
from _sets import bundled, keel, log_loss, tables  # noqa: E402
from cayleyklein import (  # noqa: E402
    CurvedKernelClassifier,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
)
from cayleyklein.tables import TableClassifier, TableRegressor  # noqa: E402

NAMES = ("wine", "sonar", "iris", "breast_cancer", "digits")
CLEANLAB = """
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
for ranking in ("self_confidence", "normalized_margin"):
    result[ranking] = get_label_quality_scores(data["labels"], data["shares"], method=ranking)
result["reported"] = find_label_issues(data["labels"], data["shares"])
"""


def some_rows(X: np.ndarray, y: np.ndarray, most: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random rows, and their classes as numbers."""
    order = np.random.default_rng(seed).permutation(len(X))[:most]
    return np.asarray(X, dtype=float)[order], np.unique(y[order], return_inverse=True)[1]


def flip(y: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels of which a share is wrong, and which."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(y), round(share * len(y)), replace=False)
    wrong = y.copy()
    n_classes = y.max() + 1
    wrong[rows] = (wrong[rows] + rng.integers(1, n_classes, size=len(rows))) % n_classes
    return wrong, rows


def measure_labels(sets: dict, most: int, splits: range) -> None:
    """Print precisions at k, and what is reported."""
    precision: dict = {}
    reports: dict = {}
    for name, (X, y) in sets.items():
        for seed in splits:
            X_some, y_some = some_rows(X, y, most, seed)
            for share in (0.0, 0.05, 0.1, 0.2):
                labels, rows = flip(y_some, share, seed)
                for kind in (CurvedKernelClassifier, CurvedKNeighborsClassifier):
                    model = kind(random_state=0).fit(X_some, labels)
                    found = model.suspicious()
                    shares = model.predict_proba(None)
                    # cleanlab wants all classes; a class may have lost its rows
                    peer = _peers.run("cleanlab", CLEANLAB, labels=labels, shares=shares)
                    ours = "kernel" if kind is CurvedKernelClassifier else "neighbours"
                    scores = {f"{ours}: suspicious": -found.scores}
                    for ranking in ("self_confidence", "normalized_margin"):
                        scores[f"{ours}: cleanlab, {ranking}"] = peer[ranking]
                    for method, score in scores.items():
                        top = np.argsort(score, kind="stable")[: len(rows)]
                        if len(rows):
                            value = np.isin(top, rows).mean()
                            precision.setdefault((method, share), {})[name, seed] = value
                    reported = np.isin(np.arange(len(labels)), found.rows)
                    for method, each in ((ours, reported), (f"{ours}: cleanlab", peer["reported"])):
                        right = each[rows].sum()
                        line = (
                            each.mean(),
                            right / each.sum() if each.any() else np.nan,
                            right / len(rows) if len(rows) else np.nan,
                        )
                        reports.setdefault((method, share), []).append(line)
            print(f"  {name} done", flush=True)
    print("\nPrecision at the number of flipped labels, by table")
    names = list(sets)
    print("| flipped | ranking |", " | ".join(names), "| mean |")
    print("|---|---|" + "---|" * (len(names) + 1))
    for (method, share), values in sorted(precision.items(), key=lambda item: item[0][::-1]):
        each = [np.mean([values[name, seed] for seed in splits]) for name in names]
        cells = " | ".join(f"{value:.2f}" for value in each)
        print(f"| {share:.0%} | {method} | {cells} | {np.mean(each):.3f} |")
    print("\nReported without being told how many (means over the tables)")
    print("| flipped | by | reported | precision | recall |\n|---|---|---|---|---|")
    for (method, share), lines in sorted(reports.items(), key=lambda item: item[0][::-1]):
        part, right, caught = np.nanmean(np.array(lines), axis=0)
        print(f"| {share:.0%} | {method} | {part:.3f} | {right:.2f} | {caught:.2f} |")


def planted(
    fitted: np.ndarray, rows: np.ndarray, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return rows that are no ordinary ones, by how they were made."""
    deviation = fitted.std(axis=0)
    moved = rows.copy()
    column = rng.integers(rows.shape[1], size=len(rows))
    sign = rng.choice([-1, 1], size=len(rows))
    moved[np.arange(len(rows)), column] += 6 * sign * deviation[column]
    return {
        "columns shuffled": np.column_stack([rng.permutation(column) for column in rows.T]),
        "uniform in the box": rng.uniform(fitted.min(axis=0), fitted.max(axis=0), rows.shape),
        "one column moved": moved,
    }


def measure_strangers(sets: dict, most: int, splits: range) -> None:
    """Print AUC by kind of planted rows, calibration, and what ordinary probabilities suffer."""
    found: dict = {}
    above, changed, losses = [], [], []
    for X, y in sets.values():
        for seed in splits:
            X_some, y_some = some_rows(X, y, 2 * most, seed)
            half = len(X_some) // 2
            X_fit, X_rest = X_some[:half], X_some[half:]
            varies = np.ptp(X_fit, axis=0) > 0
            X_fit, X_rest = X_fit[:, varies], X_rest[:, varies]
            y_fit, y_rest = y_some[:half], y_some[half:]
            model = CurvedKNeighborsClassifier(random_state=0, geometry="flat").fit(X_fit, y_fit)
            above.append((model.strangeness(X_rest) > 0.95).mean())
            truth = np.searchsorted(model.classes_, y_rest)
            with_it, without = with_and_without(model, model, X_rest)
            changed.append((with_it != without).any(axis=1).mean())
            losses.append((log_loss(with_it, truth), log_loss(without, truth)))
            rng = np.random.default_rng(seed)
            cases = {
                kind: (X_fit, y_fit, X_rest, rows)
                for kind, rows in planted(X_fit, X_rest, rng).items()
            }
            lost = np.bincount(y_fit).argmax()
            kept = y_fit != lost
            if len(np.unique(y_fit)) > 2:
                cases["a class not fitted"] = (
                    X_fit[kept],
                    y_fit[kept],
                    X_rest[y_rest != lost],
                    X_rest[y_rest == lost],
                )
            for kind, (rows, labels, usual, odd) in cases.items():
                deviation = rows.std(axis=0)
                unit = np.where(deviation > 0, deviation, 1.0)
                both = np.vstack([usual, odd])
                is_odd = np.arange(len(both)) >= len(usual)
                model = CurvedKNeighborsClassifier(1, geometry="flat", random_state=0)
                scores = {
                    "strangeness": model.fit(rows, labels).strangeness(both),
                    "LocalOutlierFactor": -LocalOutlierFactor(novelty=True)
                    .fit(rows / unit)
                    .decision_function(both / unit),
                    "IsolationForest": -IsolationForest(random_state=0)
                    .fit(rows)
                    .decision_function(both),
                }
                for method, score in scores.items():
                    value = roc_auc_score(is_odd, score)
                    found.setdefault(kind, {}).setdefault(method, []).append(value)
    print("\nAUC of planted rows (means over the tables)")
    methods = ("strangeness", "LocalOutlierFactor", "IsolationForest")
    print("| planted |", " | ".join(methods), "|\n|---|---|---|---|")
    for kind, values in found.items():
        print(f"| {kind} |", " | ".join(f"{np.mean(values[m]):.3f}" for m in methods), "|")
    low, high = min(above), max(above)
    print(f"\nordinary rows above 0.95: {np.mean(above):.3f} ({low:.3f} to {high:.3f} by table)")
    print(f"ordinary rows whose probabilities are drawn to the shares: {np.mean(changed):.5f}")
    with_it, without = np.mean(losses, axis=0)
    print(f"log loss of ordinary rows: {with_it:.4f}, without it {without:.4f}")


def with_and_without(model, estimator, rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of rows, and what they are if none is strange."""
    with_it = model.predict_proba(rows)
    known = estimator._known_rows
    estimator._known_rows = replace(known, left_out=np.full_like(known.left_out, np.inf))
    without = model.predict_proba(rows)
    estimator._known_rows = known
    return with_it, without


def number_tables() -> dict:
    """Return ten tables of numbers."""
    rng = np.random.default_rng(0)
    found = {"diabetes": sklearn_datasets.load_diabetes(return_X_y=True)}
    makers = (
        (sklearn_datasets.make_friedman1, 1.0),
        (sklearn_datasets.make_friedman2, 100.0),
        (sklearn_datasets.make_friedman3, 0.1),
    )
    for number, (make, noise) in enumerate(makers):
        found[f"friedman {number + 1}"] = make(600, noise=noise, random_state=0)
    X = rng.uniform(-2, 2, size=(600, 2))
    found["noise that grows"] = X, X[:, 0] + np.abs(X[:, 1]) * rng.normal(size=600)
    found["skewed noise"] = X, X[:, 0] + rng.exponential(size=600)
    for name, column in (("wine", 0), ("breast_cancer", 3), ("iris", 2), ("sonar", 10)):
        X = np.asarray(bundled()[name][0], dtype=float)
        found[f"{name}, column {column}"] = np.delete(X, column, axis=1), X[:, column]
    return found


def measure_coverage(sets: dict, most: int, splits: range) -> None:
    """Print how many targets are inside intervals and sets."""
    levels = (0.8, 0.9, 0.95)
    print("\nNumbers inside intervals of neighbours, without and with random weights 1 to 5")
    print("| table | 80 % | 90 % | 95 % | weighted 80 % | 90 % | 95 % |")
    print("|---|---|---|---|---|---|---|")
    every = []
    for name, (X, y) in number_tables().items():
        line = []
        for weighted in (False, True):
            inside = []
            for seed in splits:
                rng = np.random.default_rng(seed)
                order = rng.permutation(len(X))
                fit, rest = order[: len(X) // 2], order[len(X) // 2 :]
                weights = rng.integers(1, 6, size=len(fit)) if weighted else None
                model = CurvedKNeighborsRegressor(random_state=0).fit(X[fit], y[fit], weights)
                ends = [model.predict_interval(X[rest], level) for level in levels]
                inside.append([((a <= y[rest]) & (y[rest] <= b)).mean() for a, b in ends])
            line.extend(np.mean(inside, axis=0))
        every.append(line)
        print(f"| {name} |", " | ".join(f"{value:.3f}" for value in line), "|", flush=True)
    print("| mean |", " | ".join(f"{value:.3f}" for value in np.mean(every, axis=0)), "|")
    print("\nClasses inside sets of the kernel classifier, and classes in a set")
    print("| table | 80 % | 90 % | 95 % | size at 80 % | 90 % | 95 % |")
    print("|---|---|---|---|---|---|---|")
    every = []
    for name, (X, y) in sets.items():
        lines = []
        for seed in splits:
            X_some, y_some = some_rows(X, y, 2 * most, seed)
            half = len(X_some) // 2
            model = CurvedKernelClassifier(random_state=0).fit(X_some[:half], y_some[:half])
            known = np.isin(y_some[half:], model.classes_)
            truth = np.searchsorted(model.classes_, y_some[half:][known])
            found = [model.predict_set(X_some[half:][known], level) for level in levels]
            hits = [each[np.arange(len(truth)), truth].mean() for each in found]
            lines.append(hits + [each.sum(axis=1).mean() for each in found])
        every.append(np.mean(lines, axis=0))
        print(f"| {name} |", " | ".join(f"{value:.3f}" for value in every[-1]), "|", flush=True)
    print("| mean |", " | ".join(f"{value:.3f}" for value in np.mean(every, axis=0)), "|")


DICE = """
sys.path.insert(0, str(data["source"]))
import time
import dice_ml
import pandas as pd
from cayleyklein import CurvedKernelClassifier, CurvedKNeighborsClassifier

X, y, k = data["X"], data["y"], int(data["k"])
model = CurvedKernelClassifier(random_state=0)
if k:
    model = CurvedKNeighborsClassifier(k, geometry="learned", weights="uniform", random_state=0)
model.fit(X, y)

class Plain:
    classes_ = model.classes_

    def predict_proba(self, rows):
        return model.predict_proba(np.asarray(rows, dtype=float))

    def predict(self, rows):
        return model.predict(np.asarray(rows, dtype=float))

names = [f"x{j}" for j in range(X.shape[1])]
frame = pd.DataFrame(X, columns=names)
about = dice_ml.Data(
    dataframe=frame.assign(y=y), continuous_features=names, outcome_name="y"
)
known = dice_ml.Model(model=Plain(), backend="sklearn")
unit = X.std(axis=0)
for method in ("kdtree", "random", "genetic"):
    dice = dice_ml.Dice(about, known, method=method)
    sizes, seconds = [], []
    for row, to in zip(data["rows"], data["to"]):
        start = time.process_time()
        size = np.inf
        try:
            options = {"total_CFs": 10, "desired_class": int(to), "verbose": False}
            found = dice.generate_counterfactuals(frame[row : row + 1], **options)
            made = found.cf_examples_list[0].final_cfs_df[names].to_numpy(dtype=float)
            made = made[model.predict(made) == to]
            size = np.linalg.norm((made - X[row]) / unit, axis=1).min(initial=np.inf)
        except Exception as error:  # it finds none
            print(error, file=sys.stderr)
        sizes.append(size)
        seconds.append(time.process_time() - start)
    result[method] = np.array([sizes, seconds])
"""


def nearer_of_others(model, row: np.ndarray, to: int, most: float, unit: np.ndarray) -> int:
    """Count rows of a class among random ones that are nearer."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(20_000, len(row)))
    steps *= 0.999 * most / np.linalg.norm(steps, axis=1, keepdims=True)
    steps *= rng.uniform(size=(len(steps), 1)) ** (1 / len(row))
    return int((model.predict(row + steps * unit) == to).sum())


def measure_changes() -> None:
    """Print the sizes of smallest changes, ours and DiCE's."""
    known = bundled()
    sets = {"wine": known["wine"], "iris": known["iris"]}
    sets["sonar, six columns"] = np.asarray(known["sonar"][0])[:, :6], known["sonar"][1]
    print("\nSmallest changes of class: median size, and CPU seconds a row")
    print(
        "| table | votes | exact | ours | DiCE kdtree | random | genetic | smaller by DiCE |",
        end="",
    )
    print(" smaller of 20,000 | seconds | DiCE's |\n|---|---|---|---|---|---|---|---|---|---|---|")
    for name, (X, y) in sets.items():
        X, y = np.asarray(X, dtype=float), np.unique(y, return_inverse=True)[1]
        unit = X.std(axis=0)
        for k in (1, 3, 0):
            model = CurvedKernelClassifier(random_state=0)
            if k:
                model = CurvedKNeighborsClassifier(
                    k, geometry="learned", weights="uniform", random_state=0
                )
            model.fit(X, y)
            rows = np.random.default_rng(0).choice(len(X), 5, replace=False)
            to = np.array([(model.predict(X[[row]])[0] + 1) % (y.max() + 1) for row in rows])
            sizes, exact, smaller, seconds = [], [], [], []
            for row, goal in zip(rows, to, strict=True):
                start = time.process_time()
                found = model.counterfactual(X[row], to=goal)
                seconds.append(time.process_time() - start)
                sizes.append(found.size)
                exact.append(found.is_exact)
                smaller.append(nearer_of_others(model, X[row], goal, found.size, unit))
            source = str(Path(cayleyklein.__file__).parents[1])
            peers = _peers.run("dice", DICE, source=source, X=X, y=y, k=k, rows=rows, to=to)
            theirs = [peers[method][0] for method in ("kdtree", "random", "genetic")]
            best = np.min(theirs, axis=0)
            cells = [np.median(sizes), *(np.median(each) for each in theirs)]
            middle = " | ".join(f"{each:.3f}" for each in cells)
            spent = np.median([each[1] for each in peers.values()])
            votes = f"{k} neighbours" if k else "kernel"
            print(f"| {name} | {votes} | {sum(exact)} of 5 | {middle} ", end="")
            print(f"| {int((best < np.array(sizes) * (1 - 1e-6)).sum())} of 5 ", end="")
            print(f"| {sum(smaller)} | {np.median(seconds):.2f} | {spent:.2f} |", flush=True)


def real_tables(numeric: Path | None, mixed: Path | None, of_keel: bool) -> dict:
    """Return tables with their targets, and whether these are classes."""
    found = {}
    for name, (X, y) in (
        (tables(numeric) if numeric else {}) | (keel() if of_keel else {})
    ).items():
        found[name] = pd.DataFrame(X).add_prefix("x"), y, True
    if mixed:
        targets = json.loads((mixed / "targets.json").read_text())
        for name, about in targets.items():
            table = pd.read_parquet(mixed / f"{name}.parquet")
            table = table[table[about["target"]].notna()]
            y = table.pop(about["target"]).to_numpy()
            classes = about["kind"] == "classes"
            found[name] = table, y.astype(str) if classes else y.astype(float), classes
    return found


def measure_real(every: dict, most: int, splits: range) -> None:
    """Print what sets and intervals hold, and how strange ordinary rows are."""
    levels = (0.8, 0.9, 0.95)
    print(
        "\nReal tables: targets inside sets or intervals; ordinary rows above 0.95 of strangeness"
    )
    print("and with other probabilities than without; log loss with and without")
    print("| table | 80 % | 90 % | 95 % | size at 90 % | above | changed | with | without |")
    print("|---|---|---|---|---|---|---|---|---|")
    found: dict[bool, list] = {True: [], False: []}
    for name, (table, y, classes) in every.items():
        lines = []
        for seed in splits:
            order = np.random.default_rng(seed).permutation(len(table))
            fit = order[: min(most, len(order) // 2)]
            rest = order[len(fit) :][:2000]
            model = (TableClassifier if classes else TableRegressor)(random_state=seed)
            model.fit(table.iloc[fit], y[fit])
            rows, truth = table.iloc[rest], y[rest]
            above = (model.strangeness(rows) > 0.95).mean()
            if classes:
                kept = np.isin(truth, model.classes_)
                rows, truth = rows[kept], np.searchsorted(model.classes_, truth[kept])
                sets = [model.predict_set(rows, level) for level in levels]
                inside = [each[np.arange(len(truth)), truth].mean() for each in sets]
                shares = with_and_without(model, model.estimator_, rows)
                changed = (shares[0] != shares[1]).any(axis=1).mean()
                losses = [log_loss(each, truth) for each in shares]
                size = sets[1].sum(axis=1).mean()
            else:
                ends = [model.predict_interval(rows, level) for level in levels]
                inside = [((a <= truth) & (truth <= b)).mean() for a, b in ends]
                size = np.mean(ends[1][1] - ends[1][0]) / truth.std()
                changed, losses = np.nan, [np.nan, np.nan]
            lines.append([*inside, size, above, changed, *losses])
        found[classes].append(np.mean(lines, axis=0))
        print(f"| {name} |", " | ".join(f"{x:.3f}" for x in found[classes][-1]), "|", flush=True)
    for classes, lines in found.items():
        what = "mean of classes" if classes else "mean of numbers (size in standard deviations)"
        if lines:
            print(f"| {what} |", " | ".join(f"{x:.3f}" for x in np.mean(lines, axis=0)), "|")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", nargs="*", default=["labels", "strangers", "coverage", "real", "changes"]
    )
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--mixed", type=Path)
    parser.add_argument("--keel", action="store_true")
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--splits", type=int, default=1)
    given = parser.parse_args()
    sets = {name: each for name, each in bundled().items() if name in NAMES}
    if given.tables:
        sets |= dict(list(tables(given.tables).items())[:5])
    splits = range(given.splits)
    if "strangers" in given.what:
        measure_strangers(sets, given.rows, splits)
    if "coverage" in given.what:
        measure_coverage(sets, given.rows, splits)
    if "real" in given.what:
        measure_real(real_tables(given.tables, given.mixed, given.keel), given.rows, splits)
    if "changes" in given.what:
        measure_changes()
    if "labels" in given.what:
        measure_labels(sets, given.rows, splits)


if __name__ == "__main__":
    main()
