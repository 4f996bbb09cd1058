"""What the kernel classifier and the kernel regressor share: parameters, fitting, the sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._estimators import check_data, few_threads, is_dask
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import refuse_huge
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.kernels.columns import ColumnDistance
from cayleyklein.kernels.fitting import FittedSum, Task, fit_by_folds
from cayleyklein.kernels.machine import GAMMAS, RIDGES, KernelMachine
from cayleyklein.kernels.many_rows import fit_many
from cayleyklein.kernels.parts import PARTS, VOTING, PartFitter, counted_rows
from cayleyklein.learning.learner import RowLearner
from cayleyklein.learning.rows import GivenRows, TrainingRows, distinct_rows
from cayleyklein.metrics.combined import Metric
from cayleyklein.neighbors.dask_shards import Blocks
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.prediction.metric_choice import SOURCE_CONSTRAINTS, obtain_metric
from cayleyklein.selection import folds, procedure
from cayleyklein.selection.choice import Chosen
from cayleyklein.selection.n_neighbors import NEIGHBORS
from cayleyklein.selection.scorer import Scorer
from cayleyklein.selection.trials import Selection

REFERENCE_ROWS = 16
"""Fitted rows, evenly spaced, whose values stand for any other value of a column."""


class KernelEstimator(EstimatorCard, BaseEstimator):
    """Base of the kernel classifier and the kernel regressor."""

    parts: Any
    geometry: str
    learner: Any
    metric: Metric | None
    columns: str
    gamma: float | None
    ridge: float | None
    n_neighbors: int | str
    n_landmarks: int | str
    subsample: int | float | str | None
    random_state: Any
    callback: Any
    verbose: bool
    n_jobs: int | None
    n_features_in_: int
    _given: GivenRows
    _sum: FittedSum
    _task: Any

    _shared_constraints: ClassVar[dict[str, list[Any]]] = {
        **SOURCE_CONSTRAINTS,
        "parts": [StrOptions(set(PARTS)), tuple, list],
        "columns": [StrOptions({"auto", "standardised", "ranks"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "ridge": [Interval(Real, 0, None, closed="neither"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def _fit_sum(
        self, task: Task, given: GivenRows, make_learner: Callable[..., RowLearner],
        make_neighbors: Callable[[GivenRows, Metric], Any], scorer: Scorer, *, spreads: bool,
    ) -> FittedSum:  # fmt: skip
        """Fit the parts and their weights."""
        names, columns = part_names(self.parts), self.columns
        if self.metric is not None:
            if columns == "ranks":
                raise InvalidInputError(
                    'columns="ranks" learns a metric of ranks, but a metric is given; drop one.'
                )
            columns = "standardised"
        if not isinstance(given.X, RowBlocks):
            refuse_huge(given.X, "X")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        fitter = PartFitter(
            names, task.targets, make_neighbors,
            GAMMAS if self.gamma is None else (float(self.gamma),),
            RIDGES if self.ridge is None else (float(self.ridge),), spreads,
            NEIGHBORS if isinstance(self.n_neighbors, str) else (int(self.n_neighbors),),
        )  # fmt: skip

        def learn(rows: GivenRows, purpose: str) -> tuple[Metric, Any]:
            told = {"callback": self.callback, "verbose": self.verbose}
            learner = make_learner(
                geometry="product" if self.geometry == "auto" else self.geometry,
                subsample=self.subsample, random_state=seed,
                **({} if purpose == "fold" else told),
            )  # fmt: skip
            choose = learn_and_grow if purpose == "sample" else learn_only
            return obtain_metric(self, learner, rows, scorer, choose)[:2]

        with few_threads(len(given.target), given.n_columns):
            X = given.X
            many = isinstance(X, RowBlocks) or n_points(X, given.weights) > folds.FOLDS_UP_TO
            if not many and isinstance(self.n_landmarks, str):
                found = fit_by_folds(task, fitter, given, learn, columns, seed)
            else:
                wanted = None if isinstance(self.n_landmarks, str) else self.n_landmarks
                found = fit_many(task, fitter, given, learn, columns, seed, wanted)
        self._keep(task, given, found)
        return found

    def _keep(self, task: Task, given: GivenRows, found: FittedSum) -> None:
        self._task, self._sum = task, replace(found, held_out=None)
        self._given = replace(given, source=None, always=None)
        self.part_weights_ = found.weights
        self.part_shares_ = part_shares(found)
        self.metric_, self.learner_, self.selection_ = found.metric, found.learner, found.selection
        self.columns_ = "standardised" if found.ranks is None else "ranks"
        machines = iter(found.parts.machines.values())
        first = next(machines, None)
        self.log_marginal_likelihood_ = np.nan if first is None else first.log_likelihood
        self.n_samples_fit_ = len(given.target)
        self.n_neighbors_ = {}
        for name, voters in found.parts.voters.items():
            k = self.n_neighbors
            k = found.n_neighbors[name] if isinstance(k, str) else k
            k = max(1, min(k, voters.n_samples_fit_ - 1))
            self.n_neighbors_[name] = voters.n_neighbors = voters.n_neighbors_ = k
        kept = np.flatnonzero(given.weights > 0)
        numbers = kept[even_rows(len(kept), REFERENCE_ROWS)]
        if isinstance(given.X, RowBlocks):
            self._reference = _distributed.rows_at(given.X, numbers)
        else:
            self._reference = given.X[numbers]

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if isinstance(getattr(state.get("_given"), "X", None), RowBlocks):
            state = {name: value for name, value in state.items() if name != "_given"}
        return state

    # -- predicting -----------------------------------------------------------------

    def _checked(self, X: Any) -> Any:
        """Return checked rows, or a checked Dask array of rows."""
        check_is_fitted(self, "part_weights_")
        if not is_dask(X):
            return check_data(self, X, order="C", reset=False)
        _distributed.check_columns(self, X, reset=False)
        blocks = Blocks.of_dask(X, self.n_features_in_)
        tasks = [(task,) for task in blocks.tasks]
        return Blocks(tasks, blocks.lengths).lazy(((self.n_features_in_,), np.float64))[0]

    def _scores(self, X: Any) -> dict[str, Any]:
        """Return the scores (m, t) of each part that counts, for checked rows."""
        X, parts = self._seen_rows(X), self._sum.parts
        scores = {}
        for name in self.part_weights_:
            if name in VOTING:
                scores[name] = self._task.final_votes(parts.voters[name], X)
            else:
                machine: KernelMachine = parts.machines[name]
                scores[name] = on_blocks(machine.scores, X, len(machine.offset))
        return scores

    def _total(self, X: Any) -> Any:
        """Return the weighted sum (m, t) of the scores of checked rows."""
        scores = self._scores(X)
        return sum(weight * scores[name] for name, weight in self.part_weights_.items())

    def kneighbors(self, X: ArrayLike, n_neighbors: int | None = None) -> Any:
        """Return the distances and the rows of the nearest neighbours in the metric, nearest first.

        Parameters
        ----------
        X : array-like of shape (m, d)
        n_neighbors : int, optional
            By default those that vote.
        """
        rows = self._seen_rows(self._checked(X))
        if "neighbors" not in self._sum.parts.voters:
            raise InvalidInputError('kneighbors needs the part "neighbors".')
        return self._sum.parts.voters["neighbors"].kneighbors(rows, n_neighbors)

    def _seen_rows(self, X: Any) -> Any:
        """Return checked rows as the parts see them: as they are, or as scores of ranks."""
        ranks = self._sum.ranks
        return X if ranks is None else on_blocks(ranks.transform, X)

    # -- explaining -----------------------------------------------------------------

    def feature_weights(self) -> Floats:
        """Return the share of each column in what the model says.

        The metric's own shares (:meth:`CurvedMetric.feature_weights`, over the fitted rows) count
        for the parts in the metric, cⱼ times the mean |xⱼ - yⱼ| of two rows for the part of
        weighted columns, and equal shares for plain neighbours, each part by its share in the
        spread of the scores. With columns as ranks, shares are those of the ranks.

        Returns
        -------
        ndarray of shape (d,)
            With sum 1.
        """
        check_is_fitted(self, "part_weights_")
        rows = self._fitted_rows()
        found = np.zeros(self.n_features_in_)
        for name, share in self.part_shares_.items():
            if name == "columns":
                distance = self._sum.parts.machines[name].distance
                assert isinstance(distance, ColumnDistance)
                carried = distance.weights * mean_difference(rows)
            elif name == "plain":
                carried = (np.ptp(rows, axis=0) > 0).astype(float)
            else:
                assert self.metric_ is not None
                carried = self.metric_.feature_weights(rows)
            found += share * carried / (carried.sum() or 1.0)
        return found

    def _fitted_rows(self) -> Floats:
        """Return points that machines or voters were fitted to, as the parts see them."""
        parts = self._sum.parts
        for machine in parts.machines.values():
            return machine.rows
        rows: Floats = next(iter(parts.voters.values()))._rows_in_memory().X
        return rows

    def _column_effects(self, row: Floats, value: Callable[[Floats], Floats]) -> Floats:
        """Return what each column adds to a value of one row (d,).

        The value minus its mean where the column has the values of other fitted rows.
        """
        d, others = len(row), self._reference
        changed = np.tile(row, (d, len(others), 1))
        each = np.arange(d)
        changed[each, :, each] = others.T
        with_others = value(changed.reshape(-1, d)).reshape(d, len(others))
        return np.asarray(value(row[None])[0] - with_others.mean(axis=1))

    def _row_effects(self, row: Floats, direction: Floats) -> dict[int, float]:
        """Return what the targets of fitted rows add to a score of one row, by their numbers.

        The score is the product of the machines' sum (t,) with a direction (t,). It is linear in
        the targets, and what it is made of adds up to it, but for the offset.
        """
        query = self._seen_rows(row[None])
        effects: dict[int, float] = {}
        for name, machine in self._sum.parts.machines.items():
            weight = self.part_weights_.get(name, 0.0)
            added = weight * machine.influences(query)[0] * (machine.targets @ direction)
            for number, effect in zip(machine.numbers.tolist(), added.tolist(), strict=True):
                effects[number] = effects.get(number, 0.0) + effect
        return effects

    def _column_names(self) -> AnyArray:
        names = [f"x{j}" for j in range(self.n_features_in_)]
        return np.asarray(getattr(self, "feature_names_in_", names))

    def _one_or_more(self, X: ArrayLike, explain: Callable[[Floats], Any]) -> Any:
        """Explain one row (d,), or each of several."""
        check_is_fitted(self, "part_weights_")
        single = np.ndim(X) == 1
        if single:
            X = X.to_frame().T if hasattr(X, "to_frame") else np.reshape(X, (1, -1))
        rows = check_data(self, X, order="C", reset=False)
        found = [explain(row) for row in rows]
        return found[0] if single else found


def on_blocks(function: Callable[[Floats], Floats], X: Any, n_columns: int | None = None) -> Any:
    """Apply a function of rows to an array, or lazily to the blocks of a Dask array."""
    if not is_dask(X):
        return function(X)
    width = (n_columns,) if n_columns else X.chunks[1]
    return X.map_blocks(function, dtype=np.float64, chunks=(X.chunks[0], width))


def part_names(parts: Any) -> tuple[str, ...]:
    """Return the parts that are asked for, in the order of `PARTS`."""
    given = (parts,) if isinstance(parts, str) else tuple(parts)
    unknown = [part for part in given if part not in PARTS]
    if unknown or not given or len(set(given)) < len(given):
        raise InvalidInputError(
            f"parts must be one or more of {', '.join(PARTS)}, each once; got {list(given)}."
        )
    return tuple(part for part in PARTS if part in given)


def n_points(X: Floats, weights: Floats) -> int:
    """Return the number of distinct rows of positive weight."""
    kept = weights > 0
    return len(distinct_rows(X if kept.all() else X[kept])[0])


def n_rows(given: GivenRows) -> float:
    """Return how many rows were seen: counted ones, or distinct ones where weights are not counts.

    Of Dask rows, all with a positive weight.
    """
    if isinstance(given.X, RowBlocks):
        return float((given.weights > 0).sum())
    counts, counted = counted_rows(given)
    return float(counts.weights.sum()) if counted else float(n_points(given.X, given.weights))


def part_shares(found: FittedSum) -> dict[str, float]:
    """Return the share of each part in the spread of the scores of held-out rows."""
    sizes = dict(found.weights)
    if found.held_out is not None:
        scores = found.held_out.scores
        sizes = {name: w * float(np.std(scores[name])) for name, w in sizes.items()}
    whole = sum(sizes.values())
    return {name: size / whole if whole else 1 / len(sizes) for name, size in sizes.items()}


def mean_difference(X: Floats) -> Floats:
    """Return the mean of |xⱼ - yⱼ| over pairs of rows, for each column."""
    n = len(X)
    ranks = 2 * np.arange(n) - n + 1
    return np.asarray(2 * ranks @ np.sort(X, axis=0) / max(1, n * (n - 1)))


def learn_only(
    geometry: str, learner: Any, rows: TrainingRows, scorer: Scorer, rng: np.random.Generator
) -> Chosen:
    """Learn the metric that was asked for; folds decide how much it counts."""
    metric, fits = learner._learn(rows, rng)
    return Chosen(metric, fits, Selection(learner.geometry, "learned", 0), len(rows))


def learn_and_grow(
    geometry: str, learner: Any, rows: TrainingRows, scorer: Scorer, rng: np.random.Generator
) -> Chosen:
    """Learn the metric from a sample that grows while held-out rows gain."""
    geometry = "product" if geometry == "auto" else geometry
    return procedure.select(geometry, learner, rows, scorer, rng)
