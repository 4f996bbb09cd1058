"""Fitting: what a worker process does with one visitor's task, told step by step."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.app._draw import Shape, class_color, class_marker
from cayleyklein.app._state import PlaneState
from cayleyklein.exceptions import CayleyKleinError, NotRepresentableError
from cayleyklein.learning import CurvedKNeighborsClassifier, CurvedLMNN, Progress
from cayleyklein.metrics import CurvedMetric, Metric, MixedMetric, standard_factor
from cayleyklein.plotting import choose_section
from cayleyklein.tables import TableClassifier, save_model

TEST_PART = 0.3
SEED = 0
"""Seed of the split and of the learner, so that the code shown gives the numbers shown."""

CHOOSING = {
    "auto": "Comparing a product with plain neighbours on held-out training rows",
    "mixed": "Choosing the shares of the two parts on held-out training rows",
}
"""What is done before the fit that is shown."""

WATCHED = 200
"""Test rows on which the accuracy of an iteration is measured; the last one has all."""

GRID, FINER, MIXED_FINER = 81, 5, 2
"""Points of a picture along each axis, and how many times finer it is where classes meet."""

NEIGHBORS = 5
"""Neighbours of a row that the page shows."""

OPENED, MOST_DRAWN = 300, 800
"""Most rows that are taken along to the plane, and that a picture shows."""

MOST_LETTERS = 40
"""Letters of a name that is shown."""


class Task(NamedTuple):
    """Labelled rows, and what to learn from them."""

    X: Floats
    y: Ints
    columns: tuple[str, ...]
    geometry: str
    n_neighbors: int | str


class ModelTask(NamedTuple):
    """A table as it was read, for a model file as the command makes it."""

    rows: Any
    labels: AnyArray
    target: str
    geometry: str
    n_neighbors: int | str


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
    """The choice on held-out training rows before the fit itself."""

    text: str


class Panel(NamedTuple):
    """A classifier: what is said of it, its picture, and its results on test rows."""

    place: str
    summary: str
    accuracy: float
    picture: dict[str, Any]
    results: dict[str, Any]


class Finished(NamedTuple):
    """The end of a task, with warnings that were given."""

    notes: tuple[str, ...]
    stopped: bool


class Model(NamedTuple):
    """A model file, and a line about it."""

    content: bytes
    summary: str


Tell = Callable[[Any], None]


class Rows:
    """The rows of a table on the plane of the pictures: two columns, or the principal plane."""

    def __init__(self, X: Floats, y: Ints, columns: tuple[str, ...]) -> None:
        self.X, self.y = X, y
        ruler, flat = CurvedMetric(factor=standard_factor(X)), X.shape[1] == 2
        self.section = choose_section(ruler, X, (0, 1) if flat else "pca", columns)
        self.axes = columns if flat else ("first principal component", "second")
        self.shown = self.section.project(X)
        low, high = self.shown.min(axis=0), self.shown.max(axis=0)
        room = 0.05 * np.maximum(high - low, 1e-12)
        self.box = np.stack([low - room, high + room])
        self.drawn = np.sort(np.random.default_rng(SEED).permutation(len(y))[:MOST_DRAWN])
        self.is_test = np.zeros(len(y), dtype=bool)
        with suppress(ValueError):  # so few rows that a class is in one part only
            self.is_test[split_rows(y)[1]] = True

    def picture(self, under: list[dict[str, Any]], wrong: Bools | None = None) -> dict[str, Any]:
        """Draw the rows over shapes: training rows filled, test rows open, wrong ones ringed."""
        x, labels, test = self.shown[self.drawn], self.y[self.drawn], self.is_test[self.drawn]
        shapes = []
        for label in np.unique(labels).tolist():
            mine, hue, marker = labels == label, class_color(label), class_marker(label)
            shapes.append(Shape("marks", x[mine & ~test], hue, 3.4, marker=marker))
            open_ = Shape(
                "marks", x[mine & test], "paper", 4.0, marker=marker, edge=hue, edge_width=1.6
            )
            shapes.append(open_)
        if wrong is not None:
            shapes.append(Shape("marks", x[wrong[self.drawn]], "", 8.0, edge="ink", edge_width=1.6))
        return {
            "window": self.box.ravel().tolist(),
            "axes": [name[:MOST_LETTERS] for name in self.axes],
            "shapes": under + [shape._asdict() for shape in shapes if len(shape.xy)],
            "points": x,
            "rows": self.drawn.tolist(),
        }


def carry_out(task: Task | ModelTask, tell: Tell, stopped: Callable[[], bool]) -> None:
    """Fit plain neighbours, flat LMNN and the geometry asked for; tell each step and result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if isinstance(task, ModelTask):
            tell(_make_model(task, stopped))
            return
        bench = _Bench(task, tell, stopped)
        plain = CurvedMetric(factor=standard_factor(bench.X_train))
        bench.show("before", bench.fit(metric=plain), "plain k-NN, standardised columns")
        bench.learn("flat", "flat")
        if not stopped():
            bench.learn("curved", task.geometry)
    notes = dict.fromkeys(
        str(w.message) for w in caught if not issubclass(w.category, DeprecationWarning)
    )
    tell(Finished(tuple(notes), stopped()))


def _make_model(task: ModelTask, stopped: Callable[[], bool]) -> Model:
    """Learn from all rows as `cayleyklein fit` does, and return the file."""
    model = TableClassifier(
        task.n_neighbors,
        geometry=task.geometry,
        random_state=SEED,
        callback=lambda _progress: stopped(),
    ).fit(task.rows, task.labels)
    model.target_ = task.target
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.ckm"
        save_model(model, path)
        summary = f"learned from {len(task.rows)} rows, {_describe(model.metric_)}"
        return Model(path.read_bytes(), summary)


class _Bench:
    """The rows of a task, and what is done with each classifier."""

    def __init__(self, task: Task, tell: Tell, stopped: Callable[[], bool]) -> None:
        self.task, self.tell, self.stopped = task, tell, stopped
        self.train, self.test = split_rows(task.y)
        self.X_train, self.y_train = task.X[self.train], task.y[self.train]
        self.X_test, self.y_test = task.X[self.test], task.y[self.test]
        self.rows = Rows(task.X, task.y, task.columns)
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
        learner = CurvedLMNN(geometry=geometry, random_state=SEED, callback=report)
        learner.fit(self.X_train, self.y_train)
        summary, choice = _describe(learner.metric_), learner.selection_
        if choice.trials:
            summary += f". Chosen: {choice.chosen}, by {choice.reason}"
        trials = [
            (t.name, t.n_neighbors, t.scores["log loss"], t.scores["accuracy"])
            for t in choice.trials
        ]
        self.show(place, self.fit(learner=learner), summary, trials)

    def _accuracy(self, metric: CurvedMetric) -> float:
        try:
            return self.fit(metric=metric).score(*self.watched)
        except CayleyKleinError:  # an iterate may leave training rows outside its domain
            return float("nan")

    def fit(self, **given: Any) -> CurvedKNeighborsClassifier:
        """Return the classifier by a metric, or by a fitted learner."""
        model = CurvedKNeighborsClassifier(self.task.n_neighbors, **given)
        return model.fit(self.X_train, self.y_train)

    def show(
        self,
        place: str,
        model: CurvedKNeighborsClassifier,
        summary: str,
        trials: list[tuple[str, int, float, float]] | None = None,
    ) -> None:
        """Tell the regions, the neighbours and the accuracy of a classifier."""
        said, metric, rows = model.predict(self.X_test), model.metric_, self.rows
        wrong = np.zeros(len(self.task.y), dtype=bool)
        wrong[self.test] = said != self.y_test
        neighbors, distances = self._neighbors(model, rows.drawn)
        lines, planes = self._on_the_plane(metric)
        picture = rows.picture([self._regions(model), *lines], wrong) | {
            "neighbors": neighbors.tolist(),
            "distances": distances,
            "places": rows.shown[neighbors.ravel()],
            "wrong": wrong[rows.drawn],
        }
        weights = metric.feature_weights(self.X_train).tolist()
        named = zip(self.task.columns, weights, strict=True)
        results = {
            "confusion": confusion_matrix(
                self.y_test, said, labels=np.unique(self.task.y)
            ).tolist(),
            "weights": sorted(named, key=lambda pair: -pair[1]),
            "trials": trials or [],
            "planes": planes,
        }
        summary = f"{model.n_neighbors_} neighbours vote; {summary}"
        self.tell(Panel(place, summary, float(np.mean(said == self.y_test)), picture, results))

    def _regions(self, model: CurvedKNeighborsClassifier) -> dict[str, Any]:
        """Return the class on a fine grid, or -1; only squares with unlike corners are refined."""
        times = MIXED_FINER if isinstance(model.metric_, MixedMetric) else FINER

        def grid(n: int) -> Floats:
            low, high = self.rows.box
            return np.stack(np.meshgrid(*np.linspace(low, high, n).T), axis=-1)

        coarse = self._predict(model, grid(GRID).reshape(-1, 2)).reshape(GRID, GRID)
        corners = np.stack([coarse[:-1, :-1], coarse[1:, :-1], coarse[:-1, 1:], coarse[1:, 1:]])
        mixed = (corners != corners[0]).any(axis=0)
        fine = times * (GRID - 1) + 1
        square = np.minimum(np.arange(fine) // times, GRID - 2)
        codes, open_ = (a[square[:, None], square] for a in (coarse[:-1, :-1], mixed))
        codes[open_] = self._predict(model, grid(fine)[open_])
        box = self.rows.box.ravel().tolist()
        return {"kind": "raster", "codes": codes, "size": list(codes.shape), "box": box}

    def _predict(self, model: CurvedKNeighborsClassifier, spots: Floats) -> Ints:
        X = self.rows.section.embed(spots)
        inside = np.asarray(model.metric_.contains(X))
        codes = np.full(len(X), -1, dtype=np.intp)
        if inside.any():
            codes[inside] = model.predict(X[inside])
        return codes

    def _neighbors(self, model: CurvedKNeighborsClassifier, rows: Ints) -> tuple[Ints, Floats]:
        """Return the nearest training rows of rows, and their distances; -1 outside the domain."""
        k = min(NEIGHBORS, len(self.train) - 1)
        found, far = np.full((len(rows), k), -1, dtype=np.intp), np.full((len(rows), k), np.nan)
        inside = np.asarray(model.metric_.contains(self.task.X[rows]))
        if not inside.any():
            return found, far
        distances, nearest = model.kneighbors(self.task.X[rows[inside]], n_neighbors=k + 1)
        nearest = self.train[nearest]
        other = nearest != rows[inside, None]
        # the row itself is among its neighbours where it is a training row
        keep = other & (np.cumsum(other, axis=1) <= k)
        found[inside], far[inside] = (a[keep].reshape(-1, k) for a in (nearest, distances))
        return found, far

    def _on_the_plane(self, metric: Metric) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
        """Return the domains and a ball of the metric's parts, and their addresses in the plane."""
        lines, planes, shown = [], [], self.rows.shown
        angle = np.linspace(0, 2 * np.pi, 257)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        pick = np.random.default_rng(SEED).permutation(len(shown))[:OPENED]
        for part in [metric] if isinstance(metric, CurvedMetric) else metric.metrics:
            try:
                here: Any = self.rows.section.restrict(part)
            except NotRepresentableError:  # it has no section on this plane
                continue
            size = np.median(np.linalg.norm(here.coordinates(shown), axis=1))
            lines.append(Shape("line", here.points(size * circle), "soft", 1.4, (6, 4))._asdict())
            if here.domain is not None:
                rim = here.domain.from_euclidean(circle)
                lines.append(Shape("line", rim, "ink", 2.4)._asdict())
            state, exact = PlaneState.of_rows(here, shown[pick], self.task.y[pick])
            planes.append((_describe(part) + ("" if exact else " (about)"), state.to_query()))
        return lines, planes


def split_rows(y: Ints) -> tuple[Ints, Ints]:
    """Return the positions of the training and of the test rows, with each class in both."""
    train, test = train_test_split(
        np.arange(len(y)), test_size=TEST_PART, stratify=y, random_state=SEED
    )
    return train, test


def _describe(metric: Metric) -> str:
    """Name the geometry and the curvatures of a metric."""
    if isinstance(metric, CurvedMetric):
        return f"{metric.geometry}, K = {metric.curvature:.3g}"
    joined = " + " if isinstance(metric, MixedMetric) else " × "
    parts = joined.join(f"{m.geometry} (K = {m.curvature:.3g})" for m in metric.metrics)
    return f"{metric.geometry}: {parts}"
