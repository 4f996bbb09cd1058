"""What all predictors share, and what those by neighbours do: fit, grow, answer, explain."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _estimators
from cayleyklein._distributed import RowBlocks, in_memory
from cayleyklein._estimators import (
    check_lengths,
    check_numbers,
    check_parameters,
    encode_classes,
    few_threads,
    restore_on_error,
)
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import as_count
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.choice import MetricRequest, Obtained, obtain_metric
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.learner import LearnsFromRows, RowLearner
from cayleyklein.learning.rows import GivenRows, distinct_rows
from cayleyklein.metrics import (
    CurvedMetric,
    FormMetric,
    Metric,
    MixedMetric,
    ProductMetric,
    SphereMetric,
)
from cayleyklein.neighbors import dask_shards, search
from cayleyklein.neighbors.dask_shards import Blocks, Shards
from cayleyklein.neighbors.estimator import NeighborMethods, refuse_growth
from cayleyklein.neighbors.search import RowIndex, SearchIndex
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.parts.base import numbers_of
from cayleyklein.parts.votes import NEIGHBORS, FittedVotes, LabelVotes, Weights, fit_votes
from cayleyklein.prediction import left_out, rehearsal, strangers
from cayleyklein.prediction.explain import Explanation, explain_votes
from cayleyklein.prediction.explanations import Explanations, explained_cells
from cayleyklein.prediction.suspicious import Suspicion, SuspiciousRows

ROWS_THAT_WEIGH = 10_000  # of those on a cluster, to say what columns count
FEWEST_A_FOLD = 10  # distinct rows; of fewer, each is left out of its own vote only


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
        "metric": [CurvedMetric, FormMetric, MixedMetric, ProductMetric, SphereMetric, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }
    _given: GivenRows
    _known_rows: strangers.FamiliarRows
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

    @abstractmethod
    def feature_weights(self) -> Floats:
        """Return the share of each column of X (n_features_in_,) in the answers."""

    @property
    def feature_importances_(self) -> Floats:
        """The shares of the columns, as scikit-learn's `SelectFromModel` asks for them."""
        return self.feature_weights()

    def strangeness(self, X: ArrayLike) -> Floats:
        """Return how unlike the fitted rows each row is (m,), from 0 to 1.

        It is the share of fitted rows that are nearer to the other fitted rows than the row is to
        them, in standardised columns: of new rows like the fitted ones, 5 % are above 0.95.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Examples
        --------
        >>> from cayleyklein import CurvedKNeighborsClassifier
        >>> from cayleyklein.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> model = CurvedKNeighborsClassifier(random_state=0).fit(X[::2], y[::2])
        >>> (
        ...     bool(model.strangeness(X[1::2]).mean() < 0.6),
        ...     bool(model.strangeness(10 * X[:1]) > 0.99),
        ... )
        (True, True)
        """
        check_is_fitted(self, "n_samples_fit_")
        return self._known_rows.quantiles(self._numbers_of(X))

    def _trust(self, rows: Floats, *, warn: bool = True) -> Floats:
        """Return how far to trust answers for checked rows (m,), and warn of strange ones."""
        trust = self._known_rows.trust(rows)
        if warn:
            effect = "" if self._numeric else "; their probabilities are drawn to the class shares"
            strangers.warn_of_strangers(trust, effect, 5)
        return trust

    def suspicious(
        self, X: ArrayLike | None = None, y: Any = None, n_neighbors: int = 5
    ) -> SuspiciousRows:
        """Return the rows whose class or number looks wrong, by what the other rows say.

        A fitted row is left out of its own answer: neighbours do not count its vote, and a sum of
        parts answers by the folds that it was held out of.

        Parameters
        ----------
        X : array-like of shape (m, d), optional
            Rows to look at; the fitted ones by default. Rows that were fitted are left out all the
            same.
        y : array-like of shape (m,), optional
            Their classes or numbers.
        n_neighbors : int, default=5
            Number of neighbours to show for each.

        Examples
        --------
        >>> from cayleyklein import CurvedKNeighborsClassifier
        >>> from cayleyklein.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> y[3] = 2
        >>> found = CurvedKNeighborsClassifier(random_state=0).fit(X, y).suspicious()
        >>> int(found.rows[0]), int(found.given[0]), int(found.likely[0])
        (3, 2, 0)
        """
        check_is_fitted(self, "n_samples_fit_")
        if (X is None) != (y is None):
            raise InvalidInputError("Give both X and y, or neither for the fitted rows.")
        fitted = self._given
        if not isinstance(fitted.X, np.ndarray) or not len(fitted.X):
            raise InvalidInputError("suspicious looks at rows in memory; these are on a cluster.")
        if as_count(n_neighbors, "n_neighbors") >= len(fitted.target):
            n_neighbors = max(1, len(fitted.target) - 1)
        known = np.arange(len(fitted.target))
        target = fitted.target
        if X is not None:
            known = fitted_numbers(fitted.places, self._numbers_of(X))
            if self._numeric:
                target = check_numbers(check_lengths(self, known, y))
                if target.shape[1:] != fitted.target.shape[1:]:
                    raise InvalidInputError(f"y has shape {target.shape}, unlike the fitted one.")
            else:
                _, target = encode_classes(check_lengths(self, known, y), fitted.classes)
        found = self._suspicious_among(X, known, target)
        order = found.numbers[np.argsort(-found.scores[found.numbers], kind="stable")]
        near = self._neighbors_without(X, known, n_neighbors)[order]
        names = fitted.classes
        return SuspiciousRows(
            rows=order,
            given=target[order] if names is None else names[target[order]],
            likely=found.likely[order] if names is None else names[found.likely[order]],
            sure=found.sure[order],
            neighbors=near,
            neighbor_targets=fitted.target[near] if names is None else names[fitted.target[near]],
            scores=found.scores,
        )

    def _numbers_of(self, X: Any) -> Floats:
        """Return checked rows in memory as numbers."""
        rows = numbers_of(self._checked(X))
        if not isinstance(rows, np.ndarray):
            raise InvalidInputError("Rows must be in memory here; pass X.compute().")
        return rows

    def _left_out_and_new(self, X: Any, known: Ints, answer: Callable[[Any], Any]) -> Floats:
        """Return answers (m, t) for rows, those of fitted ones left out; `known` are -1 or these.

        `answer` takes rows, or None for the fitted ones.
        """
        left_out: Floats = answer(None)
        left_out = left_out.reshape(len(left_out), -1)
        if X is None:
            return left_out
        found = left_out[known]
        if (known < 0).any():
            new = answer(X)
            found[known < 0] = new.reshape(len(new), -1)[known < 0]
        return found

    def _held_out_answers(self) -> Floats:
        """Return answers (n, t) for the fitted rows by models that did not learn from them."""
        found = np.asarray(self._left_out_answers())
        return found.reshape(len(found), -1)

    def _left_out_answers(self) -> Floats:
        """Return probabilities or numbers of the fitted rows, each left out."""
        model = cast(Any, self)
        return cast(Floats, model.predict(None) if self._numeric else model.predict_proba(None))

    @abstractmethod
    def _suspicious_among(self, X: Any, known: Ints, target: AnyArray) -> Suspicion:
        """Judge the targets of rows, of which some are fitted ones."""

    @abstractmethod
    def _own_neighbors(self, k: int) -> Ints:
        """Return the numbers (n, k) of the other fitted rows nearest to each."""

    def _neighbors_without(self, X: Any, known: Ints, k: int) -> Ints:
        """Return the nearest fitted rows (m, k), none of which is the row itself."""
        own = self._own_neighbors(k)
        if X is None:
            return own
        near = own[known]
        if (known < 0).any():
            near[known < 0] = cast(Any, self).kneighbors(X, k)[1][known < 0]
        return near

    def _one_or_more(self, X: Any, explain: Callable[[Any], list[Any]]) -> Any:
        """Explain one row, or a list of rows."""
        with _estimators.naming("X"):
            single = (len(X.shape) if hasattr(X, "shape") else np.ndim(X)) == 1
        if single:  # as a table of one row
            X = X.to_frame().T if hasattr(X, "to_frame") else np.reshape(np.asarray(X), (1, -1))
        found = explain(self._checked(X))
        if single:
            return found[0]
        return Explanations(found, explained_cells(X, found[0].names) if found else None)

    def _checked(self, X: Any) -> Any:
        """Return checked rows to predict."""
        return search.checked_queries(self, X)


class NeighborPredictor(Predicting, NeighborMethods):
    """Base of the predictors by neighbours: places vote, and `kneighbors` finds rows."""

    weights: Weights
    metric_: Metric
    _votes: FittedVotes
    _fold_answers: Floats | None = None

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
        self._known_rows = strangers.familiar_rows(self._given)
        self._fold_answers = None
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
        return self._answers_for(search.checked_queries(self, X), k, best=best)

    def _answers_for(self, queries: Any, k: int, best: bool = False, *, warn: bool = True) -> Any:
        """Return the answers for checked queries; strange ones are drawn to the class shares."""
        if self.weights != self._votes.table.weights:  # set after the fit
            check_parameters(self)
            self._take(self._given, self.metric_)
        votes = replace(self._votes, n_jobs=self.n_jobs)
        if isinstance(queries, Blocks):
            return self._lazy_answers(votes, queries, k, best)
        found = votes.answers(queries, k, best=best)
        if queries is None:  # the fitted rows, of which none is strange
            return found
        trust = self._trust(queries, warn=warn)
        strange = np.flatnonzero(trust < 1)
        if len(strange) and not self._numeric:
            shares = votes.answers(queries[strange], k)
            prior = cast(LabelVotes, votes.table).prior
            drawn = strangers.drawn_to_shares(shares, trust[strange], prior)
            found[strange] = drawn.argmax(axis=1) if best else drawn
        return found

    def _lazy_answers(self, votes: FittedVotes, queries: Blocks, k: int, best: bool) -> Any:
        """Return the answers for rows on a cluster, lazily and without a warning."""
        found = votes.answers(queries, k)
        if self._numeric:
            return found
        prior = cast(LabelVotes, votes.table).prior
        drawn = strangers.drawn_lazily(self._known_rows, queries, found, prior)
        return drawn.argmax(axis=1) if best else drawn

    def feature_weights(self) -> Floats:
        """Return the share of each column in the distances; their sum is 1, or 0 if none counts.

        These are the shares of small steps along the columns, see
        :meth:`cayleyklein.CurvedMetric.feature_weights`.
        """
        check_is_fitted(self, "metric_")
        rows = self.fitted_rows.X
        if not isinstance(rows, np.ndarray):
            rng = np.random.default_rng(0)
            rows = cast(Floats, self.fitted_rows.draw(ROWS_THAT_WEIGH, 1, rng).X)
        weights = np.zeros(self.metric_.dimension)
        if self.metric_.distance(rows[:1], rows).any():
            weights = self.metric_.feature_weights(rows)
        return entrance.column_shares(self, weights)

    def explain(self, X: ArrayLike) -> Any:  # by the shape of X, which types do not know
        """Explain predictions by the neighbours that voted and the columns in their distances.

        Parameters
        ----------
        X : array-like of shape (d,) or (m, d)
            One row gives an Explanation, several give :class:`Explanations`, a list of them.

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
            k = search.number_of_neighbors(self)
            return explain_votes(
                self._votes,
                queries,
                k,
                partial(entrance.by_column, self),
                encoded=self.encoder_ is not None,
                classes=None if self._numeric else cast(Any, self).classes_,
                single_target=self._given.target.ndim == 1,
                answers=self._answers_for(queries, k, warn=False),
                strangeness=self._known_rows.quantiles(queries),
            )

        return self._one_or_more(X, explain)

    def _held_out_answers(self) -> Floats:
        """Return answers (n, t) for the fitted rows by models that did not learn from them.

        A metric that was learned from a row knows its target; it is learned again three times, each
        without a third of the rows. A metric that was given knows nothing.
        """
        learned = self.metric is None and not isinstance(self.learner, FrozenEstimator)
        if not learned or len(self._votes.table.places.rows) < 3 * FEWEST_A_FOLD:
            return super()._held_out_answers()
        if self._fold_answers is None:
            width = self._votes.table.width
            quiet: dict[str, Any] = {"random_state": 0}
            if self.learner is None:
                quiet |= {"callback": None, "verbose": False}

            def answers(train: GivenRows, out: GivenRows) -> Floats:
                model = cast(Any, clone(self)).set_params(**quiet)
                model.fit(train.X, train.target, train.weights)
                if self._numeric:
                    return np.asarray(model.predict(out.X)).reshape(-1, width)
                found = np.zeros((len(out.target), width))
                found[:, model.classes_] = model.predict_proba(out.X)
                return found

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of classes of few rows, and of strange ones
                found = left_out.refit_answers(answers, self._given, width)
            usual = self._left_out_answers().reshape(len(found), -1)
            self._fold_answers = np.where(np.isnan(found), usual, found)
        return self._fold_answers

    def _own_neighbors(self, k: int) -> Ints:
        """Return the numbers (n, k) of the other fitted rows nearest to each."""
        return np.asarray(self.kneighbors(None, k)[1])

    @property
    def _searcher(self) -> RowIndex | Shards:  # type: ignore[override]
        return self._votes.index

    def _row_index(self) -> SearchIndex | Shards:
        check_is_fitted(self, "metric_")
        return self._votes.row_index


def fitted_numbers(fitted: Floats, rows: Floats) -> Ints:
    """Return for each row the number of the first fitted row that is equal to it, or -1."""
    first, point = distinct_rows(np.concatenate([fitted, rows]))
    found = first[point[len(fitted) :]]
    return np.where(found < len(fitted), found, -1)


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
