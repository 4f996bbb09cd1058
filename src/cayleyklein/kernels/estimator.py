"""What the kernel classifier and the kernel regressor share: parameters, fitting, the sum."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks
from cayleyklein._estimators import few_threads, is_dask, restore_on_error
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import refuse_huge
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.kernels import fitting, landmarks
from cayleyklein.kernels.columns import ColumnDistance
from cayleyklein.kernels.explanation import KernelExplanation
from cayleyklein.kernels.fitting import FittedSum, HeldOut, PartFitter
from cayleyklein.kernels.machine import GAMMAS, RIDGES
from cayleyklein.kernels.sums import PARTS, VOTING, ScoreSum
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.metrics.combined import Metric
from cayleyklein.neighbors.dask_shards import Blocks
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.neighbors.search import checked_queries
from cayleyklein.prediction.points import Points
from cayleyklein.prediction.tasks import COMMON_CONSTRAINTS, Predicting, obtain_metric
from cayleyklein.selection import folds
from cayleyklein.selection.scores import NEIGHBORS

# Fitted rows, evenly spaced, whose values stand for any other value of a column.
REFERENCE_ROWS = 16


class KernelEstimator(Predicting, EstimatorCard, BaseEstimator):
    """Base of the kernel classifier and the kernel regressor."""

    outside = "extend"  # queries outside a hyperbolic domain have the kernel 0
    _sum: FittedSum
    _task: Any  # LabelSum or NumberSum
    _voters_kind: ClassVar[Any]  # CurvedKNeighborsClassifier or CurvedKNeighborsRegressor

    _kernel_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON_CONSTRAINTS,
        "parts": [StrOptions(set(PARTS)), tuple, list],
        "columns": [StrOptions({"auto", "standardised", "ranks"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "ridge": [Interval(Real, 0, None, closed="neither"), None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        parts: Any = ("metric", "columns", "neighbors", "plain"),
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: CurvedMetric | MixedMetric | ProductMetric | None = None,
        columns: str = "auto",
        gamma: float | None = None,
        ridge: float | None = None,
        n_neighbors: int | str = "auto",
        n_landmarks: int | str = "auto",
        subsample: int | float | str | None = "auto",
        random_state: int | np.random.RandomState | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.parts = parts
        self.geometry = geometry
        self.learner = learner
        self.metric = metric
        self.columns = columns
        self.gamma = gamma
        self.ridge = ridge
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.subsample = subsample
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _make_sum(self, given: GivenRows) -> ScoreSum:
        raise NotImplementedError

    def _judge(self, held_out: HeldOut | None) -> None:
        """Keep what held-out rows say of errors."""

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the metric, fit the machines, and weigh the parts.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
        y : array-like or Dask collection of shape (n,), of numbers also (n, n_targets)
            Labels of two classes or more for the classifier, numbers for the regressor.
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows. Only their ratios count.
        """
        given = self._read(X, y, sample_weight)
        task = self._make_sum(given)
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

        def learn(rows: GivenRows, purpose: str) -> tuple[Metric, Any]:
            changed: dict[str, Any] = {"random_state": seed}
            changed["geometry"] = "product" if self.geometry == "auto" else self.geometry
            changed |= {"callback": None, "verbose": False} if purpose == "fold" else {}
            return obtain_metric(self, rows, purpose == "sample", **changed)[:2]

        fitter = PartFitter(
            task, names, learn, self._make_voters, self._scorer.default_neighbors, seed,
            GAMMAS if self.gamma is None else (float(self.gamma),),
            RIDGES if self.ridge is None else (float(self.ridge),),
            NEIGHBORS if isinstance(self.n_neighbors, str) else (int(self.n_neighbors),),
        )  # fmt: skip
        with few_threads(len(given.target), given.n_columns):
            many = isinstance(given.X, RowBlocks) or n_points(given) > folds.FOLDS_UP_TO
            if not many and isinstance(self.n_landmarks, str):
                found = fitting.fit_by_folds(fitter, given, columns)
            else:
                wanted = None if isinstance(self.n_landmarks, str) else self.n_landmarks
                found = landmarks.fit_many(fitter, given, columns, wanted)
        self._keep(task, given, found)
        self._judge(found.held_out)
        return self

    def _make_voters(self, given: GivenRows, metric: Metric) -> Any:
        voters = self._voters_kind(metric=metric, n_jobs=self.n_jobs)
        voters.n_features_in_ = given.n_columns
        return voters._fit(given)

    def _keep(self, task: Any, given: GivenRows, found: FittedSum) -> None:
        self._task, self._sum = task, replace(found, held_out=None)
        self._given = replace(given, source=None, always=None)
        self.part_weights_ = found.weights
        self.part_shares_ = part_shares(found)
        self.metric_, self.learner_, self.selection_ = found.metric, found.learner, found.selection
        self.columns_ = "standardised" if found.ranks is None else "ranks"
        likelihoods = [machine.log_likelihood for machine in found.machines.values()]
        self.log_marginal_likelihood_ = [*likelihoods, np.nan][0]
        self.n_samples_fit_ = len(given.target)
        self.n_neighbors_ = {}
        for name, voters in found.voters.items():
            k = self.n_neighbors
            k = found.n_neighbors[name] if isinstance(k, str) else k
            k = max(1, min(k, voters.n_samples_fit_ - 1))
            self.n_neighbors_[name] = voters.n_neighbors = voters.n_neighbors_ = k
        kept = np.flatnonzero(given.weights > 0)
        numbers = kept[even_rows(len(kept), REFERENCE_ROWS)]
        self._reference = cast(Floats, fitting.rows_in_memory(given, numbers).X)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if isinstance(getattr(state.get("_given"), "X", None), RowBlocks):
            state = {name: value for name, value in state.items() if name != "_given"}
        return state

    # -- predicting -----------------------------------------------------------------

    def _checked(self, X: Any) -> Any:
        """Return checked rows, or a checked Dask array of rows."""
        check_is_fitted(self, "part_weights_")
        rows = cast(Floats | Blocks, checked_queries(self, X))
        if isinstance(rows, np.ndarray):
            return rows
        tasks = [(task,) for task in rows.tasks]
        return Blocks(tasks, rows.lengths).lazy(((self.n_features_in_,), np.float64))[0]

    def _scores(self, X: Any) -> dict[str, Any]:
        """Return the scores (m, t) of each part that counts, for checked rows."""
        X, found = self._seen_rows(X), self._sum
        scores = {}
        for name in self.part_weights_:
            if name in VOTING:
                scores[name] = self._task.of_votes(found.voters[name]._answers(X))
            else:
                machine = found.machines[name]
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
        if "neighbors" not in self._sum.voters:
            raise InvalidInputError('kneighbors needs the part "neighbors".')
        return self._sum.voters["neighbors"].kneighbors(rows, n_neighbors)

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
        machines = list(self._sum.machines.values())
        rows: Floats = (  # some that parts were fitted to, as the parts see them
            machines[0].rows
            if machines
            else next(iter(self._sum.voters.values()))._rows_in_memory().X
        )
        found = np.zeros(rows.shape[1])
        for name, share in self.part_shares_.items():
            if name == "columns":
                distance = cast(ColumnDistance, self._sum.machines[name].distance)
                carried = distance.weights * mean_difference(rows)
            elif name == "plain":
                carried = (np.ptp(rows, axis=0) > 0).astype(float)
            else:
                carried = cast(Metric, self.metric_).feature_weights(rows)
            found += share * carried / (carried.sum() or 1.0)
        return self._column_shares(found)

    def _explain(
        self, row: Floats, direction: Floats, prediction: Any, unit: str, labels: AnyArray,
        shares: Floats | None = None,
    ) -> KernelExplanation:  # fmt: skip
        """Explain the product of the sum (t,) at one row with a direction (t,).

        The machines' sum is linear in the targets of the fitted rows: what each adds is exact. What
        a column adds is the value minus its mean where the column has the values of other rows.
        """
        names, groups = self._by_column(np.eye(len(row)))
        changed = np.where(groups.T[:, None] > 0, self._reference, row)  # columns of X, rows, d
        total = self._total(changed.reshape(-1, len(row))) @ direction
        with_others = total.reshape(changed.shape[:2])
        scores = {
            name: float(found[0] @ direction) for name, found in self._scores(row[None]).items()
        }
        parts = {name: weight * scores[name] for name, weight in self.part_weights_.items()}
        query = self._seen_rows(row[None])
        effects: dict[int, float] = {}
        for name, machine in self._sum.machines.items():
            weight = self.part_weights_.get(name, 0.0)
            added = weight * machine.influences(query)[0] * (machine.targets @ direction)
            for number, effect in zip(machine.numbers.tolist(), added.tolist(), strict=True):
                effects[number] = effects.get(number, 0.0) + effect
        rows, values = np.array(list(effects), dtype=np.intp), np.array(list(effects.values()))
        order = np.argsort(-np.abs(values), kind="stable")
        return KernelExplanation(
            prediction, unit, rows[order], values[order], labels[rows[order]], parts,
            sum(parts.values()) - with_others.mean(axis=1), names, shares,
        )  # fmt: skip


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


def n_rows(given: GivenRows) -> float:
    """Return how many rows were seen: counted ones, or distinct ones where weights are not counts.

    Of Dask rows, all with a positive weight.
    """
    if isinstance(given.X, RowBlocks):
        return float((given.weights > 0).sum())
    counts, counted = fitting.counted_rows(given)
    return float(counts.weights.sum()) if counted else n_points(given)


def n_points(given: GivenRows) -> int:
    return len(Points.pooled(cast(Floats, given.X), given.weights).rows)


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
