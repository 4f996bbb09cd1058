"""From rows and options to a metric: one geometry, a mixture, or what held-out rows prefer."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cayleyklein._threads import Threads
from cayleyklein.geometry import Frame
from cayleyklein.learning._data import Rows, TrainingRows
from cayleyklein.learning._descent import Descent, Progress, Recipe
from cayleyklein.learning._mixture import count_votes, distance_unit, held_out_distances
from cayleyklein.learning._paper import PaperDescent
from cayleyklein.learning._recipes import GEOMETRIES
from cayleyklein.learning._selection import Correct, Selection, compare, select
from cayleyklein.learning._starts import margin_scale, starting_factor

__all__ = ["Options", "Result", "contend", "fit_sum", "train_mixed", "train_one"]

logger = logging.getLogger(__name__)

Array = NDArray[np.float64]

PASSES_FROM = 500
"""Rows from which more passes than a recipe's are tried: fewer cannot tell them apart."""

MORE_PASSES = (6,)

ALPHAS = (0.5, 0.0, 0.25, 0.75, 1.0)
"""Shares of the elliptic metric that are tried, the default first."""


@dataclass(frozen=True)
class Options:
    """What all fits of one call share."""

    n_neighbors: int
    n_components: int | None
    solver: str
    tol: float
    learning_rate: float | None
    impostor_interval: int
    max_impostors: int | None
    memory_budget: float
    pool: Threads | None
    callback: Callable[[Progress], bool | None] | None
    tune: bool
    tune_passes: bool
    rng: np.random.Generator
    start: Frame | None = None


@dataclass(frozen=True)
class Result:
    """The parts of a learned metric, for standardised rows, and how they came about."""

    frames: list[Frame]
    units: list[float]
    shares: list[float]
    fits: list[Descent | PaperDescent]
    selection: Selection | None


def descent(data: Rows, recipe: Recipe, options: Options) -> Descent | PaperDescent:
    """Prepare one fit."""
    rank = options.n_components or data.n_columns
    start = flat_start(data, recipe, options) if recipe.init == "flat" else options.start
    if options.solver == "gradient":
        assert isinstance(data, TrainingRows)  # it is refused where rows are on a cluster
        init = "precision" if recipe.init in ("diagonal", "shrunk", "flat") else recipe.init
        factor = start.factor if start is not None else starting_factor(data, init, rank, None)
        return PaperDescent(
            data,
            recipe,
            factor,
            learning_rate=options.learning_rate,
            tol=options.tol,
            impostor_interval=options.impostor_interval,
            callback=options.callback,
            start=start,
            memory_budget=options.memory_budget,
        )
    center = curvature = None
    if start is None:
        factor = starting_factor(data, recipe.init, rank, recipe.radius)
        if recipe.geometry == "flat" and recipe.radius is None:
            factor = margin_scale(data, factor, recipe) * factor
    elif start.curvature == 0:  # the centre of a flat metric means nothing
        factor = start.factor
    elif recipe.geometry == "learned":
        factor, center, curvature = start.factor, start.center, start.curvature
    else:
        factor, center = np.sqrt(abs(start.curvature)) * start.factor, start.center
    return Descent(
        data,
        recipe,
        factor,
        center,
        curvature,
        continues=start is not None,
        tol=options.tol,
        impostor_interval=options.impostor_interval,
        max_impostors=options.max_impostors,
        memory_budget=options.memory_budget,
        pool=options.pool,
        callback=options.callback,
    )


def flat_start(data: Rows, recipe: Recipe, options: Options) -> Frame:
    """Return the flat metric of the same rows, from which a curved fit may start."""
    flat = replace(GEOMETRIES["flat"], n_targets=recipe.n_targets, push=recipe.push)
    return fit(data, flat, replace(silent(options), solver="lbfgs", start=None)).frame


def fit(data: Rows, recipe: Recipe, options: Options) -> Descent | PaperDescent:
    """Run one fit."""
    return descent(data, recipe, options).run()


def silent(options: Options) -> Options:
    """Return the options for fits that only serve a choice."""
    return replace(options, callback=None)


def trial(data: TrainingRows, recipe: Recipe, options: Options) -> Descent | PaperDescent:
    """Prepare a fit that only serves a choice: a callback is not told of it, a log is."""
    logger.info("trying %s, margin %g, start %s", recipe.geometry, recipe.margin, recipe.init)
    return descent(data, recipe, silent(options))


def variants(recipe: Recipe) -> dict[str, Recipe]:
    """Return the default and what else is tried of one geometry: a margin, and a start."""
    found = {"default": recipe}
    if recipe.geometry != "flat":  # a flat margin only scales the metric
        found[f"margin={recipe.margin / 3:g}"] = replace(recipe, margin=recipe.margin / 3)
    if recipe.init != "std":
        found["init=std"] = replace(recipe, init="std")
    else:
        found["init=precision"] = replace(recipe, init="precision")
    return found


def votes(
    train: TrainingRows, held_out: TrainingRows, distances: Array, options: Options
) -> Correct:
    """Return which held-out rows their neighbours classify rightly."""
    guess = count_votes(distances, train.labels, options.n_neighbors)
    return np.asarray(guess == held_out.labels)


def by_passes(
    train: TrainingRows, recipe: Recipe, options: Options, more: tuple[int, ...]
) -> dict[int, Frame]:
    """Return the metric after the first pass, the recipe's passes, and more of them."""
    fitted = trial(train, recipe, options)
    assert isinstance(fitted, Descent)  # the paper's solver makes one pass, and is not tuned
    wanted = (1, recipe.n_passes, *(n for n in more if n > recipe.n_passes))
    frames = {}
    for n in range(1, max(wanted) + 1):
        frame = fitted.advance()
        if n in wanted:
            frames[n] = frame
    return frames


def contend(
    train: TrainingRows, held_out: TrainingRows, recipe: Recipe, options: Options, rival: Correct
) -> Array:
    """Return a candidate's distances, after one pass if it is behind a rival's first pass by then.

    ``rival`` says which held-out rows the default had right after its first pass.
    """
    fitted = trial(train, recipe, options)
    assert isinstance(fitted, Descent)
    D = held_out_distances(train, held_out.X, fitted.advance())
    early = compare(recipe.geometry, [votes(train, held_out, D, options)], [rival])
    if recipe.n_passes == 1 or early.is_behind:
        return D
    for _ in range(recipe.n_passes - 1):
        frame = fitted.advance()
    return held_out_distances(train, held_out.X, frame)


def more_passes(data: Rows, options: Options) -> tuple[int, ...]:
    """Return the numbers of passes worth trying."""
    return MORE_PASSES if options.tune_passes and len(data) >= PASSES_FROM else ()


def train_one(data: Rows, recipe: Recipe, options: Options) -> Result:
    """Learn one metric of a fixed geometry, tuned on held-out rows where that is asked for."""
    more = more_passes(data, options)
    candidates = variants(recipe) if options.tune else {"default": recipe}
    for n in more:
        candidates[f"n_passes={n}"] = replace(recipe, n_passes=n)
    selection = None
    if len(candidates) > 1:

        def judge(
            train: TrainingRows, held_out: TrainingRows, names: list[str]
        ) -> Mapping[str, Correct]:
            passes = tuple(n for n in more if f"n_passes={n}" in names)
            frames = by_passes(train, recipe, options, passes)
            right = {
                n: votes(train, held_out, held_out_distances(train, held_out.X, frame), options)
                for n, frame in frames.items()
            }
            found = {f"n_passes={n}": right[n] for n in passes}
            found["default"] = right[recipe.n_passes]
            for name in names:
                if name not in found:
                    D = contend(train, held_out, candidates[name], options, right[1])
                    found[name] = votes(train, held_out, D, options)
            return found

        likely = tuple(f"n_passes={n}" for n in more)
        selection = select(list(candidates), judge, data, options.rng, likely)
        recipe = candidates[selection.chosen]
    return fit_sum(data, [recipe], options, selection)


def fit_sum(
    data: Rows,
    recipes: list[Recipe],
    options: Options,
    selection: Selection | None,
    shares: list[float] | None = None,
) -> Result:
    """Fit the parts of a sum, take their units, and add them up with equal or given shares."""
    fits = [fit(data, recipe, options) for recipe in recipes]
    frames = [fitted.frame for fitted in fits]
    if len(fits) == 1:
        return Result(frames, [1.0], [1.0], fits, selection)
    units = [distance_unit(data, frame) for frame in frames]
    return Result(frames, units, shares or [1 / len(fits)] * len(fits), fits, selection)


def train_mixed(data: Rows, recipes: list[Recipe], alpha: float | None, options: Options) -> Result:
    """Learn the paper's α d_E + (1-α) d_H, each in its own unit; α on held-out rows when None."""
    selection = None
    if alpha is None:
        alpha = ALPHAS[0]
        if options.tune:

            def judge(
                train: TrainingRows, held_out: TrainingRows, names: list[str]
            ) -> Mapping[str, Correct]:
                frames = [trial(train, recipe, options).run().frame for recipe in recipes]
                D_e, D_h = (held_out_distances(train, held_out.X, frame) for frame in frames)
                shares = {name: float(name.removeprefix("alpha=")) for name in names}
                return {
                    name: votes(train, held_out, a * D_e + (1 - a) * D_h, options)
                    for name, a in shares.items()
                }

            selection = select([f"alpha={a:g}" for a in ALPHAS], judge, data, options.rng)
            alpha = float(selection.chosen.removeprefix("alpha="))
    return fit_sum(data, recipes, options, selection, [alpha, 1 - alpha])
