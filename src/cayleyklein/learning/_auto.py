"""geometry="auto": the sum of an elliptic and a hyperbolic metric, or what clearly beats it.

A candidate is a sum of learned metrics, each in its own unit. All of them are made of a few fits,
so that a candidate more costs little more than its votes.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cayleyklein.geometry import Frame
from cayleyklein.learning._data import Rows, TrainingRows
from cayleyklein.learning._descent import Recipe
from cayleyklein.learning._mixture import held_out_distances
from cayleyklein.learning._selection import Correct, Selection, select
from cayleyklein.learning._starts import identity
from cayleyklein.learning._train import (
    ALPHAS,
    Options,
    Result,
    by_passes,
    contend,
    fit_sum,
    more_passes,
    train_mixed,
    train_one,
    votes,
)

__all__ = ["AUTO_FROM", "train_auto"]

Array = NDArray[np.float64]

AUTO_FROM = 100
"""Rows from which held-out rows can tell candidates apart; below, "auto" is elliptic."""

DEFAULT = "elliptic + hyperbolic"


def candidates(recipes: Mapping[str, Recipe], more: tuple[int, ...]) -> dict[str, list[Recipe]]:
    """Return the sums to try, the default first."""
    flat, elliptic, hyperbolic = (recipes[g] for g in ("flat", "elliptic", "hyperbolic"))
    found = {
        DEFAULT: [elliptic, hyperbolic],
        "elliptic": [elliptic],
        "hyperbolic": [hyperbolic],
        "flat": [flat],
        "flat + elliptic + hyperbolic": [flat, elliptic, hyperbolic],
    }
    for n in more:
        found[f"{DEFAULT}, n_passes={n}"] = [
            replace(recipe, n_passes=max(n, recipe.n_passes)) for recipe in (elliptic, hyperbolic)
        ]
    return found


def train_auto(data: Rows, recipes: Mapping[str, Recipe], options: Options) -> Result:
    """Choose a sum of metrics on held-out rows, and learn it on all of them."""
    if len(data) < AUTO_FROM:
        return train_one(data, recipes["elliptic"], replace(options, tune=False, tune_passes=False))
    if not options.tune:  # not asked for, or the start has seen all the rows there are
        return train_mixed(data, [recipes["elliptic"], recipes["hyperbolic"]], ALPHAS[0], options)
    d, more = data.n_columns, more_passes(data, options)
    sums = candidates(recipes, more)
    plain: dict[str, Array] = {}
    if options.n_components is None:
        plain = {"standardised k-NN": np.eye(d), "Euclidean k-NN": identity(data, d)}
    # What starts from the default is asked for less evidence.
    likely = tuple(name for name in sums if "n_passes=" in name)

    def judge(
        train: TrainingRows, held_out: TrainingRows, names: list[str]
    ) -> Mapping[str, Correct]:
        passes = more if any(name in names for name in likely) else ()
        tables: dict[Recipe, Array] = {}
        for recipe in sums[DEFAULT]:
            for n, frame in by_passes(train, recipe, options, passes).items():
                table = held_out_distances(train, held_out.X, frame)
                tables[replace(recipe, n_passes=n)] = table
        if any(recipes["flat"] in sums.get(name, []) for name in names):
            first = sum(tables[replace(recipe, n_passes=1)] for recipe in sums[DEFAULT])
            rival = votes(train, held_out, np.asarray(first), options)
            tables[recipes["flat"]] = contend(train, held_out, recipes["flat"], options, rival)
        distances = {
            name: sum(tables[recipe] for recipe in sums[name]) for name in names if name in sums
        }
        for name in plain:
            distances[name] = held_out_distances(train, held_out.X, Frame(plain[name]))
        return {
            name: votes(train, held_out, np.asarray(distances[name]), options) for name in names
        }

    selection = select([*sums, *plain], judge, data, options.rng, likely)
    selection = mention_plain(selection, list(plain))
    if selection.chosen in plain:
        return Result([Frame(plain[selection.chosen])], [1.0], [1.0], [], selection)
    return fit_sum(data, sums[selection.chosen], options, selection)


def mention_plain(selection: Selection, plain: list[str]) -> Selection:
    """Add to the reason which plain neighbours did no worse than what was chosen."""
    trials = {trial.name: trial for trial in selection.trials}
    chosen = trials[selection.chosen]
    as_good = [name for name in plain if trials[name].advantage >= chosen.advantage]
    if not as_good or selection.chosen in plain:
        return selection
    reason = f"{selection.reason}, but {' and '.join(as_good)} did as well"
    return replace(selection, reason=reason)
