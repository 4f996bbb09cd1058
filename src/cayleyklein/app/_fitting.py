"""Fits of the learning page: three panels of pictures and results, and models to save."""

import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve
from sklearn.model_selection import train_test_split

from cayleyklein import tables
from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.app import _state, _tables, _trust
from cayleyklein.curvature import estimate_curvature
from cayleyklein.exceptions import CayleyKleinError, NotRepresentableError
from cayleyklein.experiments import scores
from cayleyklein.learning import Progress
from cayleyklein.metrics import combined, curved
from cayleyklein.plotting import sections
from cayleyklein.plotting.shapes import Shape, chain, class_look, unit_circle
from cayleyklein.prediction import (
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
)

TEST_PART = 0.3
PAGE_SEED = 0  # of the split and of the learner, so that the code shown gives the numbers shown
PANEL_NAMES = {
    "before": "Plain k-NN, nothing learned",
    "flat": "Flat metric, learned",
    "curved": "Curved metric, learned",
}
PART_WORDS = {  # of the parts of a kernel model
    "metric": "kernel in the metric",
    "columns": "kernel in the columns",
    "ranks": "kernel in the ranks of columns",
    "neighbors": "votes in the metric",
    "plain": "plain votes",
    "rules": "rules of boosted trees",
}


class News(NamedTuple):
    """What a fit tells the page, with texts and pictures by their place."""

    texts: dict[str, str]
    steps: tuple[list[Any], ...] = ()  # series, relative loss, K, accuracy; None lifts the pen
    pictures: dict[str, Any] | None = None
    results: dict[str, Any] | None = None
    model: bytes | None = None
    predictor: Any = None
    notes: tuple[str, ...] = ()
    ended: bool = False


def ending(text: str, **more: Any) -> News:
    return News({"state": text}, ended=True, **more)


class FitTask(NamedTuple):
    table: _tables.PreparedTable
    geometry: str
    n_neighbors: int | str
    model: str = "neighbors"


def make_estimator(task: FitTask, **given: Any) -> Any:
    kind: Any
    if task.model == "kernel":
        kind = CurvedKernelRegressor if task.table.is_regression else CurvedKernelClassifier
    elif task.table.is_regression:
        kind = CurvedKNeighborsRegressor
    else:
        kind = CurvedKNeighborsClassifier
    return kind(n_neighbors=task.n_neighbors, **given)


class RowPictures:
    def __init__(self, table: _tables.PreparedTable) -> None:
        X = table.X
        self.y = table.y
        columns = table.columns
        ruler = curved.CurvedMetric(factor=curved.standard_factor(X))
        flat = X.shape[1] == 2
        self.section = sections.choose_section(ruler, X, (0, 1) if flat else "pca", columns)
        self.axes = columns if flat else ("first principal component", "second")
        self.shown = self.section.project(X)
        low, high = self.shown.min(axis=0), self.shown.max(axis=0)
        room = 0.05 * np.maximum(high - low, 1e-12)
        self.box = np.stack([low - room, high + room])
        self.drawn = np.sort(np.random.default_rng(PAGE_SEED).permutation(len(X))[:800])
        self.is_test = np.zeros(len(X), dtype=bool)
        with suppress(ValueError):  # too few rows: a class would be in one part only
            self.is_test[train_and_test(table)[1]] = True

    def picture(self, under: list[dict[str, Any]], wrong: Bools | None = None) -> dict[str, Any]:
        x = self.shown[self.drawn]
        labels = self.y[self.drawn]
        test = self.is_test[self.drawn]
        shapes = []
        for label in np.unique(labels).tolist():
            mine = labels == label
            hue, marker, _ = class_look(label)
            shapes.append(Shape("marks", x[mine & ~test], hue, 3.4, marker=marker))
            ring = Shape("marks", x[mine & test], "paper", 4.0, marker=marker, edge_width=1.6)
            shapes.append(ring._replace(edge=hue))
        if wrong is not None:
            shapes.append(Shape("marks", x[wrong[self.drawn]], "", 8.0, edge="ink", edge_width=1.6))
        drawn = [shape._asdict() for shape in shapes if len(shape.xy)]
        about = {"axes": [name[: _tables.SHOWN] for name in self.axes], "rows": self.drawn.tolist()}
        return about | {"window": self.box.ravel().tolist(), "shapes": under + drawn, "points": x}


def make_model(task: FitTask, tell: Any) -> None:
    table = task.table
    kind = tables.TableRegressor if table.is_regression else tables.TableClassifier
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        model: Any = kind(
            task.n_neighbors,
            model=task.model,
            geometry=task.geometry,
            kinds=table.kinds or None,
            random_state=PAGE_SEED,
        )
        model.fit(table.problem.X, table.labels)
        model.target_ = table.target
        path = Path(folder) / "model.ckm"
        tables.save_model(model, path)
        about = f"learned from {_state.plural(len(table.X), 'row')}, {_describe(model.metric_)}"
        tell(ending(f"The model is saved: {about}.", model=path.read_bytes()))


def explain_choice(choice: Any) -> str:
    """Say in a sentence why a candidate was chosen, even if another had the better score."""
    name = next(iter(choice.trials[0].scores))
    ranked = sorted(choice.trials, key=lambda trial: trial.scores[name], reverse=name == "R²")
    told = {t.name: f"{_in_words(t)} ({name} {t.scores[name]:.3f})" for t in ranked}
    start = f"{told.pop(choice.chosen)} was chosen on training rows held out for it"
    start = start[0].upper() + start[1:]
    if not told:
        return f"{start}."
    other = next(iter(told.values()))
    if ranked[0].name == choice.chosen:
        return f"{start}: it predicted them best, before {other}."
    said = "a difference as small as chance makes, and then the simpler one is taken"
    return f"{start}. The figure of {other} is better, but by {said}."


def sum_words(choice: Any) -> str:
    """Say in a sentence how the sum of all parts did beside the best part alone."""
    name = next(iter(choice.trials[0].scores))
    told = sorted(choice.trials, key=lambda trial: trial.scores[name], reverse=name == "R²")
    alone = next((trial for trial in told if trial.name != choice.chosen), None)
    (whole,) = (trial for trial in told if trial.name == choice.chosen)
    said = f"The answer is {_in_words(whole)} ({name} {whole.scores[name]:.3f})"
    if alone is None:
        return f"{said}."
    return f"{said}; the best of the others is {_in_words(alone)} ({alone.scores[name]:.3f})."


def fit_and_compare(task: FitTask, tell: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bench = _Bench(task, tell)
        plain = curved.CurvedMetric(factor=curved.standard_factor(bench.X_train))
        bench.show("before", PANEL_NAMES["before"], bench.vote(plain), "standardised columns")
        bench.learn("flat", "flat")
        bench.learn("curved", task.geometry)
        bench.judge()
    told = [w for w in caught if not issubclass(w.category, DeprecationWarning)]
    tell(ending("Done.", notes=tuple(dict.fromkeys(str(w.message) for w in told))))


class _Bench:
    def __init__(self, task: FitTask, tell: Any) -> None:
        self.task = task
        self.tell = tell
        self.X = task.table.X
        y = task.table.labels
        self.train, self.test = train_and_test(task.table)
        self.X_train, self.y_train = self.X[self.train], y[self.train]
        self.X_test, self.y_test = self.X[self.test], y[self.test]
        self.rows = RowPictures(task.table)
        # the accuracy of an iteration is that on some test rows; the last one has all
        pick = np.random.default_rng(PAGE_SEED).permutation(len(self.X_test))[:200]
        self.watched = self.X_test[pick], self.y_test[pick]
        self.good: dict[str, str] = {}  # how well each panel predicts, in words
        self._begun: dict[str, tuple[int, float]] = {}  # iteration and first loss of a series

    def vote(self, metric: combined.Metric) -> Any:
        votes = make_estimator(self.task._replace(model="neighbors"), metric=metric)
        return votes.fit(self.X_train, self.y_train)

    def learn(self, place: str, geometry: str) -> None:
        first = place == "flat"
        kernel = self.task.model == "kernel"
        step = "Step 2 of 3: " if first else "Step 3 of 3: "
        n_passes = 4
        # metrics that are learned one after the other
        n_parts = 1 if first else {"auto": 3, "product": 3, "mixed": 2}.get(geometry, 1)
        n_begun = 0
        wait = ""
        if kernel:
            wait = "Weighing kernel machines and votes on held-out training rows…"
        elif geometry == "auto":
            wait = "Comparing a product with plain neighbours on held-out training rows…"
        elif geometry == "mixed":
            wait = "Choosing the shares of the two parts on held-out training rows…"

        def report(progress: Progress) -> None:
            nonlocal n_begun
            name = progress.part.split(",")[0]
            K = progress.metric.curvature
            accuracy = None
            with suppress(CayleyKleinError):  # an iterate may leave rows outside its domain
                accuracy = self.vote(progress.metric).score(*self.watched)
            last, first_loss = self._begun.get(name, (-1, progress.loss or 1.0))
            again = progress.iteration <= last  # another part, or fit
            steps: list[list[Any]] = []
            if again:
                first_loss = progress.loss or 1.0
                steps.append([name, None, None, None])
            if again or not n_begun:
                n_begun += 1
            self._begun[name] = progress.iteration, first_loss
            steps.append([name, progress.loss / first_loss, K, accuracy])
            done = (n_begun - 1 + min(progress.n_pass, n_passes) / n_passes) / n_parts
            share = 0.3 * done if first else 0.3 + 0.7 * min(done, 1.0)
            part = f"metric {min(n_begun, n_parts)} of {n_parts}, " if n_parts > 1 else ""
            state = (
                f"{step}{PANEL_NAMES[place].lower()}; {part}pass {progress.n_pass} of up to "
                f"{n_passes}; {share:.0%} done."
            )
            if kernel:
                state += f" {wait}"
            score = "R²" if self.task.table.is_regression else "accuracy"
            said = "not measured" if accuracy is None else f"{accuracy:.1%}"
            live = (
                f"{progress.part}, pass {progress.n_pass}, iteration {progress.iteration}: "
                f"loss {progress.loss:.4g}, K = {K:.3g}, {score} {said}"
            )
            self.tell(News({"live": live, "state": state, "share": f"{share:.2f}"}, tuple(steps)))

        if wait:
            self.tell(News({"state": step + wait, "share": "0.05" if first else "0.30"}))
        model = make_estimator(
            self.task, geometry=geometry, random_state=PAGE_SEED, callback=report
        )
        model.fit(self.X_train, self.y_train)
        chosen = ""
        choice = model.selection_
        trials = choice.trials if choice else ()
        if trials:
            chosen = sum_words(choice) if kernel else explain_choice(choice)
        title = PANEL_NAMES["flat" if model.metric_.geometry == "flat" else place]
        if kernel:
            title = f"Kernel machine: {title.lower()}"
        elif choice and choice.chosen.endswith("k-NN"):
            title = PANEL_NAMES["before"]
        self.show(place, title, model, _describe(model.metric_), trials)
        self.tell(News({"choice": chosen}))

    def show(self, place: str, title: str, model: Any, summary: str, trials: Any = ()) -> None:
        rows = self.rows
        table = self.task.table
        said = model.predict(self.X_test)
        codes = table.codes_of(said)
        true = table.y[self.test]
        wrong = np.zeros(len(self.X), dtype=bool)
        if not table.is_regression:
            wrong[self.test] = codes != true
        near, distances = self._neighbors(model, rows.drawn)
        lines, planes = self._on_the_plane(model)
        picture = rows.picture([self._regions(model), *lines], wrong)
        picture["neighbors"] = near.tolist()
        picture["distances"] = distances
        picture["places"] = rows.shown[near.ravel()]
        picture["wrong"] = wrong[rows.drawn]
        if hasattr(model, "part_shares_"):
            shares = model.feature_weights()
            votes = "kernel machines and votes"
        else:
            shares = model.metric_.feature_weights(self.X_train)
            k = int(model.n_neighbors_)
            votes = f"{_state.plural(k, 'neighbour')} {'votes' if k == 1 else 'vote'}"
        weights = zip(table.columns, shares.tolist(), strict=True)
        counts = confusion_matrix(true, codes, labels=range(len(table.classes))).tolist()
        about = {"caption": f"{title}, on test rows", "names": table.classes, "counts": counts}
        results = {
            "confusion": about,
            "weights": sorted(weights, key=lambda pair: -pair[1]),
            "parts": [
                [PART_WORDS.get(name, name), share]
                for name, share in getattr(model, "part_shares_", {}).items()
            ],
            "trials": [[_in_words(t), t.n_neighbors or "–", [*t.scores.items()]] for t in trials],
            "planes": planes,
            "curves": self._errors(model) if table.is_regression else self._curves(model),
            "suspicious": None,
        }
        if table.is_regression:
            r2 = model.score(self.X_test, self.y_test)
            error = np.mean(np.abs(said - self.y_test))
            good = f"R² {r2:.3f} on test rows, off by {_state.in_figures(error, 3)} on average"
        else:
            good = f"{np.mean(said == self.y_test):.1%} of test rows right"
        self.good[place] = good
        if place == "curved":
            found = _trust.suspicious_rows(model, self.train, table.is_regression)
            results["suspicious"] = found
        texts = {f"about-{place}": f"{good}; {votes}; {summary}.", f"title-{place}": title}
        for one in filter(None, (model, getattr(model, "learner_", None))):
            one.callback = None  # it cannot leave this process
        kept = (table.encoder, model)
        self.tell(News(texts, pictures={place: picture}, results=results, predictor=kept))

    def judge(self) -> None:
        """Tell how the models compare, and whether the data are curved, in words."""
        best = self.good["curved"].partition(" on test")[0]
        plain = self.good["before"].partition(" on test")[0].removesuffix(" of test rows right")
        said = f"{best[0].upper()}{best[1:]}, against {plain} with plain neighbours."
        self.tell(News({"headline": said, "state": "Asking whether the data are curved…"}))
        pick = np.random.default_rng(PAGE_SEED).permutation(len(self.X_train))[:300]
        verdict = ""
        with suppress(CayleyKleinError):
            found = estimate_curvature(self.X_train[pick], self.y_train[pick])
            verdict = f"{found.sentence[0].upper()}{found.sentence[1:]}."
        self.tell(News({"verdict": verdict}))

    def _errors(self, model: Any) -> dict[str, Any]:
        """Return predicted against true numbers, with intervals, and what is left."""
        X, y = self.X_test[:400], self.y_test[:400]
        said = model.predict(X)
        share = 0.9
        low, high = model.predict_interval(X, share)
        held = np.mean((low <= y) & (y <= high))
        ends = np.array([y.min(), y.max()])
        level = np.array([[said.min(), 0.0], [said.max(), 0.0]])
        bars = chain(np.array([[t, a], [t, b]]) for t, a, b in zip(y, low, high, strict=True))
        about = f"Bars are {share:.0%} intervals; {held:.0%} of them hold the true number"
        left = y - said
        wide = _state.in_figures(np.mean(high - low), 3)
        off, spread = (_state.in_figures(one, 3) for one in (left.mean(), left.std()))
        return {
            "truth": _graph(
                f"{about}, and they are {wide} wide on average.",
                Shape("line", np.stack([ends, ends], axis=1), "soft", 1.2, (4, 4)),
                Shape("line", bars, "flat", 1.2, alpha=0.35),
                Shape("marks", np.stack([y, said], axis=1), "flat", 3.0),
            ),
            "residuals": _graph(
                f"True less predicted: {off} on average, spread {spread}.",
                Shape("line", level, "soft", 1.2, (4, 4)),
                Shape("marks", np.stack([said, left], axis=1), "flat", 3.0),
            ),
        }

    def _curves(self, model: Any) -> dict[str, Any]:
        chances = model.predict_proba(self.X_test)
        n, sure, right = np.array(scores.calibration(chances, model.classes_, self.y_test)).T
        told = np.column_stack([sure, right])[n > 0] / n[n > 0, None]
        gap = np.abs(sure - right).sum() / n.sum()
        curves = []
        areas = []
        grid = np.linspace(0, 1, 101)
        for name, chance in zip(model.classes_, chances.T, strict=True):
            is_one = self.y_test == name
            if is_one.any() and not is_one.all():
                miss, hit, _ = roc_curve(is_one, chance)
                curves.append(np.interp(grid, miss, hit))
                areas.append(roc_auc_score(is_one, chance))
        mean = np.vstack([[0.0, 0.0], np.column_stack([grid, np.mean(curves, axis=0)])])
        diagonal = Shape("line", np.array([[0.0, 0.0], [1.0, 1.0]]), "soft", 1.0, (4, 4))
        rest = "" if len(model.classes_) == 2 else ", each class against the rest, averaged"

        return {
            "calibration": _graph(
                f"What is said and what is so differ by {gap:.1%} on average.",
                diagonal,
                Shape("line", told, "flat", 2.0),
                Shape("marks", told, "flat", 4),
            ),
            "roc": _graph(
                f"Area under the curve {np.mean(areas):.3f}{rest}.",
                diagonal,
                Shape("line", mean, "flat", 2.0),
            ),
        }

    def _regions(self, model: Any) -> dict[str, Any]:
        n, finer = 81, 5  # points along each axis; finer by this where classes meet
        size = finer * (n - 1) + 1
        low, high = self.rows.box
        grid = np.stack(np.meshgrid(*np.linspace(low, high, size).T), axis=-1)
        coarse = self._predict(model, grid[::finer, ::finer])
        corners = np.stack([coarse[:-1, :-1], coarse[1:, :-1], coarse[:-1, 1:], coarse[1:, 1:]])
        square = np.minimum(np.arange(size) // finer, n - 2)
        meets = (corners != corners[0]).any(axis=0)[square[:, None], square]
        codes = corners[0][square[:, None], square]
        if meets.any():
            codes[meets] = self._predict(model, grid[meets])
        box = self.rows.box.ravel().tolist()
        return {"kind": "raster", "codes": codes, "size": [size, size], "box": box}

    def _predict(self, model: Any, spots: Floats) -> Ints:
        X = self.rows.section.embed(spots.reshape(-1, 2))
        inside = _inside(model, X)
        codes = np.full(len(X), -1, dtype=np.intp)
        if inside.any():
            codes[inside] = self.task.table.codes_of(model.predict(X[inside]))
        return codes.reshape(spots.shape[:-1])

    def _neighbors(self, model: Any, rows: Ints) -> tuple[Ints, Floats]:
        k = min(5, len(self.train) - 1)
        found = np.full((len(rows), k), -1, dtype=np.intp)
        far = np.full((len(rows), k), np.nan)
        inside = _inside(model, self.X[rows])
        if not inside.any():
            return found, far
        distances, nearest = model.kneighbors(self.X[rows[inside]], n_neighbors=k + 1)
        nearest = self.train[nearest]
        other = nearest != rows[inside, None]
        # the row itself is among its neighbours where it is a training row
        keep = other & (np.cumsum(other, axis=1) <= k)
        found[inside] = nearest[keep].reshape(-1, k)
        far[inside] = distances[keep].reshape(-1, k)
        return found, far

    def _on_the_plane(self, model: Any) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
        lines = []
        planes = []
        shown = self.rows.shown
        pick = np.random.default_rng(PAGE_SEED).permutation(len(shown))[:300]
        terms: Any = () if _of_ranks(model) else combined.terms_of(model.metric_)
        for part, _ in terms:
            with suppress(NotRepresentableError):  # it has no section on this plane
                here: Any = self.rows.section.restrict(part)
                size = np.median(np.linalg.norm(here.coordinates(shown), axis=1))
                circle = unit_circle(257)
                lines.append(Shape("line", here.points(size * circle), "soft", 1.4, (6, 4)))
                if here.domain is not None:
                    lines.append(Shape("line", here.domain.from_euclidean(circle), "ink", 2.4))
                state, exact = _state.PlaneState.of_rows(here, shown[pick], self.rows.y[pick])
                about = "" if exact else " (about)"
                planes.append((f"{_describe(part)}{about}", state.query))
        return [line._asdict() for line in lines], planes


def _graph(text: str, *shapes: Shape) -> dict[str, Any]:
    every = np.concatenate([shape.xy for shape in shapes])
    low, high = np.nanmin(every, axis=0), np.nanmax(every, axis=0)
    room = 0.05 * np.maximum(high - low, 1e-12)
    box = np.concatenate([low - room, high + room]).tolist()
    return {"shapes": [shape._asdict() for shape in shapes], "text": text, "box": box}


def _in_words(trial: Any) -> str:
    name: str = trial.name
    return "all of them, added" if " + " in name else PART_WORDS.get(name, name)


def train_and_test(table: _tables.PreparedTable) -> list[Ints]:
    same = None if table.is_regression else table.labels
    rows = np.arange(len(table.y))
    return list(train_test_split(rows, test_size=TEST_PART, stratify=same, random_state=PAGE_SEED))


def _of_ranks(model: Any) -> bool:
    return getattr(model, "columns_", "") == "ranks"  # then the metric is one of ranks


def _inside(model: Any, X: Floats) -> Bools:
    return np.asarray(_of_ranks(model) | np.asarray(model.metric_.contains(X)))


def _describe(metric: combined.Metric) -> str:
    parts = ", ".join(f"{part.curvature:.3g}" for part, _ in combined.terms_of(metric))
    return f"{metric.geometry}, K = {parts}"
