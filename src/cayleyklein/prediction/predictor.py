"""What the classifier and the regressor by neighbours share: fits, growth, and answers."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks
from cayleyklein._estimators import check_parameters, few_threads, restore_on_error
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric, Metric, combined
from cayleyklein.neighbors import search
from cayleyklein.neighbors.dask_shards import Shards
from cayleyklein.neighbors.estimator import NeighborMethods, refuse_growth
from cayleyklein.neighbors.search import Ranked, SearchIndex
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.prediction.points import LeftOut, LocalScales, Points
from cayleyklein.prediction.tasks import Predicting, obtain_metric
from cayleyklein.prediction.votes import LabelVotes, NumberMeans, Weights, candidates_of, nearest_of

PRINTED_ROWS, PRINTED_COLUMNS = 10, 5  # voters and columns that are printed
MOST_MEASURED = 4  # rows over those wanted, up to which measuring all is quicker than a search


NEIGHBOR_TEXTS = {
    "searching": """subsample : int, float, "auto" or None, default="auto"
    Rows to learn the metric from, or their share; all rows vote. "auto" takes at most 10,000
    for a single geometry; for "auto" and "product" the sample doubles from 8,000 rows on until
    held-out rows show no gain (``selection_.stages``). None takes all rows.
algorithm : {"auto", "brute", "tree", "vantage"}, default="auto"
    How neighbours are searched: "auto" (probes the fitted rows), "brute", "tree" (k-d tree) or
    "vantage" (vantage point tree).
outside : {"extend", "raise"}, default="extend"
    Queries outside a hyperbolic domain: "extend" ranks the fitted rows for them, all infinitely
    far; "raise" is an error that names them.
random_state : int, RandomState or None, default=None
    Draws held-out rows, and what learning draws.
{watching}""",
    "learned": """metric_ : CurvedMetric, MixedMetric or ProductMetric
n_neighbors_ : int
    Neighbours that vote, or are averaged.
{learner_}
selection_ : Selection or None
    What was tried on held-out rows, what was chosen and why; None with a learner or a metric of
    one's own.
algorithm_used_ : str
{fitted}""",
}


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why one row is predicted as it is, by the votes of its neighbours.

    Attributes
    ----------
    prediction : object
        The class with the largest probability, or the mean of numbers.
    probabilities : ndarray of shape (n_classes,)
        In the order of `classes`.
    classes : ndarray of shape (n_classes,)
        Empty for numbers.
    rows : ndarray of shape (k,)
        The fitted rows that voted, those with the largest votes first.
    labels : ndarray of shape (k,)
        Their classes or numbers; the mean number of equal rows, which vote as one.
    distances : ndarray of shape (k,)
    votes : ndarray of shape (k,)
        Their shares of all votes, with sum 1.
    columns : ndarray of shape (k, d)
        Signed share of each column in the distance to each voter, see ``metric_.column_shares``:
        a column with a negative share brings the two rows closer. NaN where the distance is
        infinite.
    names : ndarray of shape (d,)
        Names of the columns.

    Examples
    --------
    >>> from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric
    >>> model = CurvedKNeighborsClassifier(2, metric=CurvedMetric.euclidean(2), weights="linear")
    >>> model = model.fit([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], ["a", "b", "b"])
    >>> model.explain([0.0, 1.0])
    a (a 0.57, b 0.43)
      vote  class  row  distance  columns
      0.59  a        0         1  x1 1.00, x0 0.00
      0.41  b        1     4.243  x0 0.50, x1 0.50
    """

    prediction: object
    probabilities: Floats
    classes: AnyArray
    rows: Ints
    labels: AnyArray
    distances: Floats
    votes: Floats
    columns: Floats
    names: AnyArray

    def __repr__(self) -> str:
        shares = (f"{c} {p:.2f}" for c, p in zip(self.classes, self.probabilities, strict=True))
        lines, what = [f"{self.prediction} ({', '.join(shares)})"], "class"
        labels = [str(label) for label in self.labels[:PRINTED_ROWS]]
        if not len(self.classes):
            first, *labels = (
                ", ".join(f"{number:.6g}" for number in np.ravel(found))
                for found in (self.prediction, *self.labels[:PRINTED_ROWS])
            )
            lines, what = [first], "value"
        width = max(5, *map(len, labels))
        lines.append(f"  vote  {what:{width}}  row  distance  columns")
        closer = False
        for at in range(len(labels)):
            largest = np.argsort(-np.abs(self.columns[at]), kind="stable")[:PRINTED_COLUMNS]
            closer |= bool((self.columns[at, largest] <= -0.005).any())  # printed as -0.01 or less
            made = ", ".join(f"{self.names[j]} {self.columns[at, j]:.2f}" for j in largest)
            lines.append(
                f"  {self.votes[at]:.2f}  {labels[at]:{width}}  {self.rows[at]:3}  "
                f"{self.distances[at]:8.4g}  {made}"
            )
        if len(self.rows) > PRINTED_ROWS:
            lines.append(f"  and {len(self.rows) - PRINTED_ROWS} more voters")
        if closer:
            lines.append("  (a column with a negative share brings the two rows closer)")
        return "\n".join(lines)


class NeighborPredictor(Predicting, NeighborMethods):
    """Base of the predictors by neighbours: points vote, and `kneighbors` finds rows."""

    weights: Weights
    metric_: Metric
    _searcher: SearchIndex | Shards
    _texts: ClassVar = NEIGHBOR_TEXTS
    _table: Any  # LabelVotes or NumberMeans
    _all_rows: SearchIndex | None = None  # made when it is asked for; None where rows are points

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the metric from rows, which are then the neighbours of queries.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
        y : array-like or Dask collection of shape (n,), of numbers also (n, n_targets)
            Labels of the classifier, numbers of the regressor.
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows in the learner's loss, and of their votes. Only their ratios count.
        """
        return self._fit(self._read(X, y, sample_weight))

    def _fit(self, given: GivenRows) -> Self:
        self.learner_, self.selection_ = None, None
        learns = self._numeric and self.metric is None and self.learner is None
        if learns and not isinstance(given.X, RowBlocks) and (given.X[0] == given.X).all():
            metric: Metric = CurvedMetric.euclidean(given.n_columns)
        else:
            metric, self.learner_, self.selection_ = obtain_metric(self, given)
        self._take(given, metric)
        k: Any = self.n_neighbors
        if k == "auto":
            k = self.selection_.n_neighbors if self.selection_ else self._usual_neighbors
            k = max(1, min(k, self.n_samples_fit_ - 1))
        self.n_neighbors_ = k
        return self

    def _take(self, given: GivenRows, metric: Metric) -> None:
        """Index the rows, equal ones in memory as one point; Dask rows where they are."""
        scales, local = None, isinstance(self.weights, str) and self.weights == "local"
        with few_threads(len(given.target), given.n_columns):
            if isinstance(given.X, RowBlocks):
                points = Points(*np.tile(np.arange(len(given.target)), (2, 1)))
                self._searcher = Shards.build(given.X, metric, self.algorithm)
                if local:
                    scales = LocalScales.on_cluster(given.X, metric, self.n_jobs)
            else:
                rows = given.places
                if combined.has_boundary(metric):
                    refuse_outside(metric.contains(rows))
                points = Points.pooled(rows, given.weights)
                distinct = rows if len(points.rows) == len(rows) else rows[points.rows]
                index = self._searcher = SearchIndex(distinct, metric, self.algorithm)
                scales = LocalScales.among(index, self.n_jobs) if local else None
        self._given = replace(given, source=None, always=None)
        self.metric_, self._all_rows = metric, None
        self.n_samples_fit_, self.algorithm_used_ = len(given.target), self._searcher.name
        if given.classes is None:
            targets = given.target.reshape(len(given.target), -1)
            self._table = NumberMeans(points, targets, given.weights, self.weights)
        else:
            self.classes_, C = given.classes, len(given.classes)
            self._table = LabelVotes(points, given.target, given.weights, C, self.weights, scales)
            self.class_prior_ = self._table.prior

    def _grow(self, X: Any, y: Any, sample_weight: Any, classes: AnyArray | None = None) -> Self:
        """Add rows in memory, of known classes; the metric stays. The first call is a fit."""
        refuse_growth(self, X)
        if not hasattr(self, "metric_"):
            return self._fit(self._read(X, y, sample_weight, classes=classes))
        added = self._read(X, y, sample_weight, classes=classes, reset=False)
        outputs = self._given.target.shape[1:]
        if added.target.shape[1:] != outputs:
            raise InvalidInputError(
                f"y has shape {added.target.shape}, but expected {(len(added.target), *outputs)}, "
                f"like the targets of the rows before."
            )
        refuse_outside(self.metric_.contains(added.X))
        self._take(self._given.joined(added), self.metric_)
        return self

    def _answers(self, X: Any, best: bool = False) -> Any:
        """Return class probabilities or mean targets (m, t) by the votes of the nearest points.

        With `best`, return the numbers (m,) of the most probable classes, made by blocks of queries
        without all m × C probabilities.
        """
        k = search.number_of_neighbors(self, own=X is None)
        queries, n_wanted = search.checked_queries(self, X), candidates_of(self.weights, k)
        if self.weights != self._table.weights:  # set after the fit
            check_parameters(self)
            self._take(self._given, self.metric_)
        table, index, finish = self._table, self._searcher, partial(answers, k=k, best=best)
        if queries is None and isinstance(index, SearchIndex):
            rows, parts = cast(Floats, self._given.X), []
            for block in search.slices(len(rows), search.CHUNK):
                # one point more than wanted, as a row's own may be dropped
                found = index.nearest(rows[block], n_wanted + 1, self.n_jobs)
                parts.append(finish(found, table, block.start)[0])
            return np.concatenate(parts)
        kind: search.Kind = ((), np.intp) if best else ((table.width,), np.float64)
        return index.answer(queries, n_wanted, finish, table, (kind,), self.n_jobs)[0]

    def explain(self, X: ArrayLike) -> Any:  # by the shape of X, which types do not know
        """Say why rows are predicted as they are: who voted, and what the distances are made of.

        Parameters
        ----------
        X : array-like of shape (d,) for one Explanation, or (m, d) for a list of them

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cayleyklein import CurvedKNeighborsClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = CurvedKNeighborsClassifier(random_state=0).fit(X[1:], y[1:])
        >>> why = model.explain(X[0])
        >>> int(why.prediction), bool((why.labels == 0).all()), bool(why.votes.sum().round(9) == 1)
        (0, True, True)
        """
        fitted = self._rows_in_memory().X

        def explain(queries: Floats) -> list[Explanation]:
            k, index = search.number_of_neighbors(self), cast(SearchIndex, self._searcher)
            found = index.nearest(queries, candidates_of(self.weights, k), self.n_jobs)
            votes, answers = self._table.ballots(found, k), self._table.answers(found, k)
            why = []
            for at, query in enumerate(queries):
                mine = np.flatnonzero((votes.queries == at) & (votes.votes > 0))
                mine = mine[np.argsort(-votes.votes[mine], kind="stable")]
                rows, far = votes.rows[mine], found.distances[at, votes.places[mine]]
                columns = np.full((len(mine), len(query)), np.nan)
                finite = np.isfinite(far)
                if finite.any():
                    pairs = np.broadcast_arrays(query, fitted[rows[finite]])
                    columns[finite] = self.metric_.column_shares(*pairs)
                names, columns = self._by_column(columns)
                if self.encoder_ is not None:  # signs within a column of X cancel
                    totals = np.abs(columns).sum(axis=-1, keepdims=True)
                    columns = columns / np.where(totals > 0, totals, 1.0)
                shares = votes.votes[mine] / votes.votes[mine].sum()
                answer, labels = answers[at], votes.labels[mine]
                if self._numeric:
                    (mean,), values = map(self._shaped, (answer[None], labels))
                    said = mean, np.empty(0), np.empty(0), rows, values
                else:
                    classes = self.classes_
                    said = classes[answer.argmax()], answer, classes, rows, classes[labels]
                why.append(Explanation(*said, far, shares, columns, names))
            return why

        return self._one_or_more(X, explain)

    def _by_number(self, X: Floats, numbers: tuple[int, ...]) -> Floats:
        """Return answers (n_numbers, m, t) for checked rows, for each number of neighbours."""
        index, weights = cast(SearchIndex, self._searcher), self.weights
        wanted = candidates_of(weights, max(numbers))
        if combined.has_boundary(self.metric_) or len(index) > MOST_MEASURED * wanted:
            found = index.nearest(X, wanted, self.n_jobs)
        else:
            distances = cast(Floats, self.metric_.pairwise(X, index.X))
            rows = np.argsort(distances, axis=1, kind="stable")[:, :wanted]
            distances = np.take_along_axis(distances, rows, axis=1)
            found = Ranked(distances, rows, np.ones(len(X), dtype=bool))
        ks = [max(1, min(number, found.rows.shape[1] - 1)) for number in numbers]
        near = [nearest_of(found, candidates_of(weights, k)) for k in ks]
        return np.array([self._table.answers(*each) for each in zip(near, ks, strict=True)])

    def _row_index(self) -> SearchIndex | Shards:
        check_is_fitted(self, "metric_")
        if isinstance(self._searcher, Shards) or len(self._searcher) == self.n_samples_fit_:
            return self._searcher
        if self._all_rows is None:
            self._all_rows = SearchIndex(self._given.places, self.metric_, self.algorithm)
        return self._all_rows


def answers(found: Ranked, table: Any, first: int | None, *, k: int, best: bool) -> tuple[Any]:
    """Return a table's answers; queries are the fitted rows from `first` on, or others."""
    left_out = None
    if first is not None:
        left_out = LeftOut.of(table.points, first + np.arange(len(found.rows)))
        found = left_out.drop_from(found, candidates_of(table.weights, k))
    made = table.answers(found, k, left_out)
    return (made.argmax(axis=1) if best else made,)
