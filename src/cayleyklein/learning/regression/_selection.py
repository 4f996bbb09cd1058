"""Learning a metric for regression: rows with targets, the product, and held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import cast

import numpy as np
from sklearn.neighbors import NearestNeighbors

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning._descent import Fit, Report, descend
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning._selection import (
    SELECT_FROM,
    Learned,
    product_map,
    product_of,
    split_rows,
)
from cayleyklein.learning._starts import identity, starting_factor
from cayleyklein.learning._trials import NEIGHBORS, TIE, Selection, compare
from cayleyklein.learning.objectives import (
    KernelRecipe,
    NearestRows,
    Parameters,
    Placed,
    blocks_of,
    distance_power,
)
from cayleyklein.neighbors import neighbor_weights, weighted_mean

PRODUCT = (("flat", 1.0), ("elliptic", 0.3), ("elliptic", 1.0))
"""Geometries and spreads of the parts of "auto": flat space, and spheres of curvature 0.09 and 1
where a standardised column has the unit 1."""

DEFAULT_NEIGHBORS = 9
"""Voting neighbours of a metric that was not learned here."""

LEFT_OUT = 2000
"""Rows that are left out, one at a time, to choose the number of neighbours of one geometry."""


@dataclass(frozen=True)
class RegressionTrial:
    """How one candidate did on rows it was not trained on.

    Attributes
    ----------
    name : str
    n_neighbors : int
        The number of voting neighbours (weights="linear") with the least squared error.
    r2 : float
        R² over the held-out rows with that number, the mean over targets.

    Examples
    --------
    >>> RegressionTrial("product", n_neighbors=9, r2=0.81).r2
    0.81
    """

    name: str
    n_neighbors: int
    r2: float

    @property
    def scores(self) -> str:
        """The scores in words."""
        return f"R² {self.r2:.3f}"


@dataclass(frozen=True, kw_only=True)
class RegressionRows(TrainingRows):
    """Standardised rows with standardised targets (n, t), each divided by √t.

    Equal rows are one row, whose weight is the sum of theirs and whose target is their mean.
    """

    targets: Floats

    @classmethod
    def from_targets(cls, X: Floats, Y: Floats, weights: Floats) -> RegressionRows:
        """Merge, sort and standardise the rows of positive weight and their targets."""
        some = weights > 0
        X, Y, weights = X[some], Y[some], weights[some]
        rows, inverse = np.unique(X, axis=0, return_inverse=True)
        total: Floats = np.bincount(inverse.ravel(), weights=weights).astype(float)
        share = (weights / total[inverse.ravel()])[:, None]
        mean = np.zeros((len(rows), Y.shape[1]))
        unit = np.abs(Y).max(axis=0)
        np.add.at(mean, inverse.ravel(), share * (Y / np.where(unit > 0, unit, 1.0)))
        base = TrainingRows.from_raw(rows, np.zeros(len(rows), dtype=np.int64), total)
        mean -= base.shares @ mean
        deviation = np.sqrt(base.shares @ mean**2)
        constant = deviation <= 4 * np.finfo(float).eps
        targets = np.where(constant, 0.0, mean / np.where(constant, 1.0, deviation))
        return cls._of(base, targets / np.sqrt(Y.shape[1]))

    @classmethod
    def _of(cls, base: TrainingRows, targets: Floats) -> RegressionRows:
        shared = {field.name: getattr(base, field.name) for field in fields(TrainingRows)}
        return cls(**shared, targets=targets)

    def take(self, rows: Ints) -> RegressionRows:
        """Return some of the rows, in the same coordinates."""
        return self._of(super().take(rows), self.targets[np.sort(rows)])

    @property
    def weight_unit(self) -> float:
        """1: the loss is a weighted mean."""
        return 1.0


def default_neighbors(n: int) -> int:
    """Return the number of voting neighbours where held-out rows were not asked."""
    return int(np.clip(n // 10, 1, DEFAULT_NEIGHBORS))


def plain(rows: RegressionRows, n_components: int | None, reason: str) -> Learned:
    """Return the metric of standardised columns."""
    factor = starting_factor("std", rows, n_components or rows.n_columns)
    found = Parameters(factor, np.zeros(rows.n_columns), 0.0)
    k = default_neighbors(len(rows))
    return Learned(rows.to_metric(found), (), Selection("standardised k-NN", reason, k))


def learn_product(
    rows: RegressionRows, base: KernelRecipe, rng: np.random.Generator,
    report: Report | None = None,
) -> Learned:  # fmt: skip
    """Learn the product, and keep it unless plain neighbours do as well on held-out rows."""
    recipes = [replace(base, geometry=g, spread=s) for g, s in PRODUCT]

    def fit(some: TrainingRows, passes: int, report: Report | None = None) -> tuple[Fit, ...]:
        fits: list[Fit] = []
        for recipe in recipes:
            fits.append(descend(some, replace(recipe, n_passes=passes), rng, report=report))
            if fits[-1].stopped:
                break
        return tuple(fits)

    if len(rows) < SELECT_FROM:
        return plain(rows, base.n_components, f"too few rows, {len(rows)}, to learn from")
    r = base.n_components or rows.n_columns
    factors = {"standardised k-NN": starting_factor("std", rows, r)}
    if base.n_components is None:
        factors["Euclidean k-NN"] = identity(rows, rows.n_columns)
    errors: dict[str, list[Floats]] = {}
    fits: tuple[Fit, ...] = ()
    folds = cast(list[tuple[RegressionRows, RegressionRows]], split_rows(rows, rng))
    for train, held_out in folds:
        if len(folds) == 1:
            fits = fit(train, base.n_passes, report)
        else:
            fits = fit(train, 1)
        embed = product_map(train, fits)
        maps = {"product": (embed(train.X), embed(held_out.X))}
        maps |= {name: (train.X @ L.T, held_out.X @ L.T) for name, L in factors.items()}
        for name, (Z, Q) in maps.items():
            errors.setdefault(name, []).append(held_out_errors(train, held_out, Z, Q))
    selection = choose(errors, np.concatenate([held_out.weights for _, held_out in folds]))
    if selection.chosen != "product":
        found = Parameters(factors[selection.chosen], np.zeros(rows.n_columns), 0.0)
        return Learned(rows.to_metric(found), (), selection)
    if len(folds) > 1:
        fits = fit(rows, base.n_passes, report)
    return Learned(product_of(rows, fits), fits, selection)


def held_out_errors(
    train: RegressionRows, held_out: RegressionRows, Z: Floats, Q: Floats
) -> Floats:
    """Return the squared errors (n_votes, m) of held-out rows for each number of neighbours."""
    most = min(len(Z), max(NEIGHBORS) + 1)
    search = NearestNeighbors(n_neighbors=most, algorithm="brute").fit(Z)
    distances, columns = search.kneighbors(Q)
    return squared_errors(train, distances, columns, held_out.targets)


def left_out_neighbors(rows: RegressionRows, found: Parameters) -> int:
    """Return the number of neighbours that predicts rows best, each left out in turn."""
    some = np.unique(np.linspace(0, len(rows) - 1, LEFT_OUT).astype(int))
    placed = Placed(rows.X, found)
    search = NearestRows(len(rows), some, some, some + 1)
    m = min(len(rows) - 1, max(NEIGHBORS) + 1)
    columns = np.vstack(
        [search.find(placed, block, m) for block in blocks_of(len(some), len(rows))]
    )
    sqchord = placed.sqchords(some, columns)
    distances = distance_power(sqchord, found.curvature, squared=False)[0]
    order = np.argsort(distances, axis=1)  # the search rounds more, and may swap close rows
    distances = np.take_along_axis(distances, order, axis=1)
    columns = np.take_along_axis(columns, order, axis=1)
    errors = squared_errors(rows, distances, columns, rows.targets[some])
    return min(NEIGHBORS[int(np.argmin(errors @ rows.weights[some]))], len(rows) - 1)


def squared_errors(
    train: RegressionRows, distances: Floats, columns: Ints, truth: Floats
) -> Floats:
    """Return squared errors (n_votes, m) from the nearest rows of m queries, nearest first."""
    found = []
    for k in NEIGHBORS:
        k = max(1, min(k, columns.shape[1] - 1))
        votes = neighbor_weights(distances, k, "linear") * train.weights[columns[:, :k]]
        error = weighted_mean(votes, train.targets[columns[:, :k]]) - truth
        found.append(np.einsum("mt,mt->m", error, error))
    return np.array(found)


def choose(errors: dict[str, list[Floats]], weights: Floats) -> Selection:
    """Choose between the product and the best plain neighbours, by squared error."""
    share = weights / weights.sum()
    trials, losses = {}, {}
    for name, folds in errors.items():
        every = np.concatenate(folds, axis=1)
        best = int(np.argmin(every @ share))
        losses[name] = every[best]
        trials[name] = RegressionTrial(name, NEIGHBORS[best], 1 - float(losses[name] @ share))
    first, other, enough = compare(losses, share, TIE)
    chosen, rival = (first, other) if enough else (other, first)
    reason = (
        f"R² {trials[chosen].r2:.3f} on {len(share)} held-out rows, {rival} {trials[rival].r2:.3f}"
    )
    return Selection(chosen, reason, trials[chosen].n_neighbors, tuple(trials.values()))
