"""From rows and options to a metric: one geometry, a mixture, or what held-out rows prefer."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cayleyklein.geometry import Frame
from cayleyklein.learning._data import TrainingRows
from cayleyklein.learning._descent import Descent, Progress, Recipe
from cayleyklein.learning._mixture import count_votes, distance_unit, held_out_distances
from cayleyklein.learning._paper import PaperDescent
from cayleyklein.learning._recipes import GEOMETRIES
from cayleyklein.learning._selection import Correct, Selection, select
from cayleyklein.learning._starts import identity, margin_scale, starting_factor

__all__ = ["AUTO_FROM", "Options", "Result", "train_auto", "train_mixed", "train_one"]

Array = NDArray[np.float64]

PASSES_FROM = 500
"""Rows from which more passes than a recipe's are tried: fewer cannot tell them apart."""

MORE_PASSES = (6,)

AUTO_FROM = 100
"""Rows from which held-out rows can tell candidates apart; below, "auto" is elliptic."""

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
    executor: Executor | None
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


def descent(data: TrainingRows, recipe: Recipe, options: Options) -> Descent | PaperDescent:
    """Prepare one fit."""
    rank = options.n_components or data.X.shape[1]
    start = flat_start(data, recipe, options) if recipe.init == "flat" else options.start
    if options.solver == "gradient":
        init = "precision" if recipe.init in ("diagonal", "shrunk", "flat") else recipe.init
        factor = start.factor if start is not None else starting_factor(data, init, rank, None)
        return PaperDescent(
            data, recipe, factor, options.learning_rate, options.tol,
            options.impostor_interval, options.callback,
            start=start, memory_budget=options.memory_budget,
        )  # fmt: skip
    center = curvature = None
    if start is None:
        factor = starting_factor(data, recipe.init, rank, recipe.radius)
        if recipe.geometry == "flat":
            factor = margin_scale(data, factor, recipe) * factor
    elif start.curvature == 0:  # the centre of a flat metric means nothing
        factor = start.factor
    elif recipe.geometry == "learned":
        factor, center, curvature = start.factor, start.center, start.curvature
    else:
        factor, center = np.sqrt(abs(start.curvature)) * start.factor, start.center
    return Descent(
        data, recipe, factor, center, curvature, start is not None, options.tol,
        options.impostor_interval, options.max_impostors, options.memory_budget,
        options.executor, options.callback,
    )  # fmt: skip


def flat_start(data: TrainingRows, recipe: Recipe, options: Options) -> Frame:
    """Return the flat metric of the same rows, from which a curved fit may start."""
    flat = replace(GEOMETRIES["flat"], n_targets=recipe.n_targets, push=recipe.push)
    return fit(data, flat, replace(silent(options), solver="lbfgs", start=None)).frame


def fit(data: TrainingRows, recipe: Recipe, options: Options) -> Descent | PaperDescent:
    """Run one fit."""
    return descent(data, recipe, options).run()


def silent(options: Options) -> Options:
    """Return the options for fits that only serve a choice."""
    return replace(options, callback=None)


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
    train: TrainingRows, held_out: TrainingRows, frame: Frame | Array, options: Options
) -> Correct:
    """Return which held-out rows the neighbours under a metric (or given distances) classify."""
    D = frame if isinstance(frame, np.ndarray) else held_out_distances(train, held_out.X, frame)
    guess = count_votes(D, train.labels, options.n_neighbors)
    return np.asarray(guess == held_out.labels)


def by_passes(
    train: TrainingRows, recipe: Recipe, options: Options, more: tuple[int, ...]
) -> dict[int, Frame]:
    """Return the metric after the recipe's passes, and after more of them."""
    fitted = descent(train, recipe, silent(options))
    assert isinstance(fitted, Descent)  # the paper's solver makes one pass, and is not tuned
    wanted = (recipe.n_passes, *(n for n in more if n > recipe.n_passes))
    frames = {}
    for n in range(1, max(wanted) + 1):
        frame = fitted.advance()
        if n in wanted:
            frames[n] = frame
    return frames


def more_passes(data: TrainingRows, options: Options) -> tuple[int, ...]:
    """Return the numbers of passes worth trying."""
    return MORE_PASSES if options.tune_passes and len(data.X) >= PASSES_FROM else ()


def train_one(data: TrainingRows, recipe: Recipe, options: Options) -> Result:
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
            right = {}
            passes = tuple(n for n in more if f"n_passes={n}" in names)
            for n, frame in by_passes(train, recipe, options, passes).items():
                name = "default" if n == recipe.n_passes else f"n_passes={n}"
                right[name] = votes(train, held_out, frame, options)
            for name in names:
                if name not in right:
                    frame = fit(train, candidates[name], silent(options)).frame
                    right[name] = votes(train, held_out, frame, options)
            return right

        likely = tuple(f"n_passes={n}" for n in more)
        selection = select(list(candidates), judge, data, options.rng, likely)
        recipe = candidates[selection.chosen]
    fitted = fit(data, recipe, options)
    return Result([fitted.frame], [1.0], [1.0], [fitted], selection)


def fit_pair(
    data: TrainingRows, recipes: list[Recipe], options: Options
) -> tuple[list[Descent | PaperDescent], list[float]]:
    """Fit several metrics and take their units."""
    fits = [fit(data, recipe, options) for recipe in recipes]
    return fits, [distance_unit(data, fitted.frame) for fitted in fits]


def train_mixed(
    data: TrainingRows, recipes: list[Recipe], alpha: float | None, options: Options
) -> Result:
    """Learn the paper's α d_E + (1-α) d_H, each in its own unit; α on held-out rows when None."""
    selection = None
    if alpha is None:
        alpha = ALPHAS[0]
        if options.tune:

            def judge(
                train: TrainingRows, held_out: TrainingRows, names: list[str]
            ) -> Mapping[str, Correct]:
                frames = [fit(train, recipe, silent(options)).frame for recipe in recipes]
                D_e, D_h = (held_out_distances(train, held_out.X, frame) for frame in frames)
                shares = {name: float(name.removeprefix("alpha=")) for name in names}
                return {
                    name: votes(train, held_out, a * D_e + (1 - a) * D_h, options)
                    for name, a in shares.items()
                }

            selection = select([f"alpha={a:g}" for a in ALPHAS], judge, data, options.rng)
            alpha = float(selection.chosen.removeprefix("alpha="))
    fits, units = fit_pair(data, recipes, options)
    return Result([f.frame for f in fits], units, [alpha, 1 - alpha], fits, selection)


def train_auto(data: TrainingRows, recipes: list[Recipe], options: Options) -> Result:
    """Learn the sum of an elliptic and a hyperbolic metric, or what clearly beats it."""
    if len(data.X) < AUTO_FROM:
        return train_one(data, recipes[0], replace(options, tune=False, tune_passes=False))
    if not options.tune:  # not asked for, or the start has seen all the rows there are
        return train_mixed(data, recipes, ALPHAS[0], options)
    more = more_passes(data, options)
    default = "elliptic + hyperbolic"
    d = data.X.shape[1]
    plain = {"standardised k-NN": np.eye(d), "Euclidean k-NN": identity(data, d)}
    if options.n_components is not None:
        plain = {}
    names = [default, "elliptic", "hyperbolic", *plain]
    names += [f"{default}, n_passes={n}" for n in more]

    def judge(
        train: TrainingRows, held_out: TrainingRows, names: list[str]
    ) -> Mapping[str, Correct]:
        passes = tuple(n for n in more if f"{default}, n_passes={n}" in names)
        tables = []
        for recipe in recipes:
            frames = by_passes(train, recipe, options, passes)
            first = frames[recipe.n_passes]
            tables.append(
                {
                    n: held_out_distances(train, held_out.X, frames.get(n, first))
                    for n in (0, *passes)
                }
            )
        D_e, D_h = tables
        sums = {n: D_e[n] + D_h[n] for n in D_e}
        distances = {default: sums[0], "elliptic": D_e[0], "hyperbolic": D_h[0]}
        distances |= {f"{default}, n_passes={n}": sums[n] for n in passes}
        for name, factor in plain.items():
            distances[name] = held_out_distances(train, held_out.X, Frame(factor))
        return {name: votes(train, held_out, distances[name], options) for name in names}

    likely = tuple(f"{default}, n_passes={n}" for n in more)
    selection = mention_plain(select(names, judge, data, options.rng, likely), list(plain))
    chosen = selection.chosen
    if chosen in plain:
        return Result([Frame(plain[chosen])], [1.0], [1.0], [], selection)
    if "n_passes=" in chosen:
        n = int(chosen.rpartition("=")[2])
        recipes = [replace(recipe, n_passes=max(n, recipe.n_passes)) for recipe in recipes]
    if chosen in ("elliptic", "hyperbolic"):
        fitted = fit(data, recipes[chosen == "hyperbolic"], options)
        return Result([fitted.frame], [1.0], [1.0], [fitted], selection)
    fits, units = fit_pair(data, recipes, options)
    return Result([f.frame for f in fits], units, [0.5, 0.5], fits, selection)


def mention_plain(selection: Selection, plain: list[str]) -> Selection:
    """Add to the reason which plain neighbours did no worse than what was chosen."""
    trials = {trial.name: trial for trial in selection.trials}
    chosen = trials[selection.chosen]
    as_good = [name for name in plain if trials[name].advantage >= chosen.advantage]
    if not as_good or selection.chosen in plain:
        return selection
    reason = f"{selection.reason}, but {' and '.join(as_good)} did as well"
    return replace(selection, reason=reason)
