"""The report of a comparison: its tables, its pictures, and how to read them."""

import math
import warnings
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import stats
from sklearn.preprocessing import StandardScaler

from cayleyklein import plotting
from cayleyklein.curvature import CurvatureEstimate, estimate_curvature
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.experiments import methods, problems, scores
from cayleyklein.experiments import page as html
from cayleyklein.plotting import shapes
from cayleyklein.tables import TableEncoder

GAINS = ("over k-NN [95 %]", "over flat LMNN [95 %]", "fit, s", "predict, s", "K")
HOW_TO_READ = (
    "Accuracy is the share of test rows with the right class, averaged over random stratified "
    "splits; ± is its standard error. All methods have the same splits, and learn every choice "
    "from the training rows only. Log loss is the mean of −log p, p the probability of the true "
    "class: smaller is better.",
    "Numbers are judged by R², the share of their variance that is predicted (1 is perfect, 0 no "
    "better than their mean), by RMSE, the root of the mean squared error, and by MAE, the mean "
    "absolute error. Their splits are random, and flat LMNN is flat MLKR.",
    "Over k-NN is the mean difference to k-NN on standardised columns, split by split, with its "
    "95 % interval, widened because training sets overlap (Nadeau and Bengio 2003). An interval "
    "with 0 in it shows no difference. Bold is a gain that is significant at 5 % after an "
    "adjustment for the number of methods (Holm); others may be better, but it is not shown.",
    "K is the curvature of each part of the metric: above 0 elliptic, 0 flat, below 0 hyperbolic; "
    "the median over the splits with the most frequent geometry, with their number if it is not "
    "all. α is the share of the elliptic part of a mixed metric.",
    "Curvature is the verdict of estimate_curvature on standardised columns, of at most 300 rows: "
    "curved only where no flat model predicts as well as a curved space, and hardly any table of "
    "measurements is. Whether curved parts of a predictor gain accuracy is another question: the "
    "rows above answer it.",
    "Times are medians of CPU seconds, on one thread, of one fit and of predicting its test rows.",
    "Confidence is the largest probability that a method gives a row (its top label). The "
    "reliability curves group the test rows of all splits by it, in ten steps, and compare it with "
    "the share of right predictions in each group.",
    "In the chart a ring is a mean, its bar the standard error, and a grey dot one split. The "
    "dashed line is standardised k-NN. A filled ring is bold in the table.",
)


ProblemResults = tuple[problems.Problem, list[scores.Result], CurvatureEstimate | None]


def encoded(problem: problems.Problem) -> tuple[Any, Any]:
    """Return the encoder of a table, or None, and its rows as numbers."""
    encoder = TableEncoder().fit(problem.X) if hasattr(problem.X, "columns") else None
    rows = problem.X if encoder is None else encoder.transform(problem.X)
    return encoder, np.asarray(rows, dtype=np.float64)


def curvature_of(problem: problems.Problem) -> CurvatureEstimate | None:
    """Return the curvature of standardised columns; None where it cannot be estimated."""
    X = StandardScaler().fit_transform(encoded(problem)[1])
    y = problem.classes[problem.y] if problem.task == "class" else problem.y.astype(float)
    X = X[:, X.any(axis=0)]
    most = 300  # rows: time grows with their cube
    with suppress(CayleyKleinError):  # too few rows, too many classes, no column that varies
        return estimate_curvature(X, y, max_samples=most, n_grid=9, random_state=0)
    return None


def best_of(results: Sequence[scores.Result]) -> tuple[scores.Result, list[str]]:
    """Return the best result, by its mean and then its loss, and the titles of equal means."""
    measure = scores.score_name(results[0])
    loss = "log_loss" if measure == "accuracy" else "rmse"
    best = max(results, key=lambda result: (result[measure], -result[loss]))
    return best, [r["title"] for r in results if r[measure] == best[measure] and r is not best]


def _named(titles: Sequence[str]) -> str:
    return " and ".join(titles) if len(titles) < 3 else f"{len(titles)} methods"


def overview(parts: Sequence[ProblemResults]) -> html.ReportTable:
    columns = ("data set", "best mean", "score ± s.e.", GAINS[0], "significant", "curvature")
    rows = list[list[str]]()
    ranks = defaultdict[str, list[float]](list)
    for problem, results, found in parts:
        best, equal = best_of(results)
        more = ""
        if equal:
            more = f" ({len(equal)} more {'are' if len(equal) > 1 else 'is'} equal)"
        curved = "unknown" if found is None else found.headline
        rows.append(
            [
                problem.name,
                best["title"] + more,
                scores.accuracy_text(best),
                interval(best["over_knn"]),
                "yes" if best["is_better_than_knn"] else "no",
                curved,
            ]
        )
        order = stats.rankdata([-result[scores.score_name(result)] for result in results])
        for result, rank in zip(results, order, strict=True):
            ranks[result["method"]].append(rank)
    mean = {m: float(np.mean(found)) for m, found in ranks.items() if len(found) == len(rows)}
    least = min(mean.values())
    task = parts[0][0].task
    first = [methods.METHODS[m].title_for(task) for m, rank in mean.items() if rank == least]
    n_shown = sum(row[4] == "yes" for row in rows)
    said = (
        f"Best mean rank: {_named(first)}, {least:.1f} of {len(mean)} methods. On {n_shown} of "
        f"{len(rows)} data sets the best method is shown to be better than standardised k-NN."
    )
    return html.ReportTable("Verdict", columns, rows, notes=(said,))


def dataset_table(
    problem: problems.Problem, results: Sequence[scores.Result], curvature: CurvatureEstimate | None
) -> html.ReportTable:
    rows = []
    better = [r["title"] for r in results if r["is_better_than_knn"]]
    is_class = problem.task == "class"
    for result in results:
        bold = "**" if result["is_better_than_knn"] else ""
        row = [f"{bold}{result['title']}{bold}", f"{bold}{scores.accuracy_text(result)}{bold}"]
        if is_class:
            row.append(f"{result['log_loss']:.3f}")
        else:
            row += [f"{result['rmse']:.4g}", f"{result['mae']:.4g}"]
        row += [interval(result["over_knn"]), interval(result["over_flat"])]
        row += [f"{result['fit_seconds']:.2f}", f"{result['predict_seconds']:.3f}"]
        row.append(curvature_text(result))
        if is_class:
            row.append("" if result["alpha"] is None else f"{result['alpha']:.2f}")
        rows.append(row)
    best, equal = best_of(results)
    holders = _named([best["title"], *equal])
    shown = f"{', '.join(better) or 'no method'} {'are' if len(better) > 1 else 'is'}"
    notes = [
        f"{problem.name}: the highest mean is {best[scores.score_name(best)]:.3f}, of {holders}; "
        f"{shown} shown to be better than standardised k-NN.",
        *problem.notes,
    ]
    if curvature is not None:
        notes.append(f"Curvature of {curvature.n_rows} rows: {curvature.sentence}.")
    title = f"{problem.name}: {problem.describe()}"
    columns = ("method", "R² ± s.e.", "RMSE", "MAE", *GAINS)
    if is_class:
        columns = ("method", "accuracy ± s.e.", "log loss", *GAINS, "α")
    return html.ReportTable(title, columns, rows, notes=tuple(notes))


def interval(difference: dict[str, float | None] | None) -> str:
    if difference is None:
        return ""
    values = (difference[name] for name in ("difference", "low", "high"))
    mean, *ends = (f"{v:+.3f}".replace("-", "\N{MINUS SIGN}") for v in values if v is not None)
    return f"{mean} [{', '.join(ends)}]" if ends else mean


def curvature_text(result: scores.Result) -> str:
    if (learned := result["learned"]) is None:
        return ""
    K = ", ".join(shapes.number(K, 3) for K in learned["curvatures"])
    n = len(result["outcomes"])
    return K if learned["n_splits"] == n else f"{K} ({learned['n_splits']} of {n})"


def fit_notes(results: Sequence[scores.Result]) -> str:
    titles: dict[str, dict[str, None]] = {}
    for result in results:
        for outcome in result["outcomes"]:
            for note in outcome["notes"]:
                titles.setdefault(note, {})[result["title"]] = None
    return html.bullets([f"{', '.join(some)}: {note}" for note, some in titles.items()])


LEAST_GROUP = 5  # test rows below which a group says nothing of calibration
WIDTH = 5.6  # of a picture, in inches: on a telephone its text can still be read


def dataset_pictures(
    problem: problems.Problem, results: Sequence[scores.Result], curvature: Any, k: int | None
) -> str:
    """Return the pictures of a data set: scores, and what neighbours learned from its rows."""
    is_class = problem.task == "class"
    if is_class:
        score, name, loss = "Accuracy", "Log loss", "log_loss"
    else:
        score, name, loss = "R²", "RMSE", "rmse"
    encoder, X = encoded(problem)
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:800])  # more hide each other
    X = X[rows]
    y = problem.classes[problem.y[rows]] if is_class else problem.y[rows]
    some = "all rows" if len(rows) == len(problem.y) else f"{len(rows)} rows, drawn at random,"
    with warnings.catch_warnings():  # the notes already have the warnings
        warnings.simplefilter("ignore")
        model = methods.METHODS["neighbors"].make(problem.task, k).fit(X, y)
    shares = model.metric_.feature_weights(X)
    names: Any = problem.column_names or [f"column {j + 1}" for j in range(len(shares))]
    if encoder is not None:
        names, shares = encoder.by_column(shares)
    weights = plotting.FeatureWeightsDisplay(weights=shares, names=list(names))
    most = int(weights.weights.argmax())
    height = 0.9 + 0.27 * len(results)
    pictures = [
        show(f"{score} on {problem.name} by method.", height, draw_score_chart, results),
        show(f"{name} on {problem.name} by method.", height, draw_losses, results, loss, name),
    ]
    if is_class:
        said = (
            f"{problem.name}: how often a prediction is right, by the probability that the method "
            f"gives it. On the dashed line probabilities are calibrated; below it the method is "
            f"too confident, above it too cautious. Larger dots are more test rows; groups of "
            f"fewer than {LEAST_GROUP} are left out."
        )
        drawn = reliability_figure(results)
    else:
        said = f"Predictions of neighbours for {some} of {problem.name}, each row left out."
        drawn = shapes.residuals_figure(y, model.predict(None))
    pictures.append(html.figure_html(drawn, said))
    if curvature is not None:
        said = (
            f"How curved {problem.name} is: {curvature.sentence}. The likelihood over K of one "
            f"process; the band is its 95 % interval, the vertical line flat space."
        )
        shown = plotting.CurvatureDisplay.from_estimate(curvature)
        pictures.append(show(said, 4.2, shown.plot))
    if is_class and X.shape[1] > 1:  # a plane needs two columns
        legend = len(problem.classes) <= 12
        metric = plotting.MetricDisplay.from_estimator(model, X, y)
        display = plotting.DecisionBoundaryDisplay
        regions = display.from_estimator(model, X, y, resolution=100)
        said = (
            f"The metric that neighbours learned from {some} of {problem.name}, on the principal "
            f"plane of its own coordinates. All balls have the same radius: where they look small, "
            f"distances are long."
        )
        pictures.append(show(said, 4.4, metric.plot, legend=legend))
        said = (
            "Predictions of neighbours on the principal plane of the standardised columns. Rows "
            "are projected to that plane, so some are on the colour of another class."
        )
        pictures.append(show(said, 4.4, regions.plot, legend=legend))
    said = (
        f"Share of each column in the squared distances of the metric that neighbours learned "
        f"from {some}; the largest is that of {weights.names[most]}, {weights.weights[most]:.0%}."
    )
    pictures.append(show(said, 4.4, weights.plot, top=15))
    return f'<div class="pictures">{"".join(pictures)}</div>'


def show(caption: str, height: float, draw: Any, *given: Any, **options: Any) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    draw(*given, ax=figure.add_subplot(), **options)
    return html.figure_html(figure, caption)


def draw_score_chart(results: Sequence[scores.Result], ax: Any) -> None:
    measure = scores.score_name(results[0])
    ax.axvline(results[0][measure], color="0.4", linestyle="--", linewidth=1, zorder=0)
    for row, result in enumerate(results):
        found = [outcome[measure] for outcome in result["outcomes"]]
        color = "black"
        inside = "white"
        if result["is_better_than_knn"]:
            color = inside = shapes.BLUE
        ax.plot(found, [row] * len(found), "o", color="0.7", markersize=4)
        mean = result[measure]
        error = result["standard_error"]
        ax.errorbar(mean, row, xerr=error, fmt="o", color=color, markerfacecolor=inside)
    ax.set(yticks=range(len(results)), yticklabels=[result["title"] for result in results])
    ax.set(xlabel="R²" if measure == "r2" else measure, ylim=(len(results) - 0.5, -0.5))
    ax.grid(axis="x", color="0.9")


def draw_losses(results: Sequence[scores.Result], loss: str, name: str, ax: Any) -> None:
    titles = [result["title"] for result in results]
    losses = [result[loss] for result in results]
    bars = ax.barh(titles, losses, color=shapes.BLUE)
    ax.bar_label(bars, fmt="%.3g", padding=3)
    ax.set(xlabel=f"{name.replace('Log', 'log')} (less is better)", ylim=(len(results) - 0.5, -0.5))
    ax.margins(x=0.2)


def reliability_figure(results: Sequence[scores.Result]) -> Any:
    from matplotlib.figure import Figure

    n_columns = 3
    n_rows = math.ceil(len(results) / n_columns)
    figure = Figure(figsize=(WIDTH, 0.5 + 1.9 * n_rows), layout="constrained")
    grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    panels = grid.ravel()
    for ax, result in zip(panels, results, strict=False):
        sums = np.sum([o["calibration"] for o in result["outcomes"]], axis=0)
        n, confidence, accuracy = sums[sums[:, 0] >= LEAST_GROUP].T
        confidence = confidence / n
        accuracy = accuracy / n
        ax.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1)
        ax.plot(confidence, accuracy, color=shapes.BLUE, linewidth=1)
        ax.scatter(confidence, accuracy, 5 + 60 * n / n.sum(), color=shapes.BLUE, zorder=3)
        ax.set_title(result["title"], fontsize="medium")
        ax.set(xlim=(0, 1.04), ylim=(0, 1.04), yticks=(0, 0.5, 1), aspect="equal")
        ax.set_xticks((0, 0.5, 1), ("0", "0.5", "1"))
        ax.tick_params(labelbottom=True)  # also above a missing panel
    for ax in panels[len(results) :]:
        ax.set_axis_off()
    figure.supxlabel("confidence: probability of the predicted class", fontsize="medium")
    figure.supylabel("accuracy", fontsize="medium")
    return figure
