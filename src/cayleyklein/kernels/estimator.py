"""What the kernel classifier and the kernel regressor share: fitting, the sum, explanations."""

from collections.abc import Callable
from dataclasses import dataclass, replace
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
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import refuse_huge
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.kernels import fitting, landmarks, sums
from cayleyklein.kernels.machine import GAMMAS, RIDGES
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric
from cayleyklein.neighbors import dask_shards, euclidean, search
from cayleyklein.prediction import points, tasks
from cayleyklein.selection import procedure
from cayleyklein.selection.scores import NEIGHBORS

# Fitted rows, evenly spaced, whose values stand for any other value of a column, and those that
# say what columns count.
REFERENCE_ROWS, WEIGHING_ROWS = 16, 64
ROWS_AT_ONCE = 4096  # predicted together for the shares of columns
PRINTED = 5  # rows and columns of an explanation that are printed, each way


@dataclass(frozen=True, repr=False)
class KernelExplanation:
    """What speaks for and against a prediction.

    For a class, effects are in units of its score: log odds against the mean of the other classes.
    For a number they are in units of the target.

    Attributes
    ----------
    prediction : object
        The predicted class or number.
    unit : str
        What effects are added up to: "log odds of …", or the target.
    rows : ndarray of shape (p,)
        Numbers of the fitted rows, those with the largest effects first. Of equal rows the first
        one stands for all. Landmarks only, where the rows are many.
    effects : ndarray of shape (p,)
        What each of these rows adds, through the kernel machines: positive for, negative against.
    labels : ndarray of shape (p,)
        Their classes, or targets.
    parts : dict of float
        What each part adds: "metric" and "columns" (kernel machines), "neighbors" and "plain"
        (votes).
    columns : ndarray of shape (d,)
        What each column adds: the prediction minus its mean where the column has the values of
        other fitted rows.
    names : ndarray of shape (d,)
        Names of the columns.
    probabilities : ndarray of shape (n_classes,), or None
        In the order of `classes_`.

    Examples
    --------
    >>> from cayleyklein import CurvedKernelClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CurvedKernelClassifier(random_state=0).fit(X[1:], y[1:])
    >>> why = model.explain(X[0])
    >>> int(why.prediction), bool(why.effects[0] > 0), list(why.parts) == list(model.part_weights_)
    (0, True, True)
    """

    prediction: object
    unit: str
    rows: Ints
    effects: Floats
    labels: AnyArray
    parts: dict[str, float]
    columns: Floats
    names: AnyArray
    probabilities: Floats | None = None

    def __repr__(self) -> str:
        sure = "" if self.probabilities is None else f" ({self.probabilities.max():.2f})"
        lines = [f"{self.prediction}{sure}; effects on {self.unit}"]
        lines.append("  parts    " + ", ".join(f"{n} {v:+.2f}" for n, v in self.parts.items()))
        largest = np.argsort(-np.abs(self.columns), kind="stable")[:PRINTED]
        told = (f"{self.names[j]} {self.columns[j]:+.2f}" for j in largest)
        lines.append("  columns  " + ", ".join(told))
        for word, sign in (("for", 1), ("against", -1)):
            some = np.flatnonzero(sign * self.effects > 0)[:PRINTED]
            told = (f"row {self.rows[i]} ({self.labels[i]!s}) {self.effects[i]:+.2f}" for i in some)
            lines.append(f"  {word:7}  " + (", ".join(told) or "no row"))
        return "\n".join(lines)


KERNEL_TEXTS = {
    "machines": """{metric}
columns : {"auto", "standardised", "ranks"}, default="auto"
    Columns in units of their standard deviations, or as normal scores of their ranks, at most 3
    either way, which suits heavy tails. "auto" takes ranks where held-out rows do better.
gamma, ridge : float, optional
    γ > 0 of both kernels, times the median distance between rows, and λ > 0. When None, those
    of 0.1 to 3 and of 0.001 to 30 that predict rows left out best, for each kernel.
n_neighbors : int or "auto", default="auto"
    Neighbours that vote, or are averaged. "auto" is the number with the least log loss (of
    classes) or squared error (of numbers) on held-out rows.
n_landmarks : int or "auto", default="auto"
    Rows at which kernels are taken. "auto" takes all up to 2,500 distinct rows; then 500 to
    2,000, the fewer the more rows, so that a machine takes some seconds.""",
    "sampling": """subsample : int, float, "auto" or None, default="auto"
    Rows to learn the metric from, or their share; all rows count in the machines. "auto" learns
    from all up to 2,500 rows, beyond from a sample that grows while held-out rows gain. None
    takes all rows.
random_state : int, RandomState or None, default=None
    Draws held-out rows, landmarks, and what learning draws.
{watching}""",
    "added": """part_weights_, part_shares_ : dict of float
    The weight of each part that counts, and its share in the spread of the scores.
metric_ : CurvedMetric, MixedMetric, ProductMetric or None
    The metric, of ranks where ``columns_`` is "ranks"; None where no part needs one.
{learner_}
columns_ : {"standardised", "ranks"}
selection_ : Selection
    How each part did alone, and all together, on held-out rows.
n_neighbors_ : dict of int
    Neighbours that vote, or are averaged, by part.
log_marginal_likelihood_ : float
    Of the class indicators, or the standardised targets, as Gaussian processes with the
    covariance of the first kernel part, their variance the best; NaN with landmarks, or without
    a kernel part.
{fitted}""",
}


class KernelEstimator(tasks.Predicting, EstimatorCard, BaseEstimator):
    """Base of the kernel classifier and the kernel regressor."""

    outside = "extend"  # queries outside a hyperbolic domain have the kernel 0
    _few_levels = 8
    _texts: ClassVar = KERNEL_TEXTS
    _sum: fitting.FittedSum
    _task: Any  # LabelSum or NumberSum
    _voters_kind: ClassVar[Any]  # CurvedKNeighborsClassifier or CurvedKNeighborsRegressor

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "parts": [StrOptions(set(sums.PARTS)), tuple, list],
        "columns": [StrOptions({"auto", "standardised", "ranks"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "ridge": [Interval(Real, 0, None, closed="neither"), None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self, parts: Any = sums.PARTS, *, geometry: str = "auto",
        learner: BaseEstimator | None = None, metric: Metric | None = None, columns: str = "auto",
        gamma: float | None = None, ridge: float | None = None, n_neighbors: int | str = "auto",
        n_landmarks: int | str = "auto", subsample: int | float | str | None = "auto",
        random_state: Any = None, callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.parts, self.geometry, self.learner, self.metric = parts, geometry, learner, metric
        self.columns, self.gamma, self.ridge = columns, gamma, ridge
        self.n_neighbors, self.n_landmarks, self.subsample = n_neighbors, n_landmarks, subsample
        self.random_state, self.callback = random_state, callback
        self.verbose, self.n_jobs = verbose, n_jobs

    def _judge(self, held_out: fitting.HeldOut | None) -> None:
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
        names, columns = part_names(self.parts), self.columns
        if self.metric is not None:
            if columns == "ranks":
                raise InvalidInputError(
                    'columns="ranks" learns a metric of ranks, but a metric is given; drop one.'
                )
            columns = "standardised"
        in_memory, n_points = not isinstance(given.X, RowBlocks), int((given.weights > 0).sum())
        if not isinstance(given.X, RowBlocks):
            refuse_huge(given.X, "X")
            n_points = len(points.Points.pooled(given.X, given.weights).rows)
        if given.classes is None:
            task: sums.ScoreSum = sums.NumberSum.standardising(
                given.target.reshape(len(given.target), -1), given.weights
            )
        else:
            self.classes_ = given.classes
            counts, counted = fitting.counted_rows(given)
            n_rows = float(counts.weights.sum()) if counted and in_memory else n_points
            mass = np.bincount(given.target, weights=given.weights, minlength=len(given.classes))
            task = sums.LabelSum(mass / mass.sum(), n_rows)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        fitter = fitting.PartFitter(
            self, task, names, seed,
            GAMMAS if self.gamma is None else (float(self.gamma),),
            RIDGES if self.ridge is None else (float(self.ridge),),
            NEIGHBORS if isinstance(self.n_neighbors, str) else (int(self.n_neighbors),),
        )  # fmt: skip
        with few_threads(len(given.target), given.n_columns):
            few = in_memory and n_points <= procedure.FOLDS_UP_TO
            if few and isinstance(self.n_landmarks, str):
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

    def _keep(self, task: Any, given: GivenRows, found: fitting.FittedSum) -> None:
        self._task, self._sum = task, replace(found, held_out=None)
        on_cluster = isinstance(given.X, RowBlocks)  # where rows stay when a model is pickled
        rows = np.empty((0, given.n_columns)) if on_cluster else given.X
        self._given = replace(given, X=rows, source=None, always=None)
        self.part_weights_ = found.weights
        sizes = dict(found.weights)  # shares in the spread of the scores of held-out rows
        for name, scores in found.held_out.scores.items() if found.held_out else ():
            if name in sizes:
                sizes[name] *= float(np.std(scores))
        whole = sum(sizes.values())
        self.part_shares_ = {n: s / whole if whole else 1 / len(sizes) for n, s in sizes.items()}
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
        self._reference, self._weighing = (
            cast(Floats, given.take(kept[euclidean.even_rows(len(kept), size)]).X)
            for size in (REFERENCE_ROWS, WEIGHING_ROWS)
        )

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "part_weights_")
        rows: Any = search.checked_queries(self, X)
        if isinstance(rows, np.ndarray):
            return rows
        blocks = dask_shards.Blocks([(task,) for task in rows.tasks], rows.lengths)
        return blocks.lazy(((self.n_features_in_,), np.float64))[0]

    def _scores(self, X: Any) -> dict[str, Any]:
        """Return the scores (m, t) of each part that counts, for checked rows."""
        X, found, scores = self._seen_rows(X), self._sum, {}
        for name in self.part_weights_:
            if name in sums.VOTING:
                scores[name] = self._task.of_votes(found.voters[name]._answers(X))
            else:
                machine = found.machines[name]
                scores[name] = on_blocks(machine.scores, X, len(machine.offset))
        return scores

    def _total(self, X: Any) -> Any:
        scores = self._scores(X)
        return sum(weight * scores[name] for name, weight in self.part_weights_.items())

    def kneighbors(self, X: ArrayLike, n_neighbors: int | None = None) -> Any:
        """Return the distances and the rows of the nearest neighbours in the metric, nearest first.

        Parameters
        ----------
        X : array-like of shape (m, d)
        n_neighbors : int, optional; those that vote by default
        """
        rows = self._seen_rows(self._checked(X))
        if "neighbors" not in self._sum.voters:
            raise InvalidInputError('kneighbors needs the part "neighbors".')
        return self._sum.voters["neighbors"].kneighbors(rows, n_neighbors)

    def _seen_rows(self, X: Any) -> Any:
        """Return checked rows as the parts see them: as they are, or as scores of ranks."""
        ranks = self._sum.ranks
        return X if ranks is None else on_blocks(ranks.transform, X)

    def feature_weights(self) -> Floats:
        """Return the share of each column in what the model says; their sum is 1.

        It is the mean squared change of the scores where the column of a fitted row has the value
        of another one: 0 for a column that the model does not look at.
        """
        check_is_fitted(self, "part_weights_")
        rows, said, changes = self._weighing, self._total(self._weighing), []
        others = np.roll(rows, len(rows) // 2, axis=0)
        groups = self._by_column(np.eye(rows.shape[1]))[1].T > 0  # columns of X, d
        for some in np.array_split(groups, -(-len(rows) * len(groups) // ROWS_AT_ONCE)):
            changed = np.where(some[:, None], others, rows).reshape(-1, rows.shape[1])
            away = self._total(changed).reshape(len(some), *said.shape) - said
            changes.extend((away**2).mean(axis=(1, 2)))
        shares = np.zeros(rows.shape[1])  # that of a column is given to its first number
        shares[groups.argmax(axis=1)] = changes
        return self._column_shares(shares / (shares.sum() or 1.0))

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
        scores, query = self._scores(row[None]), self._seen_rows(row[None])
        parts = {n: w * float(scores[n][0] @ direction) for n, w in self.part_weights_.items()}
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
    unknown = [part for part in given if part not in sums.PARTS]
    if unknown or not given or len(set(given)) < len(given):
        raise InvalidInputError(
            f"parts must be one or more of {', '.join(sums.PARTS)}, each once; got {list(given)}."
        )
    return tuple(part for part in sums.PARTS if part in given)
