"""Compare accuracy and time with other methods over many data sets.

3-NN after standardising: plain, with scikit-learn's NCA, with our metrics, and with the LMNN of
pylmnn and metric-learn, each in an environment of its own. Every method sees the same splits, of
at most 500 training rows. Writes a fragment of Markdown for the documentation: accuracies, mean
ranks with Nemenyi's critical difference, Wilcoxon's test of ``auto`` against each of the others
with Holm's adjustment, and ratios of CPU time.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import gmean, wilcoxon
from sklearn import datasets as sets
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from bench_learning import ROOT, peer, peer_python  # asks for one thread in each worker
from cayleyklein import datasets
from cayleyklein.experiments import Ranking, holm, rank_methods
from cayleyklein.experiments._methods import METHODS
from cayleyklein.experiments._outcomes import evaluate
from cayleyklein.experiments._runs import provenance
from cayleyklein.experiments._runs import write_whole
from cayleyklein.experiments._page import Entry, Table, signed

K = 3
MOST_TRAINING_ROWS = 500
OURS = "auto"
IN_PROCESS = ("knn", "nca", "flat", "elliptic", "hyperbolic", "mixed", "auto")
ELSEWHERE = {"pylmnn": "LMNN (pylmnn)", "metric-learn": "LMNN (metric-learn)"}

Rows = tuple[np.ndarray, np.ndarray]


def with_noise(rows: Rows, columns: int) -> Rows:
    """Add columns that say nothing."""
    X, y = rows
    noise = np.random.default_rng(0).normal(size=(len(X), columns))
    return np.hstack([X, noise]), y


def make_classification(**options: float) -> Rows:
    """Return generated rows of scikit-learn's."""
    return sets.make_classification(n_samples=800, random_state=0, **options)


PROBLEMS: dict[str, Callable[[], Rows]] = {
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "sonar": lambda: datasets.load_sonar(return_X_y=True),
    "vowel": lambda: datasets.load_vowel(return_X_y=True, speakers="all"),
    "balance": lambda: datasets.load_balance(return_X_y=True),
    "pima": lambda: datasets.load_pima(return_X_y=True),
    "iris": lambda: sets.load_iris(return_X_y=True),
    "breast cancer": lambda: sets.load_breast_cancer(return_X_y=True),
    "digits": lambda: sets.load_digits(return_X_y=True),
    "moons + 8 noise columns": lambda: with_noise(
        sets.make_moons(800, noise=0.25, random_state=0), 8
    ),
    "circles + 4 noise columns": lambda: with_noise(
        sets.make_circles(800, noise=0.12, factor=0.6, random_state=0), 4
    ),
    "quantiles, d = 6": lambda: sets.make_gaussian_quantiles(
        n_samples=800, n_features=6, n_classes=3, random_state=0
    ),
    "classification, 8 of 20": lambda: make_classification(
        n_features=20, n_informative=8, n_classes=4
    ),
    "classification, 10 of 50": lambda: make_classification(
        n_features=50, n_informative=10, n_classes=5
    ),
    "elliptic blobs": lambda: datasets.make_elliptic_blobs(random_state=0),
    "hyperbolic tree": lambda: datasets.make_hyperbolic_tree(random_state=0),
    "elliptic × hyperbolic": lambda: datasets.make_mixed(random_state=0),
}


def splits(y: np.ndarray, n: int) -> list[Rows]:
    """Return (training, test) rows, of at most 500 training rows."""
    train = min(MOST_TRAINING_ROWS, int(0.7 * len(y)))
    splitter = StratifiedShuffleSplit(n, train_size=train, random_state=0)
    splitter.test_size = len(y) - train
    return list(splitter.split(np.zeros(len(y)), y))


def elsewhere(name: str, X: np.ndarray, y: np.ndarray, split: Rows) -> tuple[float, float]:
    """Return accuracy and CPU seconds of a peer that has an environment of its own."""
    train, test = split
    scaler = StandardScaler().fit(X[train])
    seconds, factor = peer(name, scaler.transform(X[train]), y[train])
    there = [scaler.transform(X[rows]) @ factor.T for rows in (train, test)]
    found = KNeighborsClassifier(K).fit(there[0], y[train]).predict(there[1])
    return accuracy_score(y[test], found), seconds


def measure(problem: str, method: str, n_splits: int) -> tuple[float, float]:
    """Return the mean accuracy and the median CPU seconds of a fit."""
    warnings.simplefilter("ignore")
    X, y = PROBLEMS[problem]()
    found = []
    for split in splits(y, n_splits):
        if method in ELSEWHERE:
            found.append(elsewhere(method, X, y, split))
        else:
            outcome = evaluate(method, K, X, y, split)
            found.append((outcome.accuracy, outcome.fit_seconds))
    accuracies, seconds = np.array(found).T
    return float(accuracies.mean()), float(np.median(seconds))


def title(method: str) -> str:
    """Return how the tables call a method."""
    return ELSEWHERE.get(method) or METHODS[method].title


def accuracy_table(problems: list[str], methods: list[str], accuracy: np.ndarray) -> Table:
    """Return accuracies by data set; nothing is bold, since a row alone is no evidence."""
    rows = [
        [Entry(problem), *(Entry(f"{value:.3f}") for value in line)]
        for problem, line in zip(problems, accuracy, strict=True)
    ]
    mean = [Entry("mean"), *(Entry(f"{value:.3f}") for value in accuracy.mean(axis=0))]
    return Table("Accuracy", ("data set", *map(title, methods)), [*rows, mean])


def summary_table(methods: list[str], accuracy: np.ndarray, seconds: np.ndarray) -> Table:
    """Return ranks, differences to ours and ratios of time, the best rank first."""
    ranking = rank_methods(accuracy)
    ours = methods.index(OURS)
    others = [m for m in range(len(methods)) if m != ours]
    p = dict(
        zip(
            others,
            holm([wilcoxon(accuracy[:, ours], accuracy[:, m]).pvalue for m in others]),
            strict=True,
        )
    )
    rows = []
    for m in np.argsort(ranking.mean_ranks, kind="stable"):
        gain = float((accuracy[:, ours] - accuracy[:, m]).mean())
        ratio = float(gmean(seconds[:, m] / seconds[:, ours]))
        rows.append(
            [
                Entry(title(methods[m])),
                Entry(f"{ranking.mean_ranks[m]:.2f}"),
                Entry("" if m == ours else signed(gain)),
                Entry("" if m == ours else f"{p[m]:.3f}"),
                Entry(f"{ratio:.2g} ×" if ratio < 10 else f"{ratio:.0f} ×"),
            ]
        )
    columns = (
        "method",
        "mean rank",
        "auto over it",
        "p (Wilcoxon, Holm)",
        "time of a fit / auto's",
    )
    return Table("Summary", columns, rows)


def near_the_best(methods: list[str], ranking: Ranking) -> list[str]:
    """Name the methods whose rank is within the critical difference of the best."""
    limit = ranking.mean_ranks.min() + ranking.critical_difference
    order = np.argsort(ranking.mean_ranks, kind="stable")
    return [title(methods[m]) for m in order if ranking.mean_ranks[m] <= limit]


def fragment(
    problems: list[str],
    methods: list[str],
    accuracy: np.ndarray,
    seconds: np.ndarray,
    n_splits: int,
) -> str:
    """Return the page's text."""
    ranking = rank_methods(accuracy)
    about = provenance()
    parts = [
        f"{K}-NN on {len(problems)} data sets, {n_splits} splits each, at most "
        f"{MOST_TRAINING_ROWS} training rows; every method sees the same splits.",
        summary_table(methods, accuracy, seconds).to_markdown(),
        f"Mean ranks of accuracy, 1 is the best. All being equal has p = {ranking.friedman_p:.2g} "
        f"(Friedman). The critical difference is {ranking.critical_difference:.2f} (Nemenyi, 5 %): "
        f"not told apart from the best are {', '.join(near_the_best(methods, ranking))}. "
        f"Times are CPU seconds on one thread, a geometric mean of ratios.",
        accuracy_table(problems, methods, accuracy).to_markdown(),
        f"Measured on {about['date'][:10]} with cayleyklein {about['cayleyklein']}, commit "
        f"{about['commit']}, {about['machine']['processor']}, by "
        f"`python benchmarks/bench_peers.py`.",
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run all methods on all data sets and write the fragment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "_generated" / "peers.md")
    options = parser.parse_args()
    for name in ELSEWHERE:
        peer_python(name)  # made here, since two workers would make it twice
    methods = [*IN_PROCESS, *ELSEWHERE]
    pairs = [(problem, method) for problem in options.only for method in methods]
    found = Parallel(options.jobs, verbose=1)(
        delayed(measure)(problem, method, options.splits) for problem, method in pairs
    )
    values = np.array(found).reshape(len(options.only), len(methods), 2)
    text = fragment(options.only, methods, values[..., 0], values[..., 1], options.splits)
    write_whole(options.output, text)
    print(text)
    print(options.output)


if __name__ == "__main__":
    main()
