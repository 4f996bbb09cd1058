"""Rules: boosted trees in small steps, for what single columns decide by thresholds.

Held-out rows choose the number of rounds. Trees are fitted to places with their targets, in an
order of their own: neither copies of rows nor their order nor the order of columns matters.
"""

from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning.rows import draw_by_class
from cayleyklein.metrics import Metric
from cayleyklein.parts.base import Answer, FitRows, FittedPart, Queries, on_blocks
from cayleyklein.parts.places import pool_pairs
from cayleyklein.parts.tree_arrays import Bins, Trees

# Rounds between which held-out rows choose. With 200 at most log loss is 0.294 and not 0.286 on
# 15,000 rows of magic, 0.384 and not 0.362 on 20,000 generated mixed rows, 0.3869 and not 0.3866 on
# 100,000 of a rule, and R² 0.867 and not 0.869 on 20,000 rows of steps; with 400, 0.289, 0.368,
# 0.3869 and 0.868. Trees of 31 leaves instead of more rounds: 0.287, 0.373, 0.385 and 0.860.
NUMBERS_OF_ROUNDS = (12, 25, 50, 100, 200, 400, 800)
# Rows that grow trees, drawn by class from more. Of 250,000 generated rows of 30 columns and four
# classes 50,000, 100,000 and all give a log loss of 0.595, 0.581 and 0.571 of a sum with the
# columns' kernel, and fits of 25, 30 and 45 s. A rule of 12 columns is left to the kernel by all.
MOST_ROWS = 200_000


@dataclass(frozen=True)
class FittedRules(FittedPart):
    """Boosted trees for class codes `known` among `n_scores`, or for each of several numbers."""

    trees: tuple[Trees, ...]
    n_rounds: int
    n_scores: int
    answer: Answer
    known: Ints | None = None

    @property
    def settings(self) -> int:
        """The number of rounds."""
        return self.n_rounds

    def scores(self, X: Queries) -> Any:
        """Return the scores (m, t) of rows X."""
        return on_blocks(self._scores_in_memory, X, self.n_scores)

    def _scores_in_memory(self, X: Floats) -> Floats:
        return self._after(X, (self.n_rounds,))[0]

    def trials(self, X: Floats) -> dict[int, Floats]:
        """Return the scores (m, t) of rows X by each number of rounds that is tried."""
        tried = tuple(each for each in NUMBERS_OF_ROUNDS if each <= self.n_rounds) or (
            self.n_rounds,
        )
        return dict(zip(tried, self._after(X, tried), strict=True))

    def with_settings(self, settings: int) -> Self:
        """Return the trees of the first rounds."""
        trees = tuple(each.first_rounds(settings) for each in self.trees)
        return replace(self, trees=trees, n_rounds=settings)

    def _after(self, X: Floats, rounds: tuple[int, ...]) -> list[Floats]:
        """Return the scores (m, t) of rows X after some numbers of rounds."""
        by_trees = [trees.raw_scores(X, rounds) for trees in self.trees]
        raw = [np.hstack(each) for each in zip(*by_trees, strict=True)]
        if self.known is None:
            return raw
        return [self.answer.of_votes(self._shares(each)) for each in raw]

    def _shares(self, raw: Floats) -> Floats:
        """Return class shares (m, n_scores); classes that no fitted row has get none."""
        known = cast(Ints, self.known)
        if len(known) == 2:
            raw = np.hstack([np.zeros_like(raw), raw])
        shares = np.zeros((len(raw), self.n_scores))
        shares[:, known] = softmax(raw, axis=1)
        return shares


@dataclass(frozen=True)
class RulesPart:
    """The part of boosted trees."""

    name: str = "rules"
    needs_metric: bool = False
    leads: bool = False
    fits_last: bool = True
    searches: bool = False

    def fit(self, rows: FitRows, metric: Metric | None, settings: Any = None) -> FittedRules:
        """Grow the trees of `settings` rounds, or as many as are tried."""
        given = pool_pairs(rows.given)[0]
        if len(given.target) > MOST_ROWS:
            rng = np.random.default_rng(0)
            given = given.take(draw_by_class(given.labels, MOST_ROWS, 1, rng))
        columns = column_order(cast(Floats, given.X))
        X = np.asarray(given.X)[:, columns]
        bins = Bins.of(X, given.weights)
        if given.classes is not None:
            known, codes = np.unique(given.target, return_inverse=True)
            n_rounds = settings or most_rounds(len(known), len(X))
            trees = grown(HistGradientBoostingClassifier, X, bins, codes, given.weights, n_rounds)
            trees = with_columns(trees, columns)
            return FittedRules((trees,), n_rounds, len(given.classes), rows.answer, known)
        targets = rows.answer.targets(given.target)
        n_rounds = settings or most_rounds(targets.shape[1], len(X))
        by_target = tuple(
            with_columns(
                grown(HistGradientBoostingRegressor, X, bins, y, given.weights, n_rounds), columns
            )
            for y in targets.T
        )
        return FittedRules(by_target, n_rounds, targets.shape[1], rows.answer)


def most_rounds(n_scores: int, n_rows: int) -> int:
    """Return the largest number of rounds that is tried: fewer for many classes and few rows."""
    # One tree for two rows, and 150 to 1,600 of all classes together, which bound the time; more
    # than 200 rounds pay where rows are many.
    n_trees = min(max(n_rows // 2, 150), 1600)
    most = max(200, n_rows // 15)
    allowed = [each for each in NUMBERS_OF_ROUNDS if each <= most and each * n_scores <= n_trees]
    return max(allowed, default=NUMBERS_OF_ROUNDS[0])


def grown(kind: Any, X: Floats, bins: Bins, target: Any, weights: Floats, n_rounds: int) -> Trees:
    """Grow boosted trees; a target that is the same throughout needs none."""
    model = kind(
        max_iter=n_rounds,
        learning_rate=0.1,
        max_leaf_nodes=8,
        min_samples_leaf=10,
        early_stopping=False,
    )
    if (target == target[0]).all():
        none = np.zeros(0, dtype=np.intp)
        base = np.array([float(target[0])])
        return Trees(none, none, np.zeros(0), none, none, np.zeros(0), base)
    model.fit(bins.numbers(X), target, sample_weight=weights)
    return Trees.of_boosting(model).in_units_of(bins)


def with_columns(trees: Trees, columns: Ints) -> Trees:
    """Return trees that were grown on reordered columns, for columns in their own order."""
    asked = np.where(trees.columns < 0, -1, columns[trees.columns])
    return trees._replace(columns=asked)


def column_order(X: Floats) -> Ints:
    """Return an order of columns that depends on their values only, for ordered rows."""
    return np.asarray(np.lexsort(X[::-1]))
