"""The tables and the page of a comparison."""

from __future__ import annotations

import base64
import io
import warnings
from dataclasses import replace
from html import escape
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from cayleyklein._validation import require
from cayleyklein.exceptions import MissingExtraError
from cayleyklein.experiments._methods import AUTO, METHODS
from cayleyklein.experiments._outcomes import accuracies, learned_alpha, learned_geometry
from cayleyklein.experiments._page import (
    Dot,
    Entry,
    Table,
    accuracy_chart,
    code_block,
    page,
    paragraph,
    provenance_section,
    section,
    signed,
)
from cayleyklein.experiments._problems import Problem
from cayleyklein.experiments._runs import at_most_one_a_core
from cayleyklein.experiments._statistics import PairedDifference
from cayleyklein.plotting import DecisionBoundaryDisplay, MetricDisplay, number

if TYPE_CHECKING:
    from cayleyklein.experiments._compare import Comparison, DataSetComparison, MethodResult

__all__ = ["comparison_page", "dataset_table", "verdict"]

COLUMNS = (
    "method",
    "accuracy ± s.e.",
    "log loss",
    "over k-NN [95 %]",
    "over flat LMNN [95 %]",
    "fit, s",
    "predict, s",
    "K",
    "α",
)

CAPTION = "The same splits for every method; how to read the table is explained below."

HOW_TO_READ = """\
<ul>
<li><b>Accuracy</b> is the share of test rows whose class is predicted, averaged over random splits
that keep the classes in proportion. All methods see the same splits. Scaling, curvature and every
other choice are learned from training rows only. ± is the standard error over the splits.</li>
<li><b>Log loss</b> is the mean of −log p, p the probability that is given to the true class: how
far the probabilities can be trusted. Smaller is better; without knowledge it is the logarithm of
the number of classes, for classes of one size.</li>
<li><b>Over k-NN</b> is the mean difference to Euclidean k-NN on standardised columns, split by
split, with an interval of 95 %. Training sets overlap, so splits are not independent; the interval
is widened for that (Nadeau and Bengio 2003). An interval that holds 0 shows no difference.</li>
<li><b>Bold</b> is a gain over Euclidean k-NN that stands this test at 5 % after an adjustment for
the number of methods tried (Holm). What is not bold may be better too: the data do not show
it.</li>
<li><b>K</b> is the curvature: above 0 elliptic, 0 flat, below 0 hyperbolic; a product, as auto
learns it, or a sum of metrics has one for each part. It is the median over the splits, or over
those that agree on the geometry, with their number. <b>α</b> is the share of the elliptic part in
a mixed metric.</li>
<li><b>Times</b> are medians of CPU seconds, on one thread, of one fit and of predicting its test
rows.</li>
<li>In the <b>chart</b> a ring is a mean, the bar its standard error, and a grey dot one split; the
dashed line is Euclidean k-NN. A filled ring is what is bold in the table.</li>
</ul>"""


def comparison_page(comparison: Comparison, n_jobs: int | None = None) -> str:
    """Return the whole report; its pictures are drawn in `n_jobs` processes."""
    pictures = draw_all(comparison, n_jobs)
    names = ", ".join(dataset.problem.name for dataset in comparison.datasets)
    verdicts = "".join(f"<li>{escape(verdict(dataset))}</li>" for dataset in comparison.datasets)
    notes = [paragraph(note, "notes") for note in comparison.notes]
    k = comparison.n_neighbors
    votes = "" if k is None else f" ({k} votes)"
    return page(
        f"Curved metrics on {names}",
        f"Classification by the nearest neighbours of learned metrics{votes}, and by others, over "
        f"{comparison.n_splits} random splits, with {100 * comparison.test_size:.3g} % of the rows "
        f"for testing.",
        [
            section("In short", f"<ul>{verdicts}</ul>", *notes),
            *map(dataset_section, comparison.datasets, pictures),
            section("How to read it", HOW_TO_READ),
            section("The same in Python", code_block(comparison.to_python())),
            provenance_section(comparison.provenance),
        ],
    )


def draw_all(comparison: Comparison, n_jobs: int | None) -> list[str]:
    """Return the pictures of each data set as HTML, or a word on why there are none."""
    problems = [dataset.problem for dataset in comparison.datasets]
    try:
        require("matplotlib", "plot")
    except MissingExtraError as error:
        return [paragraph(f"No pictures: {error}", "notes")] * len(problems)
    return list(
        Parallel(at_most_one_a_core(n_jobs))(
            delayed(learned_pictures)(p, comparison.n_neighbors) for p in problems
        )
    )


def dataset_section(dataset: DataSetComparison, pictures: str) -> str:
    """Return the chart, the table and the pictures of one data set."""
    problem = dataset.problem
    return section(
        problem.name,
        *(paragraph(note, "notes") for note in (*problem.notes, *fit_notes(dataset))),
        accuracy_chart(
            [
                Dot(r.title, r.accuracy, r.standard_error, accuracies(r.outcomes), r.is_better)
                for r in dataset.results
            ],
            f"Accuracy on {problem.name} by method; the table below has the numbers.",
        ),
        replace(dataset_table(dataset), caption=CAPTION).to_html(),
        pictures,
        aside=problem.describe(),
    )


def fit_notes(dataset: DataSetComparison) -> list[str]:
    """Return what the fits warned of, each with the methods that did."""
    said: dict[str, dict[str, None]] = {}
    for result in dataset.results:
        for outcome in result.outcomes:
            for note in outcome.notes:
                said.setdefault(note, {})[result.title] = None
    return [f"{', '.join(methods)}: {note}" for note, methods in said.items()]


def dataset_table(dataset: DataSetComparison) -> Table:
    """Return the table of one data set."""
    problem = dataset.problem
    return Table(
        f"{problem.name}: {problem.describe()}",
        COLUMNS,
        [_row(result) for result in dataset.results],
    )


def _row(result: MethodResult) -> list[Entry]:
    alpha = learned_alpha(result.outcomes)
    return [
        Entry(result.title, bold=result.is_better),
        Entry(result.text, bold=result.is_better),
        Entry("" if result.log_loss is None else f"{result.log_loss:.3f}"),
        Entry("" if result.method == "knn" else interval(result.over_baseline)),
        Entry("" if result.method == "flat" else interval(result.over_flat)),
        Entry(f"{result.fit_seconds:.2f}"),
        Entry(f"{result.predict_seconds:.3f}"),
        Entry(curvature_text(result)),
        Entry("" if alpha is None else f"{alpha:.2f}"),
    ]


def interval(difference: PairedDifference) -> str:
    """Write a difference and its interval, where it is known."""
    mean, low, high = map(signed, difference[:3])
    return mean if isnan(difference.low) else f"{mean} [{low}, {high}]"


def curvature_text(result: MethodResult) -> str:
    """Write K, and on how many splits where they do not agree on the geometry."""
    learned = learned_geometry(result.outcomes)
    if learned is None:
        return ""
    K = ", ".join(number(value, 3) for value in learned.curvatures)
    n = len(result.outcomes)
    return K if learned.n_splits == n else f"{K} ({learned.n_splits} of {n})"


def verdict(dataset: DataSetComparison) -> str:
    """Say in a sentence what the evidence supports."""
    best = max(result.accuracy for result in dataset.results)
    titles = [result.title for result in dataset.results if result.accuracy == best]
    holders = " and ".join(titles) if len(titles) < 3 else f"{len(titles)} methods"
    better = [result.title for result in dataset.results if result.is_better]
    start = f"{dataset.problem.name}: the highest mean is {best:.3f}, of {holders}; "
    if not better:
        return f"{start}no method is shown to be better than Euclidean k-NN."
    verb = "is" if len(better) == 1 else "are"
    return f"{start}{', '.join(better)} {verb} shown to be better than Euclidean k-NN."


# -- pictures -----------------------------------------------------------------------

MOST_ROWS = 800
"""Rows in a picture; more would hide each other."""

RESOLUTION = 160
"""Points of the grid of decision regions along each axis."""

LEGEND_CLASSES = 12
"""More classes than this have no legend beside the picture."""


def learned_pictures(problem: Problem, k: int | None) -> str:
    """Return two pictures of what ``geometry="auto"`` learns from all rows, as HTML.

    Parameters
    ----------
    problem : Problem
    k : int or None
        Neighbours that vote.
    """
    require("matplotlib", "plot")
    X, y = numeric_rows(problem)
    model = METHODS[AUTO].make(k, None)
    with warnings.catch_warnings():  # the fits of the comparison have said it
        warnings.simplefilter("ignore")
        model.fit(X, y)
    legend = len(problem.classes) <= LEGEND_CLASSES
    metric = MetricDisplay.from_estimator(model, X, y)
    regions = DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=RESOLUTION)
    return (
        '<div class="pictures">'
        + figure(
            metric,
            f"The metric that auto learned from all rows of {problem.name}, on the principal plane "
            f"of its own coordinates. All balls have one radius: where they look small, "
            f"distances are long.",
            legend,
        )
        + figure(
            regions,
            "What auto predicts on the principal plane of the standardised columns. Rows are "
            "projected to that plane, so some stand on a colour that is not theirs.",
            legend,
        )
        + "</div>"
    )


def numeric_rows(problem: Problem) -> tuple[Any, Any]:
    """Return the rows as numbers, not too many, and the names of their classes."""
    X = problem.X
    if problem.prepare is not None:
        X = clone(problem.prepare).fit_transform(X)
    rows = np.asarray(X, dtype=np.float64)
    some = np.sort(np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS])
    return rows[some], problem.classes[problem.y[some]]


def figure(display: Any, caption: str, legend: bool) -> str:
    """Draw a display, and return it as a figure element that holds its picture."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(5.6, 4.4), layout="constrained")
    display.plot(canvas.add_subplot(), legend=legend)
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", dpi=150, bbox_inches="tight", metadata={"Software": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    text = escape(caption)
    return (
        f'<figure><img alt="{text}" src="data:image/png;base64,{data}">'
        f"<figcaption>{text}</figcaption></figure>"
    )
