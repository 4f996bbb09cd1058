"""The default classifier, every geometry and other classifiers on the same random splits."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed
from sklearn.base import clone

from cayleyklein._validation import as_count, as_path, require
from cayleyklein.exceptions import InvalidInputError, MissingExtraError
from cayleyklein.experiments import _page as html
from cayleyklein.experiments._methods import AUTO, BASELINE, COMPARED, METHODS, choose_methods
from cayleyklein.experiments._problems import Problem, load_problem, repeated_splits
from cayleyklein.experiments._runs import (
    Cell,
    ProgressCallback,
    in_parallel,
    provenance,
    run_cells,
    write,
)
from cayleyklein.experiments._statistics import Result, accuracy_text, summarize
from cayleyklein.plotting import DecisionBoundaryDisplay, MetricDisplay, number
from cayleyklein.tables import check_writable

PYTHON = """\
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score{pipeline}
from cayleyklein import CurvedKNeighborsClassifier
{load}
splits = StratifiedShuffleSplit({n}, test_size={test_size:g}, random_state=0)
for geometry in ("auto", "flat", "elliptic", "hyperbolic", "learned", "mixed"):
    model = {model}
    scores = cross_val_score(model, X, y, cv=splits)
    print(geometry, scores.mean(), scores.std(ddof=1) / len(scores) ** 0.5)
"""


@dataclass(frozen=True)
class Comparison:
    """Results of :func:`compare`; ``comparison[dataset, method]`` is one of them.

    Attributes
    ----------
    problems : tuple of Problem
    results : list of dict
        A row for each data set and method: "accuracy", "standard_error", "log_loss", "over_knn"
        and "over_flat" (the :class:`PairedDifference` to Euclidean k-NN and to flat LMNN),
        "is_better_than_knn" and "is_better_than_flat" (a gain that is significant at 5 %, adjusted
        for the number of methods), "fit_seconds" and "predict_seconds" (median CPU time),
        "learned" (geometry and curvatures), "alpha", and "outcomes", the same for each split.
    n_neighbors : int or None
        Neighbours that vote; None for the default of each method.
    n_splits : int
    test_size : float
    notes : tuple of str
        Methods that were left out, and why.
    provenance : dict
        Code, versions, machine and date.

    Examples
    --------
    >>> from cayleyklein.experiments import compare
    >>> found = compare("wine", methods=["knn", "flat"], n_splits=2)
    >>> found["wine", "flat"]["accuracy"] > 0.9, found.to_dict()["n_splits"]
    (True, 2)
    >>> print(found.tables()[0].title)
    wine: 178 rows, 13 columns, 3 classes
    >>> print(found.to_python().splitlines()[1])
    from cayleyklein import CurvedKNeighborsClassifier

    The report is one page with everything in it:

    >>> found.to_html()[:15]
    '<!DOCTYPE html>'
    >>> found.write_report("wine.html")  # doctest: +SKIP
    """

    problems: tuple[Problem, ...]
    results: list[Result]
    n_neighbors: int | None
    n_splits: int
    test_size: float
    notes: tuple[str, ...]
    provenance: dict[str, Any]

    def __getitem__(self, dataset_and_method: tuple[str, str]) -> Result:
        return next(r for r in self.results if (r["dataset"], r["method"]) == dataset_and_method)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "format": "cayleyklein-comparison",
            "version": 2,
            "n_neighbors": self.n_neighbors,
            "n_splits": self.n_splits,
            "test_size": self.test_size,
            "datasets": [
                {"name": problem.name, "size": problem.describe(), "notes": list(problem.notes)}
                for problem in self.problems
            ],
            "results": self.results,
            "notes": list(self.notes),
            "provenance": self.provenance,
        }

    def tables(self) -> list[html.Table]:
        """Return a table for each data set."""
        return [dataset_table(problem, self._on(problem)) for problem in self.problems]

    def to_python(self) -> str:
        """Return Python code that does the same on the first data set."""
        problem, k = self.problems[0], self.n_neighbors
        votes = "" if k is None else f', n_neighbors={k}, weights="uniform"'
        model = f"CurvedKNeighborsClassifier(geometry=geometry{votes}, random_state=0)"
        pipeline = problem.prepare is not None
        return PYTHON.format(
            load=problem.code,
            model=f"make_pipeline(TableEncoder(), {model})" if pipeline else model,
            pipeline="\nfrom sklearn.pipeline import make_pipeline" * pipeline,
            n=self.n_splits,
            test_size=self.test_size,
        )

    def to_html(self, *, n_jobs: int | None = None) -> str:
        """Return the report as one page that needs no other file."""
        draw, k = delayed(dataset_pictures), self.n_neighbors
        try:
            require("matplotlib", "plot")
            tasks = [draw(problem, self._on(problem), k) for problem in self.problems]
            pictures = list(in_parallel(n_jobs)(tasks))
        except MissingExtraError as error:
            pictures = [("", html.bullets([f"No pictures: {error}"]))] * len(self.problems)
        votes = "" if k is None else f" ({k} votes)"
        return html.page(
            f"Curved metrics on {', '.join(problem.name for problem in self.problems)}",
            f"Classification by the nearest neighbours of learned metrics{votes}, and by other "
            f"methods, over {self.n_splits} random splits with {100 * self.test_size:.3g} % of the "
            f"rows for testing.",
            [
                html.bullets(self.notes),
                *(
                    table.to_html(chart, after=fit_notes(self._on(problem)) + metric)
                    for problem, table, (chart, metric) in zip(
                        self.problems, self.tables(), pictures, strict=True
                    )
                ),
                html.section("How to read it", html.bullets(HOW_TO_READ)),
                html.section("The same in Python", html.code_block(self.to_python())),
                html.provenance_section(self.provenance),
            ],
        )

    def write_report(self, path: str | Path, *, n_jobs: int | None = None) -> Path:
        """Write the report, and make its folder; after an error the old file is still there."""
        where = as_path(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        check_writable(where)  # before the pictures, which take a while
        write(where, self.to_html(n_jobs=n_jobs))
        return where

    def _on(self, problem: Problem) -> list[Result]:
        return [result for result in self.results if result["dataset"] == problem.name]


def compare(
    data: str | Path | Problem | Iterable[str | Path | Problem] = ("wine", "balance", "vowel"),
    *,
    target: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    against: Sequence[str] = (),
    methods: Sequence[str] = COMPARED,
    n_neighbors: int | None = None,
    n_splits: int = 5,
    test_size: float = 0.2,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Comparison:
    """Compare the default classifier, every geometry and other classifiers on the same splits.

    Parameters
    ----------
    data : str, path, Problem or sequence of them, default=("wine", "balance", "vowel")
        Names of data sets (see :func:`load_problem`), or files (CSV, TSV, Parquet).
    target : str, optional
        Column of the classes, for files.
    delimiter, encoding : str, optional
        Format of files, see :func:`cayleyklein.tables.read_table`.
    against : sequence of str, default=()
        More methods, if they are installed: "metric-learn", "pylmnn", or "lmnn" for both.
    methods : sequence of str, default=COMPARED
        Any of "knn", "auto", "flat", "elliptic", "hyperbolic", "learned", "mixed", "nca", "forest"
        (200 trees) and "svm" (RBF, C and γ cross-validated); by default all. "knn" and "flat" are
        always added, because the others are compared with them.
    n_neighbors : int, optional
        Neighbours that vote, with equal weights. By default each method has its own votes: those of
        :class:`CurvedKNeighborsClassifier`, and 5 for scikit-learn's.
    n_splits : int, default=5
        At least 2: a single split cannot show how certain a difference is.
    test_size : float, default=0.2
        Share of the rows that are tested.
    n_jobs : int, optional
        Processes; -1 for one for each core. The accuracies do not depend on it.
    progress : callable, optional
        Called after each fit with the number of finished fits, of all fits, and a description.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> result = compare("wine", methods=["knn", "flat"], n_splits=3)
    >>> result["wine", "flat"]["accuracy"] > 0.9
    True
    """
    if isinstance(data, str | Path | Problem):
        data = [data]
    elif not isinstance(data, Iterable):
        raise InvalidInputError(f"Got data={data!r}, but expected names of data sets or of files.")
    wanted, notes = choose_methods(methods, against)
    chosen = [method for method in METHODS if method in {BASELINE, "flat", *wanted}]
    k = None if n_neighbors is None else as_count(n_neighbors, "n_neighbors")
    if as_count(n_splits, "n_splits") < 2:
        raise InvalidInputError("Got n_splits=1, but a comparison needs at least 2 splits.")
    problems: dict[str, Problem] = {}
    load = partial(load_problem, target=target, delimiter=delimiter, encoding=encoding)
    for given in data:
        problem = given if isinstance(given, Problem) else load(given)
        is_new = problem.name not in problems  # files in two folders may have one name
        name = problem.name if is_new else f"{problem.name} ({len(problems) + 1})"
        problems[name] = replace(problem, name=name)
    if not problems:
        raise InvalidInputError("No data to compare on; name a bundled data set or a file.")
    outcomes = run_cells(
        [Cell(name, method, k) for name in problems for method in chosen],
        problems,
        {name: repeated_splits(p.y, n_splits, test_size) for name, p in problems.items()},
        n_jobs=n_jobs,
        progress=progress,
    )
    found = (tuple(problems.values()), summarize(outcomes), k, int(n_splits), test_size, notes)
    return Comparison(*found, provenance())


# -- the report ---------------------------------------------------------------------

COLUMNS = (
    "method", "accuracy ± s.e.", "log loss", "over k-NN [95 %]", "over flat LMNN [95 %]", "fit, s",
    "predict, s", "K", "α",
)  # fmt: skip

HOW_TO_READ = (
    "Accuracy is the share of test rows with the right class, averaged over random stratified "
    "splits; ± is its standard error. All methods have the same splits, and learn scaling, "
    "curvature and every other choice from the training rows only.",
    "Log loss is the mean of −log p, where p is the probability of the true class. Smaller is "
    "better; equal probabilities have the logarithm of the number of classes.",
    "Over k-NN is the mean difference to Euclidean k-NN on standardised columns, split by split, "
    "with its 95 % interval. Training sets overlap, so splits are not independent, and the "
    "interval is widened for that (Nadeau and Bengio 2003). An interval with 0 in it shows no "
    "difference.",
    "Bold is a gain over Euclidean k-NN that is significant at 5 % after an adjustment for the "
    "number of methods (Holm). Other methods may be better too, but the data do not show it.",
    "K is the curvature of each part of the metric: above 0 elliptic, 0 flat, below 0 hyperbolic. "
    "It is the median over the splits with the most frequent geometry, with their number if it is "
    "not all. α is the share of the elliptic part of a mixed metric.",
    "Times are medians of CPU seconds, on one thread, of one fit and of predicting its test rows.",
    "In the chart a ring is a mean, its bar the standard error, and a grey dot one split. The "
    "dashed line is Euclidean k-NN. A filled ring is bold in the table.",
)


def dataset_table(problem: Problem, results: Sequence[Result]) -> html.Table:
    """Return the table of one data set, with a verdict in its notes."""
    rows, better = [], [r["title"] for r in results if r["is_better_than_knn"]]
    for result in results:
        bold = "**" if result["is_better_than_knn"] else ""
        loss, alpha = result["log_loss"], result["alpha"]
        rows.append(
            [
                f"{bold}{result['title']}{bold}",
                f"{bold}{accuracy_text(result)}{bold}",
                "" if loss is None else f"{loss:.3f}",
                interval(result["over_knn"]),
                interval(result["over_flat"]),
                f"{result['fit_seconds']:.2f}",
                f"{result['predict_seconds']:.3f}",
                curvature_text(result),
                "" if alpha is None else f"{alpha:.2f}",
            ]
        )
    best = max(result["accuracy"] for result in results)
    titles = [result["title"] for result in results if result["accuracy"] == best]
    holders = " and ".join(titles) if len(titles) < 3 else f"{len(titles)} methods"
    shown = f"{', '.join(better) or 'no method'} {'are' if len(better) > 1 else 'is'}"
    verdict = (
        f"{problem.name}: the highest mean is {best:.3f}, of {holders}; {shown} shown to be better "
        f"than Euclidean k-NN."
    )
    title = f"{problem.name}: {problem.describe()}"
    return html.Table(title, COLUMNS, rows, notes=(*problem.notes, verdict))


def interval(difference: dict[str, float | None] | None) -> str:
    """Format a difference and its interval, if they are known."""
    if difference is None:
        return ""
    values = (difference[name] for name in ("difference", "low", "high"))
    mean, *ends = (f"{v:+.3f}".replace("-", "\N{MINUS SIGN}") for v in values if v is not None)
    return f"{mean} [{', '.join(ends)}]" if ends else mean


def curvature_text(result: Result) -> str:
    """Format the curvatures, with the number of splits that agree on the geometry if not all."""
    if (learned := result["learned"]) is None:
        return ""
    K, n = ", ".join(number(K, 3) for K in learned["curvatures"]), len(result["outcomes"])
    return K if learned["n_splits"] == n else f"{K} ({learned['n_splits']} of {n})"


def fit_notes(results: Sequence[Result]) -> str:
    """Return the warnings of the fits, each with its methods, as HTML."""
    titles: dict[str, dict[str, None]] = {}
    for result in results:
        for note in (note for outcome in result["outcomes"] for note in outcome["notes"]):
            titles.setdefault(note, {})[result["title"]] = None
    return html.bullets([f"{', '.join(some)}: {note}" for note, some in titles.items()])


MOST_ROWS = 800
"""Rows in a picture; more would hide each other."""

LEGEND_CLASSES = 12
"""Most classes that a legend lists."""


def dataset_pictures(problem: Problem, results: Sequence[Result], k: int | None) -> tuple[str, str]:
    """Return the chart of accuracies, and pictures of the metric that auto learns, as HTML."""
    from matplotlib.figure import Figure

    chart = Figure(figsize=(7.4, 0.8 + 0.3 * len(results)), layout="constrained")
    draw_accuracies(chart.add_subplot(), results)
    X = problem.X if problem.prepare is None else clone(problem.prepare).fit_transform(problem.X)
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:MOST_ROWS])
    X, y = np.asarray(X, dtype=np.float64)[rows], problem.classes[problem.y[rows]]
    model = METHODS[AUTO].make(k, None)
    with warnings.catch_warnings():  # the notes have the warnings of the fits
        warnings.simplefilter("ignore")
        model.fit(X, y)
    displays: dict[str, Any] = {
        f"The metric that auto learned from all rows of {problem.name}, on the principal plane of "
        f"its own coordinates. All balls have the same radius: where they look small, distances "
        f"are long.": MetricDisplay.from_estimator(model, X, y),
        "Predictions of auto on the principal plane of the standardised columns. Rows are "
        "projected to that plane, so some are on the colour of another "
        "class.": DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=160),
    }
    pictures = []
    for caption, display in displays.items():
        figure = Figure(figsize=(5.6, 4.4), layout="constrained")
        display.plot(figure.add_subplot(), legend=len(problem.classes) <= LEGEND_CLASSES)
        pictures.append(html.picture(figure, caption))
    caption = f"Accuracy on {problem.name} by method; the table has the numbers."
    return html.picture(chart, caption), f'<div class="pictures">{"".join(pictures)}</div>'


def draw_accuracies(ax: Any, results: Sequence[Result]) -> None:
    """Draw means, standard errors and single splits, one row for each method."""
    ax.axvline(results[0]["accuracy"], color="0.4", linestyle="--", linewidth=1, zorder=0)
    for row, result in enumerate(results):
        scores = [outcome["accuracy"] for outcome in result["outcomes"]]
        color, inside = ("C0", "C0") if result["is_better_than_knn"] else ("black", "white")
        ax.plot(scores, [row] * len(scores), "o", color="0.7", markersize=4)
        mean, error = result["accuracy"], result["standard_error"]
        ax.errorbar(mean, row, xerr=error, fmt="o", color=color, markerfacecolor=inside)
    ax.set(yticks=range(len(results)), yticklabels=[result["title"] for result in results])
    ax.set(xlabel="accuracy", ylim=(len(results) - 0.5, -0.5))
    ax.grid(axis="x", color="0.9")
