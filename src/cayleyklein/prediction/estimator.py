"""What all predictors share, and what those by neighbours do: fit, grow, answer, explain."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _estimators
from cayleyklein._distributed import RowBlocks, in_memory
from cayleyklein._estimators import check_parameters, few_threads, restore_on_error
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.choice import MetricRequest, Obtained, obtain_metric
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.learner import LearnsFromRows, RowLearner
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric, FormMetric, Metric, MixedMetric, ProductMetric
from cayleyklein.neighbors import dask_shards, search
from cayleyklein.neighbors.dask_shards import Shards
from cayleyklein.neighbors.estimator import NeighborMethods, refuse_growth
from cayleyklein.neighbors.search import SearchIndex
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.parts.votes import NEIGHBORS, FittedVotes, LabelVotes, Weights, fit_votes
from cayleyklein.prediction import rehearsal
from cayleyklein.prediction.explain import Explanation, explain_votes


class Predicting(entrance.TableInput, LearnsFromRows):
    """Mixin of all predictors: reading rows, judging and explaining answers."""

    geometry: str
    learner: Any
    metric: Metric | None
    subsample: int | float | str | None
    random_state: Any
    callback: Callable[[Progress], bool | None] | None
    verbose: bool
    n_features_in_: int
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "learner": [HasMethods(["fit"]), None],
        "metric": [CurvedMetric, FormMetric, MixedMetric, ProductMetric, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }
    _given: GivenRows
    _numeric: ClassVar[bool]
    _learner_kind: ClassVar[type[RowLearner]]
    _trials: ClassVar[type[rehearsal.ClassTrials | rehearsal.NumberTrials]]

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        classes: AnyArray | None = None,
        reset: bool = True,
    ) -> GivenRows:
        """Check the parameters, and the rows to fit; with `reset` False, more of them."""
        check_parameters(self)
        self._check_where_the_metric_comes_from()
        given = GivenRows.read(
            self,
            X,
            y,
            sample_weight,
            numeric=self._numeric,
            classes=classes,
            block_rows=dask_shards.LEAST_ROWS,
            reset=reset,
        )
        return with_class_weights(given, getattr(self, "class_weight", None))

    def _check_where_the_metric_comes_from(self) -> None:
        if isinstance(self.learner, type):
            kind = self.learner.__name__
            raise InvalidInputError(
                f"learner must be an estimator, {kind}(), not the class {kind}."
            )
        if self.learner is not None and self.metric is not None:
            raise InvalidInputError("Got both a learner and a metric; drop one of them.")
        if self.learner is None and self.metric is None:
            return
        source = "learner" if self.metric is None else "metric"
        advice = "give it to the learner instead" if source == "learner" else "drop it"
        unused = {"geometry": "auto", "subsample": "auto", "callback": None, "verbose": False}
        for name, default in unused.items():
            value = getattr(self, name)
            same = isinstance(value, str | int | np.bool_) and value == default
            if not (value is default or same):
                raise InvalidInputError(
                    f"{name} has no effect when a {source} is given; {advice}. "
                    f"Got {name}={value!r}."
                )

    def _metric_request(self, random_state: Any, geometry: str) -> MetricRequest:
        """Return what the parameters ask of the metric."""
        return MetricRequest(
            metric=self.metric,
            learner=self.learner,
            learner_kind=self._learner_kind,
            geometry=geometry,
            subsample=self.subsample,
            random_state=random_state,
            callback=self.callback,
            verbose=self.verbose,
            column_names=getattr(self, "feature_names_in_", None),
            said=type(self).__name__,
        )

    def score(
        self, X: ArrayLike | None, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy of classes, or R² of numbers.

        With neighbours X may be None: each fitted row is then left out of its own vote.
        """
        predicted = in_memory(cast(Any, self).predict(X), "predictions")
        truth, weights = in_memory(y, "y"), in_memory(sample_weight, "sample_weight")
        truth, weights = _estimators.check_truth(truth, predicted, weights)
        with _estimators.naming("y"):
            judge = r2_score if self._numeric else accuracy_score
            return float(judge(truth, predicted, sample_weight=weights))

    def _one_or_more(self, X: Any, explain: Callable[[Any], list[Any]]) -> Any:
        """Explain one row, or a list of rows."""
        with _estimators.naming("X"):
            single = (len(X.shape) if hasattr(X, "shape") else np.ndim(X)) == 1
        if single:  # as a table of one row
            X = X.to_frame().T if hasattr(X, "to_frame") else np.reshape(np.asarray(X), (1, -1))
        found = explain(self._checked(X))
        return found[0] if single else found

    def _checked(self, X: Any) -> Any:
        """Return checked rows to predict."""
        return search.checked_queries(self, X)


class NeighborPredictor(Predicting, NeighborMethods):
    """Base of the predictors by neighbours: places vote, and `kneighbors` finds rows."""

    weights: Weights
    metric_: Metric
    _votes: FittedVotes

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the metric from rows, which are then the neighbours of queries.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
            Rows.
        y : array-like or Dask collection of shape (n,), of numbers also (n, n_targets)
            Labels of the classifier, numbers of the regressor.
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows in the learner's loss, and of their votes. Only their ratios count.
        """
        return self._fit(self._read(X, y, sample_weight))

    def _fit(self, given: GivenRows) -> Self:
        learns = self._numeric and self.metric is None and self.learner is None
        if learns and not isinstance(given.X, RowBlocks) and (given.X[0] == given.X).all():
            obtained = Obtained(CurvedMetric.euclidean(given.n_columns))
        else:
            numbers = NEIGHBORS if isinstance(self.n_neighbors, str) else (int(self.n_neighbors),)
            request = self._metric_request(self.random_state, self.geometry)
            obtained = obtain_metric(request, given, self._trials(numbers, self.weights))
        self.learner_ = obtained.learner
        self.selection_ = obtained.selection
        self._take(given, cast(Metric, obtained.metric))
        k: Any = self.n_neighbors
        if k == "auto":
            k = self.selection_.n_neighbors if self.selection_ else self._trials.usual_neighbors
            k = max(1, min(k, self.n_samples_fit_ - 1))
        self.n_neighbors_ = k
        return self

    def _take(self, given: GivenRows, metric: Metric) -> None:
        """Index the rows, and keep what they are."""
        n = len(given.target)
        with few_threads(n, given.n_columns):
            self._votes = fit_votes(
                given, metric, self.weights, 1, algorithm=self.algorithm, n_jobs=self.n_jobs
            )
        self._given = replace(given, source=None, always=None)
        self.metric_ = metric
        self.n_samples_fit_ = n
        self.algorithm_used_ = self._votes.index.name
        if given.classes is not None:
            self.classes_ = given.classes
            self.class_prior_ = cast(LabelVotes, self._votes.table).prior

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
        """Return class probabilities or mean targets (m, t), or the numbers of the best classes."""
        k = search.number_of_neighbors(self, own=X is None)
        queries = search.checked_queries(self, X)
        if self.weights != self._votes.table.weights:  # set after the fit
            check_parameters(self)
            self._take(self._given, self.metric_)
        votes = replace(self._votes, n_jobs=self.n_jobs)
        return votes.answers(queries, k, best=best)

    def explain(self, X: ArrayLike) -> Any:  # by the shape of X, which types do not know
        """Explain predictions by the neighbours that voted and the columns in their distances.

        Parameters
        ----------
        X : array-like of shape (d,) or (m, d)
            One row gives an Explanation, several give a list of them.

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
        self._rows_in_memory()

        def explain(queries: Floats) -> list[Explanation]:
            return explain_votes(
                self._votes,
                queries,
                search.number_of_neighbors(self),
                partial(entrance.by_column, self),
                encoded=self.encoder_ is not None,
                classes=None if self._numeric else cast(Any, self).classes_,
                single_target=self._given.target.ndim == 1,
            )

        return self._one_or_more(X, explain)

    @property
    def _searcher(self) -> SearchIndex | Shards:  # type: ignore[override]
        return self._votes.index

    def _row_index(self) -> SearchIndex | Shards:
        check_is_fitted(self, "metric_")
        return self._votes.row_index


def with_class_weights(given: GivenRows, class_weight: dict[Any, float] | str | None) -> GivenRows:
    """Multiply the weights of rows by those of their classes: a dict, "balanced", or None.

    "balanced" gives each class the same total weight. Classes that a dict lacks have the weight 1.
    """
    if class_weight is None:
        return given
    assert given.classes is not None
    mass = np.bincount(given.target, weights=given.weights, minlength=len(given.classes))
    if isinstance(class_weight, str):
        factors = np.divide(mass.sum() / len(mass), mass, np.ones_like(mass), where=mass > 0)
    else:
        known = given.classes.tolist()
        if unknown := [name for name in class_weight if name not in known]:
            raise InvalidInputError(
                f"class_weight has classes that are not in y, {unknown}; y has {known}."
            )
        factors = np.array([class_weight.get(name, 1.0) for name in known], dtype=float)
        if not (np.isfinite(factors).all() and (factors >= 0).all() and factors @ mass > 0):
            raise InvalidInputError(
                f"class_weight must hold finite numbers ≥ 0, not all 0; got {class_weight!r}."
            )
    return replace(given, weights=given.weights * factors[given.target])
