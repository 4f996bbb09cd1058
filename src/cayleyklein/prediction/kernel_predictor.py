"""What the kernel classifier and the kernel regressor share: fits, sums and explanations."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks
from cayleyklein._estimators import few_threads, restore_on_error
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import refuse_huge
from cayleyklein.columns import entrance, uses
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import folds, samples
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric
from cayleyklein.neighbors import euclidean, search
from cayleyklein.neighbors.search import SearchIndex
from cayleyklein.parts import distances, kernel, landmarks
from cayleyklein.parts.base import AnyQueries, Part, TableRows, numbers_of
from cayleyklein.parts.estimator import EstimatorPart
from cayleyklein.parts.places import Places
from cayleyklein.parts.registry import PARTS, PartOptions, asked_parts
from cayleyklein.parts.votes import NEIGHBORS, FittedVotes
from cayleyklein.prediction import strangers, sums
from cayleyklein.prediction.answers import AnyAnswer
from cayleyklein.prediction.explain import shares_of_columns
from cayleyklein.prediction.predicting import Predicting, refit_answers


class KernelPredictor(Predicting, EstimatorCard, BaseEstimator):
    """Base of the kernel classifier and the kernel regressor."""

    outside = "extend"  # queries outside a hyperbolic domain have the kernel 0
    few_levels = 8
    _sum: sums.Sum
    _left_out: Floats | None
    _column_shares: Floats | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "parts": [StrOptions({"auto", *PARTS}), tuple, list, HasMethods(["fit"])],
        "columns": [StrOptions({"auto", "standardised", "ranks"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "ridge": [Interval(Real, 0, None, closed="neither"), None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        parts: Any = "auto",
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: Metric | None = None,
        columns: str = "auto",
        gamma: float | None = None,
        ridge: float | None = None,
        n_neighbors: int | str = "auto",
        n_landmarks: int | str = "auto",
        subsample: int | float | str | None = "auto",
        random_state: Any = None,
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

    @abstractmethod
    def _answer_for(self, given: GivenRows, n_places: int, seed: int) -> AnyAnswer:
        """Return what the targets of given rows mean: classes or numbers."""

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the metric, fit the machines, and weigh the parts.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
            Rows.
        y : array-like or Dask collection of shape (n,), of numbers also (n, n_targets)
            Labels of two classes or more for the classifier, numbers for the regressor.
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows. Only their ratios count.
        """
        given = self._read(X, y, sample_weight)
        if not isinstance(given.X, RowBlocks):
            refuse_huge(given.X, "X")
        seed = self._seed()
        rows = rows_that_count(given)
        parts = self._asked_parts(len(rows), seed)
        if any(isinstance(part, EstimatorPart) and part.takes_tables for part in parts):
            given = self._with_table(given, X)
        if self.metric is not None and self.columns == "ranks":
            raise InvalidInputError(
                'columns="ranks" learns a metric of ranks, but a metric is given; drop one.'
            )
        found = self._fit_sum(given, rows, parts, seed)
        self._keep(given, found)
        return self

    def _fit_sum(
        self,
        given: GivenRows,
        rows: Ints,
        parts: list[Part],
        seed: int,
        answer: AnyAnswer | None = None,
    ) -> sums.SumFit:
        """Fit parts to rows, and weigh them; for a known answer without a word.

        `rows` are those of `rows_that_count`.
        """
        n_places = len(rows)
        if isinstance(given.X, RowBlocks):
            rng = np.random.default_rng(seed)
            some = cast(Floats, given.draw(distances.EXACT_PLACES, 1, rng).X)
        else:
            if n_places > folds.FOLDS_UP_TO:
                rows = rows[euclidean.even_rows(n_places, distances.EXACT_PLACES)]
            some = given.X[rows]
        names = {part.name for part in parts}
        adds_ranks = (
            self.columns == "auto"
            and self.metric is None
            and "columns" in names
            and "ranks" not in names
            and distances.has_heavy_tails(some)
        )
        metric = self._metric_request(seed, "product" if self.geometry == "auto" else self.geometry)
        if isinstance(self.subsample, str):
            metric = replace(metric, subsample=samples.LEARN_FROM_BESIDE_OTHERS)
        if answer is None:
            answer = self._answer_for(given, n_places, seed)
        else:
            metric = replace(metric, callback=None, verbose=False)
        request = sums.SumRequest(
            parts=parts,
            rank_part=PARTS["ranks"](self._part_options()) if adds_ranks else None,
            ranked=self.columns == "ranks",
            answer=answer,
            metric=metric,
            n_landmarks=None if isinstance(self.n_landmarks, str) else self.n_landmarks,
            seed=seed,
        )
        few = not isinstance(given.X, RowBlocks) and n_places <= folds.FOLDS_UP_TO
        modelled = replace(given, target=answer.modelled(given.target))
        # threads would wait for each other at the small products of leaves: with two 50,000 rows of
        # 12 columns take 17 s, and with one 5 s
        _, at_once, _ = landmarks.sizes(n_places, request.n_landmarks)
        with few_threads(at_once, given.n_columns):
            if few and isinstance(self.n_landmarks, str):
                return sums.fit_few(request, modelled)
            return sums.fit_many(request, modelled)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _asked_parts(self, n_places: int, seed: int) -> list[Part]:
        """Return the parts that are asked for, by default those for so many distinct rows."""
        options = self._part_options()
        return asked_parts(self.parts, n_places, options, seed, numeric=self._numeric)

    def _with_table(self, given: GivenRows, X: Any) -> GivenRows:
        """Return rows beside the table that they come from, for parts that ask for its cells."""
        if isinstance(given.X, RowBlocks):
            raise InvalidInputError(
                "X is a Dask collection, but a part takes tables, which must be in memory; "
                "pass X.compute(), or a part that takes numbers."
            )
        table = uses.as_table(X)
        self._table_columns = list(table.columns)
        return replace(given, table=table)

    def _part_options(self) -> PartOptions:
        return PartOptions(
            gammas=kernel.GAMMAS if self.gamma is None else (float(self.gamma),),
            ridges=kernel.RIDGES if self.ridge is None else (float(self.ridge),),
            numbers=NEIGHBORS if isinstance(self.n_neighbors, str) else (int(self.n_neighbors),),
            n_jobs=self.n_jobs,
        )

    @property
    def fitted_sum(self) -> sums.Sum:
        """The parts and their weights."""
        check_is_fitted(self, "part_weights_")
        return self._sum

    def _keep(self, given: GivenRows, found: sums.SumFit) -> None:
        """Set the fitted attributes, after a fit or from a model file."""
        self._sum = found.sum
        self._left_out = found.left_out
        on_cluster = isinstance(given.X, RowBlocks)  # where rows stay when a model is pickled
        rows = np.empty((0, given.n_columns)) if on_cluster else given.X
        self._given = replace(given, X=rows, source=None, always=None, table=None)
        self._known_rows = strangers.FamiliarRows.of(given)
        if given.classes is not None:
            self.classes_ = given.classes
        self.part_weights_ = found.sum.weights
        self.part_shares_ = part_shares(found)
        self.metric_ = found.obtained.metric
        self.learner_ = found.obtained.learner
        self.selection_ = found.selection
        self.columns_ = "standardised" if found.sum.ranks is None else "ranks"
        machines = [p for p in found.sum.parts.values() if isinstance(p, kernel.KernelMachine)]
        self.log_marginal_likelihood_ = machines[0].log_likelihood if machines else np.nan
        self.n_samples_fit_ = len(given.target)
        self.n_neighbors_ = {
            name: part.n_neighbors
            for name, part in found.sum.parts.items()
            if isinstance(part, FittedVotes)
        }
        kept = np.flatnonzero(given.weights > 0)
        # their values stand for any other value of a column
        self._reference = some_rows(given, kept, 16)
        # they say what columns count
        self._weighing = some_rows(given, kept, 64)
        self._column_shares = None  # until they are asked for

    def _left_out_totals(self) -> Floats:
        """Return the sums (n, t) of scores of the fitted rows by fits without them.

        Rows of weight 0 are in no fit. Of a row that no fit was without, as the only one of its
        class, nothing but the class shares, or the mean, is known.
        """
        check_is_fitted(self, "part_weights_")
        if self._left_out is None:
            if self._sum.takes_tables:
                raise InvalidInputError(
                    "A part takes tables, of which the model keeps no cells: left-out answers of "
                    "so many rows need rows that are not fitted; hold some out."
                )
            n_places = len(rows_that_count(self._given))

            def answers(train: GivenRows, out: GivenRows) -> Floats:
                seed = self._seed()
                parts = self._asked_parts(n_places, seed)
                rows = rows_that_count(train)
                fitted = self._fit_sum(train, rows, parts, seed, self._sum.answer)
                return np.asarray(fitted.sum.total(np.asarray(out.X)))

            n_targets = self._sum.answer.targets(self._given.target[:1]).shape[1]
            self._left_out = refit_answers(answers, self._given, n_targets)
        usual = self._sum.answer.usual()
        totals = np.where(np.isnan(self._left_out), usual, self._left_out)
        unused = np.flatnonzero(self._given.weights == 0)
        if len(unused) and not self._sum.takes_tables:
            totals[unused] = self._sum.total(cast(Floats, self._given.places)[unused])
        return totals

    def _checked(self, X: Any) -> AnyQueries:
        check_is_fitted(self, "part_weights_")
        rows = cast(AnyQueries, search.checked_queries(self, X))
        if not self._sum.takes_tables:
            return rows
        if not isinstance(rows, np.ndarray):
            raise InvalidInputError(
                "X is a Dask collection, but a part takes tables, which must be in memory; pass "
                "X.compute()."
            )
        table = uses.as_table(X)
        if not hasattr(self, "feature_names_in_"):
            table = table.set_axis(self._table_columns, axis=1)
        lacking = [name for name in self._table_columns if name not in table.columns]
        if lacking:
            raise InvalidInputError(f"The table lacks the columns {lacking}, which a part takes.")
        return TableRows(rows, table[self._table_columns])

    def _own_neighbors(self, k: int) -> Ints:
        """Return the numbers (n, k) of the other fitted rows nearest to each.

        In the metric, or in standardised columns where there is none.
        """
        given = replace(self._given, X=self._given.places)
        if self._sum.ranks is not None:
            given = given.mapped(self._sum.ranks.transform)
        metric = self.metric_ or distances.standard_metric(given)
        X = cast(Floats, given.X)
        return SearchIndex(X, metric).nearest(X, k, self.n_jobs, 0).rows

    def kneighbors(self, X: ArrayLike, n_neighbors: int | None = None) -> Any:
        """Return the distances and the rows of the nearest neighbours in the metric, nearest first.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows to search the neighbours of.
        n_neighbors : int, optional
            Number of neighbours; by default as many as vote.
        """
        rows = self._checked(X)
        votes = self._sum.parts.get("neighbors")
        if not isinstance(votes, FittedVotes):
            raise InvalidInputError('kneighbors needs the part "neighbors".')
        k = votes.n_neighbors if n_neighbors is None else n_neighbors
        k = search.number_of_neighbors(self, k)
        return votes.neighbors_of(numbers_of(self._sum.seen(rows)), k)

    def feature_weights(self) -> Floats:
        """Return the share of each column in the predictions; their sum is 1.

        A share is proportional to the mean squared change of the scores when the column of a fitted
        row takes the value of another row: 0 for a column that the model does not use.
        """
        check_is_fitted(self, "part_weights_")
        if self._column_shares is None:
            shares = shares_of_columns(self._sum, self._weighing, partial(entrance.by_column, self))
            self._column_shares = entrance.column_shares(self, shares)
        return self._column_shares.copy()


def rows_that_count(given: GivenRows) -> Ints:
    """Return the numbers of the distinct rows of positive weight; on a cluster of all of these."""
    if isinstance(given.X, RowBlocks):
        return np.flatnonzero(given.weights > 0)
    return Places.pooled(given.X, given.weights, ordered=True).rows


def part_shares(found: sums.SumFit) -> dict[str, float]:
    """Return the share of each part in the spread of the scores of held-out rows."""
    sizes = dict(found.sum.weights)
    if found.held_out is not None:
        for name in sizes:
            sizes[name] *= float(np.std(found.held_out.scores[name]))
    whole = np.sum(list(sizes.values()))
    return {name: float(size / whole) if whole else 1 / len(sizes) for name, size in sizes.items()}


def some_rows(given: GivenRows, kept: Any, size: int) -> AnyQueries:
    """Return evenly spaced rows in memory, with their table if there is one."""
    some = given.take(kept[euclidean.even_rows(len(kept), size)])
    rows = cast(Floats, some.X)
    return rows if some.table is None else TableRows(rows, some.table)
