"""The tables and the page of a comparison."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from math import isnan
from typing import TYPE_CHECKING

from joblib import Parallel, delayed

from cayleyklein._validation import require
from cayleyklein.exceptions import MissingExtraError
from cayleyklein.experiments._charts import Dot, accuracy_chart
from cayleyklein.experiments._outcomes import accuracies, learned_alpha, learned_geometry
from cayleyklein.experiments._page import (
    code_block,
    page,
    paragraph,
    provenance_section,
    section,
)
from cayleyklein.experiments._parallel import at_most_one_a_core
from cayleyklein.experiments._pictures import learned_pictures
from cayleyklein.experiments._statistics import PairedDifference
from cayleyklein.experiments._tables import Entry, Table, signed
from cayleyklein.plotting import number

if TYPE_CHECKING:
    from cayleyklein.experiments._compare import Comparison, DataSetComparison, MethodResult

__all__ = ["comparison_page", "dataset_table", "verdict"]

COLUMNS = (
    "method",
    "accuracy ± s.e.",
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
<li><b>Over k-NN</b> is the mean difference to Euclidean k-NN on standardised columns, split by
split, with an interval of 95 %. Training sets overlap, so splits are not independent; the interval
is widened for that (Nadeau and Bengio 2003). An interval that holds 0 shows no difference.</li>
<li><b>Bold</b> is a gain over Euclidean k-NN that stands this test at 5 % after an adjustment for
the number of methods tried (Holm). What is not bold may be better too: the data do not show
it.</li>
<li><b>K</b> is the curvature: above 0 elliptic, 0 flat, below 0 hyperbolic; a sum of metrics has
one for each part. Elliptic and hyperbolic metrics have K = 1 and −1, which only fixes the unit. It
is the median over the splits, or over those that agree on the geometry, with their number.
<b>α</b> is the share of the elliptic part in a sum of two.</li>
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
    return page(
        f"Curved metrics on {names}",
        f"Accuracy of {comparison.n_neighbors}-nearest-neighbour classification with learned "
        f"metrics, over {comparison.n_splits} random splits, with "
        f"{100 * comparison.test_size:.3g} % of the rows for testing.",
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
