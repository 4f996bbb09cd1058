"""The report of a comparison: its tables, its pictures, and how to read them."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from cayleyklein import plotting
from cayleyklein.experiments import page as html
from cayleyklein.experiments._statistics import (
    LEAST_GROUP,
    Result,
    accuracy_text,
    reliability,
    score_name,
)
from cayleyklein.experiments.methods import AUTO, METHODS
from cayleyklein.experiments.problems import Problem
from cayleyklein.plotting import residuals, style, svg
from cayleyklein.tables import TableEncoder

GAINS = ("over k-NN [95 %]", "over flat LMNN [95 %]", "fit, s", "predict, s", "K")
COLUMNS = {
    "class": ("method", "accuracy ± s.e.", "log loss", *GAINS, "α"),
    "number": ("method", "R² ± s.e.", "RMSE", "MAE", *GAINS),
}
HOW_TO_READ = (
    "Accuracy is the share of test rows with the right class, averaged over random stratified "
    "splits; ± is its standard error. All methods have the same splits, and learn scaling, "
    "curvature and every other choice from the training rows only.",
    "Numbers are judged by R², the share of their variance on the test rows that is predicted (1 "
    "is perfect, 0 no better than their mean), by RMSE, the root of the mean squared error, and by "
    "MAE, the mean absolute error. Their splits are random, and flat LMNN is flat MLKR.",
    "Log loss is the mean of −log p, where p is the probability of the true class. Smaller is "
    "better; equal probabilities have the logarithm of the number of classes.",
    "Over k-NN is the mean difference to k-NN on standardised columns, split by split, "
    "with its 95 % interval. Training sets overlap, so splits are not independent, and the "
    "interval is widened for that (Nadeau and Bengio 2003). An interval with 0 in it shows no "
    "difference.",
    "Bold is a gain over standardised k-NN that is significant at 5 % after an adjustment for the "
    "number of methods (Holm). Other methods may be better too, but the data do not show it.",
    "K is the curvature of each part of the metric: above 0 elliptic, 0 flat, below 0 hyperbolic. "
    "It is the median over the splits with the most frequent geometry, with their number if it is "
    "not all. α is the share of the elliptic part of a mixed metric.",
    "Times are medians of CPU seconds, on one thread, of one fit and of predicting its test rows.",
    "Confidence is the largest probability that a method gives a row (its top label). The "
    "reliability curves group the test rows of all splits by it, in ten steps, and compare it with "
    "the share of right predictions in each group.",
    "In the chart a ring is a mean, its bar the standard error, and a grey dot one split. The "
    "dashed line is standardised k-NN. A filled ring is bold in the table.",
)


def dataset_table(problem: Problem, results: Sequence[Result]) -> html.ReportTable:
    rows, better = [], [r["title"] for r in results if r["is_better_than_knn"]]
    for result in results:
        bold = "**" if result["is_better_than_knn"] else ""
        first = [f"{bold}{text}{bold}" for text in (result["title"], accuracy_text(result))]
        gains = [interval(result[name]) for name in ("over_knn", "over_flat")]
        times = [f"{result['fit_seconds']:.2f}", f"{result['predict_seconds']:.3f}"]
        alpha = "" if result["alpha"] is None else f"{result['alpha']:.2f}"
        is_class = problem.task == "class"
        losses = [f"{result['log_loss']:.3f}"] if is_class else [
            f"{result[name]:.4g}" for name in ("rmse", "mae")]  # fmt: skip
        last = [curvature_text(result), *([alpha] if is_class else [])]
        rows.append([*first, *losses, *gains, *times, *last])
    measure = score_name(results[0])
    best = max(result[measure] for result in results)
    titles = [result["title"] for result in results if result[measure] == best]
    holders = " and ".join(titles) if len(titles) < 3 else f"{len(titles)} methods"
    shown = f"{', '.join(better) or 'no method'} {'are' if len(better) > 1 else 'is'}"
    verdict = f"{problem.name}: the highest mean is {best:.3f}, of {holders}; {shown} shown to be "
    verdict += "better than standardised k-NN."
    title = f"{problem.name}: {problem.describe()}"
    return html.ReportTable(title, COLUMNS[problem.task], rows, notes=(*problem.notes, verdict))


def interval(difference: dict[str, float | None] | None) -> str:
    if difference is None:
        return ""
    values = (difference[name] for name in ("difference", "low", "high"))
    mean, *ends = (f"{v:+.3f}".replace("-", "\N{MINUS SIGN}") for v in values if v is not None)
    return f"{mean} [{', '.join(ends)}]" if ends else mean


def curvature_text(result: Result) -> str:
    if (learned := result["learned"]) is None:
        return ""
    K, n = ", ".join(svg.number(K, 3) for K in learned["curvatures"]), len(result["outcomes"])
    return K if learned["n_splits"] == n else f"{K} ({learned['n_splits']} of {n})"


def fit_notes(results: Sequence[Result]) -> str:
    titles: dict[str, dict[str, None]] = {}
    for result in results:
        for note in (note for outcome in result["outcomes"] for note in outcome["notes"]):
            titles.setdefault(note, {})[result["title"]] = None
    return html.bullets([f"{', '.join(some)}: {note}" for note, some in titles.items()])


MOST_ROWS_DRAWN = 800  # rows in a picture; more would hide each other
LEGEND_CLASSES = 12  # most classes that a legend lists
BARS_SHOWN = 15  # columns whose weights are shown
PANELS = 5  # reliability curves side by side
RELIABILITY = (
    "how often a prediction is right, by the probability that the method gives it. On the dashed "
    "line probabilities are calibrated; below it the method is too confident, above it too "
    f"cautious. Larger dots are more test rows; groups of fewer than {LEAST_GROUP} are left out."
)


def dataset_pictures(problem: Problem, results: Sequence[Result], k: int | None) -> tuple[str, str]:
    from matplotlib.figure import Figure

    loss, name = ("log_loss", "log loss") if problem.task == "class" else ("rmse", "RMSE")
    figure = Figure(figsize=(9.4, 0.8 + 0.3 * len(results)), layout="constrained")
    accuracies, losses = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    draw_accuracies(accuracies, results)
    bars = losses.barh(range(len(results)), [r[loss] for r in results], 0.6, color=style.BLUE)
    losses.bar_label(bars, fmt="%.4g", padding=3, fontsize="small")
    losses.set(xlabel=f"{name} (less is better)")
    losses.margins(x=0.2)
    losses.set_xlim(left=0)
    losses.tick_params(axis="y", labelleft=False, length=0)
    first = "Accuracy" if problem.task == "class" else "R²"
    chart = html.figure_html(figure, f"{first} and {name} on {problem.name} by method.")
    if problem.task == "class":
        chart += html.figure_html(reliability_figure(results), f"{problem.name}: {RELIABILITY}")

    encoder = TableEncoder().fit(problem.X) if hasattr(problem.X, "columns") else None
    X = problem.X if encoder is None else encoder.transform(problem.X)
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:MOST_ROWS_DRAWN])
    X, y = np.asarray(X, dtype=np.float64)[rows], problem.y[rows]
    some = "all rows" if len(rows) == len(problem.y) else f"{len(rows)} rows, drawn at random,"
    with warnings.catch_warnings():  # the notes have the warnings of the fits
        warnings.simplefilter("ignore")
        if problem.task == "class":
            y = problem.classes[y]
            model = METHODS[AUTO].make(k, None).fit(X, y)
        else:
            model = METHODS[AUTO].make_regressor(k).fit(X, y)  # type: ignore[misc]
            caption = f"Predictions of auto for {some} of {problem.name}, each row left out."
            chart += html.figure_html(residuals.residuals_figure(y, model.predict(None)), caption)
    is_named = len(problem.classes) <= LEGEND_CLASSES
    shares = model.metric_.feature_weights(X)
    names: Any = problem.column_names or [f"column {j + 1}" for j in range(len(shares))]
    if encoder is not None:
        names, shares = encoder.by_column(shares)
    weights = plotting.FeatureWeightsDisplay(weights=shares, names=list(names))
    most = int(weights.weights.argmax())
    displays: dict[str, tuple[Any, dict[str, Any]]] = {}
    if problem.task == "class":
        displays[
            f"The metric that auto learned from {some} of {problem.name}, on the principal plane "
            f"of its own coordinates. All balls have the same radius: where they look small, "
            f"distances are long."
        ] = plotting.MetricDisplay.from_estimator(model, X, y), {"legend": is_named}
        displays[
            "Predictions of auto on the principal plane of the standardised columns. Rows are "
            "projected to that plane, so some are on the colour of another class."
        ] = (
            plotting.DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=160),
            {"legend": is_named},
        )
    displays[
        f"Share of each column in the squared distances of the metric that auto learned from "
        f"{some}; the largest is that of {weights.names[most]}, {weights.weights[most]:.0%}."
    ] = weights, {"top": BARS_SHOWN}
    pictures = []
    for caption, (display, options) in displays.items():
        figure = Figure(figsize=(5.6, 4.4), layout="constrained")
        display.plot(figure.add_subplot(), **options)
        pictures.append(html.figure_html(figure, caption))
    return chart, f'<div class="pictures">{"".join(pictures)}</div>'


def draw_accuracies(ax: Any, results: Sequence[Result]) -> None:
    measure = score_name(results[0])
    ax.axvline(results[0][measure], color="0.4", linestyle="--", linewidth=1, zorder=0)
    for row, result in enumerate(results):
        scores = [outcome[measure] for outcome in result["outcomes"]]
        is_better = result["is_better_than_knn"]
        color, inside = (style.BLUE, style.BLUE) if is_better else ("black", "white")
        ax.plot(scores, [row] * len(scores), "o", color="0.7", markersize=4)
        mean, error = result[measure], result["standard_error"]
        ax.errorbar(mean, row, xerr=error, fmt="o", color=color, markerfacecolor=inside)
    ax.set(yticks=range(len(results)), yticklabels=[result["title"] for result in results])
    ax.set(xlabel="R²" if measure == "r2" else measure, ylim=(len(results) - 0.5, -0.5))
    ax.grid(axis="x", color="0.9")


def reliability_figure(results: Sequence[Result]) -> Any:
    from matplotlib.figure import Figure

    n_rows = -(-len(results) // PANELS)
    figure = Figure(figsize=(9.4, 0.5 + 2.0 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, PANELS, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, result in zip(panels, results, strict=False):
        n, confidence, accuracy = reliability(result)
        ax.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1)
        ax.plot(confidence, accuracy, color=style.BLUE, linewidth=1)
        ax.scatter(confidence, accuracy, 5 + 60 * n / n.sum(), color=style.BLUE, zorder=3)
        ax.set_title(result["title"], fontsize="medium")
        ax.set(xlim=(0, 1.04), ylim=(0, 1.04), yticks=(0, 0.5, 1))
        ax.set_xticks((0, 0.5, 1), ("0", "0.5", "1"))
        ax.set_aspect("equal")
        ax.tick_params(labelbottom=True)  # also above a missing panel
    for ax in panels[len(results) :]:
        ax.set_axis_off()
    figure.supxlabel("confidence: probability of the predicted class", fontsize="medium")
    figure.supylabel("accuracy", fontsize="medium")
    return figure
