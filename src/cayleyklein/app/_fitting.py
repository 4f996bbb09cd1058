"""Fitting: what a worker does with one visitor's task, told step by step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.learning import CurvedKNeighborsClassifier, CurvedLMNN, Progress
from cayleyklein.metrics import CurvedMetric, Metric, MixedMetric, standard_factor
from cayleyklein.plotting import DecisionBoundaryDisplay, Samples

__all__ = ["Choosing", "Finished", "Panel", "Step", "Task", "carry_out"]

Array = NDArray[np.float64]

TEST_PART = 0.3
SEED = 0
"""Of the split and of the learner, so that the code shown gives the numbers shown."""

CHOOSING = {
    "auto": "Comparing a product with plain neighbours on held-out rows",
    "mixed": "Choosing the shares of the two parts on held-out rows",
}
"""What is done before the fit that is shown."""

WATCHED = 200
"""Held-out rows on which the accuracy of an iteration is measured; the last one has all."""

GRID, MIXED_GRID = 110, 70
"""Points of a picture along each axis; a mixed metric has no lift and takes longer."""


class Task(NamedTuple):
    """Labelled rows, and what to learn from them."""

    X: Array
    y: NDArray[np.intp]
    geometry: str
    n_neighbors: int | str
    max_iter: int | str


class Step(NamedTuple):
    """One iteration of a fit; `part` names the metric being learned, `series` its geometry."""

    part: str
    series: str
    n_pass: int
    iteration: int
    loss: float
    curvature: float
    accuracy: float


class Choosing(NamedTuple):
    """The choice on held-out rows before the fit itself."""

    text: str


class Panel(NamedTuple):
    """The decision regions of a classifier on a plane, and how well it does on held-out rows."""

    place: str
    x: Array
    y: Array
    codes: NDArray[np.int8]
    rows: Array
    summary: str
    accuracy: float
    confusion: NDArray[np.intp]


class Finished(NamedTuple):
    """The end of a task, with what there is to say about it."""

    notes: tuple[str, ...]
    stopped: bool


Tell = Callable[[Any], None]


def carry_out(task: Task, tell: Tell, stopped: Callable[[], bool]) -> None:
    """Fit plain neighbours, flat LMNN and the geometry asked for; tell each step and result.

    Parameters
    ----------
    task : Task
    tell : callable
        Told a :class:`Choosing` where held-out rows are asked first, a :class:`Step` each
        iteration, a :class:`Panel` for each classifier, and :class:`Finished` at the end.
    stopped : callable
        Asked at each iteration whether to stop.
    """
    bench = _Bench(task, tell, stopped)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plain = CurvedMetric(factor=standard_factor(bench.X_train))
        bench.show("before", bench.fit(metric=plain), "plain k-NN, standardised columns")
        bench.learn("flat", "flat")
        if not stopped():
            bench.learn("curved", task.geometry)
    notes = dict.fromkeys(
        str(w.message) for w in caught if not issubclass(w.category, DeprecationWarning)
    )
    tell(Finished(tuple(notes), stopped()))


def split(X: Array, y: NDArray[np.intp]) -> list[Any]:
    """Return X_train, X_test, y_train, y_test, with each class in both."""
    parts: list[Any] = train_test_split(X, y, test_size=TEST_PART, stratify=y, random_state=SEED)
    return parts


class _Bench:
    """The rows of a task, and what is done with each classifier."""

    def __init__(self, task: Task, tell: Tell, stopped: Callable[[], bool]) -> None:
        self.task, self.tell, self.stopped = task, tell, stopped
        self.X_train, self.X_test, self.y_train, self.y_test = split(task.X, task.y)
        pick = np.random.default_rng(SEED).permutation(len(self.X_test))[:WATCHED]
        self.watched = self.X_test[pick], self.y_test[pick]

    def learn(self, place: str, geometry: str) -> None:
        """Learn a metric, tell each iteration, and show the result."""

        def report(progress: Progress) -> bool:
            metric = progress.metric
            self.tell(
                Step(
                    progress.part,
                    progress.part.split(",")[0],
                    progress.n_pass,
                    progress.iteration,
                    progress.loss,
                    metric.curvature,
                    self._accuracy(metric),
                )
            )
            return self.stopped()

        if geometry in CHOOSING:
            self.tell(Choosing(CHOOSING[geometry]))
        learner = CurvedLMNN(
            geometry=geometry, max_iter=self.task.max_iter, random_state=SEED, callback=report
        )
        learner.fit(self.X_train, self.y_train)
        summary, choice = _describe(learner.metric_), learner.selection_
        if choice.trials:
            summary += f". Chosen: {choice.chosen}, by {choice.reason}"
        self.show(place, self.fit(learner=learner), summary)

    def _accuracy(self, metric: CurvedMetric) -> float:
        try:
            return self.fit(metric=metric).score(*self.watched)
        except CayleyKleinError:  # an iterate may leave training rows outside its domain
            return float("nan")

    def fit(self, **given: Any) -> CurvedKNeighborsClassifier:
        """Return the classifier by a metric, or by a fitted learner."""
        model = CurvedKNeighborsClassifier(self.task.n_neighbors, **given)
        return model.fit(self.X_train, self.y_train)

    def show(self, place: str, model: CurvedKNeighborsClassifier, summary: str) -> None:
        """Tell the regions, the accuracy and the confusion matrix of a classifier."""
        X = self.task.X
        said = model.predict(self.X_test)
        display = DecisionBoundaryDisplay.from_estimator(
            model,
            X,
            features=(0, 1) if X.shape[1] == 2 else "pca",
            resolution=MIXED_GRID if isinstance(model.metric_, MixedMetric) else GRID,
        )
        samples = display.regions
        assert isinstance(samples, Samples)
        assert display.X is not None
        self.tell(
            Panel(
                place,
                samples.x,
                samples.y,
                samples.codes.astype(np.int8),
                display.X,
                f"{model.n_neighbors_} neighbours vote; {summary}",
                float(np.mean(said == self.y_test)),
                confusion_matrix(self.y_test, said, labels=np.unique(self.task.y)),
            )
        )


def _describe(metric: Metric) -> str:
    """Name the geometry and the curvatures of a metric.

    >>> _describe(CurvedMetric.euclidean(2, curvature=0.5))
    'elliptic, K = 0.5'
    """
    if isinstance(metric, CurvedMetric):
        return f"{metric.geometry}, K = {metric.curvature:.3g}"
    joined = " + " if isinstance(metric, MixedMetric) else " × "
    parts = joined.join(f"{m.geometry} (K = {m.curvature:.3g})" for m in metric.metrics)
    return f"{metric.geometry}: {parts}"
