"""Metrics of several parts, and how held-out rows choose between them.

geometry="auto" learns a product of an elliptic metric of curvature 0.09, one of curvature 1 and a
flat one (in units of the margin), and keeps it where held-out rows show that it is better than
plain neighbours. geometry="mixed" is the paper's α d_E + (1 - α) d_H, α chosen on held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from cayleyklein._typing import Floats, Ints
from cayleyklein.geometry import euclidean_coordinates
from cayleyklein.learning._descent import Fit, Report, descend
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning._starts import identity
from cayleyklein.learning.objectives import LargeMarginRecipe, Parameters
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.neighbors import NEAR, as_scales, class_shares, local_votes

__all__ = ["DEFAULT_NEIGHBORS", "Learned", "Selection", "Trial", "learn_mixed", "learn_product"]

Metric = CurvedMetric | MixedMetric | ProductMetric

PRODUCT = (("elliptic", 0.3), ("elliptic", 1.0), ("flat", 1.0))
"""Geometries and margins of the parts. A margin m at K = 1 is a margin of 1 at K = m²."""

SELECT_FROM = 60
"""Rows from which held-out rows can tell candidates apart."""

N_FOLDS, FOLDS_UP_TO = 3, 2500
"""Folds, and the rows beyond which one held-out part is enough.

The metric learned from the other rows is then the one that is kept.
"""

FOLD_PASSES = 2
"""Passes of the fits that only serve the choice."""

HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 2000

NEIGHBORS = (3, 5, 9, 15, 25, 40, 60, 100)
"""Numbers of voting neighbours that are tried."""

DEFAULT_NEIGHBORS = 15
"""Where held-out rows were not asked."""

TIE = 0.5
"""Standard errors of the gain in log loss under which the simpler model wins."""

ALPHAS = (0.5, 0.25, 0.75, 0.1, 0.9)
"""Shares of the elliptic metric in a mixed one that are tried; the first wins ties."""

UNIT_ROWS, UNIT_NEIGHBORS = 2000, 3


@dataclass(frozen=True)
class Trial:
    """How one candidate did on rows it was not trained on.

    Attributes
    ----------
    name : str
    n_neighbors : int
        The number of voting neighbours (weights="local") with the least log loss.
    log_loss, accuracy : float
        Means over the held-out rows, with that number.

    Examples
    --------
    >>> Trial("product", n_neighbors=15, log_loss=0.41, accuracy=0.86).n_neighbors
    15
    """

    name: str
    n_neighbors: int
    log_loss: float
    accuracy: float

    @property
    def scores(self) -> str:
        """The scores in words."""
        return f"log loss {self.log_loss:.3f}, accuracy {self.accuracy:.3f}"


@dataclass(frozen=True)
class Selection:
    """What was tried on held-out rows, what was chosen, and why.

    Attributes
    ----------
    chosen : str
    reason : str
    n_neighbors : int
        Voting neighbours for the chosen metric.
    trials : tuple of Trial or RegressionTrial
        Empty where nothing was to be chosen.

    Examples
    --------
    >>> from cayleyklein import CurvedLMNN
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> selection = CurvedLMNN(random_state=0).fit(X, y).selection_
    >>> [trial.name for trial in selection.trials]
    ['product', 'standardised k-NN', 'Euclidean k-NN']
    """

    chosen: str
    reason: str
    n_neighbors: int = DEFAULT_NEIGHBORS
    trials: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        lines = [f"Selection: {self.chosen}, {self.n_neighbors} neighbours ({self.reason})"]
        width = max((len(trial.name) for trial in self.trials), default=0)
        lines += [
            f"  {t.name:{width}}  {t.scores}, {t.n_neighbors} neighbours" for t in self.trials
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Learned:
    """A metric for rows as they were given, the fits behind it, and how it was chosen."""

    metric: Metric
    fits: tuple[Fit, ...]
    selection: Selection


# -- products -----------------------------------------------------------------------


def learn_product(
    rows: TrainingRows,
    base: LargeMarginRecipe,
    rng: np.random.Generator,
    report: Report | None = None,
) -> Learned:
    """Learn the product, and keep it unless plain neighbours do as well on held-out rows.

    Parameters
    ----------
    rows : TrainingRows
    base : LargeMarginRecipe
        What its parts share; their geometry and margin are their own.
    rng : numpy.random.Generator
    report : callable, optional
    """
    recipes = [replace(base, geometry=g, margin=m) for g, m in PRODUCT]

    def fit(
        some: TrainingRows, report: Report | None = None, n_passes: int = base.n_passes
    ) -> tuple[Fit, ...]:
        fits: list[Fit] = []
        for recipe in recipes:
            recipe = replace(recipe, n_passes=n_passes)
            fits.append(descend(some, recipe, rng, report=report))
            if fits[-1].stopped:
                break
        return tuple(fits)

    if len(rows) < SELECT_FROM:
        fits = fit(rows, report)
        reason = f"too few rows, {len(rows)}, to hold some out"
        few = int(np.clip(len(rows) // 10, 3, DEFAULT_NEIGHBORS))
        return Learned(product_of(rows, fits), fits, Selection("product", reason, few))

    plain = {"standardised k-NN": np.eye(rows.n_columns)}
    if base.n_components is None:
        plain["Euclidean k-NN"] = identity(rows, rows.n_columns)
    scores: dict[str, list[Floats]] = {}
    fits = ()
    folds = split_rows(rows, rng)
    for train, held_out in folds:
        if len(folds) == 1:
            fits = fit(train, report)
        else:
            fits = fit(train, n_passes=min(base.n_passes, FOLD_PASSES))
        maps = {"product": product_map(train, fits)}
        maps |= {name: _linear_map(factor) for name, factor in plain.items()}
        for name, embed in maps.items():
            nearest = _nearest(embed(train.X), embed(held_out.X))
            scores.setdefault(name, []).append(held_out_scores(train, held_out, *nearest))
    selection = choose(scores, [held_out.weights for _, held_out in folds])
    if selection.chosen != "product":
        factor = plain[selection.chosen]
        found = Parameters(factor, np.zeros(rows.n_columns), 0.0)
        return Learned(rows.to_metric(found), (), selection)
    if len(folds) > 1:
        fits = fit(rows, report)
    return Learned(product_of(rows, fits), fits, selection)


def product_map(rows: TrainingRows, fits: tuple[Fit, ...]) -> Callable[[Floats], Floats]:
    """Return the Euclidean map of a product, for standardised rows."""
    parts = [fit.found for fit in fits]
    units = [part_unit(rows, found) for found in parts]

    def embed(X: Floats) -> Floats:
        return np.hstack([_embed(X, p) / u for p, u in zip(parts, units, strict=True)])

    return embed


def product_of(rows: TrainingRows, fits: tuple[Fit, ...]) -> ProductMetric:
    """Return the product for rows as they were given, each part in its own unit."""
    metrics = [rows.to_metric(fit.found, fit.recipe.unit) for fit in fits]
    units = [part_unit(rows, fit.found) / fit.recipe.unit for fit in fits]
    return ProductMetric(metrics, units)


def part_unit(rows: TrainingRows, found: Parameters) -> float:
    """Return the median distance (chord) of a row to its nearest few."""
    Z = _embed(rows.X, found)
    some = np.unique(np.linspace(0, len(Z) - 1, UNIT_ROWS).astype(int))
    k = min(UNIT_NEIGHBORS, len(Z) - 1)
    distances, _ = _search(Z, Z[some], k + 1)
    return float(np.median(distances[:, 1:])) or 1.0


def _embed(X: Floats, found: Parameters) -> Floats:
    return euclidean_coordinates((X - found.center) @ found.factor.T, found.curvature)


def _linear_map(factor: Floats) -> Callable[[Floats], Floats]:
    return lambda X: X @ factor.T


# -- the paper's mixed distance -----------------------------------------------------


def learn_mixed(
    rows: TrainingRows, base: LargeMarginRecipe, margins: tuple[float, float],
    rng: np.random.Generator, report: Report | None = None,
) -> Learned:  # fmt: skip
    """Learn α d_E + (1 - α) d_H, each part in its own unit, α chosen on held-out rows."""
    names = ("elliptic", "hyperbolic")
    recipes = [replace(base, geometry=g, margin=m) for g, m in zip(names, margins, strict=True)]

    def fit(some: TrainingRows, report: Report | None = None) -> tuple[Fit, ...]:
        return tuple(descend(some, recipe, rng, report=report) for recipe in recipes)

    selection = Selection(f"α = {ALPHAS[0]:g}", f"too few rows, {len(rows)}, to hold some out")
    if len(rows) >= SELECT_FROM:
        scores: dict[str, list[Floats]] = {}
        folds = split_rows(rows, rng)
        for train, held_out in folds:
            tables = [
                CurvedMetric(factor=found.factor, center=found.center, curvature=found.curvature)
                .pairwise(held_out.X, train.X, outside="inf") / part_unit(train, found)
                for found in (part.found for part in fit(train))
            ]  # fmt: skip
            for alpha in ALPHAS:
                nearest = _smallest(alpha * tables[0] + (1 - alpha) * tables[1])
                found = held_out_scores(train, held_out, *nearest)
                scores.setdefault(f"α = {alpha:g}", []).append(found)
        selection = choose(scores, [held_out.weights for _, held_out in folds], tie_to_first=True)
    alpha = float(selection.chosen.removeprefix("α = "))
    fits = fit(rows, report)
    weights = [s / part_unit(rows, f.found) for s, f in zip((alpha, 1 - alpha), fits, strict=True)]
    metric = MixedMetric([rows.to_metric(part.found) for part in fits], weights)
    return Learned(metric, fits, selection)


# -- held-out rows ------------------------------------------------------------------


def split_rows(
    rows: TrainingRows, rng: np.random.Generator
) -> list[tuple[TrainingRows, TrainingRows]]:
    """Return pairs of training and held-out rows, every class spread evenly."""
    n = len(rows)
    few = n <= FOLDS_UP_TO
    n_parts = N_FOLDS if few else max(round(1 / HELD_OUT_SHARE), -(-n // MOST_HELD_OUT))
    part = np.empty(n, dtype=np.int64)
    shift = 0
    for label in np.unique(rows.labels):
        some = rng.permutation(np.flatnonzero(rows.labels == label))
        part[some] = (np.arange(len(some)) + shift) % n_parts
        shift += len(some)
    return [
        (rows.take(np.flatnonzero(part != p)), rows.take(np.flatnonzero(part == p)))
        for p in range(N_FOLDS if few else 1)
    ]


def _search(Z: Floats, Q: Floats, k: int) -> tuple[Floats, Ints]:
    found = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(Z).kneighbors(Q)
    return found[0], found[1]


def _nearest(Z: Floats, Q: Floats) -> tuple[Floats, Ints, Floats]:
    """Return the neighbours that the largest vote needs, and the scales of all rows."""
    own, _ = _search(Z, Z, min(len(Z), NEAR + 1))
    scales = as_scales(own[:, -1], float(np.median(own[:, -1])))
    return *_search(Z, Q, min(len(Z), 2 * max(NEIGHBORS) + 1)), scales


def _smallest(table: Floats) -> tuple[Floats, Ints, Floats]:
    """Return the same from a table of distances, the scales alike."""
    order = np.argsort(table, axis=1, kind="stable")[:, : 2 * max(NEIGHBORS) + 1]
    return np.take_along_axis(table, order, axis=1), order, np.ones(table.shape[1])


def held_out_scores(
    train: TrainingRows, held_out: TrainingRows, distances: Floats, columns: Ints, scales: Floats
) -> Floats:
    """Return p(true class) and correctness (2, n_votes, m) for each number of neighbours."""
    n_classes = int(held_out.labels.max()) + 1
    prior = np.bincount(train.labels, weights=train.shares, minlength=n_classes).astype(float)
    each = np.arange(len(held_out))
    found = []
    for k in NEIGHBORS:
        k = min(k, distances.shape[1] - 1)
        some = slice(0, 2 * k + 1)
        chosen, votes = local_votes(distances[:, some], scales[columns[:, some]], k)
        labels = train.labels[np.take_along_axis(columns, chosen, axis=1)]
        shares = class_shares(votes, labels, prior)
        found.append((shares[each, held_out.labels], shares.argmax(axis=1) == held_out.labels))
    return np.moveaxis(np.array(found, dtype=float), 1, 0)


def choose(
    scores: dict[str, list[Floats]], weights: list[Floats], *, tie_to_first: bool = False
) -> Selection:
    """Choose between the first candidate and the best of the others, by log loss.

    Parameters
    ----------
    scores : dict
        Candidate → what `held_out_scores` returned, fold by fold.
    weights : list of ndarray
        Weights of the held-out rows, fold by fold.
    tie_to_first : bool
        Whether the first wins where the difference is less than `TIE` standard errors.
    """
    share = np.concatenate(weights)
    share = share / share.sum()
    trials, losses = [], {}
    for name, folds in scores.items():
        chance, right = np.concatenate(folds, axis=2)
        with np.errstate(divide="ignore"):
            loss = -np.log(np.maximum(chance, np.finfo(float).tiny))
        best = int(np.argmin(loss @ share))
        losses[name] = loss[best]
        trials.append(
            Trial(name, NEIGHBORS[best], float(loss[best] @ share), float(right[best] @ share))
        )
    first, *others = trials
    rival = min(others, key=lambda trial: trial.log_loss)
    gain = losses[rival.name] - losses[first.name]
    mean = float(gain @ share)
    error = float(np.sqrt(share**2 @ (gain - mean) ** 2))
    enough = mean > (-TIE if tie_to_first else TIE) * error
    chosen, other = (first, rival) if enough else (rival, first)
    reason = (
        f"log loss {chosen.log_loss:.3f} on {len(share)} held-out rows, "
        f"{other.name} {other.log_loss:.3f}"
    )
    return Selection(chosen.name, reason, chosen.n_neighbors, tuple(trials))
