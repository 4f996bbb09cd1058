"""Fits in separate processes, which do not slow other visitors and can be ended."""

import multiprocessing
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.app._draw import Shape, class_look, counted
from cayleyklein.app._state import PlaneState
from cayleyklein.app._tables import SHOWN, PreparedTable
from cayleyklein.exceptions import CayleyKleinError, NotRepresentableError
from cayleyklein.learning import Progress
from cayleyklein.metrics.combined import Metric
from cayleyklein.metrics.curved import CurvedMetric, standard_factor
from cayleyklein.plotting import sections
from cayleyklein.prediction import CurvedKNeighborsClassifier
from cayleyklein.tables import TableClassifier, save_model

TEST_PART = 0.3
PAGE_SEED = 0  # of the split and of the learner, so that the code shown gives the numbers shown
PANEL_NAMES = {"before": "Plain k-NN", "flat": "Flat LMNN", "curved": "The curved metric"}
CHOOSING = {  # messages before the fit that is shown
    "auto": "Comparing a product with plain neighbours on held-out training rows…",
    "mixed": "Choosing the shares of the two parts on held-out training rows…",
}
WATCHED = 200  # test rows on which the accuracy of an iteration is measured; the last one has all
GRID, FINER = 81, 5  # points of a picture along each axis; finer by this where classes meet
NEIGHBORS_SHOWN, MOST_DRAWN, OPENED = 5, 800, 300  # of a row; rows of a picture, and in the plane
SCORES_SHOWN = ("log loss", "accuracy")
LONGEST = 300.0  # seconds after which a fit is ended


class FitTask(NamedTuple):
    table: PreparedTable
    geometry: str
    n_neighbors: int | str


class News(NamedTuple):
    """Messages of a fit to the page: texts and pictures by their place, and the other parts."""

    texts: dict[str, str]
    steps: tuple[list[Any], ...] = ()  # series, relative loss, K, accuracy; None lifts the pen
    pictures: dict[str, Any] | None = None
    results: dict[str, Any] | None = None
    model: bytes | None = None
    notes: tuple[str, ...] = ()
    ended: bool = False


def ending(text: str, **more: Any) -> News:
    return News({"state": text}, ended=True, **more)


Tell = Callable[[News], None]
Work = Callable[[FitTask, Tell], None]


class FitProcess:
    def __init__(self, work: Work, task: FitTask, slots: threading.Semaphore) -> None:
        self._given, self._slots = (work, task), slots
        self.process: Any = None

    def poll(self) -> list[News]:
        """Return the news since the last call; start the fit when its turn comes."""
        if self.process is None:
            if not self._slots.acquire(blocking=False):
                return []
            context = _context()
            self._inbox, outbox = context.Pipe(duplex=False)
            self.process = context.Process(target=_work, args=(*self._given, outbox), daemon=True)
            self.process.start()
            outbox.close()  # so that its end is seen here when the process ends
            self._begun = time.monotonic()
            return [News({"state": "Fitting…"})]
        alive, found = self.process.is_alive(), []
        with suppress(EOFError, OSError):
            while self._inbox.poll():
                found.append(self._inbox.recv())
        if not found and not alive:
            return [ending("The fit ended without a result.")]
        if time.monotonic() - self._begun > LONGEST:
            found.append(ending(f"The fit took more than {LONGEST:g} seconds and was ended."))
        return found

    def end(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.join(timeout=1.0)
            self._inbox.close()
            self._slots.release()


def warm_up() -> None:
    """Have the process that fits are forked from import the library; this one does nothing."""
    _context().Process(daemon=True).start()


def run_apart(seconds: float, function: Callable[..., Any], *given: Any) -> Any:
    """Return what a function returns in a process of its own, which is ended after some time."""
    inbox, outbox = _context().Pipe(duplex=False)
    process = _context().Process(target=_hand_back, args=(outbox, function, *given), daemon=True)
    process.start()
    outbox.close()
    try:
        found = inbox.recv() if inbox.poll(seconds) else TimeoutError()
    except EOFError:
        found = TimeoutError()
    finally:
        process.terminate()
        process.join(timeout=1.0)
        inbox.close()
    if isinstance(found, Exception):
        raise found
    return found


def _hand_back(outbox: Any, function: Callable[..., Any], *given: Any) -> None:
    try:
        outbox.send(function(*given))
    except (CayleyKleinError, MemoryError) as error:
        outbox.send(error)


def _context() -> Any:
    """Return how processes are made: from a clean one that has the library ready, if possible."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["cayleyklein.app._fitting"])
        return context
    return multiprocessing.get_context("spawn")


def _work(work: Work, task: FitTask, outbox: Any) -> None:
    with suppress(BrokenPipeError):  # the visitor has left
        try:
            work(task, outbox.send)
        except (CayleyKleinError, ValueError, ArithmeticError, MemoryError) as error:
            outbox.send(ending(f"{error}"))
        finally:
            outbox.close()


class RowPictures:
    def __init__(self, table: PreparedTable) -> None:
        X, self.y, columns = table.X, table.y, table.columns
        ruler, flat = CurvedMetric(factor=standard_factor(X)), X.shape[1] == 2
        self.section = sections.choose_section(ruler, X, (0, 1) if flat else "pca", columns)
        self.axes = columns if flat else ("first principal component", "second")
        self.shown = self.section.project(X)
        low, high = self.shown.min(axis=0), self.shown.max(axis=0)
        room = 0.05 * np.maximum(high - low, 1e-12)
        self.box = np.stack([low - room, high + room])
        self.drawn = np.sort(np.random.default_rng(PAGE_SEED).permutation(len(X))[:MOST_DRAWN])
        self.is_test = np.zeros(len(X), dtype=bool)
        with suppress(ValueError):  # so few rows that a class is in one part only
            self.is_test[train_and_test(self.y)[1]] = True

    def picture(self, under: list[dict[str, Any]], wrong: Bools | None = None) -> dict[str, Any]:
        x, labels, test = self.shown[self.drawn], self.y[self.drawn], self.is_test[self.drawn]
        shapes = []
        for label in np.unique(labels).tolist():
            mine, (hue, marker, _) = labels == label, class_look(label)
            shapes.append(Shape("marks", x[mine & ~test], hue, 3.4, marker=marker))
            ring = Shape("marks", x[mine & test], "paper", 4.0, marker=marker, edge_width=1.6)
            shapes.append(ring._replace(edge=hue))
        if wrong is not None:
            shapes.append(Shape("marks", x[wrong[self.drawn]], "", 8.0, edge="ink", edge_width=1.6))
        drawn = [shape._asdict() for shape in shapes if len(shape.xy)]
        about = {"axes": [name[:SHOWN] for name in self.axes], "rows": self.drawn.tolist()}
        return about | {"window": self.box.ravel().tolist(), "shapes": under + drawn, "points": x}


def make_model(task: FitTask, tell: Tell) -> None:
    table = task.table
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        model = TableClassifier(task.n_neighbors, geometry=task.geometry, random_state=PAGE_SEED)
        model.fit(table.rows, table.labels)
        model.target_ = table.target
        path = Path(folder) / "model.ckm"
        save_model(model, path)
        about = f"learned from {counted(len(table.rows), 'row')}, {_describe(model.metric_)}"
        tell(ending(f"The model is saved: {about}.", model=path.read_bytes()))


def fit_and_compare(task: FitTask, tell: Tell) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bench = _Bench(task, tell)
        plain = CurvedMetric(factor=standard_factor(bench.X_train))
        bench.show("before", bench.fit(metric=plain), "plain k-NN, standardised columns")
        bench.learn("flat", "flat")
        bench.learn("curved", task.geometry)
    told = [w for w in caught if not issubclass(w.category, DeprecationWarning)]
    tell(ending("Done.", notes=tuple(dict.fromkeys(str(w.message) for w in told))))


class _Bench:
    def __init__(self, task: FitTask, tell: Tell) -> None:
        self.task, self.tell, self.X, y = task, tell, task.table.X, task.table.y
        self.train, self.test = train_and_test(y)
        self.X_train, self.y_train = self.X[self.train], y[self.train]
        self.X_test, self.y_test = self.X[self.test], y[self.test]
        self.rows = RowPictures(task.table)
        pick = np.random.default_rng(PAGE_SEED).permutation(len(self.X_test))[:WATCHED]
        self.watched = self.X_test[pick], self.y_test[pick]
        self._first_loss: dict[str, float] = {}
        self._last: dict[str, int] = {}

    def learn(self, place: str, geometry: str) -> None:
        def report(progress: Progress) -> None:
            name, K = progress.part.split(",")[0], progress.metric.curvature
            accuracy = None
            with suppress(
                CayleyKleinError
            ):  # an iterate may leave training rows outside its domain
                accuracy = self.fit(metric=progress.metric).score(*self.watched)
            steps: list[list[Any]] = []
            if progress.iteration <= self._last.get(name, -1):  # another part, or fit
                self._first_loss.pop(name)
                steps.append([name, None, None, None])
            self._last[name] = progress.iteration
            relative = progress.loss / self._first_loss.setdefault(name, progress.loss or 1.0)
            steps.append([name, relative, K, accuracy])
            said = "not measured" if accuracy is None else f"{accuracy:.1%}"
            live = f"{progress.part}, pass {progress.n_pass}, iteration {progress.iteration}: "
            live += f"loss {progress.loss:.4g}, K = {K:.3g}, accuracy {said}"
            self.tell(News({"live": live, "state": "Fitting…"}, tuple(steps)))

        if geometry in CHOOSING:
            self.tell(News({"state": CHOOSING[geometry]}))
        model = self.fit(geometry=geometry, random_state=PAGE_SEED, callback=report)
        summary, choice = _describe(model.metric_), model.selection_
        assert choice is not None
        if choice.trials:
            summary += f". Chosen: {choice.chosen}, by {choice.reason}"
        self.show(place, model, summary, choice.trials)

    def fit(self, **given: Any) -> CurvedKNeighborsClassifier:
        model = CurvedKNeighborsClassifier(self.task.n_neighbors, **given)
        return model.fit(self.X_train, self.y_train)

    def show(self, place: str, model: Any, summary: str, trials: Sequence[Any] = ()) -> None:
        rows, table, metric = self.rows, self.task.table, model.metric_
        said = model.predict(self.X_test)
        wrong = np.zeros(len(self.X), dtype=bool)
        wrong[self.test] = said != self.y_test
        near, distances = self._neighbors(model, rows.drawn)
        lines, planes = self._on_the_plane(metric)
        picture = rows.picture([self._regions(model), *lines], wrong)
        picture |= {"neighbors": near.tolist(), "distances": distances}
        picture |= {"places": rows.shown[near.ravel()], "wrong": wrong[rows.drawn]}
        weights = zip(table.columns, metric.feature_weights(self.X_train).tolist(), strict=True)
        counts = confusion_matrix(self.y_test, said, labels=np.unique(table.y)).tolist()
        caption = f"{PANEL_NAMES[place]} on test rows"
        results = {
            "confusion": {"caption": caption, "names": table.classes, "counts": counts},
            "weights": sorted(weights, key=lambda pair: -pair[1]),
            "trials": [(t.name, t.n_neighbors, *map(t.scores.get, SCORES_SHOWN)) for t in trials],
            "planes": planes,
        }
        right, k = np.mean(said == self.y_test), int(model.n_neighbors_)
        votes = f"{counted(k, 'neighbour')} {'votes' if k == 1 else 'vote'}"
        about = f"{right:.1%} of test rows right; {votes}; {summary}"
        self.tell(News({f"about-{place}": about}, pictures={place: picture}, results=results))

    def _regions(self, model: CurvedKNeighborsClassifier) -> dict[str, Any]:
        size = FINER * (GRID - 1) + 1
        low, high = self.rows.box
        grid = np.stack(np.meshgrid(*np.linspace(low, high, size).T), axis=-1)
        coarse = self._predict(model, grid[::FINER, ::FINER])
        corners = np.stack([coarse[:-1, :-1], coarse[1:, :-1], coarse[:-1, 1:], coarse[1:, 1:]])
        square = np.minimum(np.arange(size) // FINER, GRID - 2)
        meets = (corners != corners[0]).any(axis=0)[square[:, None], square]
        codes = corners[0][square[:, None], square]
        codes[meets] = self._predict(model, grid[meets])
        box = self.rows.box.ravel().tolist()
        return {"kind": "raster", "codes": codes, "size": [size, size], "box": box}

    def _predict(self, model: CurvedKNeighborsClassifier, spots: Floats) -> Ints:
        X = self.rows.section.embed(spots.reshape(-1, 2))
        inside = np.asarray(model.metric_.contains(X))
        codes = np.full(len(X), -1, dtype=np.intp)
        if inside.any():
            codes[inside] = model.predict(X[inside])
        return codes.reshape(spots.shape[:-1])

    def _neighbors(self, model: CurvedKNeighborsClassifier, rows: Ints) -> tuple[Ints, Floats]:
        k = min(NEIGHBORS_SHOWN, len(self.train) - 1)
        found, far = np.full((len(rows), k), -1, dtype=np.intp), np.full((len(rows), k), np.nan)
        inside = np.asarray(model.metric_.contains(self.X[rows]))
        if not inside.any():
            return found, far
        distances, nearest = model.kneighbors(self.X[rows[inside]], n_neighbors=k + 1)
        nearest = self.train[nearest]
        other = nearest != rows[inside, None]
        # the row itself is among its neighbours where it is a training row
        keep = other & (np.cumsum(other, axis=1) <= k)
        found[inside], far[inside] = (a[keep].reshape(-1, k) for a in (nearest, distances))
        return found, far

    def _on_the_plane(self, metric: Metric) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
        lines, planes, shown = [], [], self.rows.shown
        pick = np.random.default_rng(PAGE_SEED).permutation(len(shown))[:OPENED]
        angle = np.linspace(0, 2 * np.pi, 257)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        for part in _parts(metric):
            try:
                here: Any = self.rows.section.restrict(part)
            except NotRepresentableError:  # it has no section on this plane
                continue
            size = np.median(np.linalg.norm(here.coordinates(shown), axis=1))
            lines.append(Shape("line", here.points(size * circle), "soft", 1.4, (6, 4)))
            if here.domain is not None:
                lines.append(Shape("line", here.domain.from_euclidean(circle), "ink", 2.4))
            state, exact = PlaneState.of_rows(here, shown[pick], self.rows.y[pick])
            planes.append((_describe(part) + ("" if exact else " (about)"), state.query))
        return [line._asdict() for line in lines], planes


def train_and_test(y: Ints) -> list[Ints]:
    options = {"test_size": TEST_PART, "stratify": y, "random_state": PAGE_SEED}
    return list(train_test_split(np.arange(len(y)), **options))


def _describe(metric: Metric) -> str:
    return f"{metric.geometry}, K = {', '.join(f'{m.curvature:.3g}' for m in _parts(metric))}"


def _parts(metric: Any) -> Sequence[CurvedMetric]:
    return [metric] if isinstance(metric, CurvedMetric) else metric.metrics
